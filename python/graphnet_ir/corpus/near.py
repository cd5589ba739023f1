"""Graphs that are alike: equal, equal but for sizes, or with most of their features in common.

The similarity of two graphs is that of their sets of features (Jaccard). Two sets that are alike
share one of their first features, in one order for all. So the candidates come from the column
`near`, and the features of these alone are made anew from the graphs. Nothing is estimated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from graphnet_ir import _core
from graphnet_ir._core import Sample
from graphnet_ir._errors import made_error
from graphnet_ir.corpus.adding import digests, near_tokens
from graphnet_ir.corpus.engines import pa, pc

_ROWS_A_CALL = 256


@dataclass(frozen=True)
class Group:
    """Graphs that are alike, the first of which stands for all."""

    hashes: list[str]
    occurrences: int
    similarity: float  # the least of a graph of the group to one that is nearest to it


def similar(corpus: Any, sample: Sample, at: float) -> list[tuple[str, float]]:
    """Returns the graphs whose similarity to a sample is at least `at`, the nearest first."""
    _check(at)
    made = pa.array(_core._corpus_rows([sample])).to_pylist()[0]
    if made["refused"] is not None:
        raise made_error("invalid_argument", made["refused"])
    features = set(made["features"])
    rows = _read(corpus, ["hash", "features", "near"])
    chosen = pc.and_(
        pc.greater_equal(rows.column("features"), at * len(features) - 1e-9),
        pc.less_equal(rows.column("features"), len(features) / at + 1e-9),
    )
    if at >= corpus.manifest["near_at"]:
        tokens = near_tokens(
            pa.array([made["features"]], pa.list_(pa.uint64())), at, corpus.graphs.schema
        )
        chosen = pc.and_(chosen, _shares(rows.column("near"), tokens.flatten()))
    found = []
    for hashes, lists in _features(corpus, rows.filter(chosen).column("hash").to_pylist()):
        for hash, other in zip(hashes, lists.to_pylist()):
            both = len(features.intersection(other))
            either = len(features) + len(other) - both
            similarity = both / either if either else 0.0
            if similarity >= at:
                found.append((hash.hex(), similarity))
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))


def near_pairs(corpus: Any, at: float) -> list[tuple[bytes, bytes, float]]:
    """Returns all pairs of graphs whose similarity is at least `at`."""
    _check(at)
    rows = _read(corpus, ["hash", "near"])
    if at >= corpus.manifest["near_at"]:
        # A graph that shares no token has no partner.
        near = rows.column("near").combine_chunks()
        counts = near.flatten().value_counts()
        common = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
        rows = rows.filter(_shares(near, common))
    hashes: list[bytes] = []
    features = [pa.array([], pa.list_(pa.uint64()))]
    for some, lists in _features(corpus, rows.column("hash").to_pylist()):
        hashes += some
        features.append(lists.cast(features[0].type))
    made = pa.array(_core._near_pairs(pa.concat_arrays(features), at))
    return [(hashes[pair["a"]], hashes[pair["b"]], pair["jaccard"]) for pair in made.to_pylist()]


def _check(at: float) -> None:
    if not 0 < at <= 1:
        raise made_error("invalid_argument", f"a similarity is above 0 and at most 1, not {at}")


def _read(corpus: Any, columns: list[str]) -> Any:
    return corpus.graphs.table(columns).combine_chunks()


def _shares(lists: Any, values: Any) -> Any:
    """Returns whether each list has one of the values."""
    if isinstance(lists, pa.ChunkedArray):
        lists = lists.combine_chunks()
    rows = pc.list_parent_indices(lists).filter(pc.is_in(lists.flatten(), values))
    return pc.is_in(pa.array(range(len(lists)), pa.int64()), rows.cast(pa.int64()))


def _features(corpus: Any, hashes: list[bytes]) -> Iterator[tuple[list[bytes], Any]]:
    """Makes the features of graphs anew, as lists in Arrow. Graphs that are damaged are left out;
    verify names them."""
    for begin in range(0, len(hashes), _ROWS_A_CALL):
        rows = corpus.graphs.where(
            ["hash", "blob", "digest"], "hash", hashes[begin : begin + _ROWS_A_CALL]
        )
        rows = rows.filter(pc.equal(rows.column("digest"), digests(rows.column("blob"))))
        made = pa.Table.from_struct_array(
            pa.array(_core._corpus_rows([blob.as_py() for blob in rows.column("blob")]))
        )
        sound = pc.invert(made.column("refused").is_valid())
        yield (
            rows.column("hash").filter(sound).to_pylist(),
            made.column("features").filter(sound).combine_chunks(),
        )


def duplicates(corpus: Any, by: str, at: float) -> list[Group]:
    """Returns groups of graphs that are alike, the largest first."""
    counts = _occurrences(corpus)
    if by == "exact":
        groups = [([hash], 1.0) for hash, count in counts.items() if count > 1]
    elif by == "shape":
        groups = [(hashes, 1.0) for hashes in _by_shape(corpus) if len(hashes) > 1]
    elif by == "near":
        groups = connected(near_pairs(corpus, at))
    else:
        raise made_error("invalid_argument", f"by is 'exact', 'shape' or 'near', not '{by}'")
    made = [
        Group(
            [hash.hex() for hash in sorted(hashes)],
            sum(counts.get(hash, 0) for hash in hashes),
            similarity,
        )
        for hashes, similarity in groups
    ]
    return sorted(made, key=lambda group: (-group.occurrences, group.hashes))


def _occurrences(corpus: Any) -> dict[bytes, int]:
    counts = corpus.sources.table(["hash"]).column("hash").value_counts()
    return dict(zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist()))


def _by_shape(corpus: Any) -> list[list[bytes]]:
    rows = _read(corpus, ["hash", "shape_hash"])
    made: dict[bytes, list[bytes]] = {}
    for hash, shape in zip(rows.column("hash").to_pylist(), rows.column("shape_hash").to_pylist()):
        made.setdefault(shape, []).append(hash)
    return list(made.values())


class Union:
    """Sets that grow together."""

    def __init__(self) -> None:
        self._above: dict[Any, Any] = {}

    def find(self, item: Any) -> Any:
        """Returns the item that stands for the set of an item."""
        root = item
        while (above := self._above.get(root, root)) != root:
            root = above
        while item != root:
            self._above[item], item = root, self._above.get(item, item)
        return root

    def join(self, a: Any, b: Any) -> None:
        a, b = self.find(a), self.find(b)
        if a != b:
            self._above[max(a, b)] = min(a, b)


def connected(pairs: Iterable[tuple[bytes, bytes, float]]) -> list[tuple[list[bytes], float]]:
    """Returns the sets that pairs connect, each with the least of the similarities by which its
    graphs are nearest to another."""
    sets, nearest = Union(), dict[bytes, float]()
    for a, b, similarity in pairs:
        sets.join(a, b)
        for one in (a, b):
            nearest[one] = max(nearest.get(one, 0.0), similarity)
    groups: dict[bytes, list[bytes]] = {}
    for one in nearest:
        groups.setdefault(sets.find(one), []).append(one)
    return [(hashes, min(nearest[hash] for hash in hashes)) for hashes in groups.values()]
