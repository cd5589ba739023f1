#!/usr/bin/env python3
"""Runs what graphnet writes as a program of torch.export, by PyTorch.

    run_pt2.py IN INPUTS OUTPUTS [--seed N] [--repeat N] [--passes PASSES] [--same]

IN is a sample of any format. It is written as .pt2 (by `graphnet opt` if there are passes, else by
`graphnet convert`), and torch.export.load(…).module() runs on the values of the safetensors file
INPUTS, by the names of the inputs. OUTPUTS get what it returns, o0, o1, …, without None. With --same,
IN is a .pt2, and the JSON of the program has to be equal, field by field.

It takes the place of `graphnet run` in those that compare runs with PyTorch's:

    compare_programs.py FOLDER --run 'python tests/tools/run_pt2.py {model} {inputs} {outputs}'
    compare_runs.py FOLDER --run 'python tests/tools/run_pt2.py --passes change-device{{{{to=cpu}}}} {sample} {inputs} {outputs}'
"""

import argparse
import json
import logging
import pathlib
import subprocess
import sys
import tempfile
import warnings
import zipfile

warnings.filterwarnings("ignore")

import torch

import in_pytorch
from make_pt2_programs import *  # noqa: F401,F403  the classes that their inputs and outputs are of

SHORT = {
    torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16", torch.int64: "i64",
    torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8", torch.bool: "bool",
    torch.complex64: "c64", torch.complex128: "c128",
}


def program_of(path):
    with zipfile.ZipFile(path) as archive:
        (name,) = [name for name in archive.namelist() if "/models/" in name]
        return json.loads(archive.read(name))


def fail(message, status=1):
    print(str(message).strip().replace("\n", " ")[-500:], file=sys.stderr)
    sys.exit(status)


def write(args, inputs, path):
    if args.passes:
        command = [args.graphnet, "opt", args.sample, "--passes", args.passes, "-o", path]
    else:
        command = [args.graphnet, "convert", args.sample, path]
    if args.sample.endswith(".pt"):
        for name, value in inputs.items():
            command += ["--input", f"{name}={SHORT[value.dtype]}{list(value.shape)}".replace(" ", "")]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        fail(done.stderr)


def call(program, inputs, seed=0, repeat=1):
    """What a program of torch.export returns for inputs by their names, flat, without None."""
    # Its own inputs, and constants that a caller can only repeat.
    leaves = []
    for spec in program.graph_signature.input_specs:
        if spec.kind.name != "USER_INPUT":
            continue
        constant = isinstance(spec.arg, torch.export.graph_signature.ConstantArgument)
        value = spec.arg.value if constant else inputs[spec.arg.name]
        leaves.append(value.item() if isinstance(spec.arg, torch.export.graph_signature.SymIntArgument) else value)
    in_spec = program.module_call_graph[0].signature.in_spec
    called, named = torch.utils._pytree.tree_unflatten(leaves, in_spec)
    module = program.module()
    for _ in range(repeat):
        torch.manual_seed(seed)
        with torch.no_grad():
            returned = module(*called, **named)
    outputs = [value for value in torch.utils._pytree.tree_leaves(returned) if value is not None]
    return [torch.tensor(value, dtype=torch.float64) if isinstance(value, float) else torch.as_tensor(value)
            for value in outputs]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sample")
    parser.add_argument("inputs", type=pathlib.Path)
    parser.add_argument("outputs", type=pathlib.Path)
    parser.add_argument("--graphnet", default="bazel-bin/graphnet/cli/graphnet")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--passes", default="")
    parser.add_argument("--same", action="store_true")
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    inputs = in_pytorch.read_safetensors(args.inputs)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/written.pt2"
        write(args, inputs, path)
        if args.same and program_of(args.sample) != program_of(path):
            fail("the JSON is another")
        program = torch.export.load(path)
    try:
        outputs = call(program, inputs, args.seed, args.repeat)
    except Exception as error:  # Whatever it raises is a refusal.
        fail(f"{type(error).__name__}: {error}", 2)
    in_pytorch.write_safetensors({f"o{i}": value.detach() for i, value in enumerate(outputs)}, args.outputs)


if __name__ == "__main__":
    main()
