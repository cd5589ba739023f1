"""Reads what exporting.py wrote as Parquet, or a stranger who says so.

Nothing in it is trusted: each row is made anew from the bytes of its graph.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from typing import Any

from graphnet_ir import _core
from graphnet_ir._core import Error, Sample
from graphnet_ir._errors import made_error
from graphnet_ir.corpus import exporting
from graphnet_ir.corpus.adding import ROWS_A_CALL, Addition, rows_of_samples
from graphnet_ir.corpus.engines import pa, parquet
from graphnet_ir.corpus.weights import Weights

_MAX_GROUP_BYTES = 2 << 30
"""How many bytes a group of rows may say that it has. All of it is in memory at once."""

Source = dict[str, Any] | None
"""A row of sources, as Addition.take wants it. None: the graph has no such occurrence."""


class Import:
    """Adds the graphs and the occurrences of an export to a corpus."""

    def __init__(self, folder: str, work: Addition, weights: bool):
        self._folder = folder
        self._work = work
        self._weights = Weights(folder) if weights else None

    def run(self) -> None:
        data = os.path.join(self._folder, "data")
        names = sorted(os.listdir(data)) if os.path.isdir(data) else []
        names = [name for name in names if name.endswith(".parquet")]
        if not names:
            raise made_error(
                "not_found",
                f"{self._folder} is no export of a corpus: it has no files data/*.parquet",
            )
        for name in names:
            self._import_file(os.path.join(data, name))

    def _import_file(self, path: str) -> None:
        """Adds the rows of a file. What cannot be read is refused, and the rest is added."""
        try:
            if not os.path.isfile(path):
                raise made_error("invalid_argument", "it is not a file")
            file = parquet.ParquetFile(path)
        except _UNREADABLE as error:
            self._work.refuse(path, _one_line(error))
            return
        with file:
            made_here = _hash_version(file.schema_arrow) == _core.HASH_VERSION
            for group in range(file.num_row_groups):
                try:
                    size = file.metadata.row_group(group).total_byte_size
                    if size > _MAX_GROUP_BYTES:
                        raise made_error(
                            "resource_exhausted",
                            f"{size} bytes are over the limit of {_MAX_GROUP_BYTES}",
                        )
                    rows = _known_columns(file.read_row_group(group, list(_COLUMNS)))
                except _UNREADABLE as error:
                    self._work.refuse(f"{path}, group {group}", _one_line(error))
                    continue
                for place in range(rows.num_rows):
                    self._import_row(
                        f"{path}, group {group}, row {place}", rows.slice(place, 1), made_here
                    )

    def _import_row(self, name: str, row: Any, made_here: bool) -> None:
        try:
            (told,) = row.to_pylist()  # Fails for text that is not UTF-8.
            graph = _core.load_bytes(told["blob"] or b"", f"graph {told['hash']}")
            hash = _core.canonical_hash(graph, metas=True)
            if made_here and hash != told["hash"]:
                raise made_error("data_loss", f"its graph has the hash {hash}")
        except (Error, ValueError) as error:
            self._work.refuse(name, _one_line(error))
            return
        pairs = self._occurrences(name, told, graph, hash)
        while group := list(itertools.islice(pairs, ROWS_A_CALL)):
            (rows,) = rows_of_samples([sample for _, sample in group])
            self._work.take(rows, [source for source, _ in group])

    def _occurrences(
        self, name: str, told: dict[str, Any], graph: Sample, hash: str
    ) -> Iterator[tuple[Source, Sample]]:
        """Yields the occurrences of a graph. Before them comes one that has its very bytes, which
        the corpus keeps, or the graph itself."""
        there = [one for one in told["occurrences"] or [] if one is not None]
        if not there:
            self._work.refuse(name, "it has no occurrence")
        is_first = True
        for one in sorted(there, key=lambda one: one["blob"] is not None):
            try:
                pair = self._occurrence(one, told["blob"], hash)
            except (Error, ValueError) as error:
                self._work.refuse(f"{name}, {one['path']}", _one_line(error))
                continue
            if is_first and one["blob"] is not None:
                yield None, graph
            is_first = False
            yield pair

    def _occurrence(self, told: dict[str, Any], blob: bytes, hash: str) -> tuple[Source, Sample]:
        sample = _core.load_bytes(blob if told["blob"] is None else told["blob"], "an occurrence")
        if _core.canonical_hash(sample, metas=True) != hash:
            raise made_error("data_loss", "it is an occurrence of another graph")
        source = {name: told[name] for name in _ORIGIN}
        source["path"], source["name"] = told["path"] or "", told["name"] or ""
        source["place"] = told["place"] or 0
        source["parents"] = [one for one in told["parents"] or [] if one is not None]
        sample.name = source["name"]
        sample.graph_net_json = told["graph_net_json"] or ""
        if told["weights"] is not None and self._weights is not None:
            id = bytes.fromhex(told["weights"])
            if len(id) != 32:
                raise made_error("invalid_argument", f"{told['weights']} is no id of weights")
            self._weights.give(sample, id)
        return source, sample


_UNREADABLE = (Error, OSError, ValueError, pa.ArrowException)
_ORIGIN = exporting.ORIGIN
_COLUMNS = {
    "hash": pa.utf8(),
    "blob": pa.binary(),
    "occurrences": pa.list_(exporting.occurrence_type()),
}


def _known_columns(rows: Any) -> Any:
    """Returns the columns that are read, each of its type."""
    made: list[Any] = []
    for name, type in _COLUMNS.items():
        if name not in rows.column_names:
            raise made_error("invalid_argument", f"it has no column {name}")
        made.append(rows.column(name).cast(type))
    return pa.table(made, names=list(_COLUMNS))


def _hash_version(schema: Any) -> int | None:
    """Returns the version of the hashes, if it is known."""
    try:
        told = json.loads(schema.metadata[exporting.VERSIONS])["hash_version"]
    except (TypeError, KeyError, ValueError, RecursionError):
        return None
    return told if type(told) is int else None


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
