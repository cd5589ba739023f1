"""Functions for corpus_test.py that a job applies to graphs: fine ones, and some that end their
process."""

import os
import signal
import time
from typing import Any, Dict

import graphnet_ir


def calls(sample: graphnet_ir.Sample) -> Dict[str, Any]:
    return {"calls": len(sample.graph.find_nodes(op="call_function")), "first": sample.graph.name}


def first_or_nothing(sample: graphnet_ir.Sample) -> Dict[str, Any]:
    return {"first": sample.graph.name, "nothing": None}


def no_calls(sample: graphnet_ir.Sample) -> Dict[str, Any]:
    return {"calls": None}


def without_dropout(sample: graphnet_ir.Sample) -> graphnet_ir.Sample:
    return graphnet_ir.opt(sample, "dce,cse").sample


def large(sample: graphnet_ir.Sample) -> Any:
    """Another graph of several megabytes, or columns that take too much."""
    if len(sample.graph) % 2:
        return {"text": "x" * 2_000_000}
    sample.extra_files = {"notes.txt": "".join(map(str, range(900_000)))}
    return sample


def slow(sample: graphnet_ir.Sample) -> Dict[str, Any]:
    time.sleep(0.02)
    return calls(sample)


def hostile(sample: graphnet_ir.Sample) -> Any:
    """What it does follows from the number of nodes."""
    kind = len(sample.graph) % 8
    if kind == 0:
        os.kill(os.getpid(), signal.SIGSEGV)
    if kind == 1:
        time.sleep(600)
    if kind == 2:
        held = [b"x" * (1 << 25) for _ in range(40)]
        time.sleep(600)
        return {"bytes": len(held)}
    if kind == 3:
        os._exit(3)
    if kind == 4:
        raise ValueError("no such luck")
    if kind == 5:
        return {"list": [1]}
    return calls(sample)
