"""Threads that read, change and run the same samples."""

from __future__ import annotations

import signal
import threading
import time
import unittest
from typing import Any, Callable, List

import torch

import graphnet_ir
from graphnet_ir import Sample, TensorMeta

TEXT = """
symbol s0 = 4
attribute count : i64[]
graph @forward(%x : f32[4, 3], %w : f32[3, 3]) {
  %mm = torch.mm(%x, %w) : f32[s0, 3]
  %count = get_attr count
  %next = .add_(%count, 1)
  %relu = torch.relu(%mm)
  return (%relu, %next)
}
"""


def chain(size: int) -> Sample:
    module = graphnet_ir.Module("chain")
    module.add_symbol("s0", 4)
    graph = module.add_graph()
    x = value = graph.placeholder("x")
    for _ in range(size):
        value = graph.call_function("torch.add", (value, x))
    graph.output((value,))
    return Sample(module)


def together(*works: Callable[[], Any]) -> List[BaseException]:
    """Calls each function in a thread of its own, and returns what they raise."""
    raised: List[BaseException] = []
    barrier = threading.Barrier(len(works))

    def run(work: Callable[[], Any]) -> None:
        barrier.wait()
        try:
            work()
        except BaseException as error:  # pylint: disable=broad-except
            raised.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


class ThreadsTest(unittest.TestCase):

    def test_a_change_waits_for_calls_that_never_pause(self) -> None:
        sample = chain(3000)
        node = sample.graph.find_node("add")
        rows = sample.module.symbol("s0")
        done = threading.Event()
        hashes = [0, 0]

        def read(i: int) -> None:
            while not done.is_set():
                graphnet_ir.canonical_hash(sample)
                hashes[i] += 1

        changes: List[Callable[[int], Any]] = [
            lambda i: setattr(node, "target", f"torch.f{i}"),
            lambda i: setattr(node, "tensor_meta", TensorMeta("float32", (rows + i, i))),
            lambda i: setattr(node, "args", (node.args[0], i)),
            lambda i: setattr(sample, "name", str(i)),
            lambda i: sample.module.add_symbol(f"s{i + 1}", i),
            lambda i: sample.set_weight("x", torch.ones(i)),
            lambda i: sample.graph.erase_node(sample.graph.call_function("torch.rand", (i,))),
        ]

        def write() -> None:
            try:
                for i in range(40):
                    changes[i % len(changes)](i)
            finally:
                done.set()

        self.assertEqual(together(write, lambda: read(0), lambda: read(1)), [])
        self.assertGreater(min(hashes), 0)
        self.assertEqual(node.target, "torch.f35")
        self.assertEqual(sample.name, "38")

    def test_readers_go_on_beside_a_writer_that_never_pauses(self) -> None:
        sample = chain(1000)
        node = sample.graph.find_node("add")
        done = threading.Event()

        def write() -> None:
            i = 0
            while not done.is_set():
                node.tensor_meta = TensorMeta("float32", (i,))
                i += 1

        def read() -> None:
            try:
                for _ in range(20):
                    graphnet_ir.canonical_hash(sample)
            finally:
                done.set()

        self.assertEqual(together(write, read), [])

    def test_tables_do_not_change_under_a_long_call(self) -> None:
        """Pieces look things up in the tables of the whole while another thread adds to them."""
        sample = chain(300)
        node = sample.graph.find_node("add")
        rows = sample.module.symbol("s0")

        def cut() -> None:
            for _ in range(10):
                pieces = graphnet_ir.decompose(sample, pieces=4)
                self.assertEqual(len(pieces), 4)
                for piece in pieces:
                    graphnet_ir.canonical_hash(piece)

        def intern() -> None:
            for i in range(300):
                size = rows * i + 1
                node.tensor_meta = TensorMeta("float32", (size, i))
                node.args = (node.args[0], [size, f"text {i}"])
                node.location = (f"file{i}.py", i)
                node.draw = None if i else node.name

        def setup() -> None:
            for i in range(100):
                sample.module.add_attribute(f"w{i}", TensorMeta("float32", (rows - i,)))

        raised = together(cut, intern, setup)
        self.assertEqual([str(error) for error in raised if not isinstance(error, AttributeError)],
                         [])

    def test_a_prepared_program_from_sixteen_threads(self) -> None:
        sample = graphnet_ir.parse(TEXT)
        x, w = torch.randn(4, 3), torch.randn(3, 3)
        expected = torch.relu(x @ w)
        program = graphnet_ir.prepare(
            sample, x, w, values={"count": torch.tensor(0)})
        states: List[int] = []

        def run() -> None:
            for _ in range(25):
                output, _ = program.run()
                assert torch.equal(output, expected)
                states.append(int(program.state()["count"]))

        self.assertEqual(together(*[run] * 16), [])
        self.assertEqual(int(program.state()["count"]), 400)
        self.assertEqual(len(states), 400)
        self.assertEqual([row["run"] for row in program.records()], list(range(400)))

    def test_programs_of_one_sample_from_several_threads(self) -> None:
        sample = chain(20)
        x = torch.randn(3)

        def run() -> None:
            for _ in range(5):
                output, = graphnet_ir.run(sample, x)
                assert torch.allclose(output, 21 * x)
                assert graphnet_ir.shapes(sample, x).graph.find_node("add").tensor_meta.shape == (3,)

        self.assertEqual(together(*[run] * 8), [])

    def test_a_handler_of_signals_cannot_change_what_its_own_thread_reads(self) -> None:
        sample = chain(200000)
        graphnet_ir.canonical_hash(sample)  # It verifies.
        said: List[str] = []

        def change(*_: Any) -> None:
            begin = time.monotonic()
            try:
                sample.graph.find_node("add").target = "torch.mul"
            except RuntimeError as error:
                said.append(str(error))
            self.assertLess(time.monotonic() - begin, 5)

        before = signal.signal(signal.SIGALRM, change)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        for _ in range(50):
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            graphnet_ir.normal_form(sample)
            if said:
                break
        self.assertEqual(said[:1], ["the module cannot be changed while a long call reads it"])


if __name__ == "__main__":
    unittest.main()
