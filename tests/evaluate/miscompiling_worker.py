#!/usr/bin/env python3
"""A faulty compiler: graphnet's own interpreter on programs in which OLD is replaced by NEW.

    miscompiling_worker.py GRAPHNET OLD NEW

With NEW "!WHY", it refuses programs that contain OLD. It reads the form "graphnet".
"""
import json
import os
import subprocess
import sys

graphnet, old, new = sys.argv[1:]
from_nope, to_me = os.pipe()
nope = subprocess.Popen([graphnet, "worker", "nope"], stdin=subprocess.PIPE, text=True,
                        preexec_fn=lambda: os.dup2(to_me, 3), pass_fds=(3,))
with os.fdopen(3, "w") as answers, os.fdopen(from_nope) as answered:
    for line in sys.stdin:
        request = json.loads(line)
        if request["verb"] == "prepare":
            text = subprocess.run([graphnet, "convert", request["program"], "-o", "-", "--to", "text"],
                                  stdout=subprocess.PIPE, text=True, check=True).stdout
            if new.startswith("!") and old in text:
                print(json.dumps({"ok": False, "stage": "compile", "error": new[1:]}), file=answers,
                      flush=True)
                continue
            request["program"] = os.path.abspath("miscompiled.gn")
            with open("miscompiled.gn", "w") as file:
                file.write(text.replace(old, new))
        print(json.dumps(request), file=nope.stdin, flush=True)
        answers.write(answered.readline())
        answers.flush()
