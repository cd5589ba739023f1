"""Loads the user's Python files as modules."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

from graphnet_ir._errors import made_error
from graphnet_ir.harvest.failures import described

_PRELUDE = "graphnet_harvest_prelude"


def load_file(name: str, path: str) -> Any:
    """Returns the module in a file, which stays loaded."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_prelude(path: str) -> None:
    """Runs the prelude in this process, unless it has run here. Raises Error if it fails."""
    if getattr(sys.modules.get(_PRELUDE), "__file__", None) == path:
        return
    try:
        load_file(_PRELUDE, path)
    except Exception as error:
        raise made_error("invalid_argument", f"{path}: {described(error)}") from error
