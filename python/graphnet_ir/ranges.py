"""Finds ranges of calls that recur in many graphs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from graphnet_ir import _core
from graphnet_ir._core import Module, Sample
from graphnet_ir._errors import made_error

_GRAPHS_A_CALL = 256
_MOST_CALLS = 2**62  # for modules, which have any number
RECURRING_BY = ("range", "fusible", "module")


@dataclass(frozen=True)
class Recurrence:
    """A range of calls that occurs more than once."""

    occurrences: int  # how often it occurs; occurrences may overlap
    graphs: list[Any]  # the graphs that have it: places among the samples; hashes in a corpus
    graph: Any  # the first of them
    start: int  # the first operator of the first place there, as `graphnet subgraph --range` counts
    end: int  # the operator behind the last
    nodes: list[str]  # the names of the operators there
    module: str  # the module there, if modules are looked for
    models: list[str] = field(default_factory=list)  # the models that have it, in a corpus

    @property
    def calls(self) -> int:
        """The number of calls of the range."""
        return self.end - self.start


@dataclass(frozen=True)
class Recurring:
    """Ranges that occur more than once."""

    ranges: list[Recurrence]  # those with the most calls in all occurrences come first
    found: int  # how many there are, those beyond the limit among them
    cut_short: int  # places from which longer ranges have too many values to be compared
    refused: list[tuple[Any, str]]  # graphs that were left out, with the reason


def recurring(
    samples: Iterable[Sample | Module | bytes],
    by: str = "range",
    *,
    calls: tuple[int, int] | None = None,
    limit: int = 100,
    memory: int = 1 << 30,
) -> Recurring:
    """Finds ranges of calls that occur more than once in samples, modules or bytes of protobuf.

        found = graphnet_ir.recurring(graphnet_ir.load_samples("samples"))
        for one in found.ranges:
            print(one.occurrences, one.calls, len(one.graphs), one.nodes)

    Two ranges are the same if the pieces that are cut out there have one hash with metas. by:
    'range', ranges of any place; 'fusible', those of them that compilers may fuse, of pointwise
    calls, reductions, normalisations, views and copies alone, at least two of which compute;
    'module', ranges that are all calls of a module in a row. A range that lies in a larger one which
    occurs as often is left out. calls: the least and the greatest
    number of calls, (2, 64) for ranges and any from 2 on for modules; of a longer stretch that
    recurs, the first 64 stand for it. limit: the number of ranges. memory: the bytes that the
    search may take.
    """
    if by not in RECURRING_BY:
        raise made_error(
            "invalid_argument", f"ranges recur by {', '.join(RECURRING_BY)}, not '{by}'"
        )
    least, most = calls or (2, _MOST_CALLS if by == "module" else 64)
    ranges, found, cut_short, refused = _core._recurring(
        _batches(samples), by, least, most, limit, memory
    )
    return Recurring([Recurrence(*one) for one in ranges], found, cut_short, refused)


def _batches(samples: Iterable[Any]) -> Iterator[list[Any]]:
    rest = iter(samples)
    while batch := list(itertools.islice(rest, _GRAPHS_A_CALL)):
        yield batch
