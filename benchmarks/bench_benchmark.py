#!/usr/bin/env python3
"""Measures the overhead of `graphnet bench`, with a compiler that compiles nothing.

    benchmarks/bench_benchmark.py GRAPHNET LIST [--limit 50]

LIST names small samples, one path a line. The overhead is the time
of the whole process less that of a process for one sample, and less the timed runs of the samples.
Best of three; exits with 1 if it is above the limit, in milliseconds a sample.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

TURNS = 3


def seconds(graphnet, samples):
    """Returns the wall seconds, and the part of them that is timed runs of both sides."""
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "bench"
        start = time.perf_counter()
        subprocess.run([graphnet, "bench", *samples, "--backend", "nope", "--warmup", "0", "--trials", "1", "-o", out],
                       stdout=subprocess.DEVNULL, check=True)
        wall = time.perf_counter() - start
        rows = [json.loads(line) for line in (out / "nope.jsonl").read_text().splitlines()]
    if len(rows) != len(samples) or any(row["status"] != "correct" for row in rows):
        sys.exit(f"{sum(row['status'] == 'correct' for row in rows)} of {len(samples)} samples ran")
    timed = sum(sum(map(sum, row["eager_ms"])) + sum(map(sum, row["compiled_ms"])) for row in rows)
    return wall, timed / 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphnet")
    parser.add_argument("list", type=pathlib.Path)
    parser.add_argument("--limit", type=float, default=50, help="ms a sample (default: %(default)s)")
    args = parser.parse_args()
    samples = args.list.read_text().split()
    start = min(seconds(args.graphnet, samples[:1])[0] for _ in range(TURNS))
    costs = []
    for _ in range(TURNS):
        wall, timed = seconds(args.graphnet, samples)
        costs.append(((wall - start - timed) / (len(samples) - 1) * 1e3, wall, timed))
    cost, wall, timed = min(costs)
    print(f"{len(samples)} samples in {wall:.2f} s, of which {start:.2f} s for a first one and {timed:.2f} s of timed runs")
    print(f"{cost:.1f} ms a sample around them (wanted: {args.limit:g})")
    return 0 if cost <= args.limit else 1


if __name__ == "__main__":
    sys.exit(main())
