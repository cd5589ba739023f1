"""The arguments of a call as the manifest has them, and the numbers of tensors in it."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable
from typing import Any

import torch

from graphnet_ir.live.captured import CapturedGraph
from graphnet_ir.live.inputs import sizes

# Larger arguments are recorded by their type.
MAX_DEPTH = 50
MAX_ITEMS = 10_000


class TensorNumbers:
    """The numbers of tensors, by identity, that the manifest uses."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        """rows: the list that gets a row for each new tensor."""
        # By the addresses of tensors, with references that say whether they are still there.
        self._numbers: dict[int, tuple[Any, int]] = {}
        self._rows = rows

    def number(self, value: Any, origin: Callable[..., dict[str, Any]], *of: Any) -> int | None:
        """Returns the number of a tensor. A new one is said to come from origin(*of)."""
        if value is None:
            return None
        known = self._numbers.get(id(value))
        if known is not None and known[0]() is value:
            return known[1]
        if not isinstance(value, torch.Tensor):
            return None
        number = len(self._rows)
        self._numbers[id(value)] = (weakref.ref(value), number)
        shape = sizes(value)
        self._rows.append(
            {
                "tensor": number,
                "from": origin(*of),
                "dtype": str(value.dtype)[len("torch.") :],
                "device": str(value.device),
                "shape": shape,
                "example": shape,
            }
        )
        return number


def _input(name: str) -> dict[str, Any]:
    return {"input": name}


def origin_of_result(step: int) -> dict[str, Any]:
    return {"step": step}


def origin_of_input(graph: CapturedGraph, i: int) -> dict[str, Any]:
    """Returns the origin of an input that no earlier graph made."""
    if graph.kind != "graph" or i >= len(graph.inputs):
        return {"local": None}
    given = graph.inputs[i]
    if given.attribute is not None:
        return {"attribute": given.attribute}
    return {"local": given.source or given.name}


def named_arguments(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    numbers: TensorNumbers,
) -> list[tuple[str, Any]]:
    """Returns the arguments of a call as the manifest has them: name and value."""
    plain = function.forward if isinstance(function, torch.nn.Module) else function
    try:
        bound = dict(inspect.signature(plain).bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):
        bound = {f"args_{i}": value for i, value in enumerate(args)} | kwargs

    above: set[int] = set()  # containers that hold the value

    def tree(value: Any, name: str) -> Any:
        if isinstance(value, torch.Tensor):
            return {"tensor": numbers.number(value, _input, name)}
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        kind = {"python": f"{type(value).__module__}.{type(value).__qualname__}"}
        if (
            not isinstance(value, (list, tuple, dict))
            or id(value) in above
            or len(above) >= MAX_DEPTH
            or len(value) > MAX_ITEMS
        ):
            return kind  # an object; or a container that holds itself, or is large
        above.add(id(value))
        try:
            if isinstance(value, list):
                return {
                    "list": [tree(item, f"{name}[{i}]") for i, item in enumerate(value)],
                    "type": "List",
                }
            if isinstance(value, tuple):
                return {"tuple": [tree(item, f"{name}[{i}]") for i, item in enumerate(value)]}
            return {
                "dict": [
                    [_text_of(key), tree(item, f"{name}[{_text_of(key, repr)}]")]
                    for key, item in value.items()
                ],
                "type": "Dict",
            }
        finally:
            above.remove(id(value))

    return [(name, tree(value, name)) for name, value in bound.items()]


def _text_of(value: Any, form: Callable[[Any], str] = str) -> str:
    """Returns the text of a key; the name of its type if it has none."""
    try:
        return form(value)
    except Exception:  # of any kind: it is the user's code
        return type(value).__qualname__
