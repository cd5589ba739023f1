"""Written types: an annotation as text, and the type that a text names."""

from __future__ import annotations

import re
import sys
import types
from typing import Any

# Modules whose types take parameters in brackets; "" is builtins.
_GENERIC = ("", "builtins", "collections", "collections.abc", "typing")


def text_of_type(written: Any) -> str:
    """Returns a type annotation as text: 'torch.Tensor', 'typing.Optional[torch.Tensor]', 'int'."""
    if written is None or written is type(None):
        return "None"
    if isinstance(written, type) and not isinstance(written, types.GenericAlias):
        name = written.__qualname__
        return name if written.__module__ == "builtins" else f"{written.__module__}.{name}"
    return repr(written)


def type_of_text(text: str) -> Any:
    """Returns the type that a text names, or None if the type is not known here. A text in quotes
    is a type that was never looked up."""
    if re.fullmatch(r"'[^'\\]*'", text):
        return text[1:-1]
    tokens = re.findall(r"\.\.\.|[\w.]+|\S", text)
    try:
        made, rest = _parse_union(tokens)
    except (LookupError, TypeError, ValueError, AttributeError):
        return None
    return None if rest else made


def _parse_union(tokens: list[str]) -> tuple[Any, list[str]]:
    made, tokens = _parse_type(tokens)
    while tokens[:1] == ["|"]:
        other, tokens = _parse_type(tokens[1:])
        made = made | other
    return made, tokens


def _parse_type(tokens: list[str]) -> tuple[Any, list[str]]:
    name, tokens = tokens[0], tokens[1:]
    module = ""
    made: Any
    if name == "...":
        made = ...
    elif name == "None":
        made = type(None)
    else:
        module, _, attribute = name.rpartition(".")
        # A type may be nested in another one.
        while module and module not in sys.modules:
            module, _, outer = module.rpartition(".")
            attribute = f"{outer}.{attribute}"
        # getattr could run code: some modules import others when they are asked for a name.
        made = sys.modules[module or "builtins"]
        for part in attribute.split("."):
            made = vars(made)[part]
        if not isinstance(made, type) and module != "typing":
            raise ValueError(name)
    if tokens[:1] == ["["]:
        if module not in _GENERIC:
            raise ValueError(name)
        parts = []
        while tokens[0] != "]":
            part, tokens = _parse_union(tokens[1:])
            parts.append(part)
            if tokens[0] not in ",]":
                raise ValueError(tokens[0])
        made, tokens = made[tuple(parts) if len(parts) > 1 else parts[0]], tokens[1:]
    return made, tokens
