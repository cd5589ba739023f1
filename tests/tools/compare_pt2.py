#!/usr/bin/env python3
"""Runs programs of torch.export by graphnet and compares with what PyTorch made of them.

    compare_pt2.py FOLDER [NAME…]      programs that make_pt2_programs.py wrote
    compare_pt2.py --zoo FOLDER        models that export_zoo.py wrote: NAME.pt2 alone

Of the first, outputs are there already; the second are run here, on inputs drawn as their
metas say, by torch.export.load(NAME.pt2).module(). Dtypes, shapes and bits must agree, calls
that PyTorch refuses must be refused. The exit status is 0 if all do.
"""

import argparse
import pathlib
import shlex
import subprocess
import sys
import tempfile
import warnings

import compare_runs as runs

warnings.filterwarnings("ignore")


def run(command, **paths):
    words = [word.format(**paths) for word in shlex.split(command)]
    return subprocess.run(words, capture_output=True, text=True)


def compare_call(command, model, inputs, expected, scratch, more=""):
    outputs = scratch / "out.safetensors"
    done = run(command + more, model=model, inputs=inputs, outputs=outputs)
    if done.returncode != 0:
        return f"does not run: {done.stderr.strip()[:400]}"
    return runs.compare(runs.read_safetensors(expected), runs.read_safetensors(outputs))


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


def compare_model(path, args, scratch):
    import torch

    program = torch.export.load(str(path))
    generator = torch.Generator().manual_seed(args.seed)
    (examples, kwargs) = program.example_inputs
    drawn, named = [], {}
    names = [spec.arg.name for spec in program.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
    for name, example in zip(names, examples, strict=True):
        if example.is_floating_point():
            drawn.append(torch.randn(example.shape, generator=generator).to(example.dtype))
        else:
            drawn.append(torch.randint(int(example.min()), int(example.max()) + 1, example.shape, generator=generator).to(example.dtype))
        named[name] = drawn[-1].clone()
    inputs, expected = scratch / "in.safetensors", scratch / "expected.safetensors"
    runs.write_safetensors(named, inputs)
    with torch.no_grad():
        returned = torch.utils._pytree.tree_leaves(program.module()(*drawn, **kwargs))
    runs.write_safetensors({f"o{i}": v.detach() for i, v in enumerate(v for v in returned if v is not None)}, expected)
    return compare_call(args.run, path, inputs, expected, scratch)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--zoo", action="store_true")
    parser.add_argument("--run", default="bazel-bin/graphnet/cli/graphnet run {model} --inputs {inputs} --outputs {outputs} --threads 1",
                        help="the command that runs a program (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.zoo:
        import torch

        torch.set_num_threads(1)
    equal = different = 0
    for path in sorted(args.folder.glob("*.pt2")):
        if args.names and path.name.removesuffix(".pt2") not in args.names:
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
