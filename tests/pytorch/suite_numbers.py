"""The suite of compare.py on arithmetic of tensors and numbers in TorchScript."""

import linecache
import pathlib
import re
from typing import Callable, Dict, Iterator, List, NamedTuple

import torch

import in_pytorch
from compare import Failed, Run, Suite

BINARY = ["+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">=", "&", "|", "^", "<<", ">>"]
FUNCTIONS = ["add", "sub", "mul", "div", "rsub", "subtract", "multiply", "divide", "true_divide", "floor_divide",
             "remainder", "fmod", "pow", "float_power", "xlogy", "copysign", "eq", "ge", "bitwise_and"]
IN_PLACE = ["add_", "sub_", "mul_", "div_", "floor_divide_", "remainder_", "fmod_", "pow_", "fill_", "eq_", "lt_",
            "bitwise_or_", "multiply_", "true_divide_", "copysign_"]
OF_NUMBERS = (
    [f"x {op} s" for op in BINARY] + [f"s {op} x" for op in BINARY]
    + [f"torch.{name}(x, s)" for name in FUNCTIONS]
    + [f"torch.{name}(s, x)" for name in ("add", "sub", "mul", "div", "pow", "remainder", "xlogy", "float_power")]
    + [f"x.clone().{name}(s)" for name in IN_PLACE]
    + [f"torch.{name}(x, s, alpha=2)" for name in ("add", "sub", "rsub")]
    + [f"torch.div({a}, rounding_mode='{mode}')" for a in ("x, s", "s, x") for mode in ("floor", "trunc")]
    + ["x.clone().div_(s, rounding_mode='trunc')", "x.clone().sub_(s, alpha=2)", "torch.where(x == x, x, s)",
       "torch.where(x == x, s, x)", "x.masked_fill(x == x, s)", "torch.clamp(x, min=s)", "torch.clamp(x, max=s)",
       "torch.full_like(x, s)", "torch.lerp(x, x + x, s)", "torch.addcmul(x, x, x, value=s)",
       "torch.nn.functional.leaky_relu(x, s)", "x * torch.tensor(s)", "torch.tensor(s) * x",
       "torch.maximum(x, torch.tensor(s))", "torch.logical_and(x, torch.tensor(s))", "x.sum() * s", "s / x.sum()",
       "(x * s) * s - s", "x[0:1] * s", "torch.mul(x, s) + x.mean() / s"])
NUMBERS = {"int": "3", "float": "0.7", "complex": "complex(1.5, -2.0)", "bool": "True"}

# Tracing makes a constant of a tensor from outside, whatever its dtype. `inner` and
# `outer` are modules; the latter hands the constant on.
OF_CONSTANTS = ([f"x {op} s" for op in "+-*/"] + [f"s {op} x" for op in "+-*/"]
                + ["x % s", "x // s", "x.clone().mul_(s)", "torch.add(x, s, alpha=2)", "inner(x, s)", "outer(x, s)"])
CONSTANTS = {"c_float64": torch.tensor(0.7, dtype=torch.float64), "c_float16": torch.tensor(0.7, dtype=torch.float16),
             "c_int32": torch.tensor(3, dtype=torch.int32), "c_bool": torch.tensor(True),
             "c_complex128": torch.tensor(1.5 - 2j, dtype=torch.complex128), "c_row": torch.tensor([0.7] * 5).double()}

OF_VIEWS = ["torch.matmul(x.mH, x.t())", "torch.mm(x.mH, x.t())", "torch.nn.functional.linear(x.mH, x.conj())",
            "torch.tensordot(x.mH, x.t(), 1)", "torch.einsum('ij,kj->ik', x.mH, x)", "torch.matmul(x.conj(), x.mT)",
            "torch.addmm(x, x.mH, x.conj(), beta=0.5)", "torch.matmul(x.mH, x[0].conj())", "torch.kron(x.mH, x.conj())",
            "torch.matmul(x.imag, x.imag.t())", "torch.matmul(x.conj().imag, x.real)", "torch.std(x.mH)",
            "x.mH.clone().mul_(x.conj())", "torch.cumsum(x.mH, 0) * 0.5", "torch.linalg.norm(x.conj()) * 2"]

DTYPES = [torch.bool, torch.uint8, torch.int64, torch.float16, torch.float32, torch.float64, torch.complex64,
          torch.complex128]
SHAPES = [(), (3, 5)]


class Program(NamedTuple):
    form: str
    text: str  # of `x`, with the number or constant in its place
    input: str
    dtype: torch.dtype

    def operand(self) -> str:
        return f"torch.view_as_complex({self.input}).to({self.dtype})" if self.dtype.is_complex else self.input

    def __str__(self) -> str:
        return f"{self.text}  where x is {self.input}"


Make = Callable[[List[Program]], torch.jit.ScriptModule]


def name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def make_inputs(seed: int) -> Dict[str, torch.Tensor]:
    """One for each dtype and rank; complex ones as pairs, as files do not hold all of them."""
    generator = torch.Generator().manual_seed(seed)
    inputs = {}
    for dtype in DTYPES:
        for shape in SHAPES:
            name = f"{name_of(dtype)}_{len(shape)}"
            if dtype.is_complex:
                inputs[name] = torch.randn((*shape, 2), dtype=torch.float64, generator=generator)
            elif dtype.is_floating_point:
                inputs[name] = torch.randn(shape, generator=generator).to(dtype)
            else:
                inputs[name] = torch.randint(int(dtype != torch.bool), 7, shape, generator=generator).to(dtype)
    inputs["square"] = torch.randn((8, 8, 2), dtype=torch.float64, generator=generator)
    return inputs


class Inner(torch.nn.Module):
    def forward(self, x: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
        return x * s


class Outer(torch.nn.Module):
    def __init__(self, inner: torch.nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
        return (x + s) - self.inner(x, s)


class Probe:
    """The programs of one run, and the archives that hold them."""

    def __init__(self, run: Run) -> None:
        self.run, self.refused = run, 0
        self.inputs, self.others = make_inputs(0), make_inputs(1)
        in_pytorch.write_safetensors(self.inputs, run.scratch / "inputs.safetensors")
        inner = Inner()
        self.modules = {"inner": inner, "outer": Outer(inner)}
        self.scope = {"torch": torch, **CONSTANTS, **self.inputs, **self.modules}
        self.parameters = ", ".join(self.inputs)

    # ------------------------------------------------------------- programs

    def program(self, form: str, number: str, name: str, dtype: torch.dtype) -> Iterator[Program]:
        """The program, if PyTorch runs it."""
        program = Program(form, re.sub(r"\bs\b", number, form), name, dtype)
        try:
            value = eval(program.text, {**self.scope, "x": eval(program.operand(), self.scope)})
        except Exception:  # Whatever PyTorch refuses.
            return
        # Files hold no complex numbers of some widths; what is kept tells the dtype.
        if value.is_complex():
            program = program._replace(text=f"torch.view_as_real(({program.text}).resolve_conj())")
        yield program

    def programs(self, forms: List[str], number: str) -> List[Program]:
        return [program for form in forms for dtype in DTYPES for shape in SHAPES
                for program in self.program(form, number, f"{name_of(dtype)}_{len(shape)}", dtype)]

    def views(self) -> List[Program]:
        return [program for form in OF_VIEWS for dtype in (torch.complex64, torch.complex128)
                for program in self.program(form, "", "square", dtype)]

    # ------------------------------------------------------------- archives

    def body(self, programs: List[Program]) -> str:
        lines = []
        for i, program in enumerate(programs):
            lines += [f"x = {program.operand()}", f"r{i}: torch.Tensor = {program.text}"]
        results = ", ".join(f"r{i}" for i in range(len(programs)))
        return "\n  ".join(lines + [f"return [{results}]"])

    def traced(self, programs: List[Program]) -> torch.jit.ScriptModule:
        class Traced(torch.nn.Module):
            pass

        scope = dict(self.scope)
        exec(f"def forward(self, {self.parameters}):\n  {self.body(programs)}", scope)
        Traced.forward = scope["forward"]
        module = Traced()
        for name, child in self.modules.items():
            module.add_module(name, child)
        return torch.jit.trace(module, tuple(x.clone() for x in self.inputs.values()), check_trace=False, strict=False)

    def scripted(self, programs: List[Program]) -> torch.jit.ScriptModule:
        # torch.jit.script reads the text of what it compiles from its file.
        file = f"<scripted {len(linecache.cache)}>"
        text = f"def forward({self.parameters}):\n  {self.body(programs)}\n"
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        scope = {"torch": torch, "__name__": __name__}
        exec(compile(text, file, "exec"), scope)
        return torch.jit.script(scope["forward"])

    def load(self, path: pathlib.Path, inputs: Dict[str, torch.Tensor]) -> List[torch.Tensor]:
        """What torch::jit makes of an archive."""
        returned = torch.jit.load(str(path))(*(value.clone() for value in inputs.values()))
        return [leaf for _, leaf in in_pytorch.flatten(returned, "") if isinstance(leaf, torch.Tensor)]

    def accepted(self, make: Make, programs: List[Program]) -> List[Program]:
        """Those that torch::jit compiles and runs."""
        if not programs:
            return []
        try:
            module = make(programs)
            for inputs in (self.inputs, self.others):
                module(*(value.clone() for value in inputs.values()))
            return programs
        except RuntimeError:  # Whatever torch::jit refuses.
            if len(programs) == 1:
                return []
        middle = len(programs) // 2
        return self.accepted(make, programs[:middle]) + self.accepted(make, programs[middle:])

    # ------------------------------------------------------------ comparing

    def outputs(self, what: pathlib.Path) -> List[torch.Tensor]:
        found = self.run.outputs(what, self.others)
        return [found[f"o{i}"] for i in range(len(found))]

    def extracted(self, archive: pathlib.Path) -> List[torch.Tensor]:
        # With other inputs than it runs with then: what depends on them is no constant.
        folder = archive.with_suffix("")
        self.run.graphnet("extract", archive, "-o", folder, "--inputs", self.run.scratch / "inputs.safetensors", "--check", "--threads", 1)
        return self.outputs(folder)

    def exported(self, archive: pathlib.Path) -> List[torch.Tensor]:
        path = archive.with_suffix(".exported.pt")
        self.run.graphnet("convert", "--to", "torchscript", archive, path)
        return self.load(path, self.others)

    def compare(self, name: str, make: Make, groups: List[List[Program]]) -> None:
        programs = [program for group in groups for program in self.accepted(make, group)]
        self.refused += sum(map(len, groups)) - len(programs)
        archive = self.run.scratch / f"{name}.pt"
        make(programs).save(str(archive))
        expected = self.load(archive, self.others)
        for how, get in (("run", self.outputs), ("extract", self.extracted), ("export", self.exported)):
            try:
                found = get(archive)
                assert len(found) == len(programs) == len(expected), f"{len(found)} results"
            except Exception as error:  # Whatever graphnet refuses is a result.
                self.run.tell(f"{name}, {how}", str(error) if isinstance(error, Failed) else in_pytorch.one_line(error), len(programs))
                continue
            for program, a, b in zip(programs, expected, found):
                self.run.tell(f"{name}, {how}: {program}", in_pytorch.difference(a, b))


def grouped(programs: List[Program]) -> List[List[Program]]:
    """By form: what torch::jit refuses, it mostly refuses for all dtypes."""
    groups: Dict[str, List[Program]] = {}
    for program in programs:
        groups.setdefault(program.form, []).append(program)
    return list(groups.values())


class Numbers(Suite):
    """Runs traced and scripted arithmetic with numbers by torch::jit and by graphnet.

A program is an expression of a tensor and a number: an operator, the number's place in it and its type, the
tensor's dtype and rank, traced or scripted; further ones hold tensors as constants, or read tensors through
conjugate views. What PyTorch or torch::jit refuses is left out. Programs with one type of number make one
archive. graphnet runs it, extracts it (with --check) and runs what was extracted, and exports it, which
torch::jit runs again: each must yield the same dtypes and bits.
"""

    def run(self, run: Run) -> str:
        torch.set_num_threads(1)
        with torch.no_grad():
            probe = Probe(run)
            for kind, number in NUMBERS.items():
                programs = grouped(probe.programs(OF_NUMBERS, number))
                probe.compare(f"traced_{kind}", probe.traced, programs)
                probe.compare(f"scripted_{kind}", probe.scripted, programs)
            constants = [group for name in CONSTANTS for group in grouped(probe.programs(OF_CONSTANTS, name))]
            probe.compare("traced_constants", probe.traced, constants)
            probe.compare("traced_views", probe.traced, grouped(probe.views()))
            probe.compare("scripted_views", probe.scripted, grouped(probe.views()))
        if run.counts["equal"] < 1800:
            run.tell("all", "fewer than 600 programs were made")
        return f"{probe.refused} programs are refused by torch::jit"
