"""Runs files that show --to unittest makes, as a worker of docs/evaluation_reference.md does: `prepare` runs one."""

import json
import os
import runpy
import sys

with os.fdopen(3, "w") as answers:
    os.set_inheritable(3, False)
    for line in sys.stdin:
        request = json.loads(line)
        answer = {"ok": True}
        if request["verb"] == "hello":
            answer.update(name="unittest", version=sys.version.split()[0], devices=["cpu"])
        elif request["verb"] == "prepare":
            try:
                runpy.run_path(request["program"])["main"](["--trials", "0"])
            except Exception as error:
                text = " ".join(str(error).split())
                answer = {"ok": False, "stage": "run", "error": f"{type(error).__name__}: {text}"[:1000]}
        sys.stdout.flush()
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
