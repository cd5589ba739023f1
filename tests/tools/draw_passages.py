#!/usr/bin/env python3
"""Draws passages at random, which a reader who has not seen them restates.

    tests/tools/draw_passages.py SEED [--pages N] [--headers N] [--comments N]

A passage is a paragraph of a page (README.md, CONTRIBUTING.md, docs/*.md, but those that the tool
makes), a comment of a header, with the declaration behind it, or a comment of a .cc file or a test.
It has eight words at least. Of each kind N are drawn (20), each printed with its file and line. The
same files and the same seed give the same passages.
"""

import argparse
import pathlib
import random
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Their text is written elsewhere: in help strings and headers.
MADE = {"docs/commands.md", "docs/passes.md", "docs/python_api.md"}
LEAST_WORDS = 8


def is_worth(text):
    return len(re.findall(r"[A-Za-z]{2,}", text)) >= LEAST_WORDS


def paragraphs(lines):
    """Yields the first line and the text of each paragraph and item of a list."""
    start, text, in_code = 0, [], False
    for i, line in enumerate([*lines, ""], 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
            line = ""
        is_item = re.match(r"\s*(?:[-*]|\d+\.) ", line)
        if in_code or not line.strip() or is_item or line.startswith(("#", "|", "<", "!")):
            if text:
                yield start, "\n".join(text)
            text = []
        if not in_code and line.strip() and not line.startswith(("#", "|", "<", "!")):
            start = start if text else i
            text.append(line)


def comments(lines, with_declaration):
    """Yields the first line and the text of each block of comments."""
    i = 0
    while i < len(lines):
        if not re.match(r"\s*//(?!\s*NOLINT)", lines[i]):
            i += 1
            continue
        start = i
        while i < len(lines) and re.match(r"\s*//", lines[i]):
            i += 1
        text = lines[start:i]
        if is_worth("\n".join(text)):
            yield start + 1, "\n".join(text + (lines[i : i + 1] if with_declaration else []))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("seed", type=int)
    for kind in ("pages", "headers", "comments"):
        parser.add_argument(
            f"--{kind}", type=int, default=20, metavar="N", help=f"passages of {kind} (20)"
        )
    options = parser.parse_args()

    files = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, stdout=subprocess.PIPE, universal_newlines=True
    ).stdout.splitlines()
    found = {"pages": [], "headers": [], "comments": []}
    for file in sorted(files):
        if re.fullmatch(r"(README|CONTRIBUTING|docs/\w+)\.md", file) and file not in MADE:
            kind = "pages"
        elif file.startswith("graphnet/") and file.endswith(".h"):
            kind = "headers"
        elif file.endswith(".cc") or (file.startswith("tests/") and file.endswith(".h")):
            kind = "comments"
        else:
            continue
        lines = (ROOT / file).read_text(encoding="utf-8").split("\n")
        passages = paragraphs(lines) if kind == "pages" else comments(lines, kind == "headers")
        found[kind] += [(file, line, text) for line, text in passages if is_worth(text)]

    number = 0
    for kind, passages in found.items():
        chosen = random.Random(f"{options.seed} {kind}").sample(
            passages, min(getattr(options, kind), len(passages))
        )
        print(f"=== {len(chosen)} of {len(passages)} passages of {kind}\n")
        for file, line, text in chosen:
            number += 1
            print(f"{number}. {file}:{line}\n{text}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
