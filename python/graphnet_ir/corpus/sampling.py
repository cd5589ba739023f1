"""Draws graphs at random, and divides a corpus so that nothing that is alike gets apart.

What is drawn depends on the graphs and the seed alone, not on their order in the corpus.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Dict, List, Optional

from graphnet_ir._errors import made_error
from graphnet_ir.corpus import near


@dataclass(frozen=True)
class Split:
    """A corpus, divided."""

    parts: Dict[str, List[str]]  # hashes of the graphs of each part
    groups: int  # sets of graphs that had to stay together
    largest: int  # graphs of the largest of these


def order(hash: bytes, seed: int) -> bytes:
    """Returns the place of a graph in the random order of a seed."""
    return hashlib.sha256(b"%d\0%b" % (seed, hash)).digest()


def sample(corpus: Any, count: int, seed: int, by: Optional[str]) -> List[str]:
    """Draws graphs without repetition. by: a column of sources; each of its values gets the same
    number of graphs, as far as it has them."""
    if by is None:
        hashes = [hash for batch in corpus.graphs.rows(["hash"])
                  for hash in batch.column("hash").to_pylist()]
        return [hash.hex() for hash in sorted(hashes, key=lambda hash: order(hash, seed))[:count]]
    if by not in ("source", "model", "licence"):
        raise made_error("invalid_argument", f"by is 'source', 'model' or 'licence', not '{by}'")
    strata: Dict[Optional[str], Dict[bytes, None]] = {}
    rows = corpus.sources.table(["hash", by]).to_pylist()
    for row in sorted(rows, key=lambda row: order(row["hash"], seed)):
        strata.setdefault(row[by], {})[row["hash"]] = None
    turns = [list(strata[value]) for value in sorted(strata, key=lambda value: value or "")]
    drawn: Dict[bytes, None] = {}
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
    for batch in corpus.sources.rows(["hash", "source", "model", "parents"]):
        for row in batch.to_pylist():
            graph = ("graph", row["hash"].hex())
            if row["model"] is not None:
                sets.join(graph, ("model", f"{row['source']}\0{row['model']}"))
            for parent in row["parents"]:
                # A parent's hash may be one without metas, so its name counts, too.
                sets.join(graph, ("parent", f"{row['source']}\0{parent['name']}"))
                sets.join(graph, ("graph", parent["hash"] or parent["name"]))
    for a, b, _ in near.near_pairs(corpus, at):
        sets.join(("graph", a.hex()), ("graph", b.hex()))
    groups: Dict[Any, List[bytes]] = {}
    for batch in corpus.graphs.rows(["hash"]):
        for hash in batch.column("hash").to_pylist():
            groups.setdefault(sets.find(("graph", hash.hex())), []).append(hash)
    return _dealt(list(groups.values()), shares, seed)


def _dealt(groups: List[List[bytes]], shares: Mapping[str, float], seed: int) -> Split:
    """Gives each group to the part that lacks most of its share, large groups first."""
    whole, total = sum(map(len, groups)), sum(shares.values())
    wanted = {part: whole * share / total for part, share in shares.items()}
    parts: Dict[str, List[str]] = {part: [] for part in shares}
    for group in sorted(groups, key=lambda group: (-len(group), order(min(group), seed))):
        part = max(parts, key=lambda part: wanted[part] - len(parts[part]))
        parts[part] += [hash.hex() for hash in sorted(group)]
    return Split(parts, len(groups), max(map(len, groups), default=0))
