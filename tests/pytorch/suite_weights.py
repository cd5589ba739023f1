"""The suite of compare.py on checkpoints: `graphnet run --weights`, beside load_state_dict."""

import argparse
import pathlib
from typing import Dict, Optional

import torch
from torch import nn

import in_pytorch
from compare import Failed, Run, Suite


class Block(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv_1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + self.bn(self.conv_1(x)))


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 7, stride=2)
        self.layers = nn.Sequential(Block(8), Block(8))
        self.head = nn.Linear(8, 12)
        self.register_buffer("scale", torch.tensor([2.0]), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(self.stem(x)).mean((2, 3))) * self.scale


class Tied(nn.Module):
    """Two names of one parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.out = nn.Linear(8, 20, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.out(torch.tanh(self.embed(ids)))


def random(module: nn.Module, seed: int) -> nn.Module:
    """Gives all floats of a module random values."""
    generator = torch.Generator().manual_seed(seed)
    for name, value in module.state_dict().items():
        if value.is_floating_point():
            value.copy_(torch.rand(value.shape, generator=generator) + (0.5 if name.endswith("var") else -0.5))
    return module.eval()


def prefixed(state: Dict[str, torch.Tensor], prefix: str) -> Dict[str, torch.Tensor]:
    return {prefix + name: value for name, value in state.items()}


def dynamo_sample(model: nn.Linear, x: torch.Tensor, path: pathlib.Path) -> None:
    """Writes a sample of a Sequential of one Linear, with the names that Dynamo gives to its inputs."""
    names = []

    def backend(graph: torch.fx.GraphModule, inputs: object) -> object:
        names.extend(node.target for node in graph.graph.nodes if node.op == "placeholder")
        return graph

    with torch.no_grad():
        torch.compile(model, backend=backend)(x)
    weight, bias = (next(name for name in names if name.endswith(end)) for end in ("weight_", "bias_"))
    path.write_text(
        f"graphnet.module 1\n\ngraph @forward(%x : f32[2, 8], %{weight} : f32[4, 8], %{bias} : f32[4]) {{\n"
        f"  %y = torch._C._nn.linear(%x, %{weight}, %{bias})\n  return (%y,)\n}}\nend\n")


class Weights(Suite):
    """Has PyTorch save checkpoints in the ways in which people do, load them by load_state_dict and run the
    model, and compares the bits with those of `graphnet run --weights` on the program of another state."""

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        pass

    def run(self, run: Run) -> Optional[str]:
        x = torch.rand(1, 3, 32, 32, generator=torch.Generator().manual_seed(0))
        programs = {"net.pt2": random(Net(), 1), "net.pt": random(Net(), 1)}
        torch.export.save(torch.export.export(programs["net.pt2"], (x,)), run.scratch / "net.pt2")
        torch.jit.save(torch.jit.trace(programs["net.pt"], x), run.scratch / "net.pt")
        state = random(Net(), 2).state_dict()
        halves = {name: value.bfloat16() if value.is_floating_point() else value for name, value in state.items()}
        last = {name: value.contiguous(memory_format=torch.channels_last) if value.dim() == 4 else value
                for name, value in state.items()}
        optimizer = {"state": {0: {"exp_avg": torch.ones(4), "step": torch.tensor(1.0)}},
                     "param_groups": [{"lr": 0.1, "betas": (0.9, 0.99), "params": [0]}]}
        lightning = {"epoch": 3, "state_dict": prefixed(state, "model."), "optimizer_states": [optimizer]}
        checkpoints = {
            "plain": state, "ddp": prefixed(state, "module."), "compiled": prefixed(state, "_orig_mod."),
            "lightning": lightning, "loop": {"model": prefixed(state, "module."), "optimizer": optimizer},
            "parameters": {name: nn.Parameter(value) if value.is_floating_point() else value for name, value in state.items()},
            "channels_last": last, "halves": halves,
        }
        for program in programs:
            for name, saved in checkpoints.items():
                torch.save(saved, run.scratch / f"{name}.pth")
                model = Net().eval()
                model.load_state_dict(halves if name == "halves" else state)
                self.one(run, f"{program} {name}", run.scratch / program, run.scratch / f"{name}.pth", model, x, "x")
            in_pytorch.write_safetensors(dict(state), run.scratch / "plain.safetensors")
            model = Net().eval()
            model.load_state_dict(state)
            self.one(run, f"{program} safetensors", run.scratch / program, run.scratch / "plain.safetensors", model, x, "x")
        # Dynamo's names.
        model, given = nn.Sequential(nn.Linear(8, 4)), torch.rand(2, 8)
        dynamo_sample(random(model, 1), given, run.scratch / "dynamo.gn")
        torch.save(random(model, 3).state_dict(), run.scratch / "linear.pth")
        self.one(run, "dynamo", run.scratch / "dynamo.gn", run.scratch / "linear.pth", model, given, "x")
        # A parameter of two names.
        ids = torch.arange(6).reshape(2, 3)
        tied = random(Tied(), 4)
        torch.export.save(torch.export.export(random(Tied(), 5), (ids,)), run.scratch / "tied.pt2")
        torch.save(tied.state_dict(), run.scratch / "tied.pth")
        self.one(run, "tied", run.scratch / "tied.pt2", run.scratch / "tied.pth", tied, ids, "ids")
        return None

    def one(self, run: Run, name: str, program: pathlib.Path, checkpoint: pathlib.Path, model: nn.Module,
            given: torch.Tensor, parameter: str) -> None:
        with torch.no_grad():
            torch.set_num_threads(1)
            expected = model(given)
        try:
            more = ["--cast-weights"] if "halves" in name else []
            actual = run.outputs(program, {parameter: given}, "--weights", checkpoint, *more)
        except Failed as error:
            return run.tell(name, str(error))
        run.tell(name, in_pytorch.compare({"o0": expected}, actual))
