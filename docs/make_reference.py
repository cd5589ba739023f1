#!/usr/bin/env python3
"""Makes the API reference, as HTML, of the public headers: those that docs/library.md lists.

    docs/make_reference.py OUT                  writes the folder OUT
    docs/make_reference.py OUT --max-warnings N  also exits with 1 if Doxygen warns more often

Prints the warnings, sorted, then how many there are of each header and kind. Needs Doxygen.
"""

import argparse
import collections
import pathlib
import re
import shutil
import subprocess
import sys

# Not resolved: in a build, files of the project are links, which lead out of the sandbox.
ROOT = pathlib.Path(__file__).absolute().parents[1]
ROOTS = ("graphnet/graphnet.h", "graphnet/graphnet_torch.h")


def public_headers():
    """The headers of the table of docs/library.md, also those named behind another."""
    found = set(ROOTS)
    for row in (ROOT / "docs/library.md").read_text(encoding="utf-8").splitlines():
        named = re.match(r"\| `(graphnet/[\w/]+\.h)` \|", row)
        if named:
            folder = pathlib.PurePath(named[1]).parent
            found.add(named[1])
            found |= {
                str(path)
                for name in re.findall(r"`([\w/]+\.h)`", row)
                for path in (folder / name, pathlib.PurePath(name))
                if (ROOT / path).exists()
            }
    included = {
        name
        for root in ROOTS
        for name in re.findall(
            r'^#include "(graphnet/[^"]+)"', (ROOT / root).read_text(encoding="utf-8"), re.M
        )
    }
    missing = sorted(included - found)
    if missing:
        raise SystemExit("docs/library.md does not list " + ", ".join(missing))
    return sorted(found)


def main_page():
    """The table of docs/library.md, each header with a link to its page."""
    page = (
        (ROOT / "docs/library.md")
        .read_text(encoding="utf-8")
        .partition("## The public headers\n")[2]
    )
    table = "\n".join(
        line for line in page.partition("\n## ")[0].splitlines() if line.startswith("|")
    )
    table = re.sub(r"`(graphnet/[\w/]+\.h)`", r'@ref \1 "\1"', table)
    table = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", table)  # pages are elsewhere
    return f"# The public headers of graphnet {{#mainpage}}\n\n{table}\n"


def kind_of(warning):
    if "is not documented" in warning:
        what = re.search(r"\((\w+)\) of (?:class|struct|file|namespace|union)", warning)
        return "undocumented " + (what[1] if what else warning.split(" ", 1)[0].lower())
    return re.sub(r"['\"`].*", "", warning)[:60]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("out", type=pathlib.Path, help="folder for the HTML")
    parser.add_argument("--max-warnings", type=int, metavar="N", help="warnings allowed")
    options = parser.parse_args()
    if not shutil.which("doxygen"):
        raise SystemExit("make_reference: Doxygen is missing; install the package doxygen")
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    version = re.search(r'kVersion\[\] = "(.*)"', (ROOT / "graphnet/base/version.h").read_text())[1]
    log, page = out / "warnings.tmp", out / "main_page.md"
    page.write_text(main_page(), encoding="utf-8")
    settings = (
        f'@INCLUDE = docs/Doxyfile\nPROJECT_NUMBER = {version}\nOUTPUT_DIRECTORY = "{out}"\n'
        f'WARN_LOGFILE = "{log}"\nUSE_MDFILE_AS_MAINPAGE = "{page}"\n'
        f"INPUT = \"{page}\" {' '.join(public_headers())}\n"
    )
    subprocess.run(["doxygen", "-"], cwd=ROOT, input=settings, text=True, check=True)
    warnings = sorted(
        {line.replace(f"{ROOT}/", "") for line in log.read_text().splitlines() if line.strip()}
    )
    log.unlink()
    page.unlink()

    headers, kinds = collections.Counter(), collections.Counter()
    for warning in warnings:
        print(warning)
        place, _, text = warning.partition(": ")
        headers[place.split(":")[0]] += 1
        kinds[kind_of(text.removeprefix("warning: "))] += 1
    for counts in (headers, kinds):
        print()
        for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            print(f"{count:5} {name}")
    print(f"\n{len(warnings)} warnings about {len(headers)} of {len(public_headers())} headers")
    return 1 if options.max_warnings is not None and len(warnings) > options.max_warnings else 0


if __name__ == "__main__":
    sys.exit(main())
