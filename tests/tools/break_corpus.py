#!/usr/bin/env python3
"""A corpus whose additions, compactions and jobs end again and again loses nothing that was acknowledged.

usage: break_corpus.py --kills N | --cuts N [--minutes N] [--samples N] [--seed N] [--folder F]

Runs with a Python that has the wheel with its extra `corpus`. A process makes a corpus, adds made samples in
small commits, tags, saves a view, compacts, and runs a job. N times, at random moments, it is killed with
SIGKILL, or the power of its disk is cut. Then all that it had acknowledged is there, nothing is there twice,
`verify` finds nothing but graphs whose sources were not written yet, and the same process goes on. At the end
the corpus has the rows of one that was never disturbed, and the files of the job have the same bytes. Prints
what was hit, then `0 lost`.

--cuts needs root, mkfs.ext4, e2fsck and a loop device, and exits with 77 where it has not. The corpus lies on
a file system of its own, which is shut down (FS_IOC_SHUTDOWN without a flush of its log): all that is in
memory only is lost, data and names alike. It is then checked and mounted again. Every second disk has no
journal. There a file is durable only if it was synced itself, while a journal also keeps names for which
nobody asked.
"""

from __future__ import annotations

import argparse
import collections
import ctypes
import fcntl
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from typing import Any, Dict, List

import graphnet_ir
from graphnet_ir.corpus import Corpus, layout

WORKER = """
import sys
from graphnet_ir.corpus import Corpus, adding, jobs, layout
adding.ROWS_A_COMMIT = adding.ROWS_A_CALL = 20
jobs.GRAPHS_A_TASK = 40
path, samples, log = sys.argv[1:]
acknowledged = open(log, "a")
def say(*words):
    print(*words, file=acknowledged, flush=True)
say("begin")
corpus = Corpus(path, "a") if layout.is_corpus(path) else Corpus.create(path)
say("created")
corpus.add(samples, told=lambda done: say("added", done.added + done.known))
if "v1" not in corpus.tags():
    corpus.tag("v1")
say("tagged")
corpus.save_view("first", sorted(corpus)[:5])
say("view")
corpus.compact()
say("map")
corpus.map("break_corpus:calls", name="calls", processes=2)
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


def rows(corpus: Corpus) -> List[Any]:
    graphs = corpus.graphs.dataset.to_table(columns=["hash", "blob", "targets", "calls"])
    sources = corpus.sources.dataset.to_table(columns=["id", "hash", "path", "source"])
    return [sorted((list(row.values()) for row in table.to_pylist()), key=lambda row: row[0])
            for table in (graphs, sources)]


def length(log: pathlib.Path) -> int:
    """Returns how many steps a log has."""
    return log.read_bytes().count(b"\n") if log.exists() else 0


def parts(corpus: pathlib.Path) -> Dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (corpus / "jobs/calls").glob("part-*")}


_SHUTDOWN = 0x8004587D  # FS_IOC_SHUTDOWN
_WITHOUT_FLUSH = 2
_NEW_MOUNTS = 0x20000  # CLONE_NEWNS
_PRIVATE_ALL = 0x44000  # MS_PRIVATE | MS_REC
_SKIPPED = 77  # the exit code where nothing can be mounted
_DISK = 192 << 20  # bytes


class Disk:
    """A file system of its own, whose power can be cut."""

    def __init__(self, folder: pathlib.Path, has_journal: bool):
        self._image, self.path = folder / "disk", folder / "mounted"
        with open(self._image, "wb") as file:
            file.truncate(_DISK)
        self.path.mkdir()
        journal = [] if has_journal else ["-O", "^has_journal"]
        if shutil.which("mkfs.ext4") is None:
            print("there is no mkfs.ext4")
            sys.exit(_SKIPPED)
        subprocess.run(["mkfs.ext4", "-q", "-F", *journal, self._image], check=True)
        self.mount()

    def mount(self) -> None:
        # Files that are renamed over others are not written early, as ext4 otherwise does.
        done = subprocess.run(["mount", "-o", "loop,noauto_da_alloc", self._image, self.path],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(f"no disk can be mounted here: {done.stderr.strip()}")
            sys.exit(_SKIPPED)

    def cut(self) -> None:
        """Loses all that was not written to the disk."""
        folder = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, _SHUTDOWN, struct.pack("I", _WITHOUT_FLUSH))
        finally:
            os.close(folder)

    def unmount(self) -> None:
        for _ in range(300):  # Processes of the job may be about to end.
            if subprocess.run(["umount", self.path], stderr=subprocess.DEVNULL,
                              check=False).returncode == 0:
                return
            time.sleep(0.1)
        raise RuntimeError(f"{self.path} stays busy")

    def restart(self) -> None:
        self.unmount()
        done = subprocess.run(["e2fsck", "-fy", self._image], capture_output=True, check=False)
        if done.returncode > 1:
            raise RuntimeError(f"e2fsck: {done.stdout.decode()[-500:]}")
        self.mount()


def alone() -> bool:
    """Makes what this process mounts its own. A process with a copy of the mounts, such as a sandbox
    of others, would keep a file system from ending."""
    libc = ctypes.CDLL(None)
    return bool(libc.unshare(_NEW_MOUNTS) == 0
                and libc.mount(b"none", b"/", None, _PRIVATE_ALL, None) == 0)


def start(corpus: pathlib.Path, samples: pathlib.Path, log: pathlib.Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(
        filter(None, [str(pathlib.Path(__file__).parent), os.environ.get("PYTHONPATH")]))}
    return subprocess.Popen([sys.executable, "-c", WORKER, str(corpus), str(samples), str(log)],
                            env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def check(path: pathlib.Path, paths: List[str], log: pathlib.Path) -> List[str]:
    """Returns what is wrong after an end."""
    lines = log.read_text().splitlines()
    words = {line.split()[0] for line in lines if line}
    if not layout.is_corpus(str(path)):
        return ["the corpus is lost"] if "created" in words else []
    corpus = Corpus(path)
    acknowledged = max((int(line.split()[1]) for line in lines
                        if line.startswith("added ") and line.split()[1:]), default=0)
    there = {row["path"] for row in corpus.sources.dataset.to_table(columns=["path"]).to_pylist()}
    wrong = [f"{path} is lost" for path in paths[:acknowledged] if path not in there]
    wrong += [str(finding) for finding in corpus.verify() if finding.kind != "unfinished"]
    if "tagged" in words and len(Corpus(path, version="v1").sources) < len(paths):
        wrong.append("the tag is lost")
    if "view" in words and len(corpus.view("first")) != 5:
        wrong.append("the view is lost")
    if "done" in words and corpus.count(where="calls IS NULL"):
        wrong.append("the job's columns are lost")
    return wrong


class Breaker:
    """Makes corpora from samples, and ends the processes that do."""

    def __init__(self, folder: pathlib.Path, args: argparse.Namespace):
        self.folder, self.args, self.draw = folder, args, random.Random(args.seed)
        self.hit = collections.Counter[str]()
        self.ends = self.places = 0
        self.samples = folder / "samples"
        make_samples(self.samples, args.samples, args.seed)
        self.paths = [os.path.relpath(path, self.samples) for path in graphnet_ir.find_samples([self.samples])]
        whole, log = folder / "whole", folder / "whole.log"
        worker = start(whole, self.samples, log)
        while worker.poll() is None and length(log) == 0:
            time.sleep(0.002)
        begin = time.monotonic()
        self.finish(worker)
        self.steps = length(log)
        self.pause = (time.monotonic() - begin) / self.steps
        self.rows, self.parts = rows(Corpus(whole)), parts(whole)

    @staticmethod
    def finish(worker: subprocess.Popen[bytes]) -> None:
        _, errors = worker.communicate()
        if worker.returncode != 0:
            raise RuntimeError(errors.decode()[-2000:])

    def one(self) -> List[str]:
        """Makes a corpus, whose process ends three times before it may finish; returns what is wrong."""
        place = self.folder / f"place{self.places}"
        place.mkdir()
        disk = Disk(place, has_journal=self.places % 2 == 0) if self.args.cuts else None
        corpus, log = (disk.path if disk else place) / "corpus", place / "log"
        self.places += 1
        try:
            for _ in range(3):
                if self.ends == (self.args.cuts or self.args.kills):
                    break
                worker = start(corpus, self.samples, log)
                # At some step of it, and then at any moment.
                step, before = self.draw.randrange(1, self.steps + 1), length(log)
                while worker.poll() is None and length(log) - before < step:
                    time.sleep(0.002)
                time.sleep(self.draw.uniform(0, 2 * self.pause))
                worker.send_signal(signal.SIGSTOP)  # Then its log grows no more.
                if disk:
                    disk.cut()
                worker.kill()
                _, errors = worker.communicate()
                if worker.returncode == 0 and not disk:  # It was done before.
                    break
                if worker.returncode > 0:
                    return [errors.decode()[-2000:]]
                self.ends += 1
                self.hit[(log.read_text().split() or ["begin"])[-1].strip("0123456789") or "added"] += 1
                if disk:
                    disk.restart()
                if wrong := check(corpus, self.paths, log):
                    return wrong
            self.finish(start(corpus, self.samples, log))
            made = Corpus(corpus)
            wrong = [str(finding) for finding in made.verify()]
            if rows(made) != self.rows:
                wrong.append("its rows are not those of the undisturbed corpus")
            there = parts(corpus)
            return wrong + [f"{name} of the job is not that of the undisturbed job"
                            for name in sorted({*there, *self.parts}) if there.get(name) != self.parts.get(name)]
        except (graphnet_ir.Error, RuntimeError) as error:
            return [str(error)]
        finally:
            if disk:
                disk.unmount()
                shutil.rmtree(place)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--kills", type=int, default=0)
    kind.add_argument("--cuts", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=1e9, help="end after these, even if fewer")
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", help="a new folder, which is kept")
    args = parser.parse_args()
    end = time.monotonic() + 60 * args.minutes
    with tempfile.TemporaryDirectory() as scratch:
        if args.cuts and (os.geteuid() != 0 or not alone()):
            print("only root can mount a disk")
            return _SKIPPED
        breaker = Breaker(pathlib.Path(args.folder or scratch), args)
        wrong: List[str] = []
        while breaker.ends < (args.cuts or args.kills) and not wrong and time.monotonic() < end:
            wrong = breaker.one()
    for line in wrong[:20]:
        print(line)
    told = f"{breaker.ends} cuts of {breaker.places} disks" if args.cuts else f"{breaker.ends} kills in {breaker.places} corpora"
    print(f"{told} ({', '.join(f'{at} {count}' for at, count in breaker.hit.items())}), {len(wrong)} lost")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
