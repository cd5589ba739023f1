#!/usr/bin/env python3
"""Writes samples with hostile names, texts and file names in every format that somebody evaluates or
parses, and has the format's own parser judge them: what was a name is still a name.

    tests/cli/languages_test.py GRAPHNET [--names 5000] [--seed 0]

Every batch has two samples of the same shape, one with hostile names and one with plain ones. The
parser must see the same structure in both (the same statements, elements, nodes, columns), and where
the language keeps the name, the name itself. The judges:

    Python             ast, of show --to python and of each .py file of a GraphNet folder
    JSON               json, of show --json, stats --json, find --json, Model Explorer, graph_net.json
    CSV                csv, of find --csv: no cell is a formula for a spreadsheet
    SVG                xml.etree, of show --to svg
    HTML               html.parser, of show --to html, and json, of the data in the page
    dot                Graphviz's dot, where it is installed
    the shell          bash, of the line that bench prints

A format may refuse a name that it cannot spell; that counts as refused and must be one clear line.
tests/pytorch/compare.py texts does the same for archives of TorchScript and torch.export, by PyTorch.
"""

import argparse
import ast
import collections
import csv
import html.parser
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable

from hostile_names import OPAQUE, hostile_names, quoted, sample


class Checker:
    def __init__(self, graphnet: str, folder: pathlib.Path) -> None:
        self.graphnet = graphnet
        self.folder = folder
        self.failures: list[str] = []
        self.counts: dict[str, int] = collections.Counter()
        self.refused: dict[str, int] = collections.Counter()

    def run(self, *args: str) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run([self.graphnet, *args], cwd=self.folder, capture_output=True)

    def made(self, language: str, args: list[str]) -> bool:
        """Runs the tool. A refusal is one clean line."""
        done = self.run(*args)
        if done.returncode == 0:
            return True
        text = done.stderr.decode(errors="replace")
        if done.returncode not in (1, 2) or text.count("\n") > 3 or re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text):
            self.failures.append(f"{language}: exit code {done.returncode}: {text[:300]!r}")
        self.refused[language] += 1
        return False

    def compare(
        self, language: str, count: int, skeleton: Callable[[str], object], make: Callable[[str], list[str]]
    ) -> None:
        """Compares the structure of both samples in a language. `make` gives the command for h or b."""
        skeletons = []
        for which in ("h", "b"):
            if not self.made(language, make(which)):
                return
            try:
                skeletons.append(skeleton(which))
            except Exception as error:  # the parser's own, whichever it is
                self.failures.append(f"{language}: {type(error).__name__}: {str(error)[:300]}")
                return
        if skeletons[0] != skeletons[1]:
            self.failures.append(f"{language}: hostile names change the structure")
        self.counts[language] += count

    def read(self, name: str) -> str:
        return (self.folder / name).read_bytes().decode()


def python_skeleton(text: str) -> list[str]:
    def kinds(node: ast.AST) -> list[str]:
        made = []
        for one in ast.walk(node):
            made.append(type(one).__name__)
            if isinstance(one, ast.Attribute):
                made.append(one.attr)
        return made

    return kinds(ast.parse(text))


def strings_of(text: str) -> set:
    return {
        one.value for one in ast.walk(ast.parse(text)) if isinstance(one, ast.Constant) and isinstance(one.value, str)
    }


class Page(html.parser.HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[object] = []
        self.script = ""
        self.inside = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self.inside = tag == "script" and ("type", "application/json") in attrs

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        self.script += data if self.inside else ""


def json_shape(value: object) -> object:
    if isinstance(value, dict):
        return collections.Counter(repr(json_shape(one)) for one in value.values())
    if isinstance(value, list):
        return [json_shape(one) for one in value]
    return type(value).__name__


def no_constant(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


def strict_json(text: str) -> object:
    return json.loads(text, parse_constant=no_constant)


def check_batch(check: Checker, names: list[str], use_dot: bool) -> None:
    count = len(names)
    plain = [f"n{i}" for i in range(count)]
    write = lambda which, text: (check.folder / f"{which}.gn").write_text(text)
    write("h", sample(names, OPAQUE))
    write("b", sample(plain, OPAQUE))

    def python(which: str) -> object:
        text = check.read(f"{which}.py")
        if which == "h" and not strings_of(text) >= set(names):
            raise ValueError("a text is lost")
        return python_skeleton(text)

    check.compare("Python", count, python, lambda w: ["show", f"{w}.gn", "--to", "python", "-o", f"{w}.py"])

    def folder(which: str) -> object:
        place = check.folder / f"folder_{which}"
        strict_json((place / "graph_net.json").read_text())
        return [(file.name, python_skeleton(file.read_text())) for file in sorted(place.glob("*.py"))]

    check.compare("GraphNet folder", count, folder, lambda w: ["convert", f"{w}.gn", f"folder_{w}"])

    def find_csv(which: str) -> object:
        done = check.run("find", "mylib(?)", f"{which}.gn", "--csv")
        rows = list(csv.reader(io.StringIO(done.stdout.decode())))
        if len(rows) != count + 1 or any(len(row) != 6 for row in rows):
            raise ValueError("rows and columns differ")
        for cell in (cell for row in rows for cell in row):
            if cell[:1] in ("=", "+", "-", "@", "\t", "\r"):
                raise ValueError(f"a formula: {cell!r}")
        return len(rows)

    check.compare("CSV", count, find_csv, lambda w: ["find", "mylib(?)", f"{w}.gn", "--csv"])

    def show_json(which: str) -> object:
        document = strict_json(check.run("show", f"{which}.gn", "--json").stdout.decode())
        found = strict_json(check.run("find", "mylib(?)", f"{which}.gn", "--json").stdout.decode())
        strict_json(check.run("stats", f"{which}.gn", "--json").stdout.decode())
        nodes = [call["node"] for call in found["samples"][0]["calls"]]
        if len(set(nodes)) != count:
            raise ValueError("names are lost")
        return len(json.dumps(document)) > 0, len(nodes)

    check.compare("JSON", count, show_json, lambda w: ["show", f"{w}.gn", "--json"])
    check.compare(
        "Model Explorer",
        count,
        lambda w: len(strict_json(check.read(f"{w}.me.json"))["graphs"]),
        lambda w: ["show", f"{w}.gn", "--to", "model-explorer", "-o", f"{w}.me.json"],
    )

    def svg(which: str) -> object:
        elements = collections.Counter()
        for element in ElementTree.parse(check.folder / f"{which}.svg").iter():
            if element.tag.endswith("}script") or any(name.startswith("on") for name in element.attrib):
                raise ValueError("a script")
            # A long text may stand in one line or in several.
            if not element.tag.endswith("}tspan"):
                elements[(element.tag, tuple(sorted(element.attrib)))] += 1
        return set(elements)

    check.compare("SVG", count, svg, lambda w: ["show", f"{w}.gn", "--to", "svg", "-o", f"{w}.svg"])

    def page(which: str) -> object:
        read = Page(check.read(f"{which}.html"))
        strict_json(read.script)
        return read.tags

    check.compare("HTML", count, page, lambda w: ["show", f"{w}.gn", "--to", "html", "-o", f"{w}.html"])

    if use_dot:

        def dot(which: str) -> object:
            done = subprocess.run(["dot", "-Tjson0", f"{which}.dot"], cwd=check.folder, capture_output=True, check=True)
            if done.stderr:
                raise ValueError(done.stderr[:300])
            drawn = json.loads(done.stdout)
            return len(drawn["objects"]), len(drawn["edges"])

        check.compare("dot", count, dot, lambda w: ["show", f"{w}.gn", "--to", "dot", "-o", f"{w}.dot"])


def check_targets(check: Checker, names: list[str]) -> None:
    """Names of functions, methods and inputs, of which Python can spell few."""
    for name in names:
        for call in (f"{quoted(name)}(%x)", f".{quoted(name)}(%x)", f"torch.mylib(%x, {quoted(name)} = 1)"):
            text = f"graph @forward(%x : f32[2]) {{\n  %y = {call}\n  return (%y,)\n}}\n"
            (check.folder / "target.gn").write_text(text)
            if not check.made("Python targets", ["show", "target.gn", "--to", "python", "-o", "target.py"]):
                continue
            tree = ast.parse(check.read("target.py"))
            calls = sum(isinstance(node, ast.Call) for node in ast.walk(tree))
            if calls > 1 or len(tree.body) != 2:
                check.failures.append(f"Python targets: {name!r} is more than a name")
            check.counts["Python targets"] += 1


def check_shell(check: Checker, names: list[str]) -> None:
    """The line that bench prints for the user to type."""
    made = check.folder / "shell"
    made.mkdir()
    (made / "x.gn").write_text(
        "graph @forward(%x : f32[2] {mean = 0.0, std = 1.0}) {\n  %y = torch.relu(%x)\n  return (%y,)\n}\n"
    )
    for i, name in enumerate(
        name for name in names if "/" not in name and "\0" not in name and len(name.encode()) < 200
    ):
        out = f"{i}{name}"
        done = check.run(
            "bench", str(made / "x.gn"), "--backend", "jit", "--warmup", "0", "--trials", "1", "-o", str(made / out)
        )
        lines = [
            line for line in done.stdout.decode(errors="replace").splitlines() if line.startswith("graphnet score ")
        ]
        if done.returncode != 0 or len(lines) != 1:
            check.failures.append(f"shell: bench -o {out!r}: exit code {done.returncode}, {done.stderr[-200:]!r}")
            continue
        typed = (
            subprocess.run(
                ["bash", "-c", f"graphnet() {{ printf '%s\\0' \"$@\"; }}; {lines[0]}"], capture_output=True, cwd=made
            )
            .stdout.decode()
            .split("\0")
        )
        if typed != ["score", str(made / out / "jit.log"), ""]:
            check.failures.append(f"shell: {lines[0]!r} types {typed}")
        check.counts["the shell"] += 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphnet")
    parser.add_argument("--names", type=int, default=5000, help="samples for each language (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        check = Checker(str(pathlib.Path(args.graphnet).resolve()), pathlib.Path(folder))
        names = hostile_names(args.names, args.seed)
        size = 500
        for begin in range(0, len(names), size):
            check_batch(check, names[begin : begin + size], bool(shutil.which("dot")) and begin < 2 * size)
        check_targets(check, names[:60])
        check_shell(check, names[:12])
    for failure in check.failures[:20]:
        print(f"FAIL {failure}")
    for language in sorted(check.counts.keys() | check.refused.keys()):
        refused = check.refused[language]
        print(f"{language}: {check.counts[language]} hostile names" + (f", {refused} files refused" if refused else ""))
    print(f"{sum(check.counts.values())} passed, {len(check.failures)} failed")
    return 1 if check.failures or not check.counts else 0


if __name__ == "__main__":
    sys.exit(main())
