"""from_exported and to_exported."""

from __future__ import annotations

import pathlib
import tempfile
import unittest

import torch
from torch.utils import _pytree as pytree

import graphnet_ir


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)
        self.register_buffer("shift", torch.arange(3.0))

    def forward(self, x: torch.Tensor, *, scale: torch.Tensor) -> dict[str, torch.Tensor]:
        y = self.linear(x) * scale + self.shift
        return {"y": y, "sum": y.sum(0)}


class ExportedTest(unittest.TestCase):
    def setUp(self) -> None:
        torch.manual_seed(0)
        self.x = torch.randn(5, 4)
        self.scale = torch.tensor(2.0)
        batch = torch.export.Dim("batch")
        self.program = torch.export.export(
            Net(), (self.x,), {"scale": self.scale},
            dynamic_shapes={"x": {0: batch}, "scale": None})

    def test_is_what_the_file_is(self) -> None:
        sample = graphnet_ir.from_exported(self.program, name="net")
        self.assertEqual(sample.name, "net")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "net.pt2")
            torch.export.save(self.program, path)
            file = graphnet_ir.load(str(path))
            self.assertEqual(graphnet_ir.show(file, complete=True),
                             graphnet_ir.show(sample, complete=True))
            self.assertEqual(graphnet_ir.hash(file, metas=True, weights=True),
                             graphnet_ir.hash(sample, metas=True, weights=True))

    def test_comes_back(self) -> None:
        program = graphnet_ir.to_exported(graphnet_ir.from_exported(self.program))
        for rows in (5, 9):
            x = torch.randn(rows, 4)
            expected = self.program.module()(x, scale=self.scale)
            got = program.module()(x, scale=self.scale)
            self.assertEqual(pytree.tree_structure(expected), pytree.tree_structure(got))
            for name in expected:
                self.assertTrue(torch.equal(expected[name], got[name]))

    def test_after_a_pass(self) -> None:
        sample = graphnet_ir.opt(graphnet_ir.from_exported(self.program), "dce,cse").sample
        got = graphnet_ir.to_exported(sample).module()(self.x, scale=self.scale)
        self.assertTrue(torch.equal(got["y"], self.program.module()(self.x, scale=self.scale)["y"]))

    def test_refuses(self) -> None:
        sample = graphnet_ir.parse("graphnet.module 1\ngraph @forward(%x : f32[2]@cpu) {\n"
                                   "  %y = os.system(%x)\n  return (%y,)\n}\nend\n")
        with self.assertRaises(graphnet_ir.Error):
            graphnet_ir.to_exported(sample)


if __name__ == "__main__":
    unittest.main()
