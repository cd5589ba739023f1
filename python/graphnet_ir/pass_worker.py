"""The process in which `graphnet opt` runs passes of packages.

usage: python -m graphnet_ir.pass_worker [PASSES [--verify-each] [--trust]]

Each line of the standard input is a request, and each answer a line on descriptor 3. Without PASSES, an
answer has the names of all passes, {"passes": [...]}, or {"error"}. With PASSES, a request names a
sample, {"path", "out", "to"}, and its answer is that of the tool's own processes
(graphnet/passes/commands/opt_worker.cc).
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import Any

from graphnet_ir.package_passes import found

# absl::StatusCode
UNKNOWN, INVALID = 2, 3


def _described(error: Exception) -> str:
    """Returns an error of a pass in one line, with the line of the pass that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    text = next((line for line in str(error).splitlines() if line.strip()), "")
    where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {text}{where}"[:1000]


def listed() -> dict[str, Any]:
    """Returns the answer that names all passes."""
    try:
        return {"passes": sorted(found())}
    except ValueError as error:
        return {"error": str(error)}


def rewritten(request: dict[str, Any], passes: str, options: dict[str, bool]) -> dict[str, Any]:
    """Runs the passes on one sample, and returns the answer."""
    import graphnet_ir

    out = request.get("out") or ""
    try:
        sample = graphnet_ir.load(request["path"], trust=options["trust"])
    except (graphnet_ir.Error, OSError, ValueError) as error:
        return {"code": INVALID, "error": str(error)}
    try:
        made = graphnet_ir.opt(sample, passes, verify_each=options["verify_each"])
        made.sample.graph.lint()
        if out:
            os.makedirs(os.path.dirname(out) or ".", exist_ok=True)
            made.sample.save(out, format=request.get("to") or "")
    except Exception as error:  # A pass of a package may raise anything.
        traceback.print_exc()
        is_told = isinstance(error, graphnet_ir.Error)
        return {"code": UNKNOWN, "error": str(error) if is_told else _described(error)}
    return {
        "aside": "",
        "steps": [
            {
                "changed": bool(step["changed"]),
                "seconds": step["seconds"],
                "before": step["nodes_before"],
                "after": step["nodes_after"],
                "notes": [],
            }
            for step in made.steps
        ],
    }


def main() -> None:
    passes, flags = (sys.argv[1] if len(sys.argv) > 1 else ""), sys.argv[2:]
    options = {"verify_each": "--verify-each" in flags, "trust": "--trust" in flags}
    # Paths are those of the tool, which starts this in a folder of its own.
    os.chdir(os.environ.get("BUILD_WORKING_DIRECTORY", "."))
    with os.fdopen(3, "w") as answers:
        os.set_inheritable(3, False)
        for line in sys.stdin:
            answer = rewritten(json.loads(line), passes, options) if passes else listed()
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
