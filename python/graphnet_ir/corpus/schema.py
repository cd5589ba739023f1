"""The tables of a corpus and what their columns mean (docs/corpus.md).

Corpora of this version are read ever after: a change of a column's meaning needs a new FORMAT.
"""

from __future__ import annotations

from typing import Any

from graphnet_ir.corpus.engines import pa

FORMAT = 2
"""The version of the format of new corpora, in corpus.json. Corpora of earlier ones are read and
added to as they are: version 1 has no `weights`, 64 bits in `near`, and compresses each graph by
itself."""

STORAGE = "2.2"
"""The version of Lance's files in new tables. Older tables keep their own."""

NEAR_AT = 0.9
"""The similarity for which graphs.near has the tokens: similar graphs share one of them."""

HASH = pa.binary(32)
DIGEST = pa.binary(16)

# Lance compresses such texts and bytes together with their neighbours, which are often pieces of the
# same model, in chunks of so many bytes. Larger chunks are smaller on disk, and make a graph that is
# read alone slower (docs/corpus.md has figures).
_ZSTD = {
    "lance-encoding:compression": "zstd",
    "lance-encoding:structural-encoding": "miniblock",
    "lance-encoding:minichunk-size": str(256 << 10),
    "lance-encoding:compression-level": "9",
}


def _field(name: str, type: Any, null: bool = False, **metadata: Any) -> Any:
    return pa.field(name, type, nullable=null, metadata=metadata.get("metadata"))


# The columns that follow from the graph alone, as _core._corpus_rows makes them.
FACTS = [
    _field("shape_hash", HASH),  # that of the graph without sizes
    _field("blob", pa.binary(), metadata=_ZSTD),  # protobuf, without what is not the graph's own
    _field("nodes", pa.int32()),
    _field("inputs", pa.int32()),
    _field("outputs", pa.int32()),
    _field("parameters", pa.int32()),
    _field("targets", pa.list_(pa.utf8())),
    _field("counts", pa.list_(pa.int32())),  # of calls, for each target
    _field("args", pa.list_(pa.utf8())),
    _field("edges", pa.list_(pa.utf8())),
    _field("dtypes", pa.list_(pa.utf8())),
    _field("ranks", pa.list_(pa.int32())),
]

GRAPHS = pa.schema(
    [
        _field("hash", HASH),  # graphnet hash --metas
        *FACTS,
        _field("digest", DIGEST),  # the first bytes of the SHA-256 of blob
        _field("features", pa.int32()),  # how many there are
        _field("near", pa.list_(pa.uint32())),  # the first of them, for NEAR_AT, in 32 bits each
    ]
)
"""A row for each graph."""

SOURCES = pa.schema(
    [
        _field("id", HASH),  # of all but the licence, the blob and weights that are not there
        _field("hash", HASH),  # of the graph
        _field("path", pa.utf8()),  # below the folder that was added
        _field("place", pa.int32()),  # in a file with several samples
        _field("name", pa.utf8()),
        _field("source", pa.utf8(), null=True),
        _field("model", pa.utf8(), null=True),
        _field("revision", pa.utf8(), null=True),
        _field("licence", pa.utf8(), null=True),
        _field(
            "parents",
            pa.list_(
                pa.struct(
                    [
                        ("name", pa.utf8()),
                        ("hash", pa.utf8()),
                        ("start", pa.int64()),
                        ("end", pa.int64()),
                    ]
                )
            ),
        ),
        # The samples that it was cut from, each with its operators there, from start up to end.
        _field("json", HASH, null=True),  # of graph_net.json
        # Samples with one hash may differ in names of values, draw specs and other files.
        _field("digest", DIGEST),  # of the blob of this very sample
        _field("blob", pa.binary(), null=True, metadata=_ZSTD),  # this, if the graph has another
        _field("weights", HASH, null=True),  # SHA-256 of the file of weights
    ]
)
"""A row for each occurrence of a graph."""

JSONS = pa.schema(
    [
        _field("id", HASH),  # SHA-256 of the text
        _field("text", pa.utf8(), metadata=_ZSTD),
    ]
)
"""A row for each text of graph_net.json."""


def schemas(version: int) -> dict[str, Any]:
    """Returns the schemas of the tables of a version of the format."""
    graphs, sources = GRAPHS, SOURCES
    if version == 1:
        sources = sources.remove(sources.get_field_index("weights"))
        graphs = graphs.set(graphs.get_field_index("near"), _field("near", pa.list_(pa.uint64())))
    return {"graphs": graphs, "sources": sources, "jsons": JSONS}


INDEXES = {
    "graphs": {
        "hash": "BTREE",
        "shape_hash": "BTREE",
        "nodes": "BTREE",
        "targets": "LABEL_LIST",
        "args": "LABEL_LIST",
        "edges": "LABEL_LIST",
        "dtypes": "LABEL_LIST",
        "ranks": "LABEL_LIST",
    },
    "sources": {"id": "BTREE", "hash": "BTREE", "source": "BITMAP", "licence": "BITMAP"},
    "jsons": {"id": "BTREE"},
}
"""The indexes of each table, by column."""
