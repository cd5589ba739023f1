"""The keeper of one model's processes: a parent that none of them can leave.

usage: keeper.py LIFE REPORT PASSED COMMAND...

Started by processes.py. It runs the command in a session of its own. Processes whose parent ends
become the keeper's own children, whatever their session or environment. It ends all of them when
the command ends, or when LIFE is closed, which happens when the harvest itself ends for any reason.
Then it writes to REPORT the exit code of the command and how many processes the command left.
LIFE, REPORT and PASSED are descriptors; the command gets PASSED.

This file imports nothing of graphnet_ir, so that it starts at once.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from typing import NamedTuple

_PR_SET_CHILD_SUBREAPER = 36
_GRACE = 0.5  # seconds in which helpers of an ended command may end by themselves
_PATIENCE = 10.0  # seconds after which processes that cannot be ended are given up


class Process(NamedTuple):
    """A row of the system's table of processes. `start` tells later processes of its number."""

    parent: int
    session: int
    start: int
    lives: bool


def table() -> dict[int, Process]:
    """Returns all processes by their numbers."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                parts = file.read().rpartition(b")")[2].split()
            found[int(name)] = Process(
                int(parts[1]), int(parts[3]), int(parts[19]), parts[0] not in (b"Z", b"X")
            )
        except (OSError, IndexError, ValueError):  # It has ended meanwhile.
            continue
    return found


def family(processes: dict[int, Process], roots: Iterable[int]) -> set[int]:
    """Returns the roots and all that descend from them."""
    children: dict[int, list[int]] = {}
    for number, process in processes.items():
        children.setdefault(process.parent, []).append(number)
    found: set[int] = set()
    pending = list(roots)
    while pending:
        number = pending.pop()
        if number not in found:
            found.add(number)
            pending += children.get(number, [])
    return found


def end(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def _living() -> set[int]:
    processes = table()
    return {
        number
        for number in family(processes, [os.getpid()]) - {os.getpid()}
        if processes[number].lives
    }


def _reap(codes: dict[int, int]) -> None:
    """Collects the exit codes of children that ended."""
    while True:
        try:
            child, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if child == 0:
            return
        codes[child] = os.waitstatus_to_exitcode(status)


def main() -> None:
    life, report, passed = map(int, sys.argv[1:4])
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    codes: dict[int, int] = {}
    try:
        command = subprocess.Popen(sys.argv[4:], pass_fds=(passed,), start_new_session=True).pid
    except OSError as error:
        print(error, file=sys.stderr)
        sys.exit(127)
    os.close(passed)
    poll = select.poll()
    poll.register(life, select.POLLIN)
    while command not in codes and not poll.poll(50):
        _reap(codes)
    begin = time.monotonic()
    while command in codes and _living() and time.monotonic() - begin < _GRACE:
        time.sleep(0.02)
        _reap(codes)
    left = _living() - {command}
    while (living := _living()) and time.monotonic() - begin < _PATIENCE:
        for process in living:
            end(process)
        time.sleep(0.01)
        _reap(codes)
    os.write(report, f"{codes.get(command, -signal.SIGKILL)} {len(left)}".encode())


if __name__ == "__main__":
    main()
