#!/usr/bin/env python3
"""A corpus whose additions, compactions and jobs are killed again and again loses nothing.

usage: kill_corpus.py [--kills N] [--minutes N] [--samples N] [--seed N] [--folder F]

Runs with a Python that has the wheel with its extra `corpus`. A process adds made samples in small
commits, compacts, and runs a job; it is killed N times at random moments, with SIGKILL. After each
kill, all that it had acknowledged is there, nothing is there twice, and `verify` finds nothing but
graphs whose sources were not written yet. At the end the corpus has the rows of one that was never
disturbed, and the files of the job have the same bytes. Prints what the kills hit, then `0 lost`.
"""

from __future__ import annotations

import argparse
import collections
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any, Dict, List

import graphnet_ir
from graphnet_ir.corpus import Corpus

WORKER = """
import sys
from graphnet_ir.corpus import Corpus, adding, jobs
adding.ROWS_A_COMMIT = adding.ROWS_A_CALL = 20
jobs.GRAPHS_A_TASK = 40
path, samples, log = sys.argv[1:]
acknowledged = open(log, "a")
def say(*words):
    print(*words, file=acknowledged, flush=True)
say("begin")
corpus = Corpus(path, "a")
say("add")
corpus.add(samples, told=lambda done: say("added", done.added + done.known))
say("compact")
corpus.compact()
say("map")
corpus.map("kill_corpus:calls", name="calls", processes=2)
say("done")
"""


def calls(sample: graphnet_ir.Sample) -> Dict[str, Any]:
    time.sleep(0.002)
    return {"calls": len(sample.graph.find_nodes(op="call_function"))}


def make_samples(folder: pathlib.Path, count: int, seed: int) -> None:
    """Writes small graphs, a third of which occur twice."""
    draw = random.Random(seed)
    texts: List[str] = []
    folder.mkdir(parents=True)
    for number in range(count):
        if texts and draw.random() < 0.3:
            text = draw.choice(texts)
        else:
            lines, last = "", "x"
            for index in range(draw.randrange(1, 20)):
                name = draw.choice(["relu", "sin", "cos", "exp", "tanh", "neg"])
                lines += f"  %v{index} = torch.{name}(%{last})\n"
                last = f"v{index}"
            text = (f"graph @forward(%x : f32[{draw.randrange(1, 9)}]) {{\n{lines}"
                    f"  return (%{last},)\n}}\n")
        texts.append(text)
        (folder / f"s{number:05}.gn").write_text("graphnet.module 1\n\n" + text + "end\n")


def start(corpus: pathlib.Path, samples: pathlib.Path,
          log: pathlib.Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(
        filter(None, [str(pathlib.Path(__file__).parent), os.environ.get("PYTHONPATH")]))}
    return subprocess.Popen([sys.executable, "-c", WORKER, str(corpus), str(samples), str(log)],
                            env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def rows(corpus: Corpus) -> List[Any]:
    graphs = corpus.graphs.dataset.to_table(columns=["hash", "blob", "targets", "calls"])
    sources = corpus.sources.dataset.to_table(columns=["id", "hash", "path", "source"])
    return [sorted((list(row.values()) for row in table.to_pylist()), key=lambda row: row[0])
            for table in (graphs, sources)]


def check(corpus: Corpus, paths: List[str], log: pathlib.Path) -> List[str]:
    """Returns what is wrong after a kill."""
    acknowledged = max((int(line.split()[1]) for line in log.read_text().splitlines()
                        if line.startswith("added ") and line.split()[1:]), default=0)
    there = {row["path"] for row in corpus.sources.dataset.to_table(columns=["path"]).to_pylist()}
    wrong = [f"{path} is lost" for path in paths[:acknowledged] if path not in there]
    return wrong + [str(finding) for finding in corpus.verify() if finding.kind != "unfinished"]


def length(log: pathlib.Path) -> int:
    """Returns how many steps a log has."""
    return log.read_bytes().count(b"\n") if log.exists() else 0


def parts(corpus: pathlib.Path) -> Dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (corpus / "jobs/calls").glob("part-*")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=1e9, help="end after these, even if fewer")
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", help="a new folder, which is kept")
    args = parser.parse_args()
    end = time.monotonic() + 60 * args.minutes
    scratch = tempfile.TemporaryDirectory()
    folder = pathlib.Path(args.folder or scratch.name)
    samples = folder / "samples"
    make_samples(samples, args.samples, args.seed)
    paths = [os.path.relpath(path, samples) for path in graphnet_ir.find_samples([samples])]

    whole = folder / "whole"
    Corpus.create(whole)
    log = folder / "whole.log"
    worker = start(whole, samples, log)
    while worker.poll() is None and length(log) == 0:
        time.sleep(0.002)
    begin = time.monotonic()
    _, errors = worker.communicate()
    if worker.returncode != 0:
        print(errors.decode(), file=sys.stderr)
        return 2
    seconds, steps = time.monotonic() - begin, length(log)
    undisturbed, undisturbed_parts = rows(Corpus(whole)), parts(whole)

    draw, hit = random.Random(args.seed), collections.Counter[str]()
    wrong: List[str] = []
    kills = number = 0
    while kills < args.kills and not wrong and time.monotonic() < end:
        corpus, log = folder / f"killed{number}", folder / f"killed{number}.log"
        Corpus.create(corpus)
        number += 1
        for _ in range(3):
            if kills == args.kills or wrong:
                break
            worker = start(corpus, samples, log)
            # At some step of it, and then at any moment.
            step, before = draw.randrange(1, steps + 1), length(log)
            while worker.poll() is None and length(log) - before < step:
                time.sleep(0.002)
            time.sleep(draw.uniform(0, 2 * seconds / steps))
            worker.send_signal(signal.SIGKILL)
            _, errors = worker.communicate()
            if worker.returncode == 0:  # It was done before.
                break
            if worker.returncode > 0:
                wrong.append(errors.decode()[-2000:])
            kills += 1
            hit[log.read_text().split()[-1].strip("0123456789") or "added"] += 1
            wrong += check(Corpus(corpus), paths, log)
        if wrong:
            break
        worker = start(corpus, samples, log)
        _, errors = worker.communicate()
        if worker.returncode != 0:
            wrong.append(errors.decode()[-2000:])
        made = Corpus(corpus)
        wrong += [str(finding) for finding in made.verify()]
        if rows(made) != undisturbed:
            wrong.append("its rows are not those of the undisturbed corpus")
        there = parts(corpus)
        wrong += [f"{name} of the job is not that of the undisturbed job"
                  for name in sorted({*there, *undisturbed_parts})
                  if there.get(name) != undisturbed_parts.get(name)]
    for line in wrong[:20]:
        print(line)
    print(f"{kills} kills in {number} corpora ({', '.join(f'{at} {n}' for at, n in hit.items())}), "
          f"{len(wrong)} lost")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
