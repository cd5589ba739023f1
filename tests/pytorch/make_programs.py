#!/usr/bin/env python3
"""Writes programs in the manner of the field's libraries, or programs that are odd in what they hold.

    make_programs.py field FOLDER [NAME…]
    make_programs.py odd FOLDER [--count N] [--seed N]

For each program there are NAME.pt2 (torch.export) or NAME.pt (scripted or traced), and for each call of it
NAME.<i>.in.safetensors and NAME.<i>.out.safetensors, as make_pt2_programs.py has them. check_programs.py takes
them through the tool. Needs torch alone.

`field`: language models with dynamic sizes and caches, attention over graphs, forces as gradients, audio, RNNs over packed sequences, lists and dicts, a loop that depends on data. The modules are
written here, after those of transformers, torch_geometric, torchaudio, torchvision and others.

`odd`: each has some of: weights without elements and without dimensions, of every dtype; shared, transposed,
expanded, sparse in their storage, channels last, overlapping; no weights at all; names with blanks, dots,
quotes, in other alphabets, keywords of Python and C++; no inputs; inputs that nothing uses, that are returned,
that are lists, dictionaries, numbers, None; one value that is returned twice; weights and numbers as outputs;
outputs within tuples, lists and dictionaries. Programs in text (NAME.gn) have names that no module can have,
and neither weights nor outputs beside them. What PyTorch itself cannot write is counted.
"""

import argparse
import dataclasses
import importlib.util
import keyword
import pathlib
import random
import sys
import warnings
from collections.abc import Iterator, Sequence

import in_pytorch
import torch
import torch.nn.functional as F
from in_pytorch import Program

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[1] / "cli"))
import hostile_names  # noqa: E402
from torch import nn
from torch.export import Dim
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

warnings.filterwarnings("ignore")

FIELD: dict[str, Program] = {}


def real(*shape):
    return torch.randn(*shape)


def whole(high, *shape):
    return torch.randint(0, high, shape)


def add(form, name, module, *args, more=(), dynamic=None, decomposed="", gradients=False):
    assert name not in FIELD, name
    calls = [(given, {}) for given in (args, *more)]
    FIELD[name] = Program(module.eval(), calls, {"dynamic_shapes": dynamic}, [], decomposed, form, gradients)


# --- Language models ------------------------------------------------------------


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x):
        dtype = x.dtype
        x = x.to(torch.float32)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * x.to(dtype)


class Rotary(nn.Module):
    """Rotary embeddings as in transformers: without gradients, with autocast switched off."""

    def __init__(self, width):
        super().__init__()
        self.register_buffer("inv_freq", 1.0 / 10000 ** (torch.arange(0, width, 2).float() / width), persistent=False)

    def forward(self, x, position):
        with torch.no_grad():
            freq = self.inv_freq[None, :, None].float().expand(position.shape[0], -1, 1)
            with torch.autocast("cpu", enabled=False):
                angles = (freq @ position[:, None, :].float()).transpose(1, 2)
                angles = torch.cat((angles, angles), dim=-1)
                cos, sin = angles.cos(), angles.sin()
        return cos.to(x.dtype), sin.to(x.dtype)


def rotate(x, cos, sin):
    half = x.shape[-1] // 2
    turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * cos.unsqueeze(1) + turned * sin.unsqueeze(1)


class Attention(nn.Module):
    """Grouped-query attention; with a static cache if there are places to write to."""

    def __init__(self, width=32, heads=4, groups=2, cache=0):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, groups * self.size, bias=False)
        self.v = nn.Linear(width, groups * self.size, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        if cache:
            self.register_buffer("keys", torch.zeros(1, groups, cache, self.size))
            self.register_buffer("values", torch.zeros(1, groups, cache, self.size))

    def forward(self, x, cos, sin, mask, place=None):
        batch, length, _ = x.shape
        q = self.q(x).view(batch, length, self.heads, -1).transpose(1, 2)
        k = self.k(x).view(batch, length, self.groups, -1).transpose(1, 2)
        v = self.v(x).view(batch, length, self.groups, -1).transpose(1, 2)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        if place is not None:
            self.keys.index_copy_(2, place, k)
            self.values.index_copy_(2, place, v)
            k, v = self.keys, self.values
        times = self.heads // self.groups
        k = k[:, :, None].expand(-1, -1, times, -1, -1).reshape(batch, self.heads, -1, self.size)
        v = v[:, :, None].expand(-1, -1, times, -1, -1).reshape(batch, self.heads, -1, self.size)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.o(y.transpose(1, 2).reshape(batch, length, -1))


class LanguageModel(nn.Module):
    def __init__(self, width=32, layers=2, cache=0):
        super().__init__()
        self.embed = nn.Embedding(50, width)
        self.rotary = Rotary(width // 4)
        self.layers = nn.ModuleList()
        for _ in range(layers):
            layer = nn.ModuleDict(
                {"attention": Attention(width, cache=cache), "down": nn.Linear(48, width, bias=False)}
            )
            layer.update({name: RMSNorm(width) for name in ("n1", "n2")})
            layer.update({name: nn.Linear(width, 48, bias=False) for name in ("gate", "up")})
            self.layers.append(layer)
        self.norm, self.cache = RMSNorm(width), cache

    def forward(self, ids, place=None):
        x = self.embed(ids)
        length = ids.shape[1]
        if place is None:
            position = torch.arange(length, device=x.device)[None].expand(ids.shape[0], -1)
            mask = torch.full((length, length), torch.finfo(x.dtype).min).triu(1)[None, None]
        else:
            position = place[None]
            seen = torch.arange(self.cache)[None, :] <= place[:, None]
            mask = torch.zeros(length, self.cache).masked_fill(~seen, torch.finfo(x.dtype).min)[None, None]
        cos, sin = self.rotary(x, position)
        for layer in self.layers:
            x = x + layer["attention"](layer["n1"](x), cos, sin, mask, place)
            y = layer["n2"](x)
            x = x + layer["down"](F.silu(layer["gate"](y)) * layer["up"](y))
        return self.norm(x) @ self.embed.weight.t()


@dataclasses.dataclass
class Cache:
    keys: list[torch.Tensor]
    values: list[torch.Tensor]


@dataclasses.dataclass
class Output:
    logits: torch.Tensor
    cache: Cache


torch.export.register_dataclass(Cache, serialized_type_name="field.Cache")
torch.export.register_dataclass(Output, serialized_type_name="field.Output")


class Growing(nn.Module):
    """A cache that grows, in a dataclass that goes in and comes out."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x, cache: Cache):
        k = torch.cat([cache.keys[0], self.k(x)], 1)
        v = torch.cat([cache.values[0], self.v(x)], 1)
        y = F.scaled_dot_product_attention(self.q(x), k, v)
        return Output(y, Cache([k], [v]))


def language_models():
    batch = {0: Dim.AUTO, 1: Dim.AUTO}
    add("export", "llama", LanguageModel(), whole(50, 2, 7), more=[(whole(50, 3, 5),)], dynamic=(batch,))
    first, fourth = torch.tensor([0]), torch.tensor([3])
    add("export", "llama_cached", LanguageModel(cache=12), whole(50, 1, 1), first, more=[(whole(50, 1, 1), fourth)])
    add("export", "llama_decomposed", LanguageModel(layers=1), whole(50, 2, 7), decomposed="core")
    calls = [(real(2, 1, 8), Cache([real(2, size, 8)], [real(2, size, 8)])) for size in (4, 6)]
    grows = [{0: Dim.AUTO, 1: Dim.AUTO}]
    add("export", "growing_cache", Growing(), *calls[0], more=calls[1:], dynamic=({0: Dim.AUTO}, [grows, grows]))


# --- Graphs, points, recommendation ----------------------------------------------


class GAT(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(6, 8, bias=False)
        self.source, self.target = (nn.Parameter(torch.randn(1, 2, 4)), nn.Parameter(torch.randn(1, 2, 4)))

    def forward(self, x, edges):
        count = x.size(0)
        h = self.lin(x).view(-1, 2, 4)
        score = (h * self.source).sum(-1)[edges[0]] + (h * self.target).sum(-1)[edges[1]]
        score = F.leaky_relu(score, 0.2)
        index = edges[1][:, None].expand_as(score)
        top = torch.full((count, 2), float("-inf")).scatter_reduce(0, index, score, "amax", include_self=False)
        weight = (score - top[edges[1]]).exp()
        total = torch.zeros(count, 2).scatter_add_(0, index, weight)
        alpha = weight / (total[edges[1]] + 1e-16)
        return x.new_zeros(count, 2, 4).index_add_(0, edges[1], h[edges[0]] * alpha[..., None]).reshape(count, -1)


class ForceField(nn.Module):
    """Forces are the gradient of the energy, which is asked for inside of forward."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        positions = positions.detach().requires_grad_(True)
        difference = positions[:, None] - positions[None]
        square = (difference * difference).sum(-1) + torch.eye(positions.shape[0])
        energy = self.net(square.reshape(-1, 1)).sum()
        gradient = torch.autograd.grad([energy], [positions])[0]
        assert gradient is not None
        return energy.detach(), -gradient


def graphs():
    edges = torch.tensor([[0, 1, 2, 3, 3, 1], [1, 0, 3, 2, 1, 2]])
    add(
        "export",
        "gat",
        GAT(),
        real(4, 6),
        edges,
        more=[(real(5, 6), whole(5, 2, 9))],
        dynamic=({0: Dim.AUTO}, {1: Dim.AUTO}),
    )
    add("script", "force_field", ForceField(), real(4, 3), gradients=True)


# --- Sound, signals ---------------------------------------------------------------


class Mel(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(16))
        self.register_buffer("bank", torch.rand(9, 5))

    def forward(self, wave: torch.Tensor) -> torch.Tensor:
        spectrum = torch.stft(
            wave, 16, hop_length=4, window=self.window, center=True, pad_mode="reflect", return_complex=True
        )
        power = spectrum.abs().pow(2.0)
        return torch.log10(torch.clamp(torch.matmul(power.transpose(-1, -2), self.bank), min=1e-10)).transpose(-1, -2)


def sound():
    add("export", "mel", Mel(), real(2, 64), more=[(real(3, 64),)], dynamic=({0: Dim.AUTO},))
    add("script", "mel_scripted", Mel(), real(2, 64), more=[(real(3, 80),)])


# --- Recurrent, in TorchScript -----------------------------------------------------


class Packed(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.rnn = (nn.Embedding(20, 6), nn.LSTM(6, 5, bidirectional=True, batch_first=True))

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        packed = pack_padded_sequence(self.embed(ids), lengths, batch_first=True, enforce_sorted=False)
        out, (hidden, _) = self.rnn(packed)
        padded, _ = pad_packed_sequence(out, batch_first=True)
        return padded, hidden


class ListsAndDicts(nn.Module):
    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        sizes: list[int] = []
        for d in range(x.dim()):
            sizes.append(x.size(d) + 1)
        sizes.insert(0, 2)
        last = sizes.pop()
        named: dict[str, torch.Tensor] = {"zeros": torch.zeros(sizes)}
        if "zeros" in named and not (last in [0, -1]):
            named["more"] = x * float(last)
        parts = [x] * 2
        parts.extend([x + 1])
        named["parts"] = torch.cat(parts)
        return named


class NonMaximum(nn.Module):
    """Greedy suppression of boxes that overlap better ones."""

    def forward(self, boxes: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        order = torch.argsort(scores, descending=True)
        kept: list[int] = []
        while order.numel() > 0:
            first = int(order[0])
            kept.append(first)
            rest = order[1:]
            low = torch.maximum(boxes[rest, :2], boxes[first, :2])
            high = torch.minimum(boxes[rest, 2:], boxes[first, 2:])
            both = (high - low).clamp(min=0).prod(1)
            area = (boxes[:, 2:] - boxes[:, :2]).prod(1)
            order = rest[both / (area[first] + area[rest] - both) < 0.5]
        return torch.tensor(kept)


def recurrent():
    calls = [(whole(20, 3, 6), torch.tensor(lengths)) for lengths in ([6, 2, 4], [1, 5, 3])]
    add("script", "packed_lstm", Packed(), *calls[0], more=calls[1:])
    add("script", "lists_and_dicts", ListsAndDicts(), real(2, 3), more=[(real(4, 1),)])
    boxes = torch.rand(8, 2)
    add("script", "suppression", NonMaximum(), torch.cat([boxes, boxes + 0.3 + torch.rand(8, 2)], 1), torch.rand(8))


# --- Odd programs -------------------------------------------------------------------


DTYPES = [
    getattr(torch, name)
    for name in (
        "float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex32 complex64 complex128 "
        "float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu"
    ).split()
]
SHAPES = [(), (0,), (1,), (3,), (2, 3), (1, 3), (3, 1), (0, 3), (3, 0, 2), (2, 1, 3), (2, 3, 1, 1), (2, 3, 2, 2)]
SHAPES += [(1, 2, 1, 2, 1)]
LAYOUTS = ["plain", "transposed", "channels_last", "sparse", "expanded", "window", "offset"]
NAMES = (
    "weight|bias|class_|_0|W|a_b|lambda_|x1|self_|Ünï|日本|running_mean|input|class|lambda|int|template|None|a b| |a'b|"
    'a"b|a-b|a/b|1|forward_|%x|α|a\tb|a\nb|training_|output|self|torch|o0|__p|p_weight|b_weight|_storage_weight_1|}|\\'
).split("|") + ["x" * 200]
PLAIN = [torch.float32, torch.float64, torch.int64]


def tensor(rng, dtype, shape, layout):
    """A tensor of a dtype and shape whose elements lie in memory in an odd way, where the shape has such."""

    def values(*sizes):
        made = torch.randn(sizes) * 3
        if dtype == torch.bool:
            return made > 0
        if not dtype.is_floating_point and not dtype.is_signed and not dtype.is_complex:
            made = made.abs()
        return made.to(dtype)

    if layout == "transposed" and len(shape) > 1:
        return values(*shape[::-1]).permute(*range(len(shape))[::-1])
    if layout == "channels_last" and len(shape) in (4, 5):
        last = list(range(len(shape)))
        return values(shape[0], *shape[2:], shape[1]).permute(0, last[-1], *last[1:-1])
    if layout == "sparse" and shape:  # every other element of a storage
        return values(*shape, 2)[..., 0]
    if layout == "expanded":
        return values(*shape).expand(2, *shape)
    if layout == "window" and shape == (2, 3):  # rows that overlap
        return values(4).unfold(0, 3, 1)
    if layout == "offset":
        return values(2, *shape)[1]
    return values(*shape)


class Maker:
    """Draws one module: its members, its source text, its inputs."""

    def __init__(self, rng, turn, form):
        self.rng, self.turn, self.form = rng, turn, form
        self.members, self.lines, self.values, self.annotations = [], [], [], {}

    def seen(self, text, dtype):
        """An expression whose value a file of tensors can hold."""
        if dtype in (torch.complex128, torch.complex32):
            return f"torch.view_as_real({text})"
        return text

    def members_of(self):
        rng = self.rng
        module = nn.Module()
        count = rng.choice([0, 1, 1, 2, 3, 5])
        # PyTorch's own source text has no quotes around the names of members.
        spelled = [name for name in NAMES if name.isidentifier() and not keyword.iskeyword(name)]
        names = rng.sample(NAMES if self.form == "export" and rng.random() < 0.5 else spelled, count)
        for i, name in enumerate(names):
            # Each dtype and each layout has its turn.
            dtype = DTYPES[(self.turn + 7 * i) % len(DTYPES)] if rng.random() < 0.7 else torch.float32
            layout = LAYOUTS[(self.turn // 2 + i) % len(LAYOUTS)]
            shape = rng.choice(SHAPES[4:] if layout != "plain" and rng.random() < 0.6 else SHAPES)
            if layout == "window":
                shape = (2, 3)
            made = tensor(rng, dtype, shape, layout)
            tensors = [value for _, value in self.members]
            way = rng.random()
            if tensors and way < 0.2:
                made = rng.choice(tensors)  # one tensor with two names
            elif tensors and way < 0.4:  # a view of another's memory
                base = rng.choice(tensors).detach()
                made = (
                    base.unsqueeze(0)
                    if base.dim() < 1
                    else rng.choice([base[:1], base[:0], base.transpose(0, -1), base.detach()])
                )
            elif (made.is_floating_point() or made.is_complex()) and rng.random() < 0.4:
                made = nn.Parameter(made, requires_grad=rng.random() < 0.8)
            place, leaf = module, name
            if rng.random() < 0.3:  # a member of a submodule
                leaf = rng.choice(["weight", name])
                within = f"{name}_of" if rng.random() < 0.5 else f"sub{i}"
                place = nn.Module()
                module.add_module(within, place)
                text = f"self.{within}" if within.isidentifier() else f"getattr(self, {within!r})"
            else:
                text = "self"
            if isinstance(made, nn.Parameter):
                place.register_parameter(leaf, made)
            else:
                place.register_buffer(leaf, made, persistent=rng.random() < 0.9)
            spelled = leaf.isidentifier() and not keyword.iskeyword(leaf) and not leaf.startswith("__")
            text = f"{text}.{leaf}" if spelled else f"getattr({text}, {leaf!r})"
            self.members.append((text, made))
        return module

    def inputs(self):
        rng = self.rng
        in_files = [dtype for dtype in DTYPES if dtype in in_pytorch.DTYPES]
        kinds = {
            "x": lambda: tensor(rng, rng.choice(PLAIN), rng.choice(SHAPES[:6]), "plain"),
            "odd": lambda: tensor(rng, rng.choice(in_files), rng.choice(SHAPES), "plain"),
            "image": lambda: tensor(rng, torch.float32, (2, 3, 2, 2), "plain"),
        }
        names = rng.sample(
            "x input self_ o0 ä class_ weight _1 y output print int N forward".split(), rng.choice([0, 1, 1, 2, 3])
        )
        self.args = []
        for name in names:
            annotation, value = "torch.Tensor", kinds[rng.choice(["x", "x", "odd", "image"])]()
            way = rng.random() + (1 if self.form == "trace" else 0)
            if way < 0.1:
                annotation, value = "List[torch.Tensor]", [value, torch.randn(2)]
            elif way < 0.2:
                annotation, value = "Dict[str, torch.Tensor]", {"b": value, "a": torch.randn(2)}
            elif way < 0.25:
                annotation, value = "Optional[torch.Tensor]", None
            elif way < 0.3:
                annotation, value = "Tuple[torch.Tensor, torch.Tensor]", (value, torch.randn(()))
            self.annotations[name] = annotation
            self.args.append(value)
            if rng.random() < 0.2:
                continue  # nothing uses it
            if isinstance(value, torch.Tensor):
                self.use(name, value)
            elif annotation.startswith(("List", "Tuple")):
                self.use(f"{name}[1]", value[1])
            elif annotation.startswith("Dict"):
                self.use(f'{name}["a"]', value["a"])
                self.use(f'{name}["b"]', value["b"])

    def use(self, text, value):
        rng, dtype = self.rng, value.dtype
        plain = in_pytorch.DTYPES.get(dtype) in "F32 F64 I64 I32 C64 F16 BF16".split()
        ways = [text, f"{text}.clone()", f"{text}.detach()"]
        if plain:
            forms = "* 2|+ {0}|.sum()|.t()|.unsqueeze(0)|.reshape(-1)".split("|")
            ways += [text + form.format(text) for form in forms if value.dim() < 3 or form != ".t()"]
            ways.append(f"torch.cat([{text}.flatten()] * 2)")
        elif not dtype.is_complex:
            ways += [f"{text}.to(torch.float32)", f"{text}.to(torch.float32) + 1"]
        if value.dim() > 0 and value.shape[0] > 0:
            ways += [f"{text}[0]"]
        self.values.append(self.seen(rng.choice(ways), dtype))

    def source(self):
        rng = self.rng
        for text, value in self.members:
            if rng.random() < 0.9:
                self.use(text, value)
                if rng.random() < 0.12 and not isinstance(value, nn.Parameter) and value.dtype in PLAIN:
                    self.lines.append(f"{text}.add_(1)" if self.turn % 2 else f"{text}.zero_()")
        values = list(self.values)
        if rng.random() < 0.3 or not values:
            made = "torch.zeros(0)|torch.ones(2, 0)|torch.arange(3)|torch.full((), 2.5)|torch.eye(2)"
            values.append(rng.choice(made.split("|")))
        if rng.random() < 0.3:
            values.append(rng.choice(values))  # twice
        named = []
        for i, value in enumerate(values):
            self.lines.append(f"v{i} = {value}")
            named.append(f"v{i}")
        if rng.random() < 0.2:
            named.append(named[0])
        way = rng.randrange(2 if self.form == "trace" else 7)
        whole = f"({', '.join(named)},)"
        if way == 0 and len(named) == 1:
            whole = named[0]
        elif way == 1:
            whole = f"[{', '.join(named)}]"
        elif way == 2:
            keys = ["b", "a b", "class", "", "é", "0", "c", "d", "e", "f"]
            whole = "{" + ", ".join(f"{key!r}: {name}" for key, name in zip(keys, named)) + "}"
        elif way == 3:
            whole = f"({named[0]}, ({', '.join(named)},), [{named[-1]}])"
        elif way == 4:
            whole = f"({', '.join(named)}, None)"
        elif way == 5:
            whole = f"({', '.join(named)}, {rng.choice(['3', '2.5', 'True'])})"
        arguments = "".join(f", {name}: {kind}" for name, kind in self.annotations.items())
        body = "\n        ".join([*self.lines, f"return {whole}"])
        return (
            "from typing import Dict, List, Optional, Tuple\nimport torch\n\n\nclass M(torch.nn.Module):\n"
            f"    def forward(self{arguments}):\n        {body}\n"
        )


def known_modules():
    """Programs of kinds that once failed: (name, module, inputs)."""

    class Cache(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("cache", torch.zeros(0))
            self.scale = nn.Parameter(torch.tensor(2.0))

        def forward(self, x):
            return torch.cat([self.cache, x * self.scale])

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(5, 4)
            self.head = nn.Linear(4, 5, bias=False)
            self.head.weight = self.table.weight

        def forward(self, x):
            return self.head(torch.relu(x))

    class Written(nn.Module):
        """Buffers that are views of one storage, one of which is written to."""

        def __init__(self):
            super().__init__()
            whole = torch.arange(12.0).reshape(3, 4)
            self.register_buffer("whole", whole)
            self.register_buffer("row", whole[1])
            self.register_buffer("turned", whole.t())

        def forward(self, x):
            self.whole.add_(1)
            return self.row * x, self.turned + 0

    class Names(nn.Module):
        """Inputs with the names of weights, of a submodule, of what TorchScript reads as words."""

        def __init__(self):
            super().__init__()
            self.register_buffer("int", torch.ones(3, dtype=torch.complex128))
            self.int_ = nn.Parameter(torch.full((3,), 2.0))
            self.weight = nn.Parameter(torch.full((3,), 3 + 1j, dtype=torch.complex32))
            self.y = nn.Linear(3, 3)

        def forward(self, int, y, weight):
            number, weight = torch.view_as_real(self.int), weight + torch.view_as_real(self.weight)[:, 0]
            return int * self.int_, self.y(y), weight, number

    yield "names", Names(), [torch.randn(3), torch.randn(3), torch.randn(3)]
    yield "cache", Cache(), [torch.randn(3)]
    yield "tied", Tied(), [torch.randn(2, 4)]
    yield "written", Written(), [torch.randn(4)]
    for name, make in {
        "depthwise": lambda: nn.Conv2d(8, 8, 3, groups=8),
        "one": lambda: nn.Conv2d(1, 4, 3),
        "point": lambda: nn.Conv2d(8, 4, 1),
    }.items():
        module = make().to(memory_format=torch.channels_last)
        image = torch.randn(2, module.in_channels, 6, 6)
        yield name, module, [image]
        yield name + "_last", module, [image.to(memory_format=torch.channels_last)]


def odd_module(rng, turn, form, folder):
    maker = Maker(rng, turn, form)
    module = maker.members_of()
    maker.inputs()
    place = folder / f"odd_{turn}.py"
    place.write_text(maker.source())
    spec = importlib.util.spec_from_file_location(place.stem, place)
    made = importlib.util.module_from_spec(spec)
    sys.modules[place.stem] = made
    spec.loader.exec_module(made)
    module.__class__ = made.M
    return module, maker.args


def text_program(rng, turn):
    """A program in text with hostile names of values, inputs, attributes, modules and the sample."""
    names = list(
        dict.fromkeys(rng.choice(hostile_names.PARTS + NAMES) + rng.choice(["", "", str(i)]) for i in range(12))
    )
    quoted = [hostile_names.quoted(name) for name in names]
    dtypes = "f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool c64 c128 f8e4m3fn".split()
    kind = dtypes[turn % len(dtypes)] + rng.choice(["[]", "[0]", "[2, 3]", "[1]"])
    annotation = rng.choice([" as torch.nn.parameter.Parameter", ""])
    return f"""graphnet.sample 1
name = {quoted[0]}
graphnet.module 1

attribute {quoted[1]} : {kind}@cpu{annotation}
graph @forward(%{quoted[2]} {quoted[3]} : f32[2, 3]@cpu, %{quoted[4]} {quoted[5]} : {kind}@cpu) {{
  %{quoted[6]} = get_attr {quoted[1]} : {kind}@cpu
  %{quoted[7]} = torch.add(%{quoted[2]}, 1) in {quoted[8] if len(quoted) > 8 else quoted[0]}
  return (%{quoted[7]}, %{quoted[6]}, %{quoted[4]}, %{quoted[7]})
}}
end
"""


def odd_programs(count: int, seed: int, sources: pathlib.Path) -> Iterator[tuple[str, Program]]:
    """More than so many, as PyTorch does not write all of them."""
    rng = random.Random(seed)
    torch.manual_seed(seed)
    for name, module, inputs in list(known_modules())[: max(3, count // 8)]:
        for form in ("script", "export"):
            yield f"{name}.{form}", Program(module.eval(), [(inputs, {})], form=form)
    for number in range(10 * count):
        form = ["script", "export", "export", "script", "trace"][number % 5]
        module, inputs = odd_module(rng, number, form, sources)
        yield f"odd_{number}.{form}", Program(module.eval(), [(inputs, {})], form=form)


def write_odd(folder: pathlib.Path, count: int, seed: int) -> bool:
    sources = folder / "sources"
    sources.mkdir(parents=True, exist_ok=True)
    rng, made, refused = random.Random(seed), count // 8, 0
    for number in range(made):
        (folder / f"text_{number}.gn").write_text(text_program(rng, number))
    with torch.no_grad():
        for name, program in odd_programs(count, seed, sources):
            if made >= count:
                break
            try:
                in_pytorch.write_program(name, program, folder)
                made += 1
            except Exception as error:  # Whatever PyTorch raises.
                refused += 1
                print(f"{name}: PyTorch does not write or call it: {in_pytorch.one_line(error)}")
                for left in folder.glob(f"{name}.*"):
                    left.unlink()
    print(f"{made} programs, {refused} that PyTorch does not write")
    return made > 0


def write_field(folder: pathlib.Path, names: Sequence[str] = ()) -> bool:
    torch.manual_seed(0)
    for family in (language_models, graphs, sound, recurrent):
        family()
    return in_pytorch.write_programs(FIELD, folder, names) == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(required=True)
    field, odd = kinds.add_parser("field"), kinds.add_parser("odd")
    for kind in (field, odd):
        kind.add_argument("folder", type=pathlib.Path)
    field.set_defaults(write=lambda args: write_field(args.folder, args.names))
    field.add_argument("names", nargs="*", metavar="NAME")
    odd.set_defaults(write=lambda args: write_odd(args.folder, args.count, args.seed))
    odd.add_argument("--count", type=int, default=200, help="programs to write (default: %(default)s)")
    odd.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(1)
    return 0 if args.write(args) else 1


if __name__ == "__main__":
    sys.exit(main())
