"""Runs a harvest: brings models from stage to stage, several at a time, and can be continued.

Models are published in the order of the sources, in whatever order they become ready, since the new
graphs of a model depend on earlier models. So a harvest that was killed, or that had more
processes, writes the same.
"""

from __future__ import annotations

import fcntl
import fnmatch
import hashlib
import importlib.metadata
import json
import os
import platform
import selectors
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Sequence

import graphnet_ir
from graphnet_ir._errors import made_error
from graphnet_ir.harvest import publishing
from graphnet_ir.harvest.failures import CLASSES, REPAIRABLE, Failure
from graphnet_ir.harvest.journal import Journal, Row
from graphnet_ir.harvest.processes import Group, Limits, end_all
from graphnet_ir.harvest.sources import Access, Model, Source, open_source

REPAIR_SECONDS = 360
MAX_REPAIRS = 2
# A model at one of these stages only waits for earlier models.
_READY = ("hashed", "deduplicated")


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
    token: Optional[str] = None  # the token for the hub
    allow_unknown_licence: bool = False  # also publish graphs of models without a licence
    repair: Optional[str] = None  # a command that gets a failure and may change the script
    prelude: Optional[str] = None  # a Python file that runs first in the process of each model
    seed: int = 0  # seed of random numbers


class Runner:
    """One run of a harvest. `rows` are its models, `running` the processes of those that run, by
    their numbers."""

    def __init__(self, sources: Sequence[str], output: str, options: Options,
                 progress: Optional[Callable[["Runner"], None]] = None):
        self.folder = os.path.abspath(output)
        self.options = options
        self.progress = progress or (lambda runner: None)
        self.running: Dict[int, Group] = {}
        self.rows: List[Row] = []
        os.makedirs(os.path.join(self.folder, "work"), exist_ok=True)
        os.makedirs(os.path.join(self.folder, publishing.SAMPLES), exist_ok=True)
        self._lock = open(os.path.join(self.folder, "lock"), "w")  # noqa: SIM115 (held to the end)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise made_error("failed_precondition",
                             f"another harvest writes {output}") from None
        self.journal = Journal(os.path.join(self.folder, "journal.sqlite"))
        self._selector = selectors.DefaultSelector()
        # End processes of an earlier harvest of this folder that was killed.
        self._mark = hashlib.sha256(self.folder.encode()).hexdigest()[:24]
        end_all(self._mark)
        access = Access(options.network, os.path.join(self.folder, "hub"), options.token)
        self._sources: Dict[str, Source] = {}
        self._models: Dict[str, Model] = {}
        for text in sources:
            source = self._sources[text] = open_source(text, access)
            for model in source.list():
                self._models.setdefault(model.id, model)
                self.journal.add(model.id, _place(model.id), text, {})
        self.rows = self.journal.rows()
        self._reopen()

    def _reopen(self) -> None:
        """Tries models again that ended because of an option that has changed."""
        for row in self.rows:
            if row.stage == "withheld" and self.options.allow_unknown_licence:
                self.journal.reopen(row, "hashed")

    def close(self) -> None:
        """Ends all processes, and releases the folder."""
        for group in list(self.running.values()):
            group.close()
        self.running.clear()
        self._selector.close()
        self.journal.close()
        self._lock.close()

    # --- The loop ---------------------------------------------------------------------------------

    def run(self) -> None:
        """Returns when all models have ended."""
        while True:
            while len(self.running) < self.options.jobs and (row := self._next()) is not None:
                self._start(row)
            self._publish_ready()
            self.progress(self)
            if not self.running:
                break
            self._selector.select(0.1)
            for number, group in list(self.running.items()):
                self._step(self.rows[number], group)
        publishing.write_index(self.rows, self.folder)

    def _next(self) -> Optional[Row]:
        """Returns the first model that has work left and is not running."""
        return next((row for row in self.rows if not row.ended and row.stage not in _READY
                     and row.number not in self.running), None)

    def _start(self, row: Row) -> None:
        """Continues row from its stage in the journal; it may end at once."""
        if row.stage == "listed":
            self._fetch(row)
        if row.ended:
            return
        if row.stage == "verified":
            self._hash(row)
            return
        work = self.work(row)
        for name in ("captured", "tmp"):
            shutil.rmtree(os.path.join(work, name), ignore_errors=True)
        os.makedirs(os.path.join(work, "tmp", "home"))
        if row.stage == "fetched" and not row.repairs:
            _remove(os.path.join(work, "capture.py"))
        if row.stage == "captured":  # Verification takes place in the same process.
            self.journal.reopen(row, "analysed")
        job = {
            "id": row.id, "place": row.place, "stage": row.stage, "facts": row.facts,
            "seed": self.options.seed,
            "trusted": any(fnmatch.fnmatchcase(row.id, pattern) for pattern in self.options.trust),
            "max_parameters": self.options.max_parameters, "shrink": self.options.shrink,
            "max_memory": self.options.limits.memory, "max_file": self.options.limits.files,
            "network": self.options.network, "pickles": self.options.pickles,
            "prelude": self.options.prelude,
        }
        with open(os.path.join(work, "job.json"), "w", encoding="utf-8") as file:
            json.dump(job, file)
        group = Group([sys.executable, "-m", "graphnet_ir.harvest.worker", work], work,
                      f"{self._mark}/{row.place}", self._environment(row), self.options.limits)
        self.running[row.number] = group
        self._selector.register(group.events, selectors.EVENT_READ)

    def _environment(self, row: Row) -> Dict[str, str]:
        tmp = os.path.join(self.work(row), "tmp")
        made = {name: value for name, value in os.environ.items()
                if not name.startswith(("HF_", "TRANSFORMERS_", "TORCH_LOGS", "GRAPH_NET_"))}
        made.update(OMP_NUM_THREADS="1", TMPDIR=tmp, HOME=os.path.join(tmp, "home"),
                    XDG_CACHE_HOME=os.path.join(tmp, "home"), PYTHONHASHSEED="0",
                    HF_MODULES_CACHE=os.path.join(tmp, "modules"), PYTHONUNBUFFERED="1")
        if not self.options.network:
            made.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1")
        made.update(row.facts.get("environment", {}))
        return made

    def _step(self, row: Row, group: Group) -> None:
        """Reads the progress of a process, and ends it if it exceeds a limit or is done."""
        is_running = group.process.poll() is None  # before the last lines are read
        failure: Optional[Failure] = None
        for line in group.drain():
            failure = self._told(row, line) or failure
        over = group.over() if is_running and failure is None else None
        if is_running and failure is None and over is None:
            return
        self._selector.unregister(group.events)
        code = group.process.poll()
        left = group.close()
        del self.running[row.number]
        if over is not None:
            failure = Failure(*over)
        elif failure is None and left:
            failure = Failure("processes", f"the model left {left} processes behind")
        elif failure is None and (code != 0 or row.stage != "verified"):
            failure = Failure("crashed", f"signal {-code}" if code and code < 0
                              else f"exit code {code}")
        if failure is None:
            row.seconds += group.seconds
            self._hash(row)
        elif not self._repair(row, failure, group.seconds):
            self._fail(row, failure, group.seconds)

    def _told(self, row: Row, line: bytes) -> Optional[Failure]:
        try:
            what = json.loads(line)
            if "failure" in what:
                kind = what["failure"]
                return Failure(kind if kind in CLASSES else "crashed", str(what["message"]))
            self.journal.reach(row, what["stage"], what.get("facts"))
        except (ValueError, KeyError, TypeError):
            return Failure("crashed", "the process sent something other than progress")
        return None

    # --- Stages that run here ---------------------------------------------------------------------

    def _fetch(self, row: Row) -> None:
        model = self._models.get(row.id)
        source = self._sources.get(row.source)
        os.makedirs(self.work(row), exist_ok=True)
        try:
            if model is None or source is None:
                raise Failure("not_found", f"{row.source} is not among the sources any more")
            facts = source.fetch(model)
        except Failure as failure:
            self.journal.fail(row, failure.kind, failure.message)
            return
        self.journal.reach(row, "fetched", {
            **facts, "seed": self.options.seed, "versions": _versions(facts["library"])})

    def _hash(self, row: Row) -> None:
        try:
            hashes = publishing.hashes_of(os.path.join(self.work(row), "captured", row.place))
        except (Failure, OSError, ValueError, KeyError) as error:
            failure = error if isinstance(error, Failure) else Failure("capture", str(error))
            self._fail(row, failure, 0)
            return
        self.journal.reach(row, "hashed", {"hashes": hashes})

    def _publish_ready(self) -> None:
        """Ends each model that is ready if all models before it have ended."""
        for row in self.rows:
            if not row.ended and row.stage not in _READY:
                break
            if not row.ended:
                self._publish(row)

    def _publish(self, row: Row) -> None:
        work = self.work(row)
        if row.facts["licence"] is None and not self.options.allow_unknown_licence:
            row.message = "nobody says under which licence it is"
            self.journal.publish(row, "withheld", {})
            self._clean(row, "captured")
            return
        repeated = publishing.same_as(row, self.journal)
        self.journal.reach(row, "deduplicated", {"same_as": repeated})
        new = {hash: publishing.sample_place(row, place)
               for place, hash in row.facts["hashes"].items() if place not in repeated}
        if new:
            publishing.publish(row, self.folder, os.path.join(work, "captured", row.place),
                               os.path.join(work, "capture.py"), repeated)
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

    def _repair(self, row: Row, failure: Failure, seconds: float) -> bool:
        """Returns whether the repair command changed the script. Then the model is tried again."""
        script = os.path.join(self.work(row), "capture.py")
        if (self.options.repair is None or row.repairs >= MAX_REPAIRS
                or failure.kind not in REPAIRABLE or not os.path.exists(script)):
            return False
        with open(script, "rb") as file:
            before = file.read()
        self.journal.count_repair(row)
        told = json.dumps({"model": row.id, "stage": row.stage, "class": failure.kind,
                           "message": failure.message, "attempt": row.repairs, "script": script,
                           "log": os.path.join(self.work(row), "log.txt")})
        try:
            done = subprocess.run(shlex.split(self.options.repair), input=told, text=True,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  timeout=REPAIR_SECONDS)
        except (OSError, subprocess.TimeoutExpired, ValueError):
            return False
        with open(script, "rb") as file:
            changed = file.read() != before
        if done.returncode != 0 or not changed:
            return False
        row.seconds += seconds
        return True

    def work(self, row: Row) -> str:
        """Returns the folder for the work on a model."""
        return os.path.join(self.folder, "work", row.place)


def _place(id: str) -> str:
    """Returns the name of a model's folders: ORG--NAME, as in the hub."""
    made = id.replace("/", "--").replace(":", "--")
    return "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in made)


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except FileNotFoundError:
        pass


def _versions(library: str) -> Dict[str, str]:
    found = {"python": platform.python_version(), "graphnet": graphnet_ir.__version__}
    for name in ("torch", library):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return found


def harvest(sources: Sequence[str], output: str, options: Optional[Options] = None,
            progress: Optional[Callable[[Runner], None]] = None) -> List[Row]:
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
