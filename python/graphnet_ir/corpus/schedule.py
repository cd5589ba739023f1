"""Which task of a job runs when: on one machine, on the nodes of a cluster, and on machines that a
test makes up.

A task writes one file, whole, and the same bytes each time. So one whose machine was lost runs again,
and one that takes long may run twice at a time.
"""

from __future__ import annotations

import collections
import heapq
from collections.abc import Callable, Sequence
from typing import Protocol

MOST_LOSSES = 5
"""A task that loses so many machines may be the reason. It runs no more."""

SLOW = 2.0
"""A task that runs so many times as long as most gets a copy, where there is nothing else to do."""

_LOOK_SECONDS = 1.0
_FEW = 10  # From the times of so many tasks on it is known what is long.
_RECENT = 1000  # times of tasks that are remembered


class Lost(Exception):
    """The machine that ran a task was lost."""


class Pool(Protocol):
    """What runs tasks."""

    copies: bool
    """Whether a copy of a slow task may be faster, because it runs on another machine."""

    def slots(self) -> int:
        """Returns how many tasks can run at a time, which may change."""

    def start(self, number: int) -> None:
        """Begins to run a task, which may be running already."""

    def ended(self, seconds: float) -> list[tuple[int, BaseException | None]]:
        """Waits until tasks end, or some seconds. Returns them with what they raised: Lost, or what
        ends the job."""

    def now(self) -> float:
        """Returns the time in seconds."""


class _Running:
    """Tasks that run, in the order in which they began."""

    def __init__(self) -> None:
        self.copies: dict[int, int] = {}
        self.begun: dict[int, float] = {}  # when the first copy began
        self._order: list[tuple[float, int]] = []

    def begin(self, number: int, time: float) -> None:
        if number not in self.begun:
            self.begun[number] = time
            heapq.heappush(self._order, (time, number))
        self.copies[number] = self.copies.get(number, 0) + 1

    def end(self, number: int) -> None:
        self.copies[number] -= 1
        if not self.copies[number]:
            del self.copies[number]

    def slowest(self, before: float) -> int | None:
        """Takes the task with one copy that began first, if it began before some time."""
        while self._order and self._order[0][0] < before:
            time, number = heapq.heappop(self._order)
            if self.begun.get(number) == time and self.copies.get(number) == 1:
                return number
        return None


def run(tasks: Sequence[int], pool: Pool, done: Callable[[int], None]) -> list[int]:
    """Runs tasks, and calls done for each. Raises what a task raised. Returns the tasks that lost
    MOST_LOSSES machines, when all others are done. Copies may still be running then."""
    waiting: collections.deque[int] = collections.deque(tasks)
    left = set(tasks)
    running = _Running()
    losses: dict[int, int] = collections.Counter()
    given_up: list[int] = []
    times: collections.deque[float] = collections.deque(maxlen=_RECENT)
    count = 0  # of tasks and copies that run
    while left:
        slots = max(1, pool.slots())
        while waiting and count < slots:
            number = waiting.popleft()
            running.begin(number, pool.now())
            pool.start(number)
            count += 1
        if pool.copies and len(times) >= _FEW and count < slots:
            long = SLOW * sorted(times)[len(times) // 2]
            while count < slots and (slow := running.slowest(pool.now() - long)) is not None:
                running.begin(slow, pool.now())
                pool.start(slow)
                count += 1
        for number, error in pool.ended(_LOOK_SECONDS):
            count -= 1
            running.end(number)
            if number not in left:  # Its copy was faster.
                continue
            if error is None:
                times.append(pool.now() - running.begun.pop(number))
                left.discard(number)
                done(number)
            elif not isinstance(error, Lost):
                raise error
            else:
                losses[number] += 1
                if number in running.copies:
                    continue
                running.begun.pop(number)
                if losses[number] >= MOST_LOSSES:
                    left.discard(number)
                    given_up.append(number)
                else:
                    waiting.appendleft(number)
    return given_up
