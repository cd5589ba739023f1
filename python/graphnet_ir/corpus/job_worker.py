"""The process that works on the graphs of a task: `python -m graphnet_ir.corpus.job_worker FOLDER
FIRST TOLD`.

FOLDER has the work and the graphs, of which it takes those from FIRST on, one after the other. For
each it writes a line of JSON to the descriptor TOLD. It may be killed at any moment; the driver
(jobs.py) then knows on which graph it was.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import graphnet_ir
from graphnet_ir.limited.processes import write_line

GRAPHS = "graphs.bin"
WORK = "work.json"
_MAX_OUTPUT = 4000
_MAX_COLUMNS = 1_000_000  # as JSON


def write_graphs(folder: str, blobs: list[bytes]) -> None:
    with open(os.path.join(folder, GRAPHS), "wb") as file:
        for blob in blobs:
            file.write(len(blob).to_bytes(8, "little"))
            file.write(blob)


def _read_graphs(folder: str) -> list[bytes]:
    with open(os.path.join(folder, GRAPHS), "rb") as file:
        blobs = []
        while size := file.read(8):
            blobs.append(file.read(int.from_bytes(size, "little")))
    return blobs


def work_of(told: dict[str, Any], folder: str) -> Callable[[bytes], Any]:
    """Returns the function of a job, from the bytes of a graph to its result."""
    if "command" in told:
        return lambda blob: _run(told["command"], blob, folder)
    module, _, name = told["function"].rpartition(":")
    if module.endswith(".py"):
        spec = importlib.util.spec_from_file_location("graphnet_job", module)
        if spec is None or spec.loader is None:
            raise ImportError(f"{module} is no Python file")
        made = importlib.util.module_from_spec(spec)
        sys.modules["graphnet_job"] = made
        spec.loader.exec_module(made)
    else:
        made = importlib.import_module(module)
    function: Any = made
    for part in name.split("."):
        function = getattr(function, part)
    return lambda blob: function(graphnet_ir.load_bytes(blob))


def _run(command: list[str], blob: bytes, folder: str) -> Any:
    """Runs a command on a graph. {} stands for the file of the graph, and {out} for a file in which
    the command may leave another graph."""
    graph, out = os.path.join(folder, "graph.pb"), os.path.join(folder, "out.pb")
    with open(graph, "wb") as file:
        file.write(blob)
    if os.path.exists(out):
        os.unlink(out)
    filled = [part.replace("{out}", out).replace("{}", graph) for part in command]
    if filled == command:
        filled.append(graph)
    done = subprocess.run(filled, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode < 0:
        raise RuntimeError(f"the command ended with signal {-done.returncode}")
    if os.path.exists(out):
        return graphnet_ir.load(out)
    said = done.stdout.decode("utf-8", "backslashreplace").strip()
    try:
        told = json.loads(said)
    except (ValueError, RecursionError):
        told = None
    if done.returncode == 0 and isinstance(told, dict):
        return told
    if not said:
        said = done.stderr.decode("utf-8", "backslashreplace").strip()
    return {"exit_code": done.returncode, "output": said[:_MAX_OUTPUT]}


def told_of(result: Any, place: str) -> dict[str, Any]:
    """Returns what is told of a result: columns, or that another graph is in the file at `place`."""
    if isinstance(result, (graphnet_ir.Sample, graphnet_ir.Module)):
        sample = result if isinstance(result, graphnet_ir.Sample) else graphnet_ir.Sample(result)
        with open(place, "wb") as file:
            file.write(graphnet_ir.to_bytes(sample))
        return {"graph": place}
    if result is None:
        return {"columns": {}}
    if not isinstance(result, dict) or not all(isinstance(name, str) for name in result):
        raise TypeError(
            "a job's function returns a dict of columns, a Sample or None, not "
            f"{type(result).__name__}"
        )
    for name, value in result.items():
        if not isinstance(value, (str, int, float, bool, type(None))):
            raise TypeError(
                f"column {name} has a {type(value).__name__}, which is no text, number or None"
            )
    if len(json.dumps(result)) > _MAX_COLUMNS:
        raise ValueError(f"the columns take more than {_MAX_COLUMNS} bytes")
    return {"columns": result}


def main() -> None:
    folder, first, descriptor = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

    tell = functools.partial(write_line, descriptor)
    with open(os.path.join(folder, WORK), encoding="utf-8") as file:
        told = json.load(file)
    try:
        work = work_of(told, folder)
    except Exception as error:  # noqa: BLE001 (a function of anybody)
        tell(fatal=f"{type(error).__name__}: {error}")
        return
    blobs = _read_graphs(folder)
    tell(ready=len(blobs))
    for place in range(first, len(blobs)):
        try:
            if not blobs[place]:
                raise ValueError("the graph is damaged: its digest differs")
            result = told_of(work(blobs[place]), os.path.join(folder, f"made{place}.pb"))
        except Exception as error:  # noqa: BLE001
            result = {"error": f"{type(error).__name__}: {error}"[:_MAX_OUTPUT]}
        tell(place=place, **result)


if __name__ == "__main__":
    main()
