"""Tests of live capture, against PyTorch itself."""

import collections
import contextlib
import copy
import io
import itertools
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest
import warnings
from unittest import mock

import torch
from torch import nn

import graphnet_ir
from graphnet_ir import captured, extract
from graphnet_ir.live import backend as backend_module
from graphnet_ir.live import folder as folder_module
from graphnet_ir.live import variants


def three_breaks(x):
    y = torch.relu(x) + 1
    print("one")
    y = y * 2
    if y.sum() > 0:
        y = y - 1
    n = y.max().item()
    return y * n


class Net(nn.Module):
    def __init__(self, dropout=0.0):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        return self.drop(self.norm(self.fc(x))).relu()


def quietly(function, *args, **kwargs):
    with contextlib.redirect_stdout(io.StringIO()):
        return function(*args, **kwargs)


def manifest(folder):
    with open(os.path.join(folder, "stitch.json"), encoding="utf-8") as file:
        return json.load(file)


@extract(name="decorated")
class Decorated(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return self.fc(x)


@extract
def decorated_function(x):
    return x + 1


class CaptureCase(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        torch.manual_seed(0)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.workspace = folder.name

    def assert_proved(self, capture, calls=1):
        self.assertEqual(len(capture.verified), calls)
        for call in capture.verified:
            self.assertEqual(call.differences, [])
            self.assertTrue(call.equal)
            self.assertEqual(call.notes, [])
            self.assertGreater(call.runs, 0)


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
        self.assertTrue(ends[0].line.file.endswith("capture_test.py"))
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


class Proof(CaptureCase):
    def test_a_lost_graph_is_an_error(self):
        f = extract(lambda x: x + 1, name="f", verify=True)
        error = graphnet_ir.Error("cannot be held")
        with mock.patch("graphnet_ir.live.capture.from_fx", side_effect=error), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with self.assertRaisesRegex(
                    graphnet_ir.Error, "graph 0 of f ran and is not kept: Error: cannot be held"):
                f(torch.ones(2))

    def test_a_lost_graph_does_not_stop_the_program_without_verify(self):
        f = extract(lambda x: x + 1, name="f", workspace=self.workspace)
        error = graphnet_ir.Error("cannot be held")
        with mock.patch("graphnet_ir.live.capture.from_fx", side_effect=error):
            with self.assertWarnsRegex(
                    UserWarning, "graph 0 of f is not kept: Error: cannot be held"):
                self.assertTrue(torch.equal(f(torch.ones(2)), torch.full((2,), 2.0)))
        self.assertIn("cannot be held", manifest(f.capture.folder)["subgraphs"][0]["why_not"])

    def test_a_wrong_graph_is_an_error(self):
        from graphnet_ir.fx import from_fx

        def wrong(gm, *args, **kwargs):
            sample = from_fx(gm, *args, **kwargs)
            sample.graph.find_nodes(op="call_function")[0].target = "operator.sub"
            return sample

        f = extract(lambda x: x + 1, name="f", verify=True)
        with mock.patch("graphnet_ir.live.capture.from_fx", wrong):
            with self.assertRaisesRegex(graphnet_ir.Error, "differs from eager: result 0"):
                f(torch.ones(2))
        self.assertFalse(f.capture.verified[0].equal)

    def verified(self, function, *args, calls=2):
        """The rows of calls with verify=True, and their last result."""
        torch._dynamo.reset()
        made = extract(function, name="f", verify=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(calls):
                result = made(*args)
        self.assertEqual(len(made.capture.verified), calls)
        return made.capture.verified, result

    def test_what_a_call_changes_is_put_back(self):
        net = nn.Linear(4, 4)
        optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
        cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, 5)
        cycle = torch.optim.lr_scheduler.OneCycleLR(optimiser, 0.1, total_steps=3)

        def train(scheduler):
            def step(x):
                net(x).pow(2).mean().backward()
                optimiser.step()
                scheduler.step()
                optimiser.zero_grad()
                return x + scheduler.last_epoch

            return step

        class Slots:
            __slots__ = ("number", "tensor")

        class Class:
            count = 0

        slots = Slots()
        slots.number, slots.tensor = 0, torch.zeros(4)
        number = 0
        ordered = collections.OrderedDict(a=1, b=2)
        found = collections.defaultdict(int)
        recent = collections.deque([1, 2], maxlen=2)
        base = torch.zeros(1)
        view = base.expand(4)

        def in_slots(x):
            slots.number += 1
            slots.tensor = slots.tensor + 1
            return x * slots.number + slots.tensor

        def in_closure(x):
            nonlocal number
            number += 1
            return x + number

        def in_class(x):
            Class.count += 1
            return x + Class.count

        def in_default(x, calls=[]):  # noqa: B006 (what is tested)
            calls.append(1)
            return x + len(calls)

        @torch._dynamo.disable
        def change():
            ordered.move_to_end("a")
            found["n"] += 1
            recent.append(len(recent) + recent[-1])
            return next(iter(ordered.values())) + found["n"] + recent[-1]

        def in_containers(x):
            return torch.relu(x) + change()

        def in_views(x):
            base.add_(1)
            return x + view

        x = torch.ones(2, 4)
        for function, state in (
                (train(cosine), lambda: cosine.last_epoch),
                (train(cycle), lambda: cycle.last_epoch),
                (in_slots, lambda: slots.number), (in_closure, lambda: number),
                (in_class, lambda: Class.count),
                (in_default, lambda: len(in_default.__defaults__[0])),
                (in_containers, lambda: found["n"]), (in_views, lambda: int(base))):
            with self.subTest(function.__name__):
                before = state()
                rows, _ = self.verified(function, x)
                self.assertEqual(state(), before + 2)  # as often as it was called
                self.assertEqual([row.differences for row in rows], [[], []])
                self.assertTrue(all(row.equal for row in rows))

    def test_generators_of_random_numbers_are_put_back(self):
        import numpy

        ours, numpys = torch.Generator(), numpy.random.default_rng(1)
        ours.manual_seed(1)
        for draw in (lambda: torch.rand(3, generator=ours),
                     lambda: torch.tensor(numpys.random(3)), lambda: torch.randn(3)):
            make = torch._dynamo.disable(draw)
            state = torch.get_rng_state(), ours.get_state(), numpys.bit_generator.state
            expected = [torch.ones(3) * 2 + draw() for _ in range(2)][-1]
            torch.set_rng_state(state[0])
            ours.set_state(state[1])
            numpys.bit_generator.state = state[2]
            rows, result = self.verified(lambda x: x * 2 + make(), torch.ones(3))
            self.assertTrue(all(row.equal for row in rows))
            self.assertTrue(torch.equal(result, expected))

    def test_what_cannot_be_put_back_is_said_and_used_once(self):
        def numbers():
            yield from range(100)

        for it in (itertools.count(), numbers(), iter([0, 1, 2, 3]), map(int, "0123")):
            with self.subTest(type(it).__name__):
                def f(x):
                    return torch.relu(x) + next(it)

                made = extract(f, name="f", verify=True)
                with self.assertWarnsRegex(UserWarning, "iterator .* cannot be put back"):
                    results = [made(torch.ones(1)).item() for _ in range(2)]
                self.assertEqual(results, [1, 2])
                self.assertFalse(any(row.equal for row in made.capture.verified))
                self.assertTrue(all(row.unproven for row in made.capture.verified))

    def test_gradients_of_gradients(self):
        net = nn.Sequential(nn.Linear(3, 3), nn.Tanh())

        def penalty(x):
            grad, = torch.autograd.grad(net(x).sum(), x, create_graph=True)
            return grad.pow(2).sum()

        def hessian(x):
            return torch.autograd.functional.hessian(lambda y: (y ** 3).sum(), x)

        for function, x in ((penalty, torch.randn(2, 3, requires_grad=True)),
                            (hessian, torch.randn(3))):
            rows, result = self.verified(function, x)
            self.assertTrue(all(row.equal and row.runs for row in rows))
            self.assertTrue(torch.equal(result, function(x)))

    def test_no_false_alarm(self):
        weight = torch.randn(64, 64, requires_grad=True)
        attention = nn.MultiheadAttention(32, 4)

        def holds_itself(x):
            made = [x + 1]
            made.append(made)
            return made

        for function, x in (
                (lambda x: x.transpose(0, 1) @ weight, torch.randn(5, 7, 64)),
                (lambda x: attention(x, x, x)[0], torch.randn(5, 2, 32)),
                (lambda x: x.long()[:1, 0], torch.ones(3, 2)), (holds_itself, torch.ones(2))):
            with torch.no_grad():
                rows, _ = self.verified(function, x)
            self.assertTrue(all(row.equal for row in rows), rows)

    def test_what_is_not_proven_is_said(self):
        jagged = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)
        for function, x in ((nn.LSTM(4, 5), torch.randn(2, 3, 4)),
                            (lambda x: x * 2, torch.eye(3).to_sparse()),
                            (lambda x: x * 2, jagged)):
            rows, _ = self.verified(function, x, calls=1)
            self.assertFalse(rows[0].equal)
            self.assertTrue(rows[0].unproven)
        torch._dynamo.reset()
        f = extract(nn.LSTM(4, 5), name="lstm", workspace=self.workspace, verify=True)
        with self.assertWarnsRegex(UserWarning, "no graph was captured"):
            f(torch.randn(2, 3, 4))
        self.assertTrue(manifest(f.capture.folder)["verified"][0]["unproven"])

    def test_a_call_that_the_interpreter_lacks_does_not_hide_the_others(self):
        from torch.utils.checkpoint import checkpoint

        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, grad):
                return 2 * ctx.saved_tensors[0] * grad

        def out(x):
            made = torch.empty(3)
            torch.add(x, 1, out=made)
            return made * 2

        def inference(x):
            with torch.inference_mode():
                y = x + 1
            return y * 2

        for function, is_lacking in (
                (lambda x: x.data + x * 2, False), (out, False), (inference, False),
                (lambda x: Square.apply(x) + 1, True),
                (lambda x: checkpoint(torch.sin, x, use_reentrant=False) + 1, False)):
            rows, _ = self.verified(function, torch.randn(3, requires_grad=function is not out),
                                    calls=1)
            self.assertEqual((rows[0].equal, rows[0].runs, rows[0].unproven), (True, 1, []))
            self.assertEqual(bool(rows[0].notes), is_lacking)

    def test_a_wrong_piece_is_an_error(self):
        from graphnet_ir.fx import from_fx

        def wrong(gm, *args, **kwargs):
            sample = from_fx(gm, *args, **kwargs)
            for node in sample.graph.find_nodes(op="call_function"):
                if node.target == "operator.add":
                    node.target = "operator.sub"
            return sample

        f = extract(lambda x: x.data + 1, name="f", verify=True)
        with mock.patch("graphnet_ir.live.capture.from_fx", wrong):
            with self.assertRaisesRegex(graphnet_ir.Error, "differs from eager: result 0"):
                f(torch.ones(2))

    def test_each_thread_has_a_proof_of_its_own(self):
        net = Net(0.5)
        f = extract(net, name="net", verify=True)
        x = torch.randn(3, 4)
        threads = [threading.Thread(target=lambda: [f(x) for _ in range(3)]) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assert_proved(f.capture, calls=9)
        self.assertEqual(int(net.norm.num_batches_tracked), 9)

    def test_nothing_runs_twice_without_verify(self):
        calls = []

        @torch._dynamo.disable
        def count():
            calls.append(1)

        def f(x):
            count()
            return x + 1

        made = extract(f)
        made(torch.ones(2))
        self.assertEqual(len(calls), 1)


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


class Folders(CaptureCase):
    def test_a_capture_that_holds_something_else_is_not_replaced(self):
        for to in ("graphnet", "protobuf"):
            folder = os.path.join(self.workspace, to)

            def write():
                def f(x):
                    y = torch.relu(x)
                    print("a break")
                    return y + 1

                torch._dynamo.reset()
                quietly(extract(f, name=to, workspace=self.workspace, to=to), torch.ones(2))

            write()
            write()
            inside = folder if to == "protobuf" else os.path.join(folder, "subgraph_0")
            for name in ("thesis.txt", ".hidden", "stitch.json.bak", "more/model.py", "model.py.d/x"):
                path = os.path.join(inside, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write("mine")
                with self.subTest(name), self.assertRaisesRegex(graphnet_ir.Error, "not replaced, as it holds"):
                    write()
                self.assertTrue(os.path.exists(path))
                os.remove(path)
                if os.path.dirname(path) != inside:
                    os.rmdir(os.path.dirname(path))
            link = os.path.join(folder, "subgraph_7")
            os.symlink(inside, link)
            with self.assertRaisesRegex(graphnet_ir.Error, "as it holds subgraph_7, a link"):
                write()
            os.remove(link)
            write()

    def test_a_folder_of_something_else_is_not_touched(self):
        folder = os.path.join(self.workspace, "f")
        os.mkdir(folder)
        with open(os.path.join(folder, "thesis.txt"), "w", encoding="utf-8") as file:
            file.write("years of work")
        f = extract(lambda x: x + 1, name="f", workspace=self.workspace)
        with self.assertRaises(graphnet_ir.Error) as caught:
            f(torch.ones(2))
        self.assertEqual(caught.exception.kind, "already_exists")
        self.assertEqual(str(caught.exception),
                         f"{folder}: not replaced, as it holds thesis.txt")
        self.assertEqual(os.listdir(folder), ["thesis.txt"])

        # The exception of the program is more important.
        def raises(x):
            y = torch.relu(x)  # noqa: F841
            print("before")
            raise KeyError("mine")

        g = extract(raises, name="f", workspace=self.workspace)
        with self.assertWarnsRegex(UserWarning, "f was not saved: .*not replaced, as it holds"):
            with self.assertRaisesRegex(KeyError, "mine"):
                quietly(g, torch.ones(2))
        self.assertEqual(os.listdir(folder), ["thesis.txt"])

        # At the end of a program an exception would reach nobody.
        with mock.patch.object(backend_module, "_captures", {("f", self.workspace): g.capture}):
            with self.assertWarnsRegex(UserWarning, "f was not saved: .*not replaced, as it holds"):
                backend_module._save_all()

    def test_a_link_to_a_capture_is_not_replaced(self):
        f = extract(lambda x: x + 1, name="f", workspace=self.workspace)
        f(torch.ones(2))
        os.symlink(f.capture.folder, os.path.join(self.workspace, "g"))
        g = extract(lambda x: x + 2, name="g", workspace=self.workspace)
        with self.assertRaisesRegex(graphnet_ir.Error, "g is a link, not a capture"):
            g(torch.ones(2))

    def test_an_earlier_capture_is_replaced_whole(self):
        f = extract(three_breaks, name="f", workspace=self.workspace)
        quietly(f, torch.ones(2))
        g = extract(lambda x: x + 1, name="f", workspace=self.workspace)
        g(torch.ones(2))
        self.assertNotIn("subgraph_0", os.listdir(g.capture.folder))
        self.assertEqual(os.listdir(self.workspace), ["f"])

    def test_the_manifest_is_json_for_any_argument(self):
        def refuse(name):
            raise ValueError(name)

        itself = []
        itself.append(itself)
        deep = []
        for _ in range(3000):
            deep = [deep]
        for value in (itself, deep, float("nan"), [float("inf")], "\ud83d", {"\udcff": -0.0},
                      {(1, 2): {"a": itself}}):
            torch._dynamo.reset()
            f = extract(lambda x, value: x + 1, name="f", workspace=self.workspace)
            f(torch.ones(2), value)
            with open(os.path.join(f.capture.folder, "stitch.json"), encoding="utf-8") as file:
                rows = json.load(file, parse_constant=refuse)
            self.assertEqual([row["name"] for row in rows["inputs"]], ["x", "value"])

    def test_a_number_that_is_zero_or_less(self):
        for k in (0, -1):
            torch._dynamo.reset()
            f = extract(lambda x, k: x[k:] * k, name="f", dynamic=True, workspace=self.workspace)
            f(torch.ones(4, 3), k)
            graphnet_ir.load(f.capture.folder)
        sample = graphnet_ir.load(f.capture.folder)
        sample.module.add_symbol("zero", 0)
        folder = os.path.join(self.workspace, "zero")
        graphnet_ir.save(sample, folder)
        self.assertEqual(graphnet_ir.load(folder).module.symbols["zero"], 0)

    def test_functions_of_numpy_are_kept(self):
        import numpy

        for function in (lambda a: numpy.sin(numpy.sin(a)), lambda a: a[1:] + a[:-1] + a[1:]):
            torch._dynamo.reset()
            f = extract(lambda x: torch.from_numpy(function(x.numpy())), name="f")
            f(torch.ones(3))
            self.assertEqual([graph.why_not for graph in f.capture], [None])

    def test_unusual_names(self):
        workspace = os.path.join(self.workspace, "mit Leerzeichen", "模型 é")
        f = extract(lambda x: x + 1, name="naïve net", workspace=workspace, verify=True)
        f(torch.ones(2))
        graphnet_ir.load(os.path.join(workspace, "naïve net"))

    def test_a_workspace_that_is_no_folder(self):
        path = os.path.join(self.workspace, "file")
        open(path, "w").close()
        f = extract(lambda x: x + 1, name="f", workspace=path)
        with self.assertRaises(graphnet_ir.Error):
            f(torch.ones(2))

    def test_interrupted_writing_leaves_what_was_there(self):
        f = extract(three_breaks, name="f", workspace=self.workspace)
        quietly(f, torch.ones(2))
        before = manifest(f.capture.folder)
        for part in ("_save", "_put_in_place", "manifest_text"):
            with mock.patch.object(folder_module, part, side_effect=KeyboardInterrupt):
                with self.assertRaises(KeyboardInterrupt):
                    f.capture.save()
            self.assertEqual(os.listdir(self.workspace), ["f"])
            self.assertEqual(manifest(f.capture.folder), before)

    def test_same_program_gives_same_bytes(self):
        texts = []
        for i in range(2):
            torch._dynamo.reset()
            torch.manual_seed(0)
            workspace = os.path.join(self.workspace, str(i))
            f = extract(Net().eval(), name="net", workspace=workspace)
            with torch.no_grad():
                f(torch.randn(2, 4))
            files = {}
            for name in os.listdir(f.capture.folder):
                with open(os.path.join(f.capture.folder, name), "rb") as file:
                    files[name] = file.read()
            files["stitch.json"] = files["stitch.json"].replace(
                f.capture[0].compile_id.encode(), b"ID")
            texts.append(files)
        self.assertEqual(texts[0], texts[1])
        for content in texts[0].values():
            self.assertNotIn(self.workspace.encode(), content)

    def test_killed_and_competing_processes(self):
        program = textwrap.dedent("""
            import sys, torch
            from graphnet_ir import extract
            def f(x):
                y = torch.relu(x)
                print("break", flush=True)
                return y + int(sys.argv[2])
            made = extract(f, workspace=sys.argv[1])
            made(torch.ones(2))
            while len(sys.argv) > 3:
                made.capture.save()
                print("saved", flush=True)
            for _ in range(5):
                made.capture.save()
        """)
        command = [sys.executable, "-c", program, self.workspace]
        endless = subprocess.Popen([*command, "1", "go on"], stdout=subprocess.PIPE, text=True)
        for line in endless.stdout:
            if line == "saved\n":
                break
        endless.send_signal(signal.SIGKILL)
        endless.wait()
        endless.stdout.close()
        self.check_whole()
        both = [subprocess.Popen([*command, str(i)], stdout=subprocess.DEVNULL) for i in (1, 2)]
        self.assertEqual([process.wait() for process in both], [0, 0])
        self.check_whole()
        self.assertEqual(os.listdir(self.workspace), ["f"])

    def check_whole(self):
        folder = os.path.join(self.workspace, "f")
        for row in manifest(folder)["subgraphs"]:
            sample = graphnet_ir.load(os.path.join(folder, row["sample"]))
            self.assertEqual(graphnet_ir.canonical_hash(sample), row["hash"])

    def test_a_forked_child_leaves_the_folder_to_its_parent(self):
        program = textwrap.dedent("""
            import os, sys, torch
            from graphnet_ir.live import backend
            def f(x):
                y = torch.relu(x)
                if os.fork() == 0:
                    backend._save_all()
                    os._exit(0)
                os.wait()
                return y + 1
            torch.compile(f, backend=backend.backend,
                          options={"name": "f", "workspace": sys.argv[1]})(torch.ones(2))
        """)
        done = subprocess.run([sys.executable, "-c", program, self.workspace],
                              capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_whole()


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
