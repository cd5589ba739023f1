"""The suite of compare.py on example inputs: each .pt2 that graphnet writes runs at once in PyTorch."""

import pathlib
from typing import Optional

import torch
from torch import nn

import in_pytorch
from compare import Failed, Run, Suite


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(30, 8)
        self.norm = nn.LayerNorm(8)
        self.out = nn.Linear(8, 30)

    def forward(self, ids: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return self.out(torch.tanh(self.norm(self.embed(ids) * scale)))


class Examples(Suite):
    """Cuts, converts, reduces and rewrites a program, and calls what torch.export.load returns with its own
    example inputs. `graphnet run` without inputs must then yield the same bits: it takes these, too."""

    def run(self, run: Run) -> Optional[str]:
        torch.manual_seed(0)
        torch.set_num_threads(1)
        given = (torch.arange(12).reshape(3, 4), torch.rand(1))
        program = torch.export.export(Net().eval(), given)
        torch.export.save(program, run.scratch / "net.pt2")
        made = {
            "subgraph": ["subgraph", "net.pt2", "--range", "1:4"],
            "whole subgraph": ["subgraph", "net.pt2", "--range", "0:2"],
            "opt": ["opt", "net.pt2", "-p", "dce"],
            "bare text": ["convert", "net.gn", "--draw-weights"],
            "reduce": ["reduce", "net.pt2", "--command", "test -s {}"],
        }
        run.graphnet("convert", run.scratch / "net.pt2", run.scratch / "net.gn")
        for name, words in made.items():
            out = run.scratch / f"{name.replace(' ', '_')}.pt2"
            try:
                run.graphnet(*[run.scratch / word if word.startswith("net.") else word for word in words], "-o", out)
            except Failed as error:
                run.tell(name, str(error))
                continue
            run.tell(name, self.difference(run, out))
        # The values that are known are those of the program.
        loaded = torch.export.load(run.scratch / "opt.pt2").example_inputs
        run.tell("known values", "" if all(torch.equal(a, b) for a, b in zip(loaded[0], given)) else "are others")
        return None

    def difference(self, run: Run, path: pathlib.Path) -> str:
        program = torch.export.load(path)
        if program.example_inputs is None:
            return "has no example inputs"
        positional, named = program.example_inputs
        with torch.no_grad():
            returned = program.module()(*positional, **named)
        return in_pytorch.compare(in_pytorch.outputs(returned), run.outputs(path, None))
