#!/usr/bin/env python3
"""Checks that no option and no limit that the pages had at a commit is gone from them.

    tests/tools/check_facts.py COMMIT

An option is a long option of docs/commands.md (of now) that another page named at COMMIT: another
page has to name it now. A limit is a number with a unit, such as "64 MiB" or "200 levels", or a
power such as "2^18", in the text (not the examples) of the pages at COMMIT: some page has to have it
now, in any place. DROPPED lists those that were dropped on purpose. Pages are README.md,
CONTRIBUTING.md and docs/*.md, except for those that the tool makes. Prints each fact that is gone,
with the page and the line that had it, and exits with 1 if there is one.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Their content follows from the code.
MADE = {"docs/commands.md", "docs/passes.md", "docs/python_api.md"}
# Figures of machines and commits that are no more, figures that were taken anew (programs of
# check_loops.py, samples of PIR's operators alone), and a size that is written in another order.
DROPPED = {"437 s", "1008 s", "390 s", "1024 s", "590 s", "16 s", "3.42 ms", "507 times",
           "25 programs", "602 samples", "0 dimension", "716 samples"}
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]+")
UNIT = (r"[KMGT]i?B|kB|bytes?|bits|levels?|ms|µs|ns|s|seconds?|minutes?|hours?|days?|%|"
        r"dimensions?|elements?|operations|operators|boxes|nodes|arguments|threads?|samples?|programs?|models?|"
        r"pieces?|calls|graphs|kinds|times|columns?|rounds")
LIMIT = re.compile(rf"(?<![\w.^-])(\d[\d,]*(?:\.\d+)?)\s(?:{UNIT})(?![\w^-])|\b2\^\d+")


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE,
                          universal_newlines=True).stdout


def is_page(path):
    return path not in MADE and re.fullmatch(r"(README|CONTRIBUTING|docs/\w+)\.md", path)


def facts_of(text):
    """Yields the options, and the limits with their units, each with the number of its line."""
    for number, line in enumerate(text.splitlines(), 1):
        for option in OPTION.findall(line):
            yield option, number
    text = re.sub(r"(?ms)^```.*?^```$", lambda block: "\n" * block[0].count("\n"), text)
    # A line may end between a number and its unit.
    for found in LIMIT.finditer(text):
        yield (re.sub(r"\s+", " ", found[0]).replace(",", ""),
               text.count("\n", 0, found.start()) + 1)


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 2
    commit = sys.argv[1]
    now = set()
    for path in filter(is_page, git("ls-files").splitlines()):
        now |= {fact for fact, _ in facts_of((ROOT / path).read_text())}
    options = set(OPTION.findall((ROOT / "docs/commands.md").read_text()))
    gone = {}
    count = set()
    for path in filter(is_page, git("ls-tree", "-r", "--name-only", commit).splitlines()):
        for fact, line in facts_of(git("show", f"{commit}:{path}")):
            if fact.startswith("--") and fact not in options:
                continue
            count.add(fact)
            if fact not in now and fact not in DROPPED:
                gone.setdefault(fact, f"{path}:{line}")
    for fact, place in sorted(gone.items(), key=lambda item: item[1]):
        print(f"{place}: {fact} is on no page now")
    print(f"{len(count)} options and limits at {commit}, {len(gone)} of them gone")
    return 1 if gone else 0


if __name__ == "__main__":
    sys.exit(main())
