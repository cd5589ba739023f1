"""Tells whether two graphs are the same, and how they differ."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from graphnet_ir import _core
from graphnet_ir._core import Node, Sample
from graphnet_ir._errors import require_sample
from graphnet_ir._notebook import table


@dataclass(frozen=True)
class Difference:
    """A node that one side lacks, or that differs between the sides."""

    kind: str  # 'removed', 'added' or 'changed'
    a: Node | None
    b: Node | None
    what: list[str]  # changes, such as 'argument 3 (padding): [1, 1] became [0, 0]'
    text: str


@dataclass(frozen=True)
class GraphDiff:
    """The differences of two graphs, with nodes matched by structure and not by name."""

    differences: list[Difference]
    pairs: list[tuple[Node, Node]] = field(repr=False)
    text: str = field(repr=False)

    def __bool__(self) -> bool:
        return bool(self.differences)

    def __str__(self) -> str:
        return self.text

    def records(self) -> list[dict[str, Any]]:
        """Returns a dict for each difference: kind, its nodes' names in a and b, text and what."""
        return [
            {
                "kind": d.kind,
                "a": d.a and d.a.name,
                "b": d.b and d.b.name,
                "text": d.text,
                "what": d.what,
            }
            for d in self.differences
        ]

    def _repr_html_(self) -> str:
        if not self:
            return "<p>The graphs are the same.</p>"
        colours = {"removed": "#b31d28", "added": "#22863a", "changed": "#b08800"}
        return table(
            self.records(), ("kind", "text", "what"), colour=lambda record: colours[record["kind"]]
        )


def diff(a: Sample, b: Sample, *, metas: bool = False) -> GraphDiff:
    """Finds what b adds to a, lacks or changes. Names, locations and the order of independent nodes
    do not count; with metas, dtypes, shapes and devices count, too."""
    require_sample(a, "a")
    require_sample(b, "b")
    made = _core._diff(a, b, metas)
    return GraphDiff(
        [Difference(**row) for row in made["differences"]], made["pairs"], made["text"]
    )
