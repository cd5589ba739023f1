#!/usr/bin/env python3
"""Writes samples with hostile names, texts and file names in every format that somebody evaluates or
parses, and has the format's own parser judge them: what was a name is still a name.

    check_languages.py --graphnet BINARY [--names 5000] [--seed 0] [--dot]

Every batch has two samples of the same shape, one with hostile names and one with plain ones. The
parser must see the same structure in both (the same statements, elements, nodes, columns), and where
the language keeps the name, the name itself. The judges:

    Python             ast, of show --to python and of each .py file of a GraphNet folder
    JSON               json, of show --json, stats --json, find --json, Model Explorer, graph_net.json
    CSV                csv, of find --csv: no cell is a formula for a spreadsheet
    SVG                xml.etree, of show --to svg
    HTML               html.parser, of show --to html, and json, of the data in the page
    dot                Graphviz's dot (with --dot)
    TorchScript        torch.jit.load, if this Python has torch
    the shell          bash, of the line that bench prints
    torch.export       torch.export.load and a call, if this Python has torch: texts that PyTorch evaluates
                       (sizes, guards, names) are put into a .pt2 of PyTorch's, which graphnet reads and
                       writes again; sys.addaudithook watches whether any of them runs

A format may refuse a name that it cannot spell; that counts as refused and must be one clear line.
"""

import argparse
import ast
import collections
import csv
import html.parser
import io
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
import zipfile
from typing import Callable, Dict, List

PARTS = [
    'a"b', "a'b", "</script><script>alert(1)</script>", '";import os;os.system("touch PWNED")#', "\\",
    '\\"', "a\nb", "a\r\nb", "\u2028", "\u2029", "%s{0}", "${x}", "`id`", "$(id)", "=1+1", "+1+1", "-1+x",
    "@SUM(1)", "\t=1", "<b>", "&amp;", "&", "<!--", "-->", "]]>", "<![CDATA[", '{"a":1}', '"""', "'''", "#",
    "//", "/*", "*/", "|", "a|b", "[x](javascript:1)", "a,b", "\u202e", "\ud7ff", "é", "日本", "\x00",
    "\x1b[31m", "\x7f", "\\n", "\\N{DIGIT ONE}", "\\x41", "\\u0041", "lambda", "class", "None", "True",
    "self", "return", "if", "1", "1a", "a b", "a.b", "..", "/", "../x", "a:b", "::", "@", "%", "%1", "!",
    "!torch", "->", "=", "{", "}", "(", ")", "<", ">", ";", "s0", '__import__("os")', "torch.ops",
    "__class__", "__proto__", "constructor", "<svg onload=alert(1)>", '"><img src=x onerror=alert(1)>',
    "data-x", "onload", "javascript:alert(1)", "\\l\\r", "\\G", "{a|b}", "<TABLE>", "digraph", "subgraph",
    "node", "edge", "strict", "a" * 300,
]


def hostile_names(count: int, seed: int) -> List[str]:
    choice = random.Random(seed)
    names: Dict[str, None] = {}
    while len(names) < count:
        name = "".join(choice.choice(PARTS) for _ in range(choice.choice([1, 1, 1, 2, 3])))
        if choice.random() < 0.3:
            name += chr(choice.choice([choice.randrange(1, 128), choice.randrange(0x80, 0x2FFF)]))
        names[name] = None
    return list(names)


def quoted(text: str) -> str:
    """A string of the text form."""
    out = ""
    for byte in text.encode():
        out += chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\x{byte:02x}"
    return f'"{out}"'


def sample(names: List[str], calls: str, with_targets: bool = False) -> str:
    """A chain of calls: names of values, texts, keys, module paths, file names, perhaps of inputs."""
    lines = ["graphnet.sample 1", f"name = {quoted(names[0])}", "graphnet.module 1", ""]
    inputs = names[: len(names) // 4] if with_targets else ["x"]
    places = ", ".join(f"%{quoted('in ' + n)} {quoted(n)} : f32[2, 2]@cpu {{mean = 0.0, std = 1.0}}" for n in inputs)
    lines.append(f"graph @forward({places}) {{")
    before = "in " + inputs[0]
    for i, name in enumerate(names):
        call = calls.format(before=quoted(before), other=quoted("in " + inputs[i % len(inputs)]), text=quoted(name))
        lines.append(f"  %{quoted(name)} = {call} in {quoted(name)} at {quoted(name)}:{i + 1}:1")
        before = name
    return "\n".join([*lines, f"  return (%{quoted(before)},)", "}", "end", ""])


OPAQUE = "torch.mylib(%{before}, {text}, key = ({text}, {{{text}: 1}}))"
KNOWN = "torch.add(%{before}, %{other})"


class Checker:
    def __init__(self, graphnet: str, folder: pathlib.Path) -> None:
        self.graphnet = graphnet
        self.folder = folder
        self.failures: List[str] = []
        self.counts: Dict[str, int] = collections.Counter()
        self.refused: Dict[str, int] = collections.Counter()

    def run(self, *args: str) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run([self.graphnet, *args], cwd=self.folder, capture_output=True)

    def made(self, language: str, args: List[str]) -> bool:
        """Runs the tool. A refusal is one clean line."""
        done = self.run(*args)
        if done.returncode == 0:
            return True
        text = done.stderr.decode(errors="replace")
        if done.returncode not in (1, 2) or text.count("\n") > 3 or re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text):
            self.failures.append(f"{language}: exit code {done.returncode}: {text[:300]!r}")
        self.refused[language] += 1
        return False

    def compare(self, language: str, count: int, skeleton: Callable[[str], object], make: Callable[[str], List[str]]) -> None:
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


def python_skeleton(text: str) -> List[str]:
    def kinds(node: ast.AST) -> List[str]:
        made = []
        for one in ast.walk(node):
            made.append(type(one).__name__)
            if isinstance(one, ast.Attribute):
                made.append(one.attr)
        return made
    return kinds(ast.parse(text))


def strings_of(text: str) -> set:
    return {one.value for one in ast.walk(ast.parse(text)) if isinstance(one, ast.Constant) and isinstance(one.value, str)}


class Page(html.parser.HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: List[object] = []
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


def check_batch(check: Checker, names: List[str], use_dot: bool, torch: object) -> None:
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
    check.compare("Model Explorer", count, lambda w: len(strict_json(check.read(f"{w}.me.json"))["graphs"]),
                  lambda w: ["show", f"{w}.gn", "--to", "model-explorer", "-o", f"{w}.me.json"])

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

    write("h", sample(names, KNOWN, with_targets=True))
    write("b", sample(plain, KNOWN, with_targets=True))
    if torch is not None:
        def script(which: str) -> object:
            graph = torch.jit.load(str(check.folder / f"{which}.pt")).forward.graph
            return len(list(graph.inputs())), collections.Counter(node.kind() for node in graph.nodes())

        check.compare("TorchScript", count, script, lambda w: ["convert", f"{w}.gn", f"{w}.pt"])


def check_targets(check: Checker, names: List[str]) -> None:
    """Names of functions, methods and inputs, of which Python can spell few."""
    for i, name in enumerate(names):
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


def check_shell(check: Checker, names: List[str]) -> None:
    """The line that bench prints for the user to type."""
    made = check.folder / "shell"
    made.mkdir()
    (made / "x.gn").write_text("graph @forward(%x : f32[2] {mean = 0.0, std = 1.0}) {\n  %y = torch.relu(%x)\n  return (%y,)\n}\n")
    for i, name in enumerate(name for name in names if "/" not in name and "\0" not in name and len(name.encode()) < 200):
        out = f"{i}{name}"
        done = check.run("bench", str(made / "x.gn"), "--backend", "jit", "--warmup", "0", "--trials", "1", "-o", str(made / out))
        lines = [line for line in done.stdout.decode(errors="replace").splitlines() if line.startswith("graphnet score ")]
        if done.returncode != 0 or len(lines) != 1:
            check.failures.append(f"shell: bench -o {out!r}: exit code {done.returncode}, {done.stderr[-200:]!r}")
            continue
        typed = subprocess.run(["bash", "-c", f"graphnet() {{ printf '%s\\0' \"$@\"; }}; {lines[0]}"], capture_output=True,
                               cwd=made).stdout.decode().split("\0")
        if typed != ["score", str(made / out / "jit.log"), ""]:
            check.failures.append(f"shell: {lines[0]!r} types {typed}")
        check.counts["the shell"] += 1


# What a text would do if it ran. Each leaves a trace in the hook of the process that loads the file.
DEEDS = ["__import__('os').system('true')", "__import__('subprocess').run(['true'])", "open('PWNED', 'w')",
         "__import__('graphnet_marker')", "exec('import graphnet_marker')", "eval(\"__import__('graphnet_marker')\")",
         "().__class__.__base__.__subclasses__()[0].__init__.__globals__['graphnet_marker']"]
FRAMES = ["{deed}", "s0', integer=True) if not {deed} else Symbol('s0", "s0 + {deed}", "Symbol('s0') if {deed} else 1",
          "Max(1, {deed})", "[{deed} for _ in (1,)][0]", "(lambda: {deed})()", "s0 and {deed}", "s0\n{deed}", "s0; {deed}",
          "f\"{{{deed}}}\"", "L['x'].size()[0] >= 1 and {deed}", "{deed} is None", "L['x'][{deed}]", "L[{deed}]",
          "x={deed}", "x: {deed}", "x\"]) or {deed} or print([\"", "x', {deed}, '", "(x := {deed})", "ｅｖａｌ('{deed}')",
          "integer:{deed}", "s0 if True else {deed}", "-{deed}", "{deed}.bit_length()", "x)\n    {deed}\n#", "x\\\n{deed}"]

# Loads and calls each file that it is told, and prints what its hook saw.
WATCHER = r"""
import json, sys, warnings
warnings.filterwarnings("ignore")
import logging, torch, torch.export
logging.disable(logging.CRITICAL)
seen = []
def hook(event, args):
    if event in ("os.system", "subprocess.Popen", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "os.remove", "os.rename"):
        seen.append(event)
    elif event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+") and "PWNED" in str(args[0]):
        seen.append("open for writing")
    elif event == "import" and args[0] == "graphnet_marker":
        seen.append("import")
x = torch.zeros(3, 4)
def use(path):
    program = torch.export.load(path)
    program.module()(x)
for path in sys.stdin:
    seen.clear()
    if path.startswith("warm "):
        use(path.strip()[5:])  # what PyTorch imports and starts by itself the first time
        sys.addaudithook(hook)
    error = ""
    try:
        use(path.strip().removeprefix("warm "))
    except BaseException as failure:
        error = f"{type(failure).__name__}: {failure}"[:200]
    print(json.dumps([sorted(set(seen)), error]), flush=True)
"""


class Watcher:
    def __init__(self, folder: pathlib.Path, plain: pathlib.Path) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", WATCHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, cwd=folder)
        if (found := self.look(pathlib.Path(f"warm {plain}")))[0] or found[1]:
            raise RuntimeError(f"a plain program: {found}")

    def look(self, path: pathlib.Path) -> list:
        """[what happened, PyTorch's error]"""
        print(path, file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())


def places(document: object, path: tuple = ()) -> list:
    """Each text of a program that PyTorch evaluates or spells in code: (path, whether it is a key)."""
    found = []
    if isinstance(document, dict):
        for key, value in document.items():
            if path and (path[-1] == "range_constraints" or str(path[-1]).endswith("_values")):
                found.append((path + (key,), True))
            if isinstance(value, str) and key in ("expr_str", "name", "as_name", "parameter_name", "buffer_name", "in_spec", "target",
                                                  "tensor_constant_name", "out_spec", "fqn"):
                found.append((path + (key,), False))
            found += places(value, path + (key,))
    elif isinstance(document, list):
        if path and path[-1] in ("guards_code", "forward_arg_names"):
            found += [(path + (i,), False) for i, value in enumerate(document) if isinstance(value, str)]
        for i, value in enumerate(document):
            found += places(value, path + (i,))
    return found


def planted(document: dict, place: tuple, is_key: bool, text: str) -> dict:
    copy = json.loads(json.dumps(document))
    at = copy
    for step in place[:-1]:
        at = at[step]
    if is_key:
        at[text] = at.pop(place[-1])
    elif place[-1] in ("in_spec", "out_spec"):
        at[place[-1]] = at[place[-1]].replace('"context": "[]"', f'"context": {json.dumps(json.dumps([text]))}', 1)
    else:
        at[place[-1]] = text
    return copy


def check_exported(check: Checker, count: int, seed: int, torch: object) -> None:
    """Programs of torch.export with texts that would run. PyTorch loads and calls what graphnet writes of them."""
    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(4))
            self.register_buffer("shift", torch.ones(4))

        def forward(self, x):
            return torch.relu(x[: x.shape[0] - 1] * self.scale) + self.shift

    made = check.folder / "exported"
    made.mkdir()
    plain = made / "plain.pt2"
    size = torch.export.Dim("rows", min=3, max=64)
    torch.export.save(torch.export.export(Scaled(), (torch.zeros(3, 4),), dynamic_shapes=({0: size},)), str(plain))
    with zipfile.ZipFile(plain) as archive:
        records = [(info.filename, archive.read(info)) for info in archive.infolist()]
    (name,) = [name for name, _ in records if name.endswith("/models/model.json")]
    document = json.loads(dict(records)[name])
    document["guards_code"] = document.get("guards_code") or ["L['x'].size()[0] >= 3"]
    check.run("convert", str(plain), str(made / "between.pb"))  # its weights lie beside the text
    check.run("convert", str(plain), str(made / "plain.gn"))
    sample = (made / "plain.gn").read_text()
    choice = random.Random(seed)
    watcher = Watcher(made, plain)
    spots = places(document)
    ran = 0
    for i in range(count):
        place, is_key = spots[i % len(spots)] if i >= 40 else choice.choice(
            [spot for spot in spots if spot[0][-1] == "expr_str" or "guards_code" in spot[0] or "range_constraints" in spot[0]])
        text = choice.choice(FRAMES).format(deed=choice.choice(DEEDS))
        hostile = made / "hostile.pt2"
        with zipfile.ZipFile(hostile, "w") as archive:
            for record, content in records:
                archive.writestr(record, json.dumps(planted(document, place, is_key, text)) if record == name else content)
        if i < 40:  # the judge sees what PyTorch makes of the file itself
            ran += bool(watcher.look(hostile)[0])
        # The program is also a file of a sample in text, and sizes are symbols there: neither was in a .pt2.
        kept = re.sub(r'(?m)^file "torch_export.json" = .*$',
                      lambda _: f'file "torch_export.json" = {quoted(json.dumps(planted(document, place, is_key, text)))}', sample)
        symbol = re.sub(r"\bs\d+\b", lambda _: quoted(text), "\n".join(line for line in sample.splitlines() if "torch_export" not in line))
        for way, content in (("a .pt2", None), ("the file of a sample", kept), ("a symbol", symbol)):
            source = hostile
            if content is not None:
                source = made / "between.gn"
                source.write_text(content)
            if not check.made("torch.export", ["convert", str(source), str(made / "written.pt2")]):
                continue
            happened, _ = watcher.look(made / "written.pt2")
            if happened or (made / "PWNED").exists():
                check.failures.append(f"torch.export: {place} = {text!r}, by way of {way}: {happened}")
            check.counts["torch.export"] += 1
    watcher.process.stdin.close()
    watcher.process.wait()
    if ran == 0:
        check.failures.append("torch.export: no text ran in PyTorch itself, so that the judge is blind")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphnet", default="bazel-bin/graphnet/cli/graphnet", metavar="BINARY")
    parser.add_argument("--names", type=int, default=5000, help="samples for each language (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--exported", type=int, default=100, help="programs of torch.export with a hostile text (default: %(default)s)")
    parser.add_argument("--dot", action="store_true", help="judge dot by Graphviz's dot, which must be installed")
    args = parser.parse_args()
    try:
        import torch
    except ImportError:
        torch = None
    with tempfile.TemporaryDirectory() as folder:
        check = Checker(str(pathlib.Path(args.graphnet).resolve()), pathlib.Path(folder))
        names = hostile_names(args.names, args.seed)
        size = 500
        for begin in range(0, len(names), size):
            check_batch(check, names[begin : begin + size], args.dot and begin < 2 * size, torch)
        check_targets(check, names[:60])
        check_shell(check, names[:12])
        if torch is not None:
            check_exported(check, args.exported, args.seed, torch)
    for failure in check.failures[:20]:
        print(f"FAIL {failure}")
    for language in sorted(check.counts.keys() | check.refused.keys()):
        refused = check.refused[language]
        print(f"{language}: {check.counts[language]} hostile names" + (f", {refused} files refused" if refused else ""))
    print(f"{sum(check.counts.values())} passed, {len(check.failures)} failed")
    return 1 if check.failures or not check.counts else 0


if __name__ == "__main__":
    sys.exit(main())
