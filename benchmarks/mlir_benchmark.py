#!/usr/bin/env python3
"""Compares the cost of writing MLIR for each node with that of the tool that reads it.

    benchmarks/mlir_benchmark.py GRAPHNET TORCH_MLIR_OPT WRITER_BENCHMARK

Prints CPU microseconds a node for chains of products, sums and relu that double in length. They
should not grow. `write` is the writer alone (mlir_writer_benchmark). The others are whole
processes, best of three: `convert` from text to MLIR, `verify` by torch-mlir-opt, and its pipeline
`StableHLO`, which backend xla runs. The ratio is that of `verify` to `write`.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PIPELINE = "builtin.module(torch-function-to-torch-backend-pipeline,torch-backend-to-stablehlo-backend-pipeline)"


def chain(nodes):
    calls = ["aten.mm.default(%{}, %w)", "aten.relu.default(%{})", "aten.add.Tensor(%{}, %x)"]
    lines = ["graph @forward(%x : f32[2, 8], %w : f32[8, 8]) {"]
    last = "x"
    for i in range(nodes):
        lines.append(f"  %v{i} = {calls[i % 3].format(last)} : f32[2, 8]")
        last = f"v{i}"
    return "\n".join([*lines, f"  return (%{last},)", "}", ""])


def seconds(*command):
    """Returns the CPU seconds of a process."""
    turns = []
    for _ in range(3):
        child = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        if status != 0:
            sys.exit(f"failed: {' '.join(map(str, command))}")
        turns.append(usage.ru_utime + usage.ru_stime)
    return min(turns)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphnet")
    parser.add_argument("opt", metavar="TORCH_MLIR_OPT")
    parser.add_argument("writer", metavar="WRITER_BENCHMARK")
    args = parser.parse_args()
    print(f"{'nodes':>7} {'write':>6} {'convert':>8} {'verify':>7} {'StableHLO':>10}  ratio")
    with tempfile.TemporaryDirectory() as scratch:
        text, made = pathlib.Path(scratch) / "c.gn", pathlib.Path(scratch) / "c.mlir"
        for nodes in (2000, 4000, 8000, 16000):
            text.write_text(chain(nodes))
            convert = seconds(args.graphnet, "convert", text, made) / nodes * 1e6
            verify = seconds(args.opt, made, "-o", os.devnull) / nodes * 1e6
            stable = seconds(args.opt, f"--pass-pipeline={PIPELINE}", made, "-o", os.devnull) / nodes * 1e6
            report = subprocess.run([args.writer, text, "--benchmark_format=json"], capture_output=True, check=True)
            write = json.loads(report.stdout)["benchmarks"][0]["us/node"]
            print(f"{nodes:7} {write:6.2f} {convert:8.1f} {verify:7.1f} {stable:10.1f}  "
                  f"{verify / write:.1f}", flush=True)


if __name__ == "__main__":
    main()
