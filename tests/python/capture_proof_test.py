"""What verify=True proves of a capture, and what it says where it cannot."""

import collections
import itertools
import threading
import unittest
import warnings
from unittest import mock

import torch
from torch import nn

import graphnet_ir
from graphnet_ir import extract

from capture_case import (CaptureCase, Net, manifest)


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


if __name__ == "__main__":
    unittest.main()
