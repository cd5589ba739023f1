"""Adds samples to a corpus: rows from C++, then one commit a table, each synced.

The order is weights, jsons, graphs, sources. So what a source names is always there, and a graph without a
source is left of an addition that was killed. Adding the same samples again completes it.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from graphnet_ir import _core
from graphnet_ir._core import Error, Module, Sample
from graphnet_ir.corpus import layout
from graphnet_ir.corpus.engines import pa, pc
from graphnet_ir.corpus.origins import Origin, Origins, preferred
from graphnet_ir.corpus.schema import DIGEST, FACTS, HASH, JSONS, NEAR_AT, SOURCES

ROWS_A_CALL = 256
"""How many samples C++ reads at a time."""

# A commit comes after so many graphs, or so many bytes of them.
ROWS_A_COMMIT = 10_000
BYTES_A_COMMIT = 256 << 20

# The columns of an occurrence that tell it from others.
_TELLING = operator.itemgetter(
    *(name for name in SOURCES.names if name not in ("id", "licence", "blob", "weights"))
)


@dataclass
class Added:
    """The result of an addition."""

    added: int = 0  # samples whose graph the corpus had not
    known: int = 0  # samples whose graph it had, from before or from an earlier sample
    occurrences: int = 0  # rows of sources that it had not
    refused: list[tuple[str, str]] = field(default_factory=list)  # samples, each with the reason
    without_weights: int = 0  # samples whose weights have values that the corpus was not given

    def __str__(self) -> str:
        return (
            f"{self.added} added, {self.known} known, {len(self.refused)} refused; "
            f"{self.occurrences} new occurrences"
        )


@dataclass
class Rows:
    """Rows from C++."""

    table: Any
    # Yields the samples with weights at ascending places, or the errors.
    samples: Callable[[list[int]], Iterator[Sample | Error]]
    root: str | None = None  # the folder that was given


def rows_of_paths(paths: Iterable[str]) -> Iterator[Rows]:
    """Yields rows of the samples at or below each path."""
    for root in paths:
        root = os.fspath(root)
        try:
            found = _core.find_samples([root])
        except Error:  # C++ refuses it below with its reason.
            found = [root]
        for begin in range(0, len(found), ROWS_A_CALL):
            made = _table(_core._corpus_rows_of_paths(found[begin : begin + ROWS_A_CALL]))
            yield Rows(made, functools.partial(_samples_of_paths, made), root)


def _samples_of_paths(rows: Any, places: list[int]) -> Iterator[Sample | Error]:
    there = rows.select(["path", "place"]).take(places).to_pylist()
    for path, group in itertools.groupby(there, lambda row: row["path"]):
        wanted = [row["place"] for row in group]
        try:
            found: Iterable[Sample | Error] = _core._samples_at(path, wanted)
        except Error as error:
            found = [error] * len(wanted)
        yield from found


def rows_of_samples(items: Iterable[Any]) -> Iterator[Rows]:
    """Yields rows of samples, modules and bytes of protobuf."""
    batch: list[Any] = []
    for item in items:
        if not isinstance(item, (Sample, Module, bytes)):
            raise TypeError(
                "a corpus takes paths, samples, modules and bytes of protobuf, not "
                f"{type(item).__name__}"
            )
        batch.append(item)
        if len(batch) == ROWS_A_CALL:
            yield _rows_of(batch)
            batch = []
    if batch:
        yield _rows_of(batch)


def _rows_of(items: list[Any]) -> Rows:
    def samples(places: list[int]) -> Iterator[Sample | Error]:
        for item in map(items.__getitem__, places):
            yield _core.load_bytes(item) if isinstance(item, bytes) else item

    return Rows(_table(_core._corpus_rows(items)), samples)


def _table(made: Any) -> Any:
    return pa.Table.from_struct_array(pa.array(made))


def near_tokens(features: Any, at: float, schema: Any) -> Any:
    """Returns the features that each graph shares with those that are as near, as they stand in
    the column `near` of a schema."""
    tokens = pa.array(_core._prefix_tokens(features, at))
    if schema.field("near").type.value_type == pa.uint64():
        return tokens
    # Two features with the same 32 bits only make another candidate.
    folded = pc.bit_wise_and(
        pc.bit_wise_xor(tokens.values, pc.shift_right(tokens.values, pa.scalar(32, pa.uint64()))),
        pa.scalar(0xFFFFFFFF, pa.uint64()),
    )
    return pa.ListArray.from_arrays(tokens.offsets, folded.cast(pa.uint32()))


def graph_rows(rows: Any, digest: Any, schema: Any) -> Any:
    """Makes rows of graphs.lance from those of C++, none of them refused, and the digests of their
    blobs."""
    near = near_tokens(rows.column("features").combine_chunks(), NEAR_AT, schema)
    made = {name: rows.column(name) for name in ["hash", *(fact.name for fact in FACTS)]}
    made["digest"] = digest
    made["features"] = pc.list_value_length(rows.column("features"))
    made["near"] = near
    return pa.table([made[name] for name in schema.names], schema=schema)


def digests(blobs: Any) -> Any:
    """Returns the digest of each blob."""
    return pa.array([hashlib.sha256(blob.as_buffer()).digest()[:16] for blob in blobs], DIGEST)


def source_row(
    hash: bytes,
    path: str,
    place: int,
    name: str,
    origin: Origin,
    parents: list[dict[str, Any]],
    json_id: bytes | None,
    digest: bytes,
    weights: bytes | None,
) -> dict[str, Any]:
    """Makes a row of sources.lance."""
    row: dict[str, Any] = {
        "hash": hash,
        "path": path,
        "place": place,
        "name": name,
        **vars(origin),
        "parents": parents,
        "json": json_id,
        "digest": digest,
        "blob": None,
        "weights": weights,
    }
    return {"id": source_id(row), **row}


def source_id(row: dict[str, Any]) -> bytes:
    """Returns the id of a row of sources.lance."""
    telling = [value.hex() if isinstance(value, bytes) else value for value in _TELLING(row)]
    if row.get("weights") is not None:
        telling.append(row["weights"].hex())
    return hashlib.sha256(json.dumps(telling, ensure_ascii=True).encode()).digest()


class Addition:
    """Takes rows and commits them from time to time; finish() commits the rest."""

    def __init__(
        self, corpus: Any, given: Origin, told: Callable[[Added], None] | None, with_weights: bool
    ):
        self._corpus = corpus
        self._given = given
        self._with_weights = with_weights and "weights" in corpus.sources.columns
        self._told = told
        self._done = Added()
        self._origins: dict[str | None, Origins] = {}
        self._empty()

    def _empty(self) -> None:
        self._graphs: list[Any] = []
        self._digests: dict[bytes, bytes] = {}  # of the graphs, by hash
        self._bytes = 0
        self._jsons: dict[bytes, str] = {}
        self._sources: dict[bytes, dict[str, Any]] = {}
        self._blobs: dict[bytes, Any] = {}  # of sources
        self._samples = 0
        self._refused: list[tuple[str, str]] = []
        self._without_weights = 0

    def refuse(self, name: str, reason: str) -> None:
        """Takes a sample that cannot be added."""
        self._samples += 1
        self._refused.append((name, reason))

    def take(self, given: Rows, sources: Sequence[dict[str, Any] | None] | None = None) -> None:
        """Takes rows. sources: rows of another corpus, from which they come, or None for a graph
        without an occurrence."""
        rows = self._keep_weights(given)
        self._samples += rows.num_rows
        refused = rows.column("refused").is_valid()
        if pc.any(refused).as_py():
            for row in rows.filter(refused).to_pylist():
                self._refused.append(
                    (row.get("path") or row.get("name") or "<sample>", row["refused"])
                )
            if sources is not None:
                sources = [
                    source
                    for source, is_refused in zip(sources, refused.to_pylist())
                    if not is_refused
                ]
            rows = rows.filter(pc.invert(refused))
        digest = digests(rows.column("blob"))
        self._take_sources(rows, digest.to_pylist(), given.root, sources)
        self._take_graphs(rows, digest)
        if (
            len(self._digests) >= ROWS_A_COMMIT
            or self._bytes >= BYTES_A_COMMIT
            or len(self._sources) >= 4 * ROWS_A_COMMIT
        ):
            self._commit()

    def _take_graphs(self, rows: Any, digest: Any) -> None:
        """Takes the graphs that have not come since the last commit."""
        new = []
        for place, (hash, one) in enumerate(
            zip(rows.column("hash").to_pylist(), digest.to_pylist())
        ):
            if hash not in self._digests:
                self._digests[hash] = one
                new.append(place)
        if new:
            if len(new) < rows.num_rows:
                rows, digest = rows.take(new), digest.take(pa.array(new))
            self._graphs.append(graph_rows(rows, digest, self._corpus.graphs.schema))

    def _keep_weights(self, made: Rows) -> Any:
        """Stores the weights of rows, and returns the rows with a column `weights_id`."""
        rows = made.table
        reasons: list[str | None] = rows.column("refused").to_pylist()
        ids: list[bytes | None] = [None] * rows.num_rows
        if self._with_weights:
            places = [
                place for place, count in enumerate(rows.column("weights").to_pylist()) if count
            ]
            for place, sample in zip(places, made.samples(places)):
                try:
                    if isinstance(sample, Error):
                        raise sample
                    ids[place] = self._corpus.weights.keep(sample)
                except Error as error:
                    reasons[place] = str(error)
        rows = rows.set_column(
            rows.column_names.index("refused"), "refused", pa.array(reasons, pa.utf8())
        )
        return rows.append_column("weights_id", pa.array(ids, HASH))

    def _take_sources(
        self,
        rows: Any,
        blob_digests: list[bytes],
        root: str | None,
        sources: Sequence[dict[str, Any] | None] | None,
    ) -> None:
        if root not in self._origins:
            self._origins[root] = Origins(self._given, root)
        wanted = ["hash", "name", "json", "path", "place", "parents", "weights", "weights_id"]
        there = rows.select([name for name in wanted if name in rows.column_names])
        for place, (row, digest, blob) in enumerate(
            zip(there.to_pylist(), blob_digests, rows.column("blob"))
        ):
            if sources is not None and sources[place] is None:
                continue
            text, path = row["json"], row.get("path")
            json_id = None
            if text is not None:
                json_id = hashlib.sha256(text.encode()).digest()
                self._jsons[json_id] = text
            if sources is None:
                made = source_row(
                    row["hash"],
                    path_below(path, root) if path else row["name"],
                    row.get("place") or 0,
                    row["name"],
                    self._origins[root].of(path, text),
                    row["parents"],
                    json_id,
                    digest,
                    row["weights_id"],
                )
            else:
                before = cast(dict[str, Any], sources[place])
                known = Origin(*(before[name] for name in vars(self._given)))
                made = source_row(
                    row["hash"],
                    before["path"],
                    before["place"],
                    before["name"],
                    preferred(self._given, known),
                    before["parents"],
                    json_id,
                    digest,
                    row["weights_id"],
                )
            self._sources[made["id"]] = made
            self._blobs[made["id"]] = blob
            self._bytes += blob.as_buffer().size
            self._without_weights += bool(row["weights"]) and row["weights_id"] is None

    def _commit(self) -> None:
        corpus, done = self._corpus, self._done
        with layout.committing(corpus.path):
            corpus.jsons.insert(
                pa.Table.from_pylist(
                    [{"id": id, "text": text} for id, text in self._jsons.items()], schema=JSONS
                )
            )
            corpus.jsons.settle()
            added, known = corpus.graphs.insert(
                pa.concat_tables(self._graphs)
                if self._graphs
                else corpus.graphs.schema.empty_table(),
                ["digest"],
            )
            corpus.graphs.settle()
            self._digests.update(
                zip(known.column("hash").to_pylist(), known.column("digest").to_pylist())
            )
            self._keep_differing_blobs()
            occurrences, _ = corpus.sources.insert(
                pa.Table.from_pylist(list(self._sources.values()), schema=corpus.sources.schema)
            )
            corpus.sources.settle()
        done.added += added
        done.known += self._samples - added - len(self._refused)
        done.occurrences += occurrences
        done.refused += self._refused
        done.without_weights += self._without_weights
        self._empty()
        if self._told is not None:
            self._told(done)

    def _keep_differing_blobs(self) -> None:
        """Gives sources their own blob where that of their graph is another."""
        for id, row in self._sources.items():
            if row["digest"] != self._digests[row["hash"]]:
                row["blob"] = self._blobs[id].as_py()

    def finish(self) -> Added:
        self._commit()
        with layout.committing(self._corpus.path):
            for table in (self._corpus.jsons, self._corpus.graphs, self._corpus.sources):
                table.index()
                table.settle()
        return self._done


def path_below(path: str, root: str | None) -> str:
    """Returns the path of a sample below the folder that was given, or the name of a file that was
    given itself. No path of the machine gets into a corpus."""
    below = os.path.relpath(os.path.abspath(path), os.path.abspath(root or "."))
    return os.path.basename(os.path.abspath(path)) if below == "." else below
