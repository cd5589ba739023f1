#!/usr/bin/env python3
"""Runs GraphNet samples in Python and by graphnet, and compares the outputs.

    compare_runs.py --sample 300 --seed 0 FOLDER...
    compare_runs.py --list FILE

A FOLDER is a sample or is searched for samples; FILE names one a line. Both sides
get the same inputs, by way of a safetensors file, the same seed and one thread; PyTorch
runs the sample's model.py eagerly on the CPU. Outputs must agree bit for bit, and so
must what the graph writes to its inputs when it returns them. The exit status is 0 if
all samples that run in Python agree, 1 if not.

This runs the Python text of the samples: use it on samples that you trust.
"""

import argparse
import ctypes
import json
import pathlib
import random
import resource
import shlex
import signal
import struct
import subprocess
import sys
import tempfile
import time
from typing import Any, Dict, List

import torch

import compare_outputs as common

DTYPES = {
    torch.bool: "BOOL", torch.uint8: "U8", torch.int8: "I8", torch.int16: "I16", torch.int32: "I32",
    torch.int64: "I64", torch.uint16: "U16", torch.uint32: "U32", torch.uint64: "U64",
    torch.float16: "F16", torch.bfloat16: "BF16", torch.float32: "F32", torch.float64: "F64",
    torch.complex64: "C64", torch.float8_e5m2: "F8_E5M2", torch.float8_e4m3fn: "F8_E4M3",
    torch.float8_e8m0fnu: "F8_E8M0", torch.float8_e4m3fnuz: "F8_E4M3FNUZ", torch.float8_e5m2fnuz: "F8_E5M2FNUZ",
}


def write_safetensors(tensors: Dict[str, torch.Tensor], path: pathlib.Path) -> None:
    header, offset = {}, 0
    order = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))
    for name in order:
        tensor = tensors[name]
        end = offset + tensor.numel() * tensor.dtype.itemsize
        header[name] = {"dtype": DTYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name in order:
            content = common.as_bytes(tensors[name])
            file.write(ctypes.string_at(content.data_ptr(), content.numel()))


def read_safetensors(path: pathlib.Path) -> Dict[str, torch.Tensor]:
    content = bytearray(path.read_bytes())
    size = struct.unpack("<Q", content[:8])[0]
    header = json.loads(bytes(content[8 : 8 + size]))
    header.pop("__metadata__", None)
    names = {text: dtype for dtype, text in DTYPES.items()}
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        dtype = names[entry["dtype"]]
        if begin == end:
            tensors[name] = torch.empty(entry["shape"], dtype=dtype)
        else:
            # A copy, as the bytes may not be aligned to the elements.
            data = torch.frombuffer(content[begin:end], dtype=dtype)
            tensors[name] = data.reshape(entry["shape"])
    return tensors


def run_in_python(sample: pathlib.Path, inputs: Dict[str, torch.Tensor], seed: int) -> List[Any]:
    path = sample / "model.py"
    scope: Dict[str, Any] = {"__name__": "sample"}
    exec(compile(common.on_cpu(path.read_text()), str(path), "exec"), scope)
    model = scope["GraphModule"]()
    annotations = model.forward.__annotations__
    arguments = {
        name: value.item() if annotations.get(name) is torch.SymInt else value for name, value in inputs.items()
    }
    torch.manual_seed(seed)
    with torch.no_grad():
        returned = model(**arguments)
    leaves = [value for _, value in common.flatten(returned, "") if not isinstance(value, tuple)]
    return [value if isinstance(value, torch.Tensor) else torch.tensor(value) for value in leaves if value is not None]


def child(sample: pathlib.Path, args: argparse.Namespace, scratch: pathlib.Path, pipe: Any) -> None:
    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_AS, (args.max_memory, args.max_memory))
    resource.setrlimit(resource.RLIMIT_CPU, (args.timeout, resource.RLIM_INFINITY))
    try:
        metas = common.read_metas(sample)
        scope: Dict[str, Any] = {"__name__": "sample"}
        exec(compile((sample / "model.py").read_text(), "model.py", "exec"), scope)
        code = scope["GraphModule"].forward.__code__
        inputs = {name: common.draw(metas[name], args.seed) for name in code.co_varnames[1 : code.co_argcount]}
        write_safetensors(inputs, scratch / "inputs.safetensors")
        outputs = run_in_python(sample, inputs, args.seed)
        write_safetensors({f"o{i}": value for i, value in enumerate(outputs)}, scratch / "expected.safetensors")
        pipe.send("")
    except MemoryError:
        pipe.send("MemoryError: out of memory")
    except Exception as error:  # Whatever the model raises is a result.
        pipe.send(common.one_line(error))


def python_side(sample: pathlib.Path, args: argparse.Namespace, scratch: pathlib.Path) -> str:
    receiver, sender = common.FORK.Pipe(duplex=False)
    process = common.FORK.Process(target=child, args=(sample, args, scratch, sender))
    process.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError:
        process.join()
        if process.exitcode == -signal.SIGXCPU:
            return f"takes more than {args.timeout} seconds"
        return f"the process died with exit code {process.exitcode}"
    finally:
        process.join()


def compare(expected: Dict[str, torch.Tensor], actual: Dict[str, torch.Tensor]) -> str:
    if expected.keys() != actual.keys():
        return f"{len(expected)} outputs and {len(actual)}"
    for name in sorted(expected, key=lambda n: int(n[1:])):
        if what := common.difference(expected[name], actual[name]):
            return f"{name}: {what}"
    return ""


def check(sample: pathlib.Path, args: argparse.Namespace) -> common.Outcome:
    size = common.declared_bytes(common.read_metas(sample))
    if size > args.max_bytes:
        return common.Outcome("skipped", f"inputs of {size / 2**20:.0f} MiB")
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        in_python = python_side(sample, args, scratch)
        paths = {"sample": str(sample), "inputs": f"{folder}/inputs.safetensors",
                 "outputs": f"{folder}/actual.safetensors", "seed": str(args.seed)}
        if not (scratch / "inputs.safetensors").is_file():
            return common.Outcome("skipped", f"no inputs: {in_python}")
        command = [word.format(**paths) for word in shlex.split(args.run)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=4 * args.timeout)
            failed = done.returncode != 0
            message = done.stderr.strip().splitlines()[-1][:300] if done.stderr.strip() else f"exit {done.returncode}"
        except subprocess.TimeoutExpired:
            failed, message = True, "takes too long"
        if in_python and failed:
            return common.Outcome("failed-on-both", f"{in_python} | {message}")
        if in_python:
            return common.Outcome("skipped", f"Python: {in_python}")
        if failed:
            return common.Outcome("failed-on-one", message)
        what = compare(read_safetensors(scratch / "expected.safetensors"),
                       read_safetensors(scratch / "actual.safetensors"))
    return common.Outcome("different", what) if what else common.Outcome("equal")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--list", type=pathlib.Path, metavar="FILE", help="samples, one a line")
    parser.add_argument("--run", default="bazel-bin/graphnet/cli/graphnet run {sample} --inputs {inputs} "
                                         "--outputs {outputs} --seed {seed} --threads 1",
                        help="the command that runs a sample (default: %(default)s)")
    parser.add_argument("--sample", type=int, metavar="N", help="compare N random samples (default: all)")
    parser.add_argument("--stride", type=int, default=1, help="take every Nth sample")
    parser.add_argument("--seed", type=int, default=0, help="of the choice and of the inputs")
    parser.add_argument("--max-bytes", type=int, default=2 << 30,
                        help="skip samples with inputs of more bytes (default: %(default)s)")
    parser.add_argument("--max-memory", type=int, default=16 << 30,
                        help="address space that Python may take (default: %(default)s)")
    parser.add_argument("--timeout", type=int, default=300,
                        help="seconds of the processor for each run (default: %(default)s)")
    args = parser.parse_args()

    samples = common.find_samples(args.folders)
    if args.list is not None:
        samples += [pathlib.Path(line) for line in args.list.read_text().splitlines() if line]
    samples = samples[:: args.stride]
    wanted = len(samples)
    if args.sample is not None:
        random.Random(args.seed).shuffle(samples)
        wanted = min(args.sample, wanted)

    torch.set_num_threads(1)
    counts = dict.fromkeys(["equal", "different", "failed-on-one", "failed-on-both", "skipped"], 0)
    compared = tried = 0
    for sample in samples:
        if compared == wanted:
            break
        tried += 1
        begin = time.monotonic()
        outcome = check(sample, args)
        counts[outcome.verdict] += 1
        compared += outcome.verdict not in ("failed-on-both", "skipped")
        print(f"{outcome.verdict:14} {time.monotonic() - begin:6.1f} s  {sample}"
              + (f": {outcome.reason}" if outcome.reason else ""), flush=True)

    print(f"{tried} tried: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    failed = counts["different"] + counts["failed-on-one"]
    print(f"{counts['equal']} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
