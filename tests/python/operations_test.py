"""Files, passes, pieces, identity and tensors: what Python gets is what the tool and numpy say."""

import builtins
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import unittest
from typing import List
from unittest import mock

import graphnet_ir
from graphnet_ir import Error, Graph, Sample

TEXT = """
graph @forward(%x : f32[4, 3]@cpu, %w : f32[3, 3] as torch.nn.parameter.Parameter) {
  %mm = torch.mm(%x, %w)
  %relu = torch.relu(%mm)
  %relu_1 = torch.relu(%mm)
  %unused = torch.sigmoid(%mm)
  %add = operator.add(%relu, %relu_1)
  return (%add,)
}
"""


def chain(length: int) -> Sample:
    """A sample that takes a while to work on."""
    module = graphnet_ir.Module("chain")
    graph = module.add_graph()
    x = value = graph.placeholder("x")
    for _ in range(length):
        value = graph.call_function("torch.add", (value, x))
    graph.output((value,))
    return Sample(module)


class FilesTest(unittest.TestCase):

    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="a b ü")
        self.addCleanup(self.folder.cleanup)

    def path(self, name: str) -> str:
        return os.path.join(self.folder.name, name)

    def test_all_forms_give_the_same_graph(self) -> None:
        sample = graphnet_ir.parse(TEXT)
        sample.name = "net"
        for name in ("net.gn", "net.pb", "net", "net.pt2"):
            sample.save(self.path(name))
            again = graphnet_ir.load(self.path(name))
            self.assertEqual(len(again.graph), 8 if name == "net.pt2" else 8, name)
        self.assertEqual(graphnet_ir.canonical_hash(graphnet_ir.load(self.path("net.pb"))),
                         graphnet_ir.canonical_hash(sample))
        self.assertEqual(graphnet_ir.canonical_hash(graphnet_ir.load_bytes(graphnet_ir.to_bytes(sample))),
                         graphnet_ir.canonical_hash(sample))
        with open(self.path("net/model.py"), "rb") as file:
            self.assertEqual(file.read(), graphnet_ir.folder_files(sample)["model.py"])
        self.assertEqual(len(graphnet_ir.find_samples([self.folder.name])), 4)
        self.assertEqual(graphnet_ir.parse(graphnet_ir.show(sample, complete=True)).name, "net")

    def test_errors_say_what_and_where(self) -> None:
        with self.assertRaises(Error) as caught:
            graphnet_ir.parse("graph @f(%x) {\n  return %y\n}", "f.gn")
        self.assertEqual(caught.exception.kind, "invalid_argument")
        self.assertEqual(caught.exception.place, graphnet_ir.Place("f.gn", 2, 10))
        with self.assertRaises(Error) as caught:
            graphnet_ir.load(self.path("nothing"))
        self.assertEqual(caught.exception.kind, "not_found")
        self.assertIsNone(caught.exception.place)
        with open(self.path("bad.gn"), "w", encoding="utf-8") as file:
            file.write("graphnet.module 1\ngraph @f(\n")
        with self.assertRaises(Error) as caught:
            graphnet_ir.load(self.path("bad.gn"))
        self.assertEqual(caught.exception.format, "text")
        with self.assertRaises(Error):
            graphnet_ir.opt(graphnet_ir.parse(TEXT), "no-such-pass")

    def test_a_sample_that_does_not_verify_is_not_saved(self) -> None:
        sample = graphnet_ir.parse(TEXT)
        sample.graph.erase_node(sample.graph.output_node())
        with self.assertRaises(Error):
            sample.save(self.path("net.pb"))
        self.assertFalse(os.path.exists(self.path("net.pb")))


class RewritingTest(unittest.TestCase):

    def test_passes_work_on_a_copy(self) -> None:
        sample = graphnet_ir.parse(TEXT)
        made = graphnet_ir.opt(sample, "dce,cse")
        self.assertEqual([step["pass"] for step in made.steps], ["dce", "cse"])
        self.assertTrue(made.changed)
        self.assertEqual([node.name for node in made.sample.graph.nodes],
                         ["x", "w", "mm", "relu", "add", "output"])
        self.assertEqual(len(sample.graph), 8)

    def test_verbs_are_methods_too(self) -> None:
        sample = graphnet_ir.parse(TEXT)
        pieces = sample.opt("cse,dce").decompose(pieces=2)
        self.assertTrue(graphnet_ir.validate(sample.opt("cse,dce"), pieces)["valid"])
        self.assertEqual(sample.opt("dce").canonical_hash(),
                         graphnet_ir.canonical_hash(graphnet_ir.opt(sample, "dce").sample))
        self.assertEqual(sample.show(complete=True), graphnet_ir.show(sample, complete=True))
        self.assertEqual(sample.page("net"), graphnet_ir.page(sample, "net"))
        self.assertFalse(sample.diff(sample.copy()))

    def test_earlier_names_stay(self) -> None:
        self.assertIs(graphnet_ir.hash, graphnet_ir.canonical_hash)
        self.assertIs(graphnet_ir.extract, graphnet_ir.capture)
        # `from graphnet_ir import *` hides no function of Python.
        self.assertFalse(set(graphnet_ir.__all__) & set(dir(builtins)))

    def test_passes_have_the_engine(self) -> None:
        import torch

        # No rule knows the sizes of these calls, which have no metas.
        made = graphnet_ir.opt(graphnet_ir.parse("""
graph @forward(%x : f32[2, 3, 8, 8], %w : f32[4, 3, 3, 3] as torch.nn.parameter.Parameter) {
  %c = torch.conv2d(%x, %w)
  %p = torch.nn.functional.adaptive_avg_pool2d(%c, 1)
  %y = .reshape(%p, 2, 4)
  return (%y,)
}
"""), "generalize-dims").sample
        self.assertEqual(made.module.symbols, {"S0": 2})
        self.assertIn(".reshape(%p, %size, 4)", made.show())
        sample = graphnet_ir.parse("""
attribute w : f32[2]
graph @forward(%x : f32[2]) {
  %w = get_attr w : f32[2]
  %d = torch.add(%w, 1.0) : f32[2]
  %y = torch.mul(%x, %d) : f32[2]
  return (%y,)
}
""")
        sample.set_weight("w", torch.tensor([1.0, 2.0]))
        folded = graphnet_ir.opt(sample, "fold-constants{values=true},dce").sample
        self.assertEqual(len(folded.graph.find_nodes(op="call_function")), 1)
        values = [torch.utils.dlpack.from_dlpack(value).tolist() for value in folded.weights.values()]
        self.assertIn([2.0, 3.0], values)

    def test_functions_of_python_are_passes(self) -> None:
        seen: List[str] = []

        @graphnet_ir.register_pass("test-no-relu")
        def no_relu(graph: Graph) -> None:
            for node in graph.find_nodes(op="call_function", target="torch.relu"):
                seen.append(node.name)
                node.replace_all_uses_with(node.args[0])
                graph.erase_node(node)

        sample = graphnet_ir.parse(TEXT)
        made = graphnet_ir.opt(sample, "test-no-relu,dce")
        self.assertEqual(seen, ["relu", "relu_1"])
        self.assertEqual([node.name for node in made.sample.graph.nodes],
                         ["x", "w", "mm", "add", "output"])
        self.assertEqual(len(sample.graph), 8)
        with self.assertRaisesRegex(ValueError, "a pass dce already exists"):
            graphnet_ir.register_pass("dce")
        for name in ("", "two words", "a,b", "a{b}"):
            with self.assertRaisesRegex(ValueError, "the name of a pass may only have letters, "
                                                    "digits, '-' and '_'"):
                graphnet_ir.register_pass(name)

    def test_what_a_pass_raises_arrives(self) -> None:
        def broken(graph: Graph) -> None:
            graph.find_node("relu").target = "torch.tanh"
            raise ZeroDivisionError("mine")

        sample = graphnet_ir.parse(TEXT)
        before = str(sample)
        try:
            graphnet_ir.opt(sample, ["dce", broken])
            self.fail("nothing was raised")
        except ZeroDivisionError as error:
            self.assertEqual(traceback.extract_tb(error.__traceback__)[-1].name, "broken")
        self.assertEqual(str(sample), before)

    def test_a_pass_that_breaks_the_graph_is_refused(self) -> None:
        def broken(graph: Graph) -> None:
            graph.call_function("torch.relu", (graph.find_node("x"),))

        with self.assertRaises(Error) as caught:
            graphnet_ir.opt(graphnet_ir.parse(TEXT), broken)
        self.assertEqual(caught.exception.kind, "failed_precondition")

    def test_rules(self) -> None:
        rules = """
rule relu-is-gelu
graph @pattern(%x) {
  %a = torch.relu(%x)
  return %a
}
graph @replacement(%x) {
  %a = torch.nn.functional.gelu(%x)
  return %a
}
"""
        made, counts = graphnet_ir.rewrite(graphnet_ir.parse(TEXT), rules)
        self.assertEqual(counts, {"relu-is-gelu": 2})
        self.assertEqual(len(made.graph.find_nodes(op="call_function",
                                                   target="torch.nn.functional.gelu")), 2)
        found = graphnet_ir.find_matches(
            made, "graph @pattern(%x) {\n  %a = torch.sigmoid(%x)\n  return %a\n}")
        self.assertEqual([[node.name for node in match] for match in found], [["unused"]])


class PiecesTest(unittest.TestCase):

    def test_pieces_are_the_whole(self) -> None:
        sample = graphnet_ir.parse(TEXT)
        for style in ("chain", "dag"):
            made = graphnet_ir.decompose(sample, pieces=2, style=style)
            self.assertEqual(len(made), 2)
            self.assertTrue(graphnet_ir.validate(sample, made)["valid"])
            again = graphnet_ir.compose(made, like=sample)
            self.assertEqual(graphnet_ir.canonical_hash(again), graphnet_ir.canonical_hash(sample))
            self.assertEqual(made[0].provenance[0]["end"], made[1].provenance[0]["start"])
        made[1].graph.find_node("add").target = "operator.sub"
        report = graphnet_ir.validate(sample, made)
        self.assertFalse(report["valid"])
        self.assertEqual(report["findings"][0]["class"], "E3")

    def test_folders_of_pieces(self) -> None:
        sample = graphnet_ir.parse(TEXT)
        sample.name = "net"
        with tempfile.TemporaryDirectory() as folder:
            for to, layout in (("protobuf", "plain"), ("graphnet", "plain"),
                               ("graphnet", "python")):
                place = os.path.join(folder, to + layout)
                graphnet_ir.decompose(sample, positions=[2], folder=place, to=to, layout=layout)
                self.assertEqual(len(graphnet_ir.load_pieces(place)), 2)
                self.assertTrue(graphnet_ir.validate(sample, place)["valid"])

    def test_one_way_to_cut(self) -> None:
        sample = graphnet_ir.parse(TEXT)
        one_way = ("say where to cut in one way: config, pieces, positions, size, depth, "
                   "single_op or blocks")
        with self.assertRaisesRegex(ValueError, one_way):
            graphnet_ir.decompose(sample, pieces=2, single_op=True)
        with self.assertRaisesRegex(ValueError, one_way):
            graphnet_ir.decompose(sample)
        with self.assertRaisesRegex(ValueError, "style must be 'chain' or 'dag'"):
            graphnet_ir.decompose(sample, pieces=2, style="tree")
        forms = "to must be 'protobuf' or 'graphnet', and layout 'plain' or 'python'"
        with self.assertRaisesRegex(ValueError, forms):
            graphnet_ir.decompose(sample, pieces=2, to="onnx")
        with self.assertRaisesRegex(ValueError, forms):
            graphnet_ir.decompose(sample, pieces=2, layout="fancy")


class IdentityTest(unittest.TestCase):

    def test_differences(self) -> None:
        one, two = graphnet_ir.parse(TEXT), graphnet_ir.parse(TEXT)
        self.assertFalse(graphnet_ir.diff(one, two))
        two.graph.find_node("relu_1").target = "torch.tanh"
        made = graphnet_ir.diff(one, two)
        self.assertTrue(made)
        self.assertEqual({difference.kind for difference in made.differences} -
                         {"removed", "added", "changed"}, set())
        self.assertIn("torch.tanh", str(made))
        self.assertIn("<table", made._repr_html_())
        self.assertIn("torch.tanh", json.dumps(made.records()))

    def test_pictures(self) -> None:
        self.assertIn("<iframe", graphnet_ir.parse(TEXT)._repr_html_())
        self.assertIn("sigmoid", graphnet_ir.page(graphnet_ir.parse(TEXT)))


class RecordsTest(unittest.TestCase):
    """Results as plain dicts, and as HTML in which no text of a sample is markup."""

    def test_nodes(self) -> None:
        sample = graphnet_ir.parse("""
symbol s0 = 4
graph @forward(%x : f32[s0, 3]@cpu) {
  %split = torch.split(%x, 2) : (f32[2, 3], f32[2, 3])
  %a = operator.getitem(%split, 0)
  return (%a, %a)
}
""")
        rows = {row["name"]: row for row in sample.graph.records()}
        self.assertEqual(list(rows), ["x", "split", "a", "output"])
        self.assertEqual((rows["x"]["dtype"], rows["x"]["shape"], rows["x"]["device"]),
                         ("float32", ["s0", 3], "cpu"))
        self.assertEqual(rows["split"]["shape"], [[2, 3], [2, 3]])
        self.assertEqual((rows["a"]["shape"], rows["a"]["num_users"]), (None, 1))
        json.dumps(list(rows.values()))

    def test_pieces_and_proof(self) -> None:
        sample = graphnet_ir.parse(TEXT)
        pieces = graphnet_ir.decompose(sample, pieces=2)
        self.assertEqual([row["operators"] for row in pieces.records()], [3, 2])
        self.assertEqual([(row["start"], row["end"]) for row in pieces.records()],
                         [(0, 3), (3, 5)])
        self.assertEqual(pieces.records()[1]["outputs"], 1)
        valid = graphnet_ir.validate(sample, pieces)
        self.assertEqual(valid.records(), [])
        self.assertIn("valid: 5 = 3 + 2 operators", valid._repr_html_())
        pieces[1].graph.find_node("add").target = "<script>"
        broken = graphnet_ir.validate(sample, pieces)
        self.assertEqual(broken.records()[0]["piece"], 1)
        self.assertIn("&lt;script&gt;", broken._repr_html_())
        self.assertNotIn("<script>", broken._repr_html_())

    def test_steps_and_runs(self) -> None:
        made = graphnet_ir.opt(graphnet_ir.parse(TEXT), "dce,cse")
        self.assertEqual([row["pass"] for row in made.records()], ["dce", "cse"])
        self.assertIn("<table", made._repr_html_())
        program = graphnet_ir.prepare(made.sample)
        self.assertEqual(program.records(), [])
        program.run()
        program.run()
        self.assertEqual([(row["run"], row["outputs"]) for row in program.records()],
                         [(i, [{"dtype": "float32", "shape": [4, 3]}]) for i in range(2)])
        self.assertIn("float32 [4, 3]", program._repr_html_())

    def test_captures(self) -> None:
        import torch

        def function(x: torch.Tensor) -> torch.Tensor:
            y = torch.relu(x) + 1
            if y.sum() > 0:
                y = y * 2
            return y - 1

        net = graphnet_ir.capture(function, name="net")
        net(torch.ones(3, 2))
        rows = net.capture.records()
        json.dumps(rows)
        self.assertEqual([(row["graph"], row["operators"], row["calls"], row["is_break"])
                          for row in rows], [(0, 4, 1, True), (1, 2, 1, False)])
        self.assertEqual(rows[0]["source"], "if y.sum() > 0:")
        shown = net.capture._repr_html_()
        self.assertIn("if y.sum() &gt; 0:", shown)
        self.assertIn("2 graphs of 6 operators, 1 break, 2 calls of graphs", shown)
        self.assertEqual(shown.count("<iframe"), 2)

    def test_provenance_is_set(self) -> None:
        sample = graphnet_ir.parse("graph @forward(%x : f32[2]) {\n  return (%x,)\n}\n")
        part = {"parent": "whole", "parent_hash": "ab", "start": 1, "end": 3}
        sample.provenance = [part, {**part, "start": 3}]
        self.assertEqual(graphnet_ir.load_bytes(graphnet_ir.to_bytes(sample)).provenance,
                         [part, {**part, "start": 3}])
        self.assertEqual(sample.copy().provenance, sample.provenance)
        for wrong in ({"parent": "whole"}, {**part, "parent": 3}, {**part, "end": 1 << 70},
                      {**part, "start": "1"}):
            with self.assertRaises((ValueError, KeyError, TypeError, RuntimeError)):
                sample.provenance = [wrong]
        with self.assertRaises(TypeError):
            sample.provenance = None  # type: ignore[assignment]
        self.assertEqual(len(sample.provenance), 2)
        sample.provenance = []
        self.assertEqual(sample.provenance, [])

    def test_shapes_keep_constraints_and_provenance(self) -> None:
        sample = graphnet_ir.parse("""
graphnet.sample 1
name = "part"
constraints = True
constraint_order = ["y", "x"]
provenance [3, 5) of "whole" hash "abc"
file "note.txt" = "kept"
graphnet.module 1
symbol s0 = 4
symbol s1 = 8
relation s1 == 2*s0
graph @forward(%x : f32[s0, 3]@cpu, %y : f32[s1, 3]@cpu) {
  %a = torch.relu(%x)
  %c = torch.cat([%a, %y])
  return (%c,)
}
end
""")
        known = graphnet_ir.shapes(sample)
        self.assertEqual(known.graph.find_node("c").tensor_meta.dtype.name, "float32")
        self.assertEqual(sample.graph.find_node("c").tensor_meta, None)
        self.assertEqual(known.graph.find_node("y").tensor_meta,
                         sample.graph.find_node("y").tensor_meta)
        self.assertEqual(known.provenance, [
            {**sample.provenance[0], "start": 3, "end": 5}])
        # Fields, symbols and the relation stand before the graph.
        before, after = (graphnet_ir.to_bytes(one, "text").decode().partition("graph @")[0]
                         for one in (sample, known))
        self.assertIn("relation s1 == 2*s0", before)
        self.assertIn('constraint_order = ["y", "x"]', before)
        self.assertEqual(after, before)


class TextTest(unittest.TestCase):

    def test_long_texts_are_shortened(self) -> None:
        for sample in (chain(3000), graphnet_ir.parse(TEXT)):
            whole = graphnet_ir.show(sample, complete=True)
            is_long = len(sample.graph) > 1000
            for text in (str(sample), str(sample.module)):
                self.assertEqual("lines are left out; graphnet_ir.show has all" in text, is_long)
                self.assertLess(len(text.splitlines()), 63)
                self.assertLess(len(text), 15000)
            self.assertEqual(len(whole.splitlines()) > 3000, is_long)
        sample = graphnet_ir.parse(TEXT)
        sample.extra_files = {"program.json": "ü" * 500000}
        self.assertLess(len(str(sample)), 5000)
        self.assertIn("… (", str(sample))
        self.assertGreater(len(graphnet_ir.show(sample, complete=True)), 500000)
        small = graphnet_ir.parse(TEXT)
        self.assertEqual(graphnet_ir.canonical_hash(graphnet_ir.parse(str(small))), graphnet_ir.canonical_hash(small))


class TensorTest(unittest.TestCase):

    def test_memory_is_shared(self) -> None:
        import numpy

        values = numpy.arange(12, dtype=numpy.float32).reshape(4, 3)
        sample = graphnet_ir.parse(TEXT)
        sample.set_weight("x", values)
        back = numpy.from_dlpack(sample.weights["x"])
        self.assertEqual(back.ctypes.data, values.ctypes.data)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "net.pb")
            sample.save(path)
            stored = graphnet_ir.load(path)
            values[:] = 0
            del sample
            again = numpy.from_dlpack(stored.weights["x"])
            del stored
        self.assertEqual(again.tolist(), numpy.arange(12).reshape(4, 3).tolist())
        with self.assertRaises(ValueError):
            graphnet_ir.Tensor(values.T)

    def test_a_write_to_a_tensor_of_a_file_ends_nothing(self) -> None:
        import torch.utils.dlpack

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "net.pb")
            sample = graphnet_ir.parse(TEXT)
            sample.set_weight("x", torch.ones(4, 3))
            sample.save(path)
            torch.utils.dlpack.from_dlpack(graphnet_ir.load(path).weights["x"]).fill_(7)
            again = torch.utils.dlpack.from_dlpack(graphnet_ir.load(path).weights["x"])
            self.assertTrue(torch.equal(again, torch.ones(4, 3)))

    def test_a_copy_is_a_copy(self) -> None:
        import numpy
        import torch
        from torch.utils.dlpack import from_dlpack

        for dtype in (torch.float32, torch.int64, torch.bfloat16, torch.bool, torch.complex64):
            values = torch.ones(2, 3).to(dtype)
            sample = graphnet_ir.parse(TEXT)
            sample.set_weight("x", values)
            weight = sample.weights["x"]
            copied = from_dlpack(weight, copy=True)
            self.assertNotEqual(copied.data_ptr(), values.data_ptr())
            copied.zero_()
            self.assertTrue(torch.equal(values, torch.ones(2, 3).to(dtype)))
            for shared in (from_dlpack(weight), from_dlpack(weight, copy=False),
                           from_dlpack(weight, copy=None, device="cpu")):
                self.assertEqual(shared.data_ptr(), values.data_ptr())
        empty = graphnet_ir.Tensor(numpy.zeros((0, 3)))
        self.assertEqual(from_dlpack(empty, copy=True).shape, (0, 3))
        weight = graphnet_ir.Tensor(numpy.ones(3))
        alive = from_dlpack(weight, copy=True)
        del weight
        self.assertEqual(alive.tolist(), [1, 1, 1])

    def test_devices_of_dlpack(self) -> None:
        import numpy

        tensor = graphnet_ir.Tensor(numpy.ones(3))
        for device in (None, (1, 0)):
            tensor.__dlpack__(dl_device=device, max_version=(1, 0), stream=None)
        for device in ((2, 0), (1, 1), (13, 0)):
            with self.assertRaisesRegex(
                    BufferError, r"the tensor is in main memory, DLPack's device \(1, 0\)"):
                tensor.__dlpack__(dl_device=device)

    def test_arrays_and_lengths(self) -> None:
        import numpy
        import torch

        values = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
        tensor = graphnet_ir.Tensor(values)
        shared = numpy.asarray(tensor)
        self.assertEqual(shared.ctypes.data, values.ctypes.data)
        self.assertFalse(shared.flags.writeable)
        numpy.array(tensor)[:] = 0
        tensor.__array__(copy=True)[:] = 0
        self.assertEqual(values.sum(), 15)
        self.assertEqual(numpy.asarray(tensor, dtype=numpy.int16).dtype, numpy.int16)
        with self.assertRaisesRegex(ValueError, "would be a copy"):
            tensor.__array__(numpy.dtype("int16"), False)
        self.assertTrue((numpy.asarray(tensor) * 2 == values * 2).all())
        self.assertEqual([len(graphnet_ir.Tensor(numpy.zeros(shape)))
                          for shape in ((2, 3), (0,), (5,))], [2, 0, 5])
        with self.assertRaisesRegex(TypeError, r"a tensor of rank 0 has no len\(\)"):
            len(graphnet_ir.Tensor(numpy.array(1.0)))
        self.assertTrue(graphnet_ir.Tensor(numpy.zeros(0)))  # as any object
        for dtype in (torch.bfloat16, torch.float8_e5m2):
            with self.assertRaisesRegex(TypeError, "numpy has no dtype"):
                numpy.asarray(graphnet_ir.Tensor.from_bytes(b"abcd", dtype, [4 // dtype.itemsize]))

    def test_a_large_weight_is_not_copied(self) -> None:
        program = """
import resource, tempfile
import numpy, graphnet_ir

with tempfile.TemporaryDirectory() as folder:
    sample = graphnet_ir.parse("graph @f(%x : f32[67108864]) {\\n  return %x\\n}")
    values = numpy.ones(67108864, dtype=numpy.float32)  # 256 MiB
    sample.set_weight("x", values)
    sample.save(folder + "/a.pb")
    del sample, values
    with open("/proc/self/status") as file:
        data = next(int(line.split()[1]) << 10 for line in file if line.startswith("VmData"))
    # Files that are mapped for reading are not counted, copies are.
    resource.setrlimit(resource.RLIMIT_DATA, (data + (128 << 20),) * 2)
    sample = graphnet_ir.load(folder + "/a.pb")
    made = graphnet_ir.opt(sample, "dce").sample
    made.save(folder + "/b.pb")
    array = numpy.from_dlpack(graphnet_ir.load(folder + "/b.pb").weights["x"])
    assert array[-1] == 1
"""
        subprocess.run([sys.executable, "-c", program], check=True)


class RunningTest(unittest.TestCase):

    def test_what_is_refused(self) -> None:
        import torch

        sample = graphnet_ir.parse(TEXT)
        x, w = torch.ones(4, 3), torch.ones(3, 3)
        self.assertEqual(graphnet_ir.run(sample, x, w)[0][0, 0], 6)
        with self.assertRaisesRegex(
                TypeError, r"the sample takes 1 inputs \(x\), 3 were given"):
            graphnet_ir.run(sample, x, w, x)
        with self.assertRaisesRegex(TypeError, "the sample has no input or attribute bias"):
            graphnet_ir.run(sample, x, w, values={"bias": x})
        gone = torch.ones(4, 3)
        gone.untyped_storage().resize_(0)
        with self.assertRaisesRegex(ValueError, "the memory of the tensor was released"):
            graphnet_ir.run(sample, gone, w)

    def test_integers_keep_their_dtype(self) -> None:
        import torch

        for dtype in ("i64", "i32", "u8", "i16"):
            sample = graphnet_ir.parse(f"""
graph @f(%i : {dtype}[7], %w : f32[4, 3]) {{
  %j = .long(%i)
  %e = torch.nn.functional.embedding(%j, %w)
  %m = operator.mul(%i, 2)
  return (%e, %m, %i)
}}""")
            rows, doubled, drawn = graphnet_ir.run(sample)
            self.assertEqual(rows.shape, (7, 3))
            self.assertFalse(drawn.is_floating_point())
            self.assertTrue(torch.equal(doubled, drawn * 2))
            self.assertEqual(graphnet_ir.shapes(sample).graph.find_node("m").tensor_meta.dtype,
                             graphnet_ir.DType(dtype))

    def test_shapes_are_those_of_the_command(self) -> None:
        """Sizes that depend on the data of inputs and weights, which the command draws or reads."""
        import torch

        class Program(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.register_buffer("mask", torch.tensor([True, False, True]))

            def forward(self, x, i):  # type: ignore[no-untyped-def]
                chosen = x[:, self.mask] * 2 + 1
                with torch.autocast("cpu", torch.bfloat16):
                    product = chosen @ chosen.T
                return (chosen, product, x[x > 0] * 2 + 1, torch.nonzero(i), torch.bincount(i))

        program = torch.export.export(
            Program(), (torch.randn(5, 3), torch.tensor([0, 2, 2])))
        sample = graphnet_ir.from_exported(program)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "net.pt2")
            torch.export.save(program, path)
            tool = os.path.join(os.path.dirname(graphnet_ir.__file__), "bin", "graphnet")
            said = subprocess.run([tool, "shapes", path], check=True, capture_output=True, text=True)
            found = graphnet_ir.shapes(graphnet_ir.load(path))
            lines = [line.strip().partition(" at ")[0] for line in said.stdout.splitlines()]
            for node in found.graph.find_nodes(op="call_function"):
                self.assertIn(node.format_node(), lines)
            # The pieces that are written are those of the command, which reads no weights here.
            class Chosen(torch.nn.Module):
                def forward(self, x):  # type: ignore[no-untyped-def]
                    return x[x > 0] * 2 + 1

            program = torch.export.export(Chosen(), (torch.randn(5, 3),))
            torch.export.save(program, path)
            for to in ("graphnet", "protobuf"):
                ours, theirs = os.path.join(folder, "ours_" + to), os.path.join(folder, to)
                sample = graphnet_ir.load(path, statistics=True)
                graphnet_ir.decompose(sample, pieces=2, to=to, folder=ours)
                subprocess.run([tool, "decompose", path, "--pieces", "2", "--to", to, "-o", theirs],
                               check=True, capture_output=True)
                pieces = [graphnet_ir.load_pieces(place) for place in (ours, theirs)]
                self.assertEqual([graphnet_ir.canonical_hash(piece, metas=True) for piece in pieces[0].pieces],
                                 [graphnet_ir.canonical_hash(piece, metas=True) for piece in pieces[1].pieces])
                self.assertTrue(graphnet_ir.validate(sample, ours)["valid"])

    def test_torch_of_another_version(self) -> None:
        import torch

        from graphnet_ir.running import TORCH_VERSION

        sample = graphnet_ir.parse(TEXT)
        with mock.patch.object(torch, "__version__", "2.5.0"):
            with self.assertRaises(Error) as caught:
                graphnet_ir.run(sample)
        self.assertEqual(str(caught.exception),
                         f"needs torch {TORCH_VERSION}, and 2.5.0 is imported")
        with mock.patch.dict(sys.modules, torch=None):
            with self.assertRaises(Error) as caught:
                graphnet_ir.run(sample)
        self.assertEqual(str(caught.exception),
                         f"needs torch {TORCH_VERSION}: pip install 'torch=={TORCH_VERSION}.*'")
        self.assertEqual(caught.exception.kind, "failed_precondition")


class ThreadsTest(unittest.TestCase):

    def test_four_threads_at_once(self) -> None:
        samples = [chain(20000) for _ in range(4)]
        expected = graphnet_ir.canonical_hash(samples[0])
        results: List[str] = []
        threads = [threading.Thread(target=lambda s=s: results.append(graphnet_ir.canonical_hash(s)))
                   for s in samples]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [expected] * 4)

    def test_other_threads_run_while_a_call_works(self) -> None:
        sample = chain(100000)
        calls = 20
        # A call that held the lock of the interpreter would let a sleep end only between two calls.
        for _ in range(10):  # a machine that is busy may keep this thread waiting
            ticks = 0
            thread = threading.Thread(target=lambda: [graphnet_ir.canonical_hash(sample)
                                                      for _ in range(calls)])
            thread.start()
            while thread.is_alive():
                time.sleep(0.001)
                ticks += 1
            if ticks > 2 * calls:
                break
        self.assertGreater(ticks, 2 * calls)

    def test_ctrl_c_ends_a_long_call(self) -> None:
        program = """
import graphnet_ir, sys, time
module = graphnet_ir.Module()
graph = module.add_graph()
x = value = graph.placeholder("x")
for _ in range(400000):
    value = graph.call_function("torch.add", (value, x))
graph.output(value)
sample = graphnet_ir.Sample(module)
graphnet_ir.canonical_hash(sample)
print("ready", flush=True)
try:
    while True:
        graphnet_ir.normal_form(sample)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE,
                              text=True) as process:
            assert process.stdout is not None
            self.assertEqual(process.stdout.readline(), "ready\n")
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            begin = time.monotonic()
            self.assertEqual(process.stdout.readline(), "interrupted\n")
            self.assertLess(time.monotonic() - begin, 2)
        self.assertEqual(process.returncode, 0)


if __name__ == "__main__":
    unittest.main()
