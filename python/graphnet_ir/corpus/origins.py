"""Where a sample comes from: what its graph_net.json and the provenance of a harvest say."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

_MAX_BYTES = 64 << 20


@dataclass(frozen=True)
class Origin:
    """What is known about the model of a sample; None if it is not known."""

    source: str | None = None
    model: str | None = None
    revision: str | None = None
    licence: str | None = None


def _object(text: Any) -> dict[str, Any]:
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def _text(told: dict[str, Any], key: str) -> str | None:
    value = told.get(key)
    return value if isinstance(value, str) and value else None


def preferred(given: Origin, found: Origin) -> Origin:
    """Returns what is given, and what was found where nothing is given."""
    return Origin(
        *(
            value if value is not None else getattr(found, name)
            for name, value in vars(given).items()
        )
    )


class Origins:
    """The origins of the samples below a folder. What `given` has is preferred."""

    def __init__(self, given: Origin, root: str | None = None):
        self._given = given
        self._root = root and os.path.abspath(root)
        self._harvested: dict[str, Origin] = {}

    def of(self, path: str | None, graph_net_json: str | None) -> Origin:
        told = _object(graph_net_json) if graph_net_json else {}
        harvested = self._folder(os.path.abspath(path)) if path else Origin()
        found = Origin(
            harvested.source or _text(told, "source"),
            harvested.model or _text(told, "model_name"),
            harvested.revision,
            harvested.licence,
        )
        return preferred(self._given, found)

    def _folder(self, folder: str) -> Origin:
        """Returns what the nearest provenance.json at or above a folder says."""
        if folder not in self._harvested:
            found = self._read(os.path.join(folder, "provenance.json"))
            above = os.path.dirname(folder)
            if found is None and self._root and folder != self._root and above != folder:
                found = self._folder(above)
            self._harvested[folder] = found or Origin()
        return self._harvested[folder]

    @staticmethod
    def _read(path: str) -> Origin | None:
        try:
            with open(path, "rb") as file:
                told = _object(file.read(_MAX_BYTES))
        except OSError:
            return None
        if told.get("format") != "graphnet harvest":
            return None
        return Origin(
            _text(told, "library"),
            _text(told, "model"),
            _text(told, "revision"),
            _text(told, "licence"),
        )
