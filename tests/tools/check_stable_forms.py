#!/usr/bin/env python3
"""Runs every form of tests/passes/unstable_forms.txt in Python, private and public.

    check_stable_forms.py GRAPHNET

GRAPHNET is the tool; it rewrites each form by `opt --passes=stabilize`. Python's own
parser then takes the public form, which the interpreter's tests do not show. Exits with
1 if a value differs by a bit.
"""
import os
import re
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional

HERE = os.path.dirname(os.path.abspath(__file__))

torch.manual_seed(1)
INPUTS = {
    "x": torch.randn(2, 6), "w": torch.randn(4, 6), "b": torch.randn(4), "v": torch.randn(6),
    "q": torch.randn(2, 3, 4, 8), "k": torch.randn(2, 3, 4, 8), "t": torch.randn(2, 3, 4, 8),
    "m": torch.randn(4, 4), "mask": torch.ones(4, 4, dtype=torch.bool).tril(),
    "c": torch.randn(4, 4, dtype=torch.complex64), "i": torch.tensor([0, 2, 1, 2, 0]),
    "image": torch.randn(1, 2, 8, 8), "p": torch.rand(4),
}


def to_text(call):
    for python, text in (("float('inf')", "inf"), ("float('-inf')", "-inf"), ("'", '"')):
        call = call.replace(python, text)
    names = "|".join(INPUTS)
    return re.sub(rf'(?<![\w."%])({names})(?!\w|=|")', r"%\1", call).replace("=", " = ")


def to_python(line):
    line = line.strip().split(" = ", 1)[1]
    line = re.sub(r"(?<![\w\"])-inf", "float('-inf')", line)
    line = re.sub(r"(?<![\w\"'-])inf", "float('inf')", line)
    return line.replace("%", "")


def main():
    graphnet = sys.argv[1]
    path = os.path.join(HERE, "..", "passes", "unstable_forms.txt")
    calls = [line.strip() for line in open(path) if line.strip() and not line.startswith("#")]
    parameters = ", ".join("%" + name for name in INPUTS)
    body = "".join(f"  %y{i} = {to_text(call)}\n" for i, call in enumerate(calls))
    outputs = "".join(f"%y{i}, " for i in range(len(calls)))
    text = f"graphnet.module 1\ngraph @forward({parameters}) {{\n{body}  return ({outputs})\n}}\nend\n"
    with tempfile.TemporaryDirectory() as folder:
        before, after = os.path.join(folder, "before.gn"), os.path.join(folder, "after.gn")
        with open(before, "w") as file:
            file.write(text)
        subprocess.run([graphnet, "opt", before, "--passes=stabilize", "-o", after], check=True,
                       stdout=subprocess.DEVNULL)
        lines = [line for line in open(after) if re.match(r"\s*%y\d+ = ", line)]
    assert len(lines) == len(calls), (len(lines), len(calls))
    failed = 0
    for call, line in zip(calls, lines):
        public = to_python(line)
        private_value = eval(call, {"torch": torch, **INPUTS})
        public_value = eval(public, {"torch": torch, **INPUTS})
        same = torch.equal(private_value, public_value) and private_value.dtype == public_value.dtype
        if "torch._" in public or not same:
            failed += 1
            print("FAIL", call, "->", public)
    print(f"{len(calls)} forms, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
