"""Which task of a job runs when, with machines and a clock that are made up."""

import heapq
import math
import random
import sys
import tempfile
import unittest
from typing import Dict, List, Optional, Tuple
from unittest import mock

from graphnet_ir import Error
from graphnet_ir.corpus import Corpus, schedule


class Pool:
    """Runs tasks one second each, in the order of their beginning."""

    def __init__(self, slots: int, fails: Dict[int, List[BaseException]]):
        self.copies = True
        self.fails, self.most = fails, 0
        self.begun: List[int] = []
        self.time, self.number_of_slots = 0.0, slots
        self.running: List[int] = []

    def slots(self) -> int:
        return self.number_of_slots

    def start(self, number: int) -> None:
        self.begun.append(number)
        self.running.append(number)
        self.most = max(self.most, len(self.running))

    def ended(self, seconds: float) -> List[Tuple[int, Optional[BaseException]]]:
        self.time += 1
        if not self.running:
            return []
        number = self.running.pop(0)
        fails = self.fails.get(number)
        return [(number, fails.pop(0) if fails else None)]

    def now(self) -> float:
        return self.time


class ScheduleTest(unittest.TestCase):

    def test_each_task_is_done_once_and_no_more_run_than_there_are_slots(self) -> None:
        for slots in (1, 3, 100):
            pool, done = Pool(slots, {}), []  # type: Pool, List[int]
            self.assertEqual(schedule.run(range(50), pool, done.append), [])
            self.assertEqual(sorted(done), list(range(50)))
            self.assertLessEqual(pool.most, slots)

    def test_a_lost_task_runs_again_and_not_for_ever(self) -> None:
        lost: Dict[int, List[BaseException]] = {
            3: [schedule.Lost()] * (schedule.MOST_LOSSES - 1),
            7: [schedule.Lost()] * 1000}
        pool, done = Pool(2, lost), []  # type: Pool, List[int]
        pool.copies = False
        self.assertEqual(schedule.run(range(10), pool, done.append), [7])
        # A job with such tasks says so.
        with tempfile.TemporaryDirectory() as place, \
                mock.patch.object(schedule, "run", lambda *_: [7, 9]):
            corpus = Corpus.create(f"{place}/c")
            with self.assertRaisesRegex(Error, "task 7 and 1 others lost 5 machines each: try again "
                                               "with smaller limits"):
                corpus.map([sys.executable, "-c", "pass"], name="lost")
        self.assertEqual(sorted(done), [0, 1, 2, 3, 4, 5, 6, 8, 9])
        self.assertEqual(pool.begun.count(3), schedule.MOST_LOSSES)
        self.assertEqual(pool.begun.count(7), schedule.MOST_LOSSES)

    def test_what_a_task_raises_ends_the_job(self) -> None:
        with self.assertRaisesRegex(ValueError, "no such luck"):
            schedule.run(range(10), Pool(2, {4: [ValueError("no such luck")]}), lambda number: None)


class Machines:
    """Forty machines of two processors, some of them slow and some lost at a moment, which is known a
    second later. A task takes two seconds. The clock goes on from event to event."""

    def __init__(self, slow: float, lost: float, copies: bool = True):
        draw = random.Random(0)
        self.copies, self.begun, self.lost, self.clock = copies, 0, 0, 0.0
        self.events: List[Tuple[float, int, str, int, int]] = []  # time, order, what, machine, task
        self.slowness = [100.0 if draw.random() < slow else 1.0 for _ in range(40)]
        self.ends = [draw.uniform(0, 50) if draw.random() < lost else math.inf for _ in range(40)]
        self.free = [machine for machine in range(40) for _ in range(2)]
        draw.shuffle(self.free)
        self.places = len(self.free)
        for machine, end in enumerate(self.ends):
            if end < math.inf:
                self.at(end + 1, "lost", machine)

    def at(self, time: float, what: str, machine: int, number: int = -1) -> None:
        heapq.heappush(self.events, (time, len(self.events) + self.begun, what, machine, number))

    def now(self) -> float:
        return self.clock

    def slots(self) -> int:
        return self.places

    def start(self, number: int) -> None:
        machine = self.free.pop()
        self.begun += 1
        end = self.clock + 2 * self.slowness[machine]
        if end >= self.ends[machine]:
            self.at(max(self.clock, self.ends[machine] + 1), "gone", machine, number)
        else:
            self.at(end, "done", machine, number)

    def ended(self, seconds: float) -> List[Tuple[int, Optional[BaseException]]]:
        until = self.clock + seconds
        made: List[Tuple[int, Optional[BaseException]]] = []
        while self.events and self.events[0][0] <= until and not made:
            self.clock, _, what, machine, number = heapq.heappop(self.events)
            if what == "lost":
                self.places -= 2
                self.free = [one for one in self.free if one != machine]
            elif what == "gone":
                self.lost += 1
                made.append((number, schedule.Lost()))
            else:
                self.free.append(machine)
                made.append((number, None))
        self.clock = self.clock if made else until
        return made


class SimulationTest(unittest.TestCase):

    def test_lost_machines_lose_no_task(self) -> None:
        pool, done = Machines(slow=0, lost=0.4), []  # type: Machines, List[int]
        self.assertEqual(schedule.run(range(2000), pool, done.append), [])
        self.assertEqual(sorted(done), list(range(2000)))
        self.assertGreater(pool.lost, 5)
        self.assertGreater(pool.begun, 2000 + pool.lost - 1)

    def test_copies_of_slow_tasks_end_a_job_earlier(self) -> None:
        with_copies, without = Machines(slow=0.1, lost=0), Machines(slow=0.1, lost=0, copies=False)
        for pool in (with_copies, without):
            done: List[int] = []
            schedule.run(range(2000), pool, done.append)
            self.assertEqual(sorted(done), list(range(2000)))
        self.assertEqual(without.begun, 2000)
        self.assertLess(2 * with_copies.clock, without.clock)
        self.assertLess(with_copies.begun, 2200)


if __name__ == "__main__":
    unittest.main()
