"""The IR in Python: torch.fx's names do what they do there, and nothing crashes the process."""

import gc
import pickle
import unittest
import warnings
import weakref
from typing import Any

import graphnet_ir
from graphnet_ir import Error, Module, Sample, TensorMeta

TEXT = """
graph @forward(%x : f32[2, 3]@cpu, %w : f32[3, 3] as torch.nn.parameter.Parameter) {
  %mm = torch.mm(%x, %w) : f32[2, 3]@cpu in net.mm at "net.py":7:5
  %relu = torch.relu(%mm)
  %add = operator.add(%relu, %relu)
  %cat = torch.cat([%add, %mm], dim = 0)
  return (%cat, %relu)
}
"""


def sample() -> Sample:
    return graphnet_ir.parse(TEXT)


class ReadingTest(unittest.TestCase):

    def test_nodes_have_torch_fx_names(self) -> None:
        graph = sample().graph
        self.assertEqual([node.op for node in graph.nodes],
                         ["placeholder"] * 2 + ["call_function"] * 4 + ["output"])
        self.assertEqual([node.name for node in reversed(graph.nodes)],
                         ["output", "cat", "add", "relu", "mm", "w", "x"])
        x, w, mm, relu, add, cat, output = graph.nodes
        self.assertEqual(mm.args, (x, w))
        self.assertEqual(cat.args, ([add, mm],))
        self.assertEqual(cat.kwargs, {"dim": 0})
        self.assertEqual(list(relu.users), [add, output])
        self.assertEqual(relu.num_uses, 3)
        self.assertEqual(cat.all_input_nodes, [add, mm])
        self.assertIs(mm.next, relu)
        self.assertIs(relu.prev, mm)
        self.assertIsNone(x.prev)
        self.assertIs(mm.graph, graph)
        self.assertLess(mm, relu)
        self.assertEqual(graph.find_nodes(op="call_function", target="torch.relu"), [relu])
        self.assertIs(graph.output_node(), output)
        self.assertEqual(output.args, ((cat, relu),))

    def test_a_node_is_one_object(self) -> None:
        graph = sample().graph
        node = graph.find_node("mm")
        self.assertIs(node, graph.find_node("relu").args[0])
        self.assertEqual({node: 1}[graph.find_node("mm")], 1)

    def test_what_is_known_of_a_value(self) -> None:
        graph = sample().graph
        mm = graph.find_node("mm")
        self.assertEqual(mm.tensor_meta, TensorMeta("float32", (2, 3), "cpu"))
        self.assertEqual(mm.tensor_meta.dtype.name, "float32")
        self.assertEqual(mm.location, ("net.py", 7, 5))
        self.assertEqual(mm.module_path, "net.mm")
        self.assertEqual(set(mm.meta), {"tensor_meta", "location", "module_path"})
        self.assertEqual(graph.find_node("w").type, "torch.nn.parameter.Parameter")
        mm.meta["mine"] = [mm]
        self.assertEqual(graph.find_node("mm").meta["mine"], [mm])
        del mm.meta["location"]
        self.assertIsNone(mm.location)
        with self.assertRaises(KeyError):
            mm.meta["location"]
        # As in a dict, any key may be looked for.
        for key in (1, None, ("a", 2), 1.5, b"mine"):
            self.assertNotIn(key, mm.meta)
            mm.meta[key] = "there"  # type: ignore[index]
            self.assertIn(key, mm.meta)
            self.assertEqual(mm.meta[key], "there")  # type: ignore[index]
        self.assertNotIn("location", mm.meta)
        self.assertIn("tensor_meta", mm.meta)

    def test_calls_are_found_by_any_spelling(self) -> None:
        graph = graphnet_ir.parse("""
graph @forward(%relu : f32[2, 3]) {
  %a = torch.nn.functional.gelu(%relu)
  %b = aten.gelu.default(%a)
  %c = torch.relu(%b)
  %d = .relu(%c)
  %e = .relu_(%d)
  %f = aten.add.Tensor(%e, %a)
  %g = torch.cond(True, @yes, @yes, (%f,))
  return (%g,)
}
graph @yes(%x) {
  %y = torch.nn.functional.gelu(%x)
  return %y
}
""").graph
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for asked, names in (({"target": "gelu"}, ["a", "b"]),
                                 ({"target": "gelu", "op": "call_function"}, ["a", "b"]),
                                 ({"target": "aten.gelu"}, ["b"]),
                                 ({"target": "torch.nn.functional.gelu"}, ["a"]),
                                 ({"target": "relu"}, ["relu", "c", "d", "e"]),
                                 ({"target": "relu", "op": "call_method"}, ["d"]),
                                 ({"target": "relu", "op": "placeholder"}, ["relu"]),
                                 ({"target": ".relu"}, ["d"]),
                                 ({"target": "add"}, ["f"]),
                                 ({"target": "cos"}, []),  # is not there, but well known
                                 ({"op": "call_method"}, ["d", "e"]),
                                 # A pass asks for one spelling after the other.
                                 ({"target": "torch.gelu", "op": "call_function"}, []),
                                 ({"target": "relu(%)"}, []),
                                 ({"target": "a b", "op": "call_function"}, [])):
                self.assertEqual([node.name for node in graph.find_nodes(**asked)], names, asked)
            self.assertEqual(len(graph.find_nodes()), len(graph))
        for asked, said in (({"target": "gelo"}, "called gelo; did you mean gelu?"),
                            ({"target": "torch.gelu"}, "no node calls torch.gelu; some call "
                             "torch.nn.functional.gelu, aten.gelu.default$")):
            with self.assertWarnsRegex(UserWarning, said.replace("?", "[?]")) as caught:
                self.assertEqual(graph.find_nodes(**asked), [])
            self.assertEqual(caught.filename, __file__)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with self.assertRaises(UserWarning):
                graph.find_nodes(target="gelo")

    def test_arguments_by_the_names_of_parameters(self) -> None:
        graph = graphnet_ir.parse("""
graph @forward(%x : f32[2, 3], %w : f32[3]) {
  %n = torch.nn.functional.layer_norm(%x, (3,), weight = %w)
  %v = .view(%n, 3, 2)
  %e = torch.einsum("ij,ij->i", %v, %v)
  %o = mine.op(%e, 1)
  return (%o,)
}
""").graph
        x, w, n, v, e, o, output = graph.nodes
        made = n.normalized_arguments()
        assert made is not None
        self.assertEqual(made, ((x, (3,)), {"weight": w, "bias": None, "eps": 1e-5}))
        self.assertEqual(made.kwargs["eps"], 1e-5)
        self.assertEqual(n.normalized_arguments(None, normalize_to_only_use_kwargs=True),
                         ((), {"input": x, "normalized_shape": (3,), **made.kwargs}))
        self.assertEqual(v.normalized_arguments(), ((n, [3, 2]), {}))
        self.assertEqual(e.normalized_arguments(normalize_to_only_use_kwargs=True),
                         (("ij,ij->i", v, v), {}))
        for node in (x, o, output):
            self.assertIsNone(node.normalized_arguments())
        n.update_kwarg("epsilon", 1.0)
        with self.assertRaisesRegex(Error, "epsilon"):
            n.normalized_arguments()

    def test_places_as_in_a_traceback(self) -> None:
        graph = sample().graph
        mm = graph.find_node("mm")
        self.assertEqual(mm.stack_trace, '  File "net.py", line 7, in forward\n')
        self.assertIsNone(graph.find_node("relu").stack_trace)
        mm.meta["stack_trace"] = "all of it"
        self.assertEqual(mm.stack_trace, "all of it")

    def test_lists_of_arguments_refuse_changes(self) -> None:
        cat = sample().graph.find_node("cat")
        with self.assertRaises(NotImplementedError):
            cat.args[0].append(1)
        self.assertEqual(pickle.loads(pickle.dumps(graphnet_ir._lists.ImmutableList([1]))), [1])


class ChangingTest(unittest.TestCase):

    def test_a_call_is_replaced(self) -> None:
        whole = sample()
        graph = whole.graph
        relu = graph.find_node("relu")
        with graph.inserting_before(relu):
            gelu = graph.call_function("torch.nn.functional.gelu", relu.args)
        self.assertEqual([user.name for user in relu.replace_all_uses_with(gelu)],
                         ["add", "output"])
        graph.erase_node(relu)
        graph.lint()
        self.assertEqual(graph.find_node("add").args, (gelu, gelu))
        self.assertTrue(relu.is_erased)
        self.assertEqual(relu.name, "relu")
        for act in (lambda: relu.args, lambda: relu.users, lambda: graph.erase_node(relu),
                    lambda: setattr(gelu, "args", (relu,)),
                    lambda: graph.call_function("f", ([relu],))):
            with self.assertRaises(ReferenceError):
                act()
        graph.call_function("f", (graph.find_node("x"),))  # behind the output
        with self.assertRaises(Error) as caught:
            graph.lint()
        self.assertEqual(caught.exception.kind, "failed_precondition")

    def test_uses_keep_a_node(self) -> None:
        graph = sample().graph
        with self.assertRaises(RuntimeError):
            graph.erase_node(graph.find_node("mm"))

    def test_a_graph_may_change_while_it_is_iterated(self) -> None:
        graph = sample().graph
        graph.output_node().args = (graph.find_node("x"),)
        seen = []
        for node in graph.nodes:
            seen.append(node.name)
            for user in list(node.users):
                pass
            if node.name == "relu":  # what follows dies before the loop comes to it
                for name in ("cat", "add", "relu"):
                    graph.erase_node(graph.find_node(name))
        self.assertEqual(seen, ["x", "w", "mm", "relu", "output"])
        for node in graph.nodes:
            if node.name == "mm":
                graph.erase_node(node)
        self.assertEqual(len(graph.nodes), 3)

    def test_building_from_nothing(self) -> None:
        module = Module("net")
        graph = module.add_graph("forward")
        size = module.add_symbol("s0", 4)
        x = graph.placeholder("x")
        x.tensor_meta = TensorMeta("f32", (size, 2 * size + 1))
        module.add_relation(size.le(8))
        module.add_attribute("bias", TensorMeta("float32", (3,)), "torch.nn.parameter.Parameter")
        bias = graph.get_attr("bias")
        add = graph.call_function("operator.add", (x, bias))
        view = graph.call_method("view", (add, size, -1, slice(None, 2), ..., 1j, "a", None,
                                          {"k": (1.5, True)}, graphnet_ir.DType("int64"),
                                          graphnet_ir.Device("cuda:0")))
        graph.output([view])
        graph.lint()
        again = graphnet_ir.parse(str(module))
        self.assertEqual(str(again.module), str(module))
        self.assertEqual(again.graph.find_node("view").args[2:8],
                         (-1, slice(None, 2), ..., 1j, "a", None))
        self.assertEqual(again.graph.find_node("view").args[8], {"k": (1.5, True)})
        again_size = again.graph.find_node("x").tensor_meta.shape[1]
        self.assertEqual(str(again_size), str(2 * size + 1))
        self.assertEqual(again_size.example, 9)
        self.assertEqual(module.symbols, {"s0": 4})

    def test_copies(self) -> None:
        one, two = sample(), Module("two")
        graph = two.add_graph()
        x, w = graph.placeholder("a"), graph.placeholder("b")
        values = {one.graph.find_node("x"): x, one.graph.find_node("w"): w}
        result = graph.graph_copy(one.graph, values)
        graph.output(result)
        graph.lint()
        self.assertEqual(graphnet_ir.canonical_hash(Sample(two)), graphnet_ir.canonical_hash(one))

    def test_what_is_refused(self) -> None:
        one, two = sample().graph, sample().graph
        relu = one.find_node("relu")
        deep: Any = []
        for _ in range(300):
            deep = [deep]
        own: Any = []
        own.append(own)
        wide: Any = [0]
        for _ in range(40):
            wide = [wide, wide]
        for args in ((two.find_node("x"),), (deep,), (own,), (wide,)):
            with self.assertRaises(ValueError):
                relu.args = args
        with self.assertRaises(OverflowError):
            relu.args = (1 << 63,)
        with self.assertRaises(TypeError):
            relu.args = (object(),)
        with self.assertRaises(ValueError):
            relu.target = ""
        with self.assertRaises(ValueError):
            two.find_node("relu").prepend(relu)
        with self.assertRaises(IndexError):
            relu.update_arg(3, 1)
        size = sample().module.add_symbol("s0")
        with self.assertRaises(ValueError):
            for _ in range(64):
                size = size * size
        metas: Any = None
        with self.assertRaises(ValueError):
            for _ in range(40):
                metas = (metas, metas)
            relu.tensor_meta = metas
        self.assertEqual(relu.args, (one.find_node("mm"),))

    def test_python_code_that_runs_while_arguments_are_read(self) -> None:
        graph = sample().graph

        class Eraser:
            def __index__(self) -> int:
                graph.output_node().args = (graph.find_node("x"),)
                for name in ("cat", "add", "relu", "mm"):
                    graph.erase_node(graph.find_node(name))
                return 3

        x, mm, relu = (graph.find_node(name) for name in ("x", "mm", "relu"))
        with self.assertRaises(ReferenceError):
            relu.args = (mm, Eraser())
        self.assertEqual(len(graph), 3)
        self.assertEqual(x.users, {graph.output_node(): None})


class LifetimeTest(unittest.TestCase):

    def test_a_node_keeps_its_module(self) -> None:
        node = sample().graph.find_node("mm")
        gc.collect()
        self.assertEqual([user.name for user in node.users], ["relu", "cat"])
        self.assertEqual(node.graph.owning_module.graph.find_node("mm"), node)

    def test_cycles_are_collected(self) -> None:
        whole = sample()
        node = whole.graph.find_node("mm")
        node.meta["self"] = node
        alive = weakref.ref(whole.module)
        del whole, node
        gc.collect()
        self.assertIsNone(alive())

    def test_a_copy_is_independent(self) -> None:
        one = sample()
        two = one.copy()
        two.graph.find_node("relu").target = "torch.sigmoid"
        self.assertEqual(one.graph.find_node("relu").target, "torch.relu")
        self.assertNotEqual(graphnet_ir.canonical_hash(one), graphnet_ir.canonical_hash(two))


if __name__ == "__main__":
    unittest.main()
