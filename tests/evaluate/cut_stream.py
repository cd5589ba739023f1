#!/usr/bin/env python3
"""A connection that breaks: runs a command, and ends both streams after a random number of bytes.

    cut_stream.py FILE CUTS SEED COMMAND...

The first CUTS connections are cut; FILE counts them.
"""
import fcntl
import os
import random
import select
import subprocess
import sys

state, cuts, seed, *command = sys.argv[1:]
with open(state, "a+") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    file.seek(0)
    number = len(file.read())
    file.write(".")
# Most requests are short, and some files are long.
draw = random.Random(int(seed) + number)
left = draw.choice([300, 8000, 12000, 100000, 1000000])
left = draw.randrange(left) if number < int(cuts) else 1 << 62
process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
ways = {0: process.stdin.fileno(), process.stdout.fileno(): 1}
while left > 0:
    for source in select.select(list(ways), [], [])[0]:
        part = os.read(source, min(left, 1 << 16))
        if not part:
            left = 0
            break
        left -= len(part)
        try:
            while part:
                part = part[os.write(ways[source], part):]
        except OSError:
            left = 0
            break
        if left == 0:
            break
os._exit(1)
