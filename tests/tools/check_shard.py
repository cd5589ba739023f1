#!/usr/bin/env python3
"""Divides GraphNet samples over meshes and has `graphnet shard --check` run what was written.

    check_shard.py --graphnet PROGRAM [--mesh 2x2]... SAMPLE...
    check_shard.py --graphnet PROGRAM [--mesh 2x2]... --corpus FOLDER --count 20 --seed 1
    check_shard.py --graphnet PROGRAM --pipeline [--python PYTHON] [--ranks 2] [--micro-batches 4] SAMPLE...

Inputs are divided along the last axis of the mesh but one by what they are: data (of the arguments
those that are no parameters and no buffers) along the batch, which is made as large as the mesh
needs it where the graph bears that, or else along the next dimension that can be divided; weights
of two or more dimensions, the outputs of a layer along its first, where it has at least as many as
inputs, else the inputs, so that sums are divided, too. Both only as far as the axis divides them.
What differs by more than rounding may in a layer, and yet in a deep network, is computed anew in
float64, where it must not. With --corpus so many samples are chosen at random, of each source as many as of any other.

With --pipeline, samples run as pipelines of two stages on processes of PyTorch and are compared with the whole.
The layers of a sample are the numbered modules that most parameters are of, "encoder.layer.3". The
first half of them, with the modules whose parameters come before, is the first stage, all else is
the second. Each has as many ranks as --ranks says, over which weights of two dimensions are divided
along the first, as far as that can be.

`graphnet shard --check` runs the ranks in one process, and examples/shard_launcher.py as
processes, which are compared with `graphnet run`. With --micro-batches N they run N batches of the
size that the sample has, of other data each, and are compared with N runs of the sample, joined.
What differs in float32, as sums of another order do in a deep network, is divided anew in
float64, where it must not.
PYTHON must have torch.

A line a sample and mesh; the exit status is 1 if one is not right.
"""

import argparse
import json
import os
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


# --- Pipelines


LAUNCHER = pathlib.Path(__file__).parents[2] / "examples" / "shard_launcher.py"
# Run by PYTHON, which has torch: the data among the values of a folder for one rank, by the names of
# the sample, and tensors of several files joined along their first dimension.
TENSORS = """
import json, pathlib, sys
sys.path.insert(0, sys.argv[1])
import shard_launcher, torch
what, out, rest = sys.argv[2], sys.argv[3], sys.argv[4:]
if what == "data":
    folder = pathlib.Path(rest[0])
    values = shard_launcher.read_safetensors(folder / "rank_0.safetensors")
    plan = json.loads((folder / "plan.json").read_text())
    made = {i["name"]: values[i["argument"]] for i in plan["inputs"] if i["name"] in rest[1:]}
else:
    files = [shard_launcher.read_safetensors(path) for path in rest]
    made = {name: torch.cat([file[name] for file in files]) for name in files[0]}
shard_launcher.write_safetensors(made, out)
"""


def parameters(path: str) -> List[str]:
    text = (pathlib.Path(path) / "model.py").read_text()
    names = re.findall(r"^        (\w+)(?:: [\w.]+)?,$", text, re.MULTILINE)
    return list(dict.fromkeys(name for name in names
                              if "_parameters_" in name or "_buffers_" in name))


def module_of(name: str) -> List[str]:
    path = re.sub(r"_parameters_\w+_$|_buffers_\w+_$", "", name)
    return [part for part in re.split(r"_?modules_", re.sub("^[lL]_self_?", "", path)) if part]


def stages(names: List[str]) -> Tuple[str, str]:
    """What --stage takes, without the meshes."""
    paths = [module_of(name) for name in names]
    heads: Dict[Tuple[str, ...], set] = {}
    for path in paths:
        for i, part in enumerate(path):
            if part.isdigit():
                heads.setdefault(tuple(path[:i]), set()).add(int(part))
                break
    head = max(heads, key=lambda h: sum(tuple(p[:len(h)]) == h for p in paths))
    numbers = sorted(heads[head])
    middle = numbers[len(numbers) // 2]
    layers = ".".join(head)
    sides: Tuple[List[str], List[str]] = ([f"{layers}.0-{middle - 1}"],
                                          [f"{layers}.{middle}-{numbers[-1]}"])
    seen = False
    for path in paths:
        if tuple(path[:len(head)]) == head and len(path) > len(head):
            seen = True
        else:
            place = ".".join(path)
            if place and all(place not in side for side in sides):
                sides[int(seen)].append(place)
    return ",".join(sides[0]), ",".join(sides[1])


def differing(document: Dict) -> List[str]:
    return [f"{o['name']} {o.get('how', '')}" for o in document["checked"]
            if o["state"] == "different"]


class Failed(Exception):
    pass


def run_command(*command: str, seconds: int = 500, codes: Tuple[int, ...] = (0,)) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    if done.returncode not in codes:
        raise Failed(f"{os.path.basename(command[0])} {command[1]}: exit code {done.returncode}: "
                     + (done.stderr + done.stdout).strip()[-300:])
    return done.stdout


def data(sample: Sample) -> Dict[str, Tuple[str, List[int]]]:
    return {name: what for name, what in sample.data.items()
            if "_parameters_" not in name and "_buffers_" not in name}


def input_words(sample: Sample) -> List[str]:
    made = []
    for name, (dtype, sizes) in data(sample).items():
        text = f"{name}={dtype}[{','.join(map(str, sizes))}]"
        # Tokens; of what says which are there, or of which kind, there is 0 and 1.
        if dtype == "i64":
            text += ":0..1" if re.search("mask|type", name) else ":0..99"
        made += ["--input", text]
    return made


def check_pipeline(arguments: argparse.Namespace, path: str, scratch: str) -> str:
    g, n = arguments.graphnet, arguments.ranks
    sample = Sample(g, path)
    first, second = stages(parameters(path))
    command = [g, "shard", path, "--mesh", f"first={n}", "--mesh", f"second={n}", "--stage",
               f"{first}:first", "--stage", f"{second}:second", *input_words(sample),
               "--shard", "*weight*:0,-1", "--values", "--check", "--json", "-o", scratch + "/ranks"]
    # What differs is told in what is printed.
    document = json.loads(run_command(*command, codes=(0, 1)))
    if not document["right"]:
        raise Failed("; ".join(differing(document)))
    talk = " ".join(f"{call}:{row['times']}" for call, row in document["communication"].items())
    whole, batch = scratch + "/whole.safetensors", scratch + "/batch.safetensors"
    launch = [arguments.python, str(LAUNCHER), scratch + "/ranks", "--expect", whole]
    run_command(g, "run", path, *input_words(sample), "--outputs", whole)
    begin = time.monotonic()
    said = [run_command(*launch).strip().splitlines()[-1]]
    seconds = time.monotonic() - begin
    if arguments.micro_batches > 1:
        parts: Dict[str, List[str]] = {"data": [], "outputs": []}
        tensors = [arguments.python, "-c", TENSORS, str(LAUNCHER.parent)]
        for i in range(arguments.micro_batches):
            for what, files in parts.items():
                files.append(f"{scratch}/{what}_{i}.safetensors")
            run_command(g, "shard", path, *input_words(sample), "--mesh", "1", "--values", "--seed", str(i), "-o",
                scratch + "/one")
            run_command(*tensors, "data", parts["data"][i], scratch + "/one", *data(sample))
            run_command(g, "run", path, *input_words(sample), "--inputs", parts["data"][i], "--outputs",
                parts["outputs"][i])
        run_command(*tensors, "join", batch, *parts["data"])
        run_command(*tensors, "join", whole, *parts["outputs"])
        said.append(run_command(*launch, "--inputs", batch, "--micro-batches",
                        str(arguments.micro_batches)).strip().splitlines()[-1])
    return f"{first} | {second}: {talk}; {'; '.join(said)}; {seconds:.0f} s"


def check_pipelines(arguments: argparse.Namespace) -> int:
    right = 0
    for path in arguments.samples:
        with tempfile.TemporaryDirectory() as scratch:
            for wide in (False, True):
                sample = path
                if wide:
                    sample = scratch + "/wide"
                    run_command(arguments.graphnet, "opt", path, "--passes", "change-dtype{to=float64}",
                        "-o", sample)
                try:
                    line = check_pipeline(arguments, sample, scratch)
                except (Failed, subprocess.TimeoutExpired) as error:
                    print(f"{'WRONG' if wide else 'in float32:'} {path}: {error}", flush=True)
                    continue
                right += 1
                print(f"right {path}{' in float64' if wide else ''} on {arguments.ranks} + "
                      f"{arguments.ranks}: {line}", flush=True)
                break
    print(f"{right} of {len(arguments.samples)} right")
    return 0 if right == len(arguments.samples) else 1


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
    parser.add_argument("--pipeline", action="store_true")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--micro-batches", type=int, default=4)
    arguments = parser.parse_args()
    if arguments.pipeline:
        return check_pipelines(arguments)
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
