"""Runs the tasks of a job as tasks of Ray, on the nodes of a cluster.

The same function does a task here and there (Job.run_task), and schedule.py says which one runs when.
Ray only runs it somewhere. What a task makes is a file in the folder of the job, which all nodes see.
"""

from __future__ import annotations

import json
import os
import queue
import select
import shutil
import socket
import sys
import tempfile
import time
from typing import Any

from graphnet_ir._core import Error
from graphnet_ir._errors import made_error
from graphnet_ir.corpus.jobs import Job, all_of
from graphnet_ir.corpus.schedule import Lost
from graphnet_ir.limited.processes import Group, Limits

# Ray reads these when it is imported.
_SETTINGS = {"RAY_USAGE_STATS_ENABLED": "0"}  # It tells nobody about its use.
_LOCAL = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""If this is 0, Ray listens to this machine alone, on any system."""

_MOST_NODES = 64
_START_SECONDS = 300
_ANSWER_SECONDS = 20
_ASK_SECONDS = 2


def _ray(settings: dict[str, str]) -> Any:
    os.environ.update(settings)
    try:
        import ray  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as error:
        raise made_error(
            "failed_precondition", f"this needs ray: pip install 'graphnet_ir[ray]' ({error})"
        ) from error
    return ray


def run_task(path: str, name: str, work: Any, bounds: Any, number: int) -> None:
    """Does a task of a job, on a node."""
    from graphnet_ir.corpus.store import Corpus

    Job(Corpus(path), name, work, bounds).run_task(number)


class LocalNodes:
    """A cluster of a few nodes on this machine, which ends with this process."""

    def __init__(self, count: int):
        # Ray's sockets need short paths.
        self.folder = tempfile.mkdtemp(prefix="graphnet-ray-", dir="/tmp")
        self._group = Group(
            [sys.executable, "-m", "graphnet_ir.corpus.ray_nodes", str(count), self.folder],
            self.folder,
            {**os.environ, "RAY_TMPDIR": self.folder},
            Limits(seconds=1e9, memory=1 << 60, processes=1 << 20, files=1 << 60),
        )
        self.address = self._wait()

    def _wait(self) -> str:
        begin = time.monotonic()
        while time.monotonic() - begin < _START_SECONDS:
            select.select([self._group.events], [], [], 0.1)
            lines, is_open = self._group.drain()
            for line in lines:
                return str(json.loads(line)["address"])
            if not is_open:
                break
        self.close()
        raise made_error("failed_precondition", "Ray's nodes do not start")

    def close(self) -> None:
        self._group.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class RayPool:
    """The nodes of a cluster: place is its address, or 'local:N' for N nodes on this machine."""

    copies = True

    def __init__(self, place: str):
        self._nodes: LocalNodes | None = None
        self._ended: queue.SimpleQueue[tuple[int, BaseException | None]] = queue.SimpleQueue()
        self._slots, self._asked = 0, float("-inf")
        settings = dict(_SETTINGS)
        count = 0
        if place.startswith("local:"):
            count = int(place[6:]) if place[6:].isdecimal() and len(place) < 9 else 0
            if not 1 <= count <= _MOST_NODES:
                raise made_error(
                    "invalid_argument", f"'{place}' is not local:N with N from 1 to {_MOST_NODES}"
                )
            settings[_LOCAL] = "0"
            if "ray" in sys.modules and os.environ.get(_LOCAL) != "0":
                raise made_error(
                    "failed_precondition",
                    "ray was imported already, and would listen to other machines: "
                    f"set {_LOCAL}=0 before",
                )
        self._ray = _ray(settings)
        if count:
            self._nodes = LocalNodes(count)
            place = self._nodes.address
        try:
            _probe(place)
            self._ray.init(address=place, log_to_driver=False, logging_level="error")
        except (OSError, ValueError, RuntimeError) as error:
            self.close()
            raise made_error(
                "failed_precondition", f"there is no Ray cluster at {place}: {str(error)[:300]}"
            ) from error
        self._task = self._ray.remote(num_cpus=1, max_retries=0)(run_task)

    def __enter__(self) -> RayPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._ray.shutdown()
        if self._nodes is not None:
            self._nodes.close()

    def take(self, job: Any) -> None:
        self._job = job.told

    def slots(self) -> int:
        """Asks Ray now and then, as nodes come and go."""
        if self.now() - self._asked > _ASK_SECONDS:
            self._asked = self.now()
            self._slots = sum(
                int(node["Resources"].get("CPU", 0)) for node in self._ray.nodes() if node["Alive"]
            )
        return self._slots

    def start(self, number: int) -> None:
        self._task.remote(*self._job, number).future().add_done_callback(
            lambda done: self._ended.put((number, self._error(done.exception())))
        )

    def ended(self, seconds: float) -> list[tuple[int, BaseException | None]]:
        return all_of(self._ended, seconds)

    def now(self) -> float:
        return time.monotonic()

    def _error(self, error: BaseException | None) -> BaseException | None:
        """Returns what an exception of Ray means."""
        errors = self._ray.exceptions
        if error is None:
            return None
        if isinstance(
            error,
            (
                errors.WorkerCrashedError,
                errors.NodeDiedError,
                errors.OutOfMemoryError,
                errors.ObjectLostError,
            ),
        ):
            return Lost(str(error))
        if isinstance(cause := getattr(error, "cause", None), Error):
            return cause
        lines = str(error).strip().splitlines()
        return made_error("internal", lines[-1] if lines else type(error).__name__)


def _probe(place: str) -> None:
    """Raises OSError if nothing answers at HOST:PORT. Ray would try for ever."""
    host, _, port = place.rpartition(":")
    if host and "/" not in host and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=_ANSWER_SECONDS).close()
