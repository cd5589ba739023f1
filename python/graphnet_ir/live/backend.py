"""The backend "graphnet" of torch.compile."""

from __future__ import annotations

import atexit
import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch

from graphnet_ir._core import Error
from graphnet_ir._errors import made_error
from graphnet_ir.live.capture import Capture

_captures: dict[tuple[str, str | None], Capture] = {}


def backend(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    options: dict[str, Any] | None = None,
    **_: Any,
) -> Callable[..., Any]:
    """torch.compile(…, backend="graphnet", options={"name": …, "workspace": …}).

    Options are those of Capture except verify, since a backend never sees a whole call. Everything
    that is compiled under one name is one capture. captured(name) returns it, and it is saved when
    Python ends, or by its save().
    """
    options = dict(options or {})
    name = options.pop("name", "graphnet")
    workspace = options.pop("workspace", None) or os.environ.get("GRAPH_NET_EXTRACT_WORKSPACE")
    if options.pop("verify", False):
        raise made_error(
            "unimplemented",
            "backend='graphnet' sees no whole call to verify: use graphnet_ir.capture",
        )
    key = (name, None if workspace is None else os.path.abspath(workspace))
    if key not in _captures:
        _captures[key] = Capture(name, workspace, **options)
    return _captures[key].compile(gm, example_inputs)


def captured(name: str = "graphnet") -> Capture:
    """Returns the capture that backend="graphnet" fills under a name."""
    found = [capture for (known, _), capture in _captures.items() if known == name]
    if not found:
        raise KeyError(f"nothing was compiled under the name {name}")
    return found[-1]


@atexit.register
def _save_all() -> None:
    for capture in _captures.values():
        # A forked process leaves the folder to its parent.
        if capture.workspace is not None and capture._process == os.getpid():
            try:
                capture.save()
            except (Error, OSError) as error:
                warnings.warn(f"{capture.name} was not saved: {error}", stacklevel=1)
