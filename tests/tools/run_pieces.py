#!/usr/bin/env python3
"""Decomposes GraphNet samples and runs the pieces.

    run_pieces.py --sample 20 --seed 0 FOLDER...
    run_pieces.py --list FILE --pieces 8 --style dag
    run_pieces.py --each --sample 200 FOLDER...

A FOLDER is a sample or is searched for samples; FILE names one a line. `graphnet
decompose` writes the pieces as GraphNet folders; PyTorch runs the sample's model.py and
those of the pieces eagerly on the CPU, one after the other, on the same inputs and seed. A
chain's pieces take by position what the one before returns, a DAG's take values by name. The
outputs must agree bit for bit. The exit status is 0 if they do for all samples that run, 1 if not.

With --each, samples are decomposed in several ways, and graphnet runs each piece by itself. This
counts the pieces that run, and says of the others why not; the exit status is 1 if there are any.

This runs the Python text of the samples: use it on samples that you trust.
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
from typing import Any, Dict, List

import torch

import in_pytorch


# --------------------------------------------------- one after the other


def inputs_of(sample: pathlib.Path, model: Any, seed: int) -> Dict[str, Any]:
    metas = in_pytorch.read_metas(sample)
    return in_pytorch.arguments(model, {name: in_pytorch.draw(metas[name], seed) for name in in_pytorch.parameters(model)})


def run_whole(sample: pathlib.Path, seed: int) -> List[Any]:
    model = in_pytorch.load(sample)
    arguments = inputs_of(sample, model, seed)
    torch.manual_seed(seed)
    return in_pytorch.leaves(model(**arguments))


def run_pieces(sample: pathlib.Path, folder: pathlib.Path, seed: int) -> List[Any]:
    config = json.loads((folder / "decompose_config.json").read_text())
    # Drawn as the original says. Parameters of forward keep their names in every piece.
    inputs = inputs_of(sample, in_pytorch.load(sample), seed)
    handed_on: Dict[str, Any] = {}
    models = [in_pytorch.load(folder / piece["name"]) for piece in config["subgraphs"]]
    torch.manual_seed(seed)
    returned: Any = None
    for i, (model, piece) in enumerate(zip(models, config["subgraphs"])):
        if i > 0 and config["chain_style"]:
            returned = model(*returned)
            continue
        returned = model(*[inputs[parameter] if parameter in inputs else handed_on[name]
                           for parameter, name in zip(in_pytorch.parameters(model), piece["inputs"])])
        if i + 1 < len(models) and not config["chain_style"]:
            handed_on.update(zip(piece["outputs"], returned))
    return in_pytorch.leaves(returned)


def compare(expected: List[Any], actual: List[Any]) -> str:
    if len(expected) != len(actual):
        return f"{len(expected)} outputs and {len(actual)}"
    for i, (a, b) in enumerate(zip(expected, actual)):
        if what := in_pytorch.difference(a, b):
            return f"output {i}: {what}"
    return ""


def together(samples: List[pathlib.Path], args: argparse.Namespace) -> int:
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    equal = failed = 0
    for sample in samples:
        if equal + failed == args.sample:
            break
        if in_pytorch.declared_bytes(in_pytorch.read_metas(sample)) > args.max_bytes:
            continue
        try:
            expected = run_whole(sample, args.seed)
        except Exception as error:  # Whatever the model raises is a reason to skip it.
            print(f"skipped   {sample}: {in_pytorch.one_line(error)}", flush=True)
            continue
        with tempfile.TemporaryDirectory() as scratch:
            done = subprocess.run([args.graphnet, "decompose", str(sample), "-o", f"{scratch}/pieces", "--pieces",
                                   str(args.pieces), "--style", args.style], capture_output=True, text=True)
            what = done.stderr.strip()
            if done.returncode == 0:
                try:
                    what = compare(expected, run_pieces(sample, pathlib.Path(scratch) / "pieces", args.seed))
                except Exception as error:
                    what = in_pytorch.one_line(error)
        equal += not what
        failed += bool(what)
        print(f"{'DIFFERENT' if what else 'equal    '} {sample}" + (f": {what}" if what else ""), flush=True)
    print(f"{equal} passed, {failed} failed")
    return 1 if failed else 0


# ------------------------------------------------------ each by itself


WAYS = [["--pieces", "4", "--style", "chain"], ["--pieces", "6", "--style", "dag"],
        ["--balanced", "3", "--style", "dag"], ["--blocks", "--style", "dag"]]


def run(command, timeout):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return 124, "", "too slow"
    return done.returncode, done.stdout, done.stderr.strip().split("\n")[0]


def check(graphnet, sample, way, args):
    """(pieces, [why one does not run])"""
    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.join(scratch, "pieces")
        command = [graphnet, "decompose", str(sample), "-o", out, "--format", args.format,
                   *args.more.split(), *way]
        code, _, error = run(command, args.timeout)
        if code:
            return 0, [] if "no repeated" in error else [f"decompose: {error}"]
        code, printed, error = run([graphnet, "run", out, "--threads", "1", "--json"], args.timeout)
        if code == 124 or not printed:
            return 0, [f"run: {error}"]
        pieces = json.loads(printed)["samples"]
        failed = [f"{os.path.basename(piece['path'])}: {piece['error']['message']}"
                  for piece in pieces if "error" in piece]
        return len(pieces), failed


def each(samples: List[pathlib.Path], args: argparse.Namespace) -> int:
    tasks = []
    for sample in samples:
        if in_pytorch.declared_bytes(in_pytorch.read_metas(sample)) <= args.max_bytes:
            tasks += [(sample, way) for way in WAYS]
        if len(tasks) // len(WAYS) == args.sample:
            break
    pieces = 0
    reasons = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {pool.submit(check, args.graphnet, sample, way, args): (sample, way)
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--list", type=pathlib.Path, metavar="FILE", help="samples, one a line")
    parser.add_argument("--graphnet", default="bazel-bin/graphnet/cli/graphnet", help="the tool (default: %(default)s)")
    parser.add_argument("--sample", type=int, metavar="N", help="take N random samples (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="of the choice and of the inputs")
    parser.add_argument("--max-bytes", type=int, default=512 << 20,
                        help="skip samples with inputs of more bytes (default: %(default)s)")
    parser.add_argument("--pieces", type=int, default=4, help="of each sample (default: %(default)s)")
    parser.add_argument("--style", choices=["chain", "dag"], default="dag")
    parser.add_argument("--each", action="store_true", help="run each piece by itself, by graphnet")
    parser.add_argument("--format", default="graphnet", help="of the pieces, with --each")
    parser.add_argument("--more", default="", help="options of graphnet decompose, with --each")
    parser.add_argument("--timeout", type=int, default=600, help="seconds for a command, with --each")
    args = parser.parse_args()
    samples = in_pytorch.find_samples(args.folders)
    if args.list is not None:
        samples += [pathlib.Path(line) for line in args.list.read_text().splitlines() if line]
    if args.sample is not None:
        random.Random(args.seed).shuffle(samples)
    return each(samples, args) if args.each else together(samples, args)


if __name__ == "__main__":
    sys.exit(main())
