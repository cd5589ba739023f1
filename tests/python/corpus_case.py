"""What tests of corpora share: small graphs, a folder for a corpus, and the command in this process."""

import contextlib
import io
import json
import os
import pathlib
import random
import sys
import tempfile
import unittest
from typing import Any
from unittest import mock


import graphnet_ir
from graphnet_ir.corpus import (Corpus)
from graphnet_ir.corpus.__main__ import main

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
TOOL = os.environ.get("GRAPHNET_TOOL", str(pathlib.Path(sys.prefix, "bin", "graphnet")))
QUERIES = [
    "relu", "conv2d", "matmul", "add", "conv2d(groups=4)", "conv2d(groups>1)", "relu(conv2d())",
    "softmax(matmul(?, ?))", "softmax(?, -1)", "mul|add", "add(?, 1)", "dropout", "relu_",
    "conv2d(stride=2)", "matmul(%: f16[...], ?)", "softmax(%: f32[*, *], dim in [-1, 3])",
    "add(%x, %x)", "cat(dim=1)", "torch.relu", "matmul(%, %): f32[4, 4]"]


def text(number: int) -> str:
    """The text form of a small graph; equal numbers give equal graphs."""
    draw = random.Random(number)
    lines, values = [], ["x", "y"]
    for index in range(draw.randrange(1, 12)):
        a, b = draw.choice(values), draw.choice(values)
        call = draw.choice([
            f"torch.relu(%{a})", f".relu(%{a})", f"torch.relu_(%{a})", f"torch.matmul(%{a}, %{b})",
            f"operator.matmul(%{a}, %{b})", f"torch.add(%{a}, %{b})", f"operator.add(%{a}, 1)",
            f"operator.mul(%{a}, 2.0)", f"torch.nn.functional.softmax(%{a}, -1)",
            f"torch.nn.functional.softmax(%{a}, dim = 0)", f"torch.cat([%{a}, %{b}], 1)",
            f"torch.nn.functional.dropout(%{a}, 0.1, False, False)",
            f"torch.conv2d(%{a}, %{b}, None, 2, 0, 1, {draw.choice([1, 4])})",
            f"torch.conv2d(%{a}, %{b}, groups = {draw.choice([1, 2, 4])})"])
        lines.append(f"  %v{index} = {call}\n")
        values.append(f"v{index}")
    dtype = draw.choice(["f32", "f16"])
    return (f"graph @forward(%x : {dtype}[4, 4], %y : {dtype}[4, 4]) {{\n{''.join(lines)}"
            f"  return (%{values[-1]},)\n}}\n")


def sample(number: int, name: str = "") -> graphnet_ir.Sample:
    made = graphnet_ir.parse(text(number))
    made.name = name or f"sample{number}"
    made.graph_net_json = json.dumps({"source": f"source{number % 3}", "model_name": f"m{number}"})
    return made


def command(*arguments: object) -> tuple[int, str, str]:
    """Runs the command in this process: its exit code and what it printed."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = main([str(argument) for argument in arguments])
    return code, out.getvalue(), errors.getvalue()


class CorpusTest(unittest.TestCase):

    def setUp(self) -> None:
        # Processes that the tests start import functions from here.
        patch = mock.patch.dict(os.environ, PYTHONPATH=os.pathsep.join(
            filter(None, [str(HERE), os.environ.get("PYTHONPATH")])))
        patch.start()
        self.addCleanup(patch.stop)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "corpus"

    def files(self, count: int, first: int = 0) -> pathlib.Path:
        """A folder of samples: GraphNet folders, protobuf and text."""
        samples = self.folder / "samples"
        for number in range(first, first + count):
            made = sample(number)
            place = samples / f"part{number % 4}"
            place.mkdir(parents=True, exist_ok=True)
            made.save(place / (made.name + ["", ".pb", ".gn"][number % 3]))
        return samples

    def made(self, count: int, first: int = 0) -> Corpus:
        corpus = Corpus.create(self.path)
        corpus.add([sample(number) for number in range(first, first + count)])
        return corpus

    def parts(self, name: str) -> dict[str, bytes]:
        """The files of a job's tasks."""
        return {path.name: path.read_bytes()
                for path in (self.path / "jobs" / name).glob("part-*")}

    def refuses(self, words: str) -> Any:
        return self.assertRaisesRegex(graphnet_ir.Error, words)
