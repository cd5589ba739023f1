"""Writes a corpus in forms for others. The output appears whole or not at all."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from graphnet_ir import _core
from graphnet_ir._errors import made_error
from graphnet_ir.corpus import cards
from graphnet_ir.corpus.catalogue import catalogue_of_corpus
from graphnet_ir.corpus.engines import pa, parquet
from graphnet_ir.corpus.schema import FACTS, GRAPHS, SOURCES
from graphnet_ir.corpus.weights import Weights

FORMS = ("folders", "protobuf", "parquet", "sqlite")
"""What a corpus can be written as."""

_GRAPHS_A_TIME = 256
# A file of Parquet ends after so many bytes of graphs.
_BYTES_A_FILE = 256 << 20
_ENDINGS = (".pb", ".pt", ".pt2", ".txt", ".gn")

# Columns with the values of all occurrences of a graph, once each.
_OF_EACH = {"licences": "licence", "sources": "source", "models": "model"}
_OF_SOURCES = (*_OF_EACH, "occurrences")

ORIGIN = ["path", "place", "name", "source", "model", "revision", "licence", "parents"]
"""What an occurrence in a file of Parquet has of its row of sources, and as it is there."""

VERSIONS = b"graphnet"
"""The key of the versions of hashes and features in the metadata of a file of Parquet."""


def export(
    corpus: Any,
    out: str,
    to: str,
    hashes: Iterable[bytes],
    weights: bool,
    told: Callable[[str], None] | None,
) -> int:
    """Writes graphs of a corpus to a new folder, or a catalogue of them to a file. Returns the number
    of samples or, for Parquet, of graphs."""
    if to not in FORMS:
        raise made_error(
            "invalid_argument", f"a corpus is exported to {', '.join(FORMS)}, not to '{to}'"
        )
    if to == "sqlite":
        return catalogue_of_corpus(corpus, out, hashes, told).samples
    out = os.path.abspath(out)
    if os.path.lexists(out) and not (os.path.isdir(out) and not os.listdir(out)):
        raise made_error("already_exists", f"{out} is there already")
    above = os.path.dirname(out)
    os.makedirs(above, exist_ok=True)
    aside = tempfile.mkdtemp(prefix=f".{os.path.basename(out)}.", dir=above)
    try:
        place = os.path.join(aside, "out")
        os.mkdir(place)
        groups = _groups(hashes)
        count = (
            _parquet(corpus, place, groups, weights)
            if to == "parquet"
            else _files(corpus, place, to, groups, weights, told)
        )
        os.rename(place, out)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return count


def _groups(hashes: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yields the hashes, some at a time."""
    left = iter(hashes)
    while group := list(itertools.islice(left, _GRAPHS_A_TIME)):
        yield group


def _files(
    corpus: Any,
    out: str,
    to: str,
    groups: Iterator[list[bytes]],
    weights: bool,
    told: Callable[[str], None] | None,
) -> int:
    """Writes each occurrence at its path, with the name and graph_net.json that it had."""
    ending = ".pb" if to == "protobuf" else ""
    taken: set[str] = set()
    count = left_out = 0
    for row, sample in (
        pair for group in groups for pair in corpus._originals(group, weights and bool(ending))
    ):
        left_out += weights and not ending and row.get("weights") is not None
        place = os.path.join(out, _free(_safe(row, ending), ending, taken))
        os.makedirs(os.path.dirname(place), exist_ok=True)
        _core.save(sample, place, format="protobuf" if ending else "graphnet")
        count += 1
    if left_out and told is not None:
        told(
            f"{left_out} occurrences have values of weights, for which a GraphNet folder has no "
            "place: --protobuf and --parquet keep them"
        )
    return count


def _safe(row: dict[str, Any], ending: str) -> str:
    """Returns the path of an occurrence, which stays below the folder whatever the row says."""
    parts: list[str] = []
    for part in row["path"].split("/"):
        part = "".join(c if c.isprintable() and c not in '\\:*?"<>|' else "_" for c in part)
        if part not in ("", ".", ".."):
            parts.append(part[:200])
    if row["place"]:
        parts.append(str(row["place"]))
    path = os.path.join(*parts[:40]) if parts else row["hash"].hex()
    return (os.path.splitext(path)[0] if path.endswith(_ENDINGS) else path) + ending


def _free(path: str, ending: str, taken: set[str]) -> str:
    """Returns a path that no other occurrence has, and that is not inside of one."""
    root, number, tried = path[: len(path) - len(ending)], 1, path
    while tried in taken:
        number += 1
        tried = f"{root}~{number}{ending}"
    taken.add(tried)
    return tried


def _parquet(corpus: Any, out: str, groups: Iterator[list[bytes]], weights: bool) -> int:
    """Writes a row for each graph, with a list of its occurrences, and a card that describes the
    data. Weights are files beside them, as in a corpus."""
    os.mkdir(os.path.join(out, "data"))
    schema = _parquet_schema(corpus)
    beside = Weights(out)
    kept: set[bytes] = set()
    licences: Counter[str] = Counter()
    graphs, files, writer, size = 0, 0, None, 0
    for group in groups:
        batch = corpus.graphs.where(
            [name for name in schema.names if name not in _OF_SOURCES], "hash", group
        )
        rows = batch.to_pylist()
        sources = corpus.occurrences([row["hash"] for row in rows])
        every = [row for some in sources.values() for row in some]
        texts = corpus._json_texts(every)
        own = corpus.sources.where(["id", "blob"], "id", [row["id"] for row in every]).to_pylist()
        blobs = {row["id"]: row["blob"] for row in own}
        ids = {row["weights"] for row in every if row.get("weights") is not None}
        for id in sorted(ids - kept) if weights else []:
            beside.copy(id, corpus.weights)
            kept.add(id)
        for row in rows:
            there = sources.get(row["hash"], [])
            row["occurrences"] = [
                {
                    **{name: source[name] for name in ORIGIN},
                    "graph_net_json": texts.get(source["json"]),
                    "blob": blobs[source["id"]],
                    "weights": source["weights"].hex() if source.get("weights") in kept else None,
                }
                for source in there
            ]
            licences.update(source["licence"] or "unknown" for source in there)
            for column, key in _OF_EACH.items():
                row[column] = sorted({source[key] for source in there if source[key] is not None})
            row["hash"], row["shape_hash"] = row["hash"].hex(), row["shape_hash"].hex()
        if writer is None:
            writer, files = _writer(out, files, schema), files + 1
        writer.write_table(pa.Table.from_pylist(rows, schema=schema))
        graphs += len(rows)
        size += batch.nbytes
        if size > _BYTES_A_FILE:
            writer.close()
            writer, size = None, 0
    if not files:
        writer = _writer(out, files, schema)  # Readers want the columns of no graphs, too.
    if writer is not None:
        writer.close()
    for name, text in (
        ("README.md", cards.card(corpus.manifest, graphs, licences)),
        ("croissant.json", cards.croissant(out, schema, licences)),
    ):
        with open(os.path.join(out, name), "w", encoding="utf-8") as file:
            file.write(text)
    return graphs


def _writer(out: str, number: int, schema: Any) -> Any:
    return parquet.ParquetWriter(
        os.path.join(out, "data", f"graphs-{number:05}.parquet"), schema, compression="zstd"
    )


def _parquet_schema(corpus: Any) -> Any:
    """Returns the columns for others: what follows from the graph, and what jobs found."""
    there = corpus.graphs.dataset.schema
    own = [field.with_type(pa.utf8()) if field.name == "shape_hash" else field for field in FACTS]
    found = [there.field(name) for name in there.names if name not in GRAPHS.names]
    versions = {name: corpus.manifest[name] for name in ("hash_version", "feature_version")}
    return pa.schema(
        [
            pa.field("hash", pa.utf8()),
            *(field.remove_metadata() for field in own),
            *(field for field in found if field.name not in _OF_SOURCES),
            *(pa.field(name, pa.list_(pa.utf8())) for name in _OF_EACH),
            pa.field("occurrences", pa.list_(occurrence_type())),
        ],
        metadata={VERSIONS: json.dumps(versions)},
    )


def occurrence_type() -> Any:
    """Returns the type of an occurrence in a file of Parquet."""
    return pa.struct(
        [
            ("path", pa.utf8()),
            ("place", pa.int32()),
            *((name, pa.utf8()) for name in ORIGIN[2:-1]),
            ("parents", SOURCES.field("parents").type),
            ("graph_net_json", pa.utf8()),
            ("blob", pa.binary()),
            ("weights", pa.utf8()),
        ]
    )
