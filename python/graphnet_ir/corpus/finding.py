"""Finds graphs: the index names candidates, and each candidate is matched in C++."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphnet_ir import _core
from graphnet_ir.corpus import covering, views
from graphnet_ir.corpus.adding import digests
from graphnet_ir.corpus.engines import pa, pc
from graphnet_ir.corpus.tables import ROW_ID, any_of, quoted

_CANDIDATES_A_BATCH = 8192
# A few graphs are read first, so that the first answers come soon.
_FIRST_GRAPHS_A_CALL = 32
_GRAPHS_A_CALL = 512
# A filter of so many hashes is quicker than looking at all rows.
_HASHES_A_FILTER = 1000


@dataclass(frozen=True)
class Condition:
    """The facts that a graph must have. None asks for nothing."""

    query: str | None = None
    where: str | None = None
    nodes: tuple[int, int] | None = None
    source: str | None = None
    licence: str | None = None
    model: str | None = None
    view: str | None = None
    kind: str | None = None

    def terms(self) -> list[tuple[str, list[str]]]:
        """Returns, for each column, values of which a match must have one. Raises Error if the
        query cannot be parsed."""
        terms = [] if self.query is None else list(_core._query_terms(self.query))
        if self.kind is not None:
            terms.append(("targets", [covering.operator_of(self.kind)]))
        return terms

    @property
    def needs_graphs(self) -> bool:
        """Whether columns do not tell which graphs match."""
        return self.query is not None or self.kind is not None

    def on_graphs(self, terms: list[tuple[str, list[str]]]) -> str | None:
        """Returns the condition on graphs as a filter."""
        parts = [
            f"array_has_any({column}, [{', '.join(_words(column, values))}])"
            for column, values in terms
        ]
        if self.nodes is not None:
            parts.append(f"nodes >= {int(self.nodes[0])} AND nodes <= {int(self.nodes[1])}")
        if self.where is not None:
            parts.append(f"({self.where})")
        return " AND ".join(parts) or None

    def on_sources(self) -> str | None:
        """Returns the condition on an occurrence as a filter."""
        parts = [
            f"{column} = {quoted(value)}"
            for column in ("source", "licence", "model")
            if (value := getattr(self, column)) is not None
        ]
        return " AND ".join(parts) or None


def _words(column: str, values: list[str]) -> list[str]:
    return [quoted(int(value) if column == "ranks" else value) for value in values]


@dataclass(frozen=True)
class Hit:
    """A graph that was found."""

    hash: str
    matches: int  # calls that match the query; 0 without a query
    names: list[str] = field(repr=False)  # paths of its occurrences


@dataclass
class Found:
    """Graphs that are found while they are asked for, each time anew."""

    corpus: Any = field(repr=False)
    condition: Condition
    scan: bool = False  # match each graph, whatever the index says
    notes: list[str] = field(default_factory=list)  # of the last time: what was left out, and why

    def __post_init__(self) -> None:
        self._terms = self.condition.terms()

    @property
    def terms(self) -> list[tuple[str, list[str]]]:
        """What the index is asked for; nothing if it cannot help."""
        return [] if self.scan else self._terms

    def doubts(self, found: bool) -> list[str]:
        """Returns reasons to doubt the query. found: whether graphs were found; otherwise the names
        are doubted, too."""
        query = self.condition.query
        return [] if query is None else list(_core._query_doubts(query, not found))

    def candidates(self) -> int:
        """Counts the graphs that the index names: these or fewer match. Conditions on occurrences
        do not count here."""
        with_terms = self.condition.on_graphs(self.terms)
        return int(self.corpus.graphs.dataset.count_rows(with_terms))

    def count(self) -> int:
        """Counts the graphs that match."""
        condition = self.condition
        if not condition.needs_graphs and condition.on_sources() is None and condition.view is None:
            self.notes = []
            return self.candidates()
        return sum(1 for _ in self.hashes())

    def hashes(self) -> Iterator[tuple[bytes, int]]:
        """Yields the hash of each graph and the number of its matches."""
        for group in self._groups():
            yield from group

    def _groups(self) -> Iterator[list[tuple[bytes, int]]]:
        """Yields what hashes() yields, as far as it is known at a time. Graphs are not read before
        they are asked for, nor those that conditions on occurrences exclude."""
        self.notes = []
        condition, allowed = self.condition, self._allowed()
        filter = condition.on_graphs(self.terms)
        if condition.query is not None and not self.terms:
            self.notes.append("the index cannot answer this query: each graph is matched")
        if allowed is not None and len(allowed) <= _HASHES_A_FILTER:
            if not allowed:
                return
            few = any_of("hash", sorted(allowed))
            filter = few if filter is None else f"{filter} AND {few}"
        graphs, size = self.corpus.graphs, _FIRST_GRAPHS_A_CALL
        for batch in graphs.rows(["hash"], filter, batch=_CANDIDATES_A_BATCH, ids=True):
            if allowed is not None:
                batch = batch.filter(
                    pc.is_in(
                        batch.column("hash"),
                        pa.array(list(allowed), batch.schema.field("hash").type),
                    )
                )
            begin = 0
            while begin < batch.num_rows:
                group = batch.slice(begin, size)
                begin, size = begin + size, _GRAPHS_A_CALL
                if condition.needs_graphs:
                    yield list(
                        self._matched(
                            graphs.where(
                                ["hash", "blob", "digest"], ROW_ID, group.column(ROW_ID).to_pylist()
                            )
                        )
                    )
                else:
                    yield [(hash, 0) for hash in group.column("hash").to_pylist()]

    def _allowed(self) -> set[bytes] | None:
        """Returns the graphs of the view with an occurrence that satisfies the condition, or None
        for all."""
        filter, allowed = self.condition.on_sources(), None
        if filter is not None:
            allowed = set(self.corpus.sources.table(["hash"], filter).column("hash").to_pylist())
        if self.condition.view is not None:
            viewed = set(views.load(self.corpus.path, self.condition.view))
            allowed = viewed if allowed is None else allowed & viewed
        return allowed

    def _matched(self, rows: Any) -> Iterator[tuple[bytes, int]]:
        query, kind = self.condition.query, self.condition.kind
        blobs, sound = [], []
        is_sound = pc.equal(rows.column("digest"), digests(rows.column("blob")))
        for hash, blob, sound_one in zip(
            rows.column("hash").to_pylist(), rows.column("blob"), is_sound.to_pylist()
        ):
            if sound_one:
                sound.append(hash)
                blobs.append(blob.as_buffer())
            else:
                self.notes.append(f"graph {hash.hex()} is left out: its digest differs")
        matches: Sequence[int | str] = (
            [0] * len(blobs) if query is None else _core._match_blobs(query, blobs)
        )
        kinds: Sequence[bool | str] = (
            [True] * len(blobs) if kind is None else covering.have_kind(blobs, kind)
        )
        for hash, matched, has_kind in zip(sound, matches, kinds):
            wrong = next((told for told in (matched, has_kind) if isinstance(told, str)), None)
            if wrong is not None:
                self.notes.append(f"graph {hash.hex()} is left out: {wrong}")
            elif has_kind and (matched or query is None):
                yield hash, int(matched)

    def __iter__(self) -> Iterator[Hit]:
        for group in self._groups():
            yield from self._hits(group)

    def _hits(self, batch: list[tuple[bytes, int]]) -> Iterator[Hit]:
        sources = self.corpus.sources.where(["hash", "path"], "hash", [hash for hash, _ in batch])
        paths: dict[bytes, list[str]] = {}
        for hash, path in zip(*(column.to_pylist() for column in sources.columns)):
            paths.setdefault(hash, []).append(path)
        for hash, matches in batch:
            yield Hit(hash.hex(), matches, sorted(paths.get(hash, [])))

    def records(self) -> list[dict[str, Any]]:
        """Returns a dict for each hit."""
        return [dict(vars(hit)) for hit in self]
