#!/usr/bin/env python3
"""Follows the links of all pages, and with a tool runs every command of README.md and docs/*.md and
compares what it prints with what the page says.

    tests/tools/check_docs.py        the links only
    tests/tools/check_docs.py --graphnet bazel-bin/graphnet/cli/graphnet [--python PYTHON]
        [--corpus FOLDER] [PAGE...]

A link to a file is relative to its page. A heading's name is the one that GitHub makes. A path of a
file of the project, such as `tests/tools/check_docs.py`, that a page names in backquotes has to
exist, too. Every page of docs/ must be linked from docs/README.md. Links to other sites are not
followed.

A command is a line of a fenced block that begins with "$ "; what follows, up to the next
one, is what it prints, on either stream. Nothing after it: only that it succeeds.

  …         alone on a line: any lines; within one: any text
  7.6       a number with a point is a figure, and any other does as well; whole numbers must
            be right, and how many blanks there are does not count
  $ cat F   what follows is the file F, if the page has none yet
  # net.py  at the end of a Python block's first line: the block is that file, and runs

The commands of a page run in one folder of their own, those of README and tutorial in the same
(those of bazelw in the project's), in
order, with the project's samples, examples and tests in it, and the corpus as "corpus" if it is given; those that name it are left
out without it, as are Python blocks without a Python that has torch. The line before a block
can say why it is not run: <!-- not run: it takes hours -->. With --package, a block that is not run as
it needs the package does run, with the package's `graphnet`. A command that exits with 2 has to
print an error; a line that looks like a command and is none is a fault of the page.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What a newcomer follows one after the other.
IN_ONE_FOLDER = ["README.md", "docs/tutorial.md"]
LINKED = ["samples", "examples", "tests", "benchmarks", "bazel-bin", "bazelw", "graphnet"]
COMMAND_WORDS = re.compile(
    r"(graphnet|\./bazelw|bazel-bin/\S+|tests/\S+|python3?|cmake|make|pip|docker) "
)
SECONDS = 120
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
PATH = re.compile(
    r"`((?:graphnet|tests|docs|benchmarks|examples|python|packaging|samples)"
    r"/[\w./-]+\.(?:cc|h|py|sh|txt|md|proto|pb|pt|pt2|ipynb|bzl))\b"
)


class Block:
    """A fenced block: its first line's number, language, lines, and why it is not run."""

    def __init__(self, line: int, language: str, why_not: str | None):
        self.line, self.language, self.why_not = line, language, why_not
        self.lines: list[str] = []


def blocks_of(text: str) -> list[Block]:
    blocks: list[Block] = []
    block = None
    before = ""
    for number, line in enumerate(text.splitlines(), 1):
        if block is None and line.startswith("```"):
            said = re.fullmatch(r"<!-- not run: (.+) -->", before)
            block = Block(number, line[3:].strip(), said.group(1) if said else None)
        elif block is not None and line == "```":
            blocks.append(block)
            block = None
        elif block is not None:
            block.lines.append(line)
        if line.strip():
            before = line.strip()
    return blocks


def commands_of(block: Block) -> list[tuple[int, str, list[str]]]:
    commands: list[tuple[int, str, list[str]]] = []
    for number, line in enumerate(block.lines, block.line + 1):
        if line.startswith("$ "):
            commands.append((number, line[2:], []))
        elif commands and commands[-1][1].endswith("\\"):
            commands[-1] = (commands[-1][0], commands[-1][1][:-1] + line.strip(), [])
        elif commands:
            commands[-1][2].append(line)
    for _, _, output in commands:
        while output and not output[-1].strip():
            output.pop()
    return commands


def pattern_of(line: str) -> str:
    """What matches a line, figures and blanks aside."""
    line = re.sub(r"\s+", " ", line.strip())
    parts = re.split(r"(…|-?\d+\.\d+(?:e[-+]?\d+)?)", line)
    return "".join(
        part
        if i % 2 == 0 and not part
        else ".*"
        if part == "…"
        else r"-?\d+(\.\d+)?(e[-+]?\d+)?"
        if i % 2
        else re.escape(part)
        for i, part in enumerate(parts)
    )


def difference(expected: list[str], printed: list[str]) -> str:
    """The first line that is not as it should be; empty if all are."""
    lines = [re.sub(r"\s+", " ", line.strip()) for line in printed if line.strip()]
    wanted = [line for line in expected if line.strip()]
    at = 0
    skip = False
    for line in wanted:
        if line.strip() == "…":
            skip = True
            continue
        pattern = re.compile(pattern_of(line))
        found = next(
            (
                k
                for k in range(at, len(lines) if skip else min(at + 1, len(lines)))
                if pattern.fullmatch(lines[k])
            ),
            None,
        )
        if found is None:
            there = lines[at] if at < len(lines) else "nothing more"
            return f"says:   {line.strip()}\n    prints: {there}"
        at, skip = found + 1, False
    if at < len(lines) and not skip:
        return f"says nothing more, prints: {lines[at]}"
    return ""


class Page:
    def __init__(self, path: pathlib.Path, options: argparse.Namespace, folder: pathlib.Path):
        self.path, self.options, self.folder = path, options, folder
        self.run = self.skipped = 0
        self.faults: list[str] = []
        self.reasons: dict[str, int] = {}
        self.env = dict(os.environ, PATH=f"{folder}/tools:{os.environ['PATH']}", LC_ALL="C.UTF-8")
        if (folder / "tools").exists():  # the page before was followed here
            return
        for name in LINKED:
            if (ROOT / name).exists():
                (folder / name).symlink_to(ROOT / name)
        (folder / "tools").mkdir()
        (folder / "tools/graphnet").symlink_to(options.graphnet)
        if options.corpus:
            (folder / "corpus").symlink_to(options.corpus)
        if options.python:  # not a link: the program finds its virtual environment by its path
            program = folder / "tools/python"
            program.write_text(f'#!/bin/sh\nexec "{options.python}" "$@"\n')
            program.chmod(0o755)

    def fault(self, line: int, text: str) -> None:
        self.faults.append(f"{self.path.relative_to(ROOT)}:{line}: {text}")

    def skip(self, why: str) -> None:
        self.skipped += 1
        self.reasons[why] = self.reasons.get(why, 0) + 1

    def shell(self, command: str) -> tuple[int, str]:
        folder = ROOT if command.startswith("./bazelw") else self.folder
        try:
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=folder,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return -1, f"no end after {SECONDS} s"
        return done.returncode, done.stdout.decode(errors="replace")

    def check(self) -> None:
        for block in blocks_of(self.path.read_text()):
            commands = commands_of(block)
            if not commands:
                self.check_listing(block)
            for line, command, expected in commands:
                if block.why_not and not (self.options.package and "needs the package" in block.why_not):
                    self.skip(block.why_not)
                else:
                    self.check_command(line, command, expected)

    def check_listing(self, block: Block) -> None:
        name = re.search(r"# (\w+\.py)$", block.lines[0]) if block.lines else None
        if block.language == "python" and name:
            (self.folder / name.group(1)).write_text("\n".join(block.lines) + "\n")
            if not self.options.python:
                self.skip("no Python with torch")
                return
            self.run += 1
            code, printed = self.shell(f"python -W ignore {name.group(1)}")
            if code != 0:
                self.fault(block.line, f"{name.group(1)} fails: {printed.strip()[-300:]}")
            return
        for number, line in enumerate(block.lines, block.line + 1):
            if block.language in ("", "sh", "console") and COMMAND_WORDS.match(line):
                self.fault(number, f'a command without "$ ": {line}')

    def check_command(self, line: int, command: str, expected: list[str]) -> None:
        bare = re.sub(r"\s+# .*$", "", command)
        if "corpus/" in bare and not self.options.corpus:
            self.skip("no corpus")
            return
        if bare.startswith("python") and not self.options.python:
            self.skip("no Python with torch")
            return
        given = re.fullmatch(r"cat ([\w./]+)", bare)
        if given and not (self.folder / given.group(1)).exists():
            (self.folder / given.group(1)).write_text("\n".join(expected) + "\n")
        self.run += 1
        code, printed = self.shell(bare)
        errors = any(text.startswith("graphnet: ") for text in expected)
        if code not in (0, 1) and not (code == 2 and errors):
            self.fault(line, f"{bare}\n    exits with {code}: {printed.strip()[-300:]}")
        elif expected and (wrong := difference(expected, printed.splitlines())):
            self.fault(line, f"{bare}\n    {wrong}")
        elif not expected and code != 0:
            self.fault(line, f"{bare}\n    exits with {code}: {printed.strip()[-300:]}")


# --- Links


def without_code(text):
    """The text with its fenced blocks blanked out, line by line."""
    return re.sub(r"(?ms)^ *```.*?^ *```$", lambda block: "\n" * block[0].count("\n"), text)


def anchors(page):
    """The names of the headings of a page, as GitHub makes them."""
    names = set()
    for heading in re.findall(r"^#+ (.+)$", without_code(page.read_text()), re.M):
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
    text = without_code(page.read_text())
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


def check_links() -> int:
    """Prints each link that leads nowhere, and returns how many there are."""
    listed = subprocess.run(
        ["git", "ls-files", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    pages = [ROOT / name for name in listed.stdout.split()]
    faults = [
        f"{page.relative_to(ROOT)}:{line}: {fault}"
        for page in pages
        for line, fault in faults_of(page)
    ]
    index = ROOT / "docs/README.md"
    linked = {
        (index.parent / target.partition("#")[0]).resolve()
        for target in LINK.findall(index.read_text())
    }
    faults += [
        f"docs/README.md: {page.name} is not linked"
        for page in pages
        if page.parent == index.parent and page not in (index, *linked)
    ]
    print(
        "".join(f"{fault}\n" for fault in faults)
        + f"the links of {len(pages)} pages, {len(faults)} faults"
    )
    return len(faults)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--graphnet",
        type=lambda path: pathlib.Path(path).resolve(),
        help="the tool that runs the commands",
    )
    parser.add_argument("--python", type=pathlib.Path, help="one that has torch")
    parser.add_argument("--package", action="store_true", help="the tool is that of the package")
    parser.add_argument("--corpus", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("pages", nargs="*", type=lambda path: pathlib.Path(path).resolve())
    options = parser.parse_args()
    if not options.graphnet:
        return 1 if check_links() else 0
    if options.python:
        options.python = os.path.abspath(options.python)
    run = skipped = 0
    faults: list[str] = []
    reasons: dict[str, int] = {}
    first = [ROOT / name for name in IN_ONE_FOLDER]
    rest = [page for page in sorted((ROOT / "docs").glob("*.md")) if page not in first]
    for paths in [[page] for page in options.pages] or [first, *([page] for page in rest)]:
        with tempfile.TemporaryDirectory() as folder:
            for path in paths:
                page = Page(path, options, pathlib.Path(folder))
                page.check()
                run, skipped = run + page.run, skipped + page.skipped
                faults += page.faults
                for why, count in page.reasons.items():
                    reasons[why] = reasons.get(why, 0) + count
    for fault in faults:
        print(fault)
    for why, count in sorted(reasons.items()):
        print(f"not run: {count}: {why}")
    print(f"{run} commands run, {len(faults)} not as their pages say, {skipped} not run")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
