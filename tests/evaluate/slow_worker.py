#!/usr/bin/env python3
"""A compiler that got slower: graphnet's own interpreter, whose times are multiplied by FACTOR.

    slow_worker.py GRAPHNET FACTOR

It reads the form "graphnet".
"""
import json
import os
import subprocess
import sys

from_nope, to_me = os.pipe()
nope = subprocess.Popen([sys.argv[1], "worker", "nope"], stdin=subprocess.PIPE, text=True,
                        preexec_fn=lambda: os.dup2(to_me, 3), pass_fds=(3,))
with os.fdopen(3, "w") as answers, os.fdopen(from_nope) as answered:
    for line in sys.stdin:
        nope.stdin.write(line)
        nope.stdin.flush()
        answer = json.loads(answered.readline())
        if "ms" in answer:
            answer["ms"] = [ms * float(sys.argv[2]) for ms in answer["ms"]]
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
