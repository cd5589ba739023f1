"""Which task of a job runs when, with machines and a clock that are made up."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
from typing import Any, Dict, List, Optional, Tuple
from unittest import mock

from graphnet_ir import Error
from graphnet_ir.corpus import Corpus, schedule

ROOT = pathlib.Path(__file__).parents[2]


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


class SimulationTest(unittest.TestCase):

    def job(self, *arguments: str) -> Dict[str, Any]:
        done = subprocess.run(
            [sys.executable, str(ROOT / "tests/tools/simulate_jobs.py"), "--graphs", "1e6",
             "--machines", "40", "--json", *arguments], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        made: Dict[str, Any] = json.loads(done.stdout)["job"]
        self.assertEqual((made["tasks"], made["twice"], made["missing"]), (2000, 0, 0))
        return made

    def test_lost_machines_and_drivers_lose_no_task(self) -> None:
        made = self.job("--lost", "0.4", "--notice", "1", "--driver-kills", "2", "--restart", "1")
        self.assertGreater(made["lost"], 5)
        self.assertGreater(made["begun"], 2000 + made["lost"])
        self.assertEqual(made["given_up"], 0)

    def test_copies_of_slow_tasks_end_a_job_earlier(self) -> None:
        slow = ("--slow", "0.1", "--slowness", "100", "--poison", "0", "--lost", "0")
        with_copies, without = self.job(*slow), self.job(*slow, "--no-copies")
        self.assertEqual(without["begun"], 2000)
        self.assertLess(2 * with_copies["seconds"], without["seconds"])
        self.assertLess(with_copies["begun"], 2200)


if __name__ == "__main__":
    unittest.main()
