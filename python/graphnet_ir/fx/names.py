"""Names of functions: how a sample spells a function of Python, and which functions a name means."""

from __future__ import annotations

import builtins
import functools
import math
import operator
import re
import sys
import types
from collections.abc import Sequence
from typing import Any

import torch

from graphnet_ir._targets import name_of
from graphnet_ir.fx.shared import refuse

# Functions of Python's builtins that graphs call; the readers of folders know the same.
_BUILTINS = (
    "getattr",
    "max",
    "min",
    "abs",
    "int",
    "float",
    "bool",
    "len",
    "round",
    "pow",
    "sum",
    "list",
    "tuple",
    "divmod",
    "str",
)

# Modules whose functions only compute. Other modules of torch load files and run their content.
_MODULES = (
    "torch.functional",
    "torch.nn.functional",
    "torch.nn.init",
    "torch.linalg",
    "torch.fft",
    "torch.special",
    "torch.sparse",
    "torch._C._nn",
    "torch._C._linalg",
    "torch._C._fft",
    "torch._C._special",
    "torch._C._sparse",
    "torch._C._nested",
    "torch._C._functorch",
    "torch._functorch.predispatch",
    "torch._functorch.vmap",
    "torch.amp.autocast_mode",
)

# Functions of other modules of torch that graphs call.
_SINGLE = (
    "torch.cond",
    "torch.vmap",
    "torch.Size",
    "torch.autograd.function.FunctionCtx",
    "torch._C._set_grad_enabled",
    "torch._C._log_api_usage_once",
)


def name_of_target(target: Any) -> str:
    """Returns the name of a function as GraphNet's folders spell it. Raises Error without one."""
    plain = getattr(target, "__name__", "")
    inner = getattr(target, "__qualname__", plain)
    refusal = refuse(f"the function {inner or type(target).__qualname__} has no name of its own")
    if plain == "<lambda>":
        raise refusal
    try:
        name = name_of(target)
    except Exception as error:
        raise refusal from error
    module, _, attribute = name.rpartition(".")
    if "<locals>" in inner and getattr(sys.modules.get(module), attribute, None) is not target:
        raise refusal
    return name


def is_same(a: Any, b: Any) -> bool:
    """Returns whether two functions compute the same: they are one, or have the same code and the
    same values in it. Dynamo makes a wrapper for each call of a function of NumPy."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, types.FunctionType):
        return (
            a.__code__ is b.__code__
            and a.__defaults__ == b.__defaults__
            and a.__kwdefaults__ == b.__kwdefaults__
            and _same_cells(a.__closure__ or (), b.__closure__ or ())
        )
    if isinstance(a, functools.partial):
        return is_same(a.func, b.func) and (a.args, a.keywords) == (b.args, b.keywords)
    own, others = getattr(a, "__dict__", {}), getattr(b, "__dict__", {})
    return (
        bool(own)
        and own.keys() == others.keys()
        and all(
            is_same(own[key], others[key]) or (not callable(own[key]) and own[key] == others[key])
            for key in own
        )
    )


def _same_cells(a: Sequence[Any], b: Sequence[Any]) -> bool:
    try:
        return all(is_same(one.cell_contents, other.cell_contents) for one, other in zip(a, b))
    except ValueError:  # an empty cell
        return False


def _operator_of(parts: Sequence[str]) -> Any:
    """Returns the operator, or packet of operators, of a namespace of torch.ops."""
    if (
        len(parts) not in (2, 3)
        or parts[1] == "from_file"
        or any(p.startswith("__") and not p.endswith("__") for p in parts)
    ):
        return None
    found = getattr(torch.ops, parts[0], None)
    for part in parts[1:]:
        found = getattr(found, part, None)
    kinds = (torch._ops.OpOverload, torch._ops.OpOverloadPacket, torch._ops.HigherOrderOperator)
    return found if isinstance(found, kinds) else None


def function_of(name: str) -> Any:
    """Returns the function of a name, or None if graphs do not call a function of that name.

    Nothing is imported and no text is run: names are looked up only in the modules listed above.
    """
    if name in _SINGLE:
        return functools.reduce(getattr, name.split(".")[1:], torch)
    module, _, attribute = name.rpartition(".")
    parts = name.split(".")
    if module == "operator":
        known = attribute in operator.__all__ and attribute != "call"
        found = getattr(operator, attribute) if known else None
        return found if isinstance(found, types.BuiltinFunctionType) else None
    if module == "math":
        found = getattr(math, attribute, None)
        return found if isinstance(found, types.BuiltinFunctionType) else None
    if module == "builtins":
        return getattr(builtins, attribute) if attribute in _BUILTINS else None
    if parts[0] != "torch":
        return _operator_of(parts) if len(parts) == 3 else None
    if parts[1:2] == ["ops"]:
        return _operator_of(parts[2:])
    if module == "torch.Tensor":
        return getattr(torch.Tensor, attribute, None) if is_method(attribute) else None
    if module == "torch":
        found = getattr(torch, attribute, None)
        if attribute == "from_file":
            return None
        if hasattr(torch._C._VariableFunctions, attribute):
            return found
        is_ours = (
            re.match(r"_?sym_|_check", attribute)
            or getattr(found, "__module__", "") == "torch.functional"
        )
        return found if is_ours and isinstance(found, types.FunctionType) else None
    if module not in _MODULES or attribute.startswith("__"):
        return None
    found = vars(sys.modules[module]).get(attribute) if module in sys.modules else None
    return found if isinstance(found, (types.FunctionType, types.BuiltinFunctionType)) else None


def is_attribute(name: str) -> bool:
    """Returns whether graphs may read an attribute of this name. It must not lead out of values, as
    __class__ does."""
    if name.startswith("__"):
        known = isinstance(vars(operator).get(name), types.BuiltinFunctionType)
        return known and name != "__call__"
    return name.isidentifier()


def is_method(name: str) -> bool:
    """Returns whether graphs may call a method of this name: a method of tensors, numbers and
    containers, but not of objects made from them, such as an array that can write to a file."""
    kinds = (torch.Tensor, torch.Size, torch.SymInt, list, dict, str, int, float)
    return is_attribute(name) and any(hasattr(kind, name) for kind in kinds)
