#!/usr/bin/env python3
"""Runs GraphNet samples in Python and by graphnet, and compares the outputs.

    compare_runs.py --sample 300 --seed 0 FOLDER...
    compare_runs.py --list FILE

A FOLDER is a sample or is searched for samples; FILE names one a line. Both sides
get the same inputs, by way of a safetensors file, the same seed and one thread; PyTorch
runs the sample's model.py eagerly on the CPU. Outputs must agree bit for bit, and so
must what the graph writes to its inputs when it returns them. The exit status is 0 if
all samples that run in Python agree, 1 if not.

This runs the Python text of the samples: use it on samples that you trust.
"""

import argparse
import pathlib
import random
import shlex
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

import torch

import in_pytorch


class Outcome(NamedTuple):
    verdict: str  # equal, different, failed-on-one, failed-on-both, skipped
    reason: str = ""


def run_in_python(sample: pathlib.Path, seed: int, scratch: pathlib.Path) -> None:
    """Writes the inputs before the run, and the outputs behind it."""
    metas = in_pytorch.read_metas(sample)
    model = in_pytorch.load(sample)
    inputs = {name: in_pytorch.draw(metas[name], seed) for name in in_pytorch.parameters(model)}
    in_pytorch.write_safetensors(inputs, scratch / "inputs.safetensors")
    outputs = in_pytorch.outputs(in_pytorch.call(model, inputs, seed))
    in_pytorch.write_safetensors(outputs, scratch / "expected.safetensors")


def check(sample: pathlib.Path, args: argparse.Namespace) -> Outcome:
    size = in_pytorch.declared_bytes(in_pytorch.read_metas(sample))
    if size > args.max_bytes:
        return Outcome("skipped", f"inputs of {size / 2**20:.0f} MiB")
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        _, in_python = in_pytorch.in_process(run_in_python, sample, args.seed, scratch,
                                              seconds=args.timeout, memory=args.max_memory)
        paths = {"sample": str(sample), "inputs": f"{folder}/inputs.safetensors",
                 "outputs": f"{folder}/actual.safetensors", "seed": str(args.seed)}
        if not (scratch / "inputs.safetensors").is_file():
            return Outcome("skipped", f"no inputs: {in_python}")
        command = [word.format(**paths) for word in shlex.split(args.run)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=4 * args.timeout)
            failed = done.returncode != 0
            message = done.stderr.strip().splitlines()[-1][:300] if done.stderr.strip() else f"exit {done.returncode}"
        except subprocess.TimeoutExpired:
            failed, message = True, "takes too long"
        if in_python and failed:
            return Outcome("failed-on-both", f"{in_python} | {message}")
        if in_python:
            return Outcome("skipped", f"Python: {in_python}")
        if failed:
            return Outcome("failed-on-one", message)
        what = in_pytorch.compare(in_pytorch.read_safetensors(scratch / "expected.safetensors"),
                                  in_pytorch.read_safetensors(scratch / "actual.safetensors"))
    return Outcome("different", what) if what else Outcome("equal")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--list", type=pathlib.Path, metavar="FILE", help="samples, one a line")
    parser.add_argument("--run", default="bazel-bin/graphnet/cli/graphnet run {sample} --inputs {inputs} "
                                         "--outputs {outputs} --seed {seed} --threads 1",
                        help="the command that runs a sample (default: %(default)s)")
    parser.add_argument("--sample", type=int, metavar="N", help="compare N random samples (default: all)")
    parser.add_argument("--stride", type=int, default=1, help="take every Nth sample")
    parser.add_argument("--seed", type=int, default=0, help="of the choice and of the inputs")
    parser.add_argument("--max-bytes", type=int, default=2 << 30,
                        help="skip samples with inputs of more bytes (default: %(default)s)")
    parser.add_argument("--max-memory", type=int, default=16 << 30,
                        help="address space that Python may take (default: %(default)s)")
    parser.add_argument("--timeout", type=int, default=300,
                        help="seconds of the processor for each run (default: %(default)s)")
    args = parser.parse_args()

    samples = in_pytorch.find_samples(args.folders)
    if args.list is not None:
        samples += [pathlib.Path(line) for line in args.list.read_text().splitlines() if line]
    samples = samples[:: args.stride]
    wanted = len(samples)
    if args.sample is not None:
        random.Random(args.seed).shuffle(samples)
        wanted = min(args.sample, wanted)

    torch.set_num_threads(1)
    counts = dict.fromkeys(["equal", "different", "failed-on-one", "failed-on-both", "skipped"], 0)
    compared = tried = 0
    for sample in samples:
        if compared == wanted:
            break
        tried += 1
        begin = time.monotonic()
        outcome = check(sample, args)
        counts[outcome.verdict] += 1
        compared += outcome.verdict not in ("failed-on-both", "skipped")
        print(f"{outcome.verdict:14} {time.monotonic() - begin:6.1f} s  {sample}"
              + (f": {outcome.reason}" if outcome.reason else ""), flush=True)

    print(f"{tried} tried: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    failed = counts["different"] + counts["failed-on-one"]
    print(f"{counts['equal']} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
