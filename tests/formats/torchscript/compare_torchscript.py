#!/usr/bin/env python3
"""Runs pairs of TorchScript archives on the same inputs and compares the outputs bit by bit.

    compare_torchscript.py ORIGINALS EXPORTED

Both are folders. For each NAME.pt of both, ORIGINALS/NAME.json describes the inputs:
{"inputs": [{"shape": [1, 3, 224, 224], "dtype": "torch.float32", "low": null, "high": null}]}.
Each program runs three times, as LibTorch optimises it in between. Exits with 1 unless all are
equal. Needs a Python with torch.
"""

import argparse
import json
import pathlib
import sys
from typing import Any, Dict, List, Optional

import torch

RUNS = 3


def make_inputs(spec: Dict[str, Any], seed: int) -> List[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    inputs = []
    for tensor in spec["inputs"]:
        dtype = getattr(torch, tensor["dtype"].removeprefix("torch."))
        if dtype.is_floating_point:
            inputs.append(torch.randn(tensor["shape"], generator=generator).to(dtype))
        else:
            inputs.append(torch.randint(tensor["low"], tensor["high"], tensor["shape"],
                                        generator=generator, dtype=dtype))
    return inputs


def flatten(value: Any) -> List[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in [key, *flatten(item)]]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in flatten(item)]
    return [value]


def bits(value: Any) -> Any:
    """What two leaves must agree in: for tensors dtype, shape and bytes."""
    if not isinstance(value, torch.Tensor):
        return repr(value)
    data = value.detach().cpu().resolve_conj().resolve_neg().contiguous()
    return data.dtype, data.shape, data.reshape(-1).view(torch.uint8).numpy().tobytes()


def run(path: pathlib.Path, spec: Dict[str, Any]) -> List[List[Any]]:
    module = torch.jit.load(path, map_location="cpu")
    results = []
    with torch.no_grad():
        for seed in range(RUNS):
            torch.manual_seed(seed)
            results.append(flatten(module(*make_inputs(spec, seed))))
    return results


def compare(original: pathlib.Path, exported: pathlib.Path,
            spec: Dict[str, Any]) -> Optional[str]:
    """None if equal, else what differs."""
    for i, (a, b) in enumerate(zip(run(original, spec), run(exported, spec), strict=True)):
        if len(a) != len(b):
            return f"run {i}: {len(a)} outputs against {len(b)}"
        for k, (x, y) in enumerate(zip(a, b)):
            if bits(x) != bits(y):
                return f"run {i}: output {k} differs"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("originals", type=pathlib.Path)
    parser.add_argument("exported", type=pathlib.Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    counts = {"equal": 0, "different": 0, "failed": 0}
    for original in sorted(args.originals.glob("*.pt")):
        exported = args.exported / original.name
        try:
            spec = json.loads(original.with_suffix(".json").read_text())
            difference = compare(original, exported, spec)
            verdict = "different" if difference else "equal"
        except Exception as error:  # A failure is reported, and the next pair is compared.
            lines = [line for line in str(error).splitlines() if line.strip()]
            verdict = "failed"
            difference = f"{type(error).__name__}: {lines[0] if lines else ''}"
        counts[verdict] += 1
        print(f"{original.name:40} {verdict:10} {difference or ''}".rstrip(), flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return 0 if counts["equal"] == sum(counts.values()) > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
