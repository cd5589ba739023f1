"""A server of read-only pages on a corpus, for a browser (docs/corpus.md).

Starlette and uvicorn do what a server does. This file says which addresses there are: all of them
only read, and none names a file. By default only programs of this machine reach it.
"""

from __future__ import annotations

import contextlib
import importlib
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from graphnet_ir import _core
from graphnet_ir._errors import made_error
from graphnet_ir.corpus import covering, pages
from graphnet_ir.corpus.schema import GRAPHS
from graphnet_ir.corpus.tables import quoted

Error = _core.Error

HITS_A_PAGE = 50
SECONDS_A_SEARCH = 10.0  # then the hits until now are shown
_FACETS = 25  # values of a facet
_MOST_SIMILAR = 20
_MOST_NAMESAKES = 100  # graphs that may be what a piece was cut from
_LONGEST = 2000  # letters of a condition

# A page of ours loads nothing but the frame with a graph, and sends its form to us alone.
_OURS = (
    "default-src 'none'; style-src 'unsafe-inline'; frame-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
# The tool's page has scripts of its own. It runs apart from ours and reaches nothing.
_THE_TOOLS = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'"
)


def _need(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise made_error(
            "failed_precondition",
            "the server needs starlette and uvicorn: "
            f"pip install 'graphnet_ir[corpus-serve]' ({error})",
        ) from error


class Pages:
    """Makes the pages of a corpus. Any thread."""

    def __init__(self, corpus: Any):
        self.corpus = corpus
        self.title = corpus.path
        self._facets: dict[str, list[tuple[str, int]]] | None = None
        self._lock = threading.Lock()
        self._damaged: list[str] = []
        self._counting = covering.Counting(
            corpus, ["calls"], lambda name, _: self._damaged.append(name)
        )
        self._counting_lock = threading.Lock()

    def facets(self) -> dict[str, list[tuple[str, int]]]:
        """Returns the most frequent values of a few columns, which are counted once."""
        with self._lock:
            if self._facets is None:
                made = {key: self._values_of_sources(key) for key in ("source", "licence")}
                for row in self.corpus.coverage(["targets", "dtypes"]):
                    made.setdefault(row["column"][:-1], []).append((row["value"], row["graphs"]))
                self._facets = {key: values[:_FACETS] for key, values in made.items()}
            return self._facets

    def coverage(self) -> pages.Coverage:
        """Counts the calls of the graphs for some seconds, and goes on with that the next time."""
        with self._counting_lock:
            self._counting.go_on(SECONDS_A_SEARCH)
            return pages.Coverage(
                [(row, covering.kind(row)) for row in self._counting.rows()],
                self._counting.graphs,
                len(self.corpus),
                len(self._damaged),
            )

    def _values_of_sources(self, column: str) -> list[tuple[str, int]]:
        counts = self.corpus.sources.table([column]).column(column).value_counts()
        pairs = [
            (str(row["values"]), int(row["counts"]))
            for row in counts.to_pylist()
            if row["values"] is not None
        ]
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))

    def search(self, conditions: dict[str, str], after: int) -> pages.Search:
        """Finds the hits of a page."""
        made = pages.Search(conditions)
        try:
            found = self._found(conditions)
            if conditions.get("q"):
                made.candidates = found.candidates()
            begin = time.monotonic()
            kept: list[tuple[bytes, int]] = []
            for place, hit in enumerate(found.hashes()):
                if place >= after + HITS_A_PAGE:
                    made.after = place
                    break
                if place >= after:
                    kept.append(hit)
                if time.monotonic() - begin > SECONDS_A_SEARCH:
                    made.notes.append(
                        f"the search ended after {SECONDS_A_SEARCH:g} seconds: there may be more"
                    )
                    break
            made.hits = self._rows(kept)
            made.notes = found.notes[:10] + made.notes + found.doubts(bool(kept or after))
        except Error as error:
            made.error = str(error)
        return made

    def _found(self, conditions: dict[str, str]) -> Any:
        if any(len(value) > _LONGEST for value in conditions.values()):
            raise made_error("invalid_argument", f"a condition has at most {_LONGEST} letters")
        where = []
        for key, column in (("target", "targets"), ("dtype", "dtypes")):
            if key in conditions:
                where.append(f"array_has_any({column}, [{quoted(conditions[key])}])")
        nodes = None
        if "nodes" in conditions:
            least, dots, greatest = conditions["nodes"].partition("..")
            greatest = greatest if dots else least
            if not (least.isdecimal() and greatest.isdecimal()):
                raise made_error("invalid_argument", "nodes is a number, or two with .. between")
            nodes = (int(least), int(greatest))
        return self.corpus.find(
            conditions.get("q") or None,
            where=" AND ".join(where) or None,
            nodes=nodes,
            source=conditions.get("source"),
            licence=conditions.get("licence"),
            model=conditions.get("model"),
            kind=conditions.get("kind"),
        )

    def _rows(self, found: list[tuple[bytes, int]]) -> list[dict[str, Any]]:
        hashes = [hash for hash, _ in found]
        rows = self.corpus.graphs.where(["hash", "nodes"], "hash", hashes)
        nodes = dict(zip(rows.column("hash").to_pylist(), rows.column("nodes").to_pylist()))
        names = self.corpus.occurrences(hashes)
        return [
            {
                "hash": hash.hex(),
                "nodes": nodes.get(hash, 0),
                "matches": matches,
                "names": [row["path"] for row in names.get(hash, [])],
            }
            for hash, matches in found
        ]

    def _graphs_of(self, parents: list[tuple[str, str, int, int]]) -> dict[tuple[str, str], str]:
        """Returns the hashes of the graphs of parents. A piece knows the name of its parent, and the
        hash that it has without metas."""
        found: dict[tuple[str, str], str] = {}
        for name, told in {parent[:2] for parent in parents}:
            rows = self.corpus.sources.table(["hash"], f"name = {quoted(name)}")
            for key in sorted(set(rows.column("hash").to_pylist()))[:_MOST_NAMESAKES]:
                with contextlib.suppress(Error):
                    if _core.canonical_hash(self.corpus[key]) == told:
                        found[name, told] = key.hex()
                        break
        return found

    def graph(self, hash: str) -> pages.Graph:
        """Returns what there is about a graph. Raises KeyError if it is not there."""
        sample = self.corpus[hash]
        key = bytes.fromhex(hash)
        facts = ["nodes", "inputs", "outputs", "parameters", "dtypes", "ranks", "shape_hash"]
        added = [name for name in self.corpus.dataset.schema.names if name not in GRAPHS.names]
        row = self.corpus.graphs.where(facts + added, "hash", [key]).to_pylist()[0]
        alike = self.corpus.graphs.where(["hash"], "shape_hash", [row["shape_hash"]])
        same = [other.hex() for other in sorted(alike.column("hash").to_pylist()) if other != key]
        occurrences = self.corpus.occurrences([key]).get(key, [])
        parents = sorted(
            {
                (parent["name"], parent["hash"], parent["start"], parent["end"])
                for told in occurrences
                for parent in told["parents"] or []
            }
        )
        here = self._graphs_of(parents)
        similar = [
            pair
            for pair in self.corpus.similar(sample, self.corpus.manifest["near_at"])
            if pair[0] != hash and pair[0] not in same
        ]
        return pages.Graph(
            hash,
            [
                (
                    name,
                    ", ".join(map(str, row[name]))
                    if isinstance(row[name], list)
                    else str(row[name]),
                )
                for name in facts[:-1]
            ],
            occurrences,
            [
                (name, told, begin, end, here.get((name, told)))
                for name, told, begin, end in parents
            ],
            same[:_MOST_SIMILAR],
            similar[:_MOST_SIMILAR],
            [(name, str(row[name])) for name in added if row[name] is not None],
        )


def _the_tools_page(sample: Any) -> str:
    return _core.page(sample, sample.name)


def application(corpus: Any, hosts: list[str]) -> Any:
    """Returns the application, for a server of ASGI. hosts: the names by which browsers may call
    it, without ports; another Host header is refused, so that no page of the web can read here."""
    _need("uvicorn")
    applications = _need("starlette.applications")
    middleware = _need("starlette.middleware")
    trusted = _need("starlette.middleware.trustedhost")
    responses = _need("starlette.responses")
    routing = _need("starlette.routing")
    site = Pages(corpus)

    def answer(
        content: str | bytes,
        status: int = 200,
        policy: str = _OURS,
        kind: str = "text/html; charset=utf-8",
        headers: dict[str, str] | None = None,
    ) -> Any:
        return responses.Response(
            content,
            status_code=status,
            media_type=kind,
            headers={
                "Content-Security-Policy": policy,
                "X-Content-Type-Options": "nosniff",
                "Referrer-Policy": "no-referrer",
                "Cross-Origin-Resource-Policy": "same-origin",
                "Cache-Control": "no-store",
                **(headers or {}),
            },
        )

    def results(request: Any) -> Any:
        told = {
            key: value
            for key in ("q", "source", "licence", "model", "nodes", "target", "dtype", "kind")
            if (value := request.query_params.get(key))
        }
        after = request.query_params.get("after", "0")
        search = site.search(told, int(after) if after.isdecimal() and len(after) < 10 else 0)
        return answer(
            pages.results(site.title, search, site.facets()), 400 if search.error else 200
        )

    def with_graph(show: Any) -> Any:
        def endpoint(request: Any) -> Any:
            hash = request.path_params["hash"]
            try:
                return show(hash)
            except KeyError:
                return answer(pages.failure(site.title, f"There is no graph {hash}."), 404)
            except Error as error:
                return answer(pages.failure(site.title, str(error)), 404)

        return endpoint

    def text(hash: str) -> Any:
        return answer(str(corpus[hash]), kind="text/plain; charset=utf-8")

    def protobuf(hash: str) -> Any:
        return answer(
            _core.to_bytes(corpus[hash]),
            kind="application/octet-stream",
            headers={"Content-Disposition": f'attachment; filename="{hash[:16]}.pb"'},
        )

    routes = [
        routing.Route("/", results, methods=["GET"]),
        routing.Route(
            "/coverage",
            lambda request: answer(pages.coverage(site.title, site.coverage())),
            methods=["GET"],
        ),
        routing.Route(
            "/graph/{hash}",
            with_graph(lambda hash: answer(pages.graph(site.title, site.graph(hash)))),
            methods=["GET"],
        ),
        routing.Route(
            "/graph/{hash}/view",
            with_graph(lambda hash: answer(_the_tools_page(corpus[hash]), policy=_THE_TOOLS)),
            methods=["GET"],
        ),
        routing.Route("/graph/{hash}/text", with_graph(text), methods=["GET"]),
        routing.Route("/graph/{hash}/protobuf", with_graph(protobuf), methods=["GET"]),
    ]
    return applications.Starlette(
        routes=routes,
        middleware=[
            middleware.Middleware(
                trusted.TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False
            )
        ],
    )


def serve(
    corpus: Any,
    host: str = "127.0.0.1",
    port: int = 8080,
    names: list[str] | None = None,
    told: Callable[[str], None] = lambda address: None,
) -> None:
    """Serves a corpus until it is interrupted. port: 0 takes a free one. names: by which browsers
    may call it, beside the address and localhost. told: gets the address when it answers."""
    uvicorn = _need("uvicorn")
    hosts = ["127.0.0.1", "localhost", host, *(names or [])]
    config = uvicorn.Config(
        application(corpus, hosts),
        log_level="warning",
        limit_concurrency=64,
        timeout_keep_alive=5,
        server_header=False,
    )
    with socket.create_server((host, port)) as listening:
        told(f"http://{host}:{listening.getsockname()[1]}/")
        uvicorn.Server(config).run(sockets=[listening])
