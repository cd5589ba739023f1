#!/usr/bin/env python3
"""A faulty compiler: graphnet's own interpreter on programs in which each OLD is replaced by its NEW.

    miscompiling_worker.py GRAPHNET OLD NEW [OLD NEW]...

With NEW "!WHY", it refuses programs that contain OLD. It reads the form "graphnet".
"""
import json
import os
import subprocess
import sys

graphnet, *words = sys.argv[1:]
replaced = list(zip(words[::2], words[1::2], strict=True))
from_nope, to_me = os.pipe()
nope = subprocess.Popen([graphnet, "worker", "nope"], stdin=subprocess.PIPE, text=True,
                        preexec_fn=lambda: os.dup2(to_me, 3), pass_fds=(3,))
with os.fdopen(3, "w") as answers, os.fdopen(from_nope) as answered:
    for line in sys.stdin:
        request = json.loads(line)
        if request["verb"] == "prepare":
            text = subprocess.run([graphnet, "convert", request["program"], "-o", "-", "--to", "text"],
                                  stdout=subprocess.PIPE, text=True, check=True).stdout
            why = [new[1:] for old, new in replaced if new.startswith("!") and old in text]
            if why:
                print(json.dumps({"ok": False, "stage": "compile", "error": why[0]}), file=answers,
                      flush=True)
                continue
            request["program"] = os.path.abspath("miscompiled.gn")
            with open("miscompiled.gn", "w") as file:
                for old, new in replaced:
                    text = text.replace(old, new)
                file.write(text)
        print(json.dumps(request), file=nope.stdin, flush=True)
        answers.write(answered.readline())
        answers.flush()
