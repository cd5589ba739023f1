#!/usr/bin/env python3
"""Extracts programs and compares what run_stitched.py and `graphnet run` make of the
folders with what torch.jit makes of the archives.

    compare_stitched.py                          # the programs below and of tests/extract
    compare_stitched.py --archives FOLDER        # NAME.pt beside NAME.json, as export_zoo.py writes them

Each program is extracted in both formats on the same inputs; results must agree bit for
bit, as must, in Python, what is printed and what given tensors hold afterwards. Programs that
need what PyTorch in Python has not (the test's own operators) are named and left out. The
exit status is 0 if all others agree.
"""

import argparse
import contextlib
import copy
import importlib.util
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings
from typing import List, Optional, Tuple

import torch

import in_pytorch

warnings.filterwarnings("ignore")
ROOT = pathlib.Path(__file__).resolve().parents[2]


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 4)

    def forward(self, x, n: int):
        y = torch.relu(self.linear(x))
        if y.sum() > 100:
            y = y / y.sum()
        print("rows", x.size(0))
        return y + n


class Rows(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 4)

    def forward(self, x):
        y = torch.relu(self.linear(x))
        rows = x.size(0)
        if rows > 64:
            y = y * 2
        return y.view(rows * 2, -1) / rows


class Turns(torch.nn.Module):
    def forward(self, x):
        h = x[0]
        for i in range(x.size(0)):
            h = torch.tanh(x[i] + h)
        return h


class Choice(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        if bool(x.sum() > 0):
            x = self.linear(x)
        else:
            x = torch.sin(x) - 1
        return x * 2


class Texts(torch.nn.Module):
    def forward(self, x):
        text = str(x) + "{} {}".format(x.sum(), x.size(0))
        print(text, x, [x, x * 2], (1, 0.5, True, None), {"a": x})
        return x * len(text), float(x.mean())


class Counts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.register_buffer("mean", torch.zeros(3))
        self.norm = torch.nn.BatchNorm1d(3)

    def forward(self, x, scale: Optional[torch.Tensor], pairs: List[Tuple[torch.Tensor, int]]):
        self.calls += 1
        self.mean = self.mean * 0.9 + x.mean(0) * 0.1
        y = self.norm(x - self.mean)
        for other, times in pairs:
            y = y + other * times
        pairs.append((y, self.calls))
        return y if scale is None else y * scale, self.calls


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(20, 8)
        self.lstm = torch.nn.LSTM(8, 6, num_layers=2, bidirectional=True)
        self.gru = torch.nn.GRU(12, 5)

    def forward(self, ids):
        y, (h, c) = self.lstm(self.embedding(ids))
        return self.gru(y)[0], h, c


class Transposed(torch.nn.Module):
    """Products of matrices that round by who asks for gradients, as their operands are transposed."""
    def __init__(self, linear: bool):
        super().__init__()
        self.linear = torch.nn.Linear(8, 24) if linear else torch.nn.Identity()
        self.weight = torch.nn.Parameter(torch.randn(24, 8).t() if not linear else torch.randn(24, 3))

    def forward(self, x):
        return torch.matmul(self.linear(x.transpose(0, 1)), self.weight)


def convolutions():
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, stride=2, padding=1), torch.nn.BatchNorm2d(8), torch.nn.SiLU(), torch.nn.MaxPool2d(2),
        torch.nn.ConvTranspose2d(8, 4, 2, stride=2), torch.nn.GroupNorm(2, 4), torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(), torch.nn.Dropout(0.5), torch.nn.Linear(4, 10), torch.nn.LogSoftmax(1)).eval()


def channels_last():
    return convolutions().to(memory_format=torch.channels_last)


def transformer():
    layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    return torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()


# Name, module, whether to trace it, words of --input, other options.
MODELS = [
    ("net", Net, False, ["f32[8,3]", "int=2"], []),
    ("rows", Rows, False, ["f32[8,3]"], ["--dynamic", "0:0=batch"]),
    ("turns", Turns, False, ["f32[5000,3]"], []),
    ("turns_unrolled", Turns, False, ["f32[50,3]"], []),
    ("choice", Choice, False, ["f32[4,3]"], []),
    ("choice_cond", Choice, False, ["f32[4,3]"], ["--cond"]),
    ("texts", Texts, False, ["f32[3]"], []),
    ("counts", Counts, False, ["f32[4,3]", "None", "list(tuple(f32[3],int=2))"], []),
    ("counts_eval", lambda: Counts().eval(), False, ["f32[4,3]", "f32[3]", "list(tuple(f32[3],int=2))"], []),
    ("recurrent", Recurrent, False, ["i64[7,2]:0..19"], []),
    ("recurrent_traced", Recurrent, True, ["i64[7,2]:0..19"], []),
    ("convolutions", convolutions, False, ["f32[2,3,16,16]"], []),
    ("convolutions_traced", convolutions, True, ["f32[2,3,16,16]"], []),
    ("convolutions_training", lambda: convolutions().train(), False, ["f32[2,3,16,16]"], []),
    ("channels_last", channels_last, False, ["f32[2,3,16,16]"], []),
    ("transformer", transformer, False, ["f32[2,5,16]"], []),
    ("transformer_traced", transformer, True, ["f32[2,5,16]"], []),
    ("attention", lambda: torch.nn.MultiheadAttention(16, 4).eval(), False, ["f32[5,2,16]"] * 3, []),
    ("transposed", lambda: Transposed(True), True, ["f32[2,5,8]"], []),
    ("transposed_weight", lambda: Transposed(False), False, ["f32[3,4,8]"], []),
    ("linear_bf16", lambda: torch.nn.Linear(32, 8).bfloat16(), False, ["bf16[3,32]"], []),
]


def example(word):
    """Of a tensor's word, for tracing."""
    kind, rest = word.split("[")
    sizes = [int(size) for size in rest.split("]")[0].split(",")]
    return torch.randn(sizes) if kind == "f32" else torch.randint(0, 9, sizes)


def models(folder, only):
    for name, make, traced, words, options in MODELS:
        if only and name not in only:
            continue
        torch.manual_seed(0)
        module = make()
        with torch.no_grad():
            module = torch.jit.trace(module, tuple(map(example, words))) if traced else torch.jit.script(module)
        torch.jit.save(module, folder / f"{name}.pt")
        yield name, folder / f"{name}.pt", words, options


class Holder(torch.nn.Module):
    """What the programs of tests/extract are methods of."""

    history: List[torch.Tensor]

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(3.0) + 0.5)
        self.register_buffer("buffer", torch.ones(3))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.scale = 1.5
        self.history = []


def programs(folder, file="tests/extract/programs.txt"):
    """Those of a file in tests/extract: name | inputs | operators to break on | dynamic size, other options."""
    for block in (ROOT / file).read_text().split("=== ")[1:]:
        head, source = block.split("\n", 1)
        name, words, *rest = (part.strip() for part in head.split("|"))
        options = ["--break-on", rest[0]] if rest and rest[0] else []
        for option in rest[1:]:
            options += option.split() if option.startswith("--") else ["--dynamic", f"0:0={option}"]
        if "self.counter" in source or "graphnet_test" in source:
            yield name, None, [], []
            continue
        module = torch.jit.script(type(name, (Holder,), {})().eval())  # A type of its own: methods are the type's.
        # C++ finds operators by name, Python what its modules have.
        source = source.replace("torch.warn(", "warnings.warn(")
        module.define(re.sub(r"\btorch\.(\w+)", lambda m: m[0] if hasattr(torch, m[1]) else f"torch.ops.aten.{m[1]}", source))
        module.save(folder / f"{name}.pt")
        yield name, folder / f"{name}.pt", words.split(), options


def archives(folder):
    for path in sorted(folder.glob("*.pt")):
        specs = json.loads(path.with_suffix(".json").read_text())
        short = {"torch.float32": "f32", "torch.int64": "i64", "torch.bool": "bool", "torch.int32": "i32"}
        words = []
        for spec in specs["inputs"] if isinstance(specs, dict) else specs:
            bounds = f":{spec['low']}..{spec['high'] - 1}" if spec["low"] is not None else ""
            words.append(f"{short[spec['dtype']]}[{','.join(map(str, spec['shape']))}]{bounds}")
        yield path.stem, path, words, []


def load(folder):
    """As a user does it: by the script that lies in the folder."""
    spec = importlib.util.spec_from_file_location("run_stitched", folder / "run_stitched.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, module.load(folder)


def named_tensors(value, name, numbers=False):
    """As --inputs has them; extract takes the numbers in structures, too."""
    if isinstance(value, torch.Tensor):
        yield name, value
    elif numbers and "." in name and isinstance(value, (int, float)):
        yield name, torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else None)
    elif isinstance(value, (list, tuple)):
        for i, element in enumerate(value):
            yield from named_tensors(element, f"{name}.{i}", numbers)
    elif isinstance(value, dict):
        for key, element in value.items():
            yield from named_tensors(element, f"{name}.{key}", numbers)


def draw(script, program, words):
    """Inputs for the program, integers within the bounds of the words."""
    torch.manual_seed(2)
    values = program.draw({})
    for i, (word, value) in enumerate(zip(words, values)):
        if isinstance(value, torch.Tensor) and ":" in word:
            low, high = (int(bound) for bound in word.split(":")[1].split(".."))
            values[i] = torch.randint(low, high + 1, value.shape).to(value.dtype)
        elif isinstance(value, torch.Tensor) and not value.is_floating_point():
            values[i] = torch.randint(0, 9, value.shape).to(value.dtype)
    return values


def run(script, function, inputs):
    """What it returns, then what the tensors that it was given hold, and what it prints."""
    inputs = copy.deepcopy(inputs)
    given = [*script.leaves(inputs)]
    printed = io.StringIO()
    torch.manual_seed(1)
    with contextlib.redirect_stdout(printed), torch.no_grad():
        returned = [*script.leaves(function(*inputs))]
    return {f"o{i}": leaf.detach() for i, leaf in enumerate(returned + given)}, printed.getvalue()


def check(args, archive, words, options, to, scratch):
    """What differs; empty: nothing."""
    def extract(inputs, out):
        done = subprocess.run([args.graphnet, "extract", archive, "-o", out, "--format", to, *inputs, *options],
                              capture_output=True, text=True)
        return done.stderr.strip() if done.returncode else ""
    given = [word for value in words for word in ("--input", value)]
    if error := extract(given, scratch / "first"):
        return f"not extracted: {error}"
    script, program = load(scratch / "first")
    inputs = draw(script, program, words)
    names = [row["name"] for row in program.manifest["inputs"]]
    for file, numbers in (("given", True), ("x", False)):
        tensors = {n: t for name, value in zip(names, inputs) for n, t in named_tensors(value, name, numbers)}
        in_pytorch.write_safetensors(tensors, scratch / f"{file}.safetensors")
    given = ["--inputs", scratch / "given.safetensors"]
    for name, value, word in zip(names, inputs, words):
        if not [*named_tensors(value, name, True)]:
            given += ["--input", f"{name}={word}"]
    if error := extract(given, scratch / "out"):
        return f"not extracted with --inputs: {error}"

    with torch.jit.optimized_execution(False):
        expected, text = run(script, torch.jit.load(str(archive)), inputs)
    script, program = load(scratch / "out")
    try:
        found, found_text = run(script, program, inputs)
    except Exception as error:  # pylint: disable=broad-except
        return f"run_stitched.py: {type(error).__name__}: {error}"
    if difference := in_pytorch.compare(expected, found):
        return f"run_stitched.py: {difference}"
    if text != found_text:
        return f"run_stitched.py printed {found_text!r} instead of {text!r}"
    done = subprocess.run([args.graphnet, "run", scratch / "out", "--inputs", scratch / "x.safetensors", "--seed", "1",
                           "--threads", "1", "--outputs", scratch / "y.safetensors"], capture_output=True, text=True)
    if done.returncode:
        return f"graphnet run: {done.stderr.strip()}"
    results = in_pytorch.read_safetensors(scratch / "y.safetensors")
    if difference := in_pytorch.compare({name: expected[name] for name in results}, results):
        return f"graphnet run: {difference}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphnet", default=ROOT / "bazel-bin/graphnet/cli/graphnet", type=pathlib.Path)
    parser.add_argument("--archives", type=pathlib.Path)
    parser.add_argument("--only", type=lambda text: text.split(","), help="these of the models below")
    args = parser.parse_args()
    torch.set_num_threads(1)
    counts = {"agree": 0, "differ": 0, "left out": 0}
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        (scratch / "pt").mkdir()
        found = [*models(scratch / "pt", args.only), *([] if args.only else programs(scratch / "pt"))]
        for name, archive, words, options in archives(args.archives) if args.archives else found:
            for to in ("protobuf", "graphnet"):
                if archive is None:
                    print(f"left out {name}: it has operators or classes of the test's own")
                    counts["left out"] += 1
                    continue
                difference = check(args, archive, words, options, to, scratch)
                counts["differ" if difference else "agree"] += 1
                if difference:
                    print(f"DIFFERS {name} as {to}: {difference[:600]}", flush=True)
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    sys.exit(counts["differ"] > 0)


if __name__ == "__main__":
    main()
