#!/usr/bin/env python3
"""Measures `graphnet score` on a log of many samples, from the start of the process to its end.

    benchmarks/score_benchmark.py GRAPHNET [--samples 100000] [--limit 2]

The log (tests/evaluate/make_score_log.py: 64 comparisons a sample) is written anew and is in memory
when it is read. Prints the best of five and the peak of memory, and for comparison, as the physical
limit, `wc -l`, which reads the same bytes. Exits with 1 if it is above the limit, in seconds.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/evaluate"))
import make_score_log  # noqa: E402

TURNS = 5


def best(command):
    """Returns wall and CPU seconds of the fastest turn, and the peak of memory in MB."""
    turns = []
    for _ in range(TURNS):
        start = time.perf_counter()
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        if status != 0:
            sys.exit(f"failed: {' '.join(map(str, command))}")
        turns.append((time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3))
    return min(turns)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphnet")
    parser.add_argument("--samples", type=int, default=100000)
    parser.add_argument("--limit", type=float, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "made.log")
        make_score_log.write_log(options.samples, log)
        size = os.path.getsize(log)
        html = os.path.join(folder, "page.html")
        rows = {"wc -l": ["wc", "-l", log],
                "score": [options.graphnet, "score", log],
                "score --jobs 1": [options.graphnet, "score", log, "--jobs", "1"],
                "score --json": [options.graphnet, "score", log, "--json"],
                "score --html": [options.graphnet, "score", log, "--html", html]}
        print(f"{options.samples} samples, {size / 1e6:.0f} MB")
        slow = []
        for name, command in rows.items():
            wall, cpu, memory = best(command)
            print(f"{name}: {wall:.2f} s, CPU {cpu:.2f} s, {size / wall / 1e6:.0f} MB/s, {memory:.0f} MB in memory")
            if wall > options.limit:
                slow.append(name)
        print(f"the page: {os.path.getsize(html) / 1e6:.1f} MB")
    if slow:
        print(f"over {options.limit} s: {', '.join(slow)}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
