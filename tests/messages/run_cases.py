#!/usr/bin/env python3
"""Runs the cases of a file, and compares what each command prints with what the file says.

    tests/messages/run_cases.py GRAPHNET FILE [--only WORDS] [--update]

A file has one case after the other, each of which runs in an empty folder of its own:

  == what the case shows       begins a case
  -- model.txt                 begins a file; its content ends at the next line of these kinds
  $ graphnet check model.txt   a command of the shell; what it prints follows, on either stream
  [2]                          its exit status, if that is not 0
  # why                        a comment, before the first line of a case

A line "…" alone stands for any lines, and "…" in a line for any text. The folder of a case has
links to the project's samples and tests, and damage.py, which makes damaged files; $GRAPHNET is
the program itself. A command ends after 30 s, and gets 4 GB of addresses. --update writes what
the commands print into FILE; --only runs the cases whose first line has WORDS.
"""

import argparse
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
from typing import List, Optional

HERE = pathlib.Path(os.path.abspath(__file__)).parent
ROOT = HERE.parents[1]
BEGINNING = re.compile(r"== |-- |\$ ")
SECONDS = 30
BYTES = 4_000_000_000


class Part:
    """A line that begins a case, a file or a command, and the lines that follow it."""

    def __init__(self, line: str, number: int):
        self.kind, self.words, self.number = line[:2].strip(), line[2:].strip(), number
        self.lines: List[str] = []


def parts_of(text: str) -> List[Part]:
    parts: List[Part] = []
    for number, line in enumerate(text.splitlines(), 1):
        if BEGINNING.match(line):
            parts.append(Part(line, number))
        elif parts:
            parts[-1].lines.append(line)
        elif line and not line.startswith("#"):
            sys.exit(f"line {number} stands before the first case")
    return parts


def expected_of(command: Part) -> List[str]:
    """The lines of a command without the comments and blank lines before the next case."""
    lines = list(command.lines)
    while lines and (not lines[-1] or lines[-1].startswith("#")):
        lines.pop()
    return lines


def agrees(expected: List[str], printed: List[str]) -> bool:
    pattern = "".join("(?:.*\n)*?" if line == "…" else re.escape(line).replace("…", ".*") + "\n"
                      for line in expected)
    return re.fullmatch(pattern, "".join(line + "\n" for line in printed)) is not None


def limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))


class Case:
    def __init__(self, graphnet: pathlib.Path):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        programs = self.path / ".programs"
        programs.mkdir()
        (programs / "graphnet").write_text(f'#!/bin/sh\nexec "{graphnet}" "$@"\n')
        (programs / "graphnet").chmod(0o755)
        for name in ("samples", "tests"):
            (self.path / name).symlink_to(ROOT / name)
        (self.path / "damage.py").symlink_to(HERE / "damage.py")
        self.environment = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}",
                                HOME=str(self.path), PYTHONDONTWRITEBYTECODE="1",
                                GRAPHNET=str(graphnet))

    def write(self, part: Part) -> None:
        path = self.path / part.words
        path.parent.mkdir(parents=True, exist_ok=True)
        assert path.parent.resolve().is_relative_to(self.path.resolve()), f"{path} is the project's"
        path.unlink(missing_ok=True)  # a link to the project
        lines = list(part.lines)
        while lines and not lines[-1]:
            lines.pop()
        path.write_text("".join(line + "\n" for line in lines))

    def run(self, part: Part) -> List[str]:
        try:
            done = subprocess.run(["bash", "-c", part.words], cwd=self.path, env=self.environment,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=SECONDS, preexec_fn=limit)
        except subprocess.TimeoutExpired:
            return [f"not ended after {SECONDS} s"]
        printed = done.stdout.decode("utf-8", "backslashreplace").replace(str(self.path), "DIR")
        return printed.splitlines() + ([f"[{done.returncode}]"] if done.returncode else [])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphnet", type=pathlib.Path)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    text = options.file.read_text()
    lines = text.splitlines()
    parts = parts_of(text)
    case: Optional[Case] = None
    cases = faults = 0
    changes = []
    for part in parts:
        if part.kind == "==":
            case = Case(options.graphnet.absolute()) if options.only in part.words else None
            cases += case is not None
        elif case is None:
            continue
        elif part.kind == "--":
            case.write(part)
        else:
            expected, printed = expected_of(part), case.run(part)
            if not agrees(expected, printed):
                faults += 1
                changes.append((part.number, len(expected), printed))
                if not options.update:
                    print(f"{options.file}:{part.number}: $ {part.words}\nexpected:",
                          *expected, "printed:", *printed, sep="\n")
    if options.update:
        for number, count, printed in reversed(changes):
            lines[number:number + count] = printed
        options.file.write_text("".join(line + "\n" for line in lines))
    print(f"{options.file}: {cases} cases, {faults} commands " +
          ("updated" if options.update else "differ"))
    return 1 if (faults and not options.update) or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
