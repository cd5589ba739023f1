"""Judges compilers: benchmarks and scores of the program graphnet as records (docs/evaluation.md).

judged = graphnet_ir.bench("samples", ["nope", "jit"], trials=5)
pandas.DataFrame(judged.records())
judged.score().records()
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

from graphnet_ir import _core, commands
from graphnet_ir._core import Sample
from graphnet_ir._errors import made_error
from graphnet_ir._notebook import Bar, page_in_notebook, table

Path = Union[str, "os.PathLike[str]"]

# The columns of a shown table; records() has more.
_SHOWN = (
    "backend",
    "path",
    "status",
    "reason",
    "right_from_t",
    "speedup",
    "fluctuates",
    "prepare_ms",
)


@dataclass(frozen=True)
class Benchmark:
    """The results of a benchmark, whose files are in `folder`.

    `backends` has a dict for each compiler, with backend, log, samples, outcomes, unsteady and
    median_speedup.
    """

    folder: str
    backends: list[dict[str, Any]]
    _names: dict[str, str] = field(repr=False)  # names of samples that were objects, by their files

    @property
    def logs(self) -> list[str]:
        """The logs, one of each compiler, which score() reads."""
        return [row["log"] for row in self.backends]

    def records(self) -> list[dict[str, Any]]:
        """Returns a dict for each compiler and sample, with backend, path, status, speedup and the
        rest of NAME.jsonl."""
        made = []
        for row in self.backends:
            for record in _lines(os.path.splitext(row["log"])[0] + ".jsonl"):
                record["path"] = self._names.get(record["path"], record["path"])
                made.append({"backend": row["backend"], **record})
        return made

    def score(self, **options: Any) -> Scores:
        """Returns the scores of all logs; options are those of score()."""
        return score(self, **options)

    def _repr_html_(self) -> str:
        rows = [
            {
                **row,
                "log": os.path.basename(row["log"]),
                "outcomes": ", ".join(
                    f"{count} {outcome}" for outcome, count in row["outcomes"].items()
                ),
            }
            for row in self.backends
        ]
        return table(rows) + table(self.records(), _SHOWN)


@dataclass(frozen=True)
class Scores:
    """S(t) and ES(t) of one or more logs.

    `curves` has a dict for each log, as `graphnet score --json` prints it; `page` is the page of
    all, which needs nothing besides it.
    """

    curves: list[dict[str, Any]]
    page: str = field(repr=False)

    def records(self) -> list[dict[str, Any]]:
        """Returns a dict for each log and tolerance: curve, t, S, ES, their intervals of 95 % and
        the macro parameters."""
        made = []
        for curve in self.curves:
            for t, s in curve["S"].items():
                s_low, s_high = curve["intervals"]["S"][t]
                es_low, es_high = curve["intervals"]["ES"][t]
                macro = {
                    name: value
                    for name, value in curve["macro"][t].items()
                    if name not in ("S", "ES")
                }
                made.append(
                    {
                        "curve": curve["curve"],
                        "t": int(t),
                        "S": s,
                        "S_low": s_low,
                        "S_high": s_high,
                        "ES": curve["ES"][t],
                        "ES_low": es_low,
                        "ES_high": es_high,
                        **macro,
                    }
                )
        return made

    def _repr_html_(self) -> str:
        return page_in_notebook(self.page, 800)


def bench(
    samples: Sample | Path | Sequence[Sample | Path],
    backends: str | Sequence[str],
    *,
    out: Path | None = None,
    resume: bool = False,
    device: str = "cpu",
    warmup: int = 3,
    trials: int = 5,
    fresh_inputs: bool = False,
    oracle: bool = False,
    seed: int = 0,
    timeout: float = 600,
    memory: int = 0,
    jobs: int = 1,
    progress: bool | None = None,
) -> Benchmark:
    """Runs samples as they are and by compilers, compares the outputs and measures both.

    samples: samples, their files, or folders of them. backends: names that `graphnet backends`
    lists, and rewrites, such as 'pass:dce' or 'decompose:pieces=3'. out: the folder for the logs;
    without it they are deleted when nothing refers to the Benchmark any more. resume: continues the
    benchmark in out. timeout: seconds that a compiler may take for one step. memory: MiB that it
    may take, 0 for all free memory. jobs: the number of samples at once; more than one makes times
    unsteady. progress: shows a bar, by tqdm; None: in a notebook. docs/evaluation.md describes all
    other arguments.

    A compiler that fails, crashes or hangs gives a row of the result and not an error.
    """
    if resume and out is None:
        raise ValueError("resume needs the folder out of the earlier run")
    many = [samples] if isinstance(samples, (Sample, str, os.PathLike)) else list(samples)
    if not many:
        raise ValueError("no samples to run were given")
    if resume and any(isinstance(sample, Sample) for sample in many):
        raise ValueError("resume takes files and folders only: samples in memory may have changed")
    names = [backends] if isinstance(backends, str) else list(backends)
    with (
        contextlib.ExitStack() as kept,
        tempfile.TemporaryDirectory(prefix="graphnet-samples-") as scratch,
    ):
        if out is None:
            place = kept.enter_context(tempfile.TemporaryDirectory(prefix="graphnet-bench-"))
            folder = os.path.join(place, "bench")
        else:
            folder = os.fspath(out)
        files, titles = _stored(many, scratch)
        arguments = [
            "bench",
            "--json",
            "--progress=none",
            f"--backend={','.join(names)}",
            f"--resume={folder}" if resume else f"--out={folder}",
            f"--device={device}",
            f"--warmup={warmup}",
            f"--trials={trials}",
            f"--seed={seed}",
            f"--timeout={timeout}",
            f"--memory={memory}",
            f"--jobs={jobs}",
            *(["--fresh-inputs"] if fresh_inputs else []),
            *(["--oracle"] if oracle else []),
            "--",
            *files,
        ]
        compilers = len(",".join(names).split(","))
        with Bar("bench", lambda: compilers * len(_core.find_samples(files)), progress) as bar:
            document = _run_tool(arguments, _Counter(folder, bar).look)
        made = Benchmark(folder, document["backends"], titles)
        weakref.finalize(made, kept.pop_all().close)
        return made


def score(
    logs: Benchmark | Path | Sequence[Path],
    *,
    p: float = 0.0,
    b: float = 0.1,
    interpretation: str = "default",
) -> Scores:
    """Scores compilers by their logs: a Benchmark, files, or folders of them.

    p: the extra penalty for slowdowns. b: the score of a failure. interpretation: the failures that
    ES(t) forgives and from which t on: 'default', 'mismatch_extended' or 'report'
    (docs/evaluation.md). A log that cannot be scored is left out with a warning if there are
    others.
    """
    if isinstance(logs, Benchmark):
        logs = logs.logs
    files = [logs] if isinstance(logs, (str, os.PathLike)) else list(logs)
    if not files:
        raise ValueError("no logs to score were given")
    with tempfile.TemporaryDirectory(prefix="graphnet-score-") as scratch:
        path = os.path.join(scratch, "page.html")
        document = commands.score(
            *map(_plain, files), p=p, b=b, interpretation=interpretation, html=path
        )
        curves = [row for row in document["curves"] if "error" not in row]
        for row in document["curves"]:
            if "error" in row:
                warnings.warn(row["error"]["message"], stacklevel=2)
        if not curves:
            raise made_error("invalid_argument", "no log can be scored")
        with open(path, encoding="utf-8") as file:
            return Scores(curves, file.read())


def _plain(path: Path) -> str:
    """Returns a path that the program cannot take for an option."""
    text = os.fspath(path)
    return os.path.join(os.curdir, text) if text.startswith("-") else text


def _stored(samples: Sequence[Sample | Path], folder: str) -> tuple[list[str], dict[str, str]]:
    """Returns the files of samples, and the names of those that were written into a folder."""
    files, titles = [], {}
    for i, sample in enumerate(samples):
        if isinstance(sample, Sample):
            path = os.path.join(folder, f"{i}.pb")
            sample.save(path)
            titles[path] = sample.name or f"sample {i}"
        else:
            path = _plain(sample)
        files.append(path)
    return files, titles


def _lines(path: str) -> Iterator[dict[str, Any]]:
    with open(path, encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


class _Counter:
    """Counts the results that a benchmark has written."""

    def __init__(self, folder: str, bar: Bar):
        self._folder, self._bar = folder, bar
        self._read: dict[str, int] = {}

    def look(self) -> None:
        """Advances the bar by the number of new lines."""
        if not self._bar.is_shown or not os.path.isdir(self._folder):
            return
        for name in os.listdir(self._folder):
            if name.endswith(".jsonl"):
                with open(os.path.join(self._folder, name), "rb") as file:
                    file.seek(self._read.get(name, 0))
                    added = file.read()
                self._read[name] = self._read.get(name, 0) + len(added)
                self._bar.advance(added.count(b"\n"))


def _environment() -> dict[str, str]:
    """Returns this process's environment, in which the program finds Python's torch, and this
    Python, which reads corpora for it."""
    made = dict(os.environ)
    if sys.executable:
        made.setdefault("GRAPHNET_PYTHON", sys.executable)
    torch = importlib.util.find_spec("torch")
    if "LIBTORCH" not in made and torch is not None and torch.submodule_search_locations:
        made["LIBTORCH"] = list(torch.submodule_search_locations)[0]
    return made


def _run_tool(arguments: Sequence[str], look: Callable[[], None] = lambda: None) -> Any:
    """Runs the program graphnet and returns the JSON document that it prints.

    look: a function that is called now and then. Raises Error if the program has no result.
    """
    program = os.path.join(os.path.dirname(__file__), "bin", "graphnet")
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as told:
        with subprocess.Popen(
            [program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=told,
            env=_environment(),
        ) as process:
            try:
                wait = 0.01
                while True:
                    try:
                        process.wait(wait)
                        break
                    except subprocess.TimeoutExpired:
                        wait = min(2 * wait, 0.5)
                        look()
            except BaseException:  # Ctrl-C included: the workers end with the program
                process.terminate()
                raise
        look()
        printed.seek(0)
        told.seek(0)
        errors = told.read().decode(errors="replace").strip()
        try:
            document = json.loads(printed.read())
        except ValueError:
            document = {
                "error": {
                    "message": errors.splitlines()[-1]
                    if errors
                    else f"graphnet ended with code {process.returncode}"
                }
            }
    if "error" in document:
        raise made_error(
            "invalid_argument", document["error"]["message"].removeprefix("graphnet: ")
        )
    return document
