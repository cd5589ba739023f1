"""Benchmarks and scores from Python: the same as the program says, as records."""

import contextlib
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import warnings
from typing import Any, Dict, List
from unittest import mock

import graphnet_ir
from graphnet_ir import Error

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples"
PROGRAM = pathlib.Path(graphnet_ir.__file__).parent / "bin" / "graphnet"
TEXT = """
graph @forward(%x : f32[4, 3]@cpu) {
  %a = torch.relu(%x)
  %b = torch.cos(%a)
  return (%b,)
}
"""


def lines(path: str) -> List[Dict[str, Any]]:
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


class BenchTest(unittest.TestCase):

    def test_options_of_a_backend_reach_its_worker_and_the_log(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out")
            names = ["torch", "torch{threads=1}"]
            judged = graphnet_ir.bench(graphnet_ir.parse(TEXT), names, out=out, warmup=0, trials=1)
            self.assertEqual([(row["backend"], row["status"]) for row in judged.records()],
                             [(name, "correct") for name in names])
            for name, options in (("torch", []), ("torch{threads=1}", ["options: threads=1"])):
                log = pathlib.Path(out, f"{name}.log").read_text(encoding="utf-8")
                told = [line.partition("[Config] ")[2] for line in log.splitlines()]
                self.assertIn("compiler: torch", told)
                self.assertEqual([line for line in told if line.startswith("options")], options)
            with self.assertRaisesRegex(Error, "threads is not none but a whole number from 1 on"):
                graphnet_ir.bench(graphnet_ir.parse(TEXT), ["torch{threads=none}"])

    def test_records_are_the_lines_of_the_logs(self) -> None:
        sample = graphnet_ir.parse(TEXT)
        sample.name = "<script>"
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out")
            judged = graphnet_ir.bench([SAMPLES / "resnet.pb", sample],
                                       ["nope", "decompose:pieces=2"], out=out, warmup=0, trials=1)
            records = judged.records()
            self.assertEqual([(row["backend"], row["path"], row["status"]) for row in records], [
                (backend, path, "correct") for backend in ("nope", "decompose:pieces=2")
                for path in (str(SAMPLES / "resnet.pb"), "<script>")])
            stored = lines(f"{out}/nope.jsonl") + lines(f"{out}/decompose_pieces=2.jsonl")
            self.assertEqual([row["speedup"] for row in records],
                             [row["speedup"] for row in stored])
            self.assertNotIn("<script>", judged._repr_html_())
            self.assertIn("&lt;script&gt;", judged._repr_html_())

            done = subprocess.run([PROGRAM, "score", "--json", *judged.logs], check=True,
                                  capture_output=True)
            said = json.loads(done.stdout)["curves"]
            scores = judged.score()
            self.assertEqual(scores.curves, said)
            self.assertEqual([row["ES"] for row in scores.records()],
                             [es for curve in said for es in curve["ES"].values()])
            self.assertEqual(scores.records()[0]["t"], -10)
            self.assertIn("<iframe", scores._repr_html_())
            self.assertEqual(graphnet_ir.score(out, p=0.5).curves[0]["p"], 0.5)

            with self.assertRaisesRegex(Error, "other samples|another benchmark|was begun"):
                graphnet_ir.bench(SAMPLES / "unet.pb", "nope", out=out, resume=True)

    def test_without_a_folder_nothing_is_left(self) -> None:
        judged = graphnet_ir.bench(graphnet_ir.parse(TEXT), "nope", warmup=0, trials=1)
        self.assertEqual(judged.records()[0]["path"], "sample 0")
        folder = judged.folder
        self.assertTrue(os.path.exists(folder))
        del judged
        self.assertFalse(os.path.exists(folder))

    def test_a_compiler_that_fails_is_a_record(self) -> None:
        sample = graphnet_ir.parse(TEXT.replace("torch.cos(%a)", "torch._C._nn.gelu(%a)"))
        judged = graphnet_ir.bench(sample, "pass:check-stable", warmup=0, trials=1)
        record, = judged.records()
        self.assertEqual(record["status"], "compile_fail")
        self.assertIn("torch._C._nn.gelu", record["reason"])

    def test_this_python_reads_corpora_for_the_program(self) -> None:
        # Another one may lack the packages, such as that of the shell that began a notebook.
        with tempfile.TemporaryDirectory() as folder:
            corpus = graphnet_ir.Corpus.create(folder + "/c")
            corpus.add(str(SAMPLES / "resnet.pb"))
            with mock.patch.dict(os.environ, {"PATH": folder}):
                records = graphnet_ir.bench(corpus.path, "nope", warmup=0, trials=1).records()
            self.assertEqual([record["status"] for record in records], ["correct"])
            with mock.patch.dict(os.environ, {"GRAPHNET_PYTHON": "/bin/false"}):
                with self.assertRaisesRegex(Error, "GRAPHNET_PYTHON"):
                    graphnet_ir.bench(corpus.path, "nope", warmup=0, trials=1)

    def test_what_is_refused(self) -> None:
        sample = graphnet_ir.parse(TEXT)
        for call in (lambda: graphnet_ir.bench(sample, "nosuch"),
                     lambda: graphnet_ir.bench("/nonexistent", "nope"),
                     lambda: graphnet_ir.bench(sample, "nope", device="rubbish"),
                     lambda: graphnet_ir.bench(sample, "nope", trials=-1),
                     lambda: graphnet_ir.score("/nonexistent"),
                     lambda: graphnet_ir.score("/nonexistent", b=7)):
            with self.assertRaises(Error) as caught:
                call()
            self.assertNotIn("\n", str(caught.exception))
        for wrong, said in (
                (lambda: graphnet_ir.bench([], "nope"), "no samples to run were given"),
                (lambda: graphnet_ir.bench(sample, "nope", out="there", resume=True),
                 "resume takes files and folders only: samples in memory may have changed"),
                (lambda: graphnet_ir.bench(sample, "nope", resume=True),
                 "resume needs the folder out of the earlier run"),
                (lambda: graphnet_ir.score([]), "no logs to score were given")):
            with self.assertRaisesRegex(ValueError, said):
                wrong()

    def test_of_several_logs_one_is_left_out(self) -> None:
        judged = graphnet_ir.bench(graphnet_ir.parse(TEXT), "nope", warmup=0, trials=1)
        with self.assertWarnsRegex(UserWarning, "nonexistent"):
            scores = graphnet_ir.score([*judged.logs, "/nonexistent"])
        self.assertEqual([curve["curve"] for curve in scores.curves], ["nope"])
        with self.assertWarnsRegex(UserWarning, "nonexistent"):
            with self.assertRaisesRegex(Error, "no log can be scored"):
                graphnet_ir.score(["/nonexistent", "/nonexistent2"])

    def test_ctrl_c_ends_the_program_too(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            script = ("import graphnet_ir\n"
                      f"graphnet_ir.bench({str(SAMPLES)!r}, 'nope', trials=100000, "
                      f"out={folder + '/out'!r})\n")
            with subprocess.Popen([sys.executable, "-c", script], cwd=folder,
                                  stderr=subprocess.PIPE, text=True) as process:
                while not os.path.exists(f"{folder}/out/nope.jsonl"):
                    time.sleep(0.05)
                children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
                child, = children.read_text(encoding="ascii").split()
                process.send_signal(signal.SIGINT)
                _, said = process.communicate(timeout=20)
            self.assertIn("KeyboardInterrupt", said)
            for _ in range(100):  # the system may take a moment on a busy machine
                if not os.path.exists(f"/proc/{child}"):
                    break
                time.sleep(0.1)
            self.assertFalse(os.path.exists(f"/proc/{child}"))


class BarTest(unittest.TestCase):

    def test_a_bar_where_it_is_asked_for(self) -> None:
        for progress, seen in ((None, False), (False, False), (True, True)):
            told = io.StringIO()
            with contextlib.redirect_stderr(told):
                loaded = list(graphnet_ir.load_samples(SAMPLES / "resnet.pb", progress=progress))
                graphnet_ir.bench(loaded[0], "nope", warmup=0, trials=1, progress=progress)
            self.assertEqual(("1/1" in told.getvalue(), "bench: 100%" in told.getvalue()),
                             (seen, seen))

    def test_without_tqdm(self) -> None:
        with mock.patch.dict(sys.modules, {"tqdm": None, "tqdm.auto": None}):
            with self.assertWarnsRegex(UserWarning, r"a bar needs tqdm: pip install "
                                                    r"'graphnet_ir\[notebook\]'"):
                self.assertEqual(len(list(graphnet_ir.load_samples(SAMPLES / "resnet.pb",
                                                                   progress=True))), 1)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                self.assertEqual(len(list(graphnet_ir.load_samples(SAMPLES / "resnet.pb"))), 1)

    def test_samples_that_are_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            stored = graphnet_ir.to_bytes(graphnet_ir.parse(TEXT))
            for name, content in (("a", stored), ("b", stored[:-9]), ("c", stored)):
                pathlib.Path(folder, f"{name}.pb").write_bytes(content)
            with self.assertRaises(Error):
                list(graphnet_ir.load_samples(folder))
            with self.assertWarnsRegex(UserWarning, "b.pb is left out"):
                self.assertEqual(len(list(graphnet_ir.load_samples(folder, errors="warn"))), 2)
        with self.assertRaisesRegex(ValueError, "errors must be 'raise' or 'warn'"):
            graphnet_ir.load_samples(folder, errors="ignore")
        with self.assertRaises(Error):
            graphnet_ir.load_samples("/nonexistent")


if __name__ == "__main__":
    unittest.main()
