"""Jobs over a corpus, in a local pool and on Ray, and the scripts that kill and check at length."""

import importlib.util
import itertools
import os
import subprocess
import sys
import unittest
from unittest import mock


import graphnet_ir
from graphnet_ir.corpus import (Corpus, jobs, schedule)

from corpus_case import ROOT, TOOL, CorpusTest, command, sample


class JobsTest(CorpusTest):

    def test_results_become_columns(self) -> None:
        corpus = self.made(30)
        done = corpus.map("corpus_jobs:calls", name="calls")
        self.assertEqual((done.graphs, done.set_aside), (len(corpus), []))
        rows = corpus.graphs.dataset.to_table(columns=["hash", "calls", "first"]).to_pylist()
        for row in rows:
            expected = len(corpus[row["hash"]].graph.find_nodes(op="call_function"))
            self.assertEqual((row["calls"], row["first"]), (expected, "forward"))
        self.assertEqual(corpus.count(where="calls > 4"), sum(row["calls"] > 4 for row in rows))
        # Graphs that come later have none, and the corpus stays sound.
        corpus.add([sample(number) for number in range(100, 110)])
        self.assertEqual(corpus.count(where="calls IS NULL"), len(corpus) - len(rows))
        self.assertEqual(list(corpus.verify()), [])
        with self.refuses("other work"):
            corpus.map("corpus_jobs:slow", name="calls")

    def test_commands_and_other_graphs(self) -> None:
        corpus = self.made(8)
        done = corpus.map([TOOL, "hash", "{}", "--metas"], name="hash")
        self.assertEqual(done.set_aside, [])
        for row in corpus.graphs.dataset.to_table().to_pylist():
            self.assertEqual((row["exit_code"], row["output"][:64]), (0, row["hash"].hex()))
        corpus.map("corpus_jobs:without_dropout", into=self.folder / "smaller")
        smaller = Corpus(self.folder / "smaller")
        self.assertEqual({hit.hash for hit in smaller.find()}, {
            graphnet_ir.canonical_hash(graphnet_ir.opt(one, "dce,cse").sample, metas=True)
            for one in corpus.samples()})

    def test_large_results(self) -> None:
        corpus = self.made(8)
        done = corpus.map("corpus_jobs:large", into=self.folder / "made")
        odd = {hash for hash in corpus if len(corpus[hash].graph) % 2}
        self.assertEqual({hash for hash, reason in done.set_aside
                          if "more than 1000000 bytes" in reason}, odd)
        self.assertEqual(set(Corpus(self.folder / "made")), set(corpus) - odd)
        for text in ("[]", "{", '{"task": 0}', '{"task": "1"}'):
            (self.path / "jobs" / "corpus_jobs_large" / "job.json").write_text(text)
            with self.refuses("cannot be read"):
                corpus.map("corpus_jobs:large")

    def test_graphs_that_end_the_process_are_set_aside(self) -> None:
        corpus = self.made(30)
        nodes = {hit.hash: len(corpus[hit.hash].graph) % 8 for hit in corpus.find()}
        wanted = {0: "signal 11", 1: "more than 3 seconds", 2: "GB held", 3: "exit code 3",
                  4: "ValueError: no such luck", 5: "column list"}
        few: dict[int, str] = {}
        for hash, kind in nodes.items():
            few.setdefault(kind, hash)
        hashes = [*few.values(), *(hash for hash, kind in nodes.items() if kind > 5)]
        done = corpus.map("corpus_jobs:hostile", name="hostile", seconds=3, memory=200 << 20,
                          graphs=hashes)
        aside = dict(done.set_aside)
        self.assertEqual(set(aside), {hash for hash in hashes if nodes[hash] in wanted})
        for hash, reason in aside.items():
            self.assertIn(wanted[nodes[hash]], reason)
        self.assertEqual(corpus.count(where="calls IS NOT NULL"), len(set(hashes)) - len(aside))

    def test_a_job_that_is_killed_goes_on(self) -> None:
        corpus = self.made(40)
        script = ("import sys\nfrom graphnet_ir.corpus import Corpus, jobs\n"
                  "jobs.GRAPHS_A_TASK = 6\n"
                  f"Corpus({str(self.path)!r}, 'a').map('corpus_jobs:slow', name=sys.argv[1],\n"
                  "  processes=2, told=lambda done, all: print(done, flush=True))\n")

        def run(name: str, kill_after: int) -> int:
            """Runs the job, and kills it after some lines of progress."""
            worker = subprocess.Popen([sys.executable, "-c", script, name],
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            assert worker.stdout is not None
            with worker.stdout as lines:
                for _ in itertools.islice(lines, kill_after):
                    pass
            if kill_after < 100:
                worker.kill()
            return worker.wait()

        self.assertEqual(run("whole", 100), 0)
        kills = 0
        for lines in (1, 2, 3, 2, 100):
            code = run("killed", lines)
            if code == 0:
                break
            self.assertEqual(code, -9)
            kills += 1
        self.assertGreater(kills, 1)
        # A kill may leave a file that was being written, which goes with the next run.
        (self.path / "jobs" / "killed" / "part-000000.parquet.123.new").touch()
        self.assertEqual(run("killed", 100), 0)
        self.assertEqual(self.parts("killed"), self.parts("whole"))
        self.assertEqual(len(self.parts("whole")), -(-len(corpus) // 6))
        corpus.refresh()
        self.assertEqual(corpus.count(where="calls IS NULL"), 0)
        self.assertEqual(list(corpus.verify()), [])


    def test_tasks_that_lose_each_machine_are_named(self) -> None:
        corpus = self.made(3)
        with mock.patch.object(jobs.Job, "run_task", side_effect=schedule.Lost):
            with self.refuses("task 0 and 0 others lost 5 machines each: try again"):
                corpus.map("corpus_jobs:calls")
        self.assertEqual(corpus.map("corpus_jobs:calls").set_aside, [])


class RayTest(CorpusTest):

    @unittest.skipUnless(importlib.util.find_spec("ray"), "ray is not installed")
    def test_nodes_of_ray_write_the_same_files(self) -> None:
        corpus = self.made(40)
        with mock.patch.object(jobs, "GRAPHS_A_TASK", 8):
            corpus.map("corpus_jobs:calls", name="local")
            code, out, errors = command("map", self.path, "--function", "corpus_jobs:calls",
                                        "--name", "ray", "--ray", "local:2")
        self.assertEqual((code, out), (0, f"{len(corpus)} graphs, 0 set aside\n"), errors)
        self.assertEqual(self.parts("ray"), self.parts("local"))
        self.assertGreater(len(self.parts("ray")), 3)
        code, _, errors = command("map", self.path, "--function", "nothing:calls", "--ray",
                                  "local:1")
        self.assertEqual(code, 2)
        self.assertIn("the job cannot begin: ModuleNotFoundError", errors)
        code, _, errors = command("map", self.path, "--function", "corpus_jobs:calls", "--ray",
                                  "127.0.0.1:9")
        self.assertEqual(code, 2)
        self.assertIn("there is no Ray cluster at 127.0.0.1:9", errors)

    def test_what_is_no_place_is_refused(self) -> None:
        self.made(1)
        for place in ("local:", "local:0", "local:65", "local:-1", "local:x", "local:1e9"):
            code, _, errors = command("map", self.path, "--function", "corpus_jobs:calls", "--ray",
                                      place)
            self.assertEqual((code, errors.count("\n")), (2, 1), errors)
            self.assertIn("is not local:N", errors)

    def test_ray_that_was_imported_before_would_listen_to_other_machines(self) -> None:
        self.made(1)
        with mock.patch.dict(sys.modules, ray=mock.Mock()), mock.patch.dict(os.environ):
            os.environ.pop("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", None)
            code, _, errors = command("map", self.path, "--function", "corpus_jobs:calls", "--ray",
                                      "local:1")
        self.assertEqual(code, 2)
        self.assertIn("ray was imported already, and would listen to other machines: set", errors)

    def test_without_ray_that_works_one_line_says_so(self) -> None:
        self.made(1)
        for text, words in (("raise ImportError('no ray here')", "pip install 'graphnet_ir[ray]'"),
                            ("", "Ray's nodes do not start")):
            (self.folder / "ray.py").write_text(text)
            done = subprocess.run([sys.executable, "-m", "graphnet_ir.corpus", "map",
                                   str(self.path), "--function", "corpus_jobs:calls", "--ray",
                                   "local:2"], capture_output=True, text=True, check=False,
                                  env={**os.environ, "PYTHONPATH": os.pathsep.join(
                                      [str(self.folder), os.environ["PYTHONPATH"]])})
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(words, done.stderr)


class KillsTest(CorpusTest):

    def test_kills_lose_nothing(self) -> None:
        done = subprocess.run([sys.executable, str(ROOT / "tests/tools/break_corpus.py"), "--kills",
                               "4", "--samples", "150"], capture_output=True, text=True,
                              check=False)
        self.assertRegex(done.stdout, r"\A4 kills in .* 0 lost\n\Z", done.stderr)


class ProofTest(CorpusTest):

    def test_answers_and_exports_are_those_of_the_files(self) -> None:
        samples = self.folder / "samples"
        for number in range(20):
            place = samples / f"part{number % 2}"
            place.mkdir(parents=True, exist_ok=True)
            sample(number).save(place / f"sample{number}")
        done = subprocess.run(
            [sys.executable, str(ROOT / "tests/tools/check_corpus.py"), str(samples),
             str(self.folder / "out"), "--every", "3,2", "--queries", "20", "--whole", "2",
             "--scans", "1", "--near", "40", "--jobs", "1"],
            capture_output=True, text=True, check=False)
        self.assertRegex(done.stdout, r"\n0 wrong\n\Z", done.stderr)
        self.assertRegex(done.stdout, r"20 queries \(.*\): (1\d|20) have a match")
        self.assertIn("20 folders came back", done.stdout)


if __name__ == "__main__":
    unittest.main()
