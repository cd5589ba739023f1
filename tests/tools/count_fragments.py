#!/usr/bin/env python3
"""Counts comment lines of C++ that open with a fragment, such as "// What it costs.".

    tests/tools/count_fragments.py [--max-headers N] [--max-all N] [PATH …]

The lines are those of the .h and .cc files that git knows below the paths, by default all. Prints
each, sorted by file, then how many each folder has in headers and in all. Exits with 1 if there are
more than N.
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FRAGMENT = re.compile(r"^\s*//\s*(What|Of|Those|That|Who|None|Nobody|Ditto)\b")


def fragments_in(text):
    """Yields the number of each line that opens with a fragment, and the line."""
    for number, line in enumerate(text.split("\n"), 1):
        if FRAGMENT.match(line):
            yield number, line.strip()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0], epilog=__doc__.split("\n\n", 2)[2]
    )
    parser.add_argument("--max-headers", type=int, metavar="N", help="lines allowed in headers")
    parser.add_argument("--max-all", type=int, metavar="N", help="lines allowed in all files")
    parser.add_argument("--quiet", action="store_true", help="print the counts alone")
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        default=["."],
        help="folders and files, relative to the project",
    )
    options = parser.parse_args()

    files = (
        subprocess.run(
            ["git", "ls-files", "-z", "--", *options.paths],
            cwd=ROOT,
            check=True,
            stdout=subprocess.PIPE,
        )
        .stdout.decode()
        .split("\0")
    )
    files = sorted(file for file in files if file.endswith((".h", ".cc")))
    if not files:
        parser.error("no .h and no .cc file lies there: " + " ".join(options.paths))
    headers, every = collections.Counter(), collections.Counter()
    for file in files:
        for number, line in fragments_in((ROOT / file).read_text(encoding="utf-8")):
            folder = "/".join(file.split("/")[:-1][:2]) or "."
            every[folder] += 1
            headers[folder] += file.endswith(".h")
            if not options.quiet:
                print(f"{file}:{number}: {line}")

    print(f"{'folder':24} {'headers':>7} {'all':>7}")
    for folder in sorted(every):
        print(f"{folder:24} {headers[folder]:7} {every[folder]:7}")
    sums = {"headers": sum(headers.values()), "all": sum(every.values())}
    print(f"{'sum':24} {sums['headers']:7} {sums['all']:7}")
    limits = {"headers": options.max_headers, "all": options.max_all}
    over = [
        f"{sums[kind]} in {kind}, where {limit} are allowed"
        for kind, limit in limits.items()
        if limit is not None and sums[kind] > limit
    ]
    if over:
        print("too many comment lines open with a fragment: " + "; ".join(over))
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
