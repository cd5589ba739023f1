"""A harvest that is killed again and again publishes what an undisturbed one does.

usage: kill_harvest.py SOURCE [--kills N] [--seed N] [--folder F] [-- OPTION…]

Harvests SOURCE (such as a folder of make_hub_folder.py) once whole, and once killed N times at
random moments, with SIGKILL. Compares samples and index byte for byte, how each model ended, and
that a run on a finished harvest changes nothing. Prints the ends, then `0 differ` or what differs.
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from typing import Dict, List, Tuple


def content(folder: str) -> Dict[str, bytes]:
    found = {}
    for top in ("samples", "index.jsonl"):
        path = os.path.join(folder, top)
        files = [path] if os.path.isfile(path) else [
            os.path.join(at, name) for at, _, names in os.walk(path) for name in names]
        for file in files:
            with open(file, "rb") as opened:
                found[os.path.relpath(file, folder)] = opened.read()
    return found


def ends(folder: str) -> Dict[str, Tuple[str, str]]:
    with sqlite3.connect(os.path.join(folder, "journal.sqlite")) as journal:
        return {id: (stage, failure or "") for id, stage, failure in journal.execute(
            "SELECT id, stage, failure FROM models ORDER BY number")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("source")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", default="")
    words = [*sys.argv[1:], "--"]
    split = words.index("--")
    args = parser.parse_args(words[:split])
    folder = args.folder or tempfile.mkdtemp()
    command = [sys.executable, "-m", "graphnet_ir.harvest", args.source,
               *words[split + 1:-1], "-o"]
    whole, killed = os.path.join(folder, "whole"), os.path.join(folder, "killed")

    begin = time.monotonic()
    if not os.path.exists(os.path.join(whole, "report.html")):
        subprocess.run([*command, whole], check=True)
    seconds = time.monotonic() - begin
    print(f"whole: {seconds:.0f} s", flush=True)

    draw = random.Random(args.seed)
    kills = runs = 0
    while True:
        runs += 1
        process = subprocess.Popen([*command, killed], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            # Before the last kill it should not come to its end.
            process.wait(draw.uniform(1, 20) if kills < args.kills else None)
            if process.returncode != 0:
                print(f"run {runs} ended with {process.returncode}")
                return 1
            break
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1

    before = {name: os.stat(os.path.join(killed, name)).st_mtime_ns for name in content(killed)}
    subprocess.run([*command, killed], check=True, stdout=subprocess.DEVNULL)
    after = {name: os.stat(os.path.join(killed, name)).st_mtime_ns for name in content(killed)}
    differences: List[str] = []
    if before != after:
        differences.append("a run on a finished harvest changed files")
    first, second = content(whole), content(killed)
    differences += [name for name in sorted({*first, *second})
                    if first.get(name) != second.get(name)]
    ended, again = ends(whole), ends(killed)
    differences += [f"{id}: {ended.get(id)} and {again.get(id)}" for id in {*ended, *again}
                    if ended.get(id) != again.get(id)]
    for (stage, failure), count in sorted(collections.Counter(ended.values()).items()):
        print(f"{count} {stage} {failure}".rstrip())
    for difference in differences:
        print(f"differs: {difference}")
    print(f"{len(ended)} models, {len(first)} files, killed {kills} times: "
          f"{len(differences)} differ")
    return 1 if differences or kills < args.kills else 0


if __name__ == "__main__":
    sys.exit(main())
