"""A capture as records, and as a notebook shows it."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any, Dict, List

from graphnet_ir import _core
from graphnet_ir._notebook import page_in_notebook, table
from graphnet_ir.capture_folder import explain_capture

if TYPE_CHECKING:
    from graphnet_ir.capture import Capture

# More pages of graphs would make a notebook too large.
MAX_PICTURES = 8
MAX_PICTURED_OPS = 500


def capture_records(capture: "Capture") -> List[Dict[str, Any]]:
    """Returns a dict for each graph."""
    return [{
        "graph": graph.index, "compile_id": graph.compile_id, "kind": graph.kind,
        "function": graph.function, "operators": graph.num_ops, "inputs": len(graph.inputs),
        "guards": len(graph.guards), "calls": graph.calls, "is_break": graph.ended.is_break,
        "reason": graph.ended.reason, "explanation": graph.ended.explanation or None,
        "hints": list(graph.ended.hints),
        "file": graph.ended.line.file if graph.ended.line else None,
        "line": graph.ended.line.line if graph.ended.line else None,
        "source": graph.ended.line.source if graph.ended.line else None,
        "recompiled": graph.recompiled, "merged_into": graph.merged_into, "apart": graph.apart,
        "why_not": graph.why_not} for graph in capture.graphs]


def capture_html(capture: "Capture") -> str:
    """Returns a table of the graphs, and under it why each ended and its picture, folded."""
    rows = capture_records(capture)
    for row in rows:
        row["ended at"] = f"{row['file']}:{row['line']}" if row["is_break"] and row["file"] else ""
        row["ended by"] = row["reason"] if row["is_break"] else "return"
    parts = [table(rows, ("graph", "compile_id", "kind", "function", "operators", "inputs",
                          "calls", "ended by", "ended at", "source"))]
    report = explain_capture(capture)
    parts.append(f"<p>{html.escape(report.splitlines()[-1])}</p>")
    parts.append(f"<details><summary>why each graph ended</summary><pre>{html.escape(report)}"
                 "</pre></details>")
    for graph in capture.kept()[:MAX_PICTURES]:
        if graph.sample is not None and graph.num_ops <= MAX_PICTURED_OPS:
            picture = page_in_notebook(_core.page(graph.sample, graph.sample.name))
            parts.append(f"<details><summary>graph {graph.index}: {html.escape(graph.function)}"
                         f"</summary>{picture}</details>")
    return "\n".join(parts)
