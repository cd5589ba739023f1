#!/usr/bin/env python3
"""Runs programs by graphnet and by PyTorch or Python, and compares the bits.

    compare.py SUITE [options of the suite]      compare.py SUITE --help explains a suite

A suite makes programs or takes those that it is given, has both sides run them on the same inputs, and
tells what differs. Prints a line for each program that differs, and what came of all at the end. The exit
status is 0 if all agree, and 1 if one differs or if there was nothing to compare.

Suites load and run programs, also the Python text of samples: use them on files that you trust.
"""

import argparse
import collections
import importlib
import json
import pathlib
import subprocess
import sys
import tempfile
import typing
import warnings

# A suite: its module, its class, and what it compares.
SUITES = {
    "samples": ("suite_samples", "Samples", "GraphNet samples: eager PyTorch and `graphnet run`"),
    "targets": ("suite_samples", "Targets", "calls that few real samples have"),
    "runnable": ("suite_samples", "Runnable", "samples as Python that runs by itself"),
    "pieces": ("suite_samples", "Pieces", "the pieces of a decomposition, in PyTorch one after the other"),
    "pieces-alone": ("suite_samples", "PiecesAlone", "whether graphnet runs each piece of each decomposition"),
    "functional": ("suite_samples", "Functional", "samples before and after `functionalize`"),
    "fused": ("suite_samples", "Fused", "samples with and without fused operators"),
    "programs": ("suite_programs", "Programs", "programs of torch.export that make_pt2_programs.py wrote"),
    "damaged": ("suite_programs", "Damaged", "programs of torch.export, damaged field by field"),
    "models": ("suite_programs", "Models", "real models as NAME.pt2 and NAME.pt, run by both"),
    "archives": ("suite_programs", "Archives", "archives of other releases and projects"),
    "versions": ("suite_programs", "Versions", "TorchScript of every format version"),
    "stitched": ("suite_scripted", "Stitched", "extracted programs, run by their script and by graphnet"),
    "scripted": ("suite_scripted", "Scripted", "scripted programs with gradients, texts and quantised layers"),
    "numbers": ("suite_numbers", "Numbers", "traced and scripted arithmetic of tensors and numbers"),
    "lists": ("suite_lists", "Lists", "random scripted programs of lists, loops, views and writes"),
    "writes": ("suite_random", "Writes", "random programs of views and writes, made functional"),
    "vmap": ("suite_random", "Vmap", "random programs with nested torch.vmap"),
    "gradients": ("suite_gradients", "Gradients", "graphs that `graphnet differentiate` wrote, beside autograd"),
    "flops": ("suite_flops", "Flops", "FLOPs, as PyTorch's counter has them"),
    "loops": ("suite_loops", "Loops", "the loops that graphnet prints, run as Python"),
    "kernels": ("suite_kernels", "Kernels", "ranges of one kernel, and TorchInductor's kernels of each prefix"),
    "counts": ("suite_files", "NodeCounts", "nodes, as CPython's own parser counts them; needs no PyTorch"),
    "cuts": ("suite_files", "Cuts", "the same programs cut in several forms; needs no PyTorch"),
    "forecasts": ("suite_files", "Forecasts", "`check --for`, and what comes of converting and running"),
    "mlir": ("suite_files", "Mlir", "MLIR, as torch-mlir-opt verifies it"),
    "spellings": ("suite_files", "Spellings", "records, spelled in all ways"),
    "texts": ("suite_texts", "Texts", "hostile names and texts in archives that PyTorch loads"),
    "weights": ("suite_weights", "Weights", "checkpoints, put into programs by name"),
    "examples": ("suite_examples", "Examples", "the example inputs of programs that graphnet writes"),
    "statistics": ("suite_statistics", "Statistics", "the range, mean and deviation of each value of a run"),
    "stable": ("suite_loops", "Stable", "the private and public forms of the calls that `stabilize` rewrites"),
}


class Failed(Exception):
    """A command of graphnet fails; this is what it says."""


class Run:
    """A run of a suite: what it was asked for, the tool, a folder, and what came of each program."""

    def __init__(self, args: argparse.Namespace, scratch: pathlib.Path) -> None:
        self.args, self.scratch = args, scratch
        self.counts: typing.Counter[str] = collections.Counter()

    def tell(self, name: object, what: str, count: int = 1) -> None:
        """Counts a program. `what` differs, or is empty if nothing does, or says "skipped: " and why."""
        kind = "skipped" if what.startswith("skipped: ") else "different" if what else "equal"
        self.counts[kind] += count
        if what:
            print(f"{kind}  {name}: {what.removeprefix('skipped: ')}", flush=True)

    def graphnet(self, *words: object, timeout: typing.Optional[float] = None) -> str:
        """What a command prints."""
        try:
            done = subprocess.run([self.args.graphnet, *map(str, words)], capture_output=True, text=True, timeout=timeout)
        except subprocess.TimeoutExpired:
            raise Failed(f"{words[0]}: takes more than {timeout} seconds") from None
        if done.returncode != 0:
            said = (done.stderr.strip() or done.stdout.strip())[-400:]
            raise Failed(f"{words[0]}: exit status {done.returncode}: {said}")
        return done.stdout

    def opt(self, source: object, passes: str, out: object) -> typing.List[dict]:
        """Applies passes and returns what each says of the one sample."""
        done = self.graphnet("opt", source, "--passes", passes, "--verify-each", "--json", "-o", out)
        return json.loads(done)["samples"][0]["passes"]

    def outputs(self, program: object, inputs: object, *words: object, seed: int = 0,
                timeout: typing.Optional[float] = None) -> dict:
        """What `graphnet run` yields of a program for inputs: tensors by name, the path of a file of them, or None."""
        import in_pytorch

        given: typing.List[object] = []
        if isinstance(inputs, dict):
            in_pytorch.write_safetensors({name: value.clone() for name, value in inputs.items()}, self.scratch / "in.safetensors")
            inputs = self.scratch / "in.safetensors"
        if inputs is not None:
            given = ["--inputs", inputs]
        found = self.scratch / "out.safetensors"
        found.unlink(missing_ok=True)
        self.graphnet("run", program, *given, "--outputs", found, "--seed", seed, "--threads", 1, *words, timeout=timeout)
        return in_pytorch.read_safetensors(found)


class Suite:
    """What a suite has; its docstring explains it."""

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        """Adds the options of the suite."""

    def run(self, run: Run) -> typing.Optional[str]:
        """Tells `run` what came of each program, and returns what else is to be said at the end."""
        raise NotImplementedError


def main() -> int:
    listed = "\n".join(f"    {name:13} {about}" for name, (_, _, about) in SUITES.items())
    if len(sys.argv) < 2 or sys.argv[1] not in SUITES:
        print(f"{__doc__}\nSuites:\n{listed}")
        return 0 if sys.argv[1:2] in (["-h"], ["--help"]) else 2
    module, name, _ = SUITES[sys.argv[1]]
    suite = getattr(importlib.import_module(module), name)()
    parser = argparse.ArgumentParser(prog=f"compare.py {sys.argv[1]}", description=suite.__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphnet", default="bazel-bin/graphnet/cli/graphnet")
    parser.add_argument("--seed", type=int, default=0)
    suite.arguments(parser)
    args = parser.parse_args(sys.argv[2:])
    args.graphnet = str(pathlib.Path(args.graphnet).resolve())
    warnings.filterwarnings("ignore")
    with tempfile.TemporaryDirectory() as scratch:
        run = Run(args, pathlib.Path(scratch))
        try:
            if said := suite.run(run):
                print(said)
        except Failed as error:
            run.tell("the suite", str(error))
    print(f"{run.counts['equal']} equal, {run.counts['different']} different, {run.counts['skipped']} skipped")
    return 1 if run.counts["different"] or not run.counts["equal"] else 0


if __name__ == "__main__":
    # Suites import this module by its name, too.
    sys.modules["compare"] = sys.modules["__main__"]
    sys.exit(main())
