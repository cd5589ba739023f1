"""The process that differentiates samples: `python -m graphnet_ir.gradients.worker FOLDER TOLD`.

FOLDER/work.json has the samples and the options. The process takes one sample after the other, which
it claims by a file, so that several processes share the work. To the descriptor TOLD it writes a line
of JSON when it begins a sample, one if it keeps symbols, and one with the result. It may be killed at any moment.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from graphnet_ir.gradients.made import Gradients
from graphnet_ir.limited.processes import write_line

TREES = ("eval_forward", "train_forward", "train_backward")
WORK = "work.json"


def claim_of(folder: str, number: int) -> str:
    """Returns the file that a process makes to claim a sample."""
    return os.path.join(folder, f"claim{number}")


def fixed_of(folder: str, number: int) -> str:
    """Returns the file that says why a sample is differentiated without its symbols, if it is."""
    return os.path.join(folder, f"fixed{number}")


def place_of(folder: str, number: int, tree: str) -> str:
    """Returns where a process writes a sample, before it is moved to its place."""
    return os.path.join(folder, f"made{number}", tree)


def _claims(folder: str, number: int) -> bool:
    try:
        os.close(os.open(claim_of(folder, number), os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return False
    return True


def differentiated(
    path: str, number: int, folder: str, options: dict[str, Any], begins_symbols: Callable[[], None]
) -> dict[str, Any]:
    """Differentiates a sample, writes the graphs, and returns the row of the result.

    begins_symbols: is called if symbols of the sample are to be kept.
    """
    import graphnet_ir
    from graphnet_ir.gradients.differentiating import differentiate_sample
    from graphnet_ir.gradients.refusal import Refusal, first_line

    begin = time.monotonic()
    row: dict[str, Any]
    try:
        try:
            sample = graphnet_ir.load(path)
        except graphnet_ir.Error as error:
            raise Refusal("cannot be read", str(error)) from error
        why = ""
        if os.path.exists(fixed_of(folder, number)):
            options = {**options, "symbols": False}
            with open(fixed_of(folder, number), encoding="utf-8") as file:
                why = file.read()
        elif options["symbols"] and sample.module.symbols:
            begins_symbols()
        made = differentiate_sample(sample, **options)
        made = dataclasses.replace(made, fixed=why or made.fixed)
        try:
            _write(made, folder, number)
        except (graphnet_ir.Error, Refusal) as error:
            if not made.symbols:
                raise
            # A folder may not hold the symbols.
            made = differentiate_sample(sample, **{**options, "symbols": False})
            made = dataclasses.replace(made, fixed=first_line(error))
            _write(made, folder, number)
    except Refusal as refusal:
        row = {"cause": refusal.cause, "operator": refusal.operator, "message": str(refusal)}
    except Exception as error:  # noqa: BLE001 (one odd sample never ends the batch)
        row = {"cause": "fails", "operator": "", "message": first_line(error)}
    else:
        row = {
            "saved": made.saved,
            "tangents": made.tangents,
            "gradients": made.learned,
            "values": made.compared.values,
            "equal": made.compared.equal,
            "largest": made.compared.largest,
            "near": made.compared.near,
            "symbols": made.symbols,
            "fixed": made.fixed,
        }
    return {**row, "seconds": round(time.monotonic() - begin, 3)}


def _write(made: Gradients, folder: str, number: int) -> None:
    for tree in TREES:
        place = place_of(folder, number, tree)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        getattr(made, tree).save(place, format="graphnet")
        if tree != TREES[0]:
            _check_file(place, getattr(made, tree))


def _check_file(place: str, made: Any) -> None:
    """Raises Refusal if a folder does not hold the graph that was proven, or does not run on the
    inputs that are drawn for it."""
    import graphnet_ir
    from graphnet_ir.gradients.refusal import Refusal

    try:
        read = graphnet_ir.load(place)
        if graphnet_ir.canonical_hash(read) != graphnet_ir.canonical_hash(made):
            raise Refusal("is not held", "the graph that is read back has another hash")
        graphnet_ir.run(read)
    except graphnet_ir.Error as error:
        raise Refusal("is not held", str(error)) from error


def main() -> None:
    folder, descriptor = sys.argv[1], int(sys.argv[2])

    tell = functools.partial(write_line, descriptor)
    with open(os.path.join(folder, WORK), encoding="utf-8") as file:
        work = json.load(file)
    import graphnet_ir

    graphnet_ir.set_num_threads(work["threads"])
    for number, path in enumerate(work["paths"]):
        if _claims(folder, number):
            tell(begin=number)
            begins_symbols = functools.partial(tell, symbols=number)
            row = differentiated(path, number, folder, work["options"], begins_symbols)
            tell(number=number, row=row)


if __name__ == "__main__":
    main()
