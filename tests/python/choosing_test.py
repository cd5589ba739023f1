"""Choosing few graphs of many from Python: samples in memory and graphs of a corpus, as the tool chooses."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import graphnet_ir

OPERATORS = ["relu", "tanh", "exp", "sigmoid", "abs"]


def text(operators, shape):
    meta = f"f32[{', '.join(map(str, shape))}]"
    lines = ["graphnet.module 1", "", f"graph @forward(%x : {meta}) {{"]
    value = "x"
    for place, operator in enumerate(operators):
        lines.append(f"  %v{place} = torch.{operator}(%{value}) : {meta}")
        value = f"v{place}"
    return "\n".join([*lines, f"  return (%{value},)", "}", "end", ""])


def texts():
    return {
        f"s{number:02}": text([OPERATORS[(number * k + k) % len(OPERATORS)] for k in range(1 + number % 4)],
                              [2] * (1 + number % 3))
        for number in range(20)
    }


class ChoosingTest(unittest.TestCase):
    def test_it_is_the_choice_of_the_tool(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, program in texts().items():
                pathlib.Path(folder, f"{name}.gn").write_text(program)
            program = next(iter(pathlib.Path(graphnet_ir.__file__).parent.glob("bin/graphnet")))
            names = list(texts())
            samples = [graphnet_ir.load(os.path.join(folder, f"{name}.gn")) for name in names]
            for by in ("coverage", "rarity", "buckets"):
                with self.subTest(by):
                    done = subprocess.run([program, "choose", folder, "--count", "6", "--by", by, "--seed", "3",
                                           "--json"], capture_output=True, text=True, check=True)
                    told = json.loads(done.stdout)
                    wanted = [pathlib.Path(path).stem for path in told["chosen"]]
                    choice = graphnet_ir.choose(samples, 6, by, seed=3, ids=names)
                    self.assertEqual(choice.chosen, wanted)
                    self.assertEqual((choice.items, choice.covered), (told["items"], told["covered"]))
                    self.assertEqual(choice.at_most, told.get("at_most"))
                    back = graphnet_ir.choose(reversed(samples), 6, by, seed=3, ids=names[::-1])
                    self.assertEqual(back.chosen, wanted)

    def test_start_numbers_and_refusals(self):
        blobs = [graphnet_ir.to_bytes(graphnet_ir.parse(program)) for program in texts().values()]
        first = graphnet_ir.choose(blobs, 3)
        self.assertEqual(len(set(first.chosen)), 3)
        more = graphnet_ir.choose(blobs, 2, start=[str(place) for place in first.chosen])
        self.assertFalse(set(more.chosen) & set(first.chosen))
        self.assertEqual(first.chosen + more.chosen, graphnet_ir.choose(blobs, 5).chosen)
        made = graphnet_ir.choose([b"no", *blobs], 30)
        self.assertEqual([place for place, _ in made.refused], [0])
        self.assertEqual(len(made.chosen), 20)
        self.assertEqual(graphnet_ir.choose([], 3).chosen, [])
        with self.assertRaisesRegex(graphnet_ir.Error, "a choice is by coverage, rarity, buckets, not 'chance'"):
            graphnet_ir.choose(blobs, 3, "chance")
        with self.assertRaisesRegex(graphnet_ir.Error, "count and weight are 0 or more"):
            graphnet_ir.choose(blobs, -1)
        with self.assertRaisesRegex(graphnet_ir.Error, "more samples than ids"):
            graphnet_ir.choose(blobs, 3, ids=["a"])

    def test_graphs_of_a_corpus(self):
        with tempfile.TemporaryDirectory() as folder:
            corpus = graphnet_ir.Corpus.create(os.path.join(folder, "c"))
            corpus.add([graphnet_ir.parse(program) for program in texts().values()])
            hashes = list(corpus)
            choice = corpus.choose(4, seed=1)
            self.assertEqual(len(choice.chosen), 4)
            self.assertLess(set(choice.chosen), set(hashes))
            samples = [corpus[hash] for hash in hashes]
            self.assertEqual(choice.chosen, graphnet_ir.choose(samples, 4, seed=1, ids=hashes).chosen)
            self.assertFalse(set(corpus.choose(4, start=choice.chosen).chosen) & set(choice.chosen))


if __name__ == "__main__":
    unittest.main()
