#!/usr/bin/env python3
"""Finds fused operators in samples, and compares the bits with and without them.

    compare_fused.py count FOLDER...
    compare_fused.py run --sample 40 FOLDER...

`count` tells how many samples have calls that make up each fused operator, and how many calls
`graphnet opt --passes fuse` makes of them: all operators together, where the larger ones take what
the smaller would, and each one alone.

`run` takes samples in which an operator is found, so that each has its turn. PyTorch runs a sample
as it is, and what `fuse` and `expand-fused` make of it: the results, and what is left in the inputs,
must have the same bits. `graphnet run` runs it with the fused calls and must yield what it yields
without them.

This runs the Python text of the samples: use it on samples that you trust.
"""

import argparse
import collections
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import warnings
from typing import Dict, List

import torch

import compare_functional
import compare_outputs as common


def fused_calls(graphnet: str, paths: List[pathlib.Path], passes: str) -> Dict[str, Dict[str, int]]:
    """By sample, how many calls of which operators are made."""
    done = subprocess.run([graphnet, "opt", *map(str, paths), "--passes", passes, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"compare_fused: {done.stderr.strip()[:1000]}")
    found = {}
    for sample in json.loads(done.stdout)["samples"]:
        notes = [note for step in sample["passes"] for note in step["notes"]]
        found[sample["path"]] = {note["what"].removeprefix("calls of fused."): note["count"]
                                 for note in notes if note["what"].startswith("calls of fused.")}
    return found


def findable(graphnet: str) -> List[str]:
    """The operators that `fuse` finds: those of several calls."""
    table = pathlib.Path(__file__).parents[2] / "graphnet" / "ops" / "fused.txt"
    names = re.findall(r"^operator fused\.(\w+)", table.read_text(), re.M)
    with tempfile.NamedTemporaryFile("w", suffix=".gn") as graph:
        graph.write("graph @forward(%x) {\n  return (%x,)\n}\n")
        graph.flush()
        asked = [subprocess.run([graphnet, "opt", graph.name, "-p", f"fuse{{operators={name}}}"], capture_output=True) for name in names]
    return [name for name, done in zip(names, asked) if done.returncode == 0]


def count(args: argparse.Namespace) -> int:
    total = sum(len(common.find_samples([folder])) for folder in args.folders)
    names: List[str] = args.operators or findable(args.graphnet)
    together: collections.Counter = collections.Counter()
    calls: collections.Counter = collections.Counter()
    alone: collections.Counter = collections.Counter()
    calls_alone: collections.Counter = collections.Counter()
    any_found = 0
    for folder in args.folders:
        for per in fused_calls(args.graphnet, [folder], "fuse").values():
            any_found += bool(per)
            together.update(per.keys())
            calls.update(per)
        for name in names:
            for per in fused_calls(args.graphnet, [folder], f"fuse{{operators={name}}}").values():
                alone.update(per.keys())
                calls_alone.update(per)
    print(f"{any_found} of {total} samples have some\n")
    print("| operator | samples | calls | alone: samples | calls |\n|---|---:|---:|---:|---:|")
    for name in sorted(names, key=lambda n: (-calls[n], n)):
        print(f"| {name} | {together[name]} | {calls[name]} | {alone[name]} | {calls_alone[name]} |")
    return 0


def interpreted(args: argparse.Namespace, sample: pathlib.Path, scratch: pathlib.Path) -> str:
    """What differs between runs of the interpreter; empty if nothing."""
    outputs = []
    for name, path in (("plain", sample), ("fused", scratch / "fused.pb")):
        out = scratch / f"{name}.safetensors"
        done = subprocess.run([args.graphnet, "run", str(path), "--seed", str(args.seed), "-o", str(out)],
                              capture_output=True, text=True, timeout=20 * args.timeout)
        if done.returncode != 0:
            return ("skipped: " if name == "plain" else "") + f"{name} does not run: {done.stderr.strip()[:300]}"
        outputs.append(out.read_bytes())
    return "" if outputs[0] == outputs[1] else "graphnet run yields other bits"


def run(args: argparse.Namespace) -> int:
    samples = common.find_samples(args.folders)
    random.Random(args.seed).shuffle(samples)
    counts: collections.Counter = collections.Counter()
    of_operator: collections.Counter = collections.Counter()
    for sample in samples:
        if counts["equal"] + counts["different"] == args.sample:
            break
        if common.declared_bytes(common.read_metas(sample)) > args.max_bytes:
            continue
        with tempfile.TemporaryDirectory() as name:
            scratch = pathlib.Path(name)
            done = subprocess.run([args.graphnet, "opt", str(sample), "--passes", "fuse", "--verify-each", "--json",
                                   "-o", str(scratch / "fused.pb")], capture_output=True, text=True)
            if done.returncode != 0:
                counts["different"] += 1
                print(f"different  {sample}: {done.stderr.strip()[:500]}", flush=True)
                continue
            notes = json.loads(done.stdout)["samples"][0]["passes"][0]["notes"]
            found = [note["what"].removeprefix("calls of fused.") for note in notes]
            # One whose operators all had their turn more often than others may wait.
            if not found or min(of_operator[f] for f in found) > args.sample // 4:
                continue
            subprocess.run([args.graphnet, "opt", str(sample), "--passes", "fuse,expand-fused", "--verify-each",
                            "-o", str(scratch / "made")], capture_output=True, check=True)
            receiver, sender = compare_functional.FORK.Pipe(duplex=False)
            process = compare_functional.FORK.Process(target=compare_functional.child, args=(sample, scratch / "made", args, sender))
            process.start()
            sender.close()
            try:
                what = receiver.recv() if receiver.poll(4 * args.timeout) else "skipped: too slow"
            except EOFError:
                what = "skipped: the process died"
            process.kill()
            process.join()
            if not what:
                what = interpreted(args, sample, scratch)
        if what.startswith("skipped"):
            counts["skipped"] += 1
            print(f"{sample}: {what}", flush=True)
            continue
        counts["different" if what else "equal"] += 1
        of_operator.update(found)
        print(f"{'different' if what else 'equal'}  {sample}: {', '.join(found)} {what}", flush=True)
    for operator, n in of_operator.most_common():
        print(f"{n:4} samples with {operator}")
    print(f"{counts['equal']} passed, {counts['different']} failed, {counts['skipped']} did not run here")
    return 1 if counts["different"] else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphnet", default="bazel-bin/graphnet/cli/graphnet")
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("count")
    one.add_argument("folders", nargs="+", type=pathlib.Path, metavar="FOLDER")
    one.add_argument("--operators", nargs="+", help="only these, each alone")
    one.set_defaults(run=count)
    one = commands.add_parser("run")
    one.add_argument("folders", nargs="+", type=pathlib.Path, metavar="FOLDER")
    one.add_argument("--sample", type=int, default=40, metavar="N")
    one.add_argument("--seed", type=int, default=0)
    one.add_argument("--max-bytes", type=int, default=100 << 20)
    one.add_argument("--max-memory", type=int, default=6 << 30)
    one.add_argument("--timeout", type=int, default=60, help="seconds of the processor for each run")
    one.set_defaults(run=run)
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    return args.run(args)


if __name__ == "__main__":
    sys.exit(main())
