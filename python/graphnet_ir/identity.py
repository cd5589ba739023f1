"""When two graphs are the same, and in what they differ."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple

from graphnet_ir import _core
from graphnet_ir._core import Node, Sample


@dataclass(frozen=True)
class Difference:
    """A node that one side lacks, or that differs between them."""

    kind: str  # 'removed', 'added' or 'changed'
    a: Optional[Node]
    b: Optional[Node]
    what: List[str]  # of a change: 'argument 3 (padding): [1, 1] became [0, 0]'
    text: str


@dataclass(frozen=True)
class GraphDiff:
    """What two graphs differ in, with nodes matched by structure and not by name."""

    differences: List[Difference]
    pairs: List[Tuple[Node, Node]] = field(repr=False)
    text: str = field(repr=False)

    def __bool__(self) -> bool:
        return bool(self.differences)

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> Dict[str, Any]:
        """Plain values, for json and pandas."""
        return {"differences": [{"kind": d.kind, "a": d.a and d.a.name, "b": d.b and d.b.name,
                                 "what": d.what, "text": d.text} for d in self.differences],
                "num_pairs": len(self.pairs)}

    def _repr_html_(self) -> str:
        import html

        if not self:
            return "<p>The graphs are the same.</p>"
        colour = {"removed": "#b31d28", "added": "#22863a", "changed": "#b08800"}
        rows = "".join(
            f'<tr style="color:{colour[d.kind]}"><td>{d.kind}</td>'
            f"<td><code>{html.escape(d.text)}</code></td>"
            f"<td>{'<br>'.join(html.escape(line) for line in d.what)}</td></tr>"
            for d in self.differences)
        return f"<table><tr><th>change</th><th>node</th><th>what</th></tr>{rows}</table>"


def diff(a: Sample, b: Sample, *, metas: bool = False) -> GraphDiff:
    """What b has, lacks or changes of a. Names, locations and the order of independent nodes are no
    difference; metas: dtypes, shapes and devices count, too."""
    made = _core._diff(a, b, metas)
    return GraphDiff([Difference(**row) for row in made["differences"]], made["pairs"],
                     made["text"])
