"""Three judges of two results: graphnet's, torch.testing's tolerances, and PyTorch's own for compilers."""

import json

from sample_text import call

TOLERANCES = {"float32": (1.3e-6, 1e-5), "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5),
              "float64": (1e-7, 1e-7)}
JUDGES = ("graphnet", "allclose", "same")


def load(path):
    from safetensors.torch import load_file
    tensors = load_file(path)
    return [tensors[name] for name in sorted(tensors, key=lambda name: int(name[1:]))]


def by_allclose(a, b):
    import torch
    for x, y in zip(a, b, strict=True):
        if x.shape != y.shape or x.dtype != y.dtype:
            return False
        rtol, atol = TOLERANCES.get(str(x.dtype).removeprefix("torch."), (0, 0))
        if not torch.allclose(y.double() if y.is_floating_point() else y,
                              x.double() if x.is_floating_point() else x,
                              rtol=rtol, atol=atol, equal_nan=True):
            return False
    return True


def by_same(a, b, exact):
    import logging
    from torch._dynamo.utils import same
    logging.disable(logging.CRITICAL)
    half = any(str(x.dtype) in ("torch.float16", "torch.bfloat16") for x in a)
    return bool(same(a, b, exact, equal_nan=True, tol=1e-3 if half else 1e-4))


def by_graphnet(case, outputs):
    """(verdict, ratio) of the worst output."""
    said = json.loads(call(case.graphnet, "diff-run", case.program, outputs, "--inputs",
                           case.values, "--explain", "--json", codes=(0, 1)))
    order = ["equal", "rounding", "decision", "blind", "beyond", "other_form"]
    worst = ("equal", 0)
    for output in said["outputs"]:
        explained = output.get("explained", {"verdict": "equal", "ratio": 0})
        ratio = explained["ratio"] if explained["ratio"] is not None else float("inf")
        ratio = float(ratio)
        worst = max(worst, (explained["verdict"], ratio),
                    key=lambda found: (order.index(found[0]), found[1]))
    return worst


def judge(case, outputs):
    """What the three say: {"graphnet": "rounding", "ratio": 0.1, "allclose": True, "same": True}."""
    a, b, exact = load(case.outputs), load(outputs), load(case.exact)
    verdict, ratio = by_graphnet(case, outputs)
    return {"graphnet": verdict, "ratio": ratio, "allclose": by_allclose(a, b),
            "same": by_same(a, b, exact)}
