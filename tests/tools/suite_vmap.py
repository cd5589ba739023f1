"""The suite of compare.py on random programs with torch.vmap."""

import argparse
import itertools
import pathlib
import random
import re
import shutil
from typing import Dict, List, Optional, Tuple

import torch

import in_pytorch
from compare import Failed, Run, Suite

INPUTS = {"x0": (2, 3, 4), "x1": (3, 4), "x2": (4, 2, 3), "x3": (3,), "x4": (2, 2, 3, 4), "x5": (4, 4)}
PROGRAMS_A_SAMPLE = 25
TOLERANCE = 1e-5

Value = Tuple[str, torch.Tensor]  # a name and an example without batch dimensions


class Skip(Exception):
    """Nothing fits here."""


class Generator:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0
        self.batched: set = set()  # surely, at the level that is being made
        self.draws = False  # whether this program draws random numbers

    def name(self, base: str) -> str:
        self.count += 1
        return f"{base}_{self.count}"

    # --- Expressions: text with the operands' names, evaluated on the examples -------

    def pick(self, pool: List[Value], test=lambda t: True) -> Value:
        fitting = [v for v in pool if test(v[1])]
        if not fitting:
            raise Skip
        return self.random.choice(fitting)

    def dim(self, t: torch.Tensor, extra: int = 0) -> int:
        n = t.dim() + extra
        if n == 0:
            raise Skip
        return self.random.randrange(-n, n)

    def expression(self, pool: List[Value]) -> str:
        r = self.random
        is_float = lambda t: t.is_floating_point()
        has_dims = lambda t: t.is_floating_point() and t.dim() > 0
        x, xt = self.pick(pool, is_float)
        kind = r.choice(["unary", "binary", "compare", "where", "reduce", "reduce", "dims", "view", "view",
                         "view", "subscript", "join", "split", "index", "index", "matmul", "matmul",
                         "new", "cast", "squeeze", "einsum", "convolution", "images", "write", "write"] + ["random"] * 3 * self.draws)
        if kind == "unary":
            return r.choice([f"torch.sin({x})", f"{x}.neg()", f"torch.nn.functional.relu({x})",
                             f"torch.sigmoid({x})", f"torch.tanh({x})", f"{x}.abs()",
                             f"torch.nn.functional.gelu({x})", f"torch.clamp({x}, -0.5, 0.5)"])
        if kind == "binary":
            y, _ = self.pick(pool)
            return r.choice([f"{x} + {y}", f"{x} * {y}", f"torch.sub({x}, {y}, alpha=2)", f"{x} - 1.5",
                             f"torch.maximum({x}, {y})", f"{x}.mul({y})", f"2 * {x}", f"torch.atan2({x}, {y})"])
        if kind == "compare":
            y, _ = self.pick(pool, is_float)
            return r.choice([f"{x}.le({y})", f"{x} > {y}", f"{x}.ge(0)"])
        if kind == "where":
            c, _ = self.pick(pool, lambda t: t.dtype == torch.bool)
            y, _ = self.pick(pool)
            return r.choice([f"torch.where({c}, {x}, {y})", f"{x}.masked_fill({c}, 0.25)", f"{c}.logical_not()",
                             f"{c}.__and__({c})", f"{c}.any()", f"torch.where({c}, {x}, 0.0)"])
        if kind == "reduce":
            d, k = self.dim(xt), r.random() < 0.4
            return r.choice([f"{x}.sum({d}, keepdim={k})", f"{x}.mean({d}, {k})", f"{x}.amax({d})", f"{x}.sum()",
                             f"{x}.max()", f"{x}.mean()", f"torch.logsumexp({x}, {d})", f"{x}.prod({d})",
                             f"torch.var({x}, {d}, correction=0)", f"torch.linalg.vector_norm({x}, dim={d})",
                             f"{x}.argmax({d})", f"{x}.min({d})[0]", f"{x}.argmax()", f"{x}.prod()",
                             f"{x}.gt(0).all({d})", f"torch.norm({x})"])
        if kind == "dims":
            d = self.dim(xt)
            return r.choice([f"torch.softmax({x}, {d})", f"{x}.cumsum({d})", f"{x}.flip([{d}])",
                             f"torch.log_softmax({x}, dim={d})", f"torch.roll({x}, 1, {d})",
                             f"torch.sort({x}, dim={d})[0]", f"torch.topk({x}, 1, dim={d})[0]"])
        if kind == "view":
            d, e = self.dim(xt), self.dim(xt)
            n = xt.numel()
            order = list(range(xt.dim()))
            r.shuffle(order)
            return r.choice([f"{x}.transpose({d}, {e})", f"{x}.unsqueeze({self.dim(xt, 1)})", f"{x}.reshape(-1)",
                             f"{x}.reshape([{n}, 1])", f"torch.permute({x}, {tuple(order)})", f"{x}.flatten()",
                             f"torch.movedim({x}, {d}, {e})", f"{x}.expand([2] + {list(xt.shape)})".replace(
                                 "[2] + [", "[2, "), f"{x}.repeat(2, {', '.join(['1'] * xt.dim())})",
                             f"{x}.select({d}, 0)", f"{x}.narrow({d}, 0, 1)", f"{x}.contiguous()",
                             f"{x}.diagonal(0, {d}, {e})", f"torch.tril({x})", f"{x}.mT", f"{x}.unflatten({d}, [1, -1])"])
        if kind == "subscript":
            return r.choice([f"{x}[0]", f"{x}[..., None]", f"{x}[-1:]", f"{x}[..., 0]", f"{x}[None]", f"{x}[:, 0]",
                             f"{x}[..., 1:, None]", f"{x}[None, ..., -1]"])
        if kind == "join":
            y, _ = self.pick(pool, lambda t: t.shape == xt.shape and t.dtype == xt.dtype)
            return r.choice([f"torch.cat([{x}, {y}], {self.dim(xt)})", f"torch.stack([{x}, {y}], dim={self.dim(xt, 1)})"])
        if kind == "split":
            d = self.dim(xt)
            return r.choice([f"{x}.chunk(2, {d})[0]", f"torch.split({x}, 1, dim={d})[-1]", f"{x}.unbind({d})[0]"])
        if kind == "index":
            x, xt = self.pick(pool, has_dims)
            i, it = self.pick(pool, lambda t: t.dtype == torch.int64)
            j, _ = self.pick(pool, lambda t: t.dtype == torch.int64)
            n = min(xt.shape)
            d = self.dim(xt)
            i, j = f"({i} % {n})", f"({j} % {n})"
            return r.choice([f"{x}[{i}]", f"{x}[..., {i}]", f"{x}[:, {i}]", f"torch.ops.aten.index({x}, [{i}, {j}])",
                             f"torch.ops.aten.index({x}, [None, {i}, {j}])", f"torch.ops.aten.index({x}, [{i}, None, {j}])",
                             f"torch.index_select({x}, {d}, {i})", f"torch.gather({x}, {d}, {i})", f"{x}[0, {i}]",
                             f"torch.nn.functional.embedding({i}, {x})"])
        if kind == "matmul":
            y, yt = self.pick(pool, has_dims)
            z, _ = self.pick(pool, has_dims)
            return r.choice([f"torch.matmul({x}, {y})", f"{x} @ {y}", f"torch.nn.functional.linear({x}, {y})",
                             f"torch.nn.functional.linear({x}, {y}, {z})", f"torch.addmm({z}, {x}, {y})",
                             f"torch.matmul({x}, {x}.mT)", f"torch.outer({x}, {y})", f"torch.mv({x}, {y})",
                             f"torch.bmm({x}, {y})", f"torch.baddbmm({z}, {x}, {y}, beta=0.5)"])
        if kind == "new":
            return r.choice([f"{x}.new_ones((2,))", f"{x}.new_zeros(())", f"torch.ones_like({x})",
                             "torch.tensor(True)", "torch.arange(3)", f"{x}.new_full((3,), 0.5)"])
        if kind == "squeeze":
            return r.choice([f"{x}.squeeze()", f"{x}.squeeze({self.dim(xt)})", f"{x}.sum({self.dim(xt)}, keepdim=True).squeeze()"])
        if kind == "einsum":
            y, _ = self.pick(pool, lambda t: t.shape == xt.shape and t.dtype == xt.dtype)
            letters = "abcde"[: xt.dim()]
            out = "".join(r.sample(letters, r.randint(0, xt.dim())))
            return r.choice([f"torch.einsum('{letters},{letters}->{out}', {x}, {y})", f"torch.einsum('{letters}->{out}', {x})",
                             f"torch.einsum('...i,...i', {x}, {y})", f"torch.einsum('...ij, ...kj->...ik', {x}, {y})",
                             f"torch.einsum('...i,j->j...', {x}, {y}.flatten())"])
        if kind == "convolution":
            x, xt = self.pick(pool, lambda t: has_dims(t) and t.dim() >= 2)
            y, _ = self.pick(pool, has_dims)
            z, _ = self.pick(pool, has_dims)
            d = r.randint(max(1, xt.dim() - 2), max(1, min(3, xt.dim() - 1)))  # of one image or several
            c, kernel = xt.shape[-d - 1], "2, " * d
            n = c * 2**d
            weight, bias = f"{y}.flatten()[:{n}]", r.choice(["None", f"{z}.flatten()[:1]"])
            return r.choice([f"torch.nn.functional.conv{d}d({x}, {weight}.reshape(1, {c}, {kernel}), {bias}, padding=1)",
                             f"torch.nn.functional.conv{d}d({x}, {weight}.reshape({c}, 1, {kernel}), groups={c}, padding=1)",
                             f"torch.nn.functional.conv{d}d({x}, {weight}.reshape(1, {c}, {kernel}), {bias}, padding='same')",
                             f"torch.nn.functional.conv_transpose{d}d({x}, {weight}.reshape({c}, 1, {kernel}), {bias})"])
        if kind == "images":
            return r.choice([f"torch.nn.functional.avg_pool1d({x}, 2)", f"torch.nn.functional.max_pool2d({x}, 2)",
                             f"torch.nn.functional.adaptive_avg_pool2d({x}, (1, 2))", f"torch.nn.functional.group_norm({x}, 1)",
                             f"torch.nn.functional.interpolate({x}, scale_factor=2.0, mode='nearest')",
                             f"torch.nn.functional.interpolate({x}, size=5, mode='linear')"])
        if kind == "write":
            x, xt = self.pick(pool, has_dims)
            y, _ = self.pick(pool, lambda t: t.dim() <= xt.dim())
            f, _ = self.pick(pool, lambda t: is_float(t) and t.dim() <= 2)
            i = f"({f}.mul(10).to(torch.int64).abs() % {min(xt.shape)})"
            at = r.choice(["0", "...", "..., 0", ":, 1:", "None, 0", "-1:", i, f"..., {i}", f":, {i}", f"{i}, ..., {i}", f"0, {i}"])
            value = r.choice(["0.5", y, f"{x}[{at}] * 2", f"{x}[{at}].sum()"])
            if r.random() < 0.6:
                return f"{x}.clone(); [{at}] = {value}"
            return r.choice([f"torch.index_put({x}, ({i},), {x}[{i}].neg())", f"torch.index_put({x}, ({i},), {y})",
                             f"torch.ops.aten.index_put({x}, [None, {i}], {x}[:, {i}].neg())",
                             f"torch.index_put({x}, ({i}, {i}), {x}[{i}, {i}], accumulate=True)",
                             f"torch.ops.aten.index_put({x}, [{i}, None, {i}], {x}[{i}, :, {i}].abs())"])
        if kind == "random":
            n = r.choice([2, 3, 17])
            return r.choice([f"torch.rand({n})", f"torch.randn(({n}, 2))", f"torch.randint(0, 3, ({n},))", "torch.rand(())"])
        return r.choice([f"{x}.to(torch.float64)", f"{x}.to(torch.float16)", f"{x}.mul(10).to(torch.int64).abs()",
                         f"{x}.float()", f"{x}.gt(0)", f"{x}.type_as({x})"])

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

    # --- Levels ----------------------------------------------------------------------

    def vmap(self, pool: List[Value], depth: int, indent: str) -> Tuple[List[str], List[Value]]:
        """Statements that define and call a body, and the values of its results."""
        r = self.random
        _, first = self.pick(pool, lambda t: t.dim() > 0)
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
        # What is not batched PyTorch expands without an unsqueeze: right for out_dim 0 only,
        # and a crash for negative ones.
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


def make_program(generator: Generator, inputs: Dict[str, torch.Tensor]):
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
                self.write(sample, [make_program(generator, self.inputs) for _ in range(min(PROGRAMS_A_SAMPLE, run.args.programs - i))])
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
            text = model_text([make_program(Generator(seed), self.inputs)])
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
