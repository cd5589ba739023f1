"""The inputs of a captured graph, and the values that they have in a call."""

from __future__ import annotations

from typing import Any

import torch

from graphnet_ir.live.captured import GraphInput
from graphnet_ir.live.guards import attribute_of


def read_input(node: torch.fx.Node) -> GraphInput:
    """Reads what Dynamo knows of an input: its source, sizes, dtype and device."""
    argument = node.meta.get("grapharg")
    try:
        source = str(argument.source.name) if argument is not None else ""
    except Exception:  # some sources have no name
        source = ""
    fake: Any = node.meta.get("example_value", node.meta.get("val"))
    is_tensor = isinstance(fake, torch.Tensor)
    is_strided = is_tensor and fake.layout == torch.strided
    shape = [_size(size) for size in fake.shape] if is_tensor else []
    return GraphInput(
        str(node.target),
        source,
        attribute_of(source),
        shape,
        [],
        str(fake.dtype)[len("torch.") :] if is_tensor else type(fake).__name__,
        str(fake.device) if is_tensor else "",
        [_size(size) for size in fake.stride()] if is_strided else None,
        is_tensor and fake.requires_grad,
    )


def _size(size: Any) -> int | str:
    return size if isinstance(size, int) else str(size)


def sizes(tensor: torch.Tensor) -> list[Any]:
    """Returns the sizes as numbers; those of nested tensors that are not numbers as texts."""
    try:
        return [int(size) for size in tensor.shape]
    except (AttributeError, RuntimeError):
        return [str(size) for size in getattr(tensor, "shape", ())]


def is_foreign(value: Any) -> bool:
    """Returns whether a value is a tensor of a kind that the IR does not have."""
    return isinstance(value, torch.Tensor) and (
        value.layout != torch.strided
        or value.is_quantized
        or value.is_nested
        or type(value) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)
    )


def concrete_value(value: Any) -> Any:
    """Returns an input with the numbers of this call in the place of symbols."""
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        hint = value.node.hint
        return value if hint is None else hint
    return value
