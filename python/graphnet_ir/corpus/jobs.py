"""Jobs: a function or a command, applied to each graph.

The graphs of a job are divided into tasks. The result of a task is one file, which appears whole or
not at all and has the same bytes however often the job was killed. To go on is to do the tasks
without a file. When all are there, their columns come into the corpus in one commit, by hash.

A task is done in a process of its own below the keeper of a harvest, with limits. If the process
ends, the graph that it was on is tried again in a fresh one. If that ends, too, the graph is set
aside with the reason, and the rest go on.
"""

from __future__ import annotations

import fcntl
import glob
import io
import json
import os
import queue
import re
import select
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

from graphnet_ir._errors import made_error
from graphnet_ir.corpus import job_worker, schedule
from graphnet_ir.corpus.adding import digests
from graphnet_ir.corpus.durable import sync, write_file
from graphnet_ir.corpus.engines import pa, parquet, pc
from graphnet_ir.corpus.schema import GRAPHS, HASH
from graphnet_ir.limited.processes import Group, Limits

FORMAT = 1
GRAPHS_A_TASK = 500
_START_SECONDS = 120  # to import what the function needs
_END_SECONDS = 10

_RESULTS = pa.schema(
    [
        pa.field("hash", HASH, nullable=False),
        pa.field("columns", pa.utf8()),  # as JSON
        pa.field("graph", pa.binary()),  # another graph, as protobuf
        pa.field("reason", pa.utf8()),  # why the graph was set aside
    ]
)

Work = str | list[str] | Callable[..., Any]


@dataclass(frozen=True)
class Mapped:
    """The result of a job."""

    graphs: int
    set_aside: list[tuple[str, str]]  # hashes of graphs, each with the reason
    empty: list[str]  # columns that are left out: no graph has a value, so that they have no type


@dataclass(frozen=True)
class Bounds:
    """The limits of a graph."""

    seconds: float = 60
    memory: int = 4 << 30  # bytes


def described(work: Work) -> dict[str, Any]:
    """Returns the work as job.json names it."""
    if isinstance(work, list):
        if not work or shutil.which(work[0]) is None:
            raise made_error("not_found", f"there is no command {' '.join(work[:1])}")
        return {"command": work}
    if isinstance(work, str):
        if ":" not in work:
            raise made_error("invalid_argument", f"'{work}' is not MODULE:FUNCTION")
        return {"function": work}
    module, name = getattr(work, "__module__", None), getattr(work, "__qualname__", "<")
    if "<" in name or not isinstance(module, str):
        raise made_error(
            "invalid_argument",
            "a job needs a function that its processes can "
            "import, not one that is made inside of another",
        )
    if module == "__main__":
        module = os.path.abspath(getattr(sys.modules["__main__"], "__file__", None) or "")
        if not os.path.isfile(module):
            raise made_error("invalid_argument", "a job needs a function of a file")
    return {"function": f"{module}:{name}"}


class Pool(schedule.Pool, Protocol):
    """Runs the tasks of one job."""

    def take(self, job: Job) -> None:
        """Says of which job the tasks are: start(number) has job.run_task(number) called."""


class LocalPool:
    """Runs tasks on this machine."""

    copies = False

    def __init__(self, jobs: int):
        self._slots = max(1, jobs)
        self._threads = ThreadPoolExecutor(self._slots, "graphnet_ir.corpus.jobs")
        self._ended: queue.SimpleQueue[tuple[int, BaseException | None]] = queue.SimpleQueue()

    def __enter__(self) -> LocalPool:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown()

    def take(self, job: Job) -> None:
        self._job = job

    def slots(self) -> int:
        return self._slots

    def start(self, number: int) -> None:
        self._threads.submit(self._job.run_task, number).add_done_callback(
            lambda future: self._ended.put((number, future.exception()))
        )

    def ended(self, seconds: float) -> list[tuple[int, BaseException | None]]:
        return all_of(self._ended, seconds)

    def now(self) -> float:
        return time.monotonic()


def all_of(ended: queue.SimpleQueue[Any], seconds: float) -> list[Any]:
    """Waits until a queue has something, or some seconds, and returns all of it."""
    made = []
    try:
        made.append(ended.get(timeout=seconds))
        while True:
            made.append(ended.get_nowait())
    except queue.Empty:
        return made


class Job:
    """A job in the folder jobs/NAME of a corpus."""

    def __init__(self, corpus: Any, name: str, work: dict[str, Any], bounds: Bounds):
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", name):
            raise made_error("invalid_argument", f"'{name}' is no name for a job")
        self._corpus = corpus
        self._work = work
        self._bounds = bounds
        self.told = (os.path.abspath(corpus.path), name, work, bounds)  # to make it elsewhere
        self.folder = os.path.join(corpus.path, "jobs", name)
        self._stop = threading.Event()

    def run(
        self, hashes: Iterable[bytes] | None, pool: Pool, told: Callable[[int, int], None] | None
    ) -> None:
        """Does the tasks without a result. hashes: of the graphs, if the job begins here. told:
        gets the number of graphs that are done, and of all."""
        os.makedirs(self.folder, exist_ok=True)
        with open(os.path.join(self.folder, "lock"), "wb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise made_error("failed_precondition", f"{self.folder} is at work") from error
            for path in glob.glob(os.path.join(glob.escape(self.folder), "*.new")):
                os.unlink(path)  # A run that was killed left it.
            self._prepare(hashes)
            try:
                self._run_tasks(pool, told or (lambda done, all: None))
            finally:
                shutil.rmtree(os.path.join(self.folder, "work"), ignore_errors=True)

    def _prepare(self, hashes: Iterable[bytes] | None) -> None:
        """Writes which graphs the job has and what it does, or compares with what is there."""
        path = os.path.join(self.folder, "job.json")
        if os.path.exists(path):
            before = self._told()
            if before.get("version") != FORMAT or before.get("work") != self._work:
                raise made_error(
                    "already_exists",
                    f"{self.folder} is a job of other work: give this one another name",
                )
            return
        if hashes is None:
            hashes = (
                hash
                for batch in self._corpus.graphs.rows(["hash"])
                for hash in batch.column("hash").to_pylist()
            )
        write_file(os.path.join(self.folder, "graphs.bin"), b"".join(dict.fromkeys(hashes)))
        write_file(
            path,
            (
                json.dumps(
                    {
                        "format": "graphnet corpus job",
                        "version": FORMAT,
                        "work": self._work,
                        "task": GRAPHS_A_TASK,
                    },
                    indent=2,
                )
                + "\n"
            ).encode(),
        )
        sync(os.path.dirname(self.folder))
        sync(self._corpus.path)

    def _told(self) -> dict[str, Any]:
        """Reads job.json, which may be a stranger's."""
        path = os.path.join(self.folder, "job.json")
        try:
            with open(path, encoding="utf-8") as file:
                told = json.load(file)
            if type(told["task"]) is not int or told["task"] < 1:
                raise ValueError("task is no number of graphs")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise made_error("data_loss", f"{path} cannot be read: {error}") from error
        return dict(told)

    def _sizes(self) -> list[int]:
        """Returns the number of graphs of each task."""
        size = self._told()["task"]
        count = os.path.getsize(os.path.join(self.folder, "graphs.bin")) // 32
        return [min(size, count - begin) for begin in range(0, count, size)]

    def _hashes(self, number: int) -> list[bytes]:
        """Returns the graphs of a task."""
        size = 32 * self._told()["task"]
        with open(os.path.join(self.folder, "graphs.bin"), "rb") as file:
            file.seek(size * number)
            data = file.read(size)
        return [data[place : place + 32] for place in range(0, len(data), 32)]

    def _part(self, number: int) -> str:
        return os.path.join(self.folder, f"part-{number:06}.parquet")

    def _run_tasks(self, pool: Pool, told: Callable[[int, int], None]) -> None:
        sizes = self._sizes()
        there = set(os.listdir(self.folder))
        left = [
            number
            for number in range(len(sizes))
            if os.path.basename(self._part(number)) not in there
        ]
        whole = sum(sizes)
        done = whole - sum(sizes[number] for number in left)
        told(done, whole)

        def tell(number: int) -> None:
            nonlocal done
            done += sizes[number]
            told(done, whole)

        pool.take(self)
        try:
            given_up = schedule.run(left, pool, tell)
        except BaseException:
            self._stop.set()
            raise
        if given_up:
            raise made_error(
                "failed_precondition",
                f"task {given_up[0]} and {len(given_up) - 1} "
                f"others lost {schedule.MOST_LOSSES} machines each: try again "
                "with smaller limits",
            )

    def run_task(self, number: int) -> None:
        """Writes the result of a task. It may run twice at a time, on two machines: both write the
        same."""
        hashes = self._hashes(number)
        os.makedirs(os.path.join(self.folder, "work"), exist_ok=True)
        folder = tempfile.mkdtemp(prefix=f"{number}-", dir=os.path.join(self.folder, "work"))
        rows = self._corpus.graphs.where(["hash", "blob", "digest"], "hash", hashes)
        is_sound = pc.equal(rows.column("digest"), digests(rows.column("blob"))).to_pylist()
        blobs = {
            hash: blob if is_sound_one else b""
            for hash, blob, is_sound_one in zip(
                rows.column("hash").to_pylist(), rows.column("blob").to_pylist(), is_sound
            )
        }
        # A graph that was removed since the job began has no row.
        there = [hash for hash in hashes if hash in blobs]
        job_worker.write_graphs(folder, [blobs[hash] for hash in there])
        with open(os.path.join(folder, job_worker.WORK), "w", encoding="utf-8") as file:
            json.dump(self._work, file)
        told = self._results(folder, len(there))
        made: list[dict[str, Any]] = [
            {"hash": hash, "columns": None, "graph": None, "reason": None} for hash in there
        ]
        for row, result in zip(made, told):
            if "columns" in result:
                row["columns"] = json.dumps(result["columns"], sort_keys=True)
            elif "graph" in result:
                with open(result["graph"], "rb") as file:
                    row["graph"] = file.read()
            else:
                row["reason"] = result["error"]
        data = io.BytesIO()
        parquet.write_table(pa.Table.from_pylist(made, schema=_RESULTS), data)
        write_file(self._part(number), data.getvalue())
        shutil.rmtree(folder, ignore_errors=True)

    def _results(self, folder: str, count: int) -> list[dict[str, Any]]:
        """Returns what the work tells of each graph, or the error that set it aside."""
        results: list[dict[str, Any]] = []
        first = 0
        while len(results) < count:
            reason = self._attempt(folder, first, results)
            if len(results) < count and len(results) == first:
                results.append({"error": reason})  # It was the first of its process.
            first = len(results)
        return results

    def _attempt(self, folder: str, first: int, results: list[dict[str, Any]]) -> str:
        """Works from a graph on, and adds results. Returns why the process ended."""
        group = Group(
            [sys.executable, "-m", "graphnet_ir.corpus.job_worker", folder, str(first)],
            folder,
            dict(os.environ),
            Limits(seconds=1e9, memory=self._bounds.memory),
        )
        is_ready, since, reason = False, time.monotonic(), None
        try:
            is_open = True
            while is_open and reason is None:
                select.select([group.events], [], [], 0.05)
                lines, is_open = group.drain()
                for line in lines:
                    told = json.loads(line)
                    if "fatal" in told:
                        raise made_error(
                            "invalid_argument", f"the job cannot begin: {told['fatal']}"
                        )
                    if "ready" in told:
                        is_ready = True
                    elif told.pop("place") == len(results):
                        results.append(told)
                    since = time.monotonic()
                if self._stop.is_set():
                    raise made_error("cancelled", "the job was interrupted")
                over = group.over()
                if over is not None:
                    reason = over[1]
                elif time.monotonic() - since > (
                    self._bounds.seconds if is_ready else _START_SECONDS
                ):
                    reason = f"more than {self._bounds.seconds:g} seconds"
            begin = time.monotonic()
            while reason is None and group.is_running and time.monotonic() - begin < _END_SECONDS:
                time.sleep(0.01)  # Its keeper finds out how it ended.
        finally:
            group.close()
        if not is_ready:
            raise made_error(
                "failed_precondition",
                "the job's process ended before its first "
                f"graph: {reason or f'exit code {group.code}'}",
            )
        if reason is None:
            code = group.code or 0
            reason = (
                f"the process ended with signal {-code}"
                if code < 0
                else f"the process ended with exit code {code}"
            )
        return reason

    def results(self) -> Iterator[dict[str, Any]]:
        """Yields the rows of all tasks, in order."""
        for number in range(len(self._sizes())):
            yield from parquet.read_table(self._part(number)).to_pylist()

    def mapped(self, empty: list[str]) -> Mapped:
        count, aside = 0, []
        for row in self.results():
            count += 1
            if row["reason"] is not None:
                aside.append((row["hash"].hex(), row["reason"]))
        return Mapped(count, aside, empty)

    def columns(self) -> tuple[Any, list[str]]:
        """Returns the columns of all graphs that have some, as a table with their hashes, and the
        names of new columns without a value."""
        rows = [
            (row["hash"], json.loads(row["columns"]))
            for row in self.results()
            if row["columns"] is not None
        ]
        names = sorted({name for _, values in rows for name in values})
        for name in names:
            if not re.fullmatch(r"[a-z][a-z0-9_]{0,62}", name) or name in GRAPHS.names:
                raise made_error(
                    "invalid_argument",
                    f"'{name}' is no name for a new column: it needs small letters, digits and _",
                )
        made = {"hash": pa.array([hash for hash, _ in rows], HASH)}
        there, empty = self._corpus.dataset.schema, []
        for name in names:
            values = [told.get(name) for _, told in rows]
            if any(value is not None for value in values):
                made[name] = _column(values)
            elif name in there.names:
                made[name] = pa.nulls(len(rows), there.field(name).type)
            else:
                empty.append(name)
        return pa.table(made), empty

    def graphs(self) -> Iterator[bytes]:
        """Yields the other graphs that the job made."""
        return (row["graph"] for row in self.results() if row["graph"] is not None)


def _column(values: list[Any]) -> Any:
    """Returns values of JSON as a column of one type."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {bool}:
        return pa.array(values, pa.bool_())
    if kinds == {int} and all(-(2**63) <= value < 2**63 for value in values if value is not None):
        return pa.array(values, pa.int64())
    if kinds <= {int, float}:
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    return pa.array(
        [
            value if value is None or isinstance(value, str) else json.dumps(value)
            for value in values
        ],
        pa.utf8(),
    )
