"""Saves what is sound in a damaged corpus, as a new corpus. The damaged one stays as it is.

A graph is sound if its bytes can be read and have the hash or the digest of their row. All columns
are made anew from it. An occurrence is sound if its fields have the hash that is its id.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from graphnet_ir import _core
from graphnet_ir._core import Error
from graphnet_ir.corpus import layout, views
from graphnet_ir.corpus.adding import Addition, rows_of_samples, source_id
from graphnet_ir.corpus.durable import sync_file_system
from graphnet_ir.corpus.engines import pa, parquet
from graphnet_ir.corpus.origins import Origin
from graphnet_ir.corpus.schema import GRAPHS
from graphnet_ir.corpus.tables import Table, engine_errors
from graphnet_ir.corpus.verifying import Finding, batches

_ROWS_A_CALL = 256


@dataclass
class Repaired:
    """Says what a repair saved."""

    graphs: int = 0
    occurrences: int = 0
    dropped: list[Finding] = field(default_factory=list)  # what is lost, and why

    def __str__(self) -> str:
        return (
            f"{self.graphs} graphs and {self.occurrences} occurrences saved, "
            f"{len(self.dropped)} losses"
        )


class Repair:
    """Fills a new corpus. `opened` opens a table of the damaged one, and says why it is not the
    newest version, or raises Error."""

    def __init__(
        self, path: str, new: Any, opened: Callable[[str], tuple[Table, str | None]], weights: Any
    ):
        self._path = path
        self._new = new
        self._weights = weights
        self.done = Repaired()
        self._tables: dict[str, Table | None] = {}
        for kind in layout.TABLES:
            try:
                self._tables[kind], why = opened(kind)
                if why is not None:
                    self._lose("unreadable", kind, "the newest rows", why)
            except Error as error:
                self._tables[kind] = None
                self._lose("unreadable", kind, "all rows", str(error))

    def _lose(self, kind: str, table: str, row: str, why: str) -> None:
        self.done.dropped.append(Finding(kind, table, row, why))

    def run(self) -> None:
        self._read_jsons()
        self._read_sources()
        work = Addition(self._new, Origin(), None, with_weights=True)
        for samples, rows in self._samples():
            for made in rows_of_samples(samples):
                work.take(made, [rows.pop(0) for _ in range(made.table.num_rows)])
        for name, reason in work.finish().refused:
            self._lose("damaged", "graphs", name, reason)
        self._copy_columns()
        self._copy_jobs()
        self._copy_views()
        sync_file_system(self._new.path)
        self._new.refresh()
        self.done.graphs, self.done.occurrences = len(self._new), len(self._new.sources)

    def _rows(self, kind: str, columns: list[str]) -> Iterator[Any]:
        """Yields what can be read of a table."""
        table = self._tables[kind]
        if table is None:
            return
        for batch in batches(table, columns, kind):
            if isinstance(batch, Finding):
                self.done.dropped.append(batch)
            else:
                yield batch

    def _read_jsons(self) -> None:
        self._texts: dict[bytes, str] = {}
        for batch in self._rows("jsons", ["id", "text"]):
            for row in batch.to_pylist():
                if hashlib.sha256(row["text"].encode()).digest() == row["id"]:
                    self._texts[row["id"]] = row["text"]

    def _read_sources(self) -> None:
        """Reads occurrences by graph, and graphs of their own where they have some."""
        self._sources: dict[bytes, list[dict[str, Any]]] = {}
        table = self._tables["sources"]
        for batch in self._rows("sources", [] if table is None else table.columns):
            rows = batch.to_pylist()
            for row in rows:
                if source_id(row) != row["id"]:
                    self._lose(
                        "damaged",
                        "sources",
                        row["id"].hex(),
                        f"its fields have another hash ({row['path']})",
                    )
                    continue
                self._sources.setdefault(row["hash"], []).append(row)

    def _samples(self) -> Iterator[tuple[list[Any], list[dict[str, Any]]]]:
        """Yields samples with their rows of sources."""
        for batch in self._rows("graphs", ["hash", "blob", "digest"]):
            rows = batch.to_pylist()
            made = pa.array(_core._corpus_rows([row["blob"] for row in rows])).to_pylist()
            for row, again in zip(rows, made):
                digest = hashlib.sha256(row["blob"]).digest()[:16]
                is_sound = again["refused"] is None and (
                    again["hash"] == row["hash"] or digest == row["digest"]
                )
                if is_sound:
                    yield self._occurrences(again["hash"], row["blob"], digest)
        # Graphs that are lost may be in an occurrence that has its own form.
        for hash in list(self._sources):
            rows = self._sources[hash]
            for row in rows:
                if row["blob"] is not None and self._is_graph(row["blob"], hash):
                    yield self._occurrences(hash, row["blob"], row["digest"])
                    break
            else:
                self._lose(
                    "missing",
                    "graphs",
                    hash.hex(),
                    f"its bytes are lost, and {len(rows)} occurrences with it, such as "
                    f"{rows[0]['path']}",
                )

    @staticmethod
    def _is_graph(blob: bytes, hash: bytes) -> bool:
        (made,) = pa.array(_core._corpus_rows([blob])).to_pylist()
        return made["refused"] is None and bool(made["hash"] == hash)

    def _occurrences(
        self, hash: bytes, blob: bytes, digest: bytes
    ) -> tuple[list[Any], list[dict[str, Any]]]:
        """Returns the samples of a graph that was found, each with its row."""
        rows = self._sources.pop(hash, [])
        if not rows:
            self._lose("missing", "sources", hash.hex(), "where this graph comes from is lost")
            rows = [
                {
                    "path": hash.hex(),
                    "place": 0,
                    "name": hash.hex(),
                    "source": None,
                    "model": None,
                    "revision": None,
                    "licence": None,
                    "parents": [],
                    "json": None,
                    "digest": digest,
                    "blob": None,
                }
            ]
        samples = []
        for row in rows:
            own = blob
            if row["digest"] != digest:
                if row["blob"] is not None and self._is_graph(row["blob"], hash):
                    own = row["blob"]
                else:
                    self._lose(
                        "missing",
                        "sources",
                        row["id"].hex(),
                        f"its own names of values are lost ({row['path']})",
                    )
            sample = _core.load_bytes(own, f"graph {hash.hex()}")
            sample.name = row["name"]
            if row["json"] is not None:
                if row["json"] in self._texts:
                    sample.graph_net_json = self._texts[row["json"]]
                else:
                    self._lose(
                        "missing",
                        "jsons",
                        row["json"].hex(),
                        f"the graph_net.json of {row['path']} is lost",
                    )
            if row.get("weights") is not None:
                try:
                    self._weights.give(sample, row["weights"])
                except Error as error:
                    self._lose(
                        "damaged",
                        "weights",
                        row["weights"].hex(),
                        f"the weights of {row['path']} are lost: {error}",
                    )
            samples.append(sample)
        return samples, list(rows)

    def _copy_columns(self) -> None:
        """Copies the columns that jobs added."""
        table = self._tables["graphs"]
        if table is None:
            return
        names = [name for name in table.dataset.schema.names if name not in GRAPHS.names]
        if not names:
            return
        before = len(self.done.dropped)
        found = list(self._rows("graphs", ["hash", *names]))
        # Rows that cannot be read were named already.
        lost = [
            finding
            for finding in self.done.dropped[before:]
            if finding not in self.done.dropped[:before]
        ]
        self.done.dropped[before:] = lost
        if found:
            self._new.graphs.set_columns(pa.concat_tables(found))

    def _copy_jobs(self) -> None:
        """Copies jobs. Tasks whose file is damaged are done again when the job goes on."""
        for folder in sorted(glob.glob(os.path.join(glob.escape(self._path), "jobs", "*"))):
            name = os.path.basename(folder)
            try:
                with open(os.path.join(folder, "job.json"), encoding="utf-8") as file:
                    json.load(file)
                if os.path.getsize(os.path.join(folder, "graphs.bin")) % 32 != 0:
                    raise ValueError("graphs.bin is cut")
            except (OSError, ValueError, RecursionError) as error:
                self._lose("damaged", "jobs", name, f"the job begins anew: {error}")
                continue
            out = os.path.join(self._new.path, "jobs", name)
            os.makedirs(out)
            for file_name in ("job.json", "graphs.bin"):
                shutil.copyfile(os.path.join(folder, file_name), os.path.join(out, file_name))
            for part in sorted(glob.glob(os.path.join(glob.escape(folder), "part-*.parquet"))):
                try:
                    with engine_errors(part):
                        parquet.read_table(part, page_checksum_verification=True)
                except Error as error:
                    self._lose(
                        "damaged",
                        "jobs",
                        f"{name}/{os.path.basename(part)}",
                        f"this task is done again: {error}",
                    )
                else:
                    shutil.copyfile(part, os.path.join(out, os.path.basename(part)))

    def _copy_views(self) -> None:
        for path in sorted(glob.glob(os.path.join(glob.escape(self._path), "views", "*.parquet"))):
            name = os.path.basename(path)[: -len(".parquet")]
            try:
                views.save(self._new.path, name, views.load(self._path, name))
            except Error as error:
                self._lose("damaged", "views", name, str(error))
