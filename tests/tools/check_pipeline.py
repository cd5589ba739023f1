#!/usr/bin/env python3
"""Runs samples as pipelines of two stages on processes of PyTorch and compares them with the whole.

    check_pipeline.py --graphnet PROGRAM [--python PYTHON] [--ranks 2] [--micro-batches 4] SAMPLE...

The layers of a sample are the numbered modules that most parameters are of, "encoder.layer.3". The
first half of them, with the modules whose parameters come before, is the first stage, all else is
the second. Each has as many ranks as --ranks says, over which weights of two dimensions are divided
along the first, as far as that can be.

`graphnet shard --check` runs the ranks in one process, and examples/shard_launcher.py as
processes, which are compared with `graphnet run`. With --micro-batches N they run N batches of the
size that the sample has, of other data each, and are compared with N runs of the sample, joined.
What differs in float32, as sums of another order do in a deep network, is divided anew in
float64, where it must not. A line a sample; the exit status is 1 if one is not right. PYTHON must
have torch.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from typing import Dict, List, Tuple

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from check_shard import Sample  # noqa: E402

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


def run(*command: str, seconds: int = 500, codes: Tuple[int, ...] = (0,)) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    if done.returncode not in codes:
        raise Failed(f"{os.path.basename(command[0])} {command[1]}: exit code {done.returncode}: "
                     + (done.stderr + done.stdout).strip()[-300:])
    return done.stdout


def data(sample: Sample) -> Dict[str, Tuple[str, List[int]]]:
    return {name: what for name, what in sample.data.items()
            if "_parameters_" not in name and "_buffers_" not in name}


def inputs(sample: Sample) -> List[str]:
    made = []
    for name, (dtype, sizes) in data(sample).items():
        text = f"{name}={dtype}[{','.join(map(str, sizes))}]"
        # Tokens; of what says which are there, or of which kind, there is 0 and 1.
        if dtype == "i64":
            text += ":0..1" if re.search("mask|type", name) else ":0..99"
        made += ["--input", text]
    return made


def check(arguments: argparse.Namespace, path: str, scratch: str) -> str:
    g, n = arguments.graphnet, arguments.ranks
    sample = Sample(g, path)
    first, second = stages(parameters(path))
    command = [g, "shard", path, "--mesh", f"first={n}", "--mesh", f"second={n}", "--stage",
               f"{first}:first", "--stage", f"{second}:second", *inputs(sample),
               "--shard", "*weight*:0,-1", "--values", "--check", "--json", "-o", scratch + "/ranks"]
    # What differs is told in what is printed.
    document = json.loads(run(*command, codes=(0, 1)))
    if not document["right"]:
        raise Failed("; ".join(differing(document)))
    talk = " ".join(f"{call}:{row['times']}" for call, row in document["communication"].items())
    whole, batch = scratch + "/whole.safetensors", scratch + "/batch.safetensors"
    launch = [arguments.python, str(LAUNCHER), scratch + "/ranks", "--expect", whole]
    run(g, "run", path, *inputs(sample), "--outputs", whole)
    begin = time.monotonic()
    said = [run(*launch).strip().splitlines()[-1]]
    seconds = time.monotonic() - begin
    if arguments.micro_batches > 1:
        parts: Dict[str, List[str]] = {"data": [], "outputs": []}
        tensors = [arguments.python, "-c", TENSORS, str(LAUNCHER.parent)]
        for i in range(arguments.micro_batches):
            for what, files in parts.items():
                files.append(f"{scratch}/{what}_{i}.safetensors")
            run(g, "shard", path, *inputs(sample), "--mesh", "1", "--values", "--seed", str(i), "-o",
                scratch + "/one")
            run(*tensors, "data", parts["data"][i], scratch + "/one", *data(sample))
            run(g, "run", path, *inputs(sample), "--inputs", parts["data"][i], "--outputs",
                parts["outputs"][i])
        run(*tensors, "join", batch, *parts["data"])
        run(*tensors, "join", whole, *parts["outputs"])
        said.append(run(*launch, "--inputs", batch, "--micro-batches",
                        str(arguments.micro_batches)).strip().splitlines()[-1])
    return f"{first} | {second}: {talk}; {'; '.join(said)}; {seconds:.0f} s"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("samples", nargs="+")
    parser.add_argument("--graphnet", required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--micro-batches", type=int, default=4)
    arguments = parser.parse_args()
    right = 0
    for path in arguments.samples:
        with tempfile.TemporaryDirectory() as scratch:
            for wide in (False, True):
                sample = path
                if wide:
                    sample = scratch + "/wide"
                    run(arguments.graphnet, "opt", path, "--passes", "change-dtype{to=float64}",
                        "-o", sample)
                try:
                    line = check(arguments, sample, scratch)
                except (Failed, subprocess.TimeoutExpired) as error:
                    print(f"{'WRONG' if wide else 'in float32:'} {path}: {error}", flush=True)
                    continue
                right += 1
                print(f"right {path}{' in float64' if wide else ''} on {arguments.ranks} + "
                      f"{arguments.ranks}: {line}", flush=True)
                break
    print(f"{right} of {len(arguments.samples)} right")
    return 0 if right == len(arguments.samples) else 1


if __name__ == "__main__":
    sys.exit(main())
