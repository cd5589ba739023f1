#!/usr/bin/env python3
"""Writes cpu_dtypes.txt, what the pass change-dtype has to know of operators.

    make_cpu_dtypes.py graphnet/passes

It is taken from PyTorch's own table of operators, by which PyTorch is tested, with the
Python whose torch is to be described.
"""

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
# "NAME = f": one that makes floats of integers.
"""


def names(op):
    """Of the operator and its aliases, as operators of ATen are called."""
    for name in [op.aten_name or op.name, *(alias.name for alias in op.aliases)]:
        name = name.removeprefix("nn.functional.").replace(".", "_")
        if not name.startswith("signal_windows"):
            yield name


def kinds(op):
    for sample in op.sample_inputs("cpu", torch.float32):
        value = op(sample.input, *sample.args, **sample.kwargs)
        leaves = torch.utils._pytree.tree_leaves(value)
        return "".join(
            "i" if not isinstance(leaf, torch.Tensor)
            else "c" if leaf.is_complex() else "f" if leaf.dtype == torch.float32 else "i"
            for leaf in leaves)
    return "f"


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
            dtypes = [short for short, dtype in (("bf16", torch.bfloat16), ("f16", torch.float16))
                      if dtype not in supported[name]]
            if dtypes and name not in lacking and name != "broadcast_shapes":
                lacking[name] = f"{name} {' '.join(dtypes)} > {kinds(op)}"
    lines = [lacking[name] for name in sorted(lacking)] + [f"{name} = f" for name in sorted(promoting)]
    path = pathlib.Path(sys.argv[1]) / "cpu_dtypes.txt"
    path.write_text(HEAD.format(version=torch.__version__.split("+")[0]) + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
