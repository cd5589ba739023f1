"""Adds samples that another program sends (writing.py)."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator

from graphnet_ir._core import Error
from graphnet_ir.corpus import layout
from graphnet_ir.corpus.adding import ROWS_A_CALL, Addition, Rows, rows_of_samples
from graphnet_ir.corpus.engines import pa
from graphnet_ir.corpus.origins import Origin, Origins, preferred
from graphnet_ir.corpus.reading import Selection
from graphnet_ir.corpus.store import opened_or_made
from graphnet_ir.corpus.texts import printable
from graphnet_ir.corpus.writing import Given

# How many bytes of samples are made into rows at a time.
_BYTES_A_CALL = 64 << 20


class Receiver:
    """Adds samples to a corpus, which is made if nothing is there."""

    def __init__(self, path: str):
        self._path = path
        self._corpus = opened_or_made(path)
        self._origins: dict[str, Origins] = {}
        self._of_corpora = OfCorpora()

    def add(self, given: Iterator[Given]) -> str:
        """Adds samples, and returns the lines that say what was done."""
        corpus = self._corpus
        with layout.at_work(corpus.path):
            work = Addition(corpus, Origin(), None, True)
            for group in _groups(given):
                self._take(work, group)
            done = work.finish()
        corpus.refresh()
        lines = [
            json.dumps({**vars(done), "graphs": len(corpus)}),
            f"{done}; {len(corpus)} graphs in {self._path}",
            *(f"refused {name}: {reason}" for name, reason in done.refused),
        ]
        if done.without_weights:
            lines.append(
                f"the values of weights of {done.without_weights} samples are left out, "
                "which a corpus of version 1 does not keep"
            )
        return "\n".join(map(printable, lines))

    def _take(self, work: Addition, group: list[Given]) -> None:
        known: list[tuple[Given, Origin]] = []
        for sample in group:
            try:
                known.append((sample, self._of_corpora.origin(sample[1])))
            except Error as error:
                work.refuse(printable(sample[2]), str(error))
        for made in rows_of_samples([data for (*_, data), _ in known]):
            paths = [printable(below) for (_, _, below, _), _ in known]
            table = made.table.append_column("path", pa.array(paths, pa.utf8()))
            rows = table.select(["path", "name", "json", "parents"]).to_pylist()
            work.take(
                Rows(table, made.samples),
                [
                    {
                        **row,
                        "place": 0,
                        **vars(preferred(origin, self._told(root, path, row["json"]))),
                    }
                    for ((root, path, *_), origin), row in zip(known, rows)
                ],
            )

    def _told(self, root: str, path: str, graph_net_json: str | None) -> Origin:
        """Returns what the files of an input say."""
        if root not in self._origins:
            self._origins[root] = Origins(Origin(), root)
        return self._origins[root].of(path or None, graph_net_json)


def _groups(given: Iterator[Given]) -> Iterator[list[Given]]:
    """Yields samples, some at a time."""
    while group := list(itertools.islice(given, 1)):
        size = len(group[0][3])
        while len(group) < ROWS_A_CALL and size < _BYTES_A_CALL:
            more = next(given, None)
            if more is None:
                break
            group.append(more)
            size += len(more[3])
        yield group


class OfCorpora:
    """The origins of graphs that are read from corpora (docs/corpus.md says how they are called)."""

    def __init__(self) -> None:
        self._selections: dict[tuple[str, str], Selection] = {}
        self._last: tuple[str, Origin] = ("", Origin())

    def origin(self, path: str) -> Origin:
        """Returns the origin of the occurrence that gives a graph its name. Nothing is known of
        other inputs. Raises Error if the graph is gone."""
        if path != self._last[0]:  # The pieces of an input come one after the other.
            self._last = path, self._found(path)
        return self._last[1]

    def _found(self, path: str) -> Origin:
        at = 0 if os.path.lexists(path) else len(path)
        while (at := max(path.rfind("#", 0, at), path.rfind("/", 0, at))) > 0:
            if layout.is_corpus(path[:at]):
                selection, _, name = path[at:].partition("/")
                key = path[:at], selection
                if key not in self._selections:
                    self._selections[key] = Selection(*key)
                chosen = self._selections[key]
                hash = chosen.hash(name)
                for row in chosen.corpus.occurrences([hash]).get(hash, [])[:1]:
                    return Origin(*(row[name] for name in vars(Origin())))
                break
        return Origin()
