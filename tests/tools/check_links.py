#!/usr/bin/env python3
"""Checks the links of all pages: their files and headings exist, and each page can be reached.

    tests/tools/check_links.py

A link to a file is relative to its page. A heading's name is the one that GitHub makes. A path of a
file of the project, such as `tests/tools/check_links.py`, that a page names in backquotes has to
exist, too. Every page of docs/ must be linked from docs/README.md. Prints each fault with its page
and line, and exits with 1 if there is one. Links to other sites are not followed.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
PATH = re.compile(r"`((?:graphnet|tests|docs|benchmarks|examples|python|packaging|samples)"
                  r"/[\w./-]+\.(?:cc|h|py|sh|txt|md|proto|pb|pt|pt2|ipynb|bzl))\b")


def without_code(text):
    """The text with its fenced blocks blanked out, line by line."""
    return re.sub(r"(?ms)^ *```.*?^ *```$", lambda block: "\n" * block[0].count("\n"), text)


def anchors(page):
    """The names of the headings of a page, as GitHub makes them."""
    names = set()
    for heading in re.findall(r"^#+ (.+)$", without_code(page.read_text(encoding="utf-8")), re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number, unique = 0, name
        while unique in names:
            number += 1
            unique = f"{name}-{number}"
        names.add(unique)
    return names


def faults_of(page):
    """Yields the line and the fault of each link of a page that leads nowhere."""
    text = without_code(page.read_text(encoding="utf-8"))
    for found in LINK.finditer(text):
        target, line = found[1], text.count("\n", 0, found.start()) + 1
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            yield line, f"{path} does not exist"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            yield line, f"{path or page.name} has no heading #{anchor}"
    for found in PATH.finditer(text):
        if not (ROOT / found[1]).exists():
            yield text.count("\n", 0, found.start()) + 1, f"{found[1]} does not exist"


def main():
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, check=True,
                            stdout=subprocess.PIPE, universal_newlines=True).stdout.split()
    pages = [ROOT / name for name in listed]
    count = 0
    for page in pages:
        for line, fault in faults_of(page):
            print(f"{page.relative_to(ROOT)}:{line}: {fault}")
            count += 1
    index = ROOT / "docs/README.md"
    linked = {(index.parent / target.partition("#")[0]).resolve()
              for target in LINK.findall(index.read_text(encoding="utf-8"))}
    for page in pages:
        if page.parent == index.parent and page != index and page not in linked:
            print(f"docs/README.md: {page.name} is not linked")
            count += 1
    print(f"{len(pages)} pages, {count} faults")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
