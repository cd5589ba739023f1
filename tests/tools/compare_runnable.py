#!/usr/bin/env python3
"""Runs the Python that `graphnet show --runnable` writes, and compares its results with those of
`graphnet run`, bit for bit.

    compare_runnable.py [--graphnet G] SAMPLE…

It needs the packages torch and safetensors. The exit status is 0 if all are equal.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import safetensors.torch
import torch


def bits(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().view(-1).view(torch.uint8)


def compare(graphnet: str, sample: pathlib.Path, folder: pathlib.Path) -> str:
    """What is wrong; empty if nothing is."""
    program, in_python, in_graphnet = folder / "net.py", folder / "python.safetensors", folder / "graphnet.safetensors"
    for words in ([graphnet, "show", str(sample), "-o", str(program), "--runnable"],
                  [sys.executable, str(program), str(in_python)],
                  [graphnet, "run", str(sample), "--threads", "1", "-o", str(in_graphnet)]):
        done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
        if done.returncode != 0:
            return f"{' '.join(words[:2])}: {(done.stderr.strip() or done.stdout.strip()).splitlines()[-1]}"
    a, b = safetensors.torch.load_file(in_python), safetensors.torch.load_file(in_graphnet)
    if a.keys() != b.keys():
        return f"results {sorted(a)} and {sorted(b)}"
    for name in a:
        if (a[name].dtype, a[name].shape) != (b[name].dtype, b[name].shape) or not bits(a[name]).equal(bits(b[name])):
            return f"{name} differs"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("samples", nargs="+", type=pathlib.Path)
    parser.add_argument("--graphnet", default="bazel-bin/graphnet/cli/graphnet")
    options = parser.parse_args()
    graphnet = str(pathlib.Path(options.graphnet).resolve())
    failed = 0
    for sample in options.samples:
        with tempfile.TemporaryDirectory() as folder:
            wrong = compare(graphnet, sample.resolve(), pathlib.Path(folder))
        failed += bool(wrong)
        if wrong:
            print(f"FAIL {sample}: {wrong}")
    print(f"{len(options.samples) - failed} equal, {failed} not")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
