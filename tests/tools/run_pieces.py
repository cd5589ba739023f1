#!/usr/bin/env python3
"""Decomposes GraphNet samples and runs the pieces in Python, one after the other.

    run_pieces.py --sample 20 --seed 0 FOLDER...
    run_pieces.py --list FILE --pieces 8 --style dag

A FOLDER is a sample or is searched for samples; FILE names one a line. `graphnet
decompose` writes the pieces as GraphNet folders; PyTorch runs the sample's model.py and
those of the pieces eagerly on the CPU, on the same inputs and seed. A chain's pieces take
by position what the one before returns, a DAG's take values by name. The outputs must
agree bit for bit. The exit status is 0 if they do for all samples that run, 1 if not.

This runs the Python text of the samples: use it on samples that you trust.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
from typing import Any, Dict, List

import torch

import compare_outputs as common


def load(folder: pathlib.Path) -> Any:
    scope: Dict[str, Any] = {"__name__": "sample"}
    path = folder / "model.py"
    exec(compile(common.on_cpu(path.read_text()), str(path), "exec"), scope)
    return scope["GraphModule"]()


def parameters(model: Any) -> List[str]:
    code = model.forward.__code__
    return list(code.co_varnames[1 : code.co_argcount])


def leaves(returned: Any) -> List[Any]:
    return [value for _, value in common.flatten(returned, "") if not isinstance(value, tuple) and value is not None]


def inputs_of(model: Any, metas: Any, seed: int) -> Dict[str, Any]:
    values = {name: common.draw(metas[name], seed) for name in parameters(model)}
    annotations = model.forward.__annotations__
    return {name: value.item() if annotations.get(name) is torch.SymInt else value for name, value in values.items()}


def run_whole(sample: pathlib.Path, seed: int) -> List[Any]:
    model = load(sample)
    arguments = inputs_of(model, common.read_metas(sample), seed)
    torch.manual_seed(seed)
    return leaves(model(**arguments))


def run_pieces(sample: pathlib.Path, folder: pathlib.Path, seed: int) -> List[Any]:
    config = json.loads((folder / "decompose_config.json").read_text())
    # Drawn as the original says. Parameters of forward keep their names in every piece.
    inputs = inputs_of(load(sample), common.read_metas(sample), seed)
    handed_on: Dict[str, Any] = {}
    models = [load(folder / piece["name"]) for piece in config["subgraphs"]]
    torch.manual_seed(seed)
    returned: Any = None
    for i, (model, piece) in enumerate(zip(models, config["subgraphs"])):
        if i > 0 and config["chain_style"]:
            returned = model(*returned)
            continue
        returned = model(*[inputs[parameter] if parameter in inputs else handed_on[name]
                           for parameter, name in zip(parameters(model), piece["inputs"])])
        if i + 1 < len(models) and not config["chain_style"]:
            handed_on.update(zip(piece["outputs"], returned))
    return leaves(returned)


def compare(expected: List[Any], actual: List[Any]) -> str:
    if len(expected) != len(actual):
        return f"{len(expected)} outputs and {len(actual)}"
    for i, (a, b) in enumerate(zip(expected, actual)):
        if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
            if type(a) is not type(b) or a != b:
                return f"output {i}: {a} and {b}"
        elif what := common.difference(a, b):
            return f"output {i}: {what}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--list", type=pathlib.Path, metavar="FILE", help="samples, one a line")
    parser.add_argument("--graphnet", default="bazel-bin/graphnet/cli/graphnet", help="the tool (default: %(default)s)")
    parser.add_argument("--pieces", type=int, default=4, help="of each sample (default: %(default)s)")
    parser.add_argument("--style", choices=["chain", "dag"], default="dag")
    parser.add_argument("--sample", type=int, metavar="N", help="compare N random samples (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="of the choice and of the inputs")
    parser.add_argument("--max-bytes", type=int, default=512 << 20,
                        help="skip samples with inputs of more bytes (default: %(default)s)")
    args = parser.parse_args()

    samples = common.find_samples(args.folders)
    if args.list is not None:
        samples += [pathlib.Path(line) for line in args.list.read_text().splitlines() if line]
    if args.sample is not None:
        random.Random(args.seed).shuffle(samples)
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    equal = failed = 0
    for sample in samples:
        if args.sample is not None and equal + failed == args.sample:
            break
        if common.declared_bytes(common.read_metas(sample)) > args.max_bytes:
            continue
        try:
            expected = run_whole(sample, args.seed)
        except Exception as error:  # Whatever the model raises is a reason to skip it.
            print(f"skipped   {sample}: {common.one_line(error)}", flush=True)
            continue
        with tempfile.TemporaryDirectory() as scratch:
            done = subprocess.run([args.graphnet, "decompose", str(sample), "-o", f"{scratch}/pieces", "--pieces",
                                   str(args.pieces), "--style", args.style], capture_output=True, text=True)
            what = done.stderr.strip()
            if done.returncode == 0:
                try:
                    what = compare(expected, run_pieces(sample, pathlib.Path(scratch) / "pieces", args.seed))
                except Exception as error:
                    what = common.one_line(error)
        equal += not what
        failed += bool(what)
        print(f"{'DIFFERENT' if what else 'equal    '} {sample}" + (f": {what}" if what else ""), flush=True)
    print(f"{equal} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
