#!/usr/bin/env python3
"""Writes cpu_dtypes.txt, the facts about operators that the pass change-dtype needs.

    make_cpu_dtypes.py graphnet/passes

It is taken from PyTorch's own table of operators, by which PyTorch is tested, and of
operators that the table lacks from calls, with the Python whose torch is to be described.
"""

import itertools
import pathlib
import sys
import types
import unittest
import warnings

# What the table imports and does not need.
sys.modules.setdefault("expecttest", types.ModuleType("expecttest"))
sys.modules["expecttest"].TestCase = getattr(sys.modules["expecttest"], "TestCase", unittest.TestCase)

import torch
from torch.testing._internal.common_methods_invocations import op_db

HEAD = """\
# Made by make_cpu_dtypes.py with PyTorch {version}.
# "NAME DTYPE… > KINDS": an operator that PyTorch computes in float32 on the CPU and not in
# these dtypes, and what it yields for float32: f float32, c complex, i another.
# "NAME DTYPE… keep PARAMETER…": one that computes in these dtypes if these operands stay float32.
# "NAME = f": one that makes floats of integers; "NAME = F": float32 of whatever it is given.
"""

SHORT = {"bf16": torch.bfloat16, "f16": torch.float16, "f64": torch.float64}


def more():
    """Calls of operators that the table lacks, with float32."""
    x, scales = torch.randn(4, 4), torch.rand(4) + 0.1
    integers, floats = torch.zeros(4, dtype=torch.int32), torch.zeros(4)
    scale, point, on = torch.ones(1), torch.zeros(1, dtype=torch.int32), torch.ones(1, dtype=torch.int64)
    positive = x @ x.mT + torch.eye(4)
    yield "fake_quantize_per_channel_affine", (x, scales, integers, 0, -128, 127)
    yield "fake_quantize_per_channel_affine", (x, scales, floats, 0, -128, 127)
    yield "fake_quantize_per_channel_affine_cachemask", (x, scales, integers, 0, -128, 127)
    yield "fake_quantize_per_channel_affine_cachemask", (x, scales, floats, 0, -128, 127)
    yield "fake_quantize_per_tensor_affine", (x, scale, point, -128, 127)
    yield "fake_quantize_per_tensor_affine", (x, 0.1, 0, -128, 127)
    yield "fake_quantize_per_tensor_affine_cachemask", (x, 0.1, 0, -128, 127)
    yield "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", (x, scale, point, on, -128, 127)
    yield "_fake_quantize_learnable_per_tensor_affine", (x, scale, scale, -128, 127)
    yield "_fake_quantize_learnable_per_channel_affine", (x, scales, floats, 0, -128, 127)
    observed = (x, on, on, scale, scale, scale, point, 0.01, -128, 127, 0)
    yield "fused_moving_avg_obs_fake_quant", observed
    yield "_fused_moving_avg_obs_fq_helper", observed
    yield "quantize_per_tensor", (x, 0.1, 0, torch.qint8)
    yield "quantize_per_tensor", (x, scale, point, torch.qint8)
    yield "quantize_per_channel", (x, scales, integers, 0, torch.qint8)
    yield "quantize_per_tensor_dynamic", (x, torch.qint8, False)
    yield "choose_qparams_optimized", (x, 16, 200, 0.16, 8)
    yield "_choose_qparams_per_tensor", (x,)
    wide, eighths = torch.randn(4, 64), torch.ones(16, 32).to(torch.float8_e4m3fn)
    yield "_weight_int8pack_mm", (wide, torch.ones(32, 64, dtype=torch.int8), torch.ones(32))
    packed = torch.ops.aten._convert_weight_to_int4pack_for_cpu(torch.ones(32, 64, dtype=torch.int32), 2)
    yield "_weight_int4pack_mm_for_cpu", (wide, packed, 32, torch.ones(2, 32, 2))
    yield "_scaled_mm", (eighths, eighths.t(), torch.ones(()), torch.ones(()))
    yield "_cdist_forward", (x, x, 2.0, None)
    yield "_pdist_forward", (x,)
    yield "_fft_r2c", (x, [1], 0, True)
    for name in ("_linalg_det", "_linalg_slogdet", "_linalg_svd", "_linalg_eigvals"):
        yield name, (x,)
    yield "_linalg_eigh", (positive,)
    yield "_linalg_solve_ex", (positive, x)


def call(name, args, dtype, kept):
    """The kinds of what it yields, or None if it does not run."""
    made = [arg if not isinstance(arg, torch.Tensor)
            else arg.clone() if i in kept or arg.dtype != torch.float32 else arg.to(dtype)
            for i, arg in enumerate(args)]
    try:
        value = getattr(torch.ops.aten, name)(*made)
    except (RuntimeError, ValueError):
        return None
    return kinds_of(value)


def parameters(name, args):
    """Those of the first overload that has a tensor for each tensor."""
    packet = getattr(torch.ops.aten, name)
    for overload in packet.overloads():
        found = getattr(packet, overload)._schema.arguments
        if len(found) >= len(args) and all(
                isinstance(arg, torch.Tensor) == isinstance(parameter.type, torch.TensorType)
                for arg, parameter in zip(args, found) if arg is not None):
            return [parameter.name for parameter in found]
    raise ValueError(name)


def rows_of_calls():
    """By name, the row of what lacks a dtype."""
    lacking = {}
    for name, args in more():
        floats = [i for i, arg in enumerate(args) if isinstance(arg, torch.Tensor) and arg.dtype == torch.float32]
        for short, dtype in SHORT.items():
            kept = next(kept for k in range(len(floats) + 1) for kept in itertools.combinations(floats, k)
                        if call(name, args, dtype, kept) is not None)
            if not kept:
                continue
            dtypes, operands, _ = lacking.setdefault(name, (set(), set(), call(name, args, torch.float32, ())))
            dtypes.add(short)
            operands.update(parameters(name, args)[i] for i in kept)
    for name, (dtypes, operands, yielded) in lacking.items():
        text = " ".join(short for short in SHORT if short in dtypes)
        whole = "self" in operands or "input" in operands or "x1" in operands or "A" in operands
        yield name, f"{name} {text} > {yielded}" if whole else f"{name} {text} keep {' '.join(sorted(operands))}"


def names(op):
    """Of the operator and its aliases, as operators of ATen are called."""
    for name in [op.aten_name or op.name, *(alias.name for alias in op.aliases)]:
        name = name.removeprefix("nn.functional.").replace(".", "_")
        if not name.startswith("signal_windows"):
            yield name


def kinds(op):
    for sample in op.sample_inputs("cpu", torch.float32):
        value = op(sample.input, *sample.args, **sample.kwargs)
        return kinds_of(value)
    return "f"


def kinds_of(value):
    leaves = torch.utils._pytree.tree_leaves(value)
    return "".join(
        "i" if not isinstance(leaf, torch.Tensor)
        else "c" if leaf.is_complex() else "f" if leaf.dtype == torch.float32 else "i"
        for leaf in leaves)


def main() -> None:
    warnings.simplefilter("ignore")
    lacking, promoting = {}, set()
    supported = {}  # by name, over all variants
    for op in op_db:
        for name in names(op):
            supported.setdefault(name, set()).update(op.dtypes)
    for op in op_db:
        if torch.float32 not in op.dtypes:
            continue
        for name in names(op):
            if getattr(op, "promotes_int_to_float", False):
                promoting.add(name)
            dtypes = [short for short, dtype in SHORT.items() if dtype not in supported[name]]
            if dtypes and name not in lacking and name != "broadcast_shapes":
                lacking[name] = f"{name} {' '.join(dtypes)} > {kinds(op)}"
    for name, row in rows_of_calls():
        lacking.setdefault(name, row)
    lines = [lacking[name] for name in sorted(lacking)] + [f"{name} = f" for name in sorted(promoting)]
    lines.append("dequantize = F")
    path = pathlib.Path(sys.argv[1]) / "cpu_dtypes.txt"
    path.write_text(HEAD.format(version=torch.__version__.split("+")[0]) + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
