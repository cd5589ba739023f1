"""Copies and pickles of samples, graphs and values; DataLoader and processes take them."""

from __future__ import annotations

import copy
import gc
import multiprocessing
import pickle
import unittest
import weakref
from typing import Any, Callable, List

import numpy
import torch
import torch.utils.data

import graphnet_ir
from graphnet_ir import DType, Device, Layout, MemoryFormat, Module, Sample, Tensor, TensorMeta

TEXT = """
symbol s0 = 4
relation s0 <= 9
attribute w : f32[3, 3] {mean = 0.5}
graph @forward(%x : f32[s0, 3]@cpu {mean = 0.0, std = 1.0}) {
  %w = get_attr w
  %mm = torch.mm(%x, %w) : f32[s0, 3]
  %cond = torch.cond(True, @yes, @no, (%mm,))
  return (%cond, [%mm])
}
graph @yes(%a) {
  return %a
}
graph @no(%a) {
  %b = torch.neg(%a)
  return %b
}
"""

WAYS: List[Callable[[Any], Any]] = [
    copy.copy, copy.deepcopy, *(lambda value, p=p: pickle.loads(pickle.dumps(value, p))
                                for p in range(pickle.HIGHEST_PROTOCOL + 1))]


def made() -> Sample:
    sample = graphnet_ir.parse(TEXT)
    sample.name = "net"
    sample.extra_files = {"a.txt": "ü\n"}
    sample.set_weight("w", numpy.arange(9, dtype=numpy.float32).reshape(3, 3))
    return sample


def nodes_of(sample: Sample) -> int:
    return len(sample.graph)


class Samples(torch.utils.data.Dataset):  # type: ignore[type-arg]
    def __init__(self, samples: List[Sample]) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, i: int) -> Sample:
        return self.samples[i]


class CopiesTest(unittest.TestCase):

    def test_samples(self) -> None:
        for way in WAYS:
            sample = made()
            again = way(sample)
            self.assertEqual(graphnet_ir.show(again, complete=True),
                             graphnet_ir.show(sample, complete=True))
            self.assertEqual(graphnet_ir.canonical_hash(again, metas=True, weights=True),
                             graphnet_ir.canonical_hash(sample, metas=True, weights=True))
            self.assertEqual((again.name, again.extra_files), (sample.name, sample.extra_files))
            again.graph.find_node("mm").target = "torch.add"
            self.assertEqual(sample.graph.find_node("mm").target, "torch.mm")

    def test_modules_and_graphs(self) -> None:
        for way in WAYS:
            sample = made()
            module = way(sample.module)
            self.assertIsNot(module, sample.module)
            self.assertEqual(str(module), str(sample.module))
            self.assertEqual(module.symbols, {"s0": 4})
            for graph in sample.module.graphs:
                again = way(graph)
                self.assertEqual((again.name, str(again)), (graph.name, str(graph)))
                self.assertIsNot(again.owning_module, sample.module)
                for node in list(again.nodes)[::-1]:
                    again.erase_node(node)
                self.assertEqual(str(module), str(sample.module))

    def test_a_pickle_keeps_what_belongs_together(self) -> None:
        sample = made()
        mm = sample.graph.find_node("mm")
        everything = (sample, sample.module, sample.graph, mm, mm.tensor_meta)
        for again in (pickle.loads(pickle.dumps(everything)), copy.deepcopy(everything)):
            other, module, graph, node, meta = again
            self.assertIs(other.module, module)
            self.assertIs(other.graph, graph)
            self.assertIs(graph.find_node("mm"), node)
            self.assertEqual(meta, node.tensor_meta)
            self.assertIsNot(module, sample.module)

    def test_values(self) -> None:
        module = made().module
        rows = module.symbol("s0")
        values = [
            *(DType(name) for name in ("float32", "bool", "int8", "complex64", "float8_e5m2",
                                       "quint8", "bits16", "uint64")),
            Device("cpu"), Device("cuda:3"), Layout("strided"), Layout("sparse_coo"),
            MemoryFormat("channels_last"), TensorMeta("float32"), TensorMeta("int64", ()),
            TensorMeta("bfloat16", (2, 3), "cuda:1"), TensorMeta("float32", (rows, rows * 2 + 1)),
            rows, rows // 2 % 3, -rows, rows.max(3).min(rows ** 2), rows.le(8), (rows - rows) * 0]
        for value in values:
            for way in WAYS:
                again = way(value)
                self.assertIs(type(again), type(value))
                self.assertEqual((again, repr(again)), (value, repr(value)))

    def test_tensors(self) -> None:
        for value in (numpy.arange(6.0).reshape(2, 3), numpy.array(3), numpy.zeros((0, 2)),
                      torch.ones(2, dtype=torch.bfloat16)):
            tensor = Tensor(value)
            for way in WAYS:
                again = way(tensor)
                self.assertEqual((again.dtype, again.shape), (tensor.dtype, tensor.shape))
                self.assertEqual(bytes(torch.from_dlpack(again.bytes).numpy().tobytes()),
                                 bytes(torch.from_dlpack(tensor.bytes).numpy().tobytes()))
        turned = Tensor(numpy.zeros((2, 3))).with_strides([1, 2])
        self.assertEqual(pickle.loads(pickle.dumps(turned)).strides, (1, 2))

    def test_results(self) -> None:
        sample = made()
        pieces = graphnet_ir.decompose(sample, pieces=2)
        again = pickle.loads(pickle.dumps(pieces))
        self.assertEqual(graphnet_ir.canonical_hash(graphnet_ir.compose(again, like=sample)),
                         graphnet_ir.canonical_hash(sample))
        self.assertEqual(again.config, pieces.config)
        with self.assertRaises(graphnet_ir.Error) as caught:
            graphnet_ir.parse("graph @f(%x) {\n  return %y\n}", "f.gn")
        error = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual((str(error), error.kind, error.place),
                         (str(caught.exception), "invalid_argument", ("f.gn", 2, 10)))

    def test_parts_that_do_not_belong_together(self) -> None:
        module = made().module
        rows = module.symbol("s0")
        make = graphnet_ir._core._make_sym
        for parts in (("add", None, "", (rows,)), ("symbol", None, "", ()), ("int", None, "", ()),
                      ("int", 3, "x", ()), ("neg", None, "", (rows, rows)), ("no", None, "", ())):
            with self.assertRaisesRegex(ValueError, "these are not the parts of an expression"):
                make(module, *parts)
        with self.assertRaisesRegex(TypeError, "an operand of an expression must be a SymExpr"):
            make(module, "neg", None, "", (3,))
        graph = module.graph
        reduce, (_, name) = graph.find_node("mm").__reduce__()
        with self.assertRaisesRegex(ValueError, "the graph has no node nothing"):
            reduce(graph, "nothing")
        reduce, _ = graph.__reduce__()
        with self.assertRaisesRegex(ValueError, "the module has no graph nothing"):
            reduce(module, "nothing")

    def test_what_does_not_verify(self) -> None:
        module = Module("half")
        graph = module.add_graph()
        graph.call_function("torch.relu", (graph.placeholder("x"),))
        for way in WAYS:
            with self.assertRaisesRegex(graphnet_ir.Error, "output"):
                way(module)

    def test_processes_and_data_loaders(self) -> None:
        samples = [made(), graphnet_ir.parse("graph @f(%x : f32[2]) {\n  return (%x,)\n}")]
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            self.assertEqual(pool.map(nodes_of, samples), [nodes_of(s) for s in samples])
        loader = torch.utils.data.DataLoader(Samples(samples), batch_size=None, num_workers=1)
        self.assertEqual([graphnet_ir.canonical_hash(sample) for sample in loader],
                         [graphnet_ir.canonical_hash(sample) for sample in samples])

    def test_nothing_stays_when_it_is_no_longer_used(self) -> None:
        def keeps(sample: Sample) -> List[Any]:
            mm = sample.graph.find_node("mm")
            size = sample.module.symbol("s0") * 2
            mm.meta.update(ready=graphnet_ir.prepare(sample, values={"x": torch.ones(4, 3)}))
            with sample.graph.inserting_before(mm) as point:
                view = sample.graph.call_function("torch.zeros", ([size, 3],))
            mm.meta.update(size=size, meta=mm.tensor_meta, nodes=sample.graph.nodes, point=point,
                           iterator=iter(sample.graph.nodes), sample=sample)
            return [node.args for node in sample.graph.nodes] + [view.args]

        gc.collect()
        for hold in (keeps, lambda sample: [node.args for node in sample.graph.nodes],
                     lambda sample: [node.tensor_meta for node in sample.graph.nodes]):
            sample = made()
            weights = torch.ones(3, 3)
            sample.set_weight("w", weights)
            gone = [weakref.ref(sample), weakref.ref(sample.module), weakref.ref(sample.graph)]
            held = hold(sample)
            del sample, held
            gc.collect()
            self.assertEqual([reference() for reference in gone], [None] * 3)


if __name__ == "__main__":
    unittest.main()
