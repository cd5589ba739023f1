"""Tests of live capture, against PyTorch itself."""

import contextlib
import copy
import io
import json
import os
import pickle
import unittest
import warnings

import torch
from torch import nn

import graphnet_ir
from graphnet_ir import captured, extract
from graphnet_ir.live import backend as backend_module
from graphnet_ir.live import variants

from capture_case import (CaptureCase, Decorated, Net, decorated_function, manifest, quietly,
                          three_breaks)


class Graphs(CaptureCase):
    def test_every_graph_is_kept_as_dynamo_counts_them(self):
        x = torch.randn(3, 2)
        expected = quietly(torch._dynamo.explain(three_breaks), x)
        torch._dynamo.reset()
        f = extract(three_breaks, workspace=self.workspace, verify=True)
        result = quietly(f, x)
        self.assertTrue(torch.equal(result, quietly(three_breaks, x)))
        capture = f.capture
        self.assertEqual(len(capture), expected.graph_count)
        self.assertEqual(sum(g.ended.is_break for g in capture), expected.graph_break_count)
        self.assertEqual([g.num_ops for g in capture],
                         [sum(node.op.startswith("call") for node in gm.graph.nodes)
                          for gm in expected.graphs])
        self.assertEqual([g.calls for g in capture], [1] * len(capture))
        self.assertEqual([step.graph for step in capture.steps], list(range(len(capture))))
        self.assert_proved(capture)
        # What a graph makes, the next one takes.
        for before, after in zip(capture.steps, capture.steps[1:]):
            self.assertTrue(set(before.outputs) & set(after.inputs))

        folder = os.path.join(self.workspace, "three_breaks")
        rows = manifest(folder)
        self.assertEqual([row["sample"] for row in rows["subgraphs"]],
                         [f"subgraph_{i}" for i in range(len(capture))])
        for graph, row in zip(capture, rows["subgraphs"]):
            read = graphnet_ir.load(os.path.join(folder, row["sample"]))
            self.assertEqual(graphnet_ir.canonical_hash(read), row["hash"])
            self.assertEqual(graphnet_ir.canonical_hash(read), graphnet_ir.canonical_hash(graph.sample))
            self.assertTrue(os.path.exists(os.path.join(folder, row["sample"],
                                                        "graph_net.json")))
        self.assertEqual(rows["inputs"], [{"name": "x", "value": {"tensor": 0}, "after": None}])

    def test_why_graphs_end_is_said_with_the_line(self):
        f = extract(three_breaks)
        quietly(f, torch.ones(3, 2))
        ends = [graph.ended for graph in f.capture]
        self.assertEqual([end.line.source for end in ends[:3]],
                         ['print("one")', "if y.sum() > 0:", "n = y.max().item()"])
        self.assertTrue(ends[0].line.file.endswith("capture_case.py"))
        self.assertFalse(os.path.isabs(ends[0].line.file))
        self.assertIn("print", ends[0].explanation)
        self.assertTrue(ends[0].hints)
        self.assertFalse(ends[3].is_break)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            f.capture.explain()
        text = printed.getvalue()
        self.assertIn("without it: one graph of 5 operators instead of 2 and 3", text)
        self.assertIn("4 graphs of 8 operators, 3 breaks, 4 calls of graphs", text)

    def test_one_graph_is_the_folder_itself(self):
        f = extract(Net().eval(), name="net", workspace=self.workspace, verify=True)
        with torch.no_grad():
            f(torch.randn(2, 4))
        self.assert_proved(f.capture)
        folder = os.path.join(self.workspace, "net")
        self.assertEqual(f.capture.folder, folder)
        sample = graphnet_ir.load(folder)
        self.assertEqual(graphnet_ir.canonical_hash(sample), manifest(folder)["subgraphs"][0]["hash"])
        info = json.loads(sample.graph_net_json)
        self.assertEqual((info["framework"], info["model_name"], info["dynamic"]),
                         ("torch", "net", False))
        given = {g.attribute for g in f.capture[0].inputs}
        self.assertIn("fc.weight", given)
        specs = {node.target: node.draw_spec for node in sample.graph.placeholders}
        weight = next(spec for name, spec in specs.items()
                      if name.endswith("fc_parameters_weight_"))
        self.assertEqual(weight["mean"], float(f"{f.fc.weight.mean().item():.3f}"))
        paths = {node.module_path for node in f.capture[0].sample.graph.nodes}
        self.assertIn("fc", paths)

    def test_guards_are_text_and_data(self):
        def f(x, n):
            return x * n

        made = extract(f)
        made(torch.ones(2, 3), 5)
        guards = made.capture[0].guards
        tensor = next(g for g in guards if g.kind == "TENSOR_MATCH")
        self.assertEqual(tensor.name, "L['x']")
        self.assertEqual(tensor.value["shape"], [2, 3])
        self.assertEqual(tensor.value["dtype"], "float32")
        number = next(g for g in guards if g.name == "L['n']")
        self.assertEqual((number.text, number.value), (["L['n'] == 5"], 5))
        for guard in guards:
            for line in guard.text:
                self.assertNotRegex(line, r"\d{9}|0x[0-9a-f]{4}")

    def test_skipped_frames_are_named(self):
        def helper(x):
            for _ in range(2):
                try:
                    print("in")
                    x = x + 1
                finally:
                    pass
            return x

        def f(x):
            return helper(torch.relu(x)) * 2

        made = extract(f)
        quietly(made, torch.ones(3))
        skip = next(skip for skip in made.capture.skipped if skip.function == "helper")
        self.assertTrue(skip.reason)
        self.assertTrue(skip.file.endswith("capture_test.py"))
        self.assertIn("helper", made.capture.report())

    def test_calls_are_counted_in_order(self):
        f = extract(lambda x: x + 1, name="f")
        for _ in range(3):
            f(torch.ones(2))
        self.assertEqual(len(f.capture), 1)
        self.assertEqual(f.capture[0].calls, 3)
        self.assertEqual([step.graph for step in f.capture.steps], [0, 0, 0])


class Variants(CaptureCase):
    def test_recompilation_for_other_sizes_is_one_graph(self):
        def f(x):
            return (torch.relu(x) + x.size(0)).view(-1)

        made = extract(f, workspace=self.workspace, verify=True)
        for n in (3, 4, 5):
            made(torch.ones(n, 2))
        self.assertEqual([g.compile_id.rpartition("/")[2] for g in made.capture], ["0", "1"])
        self.assertEqual([g.merged_into for g in made.capture], [1, None])
        self.assertIn("size mismatch", made.capture[1].recompiled)
        self.assertEqual(list(made.capture[1].symbols.values()), [4])
        self.assertTrue(made.capture[1].sample.module.relations)
        self.assert_proved(made.capture, calls=3)
        sample = graphnet_ir.load(made.capture.folder)
        self.assertTrue(json.loads(sample.graph_net_json)["dynamic"])
        self.assertEqual(len(sample.module.symbols), 1)

    def test_static_recompilations_are_generalised(self):
        def f(x):
            return torch.relu(x).view(x.size(0), 6)

        made = extract(f, dynamic=False, workspace=self.workspace)
        for n in (3, 4):
            made(torch.ones(n, 2, 3))
        self.assertEqual(len(made.capture), 2)
        self.assertEqual([g.merged_into for g in made.capture], [None, 0])
        self.assertEqual(len(graphnet_ir.load(made.capture.folder).module.symbols), 1)

    def test_other_graphs_of_a_frame_are_kept_apart(self):
        def f(x, flag):
            return torch.relu(x) if flag else torch.tanh(x)

        made = extract(f, workspace=self.workspace, verify=True)
        made(torch.ones(3), True)
        made(torch.ones(3), False)
        self.assertEqual([g.merged_into for g in made.capture], [None, None])
        self.assertIn("flag", made.capture[1].apart)
        self.assertEqual(sorted(os.listdir(made.capture.folder)),
                         ["stitch.json", "subgraph_0", "subgraph_1"])
        self.assert_proved(made.capture, calls=2)

    def test_numbers_that_are_not_sizes_stay_apart(self):
        def f(x, n):
            return x * n

        made = extract(f, workspace=self.workspace, verify=True)
        made(torch.ones(3), 5)
        made(torch.ones(3), 6)
        self.assertEqual([g.merged_into for g in made.capture], [None, None])
        general = made.capture[1].sample
        number = next(node.target for node in general.graph.placeholders
                      if node.type == "torch.SymInt")
        with self.assertRaisesRegex(ValueError, f"{number} is not the size of any input"):
            variants._specialised(general, {})
        self.assert_proved(made.capture, calls=2)

    def test_dynamic_from_the_beginning(self):
        made = extract(lambda x: x.view(x.size(0) * 2), name="f", dynamic=True, verify=True)
        made(torch.ones(5, 2))
        self.assertTrue(made.capture[0].symbols)
        made(torch.ones(7, 2))
        self.assertEqual(len(made.capture), 1)
        self.assert_proved(made.capture, calls=2)


class Training(CaptureCase):
    def step(self, net, optimiser):
        def step(x):
            loss = net(x).pow(2).mean()
            loss.backward()
            optimiser.step()
            optimiser.zero_grad()
            return loss

        return step

    def test_training_step_is_proved_and_trains(self):
        net, other = Net(0.5), Net(0.5)
        other.load_state_dict(net.state_dict())
        x = torch.randn(6, 4)
        step = extract(self.step(net, torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)),
                       verify=True)
        step(x)
        step(x)
        self.assert_proved(step.capture, calls=2)
        self.assertIn("Tensor.backward()", step.capture[0].ended.reason)
        self.assertGreaterEqual(len(step.capture), 2)  # the forward one, the optimiser's

    def test_backward_graphs_on_request(self):
        net = Net()
        step = extract(self.step(net, torch.optim.SGD(net.parameters(), lr=0.1)),
                       workspace=self.workspace, verify=True, backward=True)
        step(torch.randn(6, 4))
        kinds = [graph.kind for graph in step.capture]
        self.assertIn("backward", kinds)
        self.assert_proved(step.capture)
        backward = step.capture[kinds.index("backward")]
        self.assertEqual(step.capture[backward.of].kind, "graph")
        self.assertEqual(backward.calls, 1)
        self.assertIn("backward", [row["kind"] for row in
                                   manifest(step.capture.folder)["subgraphs"]])

    def test_gradients_flow_through_the_replay(self):
        net = Net()
        x = torch.randn(6, 4, requires_grad=True)
        f = extract(net, verify=True)
        f(x).sum().backward()
        got, x.grad = x.grad, None
        net(x).sum().backward()
        self.assertTrue(torch.equal(got, x.grad))

    def test_autocast_grad_mode_hooks_and_checkpointing(self):
        net = Net().eval()
        seen = []
        net.fc.register_forward_hook(lambda module, args, out: seen.append(1) or out * 2)
        f = extract(net, name="hooked", verify=True)
        x = torch.randn(6, 4)
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            result = f(x)
            self.assertTrue(torch.equal(result, net(x)))
            self.assertEqual(result.dtype, torch.bfloat16)
        f(x)
        self.assertTrue(seen)
        self.assertGreater(len(f.capture), 1)
        self.assertTrue(all(call.equal for call in f.capture.verified))

        from torch.utils.checkpoint import checkpoint

        def checkpointed(x):
            return checkpoint(lambda y: torch.sin(y).relu(), x, use_reentrant=False) + 1

        g = extract(checkpointed, verify=True)
        x = torch.randn(3, requires_grad=True)
        g(x).sum().backward()
        expected = torch.autograd.grad(checkpointed(x).sum(), x)[0]
        self.assertTrue(torch.equal(x.grad, expected))
        self.assertTrue(g.capture.verified[0].equal)

    def test_random_numbers_go_on_from_graph_to_graph(self):
        drop = nn.Dropout(0.5)

        def f(x):
            y = drop(x) + torch.rand(8)
            torch._dynamo.graph_break()
            z = drop(y * 2)
            torch._dynamo.graph_break()
            return (z + torch.randn(8)).sum()

        made = graphnet_ir.capture(f, name="random", verify=True)
        x = torch.randn(8, requires_grad=True)
        made(x).backward()
        made(x)
        self.assertEqual([(call.equal, call.runs, call.notes) for call in made.capture.verified],
                         [(True, 3, []), (True, 3, [])])

    def test_writes_to_arguments_and_views_of_them(self):
        def f(x, out):
            out.add_(x)
            view = out.view(-1)
            print("break")
            view.mul_(2)
            return out + 1

        made = extract(f, verify=True)
        out = torch.ones(2, 2)
        result = quietly(made, torch.ones(2, 2), out)
        self.assertTrue(torch.equal(out, torch.full((2, 2), 4.0)))
        self.assertTrue(torch.equal(result, torch.full((2, 2), 5.0)))
        self.assert_proved(made.capture)


class Doors(CaptureCase):
    def test_backend(self):
        f = torch.compile(lambda x: torch.relu(x) + 1, backend=backend_module.backend,
                          options={"name": "door", "workspace": self.workspace})
        f(torch.ones(3))
        capture = captured("door")
        self.assertEqual(len(capture), 1)
        folder = capture.save()
        self.assertEqual(graphnet_ir.canonical_hash(graphnet_ir.load(folder)),
                         graphnet_ir.canonical_hash(capture[0].sample))

    def test_backend_refuses(self):
        f = torch.compile(lambda x: x + 1, backend=backend_module.backend,
                          options={"name": "refused", "verify": True})
        with self.assertRaisesRegex(Exception, "backend='graphnet' sees no whole call to verify: "
                                               "use graphnet_ir.capture"):
            f(torch.ones(3))
        with self.assertRaisesRegex(KeyError, "nothing was compiled under the name refused"):
            captured("refused")

    def test_decorated_function_class_and_method(self):
        @extract(workspace=self.workspace)
        def decorated(x):
            """Says what it does."""
            return x * 2

        self.assertEqual(decorated.__name__, "decorated")
        self.assertTrue(torch.equal(decorated(torch.ones(2)), torch.full((2,), 2.0)))
        self.assertEqual(len(decorated.capture), 1)

        Small = extract(Net, name="small", workspace=self.workspace)
        model = Small().eval()
        self.assertIsInstance(model, Net)
        x = torch.randn(2, 4)
        with torch.no_grad():
            self.assertTrue(torch.equal(model(x), model.forward(x)))
        self.assertEqual(len(Small.capture), 1)
        self.assertTrue(os.path.exists(os.path.join(self.workspace, "small", "graph_net.json")))
        with self.assertRaisesRegex(TypeError, "capture takes a function, a module or a class of "
                                               "modules, not int"):
            extract(5, name="f")
        with self.assertRaisesRegex(ValueError, "the name of a capture must be a valid name of a "
                                                "folder"):
            extract(lambda x: x, name="../f")
        with self.assertRaisesRegex(ValueError, "to must be 'graphnet' or 'protobuf'"):
            extract(lambda x: x, name="f", to="onnx")
        with self.assertRaisesRegex(ValueError, "no workspace was given to save to"):
            extract(lambda x: x, name="f").capture.save()

    def test_an_extracted_module_is_the_module(self):
        net = Net()
        made = extract(net, name="net")
        self.assertIsInstance(made, Net)
        made.eval()
        self.assertFalse(net.training)
        x = torch.randn(2, 4)
        made.fc = nn.Linear(4, 4)
        made.note = 5
        self.assertIs(net.fc, made.fc)
        self.assertEqual(net.note, 5)
        self.assertTrue(torch.equal(made(x), net(x)))
        whole = nn.Sequential(made, nn.ReLU())
        whole(x)
        self.assertEqual(list(whole.state_dict()), [f"0.{name}" for name in net.state_dict()])
        self.assertEqual(made.capture[0].calls, 2)
        other = copy.deepcopy(made)
        self.assertIsNot(other.fc, made.fc)
        stored = pickle.loads(pickle.dumps(made))
        self.assertIs(type(stored), Net)
        for module in (other, stored):
            self.assertTrue(torch.equal(module(x), net(x)))

    def test_modules_of_a_decorated_class_are_copied_and_stored(self):
        module = Decorated()
        x = torch.randn(2, 4)
        expected = module(x)
        for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
            self.assertIs(type(other), Decorated)
            self.assertTrue(torch.equal(other(x), expected))
        decorated_function.note = 3
        self.assertEqual(decorated_function.__wrapped__.note, 3)
        self.assertIs(pickle.loads(pickle.dumps(decorated_function)), decorated_function)

    def test_fullgraph_and_errors_of_the_program(self):
        f = extract(three_breaks, fullgraph=True)
        with self.assertRaises(torch._dynamo.exc.Unsupported):
            quietly(f, torch.ones(2))

        def raises(x):
            y = torch.relu(x)  # noqa: F841
            print("before")
            raise KeyError("mine")

        for verify in (False, True):
            torch._dynamo.reset()
            g = extract(raises, workspace=self.workspace, verify=verify)
            with self.assertRaisesRegex(KeyError, "mine"):
                quietly(g, torch.ones(2))
            self.assertGreaterEqual(len(g.capture), 1)
            self.assertIn("mine", manifest(g.capture.folder)["raised"])

    def test_weights_on_request(self):
        net = Net().eval()
        f = extract(net, name="net", workspace=self.workspace, weights=True)
        with torch.no_grad():
            f(torch.randn(2, 4))
        row = manifest(f.capture.folder)["subgraphs"][0]
        self.assertEqual(row["sample"], "subgraph_0.pb")
        sample = graphnet_ir.load(os.path.join(f.capture.folder, row["sample"]))
        from graphnet_ir.running import to_torch

        stored = {name: to_torch(value) for name, value in sample.weights.items()}
        weight = next(value for name, value in stored.items()
                      if name.endswith("fc_parameters_weight_"))
        self.assertTrue(torch.equal(weight, net.fc.weight))

    def test_inputs_of_uncommon_kinds(self):
        kinds = {
            "complex": torch.randn(3, dtype=torch.complex64),
            "float8": torch.randn(3).to(torch.float8_e4m3fn),
            "sparse": torch.eye(3).to_sparse(),
            "quantised": torch.quantize_per_tensor(torch.randn(3), 0.1, 0, torch.quint8),
            "nested": torch.nested.nested_tensor([torch.ones(2), torch.ones(3)],
                                                 layout=torch.jagged),
        }
        for name, value in kinds.items():
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                torch._dynamo.reset()

                def f(x):
                    return x.clone()

                made = extract(f, name=name, workspace=self.workspace)
                result = made(value)
                self.assertEqual(type(result), type(value))
                for graph in made.capture:
                    self.assertTrue(graph.sample is not None or graph.why_not)
                self.assertTrue(os.path.exists(os.path.join(made.capture.folder, "stitch.json")))


class GuardsTest(unittest.TestCase):

    def test_no_address_is_kept(self) -> None:
        from graphnet_ir.live.guards import RawGuard, read_guard

        name = "G['_139657337907744_c0'].Tensor"
        read = read_guard(RawGuard("ID_MATCH", name, [f"___check_obj_id({name}), type=Tensor"],
                                   None), {})
        self.assertEqual((read.name, read.text), (
            "G['_…_c0'].Tensor", ["___check_obj_id(G['_…_c0'].Tensor), type=Tensor"]))


if __name__ == "__main__":
    unittest.main()
