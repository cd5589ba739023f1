#!/usr/bin/env python3
"""Writes samples as MLIR and has torch-mlir-opt (package torch-mlir) verify the text.

    check_mlir.py --opt TORCH_MLIR_OPT [--stablehlo] [--sample N --seed S] PATH…

A path is a sample or a folder of samples. What graphnet refuses is counted by reason; what the
tool does not take is an error. With --stablehlo it is also turned into StableHLO, and what that
pipeline leaves is counted by its first line.
"""

import argparse
import collections
import pathlib
import random
import re
import subprocess
import sys
import tempfile

STABLEHLO = "builtin.module(torch-function-to-torch-backend-pipeline,torch-backend-to-stablehlo-backend-pipeline)"


def samples_of(path):
    if path.is_dir() and not (path / "model.py").exists():
        return sorted(model.parent for model in path.rglob("model.py"))
    return [path]


def call(*words, limit):
    try:
        return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, 124, "", f"takes over {limit} s")


def reason(stderr):
    """The kind of a message: without places, names of nodes and numbers."""
    line = next((line for line in stderr.splitlines() if "error" in line or line.startswith("graphnet:")), stderr.strip())
    return re.sub(r"^.*\(node [^)]*\): |^.*?error: |\d+", "", line)[:120]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=pathlib.Path, metavar="PATH")
    parser.add_argument("--graphnet", default="bazel-bin/graphnet/cli/graphnet")
    parser.add_argument("--opt", default="torch-mlir-opt")
    parser.add_argument("--stablehlo", action="store_true")
    parser.add_argument("--sample", type=int, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=300, help="seconds a program")
    args = parser.parse_args()
    samples = [sample for path in args.paths for sample in samples_of(path)]
    if args.sample and args.sample < len(samples):
        samples = random.Random(args.seed).sample(samples, args.sample)
    counts, refused, left = collections.Counter(), collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        text = pathlib.Path(scratch) / "a.mlir"
        for sample in samples:
            done = call(args.graphnet, "convert", sample, text, limit=args.limit)
            if done.returncode != 0:
                counts["refused"] += 1
                refused[reason(done.stderr)] += 1
                print(f"refused   {sample}: {done.stderr.strip()[:300]}", flush=True)
                continue
            done = call(args.opt, text, "-o", "/dev/null", limit=args.limit)
            if done.returncode != 0:
                counts["wrong"] += 1
                print(f"wrong     {sample}: {done.stderr.strip()[:500]}", flush=True)
                continue
            counts["verified"] += 1
            if args.stablehlo:
                done = call(args.opt, f"--pass-pipeline={STABLEHLO}", text, "-o", "/dev/null", limit=args.limit)
                if done.returncode == 0:
                    counts["in StableHLO"] += 1
                else:
                    left[reason(done.stderr)] += 1
                    print(f"left      {sample}: {done.stderr.strip()[:300]}", flush=True)
    for title, reasons in (("refused", refused), ("left by StableHLO's pipeline", left)):
        for text, count in reasons.most_common():
            print(f"{count:5} {title}: {text}")
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
