"""compose of models, against PyTorch."""

from __future__ import annotations

import pathlib
import tempfile
import unittest

import torch

import graphnet_ir


class Encoder(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.GELU())
        self.register_buffer("shift", torch.arange(6.0))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = self.layer(x) + self.shift
        return hidden, hidden.mean(1)


class Head(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Sequential(torch.nn.Linear(6, 2), torch.nn.Softmax(-1))
        self.register_buffer("shift", torch.ones(2))

    def forward(self, x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return self.layer(x) * scale + self.shift


class Whole(torch.nn.Module):
    def __init__(self, encoder: Encoder, head: Head) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head

    def forward(self, x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return self.head(self.encoder(x)[0], scale)


class ComposeTest(unittest.TestCase):
    def test_is_the_module_of_both(self) -> None:
        torch.manual_seed(1)
        encoder, head = Encoder(), Head()
        whole = Whole(encoder, head)
        x, scale = torch.randn(5, 4), torch.tensor([2.0, 3.0])
        batch, rows = torch.export.Dim("batch"), torch.export.Dim("rows")
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for file, module, inputs, sizes in (
                    ("encoder", encoder, (x,), ({0: batch},)),
                    ("head", head, (torch.randn(3, 6), scale), ({0: rows}, None))):
                program = torch.export.export(module, inputs, dynamic_shapes=sizes)
                torch.export.save(program, folder / f"{file}.pt2")
            out = folder / "whole.pt2"
            report = graphnet_ir.commands.compose(
                folder / "encoder.pt2", folder / "head.pt2", out=out, connect=["o0:x"])
            self.assertEqual(report["models"], 2)
            made = torch.export.load(out)
            self.assertEqual(set(whole.state_dict()), set(made.state_dict))
            for name, value in whole.state_dict().items():
                self.assertTrue(torch.equal(value, made.state_dict[name]), name)
            for count in (5, 9):
                x = torch.randn(count, 4)
                self.assertTrue(torch.equal(whole(x, scale), made.module()(x, scale)))


if __name__ == "__main__":
    unittest.main()
