"""from_exported and to_exported."""

from __future__ import annotations

import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

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
            self.assertEqual(graphnet_ir.canonical_hash(file, metas=True, weights=True),
                             graphnet_ir.canonical_hash(sample, metas=True, weights=True))

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


    def test_arguments_of_other_structures(self) -> None:
        class Nested(torch.nn.Module):
            def forward(self, d, *args, k=2, flag=None):  # type: ignore[no-untyped-def]
                return d["b"] * args[0] - d["a"][0] * k + args[1]

        a, b, c, d = (torch.randn(2, 3) for _ in range(4))
        program = torch.export.export(Nested(), ({"a": [a], "b": b}, c, d), {"k": 3})
        expected = program.module()({"a": [a], "b": b}, c, d, k=3)
        sample = graphnet_ir.from_exported(program)
        leaves = pytree.tree_leaves((({"a": [a], "b": b}, c, d), {"k": 3}))
        for given in ((a, b, c, d), leaves, ({"a": [a], "b": b}, c, d),
                      ({"b": b, "a": (a,)}, c, d)):
            self.assertTrue(torch.equal(graphnet_ir.run(sample, *given)[0], expected))
            self.assertEqual(graphnet_ir.shapes(sample, *given).graph.output_node().args[0]
                             .tensor_meta.shape, (2, 3))
        for given, message in ((({"a": [a]}, c, d), r"argument 0 must be a dict with the keys"),
                               (({"a": [a, b], "b": b}, c, d), r"\['a'\] must have 1 parts, not 2"),
                               ((a, b), "the sample takes 4 inputs .*, 2 were given")):
            with self.assertRaisesRegex(TypeError, message):
                graphnet_ir.run(sample, *given)
        self.assertTrue(torch.equal(  # A keyword argument need not be given.
            graphnet_ir.run(graphnet_ir.from_exported(self.program), self.x,
                            values={"scale": self.scale})[0],
            self.program.module()(self.x, scale=self.scale)["y"]))

    def test_classes_that_are_not_known(self) -> None:
        """A process that has not imported the library of a class gets a tuple in its place."""
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "library.py").write_text(LIBRARY)
            made = subprocess.run([sys.executable, "-c", MAKE], cwd=folder, check=True,
                                  capture_output=True, text=True,
                                  env={**os.environ, "PYTHONPATH": folder + ":" +
                                       ":".join(filter(None, sys.path))})
            for name in ("tuple", "named", "data", "inner"):
                sample = graphnet_ir.load(f"{folder}/{name}.pt2")
                sample.save(f"{folder}/again.pt2")  # keeps the name of the class
                for of in (sample, graphnet_ir.load(f"{folder}/again.pt2")):
                    for call in (graphnet_ir.to_exported(of).module(), graphnet_ir.to_fx(of)):
                        x = call(torch.ones(2))
                        self.assertEqual([leaf.tolist() for leaf in pytree.tree_leaves(x)],
                                         [[2.0, 2.0], [3.0, 3.0]], name)
            self.assertNotIn("library", sys.modules)
            self.assertEqual(made.stdout, "Pair Named Data dict\n")  # with it, the class comes

    def test_nothing_is_imported(self) -> None:
        """torch.export.load imports modules that contexts of a program's calls name."""
        class Net(torch.nn.Module):
            def forward(self, x: torch.Tensor) -> tuple[dict[str, torch.Tensor],
                                                        list[torch.Tensor]]:
                return {"y": x + 1}, [x * 2]

        file = io.BytesIO()
        torch.export.save(torch.export.export(Net(), (torch.ones(2),)), file)
        enum = '{"__enum__": true, "fqn": "stranger:Color", "name": "RED"}'
        factory = {"default_factory_module": "stranger", "default_factory_name": "f",
                   "dict_context": ["y"]}
        changes = [("builtins.tuple", "null", "builtins.tuple", enum),
                   ("builtins.tuple", "null", "builtins.tuple", f"[{enum}]"),
                   ("builtins.list", "null", "builtins.list", f"[[{enum}]]"),
                   ("builtins.list", "null", "collections.deque", enum),
                   ("builtins.dict", '["y"]', "collections.defaultdict", factory),
                   ("builtins.dict", '["y"]', "collections.defaultdict",
                    {**factory, "default_factory_module": "builtins",
                     "default_factory_name": "eval"}),
                   ("builtins.dict", '["y"]', "stranger.Class", '["y"]'),
                   ("builtins.dict", '["y"]', "collections.OrderedDict", '["y"]'),
                   ("builtins.dict", '["y"]', "torch.Size", f'["y", {enum}]')]
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "stranger.py").write_text("raise SystemExit('imported')")
            sys.path.insert(0, folder)
            self.addCleanup(sys.path.remove, folder)
            for old_type, old_context, new_type, new_context in changes:
                before = f'"type": "{old_type}", "context": {json.dumps(old_context)}'
                after = f'"type": "{new_type}", "context": {json.dumps(new_context)}'
                data, count = with_other_calls(file.getvalue(), before, after)
                self.assertGreater(count, 0)
                with self.subTest(after):
                    sample = graphnet_ir.load_bytes(data, "net.pt2")
                    got = graphnet_ir.to_exported(sample).module()(torch.ones(2))
                    self.assertEqual([leaf.tolist() for leaf in pytree.tree_leaves(got)],
                                     [[2.0, 2.0]] * 2)
                    if new_type != "stranger.Class":
                        torch.export.load(io.BytesIO(graphnet_ir.to_bytes(sample, "pt2")))
            keys = {**factory, "dict_context": [json.loads(enum)]}
            data, _ = with_other_calls(
                file.getvalue(), '"type": "builtins.dict", "context": "[\\"y\\"]"',
                f'"type": "collections.defaultdict", "context": {json.dumps(keys)}')
            with self.assertRaisesRegex(graphnet_ir.Error, "a key of a defaultdict is an object"):
                graphnet_ir.to_exported(graphnet_ir.load_bytes(data, "net.pt2"))
        self.assertNotIn("stranger", sys.modules)


LIBRARY = """
import dataclasses
import typing
import torch
from torch.utils import _pytree as pytree

class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b

class Named(typing.NamedTuple):
    a: torch.Tensor
    b: torch.Tensor

@dataclasses.dataclass
class Data:
    a: torch.Tensor
    b: torch.Tensor

pytree.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda leaves, _: Pair(*leaves),
                            serialized_type_name="library.Pair")
torch.export.register_dataclass(Data, serialized_type_name="library.Data")
pytree._register_namedtuple(Named, serialized_type_name="library.Named")
"""

MAKE = """
import library, torch, graphnet_ir

class Net(torch.nn.Module):
    def __init__(self, make):
        super().__init__()
        self.make = make

    def forward(self, x):
        return self.make(x + 1, x + 2)

kinds = {"tuple": library.Pair, "named": library.Named, "data": library.Data,
         "inner": lambda a, b: {"x": [library.Pair(a, b)]}}
said = []
for name, make in kinds.items():
    torch.export.save(torch.export.export(Net(make), (torch.ones(2),)), name + ".pt2")
    program = graphnet_ir.to_exported(graphnet_ir.load(name + ".pt2"))
    said.append(type(program.module()(torch.ones(2))).__name__)
print(*said)
"""


def with_other_calls(archive: bytes, before: str, after: str) -> tuple[bytes, int]:
    """Replaces a text in the structures of a program's calls. Returns the archive and the count."""
    made, count = io.BytesIO(), 0
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("/models/model.json"):
                program = json.loads(content)
                for call in program["graph_module"]["module_call_graph"]:
                    for part in ("in_spec", "out_spec") if call["signature"] else ():
                        count += call["signature"][part].count(before)
                        call["signature"][part] = call["signature"][part].replace(before, after)
                content = json.dumps(program).encode()
            new.writestr(name, content)
    return made.getvalue(), count


if __name__ == "__main__":
    unittest.main()
