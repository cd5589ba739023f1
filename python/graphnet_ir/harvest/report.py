"""Shows a harvest: a table of its progress, and a page at its end."""

from __future__ import annotations

import collections
import html
import os
import sys
import time
from typing import Any, TextIO

from graphnet_ir.harvest.failures import CLASSES
from graphnet_ir.harvest.journal import ENDS, STAGES, Row


def new_graphs(row: Row) -> int:
    """Returns how many graphs the row published."""
    if row.stage != "published":
        return 0
    return len(row.facts["hashes"]) - len(row.facts["same_as"])


def summary(rows: list[Row]) -> str:
    """Returns one line of counts."""
    ends = collections.Counter(row.stage for row in rows)
    parts = [f"{len(rows)} models"] + [f"{ends[end]} {end}" for end in ENDS if ends[end]]
    return ", ".join(parts) + f"; {sum(map(new_graphs, rows))} new graphs"


def line_of(row: Row) -> str:
    """Returns one line about a model that ended."""
    if row.stage == "failed":
        return f"{row.id}: failed before {row.failed_at}: {row.failure}: {row.message}"
    if row.stage == "withheld":
        return f"{row.id}: withheld: {row.message}"
    if row.stage == "duplicate":
        return f"{row.id}: duplicate: all its graphs are published"
    new, all = new_graphs(row), len(row.facts["hashes"])
    return f"{row.id}: published, {new} of {all} graph{'s' if all > 1 else ''} new"


class Progress:
    """Shows the progress of a Runner: on a terminal as a table that is redrawn, elsewhere as a line
    for each model that ended."""

    def __init__(self, stream: TextIO = sys.stderr):
        self._stream = stream
        self._is_terminal = stream.isatty()
        self._said: set[int] = set()
        self._known = False
        self._drawn = 0
        self._next = 0.0

    def __call__(self, runner: Any) -> None:
        ended = [row for row in runner.rows if row.ended]
        if not self._known:  # Models that ended in an earlier run are not shown again.
            self._known = True
            self._said = {row.number for row in ended}
        lines = [line_of(row) for row in ended if row.number not in self._said]
        self._said.update(row.number for row in ended)
        if not self._is_terminal:
            for line in lines:
                print(line, file=self._stream, flush=True)
        elif lines or time.monotonic() >= self._next:
            self._next = time.monotonic() + 0.5
            self._draw(lines, runner)

    def _draw(self, lines: list[str], runner: Any) -> None:
        counts = collections.Counter(row.stage for row in runner.rows)
        table = [
            "  ".join(f"{stage} {counts[stage]}" for stage in (*STAGES, *ENDS[1:]) if counts[stage])
        ]
        for number, group in sorted(runner.running.items()):
            row = runner.rows[number]
            table.append(f"  {row.id}: behind {row.stage}, {group.seconds:.0f} s")
        width = os.get_terminal_size(self._stream.fileno()).columns
        up = f"\x1b[{self._drawn}F\x1b[J" if self._drawn else ""
        self._stream.write(up + "".join(line[: width - 1] + "\n" for line in lines + table))
        self._stream.flush()
        self._drawn = len(table)


# --- The page -------------------------------------------------------------------------------------

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em;
  color: #222; background: #fff; }
table { border-collapse: collapse; margin: 1em 0; }
th, td { text-align: left; padding: .2em .5em; border-bottom: 1px solid #ddd; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.failed { color: #a00; } .withheld, .duplicate { color: #765; }
.bar { background: #47a; height: .8em; display: inline-block; }
.scroll { overflow-x: auto; } .scroll td { white-space: nowrap; }
.scroll td:first-child, .scroll td:last-child { white-space: normal; overflow-wrap: anywhere;
  min-width: 11em; }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #1c1c1c; }
  th, td { border-color: #444; } .failed { color: #f88; } .withheld, .duplicate { color: #cb9; } }
"""


def page(rows: list[Row]) -> str:
    """Returns a self-contained HTML page: how models ended, failures by class, and each model."""
    families: dict[str, list[Row]] = {}
    for row in rows:
        families.setdefault(row.facts.get("family", "not known"), []).append(row)
    failures = collections.Counter(
        (row.failure or "", row.failed_at or "") for row in rows if row.stage == "failed"
    )
    most = max([new_graphs(row) for row in rows], default=0) or 1
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        "<title>graphnet harvest</title>",
        f"<style>{_STYLE}</style></head><body>",
        "<h1>graphnet harvest</h1>",
        f"<p>{html.escape(summary(rows))}.</p>",
        "<h2>Families</h2>",
        _table(
            ("family", "models", "published", "new graphs"),
            [
                (
                    name,
                    len(found),
                    sum(row.stage == "published" for row in found),
                    sum(map(new_graphs, found)),
                )
                for name, found in sorted(families.items())
            ],
        ),
    ]
    if failures:
        parts += [
            "<h2>Failures</h2>",
            _table(
                ("class", "before stage", "models", "meaning"),
                [
                    (kind, stage, count, CLASSES.get(kind, ""))
                    for (kind, stage), count in failures.most_common()
                ],
            ),
        ]
    parts += [
        "<h2>Models</h2>",
        '<div class="scroll">',
        _table(
            (
                "model",
                "end",
                "family",
                "licence",
                "parameters",
                "graphs",
                "new",
                "",
                "seconds",
                "why",
            ),
            [
                (
                    row.id,
                    _Marked(row.stage),
                    row.facts.get("family", ""),
                    row.facts.get("licence") or "",
                    row.facts.get("parameters") or "",
                    len(row.facts.get("hashes", {})),
                    new_graphs(row),
                    _Bar(new_graphs(row) / most),
                    round(row.seconds),
                    f"{row.failure}, before {row.failed_at}: {row.message}"
                    if row.stage == "failed"
                    else row.message or "",
                )
                for row in rows
            ],
        ),
        "</div>",
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


class _Marked(str):
    """Returns a cell whose class is its own text."""


class _Bar(float):
    """Returns a cell with a bar, from 0 to 1."""


def _table(head: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    lines = ["<table><tr>" + "".join(f"<th>{html.escape(cell)}</th>" for cell in head) + "</tr>"]
    for row in rows:
        lines.append("<tr>" + "".join(map(_cell, row)) + "</tr>")
    return "\n".join(lines) + "\n</table>"


def _cell(value: Any) -> str:
    if isinstance(value, _Bar):
        return f'<td><span class="bar" style="width:{60 * value:.0f}px"></span></td>'
    if isinstance(value, _Marked):
        return f'<td class="{html.escape(value)}">{html.escape(value)}</td>'
    if isinstance(value, int):
        return f'<td class="number">{value:,}</td>'
    return f"<td>{html.escape(str(value))}</td>"


def write_page(rows: list[Row], folder: str) -> str:
    """Writes folder/report.html, whole or not at all, and returns its path."""
    path = os.path.join(folder, "report.html")
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(page(rows))
    os.replace(path + ".new", path)
    return path
