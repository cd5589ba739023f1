"""Chooses few graphs that stand for many."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from graphnet_ir import _core
from graphnet_ir._core import Module, Sample
from graphnet_ir._errors import made_error

CHOOSE_BY = ("coverage", "rarity", "buckets")
_GRAPHS_A_CALL = 256


@dataclass(frozen=True)
class Choice:
    """Graphs that were chosen."""

    chosen: list[Any]  # in the order in which they were chosen: their ids
    items: int  # how many kinds of calls, pairs of operators or buckets all graphs have
    covered: int  # how many those that are chosen have, with those of the start
    at_most: int | None  # by coverage: no choice of so many has more
    refused: list[tuple[Any, str]]  # graphs that were left out, with the reason


def choose(
    samples: Iterable[Sample | Module | bytes],
    count: int,
    by: str = "coverage",
    *,
    seed: int = 0,
    start: Sequence[str] = (),
    ids: Sequence[str] | None = None,
    weight: float = 1.0,
    every: int = 16,
) -> Choice:
    """Chooses few of many samples, modules or bytes of protobuf, as `graphnet choose` does.

        choice = graphnet_ir.choose(graphnet_ir.load_samples("samples"), 2)

    by: 'coverage', those with the most kinds of calls that no chosen one has; 'rarity', those with
    new pairs of operators, rare ones first; 'buckets', some of each sequence of operators with inputs
    of similar sizes (docs/datasets.md). seed: decides between those that are equally good. ids: of the
    samples, by which `chosen` and `refused` name them; otherwise these are their numbers from 0. What
    is chosen depends on the ids, and not on the order. start: ids of samples that are chosen already,
    to which `count` more are chosen. weight: what rarity counts. every: which samples of a bucket
    behind its first one are taken.
    """
    if by not in CHOOSE_BY:
        raise made_error("invalid_argument", f"a choice is by {', '.join(CHOOSE_BY)}, not '{by}'")
    if count < 0 or every < 1 or not weight >= 0:
        raise made_error(
            "invalid_argument", "count and weight are 0 or more, and every is 1 or more"
        )
    names = ids if ids is None or isinstance(ids, list) else list(ids)
    chosen, items, covered, at_most, refused = _core._choose(
        _batches(samples, names), by, count, seed, weight, every, [str(one) for one in start]
    )

    def named(place: int) -> Any:
        return place if names is None else names[place]

    return Choice(
        [named(place) for place in chosen],
        items,
        covered,
        at_most if by == "coverage" else None,
        [(named(place), reason) for place, reason in refused],
    )


def _batches(
    samples: Iterable[Any], names: list[str] | None
) -> Iterator[tuple[list[str], list[Any]]]:
    rest, place = iter(samples), 0
    while batch := list(itertools.islice(rest, _GRAPHS_A_CALL)):
        end = place + len(batch)
        if names is not None and end > len(names):
            raise made_error("invalid_argument", "there are more samples than ids")
        yield [str(n) for n in range(place, end)] if names is None else names[place:end], batch
        place = end
