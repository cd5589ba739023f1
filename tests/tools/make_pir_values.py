#!/usr/bin/env python3
"""Writes programs of torch.export with inputs and outputs, for check_pir.py --values.

    make_pir_values.py DIR

Run by a Python that has torch: DIR/NAME.pt2 and DIR/NAME.npz with in_0, …, out_0, ….
"""

import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F

x, y = (2, 8, 16), (2, 8, 16)
image = (2, 4, 8, 8)
PROGRAMS = {
    "subtract": (lambda a, b: (a - b) * a, [x, y]),
    "scalars": (lambda a: (a + 1, a * 2, 1 - a, a / 3, 2 / (a.abs() + 1), a**2, -a), [x]),
    "integers": (lambda n: (n + 1, n * 0.5, n // 2, n % 3, n == 1, n / 2), ["ints"]),
    "compare": (lambda a, b: (a > b, a <= 0, torch.where(a > b, a, b), a.masked_fill(a < 0, -1.0)), [x, y]),
    "subscripts": (lambda a: (a[0], a[:, 1:5], a[..., -1], a[:, ::2], a[:, None, 0], a[-1, 2:, 3]), [x]),
    "linear": (lambda a, w, b: (F.linear(a, w, b), F.linear(a, w)), [x, (5, 16), (5,)]),
    "matmul": (lambda a, b: (a @ b.transpose(1, 2), torch.bmm(a, b.permute(0, 2, 1))), [x, y]),
    "addmm": (lambda b, a, w: torch.addmm(b, a, w), [(5,), (4, 16), (16, 5)]),
    "shapes": (lambda a: (a.view(2, -1), a.reshape(-1, 16), a.unsqueeze(1), a[:1].squeeze(0), a.flatten(1),
                          a[:, :1].expand(2, 3, 16), a.repeat(1, 2, 1)), [x]),
    "lists": (lambda a, b: (torch.cat([a, b], 1), torch.stack([a, b]), *a.chunk(2, 1), *a.split([3, 5], 1),
                            *torch.unbind(b)), [x, y]),
    "sums": (lambda a: (a.sum(), a.sum(1), a.mean(-1, keepdim=True), a.amax(1), a.mean((0, 2)), a.prod(1)), [x]),
    "counted": (lambda a: (a.argmax(1), a.cumsum(1), (a > 0).any(1), (a > 0).sum()), [x]),
    "activations": (lambda a: (torch.relu(a), F.gelu(a), F.gelu(a, approximate="tanh"), F.silu(a), torch.sigmoid(a),
                               F.hardswish(a), F.leaky_relu(a, 0.2), F.hardtanh(a), F.softplus(a)), [x]),
    "functions": (lambda a: (a.exp(), a.abs().sqrt(), a.sin(), torch.rsqrt(a * a + 1), a.tanh(), a.erf(), a.floor()),
                  [x]),
    "softmax": (lambda a: (a.softmax(-1), a.softmax(1), a.log_softmax(-1)), [x]),
    "conv": (lambda i, w, b: (F.conv2d(i, w, b, 2, 1), F.conv2d(i, w)), [image, (3, 4, 3, 3), (3,)]),
    "conv1d": (lambda a, w, b: F.conv1d(a, w, b, padding=1), [x, (3, 8, 3), (3,)]),
    "transposed": (lambda i, w, b: F.conv_transpose2d(i, w, b, 2), [image, (4, 3, 2, 2), (3,)]),
    "pools": (lambda i: (F.avg_pool2d(i, 2), F.max_pool2d(i, 3, 2, 1), F.adaptive_avg_pool2d(i, 1)), [image]),
    "layer_norm": (lambda a, w, b: (F.layer_norm(a, (16,), w, b), F.layer_norm(a, (8, 16))), [x, (16,), (16,)]),
    "layer_norm_of_two": (lambda a, w, b: F.layer_norm(a, (8, 16), w, b), [x, (8, 16), (8, 16)]),
    "small_ints": (lambda n: (n.int().cumsum(1), n.int().sum(), (n > 0).cumsum(0)), ["ints"]),
    "group_norm": (lambda i, w, b: F.group_norm(i, 2, w, b), [image, (4,), (4,)]),
    "batch_norm": (lambda i, m, v, w, b: F.batch_norm(i, m, v.abs() + 1, w, b), [image, (4,), (4,), (4,), (4,)]),
    "attention": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v), [(2, 4, 8, 16)] * 3),
    "masked_attention": (lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m),
                         [(2, 4, 8, 16)] * 3 + [(8, 8)]),
    "embedding": (lambda n, w: F.embedding(n.abs() % 5, w), ["ints", (5, 16)]),
    "pads": (lambda a, i: (F.pad(a, (1, 2)), F.pad(i, (1, 1, 2, 0), value=0.5)), [x, image]),
    "resize": (lambda i: (F.interpolate(i, scale_factor=2.0), F.interpolate(i, size=(5, 7), mode="bilinear")), [image]),
    "made": (lambda a: (torch.zeros(2, 3), torch.full((2,), 7.0), torch.arange(5), torch.zeros_like(a), a.new_ones(3)),
             [x]),
    "picked": (lambda a, n: (a.gather(2, n.abs().unsqueeze(-1) % 16), torch.index_select(a, 1, n[0].abs() % 8)),
               [x, "ints"]),
    "dropout": (lambda a: F.dropout(a, 0.5, training=False), [x]),
    "turned": (lambda a: (torch.roll(a, 3, 1), torch.flip(a, (1,)), a.movedim(0, 2), a.tril()), [x]),
    "glu": (lambda a: F.glu(a), [x]),
    "normalized": (lambda a: F.normalize(a, dim=-1), [x]),
    "einsum": (lambda a, b: torch.einsum("bij,bkj->bik", a, b), [x, y]),
    "cast": (lambda a: (a.half().float(), a.int(), (a > 0).float(), a.double()), [x]),
    "clamp": (lambda a: (a.clamp(-1, 1), a.clamp(min=0.0), torch.maximum(a, -a)), [x]),
}


class Program(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    for name, (function, specs) in PROGRAMS.items():
        inputs = [torch.from_numpy(rng.integers(-9, 9, (2, 8)) if spec == "ints" else
                                   np.asarray(rng.standard_normal(spec), np.float32)) for spec in specs]
        outputs = function(*inputs)
        outputs = [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)
        torch.export.save(torch.export.export(Program(function), tuple(inputs)), folder / f"{name}.pt2")
        np.savez(folder / f"{name}.npz", **{f"in_{i}": v.numpy() for i, v in enumerate(inputs)},
                 **{f"out_{i}": v.numpy() for i, v in enumerate(outputs)})
    print(f"{len(PROGRAMS)} programs")


if __name__ == "__main__":
    main()
