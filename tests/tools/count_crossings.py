#!/usr/bin/env python3
"""How often calls cross from one room of the library to another while a command runs.

    tests/tools/count_crossings.py [--tree DIR] [--pairs] -- COMMAND ARGUMENT…

    tests/tools/count_crossings.py -- decompose samples/resnet.pb -o /tmp/pieces --pieces 3
    tests/tools/count_crossings.py -- run tests/formats/pt2/testdata/cond.pt2
    tests/tools/count_crossings.py -- bench samples/resnet.pb --backend pass:dce -o /tmp/bench

Valgrind counts the calls of each function by each other; the objects that Bazel has built below
DIR (default: the current folder) say which room, a folder of graphnet/, defines a function. A
function that several rooms have, such as an inline one, belongs to whoever calls it, as do those of
other libraries. Prints the calls that cross, those of them that go up in the drawing of
docs/architecture.md (a lower room calls what a higher one gave it), and between how many pairs of
rooms and functions; --pairs lists the rooms. Workers of a benchmark are other processes and are not
counted. Needs valgrind.
"""

import argparse
import collections
import glob
import os
import re
import subprocess
import sys
import tempfile


def rooms_of_symbols(tree):
    """By mangled name, the room that alone defines it."""
    rooms = {}
    for room in sorted(os.listdir(os.path.join(tree, "graphnet"))):
        objects = glob.glob(os.path.join(tree, "bazel-bin/graphnet", room, "**/*.o"), recursive=True)
        for start in range(0, len(objects), 200):
            said = subprocess.run(["nm", "--defined-only", *objects[start:start + 200]],
                                  stdout=subprocess.PIPE, text=True, check=True).stdout
            for name in re.findall(r"^[0-9a-f]+ [tTwW] (_ZNK?8graphnet\S+)$", said, re.M):
                rooms[name] = room if rooms.get(name, room) == room else None
    return {name: room for name, room in rooms.items() if room}


def floors_of(tree):
    """By room, the line of the drawing that it stands in, the highest of its packages; 0 on top."""
    with open(os.path.join(tree, "docs/architecture.md"), encoding="utf-8") as file:
        drawing = re.search(r"^## Layers\n.*?^```\n(.*?)^```", file.read(), re.S | re.M)[1]
    floors = {}
    for number, line in enumerate(drawing.splitlines()):
        for name in re.split(r"\s{2,}", line)[0].split():
            floors.setdefault(name.rstrip("*").split("/")[0], number)
    return floors


def calls_of(profile):
    """(caller, callee, count) of a file of callgrind."""
    names = {}

    def named(text):
        found = re.match(r"\((\d+)\)(?: (.*))?", text)
        if not found:
            return text
        if found[2]:
            names[found[1]] = found[2]
        return names[found[1]]

    caller = callee = None
    with open(profile, encoding="utf-8", errors="replace") as file:
        for line in file:
            key, _, rest = line.rstrip("\n").partition("=")
            if key == "fn":
                caller = named(rest)
            elif key == "cfn":
                callee = named(rest)
            elif key == "calls":
                yield caller, callee, int(rest.split()[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tree", default=".")
    parser.add_argument("--pairs", action="store_true")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    rooms = rooms_of_symbols(options.tree)
    floors = floors_of(options.tree)
    tool = os.path.realpath(os.path.join(options.tree, "bazel-bin/graphnet/cli/graphnet"))
    with tempfile.TemporaryDirectory() as folder:
        profile = os.path.join(folder, "calls")
        done = subprocess.run(["valgrind", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={profile}",
                               tool, *options.command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if not os.path.exists(profile):
            sys.exit(done.stderr)
        calls = collections.Counter()
        for caller, callee, count in calls_of(profile):
            # Recursion has a name for each depth.
            calls[re.sub(r"'\d+$", "", caller), re.sub(r"'\d+$", "", callee)] += count

    # A function without a room of its own belongs to the room of its callers, if they share one.
    callers = collections.defaultdict(set)
    for caller, callee in calls:
        callers[callee].add(caller)
    known = {}

    def room_of(name, path=()):
        if name in rooms:
            return {rooms[name]}
        if name not in known:
            known[name] = set()
            for caller in callers[name]:
                known[name] |= room_of(caller)
        return known[name]

    sys.setrecursionlimit(100000)
    crossings, up, functions = collections.Counter(), 0, set()
    for (caller, callee), count in calls.items():
        if callee not in rooms:
            continue
        above = room_of(caller)
        if len(above) != 1:
            continue  # a library that several rooms use calls back
        above, below = next(iter(above)), rooms[callee]
        if above == below:
            continue
        crossings[above, below] += count
        functions.add((caller, callee))
        if floors.get(above, 0) > floors.get(below, 0):
            up += count
    visited = {room for pair in crossings for room in pair}
    print(f"{sum(crossings.values()):,} calls cross, {up:,} of them upwards; {len(crossings)} pairs of rooms, "
          f"{len(functions)} pairs of functions, {len(visited)} rooms")
    if options.pairs:
        for (above, below), count in crossings.most_common():
            print(f"{count:12,}  {above} -> {below}")


if __name__ == "__main__":
    main()
