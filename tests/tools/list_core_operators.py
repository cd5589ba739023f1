#!/usr/bin/env python3
"""Lists the operators of core ATen, for tests/interp/torch/core_operators_test.cc.

    list_core_operators.py FOLDER > tests/interp/torch/core_operators.txt

They are those that PyTorch tags as core, and those that run_decompositions() leaves of PyTorch's
database of operators, whose programs `make_pt2_operators.py FOLDER --samples 1 --core` wrote. A line
has a name and, where no graph runs it, the reason.
"""

import pathlib
import sys

import torch

import run_pt2

REASONS = {"out": "it writes its result to an argument, which torch.export does not do"}


def core():
    for name in torch._C._dispatch_get_all_op_names():
        if not name.startswith("aten::"):
            continue
        base, _, overload = name.removeprefix("aten::").partition(".")
        if torch.Tag.core in getattr(getattr(torch.ops.aten, base), overload or "default").tags:
            yield f"aten.{base}.{overload or 'default'}"


def called(graph):
    for node in graph["nodes"]:
        yield node["target"]
        for argument in node["inputs"]:
            if "as_graph" in argument["arg"]:
                yield from called(argument["arg"]["as_graph"]["graph"])


def main() -> int:
    names = set(core())
    for path in pathlib.Path(sys.argv[1]).glob("*.pt2"):
        targets = called(run_pt2.program_of(path)["graph_module"]["graph"])
        names |= {t.removeprefix("torch.ops.") for t in targets if t.startswith("torch.ops.aten.")}
    print(f"# Made by list_core_operators.py from torch {torch.__version__.split('+')[0]}.")
    for name in sorted(names):
        print(f"{name}  {REASONS.get(name.rsplit('.', 1)[1], '')}".rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
