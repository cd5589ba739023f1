"""What graphs have between them, and the fewest graphs that have all of it.

The graphs are those of a corpus, of plain folders, or samples in memory.
"""

from __future__ import annotations

import functools
import heapq
import itertools
import math
import os
import time
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from graphnet_ir import _core
from graphnet_ir._errors import made_error
from graphnet_ir.corpus.adding import ROWS_A_CALL, digests, rows_of_paths, rows_of_samples
from graphnet_ir.corpus.engines import pa, pc

STORED = ("targets", "args", "edges", "dtypes", "ranks")
"""Columns that a corpus has, each with a list of values for a graph."""

KINDS = ("calls", "flows")
"""Columns that are made from the graphs: calls, told apart by the operator, dtype and rank of their
value; and flows, told apart by an operator that takes the value, too."""

BUCKETS = ("sizes", "classes", "buckets")
"""Columns with one value for each graph: its number of nodes between powers of two, the class of its
operators, and both."""

COLUMNS = (*STORED, *KINDS, *BUCKETS)
"""The columns of which coverage can be asked."""

Key = TypeVar("Key", bound=Hashable)
LeftOut = Callable[[str, str], None]
"""Is called for a graph that is left out, with its name and the reason."""


@dataclass(frozen=True)
class Cover:
    """A small set of graphs that has all that the graphs have."""

    chosen: list[Any]  # keys of graphs, those that add most first
    graphs: int  # how many there are
    items: int  # how many things they cover
    at_least: int  # no set of fewer graphs covers them


def warned(name: str, reason: str) -> None:
    """Warns of a graph that is left out."""
    warnings.warn(f"{name} is left out: {reason}", stacklevel=2)


def coverage(
    graphs: Any, columns: Sequence[str] = STORED, left_out: LeftOut = warned
) -> list[dict[str, Any]]:
    """Counts what graphs have: those of a Corpus, of paths of samples and folders, or Samples.

    Returns a dict for each value of the columns: column, value, and graphs, the number of graphs
    that have it. columns: targets, args, edges, dtypes, ranks (docs/corpus.md); calls, whose values
    are operators, each with the dtype and rank of what the calls return, None if it is unknown;
    flows, which have the operator that takes the value as user, too; sizes, classes and buckets.
    left_out: is called with the name of a graph that cannot be read and the reason; otherwise a
    warning says so.
    """
    counting = Counting(graphs, columns, left_out)
    counting.go_on()
    return counting.rows()


class Counting:
    """Counts what graphs have, as far as time is given."""

    def __init__(self, graphs: Any, columns: Sequence[str], left_out: LeftOut):
        _check(columns)
        self.graphs = 0  # how many were counted until now
        self._columns = columns
        self._counts: Counter[tuple[str, Any]] = Counter()
        self._left = _batches(graphs, columns, left_out)

    def go_on(self, seconds: float = math.inf) -> None:
        """Counts on until all is counted or the time is over."""
        begin = time.monotonic()
        for batch in self._left:
            self.graphs += batch.num_rows
            for column in self._columns:
                self._counts.update((column, value) for value in _values(batch, column)[1])
            if time.monotonic() - begin > seconds:
                return

    def rows(self) -> list[dict[str, Any]]:
        """Returns what coverage returns, of the graphs that were counted."""
        return [
            _row(column, value, count)
            for (column, value), count in sorted(
                self._counts.items(),
                key=lambda item: (
                    self._columns.index(item[0][0]),
                    *_place(item[0][0], item[0][1], item[1]),
                ),
            )
        ]


def smallest(graphs: Any, columns: Sequence[str] = STORED, left_out: LeftOut = warned) -> Cover:
    """Returns few graphs that have all values of the columns between them, and a number of graphs
    of which fewer cannot have them. Takes the same as coverage. The graphs of a corpus are told
    apart by their hashes, those of folders by their paths, and Samples by their numbers from 0."""
    _check(columns)
    numbers: dict[tuple[str, Any], int] = {}
    sets: dict[str, set[int]] = {}
    for batch in _batches(graphs, columns, left_out):
        keys = batch.column("key").to_pylist()
        for key in keys:
            sets.setdefault(key, set())
        for column in columns:
            for place, value in zip(*_values(batch, column)):
                sets[keys[place]].add(numbers.setdefault((column, value), len(numbers)))
    return cover(sets)


def cover(sets: Mapping[Key, set[Any]]) -> Cover:
    """Chooses few of the sets that together have all that the sets have.

    The greedy choice takes the set that adds most, and the first key of equal ones. It takes at
    most 1 + ln(n) times as many sets as are needed, where n is the size of the largest. at_least is
    a bound for these very sets: each item shares the price of the set that covered it, and the
    prices of a set, divided by 1 + 1/2 + … + 1/n, exceed 1 for none (dual fitting).
    """
    keys = sorted(sets, key=str)
    left: set[Any] = set().union(*sets.values()) if sets else set()
    items, chosen = len(left), []
    price: dict[Any, float] = {}
    heap = [(-len(sets[key]), place) for place, key in enumerate(keys)]
    heapq.heapify(heap)
    while left:
        _, place = heapq.heappop(heap)
        new = sets[keys[place]] & left
        if heap and new and (-len(new), place) > heap[0]:  # It adds less than when it was counted.
            heapq.heappush(heap, (-len(new), place))
            continue
        if not new:
            continue
        chosen.append(keys[place])
        price.update(dict.fromkeys(new, 1 / len(new)))
        left -= new
    # The largest sum of a set, so that prices divided by it are a feasible dual.
    dearest = max((sum(sorted(price[item] for item in has)) for has in sets.values()), default=1.0)
    at_least = math.ceil(len(chosen) / max(dearest, 1.0) - 1e-6)
    return Cover(chosen, len(keys), items, at_least)


def kind(row: Mapping[str, Any]) -> str:
    """Returns the kind of a row of calls as a text: 'relu float32 4', with ? for the unknown."""
    return " ".join(
        str("?" if part is None else part) for part in (row["value"], row["dtype"], row["rank"])
    )


def operator_of(kind: str) -> str:
    """Returns the operator of a kind."""
    parts = kind.rsplit(" ", 2)
    if len(parts) != 3:
        raise made_error(
            "invalid_argument",
            f"a kind of call is an operator, a dtype and a rank, "
            f"such as 'relu float32 4', not '{kind}'",
        )
    return parts[0]


def have_kind(blobs: Sequence[Any], wanted: str) -> list[bool | str]:
    """Returns whether each graph has a call of a kind, or what is wrong with the graph."""
    rows = pa.array(_core._call_kinds(blobs, False)).to_pylist()
    return [row["refused"] or any(kind(one) == wanted for one in row["kinds"]) for row in rows]


def buckets(corpus: Any, column: str) -> Iterator[tuple[bytes, Any]]:
    """Yields the hash of each graph of a corpus with its value of one of BUCKETS."""
    for batch in corpus.graphs.rows(["hash", "nodes", "targets"]):
        yield from zip(batch.column("hash").to_pylist(), _values(batch, column)[1])


def _batches(graphs: Any, columns: Sequence[str], left_out: LeftOut) -> Iterator[Any]:
    """Yields tables of graphs, with a column `key` and what the columns are made from."""
    needed = {
        name
        for column in columns
        for name in (
            [column]
            if column in STORED
            else ["nodes", "targets"]
            if column in BUCKETS
            else ["blob"]
        )
    }
    from graphnet_ir.corpus.store import Corpus  # It imports this file.

    if isinstance(graphs, Corpus):
        yield from _batches_of_corpus(graphs, needed, columns, left_out)
        return
    numbers = itertools.count()
    for are_paths, items in itertools.groupby([graphs] if _is_path(graphs) else graphs, _is_path):
        for rows in (rows_of_paths if are_paths else rows_of_samples)(items):
            keys = (
                [
                    row["path"] + (f":{row['place']}" if row["place"] else "")
                    for row in rows.table.select(["path", "place"]).to_pylist()
                ]
                if are_paths
                else [str(next(numbers)) for _ in range(rows.table.num_rows)]
            )
            refused = rows.table.column("refused").to_pylist()
            for key, reason in zip(keys, refused):
                if reason is not None:
                    left_out(key, reason.removeprefix(f"{key}: "))
            table = rows.table.select(sorted(needed)).append_column(
                "key", pa.array(keys, pa.utf8())
            )
            yield from _with_kinds(
                table.filter(pa.array([reason is None for reason in refused])), columns, left_out
            )


def _is_path(item: Any) -> bool:
    return isinstance(item, (str, os.PathLike))


def _batches_of_corpus(
    corpus: Any, needed: set[str], columns: Sequence[str], left_out: LeftOut
) -> Iterator[Any]:
    reads = ["hash", *sorted(needed), *(["digest"] if "blob" in needed else [])]
    for batch in corpus.graphs.rows(reads, batch=ROWS_A_CALL if "blob" in needed else 1024):
        table = pa.Table.from_batches([batch])
        keys = [hash.hex() for hash in table.column("hash").to_pylist()]
        table = table.append_column("key", pa.array(keys, pa.utf8()))
        if "blob" in needed:
            sound = pc.equal(table.column("digest"), digests(table.column("blob")))
            for key in table.filter(pc.invert(sound)).column("key").to_pylist():
                left_out(key, "its digest differs")
            table = table.filter(sound)
        yield from _with_kinds(table, columns, left_out)


def _with_kinds(table: Any, columns: Sequence[str], left_out: LeftOut) -> Iterator[Any]:
    """Yields the table with the columns of KINDS that are asked for, without graphs that have
    none."""
    for column in KINDS:
        if column not in columns:
            continue
        made = pa.Table.from_struct_array(
            pa.array(
                _core._call_kinds(
                    [blob.as_buffer() for blob in table.column("blob")], column == "flows"
                )
            )
        )
        sound = made.column("refused").is_null()
        refused = pc.invert(sound)
        for key, reason in zip(
            table.filter(refused).column("key").to_pylist(),
            made.filter(refused).column("refused").to_pylist(),
        ):
            left_out(key, reason)
        table = table.append_column(column, made.column("kinds")).filter(sound)
    yield table


def _values(batch: Any, column: str) -> tuple[Sequence[int], list[Any]]:
    """Returns what the graphs of a batch have in a column: the place of a graph, and the value."""
    if column in BUCKETS:
        return range(batch.num_rows), [
            _bucket(column, nodes, targets)
            for nodes, targets in zip(
                batch.column("nodes").to_pylist(), batch.column("targets").to_pylist()
            )
        ]
    lists = batch.column(column)
    if isinstance(lists, pa.ChunkedArray):
        lists = lists.combine_chunks()
    places, values = pc.list_parent_indices(lists).to_pylist(), lists.flatten()
    if column in STORED:
        return places, values.to_pylist()
    parts = ["value", "dtype", "rank", *(["user"] if column == "flows" else [])]
    return places, list(zip(*(values.field(part).to_pylist() for part in parts)))


def _bucket(column: str, nodes: int, targets: list[str]) -> str:
    least = 1 << max(nodes.bit_length() - 1, 0)
    size = f"{least}..{2 * least - 1}"
    if column == "sizes":
        return size
    work = _work_class_names()[min(map(_work_class, targets), default=-1)]
    return work if column == "classes" else f"{work} {size}"


@functools.lru_cache(1 << 16)
def _work_class(target: str) -> int:
    return _work_class_names().index(_core._work_classes([target])[0])


@functools.lru_cache(1)
def _work_class_names() -> list[str]:
    return list(_core._work_class_names())


def _place(column: str, value: Any, count: int) -> tuple[Any, ...]:
    """Returns what sorts the values of a column: the frequent ones first, sizes by themselves."""
    return (int(value.partition("..")[0]) if column == "sizes" else -count, str(value))


def _row(column: str, value: Any, count: int) -> dict[str, Any]:
    told = (
        dict(zip(("value", "dtype", "rank", "user"), value))
        if column in KINDS
        else {"value": value}
    )
    return {"column": column, **told, "graphs": count}


def _check(columns: Sequence[str]) -> None:
    for column in columns:
        if column not in COLUMNS:
            raise made_error(
                "invalid_argument", f"coverage is of {', '.join(COLUMNS)}, not of '{column}'"
            )
