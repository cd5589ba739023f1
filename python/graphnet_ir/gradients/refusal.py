"""Why a sample was not differentiated."""

from __future__ import annotations


class Refusal(Exception):
    """A sample that is not differentiated. cause: a few words that many samples may share, such as
    "has no derivative". operator: the one to blame, or ''."""

    def __init__(self, cause: str, message: str, operator: str = "") -> None:
        super().__init__(message)
        self.cause = cause
        self.operator = operator


def first_line(error: BaseException) -> str:
    """Returns the first line of an error that says something, with its type unless that is plain."""
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    name = type(error).__name__
    return text[:500] if name == "RuntimeError" and text else f"{name}: {text}"[:500]
