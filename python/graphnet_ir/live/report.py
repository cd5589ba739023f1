"""A capture as a text, as records, and as a notebook shows it."""

from __future__ import annotations

import html
from typing import Any

from graphnet_ir import _core
from graphnet_ir._notebook import page_in_notebook, table
from graphnet_ir.live.captured import CaptureData

# More pages of graphs would make a notebook too large.
MAX_PICTURES = 8
MAX_PICTURED_OPS = 500


def capture_records(capture: CaptureData) -> list[dict[str, Any]]:
    """Returns a dict for each graph."""
    return [
        {
            "graph": graph.index,
            "compile_id": graph.compile_id,
            "kind": graph.kind,
            "function": graph.function,
            "operators": graph.num_ops,
            "inputs": len(graph.inputs),
            "guards": len(graph.guards),
            "calls": graph.calls,
            "is_break": graph.ended.is_break,
            "reason": graph.ended.reason,
            "explanation": graph.ended.explanation or None,
            "hints": list(graph.ended.hints),
            "file": graph.ended.line.file if graph.ended.line else None,
            "line": graph.ended.line.line if graph.ended.line else None,
            "source": graph.ended.line.source if graph.ended.line else None,
            "recompiled": graph.recompiled,
            "merged_into": graph.merged_into,
            "apart": graph.apart,
            "why_not": graph.why_not,
        }
        for graph in capture.graphs
    ]


def capture_html(capture: CaptureData) -> str:
    """Returns a table of the graphs, and under it why each ended and its picture, folded."""
    rows = capture_records(capture)
    for row in rows:
        row["ended at"] = f"{row['file']}:{row['line']}" if row["is_break"] and row["file"] else ""
        row["ended by"] = row["reason"] if row["is_break"] else "return"
    parts = [
        table(
            rows,
            (
                "graph",
                "compile_id",
                "kind",
                "function",
                "operators",
                "inputs",
                "calls",
                "ended by",
                "ended at",
                "source",
            ),
        )
    ]
    report = explain_capture(capture)
    parts.append(f"<p>{html.escape(report.splitlines()[-1])}</p>")
    parts.append(
        f"<details><summary>why each graph ended</summary><pre>{html.escape(report)}"
        "</pre></details>"
    )
    for graph in capture.kept()[:MAX_PICTURES]:
        if graph.sample is not None and graph.num_ops <= MAX_PICTURED_OPS:
            picture = page_in_notebook(_core.page(graph.sample, graph.sample.name))
            parts.append(
                f"<details><summary>graph {graph.index}: {html.escape(graph.function)}"
                f"</summary>{picture}</details>"
            )
    return "\n".join(parts)


def explain_capture(capture: CaptureData) -> str:
    """Returns the table of graphs, then each break with its line, then the skipped functions."""
    rows = [("graph", "id", "kind", "function", "ops", "inputs", "calls", "ended by")]
    for graph in capture.graphs:
        ended = graph.ended.reason if graph.ended.is_break else "end"
        if graph.ended.is_break and graph.ended.line is not None:
            ended += f"  {graph.ended.line}"
        if graph.merged_into is not None:
            ended = f"a case of graph {graph.merged_into}"
        elif graph.why_not is not None:
            ended = f"not kept: {graph.why_not}"
        rows.append(
            (
                str(graph.index),
                graph.compile_id,
                graph.kind,
                graph.function,
                str(graph.num_ops),
                str(len(graph.inputs)),
                str(graph.calls),
                ended,
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    right = (0, 4, 5, 6)
    lines = [
        "  ".join(
            cell.rjust(width) if i in right and row is not rows[0] else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in rows
    ]
    main = [graph for graph in capture.graphs if graph.kind == "graph"]
    first = [graph for graph in main if graph.compile_id.endswith("/0")] or main
    seen = set()
    for i, graph in enumerate(first):
        if not graph.ended.is_break:
            continue
        lines += ["", graph.ended.reason]
        if graph.ended.line is not None:
            lines += [f"  at {graph.ended.line}", f"  > {graph.ended.line.source}"]
        if graph.ended.explanation:
            lines.append(f"  why: {graph.ended.explanation}")
        for hint in graph.ended.hints:
            if hint not in seen:
                lines.append(f"  hint: {hint}")
        seen.update(graph.ended.hints)
        if i + 1 < len(first):
            after = first[i + 1].num_ops
            lines.append(
                f"  without it: one graph of {graph.num_ops + after} operators instead "
                f"of {graph.num_ops} and {after}"
            )
    for graph in main:
        if graph.recompiled is not None:
            lines += ["", f"graph {graph.index} is there because {graph.recompiled}"]
            if graph.apart is not None:
                lines.append(f"  kept apart: {graph.apart}")
    if capture.skipped:
        lines += ["", "without Dynamo ran:"]
        lines += [
            f"  {skip.function} ({skip.file}:{skip.line}): {skip.reason}"
            for skip in capture.skipped
        ]
    breaks = sum(graph.ended.is_break for graph in main)
    operators = sum(graph.num_ops for graph in capture.graphs)
    calls = sum(graph.calls for graph in main)
    lines += [
        "",
        f"{_count(len(capture.graphs), 'graph')} of {_count(operators, 'operator')}, "
        f"{_count(breaks, 'break')}, {_count(calls, 'call')} of graphs",
    ]
    return "\n".join(lines)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
