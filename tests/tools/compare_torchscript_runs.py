#!/usr/bin/env python3
"""Runs TorchScript archives by torch::jit and by graphnet, and compares the outputs.

    compare_torchscript_runs.py FOLDER...

Beside each NAME.pt there is a NAME.json with the shapes of its inputs, as
export_zoo.py writes it. Both sides get the same inputs, one thread, the same seed;
outputs must agree bit for bit. The exit status is 0 if all do.
"""

import argparse
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile
import warnings

import torch

import compare_outputs as common
import compare_runs as runs

warnings.filterwarnings("ignore")


def draw_inputs(specs, seed):
    generator = torch.Generator().manual_seed(seed)
    for spec in specs:
        dtype = getattr(torch, spec["dtype"].removeprefix("torch."))
        if spec["low"] is not None:
            yield torch.randint(spec["low"], spec["high"], spec["shape"], dtype=dtype, generator=generator)
        else:
            yield torch.randn(spec["shape"], generator=generator).to(dtype)


def check(path: pathlib.Path, args) -> str:
    specs = json.loads(path.with_suffix(".json").read_text())
    specs = specs["inputs"] if isinstance(specs, dict) else specs
    module = torch.jit.load(str(path))
    inputs = list(draw_inputs(specs, args.seed))
    names = [argument.name for argument in module.forward.schema.arguments[1:]]
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        # Copies, as inputs may be views of one another.
        runs.write_safetensors(dict(zip(names, (x.clone() for x in inputs))), scratch / "inputs.safetensors")
        torch.manual_seed(args.seed)
        with torch.no_grad():
            returned = module(*inputs)
        leaves = [v for _, v in common.flatten(returned, "") if not isinstance(v, tuple) and v is not None]
        expected = {f"o{i}": v if isinstance(v, torch.Tensor) else torch.tensor(v) for i, v in enumerate(leaves)}
        paths = {"model": str(path), "inputs": f"{folder}/inputs.safetensors", "outputs": f"{folder}/o.safetensors",
                 "seed": str(args.seed)}
        done = subprocess.run([word.format(**paths) for word in shlex.split(args.run)], capture_output=True, text=True)
        if done.returncode != 0:
            return f"does not run: {done.stderr.strip()[:300]}"
        return runs.compare(expected, runs.read_safetensors(scratch / "o.safetensors"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--run", default="bazel-bin/graphnet/cli/graphnet run {model} --inputs {inputs} "
                                         "--outputs {outputs} --seed {seed} --threads 1",
                        help="the command that runs a model (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    passed = failed = 0
    for folder in args.folders:
        for path in [folder] if folder.is_file() else sorted(folder.rglob("*.pt")):
            try:
                what = check(path, args)
            except Exception as error:  # Whatever a model raises is a result.
                what = common.one_line(error)
            passed += not what
            failed += bool(what)
            print(f"{'different' if what else 'equal':10} {path}" + (f": {what}" if what else ""), flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
