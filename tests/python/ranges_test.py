"""Ranges of calls that recur: equal to cutting out and hashing each range."""

import random
import unittest
from typing import Dict, List, Tuple

import graphnet_ir


def made(number: int) -> graphnet_ir.Sample:
    """A graph of few different calls."""
    draw = random.Random(number)
    lines, values = [], ["x", "y"]
    for index in range(draw.randrange(4, 14)):
        a, b = draw.choice(values[-3:]), draw.choice(values[-4:])
        call = draw.choice([
            f"torch.relu(%{a})", f"torch.relu(%{a})", f"torch.add(%{a}, %{b})",
            f"torch.relu_(%{a})", f".view(%{a}, 4, 4)", f"torch.sum(%{a}, dim = 0)",
            f"torch.matmul(%{a}, %{b})"])
        lines.append(f"  %v{index} = {call}\n")
        values.append(f"v{index}")
    return graphnet_ir.parse(f"graph @forward(%x : f32[4, 4], %y : f32[4, 4]) {{\n{''.join(lines)}"
                             f"  return (%{values[-1]},)\n}}\n")


def cut(sample: graphnet_ir.Sample, start: int, end: int) -> graphnet_ir.Sample:
    piece, = graphnet_ir.decompose(sample, {
        "mode": "ranges", "subgraph_ranges": [[start, end]], "group_head_and_tail": False,
        "use_all_inputs": False, "chain_style": False}).pieces
    return piece


class RecurringTest(unittest.TestCase):

    def test_ranges_are_those_of_equal_pieces(self) -> None:
        self.check("range")

    def test_fusible_ranges_are_those_of_equal_pieces_without_products(self) -> None:
        self.check("fusible")

    def check(self, by: str) -> None:
        samples = [made(number) for number in range(40)]
        places: Dict[str, List[Tuple[int, int, int]]] = {}
        wanted: Dict[str, bool] = {}
        for number, sample in enumerate(samples):
            targets = [node.target for node in sample.graph.nodes if node.op.startswith("call_")]
            for start in range(len(targets)):
                for end in range(start + 1, len(targets) + 1):
                    if by == "fusible" and "torch.matmul" in targets[start:end]:
                        break
                    hash = graphnet_ir.canonical_hash(cut(sample, start, end), metas=True)
                    places.setdefault(hash, []).append((number, start, end))
                    computing = [target for target in targets[start:end] if target != "view"]
                    wanted[hash] = by == "range" or len(computing) >= 2
        found = graphnet_ir.recurring(samples, by, calls=(1, 20), limit=10_000)
        self.assertGreater(len(found.ranges), 10)
        self.assertEqual((found.found, found.cut_short, found.refused),
                         (len(found.ranges), 0, []))
        listed = set()
        for one in found.ranges:
            sample = samples[one.graph]
            hash = graphnet_ir.canonical_hash(cut(sample, one.start, one.end), metas=True)
            listed.add(hash)
            there = places[hash]
            self.assertEqual(one.occurrences, len(there))
            self.assertEqual((one.graph, one.start, one.end), there[0])
            self.assertEqual(one.graphs, sorted({place[0] for place in there}))
            names = [node.name for node in sample.graph.nodes if node.op.startswith("call_")]
            self.assertEqual(one.nodes, names[one.start:one.end])
            self.assertEqual((one.calls, one.module, one.models), (len(one.nodes), "", []))
        counts = {place: len(there) for there in places.values() for place in there}
        for hash, there in places.items():
            number, start, end = there[0]
            larger = any(counts.get((number, *place)) == len(there)
                         for place in ((start - 1, end), (start, end + 1)))
            self.assertEqual(hash in listed, len(there) > 1 and not larger and wanted[hash], there)
        keys = [(-one.occurrences * one.calls, -one.calls) for one in found.ranges]
        self.assertEqual(keys, sorted(keys))

    def test_what_is_no_graph_is_left_out_and_named(self) -> None:
        sample = made(1)
        found = graphnet_ir.recurring([sample, b"no", sample.module, graphnet_ir.to_bytes(sample)])
        (place, reason), = found.refused
        self.assertEqual(place, 1)
        self.assertTrue(reason)
        self.assertEqual(found.ranges[0].graphs, [0, 2, 3])
        self.assertEqual(found.ranges[0].calls, len(found.ranges[0].nodes))

    def test_modules(self) -> None:
        sample = graphnet_ir.parse("""graph @forward(%x : f32[4], %u : f32[4], %v : f32[4],
                                                    %w : f32[4]) {
          %a = torch.mul(%x, %u) : f32[4]
          %b = torch.relu(%a) : f32[4]
          %c = torch.mul(%b, %v) : f32[4]
          %d = torch.relu(%c) : f32[4]
          %e = torch.mul(%d, %w) : f32[4]
          %f = torch.relu(%e) : f32[4]
          return (%f,)
        }""")
        for layer, node in enumerate(sample.graph.placeholders[1:]):
            node.target = f"layers.{layer}.weight"
        # The first layer takes the input of the graph, which comes before the weight.
        one, = graphnet_ir.recurring([sample], "module").ranges
        self.assertEqual((one.occurrences, one.start, one.end, one.module, one.nodes),
                         (2, 2, 4, "layers.1", ["c", "d"]))

    def test_refuses_what_makes_no_sense(self) -> None:
        with self.assertRaisesRegex(graphnet_ir.Error, "ranges recur by range, fusible, module, not 'size'"):
            graphnet_ir.recurring([], "size")
        with self.assertRaisesRegex(graphnet_ir.Error, "at least 1 call and at most 4096"):
            graphnet_ir.recurring([], calls=(5, 4))
        with self.assertRaisesRegex(graphnet_ir.Error, "[1-4] graphs take more than 3000 bytes; give more memory or fewer"):
            graphnet_ir.recurring([made(1), made(2), made(3), made(4)], memory=3000)
        with self.assertRaisesRegex(TypeError, "an item must be a Sample, a Module or bytes"):
            graphnet_ir.recurring(["path"])  # type: ignore[list-item]


if __name__ == "__main__":
    unittest.main()
