"""The suite of compare.py on random programs in TorchScript."""

import argparse
import collections
import importlib.util
import pathlib
import random
import re
import subprocess
from typing import Any, Dict, List

import torch

import in_pytorch
from compare import Run, Suite

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

COUNTED = """import torch
from typing import Dict, List, Tuple

class P(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("h", torch.ones(2, 3) / 4)

    def reset(self, by: int):
        self.h = torch.full([2, 3], float(by))

    def forward(self, x: torch.Tensor, y: torch.Tensor, n: int, t: str):
"""
# What only programs with given inputs and a buffer have.
COUNTED_STATEMENTS = r"""
for j in range(n):\n    a = a + j  ; for j in range(1, n, 2):\n    a = a * j
for j in range(n + 3, n, -1):\n    k.append(j)
for j in range(0, x.size(1), n % 4 + 1):\n    a = a + x[:, j:j + 1]
j = n\nwhile j > 0:\n    j -= 2\n    if j == 1:\n        break\n    l.append(a * j)
for j in range(n):\n    if j % 2 == {i}:\n        continue\n    a = a - j
if n == 3:\n    a = a * 2\nelif t == "cd":\n    a = a + 3\nelse:\n    n = n + 1
if t == "ab":\n    self.reset({i})  ; if t == "cd" and n > {i}:\n    l = [v * n for v in l]  ; a = a + self.h
a = self.h * n  ; self.h = a  ; self.h = a * 0.5 + {i}  ; self.h = self.h + {i}  ; self.h.add_({i})
v = self.h\nself.h = v * 2\nv.sub_(1)\na = a + v  ; v = self.h[0]\nself.h = a + v\nv.mul_(3)
v = self.h\nself.h = a\na = v  ; l.append(self.h)  ; l[0] = self.h\nl[0].add_(1)
for j in range(n % 3):\n    self.h = self.h + x * j
""".strip().replace("  ; ", "\n").splitlines()

# A statement has one line or several; {i} is a number from 0 to 2.
STATEMENTS = r"""
a = a * n  ; a = a + m  ; a = torch.relu(a) - y  ; a = l[0] * 2  ; a = d["p"] + a
a = a.reshape(x.shape) + 0.5  ; n = n + m * {i}  ; m = (m * 2 + {i}) % 7 + 1  ; n = n // 2 + 1  ; m = max(m, n)
n = min(k) + len(k)  ; m = sum(k) % 11 + 1  ; n = abs(-m) + int(m > 2)  ; k.append(m)
k.append(x.size({i} % 2))  ; k.insert({i}, n % 5)  ; k.insert(-1, {i})  ; k.extend([m, {i}])  ; k[0] = {i} + 1
k[-1] += 2  ; k.reverse()  ; k.sort()  ; k.sort(reverse=True)  ; k = k + [m]  ; k = k * 2  ; k = 2 * k[:2]
k = k[1:] + k[:1]  ; k = sorted(k)  ; k = list(k)  ; k = k.copy()  ; m = k.pop() + 1\nk.append({i})
m = k.pop(0) + 1\nk.append({i})  ; k.remove(k[0])\nk.append(4)  ; n = k.count(2) + 1  ; n = k.index(k[-1]) + 1
del k[0]\nk.append(2)  ; k.clear()\nk.append(3)  ; if 2 in k:\n    m = m + 1\nelse:\n    a = a - 1
if m not in k:\n    n = n + 1  ; if not (m > 3 and n < 9):\n    a = a + 2  ; if k == [1, 2]:\n    a = a * 3
if len(w) > {i} or t == "ab":\n    a = a - m  ; l.append(a)  ; l.insert(0, a + {i})  ; l.extend([a, y])
l[-1] = a * 2  ; l.reverse()  ; a = l.pop() + 1\nl.append(y)  ; a = l.pop(0)\nl.append(x)  ; l = l[:2] + [a]
a = torch.stack(l).sum(0)  ; a = torch.cat([v * 2 for v in l]).sum() + a  ; a = l[len(l) - 1] + len(l)
for v in l:\n    a = a + v  ; for j in range(len(k)):\n    a = a + k[j]
for j, v in enumerate(l):\n    a = a + v * j  ; for u, v in zip(k, l):\n    a = a + v * u
for j in range({i} + 2):\n    if j % 2 == 0:\n        k.append(j)\n    else:\n        l.append(a + j)
while len(k) > 3:\n    k.pop()
j = 0\nwhile j < 5:\n    j += 1\n    if j == {i}:\n        continue\n    if j == 4:\n        break\n    a = a + j
k = [v + 1 for v in k]  ; l = [v + n for v in l]  ; d["q"] = a  ; d["p"] = d["p"] * 2
d["q"] = y\na = d.pop("q") + 1  ; if "q" in d:\n    a = a + d["q"]  ; for s in d.keys():\n    a = a + d[s]
for v in d.values():\n    a = a + v  ; for s, v in d.items():\n    a = a + v * len(s)
a = torch.stack(list(d.values())).mean(0) + x  ; d = {{s: v + 1 for s, v in d.items()}}  ; d.update({{"r": a}})
a = d.get("p", y) + 1  ; a = d.get("z", y) + 1  ; d.setdefault("s", a)  ; n = len(d) + 1
del d["p"]\nd["p"] = x  ; d = dict([("p", a), ("u", y)])  ; e[m] = n  ; e[1] += 2
e[n % 4] = e.get(n % 4, 0) + 1  ; m = e[1] % 5 + 1  ; for q, v in e.items():\n    m = (m + q * v) % 13 + 1
if m in e:\n    n = e[m] % 6 + 1  ; e.clear()\ne[1] = {i}  ; w.append(t)  ; w.append(t + str(m))  ; t = t + "c"
t = w[0] + w[-1]  ; t = "".join(w)  ; t = t.upper()  ; t = t.lower().strip()  ; t = "{{}}-{{}}".format(m, t)
t = t[1:] + t[:1] + "z"  ; t = t * 2  ; w = t.split("y")  ; w.sort()  ; n = len(t) % 9 + 1
m = t.find("b") + 2  ; m = t.count("a") + 1  ; n = ord(t[0]) % 7 + 1  ; if t.startswith("a"):\n    a = a + 1
if t.endswith("c") or "b" in t:\n    a = a * 2  ; if t != "abc" and t < "b":\n    m = m + 1
if t.isdigit() or t.islower():\n    n = n + 2  ; n = int("1{i}") % 5 + 1  ; n = int(float(m) * 1.5) + 1
n = int(round(m / 2)) + 1  ; a = a * float(m)  ; a = a + (m / 4)  ; a = a * (2 ** {i})  ; m = m ^ 1 | 2
n = (n << 1) & 7 | 1  ; p, q = (m, n)\nm = q + 1  ; p, q = l[0], l[1]\na = p - q  ; u = (a, m)\na = u[0] * u[1]
a, n = a + n, n + 1  ; a = a + torch.zeros([x.size(0), 3]) + torch.full(x.shape, {i}.5)
a = a.permute([1, 0]).permute([1, 0])  ; a = a.view(-1, k[0] * 0 + 3)  ; a = torch.split(a, 1, 0)[0] + a
a = torch.unbind(a, 0)[0] + a  ; b = a.chunk(2, 0)\na = a + b[0].sum() + len(b)
""".strip().replace("  ; ", "\n").splitlines()

TAIL = """        s = torch.full([1], float(n)) + m + len(k) + len(w) + len(d) + len(e) + len(t) + len(l)
        return a, s, torch.tensor(k), l[0], d["p"]
"""


NESTED_HEAD = """import torch
from typing import Dict, List, Optional, Tuple

class P(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("w", torch.arange(12.0).view(4, 3) / 8)

    def bump(self, z: torch.Tensor, by: int) -> torch.Tensor:
        z.add_(by)
        return z

    def first(self, zs: List[torch.Tensor]) -> torch.Tensor:
        return zs[0]

    def grow(self, zs: List[torch.Tensor], z: torch.Tensor):
        zs.append(z)
        zs[0].mul_(0.5)

    def rows(self, z: torch.Tensor) -> List[torch.Tensor]:
        return [z[0], z[1:2], z[2:]]

    def forward(self, x: torch.Tensor, y: torch.Tensor):
        a = x + 1
        b = y
        c = x * y
        v = a[1:3]
        n = x.size(0)
        m = 2
        l = [a, y * 2, c]
        d = {"p": c, "q": x - 1}
        t = (a, b)
        o: Optional[torch.Tensor] = None
        u = [[a, c], [b + 0.5]]
        e: Dict[int, List[torch.Tensor]] = {0: [c], 1: [a]}
"""
NESTED_TAIL = ("return a, b, c, v.sum(), l[0], l[-1], d[\"p\"], d[\"q\"], t[0] * 2, u[0][0], e[1][0], "
               "torch.tensor([n, m, len(l)])")

WHOLE = """a b c a b c x y l[0] l[1] l[-1] d["p"] d["q"] t[0] t[1] u[0][0] u[0][-1] u[1][0] e[0][0] e[1][0]
self.w self.first(l) self.first(u[0])""".split()
VIEWS = """[1:3]|[{i}]|[:, {i}]|[::2]|.t()|.view(-1)|.reshape(-1)|.transpose(0, 1)|[1:3][:, 0:2]|.unsqueeze(0)
.select(1, {i})|.narrow(0, {i}, 2)|.diagonal()|.flatten()|.detach()|.chunk(2)[0]|.split(2)[1]|.unbind(0)[{i}]
.permute(1, 0)|.to(torch.float32)|.contiguous()|.view_as(x)|[None]|[..., 1]|[1:][1:]|[-1]|[n % 4]|[:n]|.squeeze(0)
.reshape(2, 6)|.expand(4, 3)|.movedim(0, 1)|.alias()|.unfold(0, 2, 2)|.tensor_split(2)[1]|.view(2, 2, 3)[1]""".replace(
    "\n", "|").split("|")
WRITES = """.add_({s})|.mul_({s})|.sub_(m)|.zero_()|.fill_({s})|.relu_()|.clamp_(-2, 2)|.neg_()|.sigmoid_()|.div_(2)
.add_({t}.sum() * 0.01)|.copy_({t}.mean())|.masked_fill_({t}.sum() > 1, 0.25)|.add_(n, alpha=2)|.tanh_()|.pow_(2)""".replace(
    "\n", "|").split("|")
WHOLE_WRITES = """{t}[1:3] = {s}|{t}[{i}] = {r}[1]|{t}[:, {i}] = n|{t}[{t} > 1] = 0.5|{t}[{t} < 0] += 1
{t}[1:3] += {s}|{t}[{i}] *= 2|{t}[torch.tensor([0, 2])] = {r}[1:3]|{t}.index_fill_(0, torch.tensor([{i}]), {s})
{t}.masked_fill_({r} > 1, {s})|{t}.index_add_(0, torch.tensor([1, 1]), {r}[:2])|torch.add({r}, 1, out={t})
{t}.copy_({r})|{t}.add_({r})|{t}.addcmul_({r}, {r}, value=0.5)|torch.relu_({t})|{t}[{i}, 1] = {r}.sum()
torch.nn.functional.relu({t}, inplace=True)|{t}[1:3][0] = 1.5|{t}[[True, False, True, False]] = 2|{t}.scatter_(0, torch.zeros([1, 3], dtype=torch.long), 3.0)
{t}.lerp_({r}, 0.5)|{t}.t()[{i}] = {s}|{t}[0], {t}[1] = {r}[1].clone(), {r}[0].clone()""".replace("\n", "|").split("|")
# {t}, {r}: a tensor of four rows and three columns; {V}: a view, or a whole tensor.
SIMPLE = r"""a = {T}|b = {T}|c = {T}|a = {t}|b = {t}|c = {t}|v = {V}|v = {V}|v = v.clone()|n = n + {i}|m = m * 2 % 5 + 1
l[{i}] = {t}|l.append({t})|l.append({T})|l = [{t}, {T}, {t}]|l.insert(0, {t})|l = l[1:] + [{t}, {t}]|l = [z + 1 for z in l]
l.reverse()|l.extend([{t}, {T}])|l[0], l[1] = l[1], l[0]|d["p"] = {t}|d["q"] = {T}|d["p"], d["q"] = d["q"], d["p"]
d = {{"p": {t}, "q": {t}}}|d.update({{"p": {T}}})|t = ({t}, {t})|t = (t[1], t[0])|o = {t}|o = None|u[0].append({t})
u[0] = [{t}, {t}]|u.append(l)\nu.pop()|e[{i}] = [{t}, {T}]|e[0].append({t})|l = u[0] + [{t}]|l = list(l)|a = self.bump({t}, {i})
b = self.bump({T}, n)|self.grow(l, {t})|v = self.first(l)[1:3]|v = self.rows({t})[{i}]|if o is not None:\n    o.add_(1)
if o is not None:\n    a = o + a|a += {r}|b *= {s}|c -= 1|a /= 2|v += 1|a = torch.stack([{t}, {t}]).sum(0)|a = torch.cat([{t}, {t}])[2:6]
a = l.pop()\nl.append({T})|b = l.pop(0)\nl.append({t})|b = d["p"][:, :]|z0, z1 = t\nz0.add_(1)|z2, z3 = {t}.split(2)\nz2.add_(z3)
n = len(l) + v.dim()|m = int(bool({t}.size(0) > 3)) + 1|a = a + v.sum()|v = v.sum().view(1)|a = torch.where({t} > 1, {t}, {r})
p = {t}.clone()\np.unsqueeze_(0)\nn = p.size(0) + n % 3\na = p[0]|p = {T}\np.t_()\nm = p.size(0) + m % 2|p = {t}.clone()\nq = p[0]\np.t_()\nq.add_(1)\na = p.t()
a = {t} * torch.ones([n % 4 + 1, 1, 1]).sum()|a = {t}.double().mul_(2).float()|p = torch.empty_like({t})\np.copy_({t})\nb = p|c = torch.zeros(4, 3)\nc[{i}:] = {t}[{i}:]
for z in {t}.unbind(0):\n    z.add_(1)|for z in {t}.split(2):\n    z *= 0.5|for z in {t}:\n    v = z|a = {t}.half().float() + 1|n = int(n > m) + 3
a = torch.dropout({t}, 0.5, False)|b = self.w|self.w.add_({s})|self.w[1:3] += 1|v = self.w[{i}]|p = v\nq = p\nq.add_(1)
p = {t}.new_zeros([4, 3])\np += {r}\na = p|l2 = l\nl2.append({t})|d2 = d\nd2["p"] = {t}|p = [v, v]\np[0].add_(1)|a, b = b, a|b, c = t[0], {T}""".replace("\n", "|").split("|")
LOOPS = r"""for i in range({j}):|for i in range(x.size(0)):|for i in range(1, x.size(0)):|for i in range(3, 0, -1):|for i in range(0, 4, 2):
for i in range(n % 4):|for z in l:|for i, z in enumerate(l):|for z, q in zip(l, u[0]):|for s in d.keys():|for s, z in d.items():|for z in u[0]:
for i in range(len(l)):|w{w} = 0\nwhile w{w} < {j}:\n    w{w} += 1|w{w} = 0\nwhile True:\n    w{w} += 1\n    if w{w} > {j}:\n        break
for i, z in zip(range(3), l):|while n < 7:\n    n += 1|for z in [a, v]:|for z in (a, b):|for zs in u:\n    z = zs[0]
w{w} = 0\nwhile w{w} < 4 and bool(a.sum() < 30):\n    w{w} += 1\n    a = a * 1.5""".replace("\n", "|").split("|")
TESTS = """n > 3|m == 2|len(l) > 3|n % 2 == 0|i_ < 2|"q" in d|o is None|x.size(1) == 3|a.dim() == 2 and m < 4""".split("|")
DATA_TESTS = """bool({t}.sum() > {s})|bool(v.sum() > 0)|{t}.sum().item() > 1|float({t}[0, 0]) > {s}|bool(({t} > 2).any())""".split("|")


class Nested:
    """Writes one program of nested statements."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.loops = 0

    def filled(self, text: str) -> str:
        def one(match):
            return {"i": lambda: str(self.rng.randint(0, 2)), "j": lambda: str(self.rng.randint(1, 3)),
                    "s": lambda: self.rng.choice(["1", "2", "0.5", "-1.25"]), "t": lambda: self.rng.choice(WHOLE),
                    "r": lambda: self.rng.choice(WHOLE), "w": lambda: str(self.loops), "T": self.new, "V": self.view,
                    }[match.group(1)]()
        text = text.replace("\\n", "\n")
        for _ in range(3):
            text = re.sub(r"(?<!\{)\{([ijstrwTV])\}(?!\})", one, text)
        return text.replace("{{", "{").replace("}}", "}")

    def new(self) -> str:
        return self.filled(self.rng.choice(["{t} + {r}", "{t} * {s}", "torch.relu({t})", "{t}.clone()", "torch.tanh({t})", "{t} - n"]))

    def view(self) -> str:
        return self.filled("{t}" + "".join(self.rng.choice(VIEWS) for _ in range(self.rng.choice([0, 1, 1, 1, 2]))))

    def statement(self, depth: int, in_loop: bool) -> list:
        rng = self.rng
        kind = rng.random()
        if kind < 0.30 or depth > 3 and kind > 0.7:
            return self.filled(rng.choice(SIMPLE)).split("\n")
        if kind < 0.47:
            what = rng.choice(["v", "v", self.view(), self.view()])
            return [f"{what}{self.filled(rng.choice(WRITES))}"]
        if kind < 0.60:
            return [self.filled(self.filled(rng.choice(WHOLE_WRITES)))]
        if kind < 0.80:
            self.loops += 1
            lines = self.filled(rng.choice(LOOPS)).split("\n")
            body = self.block(depth + 1, True)
            names = set(re.findall(r"\b(i|z|q)\b(?=.*\bin\b)", lines[0])) if lines[0].startswith("for") else set()
            if "zs" in lines[0]:
                names.add("z")
            if "z" in names and rng.random() < 0.7:
                body.insert(rng.randint(0, len(body)), rng.choice(["z.add_(1)", "z[1:3].mul_(2)", "z += 0.5", "v = z[0]", "z.t()[0].zero_()", "a = z"]))
            if "i" in names and rng.random() < 0.5:
                body.append(rng.choice(["a[i % 4].add_(1)", "n = n + i", "v.add_(i)", "l[i % 3][0] += i", "a = a + i"]))
            if rng.random() < 0.25:
                test = self.filled(rng.choice(TESTS + DATA_TESTS[:2])).replace("i_", "n")
                body.insert(rng.randint(0, len(body)), f"if {test}:\n    {rng.choice(['break', 'continue'])}")
            return lines + ["    " + line for part in body for line in part.split("\n")]
        if kind < 0.95:
            test = self.filled(rng.choice(TESTS * 2 + DATA_TESTS)).replace("i_", "n")
            lines = [f"if {test}:"] + ["    " + line for line in self.block(depth + 1, in_loop)]
            if rng.random() < 0.6:
                lines += ["else:"] + ["    " + line for line in self.block(depth + 1, in_loop)]
            return lines
        if kind < 0.97:
            test = self.filled(rng.choice(TESTS + DATA_TESTS)).replace("i_", "m")
            return [f"if {test}:", f"    {NESTED_TAIL}"]
        test = self.filled(rng.choice(TESTS + DATA_TESTS)).replace("i_", "m")
        return [self.filled("a = {t} if ") + test + self.filled(" else {T}")]

    def block(self, depth: int, in_loop: bool) -> list:
        lines = []
        for _ in range(self.rng.randint(1, 4 if depth > 1 else 6)):
            lines += self.statement(depth, in_loop)
        return lines

    def text(self) -> str:
        lines = self.block(0, False) + self.block(0, False) + [NESTED_TAIL]
        return NESTED_HEAD + "".join(f"        {line}\n" for part in lines for line in part.split("\n"))


def flat(rng: random.Random, is_counted: bool) -> str:
    text = HEAD
    statements = STATEMENTS
    if is_counted:
        given = ("        n = x.size(0)\n", '        t = "ab"\n')
        text = COUNTED + "".join(line for line in HEAD.split("def forward")[1].splitlines(True)[1:] if line not in given)
        statements = COUNTED_STATEMENTS * 3 + STATEMENTS
    for _ in range(rng.randint(3, 10)):
        statement = rng.choice(statements).replace("\\n", "\n").format(i=rng.randint(0, 2))
        text += "".join(f"        {line}\n" for line in statement.split("\n"))
    return text + TAIL


def scripted(text: str, path: pathlib.Path):
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return torch.jit.script(module.P())


INPUTS = {"flat": ["f32[2,3]", "f32[2,3]"], "counted": ["f32[2,3]", "f32[2,3]", "n=3", "t=cd"],
          "nested": ["f32[4,3]", "f32[4,3]"]}


def inputs(kind: str) -> list:
    """Inputs of three runs, of which the first two are equal."""
    if kind != "nested":
        x, y = torch.arange(6.0).view(2, 3) / 7, torch.full((2, 3), -0.25)
    else:
        x, y = torch.arange(12.0).view(4, 3) / 7, torch.arange(12.0).flip(0).view(4, 3) / 9 - 0.5
    more = (3, "cd") if kind == "counted" else ()
    return [(x.clone(), y.clone()) + more, (x.clone(), y.clone()) + more, (-y, x - 1.5) + more]


SECONDS = 5  # for the three runs of one program
ENDINGS = {"pt2": ".pt2", "torchscript": ".pt", "mlir": ".mlir"}
LOADERS = {"pt2": lambda path: torch.export.load(path).module(), "torchscript": lambda path: torch.jit.load(str(path))}


def record(module: Any, kind: str) -> List[Dict[str, torch.Tensor]]:
    """What each of three runs returns, and what its inputs hold then."""
    found = []
    # TorchScript's optimisations may lose writes from the second run on.
    with torch.jit.optimized_execution(False):
        for given in inputs(kind):
            values = [value for value in [*module(*given), *given] if isinstance(value, torch.Tensor)]
            found.append({f"o{i}": value.detach().clone() for i, value in enumerate(values)})
    return found


def recorded(module: Any, kind: str, path: pathlib.Path) -> None:
    torch.save(record(module, kind), path)


class Lists(Suite):
    """Converts random scripted programs to .pt2 and to other formats, and compares them with PyTorch.

There are three kinds of programs in turn. The first is a list of statements on tensors, ints, lists, dicts and
texts, whose sizes and turns depend on no data; --least percent of these have to become a .pt2. The second is
the same with an int and a text as inputs, whose values are given, and with a buffer that the program assigns.
The third nests loops, branches and early returns, which may depend on data, around views, writes through
views, aliases, tensors within lists, dicts and tuples, buffers, and methods that write to what they are given.
PyTorch runs a .pt2 and a .pt that graphnet wrote; MLIR is only counted. Each runs twice on one input, so that
buffers keep their writes, and once on another. Outputs, and inputs after the call, must have torch.jit's bits,
or the program must have been refused.
"""

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--count", type=int, default=100)
        parser.add_argument("--least", type=float, default=0, help="percent of the programs of the first kind")
        parser.add_argument("--to", default="pt2", help="formats, of " + ", ".join(ENDINGS))
        parser.add_argument("--kind", choices=list(INPUTS), help="programs of one kind only")
        parser.add_argument("--keep", type=pathlib.Path, help="a folder for the programs")

    def run(self, run: Run) -> str:
        torch.set_num_threads(1)
        said = []
        for (kind, source), expected in self.make(run).items():
            for to in run.args.to.split(","):
                refused, written = self.convert(run, source, to, kind), 0
                for name, values in expected.items():
                    path = source.with_name(f"{source.name}_{to}") / f"{name}{ENDINGS[to]}"
                    written += path.exists()
                    what = self.judge(path, to, kind, values, name in refused)
                    run.tell(f"{name} as {to}", what and f"{what}\n{(source / f'{name}.py').read_text()}")
                for why, times in collections.Counter(re.sub(r"%\S+|\d+", "", why)[-110:] for why in refused.values()).most_common():
                    said.append(f"{times:5} refused: {why}")
                said.append(f"{kind} to {to}: {written} of {len(expected)} programs were written")
                if kind == "flat" and 100 * written < run.args.least * len(expected):
                    run.tell(f"{kind} to {to}", f"fewer than {run.args.least} % were written")
        return "\n".join(said)

    def make(self, run: Run) -> Dict[tuple, Dict[str, List[Dict[str, torch.Tensor]]]]:
        """What torch.jit makes of each program, by kind and folder."""
        rng, folder = random.Random(run.args.seed), run.args.keep or run.scratch
        expected: Dict[tuple, Dict[str, List[Dict[str, torch.Tensor]]]] = {}
        count = 0
        while count < run.args.count:
            kind = run.args.kind or ("flat", "nested", "counted", "nested")[count % 4]
            name, source = f"program_{run.args.seed}_{count}", folder / kind
            source.mkdir(parents=True, exist_ok=True)
            text = Nested(rng).text() if kind == "nested" else flat(rng, kind == "counted")
            try:
                module = scripted(text, source / f"{name}.py")
                module.save(str(source / f"{name}.pt"))
                # In a process of its own, as loops that are made at random may never end.
                _, failed = in_pytorch.in_process(recorded, module, kind, run.scratch / "values", seconds=SECONDS, memory=16 << 30)
                if failed:
                    raise RuntimeError(failed)
                expected.setdefault((kind, source), {})[name] = torch.load(run.scratch / "values")
            except Exception:  # What TorchScript refuses is no program.
                (source / f"{name}.pt").unlink(missing_ok=True)
                continue
            count += 1
        return expected

    def convert(self, run: Run, source: pathlib.Path, to: str, kind: str) -> Dict[str, str]:
        """Converts a folder, and returns why each program that was refused was, by its name."""
        given = [word for text in INPUTS[kind] for word in ("--input", text)]
        out = source.with_name(f"{source.name}_{to}")
        done = subprocess.run([run.args.graphnet, "convert", source, out, "--to", to, "--jobs", "1", *given],
                              capture_output=True, text=True, timeout=1800)
        if done.returncode < 0:
            run.tell(source, f"graphnet ended by signal {-done.returncode}: {done.stderr[-500:]}")
        refused: Dict[str, str] = {}
        for line in done.stderr.splitlines():
            if match := re.search(r"FAIL \S*?(program_\w+)\.pt: (.*)", line):
                refused.setdefault(match.group(1), re.sub(r"^.*\(node \S+\): ", "", match.group(2)))
        return refused

    @staticmethod
    def judge(path: pathlib.Path, to: str, kind: str, values: List[Dict[str, torch.Tensor]], is_refused: bool) -> str:
        if not path.exists():
            return "" if is_refused else "neither written nor refused"
        if to not in LOADERS:
            return ""
        try:
            found = record(LOADERS[to](path), kind)
        except Exception as error:  # Whatever it raises is a result.
            return in_pytorch.one_line(error)
        for number, (these, those) in enumerate(zip(found, values)):
            if what := in_pytorch.compare(those, these):
                return f"run {number}: {what} (the last two are the inputs)"
        return ""
