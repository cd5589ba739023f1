#!/usr/bin/env python3
"""Doxygen's input filter: comments of a header, as this project writes them, as documentation.

The first block of the file documents the file; a block before a declaration documents it, as does
what follows it in its line. Lines that are indented by three blanks are code.
"""
import re
import sys


def documentation(text):
    """The text of a comment, in which nothing is a command."""
    if text.startswith("   "):
        return "    " + text
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([\\@<>#%&$])", r"\\\1", part) for part in parts)


def main():
    lines = open(sys.argv[1], encoding="utf-8").read().split("\n")
    is_block = [re.match(r"\s*//(?! NOLINT| clang-format)", line) is not None for line in lines]
    trailing = None  # the column of the comment that ends the line before
    for i, line in enumerate(lines):
        end = next((j for j in range(i, len(lines)) if not is_block[j]), len(lines) - 1)
        found = re.match(r"(\s*)//(.*)|(.*[;,}]|\s*k\w+(?: = [^/]*)?)\s*//(?! NOLINT)(.*)", line)
        if found and found[1] is not None and trailing is not None and len(found[1]) >= trailing:
            line = f"{found[1]}///<{documentation(found[2])}"
        elif found and found[1] is not None and is_block[i] and lines[end].strip():
            opens_file = i == 0 and "#ifndef" in lines[end]
            command = " \\mainpage\n///" if sys.argv[1].endswith("/graphnet.h") else " \\file\n///"
            line = f"{found[1]}///{command if opens_file else ''}{documentation(found[2])}"
        elif found and found[3] is not None and not re.search(r"^\s*}$", found[3]):
            line = f"{found[3]}  ///<{documentation(found[4])}"
            trailing = len(found[3])
            print(line)
            continue
        if not is_block[i]:
            trailing = None
        print(line)


if __name__ == "__main__":
    main()
