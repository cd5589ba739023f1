"""The suite of compare.py on the kernels of TorchInductor.

`decompose --kernels inductor` counts kernels with TorchInductor's scheduler, by bisection. Here each
prefix is compiled whole, and its kernels are counted otherwise: the loop nests that TorchInductor's
own metrics count, and the calls of libraries in the code that it wrote.
"""

import argparse
import json
import pathlib
import re
from typing import List, Optional

import torch
import torch._dynamo
import torch._inductor.config
import torch._inductor.metrics
from torch._inductor.utils import run_and_get_code

from compare import Run, Suite
from suite_flops import example_inputs

# A call of a library, or of an operator that TorchInductor leaves to PyTorch.
LIBRARY_CALL = re.compile(r"^\s*(?:\w+ = )?(?:extern_kernels\.\w+|torch\.ops\.[\w.]+|aten\.[\w.]+)\(")

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


def kernels_of(program: pathlib.Path) -> int:
    exported = torch.export.load(program)
    inputs, keywords = example_inputs(exported, seed=0)
    torch._dynamo.reset()
    torch._inductor.metrics.reset()
    compiled = torch.compile(exported.module(), fullgraph=True, dynamic=False)
    with torch.no_grad(), torch._inductor.config.patch(force_disable_caches=True):
        _, codes = run_and_get_code(compiled, *inputs, **keywords)
    calls = sum(bool(LIBRARY_CALL.match(line)) for code in codes for line in code.splitlines())
    return torch._inductor.metrics.generated_kernel_count + calls


def ranges_of(counts: List[int]) -> List[List[int]]:
    """The ranges in which the count of prefixes does not rise behind the first step."""
    ranges, at = [], 1
    while at < len(counts):
        first, at = at, at + 1
        while at < len(counts) and counts[at] <= counts[at - 1]:
            at += 1
        if counts[first] and at - first > 1:
            ranges.append([first - 1, at - 1])
    return ranges


class Kernels(Suite):
    """Compares the ranges of `decompose --kernels inductor` with counts of each prefix."""

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("samples", nargs="*", type=pathlib.Path, help="default: one that is made")

    def run(self, run: Run) -> Optional[str]:
        made = run.scratch / "made.gn"
        made.write_text(MADE)
        for sample in run.args.samples or [made]:
            out = json.loads(run.graphnet("decompose", sample, "--kernels", "inductor", "--dry-run", "--json"))
            (told,) = out["samples"]
            ours = [[piece["start"], piece["end"]] for piece in told["pieces"]]
            counts = [0]
            for end in range(1, told["num_operators"] + 1):
                prefix = run.scratch / "prefix.pt2"
                run.graphnet("decompose", sample, "--ranges", f"0:{end}", "--no-head-and-tail", "--minimal-inputs",
                             "--to", "protobuf", "-o", run.scratch / f"{sample.stem}_{end}")
                run.graphnet("convert", run.scratch / f"{sample.stem}_{end}" / "subgraph_0.pb", "-o", prefix)
                counts.append(kernels_of(prefix))
            theirs = ranges_of(counts)
            run.tell(sample.name, "" if ours == theirs else f"{ours}, but each prefix counted says {theirs}")
        return None
