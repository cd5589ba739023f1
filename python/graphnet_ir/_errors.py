"""Errors that are raised in Python, in the same form as those of the extension."""

from __future__ import annotations

from typing import Any

from graphnet_ir._core import Error, Sample


def made_error(kind: str, message: str) -> Error:
    """Returns an Error of a kind, to be raised."""
    error = Error(message)
    error.kind = kind
    return error


def require_sample(value: Any, what: str = "the sample") -> None:
    """Raises TypeError for a value that is no Sample."""
    if not isinstance(value, Sample):
        raise TypeError(f"{what} must be a graphnet_ir.Sample, not {type(value).__name__}")
