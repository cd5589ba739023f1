"""The processes of one model: started, watched, and ended with all processes they started."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

MARK = "GRAPHNET_HARVEST_MODEL"  # in the environment of all processes of a model
MAX_EVENT = 4_000_000  # bytes of a line of a worker's progress
LOG_HEAD = 1_000_000  # bytes of printed output that are kept


@dataclass(frozen=True)
class Limits:
    """The limits of a model, which all its processes share."""

    seconds: float = 600
    memory: int = 8 << 30  # bytes that they hold together
    processes: int = 32  # at a time
    output: int = 16 << 20  # bytes that they print
    files: int = 4 << 30  # bytes in their folder


def marked(mark: str) -> List[int]:
    """Returns the processes whose environment has the mark, even those that left the group."""
    entry = f"{MARK}={mark}".encode()
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    variables = file.read().split(b"\0")
            except OSError:
                continue
            if any(variable == entry or variable.startswith(entry + b"/")
                   for variable in variables):
                found.append(int(name))
    return found


def end_all(mark: str) -> int:
    """Ends all processes with the mark, and returns how many there were."""
    ended = 0
    for _ in range(50):
        here = [process for process in marked(mark) if process != os.getpid()]
        if not here:
            break
        ended = max(ended, len(here))
        for process in here:
            try:
                os.kill(process, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
        time.sleep(0.02)
    return ended


def _held(process: int) -> int:
    """Returns the bytes that a process holds; memory that n processes share counts as an nth."""
    try:
        with open(f"/proc/{process}/smaps_rollup", encoding="ascii") as file:
            return sum(int(line.split()[1]) * 1024 for line in file
                       if line.startswith(("Pss_Anon:", "Pss_Shmem:")))
    except (OSError, ValueError):
        return 0


def size_of(folder: str) -> int:
    """Returns the bytes of the files in a folder that may change meanwhile."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(path, name)).st_blocks * 512
            except OSError:
                pass
    return total


class Group:
    """The processes of one model: a command in its own session, and the processes it starts."""

    def __init__(self, command: List[str], folder: str, mark: str, environment: Dict[str, str],
                 limits: Limits):
        self.folder, self.mark, self.limits = folder, mark, limits
        self.begin = time.monotonic()
        self.printed = 0
        self._looked = 0.0
        self._told = b""
        events, told = os.pipe()
        self.log = open(os.path.join(folder, "log.txt"), "wb")  # noqa: SIM115 (closed by close)
        try:
            self.process = subprocess.Popen(
                [*command, str(told)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, pass_fds=(told,), start_new_session=True,
                cwd=os.path.join(folder, "tmp"), env={**environment, MARK: mark})
        finally:
            os.close(told)
        self.events: Any = os.fdopen(events, "rb", buffering=0)
        assert self.process.stdout is not None
        self.output = self.process.stdout
        for pipe in (self.events, self.output):
            os.set_blocking(pipe.fileno(), False)

    def drain(self) -> List[bytes]:
        """Returns the lines of progress since the last call."""
        for pipe, take in ((self.output, self._print), (self.events, self._tell)):
            for _ in range(64):
                try:
                    chunk = os.read(pipe.fileno(), 1 << 16)
                except BlockingIOError:
                    break
                if not chunk:
                    break
                take(chunk)
        *lines, self._told = self._told.split(b"\n")
        return lines

    def _print(self, chunk: bytes) -> None:
        if self.printed < LOG_HEAD:
            self.log.write(chunk[:LOG_HEAD - self.printed])
        self.printed += len(chunk)

    def _tell(self, chunk: bytes) -> None:
        if len(self._told) < MAX_EVENT:
            self._told += chunk

    def over(self) -> Optional[Tuple[str, str]]:
        """Returns the class and message of a limit that it exceeds, if any."""
        limits = self.limits
        if self.seconds > limits.seconds:
            return "time", f"more than {limits.seconds:g} seconds"
        if self.printed > limits.output:
            return "output", f"more than {limits.output} bytes printed"
        now = time.monotonic()
        if now - self._looked < 0.2:
            return None
        processes = marked(self.mark)
        memory = sum(map(_held, processes))
        if len(processes) > limits.processes:
            return "processes", f"more than {limits.processes} processes at a time"
        if memory > limits.memory:
            return "memory", f"more than {limits.memory / 1e9:.1f} GB held"
        if size_of(self.folder) > limits.files:
            return "files", f"more than {limits.files} bytes written"
        self._looked = time.monotonic()
        return None

    @property
    def seconds(self) -> float:
        """Returns the seconds since it began."""
        return time.monotonic() - self.begin

    def close(self) -> int:
        """Ends all remaining processes, and returns how many there were besides the first."""
        ended_itself = self.process.poll() is not None
        left = end_all(self.mark)
        self.process.wait()
        for pipe in (self.events, self.output, self.log):
            pipe.close()
        return left if ended_itself else max(0, left - 1)
