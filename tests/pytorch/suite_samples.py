"""Suites of compare.py on GraphNet samples: as they are, as Python, in pieces, and after passes."""

import argparse
import ast
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
from typing import Any, Counter, Dict, Iterator, List, Optional, Tuple

import torch

import in_pytorch
from compare import Failed, Run, Suite


class OnSamples(Suite):
    """Takes samples from folders or a list, in random order if a number of them is asked for."""

    sample: Optional[int] = None
    max_bytes = 2 << 30
    timeout = 300

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("folders", nargs="*", type=pathlib.Path, metavar="FOLDER", help="a sample, or searched for some")
        parser.add_argument("--list", type=pathlib.Path, metavar="FILE", help="samples, one a line")
        parser.add_argument("--sample", type=int, default=self.sample, metavar="N", help="compare N random samples (default: all)")
        parser.add_argument("--stride", type=int, default=1, help="take every Nth sample")
        parser.add_argument("--max-bytes", type=int, default=self.max_bytes,
                            help="leave out samples with inputs of more bytes (default: %(default)s)")
        parser.add_argument("--max-memory", type=int, default=16 << 30, help="address space that Python may take (default: %(default)s)")
        parser.add_argument("--timeout", type=int, default=self.timeout, help="seconds of the processor for each run (default: %(default)s)")

    def samples(self, run: Run) -> Iterator[pathlib.Path]:
        """Those that are not too large, until as many are compared as are asked for."""
        args = run.args
        samples = in_pytorch.find_samples(args.folders)
        if args.list is not None:
            samples += [pathlib.Path(line) for line in args.list.read_text().splitlines() if line]
        samples = samples[:: args.stride]
        if args.sample is not None:
            random.Random(args.seed).shuffle(samples)
        torch.set_num_threads(1)
        for sample in samples:
            if run.counts["equal"] + run.counts["different"] == args.sample:
                break
            if in_pytorch.declared_bytes(in_pytorch.read_metas(sample)) <= args.max_bytes:
                yield sample

    def compare(self, run: Run, sample: pathlib.Path, made: pathlib.Path) -> str:
        """What differs between two samples in PyTorch; "skipped: " and why the first does not run here."""
        what, why = in_pytorch.in_process(differ, sample, made, run.args.seed, seconds=2 * run.args.timeout,
                                          memory=run.args.max_memory)
        return f"skipped: {why}" if why else what


def inputs_of(sample: pathlib.Path, model: Any, seed: int) -> Dict[str, torch.Tensor]:
    metas = in_pytorch.read_metas(sample)
    return {name: in_pytorch.draw(metas[name], seed) for name in in_pytorch.parameters(model)}


def values_of(sample: pathlib.Path, seed: int) -> List[Tuple[str, Any]]:
    """What is returned, and what inputs are afterwards."""
    model, metas = in_pytorch.load(sample), in_pytorch.read_metas(sample)
    given = in_pytorch.arguments(model, inputs_of(sample, model, seed))
    torch.manual_seed(seed)
    with torch.no_grad():
        returned = model(**given)
    return [*in_pytorch.flatten(returned, "output"), *((f"input {metas[n].original_name}", v) for n, v in given.items())]


def differ(sample: pathlib.Path, made: pathlib.Path, seed: int) -> str:
    try:
        expected = values_of(sample, seed)
    except Exception as error:  # Whatever the model raises is a result.
        return f"skipped: {in_pytorch.one_line(error)}"
    try:
        actual = values_of(made, seed)
    except Exception as error:
        return f"only what was made fails: {in_pytorch.one_line(error)}"
    if [label for label, _ in expected] != [label for label, _ in actual]:
        return "the results have different parts"
    for (label, x), (_, y) in zip(expected, actual):
        if what := in_pytorch.difference(x, y):
            return f"{label}: {what}"
    return ""


class Samples(OnSamples):
    """Runs GraphNet samples in eager PyTorch and by graphnet.

Both sides get the same inputs, by way of a safetensors file, the same seed and one thread. Outputs must
agree bit for bit, and so must what the graph writes to its inputs when it returns them. With --through-pt2
graphnet writes the sample as a program of torch.export, after --passes, and PyTorch runs that.
"""

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        super().arguments(parser)
        parser.add_argument("--through-pt2", action="store_true", help="graphnet writes, and PyTorch runs what it wrote")
        parser.add_argument("--passes", default="change-device{to=cpu}", help="before a .pt2 is written (default: %(default)s)")

    def run(self, run: Run) -> None:
        for sample in self.samples(run):
            run.tell(sample, self.check(run, sample))

    def check(self, run: Run, sample: pathlib.Path) -> str:
        args, given = run.args, run.scratch / "given.safetensors"
        given.unlink(missing_ok=True)
        expected = run.scratch / "expected.safetensors"

        def in_python() -> None:
            model = in_pytorch.load(sample)
            inputs = inputs_of(sample, model, args.seed)
            in_pytorch.write_safetensors(inputs, given)
            in_pytorch.write_safetensors(in_pytorch.outputs(in_pytorch.call(model, inputs, args.seed)), expected)

        _, failed = in_pytorch.in_process(in_python, seconds=args.timeout, memory=args.max_memory)
        if failed:
            return f"skipped: Python: {failed}"
        try:
            if args.through_pt2:
                run.graphnet("opt", sample, "--passes", args.passes, "-o", run.scratch / "written.pt2")
                program = torch.export.load(str(run.scratch / "written.pt2"))
                found = in_pytorch.call_exported(program, in_pytorch.read_safetensors(given), args.seed)
            else:
                found = run.outputs(sample, given, seed=args.seed, timeout=4 * args.timeout)
        except Failed as error:
            return str(error)
        return in_pytorch.compare(in_pytorch.read_safetensors(expected), found)


# --- Targets ------------------------------------------------------------------------------------------


# What the statements take: sizes and dtype.
INPUTS = {
    **{name: ([2, 6, 8], "float32") for name in ("x", "y")},
    **{name: ([4, 4], "float32") for name in ("m", "n")},
    **{"v": ([8], "float32"), "w": ([3, 8], "float32"), "s": ([1, 4, 8], "float32")},
    **{"img": ([1, 4, 8, 8], "float32"), "vol": ([1, 2, 4, 4, 4], "float32")},
    **{"i": ([2, 6, 8], "int64"), "k": ([8], "int64"), "b": ([2, 6, 8], "bool")},
}
ATTENTION = {
    "WEIGHTS": "torch.cat((w, w, w, w, w, w, w, w)), torch.cat((v, v, v))",
    "OUT": "0.0, torch.cat((torch.cat((m, n), 1), torch.cat((n, m), 1))), v, training=False",
}
# A line has statements between semicolons, or one call of many: * stands for each of the names behind the colon.
STATEMENTS = """
torch.*(m) : lu det diag fliplr pinverse slogdet trace
torch.*(x) : asinh argmin deg2rad erfc expm1 fix frac isfinite positive rad2deg ravel selu sgn signbit sinc trunc
torch.*(x) : rand_like clone numel is_floating_point
torch.*(x, y) : atan2 copysign fmax greater_equal heaviside hypot logaddexp maximum nextafter hinge_embedding_loss
torch.*(x, y) : kl_div
torch.*(x, dim=1) : aminmax logcumsumexp median trapezoid
torch.*(k) : bincount unique
torch.*(i, 3) : bitwise_and floor_divide
torch.*((m, n)) : column_stack dstack vstack
torch.*(v) : diag_embed vander atleast_2d
torch.*(v, v) : dot ger outer vdot
torch.fft.*(x) : fft2 fftshift
torch.*(m, n) : inner kron block_diag cdist
torch.nn.functional.*(vol, 2) : avg_pool3d max_pool3d
torch.nn.functional.*(img, 2) : channel_shuffle pixel_unshuffle
torch.nn.functional.*(x, y) : cosine_similarity hinge_embedding_loss mse_loss
torch.nn.functional.*(x, dim=1) : log_softmax softmin
torch.nn.functional.*(x) : logsigmoid mish relu6 selu softsign tanhshrink
x.*() : abs_ diff double erf half isnan log2 logical_not nonzero element_size
x.*(b, y) : masked_scatter where
x.*(y) : sub_ true_divide

torch.zeros(torch.broadcast_shapes((2, 1), (1, 3), 3)); torch.lu(m, get_infos=True)
torch.unravel_index(k, (2, 3, 2)); torch.unravel_index(i, 12)
torch.nn.functional.fractional_max_pool2d(img, 2, output_size=(3, 4))
torch.nn.functional.fractional_max_pool2d(img[0], 3, output_ratio=(0.5, 0.4), return_indices=True)
torch.nn.functional.fractional_max_pool3d(vol, 2, output_ratio=0.5)
torch.nn.functional.fractional_max_pool3d(vol[0], 2, output_size=2, return_indices=True)
torch.add(x, y, out=torch.empty_like(x)); torch.add(i, 1, out=torch.empty([2, 6, 8]))
torch.div(x, 2, out=torch.empty([2, 6, 8], dtype=torch.float64))
torch.floor_divide(i, 2, out=torch.empty([2, 6, 8]))
torch.nonzero(i, out=torch.empty([0], dtype=torch.int64)); torch.range(1, 4, out=torch.empty([4]))
torch.max(x, 1, out=(torch.empty([2, 8]), torch.zeros([2, 8], dtype=torch.int64)))
torch.quantile(x, 0.5, torch.tensor(1)); torch.narrow(x, 1, 1, torch.tensor(2))
torch.linspace(0, 1, torch.tensor(5)); torch.acos(torch.clamp(x, -0.9, 0.9)); torch.acosh(torch.abs(x) + 1.5)
torch.addmv(v[0:4], m, v[0:4]); torch.addr(m, v[0:4], v[4:8]); torch.amax(x, (0, 2), keepdim=True)
torch.argsort(x, dim=-1, descending=True)
torch.baddbmm(x[:, :, 0:6], x[:, :, 0:4], y[:, 0:4, 0:6], beta=0.5, alpha=2.0); torch.bitwise_left_shift(i, 2)
torch.bucketize(x, torch.linspace(-1, 1, 5)); torch.celu(x, 0.7); torch.cosine_similarity(x, y, dim=1)
torch.count_nonzero(b, dim=2); torch.cross(x[:, 0:3], y[:, 0:3], dim=1); torch.cummax(x, 1)
torch.cumprod(x, dim=2); torch.diagonal(x, 0, 1, 2); torch.diff(x, n=2); torch.dist(x, y, 3)
torch.empty_like(x).fill_(2.5); torch.erfinv(torch.tanh(x)); torch.fft.rfft(x, n=10, dim=1, norm="ortho")
torch.flip(x, (0, 2)); torch.float_power(torch.abs(x), 1.5); torch.fmod(x, 0.3); torch.gcd(i, i + 6)
torch.histc(x, bins=5, min=-1, max=1); torch.index_add(x, 2, k, y); torch.inverse(m + torch.eye(4) * 5)
torch.isclose(x, y, rtol=0.1); torch.isin(i, k); torch.kthvalue(x, 3, dim=1); torch.lerp(x, y, 0.3)
torch.lgamma(torch.abs(x) + 1); torch.linalg.cholesky(m @ m.transpose(0, 1) + torch.eye(4) * 5)
torch.linalg.inv(m + torch.eye(4) * 4); torch.linalg.matrix_power(m, 3)
torch.linalg.solve(m + torch.eye(4) * 4, n); torch.linalg.norm(x, dim=(1, 2)); torch.log1p(torch.abs(x))
torch.logical_xor(b, x > 0); torch.logit(torch.sigmoid(x), eps=1e-6); torch.logspace(0, 2, 5)
torch.logsumexp(x, (1, 2)); torch.masked_select(x, b); torch.mode(i, 1); torch.moveaxis(x, 0, 2)
torch.mv(m, v[0:4]); torch.nan_to_num(x / torch.zeros_like(x), nan=1.0, posinf=2.0, neginf=-2.0)
torch.narrow(x, 1, 2, 3); torch.nonzero(b); torch.polygamma(1, torch.abs(x) + 1)
torch.quantile(x, 0.3, dim=1); torch.renorm(x, 2, 0, 1.0); torch.roll(x, (1, 2), (1, 2))
torch.rot90(x, 1, (1, 2)); torch.round(x, decimals=2); torch.scatter(x, 2, i, y)
torch.scatter_reduce(x, 2, i, y, reduce="amax"); torch.searchsorted(torch.linspace(-1, 1, 5), x, right=True)
torch.special.i0(x); torch.special.entr(torch.abs(x)); torch.special.xlog1py(x, torch.abs(y))
torch.std(x, dim=1, correction=0); torch.std_mean(x, (1, 2), keepdim=True); torch.swapaxes(x, 0, 1)
torch.take(x, k); torch.take_along_dim(x, i, dim=2); torch.tensordot(x, y, dims=([1, 2], [1, 2]))
torch.tensordot(m, n, dims=1); torch.tril(m, -1); torch.tril_indices(4, 5, 1); torch.true_divide(x, 3)
torch.unflatten(x, 1, (2, 3)); torch.var_mean(x, dim=2, unbiased=False); torch.xlogy(x, torch.abs(y))
torch.broadcast_tensors(v, x); torch.cartesian_prod(k, k)
torch.functional.stft(v, 4, hop_length=2, window=torch.ones(4), return_complex=True)
torch.nn.functional.adaptive_avg_pool1d(s, 3); torch.nn.functional.adaptive_max_pool2d(img, (2, 3))
torch.nn.functional.alpha_dropout(x, 0.3, False); torch.nn.functional.bilinear(m, n, torch.ones(2, 4, 4))
torch.nn.functional.binary_cross_entropy(torch.sigmoid(x), torch.sigmoid(y), reduction="sum")
torch.nn.functional.binary_cross_entropy_with_logits(x, torch.sigmoid(y)); torch.nn.functional.celu(x, 0.4)
torch.nn.functional.conv_transpose1d(s, torch.ones(4, 2, 3), stride=2, padding=1)
torch.nn.functional.cosine_embedding_loss(m, n, v[0:4])
torch.nn.functional.cross_entropy(m, k[0:4] % 4, label_smoothing=0.1)
torch.nn.functional.dropout3d(vol, 0.5, True); torch.nn.functional.hardshrink(x, 0.2)
torch.nn.functional.huber_loss(x, y, delta=0.5); torch.nn.functional.instance_norm(img)
torch.nn.functional.interpolate(vol, scale_factor=2.0, mode="trilinear", align_corners=True)
torch.nn.functional.interpolate(s, size=5, mode="linear")
torch.nn.functional.interpolate(img, scale_factor=0.5, mode="area")
torch.nn.functional.interpolate(img, size=(5, 6), mode="bicubic", antialias=True)
torch._C._nn.soft_margin_loss(x, y); torch.nn.functional.kl_div(x, y, reduction="sum", log_target=True)
torch.nn.functional.l1_loss(x, y, reduction="none"); torch.nn.functional.local_response_norm(img, 3)
torch.nn.functional.multi_head_attention_forward(x, x, x, 8, 2, WEIGHTS, None, None, False, OUT)
torch.nn.functional.multi_head_attention_forward(x, y, y, 8, 2, WEIGHTS, None, None, False, OUT)
torch.nn.functional.multi_head_attention_forward(x, y, x, 8, 2, WEIGHTS, None, None, False, OUT)
torch.nn.functional.multi_head_attention_forward(w, w, w, 8, 2, WEIGHTS, None, None, False, OUT)
torch.nn.functional.multi_head_attention_forward(x, y, y, 8, 2, WEIGHTS, None, None, False, OUT, attn_mask=m[0:2, 0:2], need_weights=False)
torch.nn.functional.multi_head_attention_forward(x, x, x, 8, 2, WEIGHTS, None, None, False, OUT, attn_mask=m[0:2, 0:2] > 1)
torch.nn.functional.multi_head_attention_forward(x, x, x, 8, 2, WEIGHTS, None, None, True, OUT, key_padding_mask=b[0, :, 0:2])
torch.nn.functional.multi_head_attention_forward(x, x, x, 8, 2, WEIGHTS, s[:, 0:1], s[:, 1:2], False, OUT, average_attn_weights=False)
torch.nn.functional.multi_head_attention_forward(w, w, w, 8, 2, WEIGHTS, None, None, False, OUT, attn_mask=m[0:3, 0:3], is_causal=True, need_weights=False)
torch.nn.functional.margin_ranking_loss(x, y, torch.sign(y))
torch.nn.functional.max_pool2d(img, 2, return_indices=True)
torch.nn.functional.nll_loss(torch.log_softmax(m, 1), k[0:4] % 4); torch.nn.functional.pairwise_distance(m, n)
torch.nn.functional.poisson_nll_loss(x, torch.abs(y)); torch.nn.functional.rrelu(x, 0.1, 0.3, True)
torch.nn.functional.smooth_l1_loss(x, y, beta=0.3); torch.nn.functional.soft_margin_loss(x, torch.sign(y))
torch.nn.functional.softshrink(x, 0.1); torch.nn.functional.threshold(x, 0.1, -1.0)
torch.nn.functional.triplet_margin_loss(m, n, n + 1)
torch.nn.functional.affine_grid(torch.ones(1, 2, 3), (1, 4, 5, 6), align_corners=False)
torch.nn.functional.embedding_bag(k % 3, w, torch.tensor([0, 2, 2]))
torch.nn.functional.embedding_bag(i[0] % 3, w, mode="sum", per_sample_weights=x[0])
torch.nn.functional.embedding_bag(k % 3, w, torch.tensor([0, 4, 8]), 1.0, 1.0, False, "max", include_last_offset=True, padding_idx=1)
torch.nn.functional.adaptive_avg_pool2d(img, (None, 3))
torch.nn.functional.adaptive_avg_pool3d(vol, (3, None, 2))
torch.nn.functional.adaptive_max_pool2d(img, (2, None))
torch.nn.functional.adaptive_max_pool2d_with_indices(img, (None, 2))
torch.nn.functional.adaptive_max_pool3d(vol, (None, 2, None))
torch.nn.functional.max_unpool1d(x, torch.arange(8).expand(2, 6, 8) * 2, 2)
torch.nn.functional.max_unpool1d(x, torch.arange(8).expand(2, 6, 8) * 2, 2, output_size=(2, 6, 17))
torch.nn.functional.max_unpool2d(img, torch.arange(64).reshape(1, 1, 8, 8).expand(1, 4, 8, 8), 3, (2, 1), padding=(1, 0))
torch.nn.functional.max_unpool2d(img, torch.arange(64).reshape(1, 1, 8, 8).expand(1, 4, 8, 8), (2, 2), output_size=(15, 17))
torch.nn.functional.max_unpool3d(vol, torch.arange(64).reshape(1, 1, 4, 4, 4).expand(1, 2, 4, 4, 4), 2)
torch.nn.functional.multilabel_soft_margin_loss(x, torch.sign(torch.abs(y)), v)
torch.nn.functional.multilabel_soft_margin_loss(m, torch.abs(n), reduction="none")
torch.nn.functional.upsample_bilinear(img, scale_factor=1.5)
torch.nn.functional.upsample_bilinear(img, (5, 6)); torch.nn.functional.upsample_nearest(img, 12)
torch.nn.functional.upsample_nearest(vol, scale_factor=2); x.addcdiv(y, y + 3, value=0.3); x.bernoulli(0.3)
x.clamp_min(0.1); x.cummin(1); x.fmod(2); x.index_copy(2, k, y); x.index_fill(1, torch.tensor([0, 2]), 3.0)
x.movedim(0, 1); x.new_full((2, 3), 1.5); x.new_empty((2, 3)).zero_(); x.new_tensor([1, 2, 3]); x.norm(1, 1)
x.put(k, v); x.remainder(0.4); x.select(1, 2); x.softmax(1, dtype=torch.float64); x.std(0)
x.sum_to_size(1, 6, 1); x.swapdims(0, 2); x.unflatten(2, (2, 4)); x.var(1, unbiased=False)
x.xlogy(torch.abs(y)); x.dim() + x.ndimension() + x.numel(); i.bitwise_not(); i % 3; 7 - x; 2 ** x; 1 / x; -x
~b; b | (x > 0); b ^ (x > 0); i << 1; x // 0.3; x[..., 0]; x[:, None, 1:3, ::2]; x[b]; x[:, [0, 2]]
x[k % 2, :, 1]; x[-1]; m[k[0:4] % 4]; torch.einsum("bij,bkj->bik", x, y); torch.hstack([m, n])
torch.randint(0, 10, (3, 4)); torch.randperm(10); torch.normal(0.0, 1.0, (2, 3))
torch.multinomial(torch.abs(m), 2); torch.bernoulli(torch.sigmoid(x)); torch.full((2, 3), True)
torch.scalar_tensor(3.5)
"""


def statements():
    for line in STATEMENTS.strip().splitlines():
        for name, text in ATTENTION.items():
            line = line.replace(name, text)
        if family := re.fullmatch(r"(\S*)\*(\(.*\)) : (.+)", line):
            yield from (f"{family[1]}{name}{family[2]}" for name in family[3].split())
        else:
            yield from filter(None, line.split("; "))


class Emitter:
    """Makes straight-line statements, one call each, of an expression."""

    def __init__(self):
        self.lines, self.count = [], 0

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def emit(self, text):
        name = self.name()
        self.lines.append(f"{name} = {text}")
        return name

    def lower(self, node):
        if isinstance(node, ast.Call):
            args = [self.lower(a) for a in node.args]
            args += [f"{k.arg}={self.lower(k.value)}" for k in node.keywords]
            function = node.func
            if isinstance(function, ast.Attribute) and not ast.unparse(function).startswith(
                "torch."
            ):
                callee = f"{self.lower(function.value)}.{function.attr}"
            else:
                callee = ast.unparse(function)
            return self.emit(f"{callee}({', '.join(args)})")
        if isinstance(node, ast.BinOp):
            return self.emit(
                ast.unparse(ast.BinOp(self.ref(node.left), node.op, self.ref(node.right)))
            )
        if isinstance(node, ast.UnaryOp):
            if isinstance(node.operand, ast.Constant):
                return ast.unparse(node)
            return self.emit(ast.unparse(ast.UnaryOp(node.op, self.ref(node.operand))))
        if isinstance(node, ast.Compare):
            return self.emit(
                ast.unparse(
                    ast.Compare(self.ref(node.left), node.ops, [self.ref(node.comparators[0])])
                )
            )
        if isinstance(node, ast.Subscript):
            value = self.lower(node.value)
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            texts = [self.index(part) for part in parts]
            return self.emit(f"{value}[{', '.join(texts)}]")
        if isinstance(node, (ast.Tuple, ast.List)):
            inner = ", ".join(self.lower(e) for e in node.elts)
            if isinstance(node, ast.List):
                return f"[{inner}]"
            return f"({inner},)" if len(node.elts) == 1 else f"({inner})"
        return ast.unparse(node)

    def index(self, node):
        if isinstance(node, ast.Slice):
            parts = [
                ast.unparse(p) if p is not None else "None"
                for p in (node.lower, node.upper, node.step)
            ]
            return f"slice({', '.join(parts)})"
        return "Ellipsis" if ast.unparse(node) == "..." else self.lower(node)

    def ref(self, node):
        return ast.parse(self.lower(node), mode="eval").body


class Targets(Samples):
    """Runs calls of targets that few real samples have, in a sample of one statement after the other, which is written
here: as they are, and as ATen's overloads (torch-to-aten). The statements are ordinary PyTorch; hardly one of
these targets is in the corpus that graphnet is measured on. With --each, every statement is a sample, too.
"""

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        super().arguments(parser)
        parser.add_argument("--each", action="store_true", help="a sample for each statement too")

    def run(self, run: Run) -> None:
        torch.set_num_threads(1)
        lines = list(statements())
        # What changes an input in place, or the random stream, must not disturb the others.
        programs = {"targets": [line for line in lines if "_(" not in line]}
        if run.args.each:
            programs.update({f"{i:03d} {line.split('(')[0]}": [line] for i, line in enumerate(lines)})
        for name, chosen in programs.items():
            emitter, sample, aten = Emitter(), run.scratch / "targets", run.scratch / "aten"
            results = [emitter.lower(ast.parse(line, mode="eval").body) for line in chosen]
            in_pytorch.write_sample(sample, INPUTS, emitter.lines, f"({', '.join(results)},)", mean=0.1, std=2.0, min_val=0, max_val=5)
            run.tell(name, self.check(run, sample))
            if name == "targets":
                run.graphnet("opt", sample, "--passes=torch-to-aten", "-o", aten)
                run.tell(f"{name} as ATen", self.check(run, aten))


class Runnable(Suite):
    """Runs the Python that `graphnet show --runnable` writes, which needs the package safetensors, and
compares its results with those of `graphnet run`, bit for bit.
"""

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("samples", nargs="+", type=pathlib.Path)

    def run(self, run: Run) -> None:
        program, found = run.scratch / "net.py", run.scratch / "python.safetensors"
        for sample in run.args.samples:
            try:
                run.graphnet("show", sample, "-o", program, "--runnable")
                done = subprocess.run([sys.executable, program, found], capture_output=True, text=True,
                                      env={**os.environ, "OMP_NUM_THREADS": "1"})
                if done.returncode != 0:
                    raise Failed((done.stderr.strip() or done.stdout.strip()).splitlines()[-1])
                run.tell(sample, in_pytorch.compare(run.outputs(sample, None), in_pytorch.read_safetensors(found)))
            except Failed as error:
                run.tell(sample, str(error))


class Pieces(OnSamples):
    """Decomposes GraphNet samples and runs the pieces in PyTorch.

PyTorch runs the sample's model.py and those of the pieces eagerly, one after the other, on the same inputs
and seed. A chain's pieces take by position what the one before returns, a DAG's take values by name.
"""

    max_bytes = 512 << 20

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        super().arguments(parser)
        parser.add_argument("--pieces", type=int, default=4, help="of each sample (default: %(default)s)")
        parser.add_argument("--style", choices=["chain", "dag"], default="dag")

    def run(self, run: Run) -> None:
        torch.set_grad_enabled(False)
        for sample in self.samples(run):
            run.tell(sample, self.check(run, sample))

    def check(self, run: Run, sample: pathlib.Path) -> str:
        try:
            expected = in_pytorch.outputs(in_pytorch.call(model := in_pytorch.load(sample), inputs_of(sample, model, run.args.seed),
                                                          run.args.seed))
        except Exception as error:  # Whatever the model raises is a reason to skip it.
            return f"skipped: {in_pytorch.one_line(error)}"
        with tempfile.TemporaryDirectory(dir=run.scratch) as folder:
            try:
                run.graphnet("decompose", sample, "-o", f"{folder}/pieces", "--pieces", run.args.pieces, "--style", run.args.style)
                return in_pytorch.compare(expected, in_pytorch.outputs(together(sample, pathlib.Path(folder) / "pieces", run.args.seed)))
            except Exception as error:
                return str(error) if isinstance(error, Failed) else in_pytorch.one_line(error)


def together(sample: pathlib.Path, folder: pathlib.Path, seed: int) -> Any:
    """What the pieces of a sample return, one after the other."""
    config = json.loads((folder / "decompose_config.json").read_text())
    # Drawn as the original says. Parameters of forward keep their names in every piece.
    original = in_pytorch.load(sample)
    inputs = in_pytorch.arguments(original, inputs_of(sample, original, seed))
    handed_on: Dict[str, Any] = {}
    models = [in_pytorch.load(folder / piece["name"]) for piece in config["subgraphs"]]
    torch.manual_seed(seed)
    returned: Any = None
    for i, (model, piece) in enumerate(zip(models, config["subgraphs"])):
        if i > 0 and config["chain_style"]:
            returned = model(*returned)
            continue
        returned = model(*[inputs[parameter] if parameter in inputs else handed_on[name]
                           for parameter, name in zip(in_pytorch.parameters(model), piece["inputs"])])
        if i + 1 < len(models) and not config["chain_style"]:
            handed_on.update(zip(piece["outputs"], returned))
    return returned


class PiecesAlone(OnSamples):
    """Decomposes GraphNet samples in several ways, and has graphnet run each piece by itself."""

    max_bytes, timeout = 512 << 20, 600
    WAYS = [["--pieces", "4", "--style", "chain"], ["--pieces", "6", "--style", "dag"],
            ["--balanced", "3", "--style", "dag"], ["--blocks", "--style", "dag"]]

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        super().arguments(parser)
        parser.add_argument("--format", default="graphnet", help="of the pieces")
        parser.add_argument("--more", default="", help="options of graphnet decompose")

    def run(self, run: Run) -> str:
        samples = list(self.samples(run))[: run.args.sample]
        pieces = 0
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            jobs = {pool.submit(self.check, run, sample, way): (sample, way) for sample in samples for way in self.WAYS}
            for job in concurrent.futures.as_completed(jobs):
                sample, way = jobs[job]
                count, failed = job.result()
                pieces += count
                run.tell(f"{sample} {' '.join(way)}", "; ".join(failed))
        return f"{len(jobs)} decompositions of {len(samples)} samples, {pieces} pieces"

    def check(self, run: Run, sample: pathlib.Path, way: List[str]) -> Tuple[int, List[str]]:
        """How many pieces there are, and why one does not run."""
        with tempfile.TemporaryDirectory(dir=run.scratch) as folder:
            try:
                run.graphnet("decompose", sample, "-o", f"{folder}/pieces", "--format", run.args.format, *run.args.more.split(),
                             *way, timeout=run.args.timeout)
            except Failed as error:
                return 0, [] if "no repeated" in str(error) else [str(error)]
            try:
                done = subprocess.run([run.args.graphnet, "run", f"{folder}/pieces", "--threads", "1", "--json"],
                                      capture_output=True, text=True, timeout=run.args.timeout)
            except subprocess.TimeoutExpired:
                return 0, ["run: too slow"]
            if not done.stdout:
                return 0, [f"run: {done.stderr.strip()[:300]}"]
            found = json.loads(done.stdout)["samples"]
            return len(found), [f"{os.path.basename(one['path'])}: {one['error']['message']}" for one in found if "error" in one]


class Functional(OnSamples):
    """Runs samples before and after `functionalize`, which must not change what they return and what they
leave in their inputs. Says how many of them had a write.
"""

    max_bytes, timeout = 300 << 20, 60

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        super().arguments(parser)
        parser.add_argument("--only-rewritten", action="store_true", help="samples without a write are not run")

    def run(self, run: Run) -> str:
        rewritten = left = 0
        for sample in self.samples(run):
            with tempfile.TemporaryDirectory(dir=run.scratch) as folder:
                made = pathlib.Path(folder) / "made"
                try:
                    step = run.opt(sample, "functionalize", made)[-1]
                except Failed as error:
                    run.tell(sample, str(error))
                    continue
                if run.args.only_rewritten and not step["changed"]:
                    continue
                what = self.compare(run, sample, made)
            run.tell(sample, what)
            if not what.startswith("skipped"):
                rewritten += bool(step["changed"])
                left += bool(step["notes"])
        return f"{rewritten} of those compared were rewritten, {left} with something left as it is"


class Fused(OnSamples):
    """Takes samples in which `fuse` finds an operator, so that each operator has its turn.

PyTorch runs a sample as it is, and what `fuse` and `expand-fused` make of it, with the same bits; `graphnet
run` runs it with the fused calls and must yield what it yields without them. --count tells instead how many
samples have calls that make up each fused operator, and how many calls `fuse` makes of them.
"""

    sample, max_bytes, timeout = 40, 100 << 20, 60

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        super().arguments(parser)
        parser.add_argument("--count", action="store_true")

    def run(self, run: Run) -> str:
        if run.args.count:
            return self.count(run)
        turns: Counter[str] = collections.Counter()
        for sample in self.samples(run):
            with tempfile.TemporaryDirectory(dir=run.scratch) as name:
                folder = pathlib.Path(name)
                try:
                    notes = run.opt(sample, "fuse", folder / "fused.pb")[0]["notes"]
                    found = [note["what"].removeprefix("calls of fused.") for note in notes]
                    # One whose operators all had their turn more often than others may wait.
                    if not found or min(turns[one] for one in found) > run.args.sample // 4:
                        continue
                    run.opt(sample, "fuse,expand-fused", folder / "made")
                    what = self.compare(run, sample, folder / "made") or self.interpreted(run, sample, folder / "fused.pb")
                except Failed as error:
                    what = str(error)
            if not what.startswith("skipped"):
                turns.update(found)
            run.tell(sample, what)
        return "\n".join(f"{count:4} samples with {name}" for name, count in turns.most_common())

    def interpreted(self, run: Run, sample: pathlib.Path, fused: pathlib.Path) -> str:
        limit = 20 * run.args.timeout
        try:
            plain = run.outputs(sample, None, seed=run.args.seed, timeout=limit)
        except Failed as error:
            return f"skipped: it does not run without fused calls: {error}"
        return in_pytorch.compare(plain, run.outputs(fused, None, seed=run.args.seed, timeout=limit))

    def count(self, run: Run) -> str:
        samples: Counter[str] = collections.Counter()
        calls: Counter[str] = collections.Counter()
        paths = [str(sample) for sample in self.samples(run)]
        found = json.loads(run.graphnet("opt", *paths, "--passes", "fuse", "--json"))["samples"]
        for sample in found:
            run.tell(sample["path"], "")
            for note in (note for step in sample["passes"] for note in step["notes"]):
                if name := re.fullmatch(r"calls of fused\.(\w+)", note["what"]):
                    samples[name[1]] += 1
                    calls[name[1]] += note["count"]
        return "\n".join(["| operator | samples | calls |", "|---|---:|---:|",
                          *(f"| {name} | {samples[name]} | {count} |" for name, count in calls.most_common())])
