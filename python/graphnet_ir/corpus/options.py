"""The options of `graphnet corpus`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

from graphnet_ir.ranges import RECURRING_BY

MOST_RANGES = 100
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


def parser(functions: Mapping[str, Callable[[argparse.Namespace], int]]) -> argparse.ArgumentParser:
    """Returns what parses `graphnet corpus`; `run` of its result is the function of the command."""
    made_parser = argparse.ArgumentParser(
        prog="graphnet corpus",
        allow_abbrev=False,
        description="Stores many graphs once each, and finds them by an index (docs/corpus.md)",
    )
    commands = made_parser.add_subparsers(metavar="COMMAND", required=True)

    def command(
        name: str, help: str, *, reads: bool = False, place: str = "the folder of the corpus"
    ) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=help, description=help, allow_abbrev=False)
        made.set_defaults(run=functions[name])
        made.add_argument("corpus", metavar="CORPUS", help=place)
        if reads:
            made.add_argument("--tag", metavar="NAME", help="read the version with this tag")
        return made

    command("create", "make an empty corpus")

    add = command("add", "add samples of any format")
    add.add_argument("inputs", nargs="+", metavar="IN", help="samples, or folders of samples")
    add.add_argument("--source", help="source of the samples; otherwise that of graph_net.json")
    add.add_argument("--model", help="model of the samples; otherwise that of graph_net.json")
    add.add_argument("--revision", help="revision of the model")
    add.add_argument("--licence", help="licence of the samples, such as mit")
    add.add_argument("--no-weights", action="store_true", help="leave out the values of weights")
    add.add_argument("--json", action="store_true", help="print one JSON document")

    bring = command(
        "import", "add the graphs of an export as Parquet; a corpus is made if none is there"
    )
    bring.add_argument("folder", metavar="FOLDER", help="what export --parquet wrote")
    bring.add_argument("--no-weights", action="store_true", help="leave out the values of weights")
    bring.add_argument("--json", action="store_true", help="print one JSON document")

    find = command("find", "find graphs by a call that they have", reads=True)
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

    verify = command("verify", "read all, and make each row anew from its graph", reads=True)
    verify.add_argument("--json", action="store_true", help="print one JSON document")

    repair = command("repair", "make a new corpus of all that is sound in a damaged one")
    repair.add_argument("-o", "--out", required=True, metavar="CORPUS", help="the new corpus")
    repair.add_argument("--json", action="store_true", help="print one JSON document")

    export = command("export", "write each occurrence as a file", reads=True)
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
    form.add_argument(
        "--sqlite",
        action="store_true",
        help="one SQLite file with the tables of GraphNet; FOLDER is its path",
    )

    listing = command(
        "catalogue",
        "write one SQLite file with the tables of GraphNet about a folder of samples",
        place="a folder of samples, which need not be a corpus",
    )
    listing.add_argument("-o", "--out", required=True, metavar="FILE", help="the SQLite file")
    listing.add_argument(
        "--type",
        action="append",
        default=[],
        metavar="FOLDER=TYPE",
        help="the type of the samples below a folder in it: full_graph, typical_graph, "
        "fusible_graph or sole_op_graph (may be given several times)",
    )
    listing.add_argument("--json", action="store_true", help="print one JSON document")

    remove = command("remove", "remove occurrences, and graphs that then have none")
    remove.add_argument("--source", help="source of the occurrences")
    remove.add_argument("--licence", help="licence of the occurrences")
    remove.add_argument("--model", help="model of the occurrences")

    similar = command("similar", "find graphs that are similar to a sample", reads=True)
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
        help=f"for range, fusible and module: list N at the most ({MOST_RANGES})",
    )
    duplicates.add_argument(
        "--at", type=float, default=0.9, metavar="X", help="least similarity for near (0.9)"
    )
    duplicates.add_argument("--json", action="store_true", help="print one JSON document")

    stats = command(
        "stats",
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

    sample = command("sample", "draw graphs at random", reads=True)
    sample.add_argument("count", type=_number, metavar="N", help="number of graphs")
    sample.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the draw (0)")
    sample.add_argument(
        "--by",
        choices=["source", "model", "licence", "size", "class", "bucket"],
        help="draw the same number for each of these; size: nodes between powers of "
        "two, class: of operators, bucket: size and class",
    )

    split = command("split", "divide the graphs so that nothing alike gets apart", reads=True)
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

    work = command("map", "apply a command or a function to each graph")
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

    tag = command("tag", "name the newest version, which is then kept")
    tag.add_argument("name", metavar="NAME", help="name of the version")

    command("log", "list the versions that are kept")

    command("compact", "join small files, index all, delete versions older than a week")

    serve = command("serve", "show the corpus in a browser", reads=True)
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
    return made_parser
