#!/usr/bin/env python3
"""Writes small programs of every kind, as the PyTorch of this Python writes them.

    make_version_archives.py OUT

OUT gets a folder by the release. Beside NAME lie NAME.in.npz and NAME.out.npz with the inputs and this
release's outputs, v0, v1 and so on. A kind that the release cannot write is a line of log.txt.
`compare.py archives OUT`, run by a Python with the release that graphnet links, compares.
"""

import pathlib
import re
import sys
import warnings

import numpy
import torch
from torch import nn

warnings.filterwarnings("ignore")


def arrays(values):
    """The tensors within `values`, in order, as numpy arrays. Old releases do not know numpy 2."""
    if isinstance(values, dict):
        values = [values[key] for key in values]
    if isinstance(values, (list, tuple)):
        return [array for value in values for array in arrays(value)]
    if values is None:
        return []
    tensor = values if isinstance(values, torch.Tensor) else torch.tensor(values)
    tensor = tensor.detach()
    if tensor.dtype in (torch.bfloat16, torch.float16):
        tensor = tensor.float()
    dtype = str(tensor.dtype).removeprefix("torch.")
    return [numpy.array(tensor.tolist(), dtype=dtype).reshape(tuple(tensor.shape))]


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.second = nn.Linear(8, 3)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(8, 24)
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
        scores = torch.softmax(q @ k.transpose(-2, -1) / 8**0.5, dim=-1)
        return x + scores @ v


class Flow(nn.Module):
    def forward(self, x, n: int):
        total = torch.zeros_like(x)
        for i in range(n):
            if float(total.sum()) > 2.0:
                total = total * 0.5
            else:
                total = total + x * i
        count = 0
        while count < 3 and bool((total < 1).any()):
            total = total + 0.25
            count += 1
        return total, count


class Buffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.arange(4).float())
        self.register_buffer("steps", torch.tensor(3))
        self.register_buffer("empty", torch.zeros(0, 4))
        self.register_buffer("halves", torch.ones(4, dtype=torch.float16) * 0.5)
        self.scale = nn.Parameter(torch.tensor([1.0, 2.0, 3.0, 4.0]))

    def forward(self, x):
        y = torch.cat([self.empty, x.unsqueeze(0)]).mul(self.scale) - self.mean
        return y * self.steps, y + self.halves.float()


class Conv(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x))).mean((2, 3))


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 5, num_layers=1, batch_first=True)

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        return y, h, c


class Embedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 4)
        self.register_buffer("counts", torch.zeros(3))

    def forward(self, ids):
        self.counts.add_(1)
        return self.table(ids) + torch.tensor([1.0, 2.0, 3.0, 4.0]), self.counts * 2


class Quantised(nn.Module):
    """Static quantisation, with weights per channel."""

    def __init__(self):
        super().__init__()
        self.quant = torch.ao.quantization.QuantStub()
        self.conv = nn.Conv2d(2, 4, 3)
        self.relu = nn.ReLU()
        self.head = nn.Linear(4, 3)
        self.dequant = torch.ao.quantization.DeQuantStub()

    def forward(self, x):
        y = self.relu(self.conv(self.quant(x))).mean((2, 3))
        return self.dequant(self.head(y))


class QuantisedBuffer(nn.Module):
    """Quantised tensors that are plain buffers."""

    def __init__(self):
        super().__init__()
        x = torch.linspace(-1, 1, 12).reshape(3, 4)
        self.register_buffer("whole", torch.quantize_per_tensor(x, 0.1, 3, torch.qint8))
        self.register_buffer("channels", torch.quantize_per_channel(
            x, torch.tensor([0.1, 0.2, 0.3]), torch.tensor([0, 1, 2]), 0, torch.quint8))

    def forward(self, x):
        return x * self.whole.dequantize() + self.channels.dequantize(), self.whole.int_repr()


def write_programs(out):
    torch.set_num_threads(1)
    torch.backends.quantized.engine = "fbgemm"
    release = tuple(int(part) for part in re.findall(r"\d+", torch.__version__)[:2])
    log = open(out / "log.txt", "w")

    def keep(name, inputs, make):
        """Writes one program with its inputs and outputs. `make` returns how to write and call it."""
        try:
            torch.manual_seed(7)
            save, call = make()
            save(str(out / name))
            with torch.no_grad():
                outputs = call(*[x.clone() if isinstance(x, torch.Tensor) else x for x in inputs])
            for end, values in (("in", inputs), ("out", outputs)):
                numpy.savez(out / f"{name}.{end}.npz", **{f"v{i}": v for i, v in enumerate(arrays(values))})
        except Exception as error:  # pylint: disable=broad-except
            for path in out.glob(f"{name}*"):
                path.unlink()
            print(f"{name}: {type(error).__name__}: {str(error).strip().splitlines()[0][:200]}", file=log, flush=True)

    def scripted(make):
        module = torch.jit.script(make().eval())
        return module.save, module

    def mobile(make):
        module = torch.jit.script(make().eval())
        return module._save_for_lite_interpreter, module

    def traced(make, inputs):
        module = torch.jit.trace(make().eval(), tuple(inputs))
        return module.save, module

    def frozen(make):
        module = torch.jit.freeze(torch.jit.script(make().eval()))
        return module.save, module

    def dynamic():
        return torch.ao.quantization.quantize_dynamic(Mlp().eval(), {torch.nn.Linear}, dtype=torch.qint8)

    def dynamic_lstm():
        return torch.ao.quantization.quantize_dynamic(Lstm().eval(), {torch.nn.LSTM}, dtype=torch.qint8)

    def static():
        module = Quantised().eval()
        module.qconfig = torch.ao.quantization.get_default_qconfig("fbgemm")
        torch.ao.quantization.prepare(module, inplace=True)
        module(images)
        return torch.ao.quantization.convert(module)

    def exported(make, inputs, core=False, **options):
        program = torch.export.export(make().eval(), tuple(inputs), **options)
        if core:
            program = program.run_decompositions()
        call = program.module() if callable(getattr(program, "module", None)) else program
        return lambda path: torch.export.save(program, path), call

    images = torch.linspace(-1, 1, 2 * 2 * 5 * 5).reshape(2, 2, 5, 5)
    rows = torch.linspace(-1, 1, 8).reshape(2, 4)
    steps = torch.linspace(-1, 1, 2 * 5 * 8).reshape(2, 5, 8)
    series = torch.linspace(-1, 1, 2 * 4 * 3).reshape(2, 4, 3)
    four = torch.tensor([1.0, -2.0, 0.5, 3.0])
    ids = torch.tensor([[1, 2, 3], [4, 5, 9]])

    keep("mlp.script.pt", [rows], lambda: scripted(Mlp))
    keep("flow.script.pt", [four, 6], lambda: scripted(Flow))
    keep("buffers.script.pt", [four], lambda: scripted(Buffers))
    keep("lstm.script.pt", [series], lambda: scripted(Lstm))
    keep("attention.trace.pt", [steps], lambda: traced(Attention, [steps]))
    keep("conv.trace.pt", [images], lambda: traced(Conv, [images]))
    keep("conv.frozen.pt", [images], lambda: frozen(Conv))
    keep("lstm.frozen.pt", [series], lambda: frozen(Lstm))
    keep("buffers.mobile.ptl", [four], lambda: mobile(Buffers))
    keep("mlp.mobile.ptl", [rows], lambda: mobile(Mlp))
    keep("dynamic.quantised.pt", [rows], lambda: scripted(dynamic))
    keep("dynamic.quantised.ptl", [rows], lambda: mobile(dynamic))
    keep("static.quantised.pt", [images], lambda: scripted(static))
    keep("lstm.quantised.pt", [series], lambda: scripted(dynamic_lstm))
    keep("buffers.quantised.pt", [rows[:1]], lambda: scripted(QuantisedBuffer))
    if release < (2, 1):
        return
    from torch import export  # noqa: F401  what is called below

    keep("mlp.export.pt2", [rows], lambda: exported(Mlp, [rows]))
    keep("attention.export.pt2", [steps], lambda: exported(Attention, [steps]))
    keep("buffers.export.pt2", [four], lambda: exported(Buffers, [four]))
    keep("embedding.export.pt2", [ids], lambda: exported(Embedding, [ids]))
    keep("conv.core.pt2", [images], lambda: exported(Conv, [images], core=True))
    keep("attention.core.pt2", [steps], lambda: exported(Attention, [steps], core=True))
    if hasattr(torch.export, "Dim"):
        keep("attention.dynamic.pt2", [steps], lambda: exported(
            Attention, [steps], dynamic_shapes=({0: torch.export.Dim("batch", min=2, max=64)},)))


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1]) / torch.__version__.split("+")[0]
    folder.mkdir(parents=True)
    write_programs(folder)
    print(f"{len(list(folder.glob('*.in.npz')))} programs")
