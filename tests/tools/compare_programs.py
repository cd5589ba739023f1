#!/usr/bin/env python3
"""Runs programs of PyTorch by graphnet and compares with what PyTorch makes of them.

    compare_programs.py FOLDER [NAME…]      programs of torch.export that make_pt2_programs.py wrote
    compare_programs.py --zoo FOLDER        models that export_zoo.py wrote: NAME.pt2, and NAME.pt beside
                                            NAME.json with the shapes of its inputs

Of the first, outputs are there already; the second are run here, on inputs drawn as their
metas say, by torch.export.load(NAME.pt2).module() and torch.jit.load(NAME.pt). Dtypes, shapes and
bits must agree, calls that PyTorch refuses must be refused. The exit status is 0 if all do.
"""

import argparse
import functools
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile
import warnings

import torch

import in_pytorch

warnings.filterwarnings("ignore")


def run(command, **paths):
    words = [word.format(**paths) for word in shlex.split(command)]
    return subprocess.run(words, capture_output=True, text=True)


def compare_call(command, model, inputs, expected, scratch, more=""):
    outputs = scratch / "out.safetensors"
    done = run(command + more, model=model, inputs=inputs, outputs=outputs)
    if done.returncode != 0:
        return f"does not run: {done.stderr.strip()[:400]}"
    return in_pytorch.compare(in_pytorch.read_safetensors(expected), in_pytorch.read_safetensors(outputs))


def compare_program(path, args, scratch):
    """What differs, over all calls."""
    stem = path.name.removesuffix(".pt2")
    for inputs in sorted(path.parent.glob(f"{stem}.*.in.safetensors")):
        call = inputs.name.removeprefix(stem).removesuffix(".in.safetensors")
        expected = path.parent / f"{stem}{call}.out.safetensors"
        again = path.parent / f"{stem}{call}.again.safetensors"
        what = compare_call(args.run, path, inputs, expected, scratch)
        if not what and again.exists():
            what = compare_call(args.run, path, inputs, again, scratch, " --repeat 2")
        if what:
            return f"call {call[1:]}: {what}"
    for inputs in sorted(path.parent.glob(f"{stem}.*.refused.safetensors")):
        done = run(args.run, model=path, inputs=inputs, outputs=scratch / "out.safetensors")
        if done.returncode != 2 or done.stderr.count("\n") != 1:
            return f"{inputs.name} is not refused in one line: {done.returncode} {done.stderr[:300]}"
    return ""


def exported(path, seed):
    """A program of torch.export and inputs by name, drawn like its examples."""
    program = torch.export.load(str(path))
    generator = torch.Generator().manual_seed(seed)
    (examples, kwargs) = program.example_inputs
    drawn = []
    names = [spec.arg.name for spec in program.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
    for example in examples:
        if example.is_floating_point():
            drawn.append(torch.randn(example.shape, generator=generator).to(example.dtype))
        else:
            drawn.append(torch.randint(int(example.min()), int(example.max()) + 1, example.shape, generator=generator).to(example.dtype))
    return functools.partial(program.module(), **kwargs), dict(zip(names, drawn, strict=True))


def scripted(path, seed):
    """An archive of TorchScript and inputs by name, drawn as NAME.json says."""
    specs = json.loads(path.with_suffix(".json").read_text())
    module = torch.jit.load(str(path))
    generator = torch.Generator().manual_seed(seed)
    drawn = []
    for spec in specs["inputs"] if isinstance(specs, dict) else specs:
        dtype = getattr(torch, spec["dtype"].removeprefix("torch."))
        if spec["low"] is not None:
            drawn.append(torch.randint(spec["low"], spec["high"], spec["shape"], dtype=dtype, generator=generator))
        else:
            drawn.append(torch.randn(spec["shape"], generator=generator).to(dtype))
    names = [argument.name for argument in module.forward.schema.arguments[1:]]
    return module, dict(zip(names, drawn))


def compare_model(path, args, scratch):
    """What differs from PyTorch's run of a model."""
    try:
        module, drawn = (exported if path.suffix == ".pt2" else scripted)(path, args.seed)
        inputs, expected = scratch / "in.safetensors", scratch / "expected.safetensors"
        # Copies, as inputs may be views of one another.
        in_pytorch.write_safetensors({name: value.clone() for name, value in drawn.items()}, inputs)
        torch.manual_seed(args.seed)
        with torch.no_grad():
            returned = module(*drawn.values())
    except Exception as error:  # Whatever a model raises is a result.
        return in_pytorch.one_line(error)
    in_pytorch.write_safetensors(in_pytorch.outputs(returned), expected)
    return compare_call(args.run, path, inputs, expected, scratch, f" --seed {args.seed}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--zoo", action="store_true")
    parser.add_argument("--run", default="bazel-bin/graphnet/cli/graphnet run {model} --inputs {inputs} --outputs {outputs} --threads 1",
                        help="the command that runs a program (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    equal = different = 0
    paths = sorted(args.folder.rglob("*.pt")) + sorted(args.folder.rglob("*.pt2")) if args.zoo else sorted(args.folder.glob("*.pt2"))
    for path in paths:
        if args.names and path.stem not in args.names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            compare = compare_model if args.zoo else compare_program
            what = compare(path, args, pathlib.Path(folder))
        equal += not what
        different += bool(what)
        if what:
            print(f"different  {path.name}: {what}", flush=True)
    if equal + different == 0:
        sys.exit(f"there is no such program in {args.folder}")
    print(f"{equal} equal, {different} different")
    return different > 0


if __name__ == "__main__":
    sys.exit(main())
