"""The processes of one model: started, watched, and ended with all processes they started."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Any

from graphnet_ir.limited import keeper

MAX_EVENT = 4_000_000  # bytes of a line of a worker's progress
END_SECONDS = 30  # in which a keeper ends its processes
LOG_HEAD = 1_000_000  # bytes of printed output that are kept


@dataclass(frozen=True)
class Limits:
    """The limits of a model, which all its processes share."""

    seconds: float = 600
    memory: int = 8 << 30  # bytes that they hold together
    processes: int = 32  # at a time
    output: int = 16 << 20  # bytes that they print
    files: int = 4 << 30  # bytes in their folder


def write_line(descriptor: int, **told: Any) -> None:
    """Writes what a process tells its driver as a line of JSON, whole."""
    data = (json.dumps(told) + "\n").encode()
    while data:
        data = data[os.write(descriptor, data) :]


def _held(process: int) -> int:
    """Returns the bytes that a process holds; memory that n processes share counts as an nth."""
    try:
        with open(f"/proc/{process}/smaps_rollup", encoding="ascii") as file:
            return sum(
                int(line.split()[1]) * 1024
                for line in file
                if line.startswith(("Pss_Anon:", "Pss_Shmem:"))
            )
    except (OSError, ValueError):
        pass
    try:  # A process can forbid the above, but not this.
        with open(f"/proc/{process}/statm", encoding="ascii") as file:
            fields = file.read().split()
        return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGESIZE")
    except (OSError, ValueError, IndexError):
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
    """A command in its own session, with all processes that it starts, below a keeper."""

    def __init__(
        self,
        command: list[str],
        folder: str,
        environment: dict[str, str],
        limits: Limits,
        *,
        cwd: str | None = None,
        given: str = "",
        log: str = "log.txt",
        keeps: tuple[int, ...] = (),
        tells: bool = True,
    ):
        """given: its standard input. log: the file of the folder for what it prints. keeps:
        descriptors that the keeper holds open. tells: its last argument is a descriptor, to which
        it writes lines of progress."""
        self.folder, self.limits = folder, limits
        self.begin = time.monotonic()
        self.printed = 0
        self.code: int | None = None  # the exit code of the command, when it has ended
        self._left = 0
        self._looked = 0.0
        self._told = b""
        self._seen: dict[int, int] = {}  # processes and when they started
        life, self._life = os.pipe()
        reported, report = os.pipe()
        events, told = os.pipe()
        try:
            self.log = open(os.path.join(folder, log), "wb")  # noqa: SIM115 (closed by close)
            with tempfile.TemporaryFile() as stdin:
                stdin.write(given.encode())
                stdin.seek(0)
                self.keeper = subprocess.Popen(
                    [
                        sys.executable,
                        "-I",
                        "-S",
                        keeper.__file__,
                        str(life),
                        str(report),
                        str(told),
                        *command,
                        *([str(told)] if tells else []),
                    ],
                    stdin=stdin,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    pass_fds=(life, report, told, *keeps),
                    start_new_session=True,
                    cwd=cwd,
                    env=environment,
                )
        except BaseException:
            for end in (events, reported, self._life):
                os.close(end)
            raise
        finally:
            for end in (life, report, told):
                os.close(end)
        self.events: Any = os.fdopen(events, "rb", buffering=0)
        self._reported: Any = os.fdopen(reported, "rb", buffering=0)
        assert self.keeper.stdout is not None
        self.output = self.keeper.stdout
        for pipe in (self.events, self.output):
            os.set_blocking(pipe.fileno(), False)

    @property
    def is_running(self) -> bool:
        """Whether the command or a process that it started may still run."""
        return self.keeper.poll() is None

    def drain(self) -> tuple[list[bytes], bool]:
        """Returns the lines of progress since the last call, and whether more can come."""
        is_open = True
        for pipe, take in ((self.output, self._print), (self.events, self._tell)):
            for _ in range(64):
                try:
                    chunk = os.read(pipe.fileno(), 1 << 16)
                except BlockingIOError:
                    break
                if not chunk:
                    is_open = is_open and pipe is not self.events
                    break
                take(chunk)
        *lines, self._told = self._told.split(b"\n")
        if len(self._told) >= MAX_EVENT:
            lines, self._told = [*lines, self._told], b""
        return lines, is_open

    def _print(self, chunk: bytes) -> None:
        if self.printed < LOG_HEAD:
            self.log.write(chunk[: LOG_HEAD - self.printed])
        self.printed += len(chunk)

    def _tell(self, chunk: bytes) -> None:
        if len(self._told) < MAX_EVENT:
            self._told += chunk

    def _members(self) -> list[int]:
        """Returns its living processes without the keeper, also those that a model took from it."""
        processes = keeper.table()
        roots = {
            number
            for number, start in self._seen.items()
            if number in processes and processes[number].start == start
        }
        if self.keeper.returncode is None:  # Otherwise its number may be another's.
            roots.add(self.keeper.pid)
        found = keeper.family(processes, roots) - {self.keeper.pid}
        sessions = {processes[number].session for number in found if number in processes} - {
            0,
            os.getsid(0),
            self.keeper.pid,
        }
        found |= {number for number, process in processes.items() if process.session in sessions}
        living = [number for number in found if number in processes and processes[number].lives]
        self._seen.update((number, processes[number].start) for number in living)
        return living

    def over(self) -> tuple[str, str] | None:
        """Returns the class and message of a limit that it exceeds, if any."""
        limits = self.limits
        if self.seconds > limits.seconds:
            return "time", f"more than {limits.seconds:g} seconds"
        if self.printed > limits.output:
            return "output", f"more than {limits.output} bytes printed"
        now = time.monotonic()
        if now - self._looked < 0.2:
            return None
        processes = self._members()
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
        """Ends all remaining processes, and returns how many the command left behind."""
        os.close(self._life)
        try:
            self.keeper.send_signal(signal.SIGCONT)  # A model may have stopped it.
            self.keeper.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.keeper.kill()  # What it kept is ended below.
            self.keeper.wait()
        try:
            code, left = self._reported.read(100).split()
            self.code, self._left = int(code), int(left)
        except ValueError:
            self.code = self.keeper.returncode
        for _ in range(50):
            # These remain only if the model ended its keeper.
            members = self._members()
            if not members:
                break
            self._left = max(self._left, len(members))
            for process in members:
                keeper.end(process)
            time.sleep(0.02)
        for pipe in (self.events, self._reported, self.output, self.log):
            pipe.close()
        return self._left
