"""Suites of compare.py on programs of TorchScript that graphnet extracts."""

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
import warnings
from typing import Dict, List, Optional, Tuple

import torch

import in_pytorch
from compare import Failed, Run, Suite

ROOT = pathlib.Path(__file__).absolute().parents[2]


# --- Stitched -----------------------------------------------------------------------------------------


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


def run_it(script, function, inputs):
    """What it returns, then what the tensors that it was given hold, and what it prints."""
    inputs = copy.deepcopy(inputs)
    given = [*script.leaves(inputs)]
    printed = io.StringIO()
    torch.manual_seed(1)
    with contextlib.redirect_stdout(printed), torch.no_grad():
        returned = [*script.leaves(function(*inputs))]
    return {f"o{i}": leaf.detach() for i, leaf in enumerate(returned + given)}, printed.getvalue()


class Stitched(Suite):
    """Extracts programs in both formats, and compares what run_stitched.py and `graphnet run` make of the folders
with what torch.jit makes of the archives.

Results must agree bit for bit, as must, in Python, what is printed and what given tensors hold afterwards.
Without --archives, the programs are those in this file and of tests/extract. Programs that need what PyTorch
in Python has not (the test's own operators) are skipped.
"""

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--archives", type=pathlib.Path, help="a folder of NAME.pt, beside NAME.json with its inputs")
        parser.add_argument("--only", type=lambda text: text.split(","), help="these of the models below")

    def run(self, run: Run) -> None:
        torch.set_num_threads(1)
        warnings.filterwarnings("ignore")
        (run.scratch / "pt").mkdir()
        only = run.args.only
        found = archives(run.args.archives) if run.args.archives else [
            *models(run.scratch / "pt", only), *([] if only else programs(run.scratch / "pt"))]
        for name, archive, words, options in found:
            if archive is None:
                run.tell(name, "skipped: it has operators or classes of the test's own")
                continue
            for to in ("protobuf", "graphnet"):
                try:
                    run.tell(f"{name} as {to}", self.check(run, archive, words, [*options, "--format", to]))
                except Failed as error:
                    run.tell(f"{name} as {to}", str(error))

    def check(self, run: Run, archive: pathlib.Path, words: List[str], options: List[str]) -> str:
        """What differs; empty: nothing."""
        scratch = run.scratch
        run.graphnet("extract", archive, "-o", scratch / "first", *(word for value in words for word in ("--input", value)), *options)
        script, program = load(scratch / "first")
        inputs = draw(script, program, words)
        names = [row["name"] for row in program.manifest["inputs"]]
        given, tensors = ({n: t for name, value in zip(names, inputs) for n, t in in_pytorch.named_tensors(name, value, numbers)}
                          for numbers in (True, False))
        in_pytorch.write_safetensors(given, scratch / "given.safetensors")
        lacking = [word for name, value, text in zip(names, inputs, words) if not [*in_pytorch.named_tensors(name, value, True)]
                   for word in ("--input", f"{name}={text}")]
        run.graphnet("extract", archive, "-o", scratch / "out", "--inputs", scratch / "given.safetensors", *lacking, *options)
        with torch.jit.optimized_execution(False):
            expected, text = run_it(script, torch.jit.load(str(archive)), inputs)
        script, program = load(scratch / "out")
        try:
            found, found_text = run_it(script, program, inputs)
        except Exception as error:  # Whatever it raises is a result.
            return f"run_stitched.py: {in_pytorch.one_line(error)}"
        if difference := in_pytorch.compare(expected, found):
            return f"run_stitched.py: {difference}"
        if text != found_text:
            return f"run_stitched.py printed {found_text!r} instead of {text!r}"
        results = run.outputs(scratch / "out", tensors, seed=1)
        return in_pytorch.compare({name: expected[name] for name in results}, results)


# --- Scripted -----------------------------------------------------------------------------------------


class Forces(torch.nn.Module):
    """Energies of a molecule, and their gradients by positions."""

    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))

    def forward(self, pos: torch.Tensor):
        pos = pos.detach().requires_grad_(True)
        energy = self.net(pos).sum() + (pos[:, None] - pos[None]).pow(2).sum()
        gradient = torch.autograd.grad([energy], [pos])[0]
        assert gradient is not None
        return energy.detach(), -gradient


class Hessian(torch.nn.Module):
    """Second derivatives, a row at a time."""

    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.SiLU(), torch.nn.Linear(16, 1))

    def forward(self, pos: torch.Tensor):
        pos.requires_grad_(True)
        energy = self.net(pos).sum()
        gradient = torch.autograd.grad([energy], [pos], create_graph=True)[0]
        assert gradient is not None
        rows: List[torch.Tensor] = []
        for i in range(gradient.numel()):
            row = torch.autograd.grad([gradient.flatten()[i]], [pos], retain_graph=True)[0]
            assert row is not None
            rows.append(row.flatten())
        return gradient.detach(), torch.stack(rows)


class Detached(torch.nn.Module):
    """What is computed under no_grad takes no part in gradients."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor):
        z = x.detach().clone().requires_grad_(True)
        with torch.no_grad():
            weight = self.linear(z)
        energy = (self.linear(z) * weight).sum(0)
        ones: List[Optional[torch.Tensor]] = [torch.ones_like(energy)]
        gradients = torch.autograd.grad([energy], [z, self.linear.weight], ones, retain_graph=False,
                                        create_graph=False, allow_unused=True)
        g, h = gradients[0], gradients[1]
        if g is None:
            g = torch.zeros_like(x)
        if h is None:
            h = torch.zeros_like(x)
        return g, h, z.requires_grad, weight.requires_grad


class NoGradients(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 4)

    def forward(self, x: torch.Tensor):
        with torch.no_grad():
            y = self.linear(x)
        return y + self.linear(x.exp())


class Mode(torch.nn.Module):
    def forward(self, x: torch.Tensor, mode: str = "sum"):
        if mode == "sum":
            return x.sum(-1)
        elif mode == "mean":
            return x.mean(-1)
        return x * len(mode)


class Required(torch.nn.Module):
    def forward(self, x: torch.Tensor, mode: str, n: int):
        return x.sum(-1) * n if mode.startswith("s") else x.mean(-1) + n


class Several(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: Optional[torch.Tensor] = None, k: Optional[int] = 3, f: float = 0.5):
        if y is not None:
            x = x + y
        if k is not None:
            x = x * k
        return x * f


class Structures(torch.nn.Module):
    def forward(self, x: torch.Tensor, dims: List[int], d: Dict[str, torch.Tensor], t: Tuple[torch.Tensor, int],
                b: bool = True):
        y = x.permute(dims)
        if b:
            y = y + d["a"] + t[0] * t[1]
        return y


class First(torch.nn.Module):
    def __init__(self, of):
        super().__init__()
        self.of = of

    def forward(self, x: torch.Tensor):
        return self.of(x)[0]


def quantised(module):
    kinds = {torch.nn.Linear, torch.nn.LSTM, torch.nn.GRU}
    return torch.ao.quantization.quantize_dynamic(module.eval(), kinds, dtype=torch.qint8)


def scripted_programs():
    """Name, module, inputs by name, other inputs that the extracted program refuses, and options."""
    x = torch.randn(4, 3)
    for module in (Forces(), Hessian(), Detached(), NoGradients()):
        name = "pos" if isinstance(module, (Forces, Hessian)) else "x"
        yield type(module).__name__, module, {name: x}, None, []
    yield "Mode by default", Mode(), {"x": x}, {"x": x, "mode": "mean"}, []
    for mode in ("mean", "other"):
        yield f"Mode {mode}", Mode(), {"x": x, "mode": mode}, {"x": x, "mode": "sum"}, []
    yield "Required", Required(), {"x": x, "mode": "sum", "n": 3}, {"x": x, "mode": "sum", "n": 4}, []
    yield "Required mean", Required(), {"x": x, "mode": "mean", "n": 2}, {"x": x, "mode": "s", "n": 2}, []
    yield "Several", Several(), {"x": x}, {"x": x, "k": 4}, []
    yield "Several given", Several(), {"x": x, "y": x + 1, "k": 5, "f": 1.5}, {"x": x, "y": x, "k": 5, "f": 2.5}, []
    yield "Structures", Structures(), {"x": x, "dims.0": 1, "dims.1": 0, "d.a": x.t().contiguous(),
                                       "t.0": torch.ones(3, 4), "t.1": 2}, None, []
    sequence = torch.randn(3, 5, 8)
    trust = ["--trust"]
    yield "LSTM", quantised(First(torch.nn.LSTM(8, 16, 2, batch_first=True))), {"x": sequence}, None, trust
    yield "LSTM both ways", quantised(First(torch.nn.LSTM(8, 16, bidirectional=True))), {"x": sequence}, None, trust
    yield "GRU", quantised(First(torch.nn.GRU(8, 16))), {"x": sequence}, None, trust
    layers = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    yield "Linear", quantised(layers), {"input": sequence}, None, trust


def as_tensors(inputs) -> dict:
    """As --inputs has numbers and texts."""
    def tensor(value):
        if isinstance(value, str):
            return torch.tensor(list(value.encode()), dtype=torch.uint8)
        dtype = torch.float64 if isinstance(value, float) else None
        return value.clone() if isinstance(value, torch.Tensor) else torch.tensor(value, dtype=dtype)
    return {name: tensor(value) for name, value in inputs.items()}


def call(module, inputs):
    """With the structures that the names stand for."""
    given = {n: v.clone() if isinstance(v, torch.Tensor) else v for n, v in inputs.items()}
    if "dims.0" in given:
        return module(given["x"], [given["dims.0"], given["dims.1"]], {"a": given["d.a"]}, (given["t.0"], given["t.1"]))
    return module(**given)


class Scripted(Suite):
    """Runs scripted programs that ask for gradients, take texts and numbers, or are quantised.

Each is saved, run by `graphnet run`, extracted with --check, and run from the folder that was extracted, by
graphnet and by the run_stitched.py in it. What a program was not captured for must be refused by the folder.
"""

    def run(self, run: Run) -> None:
        torch.set_num_threads(1)
        torch.manual_seed(run.args.seed)
        for name, module, inputs, refused, options in scripted_programs():
            try:
                run.tell(name, self.check(run, module, inputs, refused, options))
            except Exception as error:  # Whatever a model raises is a result.
                run.tell(name, str(error) if isinstance(error, Failed) else in_pytorch.one_line(error))

    def check(self, run: Run, module, inputs, refused, options) -> str:
        archive, out, found = run.scratch / "m.pt", run.scratch / "extracted", run.scratch / "o.safetensors"
        torch.jit.script(module).save(str(archive))
        # As torch.jit runs it without its optimisations, which round otherwise.
        with torch.jit.optimized_execution(False):
            expected = in_pytorch.outputs(call(torch.jit.load(str(archive)), inputs))
        given, values = as_tensors(inputs), run.scratch / "i.safetensors"
        in_pytorch.write_safetensors(given, values)
        # Objects of classes that are written in C++ are no values of a graph.
        if not options and (what := in_pytorch.compare(expected, run.outputs(archive, given))):
            return f"run: {what}"
        run.graphnet("extract", archive, "-o", out, "--check", "--inputs", values, *options)
        if what := in_pytorch.compare(expected, run.outputs(out, given, *options)):
            return f"run of what was extracted: {what}"
        done = subprocess.run([sys.executable, out / "run_stitched.py", out, "--outputs", found, "--inputs", values],
                              capture_output=True, text=True)
        if done.returncode != 0:
            return f"run_stitched.py: {done.stderr.strip()[-300:]}"
        if what := in_pytorch.compare(expected, in_pytorch.read_safetensors(found)):
            return f"run_stitched.py: {what}"
        if refused:
            try:
                run.outputs(out, as_tensors(refused), *options)
                return "the extracted program takes other numbers or texts than those of its capture"
            except Failed:
                pass
        return ""
