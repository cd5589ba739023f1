"""Corpora on bad disks: power that fails, a full disk, one that is only read, one without hard
links, a clock that goes back."""

import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import unittest

from corpus_case import sample
from graphnet_ir.corpus import Corpus

ROOT = pathlib.Path(__file__).parents[2]

# Has the kernel refuse link and linkat to this process and those that it starts.
WITHOUT_LINKS = """
import ctypes, struct
rules = [(0x20, 0, 0, 0)]
for number in (%s):
    rules += [(0x15, 0, 1, number), (0x06, 0, 0, 0x50001)]
data = b"".join(struct.pack("HBBI", *rule) for rule in [*rules, (0x06, 0, 0, 0x7FFF0000)])
held = ctypes.create_string_buffer(data, len(data))
program = ctypes.create_string_buffer(
    struct.pack("HxxxxxxP", len(rules) + 1, ctypes.addressof(held)))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
"""
LINK_CALLS = {"x86_64": "86, 265", "aarch64": "37,"}

CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long moved(void) { const char* text = getenv("MOVED_SECONDS"); return text ? atol(text) : 0; }

int clock_gettime(clockid_t clock, struct timespec* time) {
  static int (*real)(clockid_t, struct timespec*);
  if (!real) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, time);
  if (clock == CLOCK_REALTIME) time->tv_sec += moved();
  return result;
}

int gettimeofday(struct timeval* restrict time, void* restrict zone) {
  struct timespec now;
  int result = clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return result;
}
"""


class FaultsTest(unittest.TestCase):

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.samples = self.folder / "samples"
        self.samples.mkdir()
        for number in range(40):
            sample(number).save(self.samples / f"sample{number}.pb")

    def mounted(self) -> pathlib.Path:
        """A small disk of its own, in memory."""
        place = self.folder / "disk"
        place.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", place],
                          capture_output=True, check=False).returncode != 0:
            self.skipTest("nothing may be mounted here")
        self.addCleanup(subprocess.run, ["umount", place], check=True)
        return place

    def run_corpus(self, *arguments: object, before: str = "",
                   **environment: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-c", before + "\nimport sys\n"
             "from graphnet_ir.corpus.__main__ import main\nsys.exit(main(sys.argv[1:]))",
             *map(str, arguments)],
            capture_output=True, text=True, check=False, env={**os.environ, **environment})

    def refused(self, done: "subprocess.CompletedProcess[str]", words: str) -> None:
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1),
                         done.stderr)
        self.assertIn(words, done.stderr)

    def test_power_that_fails_loses_nothing(self) -> None:
        done = subprocess.run([sys.executable, str(ROOT / "tests/tools/break_corpus.py"), "--cuts",
                               "3", "--samples", "60"], capture_output=True, text=True,
                              check=False)
        if done.returncode == 77:
            self.skipTest(done.stdout.strip())
        self.assertRegex(done.stdout, r"\A3 cuts of .* 0 lost\n\Z", done.stderr)

    def test_commits_that_were_cut_off_are_passed_over(self) -> None:
        path = self.folder / "corpus"
        corpus = Corpus.create(path)
        corpus.add([sample(n) for n in range(100, 110)])
        corpus.tag("v1")
        there = set(corpus)
        for size, words in ((0, "relu"), (100, "relu|add"), (-3, "add")):
            reader = Corpus(path)
            corpus.add(self.samples)
            corpus.remove(source="source1")
            for table in ("graphs", "sources"):
                # The power failed while the last commits were written: their names are there.
                versions = sorted((path / f"{table}.lance" / "_versions").glob("*.manifest"))
                for manifest in versions[:len(versions) - self.versions(reader, table)]:
                    data = manifest.read_bytes()
                    manifest.write_bytes(data[:size])
            (path / "graphs.lance" / "_refs" / "tags" / "v2.json").touch()
            corpus = Corpus(path, "a")
            reader.refresh()
            for one in (corpus, reader):
                self.assertEqual((set(one), len(one.sources)), (there, 10))
                self.assertEqual(set(one.find(words).hashes()),
                                 set(one.find(words, scan=True).hashes()))
                self.assertEqual({finding.kind for finding in one.verify()}, {"unfinished"})
            self.assertEqual(corpus.add([sample(100)]).known, 1)
            self.assertEqual((list(corpus.verify()), list(corpus.tags())), ([], ["v1"]))
        self.assertEqual(corpus.add(self.samples).occurrences, 40)
        self.assertEqual(list(Corpus(path).verify()), [])

    def versions(self, corpus: Corpus, table: str) -> int:
        return int(getattr(corpus, table).dataset.version)

    def test_a_full_disk_loses_nothing(self) -> None:
        disk = self.mounted()
        path = disk / "corpus"
        self.assertEqual(self.run_corpus("create", path).returncode, 0)
        self.assertEqual(Corpus(path, "a").add([sample(n) for n in range(100, 110)]).occurrences,
                         10)
        for left in (0, 4096, 12_288):
            free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
            (disk / "other").write_bytes(bytes(free - left))
            self.refused(self.run_corpus("add", path, self.samples), "No space left on device")
            corpus = Corpus(path)
            self.assertEqual({one.kind for one in corpus.verify()} - {"unfinished"}, set())
            self.assertEqual(len(corpus.sources), 10)
            (disk / "other").unlink()
        self.assertEqual(Corpus(path, "a").add(self.samples).occurrences, 40)
        self.assertEqual(list(Corpus(path).verify()), [])

    def test_a_disk_that_is_only_read(self) -> None:
        disk = self.mounted()
        path = disk / "corpus"
        Corpus.create(path).add([sample(n) for n in range(10)])
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        corpus = Corpus(path)
        hash = next(iter(corpus))
        self.assertEqual(list(corpus.verify()), [])
        self.assertEqual(corpus.similar(corpus[hash])[0], (hash, 1.0))
        self.assertEqual(set(corpus.find("relu").hashes()),
                         set(corpus.find("relu", scan=True).hashes()))
        self.assertEqual(corpus.export(self.folder / "out", "protobuf"), 10)
        for arguments in (["add", path, self.samples], ["compact", path], ["tag", path, "v1"],
                          ["find", path, "--save", "all"], ["remove", path, "--licence", "mit"],
                          ["map", path, "--", "true"]):
            self.refused(self.run_corpus(*arguments), "Read-only file system")
        self.assertEqual(self.run_corpus("find", path, "relu|add", "--count").returncode, 0)

    @unittest.skipUnless(platform.machine() in LINK_CALLS, "the numbers of its system calls")
    def test_a_disk_without_hard_links(self) -> None:
        before = WITHOUT_LINKS % LINK_CALLS[platform.machine()]
        path = self.folder / "corpus"
        for arguments in (["create", path], ["add", path, self.samples], ["compact", path],
                          ["find", path, "--save", "all"], ["map", path, "--", "true"],
                          ["remove", path, "--model", "m7"], ["verify", path]):
            done = self.run_corpus(*arguments, before=before)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(Corpus(path).sources), 39)
        # Only a tag needs one.
        self.refused(self.run_corpus("tag", path, "v1", before=before), "Operation not permitted")
        self.assertEqual(Corpus(path).tags(), {})
        self.assertEqual(list(Corpus(path).verify()), [])

    @unittest.skipUnless(shutil.which("cc"), "a clock of its own needs a C compiler")
    def test_a_clock_that_goes_back_loses_nothing(self) -> None:
        (self.folder / "clock.c").write_text(CLOCK)
        clock = self.folder / "clock.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", clock, self.folder / "clock.c"], check=True)

        def moved(days: int, *arguments: object) -> str:
            done = self.run_corpus(*arguments, LD_PRELOAD=str(clock),
                                   MOVED_SECONDS=str(days * 86_400))
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

        path = self.folder / "corpus"
        moved(0, "create", path)
        names = sorted(self.samples.iterdir())
        moved(0, "add", path, *names[:10])
        moved(0, "tag", path, "first")
        reader = Corpus(path)
        hashes = set(reader)
        moved(-30, "add", path, *names[10:20])
        moved(-30, "compact", path)
        moved(-31, "add", path, *names[20:30])
        moved(-30, "tag", path, "second")
        # A month later than the last commit, though not on this clock.
        moved(0, "compact", path)
        moved(30, "add", path, *names[30:])
        moved(-30, "compact", path)
        times = [line.split()[1] for line in moved(0, "log", path).splitlines()]
        self.assertGreater(len(set(times)), 1)  # The clock was moved.
        self.assertEqual(list(Corpus(path).verify()), [])
        self.assertEqual(len(Corpus(path).sources), 40)
        self.assertEqual(len(Corpus(path, version="first").sources), 10)
        self.assertEqual(len(Corpus(path, version="second").sources), 30)
        self.assertEqual(set(reader), hashes)


if __name__ == "__main__":
    unittest.main()
