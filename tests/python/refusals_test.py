"""What the IR and tensors in Python refuse, and the words of each refusal."""

import os
import tempfile
import unittest
import warnings
from typing import Any, Callable, List, Tuple, Type

import graphnet_ir
from graphnet_ir import Device, DType, Layout, MemoryFormat, Module, Sample, Tensor, TensorMeta

TEXT = """
graph @forward(%x : f32[2, 3]@cpu, %w : f32[3, 3]) {
  %mm = torch.mm(%x, %w)
  %relu = torch.relu(%mm)
  return (%relu,)
}
"""

Refusals = List[Tuple[Callable[[], Any], Type[Exception], str]]


def nested(make: Callable[[Any], Any], value: Any, depth: int) -> Any:
    for _ in range(depth):
        value = make(value)
    return value


class RefusalsTest(unittest.TestCase):

    def setUp(self) -> None:
        self.module = graphnet_ir.parse(TEXT).module
        self.graph = self.module.graph
        self.x, self.w, self.mm, self.relu, self.output = self.graph.nodes

    def check(self, refusals: Refusals) -> None:
        before = str(self.module)
        for act, error, message in refusals:
            with self.subTest(message), self.assertRaises(error) as caught:
                act()
            self.assertEqual(caught.exception.args[0], message)
        self.assertEqual(str(self.module), before)

    def test_constants(self) -> None:
        self.check([
            (lambda: DType("float31"), ValueError, "'float31' is not a dtype"),
            (lambda: DType(1), TypeError, "a dtype cannot be a int"),
            (lambda: Device("cuda:"), ValueError, "'cuda:' is not a device"),
            (lambda: Device(0), TypeError, "a device cannot be a int"),
            (lambda: Layout("round"), ValueError, "'round' is not a layout"),
            (lambda: MemoryFormat("channels_lost"), ValueError,
             "'channels_lost' is not a memory format"),
        ])

    def test_arguments(self) -> None:
        def set_args(*args: Any) -> Callable[[], Any]:
            return lambda: setattr(self.relu, "args", args)

        def set_kwargs(kwargs: Any) -> Callable[[], Any]:
            return lambda: setattr(self.relu, "kwargs", kwargs)

        def delete_args() -> None:
            del self.relu.args

        other = graphnet_ir.parse(TEXT)
        numbers = [0] * 8192  # A list within two others is read once, and counts each time.
        too_large = "the arguments are too large"
        self.check([
            (set_args(nested(lambda inner: [inner], self.x, 200)), ValueError,
             "arguments nest at most 200 deep"),
            (set_args([[numbers] * 8192]), ValueError, too_large),
            (set_args([[[self.x] * 8192] * 8192]), ValueError, too_large),
            (set_args([[numbers] * 8190, numbers * 8]), ValueError, too_large),
            (set_args(other.graph), ValueError, "the graph belongs to another module"),
            (set_args(other.graph.find_node("x")), ValueError,
             "the node x belongs to another graph"),
            (set_args(object()), TypeError, "an argument of a node cannot be a object"),
            (set_kwargs([]), TypeError, "kwargs must be a dict"),
            (set_kwargs({1: 2}), TypeError, "a keyword must be a str"),
            (set_args(1 << 63), OverflowError, "an integer does not fit in 64 bits"),
            (delete_args, AttributeError, "the attribute cannot be deleted"),
            (lambda: self.relu.update_arg(1, 2), IndexError,
             "the node does not have that argument"),
            (lambda: self.relu.insert_arg(2, 2), IndexError, "the node has fewer arguments"),
            (lambda: self.graph.create_node("get_attr", "w", (1,)), ValueError,
             "a get_attr takes no arguments"),
        ])

    def test_names(self) -> None:
        def set_name(name: Any) -> Callable[[], Any]:
            return lambda: setattr(self.relu, "name", name)

        def set_target(target: Any) -> Callable[[], Any]:
            return lambda: setattr(self.relu, "target", target)

        self.check([
            (set_name(1), TypeError, "a name must be a str"),
            (set_name(""), ValueError, "a name cannot be empty"),
            (set_name("n" * 65537), ValueError, "a name takes at most 65536 bytes"),
            (set_target(None), TypeError, "a target must be a str"),
            (set_target(""), ValueError, "a target cannot be empty"),
            (lambda: self.graph.call_function(1), TypeError, "a target must be a str"),
            (lambda: self.relu.update_kwarg("", 1), ValueError, "a keyword cannot be empty"),
            (lambda: self.module.add_graph(""), ValueError,
             "the name of a graph cannot be empty"),
            (lambda: self.module.add_symbol(""), ValueError,
             "the name of a symbol cannot be empty"),
            (lambda: self.module.add_attribute(""), ValueError,
             "the name of an attribute cannot be empty"),
        ])

    def test_expressions(self) -> None:
        size = Module().add_symbol("s0", 4)
        relation = size.le(8)
        self.check([
            (lambda: nested(lambda product: product * product, size, 64), ValueError,
             "the expression is too large"),
            (lambda: nested(lambda negative: -negative, size + 1, 300), ValueError,
             "the expression is too large"),
            (lambda: relation + 1, ValueError, "a relation cannot be a part of an expression"),
            (lambda: -relation, ValueError, "a relation has no negative"),
            (lambda: size // 0, ZeroDivisionError, "a size is divided by zero"),
            (lambda: size % 0, ZeroDivisionError, "a size is divided by zero"),
            (lambda: size ** -1, ValueError, "a size has no negative power"),
            (lambda: self.module.symbol("s9"), KeyError, "unknown symbol s9"),
            (lambda: self.module.add_relation(size + 1), ValueError,
             "a relation compares two expressions: s0.le(8)"),
        ])

    def test_metas(self) -> None:
        def set_meta(meta: Any) -> Callable[[], Any]:
            return lambda: setattr(self.relu, "tensor_meta", meta)

        meta = TensorMeta("float32", (2, 3))
        self.check([
            (set_meta(nested(lambda inner: (inner, inner), None, 30)), ValueError,
             "the meta is too large"),
            (set_meta(1), TypeError,
             "a meta is a TensorMeta, a tuple of metas or None, not a int"),
            (set_meta(nested(lambda inner: (inner,), meta, 201)), ValueError,
             "metas nest at most 200 deep"),
            (lambda: self.module.add_attribute("a", (meta,)), TypeError,
             "the meta of an attribute is a TensorMeta or None"),
            (lambda: setattr(self.relu, "location", ("net.py",)), ValueError,
             "a location is (file, line[, column])"),
        ])

    def test_sizes(self) -> None:
        size = self.module.add_symbol("s0", 4)
        for sizes, error, message in (
                ((-1,), ValueError, "the size -1 is negative"),
                ((2, -2**63), ValueError, "the size -9223372036854775808 is negative"),
                ((2**70,), OverflowError, "int too big to convert"),
                ((-2**70,), OverflowError, "int too big to convert"),
                ((2**62, 8), ValueError, "no tensor has this shape"),
                ((2**40, size, 2**40), ValueError, "no tensor has this shape"),
                ((size.le(3),), ValueError, "a relation is not a size"),
                ((2.0,), TypeError, "'float' object cannot be interpreted as an integer"),
                (("2",), TypeError, "'str' object cannot be interpreted as an integer"),
                ((None,), TypeError, "'NoneType' object cannot be interpreted as an integer"),
                (3, TypeError, "'int' object is not iterable")):
            with self.subTest(sizes), self.assertRaises(error) as caught:
                TensorMeta("float32", sizes)
            self.assertEqual(str(caught.exception), message)
        self.assertEqual(TensorMeta("float32", [0, 2, size]).shape, (0, 2, size))

    def test_wrong_types(self) -> None:
        """A message is one line that says what the function takes, and not a page of nanobind."""
        sample = Sample(self.module)
        wrong: List[Callable[[], Any]] = [
            lambda: graphnet_ir.parse(5), lambda: graphnet_ir.parse("x", 3),
            lambda: graphnet_ir.load(5), lambda: graphnet_ir.load_bytes("x"),
            lambda: graphnet_ir.canonical_hash(None), lambda: graphnet_ir.canonical_hash(sample, metas="x"),
            lambda: graphnet_ir.show(self.graph), lambda: graphnet_ir.page(3),
            lambda: graphnet_ir.normal_form(3), lambda: graphnet_ir.folder_files(None),
            lambda: graphnet_ir.find_matches(sample, 3), lambda: graphnet_ir.rewrite(sample, 3),
            lambda: graphnet_ir.rewrite(None, ""), lambda: graphnet_ir.opt(None, "dce"),
            lambda: graphnet_ir.opt(self.graph, "dce"), lambda: graphnet_ir.opt(sample, 3),
            lambda: graphnet_ir.opt(sample, None), lambda: graphnet_ir.run("x"),
            lambda: graphnet_ir.prepare(None), lambda: graphnet_ir.shapes(self.module),
            lambda: graphnet_ir.run(sample, values=3), lambda: graphnet_ir.run(sample, seed="x"),
            lambda: graphnet_ir.run(sample, device=3), lambda: graphnet_ir.decompose(1, pieces=2),
            lambda: graphnet_ir.compose(3), lambda: graphnet_ir.compose([3]),
            lambda: graphnet_ir.compose(sample), lambda: graphnet_ir.compose([sample], like=3),
            lambda: graphnet_ir.validate(None, [sample]), lambda: graphnet_ir.validate(sample, 3),
            lambda: graphnet_ir.diff(sample, 3), lambda: graphnet_ir.diff(None, sample),
            lambda: graphnet_ir.to_fx(3), lambda: graphnet_ir.from_fx(3),
            lambda: graphnet_ir.to_exported(None), lambda: graphnet_ir.from_exported(sample),
            lambda: graphnet_ir.set_num_threads("x"), lambda: graphnet_ir.Module(3),
            lambda: Sample(3), lambda: sample.save(3), lambda: setattr(sample, "name", 3),
            lambda: setattr(sample, "extra_files", ["x"]), lambda: sample.set_weight(3, 4),
            lambda: sample.erase_weight(None), lambda: self.module.find_graph(2),
            lambda: self.module.add_symbol("n", "x"), lambda: self.module.add_relation(3),
            lambda: self.graph.find_node(3), lambda: self.graph.erase_node("x"),
            lambda: self.graph.inserting_before(3), lambda: self.graph.node_copy(None),
            lambda: self.graph.graph_copy(self.graph, 3), lambda: self.relu.append(3),
            lambda: self.relu.replace_all_uses_with(None), lambda: self.relu.update_arg("x", 1),
            lambda: setattr(self.relu, "module_path", 3), lambda: setattr(self.relu, "type", None),
            lambda: self.relu < 3, lambda: Tensor.from_bytes(b"", "f32", "x"),
            lambda: Tensor.from_bytes(b"", "f32"), lambda: DType(), lambda: Layout(3),
        ]
        for i, act in enumerate(wrong):
            with self.subTest(i), self.assertRaises(TypeError) as caught:
                act()
            message = str(caught.exception)
            self.assertNotRegex(message, r"\n|incompatible function arguments|nanobind|_core\.")
            self.assertRegex(message, r"\w+ \w+")
        self.check([
            (lambda: graphnet_ir.parse(5), TypeError,
             "parse(text: str, name: str = '<text>') was called with (int)"),
            (lambda: graphnet_ir.opt(None, "dce"), TypeError,
             "the sample must be a graphnet_ir.Sample, not NoneType"),
            (lambda: setattr(sample, "name", 3), TypeError, "the value must be str, not int"),
            (lambda: graphnet_ir.run(sample, values=3), TypeError,
             "values must be a dict, not int"),
            (lambda: graphnet_ir.compose(3), TypeError,
             "the pieces must be a sequence of samples, not a int"),
            (lambda: graphnet_ir.opt(sample, 3), TypeError,
             "a pipeline is a text, a function, or a sequence of both, not int"),
            (lambda: graphnet_ir.from_exported(3), TypeError,
             "the program must be a torch.export.ExportedProgram, not int"),
            (lambda: graphnet_ir.from_fx(3), TypeError,
             "a graph module must be a torch.fx.GraphModule, not int"),
            (lambda: self.graph.find_node(3), TypeError,
             "find_node(self, name: str) was called with (graphnet_ir.Graph, int)"),
        ])

    def test_paths(self) -> None:
        sample = Sample(self.module)
        with tempfile.TemporaryDirectory() as folder:
            for name in ("x.nope", "x.tflite", "x.json", "x.pb.gz", "x.PB", "x.safetensors", "x.py"):
                with self.subTest(name), self.assertRaisesRegex(
                        graphnet_ir.Error, "no format has the ending") as caught:
                    sample.save(f"{folder}/{name}")
                self.assertEqual(caught.exception.kind, "invalid_argument")
            for path in (f"{folder}/no/where.pb", f"{folder}/no/folder", f"{folder}/a/b/c.gn"):
                with self.subTest(path), self.assertRaisesRegex(
                        graphnet_ir.Error, ": there is no folder"):
                    sample.save(path)
            self.assertEqual(os.listdir(folder), [])
            sample.save(f"{folder}/x.nope", format="graphnet")
            sample.save(f"{folder}/x.nope")  # It replaces the folder, which is one of ours.
            sample.save(f"{folder}/x.data", format="protobuf")
            for name in ("resnet18", "resnet18.a1_in1k", "v1.0", "model-1.5-beta", ".hidden"):
                sample.save(f"{folder}/{name}")
            self.assertEqual(len(graphnet_ir.load(f"{folder}/v1.0").graph), 5)
            self.assertEqual(len(os.listdir(folder)), 7)
            for path in ("", f"{folder}/x\0y.pb", folder + "/resnet18/graph_net.json/x.pb"):
                with self.subTest(path), self.assertRaises(graphnet_ir.Error):
                    sample.save(path)

    def test_draw_specs(self) -> None:
        def set_spec(spec: Any) -> Callable[[], Any]:
            return lambda: setattr(self.x, "draw_spec", spec)

        numbers = "data of a draw spec must be a list of numbers"
        self.check([
            (lambda: setattr(self.relu, "draw_spec", {}), ValueError,
             "only placeholders have a draw spec"),
            (set_spec([]), TypeError, "a draw spec must be a dict"),
            (set_spec({"mean": "a"}), TypeError, "mean of a draw spec must be a number"),
            (set_spec({"max": [1]}), TypeError, "max of a draw spec must be a number"),
            (set_spec({"data": 1}), TypeError, numbers),
            (set_spec({"data": [1, "a"]}), TypeError, numbers),
            (set_spec({"original_name": 1}), TypeError,
             "original_name of a draw spec must be a str"),
            (set_spec({"median": 1}), ValueError,
             "a draw spec has no 'median'; it has mean, std, min, max, data, original_name and "
             "in_input_meta"),
        ])

    def test_graphs(self) -> None:
        other = graphnet_ir.parse(TEXT).graph
        body = self.module.add_graph("body")
        self.assertEqual(self.module.erase_unused_graphs(), 1)

        def change_while_copying(node: graphnet_ir.Node) -> graphnet_ir.Node:
            mm.args = (other.find_node("x"), other.find_node("w"))
            return self.x

        mm = other.find_node("mm")
        mm.args = (other.find_node("x"), 1)
        self.check([
            (lambda: body.name, ReferenceError, "the graph was erased"),
            (lambda: self.graph.create_node("call", "torch.relu"), ValueError,
             "'call' is not a kind of node"),
            (lambda: self.graph.find_nodes(op="call"), ValueError, "'call' is not a kind of node"),
            (lambda: self.graph.node_copy(other.find_node("relu"), lambda node: 1), TypeError,
             "arg_transform must return a Node"),
            (lambda: self.graph.node_copy(mm, change_while_copying), RuntimeError,
             "the node was changed while it was copied"),
            (lambda: self.graph.graph_copy(self.graph, {}), ValueError,
             "a graph cannot be copied into itself"),
            (lambda: self.graph.erase_node(self.mm), RuntimeError, "the node mm still has 1 uses"),
            (lambda: self.graph.erase_node(mm), ValueError, "the node mm belongs to another graph"),
            (lambda: self.relu.append(mm), ValueError,
             "a node is moved within its own graph; node_copy copies from others"),
            (lambda: self.relu.replace_all_uses_with(mm), ValueError,
             "the node mm belongs to another graph"),
        ])

    def test_an_argument_that_python_code_takes_away(self) -> None:
        relu = self.relu

        class Emptier:
            def __index__(self) -> int:
                relu.args = ()
                return 3

        with self.assertRaisesRegex(IndexError, "^the node does not have that argument$"):
            relu.update_arg(0, Emptier())
        self.assertEqual(relu.args, ())

    def test_samples(self) -> None:
        sample = Sample(self.module)
        self.check([
            (lambda: Sample(self.graph), TypeError,
             "the module of a sample must be a Module"),
            (lambda: graphnet_ir.to_bytes(sample, "word"), ValueError, "unknown format word"),
            (lambda: graphnet_ir.to_bytes(sample, "graphnet"), ValueError,
             "graphnet is not one stream of bytes; use save"),
        ])

    def test_tensors(self) -> None:
        import torch

        two = torch.ones(2, 3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch says that complex32 is experimental
            half = torch.zeros(2, dtype=torch.complex32)
        self.check([
            (lambda: Tensor(1), TypeError,
             "a int has neither __dlpack__ nor a buffer in main memory"),
            (lambda: Tensor(half), TypeError,
             "a tensor cannot have DLPack's dtype 5 of 32 bits"),
            (lambda: Tensor(two.T), ValueError,
             "the tensor is not contiguous; give a contiguous copy"),
            (lambda: Tensor.from_bytes(b"abcd", "float32", (-1,)), ValueError,
             "no tensor has this shape"),
            (lambda: Tensor.from_bytes(b"abcd", "float32", (1 << 62, 8)), ValueError,
             "no tensor has this shape"),
            (lambda: Tensor.from_bytes(b"abcd", "float32", (1 << 61,)), ValueError,
             "no tensor has this shape"),
            (lambda: Tensor.from_bytes(b"abc", "float32", (1,)), ValueError,
             "the tensor takes 4 bytes, not 3"),
            (lambda: Tensor(two).with_strides([1]), ValueError,
             "expected one stride for each dimension"),
            (lambda: torch.from_dlpack(Tensor.from_bytes(b"abcd", "complex32", (1,))),
             BufferError, "DLPack has no dtype complex32; use Tensor.bytes"),
        ])


if __name__ == "__main__":
    unittest.main()
