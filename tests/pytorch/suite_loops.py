"""Suites of compare.py on text that graphnet prints: loops, and the public forms of private calls."""

import functools
import pathlib
import re

import numpy as np
import torch
import torch.nn.functional as F

import in_pytorch
from compare import Failed, Run, Suite

ROOT = pathlib.Path(__file__).absolute().parents[2]

ROWS = torch.export.Dim("rows", max=1000)
COLUMNS = torch.export.Dim("columns", max=1000)

# Each: what is computed, the sizes of what it takes (int64 where it says so), and which of them are
# symbols.
PROGRAMS = {
    "x - y, times x": (lambda x, y: (x - y) * x, [(64, 128), (64, 128)]),
    "a row and a column": (lambda x, y: torch.exp(x + y), [(1, 24), (10, 1)]),
    "missing dimensions": (lambda x, y: x * y + 1.5, [(4, 5, 6), (6,)]),
    "numbers": (lambda x: (2 - x * 3) / 4, [(7, 9)]),
    "activations": (lambda x: (torch.relu(x), torch.sigmoid(x), torch.tanh(x), F.silu(x)), [(5, 11)]),
    "gelu": (lambda x: (F.gelu(x), F.gelu(x, approximate="tanh")), [(3, 50)]),
    "hard": (lambda x: (F.hardswish(x), F.hardsigmoid(x), F.leaky_relu(x, 0.1), F.hardtanh(x, -0.5, 0.5)),
             [(40,)]),
    "compared": (lambda x, y: torch.where(x > y, x, -y), [(8, 8), (8, 8)]),
    "masked": (lambda x: x.masked_fill(x < 0, float("-inf")), [(6, 7)]),
    "powers": (lambda x: (x.abs() + 1) ** 2 + torch.rsqrt(x * x + 1), [(12,)]),
    "sum over rows": (lambda x: (x * 2).sum(-1), [(16, 33)]),
    "sum of all": (lambda x: torch.exp(x).sum(), [(9, 10)]),
    "mean, kept": (lambda x: x.mean(1, keepdim=True), [(3, 20, 4)]),
    "max and min": (lambda x: (x.amax((0, 2)), torch.amin(x, 1)), [(3, 4, 5)]),
    "softmax by hand": (lambda x: torch.exp(x - x.amax(-1, keepdim=True)) /
                        torch.exp(x - x.amax(-1, keepdim=True)).sum(-1, keepdim=True), [(10, 30)]),
    "norm by hand": (lambda x: (x - x.mean(-1, keepdim=True)) *
                     torch.rsqrt(((x - x.mean(-1, keepdim=True)) ** 2).mean(-1, keepdim=True) + 1e-5), [(6, 48)]),
    "chain of sums": (lambda x: ((x + 1).sum(0) * 2).sum(), [(7, 5)]),
    "a diamond": (lambda x, y: (torch.sin(x) + y) * (torch.sin(x) - y), [(13, 17), (13, 17)]),
    "around a product": (lambda x, y: torch.relu(torch.bmm(torch.tanh(x), y) + torch.tanh(x)),
                         [(2, 6, 6), (2, 6, 6)]),
    "integers": (lambda n: (n * 2 + 1, n % 3, torch.div(n, 2, rounding_mode="floor")), ["int64 (20,)"]),
    "to floats": (lambda n: n.to(torch.float32) * 0.5, ["int64 (5, 4)"]),
    "any and all": (lambda x: ((x > 2).any(1), (x > -9).all(1)), [(30, 6)]),
    "more than a block": (lambda x: torch.cos(x) + torch.sin(x), [(3, 7, 100)]),
    "one element": (lambda x: torch.sqrt(x * x + 4), [()]),
    "a long chain": (lambda x: functools.reduce(lambda y, i: (y * y + i).sin(), range(9), x), [(4, 8)]),
    "used inside and outside": (lambda x, y: (x - y, (x - y) * x, ((x - y) * x).sum(0)), [(6, 5), (6, 5)]),
    "symbols": (lambda x, y: torch.tanh(x + y) * x, [(7, 8), (8,)], [{0: ROWS}, None]),
    "symbols, no guard": (lambda x: torch.exp(x) - 1, [(3, 256)], [{0: ROWS}]),
    "two symbols": (lambda x, y: (x * y - y).relu(), [(5, 9), (5, 1)],
                    [{0: ROWS, 1: COLUMNS}, {0: ROWS}]),
    "mean over a symbol": (lambda x: ((x + 1).mean(1), (x * 2).sum(0, keepdim=True)), [(5, 9)],
                           [{0: ROWS, 1: COLUMNS}]),
    "computed symbols": (lambda x, y: torch.cat((x, y)).exp() * 2, [(5, 3), (4, 3)],
                         [{0: ROWS}, {0: COLUMNS}]),
    "five dimensions": (lambda x, y: x + y, [(2, 3, 2, 3, 2), (3, 1, 3, 1)]),
}

FUNCTIONS = {
    "exp": np.exp, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "tanh": np.tanh, "sinh": np.sinh, "cosh": np.cosh,
    "expm1": np.expm1, "abs": np.abs, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
    "sign": np.sign, "pow": np.power, "mod": np.mod, "floordiv": np.floor_divide,
    "min": np.minimum, "max": np.maximum, "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "select": lambda c, a, b: a if c else b,
    "erf": lambda x: torch.erf(torch.tensor(float(x), dtype=torch.float64)).item(),
    "inf": np.inf, "nan": np.nan, "true": True, "false": False,
    **{name: np.dtype(name).type for name in ("float16", "float32", "float64", "int32", "int64", "uint8")},
    "bool": np.bool_,
}
CALLS = {"pd_op.bmm": np.matmul, "builtin.combine": lambda *values: values,
         "pd_op.full": lambda: 0, "pd_op.concat": lambda values, axis: np.concatenate(values, axis)}


def narrow(text):
    """Numbers as Python writes them."""
    return re.sub(r"\b(\d+)ll\b", r"\1", text)


def declared(text):
    """By name, the dtype and sizes, as text, of "_x: float32[64, 128], …"."""
    return {name: (dtype, [size for size in sizes.split(", ") if size])
            for name, dtype, sizes in re.findall(r"_?(\w+): (\w+)\[([^\]]*)\]", text)}


def new_array(name, dtype, sizes):
    sizes = "".join(size.replace(" / ", " // ") + ", " for size in sizes)
    return f"{name} = np.full(({sizes}), 77, '{dtype}')"


def check_ranges(lines, at, buffers):
    """What a block reads and writes is what it says, and the whole of each dimension."""
    said = {}
    for line in lines[at:at + 2]:
        if found := re.match(r"(read|write)_buffers\((.*)\)$", line):
            for name, indices in re.findall(r"_(\w+)\[([^\]]*)\]", found[2]):
                parts = [p for p in indices.split(", ") if p]
                sizes = buffers[name][1]
                assert len(parts) == len(sizes), line
                for part, size in zip(parts, sizes):
                    assert part == "0" or part.endswith(f"(0:{size})"), f"{part} of {size}: {line}"
                said.setdefault(name, set()).add(", ".join(p.split("(")[0] for p in parts))
    return said


def translate(text):
    """The Python program that the text is, as the lines of one function of `arrays`."""
    lines = [narrow(line.strip()) for line in text.splitlines()]
    out, depth, buffers, said, outputs = [], 0, {}, {}, []
    for at, line in enumerate(lines):
        def add(code):
            out.append("    " * depth + code)
        if line in ("{", "inputs ()"):
            continue
        if line == "}":
            depth -= 1
        elif found := re.match(r"inputs \((.*)\)$", line):
            for name, (_, sizes) in declared(found[1]).items():
                for i, size in enumerate(sizes):
                    if size.isidentifier():
                        add(f"{size} = {name}.shape[{i}]")
        elif found := re.match(r"outputs \((.*)\)$", line):
            outputs = [name for name in found[1].split(", ") if name]
        elif found := re.match(r"call (group_\d+) \((.*?)\) -> \((.*)\)$", line):
            results = declared(found[3])
            for name, (dtype, sizes) in results.items():
                add(new_array(name, dtype, sizes))
            operands = [name for name in found[2].split(", ") if name]
            add(f"{found[1]}({', '.join([*operands, *results])})")
        elif found := re.match(r"call ([\w.]+) \((.*?)\) -> \((\w+).*\)$", line):
            add(f"{found[3]} = CALLS['{found[1]}']({found[2]})")
        elif found := re.match(r"function (\w+) \((.*)\)$", line):
            buffers = declared(found[2])
            add(f"def {found[1]}({', '.join(buffers)}):")
            depth += 1
        elif found := re.match(r"buffers \((.*)\)$", line):
            buffers |= declared(found[1])
            for name, (dtype, sizes) in declared(found[1]).items():
                add(new_array(name, dtype, sizes))
        elif found := re.match(r"(?:serial|thread_bind\[\w+\.x\]) for \((\w+), 0, (.+)\)$", line):
            add(f"for {found[1]} in range({found[2].replace(' / ', ' // ')}):")
            depth += 1
        elif found := re.match(r"if (.*)$", line):
            add(f"if {found[1]}:")
            depth += 1
        elif line.startswith("ScheduleBlock("):
            add("if True:")
            depth += 1
        elif found := re.match(r"(.*) = axis\.bind\((.*)\)$", line):
            add(f"{found[1]}, = {found[2].replace(' / ', ' // ')},")
        elif line.startswith(("read_buffers(", "write_buffers(")):
            if not lines[at - 1].startswith("read_buffers("):
                said = check_ranges(lines, at, buffers)
        elif line:
            for name, indices in re.findall(r"(\w+)\[([^\]]*)\]", line):
                assert "thread_bind" not in text or indices in said[name], \
                    f"{name}[{indices}] is not among the buffers: {line}"
            line = re.sub(r"\b([a-z]\w*)\(", r"FUNCTIONS['\1'](", line)
            line = re.sub(r"\b(inf|nan|true|false)\b(?!')", r"FUNCTIONS['\1']", line)
            line = line.replace("[]", "[()]").replace("&&", " and ").replace("||", " or ")
            add(re.sub(r"!(?=[\w(])", "not ", line))
    return "\n".join(["def program(CALLS, " + ", ".join(
        re.findall(r"(\w+):", re.search(r"inputs \((.*)\)", text)[1])) + "):"] +
        ["    " + line for line in out] + [f"    return [{', '.join(outputs)}]"])


def value_of(spec, seed):
    rng = np.random.default_rng(seed)
    if isinstance(spec, str):
        return torch.from_numpy(rng.integers(-9, 9, eval(spec.split(" ", 1)[1])))
    return torch.from_numpy(np.asarray(rng.standard_normal(spec) * 3, np.float32))


class Program(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


class Loops(Suite):
    """Runs what `graphnet show --format loops` prints, line by line, and compares it with PyTorch, within 1e-5.

Each program of the table is exported by torch.export, dumped in both forms, serial and bound, and its text is
translated to Python: functions are functions, loops are loops, blocks nothing, symbols the sizes of the
inputs. An access outside of what read_buffers and write_buffers say is an error.
"""

    def run(self, run: Run) -> str:
        groups, path = 0, run.scratch / "program.pt2"
        for name, (function, specs, *symbols) in PROGRAMS.items():
            inputs = [value_of(spec, i) for i, spec in enumerate(specs)]
            wanted = in_pytorch.leaves(function(*inputs))
            dynamic = {"dynamic_shapes": (tuple(symbols[0]),)} if symbols else {}
            torch.export.save(torch.export.export(Program(function), tuple(inputs), **dynamic), path)
            for form in ([], ["--bound"]):
                shown = what = ""
                try:
                    shown = run.graphnet("show", path, "--format", "loops", *form)
                    calls = set(re.findall(r"^call (?!group_)([\w.]+)", shown, re.M)) - set(CALLS)
                    assert not calls, f"there are calls of {calls}"
                    assert bool(form) == ("thread_bind" in shown)
                    assert bool(symbols) == bool(re.search(r" for \(\w+, 0l*, .*[a-z]\d", shown)), "no symbols"
                    space = {"np": np, "FUNCTIONS": FUNCTIONS}
                    exec(translate(shown), space)
                    with np.errstate(all="ignore"):
                        got = space["program"](CALLS, *[x.numpy() for x in inputs])
                    for g, w in zip(got, wanted, strict=True):
                        assert g.dtype == w.numpy().dtype and g.shape == tuple(w.shape), (g.dtype, g.shape)
                        np.testing.assert_allclose(g, w.numpy(), rtol=1e-5, atol=1e-5)
                    groups += len(re.findall(r"^function ", shown, re.M))
                except Exception as error:  # Whatever the text does is a result.
                    what = f"{error}\n{shown}"
                run.tell(f"{name}, {'bound' if form else 'serial'}", what)
        return f"{groups} groups"


# --- Private and public forms -----------------------------------------------------------------------


class Stable(Suite):
    """Runs every form of tests/passes/unstable_forms.txt in Python, as it is and as `stabilize` rewrites it.

Python's own parser takes the public form, which the interpreter's tests do not show.
"""

    def run(self, run: Run) -> None:
        torch.manual_seed(1)
        inputs = {
            "x": torch.randn(2, 6), "w": torch.randn(4, 6), "b": torch.randn(4), "v": torch.randn(6),
            "q": torch.randn(2, 3, 4, 8), "k": torch.randn(2, 3, 4, 8), "t": torch.randn(2, 3, 4, 8),
            "m": torch.randn(4, 4), "mask": torch.ones(4, 4, dtype=torch.bool).tril(),
            "c": torch.randn(4, 4, dtype=torch.complex64), "i": torch.tensor([0, 2, 1, 2, 0]),
            "image": torch.randn(1, 2, 8, 8), "p": torch.rand(4)}

        def to_text(call: str) -> str:
            for python, text in (("float('inf')", "inf"), ("float('-inf')", "-inf"), ("'", '"')):
                call = call.replace(python, text)
            return re.sub(rf'(?<![\w."%])({"|".join(inputs)})(?!\w|=|")', r"%\1", call).replace("=", " = ")

        def to_python(line: str) -> str:
            line = re.sub(r"(?<![\w\"])-inf", "float('-inf')", line.strip().split(" = ", 1)[1])
            return re.sub(r"(?<![\w\"'-])inf", "float('inf')", line).replace("%", "")

        forms = (ROOT / "tests/passes/unstable_forms.txt").read_text().splitlines()
        calls = [line.strip() for line in forms if line.strip() and not line.startswith("#")]
        body = "".join(f"  %y{i} = {to_text(call)}\n" for i, call in enumerate(calls))
        before, after = run.scratch / "before.gn", run.scratch / "after.gn"
        before.write_text(f"graphnet.module 1\ngraph @forward({', '.join('%' + name for name in inputs)}) {{\n{body}"
                          f"  return ({''.join(f'%y{i}, ' for i in range(len(calls)))})\n}}\nend\n")
        run.graphnet("opt", before, "--passes=stabilize", "-o", after)
        lines = [line for line in after.read_text().splitlines() if re.match(r"\s*%y\d+ = ", line)]
        if len(lines) != len(calls):
            raise Failed(f"{len(calls)} calls became {len(lines)}")
        for call, public in zip(calls, map(to_python, lines)):
            what = in_pytorch.difference(eval(call, {"torch": torch, **inputs}), eval(public, {"torch": torch, **inputs}))
            run.tell(call, "a private call is left: " + public if "torch._" in public else what)
