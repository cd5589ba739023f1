#!/usr/bin/env python3
"""Measures how long the tool takes to start: `graphnet show` of small samples, one process each.

    benchmarks/start_benchmark.py GRAPHNET SAMPLE... [--baseline GRAPHNET] [--libtorch FOLDER]

Prints milliseconds a process, wall and CPU (user and system), of each command on the first sample
and of show over all of them. The baseline is another build of the tool, or the same one with
LibTorch loaded at the start of the process, which shows the cost of linking it.
"""
import argparse
import os
import statistics
import sys
import time

SMALL = 200_000  # bytes
TURNS = 3


def run(command, environment):
    """Returns wall and CPU seconds of one process."""
    start = time.perf_counter()
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        os.execve(command[0], command, environment)
    _, status, usage = os.wait4(child, 0)
    if status != 0:
        sys.exit(f"failed: {' '.join(command)}")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("samples", nargs="+")
    parser.add_argument("--baseline")
    parser.add_argument("--libtorch")
    args = parser.parse_args()
    plain = dict(os.environ)
    sides = {"graphnet": (args.tool, plain)}
    if args.baseline:
        sides["baseline"] = (args.baseline, plain)
    if args.libtorch:
        sides["with LibTorch"] = (
            args.tool, plain | {"LD_PRELOAD": f"{args.libtorch}/lib/libtorch.so"})
    small = [name for name in args.samples if os.path.getsize(name) < SMALL]
    rows = {"--help": [["--help"]]}
    for command in ("stats", "check"):
        rows[command] = [[command, small[0]]]
    rows["opt --passes=dce"] = [["opt", small[0], "--passes=dce", "-o", "/dev/null", "--to", "text"]]
    rows[f"show of {len(small)} samples"] = [["show", name] for name in small]
    for name, commands in rows.items():
        turns = {side: [] for side in sides}
        for _ in range(TURNS if len(commands) > 1 else 20):
            for side, (tool, environment) in sides.items():
                times = [run([tool, *command], environment) for command in commands]
                turns[side].append([statistics.mean(column) * 1e3 for column in zip(*times)])
        best = {side: [min(column) for column in zip(*found)] for side, found in turns.items()}
        said = [f"{side} {wall:.1f} ms, CPU {cpu:.1f} ms" for side, (wall, cpu) in best.items()]
        ratios = [f"{best[side][0] / best['graphnet'][0]:.1f}x"
                  for side in sides if side != "graphnet"]
        print(f"{name}: {'; '.join(said)} {' '.join(ratios)}")


if __name__ == "__main__":
    main()
