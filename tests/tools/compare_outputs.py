#!/usr/bin/env python3
"""Runs GraphNet samples and what graphnet makes of them, and compares the outputs.

For each sample, graphnet exports it as a new GraphNet folder. Then PyTorch runs
both model.py files on the CPU, each with the inputs that its own weight_meta.py
describes, drawn from generators seeded by the inputs' names. What the two return,
and what they leave in inputs that they change in place, must agree bit for bit. So
must every operation on the way: with weights drawn at random many a model returns
much the same whatever its first layers do.

    compare_outputs.py --convert 'graphnet convert --to graphnet {original} {exported}' FOLDER
    compare_outputs.py --sample 50 --seed 0 FOLDER...

A FOLDER is a sample or is searched for samples. A sample whose original does not
run here (it needs CUDA, is too big or too slow) is reported and, with --sample,
replaced by the next random one. The exit status is 0 if all samples that were
compared agree, 1 if not.

This runs the Python text of the samples: use it on samples that you trust.
"""

import argparse
import hashlib
import math
import multiprocessing
import pathlib
import random
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode

FORK = multiprocessing.get_context("fork")


def find_samples(folders: List[pathlib.Path]) -> List[pathlib.Path]:
    """All sample folders, sorted within each of `folders`, not looked into further."""

    def walk(folder: pathlib.Path) -> Iterator[pathlib.Path]:
        if (folder / "graph_net.json").is_file():
            yield folder
            return
        for child in sorted(folder.iterdir()):
            if child.is_dir() and not child.is_symlink():
                yield from walk(child)

    samples: List[pathlib.Path] = []
    for folder in folders:
        if not folder.is_dir():
            sys.exit(f"compare_outputs: {folder}: no such folder")
        samples += walk(folder)
    return samples


# ------------------------------------------------------------------- inputs


class Meta(NamedTuple):
    """One record of weight_meta.py or input_meta.py."""

    name: str
    original_name: str
    shape: List[int]
    dtype: torch.dtype
    mean: float
    std: float
    data: Any
    min_val: Any
    max_val: Any


def read_metas(sample: pathlib.Path) -> Dict[str, Meta]:
    metas = {}
    for file in ("input_meta.py", "weight_meta.py"):
        path = sample / file
        if not path.is_file():
            continue
        scope: Dict[str, Any] = {}
        exec(compile(path.read_text(), str(path), "exec"), scope)
        for value in scope.values():
            if not isinstance(value, type):
                continue
            fields = vars(value)
            mean, std = fields.get("mean"), fields.get("std")
            metas[fields["name"]] = Meta(
                name=fields["name"],
                original_name=fields.get("original_name") or fields["name"],
                shape=fields["shape"],
                dtype=getattr(torch, fields["dtype"].removeprefix("torch.")),
                mean=0.0 if mean is None else mean,
                std=0.1 if std is None else std,
                data=fields.get("data"),
                min_val=fields.get("min_val"),
                max_val=fields.get("max_val"),
            )
    return metas


def declared_bytes(metas: Dict[str, Meta]) -> int:
    return sum(math.prod(meta.shape) * meta.dtype.itemsize for meta in metas.values())


def draw(meta: Meta, seed: int) -> torch.Tensor:
    """The tensor that a record describes, by the rules of GraphNet's replay.

    An integer tensor with neither data nor bounds is cast to its type, as
    GraphNet's benchmark does, rather than left as floats.
    """
    # Seeded by the name before renaming, so that renaming changes no values.
    key = hashlib.sha256(f"{seed}:{meta.original_name}".encode()).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(key[:8], "little") >> 1)
    is_float = meta.dtype.is_floating_point or meta.dtype.is_complex
    is_integer = not is_float and meta.dtype != torch.bool
    if is_integer and meta.min_val is not None and meta.max_val is not None:
        return torch.randint(meta.min_val, meta.max_val + 1, meta.shape, dtype=meta.dtype, generator=generator)
    if meta.data is not None:
        return torch.tensor(meta.data, dtype=meta.dtype).reshape(meta.shape)
    if meta.dtype == torch.bool:
        return torch.randn(meta.shape, generator=generator) > 0.5
    wide = meta.dtype if meta.dtype in (torch.float64, torch.complex64, torch.complex128) else torch.float32
    if meta.std == 0:
        value = torch.full(meta.shape, meta.mean, dtype=wide)
    else:
        value = torch.randn(meta.shape, dtype=wide, generator=generator).mul_(meta.std * 0.2).add_(meta.mean)
    if not meta.dtype.is_complex:
        if meta.min_val is not None:
            value.clamp_(min=meta.min_val)
        if meta.max_val is not None:
            value.clamp_(max=meta.max_val)
        if is_float:
            finite = value.isfinite()
            if not finite.all():
                other = torch.randn(meta.shape, dtype=wide, generator=generator).mul_(0.01)
                value = torch.where(finite, value, other)
            value.clamp_(-100, 100)
    return value.to(meta.dtype)


# ------------------------------------------------------------------ running


def on_cpu(text: str) -> str:
    """The text of model.py with CUDA devices made the CPU."""
    text = re.sub(r"device\(\s*type\s*=\s*(['\"])cuda\1\s*(,\s*index\s*=\s*\d+\s*)?\)", "device(type='cpu')", text)
    return re.sub(r"(['\"])cuda(:\d+)?\1", "'cpu'", text)


class Recorder(TorchDispatchMode):
    """Records all operators that run, and digests of what they yield."""

    INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}

    def __init__(self) -> None:
        super().__init__()
        self.steps: List[Tuple] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        # A view has the content of another tensor; an empty one has none of note.
        has_content = not func.is_view and "empty" not in func.__name__
        leaves = result if isinstance(result, (tuple, list)) else (result,)
        self.steps.append((str(func), *(self.digest(leaf, has_content) for leaf in leaves)))
        return result

    def digest(self, value: Any, has_content: bool) -> Any:
        if not isinstance(value, torch.Tensor):
            return repr(value)
        if value.layout != torch.strided:
            return (value.dtype, value.shape)
        content = None
        if has_content:
            bits = torch.view_as_real(value) if value.is_complex() else value
            content = bits.view(self.INTEGERS[bits.dtype.itemsize]).sum(dtype=torch.int64).item()
        return (value.dtype, value.shape, value.stride(), content)


class Run(NamedTuple):
    """What forward returns and which inputs it changes, with labels; what it does."""

    values: List[Tuple[str, Any]]
    steps: List[Tuple]


def run_sample(sample: pathlib.Path, seed: int) -> Run:
    path = sample / "model.py"
    scope: Dict[str, Any] = {"__name__": "sample"}
    exec(compile(on_cpu(path.read_text()), str(path), "exec"), scope)
    model = scope["GraphModule"]()
    metas = read_metas(sample)
    code = model.forward.__code__
    inputs = {name: draw(metas[name], seed) for name in code.co_varnames[1 : code.co_argcount]}
    versions = {name: value._version for name, value in inputs.items()}
    torch.manual_seed(seed)
    with torch.no_grad(), Recorder() as recorder:
        returned = model(**inputs)
    values = list(flatten(returned, "output"))
    for name, value in inputs.items():
        if value._version != versions[name]:
            # By the original name: the exporter may have renamed the argument.
            values.append((f"input {metas[name].original_name}", value))
    return Run(values, recorder.steps)


def flatten(value: Any, label: str) -> Iterator[Tuple[str, Any]]:
    """The leaves of nested tuples, lists and dicts, after the containers themselves."""
    if isinstance(value, dict):
        yield label, ("dict", *value.keys())
        for key, element in value.items():
            yield from flatten(element, f"{label}[{key!r}]")
    elif isinstance(value, (tuple, list)):
        # Named tuples such as torch.return_types.max count as what they are.
        yield label, (type(value).__name__, len(value))
        for i, element in enumerate(value):
            yield from flatten(element, f"{label}[{i}]")
    else:
        yield label, value


def as_bytes(value: torch.Tensor) -> torch.Tensor:
    value = value.detach()
    if value.is_sparse:
        value = value.to_dense()
    if value.is_complex():
        value = torch.view_as_real(value.resolve_conj())
    flat = value.resolve_neg().contiguous().reshape(-1)
    if flat.stride(0) != 1:  # of one element
        flat = flat.clone(memory_format=torch.contiguous_format)
    return flat.view(torch.uint8)


def difference(a: Any, b: Any) -> str:
    """Empty if equal, nan to itself; else what differs."""
    if type(a) is not type(b):
        return f"a {type(a).__name__} and a {type(b).__name__}"
    if not isinstance(a, torch.Tensor):
        both_nan = isinstance(a, float) and math.isnan(a) and math.isnan(b)
        return "" if both_nan or repr(a) == repr(b) else f"{a!r} and {b!r}"
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"{a.dtype}{list(a.shape)} and {b.dtype}{list(b.shape)}"
    if torch.equal(as_bytes(a), as_bytes(b)):
        return ""
    if a.dtype == torch.bool or not (a.dtype.is_floating_point or a.dtype.is_complex):
        return f"{int((a != b).sum())} of {a.numel()} elements differ"
    unequal = (a != b) & ~(a.isnan() & b.isnan())
    if not unequal.any():
        return "" if torch.equal(a.isnan(), b.isnan()) and signs_agree(a, b) else "signs of zeros differ"
    worst = (a - b).abs().nan_to_num(math.inf).max()
    return f"{int(unequal.sum())} of {a.numel()} elements differ, by {float(worst):.3g} at most"


def signs_agree(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.is_complex():
        return signs_agree(torch.view_as_real(a), torch.view_as_real(b))
    return bool(((a.signbit() == b.signbit()) | a.isnan()).all())


def compare_runs(a: Run, b: Run) -> str:
    for i, (x, y) in enumerate(zip(a.steps, b.steps)):
        if x != y:
            what = f"{x[0]} yields something else" if x[0] == y[0] else f"{x[0]} and {y[0]}"
            return f"operation {i + 1} of {len(a.steps)}: {what}"
    if len(a.steps) != len(b.steps):
        return f"{len(a.steps)} and {len(b.steps)} operations"
    if [label for label, _ in a.values] != [label for label, _ in b.values]:
        only = sorted({label for label, _ in a.values} ^ {label for label, _ in b.values})
        return f"the results have different parts: {', '.join(only[:5]) or 'in another order'}"
    for (label, x), (_, y) in zip(a.values, b.values):
        if what := difference(x, y):
            return f"{label}: {what}"
    return ""


def one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename.endswith("model.py"):
            return f"{type(error).__name__}: {text[:200]} (line {frame.lineno})"
    return f"{type(error).__name__}: {text[:200]}"


def child(original: pathlib.Path, exported: pathlib.Path, args: argparse.Namespace, pipe: Any) -> None:
    """Runs both and sends a message after each, then the verdict."""
    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_AS, (args.max_memory, args.max_memory))
    results = []
    for sample in (original, exported):
        # Of the processor, so that a busy machine makes no difference.
        used = math.ceil(time.process_time())
        resource.setrlimit(resource.RLIMIT_CPU, (used + args.timeout, resource.RLIM_INFINITY))
        try:
            results.append(run_sample(sample, args.seed))
            pipe.send("")
        except MemoryError:
            pipe.send("MemoryError: out of memory")
        except Exception as error:  # Whatever the model raises is a result.
            pipe.send(one_line(error))
    pipe.send(compare_runs(*results) if len(results) == 2 else "")


class Outcome(NamedTuple):
    verdict: str  # equal, different, failed-on-one, failed-on-both, skipped
    reason: str = ""


def run_both(original: pathlib.Path, exported: pathlib.Path, args: argparse.Namespace) -> Outcome:
    receiver, sender = FORK.Pipe(duplex=False)
    process = FORK.Process(target=child, args=(original, exported, args, sender))
    process.start()
    sender.close()
    messages: List[str] = []
    try:
        while len(messages) < 3:
            # It may wait for something instead of computing.
            if not receiver.poll(20 * args.timeout):
                messages.append("hangs")
                break
            messages.append(receiver.recv())
    except EOFError:
        process.join()
        if process.exitcode == -signal.SIGXCPU:
            messages.append(f"takes more than {args.timeout} seconds")
        else:
            messages.append(f"the process died with exit code {process.exitcode}")
    finally:
        process.kill()
        process.join()
    # A run that ended the process, or took too long, leaves the other untried.
    if len(messages) == 1:
        return Outcome("skipped", f"original: {messages[0]}")
    in_original, in_exported = messages[:2]
    if in_original and in_exported:
        return Outcome("failed-on-both", in_original)
    if in_original:
        return Outcome("failed-on-one", f"only the original fails: {in_original}")
    if in_exported:
        return Outcome("failed-on-one", f"only the exported one fails: {in_exported}")
    return Outcome("different", messages[2]) if messages[2] else Outcome("equal")


def check(sample: pathlib.Path, scratch: pathlib.Path, args: argparse.Namespace) -> Outcome:
    size = declared_bytes(read_metas(sample))
    if size > args.max_bytes:
        return Outcome("skipped", f"inputs of {size / 2**20:.0f} MiB")
    exported = scratch / "exported"
    paths = {"original": str(sample), "exported": str(exported)}
    command = [word.format(**paths) for word in shlex.split(args.convert)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0 or not (exported / "model.py").is_file():
        return Outcome("failed-on-one", f"not converted: {done.stderr.strip()[:500]}")
    return run_both(sample, exported, args)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--convert", default="bazel-bin/graphnet/cli/graphnet convert --to graphnet {original} {exported}",
                        help="the command that exports (default: %(default)s)")
    parser.add_argument("--sample", type=int, metavar="N", help="compare N random samples (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="of the choice and of the inputs")
    parser.add_argument("--max-bytes", type=int, default=2 << 30,
                        help="skip samples with inputs of more bytes (default: %(default)s)")
    parser.add_argument("--max-memory", type=int, default=16 << 30,
                        help="address space that a sample may take (default: %(default)s)")
    parser.add_argument("--timeout", type=int, default=300,
                        help="seconds of the processor for each run (default: %(default)s)")
    args = parser.parse_args()

    samples = find_samples(args.folders)
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
        with tempfile.TemporaryDirectory() as scratch:
            outcome = check(sample, pathlib.Path(scratch), args)
        counts[outcome.verdict] += 1
        compared += outcome.verdict not in ("failed-on-both", "skipped")
        print(f"{outcome.verdict:14} {time.monotonic() - begin:6.1f} s  {sample}"
              + (f": {outcome.reason}" if outcome.reason else ""), flush=True)

    print(f"{tried} tried: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    if args.sample is not None and compared < args.sample:
        print(f"only {compared} samples could be compared, not {args.sample}")
    failed = counts["different"] + counts["failed-on-one"]
    print(f"{counts['equal']} passed, {failed} failed")
    return 1 if failed or (args.sample is not None and compared < args.sample) else 0


if __name__ == "__main__":
    sys.exit(main())
