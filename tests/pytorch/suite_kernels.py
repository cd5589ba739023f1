"""The suite of compare.py on the kernels of TorchInductor.

`decompose --kernels inductor` counts the kernels of some prefixes, found by bisection. Here the kernels of
each prefix are counted, in the code that TorchInductor writes for it, and the ranges follow by other code.
"""

import argparse
import json
import pathlib
import re
from typing import List, Optional, Tuple
from unittest import mock

import torch
import torch._dynamo
import torch._inductor.config
from torch._inductor.graph import GraphLowering

from compare import Failed, Run, Suite
from suite_flops import example_inputs

# A call of a library, or of an operator that TorchInductor leaves to PyTorch.
LIBRARY_CALL = re.compile(r"^\s*(?:\w+ = )?(?:extern_kernels\.\w+|torch\.ops\.[\w.]+|aten\.[\w.]+)\(")

# The line above each loop nest of a function in C++.
LOOPS = "    {"

# Two products, what follows each, and views, which are no kernels.
MADE = """graphnet.sample 1
graphnet.module 1
graph @forward(%x : f32[4, 8], %w : f32[8, 8]) {
  %t = .view(%x, 2, 2, 8) : f32[2, 2, 8]
  %v = .view(%t, 4, 8) : f32[4, 8]
  %m = torch.matmul(%v, %w) : f32[4, 8]
  %e = torch.exp(%m) : f32[4, 8]
  %a = torch.add(%e, %x) : f32[4, 8]
  %s = torch.softmax(%a, 1) : f32[4, 8]
  %n = torch.matmul(%s, %w) : f32[4, 8]
  %p = .permute(%n, 1, 0) : f32[8, 4]
  %r = torch.relu(%p) : f32[8, 4]
  return (%r,)
}
end
"""


class _Written(Exception):
    """Ends a compilation whose code has been written."""


def kernels_of(program: pathlib.Path) -> int:
    """Counts the kernels in the code that TorchInductor writes, which is not compiled."""
    exported = torch.export.load(program)
    inputs, keywords = example_inputs(exported, seed=0)
    codes = []

    def keep(code):
        codes.append(code)
        raise _Written

    torch._dynamo.reset()
    compiled = torch.compile(exported.module(), fullgraph=True, dynamic=False)
    with torch.no_grad(), torch._inductor.config.patch({"fx_graph_cache": False, "cpp.threads": 1}), \
            mock.patch.object(GraphLowering, "save_output_code", staticmethod(keep)):
        try:
            compiled(*inputs, **keywords)
        except Exception:
            if not codes:
                raise
    lines = [line for code in codes for line in code.splitlines()]
    return sum(line == LOOPS or bool(LIBRARY_CALL.match(line)) for line in lines)


def ranges_of(counts: List[int]) -> List[List[int]]:
    """The ranges of operators that add one kernel, which longer prefixes have, too."""
    stays = [min(counts[end:]) for end in range(len(counts))]
    ends = [end for end in range(1, len(stays)) if stays[end] > stays[end - 1]] + [len(stays)]
    return [[first - 1, last - 1] for first, last in zip(ends, ends[1:]) if last - first > 1]


class Kernels(Suite):
    """Compares the ranges of `decompose --kernels inductor` with counts of each prefix."""

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("samples", nargs="*", type=pathlib.Path, help="default: one that is made")

    def run(self, run: Run) -> Optional[str]:
        made = run.scratch / "made.gn"
        made.write_text(MADE)
        for sample in run.args.samples or [made]:
            try:
                ours, theirs = self.ranges(run, sample)
            except Failed as error:
                run.tell(sample, f"skipped: {error}")
            else:
                run.tell(sample, "" if ours == theirs else f"{ours}, but each prefix counted says {theirs}")
        return None

    def ranges(self, run: Run, sample: pathlib.Path) -> Tuple[List[List[int]], List[List[int]]]:
        out = json.loads(run.graphnet("decompose", sample, "--kernels", "inductor", "--dry-run", "--json"))
        (told,) = out["samples"]
        counts = [0]
        for end in range(1, told["num_operators"] + 1):
            pieces, prefix = run.scratch / f"{sample.stem}_{end}", run.scratch / "prefix.pt2"
            run.graphnet("decompose", sample, "--ranges", f"0:{end}", "--no-head-and-tail", "--minimal-inputs",
                         "--to", "protobuf", "-o", pieces)
            run.graphnet("convert", pieces / "subgraph_0.pb", "-o", prefix)
            counts.append(kernels_of(prefix))
        return [[piece["start"], piece["end"]] for piece in told["pieces"]], ranges_of(counts)
