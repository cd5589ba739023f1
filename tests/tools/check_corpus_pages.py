#!/usr/bin/env python3
"""Opens the pages of a corpus in Chromium, and keeps a picture of each.

    PY check_corpus_pages.py CORPUS OUT [--query CALL]

PY has graphnet_ir[corpus-serve]. Fails if a page has not what it should show, or if it prints an
error in Chromium's console.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import urllib.parse

import graphnet_ir
from graphnet_ir.corpus.serving import serve

CHROMIUM = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
            "--no-first-run", "--disable-background-networking", "--disable-component-update",
            "--disable-sync", "--window-size=1300,900", "--virtual-time-budget=15000",
            "--enable-logging=stderr"]


def opened(address, *options):
    """Returns what Chromium prints of a page."""
    with tempfile.TemporaryDirectory() as profile:
        run = subprocess.run([*CHROMIUM, f"--user-data-dir={profile}", *options, address],
                             capture_output=True, text=True, timeout=300, check=False)
    errors = [line for line in run.stderr.splitlines() if "CONSOLE" in line]
    if errors:
        sys.exit(f"{address}: " + "\n".join(errors))
    return run.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--query", default="conv2d(groups>1)")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    told, ready = [], threading.Event()
    corpus = graphnet_ir.Corpus(args.corpus)
    threading.Thread(target=serve, args=(corpus,), daemon=True, kwargs={
        "port": 0, "told": lambda address: (told.append(address), ready.set())}).start()
    assert ready.wait(60)
    search = f"{told[0]}?q={urllib.parse.quote(args.query)}"
    found = re.findall(r"/graph/([0-9a-f]{64})", opened(search, "--dump-dom"))
    first = next(iter(corpus.find(args.query))).hash
    if found[:1] != [first]:
        sys.exit(f"{search} shows {found[:1]} first, and the corpus finds {first}")
    view = f"{told[0]}graph/{first}/view"
    if not re.search(r"\d+ nodes, \d+ arrow", opened(view, "--dump-dom")):
        sys.exit(f"the script of {view} did not run")
    for name, address in (("start", told[0]), ("search", search),
                          ("graph", f"{told[0]}graph/{first}"), ("view", view)):
        opened(address, f"--screenshot={args.out / name}.png")
        if not (args.out / f"{name}.png").exists():
            sys.exit(f"{address} gives no picture")
    print(f"4 pages are in {args.out}")


if __name__ == "__main__":
    main()
