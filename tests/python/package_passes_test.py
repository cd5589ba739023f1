"""Passes of packages: `graphnet opt` and graphnet_ir.opt run entry points of the group graphnet.passes."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import graphnet_ir

# The tool of the package, unless another is to be tested.
TOOL = os.environ.get("GRAPHNET_TOOL") or os.path.join(
    os.path.dirname(graphnet_ir.__file__), "bin", "graphnet"
)
SAMPLE = """graphnet.module 1

graph @forward(%x : f32[2, 3] {mean = 0.0, std = 1.0}) {
  %a = torch.relu(%x)
  %b = torch.OPERATOR(%a)
  return (%b,)
}
end
"""
PASSES = """
import os, time

def relu_to_tanh(graph):
    changed = False
    for node in graph.find_nodes(op="call_function", target="torch.relu"):
        node.target, changed = "torch.tanh", True
    return changed

def raises_on_exp(graph):
    if graph.find_nodes(op="call_function", target="torch.exp"):
        raise KeyError("no exp here")
    return False

def hangs_on_exp(graph):
    if graph.find_nodes(op="call_function", target="torch.exp"):
        time.sleep(1000)
    return False

def dies_on_exp(graph):
    if graph.find_nodes(op="call_function", target="torch.exp"):
        os.abort()
    return False
"""
NAMES = ("relu_to_tanh", "raises_on_exp", "hangs_on_exp", "dies_on_exp")


class PackagePassesTest(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)
        self.install("mine", PASSES, {name.replace("_", "-"): f"mine_passes:{name}" for name in NAMES})
        (self.folder / "in").mkdir()
        for number, operator in enumerate(("abs", "exp", "cos")):
            text = SAMPLE.replace("OPERATOR", operator)
            (self.folder / "in" / f"{number}_{operator}.gn").write_text(text)

    def install(self, package, code, points):
        """Lays out a package as pip does."""
        site = self.folder / "site"
        info = site / f"{package}-1.dist-info"
        info.mkdir(parents=True)
        (site / f"{package}_passes.py").write_text(code)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
        lines = [f"{name} = {value}" for name, value in points.items()]
        (info / "entry_points.txt").write_text("[graphnet.passes]\n" + "\n".join(lines) + "\n")

    def opt(self, *words, stdin=""):
        path = os.pathsep.join(
            [str(self.folder / "site"), os.path.dirname(os.path.dirname(graphnet_ir.__file__))]
        )
        return subprocess.run(
            [TOOL, "opt", *words],
            capture_output=True, text=True, cwd=self.folder, input=stdin,
            env={**os.environ, "PYTHONPATH": path, "GRAPHNET_PYTHON": sys.executable})

    def test_rewrites_one_sample(self):
        done = self.opt("in/0_abs.gn", "-p", "relu-to-tanh,dce", "-o", "out.gn", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("torch.tanh", (self.folder / "out.gn").read_text())
        (sample,) = json.loads(done.stdout)["samples"]
        self.assertEqual([(one["pass"], one["changed"]) for one in sample["passes"]],
                         [("relu-to-tanh", True), ("dce", False)])

    def test_what_fails_costs_one_line_and_ends_no_batch(self):
        for name, why in (("raises-on-exp", "KeyError: 'no exp here'"), ("dies-on-exp", "crash"),
                          ("hangs-on-exp", "hang: no answer")):
            out = f"out-{name}"
            done = self.opt("in", "-p", f"{name},relu-to-tanh", "-o", out, "--to", "text", "-j", "2",
                            "--timeout", "10")
            self.assertEqual(done.returncode, 2, (name, done.stdout, done.stderr))
            lines = [line for line in done.stderr.splitlines() if line.startswith("FAIL ")]
            self.assertEqual(len(lines), 1, done.stderr)
            self.assertRegex(lines[0], f"^FAIL in/1_exp.gn: .*{why}")
            self.assertEqual(sorted(os.listdir(self.folder / out)), ["0_abs.gn", "2_cos.gn"])
            for made in (self.folder / out).iterdir():
                self.assertIn("torch.tanh", made.read_text())

    def test_refuses(self):
        for words, message in (
            (("in/0_abs.gn", "-p", "relu-to-tan"), 'there is no pass "?relu-to-tan'),
            (("in/0_abs.gn", "-p", "relu-to-tanh", "--pass-limit", "1"), "go with --verify-each and --trust"),
            (("-", "-p", "relu-to-tanh"), "takes files, not the standard input or output"),
        ):
            done = self.opt(*words, stdin=SAMPLE.replace("OPERATOR", "abs"))
            self.assertNotEqual(done.returncode, 0, words)
            self.assertRegex(done.stderr, message)
        self.install("other", "", {"relu-to-tanh": "other_passes:none"})
        done = self.opt("in/0_abs.gn", "-p", "relu-to-tanh")
        self.assertEqual(done.returncode, 2)
        self.assertIn("two packages have a pass relu-to-tanh", done.stderr)

    def test_in_this_process(self):
        sample = graphnet_ir.load(self.folder / "in" / "0_abs.gn")
        with mock.patch.object(sys, "path", [str(self.folder / "site"), *sys.path]):
            made = graphnet_ir.opt(sample, "relu-to-tanh,dce")
        self.assertEqual([step["changed"] for step in made.steps], [True, False])
        self.assertIn("torch.tanh", str(made.sample.graph))


if __name__ == "__main__":
    unittest.main()
