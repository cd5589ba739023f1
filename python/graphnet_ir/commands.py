"""The commands of the program graphnet as functions.

    found = graphnet_ir.commands.stats("samples/bert.pb", cost=True)
    found.records()
    print(graphnet_ir.commands.stats("samples", text=True))

Each command of docs/commands.md is a function of its name, with `_` for `-`. Operands are its
positional arguments, and options are named ones: `--cost-by module` is cost_by="module". A function
returns the Report that the command prints with --json, or with text=True what it prints without.
Options that hold until the process ends (--library, --schema, --trust-files) need the program.
"""

from __future__ import annotations

import inspect
import json
import keyword
import os
from collections.abc import Callable, Mapping
from typing import Any

from graphnet_ir import _core
from graphnet_ir.report import Report

# The types of values in Python, by the names that the tool's help has for them.
_TYPES = {
    "": "bool",
    "INT": "int",
    "UINT": "int",
    "FLOAT": "float",
    "FILE": "Path",
    "DIR": "Path",
    "PATH": "Path",
}
_NOT_HERE = ("--json", "--help", "--progress", "--library", "--schema", "--trust-files")


def _name(option: Mapping[str, Any]) -> str:
    """Returns the name of an option or operand in Python: that of its longest spelling."""
    name = str(max(option["names"], key=len)).lstrip("-").lower().replace("-", "_")
    return f"{name}_" if keyword.iskeyword(name) else name


def _words(option: Mapping[str, Any], value: Any) -> list[str]:
    """Returns the words by which a command line gives an option its value."""
    flag = max(option["names"], key=len)
    if value is None or value is False:
        return []
    if not option["takes"]:
        return [flag]
    values = value if option["repeated"] and not isinstance(value, (str, os.PathLike)) else [value]
    return [f"{flag}={os.fspath(v) if isinstance(v, os.PathLike) else v}" for v in values]


def _signature(row: Mapping[str, Any]) -> tuple[inspect.Signature, dict[str, Any]]:
    """Returns the signature of a command, and its options by their names in Python."""
    kinds = inspect.Parameter
    operands, named, options = [], [], {}
    for operand in row["operands"]:
        if operand["repeated"]:
            operands.append(kinds(_name(operand), kinds.VAR_POSITIONAL, annotation="Path"))
        else:
            default = kinds.empty if operand["required"] else None
            kind = "Path" if operand["required"] else "Path | None"
            operands.append(
                kinds(_name(operand), kinds.POSITIONAL_ONLY, default=default, annotation=kind)
            )
    taken = {operand.name for operand in operands}
    for option in row["options"]:
        if _name(option) in taken or any(name in _NOT_HERE for name in option["names"]):
            continue
        options[_name(option)] = option
        kind = _TYPES.get(option["takes"], "str")
        if option["repeated"]:
            kind = f"{kind} | Sequence[{kind}]"
        if option["required"]:
            named.append(kinds(_name(option), kinds.KEYWORD_ONLY, annotation=kind))
        else:
            default = None if option["takes"] else False
            kind = kind if default is False else f"{kind} | None"
            named.append(kinds(_name(option), kinds.KEYWORD_ONLY, default=default, annotation=kind))
    text = kinds("text", kinds.KEYWORD_ONLY, default=False, annotation="bool")
    return inspect.Signature([*operands, *named, text], return_annotation="Any"), options


def _function(row: Mapping[str, Any]) -> Callable[..., Any]:
    """Makes the function of a command."""
    signature, options = _signature(row)
    has_json = any("--json" in option["names"] for option in row["options"])

    def command(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        words, operands = [str(row["name"])], []
        wants_text = bool(bound.arguments.pop("text", False)) or not has_json
        for name, value in bound.arguments.items():
            if name in options:
                words += _words(options[name], value)
            else:
                operands += value if isinstance(value, tuple) else [value]
        words += [] if wants_text else ["--json"]
        words += ["--", *(os.fspath(operand) for operand in operands if operand is not None)]
        code, printed, notes = _core._call_command(words)
        return printed if wants_text else Report(json.loads(printed), code, notes)

    command.__name__ = command.__qualname__ = str(row["name"]).replace("-", "_")
    command.__module__ = __name__
    command.__doc__ = "\n".join(
        [f"{row['help']}.", "", *(f"{name}: {option['help']}." for name, option in options.items())]
    )
    command.__signature__ = signature  # type: ignore[attr-defined]
    return command


def functions() -> dict[str, Callable[..., Any]]:
    """Returns the functions of all commands by their names."""
    return {made.__name__: made for made in map(_function, _core._commands())}


globals().update(functions())
