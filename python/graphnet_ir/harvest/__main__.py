"""graphnet harvest: the command."""

from __future__ import annotations

import argparse
import os
import sqlite3
import sys
from typing import Any

from graphnet_ir import Error
from graphnet_ir.harvest import report
from graphnet_ir.harvest.failures import writable
from graphnet_ir.harvest.hub import listed
from graphnet_ir.harvest.runner import Options, harvest
from graphnet_ir.harvest.sources import listed_sources
from graphnet_ir.limited.processes import Limits


def number_of(text: str) -> float:
    """A number above 0 with k, M, G or T behind it."""
    scale = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}.get(text[-1:], 0.0)
    value = float(text[:-1]) * scale if scale else float(text)
    if not 0 < value < 1e18:
        raise ValueError(text)
    return value


def bytes_of(text: str) -> int:
    return int(number_of(text))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="graphnet harvest",
        allow_abbrev=False,
        description="Fetches models, captures them, verifies the captures and publishes their new "
        "graphs. Calling it again continues an interrupted harvest",
    )
    parser.add_argument(
        "sources",
        nargs="*",
        metavar="SOURCE",
        help="a folder in the layout of the hub's cache; a Python file with "
        "models(); hub:ID; torchvision:NAMES; timm:NAMES (with * and commas)",
    )
    parser.add_argument(
        "--list",
        metavar="FILE",
        help="file of further sources, one a line; ORG/NAME alone is a model of the hub; # begins "
        "a comment",
    )
    parser.add_argument(
        "-o", "--out", metavar="FOLDER", help="folder for samples, journal and report"
    )
    parser.add_argument(
        "--hub",
        metavar="TASK",
        help="harvest nothing, but print the models of the hub for this task (fill-mask), the most "
        "fetched first, as a file for --list; needs --network",
    )
    parser.add_argument(
        "--top", type=int, default=100, metavar="N", help="number of models that --hub prints (100)"
    )
    parser.add_argument(
        "--into",
        metavar="CORPUS",
        help="also add the samples to this corpus, which is made if it is not there",
    )
    parser.add_argument(
        "-j",
        "--jobs",
        type=int,
        metavar="N",
        default=os.cpu_count() or 1,
        help="number of models at a time (by default the number of processors)",
    )
    parser.add_argument(
        "--max-params",
        type=bytes_of,
        default=1_000_000_000,
        metavar="N",
        help="limit for the parameters of a model (1G); k, M, G may follow",
    )
    parser.add_argument(
        "--shrink", action="store_true", help="halve the layers of larger models until they fit"
    )
    parser.add_argument(
        "--max-seconds",
        type=number_of,
        default=600,
        metavar="N",
        help="time limit for a model (600)",
    )
    parser.add_argument(
        "--max-memory",
        type=bytes_of,
        default=8_000_000_000,
        metavar="BYTES",
        help="memory limit for all processes of a model together (8G)",
    )
    parser.add_argument(
        "--max-processes",
        type=int,
        default=32,
        metavar="N",
        help="limit for the processes of a model at a time (32)",
    )
    parser.add_argument(
        "--max-output",
        type=bytes_of,
        default=16_000_000,
        metavar="BYTES",
        help="limit for the printed output of a model (16M)",
    )
    parser.add_argument(
        "--max-files",
        type=bytes_of,
        default=4_000_000_000,
        metavar="BYTES",
        help="limit for the files that a model writes (4G)",
    )
    parser.add_argument(
        "--trust-remote-code",
        action="append",
        default=[],
        metavar="ID",
        help="run code of this repository; * matches anything",
    )
    parser.add_argument(
        "--allow-pickles",
        action="store_true",
        help="let models read pickled files of their repository",
    )
    parser.add_argument("--network", action="store_true", help="allow access to the network")
    parser.add_argument("--token", metavar="FILE", help="a file with a token for the hub")
    parser.add_argument(
        "--allow-unknown-licence",
        action="store_true",
        help="also publish graphs of models without a licence",
    )
    parser.add_argument(
        "--same-sizes",
        action="store_true",
        help="treat graphs that differ only in sizes, dtypes and devices as duplicates",
    )
    parser.add_argument(
        "--repair",
        metavar="COMMAND",
        help="command that gets a failure as JSON and may change the script, at most twice",
    )
    parser.add_argument(
        "--prelude",
        metavar="FILE.py",
        help="Python file that runs before sources are listed, and first in the process of each model",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of random numbers")
    return parser


def _corpus(path: str) -> Any:
    """Opens a corpus to add samples, or makes one. Its engines are imported only here."""
    from graphnet_ir.corpus.store import opened_or_made

    return opened_or_made(path)


def main(arguments: list[str] | None = None) -> int:
    args = _parser().parse_args(arguments)
    try:
        token = None
        if args.token is not None:
            with open(args.token, encoding="utf-8") as file:
                token = file.read().strip()
        if args.hub is not None:
            if not args.network:
                raise ValueError("--hub: needs --network")
            if args.top < 1:
                raise ValueError("--top: is not a number from 1 on")
            models = listed(args.hub, args.top, token)
            print(writable(f"# {len(models)} models of {args.hub}, the most fetched first"))
            for name, downloads in models:
                print(f"hub:{name}  # {downloads} downloads")
            return 0
        if args.out is None:
            raise ValueError("needs -o FOLDER")
        options = Options(
            jobs=max(1, args.jobs),
            max_parameters=args.max_params,
            shrink=args.shrink,
            limits=Limits(
                args.max_seconds,
                args.max_memory,
                args.max_processes,
                args.max_output,
                args.max_files,
            ),
            trust=args.trust_remote_code,
            pickles=args.allow_pickles,
            network=args.network,
            token=token,
            allow_unknown_licence=args.allow_unknown_licence,
            same_sizes=args.same_sizes,
            repair=args.repair,
            prelude=None if args.prelude is None else os.path.abspath(args.prelude),
            seed=args.seed,
        )
        sources = [*args.sources, *([] if args.list is None else listed_sources(args.list))]
        if not sources:
            raise ValueError("needs sources: SOURCE, or --list FILE")
        corpus = None if args.into is None else _corpus(args.into)
        rows = harvest(sources, args.out, options, report.Progress())
        path = report.write_page(rows, args.out)
        added = None if corpus is None else corpus.add(os.path.join(args.out, "samples"))
    except KeyboardInterrupt:
        print("graphnet: interrupted; the same command continues the harvest", file=sys.stderr)
        return 130
    except (Error, OSError, ValueError, sqlite3.Error) as error:
        print(f"graphnet: {error}", file=sys.stderr)
        return 2
    print(writable(f"{report.summary(rows)}; {path}"))
    if added is not None:
        print(writable(f"{args.into}: {added}"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
