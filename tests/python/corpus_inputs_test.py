"""The commands of the tool take a corpus, a tag or a view of it, or one graph, as they take folders."""

import itertools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import Dict, List

import graphnet_ir
from graphnet_ir.corpus import Corpus, layout

ROOT = pathlib.Path(__file__).parents[2]
TOOL = os.environ.get("GRAPHNET_TOOL", str(pathlib.Path(sys.prefix, "bin", "graphnet")))


class InputsTest(unittest.TestCase):
    """A corpus of four graphs, of which the first two have a tag, and one a view."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.path = cls.folder / "my corpus"
        files = cls.folder / "files"
        files.mkdir()
        for name, call in (("a", "torch.relu(%x)"), ("b b", "torch.tanh(%x)"),
                           ("c#1", "torch.matmul(%x, %x)"), ("d", "operator.add(%x, 1)")):
            graphnet_ir.parse(
                f"graph @forward(%x : f32[4, 4]) {{\n  %y = {call}\n  return (%y,)\n}}\n").save(
                    files / f"{name}.pb")
        corpus = Corpus.create(cls.path)
        corpus.add([files / "a.pb", files / "b b.pb"])
        corpus.tag("two")
        corpus.add(files)
        corpus.save_view("sums", [hit.hash for hit in corpus.find("add|matmul")])

    def run_tool(self, *arguments: object, code: int = 0, **environment: str
                 ) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True,
                              cwd=self.folder, env={**os.environ, **environment}, check=False,
                              timeout=100)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def hashes(self, *inputs: object) -> Dict[str, str]:
        """What `graphnet hash --metas` says of each input."""
        told = self.run_tool("hash", "--metas", *inputs).stdout
        return {line.split(maxsplit=1)[1].strip(): line.split()[0] for line in told.splitlines()}

    def test_each_graph_is_an_input(self) -> None:
        told = self.hashes("my corpus")
        self.assertEqual(sorted(told.values()), sorted(Corpus(self.path)))
        for name, hash in told.items():
            self.assertRegex(name, r"^my corpus/[\w.+-]+-" + hash[:16] + "$")
        # The same graphs, read from their files.
        self.assertEqual(set(told.values()), set(self.hashes("files").values()))

    def test_tags_views_and_single_graphs(self) -> None:
        corpus = Corpus(self.path)
        whole = self.hashes("my corpus")
        self.assertEqual(set(self.hashes("my corpus#two").values()),
                         set(Corpus(self.path, version="two")))
        self.assertEqual(set(self.hashes("my corpus#view=sums").values()), set(corpus.view("sums")))
        self.assertEqual(self.run_tool("hash", "my corpus#two#view=sums", code=2).stderr,
                         "graphnet: my corpus#two#view=sums: no samples in this folder\n")
        one, hash = next(iter(whole.items()))
        for spelled in (one, f"my corpus/{hash}", f"my corpus/{hash[:16]}",
                        str(self.path / one.split("/")[1])):
            self.assertEqual(set(self.hashes(spelled).values()), {hash})
        self.assertEqual(graphnet_ir.canonical_hash(graphnet_ir.load(self.path / hash), metas=True), hash)

    def test_commands_give_what_they_give_for_the_files(self) -> None:
        for command in (["stats", "--json"], ["check"], ["find", "relu"], ["lint", "--json"]):
            of_corpus = self.run_tool(*command, "my corpus").stdout
            of_files = self.run_tool(*command, "files").stdout
            self.assertEqual(len(of_corpus.splitlines()), len(of_files.splitlines()), command)
        found = self.run_tool("find", "relu", "my corpus")
        self.assertRegex(found.stdout, r"my corpus/a-[0-9a-f]{16}: ")
        self.assertIn("1 calls in 1 of 4 samples", found.stderr)

    def test_outputs_are_named_after_the_graphs(self) -> None:
        names = sorted(name.split("/")[1] for name in self.hashes("my corpus"))
        self.run_tool("opt", "my corpus", "--passes=dce", "-o", "made")
        self.assertEqual(sorted(os.listdir(self.folder / "made")), names)
        self.assertEqual(set(self.hashes("made").values()), set(Corpus(self.path)))
        self.run_tool("decompose", "my corpus#two", "--pieces", "1", "-o", "pieces")
        self.assertEqual(len(os.listdir(self.folder / "pieces")), 2)
        self.run_tool("convert", "my corpus", "pb", "--to", "protobuf")
        self.assertEqual(sorted(os.listdir(self.folder / "pb")), [f"{name}.pb" for name in names])

    def test_python_reads_them(self) -> None:
        paths: List[str] = graphnet_ir.find_samples([self.path])
        self.assertEqual(len(paths), 4)
        loaded = {graphnet_ir.canonical_hash(sample, metas=True)
                  for sample in graphnet_ir.load_samples([f"{self.path}#view=sums"])}
        self.assertEqual(loaded, set(Corpus(self.path).view("sums")))

    def test_what_is_not_there_is_said(self) -> None:
        for what, words in (
                ("my corpus#three", "my corpus#three: there is no tag three"),
                ("my corpus#view=x", "my corpus#view=x: .*has no view x"),
                ("my corpus/nothing", "my corpus/nothing: there is no such graph"),
                ("my corpus/" + "0" * 16, "there is no such graph"),
                ("my corpus/x\ny", "there is no such graph, tag or view")):
            told = self.run_tool("stats", what, code=2).stderr
            self.assertRegex(told, f"^(graphnet:|FAIL) .*{words}\n$")
        told = self.run_tool("show", "my corpus", code=2).stderr
        self.assertIn("my corpus: a folder of samples, not a sample", told)
        told = self.run_tool("convert", "files/a.pb", "x", "--to", "corpus", code=2).stderr
        self.assertIn("--to: corpus is none of ", told)

    def test_without_python_a_line_says_what_to_install(self) -> None:
        for python, words in (("/nowhere/python3", "cannot be run"),
                              ("/bin/false", "has no package graphnet_ir of this version")):
            told = self.run_tool("stats", "my corpus", code=2, GRAPHNET_PYTHON=python).stderr
            self.assertRegex(told, f"^graphnet: my corpus: a corpus needs Python, and {python} "
                                   f"{words}.*graphnet_ir\\[corpus\\].*\n$")

    def test_both_languages_agree_on_what_a_corpus_is(self) -> None:
        tables = [f"{name}.lance" for name in ("graphs", "sources", "jsons")]
        kinds: List[List[str]] = [[], ["corpus.json"], [f"{tables[0]}/"],
                                  ["corpus.json/", f"{tables[0]}/"], ["corpus.json", tables[0]],
                                  tables]
        kinds += [["corpus.json", *(f"{name}/" for name in chosen)]
                  for count in range(4) for chosen in itertools.combinations(tables, count)]
        found = []
        for names in kinds:
            with self.subTest(names), tempfile.TemporaryDirectory() as place:
                for name in names:
                    if name.endswith("/"):
                        os.mkdir(os.path.join(place, name))
                    else:
                        pathlib.Path(place, name).write_text("{}")
                found.append(layout.is_corpus(place))
                with self.assertRaises(graphnet_ir.Error) as refusal:
                    graphnet_ir.find_samples([place])
                # This corpus has no version, which only the reader of a corpus says.
                self.assertEqual("no samples in this folder" not in str(refusal.exception),
                                 found[-1], str(refusal.exception))
        self.assertEqual(found, [False] * 7 + [True] * 7)

    def test_a_corpus_that_cannot_be_listed_says_why(self) -> None:
        with tempfile.TemporaryDirectory() as place:
            above = pathlib.Path(place, "above")
            shutil.copytree(self.folder / "files", above)
            shutil.copytree(self.path, above / "c")
            shutil.rmtree(above / "c" / "graphs.lance")
            told = self.run_tool("check", above, code=2)
            self.assertRegex(told.stderr, r"FAIL [^\n]*above/c: [^\n]*graphs\.lance")
            self.assertRegex(told.stdout, "4 passed, 1 failed")
            told = self.run_tool("check", above, code=2, GRAPHNET_PYTHON="/bin/false")
            self.assertRegex(told.stderr, "FAIL [^\n]*above/c: a corpus needs Python, and /bin/false")
            told = self.run_tool("show", above / "c", code=2)
            self.assertRegex(told.stderr, r"above/c: [^\n]*graphs\.lance")

    def test_a_process_that_ends_is_said(self) -> None:
        python = self.folder / "ends"
        python.write_text(f"#!{sys.executable}\n"
                          "import os\n"
                          "os.read(0, 1000)\n"
                          "os.write(0, b'o' + (5).to_bytes(8, 'little') + b'a-123')\n")
        python.chmod(0o755)
        told = self.run_tool("stats", "my corpus", code=2, GRAPHNET_PYTHON=str(python)).stderr
        self.assertEqual(told, "FAIL my corpus/a-123: the process that works on the corpus has "
                               "ended or does not answer\n")

    def test_no_code_of_the_current_folder_runs(self) -> None:
        with tempfile.TemporaryDirectory() as place:
            for name in ("graphnet_ir", "lance", "pyarrow", "json", "argparse"):
                pathlib.Path(place, f"{name}.py").write_text(f"open('{place}/ran', 'w')\n")
            for arguments in (["stats", self.path], ["corpus", "stats", self.path],
                              ["harvest", "--help"]):
                done = subprocess.run([TOOL, *map(str, arguments)], cwd=place, capture_output=True,
                                      text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertNotIn("ran", os.listdir(place))

    def test_one_bad_graph_does_not_end_the_batch(self) -> None:
        with tempfile.TemporaryDirectory() as place:
            path = pathlib.Path(place, "c")
            shutil.copytree(self.path, path)
            corpus = Corpus(path, "a")
            wanted = next(iter(corpus))
            with_lie = corpus.graphs.dataset.to_table().to_pylist()
            for row in with_lie:
                if row["hash"].hex() == wanted:
                    row["blob"] = b"no"
            import pyarrow as pa
            corpus.graphs.dataset.merge_insert("hash").when_matched_update_all().execute(
                pa.Table.from_pylist(with_lie, schema=corpus.graphs.dataset.schema))
            done = self.run_tool("check", path, code=1)
            self.assertIn(f"graph {wanted} is damaged", done.stdout + done.stderr)
            self.assertIn("3 passed, 1 failed", done.stdout)

    def test_a_harvest_goes_into_a_corpus(self) -> None:
        (self.folder / "models.py").write_text(
            "import torch\n"
            "from graphnet_ir.harvest import PythonModel\n"
            "def models():\n"
            "    yield PythonModel('mlp', lambda: torch.nn.Linear(4, 4),\n"
            "                      lambda: {'input': torch.randn(2, 4)}, licence='mit')\n")
        for words in ("1 added, 0 known, 0 refused; 1 new occurrence",
                      "0 added, 1 known, 0 refused; 0 new occurrences"):
            told = self.run_tool("harvest", "models.py", "-o", "out", "--into", "harvested").stdout
            self.assertIn(f"harvested: {words}", told)
        (hash,) = corpus = Corpus(self.folder / "harvested")
        (row,) = corpus.occurrences([bytes.fromhex(hash)])[bytes.fromhex(hash)]
        self.assertEqual((row["model"], row["licence"]), ("models:mlp", "mit"))
        self.run_tool("harvest", "models.py", "-o", "out", "--into", "models.py", code=2)


if __name__ == "__main__":
    unittest.main()
