"""graphnet differentiate: the command."""

from __future__ import annotations

import argparse
import json
import sys

from graphnet_ir import Error
from graphnet_ir.gradients.batch import Batch, Options, Row, listed_paths, named_samples, summary
from graphnet_ir.harvest.__main__ import bytes_of, number_of
from graphnet_ir.harvest.failures import writable
from graphnet_ir.limited.processes import Limits


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="graphnet differentiate",
        allow_abbrev=False,
        description="Writes each sample as it is (eval_forward), and the graphs that a training "
        "step computes of it: train_forward, which also returns what is saved, and "
        "train_backward, which takes that and returns the gradients of all parameters. Both are "
        "compared with eager autograd",
    )
    parser.add_argument("inputs", nargs="*", metavar="IN", help="samples, or folders of samples")
    parser.add_argument(
        "-o", "--out", required=True, metavar="FOLDER", help="folder for the three trees"
    )
    parser.add_argument(
        "--list",
        metavar="FILE",
        help="take only the samples of this file: paths below IN or, without IN, from the current "
        "folder, one a line; # begins a comment",
    )
    parser.add_argument(
        "--resume", action="store_true", help="leave out results that are there already"
    )
    parser.add_argument(
        "-j", "--jobs", type=int, metavar="N", default=1, help="samples to work on at once (1)"
    )
    parser.add_argument(
        "--inputs",
        dest="by_inputs",
        action="store_true",
        help="inputs of floats that are no parameters have gradients, too",
    )
    parser.add_argument(
        "--no-symbols",
        dest="symbols",
        action="store_false",
        help="sizes are those of the example, and symbols are not kept",
    )
    parser.add_argument(
        "--max-seconds",
        type=number_of,
        default=600,
        metavar="N",
        help="time limit for a sample (600)",
    )
    parser.add_argument(
        "--max-memory",
        type=bytes_of,
        default=8_000_000_000,
        metavar="BYTES",
        help="memory limit for the process of a sample (8G)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of random numbers")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


def _tell(row: Row) -> None:
    if "cause" in row:
        print(writable(f"FAIL {row['path']}: {row['cause']}: {row['message']}"), file=sys.stderr)


def main(arguments: list[str] | None = None) -> int:
    args = _parser().parse_args(arguments)
    told: list[Row] = []

    def take(row: Row) -> None:
        told.append(row)
        _tell(row)

    try:
        given, root = args.inputs, None
        if args.list is not None:
            given, root = listed_paths(args.list, args.inputs), [*args.inputs, "."][0]
        if not given:
            raise ValueError("needs samples: IN, or --list FILE")
        samples, missing = [], []
        for one in given:
            try:
                samples += named_samples([one], root)
            except Error as error:
                if len(given) == 1:
                    raise
                missing.append(str(error))
                print(f"FAIL {writable(str(error))}", file=sys.stderr)
        options = Options(
            jobs=max(1, args.jobs),
            limits=Limits(seconds=args.max_seconds, memory=args.max_memory),
            seed=args.seed,
            inputs=args.by_inputs,
            symbols=args.symbols,
        )
        batch = Batch(samples, args.out, options, args.resume, take)
        try:
            batch.run()
        finally:
            batch.close()
    except KeyboardInterrupt:
        print("graphnet: interrupted; --resume goes on", file=sys.stderr)
        return 130
    except (Error, OSError, ValueError) as error:
        print(f"graphnet: {writable(str(error))}", file=sys.stderr)
        return 2
    names = {row["name"] for row in told}
    asked = {name for _, name in samples} - names
    rows = [row for name, row in batch.rows.items() if name in asked] + told
    failed = sum("cause" in row for row in rows)
    if args.json:
        print(
            json.dumps({"samples": rows, "passed": len(rows) - failed, "failed": failed}, indent=2)
        )
    else:
        print(summary(rows))
    unread = any(row.get("cause") == "cannot be read" for row in rows)
    return 2 if missing or unread else 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
