"""Suites of compare.py on random programs: with torch.vmap, and of views and writes before and after `functionalize`."""

import argparse
import itertools
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

import in_pytorch
from compare import Failed, Run, Suite

Value = Tuple[str, torch.Tensor]  # a name, and the tensor, of which vmap sees no batch dimensions


# --- Calls that may or may not run ----------------------------------------------------------------


class Skip(Exception):
    """Nothing fits here."""


def choices(text: str) -> List[str]:
    """The calls of a table, between semicolons."""
    return re.split(r"\s*;;\s*", text.strip())


class Drawn(dict):
    """What the words in braces of a call stand for (WORDS), each drawn when it is asked for."""

    def __init__(self, rng: random.Random, pool: List[Value], x: Value) -> None:
        super().__init__(x=x[0])
        self.rng, self.pool, self.tensor, self.rank = rng, pool, x[1], x[1].dim()

    def __missing__(self, key: str) -> str:
        self[key] = str(WORDS[key](self))
        return self[key]

    def pick(self, test: Callable[[torch.Tensor], bool] = lambda t: True) -> str:
        return pick(self.rng, self.pool, test)[0]

    def dim(self, extra: int = 0) -> int:
        if self.rank + extra == 0:
            raise Skip
        return self.rng.randrange(-self.rank - extra, self.rank + extra)

    def one_of(self, *calls: str) -> str:
        return self.rng.choice(calls).format_map(self)

    def indices(self) -> str:
        return f"({self.pick(lambda t: t.dtype == torch.int64)} % {min(self.tensor.shape)})"

    def index(self) -> str:
        parts = []
        for size in self.tensor.shape[: self.rng.randint(1, max(1, self.rank))]:
            a = self.rng.randrange(max(1, size))
            parts.append(self.rng.choice([str(a), str(a - size), ":", f"{a}:", f":{a + 1}", f"{a}:{a + 2}", "::2", "None", "1::2"]))
        if self.rng.random() < 0.3:
            parts.insert(self.rng.randint(0, len(parts)), "...")
        return ", ".join(parts)

    def size(self) -> int:
        return self.tensor.shape[int(self["d"])] if self.rank else 1


# Others of the same program, dimensions, indices that fit, numbers; of convolutions, how many dimensions an image has,
# its channels and a kernel of two in each; what a call writes to, perhaps with a name of what it returns.
WORDS: Dict[str, Callable[[Drawn], object]] = {
    "y": lambda s: s.pick(),
    "y_float": lambda s: s.pick(is_float),
    **dict.fromkeys(("y_sized", "z_sized"), lambda s: s.pick(is_sized)),
    "same": lambda s: s.pick(lambda t: t.shape == s.tensor.shape and t.dtype == s.tensor.dtype),
    "smaller": lambda s: s.pick(lambda t: t.dim() <= s.rank),
    "c": lambda s: s.pick(lambda t: t.dtype == torch.bool),
    **dict.fromkeys("de", lambda s: s.dim()),
    "D": lambda s: s.dim(1),
    **dict.fromkeys("ij", lambda s: s.indices()),
    "f": lambda s: f"({s.pick(lambda t: is_float(t) and t.dim() <= 2)}.mul(10).to(torch.int64).abs() % {min(s.tensor.shape)})",
    **dict.fromkeys(("index", "other_index"), lambda s: s.index()),
    "keep": lambda s: s.rng.random() < 0.4,
    "numel": lambda s: s.tensor.numel(),
    "order": lambda s: ", ".join(map(str, s.rng.sample(range(s.rank), s.rank))),
    "sizes": lambda s: ", ".join(map(str, s.tensor.shape)),
    "ones": lambda s: ", ".join(["1"] * s.rank),
    "minus": lambda s: ", ".join(["-1"] * s.rank),
    "letters": lambda s: "abcde"[: s.rank],
    "out": lambda s: "".join(s.rng.sample(s["letters"], s.rng.randint(0, s.rank))),
    "place": lambda s: s.one_of("0", "...", "..., 0", ":, 1:", "None, 0", "-1:", "{f}", "..., {f}", ":, {f}", "{f}, ..., {f}", "0, {f}"),
    "value": lambda s: s.one_of("0.5", "{smaller}", "{x}[{place}] * 2", "{x}[{place}].sum()"),
    "spatial": lambda s: s.rng.randint(max(1, s.rank - 2), max(1, min(3, s.rank - 1))),
    "channels": lambda s: s.tensor.shape[-int(s["spatial"]) - 1],
    "kernel": lambda s: "2, " * int(s["spatial"]),
    "weight": lambda s: f"{s['y_sized']}.flatten()[:{int(s['channels']) * 2 ** int(s['spatial'])}]",
    "bias": lambda s: s.one_of("None", "{z_sized}.flatten()[:1]"),
    "start": lambda s: s.rng.randrange(max(1, s.size())),
    "end": lambda s: int(s["start"]) + 1,
    "rest": lambda s: max(0, s.size() - 1),
    "flat": lambda s: s.rng.choice(["-1", f"{max(1, s.tensor.numel() // 2)}, -1"]),
    "which": lambda s: s.rng.randint(0, 1),
    "few": lambda s: s.rng.randint(1, 2),
    "number": lambda s: s.rng.choice(["2", "0.5", "-1", "True"]),
    "to": lambda s: s.one_of("m = {x}.", "m = {x}.", "{x}.", "{x}.", "{x}."),
}


def pick(rng: random.Random, pool: List[Value], test: Callable[[torch.Tensor], bool]) -> Value:
    fitting = [value for value in pool if test(value[1])]
    if not fitting:
        raise Skip
    return rng.choice(fitting)


def is_float(t: torch.Tensor) -> bool:
    return t.is_floating_point()


def is_sized(t: torch.Tensor) -> bool:
    return t.is_floating_point() and t.dim() > 0


# --- vmap -------------------------------------------------------------------------------------------


INPUTS = {"x0": (2, 3, 4), "x1": (3, 4), "x2": (4, 2, 3), "x3": (3,), "x4": (2, 2, 3, 4), "x5": (4, 4)}
PROGRAMS_A_SAMPLE = 25
TOLERANCE = 1e-5
CALLS = {
    "unary": """torch.sin({x}) ;; {x}.neg() ;; torch.nn.functional.relu({x}) ;; torch.sigmoid({x}) ;; torch.tanh({x})
        ;; {x}.abs() ;; torch.nn.functional.gelu({x}) ;; torch.clamp({x}, -0.5, 0.5)""",
    "binary": """{x} + {y} ;; {x} * {y} ;; torch.sub({x}, {y}, alpha=2) ;; {x} - 1.5 ;; torch.maximum({x}, {y}) ;; {x}.mul({y})
        ;; 2 * {x} ;; torch.atan2({x}, {y})""",
    "compare": "{x}.le({y_float}) ;; {x} > {y_float} ;; {x}.ge(0)",
    "where": """torch.where({c}, {x}, {y}) ;; {x}.masked_fill({c}, 0.25) ;; {c}.logical_not() ;; {c}.__and__({c}) ;; {c}.any()
        ;; torch.where({c}, {x}, 0.0)""",
    "reduce": """{x}.sum({d}, keepdim={keep}) ;; {x}.mean({d}, {keep}) ;; {x}.amax({d}) ;; {x}.sum() ;; {x}.max() ;; {x}.mean()
        ;; torch.logsumexp({x}, {d}) ;; {x}.prod({d}) ;; torch.var({x}, {d}, correction=0)
        ;; torch.linalg.vector_norm({x}, dim={d}) ;; {x}.argmax({d}) ;; {x}.min({d})[0] ;; {x}.argmax() ;; {x}.prod()
        ;; {x}.gt(0).all({d}) ;; torch.norm({x})""",
    "dims": """torch.softmax({x}, {d}) ;; {x}.cumsum({d}) ;; {x}.flip([{d}]) ;; torch.log_softmax({x}, dim={d})
        ;; torch.roll({x}, 1, {d}) ;; torch.sort({x}, dim={d})[0] ;; torch.topk({x}, 1, dim={d})[0]""",
    "view": """{x}.transpose({d}, {e}) ;; {x}.unsqueeze({D}) ;; {x}.reshape(-1) ;; {x}.reshape([{numel}, 1])
        ;; torch.permute({x}, ({order},)) ;; {x}.flatten() ;; torch.movedim({x}, {d}, {e}) ;; {x}.expand([2, {sizes}])
        ;; {x}.repeat(2, {ones}) ;; {x}.select({d}, 0) ;; {x}.narrow({d}, 0, 1) ;; {x}.contiguous()
        ;; {x}.diagonal(0, {d}, {e}) ;; torch.tril({x}) ;; {x}.mT ;; {x}.unflatten({d}, [1, -1])""",
    "subscript": """{x}[0] ;; {x}[..., None] ;; {x}[-1:] ;; {x}[..., 0] ;; {x}[None] ;; {x}[:, 0] ;; {x}[..., 1:, None]
        ;; {x}[None, ..., -1]""",
    "join": "torch.cat([{x}, {same}], {d}) ;; torch.stack([{x}, {same}], dim={D})",
    "split": "{x}.chunk(2, {d})[0] ;; torch.split({x}, 1, dim={d})[-1] ;; {x}.unbind({d})[0]",
    "index": """{x}[{i}] ;; {x}[..., {i}] ;; {x}[:, {i}] ;; torch.ops.aten.index({x}, [{i}, {j}])
        ;; torch.ops.aten.index({x}, [None, {i}, {j}]) ;; torch.ops.aten.index({x}, [{i}, None, {j}])
        ;; torch.index_select({x}, {d}, {i}) ;; torch.gather({x}, {d}, {i}) ;; {x}[0, {i}]
        ;; torch.nn.functional.embedding({i}, {x})""",
    "matmul": """torch.matmul({x}, {y_sized}) ;; {x} @ {y_sized} ;; torch.nn.functional.linear({x}, {y_sized})
        ;; torch.nn.functional.linear({x}, {y_sized}, {z_sized}) ;; torch.addmm({z_sized}, {x}, {y_sized})
        ;; torch.matmul({x}, {x}.mT) ;; torch.outer({x}, {y_sized}) ;; torch.mv({x}, {y_sized}) ;; torch.bmm({x}, {y_sized})
        ;; torch.baddbmm({z_sized}, {x}, {y_sized}, beta=0.5)""",
    "new": """{x}.new_ones((2,)) ;; {x}.new_zeros(()) ;; torch.ones_like({x}) ;; torch.tensor(True) ;; torch.arange(3)
        ;; {x}.new_full((3,), 0.5)""",
    "squeeze": "{x}.squeeze() ;; {x}.squeeze({d}) ;; {x}.sum({d}, keepdim=True).squeeze()",
    "einsum": """torch.einsum('{letters},{letters}->{out}', {x}, {same}) ;; torch.einsum('{letters}->{out}', {x})
        ;; torch.einsum('...i,...i', {x}, {same}) ;; torch.einsum('...ij, ...kj->...ik', {x}, {same})
        ;; torch.einsum('...i,j->j...', {x}, {same}.flatten())""",
    "convolution": """
        torch.nn.functional.conv{spatial}d({x}, {weight}.reshape(1, {channels}, {kernel}), {bias}, padding=1)
        ;; torch.nn.functional.conv{spatial}d({x}, {weight}.reshape({channels}, 1, {kernel}), groups={channels}, padding=1)
        ;; torch.nn.functional.conv{spatial}d({x}, {weight}.reshape(1, {channels}, {kernel}), {bias}, padding='same')
        ;; torch.nn.functional.conv_transpose{spatial}d({x}, {weight}.reshape({channels}, 1, {kernel}), {bias})""",
    "images": """torch.nn.functional.avg_pool1d({x}, 2) ;; torch.nn.functional.max_pool2d({x}, 2)
        ;; torch.nn.functional.adaptive_avg_pool2d({x}, (1, 2)) ;; torch.nn.functional.group_norm({x}, 1)
        ;; torch.nn.functional.interpolate({x}, scale_factor=2.0, mode='nearest')
        ;; torch.nn.functional.interpolate({x}, size=5, mode='linear')""",
    "assign": "{x}.clone(); [{place}] = {value}",
    "put": """torch.index_put({x}, ({f},), {x}[{f}].neg()) ;; torch.index_put({x}, ({f},), {smaller})
        ;; torch.ops.aten.index_put({x}, [None, {f}], {x}[:, {f}].neg())
        ;; torch.index_put({x}, ({f}, {f}), {x}[{f}, {f}], accumulate=True)
        ;; torch.ops.aten.index_put({x}, [{f}, None, {f}], {x}[{f}, :, {f}].abs())""",
    "random": "torch.rand(2) ;; torch.randn((3, 2)) ;; torch.randint(0, 3, (17,)) ;; torch.rand(())",
    "cast": """{x}.to(torch.float64) ;; {x}.to(torch.float16) ;; {x}.mul(10).to(torch.int64).abs() ;; {x}.float() ;; {x}.gt(0)
        ;; {x}.type_as({x})""",
}
# How often a kind is drawn, where that is more than once.
OFTEN = {"reduce": 2, "view": 3, "index": 2, "matmul": 2}
SIZED = ("index", "assign", "put")


class Generator:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0
        self.batched: set = set()  # surely, at the level that is being made
        self.draws = False  # whether this program draws random numbers

    def name(self, base: str) -> str:
        self.count += 1
        return f"{base}_{self.count}"

    def expression(self, pool: List[Value]) -> str:
        kinds = [kind for kind in CALLS if kind != "random" for _ in range(OFTEN.get(kind, 1))] + ["random"] * 3 * self.draws
        kind = self.random.choice(kinds)
        is_image = lambda t: is_sized(t) and t.dim() >= 2
        x = pick(self.random, pool, is_image if kind == "convolution" else is_sized if kind in SIZED else is_float)
        return self.random.choice(choices(CALLS[kind])).format_map(Drawn(self.random, pool, x))

    def statements(self, pool: List[Value]) -> Tuple[List[str], Value]:
        for _ in range(60):
            name = self.name("v")
            scope = {"torch": torch, **dict(pool)}
            try:
                text, *written = self.expression(pool).split("; ")
                lines = [f"{name} = {text}"] + [f"{name}{w}" for w in written]
                exec("\n".join(lines), scope)
                value = scope[name]
            except Exception:  # It does not fit these shapes.
                continue
            if isinstance(value, torch.Tensor) and value.dim() <= 5 and 0 < value.numel() <= 4096:
                if not re.search(r"new_|_like|tensor|arange", text) and self.batched & set(re.findall(r"\w+", text)):
                    self.batched.add(name)
                return lines, (name, value)
        raise Skip

    def vmap(self, pool: List[Value], depth: int, indent: str) -> Tuple[List[str], List[Value]]:
        """Statements that define and call a body, and the values of its results."""
        r = self.random
        _, first = pick(r, pool, lambda t: t.dim() > 0)
        size = r.choice(first.shape)
        batched = [(v, d) for v in pool for d in range(v[1].dim()) if v[1].shape[d] == size]
        chosen: List[Tuple[Value, Optional[int]]] = r.sample(batched, min(len(batched), r.randint(1, 3)))
        chosen += [(v, None) for v in r.sample(pool, min(len(pool), r.randint(0, 3)))]
        r.shuffle(chosen)
        body, parameters, in_dims = self.name("body"), [], []
        for (_, t), d in chosen:
            parameters.append((self.name("p"), t if d is None else t.select(d, 0)))
            in_dims.append(d if d is None or r.random() < 0.7 else d - t.dim())
        lines = [f"def {body}({', '.join(name for name, _ in parameters)}):"]
        outer, self.batched = self.batched, {name for (name, _), (_, d) in zip(parameters, chosen) if d is not None}
        inner, results = self.body(list(parameters), depth - 1, indent + "    ")
        # PyTorch expands a result that is not batched without an unsqueeze, which is right for out_dim 0
        # only, and crashes for negative ones.
        ranges = [(-t.dim() - 1, t.dim() + 1) if name in self.batched else (0, 1) for name, t in results]
        self.batched = outer
        lines += inner
        lines.append("    return " + (results[0][0] if len(results) == 1 else
                                      "(" + ", ".join(name for name, _ in results) + ")"))
        out_dims = [r.randrange(*bounds) for bounds in ranges]
        examples = []
        for (_, t), d in zip(results, out_dims):
            at = d if d >= 0 else d + t.dim() + 1
            examples.append(torch.stack([t] * size, at))
        randomness = r.choice(["same", "different"]) if self.draws else "error"
        written = out_dims[0] if len(out_dims) == 1 else tuple(out_dims)
        operands = ", ".join(name for (name, _), _ in chosen)
        call = f"torch.vmap({body}, in_dims={tuple(in_dims)}, out_dims={written}, randomness='{randomness}')({operands})"
        result = self.name("r")
        lines.append(f"{result} = {call}")
        if len(results) == 1:
            return lines, [(result, examples[0])]
        values = []
        for i, example in enumerate(examples):
            element = self.name("r")
            lines.append(f"{element} = {result}[{i}]")
            values.append((element, example))
        return lines, values

    def body(self, pool: List[Value], depth: int, indent: str) -> Tuple[List[str], List[Value]]:
        lines: List[str] = []
        made: List[Value] = []
        steps = self.random.randint(2, 4)
        nests = set(self.random.sample(range(steps), self.random.randint(1, 2))) if depth > 0 else set()
        for i in range(steps):
            if i in nests:
                inner, values = self.vmap(pool, depth, indent)
                lines += inner
            else:
                made_lines, value = self.statements(pool)
                lines += made_lines
                values = [value]
            pool += values
            made += values
        count = min(len(made), self.random.randint(1, 2))
        chosen = made[-1:] + self.random.sample(made[:-1], count - 1)
        if self.random.random() < 0.15:
            chosen.append(self.random.choice(pool))
        unique = list({name: (name, t) for name, t in chosen}.values())
        return ["    " + line for line in lines], unique

    def program(self) -> Tuple[List[str], List[str], int]:
        depth = self.random.randint(1, 4)
        self.draws = self.random.random() < 0.3
        pool: List[Value] = [(name, torch.rand(shape)) for name, shape in INPUTS.items()]
        lines: List[str] = []
        made: List[Value] = []
        for _ in range(self.random.randint(1, 3)):
            inner, values = self.vmap(pool + made * 2, depth, "")
            lines += inner
            made += values
            if self.random.random() < 0.5:
                between, value = self.statements(pool + made)
                lines += between
                made.append(value)
        return lines, [name for name, _ in made], depth


def model_text(programs: List[Tuple[List[str], List[str], int]]) -> str:
    text = "import torch\n\n\nclass GraphModule(torch.nn.Module):\n    def forward(self, "
    text += ", ".join(f"{name}: torch.Tensor" for name in INPUTS) + "):\n"
    for lines, _, _ in programs:
        text += "".join(f"        {line}\n" for line in lines)
    return text + "        return (" + ", ".join(name for _, names, _ in programs for name in names) + ",)\n"


def depths_of(text: str) -> List[int]:
    """How deep vmap nests in each outermost call of the text of a model."""
    depths: List[int] = []
    for indent in re.findall(r"^( +)def body", text, re.MULTILINE):
        level = len(indent) // 4 - 1
        if level == 1:
            depths.append(0)
        depths[-1] = max(depths[-1], level)
    return depths


def run_text(text: str, inputs: Dict[str, torch.Tensor]) -> List[torch.Tensor]:
    scope: Dict[str, object] = {}
    exec(compile(text, "model.py", "exec"), scope)
    torch.manual_seed(0)
    with torch.inference_mode():
        return list(scope["GraphModule"]()(**{name: t.clone() for name, t in inputs.items()}))


def make_vmap_program(generator: Generator, inputs: Dict[str, torch.Tensor]):
    while True:
        try:
            program = generator.program()
            run_text(model_text([program]), inputs)
            return program
        except Exception:  # Whatever PyTorch refuses is no program.
            continue


def off_by(expected: torch.Tensor, actual: torch.Tensor) -> Optional[float]:
    """By how much of the largest element it differs; None if that is more than rounding."""
    scale = expected.double().abs().nan_to_num(0, 0, 0).max().clamp(min=1).item()
    off = (expected.double() - actual.double()).abs().nan_to_num(0, 0, 0).max().item() / scale
    epsilon = TOLERANCE if expected.dtype != torch.float16 else 2e-3
    return off if off <= epsilon and expected.isnan().equal(actual.isnan()) else None


class Vmap(Suite):
    """Runs random programs with torch.vmap in PyTorch and by graphnet, in four forms.

A program nests vmap up to four levels deep, one beside and behind another, with random in_dims and out_dims,
several operands and results a level, values captured from outer levels, results that later levels take and
results that are not batched, operators of all families, and in some programs random numbers. PyTorch runs it
with its own torch.vmap; those that it refuses are drawn again. graphnet runs the same text as it is read,
then with flat nesting (flatten-vmap), with that reverted (revert-vmap) and expanded (expand-vmap). The first
three must agree bit for bit; what is expanded may differ by rounding.

With --exported N, N programs of that kind are written by torch.export, too, which spells the levels out one
by one. graphnet runs each as it is, in the older spelling of the same calls, reverted, and after these three
passes in every order.
"""

    FORMS = {"nested": "", "flat": "flatten-vmap", "reverted": "flatten-vmap,revert-vmap", "expanded": "expand-vmap"}

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--programs", type=int, default=500)
        parser.add_argument("--exported", type=int, default=0)
        parser.add_argument("--keep", type=pathlib.Path,
                            help="where to leave the samples; those that are there are taken as they are")

    def run(self, run: Run) -> str:
        torch.set_num_threads(1)
        torch.manual_seed(run.args.seed)
        self.inputs = {name: torch.randn(shape) for name, shape in INPUTS.items()}
        self.largest, left, root = 0.0, 0, run.args.keep or run.scratch
        depths: Dict[int, int] = {}
        for i in range(0, run.args.programs, PROGRAMS_A_SAMPLE):
            sample = root / f"vmap_{i}"
            if not (sample / "graph_net.json").exists():
                generator = Generator(run.args.seed * 1000003 + i)
                self.write(sample, [make_vmap_program(generator, self.inputs) for _ in range(min(PROGRAMS_A_SAMPLE, run.args.programs - i))])
            text = (sample / "model.py").read_text()
            for depth in depths_of(text):
                depths[depth] = depths.get(depth, 0) + 1
            expected = run_text(text, self.inputs)
            for form, passes in self.FORMS.items():
                path = root / f"vmap_{i}_{form}" if passes else sample
                self.form(run, f"{sample.name} {form}", sample, passes, path, expected)
                if form == "expanded" and path.exists():
                    left += (path / "model.py").read_text().count("torch.vmap(")
        said = f"{sum(depths.values())} nests (by depth: {dict(sorted(depths.items()))}); {left} calls of vmap left when expanded"
        levels = self.exported(run)
        return f"{said}; {levels} levels in exported programs; rounding is within {self.largest:.2g} of the largest element"

    @staticmethod
    def write(folder: pathlib.Path, programs: List[Tuple[List[str], List[str], int]]) -> None:
        shapes = {name: (list(shape), "float32") for name, shape in INPUTS.items()}
        names = ", ".join(name for _, names, _ in programs for name in names)
        in_pytorch.write_sample(folder, shapes, [line for lines, _, _ in programs for line in lines], f"({names},)", mean=0.1, std=1.0)

    def form(self, run: Run, name: str, source: pathlib.Path, passes: str, path: pathlib.Path, expected: List[torch.Tensor]) -> None:
        """Tells what each value is after the passes, which may round if one expands."""
        try:
            if passes:
                shutil.rmtree(path, ignore_errors=True)
                run.graphnet("opt", source, f"--passes={passes}", "-o", path, "--verify-each")
            found = run.outputs(path, self.inputs)
        except Failed as error:
            run.tell(name, str(error))
            return
        if len(found) != len(expected):
            run.tell(name, f"{len(found)} outputs, not {len(expected)}")
            return
        for j, value in enumerate(expected):
            actual = found[f"o{j}"]
            what = in_pytorch.difference(value, actual)
            if what and "expand-vmap" in passes and (value.shape, value.dtype) == (actual.shape, actual.dtype) and value.is_floating_point():
                off = off_by(value, actual)
                self.largest = max(self.largest, off or 0.0)
                what = what if off is None else ""
            run.tell(f"{name} o{j}", what)

    def exported(self, run: Run) -> int:
        """Does the same for programs of torch.export, and returns how many levels they have."""
        orders = [",".join(order) for order in itertools.permutations(("revert-vmap", "expand-vmap", "flatten-vmap"))]
        program, older, rewritten = run.scratch / "program.pt2", run.scratch / "older.gn", run.scratch / "rewritten.pb"
        made = levels = 0
        seed = run.args.seed * 1000003 + 500009
        while made < run.args.exported:
            seed += 1
            text = model_text([make_vmap_program(Generator(seed), self.inputs)])
            scope: Dict[str, object] = {}
            exec(compile(text, "model.py", "exec"), scope)
            example = tuple(t.clone() for t in self.inputs.values())
            try:
                export = torch.export.export(scope["GraphModule"](), example)
                torch.manual_seed(0)
                expected = [t.detach() for t in export.module()(*example)]
                torch.export.save(export, program)
            except Exception:  # It cannot be exported, or does not run then.
                continue
            made += 1
            run.graphnet("convert", program, "-o", older)
            flat = older.read_text()
            levels += flat.count("_vmap_increment_nesting(")
            older.write_text(re.sub(r"_functorch\.predispatch\.(?=_)", "_C._functorch.", flat))
            for source, passes in [(program, p) for p in ["dce", "revert-vmap", *orders]] + [(older, p) for p in ["dce", "revert-vmap", orders[0]]]:
                self.form(run, f"exported {made} as {source.name} {passes}", source, passes, rewritten, expected)
        return levels


# --- Views and writes --------------------------------------------------------------------------------


WRITTEN = {
    "x": ([3, 4], "float32"),
    "y": ([2, 3, 4], "float32"),
    "i": ([3, 4], "int64"),
    "d": ([4], "float64"),
    "b": ([3, 4], "bool"),
    "z": ([2, 3], "complex64"),
}
VIEW = choices("""{x}[{index}] ;; {x}[{index}] ;; {x}[{index}] ;; {x}.select({d}, {start}) ;; {x}.narrow({d}, {start}, 1)
    ;; torch.narrow({x}, {d}, 0, {end}) ;; {x}.transpose({d}, {e}) ;; {x}.permute({order}) ;; {x}.t() ;; {x}.mT ;; {x}.T
    ;; {x}.unsqueeze({D}) ;; {x}.squeeze() ;; {x}.squeeze({d}) ;; {x}.detach() ;; {x}.view({flat}) ;; {x}.reshape({flat})
    ;; {x}.view_as({x}) ;; torch.flatten({x}) ;; {x}.unflatten({d}, (1, -1)) ;; {x}.movedim({d}, {e})
    ;; torch.swapaxes({x}, {d}, {e}) ;; {x}.diagonal({which}, {d}, {e}) ;; torch.linalg.diagonal({x}, offset=1)
    ;; {x}.expand(2, {minus}) ;; {x}.expand_as(y) ;; torch.alias_copy({x}) ;; torch.split({x}, {end}, {d})[{which}]
    ;; {x}.chunk(2, {d})[{which}] ;; {x}.unbind({d})[{which}] ;; torch.tensor_split({x}, 2, {d})[{which}]
    ;; {x}.split_with_sizes([1, {rest}], {d})[{which}] ;; {x}.unfold({d}, {few}, 1) ;; {x}.unfold({d}, 1, {few})
    ;; {x}.contiguous() ;; {x}.to(torch.float32) ;; {x}.real ;; {x}.imag ;; torch.view_as_real({x}) ;; {x}.conj() ;; {x}.mH
    ;; {x}.view(torch.int32) ;; torch.ops.aten.alias.default({x}) ;; torch.ops.aten.slice.Tensor({x}, {d}, 0, {end})
    ;; torch.ops.aten.as_strided.default({x}, [2], [1]) ;; torch.positive({x}) ;; torch.atleast_2d({x})""")
COMPUTED = choices("""{x} + 1 ;; {x} * {y} ;; torch.relu({x}) ;; {x}.clone() ;; torch.zeros(3, 4) ;; torch.ones_like({x})
    ;; torch.arange(12).view(3, 4) ;; torch.full((2, 6), 0.5) ;; {x}.sum({d}) ;; torch.cat([{x}, {x}], {d}) ;; {x}.double()
    ;; torch.where({x} > 0, {x}, {y}) ;; {x}.exp() ;; torch.rand(3, 4) ;; {x}.sort({d}) ;; {x}.sort({d})[0]
    ;; torch.empty(4, 3).fill_(0.25) ;; {x}.cumsum({d}) ;; {x}.to(torch.bfloat16)""")
WRITE = choices("""{to}add_({y}) ;; {to}add_({number}) ;; {to}mul_({y}) ;; {to}sub_({y}, alpha=2) ;; {to}copy_({y}) ;; {to}fill_({number})
    ;; {to}zero_() ;; {to}relu_() ;; {to}masked_fill_({x} > 0, {number}) ;; {to}clamp_(min=0.1) ;; {to}masked_fill_(b, {number})
    ;; {to}div_({y}) ;; {to}pow_(2) ;; {to}neg_() ;; {to}exp_() ;; {to}eq_({y}) ;; {to}lt_(0) ;; {to}logical_not_()
    ;; {to}cumsum_({d}) ;; {to}tril_() ;; {to}index_fill_({d}, torch.tensor([0]), 3)
    ;; {to}index_put_((torch.tensor([0, 1]),), {x}[1].clone()) ;; {to}addcmul_({y}, {y}, value=0.5) ;; {to}lerp_({y}, 0.25)
    ;; {to}uniform_(0, 1) ;; {to}normal_() ;; {to}bernoulli_(0.5) ;; {to}random_(9)
    ;; torch.nn.functional.dropout({x}, 0.5, True, True) ;; {to}exponential_() ;; torch.nn.functional.relu({x}, inplace=True)
    ;; torch.nn.functional.silu({x}, True) ;; torch.sigmoid_({x}) ;; torch.ops.aten.mul_.Tensor({x}, {y})
    ;; torch.ops.aten.copy_.default({x}, {y}) ;; {to}bitwise_and_({y}) ;; {x} += {y} ;; {x} *= {number} ;; {x} |= {y} ;; {x} //= 2
    ;; {to}floor_divide_(2) ;; {x}[{index}] = {number} ;; {x}[{index}] = {y} ;; {x}[{index}] = {x}[{other_index}]
    ;; {x}[b] = {number} ;; {x}[{x} > 0] = {number} ;; {x}[[0, 1]] = {number} ;; {x}[..., torch.tensor([0, 1])] = {number}
    ;; {x}[torch.tensor(1)] = {y} ;; {x}[:, torch.tensor([0, 1])] = {number} ;; {x}[...] = {y}
    ;; {x}[torch.tensor([0, 1]), 1:] = {number} ;; {to}t_() ;; {to}transpose_({d}, 0) ;; {to}squeeze_() ;; {to}unsqueeze_({D})
    ;; {to}detach_() ;; {to}swapaxes_(0, {d}) ;; {to}scatter_({d}, i % 2, 7) ;; {to}fill_diagonal_(2)
    ;; torch.add({x}, {y}, out={x}) ;; {to}nan_to_num_() ;; {to}conj_physical_() ;; {to}float_power_(2)""")


def make_program(seed: int) -> Tuple[List[str], List[str]]:
    """Statements that run, and the names of what they make."""
    rng = random.Random(seed)
    scope: Dict[str, Any] = {"torch": torch, **draw_inputs()}
    names = list(WRITTEN)
    lines: List[str] = []
    wanted = rng.randint(4, 14)
    for _ in range(40 * wanted):
        if len(lines) >= wanted:
            break
        tensors = [name for name in names if isinstance(scope[name], torch.Tensor)]
        # What was made last is of interest.
        name, kind = rng.choice(tensors + tensors[-3:] * 3), rng.random()
        drawn = Drawn(rng, [(other, scope[other]) for other in tensors], (name, scope[name]))
        try:
            line = rng.choice(WRITE if kind < 0.45 else VIEW if kind < 0.85 else COMPUTED).format_map(drawn)
        except Skip:
            continue
        if kind >= 0.45:
            line = f"v{len(lines)} = {line}"
        elif scope[name].is_complex() and re.search("div|mul|pow|lerp|exp", line):
            continue  # PyTorch's kernels themselves round otherwise in place.
        elif line.startswith("m = "):
            line = line.replace("m = ", f"v{len(lines)} = ", 1)
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
    kept = [name for name in names if name not in WRITTEN and rng.random() < 0.7]
    return lines, kept


def draw_inputs() -> Dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    values = {}
    for name, (shape, dtype) in WRITTEN.items():
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


def check_program(original: pathlib.Path, made: pathlib.Path, returns_inputs: bool, left: bool) -> str:
    expected, inputs = run_program(original)
    try:
        actual, inputs_after = run_program(made)
    except Exception as error:  # Whatever it raises is the result.
        return in_pytorch.one_line(error)
    # Inputs that the pass returns come last, those that it left are written to.
    further = actual[len(expected):]
    for label, x, y in [(f"output {i}", x, y) for i, (x, y) in enumerate(zip(expected, actual))]:
        for a, b in zip(in_pytorch.leaves(x), in_pytorch.leaves(y)):
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
            in_pytorch.write_sample(source / f"{i:05}", WRITTEN, lines, f"({', '.join(kept)}{',' if kept else ''})", mean=0.0, std=1.0)
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
