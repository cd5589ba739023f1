#!/usr/bin/env python3
"""The table of docs/evaluation.md: what became of the samples of benchmarks, a row a backend.

    table_of_backends.py DIR...

DIR is what `graphnet bench -o DIR` made. "compiled" ran; "correct" is right at t = -5. Behind the
table stands each sample that is not correct, by cause: reasons that differ only in names and numbers
are one.
"""

import argparse
import collections
import json
import pathlib
import re
import statistics
import sys


def cause(row):
    """The reason without what is the sample's own."""
    if row["status"] == "correct":
        return "wrong numbers" + (f": {row['reason']}" if row.get("reason") else "")
    text = row.get("reason", "")
    # Where it stands in the program.
    text = re.sub(r"\S+\.(py|gn|pb|mlir):\d+(:\d+)?: ", "", text)
    text = re.sub(r"\(node [^)]*\)", "", text)
    text = re.sub(r"tensor<[^>]*>|vtensor<[^>]*>", "tensor", text)
    text = re.sub(r"[%@][\w.$#]+|\b\d+(\.\d+)?(e[+-]?\d+)?\b|0x[0-9a-f]+", "#", text)
    return f"{row['status']}: {re.sub(r'(# ?,? ?)+', '# ', text).strip()[:110]}"


def is_correct(row):
    return row["status"] == "correct" and row["right_from_t"] is not None and row["right_from_t"] <= -5


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=pathlib.Path, metavar="DIR")
    args = parser.parse_args()
    logs = [log for folder in args.folders for log in sorted(folder.glob("*.jsonl"))]
    if not logs:
        sys.exit("no benchmark is there")
    print("| backend | samples | compiled | correct at t = -5 | median speedup | failures |\n|---|---:|---:|---:|---:|---|")
    causes = {}
    for log in logs:
        rows = [json.loads(line) for line in log.read_text().splitlines()]
        failed = [row for row in rows if not is_correct(row)]
        causes[log.stem] = collections.Counter(map(cause, failed))
        kinds = collections.Counter("wrong numbers" if row["status"] == "correct" else row["status"] for row in failed)
        speedups = [row["speedup"] for row in rows if is_correct(row) and row.get("speedup")]
        print(f"| {log.stem} | {len(rows)} | {sum(row['status'] not in ('compile_fail', 'eager_fail') for row in rows)} "
              f"| {len(rows) - len(failed)} | {statistics.median(speedups):.2f}" if speedups else "| -",
              "|", ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()) or "none", "|")
    for name, counts in causes.items():
        print(f"\n{name}:")
        for text, count in counts.most_common():
            print(f"- {count} {text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
