#!/usr/bin/env python3
"""Writes small programs in the manner of the field's libraries, with inputs and PyTorch's outputs.

    make_field_programs.py FOLDER [NAME…]

The modules are written here, after those of transformers, peft, torch_geometric, torchaudio,
torchvision, timm and others: dynamic sizes, caches, LoRA, attention over graphs, RNNs over packed
sequences, audio, detectors, diffusion. For each program there are NAME.pt2 or NAME.pt (scripted or traced), and for each call of it
NAME.<i>.in.safetensors and NAME.<i>.out.safetensors, as compare.py programs reads them: the inputs by
name and o0, o1, …, which the file computes in PyTorch under no_grad after manual_seed(0).
Needs torch alone. check_field_programs.py takes them through the tool.
"""

import argparse
import dataclasses
import math
import pathlib
import sys
import warnings
from typing import Dict, List, Tuple

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import in_pytorch as common

warnings.filterwarnings("ignore")


@dataclasses.dataclass
class Program:
    form: str  # export, script, trace
    module: nn.Module
    calls: list  # of args; the first is the example
    dynamic: object = None  # dynamic_shapes
    decomposed: bool = False
    gradients: bool = False  # whether PyTorch runs it outside of no_grad


PROGRAMS = {}


def real(*shape):
    return torch.randn(*shape)


def whole(high, *shape):
    return torch.randint(0, high, shape)


AUTO = Dim.AUTO


def add(form, name, module, *args, more=(), dynamic=None, decomposed=False, gradients=False):
    assert name not in PROGRAMS, name
    if not isinstance(module, (nn.Module, torch.jit.ScriptModule)):
        module = common.Call(module)
    PROGRAMS[name] = Program(form, module.eval(), [args, *more], dynamic, decomposed, gradients)


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
            self.layers.append(nn.ModuleDict({
                "n1": RMSNorm(width), "attention": Attention(width, cache=cache), "n2": RMSNorm(width),
                "gate": nn.Linear(width, 48, bias=False), "up": nn.Linear(width, 48, bias=False), "down": nn.Linear(48, width, bias=False)}))
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
    keys: List[torch.Tensor]
    values: List[torch.Tensor]


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


class LoRA(nn.Module):
    def __init__(self, base, rank=2):
        super().__init__()
        self.base, self.dropout, self.scale = base, nn.Dropout(0.1), 2.0
        self.a, self.b = nn.Linear(base.in_features, rank, bias=False), nn.Linear(rank, base.out_features, bias=False)

    def forward(self, x):
        return self.base(x) + self.b(self.a(self.dropout(x.to(self.a.weight.dtype)))) * self.scale


class RelativeBias(nn.Module):
    """T5's buckets."""

    def __init__(self):
        super().__init__()
        self.bias = nn.Embedding(8, 2)
        self.q, self.k, self.v = (nn.Linear(8, 8, bias=False) for _ in range(3))

    def forward(self, x):
        batch, length, _ = x.shape
        context, memory = torch.arange(length)[:, None], torch.arange(length)[None, :]
        distance = memory - context
        bucket = (distance > 0).to(torch.long) * 4
        distance = torch.abs(distance)
        large = 2 + (torch.log(distance.float() / 2) / math.log(8) * 2).to(torch.long)
        large = torch.min(large, torch.full_like(large, 3))
        bucket = bucket + torch.where(distance < 2, distance, large)
        bias = self.bias(bucket).permute(2, 0, 1)[None]
        q, k, v = (f(x).view(batch, length, 2, 4).transpose(1, 2) for f in (self.q, self.k, self.v))
        scores = torch.matmul(q, k.transpose(3, 2)) + bias
        weights = F.softmax(scores.float(), dim=-1).type_as(scores)
        return (weights @ v).transpose(1, 2).reshape(batch, -1, 8)


class Experts(nn.Module):
    """Mixture of experts: the router's best two, each expert on all tokens by mask."""

    def __init__(self):
        super().__init__()
        self.router = nn.Linear(8, 4, bias=False)
        self.up, self.down = nn.Parameter(torch.randn(4, 8, 12) / 3), nn.Parameter(torch.randn(4, 12, 8) / 3)

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        weights, chosen = torch.topk(F.softmax(self.router(flat), dim=1, dtype=torch.float), 2, dim=-1)
        weights = weights / weights.sum(-1, keepdim=True)
        mask = F.one_hot(chosen, 4).to(flat.dtype)
        out = torch.einsum("te,ted->td", (mask * weights[..., None]).sum(1),
                           torch.bmm(F.gelu(torch.bmm(flat.expand(4, -1, -1), self.up)), self.down).transpose(0, 1))
        return out.view_as(x), chosen


class BeamStep(nn.Module):
    def forward(self, logits, scores):
        batch, beams, words = logits.shape
        total = F.log_softmax(logits, -1) + scores[..., None]
        best, index = torch.topk(total.view(batch, beams * words), beams, dim=1)
        beam = torch.div(index, words, rounding_mode="floor")
        return best, beam, index % words, torch.gather(logits, 1, beam[..., None].expand(-1, -1, words))


def language_models():
    batch = {0: AUTO, 1: AUTO}
    add("export", "llama", LanguageModel(), whole(50, 2, 7), more=[(whole(50, 3, 5),)], dynamic=(batch,))
    add("export", "llama_static_cache", LanguageModel(cache=12), whole(50, 1, 1), torch.tensor([0]), more=[(whole(50, 1, 1), torch.tensor([3]))])
    add("export", "llama_decomposed", LanguageModel(layers=1), whole(50, 2, 7), decomposed=True)
    add("export", "growing_cache", Growing(), real(2, 1, 8), Cache([real(2, 4, 8)], [real(2, 4, 8)]),
        more=[(real(2, 1, 8), Cache([real(2, 6, 8)], [real(2, 6, 8)]))], dynamic=({0: AUTO}, [[{0: AUTO, 1: AUTO}], [{0: AUTO, 1: AUTO}]]))
    add("export", "lora", nn.Sequential(LoRA(nn.Linear(8, 6)), nn.GELU(), LoRA(nn.Linear(6, 8))), real(3, 8), more=[(real(5, 8),)], dynamic=({0: AUTO},))
    add("export", "relative_bias", RelativeBias(), real(2, 6, 8), more=[(real(3, 9, 8),)], dynamic=({0: AUTO, 1: AUTO},))
    add("export", "experts", Experts(), real(2, 5, 8), more=[(real(3, 5, 8),)], dynamic=({0: AUTO},))
    add("export", "beam_step", BeamStep(), real(2, 3, 10), real(2, 3))
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2)
    mask = torch.arange(6)[None] >= torch.tensor([[6], [4]])
    add("trace", "encoder_padding", EncoderWithMask(encoder), real(2, 6, 16), mask)
    add("script", "encoder_scripted", nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True), 1, enable_nested_tensor=False), real(2, 6, 16))


class EncoderWithMask(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

    def forward(self, x, mask):
        return self.encoder(x, src_key_padding_mask=mask)


# --- Graphs, points, recommendation ----------------------------------------------


class GAT(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(6, 8, bias=False)
        self.source, self.target = nn.Parameter(torch.randn(1, 2, 4)), nn.Parameter(torch.randn(1, 2, 4))

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


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = nn.Sequential(nn.Conv1d(6, 16, 1), nn.BatchNorm1d(16), nn.ReLU())

    def forward(self, points):
        distance = torch.cdist(points, points)
        near = distance.topk(4, largest=False)[1]
        batch = torch.arange(points.shape[0])[:, None, None]
        groups = points[batch, near] - points[:, :, None]
        features = torch.cat([groups, points[:, :, None].expand_as(groups)], -1)
        features = self.mlp(features.flatten(1, 2).transpose(1, 2))
        return features.unflatten(2, (-1, 4)).amax(-1)


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(20, 4, mode=mode) for mode in ("sum", "mean", "max"))
        self.bottom, self.top = nn.Linear(5, 4), nn.Linear(10, 1)

    def forward(self, dense, ids, offsets):
        x = self.bottom(dense).relu()
        all_of = torch.stack([x] + [bag(ids, offsets) for bag in self.bags], 1)
        pairs = torch.bmm(all_of, all_of.transpose(1, 2))
        row, column = torch.tril_indices(4, 4, -1)
        return torch.sigmoid(self.top(torch.cat([x, pairs[:, row, column]], 1)))


class ForceField(nn.Module):
    """Forces are the gradient of the energy, which is asked for inside of forward."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, positions: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        positions = positions.detach().requires_grad_(True)
        difference = positions[:, None] - positions[None]
        square = (difference * difference).sum(-1) + torch.eye(positions.shape[0])
        energy = self.net(square.reshape(-1, 1)).sum()
        gradient = torch.autograd.grad([energy], [positions])[0]
        assert gradient is not None
        return energy.detach(), -gradient


def counts(x):
    values, inverse, number = torch.unique(x, return_inverse=True, return_counts=True)
    return torch.bincount(x, minlength=8).float().cumsum(0), values.float() * 2, number + inverse.sum()


def graphs():
    edges = torch.tensor([[0, 1, 2, 3, 3, 1], [1, 0, 3, 2, 1, 2]])
    add("export", "gat", GAT(), real(4, 6), edges, more=[(real(5, 6), whole(5, 2, 9))], dynamic=({0: AUTO}, {1: AUTO}))
    add("export", "point_net", PointNet(), real(2, 9, 3))
    add("export", "recommender", Recommender(), real(3, 5), whole(20, 7), torch.tensor([0, 2, 5]))
    add("script", "force_field", ForceField(), real(4, 3), gradients=True)
    add("export", "counts", counts, whole(6, 9))
    add("export", "masked", lambda x: (x[x > 0] * 2 + 1).sum(), real(3, 5), more=[(real(3, 5),)])


# --- Sound, signals ---------------------------------------------------------------


class Mel(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(16))
        self.register_buffer("bank", torch.rand(9, 5))

    def forward(self, wave: torch.Tensor) -> torch.Tensor:
        spectrum = torch.stft(wave, 16, hop_length=4, window=self.window, center=True, pad_mode="reflect", return_complex=True)
        power = spectrum.abs().pow(2.0)
        return torch.log10(torch.clamp(torch.matmul(power.transpose(-1, -2), self.bank), min=1e-10)).transpose(-1, -2)


class Denoise(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(16))
        self.gain = nn.Parameter(torch.rand(9, 1))

    def forward(self, wave):
        spectrum = torch.stft(wave, 16, hop_length=4, window=self.window, return_complex=True)
        return torch.istft(spectrum * self.gain, 16, hop_length=4, window=self.window, length=wave.shape[-1])


class Fourier(nn.Module):
    """A layer of a Fourier neural operator."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(2, 3, 3, 3, dtype=torch.cfloat))

    def forward(self, x):
        spectrum = torch.fft.rfft2(x)
        out = torch.zeros(x.shape[0], 3, x.size(-2), x.size(-1) // 2 + 1, dtype=torch.cfloat)
        out[:, :, :3, :3] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, :3, :3], self.weight)
        return torch.fft.irfft2(out, s=(x.size(-2), x.size(-1)))


def sound():
    add("export", "mel", Mel(), real(2, 64), more=[(real(3, 64),)], dynamic=({0: AUTO},))
    add("script", "mel_scripted", Mel(), real(2, 64), more=[(real(3, 80),)])
    add("export", "denoise", Denoise(), real(2, 64), more=[(real(5, 64),)], dynamic=({0: AUTO},))
    add("export", "fourier", Fourier(), real(2, 2, 8, 8))
    add("export", "fourier_decomposed", Fourier(), real(2, 2, 8, 8), decomposed=True)


# --- Recurrent, in TorchScript -----------------------------------------------------


class Packed(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.rnn = nn.Embedding(20, 6), nn.LSTM(6, 5, bidirectional=True, batch_first=True)

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        packed = pack_padded_sequence(self.embed(ids), lengths, batch_first=True, enforce_sorted=False)
        out, (hidden, _) = self.rnn(packed)
        padded, _ = pad_packed_sequence(out, batch_first=True)
        return padded, hidden


class Scanned(nn.Module):
    """State-space model: one step after the other, in a list."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Parameter(torch.rand(4)), nn.Linear(3, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = torch.zeros(x.size(0), 4)
        out: List[torch.Tensor] = []
        for step in range(x.size(1)):
            state = state * torch.sigmoid(self.a) + self.b(x[:, step])
            out.append(state)
        return torch.stack(out, dim=1)


class ListsAndDicts(nn.Module):
    def forward(self, x: torch.Tensor) -> Dict[str, torch.Tensor]:
        sizes: List[int] = []
        for d in range(x.dim()):
            sizes.append(x.size(d) + 1)
        sizes.insert(0, 2)
        last = sizes.pop()
        named: Dict[str, torch.Tensor] = {"zeros": torch.zeros(sizes)}
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
        kept: List[int] = []
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
    add("script", "packed_lstm", Packed(), whole(20, 3, 6), torch.tensor([6, 2, 4]), more=[(whole(20, 3, 6), torch.tensor([1, 5, 3]))])
    add("export", "gru", nn.GRU(6, 5, num_layers=2), real(4, 2, 6))
    add("script", "scanned", Scanned(), real(2, 5, 3), more=[(real(1, 7, 3),)])
    add("script", "lists_and_dicts", ListsAndDicts(), real(2, 3), more=[(real(4, 1),)])
    boxes = torch.rand(8, 2)
    add("script", "suppression", NonMaximum(), torch.cat([boxes, boxes + 0.3 + torch.rand(8, 2)], 1), torch.rand(8))


# --- Vision -------------------------------------------------------------------------


class Window(nn.Module):
    """Windows that are shifted, with a bias by position, as in Swin."""

    def __init__(self):
        super().__init__()
        self.qkv, self.proj = nn.Linear(8, 24), nn.Linear(8, 8)
        self.table = nn.Parameter(torch.randn(49, 2))
        grid = torch.stack(torch.meshgrid(torch.arange(4), torch.arange(4), indexing="ij")).flatten(1)
        relative = (grid[:, :, None] - grid[:, None]).permute(1, 2, 0) + 3
        self.register_buffer("index", relative[..., 0] * 7 + relative[..., 1])

    def forward(self, x):
        batch, height, width, channels = x.shape
        x = torch.roll(x, (-2, -2), (1, 2))
        x = x.view(batch, height // 4, 4, width // 4, 4, channels).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, channels)
        q, k, v = self.qkv(x).reshape(-1, 16, 3, 2, channels // 2).permute(2, 0, 3, 1, 4).unbind(0)
        bias = self.table[self.index.view(-1)].view(16, 16, -1).permute(2, 0, 1).unsqueeze(0)
        weight = (q * 0.5 @ k.transpose(-2, -1) + bias).softmax(-1)
        x = self.proj((weight @ v).transpose(1, 2).reshape(-1, 16, channels))
        x = x.view(batch, height // 4, width // 4, 4, 4, channels).permute(0, 1, 3, 2, 4, 5).reshape(batch, height, width, channels)
        return torch.roll(x, (2, 2), (1, 2))


class UNet(nn.Module):
    """A step of diffusion: time embedding, group norm, skip connection."""

    def __init__(self):
        super().__init__()
        self.inside, self.down, self.up = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, stride=2, padding=1), nn.Conv2d(16, 3, 3, padding=1)
        self.time, self.norm = nn.Linear(8, 8), nn.GroupNorm(2, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x, step):
        angle = step[:, None].float() * torch.exp(-math.log(1e4) * torch.arange(4) / 4)[None]
        time = F.silu(self.time(torch.cat([angle.cos(), angle.sin()], 1)))
        a = self.inside(x)
        b = F.silu(self.norm(self.down(a)) + time[:, :, None, None])
        flat = b.flatten(2).transpose(1, 2)
        b = b + self.attention(flat, flat, flat, need_weights=False)[0].transpose(1, 2).reshape(b.shape)
        return self.up(torch.cat([a, F.interpolate(b, scale_factor=2.0, mode="nearest")], 1))


class Clip(nn.Module):
    def __init__(self):
        super().__init__()
        self.image, self.text = nn.Linear(12, 6), nn.EmbeddingBag(20, 6)
        self.scale = nn.Parameter(torch.tensor(2.6593))

    def forward(self, image, ids):
        a, b = F.normalize(self.image(image.flatten(1)), dim=-1), F.normalize(self.text(ids), dim=-1)
        logits = torch.einsum("id,jd->ij", a, b) * self.scale.exp().clamp(max=100)
        return {"image": logits, "text": logits.t(), "loss": F.cross_entropy(logits, torch.arange(logits.shape[0]))}


class Radiance(nn.Module):
    """Volume rendering along rays."""

    def forward(self, density, colour, depth):
        delta = torch.cat([depth[:, 1:] - depth[:, :-1], torch.full_like(depth[:, :1], 1e10)], -1)
        alpha = 1 - torch.exp(-F.relu(density) * delta)
        passed = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-10], -1), -1)[:, :-1]
        weight = alpha * passed
        place = torch.searchsorted(torch.cumsum(weight, -1), torch.full_like(weight[:, :2], 0.5).contiguous(), right=True)
        return (weight[..., None] * colour).sum(1), torch.gather(depth, 1, place.clamp(max=depth.shape[1] - 1))


def vision():
    add("export", "window", Window(), real(2, 8, 8, 8))
    add("export", "diffusion", UNet(), real(2, 3, 8, 8), torch.tensor([3, 500]))
    add("export", "clip", Clip(), real(3, 3, 2, 2), whole(20, 3, 4))
    add("export", "radiance", Radiance(), real(4, 6), torch.rand(4, 6, 3), torch.rand(4, 6).sort()[0])


# --- Writing --------------------------------------------------------------------------


def write(name, made, folder):
    args = made.calls[0]
    if made.form == "export":
        path = folder / f"{name}.pt2"
        program = torch.export.export(made.module, common.copied(args), dynamic_shapes=made.dynamic)
        if made.decomposed:
            program = program.run_decompositions()
        torch.export.save(program, str(path))
        common.make_portable(path)
        common.write_calls(name, common.Program(made.module, [(a, {}) for a in made.calls]), path, folder)
        return
    path = folder / f"{name}.pt"
    if made.form == "trace":
        with torch.no_grad():
            module = torch.jit.trace(made.module, common.copied(args), check_trace=False)
    else:
        module = torch.jit.script(made.module)
    torch.jit.save(module, str(path))
    names = [argument.name for argument in module.forward.schema.arguments][1:]
    for i, args in enumerate(made.calls):
        loaded = torch.jit.load(str(path))
        torch.manual_seed(0)
        returned = loaded(*common.copied(args))
        common.write_safetensors(dict(zip(names, args)), folder / f"{name}.{i}.in.safetensors")
        common.write_safetensors(values(returned), folder / f"{name}.{i}.out.safetensors")


def values(returned):
    """Of dicts in the order of their keys, as TorchScript keeps them."""
    if isinstance(returned, dict):
        returned = list(returned.values())
    return common.values(returned)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    for family in (language_models, graphs, sound, recurrent, vision):
        family()
    failed = 0
    for name, made in PROGRAMS.items():
        if options.names and name not in options.names:
            continue
        try:
            with torch.set_grad_enabled(made.gradients):
                write(name, made, options.folder)
        except Exception as error:
            failed += 1
            print(f"not made  {name}: {type(error).__name__}: {str(error).strip().splitlines()[0][:300]}", flush=True)
            for left in options.folder.glob(f"{name}.*"):
                left.unlink()
    print(f"{len(PROGRAMS) - failed} made, {failed} that PyTorch does not make")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
