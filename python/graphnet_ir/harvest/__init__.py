"""Harvest: turns models of hubs and libraries into verified, published samples (docs/harvest.md).

from graphnet_ir.harvest import Options, harvest

for row in harvest(["hub-folder", "torchvision:resnet18"], "out", Options(jobs=2)):
    print(row.id, row.stage, row.failure)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from graphnet_ir.harvest.failures import CLASSES, Failure
from graphnet_ir.harvest.journal import ENDS, STAGES, Row
from graphnet_ir.harvest.runner import Options, harvest
from graphnet_ir.harvest.sources import Access, Model, Source
from graphnet_ir.limited.processes import Limits


@dataclass(frozen=True)
class PythonModel:
    """A model that `models()` of a Python file yields."""

    name: str
    build: Callable[[], Any]  # makes the module
    inputs: Callable[[], dict[str, Any]]  # makes the keyword arguments of a call
    licence: str | None = None  # None if it is unknown


__all__ = [
    "Access",
    "CLASSES",
    "ENDS",
    "Failure",
    "Limits",
    "Model",
    "Options",
    "PythonModel",
    "Row",
    "STAGES",
    "Source",
    "harvest",
]
