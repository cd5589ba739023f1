"""graphnet corpus: the command."""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from graphnet_ir._core import Error
from graphnet_ir._errors import made_error
from graphnet_ir.corpus.options import MOST_RANGES, parser
from graphnet_ir.corpus.texts import printable
from graphnet_ir.ranges import RECURRING_BY


def _printable(text: str, most: int = 1000) -> str:
    """Returns text in which nothing moves the cursor of a terminal, as one line."""
    made = printable(text[:most])
    return made if len(text) <= most else made + "…"


def _note(text: str) -> None:
    print(f"note: {_printable(text)}", file=sys.stderr)


def _create(args: argparse.Namespace) -> int:
    from graphnet_ir.corpus.store import Corpus

    Corpus.create(args.corpus)
    return 0


def _add(args: argparse.Namespace) -> int:
    from graphnet_ir.corpus.store import Corpus

    corpus = Corpus(args.corpus, "a")
    return _added(
        args,
        corpus,
        lambda tell: corpus.add(
            args.inputs,
            source=args.source,
            model=args.model,
            revision=args.revision,
            licence=args.licence,
            weights=not args.no_weights,
            told=tell,
        ),
    )


def _import(args: argparse.Namespace) -> int:
    from graphnet_ir.corpus.store import opened_or_made

    corpus = opened_or_made(args.corpus)
    return _added(
        args,
        corpus,
        lambda tell: corpus.import_parquet(args.folder, weights=not args.no_weights, told=tell),
    )


def _added(args: argparse.Namespace, corpus: Any, add: Callable[[Any], Any]) -> int:
    """Adds to a corpus, and says what was added."""
    shown = 0

    def tell(done: Any) -> None:
        nonlocal shown
        for name, reason in done.refused[shown:]:
            print(f"refused {_printable(name)}: {_printable(reason)}", file=sys.stderr)
        shown = len(done.refused)
        print(str(done), file=sys.stderr)

    done = add(tell)
    if done.without_weights:
        why = "" if args.no_weights else ", which a corpus of version 1 does not keep"
        _note(f"the values of weights of {done.without_weights} samples are left out{why}")
    if args.json:
        print(json.dumps(vars(done), indent=2))
    else:
        print(f"{done}; {len(corpus)} graphs in {_printable(args.corpus)}")
    return 2 if done.refused else 0


def _find(args: argparse.Namespace) -> int:
    from graphnet_ir.corpus.store import Corpus

    corpus = (
        Corpus(args.corpus, version=args.tag) if args.save is None else Corpus(args.corpus, "a")
    )
    found = corpus.find(
        args.query,
        where=args.where,
        nodes=args.nodes,
        source=args.source,
        licence=args.licence,
        model=args.model,
        view=args.view,
        kind=args.kind,
        scan=args.scan,
    )
    if args.save is not None:
        hashes = [hash for hash, _ in found.hashes()]
        corpus.save_view(args.save, hashes)
        print(f"{len(hashes)} graphs in view {_printable(args.save)}")
        for note in [*found.notes, *found.doubts(bool(hashes))]:
            _note(note)
        return 0 if hashes else 1
    if args.count:
        number = found.count()
        print(json.dumps({"graphs": number}) if args.json else number)
    else:
        number = _print_hits(args, found)
        if number == args.limit:
            print(f"the first {number} graphs that were found", file=sys.stderr)
        else:
            print(f"{number} of {len(corpus)} graphs", file=sys.stderr)
    for note in [*found.notes, *found.doubts(bool(number))]:
        _note(note)
    return 0 if number else 1


def _print_hits(args: argparse.Namespace, found: Any) -> int:
    number = 0
    records: list[dict[str, Any]] = []
    table = csv.writer(sys.stdout)
    if args.csv:
        table.writerow(["hash", "matches", "sample"])
    for hit in found:
        if args.limit is not None and number == args.limit:
            break
        number += 1
        if args.json:
            records.append(dict(vars(hit)))
        elif args.csv:
            table.writerows([hit.hash, hit.matches, _cell(name)] for name in hit.names or [""])
        elif args.names:
            for name in hit.names:
                print(_printable(name))
        else:
            print(f"{hit.hash}  {hit.matches:4}  {_first(hit.names)}")
    if args.json:
        print(json.dumps({"graphs": records}, indent=2))
    return number


def _first(names: list[str]) -> str:
    """Returns the first name, and how many there are behind it."""
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return _printable("".join(names[:1])) + more


def _cell(text: str) -> str:
    """Returns a cell that a spreadsheet does not compute."""
    return "'" + text if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def _verify(args: argparse.Namespace) -> int:
    from graphnet_ir.corpus.store import Corpus

    corpus = Corpus(args.corpus, version=args.tag)
    found = []
    for finding in corpus.verify():
        found.append(dict(vars(finding)))
        if not args.json:
            print(_printable(str(finding)))
    if args.json:
        print(json.dumps({"graphs": len(corpus), "findings": found}, indent=2))
    else:
        print(f"{len(corpus)} graphs, {len(corpus.sources)} occurrences, {len(found)} findings")
    return 1 if found else 0


def _export(args: argparse.Namespace) -> int:
    from graphnet_ir.corpus.store import Corpus

    to = next((to for to in ("protobuf", "parquet", "sqlite") if getattr(args, to)), "folders")
    corpus = Corpus(args.corpus, version=args.tag)
    written = corpus.export(
        args.out,
        to,
        graphs=None if args.view is None else corpus.view(args.view),
        weights=not args.no_weights,
        told=_note,
    )
    print(
        f"{written} {'graphs' if to == 'parquet' else 'samples'} written to {_printable(args.out)}"
    )
    return 0


def _catalogue(args: argparse.Namespace) -> int:
    from graphnet_ir.corpus.catalogue import catalogue

    pairs = [pair.partition("=") for pair in args.type]
    made = catalogue(args.corpus, args.out, types={folder: kind for folder, _, kind in pairs})
    for path, reason in made.refused:
        _note(f"{_printable(path)} is left out: {_printable(reason)}")
    if args.json:
        print(json.dumps(vars(made), indent=2))
    else:
        print(made)
    return 2 if made.refused else 0


def _remove(args: argparse.Namespace) -> int:
    from graphnet_ir.corpus.store import Corpus

    if args.source is None and args.licence is None and args.model is None:
        raise made_error("invalid_argument", "give --source, --licence or --model")
    done = Corpus(args.corpus, "a").remove(
        source=args.source, licence=args.licence, model=args.model
    )
    print(f"{done.occurrences} occurrences and {done.graphs} graphs removed")
    return 0 if done.occurrences or done.graphs else 1


def _similar(args: argparse.Namespace) -> int:
    from graphnet_ir import _core
    from graphnet_ir.corpus.store import Corpus

    corpus = Corpus(args.corpus, version=args.tag)
    found = corpus.similar(_core.load(args.input), args.at)
    sources = corpus.occurrences([bytes.fromhex(hash) for hash, _ in found])
    named = [
        (hash, similarity, [row["path"] for row in sources.get(bytes.fromhex(hash), [])])
        for hash, similarity in found
    ]
    if args.json:
        print(
            json.dumps(
                [
                    {"hash": hash, "similarity": similarity, "names": names}
                    for hash, similarity, names in named
                ],
                indent=2,
            )
        )
    else:
        for hash, similarity, names in named:
            print(f"{hash}  {similarity:.4f}  {_first(names)}")
        print(f"{len(named)} of {len(corpus)} graphs", file=sys.stderr)
    return 0 if found else 1


def _duplicates(args: argparse.Namespace) -> int:
    from graphnet_ir.corpus.store import Corpus

    corpus = Corpus(args.corpus, version=args.tag)
    if args.by in RECURRING_BY:
        return _recurring(args, corpus)
    if args.calls is not None or args.limit is not None:
        raise made_error(
            "invalid_argument", "--calls and --limit need --by range, --by fusible or --by module"
        )
    groups = corpus.duplicates(args.by, args.at)
    if args.json:
        print(json.dumps([vars(group) for group in groups], indent=2))
        return 0
    for group in groups:
        alike = f"  {group.similarity:.4f}" if args.by == "near" else ""
        print(
            f"{group.hashes[0]}  {len(group.hashes):5} graphs  {group.occurrences:5} occurrences"
            f"{alike}"
        )
    print(
        f"{len(groups)} groups with {sum(len(group.hashes) for group in groups)} of "
        f"{len(corpus)} graphs"
    )
    return 0


def _recurring(args: argparse.Namespace, corpus: Any) -> int:
    found = corpus.recurring(
        args.by, calls=args.calls, limit=MOST_RANGES if args.limit is None else args.limit
    )
    if args.json:
        print(json.dumps({**vars(found), "ranges": [vars(one) for one in found.ranges]}, indent=2))
        return 0
    for one in found.ranges:
        module = f"{one.module}: " if one.module else ""
        print(
            f"{one.occurrences:6} times  {one.calls:4} calls  {len(one.graphs):5} graphs  "
            f"{len(one.models):4} models  {one.graph} {one.start}:{one.end}  "
            f"{_printable(module + ' '.join(one.nodes), 100)}"
        )
    print(
        f"{len(found.ranges)} of {found.found} ranges that occur more than once in "
        f"{len(corpus)} graphs"
    )
    for hash, reason in found.refused:
        _note(f"{hash} is left out: {reason}")
    if found.cut_short:
        _note(
            "places from which longer ranges have too many values to be compared: "
            f"{found.cut_short}"
        )
    return 0


def _stats(args: argparse.Namespace) -> int:
    from graphnet_ir.corpus import covering, layout
    from graphnet_ir.corpus.store import Corpus

    columns = args.of.split(",")
    left_out: dict[str, str] = {}
    graphs: Any = args.corpus
    if args.tag is not None or layout.is_corpus(args.corpus):
        graphs = Corpus(args.corpus, version=args.tag)
    if args.smallest:
        cover = covering.smallest(graphs, columns, left_out.__setitem__)
        if args.json:
            print(json.dumps(vars(cover), indent=2))
        else:
            for key in cover.chosen:
                print(_printable(key))
            print(
                f"{len(cover.chosen)} of {cover.graphs} graphs have all {cover.items} values of "
                f"{args.of}; at least {cover.at_least} are needed",
                file=sys.stderr,
            )
    else:
        counting = covering.Counting(graphs, columns, left_out.__setitem__)
        counting.go_on()
        _print_coverage(
            args,
            counting.rows(),
            counting.graphs,
            len(graphs.sources) if isinstance(graphs, Corpus) else None,
        )
    for name, reason in left_out.items():
        _note(f"{name} is left out: {reason}")
    return 2 if left_out else 0


def _print_coverage(
    args: argparse.Namespace, rows: list[dict[str, Any]], number: int, occurrences: int | None
) -> None:
    if args.json:
        told = {} if occurrences is None else {"occurrences": occurrences}
        print(json.dumps({"graphs": number, **told, "coverage": rows}, indent=2))
    elif args.csv:
        table = csv.DictWriter(sys.stdout, ["column", "value", "dtype", "rank", "user", "graphs"])
        table.writeheader()
        table.writerows(
            {key: _cell(value) if isinstance(value, str) else value for key, value in row.items()}
            for row in rows
        )
    else:
        for row in rows:
            print(f"{row['graphs']:8}  {row['column']:8}  {_printable(_told(row))}")
        told_occurrences = "" if occurrences is None else f", {occurrences} occurrences"
        print(f"{number} graphs{told_occurrences}, {len(rows)} values of {args.of}")


def _told(row: dict[str, Any]) -> str:
    """Returns the value of a row of coverage as a text."""
    from graphnet_ir.corpus import covering

    if "dtype" not in row:
        return str(row["value"])
    return covering.kind(row) + (f" > {row['user']}" if "user" in row else "")


def _sample(args: argparse.Namespace) -> int:
    from graphnet_ir.corpus.store import Corpus

    for hash in Corpus(args.corpus, version=args.tag).sample(
        args.count, seed=args.seed, by=args.by
    ):
        print(hash)
    return 0


def _split(args: argparse.Namespace) -> int:
    from graphnet_ir.corpus.store import Corpus

    made = Corpus(args.corpus, version=args.tag).split(dict(args.parts), seed=args.seed, at=args.at)
    print(json.dumps(vars(made), indent=2))
    sizes = ", ".join(f"{part} {len(hashes)}" for part, hashes in made.parts.items())
    print(f"{sizes}; {made.groups} groups, the largest of {made.largest} graphs", file=sys.stderr)
    return 0


def _map(args: argparse.Namespace) -> int:
    from graphnet_ir.corpus.store import Corpus

    begin = time.monotonic()
    first: int | None = None

    def tell(done: int, all: int) -> None:
        nonlocal first
        first = done if first is None else first
        rate = (done - first) / max(time.monotonic() - begin, 1e-3)
        left = f", {rate:.0f} graphs a second, {(all - done) / rate:.0f} s left" if rate else ""
        print(f"{done} of {all} graphs{left}", file=sys.stderr)

    work: Any = args.command
    if args.function is not None:
        if work:
            raise made_error("invalid_argument", "give --function or a command, not both")
        work = args.function
    elif not work:
        raise made_error("invalid_argument", "give a command behind --, or --function")
    corpus = Corpus(args.corpus, "a")
    with contextlib.redirect_stdout(sys.stderr):  # Ray prints what happens to its nodes.
        done = corpus.map(
            work,
            graphs=None if args.view is None else corpus.view(args.view),
            name=args.name,
            into=args.into,
            processes=args.jobs,
            ray=args.ray,
            seconds=args.max_seconds,
            memory=args.max_memory,
            told=tell,
        )
    for hash, reason in done.set_aside:
        print(f"set aside {hash}: {_printable(reason)}", file=sys.stderr)
    for name in done.empty:
        _note(f"column {name} is left out: no graph has a value")
    print(f"{done.graphs} graphs, {len(done.set_aside)} set aside")
    return 1 if done.set_aside else 0


def _tag(args: argparse.Namespace) -> int:
    from graphnet_ir.corpus.store import Corpus

    Corpus(args.corpus, "a").tag(args.name)
    return 0


def _log(args: argparse.Namespace) -> int:
    from graphnet_ir.corpus.store import Corpus

    for row in Corpus(args.corpus).log():
        print(
            f"{row['version']:6}  {row['time']:%Y-%m-%d %H:%M:%S}  "
            f"{_printable(' '.join(row['tags']))}".rstrip()
        )
    return 0


def _compact(args: argparse.Namespace) -> int:
    from graphnet_ir.corpus.store import Corpus

    Corpus(args.corpus, "a").compact()
    return 0


def _repair(args: argparse.Namespace) -> int:
    from graphnet_ir.corpus.store import Corpus

    done = Corpus.repair(args.corpus, args.out)
    for finding in done.dropped:
        print(_printable(str(finding)), file=sys.stderr)
    if args.json:
        print(
            json.dumps(
                {**vars(done), "dropped": [vars(finding) for finding in done.dropped]}, indent=2
            )
        )
    else:
        print(f"{done}; written to {_printable(args.out)}")
    return 1 if done.dropped else 0


def _serve(args: argparse.Namespace) -> int:
    from graphnet_ir.corpus.serving import serve
    from graphnet_ir.corpus.store import Corpus

    serve(
        Corpus(args.corpus, version=args.tag),
        args.host,
        args.port,
        args.name,
        lambda address: print(f"{address}  (Ctrl-C ends it)", flush=True),
    )
    return 0


_COMMANDS = {
    "create": _create,
    "add": _add,
    "import": _import,
    "find": _find,
    "verify": _verify,
    "repair": _repair,
    "export": _export,
    "catalogue": _catalogue,
    "remove": _remove,
    "similar": _similar,
    "duplicates": _duplicates,
    "stats": _stats,
    "sample": _sample,
    "split": _split,
    "map": _map,
    "tag": _tag,
    "log": _log,
    "compact": _compact,
    "serve": _serve,
}


def main(arguments: list[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    # What comes behind -- is a command with options of its own.
    place = given.index("--") if given[:1] == ["map"] and "--" in given else len(given)
    args = parser(_COMMANDS).parse_args(given[:place])
    args.command = given[place + 1 :]
    try:
        return int(args.run(args))
    except KeyboardInterrupt:
        print("graphnet: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 141
    except (Error, OSError) as error:
        print(f"graphnet: {_printable(str(error))}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
