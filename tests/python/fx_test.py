"""from_fx and to_fx: graph modules of all kinds, there and back."""

from __future__ import annotations

import collections
import copy
import enum
import json
import pathlib
import pickle
import sys
import tempfile
import types
import typing
import unittest
from typing import Any, Callable, List, Tuple

import torch
import torch.fx
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

import graphnet_ir
from graphnet_ir import _treespec


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(),
                                          torch.nn.Linear(8, 4))
        self.register_buffer("scale", torch.arange(4.0))

    def forward(self, x: torch.Tensor) -> Any:
        y = self.layers(x) * self.scale
        y += 1
        y[..., 0] = 2.5
        return y.view(x.shape[0], -1).to(torch.float64).T[1:, None]


class Branches(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        y = torch.cond(x.sum() > 0, self.inner, torch.neg, (x,))
        return y + 1

    def inner(self, x: torch.Tensor) -> Any:
        return torch.cond(x.mean() > 1, torch.sin, torch.cos, (x,))


class Defaults(torch.nn.Module):
    def forward(self, x, y=None, k=3):  # type: ignore[no-untyped-def]
        return torch.relu(x).size(0) + x * k

    forward.__annotations__ = {"x": torch.Tensor, "y": typing.Optional[torch.Tensor], "k": int}


class Plain(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU())
        self.register_buffer("scale", torch.arange(8.0))

    def forward(self, x: torch.Tensor) -> Any:
        return torch.nn.functional.softmax(self.layers(x) * self.scale, dim=-1)[..., :3].T


def keep(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def captured(function: Callable[..., Any], *args: Any, **options: Any
             ) -> Tuple[torch.fx.GraphModule, List[Any]]:
    """The graph that Dynamo makes of a function, and its inputs."""
    graphs: List[Tuple[torch.fx.GraphModule, List[Any]]] = []

    def backend(gm: torch.fx.GraphModule, inputs: List[Any]) -> Callable[..., Any]:
        graphs.append((gm, [v.node.hint if isinstance(v, torch.SymInt) else v for v in inputs]))
        return gm.forward

    torch._dynamo.reset()
    torch.compile(function, backend=backend, **options)(*args)
    return graphs[0]


def folder_of(gm: torch.fx.GraphModule, inputs: List[Any], path: pathlib.Path) -> None:
    """Writes the folder that GraphNet's extractor writes of a graph of Dynamo."""
    code = "\n".join("    " + line for line in gm.code.splitlines())
    names = [str(node.target) for node in gm.graph.find_nodes(op="placeholder")]
    records = []
    for name, value in zip(names, inputs):
        tensor = value if isinstance(value, torch.Tensor) else torch.tensor(4)
        records.append(f"class Program_weight_tensor_meta_{name}:\n    name = \"{name}\"\n"
                       f"    shape = {list(tensor.shape)}\n    dtype = \"{tensor.dtype}\"\n"
                       f"    device = \"{tensor.device}\"\n    mean = 0.0\n    std = 1.0\n"
                       "    data = None\n")
    (path / "model.py").write_text("import torch\nfrom torch import device\n\n"
                                   f"class GraphModule(torch.nn.Module):\n{code}\n")
    (path / "weight_meta.py").write_text("\n".join(records))
    (path / "graph_net.json").write_text('{"framework": "torch"}')


class FxTest(unittest.TestCase):
    def round_trip(self, gm: torch.fx.GraphModule, *inputs: Any) -> graphnet_ir.Sample:
        sample = graphnet_ir.from_fx(gm)
        made = graphnet_ir.to_fx(sample, root=gm)
        self.assertEqual(made.code, gm.code)
        with torch.no_grad():
            copies = [pytree.tree_map(keep, inputs) for _ in range(2)]
            expected, got = pytree.tree_leaves(gm(*copies[0])), pytree.tree_leaves(made(*copies[1]))
        self.assertEqual(len(expected), len(got))
        for a, b in zip(expected, got):
            self.assertTrue(torch.equal(a, b))
        text = graphnet_ir.show(sample, complete=True)
        self.assertEqual(graphnet_ir.show(graphnet_ir.from_fx(made), complete=True), text)
        stored = graphnet_ir.load_bytes(graphnet_ir.to_bytes(sample), "sample.pb")
        self.assertEqual(graphnet_ir.to_fx(stored, root=gm).code, gm.code)
        return sample

    def refuses(self, part: str, function: Callable[..., Any], *args: Any,
                kind: str = "unimplemented") -> None:
        with self.assertRaises(graphnet_ir.Error) as caught:
            function(*args)
        self.assertEqual(caught.exception.kind, kind, str(caught.exception))
        self.assertIn(part, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))

    # Kinds of graphs.

    def test_dynamo_is_the_folder(self) -> None:
        for dynamic in (False, True):
            x = torch.randn(5, 4)
            gm, inputs = captured(Net(), x, dynamic=dynamic)
            sample = self.round_trip(gm, *inputs)
            with tempfile.TemporaryDirectory() as name:
                folder_of(gm, inputs, pathlib.Path(name))
                folder = graphnet_ir.load(name)
            difference = graphnet_ir.diff(folder, sample)
            self.assertFalse(difference, str(difference))
            self.assertEqual(graphnet_ir.canonical_hash(folder), graphnet_ir.canonical_hash(sample))
            self.assertEqual([(n.name, n.target, n.type) for n in folder.graph.placeholders],
                             [(n.name, n.target, n.type) for n in sample.graph.placeholders])
            self.assertEqual([n.name for n in folder.graph.nodes],
                             [n.name for n in sample.graph.nodes])
            if not dynamic:
                self.assertEqual([n.tensor_meta for n in folder.graph.placeholders],
                                 [n.tensor_meta for n in sample.graph.placeholders])

    def test_dynamo_calls_of_operators(self) -> None:
        def function(x: torch.Tensor) -> Any:
            return torch.ops.aten.add.Tensor(x, torch.ops.aten.index(x, [x.long()]))

        gm, inputs = captured(function, torch.zeros(3))
        sample = self.round_trip(gm, *inputs)
        with tempfile.TemporaryDirectory() as name:
            folder_of(gm, inputs, pathlib.Path(name))
            self.assertEqual(graphnet_ir.canonical_hash(graphnet_ir.load(name)), graphnet_ir.canonical_hash(sample))

    def test_dynamo_metas(self) -> None:
        gm, inputs = captured(Net(), torch.randn(5, 4), dynamic=True)
        sample = graphnet_ir.from_fx(gm, name="net")
        self.assertEqual(sample.name, "net")
        self.assertEqual(list(sample.module.symbols.values()), [5])
        linear = sample.graph.find_nodes(op="call_function", target="torch._C._nn.linear")[1]
        self.assertEqual(linear.module_path, "layers.2")
        file, line, _ = linear.location
        self.assertTrue(file.endswith(".py"))
        self.assertGreater(line, 0)
        self.assertEqual(str(linear.tensor_meta.shape[0]), next(iter(sample.module.symbols)))
        self.assertEqual(linear.tensor_meta.shape[1], 4)
        size = sample.graph.find_nodes(op="placeholder")
        self.assertIn("torch.SymInt", [node.type for node in size])
        again = graphnet_ir.to_fx(sample)
        self.assertIn("example_value", next(iter(again.graph.nodes)).meta)

    def test_bodies(self) -> None:
        gm, inputs = captured(Branches(), torch.ones(3))
        sample = self.round_trip(gm, *inputs)
        self.assertEqual(len(sample.module.graphs), 5)
        names = [graph.name for graph in sample.module.graphs]
        self.assertEqual(sum(name.count(".") for name in names), 2)

    def test_names_of_nodes_that_read_bodies(self) -> None:
        made = torch.fx.Graph()
        x = made.placeholder("x")
        read = made.create_node("get_attr", "body", name="other")
        made.output(made.call_function(torch.ops.higher_order.wrap, (read, x)))
        body = torch.fx.symbolic_trace(torch.nn.ReLU())
        self.round_trip(torch.fx.GraphModule({"body": body}, made), torch.ones(2))
    def test_symbolic_trace(self) -> None:
        self.round_trip(torch.fx.symbolic_trace(Plain()), torch.randn(2, 4))
        sample = self.round_trip(torch.fx.symbolic_trace(Defaults()), torch.randn(2, 4))
        self.assertEqual(sample.graph.placeholders[1].type,
                         "typing.Optional[torch.Tensor]")

    def test_exported(self) -> None:
        program = torch.export.export(Plain(), (torch.randn(3, 4),))
        sample = self.round_trip(program.module(), torch.randn(3, 4))
        self.assertEqual(sample.module.attributes["scale"]["type"], "torch.Tensor")
        self.round_trip(program.graph_module, *program.state_dict.values(), torch.randn(3, 4))
        branches = torch.export.export(Branches(), (torch.ones(3),))
        self.round_trip(branches.module(), torch.ones(3))

    def test_exported_names_are_the_file(self) -> None:
        program = torch.export.export(Net(), (torch.randn(3, 4),))
        file = graphnet_ir.from_exported(program)
        sample = graphnet_ir.from_fx(program.graph_module)
        self.assertEqual([n.target for n in file.graph.nodes if n.op == "call_function"],
                         [n.target for n in sample.graph.nodes if n.op == "call_function"])

    def test_aten(self) -> None:
        self.round_trip(make_fx(Net())(torch.randn(2, 4)), torch.randn(2, 4))
        made = make_fx(lambda x: x.reshape(x.shape[0] * 2, -1)[:x.shape[0] // 2],
                       tracing_mode="symbolic")(torch.randn(6, 4))
        sample = self.round_trip(made, torch.randn(6, 4))
        view = next(node for node in sample.graph.nodes if "view" in node.target)
        symbol = sample.module.symbol(next(iter(sample.module.symbols)))
        self.assertEqual(view.tensor_meta.shape[0], 2 * symbol)

    def test_forward_and_backward(self) -> None:
        from functorch.compile import aot_function, make_boxed_func

        calls: List[Tuple[torch.fx.GraphModule, List[Any]]] = []

        def compiler(gm: torch.fx.GraphModule, _: Any) -> Any:
            def run(*args: Any) -> Any:
                calls.append((gm, [a.detach().clone() for a in args]))
                return gm(*args)
            return make_boxed_func(run)

        x = torch.randn(3, 4, requires_grad=True)
        aot_function(lambda x: torch.nn.functional.softmax(x @ x.T, -1).sum(),
                     fw_compiler=compiler, bw_compiler=compiler)(x).backward()
        self.assertEqual(len(calls), 2)
        for gm, inputs in calls:
            self.round_trip(gm, *inputs)

    # Values.

    def test_attributes_share_memory(self) -> None:
        net = Net()
        gm = torch.export.export(net, (torch.randn(3, 4),)).module()
        sample = graphnet_ir.from_fx(gm)
        made = graphnet_ir.to_fx(sample, root=gm)
        self.assertEqual(made.get_parameter("layers.0.weight").data_ptr(),
                         gm.get_parameter("layers.0.weight").data_ptr())
        own = graphnet_ir.to_fx(sample, root=gm, copy=True)
        self.assertNotEqual(own.get_buffer("scale").data_ptr(), gm.get_buffer("scale").data_ptr())
        sample.erase_weight("scale")
        self.assertIs(graphnet_ir.to_fx(sample, root=gm).get_buffer("scale"),
                      gm.get_buffer("scale"))
        guards = {"_guards_fn": gm.get_submodule("_guards_fn")}
        bare = graphnet_ir.to_fx(sample, root=guards)
        self.assertEqual(bare.get_buffer("scale").device.type, "meta")

    def test_weights_and_statistics(self) -> None:
        gm, inputs = captured(Net(), torch.randn(5, 4))
        sample = graphnet_ir.from_fx(gm, inputs, weights=True, statistics=True)
        self.assertEqual(len(sample.weights), 5)
        specs = [node.draw_spec for node in sample.graph.placeholders]
        self.assertTrue(all("mean" in spec and "std" in spec for spec in specs))
        self.assertEqual([len(spec["data"]) for spec in specs if "data" in spec].count(4), 2)
        named = graphnet_ir.from_fx(gm)
        self.assertEqual(named.weights, {})
        ids = torch.fx.symbolic_trace(lambda i: i + 1)
        spec = graphnet_ir.from_fx(ids, [torch.arange(100)], statistics=True)
        self.assertEqual(spec.graph.placeholders[0].draw_spec, {"min": 0, "max": 99})
        same = torch.fx.symbolic_trace(torch.nn.Identity())
        for value in (torch.randn(700, 500) + 3, torch.randn(99, 99) + 1e3, torch.zeros(99, 99),
                      torch.randn(9, 300000).half() * 3, torch.randn(80, 90).t(),
                      torch.randn(100, dtype=torch.float64) * 1e200):
            spec = graphnet_ir.from_fx(same, [value], statistics=True).graph.placeholders[0]
            wide = value.double()
            torch.testing.assert_close((spec.draw_spec["mean"], spec.draw_spec["std"]),
                                       (wide.mean().item(), wide.std().item()),
                                       rtol=1e-5, atol=1e-3)
        with self.assertRaises(TypeError):
            graphnet_ir.from_fx(ids, [])

    # From a sample.

    TEXT = """graphnet.sample 1
name = "all"
graph_hash = "00ff"
graph_net_json = "{}"
constraints = True
provenance [1, 3) of "whole" hash "ab"
graphnet.module 1
symbol S0 = 4
relation S0 <= 8
attribute table : f32[2, 3]@cpu as torch.nn.parameter.Parameter {mean = 0.5}
graph @forward(
  %x "L_x_" : f32[S0, 2 * S0]@cuda:0 as torch.Tensor {mean = 0.0, std = 1.0},
  %input : i64[]@cpu as "a type that nobody knows"
) {
  %t = get_attr table : f32[2, 3]@cpu
  %a = torch.functional.einsum("ij->", %x) at "model.py":3:5
  %b = .view(%a, (1, -1), dtype = torch.float32) : (f32[1], _) in layer1.0
  %c = operator.getitem(%b, (slice(None, 2, None), ..., None)) as "typing.List[int]"
  %d = torch.full([2], 1.5, device = device("cuda:1"), layout = torch.strided)
  %e = torch.clone(%d, memory_format = torch.channels_last)
  %f = torch.ops.aten.sym_size.int(%x, 0)
  %g = aten.add.Tensor(%x, complex(1.0, 2.0), alpha = 9223372036854775807)
  %h = torch.cond(True, @body, @body, [%x])
  %i = torch._functorch.vmap.lazy_load_decompositions()
  %j = torch.vmap(@body, (%d,), in_dims = (0,))
  return {"a": %c, 1: (%e, %f, [%g, %h, %t])}
}
graph @body(%x : f32[S0]) {
  %t = get_attr table
  %y = torch.neg(%x)
  return (%y,)
}
end
"""

    def test_every_argument_comes_back(self) -> None:
        sample = graphnet_ir.parse(self.TEXT)
        made = graphnet_ir.to_fx(sample)
        self.assertEqual(graphnet_ir.show(graphnet_ir.from_fx(made), complete=True),
                         graphnet_ir.show(sample, complete=True))
        self.assertEqual(made.get_parameter("table").device.type, "meta")
        node = made.graph.find_nodes(op="call_method")[0]
        self.assertIn('File "model.py", line 3',
                      next(iter(node.all_input_nodes)).meta["stack_trace"])

    def test_vmap_runs(self) -> None:
        sample = graphnet_ir.parse("""graph @forward(%x : f32[3, 2]@cpu, %y : f32[2]@cpu) {
  %v = torch.vmap(@body, (%x, %y), in_dims = (0, None), out_dims = 1)
  return %v
}
graph @body(%a, %b) {
  %c = operator.mul(%a, %b)
  return %c
}""")
        x, y = torch.randn(3, 2), torch.randn(2)
        self.assertTrue(torch.equal(graphnet_ir.to_fx(sample)(x, y), (x * y).T))

    def test_copies(self) -> None:
        made = graphnet_ir.to_fx(graphnet_ir.parse(self.TEXT))
        text = graphnet_ir.show(graphnet_ir.from_fx(copy.deepcopy(made)), complete=True)
        self.assertEqual(text, graphnet_ir.show(graphnet_ir.parse(self.TEXT), complete=True))
        x, plain = torch.randn(2, 4), make_fx(Net())(torch.randn(2, 4))
        made = graphnet_ir.to_fx(graphnet_ir.from_fx(plain))
        self.assertTrue(torch.equal(pickle.loads(pickle.dumps(made))(x), plain(x)))

    def test_changed_graph(self) -> None:
        made = graphnet_ir.to_fx(graphnet_ir.parse(self.TEXT))
        for node in made.graph.find_nodes(op="call_function", target=torch.neg):
            node.target = torch.abs
        for node in made.graph.find_nodes(op="call_function", target=torch.clone):
            node.target = torch.abs
            node.kwargs = {}
        sample = graphnet_ir.from_fx(made)
        self.assertEqual(sample.graph.find_node("e").target, "torch.abs")
        sample.graph.lint()

    def one_call(self, call: str, head: str = "%x") -> graphnet_ir.Sample:
        return graphnet_ir.parse(f"graphnet.module 1\ngraph @forward({head}) {{\n  %y = {call}\n"
                                 "  return %y\n}\nend\n")

    def test_names_that_lead_elsewhere(self) -> None:
        for name in ("os.system.x", "builtins.eval", "builtins.exec", "builtins.__import__",
                     "torch.load", "torch.save", "torch.hub.load", "torch.ops.load_library",
                     "torch.os.system", "torch.from_file", "torch.compile", "torch.jit.load",
                     "torch.classes.load_library", "torch.ops.aten.from_file",
                     "torch.nn.functional.__builtins__", "torch.nn.functional.warnings",
                     "torch.Tensor.__reduce_ex__", "torch.ops.aten.add.__class__",
                     "torch.Tensor.__class__", "operator.call",
                     "operator.methodcaller", "torch._C._jit_pass_inline", "torch.nonsense",
                     "math.__loader__", "subprocess.run.shell", "torch.serialization.load",
                     "torch.package.PackageImporter", "_operator.__loader__"):
            self.refuses(name, graphnet_ir.to_fx, self.one_call(f"{name}(%x)"), kind="not_found")
        for call in (".tofile(%x)", "._write_file(%x)", ".__class__(%x)", ".__reduce_ex__(%x)",
                     ".__call__(%x)",
                     'builtins.getattr(%x, "__class__")', 'builtins.getattr(%x, %x)'):
            part = ("is not an attribute of tensors" if "getattr" in call
                    else "is not a method of tensors")
            self.refuses(part, graphnet_ir.to_fx, self.one_call(call), kind="not_found")

    def test_texts_are_not_run(self) -> None:
        evil = "print(open('/etc/passwd'))"
        for sample in (self.one_call("torch.relu(%x)", f'%x "x=[{evil}][0]"'),
                       self.one_call("torch.relu(%x)", '%x "class"'),
                       self.one_call(f'torch.relu(%x, "a={evil}, b" = 1)')):
            self.refuses("is not a name that Python can spell", graphnet_ir.to_fx, sample)
        text = f"attribute \"a\\\"+{evil}\" : f32[2]\n" \
               f"graph @forward() {{ %y = get_attr \"a\\\"+{evil}\" return %y }}"
        self.refuses("is not a name that Python can spell", graphnet_ir.to_fx,
                     graphnet_ir.parse(text))
        packed = self.one_call("torch.relu(%x)")
        packed.extra_files = {"torch_fx.json": '{"pytree": {"args": ["x=1"], "in": 3}}'}
        self.refuses("torch_fx.json", graphnet_ir.to_fx, packed, kind="invalid_argument")
        inputs = pytree.treespec_dumps(pytree.tree_structure(((1,), {})))
        packed.extra_files = {"torch_fx.json": json.dumps(
            {"pytree": {"args": ["x=1"], "in": inputs, "out": None}})}
        self.refuses("the name of an argument is not a Python identifier", graphnet_ir.to_fx,
                     packed, kind="invalid_argument")

    def test_a_packing_imports_nothing(self) -> None:
        """torch's reader of packings imports what they name; ours does not."""

        def spec(kind: str, context: Any, leaves: int = 1) -> Any:
            leaf = {"type": None, "context": None, "children_spec": []}
            return {"type": kind, "context": context, "children_spec": [leaf] * leaves}

        enum = {"__enum__": True, "fqn": "stranger:Color", "name": "RED"}
        inner = {"__enum__": True, "fqn": "unittest:stranger.Color", "name": "RED"}
        factory = {"default_factory_module": "stranger", "default_factory_name": "f",
                   "dict_context": ["a"]}
        hostile = [
            spec("collections.defaultdict", factory),
            spec("collections.defaultdict", {**factory, "default_factory_module": "stranger.a"}),
            spec("collections.defaultdict", {**factory, "default_factory_module": "builtins",
                                             "default_factory_name": "eval"}),
            spec("collections.defaultdict", {**factory, "dict_context": [enum]}),
            *(spec(kind, json.dumps(context)) for context in ([enum], enum, [[enum]], [inner])
              for kind in ("builtins.dict", "builtins.tuple", "builtins.list", "collections.deque",
                           "collections.OrderedDict", "stranger.Class", "torch.Size",
                           "torch.fx.immutable_collections.immutable_dict")),
            spec("collections.namedtuple", "stranger.Point"),
            spec("collections.namedtuple", {"name": "stranger.Point", "fields": ["x"]}),
            spec("collections.namedtuple", {"name": "p", "fields": ["x, y=print('PWNED')"]}),
            spec("stranger.Dataclass", json.dumps([["a"], []])),
            spec("transformers.tokenization_utils_base.BatchEncoding", json.dumps(["a"])),
            spec("stranger", None), spec("", None), spec("os.system", json.dumps("echo PWNED")),
        ]
        with tempfile.TemporaryDirectory() as folder:
            # The folder has a module that says when it is imported.
            for path in ("stranger.py", "stranger/__init__.py", "model.py"):
                file = pathlib.Path(folder, path)
                file.parent.mkdir(exist_ok=True)
                file.write_text("raise SystemExit('imported')")
            sys.path.insert(0, folder)
            self.addCleanup(sys.path.remove, folder)
            read = 0
            for one in hostile:
                arguments = spec("builtins.tuple", "null", 0)
                nothing = spec("builtins.dict", "[]", 0)
                arguments["children_spec"] = [one]
                inputs = json.dumps([1, {"type": "builtins.tuple", "context": "null",
                                         "children_spec": [arguments, nothing]}])
                sample = self.one_call("torch.relu(%x)")
                sample.extra_files = {"torch_fx.json": json.dumps(
                    {"pytree": {"args": ["x"], "in": inputs, "out": json.dumps([1, one])}})}
                with self.subTest(one):
                    try:
                        gm = graphnet_ir.to_fx(sample)
                    except graphnet_ir.Error as error:
                        self.assertEqual(error.kind, "invalid_argument")
                    else:
                        read += 1
                        self.assertEqual(gm.graph._codegen.pytree_info.in_spec.num_leaves, 1)
            self.assertGreater(read, 10)
            self.assertNotIn("stranger", sys.modules)

    def test_a_written_type_imports_nothing(self) -> None:
        before = set(sys.modules)
        for written in ("graphnet_ir.bench", "graphnet_ir.Benchmark", "stranger.Type",
                        "torch.hub.load[torch.Tensor]", "torch.onnx.ops.rotary_embedding",
                        "torch.utils.viz.Thing"):
            sample = self.one_call("torch.relu(%x)", head="%x")
            x, = sample.graph.placeholders
            x.type = written
            self.assertIsNone(graphnet_ir.to_fx(sample).graph.find_nodes(op="placeholder")[0].type)
        self.assertEqual({name for name in set(sys.modules) - before
                          if name.startswith(("graphnet_ir.eval", "stranger", "torch.onnx.ops",
                                              "torch.utils.viz"))}, set())

    def test_packings_that_are_damaged(self) -> None:
        leaf: Any = {"type": None, "context": None, "children_spec": []}

        def one(kind: Any, context: Any, *children: Any) -> str:
            return json.dumps([1, {"type": kind, "context": context,
                                   "children_spec": list(children)}])

        for text, message in (
                (one(None, None, leaf), "a leaf has no parts"),
                (one(3, "null"), "the name of a type is not a text"),
                (one("collections.deque", '"x"'), "the length of a deque is not a number"),
                (one("collections.deque", "1", leaf, leaf), "the length of a deque"),
                (one("builtins.dict", ["a"], leaf), "the context of a type is not a text"),
                (one("builtins.dict", '[{"a": 1}]', leaf), "a context holds an object"),
                (one("builtins.dict", '["a", "a"]', leaf, leaf),
                 "a dict has other keys than values"),
                (one("collections.OrderedDict", "[]", leaf), "a dict has other keys than values"),
                (one("collections.namedtuple", {"name": "P", "fields": ["x"]}),
                 "a named tuple has other fields than values"),
                (one("collections.namedtuple", {"name": "P", "fields": ["def"]}, leaf), "keyword"),
                (json.dumps([2, leaf]), "unknown version 2"), ("3", "not the packing of arguments"),
                (json.dumps([1, []]), "not the packing of arguments"),
                ("[" * 10000, "not the packing of arguments")):
            with self.subTest(text[:80]), self.assertRaisesRegex(ValueError, message):
                _treespec.loads(text)

    def test_packings_come_back(self) -> None:
        Point = collections.namedtuple("Point", "x y")

        class Color(enum.Enum):
            RED = 1

        self.addCleanup(globals().pop, "Shade")
        globals()["Shade"] = Color
        Color.__qualname__ = "Shade"
        counts = collections.defaultdict(list, {"a": 1, "b": 2})
        for packed in ((1, [2, {"a": 3}]), collections.OrderedDict(b=1, a=2), Point(1, (2,)),
                       counts, collections.deque([1, 2], maxlen=5), {3: 1, None: 2, "x": 3},
                       {Color.RED: 1}, {"point": [Point(1, Point(2, 3))]}, torch.Size([1, 2]),
                       (), {}, None, [None, ()]):
            structure = pytree.tree_structure(packed)
            again = _treespec.loads(_treespec.dumps(structure))
            leaves = list(range(structure.num_leaves))
            with self.subTest(packed):
                self.assertEqual(repr(structure.unflatten(leaves)), repr(again.unflatten(leaves)))
                self.assertEqual(type(structure.unflatten(leaves)).__name__,
                                 type(again.unflatten(leaves)).__name__)
                if "Point" not in repr(packed):  # torch wants named tuples to be registered
                    self.assertEqual(again, _treespec.loads(pytree.treespec_dumps(structure)))

    def test_to_fx_refuses(self) -> None:
        self.refuses("the sample has no graph", graphnet_ir.to_fx,
                     graphnet_ir.Sample(graphnet_ir.Module("empty")), kind="failed_precondition")
        nested = self.one_call("torch.stack(" + "[" * 200 + "%x" + "]" * 200 + ")")
        self.refuses("Python cannot compile the code of the graph", graphnet_ir.to_fx, nested)
        unknown = graphnet_ir.parse("attribute w\ngraph @forward() {\n  %w = get_attr w\n"
                                    "  return %w\n}\n")
        self.refuses("the attribute w has neither value nor shape", graphnet_ir.to_fx, unknown,
                     kind="failed_precondition")

    def test_names_that_are_taken(self) -> None:
        for name in ("forward", "code", "graph.x", "_buffers"):
            text = f"attribute {name} : f32[2]\n" \
                   f"graph @forward() {{ %y = get_attr {name} return %y }}"
            self.refuses("has that already", graphnet_ir.to_fx, graphnet_ir.parse(text))

    # What is refused.

    def test_from_fx_refuses(self) -> None:
        def graph(target: Any, *args: Any) -> torch.fx.GraphModule:
            made = torch.fx.Graph()
            x = made.placeholder("x")
            made.output(made.call_function(target, (x, *args)))
            module = torch.fx.GraphModule.__new__(torch.fx.GraphModule)
            torch.nn.Module.__init__(module)
            module._graph = made
            module.meta = {}
            return module

        class Pair(typing.NamedTuple):
            a: int

        for part, target, args in (("<lambda> has no name of its own", lambda x: x, ()),
                                   ("an argument is a torch.Tensor", torch.add, (torch.ones(1),)),
                                   ("builtins.range", torch.add, (range(3),)),
                                   ("Pair", torch.add, (Pair(1),)),
                                   ("an integer has more than 64 bits", torch.add, (2**63,)),
                                   ("OpOverload", torch.add, (torch.ops.aten.add.Tensor,)),
                                   ("builtins.module", torch.add, (pytree,))):
            self.refuses(part, graphnet_ir.from_fx, graph(target, *args))

        def starred(*args: Any) -> Any:
            return args[0] + 1

        self.refuses("any number", graphnet_ir.from_fx, torch.fx.symbolic_trace(starred))

        def defaults(x: Any, pair: Any = (1, 2)) -> Any:
            return x + 1

        self.refuses("the input pair has the default value (1, 2)", graphnet_ir.from_fx,
                     torch.fx.symbolic_trace(defaults))
        made = torch.fx.Graph()
        x = made.placeholder("x")
        twin = types.FunctionType((lambda x: x * 3).__code__, globals(), "captured")
        twin.__module__, twin.__qualname__ = captured.__module__, captured.__qualname__
        made.output(made.call_function(twin, (made.call_function(captured, (x,)),)))
        self.refuses("there are two functions ", graphnet_ir.from_fx,
                     torch.fx.GraphModule({}, made))

    def test_attributes_that_are_refused(self) -> None:
        class Broken(torch.Tensor):
            """A tensor whose data is elsewhere."""

            @staticmethod
            def __new__(cls) -> Any:
                return torch.Tensor._make_wrapper_subclass(cls, (2,))  # type: ignore

            @classmethod
            def __torch_dispatch__(cls, function, *args, **kwargs):  # type: ignore
                raise RuntimeError("the data is elsewhere")

        released = torch.ones(2)
        released.untyped_storage().resize_(0)
        special = "the attribute s is sparse, quantized or nested"
        for part, value in (
                ("the attribute s is a int, not a tensor", 5),
                (special, torch.eye(2).to_sparse()),
                (special, torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8)),
                (special, torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])),
                ("the values of s cannot be read: the data is elsewhere", Broken()),
                ("the values of s cannot be read: the memory of the tensor was released",
                 released)):
            holder = torch.nn.Module()
            setattr(holder, "s", value)
            made = torch.fx.Graph()
            made.output(made.get_attr("s"))
            self.refuses(part, graphnet_ir.from_fx, torch.fx.GraphModule(holder, made))

    def test_bodies_that_are_refused(self) -> None:
        def default(x: Any, k: Any = 3) -> Any:
            return x * k

        body = torch.fx.symbolic_trace(default)
        made = torch.fx.Graph()
        x = made.placeholder("x")
        made.output(made.call_function(torch.ops.higher_order.wrap, (made.get_attr("body"), x)))
        self.refuses("the inputs of a body are packed, or have default values",
                     graphnet_ir.from_fx, torch.fx.GraphModule({"body": body}, made))
        made = torch.fx.Graph()
        x = made.placeholder("x")
        mapped = made.call_function(torch.vmap, (made.get_attr("body"),))
        made.output(made.call_function(torch.add, (x, mapped)))
        self.refuses("the function that torch.vmap makes is used as a value", graphnet_ir.from_fx,
                     torch.fx.GraphModule({"body": torch.fx.symbolic_trace(torch.nn.ReLU())},
                                          made))

    def test_packings_that_are_refused(self) -> None:
        class Box:
            pass

        def graph(codegen: Any) -> torch.fx.GraphModule:
            made = torch.fx.Graph()
            made.output(made.call_function(torch.neg, (made.placeholder("x"),)))
            made.set_codegen(codegen)
            return torch.fx.GraphModule({}, made)

        pytree.register_pytree_node(Box, lambda box: ([1], None), lambda leaves, _: Box())
        self.addCleanup(pytree._deregister_pytree_node, Box)
        packing = torch.fx.graph._PyTreeInfo(["x"], pytree.tree_structure(((Box(),), {})), None)
        self.refuses("the packing of inputs cannot be written", graphnet_ir.from_fx,
                     graph(torch.fx.graph._PyTreeCodeGen(packing)))

        class Own(torch.fx.graph.CodeGen):
            pass

        self.refuses("its code is generated by ", graphnet_ir.from_fx, graph(Own()))

    def test_modules_need_a_root(self) -> None:
        gm = torch.fx.symbolic_trace(Plain())
        sample = graphnet_ir.from_fx(gm)
        self.refuses("it calls the module layers.0; give to_fx a root that has it",
                     graphnet_ir.to_fx, sample, kind="not_found")
        parts = {name: module for name, module in gm.named_modules() if name}
        parts["scale"] = gm.scale
        self.assertEqual(graphnet_ir.to_fx(sample, root=parts).code, gm.code)

    def test_modules_that_are_read_and_called(self) -> None:
        class Both(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.first = torch.nn.Sequential(torch.nn.Linear(4, 4))
                self.second = torch.nn.Linear(4, 4)

            def forward(self, x: torch.Tensor) -> Any:
                x = self.first(x * self.first[0].weight)
                return self.second(x) + self.second.weight

        gm = torch.fx.symbolic_trace(Both())
        sample = self.round_trip(gm, torch.randn(4, 4))
        sample.set_weight("second.weight", graphnet_ir.Tensor(torch.ones(4, 4)))
        self.refuses("has that already", graphnet_ir.to_fx, sample, gm)

    def test_own_functions(self) -> None:
        made = torch.fx.Graph()
        made.output(made.call_function(captured, (made.placeholder("x"),)))
        gm = torch.fx.GraphModule({}, made)
        sample = graphnet_ir.from_fx(gm)
        name = list(sample.graph.nodes)[1].target
        self.refuses("not a function of PyTorch", graphnet_ir.to_fx, sample, kind="not_found")
        self.assertEqual(graphnet_ir.to_fx(sample, root={name: captured}).code, gm.code)
        self.assertEqual(graphnet_ir.to_fx(sample, root=gm).code, gm.code)


if __name__ == "__main__":
    unittest.main()
