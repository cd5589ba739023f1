"""Ranges of calls that recur in the graphs of a corpus."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from graphnet_ir.corpus.adding import digests
from graphnet_ir.corpus.engines import pc
from graphnet_ir.ranges import Recurrence, Recurring, recurring


def recurring_in(
    corpus: Any, by: str, calls: tuple[int, int] | None, limit: int, memory: int
) -> Recurring:
    """Returns the ranges of calls that occur more than once in the graphs of a corpus."""
    hashes: list[str] = []
    damaged: list[tuple[Any, str]] = []
    found = recurring(blobs(corpus, hashes, damaged), by, calls=calls, limit=limit, memory=memory)
    models = _models(corpus)

    def named(one: Recurrence) -> Recurrence:
        graphs = [hashes[place] for place in one.graphs]
        known: set[str] = set().union(*(models.get(hash, set()) for hash in graphs))
        return dataclasses.replace(
            one, graphs=graphs, graph=hashes[one.graph], models=sorted(known)
        )

    refused = [(hashes[place], reason) for place, reason in found.refused]
    return dataclasses.replace(
        found, ranges=[named(one) for one in found.ranges], refused=damaged + refused
    )


def blobs(corpus: Any, hashes: list[str], damaged: list[tuple[Any, str]]) -> Iterator[bytes]:
    """Yields the bytes of all graphs that are sound, and lists their hashes."""
    for batch in corpus.graphs.rows(["hash", "blob", "digest"]):
        sound = pc.equal(batch.column("digest"), digests(batch.column("blob"))).to_pylist()
        for hash, blob, is_sound in zip(
            batch.column("hash").to_pylist(), batch.column("blob"), sound
        ):
            if is_sound:
                hashes.append(hash.hex())
                yield blob.as_py()
            else:
                damaged.append((hash.hex(), "its digest differs"))


def _models(corpus: Any) -> dict[str, set[str]]:
    models: dict[str, set[str]] = {}
    for batch in corpus.sources.rows(["hash", "model"]):
        for hash, model in zip(batch.column("hash").to_pylist(), batch.column("model").to_pylist()):
            if model:
                models.setdefault(hash.hex(), set()).add(model)
    return models
