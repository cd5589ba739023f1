"""Reads all of a corpus and names what is wrong."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from graphnet_ir import _core
from graphnet_ir._core import Error
from graphnet_ir.corpus import layout
from graphnet_ir.corpus.adding import digests, graph_rows, source_id
from graphnet_ir.corpus.engines import pa, pc
from graphnet_ir.corpus.schema import GRAPHS

_ROWS_A_CALL = 256


@dataclass(frozen=True)
class Finding:
    """Something that is wrong."""

    kind: str  # 'unreadable', 'damaged', 'differs', 'twice', 'missing' or 'unfinished'
    table: str  # 'graphs', 'sources', 'jsons' or 'weights'; of a repair also 'jobs' or 'views'
    row: str  # the row's hash or id, or which rows of which file
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.table}: {self.row}: {self.text}"


def findings(corpus: Any) -> Iterator[Finding]:
    """Yields what is wrong in a corpus."""
    for table in layout.TABLES:
        for path in layout.cut_off(layout.table_path(corpus.path, table))[0]:
            yield Finding(
                "unfinished",
                table,
                os.path.basename(path),
                "a commit was cut off, and the next one removes it",
            )
    hashes: dict[bytes, bytes] = {}  # with the digests of their blobs
    for batch in batches(corpus.graphs, GRAPHS.names, "graphs"):
        if isinstance(batch, Finding):
            yield batch
            continue
        for hash, digest in zip(
            batch.column("hash").to_pylist(), batch.column("digest").to_pylist()
        ):
            if hash in hashes:
                yield Finding("twice", "graphs", hash.hex(), "another row has this key")
            hashes[hash] = digest
        yield from _graphs(batch, corpus.is_current, corpus.graphs.schema)
    jsons: set[bytes] = set()
    for batch in batches(corpus.jsons, ["id", "text"], "jsons"):
        if isinstance(batch, Finding):
            yield batch
            continue
        ids = batch.column("id").to_pylist()
        yield from _twice(ids, jsons, "jsons")
        for id, text in zip(ids, batch.column("text").to_pylist()):
            if hashlib.sha256(text.encode()).digest() != id:
                yield Finding("damaged", "jsons", id.hex(), "its hash differs")
    yield from _sources(corpus, hashes, jsons)


def batches(table: Any, columns: list[str], name: str) -> Iterator[Any]:
    """Yields all rows as tables. Where rows cannot be read, yields a Finding that names them, and
    goes on behind them."""
    for fragment in table.dataset.get_fragments():
        rows = fragment.count_rows()
        paths = [file.path for file in fragment.data_files()]
        files = ", ".join(paths)
        lost = [
            path for path in paths if not os.path.isfile(os.path.join(table.path, "data", path))
        ]
        if lost:
            yield Finding(
                "unreadable", name, f"{rows} rows of {files}", f"{', '.join(lost)} is not there"
            )
            continue
        for begin in range(0, rows, _ROWS_A_CALL):
            yield from _readable(
                table, fragment, columns, begin, min(begin + _ROWS_A_CALL, rows), name, files
            )


def _readable(
    table: Any, fragment: Any, columns: list[str], begin: int, end: int, name: str, files: str
) -> Iterator[Any]:
    from graphnet_ir.corpus.tables import engine_errors

    try:
        with engine_errors(table.path):
            made = fragment.take(list(range(begin, end)), columns=columns)
    except Error as error:
        if end - begin == 1:
            yield Finding("unreadable", name, f"row {begin} of {files}", str(error))
            return
        middle = (begin + end) // 2
        yield from _readable(table, fragment, columns, begin, middle, name, files)
        yield from _readable(table, fragment, columns, middle, end, name, files)
        return
    yield made


def _twice(keys: list[bytes], seen: set[bytes], table: str) -> Iterator[Finding]:
    for key in keys:
        if key in seen:
            yield Finding("twice", table, key.hex(), "another row has this key")
        seen.add(key)


def _graphs(batch: Any, is_current: bool, schema: Any) -> Iterator[Finding]:
    """Compares rows with what C++ makes of their graphs."""
    hashes = batch.column("hash").to_pylist()
    sound = []
    is_sound = pc.equal(batch.column("digest"), digests(batch.column("blob")))
    for index, is_sound_one in enumerate(is_sound.to_pylist()):
        if is_sound_one:
            sound.append(index)
        else:
            yield Finding("damaged", "graphs", hashes[index].hex(), "the graph's digest differs")
    rows = batch.take(pa.array(sound, pa.int64()))
    made = pa.Table.from_struct_array(
        pa.array(_core._corpus_rows([blob.as_py() for blob in rows.column("blob")]))
    )
    refused = made.column("refused").to_pylist()
    readable = [index for index, reason in enumerate(refused) if reason is None]
    for index, reason in enumerate(refused):
        if reason is not None:
            yield Finding("damaged", "graphs", hashes[sound[index]].hex(), reason)
    if not is_current:  # The columns have other meanings here.
        return
    places = pa.array(readable, pa.int64())
    there, made = rows.take(places), made.take(places)
    again = graph_rows(made, digests(made.column("blob")), schema)
    for index, hash in enumerate(there.column("hash").to_pylist()):
        wrong = [
            name
            for name in GRAPHS.names
            if not there.column(name)[index].equals(again.column(name)[index])
        ]
        if wrong:
            yield Finding(
                "differs", "graphs", hash.hex(), f"the graph has another {', '.join(wrong)}"
            )


def _sources(corpus: Any, hashes: dict[bytes, bytes], jsons: set[bytes]) -> Iterator[Finding]:
    ids: set[bytes] = set()
    sourced: set[bytes] = set()
    weights: dict[bytes, str | None] = {}  # with what is wrong with them
    for batch in batches(corpus.sources, corpus.sources.columns, "sources"):
        if isinstance(batch, Finding):
            yield batch
            continue
        rows: list[dict[str, Any]] = batch.to_pylist()
        yield from _twice([row["id"] for row in rows], ids, "sources")
        for row in rows:
            sourced.add(row["hash"])
            if source_id(row) != row["id"]:
                yield Finding("damaged", "sources", row["id"].hex(), "its hash differs")
            if row["hash"] not in hashes:
                yield Finding(
                    "missing", "sources", row["id"].hex(), f"there is no graph {row['hash'].hex()}"
                )
            elif row["blob"] is None and row["digest"] != hashes[row["hash"]]:
                yield Finding("missing", "sources", row["id"].hex(), "its own blob is not there")
            if row["json"] is not None and row["json"] not in jsons:
                yield Finding(
                    "missing",
                    "sources",
                    row["id"].hex(),
                    f"there is no graph_net.json {row['json'].hex()}",
                )
            if (id := row.get("weights")) is not None and id not in weights:
                weights[id] = corpus.weights.problem(id)
                if (problem := weights[id]) is not None:
                    yield Finding("damaged", "weights", id.hex(), problem)
        yield from _own_blobs(rows, corpus.is_current)
    for hash in sorted(set(hashes) - sourced):
        yield Finding(
            "unfinished",
            "graphs",
            hash.hex(),
            "it has no source: an addition was killed, and adding the same completes it",
        )


def _own_blobs(rows: list[dict[str, Any]], is_current: bool) -> Iterator[Finding]:
    """Compares the blobs of sources with their digests and with the graphs that they belong to."""
    rows = [row for row in rows if row["blob"] is not None]
    made = pa.array(_core._corpus_rows([row["blob"] for row in rows])).to_pylist()
    for row, again in zip(rows, made):
        if hashlib.sha256(row["blob"]).digest()[:16] != row["digest"]:
            yield Finding("damaged", "sources", row["id"].hex(), "its blob's digest differs")
        elif again["refused"] is not None:
            yield Finding("damaged", "sources", row["id"].hex(), again["refused"])
        elif is_current and again["hash"] != row["hash"]:
            yield Finding("differs", "sources", row["id"].hex(), "its blob is another graph")
