"""The pages of `graphnet corpus serve`, as HTML without scripts.

Everything that comes out of a corpus is a stranger's: it becomes text in `Html`, which escapes.
"""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple
from urllib.parse import urlencode

from graphnet_ir.corpus.texts import printable

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 0; color: #1b1f24; background: #fff }
header { background: #24425c; color: #fff; padding: .6rem 1.2rem }
header a { color: #fff; text-decoration: none; font-weight: 600 }
header span { opacity: .8; margin-left: .8rem }
main { display: flex; gap: 2rem; padding: 1rem 1.2rem; align-items: flex-start; flex-wrap: wrap }
nav { flex: 0 0 15rem } section { flex: 1 1 32rem; min-width: 0 }
h1 { font-size: 1.15rem; overflow-wrap: anywhere } h2 { font-size: .95rem; margin: 1rem 0 .3rem }
table { border-collapse: collapse; width: 100% } td, th { text-align: left; padding: .2rem .6rem }
th { font-weight: 600; color: #57606a } tr + tr td { border-top: 1px solid #e4e8ec }
td.n { text-align: right; font-variant-numeric: tabular-nums } td { overflow-wrap: anywhere }
code, .hash { font: 13px ui-monospace, monospace } ul { list-style: none; margin: 0; padding: 0 }
a { color: #0b5cad; text-decoration: none } a:hover { text-decoration: underline }
nav li span { color: #57606a; float: right } nav li { padding: .08rem 0; overflow-wrap: anywhere }
form input[name=q] { width: min(40rem, 70%); font: 15px ui-monospace, monospace; padding: .35rem }
form button { padding: .35rem .9rem } .note { color: #8a5300 } .none { color: #57606a }
iframe { width: 100%; height: 70vh; border: 1px solid #d0d7de }
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


def link(text: object, place: str, conditions: Optional[Mapping[str, object]] = None) -> Html:
    """Returns a link to a page of this server."""
    query = f"?{urlencode(conditions, errors='replace')}" if conditions else ""
    return _tag("a", text, href=place + query)


@dataclass
class Search:
    """What a page of results shows."""

    conditions: Dict[str, str]
    hits: List[Dict[str, Any]] = field(default_factory=list)
    notes: List[str] = field(default_factory=list)
    error: Optional[str] = None
    after: Optional[int] = None  # how many hits come before the next page; None: this is the last
    candidates: Optional[int] = None


def _page(title: str, corpus: str, *content: Html) -> str:
    head = _tag("header", link("graphnet corpus", "/"), _tag("span", corpus))
    return ("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
            "<meta name=\"viewport\" content=\"width=device-width\">"
            f"<title>{_put(title)}</title><style>{_STYLE}</style></head><body>"
            f"{head}{''.join(content)}</body></html>\n")


def _table(names: Sequence[str], rows: Iterable[Sequence[object]]) -> Html:
    made = [_tag("tr", *(_tag("th", name) for name in names))] if names else []
    for row in rows:
        made.append(_tag("tr", *(_tag("td", cell, class_="n") if isinstance(cell, (int, float))
                                 and not isinstance(cell, bool) else _tag("td", cell)
                                 for cell in row)))
    return _tag("table", *made)


def _facet(title: str, key: str, values: Iterable[Tuple[str, int]],
           conditions: Mapping[str, str]) -> Html:
    """Returns links that add a condition, or take it away if it is set."""
    chosen = conditions.get(key)
    rest = {name: value for name, value in conditions.items() if name != key}
    rows = []
    if chosen is not None:
        rows.append(_tag("li", _tag("b", chosen), " ", link("× remove", "/", rest)))
    rows += [_tag("li", _tag("span", count), link(value, "/", {**rest, key: value}))
             for value, count in values if value != chosen]
    return Html(_tag("h2", title) + _tag("ul", *rows)) if rows else Html("")


def results(corpus: str, search: Search, facets: Mapping[str, List[Tuple[str, int]]]) -> str:
    """Returns the page of a search."""
    hidden = [Html(f'<input type="hidden" name="{_put(key)}" value="{_put(value)}">')
              for key, value in search.conditions.items() if key != "q"]
    form = _tag("form", Html('<input name="q" autofocus placeholder="softmax(matmul(?, ?))" value="'
                             f'{_put(search.conditions.get("q", ""))}"> '),
                *hidden, _tag("button", "Find"), method="get", action="/")
    parts = [form]
    if search.error is not None:
        parts.append(_tag("p", search.error, class_="note"))
    parts += [_tag("p", note, class_="note") for note in search.notes]
    if search.candidates is not None and search.error is None:
        parts.append(_tag("p", f"the index names {search.candidates:,} graphs", class_="none"))
    if search.hits:
        parts.append(_table(
            ["graph", "nodes", "matches", "occurrences", "first of them"],
            ([link(_tag("span", hit["hash"][:16], class_="hash"), f"/graph/{hit['hash']}"),
              hit["nodes"], hit["matches"], len(hit["names"]), (hit["names"] or [""])[0]]
             for hit in search.hits)))
    elif search.error is None:
        parts.append(_tag("p", "No graph is found.", class_="none"))
    if search.after is not None:
        parts.append(_tag("p", link("more", "/", {**search.conditions, "after": search.after})))
    nav = _tag("nav", *(_facet(title, key, facets.get(key, []), search.conditions)
                        for title, key in (("Source", "source"), ("Licence", "licence"),
                                           ("Calls", "target"), ("Dtypes", "dtype"),
                                           ("model", "model"), ("nodes", "nodes"))))
    return _page(search.conditions.get("q") or "graphnet corpus", corpus,
                 _tag("main", nav, _tag("section", *parts)))


@dataclass
class Graph:
    """What the page of a graph shows."""

    hash: str
    facts: List[Tuple[str, object]]
    occurrences: List[Dict[str, Any]]
    parents: List[Tuple[str, str, int, int, bool]]  # name, hash, range, whether it is here
    same_but_sizes: List[str]
    similar: List[Tuple[str, float]]
    columns: List[Tuple[str, object]]  # what jobs added


def _hash_link(hash: str) -> Html:
    return link(_tag("span", hash[:16], class_="hash"), f"/graph/{hash}")


def graph(corpus: str, told: Graph) -> str:
    """Returns the page of a graph."""
    place = f"/graph/{told.hash}"
    parts = [_tag("h1", told.hash, class_="hash"),
             _tag("p", link("text", f"{place}/text"), "  ·  ", link("protobuf", f"{place}/protobuf"),
                  "  ·  ", link("whole page of the graph", f"{place}/view")),
             _table([], told.facts)]
    if told.columns:
        parts += [_tag("h2", "Results of jobs"), _table([], told.columns)]
    parts += [_tag("h2", f"Occurrences: {len(told.occurrences)}"),
              _table(["path", "source", "model", "licence"],
                     ([row["path"], *(link(row[key], "/", {key: row[key]}) if row[key] else ""
                                      for key in ("source", "model", "licence"))]
                      for row in told.occurrences))]
    if told.parents:
        parts += [_tag("h2", "Cut from"), _table(["graph", "name", "operators"], (
            [_hash_link(hash) if here else _tag("span", hash[:16], class_="hash"), name,
             f"{begin} to {end}"] for name, hash, begin, end, here in told.parents))]
    if told.same_but_sizes:
        parts += [_tag("h2", "The same with other sizes"),
                  _tag("ul", *(_tag("li", _hash_link(hash)) for hash in told.same_but_sizes))]
    if told.similar:
        parts += [_tag("h2", "Similar"), _table(["graph", "similarity"], (
            [_hash_link(hash), f"{share:.3f}"] for hash, share in told.similar))]
    view = Html(f'<iframe sandbox="allow-scripts" title="graph" src="{_put(place)}/view"></iframe>')
    return _page(told.hash[:16], corpus,
                 _tag("main", _tag("section", *parts), _tag("section", view)))


def failure(corpus: str, what: str) -> str:
    """Returns a page that says what is wrong."""
    return _page("graphnet corpus", corpus, _tag("main", _tag("section", _tag("p", what))))
