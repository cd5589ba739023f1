"""Dynamo's guards, reasons and source lines as plain values that are the same in every run."""

from __future__ import annotations

import ast
import functools
import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple


@dataclass(frozen=True)
class SourceLine:
    """A line of the user's program."""

    file: str  # relative to the folder that it was imported from
    line: int
    function: str
    source: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class GraphBreak:
    """The reason why Dynamo ended a graph. is_break is False if the function returned."""

    reason: str
    explanation: str = ""
    hints: list[str] = field(default_factory=list)
    is_break: bool = True
    stack: list[SourceLine] = field(default_factory=list)  # the innermost line is the last one

    @property
    def line(self) -> SourceLine | None:
        """The innermost line of the user's program, if it is known."""
        return self.stack[-1] if self.stack else None


@dataclass(frozen=True)
class GuardRecord:
    """One condition under which a graph may be used again."""

    kind: str  # Dynamo's name of it: TENSOR_MATCH
    name: str  # the guarded source: L['x']
    text: list[str]  # as Python code
    value: Any = None  # the required value in the form of JSON; None if the text says it all
    line: SourceLine | None = None


@dataclass(frozen=True)
class SkippedFrame:
    """A function that ran without Dynamo."""

    function: str
    file: str
    line: int
    reason: str


@functools.lru_cache(maxsize=4096)
def short_path(path: str) -> str:
    """Returns the path below the folder that Python imports it from, or else the file's name."""
    roots = [os.path.abspath(root) + os.sep for root in sys.path if root]
    fitting = [root for root in roots if path.startswith(root) and root != os.sep]
    return path[len(max(fitting, key=len)) :] if fitting else os.path.basename(path)


def source_lines(stack: Iterable[Any] | None) -> list[SourceLine]:
    """Returns the lines of a traceback.StackSummary."""
    return [
        SourceLine(
            short_path(frame.filename),
            int(frame.lineno or 0),
            frame.name,
            (frame.line or "").strip(),
        )
        for frame in stack or ()
    ]


_HEADINGS = (
    "Explanation:",
    "Hint:",
    "Developer debug context:",
    "For more details",
    "User code traceback:",
    "Higher Order Operator:",
)


def read_reason(reason: Any) -> GraphBreak:
    """gm.compile_subgraph_reason: text with paragraphs that open with 'Explanation:', 'Hint:'."""
    if reason is None:
        return GraphBreak("return_value", is_break=False)
    parts: list[str] = [""]
    for line in str(reason.reason).splitlines():
        if line.strip().startswith(_HEADINGS):
            parts.append(line.strip())
        else:
            parts[-1] += ("\n" if parts[-1] else "") + line.strip()

    def under(heading: str) -> list[str]:
        return [
            " ".join(part[len(heading) :].split()) for part in parts if part.startswith(heading)
        ]

    # The text quotes lines of traces with their files.
    explanation = re.sub(
        r'File "([^"]+)"',
        lambda file: f'File "{short_path(file.group(1))}"',
        " ".join(under("Explanation:")),
    )
    hints = under("Hint:")
    if parts[0].startswith("generic_jump") and not explanation:
        explanation = "a branch or loop depends on what a tensor holds"
        hints = ["Compute both sides and choose with torch.where, or use torch.cond."]
    elif parts[0] == "step_unsupported" and not explanation:
        explanation = "Dynamo cannot trace this line, and goes on behind it"
    title = re.sub(r"0x[0-9a-f]+", "0x…", " ".join(parts[0].split()))
    return GraphBreak(
        title, explanation, hints, bool(reason.graph_break), source_lines(reason.user_stack)
    )


def _without_addresses(code: str) -> str:
    code = re.sub(r"(___check_(?:obj|type)_id\(.*), \d{6,}\)", r"\1)", code)
    # Dynamo names its globals by addresses, too: _139657337907744_c0.
    code = re.sub(r"(?<!\d)\d{9,}(?!\d)", "…", code)
    return re.sub(r"0x[0-9a-f]+", "0x…", code)


def _value(code: list[str]) -> Any:
    """Returns the value that a guard compares with, if that is plain data."""
    for line in reversed(code):
        equal = re.search(r" (?:==|is) (.+)$", line)
        if equal:
            found = _literal(equal.group(1))
            if found is not None:
                return found
    return None


def _literal(text: str) -> Any:
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return None
    if isinstance(value, tuple):
        return list(value)
    return value if isinstance(value, (bool, int, float, str, list)) else None


class RawGuard(NamedTuple):
    """The facts of a torch._guards.Guard, after Dynamo has built the code that checks it. The guard
    itself holds tracebacks, which PyTorch cannot free in any order when Python ends."""

    kind: str
    name: str
    code: list[str]
    stack: Any


def raw_guard(guard: Any) -> RawGuard:
    return RawGuard(
        (guard.guard_types or [guard.create_fn_name()])[-1],
        str(guard.name),
        guard.code_list or [],
        guard.user_stack,
    )


def read_guard(guard: RawGuard, tensors: dict[str, dict[str, Any]]) -> GuardRecord:
    """tensors: facts about tensors by name, which the code does not repeat."""
    code = [_without_addresses(str(line)) for line in guard.code]
    kind = str(guard.kind)
    value: Any = None
    if kind == "TENSOR_MATCH":
        value = tensors.get(guard.name)
        code = [
            f"check_tensor({guard.name}, "
            + ", ".join(f"{key}={fact}" for key, fact in (value or {}).items())
            + ")",
            *code,
        ]
    elif kind != "SHAPE_ENV":
        value = _value(code)
    lines = source_lines((guard.stack or [])[-1:])
    return GuardRecord(
        kind, _without_addresses(guard.name), code, value, lines[-1] if lines else None
    )


def attribute_of(source: str) -> str | None:
    """Returns the path of a parameter, buffer or module that one of Dynamo's sources names:
    L['self']._modules['fc']._parameters['weight'] is fc.weight."""
    parts = re.findall(r"_(?:modules|parameters|buffers)\['([^']*)'\]", source)
    return ".".join(parts) if parts and re.search(r"_(?:parameters|buffers)\[", source) else None


def as_dict(record: Any) -> dict[str, Any]:
    """Returns a record of this module for json; empty fields are null."""
    made: dict[str, Any] = {}
    for key, value in vars(record).items():
        if isinstance(value, SourceLine):
            value = as_dict(value)
        elif isinstance(value, list):
            value = [as_dict(item) if isinstance(item, SourceLine) else item for item in value]
        made[key] = None if value == "" else value
    return made
