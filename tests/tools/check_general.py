#!/usr/bin/env python3
"""Checks in PyTorch that a sample made general by generalize-dims computes each element of a
batch as the sample it was made of does.

    check_general.py ORIGINAL GENERAL [ORIGINAL GENERAL]...

Both are GraphNet folders. The original's model.py runs on two draws of its inputs, the
general one's on each of them and on both, joined along the dimension that became a symbol.
With the old size all bits have to be equal; of the joined run each half is compared within
a tolerance, as PyTorch rounds otherwise with other sizes. One line a pair: "ok", "differs",
"fails" and why. Exits with 1 unless all are ok.

This runs the Python text of the samples: use it on samples that you trust.
"""

import pathlib
import sys
from typing import Any, Dict, List

import torch

import in_pytorch


def run(sample: pathlib.Path, inputs: Dict[str, torch.Tensor]) -> List[torch.Tensor]:
    returned = in_pytorch.call(in_pytorch.load(sample), {name: value.clone() for name, value in inputs.items()}, 0)
    return [value for _, value in in_pytorch.flatten(returned, "") if isinstance(value, torch.Tensor)]


def symbolic_shapes(sample: pathlib.Path) -> Dict[str, List[str]]:
    scope: Dict[str, Any] = {}
    exec((sample / "input_tensor_constraints.py").read_text(), scope)
    return {name: [str(size) for size in shape]
            for shape, name in scope.get("dynamic_dim_constraint_input_shapes", [])}


def is_weight(name: str) -> bool:
    return "_self_" in name or "_instance_modules_" in name or name.startswith("w_")


def check(original: pathlib.Path, general: pathlib.Path) -> str:
    metas = in_pytorch.read_metas(original)
    shapes = symbolic_shapes(general)
    first = {name: in_pytorch.draw(meta, 0) for name, meta in metas.items()}
    symbol = next((shapes[name][0] for name in first
                   if not is_weight(name) and name in shapes and shapes[name]
                   and not shapes[name][0].isdigit()), None)
    if symbol is None:
        return "fails: no input has a symbol in front"
    second, joined = dict(first), dict(first)
    for name, meta in metas.items():
        dims = [i for i, size in enumerate(shapes.get(name, [])) if size == symbol]
        if len(dims) > 1:
            return f"fails: {name} has the symbol twice"
        if dims:
            second[name] = in_pytorch.draw(meta, 1)
            joined[name] = torch.cat([first[name], second[name]], dims[0])
    expected = [run(original, first), run(original, second)]
    for old, new in zip(expected[0], run(general, first)):
        if what := in_pytorch.difference(old, new):
            return f"differs with the old size: {what}"
    both = run(general, joined)
    same = 0
    for i, (a, b, ab) in enumerate(zip(*expected, both)):
        if a.shape == ab.shape:
            same += 1
            continue
        dims = [d for d in range(a.dim()) if ab.shape[d] != a.shape[d]]
        if len(dims) != 1 or ab.shape[dims[0]] != 2 * a.shape[dims[0]]:
            return f"differs: output {i} is {list(ab.shape)}, was {list(a.shape)}"
        want = torch.cat([a, b], dims[0])
        if want.is_floating_point():
            scale = max(want.nan_to_num().abs().max().item(), 1e-6)
            distance = (want.nan_to_num() - ab.nan_to_num()).abs().max().item() / scale
            if distance > 1e-3:
                return f"differs: output {i} by {distance:.3g} of its largest"
        elif (want != ab).float().mean().item() > 1e-3:
            return f"differs: output {i}"
    return "ok" if same < len(both) else "differs: no output grew"


def main() -> int:
    paths = [pathlib.Path(text) for text in sys.argv[1:]]
    torch.set_num_threads(1)
    bad = 0
    for original, general in zip(paths[::2], paths[1::2]):
        try:
            line = check(original, general)
        except Exception as error:  # Whatever a model raises is a result.
            line = f"fails: {in_pytorch.one_line(error)}"
        print(line, original, flush=True)
        bad += line != "ok"
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
