"""Errors that are raised in Python, in the same form as those of the extension."""

from __future__ import annotations

from graphnet_ir._core import Error


def made_error(kind: str, message: str) -> Error:
    """Returns an Error of a kind, to be raised."""
    error = Error(message)
    error.kind = kind
    return error
