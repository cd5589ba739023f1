"""The commands of the tool as functions: what Python gets is what the program prints."""

import contextlib
import inspect
import io
import json
import os
import subprocess
import tempfile
import unittest

import graphnet_ir
from graphnet_ir import commands

PROGRAM = os.path.join(os.path.dirname(graphnet_ir.__file__), "bin", "graphnet")
TEXT = "graph @forward(%x : f32[2]) {{\n  %y = torch.{0}(%x)\n  return (%y,)\n}}\n"


class CommandsTest(unittest.TestCase):

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="-a b ü")
        self.addCleanup(folder.cleanup)
        self.paths = []
        for call in ("relu", "tanh"):
            self.paths.append(os.path.join(folder.name, f"{call}.gn"))
            with open(self.paths[-1], "w") as file:
                file.write(TEXT.format(call))

    def printed(self, *words: str) -> str:
        return subprocess.run([PROGRAM, *words], capture_output=True, text=True).stdout

    def test_reports_are_what_the_program_prints(self) -> None:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            found = commands.stats(*self.paths, cost_by="node")
            text = commands.stats(*self.paths, text=True)
        self.assertEqual(out.getvalue(), "")
        self.assertEqual(dict(found), json.loads(self.printed(
            "stats", "--json", "--cost-by=node", *self.paths)))
        self.assertEqual(text, self.printed("stats", *self.paths))
        self.assertEqual([row["path"] for row in found.records()], self.paths)
        self.assertIn("<table>", found._repr_html_())
        self.assertEqual(commands.show(self.paths[0], text=True),
                         self.printed("show", self.paths[0]))

    def test_codes_and_errors(self) -> None:
        self.assertEqual(commands.diff(self.paths[0], self.paths[0]).code, 0)
        self.assertEqual(commands.diff(*self.paths).code, 1)
        self.assertTrue(commands.find("relu", *self.paths).records())
        with self.assertRaises(graphnet_ir.Error) as caught:
            commands.hash(self.paths[0] + ".none")
        self.assertEqual(caught.exception.kind, "not_found")
        with self.assertRaises(graphnet_ir.Error) as caught:
            commands.stats(self.paths[0], cost_by="nothing")
        self.assertEqual(caught.exception.kind, "invalid_argument")
        with self.assertRaises(TypeError):
            commands.stats(self.paths[0], nothing=1)
        with self.assertRaises(TypeError):
            commands.diff(self.paths[0])

    def test_options_hold_for_one_call(self) -> None:
        self.assertIn("samples", commands.hash(self.paths[0]))
        self.assertEqual(commands.hash(self.paths[0], text=True),
                         self.printed("hash", self.paths[0]))

    def test_each_command_and_option_is_there(self) -> None:
        listed = [line.split()[0] for line in self.printed("--help").splitlines()
                  if line.startswith("  ") and line[2:3].isalpha()]
        functions = commands.functions()
        for name in listed:
            if name != "graphnet":
                self.assertIn(name.replace("-", "_"), functions)
        for name, function in functions.items():
            told = self.printed(name.replace("_", "-"), "--help")
            for option in inspect.signature(function).parameters.values():
                if option.kind is option.KEYWORD_ONLY and option.name != "text":
                    self.assertIn(f"--{option.name.rstrip('_').replace('_', '-')}", told)
            self.assertTrue(function.__doc__)


if __name__ == "__main__":
    unittest.main()
