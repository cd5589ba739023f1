"""`graphnet decompose --into` adds the pieces of samples to a corpus."""

import collections
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from typing import Any, Dict, List, Tuple

import torch

import graphnet_ir
from graphnet_ir.corpus import Corpus
from graphnet_ir.corpus.receiving import Receiver

ROOT = pathlib.Path(__file__).parents[2]
TOOL = os.environ.get("GRAPHNET_TOOL", str(pathlib.Path(sys.prefix, "bin", "graphnet")))


def calls(sample: graphnet_ir.Sample) -> List[str]:
    """What the operators call, in their order."""
    return [str(node.target) for node in sample.graph.nodes
            if node.op not in ("placeholder", "get_attr", "output")]


def weights(sample: graphnet_ir.Sample) -> Dict[str, Tuple[str, Any, bytes]]:
    return {name: (str(value.dtype), value.shape, bytes(torch.from_dlpack(value.bytes).tolist()))
            for name, value in sample.weights.items()}


def rows(corpus: Corpus) -> List[Dict[str, Any]]:
    found = corpus.sources.dataset.to_table().to_pylist()
    return sorted(found, key=lambda row: (row["path"], row["id"]))


class PiecesTest(unittest.TestCase):
    """Two samples with weights, a folder of GraphNet, one that is damaged, and a harvest."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        models = cls.folder / "models"
        (models / "deep").mkdir(parents=True)
        for name in ("vit.pb", "vit.safetensors"):
            shutil.copy(ROOT / "samples" / name, models)
        shutil.copy(ROOT / "samples" / "gpt.pt", models / "deep" / "gpt.pt")
        small = graphnet_ir.parse("graph @forward(%x : f32[4, 4]) {\n  %a = torch.relu(%x)\n"
                                  "  %b = torch.tanh(%a)\n  return (%b,)\n}\n")
        small.name = "small"
        small.save(models / "small", format="graphnet")
        (models / "bad.pb").write_bytes((models / "vit.pb").read_bytes()[:-100])
        harvest = cls.folder / "harvest" / "samples"
        (harvest / "one").mkdir(parents=True)
        small.save(harvest / "one" / "graph.pb")
        (harvest / "one" / "provenance.json").write_text(json.dumps(
            {"format": "graphnet harvest", "library": "hub", "model": "a/b", "revision": "main",
             "licence": "mit"}))

    def setUp(self) -> None:
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name)
        self.path = self.place / "c"

    def run_tool(self, *arguments: object, code: int = 0, **environment: str
                 ) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True,
                              cwd=self.folder, env={**os.environ, **environment}, check=False,
                              timeout=100)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_all_pieces_of_a_folder_are_there(self) -> None:
        done = self.run_tool("decompose", "models", "--every", 20, "--into", self.path, code=2)
        self.assertRegex(done.stderr, r"FAIL models/bad\.pb")
        self.assertRegex(done.stdout, r"samples +decomposed +failed +pieces\n *4 +3 +1 +\d+\n")
        corpus = Corpus(self.path)
        self.assertEqual(list(corpus.verify()), [])
        there = rows(corpus)
        self.assertIn(f"{len(corpus)} added, {len(there) - len(corpus)} known, 0 refused; "
                      f"{len(there)} new occurrences; {len(corpus)} graphs in ", done.stdout)
        # The same pieces as in files.
        out = self.place / "out"
        self.run_tool("decompose", "models", "--every", 20, "--to", "protobuf", "-o", out, code=2)
        for path in out.rglob("decompose_config.pb"):
            path.unlink()
        files = Corpus.create(self.place / "files")
        files.add(out)
        columns = ("hash", "name", "digest", "weights", "json", "parents", "source", "model")
        self.assertEqual([(row["path"], *map(row.get, columns)) for row in there],
                         [(row["path"].replace("_decomposed", "")[:-len(".pb")],
                           *map(row.get, columns)) for row in rows(files)])
        originals = {row["path"]: sample for hash in corpus
                     for row, sample in corpus._originals([bytes.fromhex(hash)])}
        with_weights = 0
        for path in out.rglob("*.pb"):
            below = str(path.relative_to(out).with_suffix("")).replace("_decomposed", "")
            there_too = weights(graphnet_ir.load(path))
            self.assertEqual(weights(originals[below]), there_too)
            with_weights += bool(there_too)
        self.assertGreater(with_weights, 3)
        # Each piece names its parent, and has the calls of its range there.
        parents = {"vit": "models/vit.pb", "deep/gpt": "models/deep/gpt.pt",
                   "small": "models/small"}
        covered: Dict[str, int] = collections.Counter()
        for row in there:
            name = os.path.dirname(row["path"])
            parent = graphnet_ir.load(self.folder / parents[name])
            of, = row["parents"]
            self.assertEqual((of["name"], of["hash"]), (parent.name, graphnet_ir.canonical_hash(parent)))
            self.assertEqual(calls(originals[row["path"]]), calls(parent)[of["start"]:of["end"]])
            covered[name] += of["end"] - of["start"]
        self.assertEqual(covered, {name: len(calls(graphnet_ir.load(self.folder / path)))
                                   for name, path in parents.items()})
        # The same again adds nothing.
        done = self.run_tool("decompose", "models", "--every", 20, "--into", self.path, code=2)
        self.assertIn(f"0 added, {len(there)} known, 0 refused; 0 new occurrences; ", done.stdout)
        self.assertEqual(rows(Corpus(self.path)), there)

    def test_several_inputs_of_several_kinds(self) -> None:
        self.run_tool("decompose", "models/small", "harvest", "models/bad.pb", "models/nothing.pb",
                      "--single-op", "--into", self.path, code=2)
        there = rows(Corpus(self.path))
        self.assertEqual([(row["path"], row["licence"]) for row in there], [
            ("samples/one/graph/subgraph_0", "mit"), ("samples/one/graph/subgraph_1", "mit"),
            ("small/subgraph_0", None), ("small/subgraph_1", None)])
        self.assertEqual((there[0]["source"], there[0]["model"], there[0]["revision"]),
                         ("hub", "a/b", "main"))
        # A corpus gives its pieces what it knows of the graphs. It may even be its own target.
        corpus = Corpus.create(self.place / "first")
        corpus.add(self.folder / "harvest")
        corpus.add(self.folder / "models" / "vit.pb", licence="bsd")
        corpus.save_view("large", [hit.hash for hit in corpus.find(licence="bsd")])
        first = self.place / "first"
        for given in ([first], [f"{first}#view=large", first / next(iter(corpus))]):
            done = self.run_tool("decompose", *given, "--pieces", 2, "--into", first, "--json")
            told = json.loads(done.stdout)
            self.assertEqual((told["failed"], told["into"]["refused"]), (0, []))
            self.assertEqual(told["into"]["added"] > 0, given == [first], told)
        licences = {(row["name"].split("_")[0], row["licence"])
                    for row in rows(Corpus(first)) if "subgraph" in row["path"]}
        self.assertEqual(licences, {("small", "mit"), ("vit", "bsd")})
        self.assertEqual(list(Corpus(first).verify()), [])

    def test_one_sample(self) -> None:
        done = self.run_tool("decompose", "models/vit.pb", "--blocks", "--into", self.path)
        self.assertIn("6 pieces, 129 of 129 operators", done.stdout)
        self.assertRegex(done.stdout, r"\n\d added, \d known, 0 refused; 6 new occurrences; "
                                      r"\d graphs in .*/c\n$")
        self.run_tool("decompose", "models/vit.pb", "--blocks", "--into", self.place / "no",
                      "--dry-run")
        self.assertFalse((self.place / "no").exists())
        with open(self.folder / "models" / "vit.pb", "rb") as file:
            done = subprocess.run([TOOL, "decompose", "-", "--blocks", "--into", str(self.path)],
                                  stdin=file, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("stdin/subgraph_0", [row["path"] for row in rows(Corpus(self.path))])

    def test_several_inputs_go_to_folders(self) -> None:
        self.run_tool("decompose", "models/small", "models/deep", "models/bad.pb", "--pieces", 2,
                      "-o", self.place / "out", code=2)
        self.assertEqual(sorted(os.listdir(self.place / "out")),
                         ["gpt_decomposed", "small_decomposed"])
        told = self.run_tool("decompose", "models/small", "models/deep", "--pieces", 2, code=2)
        self.assertEqual(told.stderr, "graphnet: several samples need --out or --into for their "
                                      "pieces\n")

    def test_what_cannot_be_written_is_said(self) -> None:
        (self.place / "file").write_text("")
        told = self.run_tool("decompose", "models/small", "--pieces", 2, "--into",
                             self.place / "file", code=2).stderr
        self.assertRegex(told, "^graphnet: .*/file is there already\n$")
        told = self.run_tool("decompose", "models/small", "--pieces", 2, "--into", self.path,
                             code=2, GRAPHNET_PYTHON="/bin/false").stderr
        self.assertRegex(told, "^graphnet: .*/c: a corpus needs Python, and /bin/false has no "
                               "package graphnet_ir of this version: .*\n$")
        self.assertFalse(self.path.exists())

    def fake(self, code: str) -> str:
        """A Python that answers otherwise."""
        python = self.place / "fake"
        python.write_text(f"#!{sys.executable}\nimport os, time\n"
                          "def say(letter, data):\n"
                          "    os.write(0, letter + len(data).to_bytes(8, 'little') + data)\n"
                          f"say(b'o', b'')\n{code}")
        python.chmod(0o755)
        return str(python)

    def test_a_process_that_ends_is_said_once(self) -> None:
        for code, words in (("", "the process that works on the corpus has ended"),
                            ("say(b'd', b'the disk is full')\n", "the disk is full")):
            for given in (["models/vit.pb"], ["models", "models/small"]):
                told = self.run_tool("decompose", *given, "--every", 1, "--into", self.path, code=2,
                                     GRAPHNET_PYTHON=self.fake(code))
                # A sample that cannot be read is told beside it, or not, as it comes before or after.
                self.assertRegex(told.stderr, "^(FAIL models/bad.pb: [^\n]*\n)?"
                                 f"graphnet: .*/c: {words}[^\n]*\n$")

    def test_a_piece_that_is_refused_is_said(self) -> None:
        python = self.fake("while os.read(0, 1 << 20):\n    pass\n"
                           "say(b'o', b'{\"added\": 1}\\n1 added, 0 known, 1 refused\\n"
                           "refused small/subgraph_1: too deep')\n")
        done = self.run_tool("decompose", "models/small", "--pieces", 2, "--into", self.path,
                             code=2, GRAPHNET_PYTHON=python)
        self.assertTrue(done.stdout.endswith("1 added, 0 known, 1 refused\n"), done.stdout)
        self.assertEqual(done.stderr, "note: refused small/subgraph_1: too deep\n")

    def test_a_piece_whose_origin_is_gone_is_refused_alone(self) -> None:
        given = Corpus.create(self.place / "given")
        given.add([self.folder / "harvest", self.folder / "models" / "vit.pb"])
        data = graphnet_ir.to_bytes(graphnet_ir.load(self.folder / "models" / "vit.pb"))
        root = str(self.place / "given")
        told = Receiver(str(self.path)).add(iter([
            (root, f"{root}/{'0' * 16}", "a/subgraph_0", data),
            (root, f"{root}/{next(iter(given))}", "b/subgraph_0", data)])).splitlines()
        self.assertRegex(told[1], "^1 added, 0 known, 1 refused; 1 new occurrences; 1 graphs in ")
        self.assertEqual(told[2], "refused a/subgraph_0: there is no such graph")
        self.assertEqual([row["path"] for row in rows(Corpus(self.path))], ["b/subgraph_0"])

    def test_a_corpus_of_version_1_keeps_no_weights(self) -> None:
        shutil.copytree(pathlib.Path(__file__).parent / "corpus_v1", self.path)
        done = self.run_tool("decompose", "models/vit.pb", "--pieces", 1, "--into", self.path)
        self.assertEqual(done.stderr, "note: the values of weights of 1 samples are left out, which "
                                      "a corpus of version 1 does not keep\n")

    def test_it_goes_on_after_a_kill(self) -> None:
        arguments = [TOOL, "decompose", "models/vit.pb", "models/bad.pb", "harvest",
                     "--single-op", "--into"]
        subprocess.run([*arguments, str(self.place / "whole")], cwd=self.folder,
                       capture_output=True, check=False)
        for wait in (0.3, 0.9):
            work = subprocess.Popen([*arguments, str(self.path)], cwd=self.folder,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                work.wait(wait)
            work.send_signal(signal.SIGKILL)
            work.wait()
        time.sleep(0.1)
        self.run_tool(*arguments[1:], self.path, code=2)
        self.assertEqual([row["id"] for row in rows(Corpus(self.path))],
                         [row["id"] for row in rows(Corpus(self.place / "whole"))])
        self.assertEqual(list(Corpus(self.path).verify()), [])


if __name__ == "__main__":
    unittest.main()
