"""The values that arguments of nodes are read as."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

_REFUSAL = "the lists and dicts of a node are copies; assign to node.args or node.kwargs"


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError(_REFUSAL)


class ImmutableList(list):  # type: ignore[type-arg]
    """A list of a node's arguments. Changing it raises: it is a copy."""

    __slots__ = ()
    __delitem__ = __iadd__ = __imul__ = __setitem__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return ImmutableList, (list(self),)


class ImmutableDict(dict):  # type: ignore[type-arg]
    """A dict of a node. Changing it raises: it is a copy."""

    __slots__ = ()
    __delitem__ = __ior__ = __setitem__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return ImmutableDict, (dict(self),)


def map_nodes(value: Any, function: Callable[[Any], Any]) -> Any:
    """Replaces each node in a value, however deep, by function(node), like torch.fx's map_arg."""
    from graphnet_ir._core import Node

    if isinstance(value, Node):
        return function(value)
    if isinstance(value, list):
        return ImmutableList(map_nodes(element, function) for element in value)
    if isinstance(value, tuple):
        return tuple(map_nodes(element, function) for element in value)
    if isinstance(value, dict):
        return {key: map_nodes(element, function) for key, element in value.items()}
    if isinstance(value, slice):
        return slice(
            map_nodes(value.start, function),
            map_nodes(value.stop, function),
            map_nodes(value.step, function),
        )
    return value
