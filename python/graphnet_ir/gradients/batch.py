"""Differentiates many samples, several at a time, each under limits, and can go on after it ended.

    OUT/eval_forward/NAME, OUT/train_forward/NAME, OUT/train_backward/NAME    the graphs
    OUT/gradients.jsonl                                                       a row for each sample

A row is written when the graphs of its sample are in their places, so a sample with a row is done.
"""

from __future__ import annotations

import collections
import dataclasses
import fcntl
import json
import math
import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import graphnet_ir
from graphnet_ir._errors import made_error
from graphnet_ir.gradients import worker
from graphnet_ir.harvest.failures import writable
from graphnet_ir.limited.processes import Group, Limits
from graphnet_ir.loading import read_list

ROWS = "gradients.jsonl"
_WORK = ".work"


@dataclass(frozen=True)
class Options:
    """The options of a batch."""

    jobs: int = 1  # samples at a time
    limits: Limits = field(default_factory=Limits)  # of each sample; bytes are those of its process
    seed: int = 0
    inputs: bool = False
    symbols: bool = True  # are kept where they can be


Row = dict[str, Any]


def named_samples(inputs: Sequence[str], root: str | None = None) -> list[tuple[str, str]]:
    """Returns the paths of samples and their names: below the folder that was given, or their own.

    root: the folder below which the names begin, if it is not the input.
    """
    found = []
    for given in inputs:
        for path in graphnet_ir.find_samples([given]):
            below = os.path.relpath(path, given if root is None else root)
            if below == "." or below.split(os.sep)[0] == "..":
                below = os.path.basename(os.path.normpath(path))
            found.append((path, below if os.path.isdir(path) else os.path.splitext(below)[0]))
    return found


def listed_paths(file: str, inputs: Sequence[str]) -> list[str]:
    """Returns the paths that a list names, below IN or, without IN, from the current folder.

    Raises ValueError if there are several IN, or if a line names nothing below IN or is there twice.
    """
    if len(inputs) > 1:
        raise ValueError("--list: its paths are below one IN, and several are given")
    paths: list[str] = []
    for line in read_list(file):
        below = os.path.normpath(line)
        if inputs and (os.path.isabs(below) or below.split(os.sep)[0] == ".."):
            raise ValueError(f"{file}: {below} is not a path below IN")
        path = os.path.join(*inputs, below)
        if path in paths:
            raise ValueError(f"{file}: {below} is there twice")
        paths.append(path)
    if not paths:
        raise ValueError(f"{file}: names no sample")
    return paths


class Batch:
    """One run. `rows` has what is known of each sample, by its name."""

    def __init__(
        self,
        samples: Sequence[tuple[str, str]],
        out: str,
        options: Options,
        resume: bool = False,
        told: Callable[[Row], None] | None = None,
    ) -> None:
        """told: gets each row when it is made. Raises Error if OUT has other files, or another
        process writes to it."""
        self._samples = list(samples)
        self._out = os.path.abspath(out)
        self._options = options
        self._told = told or (lambda row: None)
        self._work = os.path.join(self._out, _WORK)
        self.rows: dict[str, Row] = {}
        os.makedirs(self._out, exist_ok=True)
        others = set(os.listdir(self._out)) - {ROWS, _WORK, *worker.TREES}
        if others:
            raise made_error(
                "already_exists", f"{out} has other files, such as {writable(min(others))}"
            )
        if os.listdir(self._out) and not resume:
            raise made_error("already_exists", f"{out} is not empty; use --resume to go on with it")
        self._file = open(os.path.join(self._out, ROWS), "a+b")  # noqa: SIM115 (closed by close)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise made_error("failed_precondition", f"another process writes {out}") from error
        self._read_rows()

    def _read_rows(self) -> None:
        """Reads the rows of an earlier run, and cuts off what it had not written to the end."""
        self._file.seek(0)
        whole = 0
        for line in self._file.read().splitlines(keepends=True):
            try:
                row = json.loads(line)
                name = str(row["name"])
            except (ValueError, KeyError, TypeError, RecursionError):
                break
            if not line.endswith(b"\n"):
                break
            self.rows[name] = row
            whole += len(line)
        self._file.truncate(whole)

    def close(self) -> None:
        """Lets others write to the folder."""
        shutil.rmtree(self._work, ignore_errors=True)
        self._file.close()

    def run(self) -> None:
        """Differentiates the samples that have no row. Returns when all have one."""
        todo: list[tuple[str, str]] = []
        paths = {name: row["path"] for name, row in self.rows.items()}
        for path, name in self._samples:
            known = paths.setdefault(name, path)
            if known != path:
                message = f"{known} has the same name {name}"
                self._told(
                    {**_refused("has the name of another", message), "path": path, "name": name}
                )
            elif name not in self.rows and (path, name) not in todo:
                todo.append((path, name))
        if todo:
            self._differentiate(todo)

    def _differentiate(self, todo: list[tuple[str, str]]) -> None:
        shutil.rmtree(self._work, ignore_errors=True)
        os.makedirs(self._work)
        jobs = max(1, min(self._options.jobs, len(todo)))
        work = {
            "paths": [os.path.abspath(path) for path, _ in todo],
            "threads": max(1, (os.cpu_count() or 1) // jobs),
            "options": {
                "seed": self._options.seed,
                "inputs": self._options.inputs,
                "symbols": self._options.symbols,
            },
        }
        with open(os.path.join(self._work, worker.WORK), "w", encoding="utf-8") as file:
            json.dump(work, file)
        processes: list[_Process] = []
        left = set(range(len(todo)))
        try:
            while left:
                processes = [process for process in processes if not process.ended]
                while len(processes) < min(jobs, len(left)):
                    processes.append(_Process(self._work, self._options.limits))
                time.sleep(0.1)
                for process in processes:
                    for number, row in process.look():
                        left.discard(number)
                        self._keep(*todo[number], number, row)
        finally:
            for process in processes:
                process.close()

    def _keep(self, path: str, name: str, number: int, row: Row) -> None:
        """Moves the graphs of a sample to their places, and writes its row."""
        row = {"path": path, "name": name, **row}
        made = os.path.join(self._work, f"made{number}")
        if "cause" not in row:
            for tree in worker.TREES:
                place = os.path.join(self._out, tree, name)
                os.makedirs(os.path.dirname(place), exist_ok=True)
                shutil.rmtree(place, ignore_errors=True)  # of a run that was killed before its row
                os.rename(worker.place_of(self._work, number, tree), place)
        shutil.rmtree(made, ignore_errors=True)
        self._file.write(json.dumps(row).encode() + b"\n")
        self._file.flush()
        self.rows[name] = row
        self._told(row)


def _refused(cause: str, message: str) -> Row:
    return {"cause": cause, "operator": "", "message": message}


class _Process:
    """A process that differentiates samples one after the other, and is ended if one exceeds the
    limits."""

    def __init__(self, folder: str, limits: Limits) -> None:
        self.ended = False
        self._folder = folder
        self._seconds = limits.seconds
        self._number: int | None = None
        self._begun = 0.0
        self._done = 0
        self._has_symbols = False  # those of the sample are to be kept
        own = os.path.join(folder, f"process{len(os.listdir(folder))}")
        os.makedirs(own)
        self._log = os.path.join(own, "log.txt")
        self._group = Group(
            [sys.executable, "-P", "-m", "graphnet_ir.gradients.worker", folder],
            own,
            dict(os.environ),
            dataclasses.replace(limits, seconds=math.inf),  # which holds for each sample
        )

    def look(self) -> list[tuple[int, Row]]:
        """Returns the samples that are done since the last call, with their rows."""
        lines, is_open = self._group.drain()
        rows = []
        for line in lines:
            told = json.loads(line)
            if "begin" in told:
                self._number, self._begun = told["begin"], time.monotonic()
                self._has_symbols = False
            elif "symbols" in told:
                self._has_symbols = True
            else:
                rows.append((self._number, told["row"]))
                self._number = None
                self._done += 1
        over = self._group.over()
        if self._number is not None and time.monotonic() - self._begun > self._seconds:
            over = "time", f"more than {self._seconds:g} seconds"
        if over is None and is_open:
            return rows  # type: ignore[return-value]
        self.close()
        if self._number is not None:
            if over is None:
                cause, message = "ends the process", self._how()
            else:
                cause, message = f"exceeds the limit of {over[0]}", over[1]
            if over is None and self._done and self._group.code != 0:
                # Earlier samples may be to blame: a fresh process tries it again.
                self._gives_back(self._number)
            elif self._has_symbols:
                # At the sizes of its example, it may do better.
                with open(
                    worker.fixed_of(self._folder, self._number), "w", encoding="utf-8"
                ) as file:
                    file.write(f"with symbols, it {cause}: {message}")
                self._gives_back(self._number)
            else:
                rows.append((self._number, _refused(cause, message)))
        elif over is not None or self._group.code != 0:
            if not self._done and not rows:
                raise made_error("internal", f"a process does not start: {self._how()}")
        return rows  # type: ignore[return-value]

    def _gives_back(self, number: int) -> None:
        """Lets a fresh process claim a sample."""
        shutil.rmtree(os.path.join(self._folder, f"made{number}"), ignore_errors=True)
        os.unlink(worker.claim_of(self._folder, number))

    def _how(self) -> str:
        code = self._group.code or 0
        if code < 0:
            return f"ended by signal {-code}"
        with open(self._log, encoding="utf-8", errors="backslashreplace") as file:
            said = [line.strip() for line in file if line.strip()]
        return (said[-1][:300] if said else "") or f"ended with {code}"

    def close(self) -> None:
        """Ends the process."""
        if not self.ended:
            self.ended = True
            self._group.close()


def summary(rows: Sequence[Row]) -> str:
    """Returns a line of counts, and one for each cause of a refusal."""
    made = [row for row in rows if "cause" not in row]
    refused = [row for row in rows if "cause" in row]
    equal = sum(row["equal"] == row["values"] for row in made)
    lines = [
        f"{len(rows)} sample{'s' * (len(rows) != 1)}: {len(made)} differentiated, "
        f"{equal} of them equal to eager autograd in bits, {len(refused)} refused"
    ]
    if equal < len(made):
        largest = max(row["largest"] for row in made)
        near = sum(row["near"] for row in made)
        lines.append(
            f"the others differ by rounding of at most {largest:.2g}"
            + (f"; {near} gradients about 0 are as near to float64 as eager's" if near else "")
        )
    kept, fixed = sum(bool(row["symbols"]) for row in made), sum(bool(row["fixed"]) for row in made)
    if kept or fixed:
        lines.append(
            f"{kept} keep their symbols as sizes; {fixed} have the sizes of the example alone"
        )
    causes = collections.Counter((row["cause"], row["operator"]) for row in refused)
    for (cause, operator), count in sorted(causes.items(), key=lambda one: (-one[1], one[0])):
        lines.append(f"  {count} {cause}" + (f": {operator}" if operator else ""))
    return writable("\n".join(lines))
