#!/usr/bin/env python3
"""A job over 100,000,000 graphs on 1,000 machines, without the machines.

usage: simulate_jobs.py [--graphs N] [--task N] [--machines N] [--no-copies] … [--json]

Runs with a Python that has the wheel with its extra `corpus`. The code that decides which task runs
when is that of real jobs (graphnet_ir.corpus.schedule); only the machines and the clock are made up
here. Machines differ in speed, some are many times slower than the others, and some are lost at a
moment of the job, which is known a while later. Some graphs end their process or exceed their time.
The driver can be killed, and goes on with the tasks that have no file. Prints how long the job takes,
beside the time that it would take if nothing went wrong, and what was done in vain. Ends with 1 if a
task was not done exactly once.

Then come additions: all machines make rows and commit them, one at a time, as the lock of a corpus
has it.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import json
import random
import sys
import time
from typing import Any, Dict, List, Optional, Tuple

from graphnet_ir.corpus import schedule


class Machine:

    def __init__(self, slowness: float, lost_at: float):
        self.slowness = slowness
        self.lost_at = lost_at


class Machines:
    """A pool whose clock goes on from event to event."""

    def __init__(self, args: argparse.Namespace, made: List[Machine], ideal: float, clock: float):
        self.copies = not args.no_copies
        self._args, self._clock = args, clock
        self._free = [machine for machine in made if machine.lost_at + args.notice > clock
                      for _ in range(args.processors)]
        self._slots = len(self._free)
        random.Random(args.seed).shuffle(self._free)
        self._events: List[Tuple[float, int, Any]] = []
        self._order = itertools.count()
        for machine in made:
            if clock < machine.lost_at + args.notice < float("inf"):
                self._at(machine.lost_at + args.notice, ("lost", machine))
        self.begun = self.lost = 0
        self.worked = 0.0  # seconds of processors
        self.useful: Dict[int, float] = {}  # of these, those of the run of each task that counted

    def _at(self, time: float, event: Any) -> None:
        heapq.heappush(self._events, (time, next(self._order), event))

    def now(self) -> float:
        return self._clock

    def slots(self) -> int:
        return self._slots

    def start(self, number: int) -> None:
        machine = self._free.pop()
        self.begun += 1
        end = self._clock + seconds_of(self._args, number) * machine.slowness
        if end < machine.lost_at:
            self.worked += end - self._clock
            self._at(end, ("done", machine, number, end - self._clock))
        else:
            self.worked += max(0.0, machine.lost_at - self._clock)
            self._at(max(self._clock, machine.lost_at + self._args.notice), ("gone", number))

    def ended(self, seconds: float) -> List[Tuple[int, Optional[BaseException]]]:
        until, made = self._clock + seconds, []
        while self._events and self._events[0][0] <= until:
            self._clock, _, event = heapq.heappop(self._events)
            if event[0] == "lost":
                self._slots -= self._args.processors
                self._free = [machine for machine in self._free if machine is not event[1]]
            elif event[0] == "done":
                self._free.append(event[1])
                self.useful.setdefault(event[2], event[3])
                made.append((event[2], None))
            else:
                self.lost += 1
                made.append((event[1], schedule.Lost()))
            until = self._clock if made else until
        if not made:
            self._clock = until
        return made


def seconds_of(args: argparse.Namespace, number: int) -> float:
    """Returns how long a task takes on a usual machine."""
    draw = random.Random(f"{args.seed} {number}")
    graphs = min(args.task, args.graphs - number * args.task)
    seconds = args.start + graphs * args.graph * draw.uniform(0.8, 1.2)
    # How many graphs of it are poison, of so few that the number is nearly a Poisson one.
    place = draw.expovariate(args.poison) if args.poison else graphs
    while place < graphs:
        # It is tried twice, and a process begins anew each time. Half of them exceed their time.
        seconds += 2 * (args.start + (args.limit if draw.random() < 0.5 else 0))
        place += draw.expovariate(args.poison)
    return seconds


class Killed(Exception):
    """The driver was killed."""


def job(args: argparse.Namespace) -> Dict[str, Any]:
    draw = random.Random(args.seed)
    count = -(-args.graphs // args.task)
    work = sum(seconds_of(args, number) for number in range(count))
    ideal = work / (args.machines * args.processors)
    machines = [Machine(draw.lognormvariate(0, 0.1) * (
        args.slowness if draw.random() < args.slow else 1),
        draw.uniform(0, ideal) if draw.random() < args.lost else float("inf"))
        for _ in range(args.machines)]
    # How long it would take if these machines had never been lost, and any graph could run anywhere.
    whole = work / sum(args.processors / machine.slowness for machine in machines)
    kills = sorted(draw.sample(range(1, count), min(args.driver_kills, count - 1)))
    done: List[int] = []
    given_up: List[int] = []
    useful: Dict[int, float] = {}
    clock, begun, lost, worked = 0.0, 0, 0, 0.0
    begin = time.process_time()
    while len(done) + len(given_up) < count:
        pool = Machines(args, machines, ideal, clock)

        def tell(number: int) -> None:
            done.append(number)
            if kills and len(done) >= kills[0]:
                kills.pop(0)
                raise Killed

        there = set(done)
        try:
            given_up = schedule.run([number for number in range(count) if number not in there],
                                    pool, tell)
        except Killed:
            pass
        clock = pool.now() + (args.restart if kills or len(done) < count else 0)
        begun, lost, worked = begun + pool.begun, lost + pool.lost, worked + pool.worked
        useful.update((number, pool.useful[number]) for number in set(done) - there)
    return {"graphs": args.graphs, "tasks": count, "seconds": round(clock),
            "seconds_if_all_went_well": round(whole), "begun": begun, "lost": lost,
            "in_vain": round(1 - sum(useful.values()) / worked, 4),
            "given_up": len(given_up), "twice": len(done) - len(set(done)),
            "missing": count - len(set(done)) - len(given_up),
            "scheduler_seconds": round(time.process_time() - begin, 1)}


def additions(args: argparse.Namespace) -> Dict[str, Any]:
    """All processors make rows, and wait for each other to commit them."""
    draw = random.Random(args.seed)
    made = args.commit / args.rows  # seconds for the rows of a commit
    ready = [(draw.uniform(0, made), worker)
             for worker in range(args.machines * args.processors)]
    heapq.heapify(ready)
    free, waited, commits = 0.0, 0.0, -(-args.graphs // args.commit)
    for number in range(commits):
        at, worker = heapq.heappop(ready)
        begin = max(at, free)
        waited += begin - at
        free = begin + args.commit_seconds + number * args.commit_growth
        heapq.heappush(ready, (free + made * draw.uniform(0.8, 1.2), worker))
    return {"commits": commits, "seconds": round(free),
            "seconds_of_rows_alone": round(args.graphs / args.rows / len(ready)),
            "waited_of_a_commit": round(waited / commits)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    number = lambda text: int(float(text))  # noqa: E731
    parser.add_argument("--graphs", type=number, default=100_000_000)
    parser.add_argument("--task", type=number, default=500, help="graphs of a task")
    parser.add_argument("--machines", type=int, default=1000)
    parser.add_argument("--processors", type=int, default=2, help="of a machine")
    parser.add_argument("--graph", type=float, default=0.002, help="seconds for a graph")
    parser.add_argument("--start", type=float, default=1.0, help="seconds to begin a process")
    parser.add_argument("--limit", type=float, default=60, help="seconds that a graph may take")
    parser.add_argument("--poison", type=float, default=1e-5, help="share of graphs")
    parser.add_argument("--lost", type=float, default=0.01, help="share of machines")
    parser.add_argument("--notice", type=float, default=30, help="seconds until a loss is known")
    parser.add_argument("--slow", type=float, default=0.01, help="share of machines")
    parser.add_argument("--slowness", type=float, default=10, help="of these")
    parser.add_argument("--no-copies", action="store_true", help="of slow tasks")
    parser.add_argument("--driver-kills", type=int, default=0)
    parser.add_argument("--restart", type=float, default=60, help="seconds until the driver is back")
    parser.add_argument("--rows", type=float, default=2000, help="rows made a second")
    parser.add_argument("--commit", type=number, default=10_000, help="rows of a commit")
    parser.add_argument("--commit-seconds", type=float, default=1.0)
    parser.add_argument("--commit-growth", type=float, default=0.0,
                        help="seconds that each commit takes longer than the one before")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    args = parser.parse_args()
    told = {"job": job(args), "additions": additions(args)}
    if args.json:
        print(json.dumps(told, indent=2))
    else:
        for name, values in told.items():
            print(f"{name}: " + ", ".join(f"{key} {value}" for key, value in values.items()))
    return 1 if told["job"]["twice"] or told["job"]["missing"] else 0


if __name__ == "__main__":
    sys.exit(main())
