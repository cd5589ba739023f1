#!/usr/bin/env python3
"""Writes small programs of torch.export, with inputs and what PyTorch makes of them.

    make_pt2_programs.py FOLDER [NAME…]                         those below
    make_pt2_programs.py FOLDER [NAME…] --operators N [--core]  operators of PyTorch's own test database
    make_pt2_programs.py FOLDER --list > tests/interp/torch/core_operators.txt

For each program there are NAME.pt2, and for each call of it NAME.<i>.in.safetensors, its
inputs by the names of the graph's user inputs, and NAME.<i>.out.safetensors, o0, o1, …: what
torch.export.load(NAME.pt2).module() returns under no_grad after manual_seed(0), without None. Where there are buffers,
NAME.0.again.safetensors is what the same module returns when it is called again.
NAME.<i>.refused.safetensors are inputs that it refuses. compare.py programs runs all of them.

The database is torch.testing._internal.common_methods_invocations, which needs expecttest. An operator is
called as its first N float32 samples have it, tensors as inputs, the rest as constants. What PyTorch itself
does not export, save or run again is told and left out. With --core, programs are those that
run_decompositions() makes of them. --list prints the operators that PyTorch tags as core, and those that the
programs in FOLDER call, which `--operators 1 --core` wrote: a line has a name and, where no graph runs it, the
reason.
"""

import argparse
import collections
import dataclasses
import pathlib
import sys
import typing
import warnings

import torch
import torch.nn.functional as F
import torch.nn.modules.linear_cross_entropy  # registers its operators
from functorch.experimental.control_flow import map as map_over
from torch import nn
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

from in_pytorch import Call, Program, program_json, write_programs

warnings.filterwarnings("ignore")


PROGRAMS = {}


def program(name, module, *args, more=(), kwargs=None, decomposed="", refused=(), **options):
    assert name not in PROGRAMS, name
    if not isinstance(module, nn.Module):
        module = Call(module)
    calls = [(args, kwargs or {})] + [(a, kwargs or {}) for a in more]
    PROGRAMS[name] = Program(module, calls, options, list(refused), "functional" if decomposed is True else decomposed)


def real(*shape):
    return torch.randn(*shape)


def whole(high, *shape, low=0):
    return torch.randint(low, high, shape)


# --- Modules ------------------------------------------------------------------


def linear_cross_entropy():
    """Chunks of 3 rows of 8; the operator itself returns the gradients, too."""
    x, target = real(8, 5), whole(6, 8)
    target[2] = -100
    weight, bias, classes = real(6, 5), real(6), torch.rand(6)
    operator = torch.ops.torch_nn._linear_cross_entropy_batch_chunked
    rows = torch.ops.torch_nn._linear_cross_entropy_batch_chunked_no_reduction
    for dtype in (torch.float32, torch.bfloat16):
        for policy in ("accurate", "balanced", "compact"):
            name, x_, w_, b_ = f"linear_cross_entropy_{policy}_{str(dtype)[6:]}", x.to(dtype), weight.to(dtype), bias.to(dtype)
            program(name, lambda x, t, w, b, p=policy: operator(x, w, t, b, None, "mean", -100, 0.0, 3, p, torch.float32, False, True, True, True),
                    x_, target, w_, b_)
            program(f"{name}_sum", lambda x, t, w, p=policy: operator(x, w, t, None, classes, "sum", 3, 0.0, 3, p, torch.float32, False, True, False, False),
                    x_, target.clamp(0), w_)
            program(f"{name}_none", lambda x, t, w, b, p=policy: rows(x, w, t, b, classes, -100, 3, p, torch.float32), x_, target, w_, b_)


def layers():
    vector, image, volume, sequence = real(2, 8), real(1, 4, 9, 9), real(1, 2, 5, 6, 7), real(2, 5, 8)
    for name, module, x in [
        ("linear", nn.Linear(8, 3), vector),
        ("conv2d_reflect", nn.Conv2d(4, 6, 3, padding=1, padding_mode="reflect"), image),
        ("conv3d", nn.Conv3d(2, 3, 2), volume),
        ("conv_transpose2d", nn.ConvTranspose2d(4, 3, 3, stride=2, output_padding=1), image),
        ("batch_norm_eval", nn.BatchNorm2d(4).eval(), image),
        ("max_pool2d_indices", nn.MaxPool2d(2, return_indices=True), image),
        ("upsample_bicubic", nn.Upsample(scale_factor=1.5, mode="bicubic"), image),
        ("lstm", nn.LSTM(8, 4, num_layers=2, bidirectional=True, batch_first=True), sequence),
        ("gru", nn.GRU(8, 4), sequence),
        ("transformer_layer_train", nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), sequence),
    ]:
        program(f"layer_{name}", module, x)
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    program("layer_attention", attention, sequence, sequence, sequence)
    program("layer_embedding_bag", nn.EmbeddingBag(10, 4, mode="mean"), whole(10, 2, 3))
    linear_cross_entropy()
    program("loss_cross_entropy", lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1), real(3, 4), whole(4, 3))


# --- Operators ----------------------------------------------------------------


def operators():
    x, y = real(3, 4), real(3, 4)
    several = {
        "topk": lambda x: torch.topk(x, 2),
        "topk_one": lambda x: torch.topk(x, 2)[1],
        "sort": lambda x: torch.sort(x, 1, descending=True),
        "unbind": lambda x: [t * 2 for t in torch.unbind(x)],
        "tensor_split": lambda x: torch.tensor_split(x, 3, 1),
        "max_dim": lambda x: torch.max(x, 1),
        "var_mean": lambda x: torch.var_mean(x, 1),
        "qr": lambda x: torch.linalg.qr(x),
        "slogdet": lambda x: torch.linalg.slogdet(x @ x.t()),
        "unique": lambda x: torch.unique((x * 2).round(), return_counts=True),
        "meshgrid": lambda x: torch.meshgrid(x[0], x[1], indexing="xy"),
        "nonzero_tuple": lambda x: torch.nonzero(x > 0, as_tuple=True),
        "histogram": lambda x: torch.histogram(x, 4),
    }
    for name, function in several.items():
        # Not torch.return_types, of which a program cannot say that it returns them.
        program(f"several_{name}", lambda x, f=function: tuple(f(x)) if isinstance(f(x), tuple) else f(x), x)
    two = {
        "arithmetic": lambda x, y: (x + y * 2 - 3 / y) ** 2 % 5,
        "integer_division": lambda x, y: torch.floor_divide(x, y) + torch.div(x, y, rounding_mode="trunc"),
        "comparisons": lambda x, y: (x > y, x == y, x.isclose(y)),
        "einsum": lambda x, y: torch.einsum("ij,kj->ik", x, y),
        "index": lambda x, y: x[[0, 2], 1:3] + y[:, -1][[0, 1], None],
        "index_none": lambda x, y: x[:, None, torch.tensor([0, 1])] + y[..., None, :2],
        "masked": lambda x, y: x.masked_fill(y > 0, -1.0).masked_scatter(y < 0, y),
        "gather_scatter": lambda x, y: x.gather(1, torch.tensor([[0], [1], [2]])).scatter_add(1, torch.tensor([[0], [0], [0]]), y),
        "index_put": lambda x, y: x.clone().index_put_((torch.tensor([0, 1]), torch.tensor([1, 1])), y[0, :2], accumulate=True),
        "slice_scatter": lambda x, y: torch.slice_scatter(x, y[:, :2], 1, 1, 3),
        "reductions": lambda x, y: (x.sum(), x.mean(0), x.prod(1), x.amax(), x.norm(), y.logsumexp(1), y.argmax()),
        "views": lambda x, y: x.t().reshape(2, 6).unfold(1, 2, 2).permute(2, 0, 1).contiguous() + y.sum(),
        "as_strided": lambda x, y: torch.as_strided(x, (2, 2), (1, 2), 1) * 2,
        "fft": lambda x, y: torch.fft.irfft(torch.fft.rfft(x) * torch.fft.rfft(y)),
        "dtypes": lambda x, y: (x.to(torch.float16), y.to(torch.bfloat16) * 2, x.int() // 2, y.bool(), x.double() + 1),
        "inplace": lambda x, y: x.clone().add_(1).mul_(y).relu_(),
        "inplace_view": lambda x, y: torch.zeros(3, 4).copy_(x).t().add_(y.t()),
        "factories": lambda x, y: (torch.arange(3), torch.linspace(0, 1, 4), torch.eye(2), torch.full((2,), 7), torch.ones_like(x)),
        "grid_sample": lambda x, y: F.grid_sample(x[None, None], torch.stack([y, y], -1)[None].tanh(), align_corners=False),
        "scalars": lambda x, y: x * 1e-30 + float("inf") - float("nan") + True,
        "one_hot": lambda x, y: F.one_hot(torch.tensor([0, 2, 1]), 4) * x.int(),
        "pad": lambda x, y: (F.pad(x, (1, 1), value=2.5), F.pad(y[None], (1, 1), mode="circular")),
    }
    for name, function in two.items():
        program(f"op_{name}", function, x, y)


# --- Dynamic shapes -----------------------------------------------------------


def dynamic():
    batch = Dim("batch", min=2, max=64)
    auto = {0: Dim.AUTO}
    program("dynamic_linear", nn.Linear(4, 3), real(3, 4), more=[(real(7, 4),), (real(64, 4),)],
            dynamic_shapes=({0: batch},), refused=[(real(65, 4),), (real(3, 5),), (real(3),)])
    program("dynamic_reshape", lambda x: x.reshape(x.shape[0] * 2, -1), real(3, 4), more=[(real(5, 4),)], dynamic_shapes=((auto,),))
    program("dynamic_derived", lambda x, y: x + y[::2], real(3, 4), real(6, 4), more=[(real(5, 4), real(10, 4))],
            dynamic_shapes=(({0: batch}, {0: 2 * batch}),), refused=[(real(5, 4), real(12, 4)), (real(5, 4), real(11, 4))])
    program("dynamic_offset", lambda x, y: x + y[1:], real(3), real(4), more=[(real(9), real(10))],
            dynamic_shapes=(({0: batch}, {0: batch + 1}),), refused=[(real(9), real(9))])
    multiple = Dim("multiple", min=1, max=20)
    program("dynamic_divisible", lambda x: x.reshape(-1, 4, x.shape[0] // 4), real(8), more=[(real(20),)],
            dynamic_shapes=(({0: 4 * multiple},),), refused=[(real(10),)])
    program("dynamic_arithmetic", lambda x: x.new_ones((x.shape[0] + 3) // 2 * 2) + x.shape[0] % 3 + min(x.shape[0], 5), real(4), more=[(real(9),), (real(10),)], dynamic_shapes=((auto,),))
    program("dynamic_slices", lambda x: (x[: x.shape[0] // 2], x[-1], x[1 : x.shape[0] - 1]), real(6, 2), more=[(real(11, 2),)], dynamic_shapes=((auto,),))
    program("dynamic_sizes_out", lambda x: (x.shape[0], x.shape[0] * 2 + 1, x.numel()), real(6, 2), more=[(real(11, 2),)], dynamic_shapes=((auto,),))
    program("dynamic_cat", lambda x, y: torch.cat([x, y]), real(3, 2), real(4, 2), more=[(real(5, 2), real(9, 2))], dynamic_shapes=((auto, auto),))
    program("dynamic_attention", nn.MultiheadAttention(8, 2, batch_first=True), *[real(2, 5, 8)] * 3, more=[tuple([real(3, 7, 8)] * 3)],
            dynamic_shapes={name: {0: Dim.AUTO, 1: Dim.AUTO} for name in ("query", "key", "value")})
    program("dynamic_int", IntInput(), real(4), 3, more=[(real(4), 9)], dynamic_shapes={"x": None, "n": Dim.DYNAMIC})
    program("unbacked_item", lambda x: torch.ones(bounded(x.sum().item())), torch.tensor([1, 2]), more=[(torch.tensor([2, 4]),)])
    program("unbacked_nonzero", lambda x: x.nonzero() * 2, torch.tensor([1, 0, 2]), more=[(torch.tensor([0, 0, 2]),)])
    program("unbacked_slice", lambda x, n: x[: bounded(n.item())].sum(), real(9), torch.tensor(4), more=[(real(9), torch.tensor(2))])
    program("unbacked_check", Checked(), torch.tensor(3), more=[(torch.tensor(8),)])


def bounded(n):
    torch._check(n >= 2)
    torch._check(n < 10)
    return n


class IntInput(nn.Module):
    def forward(self, x, n):
        return x * n, n + 1, x.new_ones(2).expand(n, 2)


class Checked(nn.Module):
    def forward(self, n):
        size = n.item()
        torch._check_is_size(size)
        torch._check(size < 100)
        return torch.zeros(size, 2) + size


# --- Nested graphs, regions -----------------------------------------------------


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: self.a(x).relu(), lambda x: self.b(x), (x,))


def control_flow():
    x, plus, minus = real(3, 4), torch.ones(3, 4), -torch.ones(3, 4)
    program("cond", lambda x: torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,)), plus, more=[(minus,)])
    program("cond_several", lambda x: torch.cond(x.sum() > 0, lambda x: (x + 1, x.sum()), lambda x: (x - 1, x.mean()), (x,)), plus, more=[(minus,)])
    program("cond_weights", Branches(), plus, more=[(minus,)])
    program("cond_closure", lambda x, y: torch.cond(x.mean() > 0, lambda: x + y, lambda: x * y), plus, x, more=[(minus, x)])
    program("cond_nested", lambda x: torch.cond(x.sum() > 0, lambda x: torch.cond(x.max() > 2, lambda x: x * 2, lambda x: x * 3, (x,)), lambda x: x - 1, (x,)),
            plus, more=[(minus,), (plus * 3,)])
    program("cond_shape", lambda x: torch.cond(x.shape[0] > 4, lambda x: x + 1, lambda x: x - 1, (x,)), real(3, 4), more=[(real(6, 4),)],
            dynamic_shapes=(({0: Dim.DYNAMIC},),))
    program("cond_bool_input", lambda p, x: torch.cond(p, lambda x: x.sin(), lambda x: x.cos(), (x,)), torch.tensor(True), x, more=[(torch.tensor(False), x)])
    program("cond_decomposed", Branches(), plus, more=[(minus,)], decomposed=True)
    program("while", lambda i, x: while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 2), (i, x)), torch.tensor(0), x, more=[(torch.tensor(7), x)])
    program("while_three", lambda i, x: while_loop(lambda i, x, y: (i < 5) & (x.sum() < 100), lambda i, x, y: (i + 1, x + y, y * 1.5), (i, x, x.exp())), torch.tensor(0), x)
    program("while_closure", lambda i, x, y: while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x @ y), (i, x)), torch.tensor(0), x, real(4, 4))
    program("while_cond", lambda i, x: while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, torch.cond(i > 1, lambda x: x + 1, lambda x: x * 2, (x,))), (i, x)), torch.tensor(0), x)
    program("map", lambda x, y: map_over(lambda a, b: a.sin() + b, x, y), x, real(4))
    program("map_several", lambda x: map_over(lambda a: (a * 2, a.sum()), x), x)
    program("map_tree", lambda x, y: map_over(lambda t: t["a"] @ t["b"], {"a": x, "b": y}), real(3, 2, 4), real(3, 4, 2))
    program("scan", lambda x: scan(lambda c, a: (c + a, c * a), torch.zeros(4), x), x)
    program("scan_tree", lambda x: scan(lambda c, a: ({"s": c["s"] + a, "n": c["n"] + 1}, (a * c["n"], c["s"].clone())), {"s": torch.zeros(4), "n": torch.zeros(())}, x), x)
    program("scan_closure", lambda x, w: scan(lambda c, a: ((c + a) @ w, c.clone()), torch.zeros(4), x), x, real(4, 4))
    program("cond_size", lambda x: (lambda a, b: torch.cond(x.sum() > 0, lambda x: x * a + b, lambda x: x - b, (x,)))(x.shape[0] + 1, x.shape[1] * 2),
            plus, more=[(minus,), (real(5, 4),)], dynamic_shapes=(({0: Dim.DYNAMIC},),))
    program("cond_size_within", lambda x: torch.cond(x.sum() > 0, lambda x: x * x.shape[0], lambda x: x - x.shape[0], (x,)), plus, more=[(real(5, 4),)],
            dynamic_shapes=(({0: Dim.DYNAMIC},),))
    program("while_size", lambda i, x: (lambda n: while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x * n), (i, x)))(x.shape[0]), torch.tensor(0), x,
            more=[(torch.tensor(1), real(5, 4))], dynamic_shapes=((None, {0: Dim.DYNAMIC}),))
    program("while_counts_size", lambda x: while_loop(lambda i, x: i < 9, lambda i, x: (i + 1, x * 2), (x.shape[0], x))[1], x, more=[(real(5, 4),)],
            dynamic_shapes=(({0: Dim.DYNAMIC},),))
    program("scan_size", lambda x: (lambda n: scan(lambda c, a: (c + a * n, c * n), torch.zeros(4), x))(x.shape[0]), x, more=[(real(5, 4),)],
            dynamic_shapes=(({0: Dim.DYNAMIC},),))
    program("vmap_of_vmap", lambda x: torch.vmap(lambda a: a * 2)(torch.vmap(lambda a: a + 1)(x)), x)
    program("vmap_linear", lambda x, w: torch.vmap(lambda a: F.linear(a, w).relu().sum(-1))(x), real(3, 2, 4), real(5, 4))
    program("vmap", lambda x, y: torch.vmap(lambda a, b: a @ b, in_dims=(0, None))(x, y), x, real(4))
    program("no_grad", no_grad_region, x)
    program("enable_grad", enable_grad_region, x)
    program("autocast", lambda x, y: autocast(x, y, torch.bfloat16, True), x, real(4, 4))
    program("autocast_half", lambda x, y: autocast(x, y, torch.float16, True), x, real(4, 4))
    program("autocast_off", lambda x, y: autocast(x, y, torch.bfloat16, False), x, real(4, 4))
    program("autocast_nested", autocast_nested, x, real(4, 4))
    program("autocast_layer", AutocastLayer(), x)
    program("autocast_decomposed", AutocastLayer(), x, decomposed=True)
    program("checkpoint", Checkpointed(), x)
    program("printed", lambda x: (torch.ops.higher_order.print("sum {a}", a=x.sum()), x + 1)[1], x)
    program("random", lambda x: (torch.rand_like(x), torch.randint(0, 9, (3,)), F.dropout(x, 0.5, training=True), torch.bernoulli(x.sigmoid())), x)


def no_grad_region(x):
    with torch.no_grad():
        y = x * 2
        z = y.sin()
    return y + x, z


def enable_grad_region(x):
    with torch.no_grad():
        y = x * 2
        with torch.enable_grad():
            z = y * x
        w = z.cos()
    return w + y


def autocast(x, y, dtype, enabled):
    with torch.autocast("cpu", dtype=dtype, enabled=enabled):
        z = x @ y
    return z, z.float() + 1


def autocast_nested(x, y):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        a = x @ y
        with torch.autocast("cpu", enabled=False):
            b = x @ y
        c = F.linear(b, y)
    return a, b, c


class AutocastLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 5), nn.Linear(5, 2)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            x = F.softmax(self.a(x), -1)
        return self.b(x.float())


class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x):
        return torch.utils.checkpoint.checkpoint(lambda y: self.a(y).sin(), x, use_reentrant=False)


# --- State ----------------------------------------------------------------------


class State(nn.Module):
    """A module with what `init` puts into it and `forward` does with it."""

    def __init__(self, init, forward):
        super().__init__()
        init(self)
        self.function = forward

    def forward(self, *args):
        return self.function(self, *args)


def counter(self):
    self.register_buffer("count", torch.zeros(1))
    self.register_buffer("seen", torch.zeros(4), persistent=False)


def count(self, x):
    self.count.add_(1)
    self.seen.mul_(0.9).add_(x.sum(0))
    return x * self.count, self.seen.clone()


def count_by_assignment(self, x):
    self.count = self.count + 1
    return x * self.count


def tied(self):
    self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
    self.b.weight = self.a.weight


def views(self):
    base = torch.randn(3, 4)
    self.register_buffer("base", base)
    self.register_buffer("row", base[1])
    self.register_buffer("column", base[:, 2])
    self.register_buffer("transposed", base.t())


def write_views(self, x):
    self.row.add_(x)
    return self.base * 2, self.column.clone(), self.transposed + 1


def strided(self):
    self.register_buffer("transposed", torch.randn(4, 3).t())
    self.register_buffer("channels_last", torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last))
    self.register_buffer("expanded", torch.randn(1, 4).expand(3, 4))
    self.register_buffer("stepped", torch.randn(8)[1::2])
    self.weight = nn.Parameter(torch.randn(4, 6).t()[1:4])


def kinds(self):
    for dtype in (torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.int16, torch.int32, torch.uint8, torch.bool,
                  torch.complex64):
        self.register_buffer("of_" + str(dtype).split(".")[1], torch.randn(3).to(dtype))
    self.register_buffer("empty", torch.zeros(0, 3))
    self.register_buffer("scalar", torch.tensor(2.5))


def state():
    x = real(3, 4)
    for decomposed in (False, True):
        end = "_decomposed" if decomposed else ""
        program(f"buffers{end}", State(counter, count), x, more=[(x * 2,), (x,)], decomposed=decomposed)
        program(f"buffers_assigned{end}", State(counter, count_by_assignment), x, more=[(x,)], decomposed=decomposed)
        program(f"batch_norm_train{end}", nn.BatchNorm2d(4), real(2, 4, 3, 3), more=[(real(2, 4, 3, 3),)], decomposed=decomposed)
        program(f"tied_weights{end}", State(tied, lambda self, x: self.b(self.a(x).relu())), x, decomposed=decomposed)
        program(f"input_written{end}", lambda x: (x.add_(1), x * 2), x.clone(), more=[(x.clone(),)], decomposed=decomposed)
        program(f"aliased_outputs{end}", lambda x: (x, x.t(), x[0], x + 1), x, decomposed=decomposed)
    program("shared_storage", State(views, write_views), real(4), more=[(real(4),)])
    program("strided_weights", State(strided, lambda self, x: (self.transposed + x.t(), F.conv2d(self.channels_last, self.channels_last[:, :, :2, :2]),
                                                               self.expanded * 2, self.stepped + 1, self.weight @ x)), torch.ones(4, 3))
    program("weights_of_dtypes", State(kinds, lambda self, x: tuple(b + 1 if b.dtype != torch.bool else ~b for b in self.buffers()) + (x,)), x)
    program("constants", lambda x: x + torch.tensor([1.0, 2, 3, 4]) * torch.tensor(2), x)
    program("constant_attribute", State(lambda self: setattr(self, "c", torch.arange(4.0)), lambda self, x: x * self.c), x)
    program("unused_weights", State(tied, lambda self, x: self.a(x)), x)
    program("parameter_list", State(lambda self: setattr(self, "p", nn.ParameterList([torch.randn(4) for _ in range(3)])),
                                    lambda self, x: sum(x * p for p in self.p)), x)


# --- Structures -------------------------------------------------------------------


Pair = collections.namedtuple("Pair", ["first", "second"])
torch.utils._pytree._register_namedtuple(Pair, serialized_type_name="graphnet.Pair")


@dataclasses.dataclass
class State2:
    first: torch.Tensor
    second: typing.Any


torch.export.register_dataclass(State2, serialized_type_name="graphnet.State2")


class Cache:
    """A class whose leaves are not its attributes, in the manner of caches of language models."""

    def __init__(self, layers):
        self.layers = layers


torch.utils._pytree.register_pytree_node(
    Cache, lambda cache: ([list(cache.layers)], None), lambda leaves, _: Cache(leaves[0]), serialized_type_name="graphnet.Cache",
    to_dumpable_context=lambda context: None, from_dumpable_context=lambda context: None,
    flatten_with_keys_fn=lambda cache: ([(torch.utils._pytree.GetAttrKey("layers"), list(cache.layers))], None))


class Keywords(nn.Module):
    def forward(self, x, *rest, scale=2.0, other=None, **more):
        for value in rest:
            x = x + value
        if other is not None:
            x = x * other
        for name in sorted(more):
            x = x - more[name]
        return x * scale


class NestedInput(nn.Module):
    def forward(self, batch, flag: bool = True):
        a, (b, c) = batch["a"], batch["pair"]
        return {"sum": a + b, "list": [c * 2, {"deep": (a, None)}], "flag": a.sum() if flag else b.sum()}


def structures():
    x, y, z = real(3, 4), real(3, 4), real(3, 4)
    outs = {
        "tensor": lambda x: x + 1,
        "tuple_of_one": lambda x: (x + 1,),
        "list": lambda x: [x + 1, x + 2],
        "dict": lambda x: {"b": x + 1, "a": x + 2},
        "dict_of_ints": lambda x: {1: x + 1, 0: x + 2},
        "ordered_dict": lambda x: collections.OrderedDict(z=x + 1, a=x + 2),
        "nested": lambda x: ([x + 1, (x + 2, {"k": x})], x.sum()),
        "none": lambda x: None,
        "nones": lambda x: (None, x + 1, None),
        "numbers": lambda x: (x + 1, 3, 2.5, True),
        "same_twice": lambda x: (lambda y: (y, y))(x + 1),
        "input": lambda x: x,
        "named_tuple": lambda x: Pair(x + 1, x + 2),
    }
    for name, function in outs.items():
        program(f"out_{name}", function, x)
    program("in_keywords", Keywords(), x, y, z, kwargs={"scale": 3.0, "other": y, "a": z, "b": x})
    program("in_dict", NestedInput(), {"a": x, "pair": (y, z)})
    program("in_constant", NestedInput(), {"a": x, "pair": (y, z)}, False)
    program("in_list", lambda xs: xs[0] + xs[1][0], [x, (y, 3)])
    program("in_named_tuple", lambda p: p.first * p.second, Pair(x, y))
    program("in_none", lambda x, n, y: x if n is None else y, x, None, y)
    program("in_unused", lambda x, y: x * 2, x, y)
    program("in_int", lambda x, n: x * n, x, 3)
    program("in_names", NamesOfPython(), x, y)
    program("in_same_twice", lambda x, y: x + y, x, x)
    program("in_dataclass", lambda state, x: (state.first * x, State2(state.second, x)), State2(x, y), z)
    program("in_dataclass_none", lambda state, x: state.first * x, State2(x, None), z)
    program("in_dataclass_nested", lambda both, x: both["a"].first + both["b"][0].second * x, {"a": State2(x, y), "b": [State2(y, z)]}, z)
    program("in_class", lambda cache, x: cache.layers[0] + cache.layers[1] * x, Cache([x, y]), z)


class NamesOfPython(nn.Module):
    def forward(self, input, self_):
        return input - self_


# --- Quantised, as pt2e writes it ---------------------------------------------------


def quantised():
    import torch.ao.quantization.fx._decomposed  # registers the operators

    q = torch.ops.quantized_decomposed
    x, w = real(3, 8), real(5, 8)
    scales, points = torch.rand(5) / 10 + 0.01, torch.randint(-5, 5, (5,))

    def linear(x, w):
        x = q.dequantize_per_tensor(q.quantize_per_tensor(x, 0.05, 3, -128, 127, torch.int8), 0.05, 3, -128, 127, torch.int8)
        w = q.dequantize_per_channel(q.quantize_per_channel(w, scales, points, 0, -127, 127, torch.int8), scales, points, 0, -127, 127, torch.int8)
        y = F.linear(x, w).relu()
        return q.dequantize_per_tensor(q.quantize_per_tensor(y, 0.1, 0, 0, 255, torch.uint8), 0.1, 0, 0, 255, torch.uint8)

    def dynamic(x, w):
        scale, point = q.choose_qparams.tensor(x, -128, 127, 1e-6, torch.int8)
        x = q.dequantize_per_tensor.tensor(q.quantize_per_tensor.tensor(x, scale, point, -128, 127, torch.int8), scale, point, -128, 127, torch.int8)
        return F.linear(x, w)

    def symmetric(x):
        scale, point = q.choose_qparams_symmetric.tensor(x, 0, 255, 1e-6, torch.uint8)
        return scale, point, q.quantize_per_tensor.tensor2(x, scale, point, torch.tensor(0), torch.tensor(255), torch.uint8)

    def tokens(x):
        scale, point = q.choose_qparams_per_token_asymmetric(x, torch.int8)
        made = q.quantize_per_token(x, scale, point, -128, 127, torch.int8)
        return made, q.dequantize_per_token(made, scale, point, -128, 127, torch.int8, torch.float32)

    def groups(w):
        scale, point = torch.rand(5, 2) / 10 + 0.01, torch.zeros(5, 2, dtype=torch.int32)
        made = q.quantize_per_channel_group(w, scale, point, -8, 7, torch.int8, 4)
        return made, q.dequantize_per_channel_group(made, scale, point, -8, 7, torch.int8, 4, torch.float32)

    image = real(2, 3, 5, 5).to(memory_format=torch.channels_last)
    wide = torch.rand(3) / 10 + 0.01
    program("pt2e_linear", linear, x, w)
    program("pt2e_linear_functional", linear, x, w, decomposed=True)
    program("pt2e_dynamic", dynamic, x, w)
    program("pt2e_symmetric", symmetric, x)
    program("pt2e_tokens", tokens, x)
    program("pt2e_groups", groups, w)
    program("pt2e_channels", lambda x: q.dequantize_per_channel(q.quantize_per_channel(x, wide, torch.zeros(3, dtype=torch.int64), 1, -128, 127, torch.int8), wide, None, 1,
                                                                -128, 127, torch.int8) * 2, image)
    program("pt2e_fake", lambda x: q.fake_quant_per_channel(x, wide, torch.zeros(3), 1, -128, 127), image)
    program("pt2e_convert", lambda x: q.convert_element_type.no_fuse(x, torch.float64), x)


# --- Core ATen ----------------------------------------------------------------------


def core():
    sequence, image = real(2, 4, 8), real(2, 4, 6, 6)
    for name, module, x in [
        ("instance_norm", nn.InstanceNorm2d(4, affine=True), image),
        ("batch_norm", nn.BatchNorm2d(4, track_running_stats=False), image),
        ("batch_norm_train", nn.BatchNorm2d(4), image),
        ("group_norm", nn.GroupNorm(2, 4), image),
        ("embedding_bag", nn.EmbeddingBag(10, 3, mode="sum"), whole(10, 4, 3)),
        ("embedding_bag_mean", nn.EmbeddingBag(10, 3, padding_idx=2), whole(10, 4, 3)),
        ("lstm", nn.LSTM(8, 5, batch_first=True), sequence),
        ("attention", nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), sequence),
    ]:
        program(f"core_{name}", module, x, decomposed="core")
    for name, function in [
        ("fft", torch.fft.fft), ("rfft", torch.fft.rfft), ("hfft", torch.fft.hfft), ("ifft2", torch.fft.ifft2),
        ("irfft", lambda x: torch.fft.irfft(torch.fft.rfft(x, n=5), n=7)), ("rfftn", lambda x: torch.fft.irfftn(torch.fft.rfftn(x), s=x.shape[-2:], dim=(-2, -1))),
        ("stft", lambda x: torch.stft(x[0], 4, return_complex=True, window=torch.ones(4))),
    ]:
        program(f"core_{name}", function, sequence, decomposed="core")


# --- Kinds of tensors ---------------------------------------------------------------


def tensors():
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        name = str(dtype).split(".")[1]
        program(f"tensor_{name}", lambda x: (x * 2 + 1).softmax(-1), real(3, 4).to(dtype))
    for dtype in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8):
        name = str(dtype).split(".")[1]
        program(f"tensor_{name}", lambda x: (x // 2 + x % 3, x << 1, x & 3, x.sum(), x / 2), whole(50, 3, 4).to(dtype))
    program("tensor_bool", lambda x: (x & ~x.t(), x.any(), x.sum(), x.logical_xor(x[0])), whole(2, 4, 4).bool())
    program("tensor_complex64", lambda x: (x * x.conj(), x.abs(), torch.view_as_real(x), x.real + x.imag), torch.randn(3, 4, dtype=torch.complex64))
    for dtype in (torch.uint16, torch.uint32, torch.uint64):
        name = str(dtype).split(".")[1]
        program(f"tensor_{name}", lambda x: (x.clone(), x.to(torch.int64) + 1, x.t().contiguous()), whole(50, 3, 4).to(dtype))
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz, torch.float8_e8m0fnu):
        name = str(dtype).split(".")[1]
        program(f"tensor_{name}", lambda x: (x.clone(), x.t().contiguous(), x.to(torch.float32)), real(3, 4).to(dtype))
    program("tensor_of_all", lambda a, b, c: (a.to(torch.float32), b + 1, c * 2), whole(9, 3).to(torch.uint16), real(3), real(3).to(torch.bfloat16))
    program("tensor_conjugated", lambda x: x * 2, torch.randn(3, dtype=torch.complex64).conj())
    program("tensor_complex_scalar", lambda x: x * (2 + 3j), torch.randn(3, dtype=torch.complex64))
    program("tensor_scalar", lambda x: x * 2, torch.tensor(3.0))
    program("tensor_empty", lambda x: (x + 1, x.sum(), torch.cat([x, torch.ones(1, 3)])), torch.zeros(0, 3))
    program("tensor_transposed", lambda x: (x.contiguous(), x * 2), real(4, 3).t())
    program("tensor_channels_last", nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last), real(1, 3, 6, 6).to(memory_format=torch.channels_last))
    program("tensor_to_channels_last", lambda x: x.to(memory_format=torch.channels_last).clone() * 2, real(1, 3, 6, 6))


# --- PyTorch's database of operators -------------------------------------------------


class Operator(torch.nn.Module):
    """A call of `function` whose tensors are inputs."""

    def __init__(self, function, sample):
        super().__init__()
        leaves, self.spec = torch.utils._pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
        self.function = function
        self.constants = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        self.tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        self.is_tensor = [isinstance(leaf, torch.Tensor) for leaf in leaves]

    def forward(self, *tensors):
        left = iter(tensors)
        leaves = [next(left) if is_tensor else constant for is_tensor, constant in zip(self.is_tensor, self.constants)]
        given, args, kwargs = torch.utils._pytree.tree_unflatten(leaves, self.spec)
        # Named tuples of torch.return_types cannot be returned.
        returned = self.function(given, *args, **kwargs)
        return tuple(returned) if isinstance(returned, tuple) else returned


def database(names, count, decomposed):
    """Programs of the operators in PyTorch's own test database, and how many cannot be drawn by reason."""
    from torch.testing._internal.common_methods_invocations import op_db

    for info in op_db:
        if torch.float32 not in info.supported_dtypes("cpu") or (names and info.name not in names):
            continue
        torch.manual_seed(0)
        try:
            samples = [s for s, _ in zip(info.sample_inputs("cpu", torch.float32), range(count))]
        except Exception as error:  # Whatever PyTorch raises.
            print(f"no samples of {info.name}: {type(error).__name__}")
            continue
        name = f"{info.name}.{info.variant_test_name}" if info.variant_test_name else info.name
        for i, sample in enumerate(samples):
            module = Operator(info.op, sample)
            if module.tensors:
                yield f"{name}.{i}".replace(".", "_"), Program(module, [(tuple(module.tensors), {})], decomposed=decomposed)


REASONS = {"out": "it writes its result to an argument, which torch.export does not do"}


def core_names():
    for name in torch._C._dispatch_get_all_op_names():
        base, _, overload = name.removeprefix("aten::").partition(".")
        overload = overload or "default"
        if name.startswith("aten::") and torch.Tag.core in getattr(getattr(torch.ops.aten, base), overload).tags:
            yield f"aten.{base}.{overload}"


def called(graph):
    for node in graph["nodes"]:
        yield node["target"]
        for argument in node["inputs"]:
            if "as_graph" in argument["arg"]:
                yield from called(argument["arg"]["as_graph"]["graph"])


def list_core(folder) -> int:
    names = set(core_names())
    for path in folder.glob("*.pt2"):
        targets = called(program_json(path)["graph_module"]["graph"])
        names |= {t.removeprefix("torch.ops.") for t in targets if t.startswith("torch.ops.aten.")}
    print(f"# Made by make_pt2_programs.py --list from torch {torch.__version__.split('+')[0]}.")
    for name in sorted(names):
        print(f"{name}  {REASONS.get(name.rsplit('.', 1)[1], '')}".rstrip())
    return 0


def build():
    """All programs by their names."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    for family in (layers, operators, dynamic, control_flow, state, structures, tensors, quantised, core):
        family()
    return PROGRAMS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--operators", type=int, metavar="N", help="N samples of each operator of PyTorch's database instead")
    parser.add_argument("--core", action="store_true", help="these as run_decompositions() makes them")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        return list_core(options.folder)
    if options.operators:
        torch.set_num_threads(1)
        programs = dict(database(options.names, options.operators, "core" if options.core else ""))
        write_programs(programs, options.folder, [])
    else:
        write_programs(build(), options.folder, options.names)
    return 0


if __name__ == "__main__":
    sys.exit(main())
