#!/usr/bin/env python3
"""Converts random scripted programs of lists, dicts and texts to .pt2 and compares them.

    compare_scripted_lists.py [--count N] [--seed N] [--least PERCENT] [--keep FOLDER]

Each program is scripted from a list of random statements on tensors, ints, lists (of ints,
tensors and texts), dicts and texts, whose sizes and turns depend on no data. torch.export.load
reads what `graphnet convert` wrote; outputs must have torch.jit's bits. The exit status is 1 if
one differs, or if fewer than PERCENT of the programs became a .pt2.
"""

import argparse
import collections
import importlib.util
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import warnings

import torch

warnings.filterwarnings("ignore")

HEAD = """import torch
from typing import Dict, List, Tuple

class P(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor):
        a = x + 1
        n = x.size(0)
        m = 3
        k: List[int] = [1, 2]
        l: List[torch.Tensor] = [x, y]
        w: List[str] = ["b", "a"]
        d: Dict[str, torch.Tensor] = {"p": x}
        e: Dict[int, int] = {1: 4}
        t = "ab"
"""

# A line each, or several; {i} is a number from 0 to 2.
STATEMENTS = """
a = a * n
a = a + m
a = torch.relu(a) - y
a = l[0] * 2
a = d["p"] + a
a = a.reshape(x.shape) + 0.5
n = n + m * {i}
m = (m * 2 + {i}) % 7 + 1
n = n // 2 + 1
m = max(m, n)
n = min(k) + len(k)
m = sum(k) % 11 + 1
n = abs(-m) + int(m > 2)
k.append(m)
k.append(x.size({i} % 2))
k.insert({i}, n % 5)
k.insert(-1, {i})
k.extend([m, {i}])
k[0] = {i} + 1
k[-1] += 2
k.reverse()
k.sort()
k.sort(reverse=True)
k = k + [m]
k = k * 2
k = 2 * k[:2]
k = k[1:] + k[:1]
k = sorted(k)
k = list(k)
k = k.copy()
m = k.pop() + 1\nk.append({i})
m = k.pop(0) + 1\nk.append({i})
k.remove(k[0])\nk.append(4)
n = k.count(2) + 1
n = k.index(k[-1]) + 1
del k[0]\nk.append(2)
k.clear()\nk.append(3)
if 2 in k:\n    m = m + 1\nelse:\n    a = a - 1
if m not in k:\n    n = n + 1
if not (m > 3 and n < 9):\n    a = a + 2
if k == [1, 2]:\n    a = a * 3
if len(w) > {i} or t == "ab":\n    a = a - m
l.append(a)
l.insert(0, a + {i})
l.extend([a, y])
l[-1] = a * 2
l.reverse()
a = l.pop() + 1\nl.append(y)
a = l.pop(0)\nl.append(x)
l = l[:2] + [a]
a = torch.stack(l).sum(0)
a = torch.cat([v * 2 for v in l]).sum() + a
a = l[len(l) - 1] + len(l)
for v in l:\n    a = a + v
for j in range(len(k)):\n    a = a + k[j]
for j, v in enumerate(l):\n    a = a + v * j
for u, v in zip(k, l):\n    a = a + v * u
for j in range({i} + 2):\n    if j % 2 == 0:\n        k.append(j)\n    else:\n        l.append(a + j)
while len(k) > 3:\n    k.pop()
j = 0\nwhile j < 5:\n    j += 1\n    if j == {i}:\n        continue\n    if j == 4:\n        break\n    a = a + j
k = [v + 1 for v in k]
l = [v + n for v in l]
d["q"] = a
d["p"] = d["p"] * 2
d["q"] = y\na = d.pop("q") + 1
if "q" in d:\n    a = a + d["q"]
for s in d.keys():\n    a = a + d[s]
for v in d.values():\n    a = a + v
for s, v in d.items():\n    a = a + v * len(s)
a = torch.stack(list(d.values())).mean(0) + x
d = {{s: v + 1 for s, v in d.items()}}
d.update({{"r": a}})
a = d.get("p", y) + 1
a = d.get("z", y) + 1
d.setdefault("s", a)
n = len(d) + 1
del d["p"]\nd["p"] = x
d = dict([("p", a), ("u", y)])
e[m] = n
e[1] += 2
e[n % 4] = e.get(n % 4, 0) + 1
m = e[1] % 5 + 1
for q, v in e.items():\n    m = (m + q * v) % 13 + 1
if m in e:\n    n = e[m] % 6 + 1
e.clear()\ne[1] = {i}
w.append(t)
w.append(t + str(m))
t = t + "c"
t = w[0] + w[-1]
t = "".join(w)
t = t.upper()
t = t.lower().strip()
t = "{{}}-{{}}".format(m, t)
t = t[1:] + t[:1] + "z"
t = t * 2
w = t.split("y")
w.sort()
n = len(t) % 9 + 1
m = t.find("b") + 2
m = t.count("a") + 1
n = ord(t[0]) % 7 + 1
if t.startswith("a"):\n    a = a + 1
if t.endswith("c") or "b" in t:\n    a = a * 2
if t != "abc" and t < "b":\n    m = m + 1
if t.isdigit() or t.islower():\n    n = n + 2
n = int("1{i}") % 5 + 1
n = int(float(m) * 1.5) + 1
n = int(round(m / 2)) + 1
a = a * float(m)
a = a + (m / 4)
a = a * (2 ** {i})
m = m ^ 1 | 2
n = (n << 1) & 7 | 1
p, q = (m, n)\nm = q + 1
p, q = l[0], l[1]\na = p - q
u = (a, m)\na = u[0] * u[1]
a, n = a + n, n + 1
a = a + torch.zeros([x.size(0), 3]) + torch.full(x.shape, {i}.5)
a = a.permute([1, 0]).permute([1, 0])
a = a.view(-1, k[0] * 0 + 3)
a = torch.split(a, 1, 0)[0] + a
a = torch.unbind(a, 0)[0] + a
b = a.chunk(2, 0)\na = a + b[0].sum() + len(b)
""".strip().splitlines()

TAIL = """        s = torch.full([1], float(n)) + m + len(k) + len(w) + len(d) + len(e) + len(t) + len(l)
        return a, s, torch.tensor(k), l[0], d["p"]
"""


def program(rng: random.Random) -> str:
    text = HEAD
    for _ in range(rng.randint(3, 10)):
        statement = rng.choice(STATEMENTS).replace("\\n", "\n").format(i=rng.randint(0, 2))
        text += "".join(f"        {line}\n" for line in statement.split("\n"))
    return text + TAIL


def scripted(text: str, path: pathlib.Path):
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return torch.jit.script(module.P())


def bits(values) -> list:
    return [(v.dtype, v.shape, v.detach().contiguous().view(-1).view(torch.uint8).tolist()) for v in values]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphnet", default="bazel-bin/graphnet/cli/graphnet")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--least", type=float, default=0, help="percent of the programs")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the programs")
    args = parser.parse_args()
    torch.set_num_threads(1)
    rng = random.Random(args.seed)
    x, y = torch.arange(6.0).view(2, 3) / 7, torch.full((2, 3), -0.25)
    refusals = collections.Counter()
    runs, converted, differ = 0, [], 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.keep or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        while runs < args.count:
            name = f"program_{args.seed}_{runs}"
            try:
                module = scripted(program(rng), folder / f"{name}.py")
                expected = bits(module(x.clone(), y.clone()))
            except Exception:  # What TorchScript refuses is no program.
                continue
            runs += 1
            archive = folder / f"{name}.pt"
            module.save(str(archive))
            done = subprocess.run([args.graphnet, "convert", archive, folder / f"{name}.pt2", "--input", "f32[2,3]",
                                   "--input", "f32[2,3]"], capture_output=True, text=True)
            if done.returncode != 0:
                why = re.sub(r"^.*?: (?=cannot|aten|prim|[a-z]+[:.])|%\S+|\d+", "", done.stderr.strip())[-110:]
                refusals[why] += 1
                print(f"{name}: {done.stderr.strip()[-300:]}" if args.keep else "", end="\n" if args.keep else "")
                continue
            try:
                found = bits(torch.export.load(folder / f"{name}.pt2").module()(x.clone(), y.clone()))
                what = "" if found == expected else "other bits"
            except Exception as error:  # Whatever it raises is a result.
                what = str(error).strip().split("\n")[0][:200]
            converted.append(name)
            if what:
                differ += 1
                print(f"{name}: {what}\n{(folder / f'{name}.py').read_text()}", flush=True)
    for why, count in refusals.most_common():
        print(f"{count:4} refused: {why}")
    share = 100 * len(converted) / max(runs, 1)
    print(f"{len(converted)} of {runs} programs became a .pt2, {differ} of those differ")
    return 1 if differ or share < args.least else 0


if __name__ == "__main__":
    sys.exit(main())
