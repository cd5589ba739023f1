"""Runs a harvest: brings models from stage to stage, several at a time, and can be continued.

Models are published in the order of the sources, in whatever order they become ready, since the new
graphs of a model depend on earlier models. So a harvest that was killed, or that had more
processes, writes the same.
"""

from __future__ import annotations

import dataclasses
import fcntl
import fnmatch
import functools
import hashlib
import importlib.metadata
import itertools
import json
import os
import platform
import re
import selectors
import shlex
import shutil
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import graphnet_ir
from graphnet_ir._errors import made_error
from graphnet_ir.harvest import publishing
from graphnet_ir.harvest.failures import CLASSES, REPAIRABLE, Failure, described, writable
from graphnet_ir.harvest.journal import Journal, Row
from graphnet_ir.harvest.loading import run_prelude
from graphnet_ir.harvest.sources import Access, Model, Source, open_source
from graphnet_ir.limited.processes import END_SECONDS, Group, Limits

REPAIR_SECONDS = 360
MAX_REPAIRS = 2
MAX_PLACE = 200  # bytes of the name of a folder
# A model at one of these stages only waits for earlier models.
_READY = ("hashed", "deduplicated")
# What the process of a model tells: the stages in their order, with the types of their facts.
_TOLD: dict[str, dict[str, type]] = {
    "analysed": {
        "parameters": int,
        "halvings": int,
        "family": str,
        "inputs": dict,
        "architecture": str,
    },
    "captured": {"graphs": int, "operators": int},
    "verified": {"equal": bool, "notes": list},
}
_BEFORE = dict(zip(_TOLD, ("fetched", *_TOLD)))  # the stage that comes before each


@dataclass(frozen=True)
class Options:
    """The options of a harvest."""

    jobs: int = 1  # number of models at a time
    max_parameters: int = 1_000_000_000
    shrink: bool = False  # halve the layers of larger models until they fit
    limits: Limits = field(default_factory=Limits)
    trust: Sequence[str] = ()  # patterns of ids whose code may run
    pickles: bool = False  # models may read pickled files of their repository
    network: bool = False  # sources and models may use the network
    token: str | None = None  # the token for the hub
    allow_unknown_licence: bool = False  # also publish graphs of models without a licence
    same_sizes: bool = False  # graphs that differ in sizes, dtypes or devices are duplicates
    repair: str | None = None  # a command that gets a failure and may change the script
    prelude: str | None = None  # a Python file that runs first, here and for each model
    seed: int = 0  # seed of random numbers


class _Thread:
    """Work for one model in a thread: its download, or the hashes of its graphs. A thread cannot be
    ended, but is no longer waited for when its time is over."""

    def __init__(self, work: Callable[[], dict[str, Any]], limits: Limits):
        self.limits = limits
        self.begin = time.monotonic()
        self.facts: dict[str, Any] = {}
        self.error: BaseException | None = None
        self._work = work
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.facts = self._work()
        except BaseException as error:
            self.error = error

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    @property
    def seconds(self) -> float:
        """Returns the seconds since it began."""
        return time.monotonic() - self.begin

    def close(self) -> int:
        return 0


@dataclass
class _Repair:
    """A repair command that runs, and what it is to repair."""

    group: Group
    failure: Failure
    seconds: float  # of the attempt that failed
    before: bytes  # the script


class Runner:
    """One run of a harvest. `rows` are its models, `running` what runs for them (processes or
    threads), by their numbers."""

    def __init__(
        self,
        sources: Sequence[str],
        output: str,
        options: Options,
        progress: Callable[[Runner], None] | None = None,
    ):
        self.folder = os.path.abspath(output)
        self.options = options
        self.progress = progress or (lambda runner: None)
        self.running: dict[int, Group | _Thread] = {}
        self._repairs: dict[int, _Repair] = {}
        self.rows: list[Row] = []
        os.makedirs(os.path.join(self.folder, "work"), exist_ok=True)
        os.makedirs(os.path.join(self.folder, publishing.SAMPLES), exist_ok=True)
        self._locks: list[int] = []
        if not self._take_lock("lock", 0):
            raise made_error("failed_precondition", f"another harvest writes {output}")
        try:
            # Keepers of an earlier harvest hold this until they have ended their processes.
            if not self._take_lock("lock.keepers", 2 * END_SECONDS):
                raise made_error(
                    "failed_precondition", f"processes of an earlier harvest still run in {output}"
                )
            self.journal = Journal(os.path.join(self.folder, "journal.sqlite"))
        except BaseException:
            self._release()
            raise
        self._selector = selectors.DefaultSelector()
        if options.prelude is not None:
            run_prelude(options.prelude)
        access = Access(options.network, os.path.join(self.folder, "hub"), options.token)
        self._sources: dict[str, Source] = {}
        self._models: dict[str, Model] = {}  # by the ids of the rows
        self.rows = self.journal.rows()
        ids = {row.id: _real(row.source) for row in self.rows}
        places = {row.place for row in self.rows}
        for text in sources:
            if _real(text) in self._sources:
                continue
            source = self._sources[_real(text)] = open_source(text, access)
            for model in source.list():
                self._list(model, writable(text), ids, places)
        self.rows = self.journal.rows()
        self._reopen()

    def _list(self, model: Model, source: str, ids: dict[str, str], places: set[str]) -> None:
        """Adds a model to the journal unless it is there. A model of another source with the same
        id gets a number behind its id; so does a place that another model has."""
        key = _real(source)
        id = _unused(writable(model.id), lambda id: ids.get(id, key) != key, " ({})")
        self._models.setdefault(id, model)
        if id not in ids:
            ids[id] = key
            place = _unused(_place(id), places.__contains__, "-{}")
            places.add(place)
            self.journal.add(id, place, source)

    def _take_lock(self, name: str, patience: float) -> bool:
        """Locks a file of the folder, which another process may have for some seconds."""
        lock = os.open(os.path.join(self.folder, name), os.O_RDWR | os.O_CREAT, 0o666)
        self._locks.append(lock)
        end = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except OSError:
                if time.monotonic() >= end:
                    self._release()
                    return False
            time.sleep(0.05)

    def _release(self) -> None:
        for lock in self._locks:
            os.close(lock)
        self._locks.clear()

    def _reopen(self) -> None:
        """Tries models again that ended because of an option that has changed."""
        for row in self.rows:
            if row.stage == "withheld" and self.options.allow_unknown_licence:
                self.journal.reopen(row, "hashed")
            if row.stage in _READY and "sized_hashes" not in row.facts:  # An earlier version ran.
                self.journal.reopen(row, "verified")

    def close(self) -> None:
        """Ends all processes, and releases the folder."""
        for job in list(self.running.values()):
            job.close()
        self.running.clear()
        self._selector.close()
        self.journal.close()
        self._release()

    # --- The loop ---------------------------------------------------------------------------------

    def run(self) -> None:
        """Returns when all models have ended."""
        while True:
            while len(self.running) < self.options.jobs and (row := self._next()) is not None:
                self._safely(row, self._start)
            self._publish_ready()
            self.progress(self)
            if not self.running:
                if self._next() is None:
                    break
                continue
            self._selector.select(0.1)
            for number in list(self.running):
                self._safely(self.rows[number], self._step)
        publishing.write_index(self.rows, self.folder)

    def _safely(self, row: Row, step: Callable[[Row], None]) -> None:
        """Takes a step of a model. An exception is the failure of this model; the others go on."""
        try:
            step(row)
        except sqlite3.Error:
            raise  # Without a journal nothing can go on.
        except Exception as error:
            self._stop(row)
            if not row.ended:
                self._fail(
                    row,
                    error
                    if isinstance(error, Failure)
                    else Failure("unexpected", described(error)),
                    0,
                )

    def _stop(self, row: Row) -> int:
        """Ends what runs for a model, and returns how many processes were left behind."""
        job = self.running.pop(row.number, None)
        self._repairs.pop(row.number, None)
        if isinstance(job, Group):
            self._forget(job)
        return 0 if job is None else job.close()

    def _forget(self, group: Group) -> None:
        if group.events in {key.fileobj for key in self._selector.get_map().values()}:
            self._selector.unregister(group.events)

    def _next(self) -> Row | None:
        """Returns the first model that has work left and is not running."""
        return next(
            (
                row
                for row in self.rows
                if not row.ended and row.stage not in _READY and row.number not in self.running
            ),
            None,
        )

    def _start(self, row: Row) -> None:
        """Continues row from its stage in the journal; it may end at once."""
        work = self.work(row)
        if row.stage == "listed":
            model = self._models.get(row.id)
            source = self._sources.get(_real(row.source))
            if model is None or source is None:
                raise Failure("not_found", f"{row.source} is not among the sources any more")
            os.makedirs(work, exist_ok=True)
            self.running[row.number] = _Thread(
                functools.partial(source.fetch, model), self.options.limits
            )
            return
        if row.stage == "verified":
            self._start_hashes(row)
            return
        for name in ("captured", "tmp"):
            shutil.rmtree(os.path.join(work, name), ignore_errors=True)
        os.makedirs(os.path.join(work, "tmp", "home"))
        if row.stage == "fetched" and not row.repairs:
            _remove(os.path.join(work, "capture.py"))
        if row.stage == "captured":  # Verification takes place in the same process.
            self.journal.reopen(row, "analysed")
        job = {
            "id": row.id,
            "place": row.place,
            "stage": row.stage,
            "facts": row.facts,
            "seed": self.options.seed,
            "trusted": any(fnmatch.fnmatchcase(row.id, pattern) for pattern in self.options.trust),
            "max_parameters": self.options.max_parameters,
            "shrink": self.options.shrink,
            "max_memory": self.options.limits.memory,
            "max_file": self.options.limits.files,
            "network": self.options.network,
            "pickles": self.options.pickles,
            "prelude": self.options.prelude,
        }
        with open(os.path.join(work, "job.json"), "w", encoding="utf-8") as file:
            json.dump(job, file)
        self._run(
            row,
            Group(
                [sys.executable, "-m", "graphnet_ir.harvest.worker", work],
                work,
                self._environment(row),
                self.options.limits,
                cwd=os.path.join(work, "tmp"),
                keeps=tuple(self._locks[1:]),
            ),
        )

    def _run(self, row: Row, group: Group) -> None:
        self.running[row.number] = group
        self._selector.register(group.events, selectors.EVENT_READ)

    def _environment(self, row: Row) -> dict[str, str]:
        tmp = os.path.join(self.work(row), "tmp")
        made = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("HF_", "TRANSFORMERS_", "TORCH_LOGS", "GRAPH_NET_"))
        }
        made.update(
            OMP_NUM_THREADS="1",
            TMPDIR=tmp,
            HOME=os.path.join(tmp, "home"),
            XDG_CACHE_HOME=os.path.join(tmp, "home"),
            PYTHONHASHSEED="0",
            HF_MODULES_CACHE=os.path.join(tmp, "modules"),
            PYTHONUNBUFFERED="1",
        )
        if not self.options.network:
            made.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1")
        made.update(row.facts.get("environment", {}))
        return made

    def _step(self, row: Row) -> None:
        """Goes on with what runs for a model."""
        job = self.running[row.number]
        if isinstance(job, _Thread):
            self._step_thread(row, job)
        elif row.number in self._repairs:
            self._step_repair(row, job)
        else:
            self._step_model(row, job)

    def _step_thread(self, row: Row, thread: _Thread) -> None:
        if thread.is_running and thread.seconds <= thread.limits.seconds:
            return
        ended = not thread.is_running
        self._stop(row)
        if not ended:
            what = "fetch it" if row.stage == "listed" else "hash its graphs"
            raise Failure("time", f"more than {thread.limits.seconds:g} seconds to {what}")
        if isinstance(thread.error, Failure):
            raise thread.error
        if thread.error is not None:
            raise Failure(
                "unexpected" if row.stage == "listed" else "capture", described(thread.error)
            )
        if row.stage == "verified":
            self.journal.reach(row, "hashed", thread.facts)
            return
        self.journal.reach(
            row,
            "fetched",
            {
                **thread.facts,
                "seed": self.options.seed,
                "versions": _versions(thread.facts["library"]),
            },
        )

    def _step_model(self, row: Row, group: Group) -> None:
        """Reads the progress of a process, and ends it if it exceeds a limit or is done."""
        is_running = group.is_running  # before the last lines are read
        failure: Failure | None = None
        lines, is_open = group.drain()
        for line in lines:
            failure = failure or self._told(row, line)
        if not is_open:  # It would always be ready.
            self._forget(group)
        over = group.over() if is_running and failure is None else None
        if is_running and failure is None and over is None:
            return
        left = self._stop(row)
        if over is not None:
            failure = Failure(*over)
        elif failure is None and left:
            failure = Failure("processes", f"the model left {left} processes behind")
        elif failure is None and (group.code != 0 or row.stage != "verified"):
            code = group.code or 0
            failure = Failure("crashed", f"signal {-code}" if code < 0 else f"exit code {code}")
        if failure is None:
            row.seconds += group.seconds
            self._start_hashes(row)
        elif not self._start_repair(row, failure, group.seconds):
            self._fail(row, failure, group.seconds)

    def _told(self, row: Row, line: bytes) -> Failure | None:
        """Records what the process of a model tells. Its text may be anything."""
        try:
            what = json.loads(line)
            if "failure" in what:
                kind = what["failure"]
                return Failure(kind if kind in CLASSES else "crashed", str(what["message"]))
            stage, facts = what["stage"], what.get("facts") or {}
            if (
                _BEFORE[stage] == row.stage
                and facts.keys() <= _TOLD[stage].keys()
                and all(type(value) is _TOLD[stage][key] for key, value in facts.items())
            ):
                self.journal.reach(row, stage, facts)
                return None
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            pass
        return Failure("crashed", "the process sent something other than progress")

    def _start_hashes(self, row: Row) -> None:
        captured = os.path.join(self.work(row), "captured", row.place)
        self.running[row.number] = _Thread(
            functools.partial(publishing.hashes_of, captured), self.options.limits
        )

    # --- Stages that run here ---------------------------------------------------------------------

    def _publish_ready(self) -> None:
        """Ends each model that is ready if all models before it have ended."""
        for row in self.rows:
            if not row.ended and row.stage not in _READY:
                break
            if not row.ended:
                self._safely(row, self._publish)

    def _publish(self, row: Row) -> None:
        work = self.work(row)
        if row.facts["licence"] is None and not self.options.allow_unknown_licence:
            row.message = "its licence is not known"
            self.journal.publish(row, "withheld", {})
            self._clean(row, "captured")
            return
        repeated = publishing.same_as(row, self.journal, self.options.same_sizes)
        self.journal.reach(row, "deduplicated", {"same_as": repeated})
        new = {
            hash: publishing.sample_place(row, place)
            for kind in ("hashes", "sized_hashes")
            for place, hash in row.facts[kind].items()
            if place not in repeated
        }
        if new:
            publishing.publish(
                row,
                self.folder,
                os.path.join(work, "captured", row.place),
                os.path.join(work, "capture.py"),
                repeated,
            )
        self.journal.publish(row, "published" if new else "duplicate", new)
        self._clean(row)

    def _fail(self, row: Row, failure: Failure, seconds: float) -> None:
        self.journal.fail(row, failure.kind, failure.message, seconds)
        self._clean(row)

    def _clean(self, row: Row, *kept: str) -> None:
        """Keeps only script and log of a model that ended."""
        for name in {"captured", "tmp", "job.json"}.difference(kept):
            path = os.path.join(self.work(row), name)
            shutil.rmtree(path, ignore_errors=True) if os.path.isdir(path) else _remove(path)

    def _start_repair(self, row: Row, failure: Failure, seconds: float) -> bool:
        """Returns whether the repair command was started for a model that failed."""
        script = os.path.join(self.work(row), "capture.py")
        if (
            self.options.repair is None
            or row.repairs >= MAX_REPAIRS
            or failure.kind not in REPAIRABLE
            or not os.path.exists(script)
        ):
            return False
        with open(script, "rb") as file:
            before = file.read()
        self.journal.count_repair(row)
        told = json.dumps(
            {
                "model": row.id,
                "stage": row.stage,
                "class": failure.kind,
                "message": failure.message,
                "attempt": row.repairs,
                "script": script,
                "log": os.path.join(self.work(row), "log.txt"),
            }
        )
        limits = dataclasses.replace(self.options.limits, seconds=REPAIR_SECONDS)
        try:
            group = Group(
                shlex.split(self.options.repair),
                self.work(row),
                dict(os.environ),
                limits,
                given=told,
                log="repair.txt",
                keeps=tuple(self._locks[1:]),
                tells=False,
            )
        except (OSError, ValueError):
            return False
        self._run(row, group)
        self._repairs[row.number] = _Repair(group, failure, seconds, before)
        return True

    def _step_repair(self, row: Row, group: Group) -> None:
        """Ends the repair command if it exceeds a limit or is done. If it changed the script, the
        model is tried again."""
        repair = self._repairs[row.number]
        is_running = group.is_running
        if not group.drain()[1]:
            self._forget(group)
        over = group.over() if is_running else None
        if is_running and over is None:
            return
        self._stop(row)
        with open(os.path.join(self.work(row), "capture.py"), "rb") as file:
            changed = file.read() != repair.before
        if over is None and group.code == 0 and changed:
            row.seconds += repair.seconds
        else:
            self._fail(row, repair.failure, repair.seconds)

    def work(self, row: Row) -> str:
        """Returns the folder for the work on a model."""
        return os.path.join(self.folder, "work", row.place)


def _real(source: str) -> str:
    """Returns a source as it is compared: paths of one file or folder are equal."""
    return writable(os.path.realpath(source)) if os.path.exists(source) else writable(source)


def _place(id: str) -> str:
    """Returns the name of a model's folders: ORG--NAME, as in the hub."""
    made = id.replace("/", "--").replace(":", "--")
    made = "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in made)
    made = re.sub(r"^\.+", "_", made) or "_"
    if len(made.encode()) > MAX_PLACE:
        made = made[: MAX_PLACE // 8] + "-" + hashlib.sha256(id.encode()).hexdigest()[:16]
    return made


def _unused(text: str, is_used: Callable[[str], bool], form: str) -> str:
    """Returns the text, with a number from 2 behind it if it is used."""
    made = text
    for number in itertools.count(2):
        if not is_used(made):
            break
        made = text + form.format(number)
    return made


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except FileNotFoundError:
        pass


def _versions(library: str) -> dict[str, str]:
    found = {"python": platform.python_version(), "graphnet": graphnet_ir.__version__}
    for name in ("torch", library):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return found


def harvest(
    sources: Sequence[str],
    output: str,
    options: Options | None = None,
    progress: Callable[[Runner], None] | None = None,
) -> list[Row]:
    """Harvests all models of the sources into a folder, and returns a row for each model.

    Calling it again continues an interrupted harvest. sources: as in docs/harvest.md. progress: a
    function that is called all the time. Raises Error if a source or the folder cannot be used; a
    model that fails gives a row.
    """
    runner = Runner(sources, output, options or Options(), progress)
    try:
        runner.run()
        return runner.rows
    finally:
        runner.close()
