#!/usr/bin/env python3
"""Decomposes samples in several ways and runs each piece by itself, by graphnet.

    run_each_piece.py --sample 200 FOLDER...

Counts the pieces that run, and says of the others why not; exits with 1 if there are any.
What pieces yield together is compared by run_pieces.py.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import compare_outputs as common

WAYS = [["--pieces", "4", "--style", "chain"], ["--pieces", "6", "--style", "dag"],
        ["--balanced", "3", "--style", "dag"], ["--blocks", "--style", "dag"]]


def run(command, timeout):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return 124, "", "too slow"
    return done.returncode, done.stdout, done.stderr.strip().split("\n")[0]


def check(graphnet, sample, way, options):
    """(pieces, [why one does not run])"""
    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.join(scratch, "pieces")
        command = [graphnet, "decompose", str(sample), "-o", out, "--format", options.format,
                   *options.more.split(), *way]
        code, _, error = run(command, options.timeout)
        if code:
            return 0, [] if "no repeated" in error else [f"decompose: {error}"]
        code, printed, error = run([graphnet, "run", out, "--threads", "1", "--json"], options.timeout)
        if code == 124 or not printed:
            return 0, [f"run: {error}"]
        pieces = json.loads(printed)["samples"]
        failed = [f"{os.path.basename(piece['path'])}: {piece['error']['message']}"
                  for piece in pieces if "error" in piece]
        return len(pieces), failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--graphnet", default="bazel-bin/graphnet/cli/graphnet")
    parser.add_argument("--sample", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--max-bytes", type=int, default=10**9, help="of a sample's weights and inputs")
    parser.add_argument("--format", default="graphnet")
    parser.add_argument("--more", default="", help="options of graphnet decompose")
    parser.add_argument("--timeout", type=int, default=600)
    options = parser.parse_args()
    samples = common.find_samples(options.folders)
    random.Random(options.seed).shuffle(samples)
    tasks = []
    for sample in samples:
        if common.declared_bytes(common.read_metas(sample)) <= options.max_bytes:
            tasks += [(sample, way) for way in WAYS]
        if len(tasks) == options.sample * len(WAYS):
            break
    pieces = 0
    reasons = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {pool.submit(check, options.graphnet, sample, way, options): (sample, way)
                for sample, way in tasks}
        for job in concurrent.futures.as_completed(jobs):
            count, failed = job.result()
            pieces += count
            for line in failed:
                sample, way = jobs[job]
                print(f"{sample} {' '.join(way)}: {line}", flush=True)
                reasons[re.sub(r"[\w.]*\d[\w.]*", "N", line)] += 1
    failed = sum(reasons.values())
    print(f"{len(tasks)} decompositions of {len(tasks) // len(WAYS)} samples: "
          f"{pieces - failed} pieces run, {failed} do not")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
