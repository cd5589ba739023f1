#!/usr/bin/env python3
"""Compares graphs that another capture of the same models made with those of graphnet_ir.extract.

usage: compare_peer_graphs.py PEER ZOO [--names A,B] [--out FOLDER]

PEER has a GraphNet folder NAME for each model, and NAME.json with what making it cost: extract_s,
peak_mb. ZOO has names.txt, lines such as `timm levit_128s`, and export_zoo.py, whose
build(source, name) makes the model and its inputs. Each model is captured in a process of its own.
Two graphs are the same as they stand, or in normal form (docs/hash.md); the table says which, and
in what they differ as they stand. FOLDER keeps the captures; who is there already is not captured
again.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from typing import Any, Dict, List

Row = Dict[str, Any]


def capture(zoo: str, source: str, name: str, out: str) -> Row:
    """Captures one model in this process, and says what the first call costs."""
    sys.path.insert(0, zoo)
    import export_zoo  # type: ignore[import-not-found]
    import torch

    import graphnet_ir

    torch.manual_seed(0)
    model, inputs = export_zoo.build(source, name)
    model.eval()
    os.makedirs(out, exist_ok=True)
    with torch.no_grad():
        model(*inputs)
        extracted = graphnet_ir.extract(model, name=name, workspace=out)
        begin, begin_processor = time.perf_counter(), time.process_time()
        extracted(*inputs)
        seconds, processor = time.perf_counter() - begin, time.process_time() - begin_processor
    return {"name": name, "graphs": len(extracted.capture.kept()), "seconds": seconds,
            "processor": processor,
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def differences(theirs: Any, made: Any) -> str:
    """In what two graphs differ: calls of other names first, of one function if these end alike."""
    import graphnet_ir

    targets = [collections.Counter(node.target for node in sample.graph.nodes
                                   if node.op.startswith("call")) for sample in (theirs, made)]
    ours = targets[1] - targets[0]
    other = {target.rpartition(".")[2]: (target, count)
             for target, count in (targets[0] - targets[1]).items()}
    same = {target: other[target.rpartition(".")[2]][0] for target, count in ours.items()
            if other.get(target.rpartition(".")[2], ("", 0))[1] == count}
    if len(same) == len(ours) == len(other):
        return ", ".join(f"{ours[target]} × {target} for {peers}"
                         for target, peers in sorted(same.items()))
    found = graphnet_ir.diff(theirs, made).differences
    return f"{len(found)} differences, the first: {found[0].text}"


def compare(peer: str, ours: str) -> Row:
    """Whether two folders hold the same graph, and in what they differ as they stand."""
    import graphnet_ir

    theirs, made = graphnet_ir.load(peer), graphnet_ir.load(ours)
    if graphnet_ir.hash(theirs) == graphnet_ir.hash(made):
        return {"same": "equal", "why": ""}
    normal = [graphnet_ir.hash(graphnet_ir.normal_form(sample)) for sample in (theirs, made)]
    return {"same": "equal in normal form" if normal[0] == normal[1] else "differ",
            "why": differences(theirs, made)}


def row_of(peer: str, zoo: str, source: str, name: str, out: str) -> Row:
    costs = os.path.join(out, name + ".json")
    if not os.path.exists(costs):
        done = subprocess.run(
            [sys.executable, os.path.abspath(__file__), peer, zoo, "--one", f"{source} {name}",
             "--out", out], capture_output=True, text=True, check=False)
        if done.returncode:
            why = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1][:150]
            return {"name": name, "same": "no capture", "why": why}
        with open(costs, "w", encoding="utf-8") as file:
            file.write(done.stdout.splitlines()[-1])
    with open(costs, encoding="utf-8") as file:
        row: Row = json.load(file)
    with open(os.path.join(peer, name + ".json"), encoding="utf-8") as file:
        row["peer"] = json.load(file)
    if row["graphs"] != 1:
        return {**row, "same": "differ", "why": f"{row['graphs']} graphs instead of one"}
    return {**row, **compare(os.path.join(peer, name), os.path.join(out, name))}


def print_table(rows: List[Row]) -> None:
    print("| model | graph | as they stand | peer | graphnet | peer | graphnet |")
    print("|---|---|---|---:|---:|---:|---:|")
    for row in rows:
        cost = ("| | | |" if "peer" not in row else
                f"{row['peer']['extract_s']:.1f} s | {row['processor']:.1f} s | "
                f"{row['peer']['peak_mb']:.0f} MB | {row['peak_mb']:.0f} MB |")
        print(f"| {row['name']} | {row['same']} | {row['why']} | {cost}")
    counts = collections.Counter(row["same"] for row in rows)
    print("\n" + ", ".join(f"{count} {same}" for same, count in sorted(counts.items())))
    known = [row for row in rows if "peer" in row]
    if known:
        print(f"In all {sum(row['peer']['extract_s'] for row in known):.0f} and "
              f"{sum(row['processor'] for row in known):.0f} s, at most "
              f"{max(row['peer']['peak_mb'] for row in known):.0f} and "
              f"{max(row['peak_mb'] for row in known):.0f} MB.")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("peer")
    parser.add_argument("zoo")
    parser.add_argument("--names", default="")
    parser.add_argument("--one", default="")
    parser.add_argument("--out", default="")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    if args.one:
        print(json.dumps(capture(args.zoo, *args.one.split(), args.out)))
        return 0
    rows: List[Row] = []
    with tempfile.TemporaryDirectory() as folder, open(
            os.path.join(args.zoo, "names.txt"), encoding="utf-8") as lines:
        for line in lines:
            source, name = line.split()
            if args.names and name not in args.names.split(","):
                continue
            rows.append(row_of(args.peer, args.zoo, source, name, args.out or folder))
            print(f"{name}: {rows[-1]['same']}", file=sys.stderr, flush=True)
    print_table(rows)
    return 0 if {row["same"] for row in rows} <= {"equal", "equal in normal form"} else 1


if __name__ == "__main__":
    sys.exit(main())
