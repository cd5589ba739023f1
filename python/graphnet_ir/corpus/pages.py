"""The pages of `graphnet corpus serve`, as HTML without scripts.

Everything that comes out of a corpus is a stranger's: it becomes text in `Html`, which escapes.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from graphnet_ir.corpus.texts import printable

MOST_OPERATORS = 1000
"""The operators of which the page of the coverage shows rows."""

_STYLE = """
:root { color-scheme: light dark; --text: #1b1f24; --back: #fff; --grey: #57606a; --line: #e4e8ec;
  --link: #0b5cad; --note: #8a5300; --head: #24425c }
@media (prefers-color-scheme: dark) { :root { --text: #dde3ea; --back: #14181d; --grey: #98a3af;
  --line: #2b323a; --link: #79b8ff; --note: #e3a952; --head: #1d3347 } }
body { font: 15px/1.45 system-ui, sans-serif; margin: 0; color: var(--text);
  background: var(--back) }
header { background: var(--head); color: #fff; padding: .6rem 1.2rem; overflow-wrap: anywhere }
header a { color: #fff; text-decoration: none; font-weight: 600 }
header span { opacity: .8; margin-left: .8rem }
main { display: flex; gap: 2rem; padding: 1rem 1.2rem; align-items: flex-start; flex-wrap: wrap }
nav { flex: 0 0 17rem } section { flex: 1 1 32rem; min-width: 0 }
h1 { font-size: 1.15rem; margin: 0; overflow-wrap: anywhere }
h2 { font-size: .95rem; margin: 1rem 0 .3rem }
table { border-collapse: collapse; width: 100% } td, th { text-align: left; padding: .2rem .6rem }
th { font-weight: 600; color: var(--grey) } tr + tr td { border-top: 1px solid var(--line) }
.n { text-align: right; font-variant-numeric: tabular-nums } td { overflow-wrap: anywhere }
code, .hash { font: 13px ui-monospace, monospace; overflow-wrap: anywhere }
ul { list-style: none; margin: 0; padding: 0 }
a { color: var(--link); text-decoration: none } a:hover { text-decoration: underline }
nav li { display: flex; gap: .6rem; justify-content: space-between; padding: .08rem 0 }
nav li span { color: var(--grey) } nav li :first-child { overflow-wrap: anywhere }
form { display: flex; gap: .4rem; max-width: 46rem; margin-bottom: .8rem }
form input[name=q] { flex: 1; min-width: 0; font: 15px ui-monospace, monospace; padding: .35rem }
form button { padding: .35rem .9rem } .note { color: var(--note) } .none { color: var(--grey) }
.wide { overflow-x: auto } .wide table { width: auto } .wide td, .wide th { white-space: nowrap }
.wide td:first-child { position: sticky; left: 0; background: var(--back); max-width: 11rem;
  overflow: hidden; text-overflow: ellipsis }
iframe { width: 100%; height: 70vh; border: 1px solid var(--line); background: #fff }
@media (max-width: 50rem) {
  main { flex-direction: column; flex-wrap: nowrap; align-items: stretch; gap: 1rem; padding: .8rem }
  nav { order: 1; flex: none } section { flex: none }
  td, th { padding: .2rem .3rem } th { font-size: 12px } .hash { font-size: 11px } }
"""


class Html(str):
    """Text that is HTML. Other text is escaped where it is put in."""


def _put(text: object) -> str:
    if isinstance(text, Html):
        return text
    return html.escape(printable(str(text), keep="\n\t"))


def _tag(name: str, *content: object, **attributes: object) -> Html:
    told = "".join(f' {key.rstrip("_")}="{_put(value)}"' for key, value in attributes.items())
    return Html(f"<{name}{told}>{''.join(map(_put, content))}</{name}>")


def link(text: object, place: str, conditions: Mapping[str, object] | None = None) -> Html:
    """Returns a link to a page of this server."""
    query = f"?{urlencode(conditions, errors='replace')}" if conditions else ""
    return _tag("a", text, href=place + query)


@dataclass
class Search:
    """What a page of results shows."""

    conditions: dict[str, str]
    hits: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    error: str | None = None
    after: int | None = None  # how many hits come before the next page; None: this is the last
    candidates: int | None = None


def _page(title: str, corpus: str, *content: Html) -> str:
    head = _tag(
        "header",
        link("graphnet corpus", "/"),
        _tag("span", corpus),
        _tag("span", link("coverage", "/coverage")),
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{_put(title)}</title><style>{_STYLE}</style></head><body>"
        f"{head}{''.join(content)}</body></html>\n"
    )


def _table(names: Sequence[str], rows: Iterable[Sequence[object]]) -> Html:
    given = list(rows)

    def cell(name: str, content: object, like: object) -> Html:
        if isinstance(like, (int, float)) and not isinstance(like, bool):
            return _tag(name, content, class_="n")
        return _tag(name, content)

    made = [_tag("tr", *(cell("td", content, content) for content in row)) for row in given]
    if names:  # A title stands over its column: to the right if that has numbers.
        made.insert(
            0, _tag("tr", *map(cell, ["th"] * len(names), names, given[0] if given else names))
        )
    return _tag("table", *made)


def _facet(
    title: str, key: str, values: Iterable[tuple[str, int]], conditions: Mapping[str, str]
) -> Html:
    """Returns links that add a condition, or take it away if it is set."""
    chosen = conditions.get(key)
    rest = {name: value for name, value in conditions.items() if name != key}
    rows = []
    if chosen is not None:
        rows.append(_tag("li", _tag("b", chosen), " ", link("× remove", "/", rest)))
    rows += [
        _tag("li", link(value, "/", {**rest, key: value}), _tag("span", count))
        for value, count in values
        if value != chosen
    ]
    return Html(_tag("h2", title) + _tag("ul", *rows)) if rows else Html("")


def results(corpus: str, search: Search, facets: Mapping[str, list[tuple[str, int]]]) -> str:
    """Returns the page of a search."""
    hidden = [
        Html(f'<input type="hidden" name="{_put(key)}" value="{_put(value)}">')
        for key, value in search.conditions.items()
        if key != "q"
    ]
    form = _tag(
        "form",
        Html(
            '<input name="q" autofocus placeholder="softmax(matmul(?, ?))" value="'
            f'{_put(search.conditions.get("q", ""))}"> '
        ),
        *hidden,
        _tag("button", "Find"),
        method="get",
        action="/",
    )
    parts = [form]
    if search.error is not None:
        parts.append(_tag("p", search.error, class_="note"))
    parts += [_tag("p", note, class_="note") for note in search.notes]
    if search.candidates is not None and search.error is None:
        parts.append(_tag("p", f"the index names {search.candidates:,} graphs", class_="none"))
    if search.hits:
        # Without a query nothing is matched.
        matches = [[hit["matches"]] if search.conditions.get("q") else [] for hit in search.hits]
        parts.append(
            _table(
                [
                    "graph",
                    "nodes",
                    *(["matches"] if matches[0] else []),
                    "occurrences",
                    "first of them",
                ],
                (
                    [
                        link(
                            _tag("span", hit["hash"][:16], class_="hash"), f"/graph/{hit['hash']}"
                        ),
                        hit["nodes"],
                        *matched,
                        len(hit["names"]),
                        (hit["names"] or [""])[0],
                    ]
                    for hit, matched in zip(search.hits, matches)
                ),
            )
        )
    elif search.error is None:
        parts.append(_tag("p", "No graph is found.", class_="none"))
    if search.after is not None:
        parts.append(_tag("p", link("more", "/", {**search.conditions, "after": search.after})))
    nav = _tag(
        "nav",
        *(
            _facet(title, key, facets.get(key, []), search.conditions)
            for title, key in (
                ("Source", "source"),
                ("Licence", "licence"),
                ("Calls", "target"),
                ("Dtypes", "dtype"),
                ("Model", "model"),
                ("Nodes", "nodes"),
                ("Kind of call", "kind"),
            )
        ),
    )
    return _page(
        search.conditions.get("q") or "graphnet corpus",
        corpus,
        _tag("main", nav, _tag("section", *parts)),
    )


@dataclass
class Coverage:
    """What the page of the coverage shows."""

    kinds: list[tuple[dict[str, Any], str]]  # rows of covering.coverage, and their texts
    counted: int  # graphs
    all: int
    damaged: int


def coverage(corpus: str, told: Coverage) -> str:
    """Returns the page of operators by dtype and rank."""
    cells = {
        (row["value"], row["dtype"], row["rank"]): (row["graphs"], kind) for row, kind in told.kinds
    }
    sums: Counter[tuple[str | None, int | None]] = Counter()
    operators: dict[str, int] = {}
    for (operator, dtype, rank), (count, _) in cells.items():
        sums[dtype, rank] += count
        operators[operator] = max(operators.get(operator, 0), count)
    frequent: Counter[str | None] = Counter()
    for (dtype, _), count in sums.items():
        frequent[dtype] += count
    dtypes = sorted(frequent, key=lambda dtype: (dtype is None, -frequent[dtype], str(dtype)))
    columns = [
        (dtype, rank)
        for dtype in dtypes
        for rank in sorted(
            (rank for other, rank in sums if other == dtype), key=lambda rank: (rank is None, rank)
        )
    ]
    shown = sorted(operators, key=lambda operator: (-operators[operator], operator))

    def cell(operator: str, dtype: str | None, rank: int | None) -> Html:
        count, kind = cells.get((operator, dtype, rank), (0, ""))
        return _tag("td", link(count, "/", {"kind": kind}) if count else "", class_="n")

    head = [
        _tag(
            "tr",
            _tag("th"),
            *(
                _tag(
                    "th",
                    dtype or "unknown",
                    colspan=sum(1 for other, _ in columns if other == dtype),
                )
                for dtype in dtypes
            ),
        ),
        _tag(
            "tr",
            _tag("th", "operator"),
            *(_tag("th", "?" if rank is None else rank, class_="n") for _, rank in columns),
        ),
    ]
    rows = [
        _tag(
            "tr",
            _tag("td", link(operator, "/", {"target": operator})),
            *(cell(operator, *column) for column in columns),
        )
        for operator in shown[:MOST_OPERATORS]
    ]
    notes = (
        [f"of the first {told.counted:,} of {told.all:,} graphs; load the page again to count on"]
        if told.counted + told.damaged < told.all
        else []
    )
    if told.damaged:
        notes.append(f"{told.damaged:,} graphs are damaged and left out")
    if len(shown) > MOST_OPERATORS:
        notes.append(f"the {MOST_OPERATORS:,} most frequent of {len(shown):,} operators")
    return _page(
        "coverage",
        corpus,
        _tag(
            "main",
            _tag(
                "section",
                _tag("h1", "Coverage"),
                _tag(
                    "p",
                    "How many graphs call an operator with a result of a dtype and rank. A number "
                    "leads to these graphs.",
                    class_="none",
                ),
                *(_tag("p", note, class_="note") for note in notes),
                _tag("div", _tag("table", *head, *rows), class_="wide") if rows else Html(""),
            ),
        ),
    )


@dataclass
class Graph:
    """What the page of a graph shows."""

    hash: str
    facts: list[tuple[str, object]]
    occurrences: list[dict[str, Any]]
    # The name, the hash without metas, the range, and the hash if the graph is here.
    parents: list[tuple[str, str, int, int, str | None]]
    same_but_sizes: list[str]
    similar: list[tuple[str, float]]
    columns: list[tuple[str, object]]  # what jobs added


def _hash_link(hash: str) -> Html:
    return link(_tag("span", hash[:16], class_="hash"), f"/graph/{hash}")


def graph(corpus: str, told: Graph) -> str:
    """Returns the page of a graph."""
    place = f"/graph/{told.hash}"
    name = told.occurrences[0]["name"] if told.occurrences else ""
    parts = [
        _tag("h1", name),
        _tag("p", told.hash, class_="hash"),
        _tag(
            "p",
            link("text", f"{place}/text"),
            "  ·  ",
            link("protobuf", f"{place}/protobuf"),
            "  ·  ",
            link("whole page of the graph", f"{place}/view"),
        ),
        _table([], told.facts),
    ]
    if told.columns:
        parts += [_tag("h2", "Results of jobs"), _table([], told.columns)]
    parts += [
        _tag("h2", f"Occurrences: {len(told.occurrences)}"),
        _table(
            ["path", "source", "model", "licence"],
            (
                [
                    row["path"],
                    *(
                        link(row[key], "/", {key: row[key]}) if row[key] else ""
                        for key in ("source", "model", "licence")
                    ),
                ]
                for row in told.occurrences
            ),
        ),
    ]
    if told.parents:
        parts += [
            _tag("h2", "Cut from"),
            _table(
                ["graph", "name", "operators"],
                (
                    [
                        _hash_link(here) if here else _tag("span", hash[:16], class_="hash"),
                        name,
                        f"{begin} to {end}",
                    ]
                    for name, hash, begin, end, here in told.parents
                ),
            ),
        ]
    if told.same_but_sizes:
        parts += [
            _tag("h2", "The same with other sizes"),
            _tag("ul", *(_tag("li", _hash_link(hash)) for hash in told.same_but_sizes)),
        ]
    if told.similar:
        parts += [
            _tag("h2", "Similar"),
            _table(
                ["graph", "similarity"],
                ([_hash_link(hash), f"{share:.3f}"] for hash, share in told.similar),
            ),
        ]
    view = Html(f'<iframe sandbox="allow-scripts" title="graph" src="{_put(place)}/view"></iframe>')
    return _page(
        f"{name} {told.hash[:16]}".strip(),
        corpus,
        _tag("main", _tag("section", *parts), _tag("section", view)),
    )


def failure(corpus: str, what: str) -> str:
    """Returns a page that says what is wrong."""
    return _page("graphnet corpus", corpus, _tag("main", _tag("section", _tag("p", what))))
