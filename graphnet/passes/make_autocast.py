#!/usr/bin/env python3
"""Writes autocast.txt, the operators that autocast computes in another dtype.

    make_autocast.py graphnet/passes

The kernels are those that PyTorch registers for autocast. An operator that PyTorch composes of
others is touched where one of those is; which they are is seen by running it on the samples of
PyTorch's own table of operators. One that has no sample counts as touched.

How autocast computes an operator is measured on the same samples. It is run under autocast on
tensors without data, of float32, of bfloat16, and of both. If it then runs the same operators to
the same dtypes as without autocast on operands that are all cast to bfloat16, or all to float32,
that is its rule.
"""

import collections
import logging
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
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

HEAD = """\
# Made by make_autocast.py with PyTorch {version}.
# Each row lists operators that autocast computes in another dtype, or may: on the CPU ("cpu") or on
# other devices ("other"). The rule "lower" casts all floating-point tensors but float64 to the dtype
# of the region. The rule "float32" casts them to float32, unless the call gives a dtype. For "any",
# no rule is known.
"""
LOWER = torch.bfloat16
# How the floating-point operands may be cast, by their number.
CASTS = {"lower": lambda k: LOWER, "float32": lambda k: torch.float32}
VARIANTS = [*CASTS.values(), lambda k: LOWER if k % 2 else torch.float32,
            lambda k: torch.float32 if k % 2 else LOWER]

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


class Trace(TorchDispatchMode):
    """Records the operators that compute, with the dtypes that they yield."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, op, _, args=(), kwargs=None):
        result = op(*args, **(kwargs or {}))
        # Casts are what is compared, and operators that only move data may come before or after.
        moves = all(r.alias_info is not None for r in op._schema.returns) or op.name().startswith(
            ("prim", "aten::_to_copy", "aten::clone", "aten::constant_pad_nd"))
        if not moves:
            dtypes = [t.dtype for t in tree_leaves(result) if isinstance(t, torch.Tensor)]
            if not any(d.is_floating_point or d.is_complex for d in dtypes):
                # Such a result depends on the dtypes of the operands.
                dtypes += [t.dtype for t in tree_leaves(args) if isinstance(t, torch.Tensor)]
            self.calls.append((op.name(), dtypes))
        return result


def trace(op, sample, autocast_on=None):
    """The operators that a call runs and the dtypes of its results; None if it fails."""
    source, args, kwargs = sample
    with Trace() as seen:
        if autocast_on is not None:
            torch.set_autocast_dtype(autocast_on, LOWER)
            torch.set_autocast_enabled(autocast_on, True)
        try:
            result = op(source, *args, **kwargs)
        except Exception:  # Not all operators take each dtype.
            return None
        finally:
            if autocast_on is not None:
                torch.set_autocast_enabled(autocast_on, False)
                torch.clear_autocast_cache()
    return seen.calls, [t.dtype for t in tree_leaves(result) if isinstance(t, torch.Tensor)]


def cast(sample, dtype_of):
    """The sample with its floating-point tensors cast."""
    count = iter(range(1 << 20))

    def one(value):
        if not isinstance(value, torch.Tensor) or not value.is_floating_point() or value.dtype == torch.float64:
            return value
        return value.to(dtype_of(next(count)))

    return tree_map(one, sample)


def without_data(value, device):
    if not isinstance(value, torch.Tensor):
        return value
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=device)


def outermost(op, sample):
    """The operators of ATen that a call of PyTorch's table consists of."""
    cpu = torch.profiler.ProfilerActivity.CPU
    with torch.profiler.profile(activities=[cpu]) as profile:
        op(sample.input, *sample.args, **sample.kwargs)
    found = set()
    for event in profile.events():
        outer = event.cpu_parent
        while outer is not None and not outer.name.startswith("aten::"):
            outer = outer.cpu_parent
        if outer is None and event.name.startswith("aten::"):
            found.add(base_name(event.name))
    return found


def rules(device, names, views):
    """Operator -> the rules that hold for all that was seen of it; "none" is no cast."""
    fitting, seen = {}, set()
    for op in op_db:
        # A call that gives a dtype is not cast, and torch.masked always gives one.
        if "dtype" in op.variant_test_name or op.name.startswith("masked."):
            continue
        try:
            samples = list(op.sample_inputs("cpu", torch.float32))[:12]
        except Exception:
            continue
        for sample in samples:
            try:
                outer = outermost(op, sample) - views
            except Exception:
                continue
            if len(outer) != 1 or not outer <= names or sample.kwargs.get("dtype") is not None:
                continue
            name = outer.pop()
            fits = fitting.setdefault(name, {"none", *CASTS})
            with FakeTensorMode(allow_non_fake_inputs=True):
                bare = tree_map(lambda v: without_data(v, device),
                                (sample.input, tuple(sample.args), dict(sample.kwargs)))
                for variant in VARIANTS:
                    given = cast(bare, variant)
                    under = trace(op, given, device)
                    if under is None:
                        continue
                    seen.add(name)
                    for rule in list(fits):
                        other = cast(given, CASTS[rule]) if rule in CASTS else given
                        if trace(op, other) != under:
                            fits.remove(rule)
    return {name: fitting[name] for name in seen}


def main() -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)  # Tensors without data tell of each failure.
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
    views = {base_name(n) for n in overloads if shares_memory(n)}
    views -= {base_name(n) for n in overloads if not shares_memory(n)}
    views.add("broadcast_tensors")  # Its schema does not say that it yields views.
    text = HEAD.format(version=torch.__version__.split("+")[0])
    for device, names in touched.items():
        fitting_of = rules({"cpu": "cpu", "other": "cuda"}[device], names, views)
        rows = collections.defaultdict(list)
        for name in sorted(names):
            fitting = fitting_of.get(name, set())
            # A kernel may leave all as it is: cat, for example, promotes dtypes anyway.
            if "none" in fitting and name in kernels[device]:
                continue
            rows[fitting.pop() if len(fitting) == 1 and "none" not in fitting else "any"].append(name)
        for rule in (*CASTS, "any"):
            width = 90 - len(device + rule)
            for line in textwrap.wrap(" ".join(rows[rule]), width, break_long_words=False):
                text += f"{device} {rule} {line}\n"
    pathlib.Path(sys.argv[1], "autocast.txt").write_text(text)


if __name__ == "__main__":
    main()
