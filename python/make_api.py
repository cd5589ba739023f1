#!/usr/bin/env python3
"""Writes docs/python_api.md: every public name of graphnet_ir, from its stub and docstrings.

    PY python/make_api.py docs/python_api.md [--check]

PY is a Python that has the wheel and griffelib. Public names are those in __all__ of graphnet_ir
and graphnet_ir.harvest, and the classes that these take and return. A missing docstring is an
error. --check: only compares the page with the one that would be written.
"""

import argparse
import ast
import difflib
import pathlib
import re
import sys
import sysconfig
import textwrap

import griffe

HEAD = """\
# Names of graphnet_ir

`python/make_api.py` makes this page from the docstrings and types of the package `graphnet_ir`.
[python.md](python.md) is the introduction to it. A name with a module before it, such as
`capture.CapturedGraph`, is the type of a result, and is found there.
"""
WIDTH = 100
# Special methods that do more than print, compare or copy an object.
SPECIAL = ("__init__", "__call__", "__getitem__", "__iter__", "__len__", "__enter__")


class Page:
    def __init__(self, package):
        self.package = package
        self.lines = [HEAD]
        self.missing = []
        self.lazy = ast.literal_eval(str(package["_LAZY"].value))

    def public(self):
        """Returns the objects of __all__, then the classes in their types, by name."""
        found = {}
        for name in sorted(self.package.exports):
            module = self.lazy.get(name, "graphnet_ir").partition(".")[2]
            found[name] = resolved((self.package[module] if module else self.package)[name])
        harvest = self.package["harvest"]
        found.update(
            (f"harvest.{name}", resolved(harvest[name])) for name in sorted(harvest.exports)
        )
        waiting = list(found.values())
        while waiting:
            for path in types_of(waiting.pop()):
                thing = resolved(self.package[path.partition(".")[2]])
                if thing.is_class and thing not in found.values() and not hidden(thing.name):
                    found[thing.path.removeprefix("graphnet_ir.").removeprefix("_core.")] = thing
                    waiting.append(thing)
        return found

    def add(self, name, thing):
        self.lines.append(f"### {prose(name)}\n")
        if thing.is_attribute:
            self.code(
                f"{name}: {thing.annotation or 'str'}"
                if name == "__version__"
                else f"{name} = {thing.value}"
            )
            self.text(name, thing)
        elif thing.is_function:
            self.code(thing.signature())
            self.text(name, thing)
        else:
            self.add_class(name, thing)

    def add_class(self, name, cls):
        bases = ", ".join(str(base) for base in cls.bases if str(base) not in ("Any", "object"))
        self.code(f"class {cls.name}" + (f"({bases})" if bases else ""))
        self.text(name, cls)
        fields, functions = [], []
        for member in cls.members.values():
            if member.is_alias or (hidden(member.name) and member.name not in SPECIAL):
                continue
            (fields if member.is_attribute else functions).append(member)
        rows = [
            f"| `{field.name}` | {typed(field)} | {prose(self.said_of(name, field))} |"
            for field in fields
        ]
        if rows:
            self.lines += ["| | type | |", "|---|---|---|", *rows, ""]
        for function in functions:
            if function.is_function:
                # "self" is of no use here.
                self.code(re.sub(r"\((?:self|cls)(?:, )?", "(", str(function.signature()), count=1))
                self.text(f"{name}.{function.name}", function, function.name not in SPECIAL)

    def said_of(self, name, field):
        """Returns the docstring of a field, or the comment behind it."""
        if field.docstring:
            return " ".join(field.docstring.value.split())
        if "property" in field.labels:
            self.missing.append(f"{name}.{field.name}")
        line = field.lines_collection[field.filepath][field.lineno - 1]
        return line.partition("  # ")[2]

    def code(self, signature):
        self.lines.append(f"```python\n{wrapped(str(signature))}\n```\n")

    def text(self, name, thing, is_needed=True):
        if thing.docstring:
            self.lines.append(paragraphs(thing.docstring.value) + "\n")
        elif is_needed:
            self.missing.append(name)


def hidden(name):
    return name.startswith("_") and name != "__version__"


def resolved(thing):
    return thing.final_target if thing.is_alias else thing


def types_of(thing):
    """Yields the paths of all names in the annotations of an object and its members."""
    given = [thing]
    if thing.is_class:
        given += [m for m in thing.members.values() if not m.is_alias and not hidden(m.name)]
    for one in given:
        kinds = [getattr(one, "annotation", None), *getattr(one, "bases", ())]
        if one.is_function:
            kinds += [one.returns, *(parameter.annotation for parameter in one.parameters)]
        for kind in kinds:
            if isinstance(kind, griffe.Expr):
                for part in kind.iterate(flat=True):
                    if isinstance(part, griffe.ExprName):
                        path = part.canonical_path
                        if path.startswith("graphnet_ir."):
                            yield path


def wrapped(signature):
    """Puts each parameter on a line of its own if the signature is too long."""
    if len(signature) <= WIDTH or "(" not in signature:
        return "\n    ".join(textwrap.wrap(signature, WIDTH - 4))
    parts, depth, begin = [], 0, 0
    for i, c in enumerate(signature):
        depth += (c in "([") - (c in ")]")
        if (c == "," and depth == 1) or (c in "()" and depth == (c == "(")):
            parts.append(signature[begin : i + 1].strip())
            begin = i + 1
    name, *parameters, last = parts
    return (
        "\n    ".join(
            [
                name,
                *(parameter.removesuffix(")") for parameter in parameters),
                last.removesuffix(")") + ",",
            ]
        )
        + "\n)"
        + signature[begin:]
    )


def prose(text):
    """Escapes all markup in a text but code in back quotes."""
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [re.sub(r"([*<>|\[\]]|\b_|_\b|__)", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def paragraphs(docstring):
    """Returns a docstring as Markdown, in which indented text is code."""
    made = []
    for block in re.split(r"\n\s*\n", docstring.strip("\n")):
        if block.startswith("    "):
            made.append(f"```python\n{textwrap.dedent(block)}\n```")
        else:
            made.append(
                "\n".join(
                    textwrap.wrap(
                        prose(" ".join(block.split())),
                        WIDTH,
                        break_long_words=False,
                        break_on_hyphens=False,
                    )
                )
            )
    return re.sub(r"\n```\n\n```python\n", "\n\n", "\n\n".join(made))


def typed(field):
    """Returns the type of a field for a cell of a table."""
    return f"`{field.annotation}`".replace("|", r"\|") if field.annotation else ""


def made_page():
    package = griffe.load(
        "graphnet_ir",
        allow_inspection=False,
        try_relative_path=False,
        resolve_aliases=True,
        search_paths=[sysconfig.get_path("platlib")],
    )
    page = Page(package)
    found = page.public()
    kinds = {
        "Functions": lambda thing: thing.is_function,
        "Classes": lambda thing: thing.is_class,
        "Values": lambda thing: thing.is_attribute,
    }
    for title, fits in kinds.items():
        page.lines.append(f"## {title}\n")
        for name, thing in sorted(found.items(), key=lambda item: ("." in item[0], item)):
            if fits(thing):
                page.add(name, thing)
    if page.missing:
        raise SystemExit(f"make_api: without a docstring are {', '.join(page.missing)}")
    return "\n".join(page.lines)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    text = made_page()
    if not args.check:
        args.page.write_text(text, encoding="utf-8")
        return 0
    changes = list(
        difflib.unified_diff(
            args.page.read_text(encoding="utf-8").splitlines(),
            text.splitlines(),
            "stored",
            "made",
            lineterm="",
        )
    )
    print("\n".join(changes) or f"{args.page} is as it is made")
    return 1 if changes else 0


if __name__ == "__main__":
    sys.exit(main())
