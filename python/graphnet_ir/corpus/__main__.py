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
from graphnet_ir.corpus.texts import printable
from graphnet_ir.ranges import RECURRING_BY

_RANGES = 100
"""How many ranges are listed unless an option says otherwise."""


def _number(text: str, least: int = 0, greatest: int = 2**63 - 1) -> int:
    """Returns a number in a range, as the type of an option."""
    if not (text.isascii() and text.isdecimal() and least <= int(text) <= greatest):
        most = "" if greatest == 2**63 - 1 else f" and at most {greatest}"
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of at least {least}{most}")
    return int(text)


def _positive(text: str) -> int:
    return _number(text, 1)


def _port(text: str) -> int:
    return _number(text, 0, 65535)


def _seconds(text: str) -> float:
    try:
        made = float(text)
    except ValueError:
        made = 0.0
    if not 0 < made < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds above 0")
    return made


def _range(text: str) -> tuple[int, int]:
    """A number or two numbers with .. between them."""
    least, dots, greatest = text.partition("..")
    made = (_number(least), _number(greatest if dots else least))
    if made[0] > made[1]:
        raise argparse.ArgumentTypeError(f"'{text}' has its greatest number first")
    return made


def _share(text: str) -> tuple[str, float]:
    """A name, = and a number."""
    name, _, share = text.partition("=")
    try:
        return name, float(share)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not PART=SHARE, such as train=8") from None


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

    to = next((to for to in ("protobuf", "parquet") if getattr(args, to)), "folders")
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
        args.by, calls=args.calls, limit=_RANGES if args.limit is None else args.limit
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="graphnet corpus",
        allow_abbrev=False,
        description="Stores many graphs once each, and finds them by an index (docs/corpus.md)",
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(
        name: str,
        run: Any,
        help: str,
        *,
        reads: bool = False,
        place: str = "the folder of the corpus",
    ) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=help, description=help, allow_abbrev=False)
        made.set_defaults(run=run)
        made.add_argument("corpus", metavar="CORPUS", help=place)
        if reads:
            made.add_argument("--tag", metavar="NAME", help="read the version with this tag")
        return made

    command("create", _create, "make an empty corpus")

    add = command("add", _add, "add samples of any format")
    add.add_argument("inputs", nargs="+", metavar="IN", help="samples, or folders of samples")
    add.add_argument("--source", help="source of the samples; otherwise that of graph_net.json")
    add.add_argument("--model", help="model of the samples; otherwise that of graph_net.json")
    add.add_argument("--revision", help="revision of the model")
    add.add_argument("--licence", help="licence of the samples, such as mit")
    add.add_argument("--no-weights", action="store_true", help="leave out the values of weights")
    add.add_argument("--json", action="store_true", help="print one JSON document")

    bring = command(
        "import",
        _import,
        "add the graphs of an export as Parquet; a corpus is made if none is there",
    )
    bring.add_argument("folder", metavar="FOLDER", help="what export --parquet wrote")
    bring.add_argument("--no-weights", action="store_true", help="leave out the values of weights")
    bring.add_argument("--json", action="store_true", help="print one JSON document")

    find = command("find", _find, "find graphs by a call that they have", reads=True)
    find.add_argument(
        "query",
        nargs="?",
        metavar="CALL",
        help="pattern of a call, as graphnet find takes it; none: all graphs",
    )
    find.add_argument(
        "--where",
        metavar="SQL",
        help="condition on the columns of graphs, such as 'inputs = 1 AND array_has(ranks, 4)'",
    )
    find.add_argument("--nodes", type=_range, metavar="A..B", help="number of nodes")
    find.add_argument(
        "--kind",
        metavar="KIND",
        help="a call of an operator with a result of a dtype and rank, as stats "
        "--coverage prints it: 'relu float32 4'",
    )
    find.add_argument("--source", help="source of an occurrence")
    find.add_argument("--licence", help="licence of an occurrence")
    find.add_argument("--model", help="model of an occurrence")
    find.add_argument("--view", metavar="NAME", help="only graphs of this view")
    find.add_argument(
        "--save", metavar="NAME", help="save the graphs as a view, and print only their number"
    )
    find.add_argument("--scan", action="store_true", help="match each graph, without the index")
    find.add_argument("--limit", type=_positive, metavar="N", help="stop after N graphs")
    form = find.add_mutually_exclusive_group()
    form.add_argument("--count", action="store_true", help="print only the number of graphs")
    form.add_argument("-l", "--names", action="store_true", help="print only paths of occurrences")
    form.add_argument("--csv", action="store_true", help="print CSV: hash, matches, sample")
    find.add_argument("--json", action="store_true", help="print one JSON document")

    verify = command(
        "verify", _verify, "read all, and make each row anew from its graph", reads=True
    )
    verify.add_argument("--json", action="store_true", help="print one JSON document")

    repair = command("repair", _repair, "make a new corpus of all that is sound in a damaged one")
    repair.add_argument("-o", "--out", required=True, metavar="CORPUS", help="the new corpus")
    repair.add_argument("--json", action="store_true", help="print one JSON document")

    export = command("export", _export, "write each occurrence as a file", reads=True)
    export.add_argument("-o", "--out", required=True, metavar="FOLDER", help="a new folder")
    export.add_argument("--view", metavar="NAME", help="only graphs of this view")
    export.add_argument("--no-weights", action="store_true", help="leave out the values of weights")
    form = export.add_mutually_exclusive_group()
    form.add_argument("--folders", action="store_true", help="GraphNet folders, the default")
    form.add_argument("--protobuf", action="store_true", help="protobuf files")
    form.add_argument(
        "--parquet",
        action="store_true",
        help="a table of the graphs with their occurrences, and a card",
    )

    remove = command("remove", _remove, "remove occurrences, and graphs that then have none")
    remove.add_argument("--source", help="source of the occurrences")
    remove.add_argument("--licence", help="licence of the occurrences")
    remove.add_argument("--model", help="model of the occurrences")

    similar = command("similar", _similar, "find graphs that are similar to a sample", reads=True)
    similar.add_argument("input", metavar="IN", help="a sample in any format")
    similar.add_argument(
        "--at",
        type=float,
        default=0.9,
        metavar="X",
        help="least similarity (0.9), which is 1 for graphs of the same features",
    )
    similar.add_argument("--json", action="store_true", help="print one JSON document")

    duplicates = command(
        "duplicates",
        _duplicates,
        "list groups of graphs that are alike, or ranges of calls that recur in graphs",
        reads=True,
    )
    duplicates.add_argument(
        "--by",
        choices=["exact", "shape", "near", *RECURRING_BY],
        default="exact",
        help="exact (default): graphs that occur more than once; shape: that "
        "differ in sizes only; near: that are similar; range: ranges of "
        "calls that occur more than once; fusible: those that compilers "
        "may fuse; module: those that are a module",
    )
    duplicates.add_argument(
        "--calls",
        type=_range,
        metavar="A..B",
        help="for range and fusible (2..64), and module: number of calls",
    )
    duplicates.add_argument(
        "--limit",
        type=_positive,
        metavar="N",
        help=f"for range, fusible and module: list N at the most ({_RANGES})",
    )
    duplicates.add_argument(
        "--at", type=float, default=0.9, metavar="X", help="least similarity for near (0.9)"
    )
    duplicates.add_argument("--json", action="store_true", help="print one JSON document")

    stats = command(
        "stats",
        _stats,
        "count what the graphs have",
        reads=True,
        place="the folder of the corpus, or a folder of samples or a sample",
    )
    stats.add_argument(
        "--of",
        default="targets,dtypes,ranks",
        metavar="COLUMNS",
        help="columns: targets, args, edges, dtypes, ranks; calls (operators by dtype "
        "and rank of the result), flows (the same by the operator that takes "
        "the result); sizes, classes, buckets (targets,dtypes,ranks)",
    )
    stats.add_argument(
        "--coverage", dest="of", action="store_const", const="calls", help="the same as --of calls"
    )
    stats.add_argument(
        "--smallest", action="store_true", help="print few graphs that have all values between them"
    )
    form = stats.add_mutually_exclusive_group()
    form.add_argument(
        "--csv", action="store_true", help="print CSV: column, value, dtype, rank, user, graphs"
    )
    form.add_argument("--json", action="store_true", help="print one JSON document")

    sample = command("sample", _sample, "draw graphs at random", reads=True)
    sample.add_argument("count", type=_number, metavar="N", help="number of graphs")
    sample.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the draw (0)")
    sample.add_argument(
        "--by",
        choices=["source", "model", "licence", "size", "class", "bucket"],
        help="draw the same number for each of these; size: nodes between powers of "
        "two, class: of operators, bucket: size and class",
    )

    split = command(
        "split", _split, "divide the graphs so that nothing alike gets apart", reads=True
    )
    split.add_argument(
        "parts",
        nargs="+",
        type=_share,
        metavar="PART=SHARE",
        help="parts and their shares: train=8 test=2",
    )
    split.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the draw (0)")
    split.add_argument(
        "--at",
        type=float,
        default=0.9,
        metavar="X",
        help="graphs that are so similar stay together (0.9)",
    )

    work = command("map", _map, "apply a command or a function to each graph")
    work.add_argument(
        "--function",
        metavar="MODULE:NAME",
        help="function of Python, which gets a Sample; also FILE.py:NAME",
    )
    work.add_argument(
        "--name", help="name of the job (that of the command); a job of this name goes on"
    )
    work.add_argument("--view", metavar="NAME", help="only graphs of this view")
    work.add_argument("--into", metavar="CORPUS", help="corpus for graphs that the work makes")
    work.add_argument(
        "-j",
        "--jobs",
        type=_positive,
        metavar="N",
        help="number of processes (by default the number of processors)",
    )
    work.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="work on the nodes of a Ray cluster; local:4 makes four nodes here",
    )
    work.add_argument(
        "--max-seconds", type=_seconds, default=60, metavar="N", help="time limit for a graph (60)"
    )
    work.add_argument(
        "--max-memory",
        type=_positive,
        default=4 << 30,
        metavar="BYTES",
        help="memory limit for a process (4294967296)",
    )

    tag = command("tag", _tag, "name the newest version, which is then kept")
    tag.add_argument("name", metavar="NAME", help="name of the version")

    command("log", _log, "list the versions that are kept")

    command("compact", _compact, "join small files, index all, delete versions older than a week")

    serve = command("serve", _serve, "show the corpus in a browser", reads=True)
    serve.add_argument(
        "--port", type=_port, default=8080, metavar="N", help="port (8080); 0 takes a free one"
    )
    serve.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address to listen at (127.0.0.1: only this machine reaches it)",
    )
    serve.add_argument(
        "--name",
        action="append",
        metavar="HOST",
        help="another name by which browsers may call the server",
    )
    return parser


def main(arguments: list[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    # What comes behind -- is a command with options of its own.
    place = given.index("--") if given[:1] == ["map"] and "--" in given else len(given)
    args = _parser().parse_args(given[:place])
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
