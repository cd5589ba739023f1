"""Pairs of results as public reports describe them, rebuilt in our own words, and what rounding says of them.

  python reports.py GRAPHNET [--table]

Each report has a program, which is eager, the inputs, and the result of the other side. The exit code is 1
if a verdict is not the one that is written here. --table prints the table of docs/rounding.md.
"""

import argparse
import dataclasses
import json
import math
import pathlib
import sys
import tempfile

import torch
from safetensors.torch import save_file

from sample_text import call

REPORTS = []


@dataclasses.dataclass
class Report:
    where: str  # "pytorch#158530"
    what: str
    thread: str  # what the thread concluded
    verdict: str  # one of graphnet's, or two that are both right: "equal|rounding"
    program: str
    make: object  # (inputs by name, outputs of the other side)


def report(where, what, thread, verdict, program):
    def add(make):
        REPORTS.append(Report(where, what, thread, verdict, program, make))
        return make
    return add


def normal(*shape, seed=0, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


# --- Threads that end with rounding.

@report("pytorch#158530", "two convolutions, compiled, against eager in float64",
        "eager in float32 is as far from float64", "rounding", """
graph @forward(%x : f32[1, 3, 32, 32]@cpu, %v : f32[64, 3, 3, 3]@cpu, %w : f32[64, 64, 3, 3]@cpu) {
  %a = aten.conv2d.default(%x, %v, None, [1, 1], [1, 1])
  %b = aten.conv2d.default(%a, %w, None, [1, 1], [1, 1])
  return (%b,)
}""")
def _():
    x, v, w = normal(1, 3, 32, 32), normal(64, 3, 3, 3, seed=1), normal(64, 64, 3, 3, seed=2)
    conv = torch.nn.functional.conv2d
    return {"x": x, "v": v, "w": w}, [conv(conv(x.double(), v.double(), padding=1), w.double(),
                                           padding=1).float()]


@report("pytorch#159239", "rotary embedding in bfloat16, fused in float32",
        "compiled is nearer to float32 than eager", "rounding", """
graph @forward(%q : bf16[2, 4, 16, 64]@cpu, %c : bf16[16, 64]@cpu, %s : bf16[16, 64]@cpu) {
  %first = aten.slice.Tensor(%q, -1, 0, 32)
  %second = aten.slice.Tensor(%q, -1, 32, 64)
  %minus = aten.neg.default(%second)
  %turned = aten.cat.default([%minus, %first], -1)
  %a = aten.mul.Tensor(%q, %c)
  %b = aten.mul.Tensor(%turned, %s)
  %y = aten.add.Tensor(%a, %b)
  return (%y,)
}""")
def _():
    angle = torch.arange(16)[:, None] * torch.exp(-torch.arange(64) % 32 / 5)
    q, c, s = normal(2, 4, 16, 64, dtype=torch.bfloat16), angle.cos().bfloat16(), angle.sin().bfloat16()
    wide = q.float()
    turned = torch.cat([-wide[..., 32:], wide[..., :32]], -1)
    return {"q": q, "c": c, "s": s}, [(wide * c.float() + turned * s.float()).bfloat16()]


@report("pytorch#188432", "attention that divides by scores near zero, against float64",
        "closed: division amplifies the rounding of the scores", "rounding|decision", """
graph @forward(%q : f32[4, 16, 32]@cpu, %k : f32[4, 16, 32]@cpu, %v : f32[4, 16, 32]@cpu) {
  %t = aten.transpose.int(%k, 1, 2)
  %qk = aten.bmm.default(%q, %t)
  %scores = aten.reciprocal.default(%qk)
  %scaled = aten.mul.Tensor(%scores, 5.656854249)
  %weights = aten.softmax.int(%scaled, -1)
  %y = aten.bmm.default(%weights, %v)
  return (%y,)
}""")
def _():
    q, k, v = (normal(4, 16, 32, seed=seed) for seed in range(3))
    wide = 5.656854249 / torch.bmm(q.double(), k.double().transpose(1, 2))
    return {"q": q, "k": k, "v": v}, [torch.bmm(wide.softmax(-1), v.double()).float()]


@report("pytorch#188430", "a recurrence and three reciprocals, against float64",
        "closed: an artefact of amplification", "rounding", """
graph @forward(%x : f32[16, 32]@cpu, %w : f32[32, 32]@cpu) {
  %a = aten.mm.default(%x, %w)
  %b = aten.tanh.default(%a)
  %c = aten.mm.default(%b, %w)
  %d = aten.tanh.default(%c)
  %e = aten.reciprocal.default(%d)
  %f = aten.mm.default(%e, %w)
  %g = aten.reciprocal.default(%f)
  %h = aten.reciprocal.default(%g)
  return (%h,)
}""")
def _():
    x, w = normal(16, 32), normal(32, 32, seed=1) / 6
    wide = w.double()
    d = ((x.double() @ wide).tanh() @ wide).tanh()
    return {"x": x, "w": w}, [(d.reciprocal() @ wide).float()]


@report("pytorch#143182", "layer norm of a large mean", "compiled is nearer to float64 than eager",
        "rounding", """
graph @forward(%x : f32[8, 64]@cpu) {
  %y = aten.layer_norm.default(%x, [64], None, None, 1e-05)
  return (%y,)
}""")
def _():
    x = normal(8, 64) + 300
    return {"x": x}, [torch.nn.functional.layer_norm(x.double(), [64]).float()]


@report("pytorch#142223", "tanh of another implementation", "numerical difference of the implementation",
        "rounding", """
graph @forward(%x : f32[1000]@cpu) {
  %y = aten.tanh.default(%x)
  return (%y,)
}""")
def _():
    x = normal(1000)
    return {"x": x}, [x.double().tanh().float()]


@report("pytorch#51276", "the same row alone and in a batch, float64", "minor difference is expected",
        "rounding", """
graph @forward(%x : f64[1, 90]@cpu, %q : f64[128, 90]@cpu) {
  %t = aten.t.default(%q)
  %y = aten.mm.default(%x, %t)
  return (%y,)
}""")
def _():
    x = torch.ones(1, 90, dtype=torch.float64)
    q = torch.rand(128, 90, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    return {"x": x, "q": q}, [q.flip(1).cumsum(1)[:, -1:].t()]


@report("pytorch#41248", "a product row by row and at once", "floating point; another order of the sum",
        "rounding", """
graph @forward(%x : f32[10, 512]@cpu, %w : f32[5, 512]@cpu) {
  %y = aten.linear.default(%x, %w)
  return (%y,)
}""")
def _():
    x, w = normal(10, 512), normal(5, 512, seed=1)
    y = torch.zeros(10, 5)
    for k in range(512):
        y = y + x[:, k, None] * w[None, :, k]
    return {"x": x, "w": w}, [y]


@report("pytorch#189803", "reciprocal of elu + exp, which cancel", "cancellation near zero",
        "rounding", """
graph @forward(%x : f32[24, 57]@cpu) {
  %e = aten.elu.default(%x, 1.24)
  %p = aten.exp.default(%e)
  %v = aten.add.Tensor(%e, %p)
  %y = aten.reciprocal.default(%v)
  return (%y,)
}""")
def _():
    x = normal(24, 57)
    e = torch.nn.functional.elu(x.double(), 1.24)
    return {"x": x}, [(1 / (e + e.exp())).float()]


@report("pytorch#160730", "tan of sin in float16, fused in float32", "fused code is more precise",
        "rounding", """
graph @forward(%x : f16[500]@cpu) {
  %s = aten.sin.default(%x)
  %m = aten.mul.Tensor(%s, 1.5)
  %y = aten.tan.default(%m)
  return (%y,)
}""")
def _():
    x = normal(500, dtype=torch.float16)
    return {"x": x}, [(x.float().sin() * 1.5).tan().half()]


@report("pytorch#141436", "division of bfloat16, whose operand is not cast when compiled",
        "difference of the cast", "rounding", """
graph @forward(%a : bf16[6, 128, 32]@cpu, %b : f32[6, 128]@cpu) {
  %c = aten.to.dtype(%b, torch.bfloat16)
  %d = aten.unsqueeze.default(%c, -1)
  %y = aten.div.Tensor(%a, %d)
  return (%y,)
}""")
def _():
    a, b = normal(6, 128, 32, dtype=torch.bfloat16), normal(6, 128, seed=1)
    return {"a": a, "b": b}, [(a.float() / b.unsqueeze(-1)).bfloat16()]


@report("onnxruntime#23272", "a product of float16, added in two parts", "another precision inside",
        "rounding", """
graph @forward(%x : f16[4, 512]@cpu, %w : f16[64, 512]@cpu) {
  %y = aten.linear.default(%x, %w)
  return (%y,)
}""")
def _():
    x, w = normal(4, 512, dtype=torch.float16), normal(64, 512, seed=1, dtype=torch.float16)
    parts = [(x[:, part].float() @ w[:, part].float().t()).half()
             for part in (slice(0, 256), slice(256, 512))]
    return {"x": x, "w": w}, [parts[0] + parts[1]]


@report("onnxruntime#18946", "a convolution; relative difference up to 66 %", "elements near zero",
        "rounding", """
graph @forward(%x : f32[1, 8, 40, 40]@cpu, %w : f32[8, 8, 3, 3]@cpu) {
  %y = aten.conv2d.default(%x, %w, None, [1, 1], [1, 1])
  return (%y,)
}""")
def _():
    x, w = normal(1, 8, 40, 40).abs(), normal(8, 8, 3, 3, seed=1)
    columns = torch.nn.functional.unfold(x, 3, padding=1)[0]
    y = torch.zeros(8, columns.shape[1])
    for k in reversed(range(columns.shape[0])):
        y = y + w.reshape(8, -1)[:, k, None] * columns[None, k]
    return {"x": x, "w": w}, [y.reshape(1, 8, 40, 40)]


@report("pytorch#60367", "the sum of a million numbers on another device",
        "another order of the sum", "rounding", """
graph @forward(%x : f32[1204224]@cpu) {
  %y = aten.sum.default(%x)
  return (%y,)
}""")
def _():
    x = torch.rand(1204224, generator=torch.Generator().manual_seed(0))
    parts = x.reshape(64, -1)
    y = torch.zeros(64)
    for k in range(parts.shape[1]):
        y = y + parts[:, k]
    return {"x": x}, [y.sum()]


@report("pytorch#70466", "the sum over channels in another order", "floating point is not associative",
        "rounding", """
graph @forward(%x : f32[3, 32, 32]@cpu) {
  %y = aten.sum.dim_IntList(%x, [0])
  return (%y,)
}""")
def _():
    x = torch.rand(3, 32, 32, generator=torch.Generator().manual_seed(0))
    return {"x": x}, [(x[2] + x[1]) + x[0]]


@report("pytorch#180153", "cumsum of 10,000 numbers, in blocks on a GPU", "drift of float32", "rounding", """
graph @forward(%x : f32[10000]@cpu) {
  %y = aten.cumsum.default(%x, 0)
  return (%y,)
}""")
def _():
    x = normal(10000) * 1e10
    blocks = x.reshape(100, 100)
    inside = torch.zeros(100, 100)
    total = torch.zeros(100)
    for k in range(100):
        total = total + blocks[:, k]
        inside[:, k] = total
    before = torch.zeros(100)
    for k in range(1, 100):
        before[k] = before[k - 1] + total[k - 1]
    return {"x": x}, [(inside + before[:, None]).reshape(-1)]


@report("mmcv#747", "a batch norm that is folded into a convolution", "the relative error is small",
        "rounding", """
graph @forward(%x : f32[2, 3, 24, 24]@cpu, %w : f32[32, 3, 3, 3]@cpu, %m : f32[32]@cpu, %v : f32[32]@cpu) {
  %a = aten.conv2d.default(%x, %w, None, [1, 1], [1, 1])
  %y = aten.batch_norm.default(%a, None, None, %m, %v, False, 0.1, 1e-05, True)
  return (%y,)
}""")
def _():
    x, w = normal(2, 3, 24, 24), normal(32, 3, 3, 3, seed=1)
    m, v = normal(32, seed=2), normal(32, seed=3).abs() + 0.1
    scale = (v + 1e-5).rsqrt()
    y = torch.nn.functional.conv2d(x, w * scale[:, None, None, None], -m * scale, padding=1)
    return {"x": x, "w": w, "m": m, "v": v}, [y]


# --- Threads that end with a decision between nearly equal numbers.

@report("torch-xpu-ops#1147", "places of topk among equal numbers of bfloat16",
        "the places of ties are not guaranteed", "decision|equal", """
graph @forward(%x : bf16[200]@cpu) {
  %e = aten.exp.default(%x)
  %t = aten.topk.default(%e, 20)
  %i = operator.getitem(%t, 1)
  return (%i,)
}""")
def _():
    x = torch.rand(200, generator=torch.Generator().manual_seed(0)).bfloat16()
    return {"x": x}, [x.float().exp().bfloat16().flip(0).topk(20).indices.mul(-1).add(199)]


@report("pytorch#197895", "0.5 // 0.1 is 4 or 5", "open; the quotient is just below 5",
        "rounding|decision", """
graph @forward(%a : f32[4]@cpu, %b : f32[4]@cpu) {
  %q = aten.div.Tensor(%a, %b)
  %y = aten.floor.default(%q)
  return (%y,)
}""")
def _():
    a, b = torch.tensor([1.0, 0.5, 6.0, 7.0]), torch.tensor([0.1, 0.1, 0.2, 2.0])
    return {"a": a, "b": b}, [torch.floor_divide(a, b)]


# --- Threads that end with a fault.

@report("pytorch#183082", "argmax of a transposed matrix after sin_", "a fault, mended", "beyond", """
graph @forward(%x : f32[5, 7]@cpu) {
  %s = aten.sin.default(%x)
  %t = aten.t.default(%s)
  %i = aten.argmax.default(%t)
  return (%i,)
}""")
def _():
    x = normal(5, 7)
    return {"x": x}, [x.sin().argmax()]


@report("pytorch#178964", "the places of max are all zero", "a fault", "beyond", """
graph @forward(%a : f32[8, 8]@cpu, %b : f32[8, 8]@cpu) {
  %s = aten.add.Tensor(%a, %b)
  %m = aten.max.dim(%s, 1)
  %v = operator.getitem(%m, 0)
  %i = operator.getitem(%m, 1)
  return (%v, %i)
}""")
def _():
    a, b = normal(8, 8), normal(8, 8, seed=1)
    values = (a + b).max(1).values
    return {"a": a, "b": b}, [values, torch.zeros(8, dtype=torch.int64)]


@report("pytorch#118266", "argmax passes over nan", "a fault, mended", "beyond", """
graph @forward(%x : f32[2]@cpu) {
  %l = aten.log1p.default(%x)
  %i = aten.argmax.default(%l)
  return (%i,)
}""")
def _():
    return {"x": torch.tensor([-3.0, 100.0])}, [torch.tensor(1)]


@report("pytorch#118176", "sinc in float16 is nan where the product overflows", "a fault of eager, mended",
        "beyond", """
graph @forward(%x : f16[3]@cpu) {
  %p = aten.mul.Tensor(%x, 3.141592653589793)
  %s = aten.sin.default(%p)
  %y = aten.div.Tensor(%s, %p)
  return (%y,)
}""")
def _():
    x = torch.tensor([0.5, 2.25, 25152.0], dtype=torch.float16)
    return {"x": x}, [torch.sinc(x.double()).half()]


@report("pytorch#60234", "a product with operands of TF32", "TF32 was on, which float32 is not", "beyond", """
graph @forward(%x : f32[16, 256]@cpu, %w : f32[256, 16]@cpu) {
  %y = aten.mm.default(%x, %w)
  return (%y,)
}""")
def _():
    x, w = normal(16, 256), normal(256, 16, seed=1)

    def tf32(value):
        return ((value.view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)
    return {"x": x, "w": w}, [tf32(x) @ tf32(w)]


@report("oneDNN#1122", "gelu by tanh for gelu by erf", "two formulas", "beyond", """
graph @forward(%x : f32[100]@cpu) {
  %y = aten.gelu.default(%x)
  return (%y,)
}""")
def _():
    x = torch.linspace(-3, 3, 100)
    return {"x": x}, [torch.nn.functional.gelu(x, approximate="tanh")]


@report("tt-metal#46159", "variance as the mean square less the squared mean", "a fault, mended", "beyond", """
graph @forward(%x : f32[4, 1024]@cpu) {
  %m = aten.mean.dim(%x, [1], True)
  %d = aten.sub.Tensor(%x, %m)
  %q = aten.mul.Tensor(%d, %d)
  %v = aten.mean.dim(%q, [1], True)
  %r = aten.add.Tensor(%v, 1e-05)
  %s = aten.rsqrt.default(%r)
  %y = aten.mul.Tensor(%d, %s)
  return (%y,)
}""")
def _():
    x = normal(4, 1024) * 0.1 + 1000
    mean = x.mean(1, keepdim=True)
    variance = (x * x).mean(1, keepdim=True) - mean * mean
    return {"x": x}, [(x - mean) * (variance.clamp(min=0) + 1e-5).rsqrt()]


@report("TIM-VX#589", "layer norm of equal numbers without eps", "a fault, mended", "beyond", """
graph @forward(%x : f32[3, 6]@cpu) {
  %y = aten.layer_norm.default(%x, [6], None, None, 1e-05)
  return (%y,)
}""")
def _():
    x = torch.tensor([[-2.0, 2, -2, 2, -2, 2], [2, 2, 2, 2, 2, 2], [0, 1, 2, 3, 4, 5]])
    return {"x": x}, [(x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True, correction=0)]


def verdict_of(graphnet, case, folder):
    """The worst verdict of the outputs, and its text."""
    program, values, outputs = (folder / name for name in
                                ("a.gn", "values.safetensors", "outputs.safetensors"))
    program.write_text(case.program.strip() + "\n")
    inputs, others = case.make()
    save_file({name: value.contiguous() for name, value in inputs.items()}, values)
    save_file({f"o{i}": value.contiguous() for i, value in enumerate(others)}, outputs)
    said = json.loads(call(graphnet, "diff-run", program, outputs, "--inputs", values, "--explain",
                           "--json", codes=(0, 1)))
    order = ["equal", "rounding", "decision", "blind", "beyond", "other_form"]
    found = [output.get("explained", {"verdict": "equal", "ratio": 0}) for output in said["outputs"]]
    return max(found, key=lambda one: (order.index(one["verdict"]),
                                       math.inf if one["ratio"] is None else float(one["ratio"])))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphnet")
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    wrong = 0
    if arguments.table:
        print("| report | what differs | the thread | graphnet |\n|---|---|---|---|")
    for case in REPORTS:
        with tempfile.TemporaryDirectory() as scratch:
            found = verdict_of(arguments.graphnet, case, pathlib.Path(scratch))
        is_right = found["verdict"] in case.verdict.split("|")
        wrong += not is_right
        ratio = found["ratio"]
        shown = found["verdict"]
        if shown in ("rounding", "beyond") and ratio is not None:
            shown += f", {float(ratio):.2g}" + (" times" if shown == "beyond" else "")
        if found["verdict"] == "decision":
            shown += f": {found['decision']}"
        if arguments.table:
            print(f"| {case.where} | {case.what} | {case.thread} | {shown} |")
        elif not is_right:
            print(f"{case.where}: {case.what}: {shown}, not {case.verdict}", file=sys.stderr)
    print(f"{len(REPORTS)} reports, {wrong} with another verdict", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
