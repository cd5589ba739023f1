"""What the graphs of a corpus have between them, and the fewest graphs that have all of it."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Dict, List, Sequence, Set, Tuple, TypeVar

from graphnet_ir._errors import made_error

COLUMNS = ("targets", "args", "edges", "dtypes", "ranks")
"""The columns of which coverage can be asked."""

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Cover:
    """A small set of graphs that has all that the graphs have."""

    chosen: List[Any]  # keys of graphs, those that add most first
    items: int  # how many things they cover
    at_least: int  # no set of fewer graphs covers them


def counted(corpus: Any, columns: Sequence[str]) -> List[Dict[str, Any]]:
    """Returns a dict for each value of the columns, with the number of graphs that have it."""
    _check(columns)
    counts: Counter[Tuple[str, Any]] = Counter()
    for batch in corpus.graphs.rows(list(columns)):
        for column in columns:
            counts.update((column, value) for value in batch.column(column).flatten().to_pylist())
    return [{"column": column, "value": value, "graphs": count}
            for (column, value), count in sorted(
                counts.items(), key=lambda item: (columns.index(item[0][0]), -item[1],
                                                  str(item[0][1])))]


def smallest(corpus: Any, columns: Sequence[str]) -> Cover:
    """Returns few graphs with the same values in the columns as all of them."""
    _check(columns)
    sets: Dict[str, Set[Tuple[str, Any]]] = {}
    for batch in corpus.graphs.rows(["hash", *columns]):
        for row in batch.to_pylist():
            sets[row["hash"].hex()] = {(column, value) for column in columns
                                       for value in row[column]}
    return cover(sets)


def cover(sets: Mapping[Key, Set[Any]]) -> Cover:
    """Chooses few of the sets that together have all that the sets have.

    The greedy choice takes the set that adds most, and the first key of equal ones. It takes at
    most 1 + ln(n) times as many sets as are needed, where n is the size of the largest. at_least is
    a bound for these very sets: each item shares the price of the set that covered it, and the
    prices of a set, divided by 1 + 1/2 + … + 1/n, exceed 1 for none (dual fitting).
    """
    keys = sorted(sets, key=str)
    left: Set[Any] = set().union(*sets.values()) if sets else set()
    items, chosen = len(left), []
    price: Dict[Any, float] = {}
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
    return Cover(chosen, items, at_least)


def _check(columns: Sequence[str]) -> None:
    for column in columns:
        if column not in COLUMNS:
            raise made_error("invalid_argument",
                             f"coverage is of {', '.join(COLUMNS)}, not of '{column}'")
