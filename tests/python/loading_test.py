"""Many samples, which threads load ahead of who asks for them."""

import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
from typing import Callable, List, Set
from unittest import mock

import graphnet_ir
from graphnet_ir import Error, Sample, _core

COUNT = 12
WINDOW = 3
THREADS = "graphnet_ir.load_samples"


def stored(name: str) -> bytes:
    sample = graphnet_ir.parse("graph @forward(%x) {\n  return %x\n}\n")
    sample.name = name
    return graphnet_ir.to_bytes(sample)


def wait_until(is_true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 30
    while not is_true() and time.monotonic() < deadline:
        time.sleep(0.01)
    return is_true()


def names_of_threads() -> List[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith(THREADS)]


class LoadSamplesTest(unittest.TestCase):

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.files = [self.folder / f"{index:02}.pb" for index in range(COUNT)]
        for file in self.files:
            file.write_bytes(stored(file.stem))
        cores = mock.patch.object(os, "sched_getaffinity", return_value=set(range(WINDOW)))
        count = mock.patch.object(os, "cpu_count", return_value=2 * WINDOW)
        for patch in (cores, count):
            patch.start()
            self.addCleanup(patch.stop)

    def break_one(self, index: int) -> None:
        self.files[index].write_bytes(stored("cut")[:-9])

    def test_order_is_that_of_the_files_however_long_one_takes(self) -> None:
        load = _core.load

        def slow_at_first(file: str) -> Sample:
            time.sleep(0.02 * (COUNT - self.files.index(pathlib.Path(file))) / COUNT)
            return load(file)

        with mock.patch.object(_core, "load", slow_at_first):
            names = [sample.name for sample in graphnet_ir.load_samples(self.folder)]
        self.assertEqual(names, [file.stem for file in self.files])
        self.assertTrue(wait_until(lambda: not names_of_threads()))

    def test_an_error_is_raised_at_its_place(self) -> None:
        self.break_one(4)
        names = []
        with self.assertRaisesRegex(Error, "04.pb"):
            for sample in graphnet_ir.load_samples(self.folder):
                names.append(sample.name)
        self.assertEqual(names, [file.stem for file in self.files[:4]])
        self.assertTrue(wait_until(lambda: not names_of_threads()))

    def test_a_warning_is_given_at_its_place(self) -> None:
        self.break_one(4)
        self.break_one(5)
        said: List[int] = []
        names = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for sample in graphnet_ir.load_samples(self.folder, errors="warn"):
                names.append(sample.name)
                said.append(len(caught))
        self.assertEqual(names, [file.stem for i, file in enumerate(self.files) if i not in (4, 5)])
        self.assertEqual(said, [0] * 4 + [2] * (COUNT - 6))
        self.assertRegex(str(caught[0].message), "04.pb is left out: ")
        self.assertEqual(caught[0].filename, __file__)

    def test_no_more_than_the_window_is_loaded_ahead(self) -> None:
        load = _core.load
        begun: Set[str] = set()
        lock = threading.Lock()

        def noted(file: str) -> Sample:
            with lock:
                begun.add(file)
            return load(file)

        with mock.patch.object(_core, "load", noted):
            for given, _ in enumerate(graphnet_ir.load_samples(self.folder), start=1):
                most = min(given + WINDOW, COUNT)
                self.assertTrue(wait_until(lambda most=most: len(begun) == most))  # type: ignore
                time.sleep(0.02)
                self.assertEqual(len(begun), most)

    def test_what_is_not_asked_for_is_given_up(self) -> None:
        load = _core.load
        begun: List[str] = []

        def noted(file: str) -> Sample:
            begun.append(file)
            return load(file)

        with mock.patch.object(_core, "load", noted):
            samples = graphnet_ir.load_samples(self.folder)
            self.assertEqual(begun, [])  # Nothing is loaded before the first is asked for.
            next(samples)
            del samples
            self.assertTrue(wait_until(lambda: not names_of_threads()))
        self.assertLessEqual(len(begun), 1 + WINDOW)

    def test_control_c_ends_the_threads(self) -> None:
        # In a process of its own, where a sample takes long to load.
        script = """
import os, signal, sys, threading, time
import graphnet_ir
from graphnet_ir import _core
load = _core.load
def slow(file):
    time.sleep(0.2)
    return load(file)
_core.load = slow
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
count = 0
try:
    for sample in graphnet_ir.load_samples(sys.argv[1]):
        count += 1
        time.sleep(0.3)
except KeyboardInterrupt:
    print("interrupted", 0 < count < 12)
"""
        done = subprocess.run([sys.executable, "-c", script, str(self.folder)], check=False,
                              capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (0, "interrupted True\n"), done.stderr)


if __name__ == "__main__":
    unittest.main()
