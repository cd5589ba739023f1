"""Graphs of a corpus for models: a data set of torch, and arrays whose numbers are PyTorch's."""

import pickle
import unittest

import torch
from torch.utils.data import DataLoader
from torch.utils.flop_counter import FlopCounterMode

import corpus_jobs
import graphnet_ir
from corpus_case import CorpusTest, sample
from graphnet_ir import Corpus

NET = """\
graph @forward(%x : f32[2, 3, 8, 8], %k : f32[4, 3, 3, 3], %w : f32[4, 5]) {
  %c = torch.conv2d(%x, %k, None, 1, 1)
  %r = torch.relu(%c)
  %p = torch.mean(%r, [2, 3])
  %m = SUM(%p, %w)
  %s = torch.split(%m, 3, 1)
  %a = operator.getitem(%s, 0)
  %v = torch.vmap(@body, (%a, %a), in_dims = (0, 0), out_dims = 0)
  return (%v, %s)
}
graph @body(%a : f32[3], %b : f32[3]) {
  %d = torch.dot(%a, %b)
  return %d
}
"""


def sizes(made: graphnet_ir.Sample) -> int:
    return len(made.graph)


class CostsTest(CorpusTest):

    def made_of(self, *texts: str) -> Corpus:
        corpus = Corpus.create(self.path)
        corpus.add([graphnet_ir.parse(text) for text in texts])
        return corpus

    def test_numbers_are_those_of_pytorch(self) -> None:
        corpus = self.made_of(NET.replace("SUM", "torch.matmul"))
        types = corpus.node_types()
        graph, = corpus.cost_arrays(types)
        x, kernel, w = torch.ones(2, 3, 8, 8), torch.ones(4, 3, 3, 3), torch.ones(4, 5)
        with FlopCounterMode(display=False) as counter:
            c = torch.conv2d(x, kernel, None, 1, 1)
            p = torch.mean(torch.relu(c), [2, 3])
            m = p @ w
        place = {name: index for index, name in enumerate(graph.names)}
        self.assertEqual(graph.flops[place["c"]] + graph.flops[place["m"]],
                         counter.get_total_flops())
        for name, value in [("x", x), ("k", kernel), ("w", w), ("c", c), ("p", p), ("m", m)]:
            self.assertEqual((graph.elements[place[name]], graph.value_bytes[place[name]]),
                             (value.numel(), value.nbytes), name)
        edges = {(graph.names[a], graph.names[b]) for a, b in graph.edge_index.T}
        self.assertTrue({("x", "c"), ("k", "c"), ("c", "r"), ("p", "m"), ("w", "m"), ("m", "a"),
                         ("a", "v"), ("body:output", "v"), ("body:d", "body:output")} <= edges,
                        edges)
        self.assertEqual(len(edges), graph.edge_index.shape[1])
        self.assertEqual(types[graph.node_type[place["m"]]], "aten.matmul.default")
        self.assertEqual({array.dtype.name for array in graph.arrays().values()}, {"int64"})
        self.assertEqual({array.shape[-1] for name, array in graph.arrays().items()
                          if name != "edge_index"}, {len(graph.names)})

    def test_spellings_have_one_type_and_strangers_none(self) -> None:
        corpus = self.made_of(NET.replace("SUM", "torch.matmul"))
        types = corpus.node_types()
        corpus.add([graphnet_ir.parse(NET.replace("SUM", call)) for call in
                    ("operator.matmul", "mylib.product")])
        known, alike, other = corpus.cost_arrays(types)
        self.assertEqual(known.node_type.tolist(), alike.node_type.tolist())
        place = other.names.index("m")
        self.assertEqual((other.node_type[place], other.flops[place], other.elements[place]),
                         (0, -1, -1))
        self.assertEqual(types[other.node_type[other.names.index("x")]], "placeholder")

    def test_sizes_that_are_not_numbers_are_unknown(self) -> None:
        corpus = self.made_of(
            "symbol s0 = 4\ngraph @forward(%x : f32[s0, 4]) {\n  %y = torch.relu(%x)\n"
            "  return (%y,)\n}\n",
            "graph @forward(%x : f32[3000000000]) {\n  %y = torch.relu(%x)\n"
            "  return (%y,)\n}\n",
            "graph @forward(%x) {\n  %y = torch.relu(%x)\n  return (%y,)\n}\n")
        found = [(int(graph.elements[0]), int(graph.value_bytes[0]))
                 for graph in corpus.cost_arrays(["unknown"])]
        self.assertEqual(sorted(found), [(-1, -1), (-1, -1), (3 * 10 ** 9, 12 * 10 ** 9)])

    def test_types_are_counted_in_graphs(self) -> None:
        corpus = self.made(30)
        types, rare = corpus.node_types(least=10), corpus.node_types()
        self.assertEqual((types, types[0]), (rare[:len(types)], "unknown"))
        self.assertLess(len(types), len(rare))
        self.assertEqual([one.hash for one in corpus.cost_arrays(types)], list(corpus))
        one = list(corpus)[7]
        self.assertEqual([made.hash for made in corpus.cost_arrays(types, [one])], [one])
        for bad in ([], ["relu"], ["unknown", "relu", "relu"]):
            with self.refuses(r"the types of nodes begin with 'unknown', and each is there once"):
                list(corpus.cost_arrays(bad))


class DatasetTest(CorpusTest):

    def test_it_has_each_graph_once_in_the_order_of_the_seed(self) -> None:
        corpus = self.made(30)
        hashes = list(corpus)
        data = graphnet_ir.torch_dataset(corpus)
        self.assertEqual((len(data), data.hashes), (len(hashes), hashes))
        self.assertEqual([graphnet_ir.canonical_hash(one, metas=True) for one in data], hashes)
        drawn = graphnet_ir.torch_dataset(self.path, seed=3)
        self.assertEqual(drawn.hashes, corpus.sample(len(corpus), seed=3))
        self.assertNotEqual(drawn.hashes, hashes)
        self.assertEqual(graphnet_ir.torch_dataset(corpus, seed=3, graphs=hashes[::-1]).hashes,
                         drawn.hashes)
        self.assertEqual(graphnet_ir.torch_dataset(corpus, graphs=hashes[4:2:-1]).hashes,
                         hashes[4:2:-1])
        self.assertEqual(graphnet_ir.canonical_hash(data[-1], metas=True), hashes[-1])
        with self.assertRaises(IndexError):
            data[len(data)]

    def test_a_tag_stays_what_it_was(self) -> None:
        corpus = self.made(5)
        corpus.tag("v1")
        corpus.add([sample(100, "later")])
        old = pickle.loads(pickle.dumps(graphnet_ir.torch_dataset(
            Corpus(self.path, version="v1"), transform=sizes)))
        self.assertEqual(len(old), len(corpus) - 1)
        self.assertEqual([old[index] for index in range(len(old))],
                         [len(corpus[hash].graph) for hash in old.hashes])

    def test_workers_read_it(self) -> None:
        corpus = self.made(10)
        data = graphnet_ir.torch_dataset(corpus, seed=1, transform=corpus_jobs.calls)
        here = [data[index] for index in range(len(data))]
        loader = DataLoader(data, batch_size=3, num_workers=2, multiprocessing_context="spawn",
                            collate_fn=list)
        self.assertEqual([one for batch in loader for one in batch], here)


if __name__ == "__main__":
    unittest.main()
