#!/usr/bin/env python3
"""Divides GraphNet samples over meshes and has `graphnet shard --check` run what was written.

    check_shard.py --graphnet PROGRAM [--mesh 2x2]... SAMPLE...
    check_shard.py --graphnet PROGRAM [--mesh 2x2]... --corpus FOLDER --count 20 --seed 1

Inputs are divided along the last axis of the mesh but one by what they are: data (of the arguments
those that are no parameters and no buffers) along the batch, which is made as large as the mesh
needs it where the graph bears that, or else along the next dimension that can be divided; weights
of two or more dimensions, the outputs of a layer along its first, where it has at least as many as
inputs, else the inputs, so that sums are divided, too. Both only as far as the axis divides them.
What differs by more than rounding may in a layer, and yet in a deep network, is computed anew in
float64, where it must not. With --corpus so many samples are chosen at random, of each source as many as of any other.

A line a sample and mesh; the exit status is 1 if one is not right.
"""

import argparse
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Dict, List, Optional, Tuple

SIZES = {"f64": 8, "i64": 8, "f16": 2, "bf16": 2, "i16": 2, "i8": 1, "u8": 1, "bool": 1}


def numbers(shape: List, symbols: Dict[str, int]) -> Optional[List[int]]:
    """Sizes as they were in the example; none where one is not known."""
    sizes = [symbols.get(size) if isinstance(size, str) else size for size in shape]
    return None if any(size is None for size in sizes) else sizes


class Sample:
    """What is known of the inputs of a sample."""

    def __init__(self, graphnet: str, path: str):
        self.path = path
        shown = subprocess.run([graphnet, "show", path, "--json"], capture_output=True, text=True, check=True)
        outline = json.loads(shown.stdout)
        symbols = {s["name"]: s.get("example") for s in outline.get("symbols", [])}
        text = (pathlib.Path(path) / "model.py").read_text()
        # Values have names of their own, in lower case; options take those of the arguments.
        arguments = dict(re.findall(r"^        (\w+)(?:: ([\w.]+))?,$", text, re.MULTILINE))
        names = {name.lower(): name for name in arguments}
        self.data: Dict[str, Tuple[str, List[int]]] = {}
        self.weights: Dict[str, List[int]] = {}
        self.bytes = 0
        for entry in outline["inputs"]:
            sizes = numbers(entry.get("shape", []), symbols)
            if not sizes:
                continue
            count = SIZES.get(entry["dtype"], 4)
            for size in sizes:
                count *= size
            self.bytes += count
            name = names.get(entry["name"].lower(), entry["name"])
            if arguments.get(name, "").endswith("Parameter"):
                self.weights[name] = sizes
            elif "buffer" not in name:
                self.data[name] = (entry["dtype"], sizes)


def mapping(rank: int, dim: int, axis: int) -> str:
    return ",".join(str(axis if i == dim else -1) for i in range(rank))


def options(sample: Sample, mesh: List[int], widened: bool) -> List[str]:
    batch_axis, weight_axis = 0, len(mesh) - 1
    made = []
    for name, (dtype, sizes) in sample.data.items():
        sizes = list(sizes)
        if widened:
            sizes[0] *= mesh[batch_axis] if sizes[0] % mesh[batch_axis] else 1
            if sizes != sample.data[name][1]:
                made += ["--input", f"{name}={dtype}[{','.join(map(str, sizes))}]"]
        for dim, size in enumerate(sizes):
            if size % mesh[batch_axis] == 0:
                made += ["--shard", f"{name}:{mapping(len(sizes), dim, batch_axis)}"]
                break
    for name, sizes in sample.weights.items():
        if len(sizes) < 2:
            continue
        dim = 0 if sizes[0] >= sizes[1] else 1
        if sizes[dim] % mesh[weight_axis] == 0:
            made += ["--shard", f"{name}:{mapping(len(sizes), dim, weight_axis)}"]
    return made


def check(graphnet: str, sample: Sample, mesh_text: str, folder: str, seconds: int) -> Tuple[bool, str]:
    mesh = [int(size) for size in mesh_text.split("x")]
    said = ""
    # With a larger batch, if the graph runs with it.
    for widened in (True, False):
        command = [graphnet, "shard", sample.path, "--mesh", mesh_text, "--check", "--json", "-o", folder,
                   *options(sample, mesh, widened)]
        shutil.rmtree(folder, ignore_errors=True)
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            return False, f"takes longer than {seconds} s"
        try:
            document = json.loads(done.stdout)
        except ValueError:
            return False, f"exit code {done.returncode}: {done.stderr.strip()[-300:]}"
        if "error" in document:
            said = document["error"]["message"]
            if widened and "--input" in command:
                continue
            return False, said
        states: Dict[str, int] = {}
        for output in document["checked"]:
            states[output["state"]] = states.get(output["state"], 0) + 1
        talk = " ".join(f"{call}:{row['times']}" for call, row in document["communication"].items())
        whole = sum(document["replicated"].values())
        worst = max((o["max_difference"] or 0 for o in document["checked"]), default=0)
        line = (f"batch {'widened' if '--input' in command else 'as it is'}, "
                f"{document['divided_inputs']} of {document['num_inputs']} inputs divided, "
                f"{talk or 'no communication'}, {whole} calls whole; " +
                ", ".join(f"{count} {state}" for state, count in states.items()) +
                f" (at most {worst:.2g})")
        if document["notes"]:
            line += f"; {document['notes'][0][:150]}"
        bad = [f"{o['name']} {o.get('how', '')}" for o in document["checked"] if o["state"] == "different"]
        return document["right"] and bool(document["checked"]), line + ("; " + "; ".join(bad[:3]) if bad else "")
    return False, said


def choose(corpus: str, count: int, seed: int) -> List[str]:
    by_source: Dict[str, List[str]] = {}
    for marker in sorted(pathlib.Path(corpus).rglob("graph_net.json")):
        by_source.setdefault(marker.relative_to(corpus).parts[0], []).append(str(marker.parent))
    generator = random.Random(seed)
    for paths in by_source.values():
        generator.shuffle(paths)
    chosen: List[str] = []
    while len(chosen) < count and any(by_source.values()):
        chosen += [paths.pop() for paths in by_source.values() if paths]
    return chosen


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("samples", nargs="*")
    parser.add_argument("--graphnet", required=True)
    parser.add_argument("--mesh", action="append", default=[])
    parser.add_argument("--corpus")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--max-bytes", type=int, default=300 << 20, help="of inputs and weights; larger ones are left out")
    parser.add_argument("--timeout", type=int, default=300)
    arguments = parser.parse_args()
    samples = list(arguments.samples)
    wanted = len(samples) + (arguments.count if arguments.corpus else 0)
    if arguments.corpus:
        samples += choose(arguments.corpus, 10**6, arguments.seed)
    right = checked = taken = 0
    with tempfile.TemporaryDirectory() as scratch:
        for path in samples:
            if taken == wanted:
                break
            sample = Sample(arguments.graphnet, path)
            if sample.bytes > arguments.max_bytes:
                continue
            taken += 1
            for mesh in arguments.mesh or ["2x2", "4"]:
                begin = time.monotonic()
                good, line = check(arguments.graphnet, sample, mesh, scratch + "/shards", arguments.timeout)
                if not good and " different" in line:
                    shutil.rmtree(scratch + "/wide", ignore_errors=True)
                    widen = "change-dtype{to=float64}"
                    subprocess.run([arguments.graphnet, "opt", path, "--passes", widen, "-o", scratch + "/wide"],
                                   capture_output=True, check=True)
                    good, line = check(arguments.graphnet, Sample(arguments.graphnet, scratch + "/wide"), mesh,
                                       scratch + "/shards", arguments.timeout)
                    line = "in float64: " + line
                checked += 1
                right += good
                print(f"{'right' if good else 'WRONG'} {path} over {mesh}, {time.monotonic() - begin:.0f} s: {line}", flush=True)
    print(f"{right} of {checked} right")
    return 0 if checked and right == checked else 1


if __name__ == "__main__":
    sys.exit(main())
