#!/usr/bin/env python3
"""Doxygen's input filter: comments of a header, as this project writes them, as documentation.

The first block of the file documents the file, another what stands right below it, and a comment
behind a declaration that declaration. "--- Title ---" opens a group. Lines that are indented by
three blanks, after an empty one, are code. No line is added: warnings name lines.
"""

import os
import re
import sys

BLOCK = re.compile(r"(\s*)//(?! NOLINT| clang-format)(.*)")
BEHIND = re.compile(r"(.*\S[;,}]|\s+[;,]|\s*k\w+(?: = [^/]*)?)(\s*)//(?! NOLINT)(.*)")


def documentation(text, is_code):
    """The text of a comment, in which nothing is a command."""
    if is_code:
        return "    " + text
    text = re.sub(r"^ +(?=\d+\. )", " ", text)
    return "".join(
        part if part.startswith("`") else re.sub(r"([\\@<>#%&$])", r"\\\1", part)
        for part in re.split(r"(`[^`]*`)", text)
    )


def main():
    lines = open(sys.argv[1], encoding="utf-8").read().split("\n")
    column, group, is_code, before = None, False, False, "-"
    for i, line in enumerate(lines):
        block, behind = BLOCK.fullmatch(line), BEHIND.fullmatch(line)
        if group and re.match(r"( private:|};|\s*// ---)", line):
            print("/** \\} */", end=" ")
            group = False
        if block and (title := re.match(r" --- (.*?) -+$", block[2])):
            print(f"/** \\name {title[1]} */ /** \\{{ */")
            group, before = True, "-"
        elif block and column is not None and len(block[1]) >= column:
            print(f"{block[1]}///<{documentation(block[2], False)}")
        elif block:
            below = next((other for other in lines[i:] if not BLOCK.fullmatch(other)), "")
            is_code = block[2].startswith("   ") and (is_code or not before.strip())
            before = block[2]
            command = f" \\file {os.path.relpath(sys.argv[1])}" if i == 0 else ""
            slash = "/" if below.strip() else ""
            print(f"{block[1]}//{slash}{command}{documentation(block[2], is_code)}")
        elif behind and behind[1].strip() != "}":
            print(f"{behind[1]}{behind[2]}///<{documentation(behind[3], False)}")
            column = len(behind[1] + behind[2])
            continue
        else:
            print(line)
        if not block:
            column, is_code, before = None, False, "-"


if __name__ == "__main__":
    main()
