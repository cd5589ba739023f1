#!/usr/bin/env python3
"""Damages the JSON of programs of torch.export and compares who still takes them.

    damage_pt2.py FOLDER [NAME…] [--limit N] [--seed N]

FOLDER has programs and inputs that make_pt2_programs.py wrote. Each field of the graph of a program
is damaged by itself: left out, null, of another kind, with another name or number, given twice. What
torch.export.load and a call of its module refuse, `graphnet run` has to refuse in one line; what they
take, it has to refuse, too, or give the same bits. It may refuse what PyTorch passes over: a name that
the operator does not know, an argument that is given twice, tables that contradict each other. The
exit status is 0 if that holds for all.
"""

import argparse
import collections
import copy
import json
import logging
import pathlib
import random
import subprocess
import sys
import tempfile
import warnings
import zipfile

warnings.filterwarnings("ignore")

import torch

import in_pytorch
from make_pt2_programs import *  # noqa: F401,F403  the classes that their inputs and outputs are of

# What says where a call came from is for people, and is not damaged.
UNREAD = {"metadata", "guards_code", "verifiers", "torch_version", "opset_version"}


def places(value, path=()):
    """Paths of all values below one."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in UNREAD:
                yield (*path, key)
                yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield (*path, i)
            yield from places(inner, (*path, i))


def damages(value, key, rng):
    """What may stand in the place of a value; `...`: nothing."""
    yield ...
    yield None
    if isinstance(value, str):
        yield value + "x"
        yield rng.randrange(100)
        if "." in value:
            yield value.rsplit(".", 1)[0] + ".Nothing"
            yield "torch.ops.aten.nothing.default"
    elif isinstance(value, bool):
        yield "true"
    elif isinstance(value, int):
        yield value + 1
        yield value + 1000
        yield -value - 1
        yield str(value)
        yield value + 0.5
    elif isinstance(value, float):
        yield value + 1
        yield "half"
    elif isinstance(value, list):
        yield []
        yield {}
        if value:
            yield [*value, copy.deepcopy(value[0])]
            yield value[:-1]
            yield value[::-1]
    elif isinstance(value, dict):
        yield []
        if len(value) == 1:
            (kind, inner), = value.items()
            for other in ("as_int", "as_string", "as_tensor", "as_none", "as_what"):
                yield {other: inner}
            yield {kind: inner, "as_bool": True}
            yield {"as_string": "text"}
            yield {"as_ints": [1, 2]}


def damaged(program, path, what):
    made = copy.deepcopy(program)
    inner = made
    for key in path[:-1]:
        inner = inner[key]
    if what is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = what
    return made


def write(path, source, program):
    with zipfile.ZipFile(source) as archive, zipfile.ZipFile(path, "w") as out:
        for info in archive.infolist():
            is_program = "/models/" in info.filename
            content = json.dumps(program).encode() if is_program else archive.read(info)
            out.writestr(zipfile.ZipInfo(info.filename), content)


def judge(path, inputs, expected):
    """What PyTorch makes of a program: the reason for which it refuses it, or \"\"."""
    try:
        values = in_pytorch.call_exported(torch.export.load(str(path)), {name: value.clone() for name, value in inputs.items()})
        in_pytorch.write_safetensors(values, expected)
        return ""
    except Exception as error:  # noqa: BLE001  Whatever it raises is a refusal.
        return f"{type(error).__name__}: {error}".strip().splitlines()[-1][:150]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--graphnet", default="bazel-bin/graphnet/cli/graphnet")
    parser.add_argument("--limit", type=int, default=1000, help="damages in all (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    rng = random.Random(args.seed)
    tasks = []
    for source in sorted(args.folder.glob("*.pt2")):
        if args.names and source.name.removesuffix(".pt2") not in args.names:
            continue
        program = in_pytorch.program_json(source)
        for path in places(program["graph_module"], ("graph_module",)):
            value = program
            for key in path:
                value = value[key]
            for what in damages(value, path[-1], rng):
                tasks.append((source, path, what))
    counts, bad = collections.Counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        broken, expected, outputs = folder / "d.pt2", folder / "e.safetensors", folder / "o.safetensors"
        for source, path, what in rng.sample(tasks, min(args.limit, len(tasks))):
            given = source.with_suffix(".0.in.safetensors")
            inputs = in_pytorch.read_safetensors(given)
            if judge(source, inputs, expected):
                counts["PyTorch does not take it whole"] += 1  # its operators are not there
                continue
            write(broken, source, damaged(in_pytorch.program_json(source), path, what))
            reason = judge(broken, inputs, expected)
            done = subprocess.run([args.graphnet, "run", broken, "--inputs", given, "--outputs", outputs, "--threads", "1"],
                                  capture_output=True, text=True)
            ours = done.stderr.strip()
            if done.returncode not in (0, 2) or (done.returncode == 2 and "\n" in ours):
                verdict = "WRONG: no answer and no line"
            elif reason:
                verdict = "both refuse" if done.returncode else "WRONG: PyTorch refuses it"
            elif done.returncode:
                verdict = "PyTorch passes over it"
            else:
                verdict = "WRONG: other bits" if in_pytorch.compare(in_pytorch.read_safetensors(expected), in_pytorch.read_safetensors(outputs)) else "both take it"
            counts[verdict] += 1
            bad += verdict.startswith("WRONG")
            if verdict.startswith("WRONG") or verdict == "PyTorch passes over it":
                place = ".".join(map(str, path))
                shown = "nothing" if what is ... else json.dumps(what)[:80]
                print(f"{verdict}  {source.name} {place} = {shown}: {reason} | {ours[-200:]}", flush=True)
    for verdict, count in counts.most_common():
        print(f"{count:5} {verdict}")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
