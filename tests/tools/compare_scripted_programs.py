#!/usr/bin/env python3
"""Runs scripted programs that ask for gradients, take texts and numbers, or are quantised.

    compare_scripted_programs.py [--graphnet PATH] [--keep FOLDER]

Each is saved, run by `graphnet run`, extracted with --check, and run from the folder that was
extracted, by graphnet and by the run_stitched.py in it. Outputs must have torch.jit's bits. What a
program was not captured for must be refused by the folder. The exit status is 0 if all is so.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import warnings
from typing import Dict, List, Optional, Tuple

import torch

import in_pytorch

warnings.filterwarnings("ignore")


class Forces(torch.nn.Module):
    """Energies of a molecule, and their gradients by positions."""

    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))

    def forward(self, pos: torch.Tensor):
        pos = pos.detach().requires_grad_(True)
        energy = self.net(pos).sum() + (pos[:, None] - pos[None]).pow(2).sum()
        gradient = torch.autograd.grad([energy], [pos])[0]
        assert gradient is not None
        return energy.detach(), -gradient


class Hessian(torch.nn.Module):
    """Second derivatives, a row at a time."""

    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.SiLU(), torch.nn.Linear(16, 1))

    def forward(self, pos: torch.Tensor):
        pos.requires_grad_(True)
        energy = self.net(pos).sum()
        gradient = torch.autograd.grad([energy], [pos], create_graph=True)[0]
        assert gradient is not None
        rows: List[torch.Tensor] = []
        for i in range(gradient.numel()):
            row = torch.autograd.grad([gradient.flatten()[i]], [pos], retain_graph=True)[0]
            assert row is not None
            rows.append(row.flatten())
        return gradient.detach(), torch.stack(rows)


class Detached(torch.nn.Module):
    """What is computed under no_grad takes no part in gradients."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor):
        z = x.detach().clone().requires_grad_(True)
        with torch.no_grad():
            weight = self.linear(z)
        energy = (self.linear(z) * weight).sum(0)
        ones: List[Optional[torch.Tensor]] = [torch.ones_like(energy)]
        gradients = torch.autograd.grad([energy], [z, self.linear.weight], ones, retain_graph=False,
                                        create_graph=False, allow_unused=True)
        g, h = gradients[0], gradients[1]
        if g is None:
            g = torch.zeros_like(x)
        if h is None:
            h = torch.zeros_like(x)
        return g, h, z.requires_grad, weight.requires_grad


class NoGradients(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 4)

    def forward(self, x: torch.Tensor):
        with torch.no_grad():
            y = self.linear(x)
        return y + self.linear(x.exp())


class Mode(torch.nn.Module):
    def forward(self, x: torch.Tensor, mode: str = "sum"):
        if mode == "sum":
            return x.sum(-1)
        elif mode == "mean":
            return x.mean(-1)
        return x * len(mode)


class Required(torch.nn.Module):
    def forward(self, x: torch.Tensor, mode: str, n: int):
        return x.sum(-1) * n if mode.startswith("s") else x.mean(-1) + n


class Several(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: Optional[torch.Tensor] = None, k: Optional[int] = 3, f: float = 0.5):
        if y is not None:
            x = x + y
        if k is not None:
            x = x * k
        return x * f


class Structures(torch.nn.Module):
    def forward(self, x: torch.Tensor, dims: List[int], d: Dict[str, torch.Tensor], t: Tuple[torch.Tensor, int],
                b: bool = True):
        y = x.permute(dims)
        if b:
            y = y + d["a"] + t[0] * t[1]
        return y


class First(torch.nn.Module):
    def __init__(self, of):
        super().__init__()
        self.of = of

    def forward(self, x: torch.Tensor):
        return self.of(x)[0]


def quantised(module):
    kinds = {torch.nn.Linear, torch.nn.LSTM, torch.nn.GRU}
    return torch.ao.quantization.quantize_dynamic(module.eval(), kinds, dtype=torch.qint8)


def programs():
    """Name, module, inputs by name, other inputs that the extracted program refuses, and options."""
    x = torch.randn(4, 3)
    for module in (Forces(), Hessian(), Detached(), NoGradients()):
        yield type(module).__name__, module, {module_input(module): x}, None, []
    yield "Mode by default", Mode(), {"x": x}, {"x": x, "mode": "mean"}, []
    for mode in ("mean", "other"):
        yield f"Mode {mode}", Mode(), {"x": x, "mode": mode}, {"x": x, "mode": "sum"}, []
    yield "Required", Required(), {"x": x, "mode": "sum", "n": 3}, {"x": x, "mode": "sum", "n": 4}, []
    yield "Required mean", Required(), {"x": x, "mode": "mean", "n": 2}, {"x": x, "mode": "s", "n": 2}, []
    yield "Several", Several(), {"x": x}, {"x": x, "k": 4}, []
    yield "Several given", Several(), {"x": x, "y": x + 1, "k": 5, "f": 1.5}, {"x": x, "y": x, "k": 5, "f": 2.5}, []
    yield "Structures", Structures(), {"x": x, "dims.0": 1, "dims.1": 0, "d.a": x.t().contiguous(),
                                       "t.0": torch.ones(3, 4), "t.1": 2}, None, []
    sequence = torch.randn(3, 5, 8)
    trust = ["--trust"]
    yield "LSTM", quantised(First(torch.nn.LSTM(8, 16, 2, batch_first=True))), {"x": sequence}, None, trust
    yield "LSTM both ways", quantised(First(torch.nn.LSTM(8, 16, bidirectional=True))), {"x": sequence}, None, trust
    yield "GRU", quantised(First(torch.nn.GRU(8, 16))), {"x": sequence}, None, trust
    layers = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    yield "Linear", quantised(layers), {"input": sequence}, None, trust


def module_input(module) -> str:
    return "pos" if isinstance(module, (Forces, Hessian)) else "x"


def as_tensors(inputs) -> dict:
    """As --inputs has numbers and texts."""
    def tensor(value):
        if isinstance(value, str):
            return torch.tensor(list(value.encode()), dtype=torch.uint8)
        dtype = torch.float64 if isinstance(value, float) else None
        return value.clone() if isinstance(value, torch.Tensor) else torch.tensor(value, dtype=dtype)
    return {name: tensor(value) for name, value in inputs.items()}


def call(module, inputs):
    """With the structures that the names stand for."""
    given = {n: v.clone() if isinstance(v, torch.Tensor) else v for n, v in inputs.items()}
    if "dims.0" in given:
        return module(given["x"], [given["dims.0"], given["dims.1"]], {"a": given["d.a"]},
                      (given["t.0"], given["t.1"]))
    return module(**given)


def check(graphnet, module, inputs, refused, options, folder) -> str:
    archive, out = folder / "m.pt", folder / "extracted"
    torch.jit.script(module).save(str(archive))
    # As torch.jit runs it without its optimisations, which round otherwise.
    with torch.jit.optimized_execution(False):
        expected = in_pytorch.outputs(call(torch.jit.load(str(archive)), inputs))
    values, found = folder / "i.safetensors", folder / "o.safetensors"
    in_pytorch.write_safetensors(as_tensors(inputs), values)

    def run(*command) -> str:
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
        if done.returncode != 0:
            return f"{command[1]}: {done.stderr.strip()[-300:] or done.stdout.strip()[-300:]}"
        what = in_pytorch.compare(expected, in_pytorch.read_safetensors(found)) if found in command else ""
        return what and f"{command[1]}: {what}"

    given = ["--inputs", values]
    steps = [[graphnet, "extract", archive, "-o", out, "--check", *given, *options],
             [graphnet, "run", out, "--outputs", found, *given, *options],
             [sys.executable, out / "run_stitched.py", out, "--outputs", found, *given]]
    if not options:  # Objects of classes that are written in C++ are no values of a graph.
        steps.insert(0, [graphnet, "run", archive, "--outputs", found, *given])
    for step in steps:
        if what := run(*step):
            return what
    if refused:
        in_pytorch.write_safetensors(as_tensors(refused), values)
        if not run(graphnet, "run", out, *given, *options):
            return "the extracted program takes other numbers or texts than those of its capture"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphnet", default="bazel-bin/graphnet/cli/graphnet")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for what is made")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    passed = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name, module, inputs, refused, options in programs():
            folder = (args.keep or pathlib.Path(scratch)) / name.replace(" ", "_")
            folder.mkdir(parents=True, exist_ok=True)
            try:
                what = check(args.graphnet, module, inputs, refused, options, folder)
            except Exception as error:  # Whatever a model raises is a result.
                what = in_pytorch.one_line(error)
            passed += not what
            failed += bool(what)
            if what:
                print(f"{name}: {what}", flush=True)
    print(f"{passed} programs run as in torch.jit, {failed} not")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
