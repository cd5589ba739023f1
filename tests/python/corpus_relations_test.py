"""What the graphs of a corpus have in common: near duplicates, recurring ranges, samples and splits."""

import collections
import itertools
import json
import random
import subprocess
import unittest

import pyarrow as pa

import graphnet_ir
from graphnet_ir import _core
from graphnet_ir.corpus import (Corpus, near)
from graphnet_ir.corpus.covering import cover

from corpus_case import TOOL, CorpusTest, command, sample, text


class NearTest(CorpusTest):

    def test_near_pairs_and_similar_equal_brute_force(self) -> None:
        corpus = self.made(150)
        rows = {row["hash"]: set(row["features"]) for row in pa.array(_core._corpus_rows(
            [corpus[hit.hash] for hit in corpus.find()])).to_pylist()}
        hashes = sorted(rows)

        def jaccard(a: bytes, b: bytes) -> float:
            return len(rows[a] & rows[b]) / len(rows[a] | rows[b])

        for at in (1.0, 0.9, 0.5):
            true = {frozenset((a, b)) for i, a in enumerate(hashes) for b in hashes[:i]
                    if jaccard(a, b) >= at}
            pairs = near.near_pairs(corpus, at)
            self.assertEqual({frozenset((a, b)) for a, b, _ in pairs}, true)
            for a, b, similarity in pairs:
                self.assertAlmostEqual(similarity, jaccard(a, b))
            for one in hashes[:10]:
                self.assertEqual({hash for hash, _ in corpus.similar(corpus[one], at)},
                                 {b.hex() for b in hashes if jaccard(one, b) >= at})

    def test_duplicates(self) -> None:
        corpus = Corpus.create(self.path)
        small = graphnet_ir.parse(text(5))
        large = graphnet_ir.parse(text(5).replace("4, 4", "8, 8"))
        corpus.add([sample(3, "a"), sample(3, "b"), sample(4), small, large])
        exact, = corpus.duplicates()
        self.assertEqual((exact.hashes, exact.occurrences),
                         ([graphnet_ir.canonical_hash(sample(3), metas=True)], 2))
        shape, = corpus.duplicates("shape")
        self.assertEqual(shape.hashes, sorted(graphnet_ir.canonical_hash(one, metas=True)
                                              for one in (small, large)))


class RecurringTest(CorpusTest):

    def recurring(self) -> Corpus:
        corpus = Corpus.create(self.path)
        corpus.add([sample(number) for number in range(30)])
        corpus.add([sample(number, "again") for number in range(0, 30, 5)], model="other")
        return corpus

    def test_ranges_name_graphs_and_models(self) -> None:
        corpus = self.recurring()
        hashes = list(corpus)
        plain = graphnet_ir.recurring(corpus.samples(), calls=(1, 8))
        found = corpus.recurring(calls=(1, 8))
        self.assertTrue(found.ranges)
        self.assertEqual(found.found, plain.found)
        sources = corpus.occurrences(map(bytes.fromhex, hashes))
        for one, other in zip(found.ranges, plain.ranges):
            self.assertEqual(one.graphs, [hashes[place] for place in other.graphs])
            self.assertEqual((one.graph, one.start, one.end, one.nodes, one.occurrences),
                             (hashes[other.graph], other.start, other.end, other.nodes,
                              other.occurrences))
            self.assertEqual(one.models, sorted({
                source["model"] for hash in one.graphs for source in sources[bytes.fromhex(hash)]}))

    def test_the_command_lists_what_subgraph_cuts_out(self) -> None:
        corpus = self.recurring()
        code, out, errors = command("duplicates", self.path, "--by", "range", "--calls", "1..6",
                                    "--limit", 5, "--json")
        self.assertEqual((code, errors), (0, ""))
        told = json.loads(out)
        self.assertEqual(len(told["ranges"]), 5)
        self.assertGreater(told["found"], 5)
        file, out = self.folder / "whole.pb", self.folder / "piece.pb"

        def cut(path: object, start: int, end: int) -> str:
            subprocess.run([TOOL, "subgraph", path, "--ports", "none", "--range", f"{start}:{end}",
                            "-o", out], check=True, capture_output=True)
            return graphnet_ir.canonical_hash(graphnet_ir.load(out), metas=True)

        for one in told["ranges"]:
            first = cut(f"{self.path}/{one['graph']}", one["start"], one["end"])
            # The last graph that has the range has it somewhere.
            last = corpus[one["graphs"][-1]]
            last.save(file)
            operators = sum(node.op.startswith("call_") for node in last.graph.nodes)
            calls = one["end"] - one["start"]
            self.assertIn(first, [cut(file, start, start + calls)
                                  for start in range(operators - calls + 1)])
        code, out, errors = command("duplicates", self.path, "--by", "range", "--calls", "1..6",
                                    "--limit", 5)
        self.assertEqual((code, errors), (0, ""))
        lines = out.splitlines()
        first = told["ranges"][0]
        self.assertRegex(lines[0], f"^ *{first['occurrences']} times .* {first['graph']} "
                                   f"{first['start']}:{first['end']}  {first['nodes'][0]}")
        self.assertEqual(lines[-1], f"5 of {told['found']} ranges that occur more than once in "
                                    f"{len(corpus)} graphs")

    def test_modules(self) -> None:
        corpus = Corpus.create(self.path)
        layers = graphnet_ir.parse("""graph @forward(%v : f32[4], %w : f32[4], %x : f32[4]) {
          %a = torch.mul(%x, %v) : f32[4]
          %b = torch.relu(%a) : f32[4]
          %c = torch.mul(%b, %w) : f32[4]
          %d = torch.relu(%c) : f32[4]
          return (%d,)
        }""")
        for layer, node in enumerate(layers.graph.placeholders[:2]):
            node.target = f"h.{layer}.weight"
        corpus.add([layers], model="m")
        code, out, _ = command("duplicates", self.path, "--by", "module")
        self.assertEqual(code, 0)
        self.assertRegex(out, "^ +2 times +2 calls +1 graphs +1 models  [0-9a-f]{64} 0:2  "
                              "h.0: a b\n1 of 1 ranges")

    def test_ranges_that_are_too_large_are_said(self) -> None:
        corpus = Corpus.create(self.path)
        inputs = [f"%x{i}" for i in range(9000)]
        calls = "".join(f"  %c{i} = torch.cat([{', '.join(inputs)}])\n" for i in range(2))
        corpus.add([graphnet_ir.parse(f"graph @forward({', '.join(inputs)}) {{\n{calls}"
                                      "  return (%c0, %c1)\n}\n"), sample(1)])
        code, out, errors = command("duplicates", self.path, "--by", "range")
        self.assertEqual((code, out),
                         (0, "0 of 0 ranges that occur more than once in 2 graphs\n"))
        self.assertEqual(errors, "note: places from which longer ranges have too many values to be "
                                 "compared: 1\n")


class SamplingTest(CorpusTest):

    def test_a_sample_depends_on_graphs_and_seed_alone(self) -> None:
        corpus = self.made(40)
        other = Corpus.create(self.folder / "other")
        other.add([sample(number) for number in reversed(range(40))])
        self.assertEqual(corpus.sample(10, seed=3), other.sample(10, seed=3))
        self.assertNotEqual(corpus.sample(10, seed=3), corpus.sample(10, seed=4))
        self.assertEqual(sorted(corpus.sample(999)), sorted(hit.hash for hit in corpus.find()))
        drawn = corpus.sample(9, by="source")
        counts = [len(set(drawn) & {hit.hash for hit in corpus.find(source=f"source{n}")})
                  for n in range(3)]
        self.assertEqual(counts, [3, 3, 3])

    def test_no_split_divides_what_is_alike(self) -> None:
        corpus = Corpus.create(self.path)
        corpus.add([sample(number) for number in range(60)])
        corpus.add([graphnet_ir.parse(text(n).replace("4, 4", "8, 8")) for n in range(0, 60, 7)])
        corpus.add([sample(n) for n in (70, 71, 72)], model="one model", source="s")
        whole = sample(99)
        pieces = list(graphnet_ir.decompose(whole, pieces=3))
        corpus.add([whole, *pieces])
        made = corpus.split({"train": 0.7, "test": 0.3}, at=0.8)
        place = {hash: part for part, hashes in made.parts.items() for hash in hashes}
        self.assertEqual(sorted(place), sorted(hit.hash for hit in corpus.find()))
        self.assertTrue(all(made.parts.values()))
        for groups in (corpus.duplicates("shape"), corpus.duplicates("near", 0.8)):
            self.assertTrue(groups)
            for group in groups:
                self.assertEqual(len({place[hash] for hash in group.hashes}), 1)
        self.assertEqual(len({place[hit.hash] for hit in corpus.find(model="one model")}), 1)
        self.assertEqual(len({place[graphnet_ir.canonical_hash(one, metas=True)]
                              for one in (whole, *pieces)}), 1)

    def test_coverage_and_the_smallest_subset(self) -> None:
        corpus = self.made(50)
        rows = corpus.graphs.dataset.to_table().to_pylist()
        table = corpus.coverage(["targets", "ranks"])
        for column in ("targets", "ranks"):
            self.assertEqual({row["value"]: row["graphs"] for row in table
                              if row["column"] == column},
                             collections.Counter(value for row in rows for value in row[column]))
        made = corpus.smallest(["targets", "edges"])
        chosen = [row for row in rows if row["hash"].hex() in made.chosen]
        for column in ("targets", "edges"):
            self.assertEqual({value for row in chosen for value in row[column]},
                             {value for row in rows for value in row[column]})
        self.assertLessEqual(made.at_least, len(made.chosen))

    def test_a_cover_is_within_its_bound(self) -> None:
        draw = random.Random(1)
        for _ in range(100):
            sets = {name: {draw.randrange(12) for _ in range(draw.randrange(6))}
                    for name in "abcdefgh"}
            all = set().union(*sets.values())
            best = next(size for size in range(9) if any(
                set().union(*(sets[name] for name in some)) == all
                for some in itertools.combinations(sets, size)))
            made = cover(sets)
            self.assertEqual(set().union(*(sets[name] for name in made.chosen)), all)
            self.assertLessEqual(made.at_least, best)
            self.assertLessEqual(best, len(made.chosen))


if __name__ == "__main__":
    unittest.main()
