"""Draws graphs at random, and divides a corpus so that nothing that is alike gets apart.

What is drawn depends on the graphs and the seed alone, not on their order in the corpus.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from graphnet_ir import _core
from graphnet_ir._core import Error
from graphnet_ir._errors import made_error
from graphnet_ir.corpus import covering, near
from graphnet_ir.corpus.adding import ROWS_A_CALL

_BUCKETS = {"size": "sizes", "class": "classes", "bucket": "buckets"}
BY = ("source", "model", "licence", *_BUCKETS)
"""What a sample can be drawn by."""


@dataclass(frozen=True)
class Split:
    """A corpus, divided."""

    parts: dict[str, list[str]]  # hashes of the graphs of each part
    groups: int  # sets of graphs that had to stay together
    largest: int  # graphs of the largest of these


def order(hash: bytes, seed: int) -> bytes:
    """Returns the place of a graph in the random order of a seed."""
    return hashlib.sha256(b"%d\0%b" % (seed, hash)).digest()


def sample(corpus: Any, count: int, seed: int, by: str | None) -> list[str]:
    """Draws graphs without repetition. by: what tells strata apart (BY); each of its values gets
    the same number of graphs, as far as it has them."""
    if by is None:
        hashes = [
            hash
            for batch in corpus.graphs.rows(["hash"])
            for hash in batch.column("hash").to_pylist()
        ]
        return [hash.hex() for hash in sorted(hashes, key=lambda hash: order(hash, seed))[:count]]
    if by not in BY:
        raise made_error("invalid_argument", f"by is one of {', '.join(BY)}, not '{by}'")
    if by in _BUCKETS:
        pairs = list(covering.buckets(corpus, _BUCKETS[by]))
    else:
        rows = corpus.sources.table(["hash", by])
        pairs = list(zip(rows.column("hash").to_pylist(), rows.column(by).to_pylist()))
    strata: dict[str | None, dict[bytes, None]] = {}
    for hash, value in sorted(pairs, key=lambda pair: order(pair[0], seed)):
        strata.setdefault(value, {})[hash] = None
    turns = [list(strata[value]) for value in sorted(strata, key=lambda value: value or "")]
    drawn: dict[bytes, None] = {}
    for turn in range(max(map(len, turns), default=0)):
        for hashes in turns:
            if turn < len(hashes):
                drawn.setdefault(hashes[turn])
    return [hash.hex() for hash in list(drawn)[:count]]


def split(corpus: Any, shares: Mapping[str, float], seed: int, at: float) -> Split:
    """Divides the graphs into parts of about these shares.

    Graphs stay together that differ in sizes only, that are similar by at least `at`, that are of
    one model of one source, or of which one was cut from the other or both from a third.
    """
    if not shares or min(shares.values()) <= 0:
        raise made_error("invalid_argument", "each part needs a share above 0")
    sets = near.Union()
    for batch in corpus.graphs.rows(["hash", "shape_hash"]):
        for row in batch.to_pylist():
            sets.join(("graph", row["hash"].hex()), ("shape", row["shape_hash"].hex()))
    rows = [
        row
        for batch in corpus.sources.rows(["hash", "source", "name", "model", "parents"])
        for row in batch.to_pylist()
    ]
    # A parent without a hash is known by its name.
    named = {
        (row["source"], parent["name"])
        for row in rows
        for parent in row["parents"] or []
        if not parent["hash"]
    }
    hashes = set()
    for row in rows:
        graph = ("graph", row["hash"].hex())
        if row["model"] is not None:
            sets.join(graph, ("model", f"{row['source']}\0{row['model']}"))
        if (row["source"], row["name"]) in named:
            sets.join(graph, ("parent", f"{row['source']}\0{row['name']}"))
        for parent in row["parents"] or []:
            sets.join(graph, ("parent", f"{row['source']}\0{parent['name']}"))
            if parent["hash"]:
                sets.join(graph, ("graph", parent["hash"]))
                hashes.add(parent["hash"])
    if hashes:
        for hash, without_metas in _hashes_without_metas(corpus):
            if without_metas in hashes:
                sets.join(("graph", hash.hex()), ("graph", without_metas))
    for a, b, _ in near.near_pairs(corpus, at):
        sets.join(("graph", a.hex()), ("graph", b.hex()))
    groups: dict[Any, list[bytes]] = {}
    for batch in corpus.graphs.rows(["hash"]):
        for hash in batch.column("hash").to_pylist():
            groups.setdefault(sets.find(("graph", hash.hex())), []).append(hash)
    return _dealt(list(groups.values()), shares, seed)


def _hashes_without_metas(corpus: Any) -> Iterator[tuple[bytes, str]]:
    """Yields the hash of each graph with the one by which its pieces know it."""
    for batch in corpus.graphs.rows(["hash", "blob"], batch=ROWS_A_CALL):
        for row in batch.to_pylist():
            try:
                yield row["hash"], _core.canonical_hash(_core.load_bytes(row["blob"]))
            except Error:
                continue  # verify names damaged graphs.


def _dealt(groups: list[list[bytes]], shares: Mapping[str, float], seed: int) -> Split:
    """Gives each group to the part that lacks most of its share, large groups first.

    The part lacks something then, since something is left to give, so no part gets as many more
    graphs than its share as the largest group has.
    """
    whole, total = sum(map(len, groups)), sum(shares.values())
    wanted = {part: whole * share / total for part, share in shares.items()}
    parts: dict[str, list[str]] = {part: [] for part in shares}
    for group in sorted(groups, key=lambda group: (-len(group), order(min(group), seed))):
        part = max(parts, key=lambda part: wanted[part] - len(parts[part]))
        parts[part] += [hash.hex() for hash in sorted(group)]
    return Split(parts, len(groups), max(map(len, groups), default=0))
