#!/usr/bin/env python3
"""Runs graphs before and after passes in PyTorch, and compares the bits.

    compare_passes.py programs --count 300 --seed 0
    compare_passes.py functional --sample 200 FOLDER...
    compare_passes.py fused --sample 40 FOLDER...
    compare_passes.py count-fused FOLDER...

`programs` draws small random programs of views and writes: chains of views, writes through them,
reads of the base and of other views afterwards, operands that promote, inputs that are written to,
random numbers. PyTorch runs each eagerly, statement by statement; one that raises is not taken.
`functionalize` makes each functional, as it is written and after torch-to-aten, with the last
values of inputs copied back and returned. What PyTorch runs then must yield the same bits, inputs
included, and must write to nothing but inputs at the end; only where the pass notes that it leaves
something may there be other writes.

`functional` takes samples of GraphNet, which `functionalize` must not change: they return the same
bits and leave the same in their inputs. It tells how many of them had a write.

`fused` takes samples in which `fuse` finds an operator, so that each operator has its turn. PyTorch
runs a sample as it is, and what `fuse` and `expand-fused` make of it, with the same bits; `graphnet
run` runs it with the fused calls and must yield what it yields without them. `count-fused` tells how
many samples have calls that make up each fused operator, and how many calls `fuse` makes of them:
all operators together, where the larger ones take what the smaller would, and each one alone.

This runs the Python text of the samples: use it on samples that you trust.
"""

import argparse
import collections
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from typing import Any, Dict, Iterator, List, Tuple

import torch

import in_pytorch

INPUTS = {
    "x": ([3, 4], "float32"),
    "y": ([2, 3, 4], "float32"),
    "i": ([3, 4], "int64"),
    "d": ([4], "float64"),
    "b": ([3, 4], "bool"),
    "z": ([2, 3], "complex64"),
}


# ----------------------------------------------------------------- programs


class Draw:
    """Statements that may or may not run on the tensors that there are."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def dim(self, t: torch.Tensor, extra: int = 0) -> int:
        n = max(1, t.dim() + extra)
        return self.rng.randrange(-n, n)

    def index(self, t: torch.Tensor) -> str:
        parts = []
        for size in t.shape[: self.rng.randint(1, max(1, t.dim()))]:
            a = self.rng.randrange(max(1, size))
            parts.append(self.rng.choice([str(a), str(a - size), ":", f"{a}:", f":{a + 1}", f"{a}:{a + 2}", "::2", "None", "1::2"]))
        if self.rng.random() < 0.3:
            parts.insert(self.rng.randint(0, len(parts)), "...")
        return ", ".join(parts)

    def view(self, name: str, t: torch.Tensor) -> str:
        rng, d, e = self.rng, self.dim(t), self.dim(t)
        flat = [-1] if rng.random() < 0.5 else [max(1, t.numel() // 2), -1]
        perm = rng.sample(range(t.dim()), t.dim())
        start = rng.randrange(max(1, t.shape[d] if t.dim() else 1))
        return rng.choice([
            f"{name}[{self.index(t)}]", f"{name}[{self.index(t)}]", f"{name}[{self.index(t)}]",
            f"{name}.select({d}, {start})", f"{name}.narrow({d}, {start}, 1)", f"torch.narrow({name}, {d}, 0, {start + 1})",
            f"{name}.transpose({d}, {e})", f"{name}.permute({', '.join(map(str, perm))})", f"{name}.t()", f"{name}.mT", f"{name}.T",
            f"{name}.unsqueeze({self.dim(t, 1)})", f"{name}.squeeze()", f"{name}.squeeze({d})", f"{name}.detach()",
            f"{name}.view({', '.join(map(str, flat))})", f"{name}.reshape({', '.join(map(str, flat))})", f"{name}.view_as({name})",
            f"torch.flatten({name})", f"{name}.unflatten({d}, (1, -1))", f"{name}.movedim({d}, {e})", f"torch.swapaxes({name}, {d}, {e})",
            f"{name}.diagonal({rng.randint(-1, 1)}, {d}, {e})", f"torch.linalg.diagonal({name}, offset=1)",
            f"{name}.expand(2, {', '.join('-1' * 1 for _ in t.shape)})", f"{name}.expand_as(y)", f"torch.alias_copy({name})",
            f"torch.split({name}, {start + 1}, {d})[{rng.randint(0, 1)}]", f"{name}.chunk(2, {d})[{rng.randint(0, 1)}]",
            f"{name}.unbind({d})[{rng.randint(-1, 1)}]", f"torch.tensor_split({name}, 2, {d})[{rng.randint(0, 1)}]",
            f"{name}.split_with_sizes([1, {max(0, (t.shape[d] if t.dim() else 1) - 1)}], {d})[{rng.randint(0, 1)}]",
            f"{name}.unfold({d}, {rng.randint(1, 2)}, {rng.randint(1, 2)})", f"{name}.contiguous()", f"{name}.to(torch.float32)",
            f"{name}.real", f"{name}.imag", f"torch.view_as_real({name})", f"{name}.conj()", f"{name}.mH", f"{name}.view(torch.int32)",
            f"torch.ops.aten.alias.default({name})", f"torch.ops.aten.slice.Tensor({name}, {d}, 0, {start + 1})",
            f"torch.ops.aten.as_strided.default({name}, [2], [1])", f"torch.positive({name})", f"torch.atleast_2d({name})",
        ])

    def value(self, name: str, t: torch.Tensor, other: str) -> str:
        d = self.dim(t)
        return self.rng.choice([
            f"{name} + 1", f"{name} * {other}", f"torch.relu({name})", f"{name}.clone()", "torch.zeros(3, 4)", f"torch.ones_like({name})",
            "torch.arange(12).view(3, 4)", "torch.full((2, 6), 0.5)", f"{name}.sum({d})", f"torch.cat([{name}, {name}], {d})",
            f"{name}.double()", f"torch.where({name} > 0, {name}, {other})", f"{name}.exp()", "torch.rand(3, 4)", f"{name}.sort({d})",
            f"{name}.sort({d})[0]", "torch.empty(4, 3).fill_(0.25)", f"{name}.cumsum({d})", f"{name}.to(torch.bfloat16)",
        ])

    def write(self, name: str, t: torch.Tensor, other: str) -> str:
        rng, d = self.rng, self.dim(t)
        number = rng.choice(["2", "0.5", "-1", "True"])
        made = f"m = {name}." if rng.random() < 0.4 else f"{name}."
        return rng.choice([
            f"{made}add_({other})", f"{made}add_({number})", f"{made}mul_({other})", f"{made}sub_({other}, alpha=2)", f"{made}copy_({other})",
            f"{made}fill_({number})", f"{made}zero_()", f"{made}relu_()", f"{made}masked_fill_({name} > 0, {number})", f"{made}clamp_(min=0.1)",
            f"{made}masked_fill_(b, {number})", f"{made}div_({other})", f"{made}pow_(2)", f"{made}neg_()", f"{made}exp_()", f"{made}eq_({other})",
            f"{made}lt_(0)", f"{made}logical_not_()", f"{made}cumsum_({d})", f"{made}tril_()", f"{made}index_fill_({d}, torch.tensor([0]), 3)",
            f"{made}index_put_((torch.tensor([0, 1]),), {name}[1].clone())", f"{made}addcmul_({other}, {other}, value=0.5)",
            f"{made}lerp_({other}, 0.25)", f"{made}uniform_(0, 1)", f"{made}normal_()", f"{made}bernoulli_(0.5)", f"{made}random_(9)",
            f"torch.nn.functional.dropout({name}, 0.5, True, True)", f"{made}exponential_()",
            f"torch.nn.functional.relu({name}, inplace=True)", f"torch.nn.functional.silu({name}, True)", f"torch.sigmoid_({name})",
            f"torch.ops.aten.mul_.Tensor({name}, {other})", f"torch.ops.aten.copy_.default({name}, {other})", f"{made}bitwise_and_({other})",
            f"{name} += {other}", f"{name} *= {number}", f"{name} |= {other}", f"{name} //= 2", f"{made}floor_divide_(2)",
            f"{name}[{self.index(t)}] = {number}", f"{name}[{self.index(t)}] = {other}", 
            f"{name}[{self.index(t)}] = {name}[{self.index(t)}]", f"{name}[b] = {number}", f"{name}[{name} > 0] = {number}",
            f"{name}[[0, 1]] = {number}", f"{name}[..., torch.tensor([0, 1])] = {number}", f"{name}[torch.tensor(1)] = {other}",
            f"{name}[:, torch.tensor([0, 1])] = {number}", f"{name}[...] = {other}", f"{name}[torch.tensor([0, 1]), 1:] = {number}",
            f"{made}t_()", f"{made}transpose_({d}, 0)", f"{made}squeeze_()", f"{made}unsqueeze_({self.dim(t, 1)})", f"{made}detach_()",
            f"{made}swapaxes_(0, {d})", f"{made}scatter_({d}, i % 2, 7)", f"{made}fill_diagonal_(2)",
            f"torch.add({name}, {other}, out={name})", f"{made}nan_to_num_()", f"{made}conj_physical_()", f"{made}float_power_(2)",
        ])


def make_program(seed: int) -> Tuple[List[str], List[str]]:
    """Statements that run, and the names of what they make."""
    rng = random.Random(seed)
    draw = Draw(rng)
    scope: Dict[str, Any] = {"torch": torch, **draw_inputs()}
    names = list(INPUTS)
    lines: List[str] = []
    wanted = rng.randint(4, 14)
    for _ in range(40 * wanted):
        if len(lines) >= wanted:
            break
        tensors = [name for name in names if isinstance(scope[name], torch.Tensor)]
        # What was made last is of interest.
        name = rng.choice(tensors + tensors[-3:] * 3)
        other = rng.choice(tensors)
        kind = rng.random()
        if kind < 0.45:
            line = draw.write(name, scope[name], other)
            if scope[name].is_complex() and re.search("div|mul|pow|lerp|exp", line):
                continue  # PyTorch's kernels themselves round otherwise in place.
            line = line.replace("m = ", f"v{len(lines)} = ", 1) if line.startswith("m = ") else line
        else:
            made = draw.view(name, scope[name]) if kind < 0.85 else draw.value(name, scope[name], other)
            line = f"v{len(lines)} = {made}"
        # What raises may have written half: tried on copies that share memory as the originals do.
        trial = replay(lines)
        try:
            exec(line, trial)
        except Exception:  # Whatever it raises, it is no program.
            continue
        new = re.match(r"(v\d+) = ", line)
        if new and not isinstance(trial[new[1]], (torch.Tensor, tuple, list)):
            continue
        lines.append(line)
        scope = trial
        if new:
            names.append(new[1])
    # What is returned is what a later reader of any of them would see.
    kept = [name for name in names if name not in INPUTS and rng.random() < 0.7]
    return lines, kept


def draw_inputs() -> Dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    values = {}
    for name, (shape, dtype) in INPUTS.items():
        dtype = getattr(torch, dtype)
        if dtype == torch.bool:
            values[name] = torch.randn(shape, generator=generator) > 0
        elif dtype == torch.int64:
            values[name] = torch.randint(-3, 9, shape, generator=generator)
        else:
            values[name] = torch.randn(shape, dtype=dtype, generator=generator)
    return values


def replay(lines: List[str]) -> Dict[str, Any]:
    scope: Dict[str, Any] = {"torch": torch, **draw_inputs()}
    torch.manual_seed(0)
    for line in lines:
        exec(line, scope)
    return scope


def write_sample(folder: pathlib.Path, lines: List[str], kept: List[str]) -> None:
    folder.mkdir(parents=True)
    parameters = ", ".join(f"{name}: torch.Tensor" for name in INPUTS)
    body = "\n".join(f"        {line}" for line in lines)
    (folder / "model.py").write_text(
        f"import torch\n\n\nclass GraphModule(torch.nn.Module):\n    def forward(self, {parameters}):\n{body}\n"
        f"        return ({', '.join(kept)}{',' if kept else ''})\n")
    metas = "\n\n".join(
        f"class Program_weight_tensor_meta_{name}:\n    name = \"{name}\"\n    shape = {shape}\n    dtype = \"torch.{dtype}\"\n"
        f"    device = \"cpu\"\n    mean = 0.0\n    std = 1.0\n    data = None\n" for name, (shape, dtype) in INPUTS.items())
    (folder / "weight_meta.py").write_text(metas)
    (folder / "input_meta.py").write_text("")
    (folder / "input_tensor_constraints.py").write_text("")
    (folder / "graph_net.json").write_text(json.dumps({"framework": "torch", "num_devices_required": 1, "num_nodes_required": 1}))


# What model.py writes by: x.add_(…), aten.add_.Tensor(…), x[…] = …, x += …, relu(x, inplace=True).
WRITES = re.compile(r"\.\w*[a-z0-9]_(\.\w+)?\(|__i\w+__|^\w+\[|^\w+ [^ =]+= |inplace=True|out=")


def writes_of(folder: pathlib.Path) -> List[str]:
    """The lines that write, but those at the end that give inputs their last values."""
    lines = [line.split(";")[0].strip() for line in (folder / "model.py").read_text().splitlines()]
    lines = lines[lines.index("):") + 1 :]
    while len(lines) > 1 and "aten.copy_.default(" in lines[-2]:
        del lines[-2]
    return [line for line in lines if WRITES.search(line)]


def run_program(folder: pathlib.Path) -> Tuple[List[Any], Dict[str, torch.Tensor]]:
    model, inputs = in_pytorch.load(folder), draw_inputs()
    torch.manual_seed(0)
    with torch.no_grad():
        returned = model(**inputs)
    return list(returned), inputs


def leaves(value: Any) -> List[Any]:
    return [leaf for _, leaf in in_pytorch.flatten(value, "") if not isinstance(leaf, tuple)]


def check_program(original: pathlib.Path, made: pathlib.Path, returns_inputs: bool, left: bool) -> str:
    expected, inputs = run_program(original)
    try:
        actual, inputs_after = run_program(made)
    except Exception as error:  # Whatever it raises is the result.
        return in_pytorch.one_line(error)
    # Inputs that the pass returns come last, those that it left are written to.
    further = actual[len(expected):]
    for label, x, y in [(f"output {i}", x, y) for i, (x, y) in enumerate(zip(expected, actual))]:
        for a, b in zip(leaves(x), leaves(y)):
            if what := in_pytorch.difference(a, b):
                return f"{label}: {what}"
    for name, value in inputs.items():
        if returns_inputs and value._version > 0 and inputs_after[name]._version == 0:
            # A change of shape of a view counts as a write to its base.
            if further and not in_pytorch.difference(value, further[0]):
                further.pop(0)
            elif what := in_pytorch.difference(value, inputs_after[name]):
                return f"input {name}: {what}, and it is not returned"
        elif what := in_pytorch.difference(value, inputs_after[name]):
            return f"input {name}: {what}"
    writes = writes_of(made)
    if writes and not left:
        return f"it writes: {writes[0]}"
    return ""


def programs(args: argparse.Namespace) -> int:
    counts = dict.fromkeys(["equal", "different"], 0)
    functional = rewritten = partly = 0
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
        for i in range(args.count):
            lines, kept = make_program(args.seed * 1_000_003 + i)
            write_sample(root / "in" / f"{i:05}", lines, kept)
        for passes in ("functionalize", "torch-to-aten,functionalize", "functionalize{outputs=true}"):
            shutil.rmtree(root / "out", ignore_errors=True)
            done = subprocess.run([args.graphnet, "opt", str(root / "in"), "--passes", passes, "--verify-each", "--json",
                                   "-o", str(root / "out")], capture_output=True, text=True)
            if done.stderr:
                print(done.stderr[:2000], file=sys.stderr)
            report = {pathlib.Path(s["path"]).name: s for s in json.loads(done.stdout)["samples"]}
            for i in range(args.count):
                name = f"{i:05}"
                made = root / "out" / name
                if not made.is_dir():
                    refused = passes.startswith("torch-to-aten")
                    counts["equal" if refused else "different"] += 0 if refused else 1
                    continue
                step = report[name]["passes"][-1]
                what = check_program(root / "in" / name, made, "outputs" in passes, bool(step["notes"]))
                rewritten += bool(step["changed"])
                partly += bool(step["notes"])
                functional += not step["notes"]
                counts["different" if what else "equal"] += 1
                if what:
                    print(f"different  {name} {passes}: {what}\n" + (root / "in" / name / "model.py").read_text()
                          + (made / "model.py").read_text())
                    for note in step["notes"]:
                        print("note:", note)
    print(f"{rewritten} rewritten, {functional} of them or others without any write left, {partly} with something left as it is")
    print(f"{counts['equal']} passed, {counts['different']} failed")
    return 1 if counts["different"] else 0


# ------------------------------------------------------------------ samples


def values_of(folder: pathlib.Path, seed: int) -> List[Tuple[str, Any]]:
    """What is returned, and what inputs are afterwards."""
    model, metas = in_pytorch.load(folder), in_pytorch.read_metas(folder)
    inputs = {name: in_pytorch.draw(metas[name], seed) for name in in_pytorch.parameters(model)}
    given = in_pytorch.arguments(model, inputs)
    torch.manual_seed(seed)
    with torch.no_grad():
        returned = model(**given)
    return list(in_pytorch.flatten(returned, "output")) + [(f"input {metas[n].original_name}", v) for n, v in given.items()]


def differ(sample: pathlib.Path, made: pathlib.Path, seed: int) -> str:
    try:
        expected = values_of(sample, seed)
    except Exception as error:  # Whatever the model raises is a result.
        return f"skipped: {in_pytorch.one_line(error)}"
    try:
        actual = values_of(made, seed)
    except Exception as error:
        return f"only what the passes made fails: {in_pytorch.one_line(error)}"
    if [label for label, _ in expected] != [label for label, _ in actual]:
        return "the results have different parts"
    for (label, x), (_, y) in zip(expected, actual):
        if what := in_pytorch.difference(x, y):
            return f"{label}: {what}"
    return ""


def compare(sample: pathlib.Path, made: pathlib.Path, args: argparse.Namespace) -> str:
    """What differs, or "skipped: " and why the sample does not run here."""
    what, why = in_pytorch.in_process(differ, sample, made, args.seed, seconds=2 * args.timeout, memory=args.max_memory)
    return f"skipped: {why}" if why else what


def drawn(args: argparse.Namespace) -> Iterator[pathlib.Path]:
    """Samples in random order, without those that are too large."""
    samples = in_pytorch.find_samples(args.folders)
    random.Random(args.seed).shuffle(samples)
    for sample in samples:
        if in_pytorch.declared_bytes(in_pytorch.read_metas(sample)) <= args.max_bytes:
            yield sample


def opt(args: argparse.Namespace, sample: pathlib.Path, passes: str, out: pathlib.Path) -> subprocess.CompletedProcess:
    return subprocess.run([args.graphnet, "opt", str(sample), "--passes", passes, "--verify-each", "--json", "-o", str(out)],
                          capture_output=True, text=True)


def functional(args: argparse.Namespace) -> int:
    counts = dict.fromkeys(["equal", "different", "skipped"], 0)
    rewritten = left = 0
    for sample in drawn(args):
        if counts["equal"] + counts["different"] == args.sample:
            break
        with tempfile.TemporaryDirectory() as scratch:
            made = pathlib.Path(scratch) / "made"
            done = opt(args, sample, "functionalize", made)
            if done.returncode != 0:
                counts["different"] += 1
                print(f"different  {sample}: {done.stderr.strip()[:500]}", flush=True)
                continue
            step = json.loads(done.stdout)["samples"][0]["passes"][-1]
            if args.only_rewritten and not step["changed"]:
                continue
            what = compare(sample, made, args)
        if what.startswith("skipped"):
            counts["skipped"] += 1
            continue
        rewritten += bool(step["changed"])
        left += bool(step["notes"])
        counts["different" if what else "equal"] += 1
        if what or step["notes"]:
            print(f"{'different' if what else 'equal'}  {sample}: {what} {step['notes'] or ''}", flush=True)
    print(f"{counts['skipped']} skipped; {rewritten} of those compared rewritten, {left} with something left as it is")
    print(f"{counts['equal']} passed, {counts['different']} failed")
    return 1 if counts["different"] else 0


# ---------------------------------------------------------- fused operators


def fused_calls(graphnet: str, paths: List[pathlib.Path], passes: str) -> Dict[str, Dict[str, int]]:
    """By sample, how many calls of which operators are made."""
    done = subprocess.run([graphnet, "opt", *map(str, paths), "--passes", passes, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{done.stderr.strip()[:1000]}")
    found = {}
    for sample in json.loads(done.stdout)["samples"]:
        notes = [note for step in sample["passes"] for note in step["notes"]]
        found[sample["path"]] = {note["what"].removeprefix("calls of fused."): note["count"]
                                 for note in notes if note["what"].startswith("calls of fused.")}
    return found


def findable(graphnet: str) -> List[str]:
    """The operators that `fuse` finds: those of several calls."""
    table = pathlib.Path(__file__).parents[2] / "graphnet" / "ops" / "fused.txt"
    names = re.findall(r"^operator fused\.(\w+)", table.read_text(), re.M)
    with tempfile.NamedTemporaryFile("w", suffix=".gn") as graph:
        graph.write("graph @forward(%x) {\n  return (%x,)\n}\n")
        graph.flush()
        asked = [subprocess.run([graphnet, "opt", graph.name, "-p", f"fuse{{operators={name}}}"], capture_output=True) for name in names]
    return [name for name, done in zip(names, asked) if done.returncode == 0]


def count_fused(args: argparse.Namespace) -> int:
    total = sum(len(in_pytorch.find_samples([folder])) for folder in args.folders)
    names: List[str] = args.operators or findable(args.graphnet)
    together: collections.Counter = collections.Counter()
    calls: collections.Counter = collections.Counter()
    alone: collections.Counter = collections.Counter()
    calls_alone: collections.Counter = collections.Counter()
    any_found = 0
    for folder in args.folders:
        for per in fused_calls(args.graphnet, [folder], "fuse").values():
            any_found += bool(per)
            together.update(per.keys())
            calls.update(per)
        for name in names:
            for per in fused_calls(args.graphnet, [folder], f"fuse{{operators={name}}}").values():
                alone.update(per.keys())
                calls_alone.update(per)
    print(f"{any_found} of {total} samples have some\n")
    print("| operator | samples | calls | alone: samples | calls |\n|---|---:|---:|---:|---:|")
    for name in sorted(names, key=lambda n: (-calls[n], n)):
        print(f"| {name} | {together[name]} | {calls[name]} | {alone[name]} | {calls_alone[name]} |")
    return 0


def interpreted(args: argparse.Namespace, sample: pathlib.Path, scratch: pathlib.Path) -> str:
    """What differs between runs of the interpreter; empty if nothing."""
    outputs = []
    for name, path in (("plain", sample), ("fused", scratch / "fused.pb")):
        out = scratch / f"{name}.safetensors"
        done = subprocess.run([args.graphnet, "run", str(path), "--seed", str(args.seed), "-o", str(out)],
                              capture_output=True, text=True, timeout=20 * args.timeout)
        if done.returncode != 0:
            return ("skipped: " if name == "plain" else "") + f"{name} does not run: {done.stderr.strip()[:300]}"
        outputs.append(out.read_bytes())
    return "" if outputs[0] == outputs[1] else "graphnet run yields other bits"


def fused(args: argparse.Namespace) -> int:
    counts: collections.Counter = collections.Counter()
    of_operator: collections.Counter = collections.Counter()
    for sample in drawn(args):
        if counts["equal"] + counts["different"] == args.sample:
            break
        with tempfile.TemporaryDirectory() as name:
            scratch = pathlib.Path(name)
            done = opt(args, sample, "fuse", scratch / "fused.pb")
            if done.returncode != 0:
                counts["different"] += 1
                print(f"different  {sample}: {done.stderr.strip()[:500]}", flush=True)
                continue
            notes = json.loads(done.stdout)["samples"][0]["passes"][0]["notes"]
            found = [note["what"].removeprefix("calls of fused.") for note in notes]
            # One whose operators all had their turn more often than others may wait.
            if not found or min(of_operator[f] for f in found) > args.sample // 4:
                continue
            opt(args, sample, "fuse,expand-fused", scratch / "made").check_returncode()
            what = compare(sample, scratch / "made", args)
            if not what:
                what = interpreted(args, sample, scratch)
        if what.startswith("skipped"):
            counts["skipped"] += 1
            print(f"{sample}: {what}", flush=True)
            continue
        counts["different" if what else "equal"] += 1
        of_operator.update(found)
        print(f"{'different' if what else 'equal'}  {sample}: {', '.join(found)} {what}", flush=True)
    for operator, n in of_operator.most_common():
        print(f"{n:4} samples with {operator}")
    print(f"{counts['equal']} passed, {counts['different']} failed, {counts['skipped']} did not run here")
    return 1 if counts["different"] else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphnet", default="bazel-bin/graphnet/cli/graphnet")
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("programs")
    one.add_argument("--count", type=int, default=300)
    one.add_argument("--seed", type=int, default=0)
    one.set_defaults(run=programs)
    for name, run, sample, size in (("functional", functional, None, 300 << 20), ("fused", fused, 40, 100 << 20)):
        one = commands.add_parser(name)
        one.add_argument("folders", nargs="+", type=pathlib.Path, metavar="FOLDER")
        one.add_argument("--sample", type=int, default=sample, metavar="N")
        one.add_argument("--seed", type=int, default=0)
        one.add_argument("--max-bytes", type=int, default=size)
        one.add_argument("--max-memory", type=int, default=6 << 30)
        one.add_argument("--timeout", type=int, default=60, help="seconds of the processor for each run")
        one.set_defaults(run=run)
        if run is functional:
            one.add_argument("--only-rewritten", action="store_true", help="samples without a write are not run")
    one = commands.add_parser("count-fused")
    one.add_argument("folders", nargs="+", type=pathlib.Path, metavar="FOLDER")
    one.add_argument("--operators", nargs="+", help="only these, each alone")
    one.set_defaults(run=count_fused)
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    return args.run(args)


if __name__ == "__main__":
    sys.exit(main())
