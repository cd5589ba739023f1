"""show --to unittest: the files check right, wrong and short implementations in PyTorch alone."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import tempfile
import unittest

import graphnet_ir

SAMPLE = """
graph @forward(
  %x : f32[4, 8] {mean = 0.0, std = 0.001},
  %w "L_self_w" : f32[3, 8] as torch.nn.parameter.Parameter {mean = 0.0, std = 5.0}
) {
  %y = torch.nn.functional.linear(%x, %w)
  return (%y,)
}
"""
HEAD = "import torch\nfrom kernel_test import Model\n\n\n"


class Files(unittest.TestCase):
    def setUp(self) -> None:
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.folder = pathlib.Path(self.place.name)
        graphnet_ir.save(graphnet_ir.parse(SAMPLE), str(self.folder / "kernel.gn"))
        graphnet_ir.commands.show(str(self.folder / "kernel.gn"), format="unittest", text=True,
                                  out=str(self.folder / "kernel_test.py"))

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "kernel_test.py", *words], cwd=self.folder,
                              capture_output=True, text=True, check=False)

    def judged(self, text: str) -> subprocess.CompletedProcess[str]:
        (self.folder / "other.py").write_text(text)
        return self.call("other.py", "--trials", "2")

    def test_right_and_wrong_implementations(self) -> None:
        done = self.call("--trials", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"result 0: torch.float32 \[4, 3\]\nreference: [0-9.]+ ms\n$")
        right = ("class ModelNew(torch.nn.Module):\n"
                 "    def __init__(self):\n        super().__init__()\n"
                 "        self.L_self_w = torch.nn.Parameter(torch.zeros(3, 8))\n"
                 "    def forward(self, x):\n        return {}\n")
        done = self.judged(HEAD + right.format("(x @ self.L_self_w.T,)"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"right on 3 sets of inputs\n(.*\n)*speedup: [0-9.]+\n$")
        for wrong, what in (("(x @ self.L_self_w.T * 1.01,)", "differs by up to"),
                            ("(torch.zeros(4, 3),)", "differs by up to"),
                            ("(x @ self.L_self_w.T)[:3]", "result 0 is"),
                            ("(x @ self.L_self_w.T).double()", "torch.float64"),
                            ("()", "0 results instead of 1")):
            done = self.judged(HEAD + right.format(wrong))
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn(what, done.stdout)
            self.assertIn("WRONG with seed 123", done.stdout)

    def test_a_constant_is_no_implementation(self) -> None:
        done = self.judged(HEAD + "class ModelNew(Model):\n    def forward(self, x):\n"
                                  "        if not hasattr(self, 'kept'):\n"
                                  "            self.kept = super().forward(x)\n"
                                  "        return self.kept\n")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("WRONG with seed 124", done.stdout)


if __name__ == "__main__":
    unittest.main()
