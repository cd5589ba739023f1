#!/usr/bin/env python3
"""A corpus on a disk whose power fails again and again loses nothing that was acknowledged.

usage: cut_corpus.py [--cuts N] [--minutes N] [--samples N] [--seed N]

Runs as root with a Python that has the wheel with its extra `corpus`, and needs mkfs.ext4, e2fsck
and a loop device. A process makes a corpus, adds made samples in small commits, tags, saves a view,
compacts, and runs a job. At a random moment the file system is shut down (FS_IOC_SHUTDOWN without a
flush of its log): all that is in memory only is lost, data and names alike. It is then checked and
mounted again, and what the process had acknowledged must be there, `verify` may find nothing but
graphs whose sources were not written yet, and the same process goes on. At the end the corpus has
the rows of one that was never disturbed, and the files of the job have the same bytes.

Every second disk has no journal. There a file is durable only if it was synced itself, while a
journal also keeps names for which nobody asked. Prints what the cuts hit, then `0 lost`.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
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
from typing import List

import kill_corpus

import graphnet_ir
from graphnet_ir.corpus import Corpus, layout

# This is the work of kill_corpus.py, with all else that is acknowledged.
WORKER = kill_corpus.WORKER.replace('corpus = Corpus(path, "a")', '''
from graphnet_ir.corpus import layout
corpus = Corpus(path, "a") if layout.is_corpus(path) else Corpus.create(path)
say("created")''').replace('say("compact")', '''
if "v1" not in corpus.tags():
    corpus.tag("v1")
say("tagged")
corpus.save_view("first", sorted(corpus)[:5])
say("view")''')
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


def start(corpus: pathlib.Path, samples: pathlib.Path,
          log: pathlib.Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(
        filter(None, [str(pathlib.Path(__file__).parent), os.environ.get("PYTHONPATH")]))}
    return subprocess.Popen([sys.executable, "-c", WORKER, str(corpus), str(samples), str(log)],
                            env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def check(path: pathlib.Path, paths: List[str], log: pathlib.Path) -> List[str]:
    """Returns what is wrong after a cut."""
    words = {line.split()[0] for line in log.read_text().splitlines()}
    if not layout.is_corpus(str(path)):
        return ["the corpus is lost"] if "created" in words else []
    corpus = Corpus(path)
    wrong = kill_corpus.check(corpus, paths, log)
    if "tagged" in words and len(Corpus(path, version="v1").sources) < len(paths):
        wrong.append("the tag is lost")
    if "view" in words and len(corpus.view("first")) != 5:
        wrong.append("the view is lost")
    if "done" in words and corpus.count(where="calls IS NULL"):
        wrong.append("the job's columns are lost")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cuts", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=1e9, help="end after these, even if fewer")
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    end = time.monotonic() + 60 * args.minutes
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if os.geteuid() != 0 or not alone():
            print("only root can mount a disk")
            return _SKIPPED
        samples = folder / "samples"
        kill_corpus.make_samples(samples, args.samples, args.seed)
        paths = [os.path.relpath(path, samples) for path in graphnet_ir.find_samples([samples])]
        whole, log = folder / "whole", folder / "whole.log"
        begin = time.monotonic()
        worker = start(whole, samples, log)
        _, errors = worker.communicate()
        if worker.returncode != 0:
            print(errors.decode(), file=sys.stderr)
            return 2
        steps = kill_corpus.length(log)
        pause = (time.monotonic() - begin) / steps
        rows, parts = kill_corpus.rows(Corpus(whole)), kill_corpus.parts(whole)

        draw, hit = random.Random(args.seed), collections.Counter[str]()
        wrong: List[str] = []
        cuts = disks = 0
        while cuts < args.cuts and not wrong and time.monotonic() < end:
            place = folder / f"disk{disks}"
            place.mkdir()
            disk = Disk(place, has_journal=disks % 2 == 0)
            disks += 1
            corpus, log = disk.path / "corpus", place / "log"
            try:
                for _ in range(3):
                    if cuts == args.cuts or wrong:
                        break
                    step, before = draw.randrange(1, steps + 1), kill_corpus.length(log)
                    worker = start(corpus, samples, log)
                    while worker.poll() is None and kill_corpus.length(log) - before < step:
                        time.sleep(0.002)
                    time.sleep(draw.uniform(0, 2 * pause))
                    worker.send_signal(signal.SIGSTOP)  # Then its log grows no more.
                    disk.cut()
                    worker.kill()
                    _, errors = worker.communicate()
                    if worker.returncode > 0:
                        wrong.append(errors.decode()[-2000:])
                    cuts += 1
                    hit[(log.read_text().split() or ["begin"])[-1].strip("0123456789")
                        or "added"] += 1
                    disk.restart()
                    wrong += check(corpus, paths, log)
                if not wrong:
                    worker = start(corpus, samples, log)
                    _, errors = worker.communicate()
                    if worker.returncode != 0:
                        wrong.append(errors.decode()[-2000:])
                    made = Corpus(corpus)
                    wrong += [str(finding) for finding in made.verify()]
                    if kill_corpus.rows(made) != rows:
                        wrong.append("its rows are not those of the undisturbed corpus")
                    there = kill_corpus.parts(corpus)
                    wrong += [f"{name} of the job is not that of the undisturbed job"
                              for name in sorted({*there, *parts})
                              if there.get(name) != parts.get(name)]
            except graphnet_ir.Error as error:
                wrong.append(str(error))
            finally:
                disk.unmount()
            shutil.rmtree(place)
        for line in wrong[:20]:
            print(line)
        print(f"{cuts} cuts of {disks} disks ({', '.join(f'{at} {n}' for at, n in hit.items())}), "
              f"{len(wrong)} lost")
        return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
