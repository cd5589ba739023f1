"""The suite of compare.py on random programs of views and writes, before and after `functionalize`."""

import argparse
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
from typing import Any, Dict, List, Tuple

import torch

import in_pytorch
from compare import Run, Suite

INPUTS = {
    "x": ([3, 4], "float32"),
    "y": ([2, 3, 4], "float32"),
    "i": ([3, 4], "int64"),
    "d": ([4], "float64"),
    "b": ([3, 4], "bool"),
    "z": ([2, 3], "complex64"),
}

class Draw:
    """Statements that may or may not run on the tensors that there are."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def dim(self, t: torch.Tensor, extra: int = 0) -> int:
        n = max(1, t.dim() + extra)
        return self.rng.randrange(-n, n)

    def index(self, t: torch.Tensor) -> str:
        parts = []
        for size in t.shape[: self.rng.randint(1, max(1, t.dim()))]:
            a = self.rng.randrange(max(1, size))
            parts.append(self.rng.choice([str(a), str(a - size), ":", f"{a}:", f":{a + 1}", f"{a}:{a + 2}", "::2", "None", "1::2"]))
        if self.rng.random() < 0.3:
            parts.insert(self.rng.randint(0, len(parts)), "...")
        return ", ".join(parts)

    def view(self, name: str, t: torch.Tensor) -> str:
        rng, d, e = self.rng, self.dim(t), self.dim(t)
        flat = [-1] if rng.random() < 0.5 else [max(1, t.numel() // 2), -1]
        perm = rng.sample(range(t.dim()), t.dim())
        start = rng.randrange(max(1, t.shape[d] if t.dim() else 1))
        return rng.choice([
            f"{name}[{self.index(t)}]", f"{name}[{self.index(t)}]", f"{name}[{self.index(t)}]",
            f"{name}.select({d}, {start})", f"{name}.narrow({d}, {start}, 1)", f"torch.narrow({name}, {d}, 0, {start + 1})",
            f"{name}.transpose({d}, {e})", f"{name}.permute({', '.join(map(str, perm))})", f"{name}.t()", f"{name}.mT", f"{name}.T",
            f"{name}.unsqueeze({self.dim(t, 1)})", f"{name}.squeeze()", f"{name}.squeeze({d})", f"{name}.detach()",
            f"{name}.view({', '.join(map(str, flat))})", f"{name}.reshape({', '.join(map(str, flat))})", f"{name}.view_as({name})",
            f"torch.flatten({name})", f"{name}.unflatten({d}, (1, -1))", f"{name}.movedim({d}, {e})", f"torch.swapaxes({name}, {d}, {e})",
            f"{name}.diagonal({rng.randint(-1, 1)}, {d}, {e})", f"torch.linalg.diagonal({name}, offset=1)",
            f"{name}.expand(2, {', '.join('-1' * 1 for _ in t.shape)})", f"{name}.expand_as(y)", f"torch.alias_copy({name})",
            f"torch.split({name}, {start + 1}, {d})[{rng.randint(0, 1)}]", f"{name}.chunk(2, {d})[{rng.randint(0, 1)}]",
            f"{name}.unbind({d})[{rng.randint(-1, 1)}]", f"torch.tensor_split({name}, 2, {d})[{rng.randint(0, 1)}]",
            f"{name}.split_with_sizes([1, {max(0, (t.shape[d] if t.dim() else 1) - 1)}], {d})[{rng.randint(0, 1)}]",
            f"{name}.unfold({d}, {rng.randint(1, 2)}, {rng.randint(1, 2)})", f"{name}.contiguous()", f"{name}.to(torch.float32)",
            f"{name}.real", f"{name}.imag", f"torch.view_as_real({name})", f"{name}.conj()", f"{name}.mH", f"{name}.view(torch.int32)",
            f"torch.ops.aten.alias.default({name})", f"torch.ops.aten.slice.Tensor({name}, {d}, 0, {start + 1})",
            f"torch.ops.aten.as_strided.default({name}, [2], [1])", f"torch.positive({name})", f"torch.atleast_2d({name})",
        ])

    def value(self, name: str, t: torch.Tensor, other: str) -> str:
        d = self.dim(t)
        return self.rng.choice([
            f"{name} + 1", f"{name} * {other}", f"torch.relu({name})", f"{name}.clone()", "torch.zeros(3, 4)", f"torch.ones_like({name})",
            "torch.arange(12).view(3, 4)", "torch.full((2, 6), 0.5)", f"{name}.sum({d})", f"torch.cat([{name}, {name}], {d})",
            f"{name}.double()", f"torch.where({name} > 0, {name}, {other})", f"{name}.exp()", "torch.rand(3, 4)", f"{name}.sort({d})",
            f"{name}.sort({d})[0]", "torch.empty(4, 3).fill_(0.25)", f"{name}.cumsum({d})", f"{name}.to(torch.bfloat16)",
        ])

    def write(self, name: str, t: torch.Tensor, other: str) -> str:
        rng, d = self.rng, self.dim(t)
        number = rng.choice(["2", "0.5", "-1", "True"])
        made = f"m = {name}." if rng.random() < 0.4 else f"{name}."
        return rng.choice([
            f"{made}add_({other})", f"{made}add_({number})", f"{made}mul_({other})", f"{made}sub_({other}, alpha=2)", f"{made}copy_({other})",
            f"{made}fill_({number})", f"{made}zero_()", f"{made}relu_()", f"{made}masked_fill_({name} > 0, {number})", f"{made}clamp_(min=0.1)",
            f"{made}masked_fill_(b, {number})", f"{made}div_({other})", f"{made}pow_(2)", f"{made}neg_()", f"{made}exp_()", f"{made}eq_({other})",
            f"{made}lt_(0)", f"{made}logical_not_()", f"{made}cumsum_({d})", f"{made}tril_()", f"{made}index_fill_({d}, torch.tensor([0]), 3)",
            f"{made}index_put_((torch.tensor([0, 1]),), {name}[1].clone())", f"{made}addcmul_({other}, {other}, value=0.5)",
            f"{made}lerp_({other}, 0.25)", f"{made}uniform_(0, 1)", f"{made}normal_()", f"{made}bernoulli_(0.5)", f"{made}random_(9)",
            f"torch.nn.functional.dropout({name}, 0.5, True, True)", f"{made}exponential_()",
            f"torch.nn.functional.relu({name}, inplace=True)", f"torch.nn.functional.silu({name}, True)", f"torch.sigmoid_({name})",
            f"torch.ops.aten.mul_.Tensor({name}, {other})", f"torch.ops.aten.copy_.default({name}, {other})", f"{made}bitwise_and_({other})",
            f"{name} += {other}", f"{name} *= {number}", f"{name} |= {other}", f"{name} //= 2", f"{made}floor_divide_(2)",
            f"{name}[{self.index(t)}] = {number}", f"{name}[{self.index(t)}] = {other}", 
            f"{name}[{self.index(t)}] = {name}[{self.index(t)}]", f"{name}[b] = {number}", f"{name}[{name} > 0] = {number}",
            f"{name}[[0, 1]] = {number}", f"{name}[..., torch.tensor([0, 1])] = {number}", f"{name}[torch.tensor(1)] = {other}",
            f"{name}[:, torch.tensor([0, 1])] = {number}", f"{name}[...] = {other}", f"{name}[torch.tensor([0, 1]), 1:] = {number}",
            f"{made}t_()", f"{made}transpose_({d}, 0)", f"{made}squeeze_()", f"{made}unsqueeze_({self.dim(t, 1)})", f"{made}detach_()",
            f"{made}swapaxes_(0, {d})", f"{made}scatter_({d}, i % 2, 7)", f"{made}fill_diagonal_(2)",
            f"torch.add({name}, {other}, out={name})", f"{made}nan_to_num_()", f"{made}conj_physical_()", f"{made}float_power_(2)",
        ])


def make_program(seed: int) -> Tuple[List[str], List[str]]:
    """Statements that run, and the names of what they make."""
    rng = random.Random(seed)
    draw = Draw(rng)
    scope: Dict[str, Any] = {"torch": torch, **draw_inputs()}
    names = list(INPUTS)
    lines: List[str] = []
    wanted = rng.randint(4, 14)
    for _ in range(40 * wanted):
        if len(lines) >= wanted:
            break
        tensors = [name for name in names if isinstance(scope[name], torch.Tensor)]
        # What was made last is of interest.
        name = rng.choice(tensors + tensors[-3:] * 3)
        other = rng.choice(tensors)
        kind = rng.random()
        if kind < 0.45:
            line = draw.write(name, scope[name], other)
            if scope[name].is_complex() and re.search("div|mul|pow|lerp|exp", line):
                continue  # PyTorch's kernels themselves round otherwise in place.
            line = line.replace("m = ", f"v{len(lines)} = ", 1) if line.startswith("m = ") else line
        else:
            made = draw.view(name, scope[name]) if kind < 0.85 else draw.value(name, scope[name], other)
            line = f"v{len(lines)} = {made}"
        # What raises may have written half: tried on copies that share memory as the originals do.
        trial = replay(lines)
        try:
            exec(line, trial)
        except Exception:  # Whatever it raises, it is no program.
            continue
        new = re.match(r"(v\d+) = ", line)
        if new and not isinstance(trial[new[1]], (torch.Tensor, tuple, list)):
            continue
        lines.append(line)
        scope = trial
        if new:
            names.append(new[1])
    # What is returned is what a later reader of any of them would see.
    kept = [name for name in names if name not in INPUTS and rng.random() < 0.7]
    return lines, kept


def draw_inputs() -> Dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    values = {}
    for name, (shape, dtype) in INPUTS.items():
        dtype = getattr(torch, dtype)
        if dtype == torch.bool:
            values[name] = torch.randn(shape, generator=generator) > 0
        elif dtype == torch.int64:
            values[name] = torch.randint(-3, 9, shape, generator=generator)
        else:
            values[name] = torch.randn(shape, dtype=dtype, generator=generator)
    return values


def replay(lines: List[str]) -> Dict[str, Any]:
    scope: Dict[str, Any] = {"torch": torch, **draw_inputs()}
    torch.manual_seed(0)
    for line in lines:
        exec(line, scope)
    return scope


# What model.py writes by: x.add_(…), aten.add_.Tensor(…), x[…] = …, x += …, relu(x, inplace=True).
WRITES = re.compile(r"\.\w*[a-z0-9]_(\.\w+)?\(|__i\w+__|^\w+\[|^\w+ [^ =]+= |inplace=True|out=")


def writes_of(folder: pathlib.Path) -> List[str]:
    """The lines that write, but those at the end that give inputs their last values."""
    lines = [line.split(";")[0].strip() for line in (folder / "model.py").read_text().splitlines()]
    lines = lines[lines.index("):") + 1 :]
    while len(lines) > 1 and "aten.copy_.default(" in lines[-2]:
        del lines[-2]
    return [line for line in lines if WRITES.search(line)]


def run_program(folder: pathlib.Path) -> Tuple[List[Any], Dict[str, torch.Tensor]]:
    model, inputs = in_pytorch.load(folder), draw_inputs()
    torch.manual_seed(0)
    with torch.no_grad():
        returned = model(**inputs)
    return list(returned), inputs


def leaves(value: Any) -> List[Any]:
    return [leaf for _, leaf in in_pytorch.flatten(value, "") if not isinstance(leaf, tuple)]


def check_program(original: pathlib.Path, made: pathlib.Path, returns_inputs: bool, left: bool) -> str:
    expected, inputs = run_program(original)
    try:
        actual, inputs_after = run_program(made)
    except Exception as error:  # Whatever it raises is the result.
        return in_pytorch.one_line(error)
    # Inputs that the pass returns come last, those that it left are written to.
    further = actual[len(expected):]
    for label, x, y in [(f"output {i}", x, y) for i, (x, y) in enumerate(zip(expected, actual))]:
        for a, b in zip(leaves(x), leaves(y)):
            if what := in_pytorch.difference(a, b):
                return f"{label}: {what}"
    for name, value in inputs.items():
        if returns_inputs and value._version > 0 and inputs_after[name]._version == 0:
            # A change of shape of a view counts as a write to its base.
            if further and not in_pytorch.difference(value, further[0]):
                further.pop(0)
            elif what := in_pytorch.difference(value, inputs_after[name]):
                return f"input {name}: {what}, and it is not returned"
        elif what := in_pytorch.difference(value, inputs_after[name]):
            return f"input {name}: {what}"
    writes = writes_of(made)
    if writes and not left:
        return f"it writes: {writes[0]}"
    return ""


class Writes(Suite):
    """Draws small random programs of views and writes: chains of views, writes through them, reads of the base and
of other views afterwards, operands that promote, inputs that are written to, random numbers.

PyTorch runs each eagerly, statement by statement; one that raises is not taken. `functionalize` makes each
functional, as it is written and after torch-to-aten, with the last values of inputs copied back and returned.
What PyTorch runs then must yield the same bits, inputs included, and must write to nothing but inputs at the
end; only where the pass notes that it leaves something may there be other writes.
"""

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--count", type=int, default=300)

    def run(self, run: Run) -> str:
        torch.set_num_threads(1)
        rewritten = functional = partly = 0
        source, out = run.scratch / "in", run.scratch / "out"
        for i in range(run.args.count):
            lines, kept = make_program(run.args.seed * 1_000_003 + i)
            in_pytorch.write_sample(source / f"{i:05}", INPUTS, lines, f"({', '.join(kept)}{',' if kept else ''})", mean=0.0, std=1.0)
        for passes in ("functionalize", "torch-to-aten,functionalize", "functionalize{outputs=true}"):
            shutil.rmtree(out, ignore_errors=True)
            # It fails if one sample does.
            done = subprocess.run([run.args.graphnet, "opt", source, "--passes", passes, "--verify-each", "--json", "-o", out],
                                  capture_output=True, text=True)
            print(done.stderr[:2000], end="", file=sys.stderr)
            steps = {pathlib.Path(sample["path"]).name: sample for sample in json.loads(done.stdout)["samples"]}
            for name in sorted(path.name for path in source.iterdir()):
                made = out / name
                if not made.is_dir():
                    # Not all statements have overloads of ATen.
                    run.tell(f"{name} {passes}", "skipped: refused" if passes.startswith("torch-to-aten") else "refused")
                    continue
                step = steps[name]["passes"][-1]
                what = check_program(source / name, made, "outputs" in passes, bool(step["notes"]))
                texts = [(folder / name / "model.py").read_text() for folder in (source, out)]
                run.tell(f"{name} {passes}", what and "\n".join([what, *texts, *map(str, step["notes"])]))
                rewritten += bool(step["changed"])
                partly += bool(step["notes"])
                functional += not step["notes"]
        return f"{rewritten} rewritten, {functional} of them or others without any write left, {partly} with something left as it is"
