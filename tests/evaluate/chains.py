"""Writes samples, each a chain of calls of which one is of a faulty compiler: chains.py FOLDER COUNT."""

import pathlib
import random
import sys

FAULTY = ["torch.nn.functional.gelu({x})", "torch.sigmoid({x})", "torch.sub({x}, {y})", "torch.tanh({x})",
          "torch.erf({x})"]
OTHERS = ["torch.cos({x})", "torch.neg({x})", "torch.mul({x}, 0.75)", "torch.add({x}, {y})", "torch.sin({x})",
          "torch.nn.functional.softplus({x})"]

folder, count = pathlib.Path(sys.argv[1]), int(sys.argv[2])
folder.mkdir(parents=True)
for number in range(count):
    chooser = random.Random(number)
    calls = [chooser.choice(OTHERS) for _ in range(chooser.randrange(3, 9))]
    calls.insert(chooser.randrange(len(calls) + 1), FAULTY[number % len(FAULTY)])
    lines = ["graphnet.module 1", "", "graph @forward(%x : f32[4, 8] {mean = 0.1, std = 2.0}, "
             "%y : f32[4, 8] {mean = 0.5, std = 1.0}) {"]
    value = "%x"
    for i, call in enumerate(calls):
        lines.append(f"  %v{i} = {call.format(x=value, y='%y')}")
        value = f"%v{i}"
    lines += [f"  return ({value},)", "}", "end", ""]
    (folder / f"chain_{number:02}.gn").write_text("\n".join(lines))
