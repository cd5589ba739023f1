#!/usr/bin/env python3
"""The table of docs/evaluation.md: what became of the samples of benchmarks, a row a backend.

    table_of_backends.py DIR...

DIR is what `graphnet bench -o DIR` made; a sample counts once, as the first DIR has it. "compiled" ran; "correct" is right at t = -5. Behind the
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
        # Of nan on one side only the status speaks.
        if None in row["max_diff"]:
            return "nan on both sides"
        level = row["right_from_t"]
        return "wrong numbers: " + (row.get("reason") or ("at every t" if level is None else f"right from t = {level} on"))
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
    by_backend = {}
    for log in logs:
        for row in map(json.loads, log.read_text().splitlines()):
            by_backend.setdefault(log.stem, {}).setdefault(row["path"], row)
    for name, rows_of in by_backend.items():
        rows = list(rows_of.values())
        failed = [row for row in rows if not is_correct(row)]
        causes[name] = collections.Counter(map(cause, failed))
        kinds = collections.Counter(cause(row).split(":")[0] for row in failed)
        compiled = sum(row["status"] not in ("compile_fail", "eager_fail") for row in rows)
        speedups = [row["speedup"] for row in rows if is_correct(row) and row.get("speedup")]
        speedup = f"{statistics.median(speedups):.2f}" if speedups else "-"
        why = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()) or "none"
        print(f"| {name} | {len(rows)} | {compiled} | {len(rows) - len(failed)} | {speedup} | {why} |")
    for name, counts in causes.items():
        print(f"\n{name}:")
        for text, count in counts.most_common():
            print(f"- {count} {text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
