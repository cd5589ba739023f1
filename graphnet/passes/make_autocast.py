#!/usr/bin/env python3
"""Writes autocast.txt, the operators that autocast computes in another dtype.

    make_autocast.py graphnet/passes

The kernels are those that PyTorch registers for autocast. An operator that PyTorch composes of
others is touched where one of those is; which they are is seen by running it on the samples of
PyTorch's own table of operators. One that has no sample counts as touched.
"""

import collections
import pathlib
import sys
import textwrap
import types
import unittest
import warnings

# What the table imports and does not need.
sys.modules.setdefault("expecttest", types.ModuleType("expecttest"))
sys.modules["expecttest"].TestCase = getattr(sys.modules["expecttest"], "TestCase", unittest.TestCase)

import torch
from torch.testing._internal.common_methods_invocations import op_db

HEAD = """\
# Made by make_autocast.py with PyTorch {version}.
# Operators that autocast computes in another dtype, or may: "both" on every device, "cpu" on
# the CPU only, "other" on other devices only.
"""

has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
OTHER = ("AutocastCUDA", "AutocastMPS", "AutocastXPU")


def base_name(overload):
    return overload.removeprefix("aten::").split(".")[0]


def shares_memory(overload):
    """Whether the result is a view of an argument or the argument itself, or no tensor."""
    name, _, which = overload.partition(".")
    returns = torch._C._get_schema(name, which).returns
    return all(r.alias_info is not None or "Tensor" not in str(r.type) for r in returns)


def composed_of():
    """Operator -> the operators that it calls, at any depth."""
    calls = collections.defaultdict(set)
    for op in op_db:
        try:
            samples = list(op.sample_inputs("cpu", torch.float32))[:8]
        except Exception:  # It takes no floats, or a library is missing.
            continue
        for sample in samples:
            try:
                with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
                    op(sample.input, *sample.args, **sample.kwargs)
            except Exception:  # This sample does not run here.
                continue
            for event in profile.events():
                inner, outer = event, event.cpu_parent
                while outer is not None:
                    if outer.name.startswith("aten::"):
                        calls[base_name(outer.name)].add(base_name(inner.name))
                    outer = outer.cpu_parent
                calls[base_name(event.name)] |= set()
    return calls


def main() -> None:
    warnings.simplefilter("ignore")
    overloads = [n for n in torch._C._dispatch_get_all_op_names() if n.startswith("aten::")]
    touched = {"cpu": {base_name(n) for n in overloads if has_kernel(n, "AutocastCPU")},
               "other": {base_name(n) for n in overloads if any(has_kernel(n, k) for k in OTHER)}}
    calls = composed_of()
    kernels = {device: set(names) for device, names in touched.items()}
    for overload in overloads:
        if not has_kernel(overload, "CompositeImplicitAutograd") or shares_memory(overload):
            continue
        name = base_name(overload)
        for device, names in kernels.items():
            if name not in calls or calls[name] & names:
                touched[device].add(name)
    rows = {"both": touched["cpu"] & touched["other"], "cpu": touched["cpu"] - touched["other"],
            "other": touched["other"] - touched["cpu"]}
    text = HEAD.format(version=torch.__version__.split("+")[0])
    for device, names in rows.items():
        for line in textwrap.wrap(" ".join(sorted(names)), 94 - len(device), break_long_words=False):
            text += f"{device} {line}\n"
    pathlib.Path(sys.argv[1], "autocast.txt").write_text(text)


if __name__ == "__main__":
    main()
