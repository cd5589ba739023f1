#!/usr/bin/env python3
"""Exports each operator of PyTorch's own test database, for `compare.py programs`.

    make_pt2_operators.py FOLDER [NAME…] [--samples N] [--core]
    make_pt2_operators.py FOLDER --list > tests/interp/torch/core_operators.txt

The database is torch.testing._internal.common_methods_invocations, which needs expecttest.
An operator is called as its first float32 samples have it, tensors as inputs, the rest as
constants. Files are as make_pt2_programs.py writes them. What PyTorch itself does not export,
save or run again is reported by reason and left out. With --core, programs are those that
run_decompositions() makes of them. --list prints the operators that PyTorch tags as core, and those
that the programs in FOLDER call, which `--samples 1 --core` wrote: a line has a name and, where no
graph runs it, the reason.
"""

import argparse
import collections
import pathlib
import sys
import warnings

import torch

import in_pytorch

warnings.filterwarnings("ignore")


class Operator(torch.nn.Module):
    """A call of `function` whose tensors are inputs."""

    def __init__(self, function, sample):
        super().__init__()
        leaves, self.spec = torch.utils._pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
        self.function = function
        self.constants = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        self.tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        self.is_tensor = [isinstance(leaf, torch.Tensor) for leaf in leaves]

    def forward(self, *tensors):
        left = iter(tensors)
        leaves = [next(left) if is_tensor else constant for is_tensor, constant in zip(self.is_tensor, self.constants)]
        given, args, kwargs = torch.utils._pytree.tree_unflatten(leaves, self.spec)
        # Named tuples of torch.return_types cannot be returned.
        returned = self.function(given, *args, **kwargs)
        return tuple(returned) if isinstance(returned, tuple) else returned


REASONS = {"out": "it writes its result to an argument, which torch.export does not do"}


def core():
    for name in torch._C._dispatch_get_all_op_names():
        base, _, overload = name.removeprefix("aten::").partition(".")
        overload = overload or "default"
        if name.startswith("aten::") and torch.Tag.core in getattr(getattr(torch.ops.aten, base), overload).tags:
            yield f"aten.{base}.{overload}"


def called(graph):
    for node in graph["nodes"]:
        yield node["target"]
        for argument in node["inputs"]:
            if "as_graph" in argument["arg"]:
                yield from called(argument["arg"]["as_graph"]["graph"])


def list_core(folder) -> int:
    names = set(core())
    for path in folder.glob("*.pt2"):
        targets = called(in_pytorch.program_json(path)["graph_module"]["graph"])
        names |= {t.removeprefix("torch.ops.") for t in targets if t.startswith("torch.ops.aten.")}
    print(f"# Made by make_pt2_operators.py --list from torch {torch.__version__.split('+')[0]}.")
    for name in sorted(names):
        print(f"{name}  {REASONS.get(name.rsplit('.', 1)[1], '')}".rstrip())
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--samples", type=int, default=2, help="of each operator (default: %(default)s)")
    parser.add_argument("--core", action="store_true")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        return list_core(options.folder)
    from torch.testing._internal.common_methods_invocations import op_db

    options.folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    made, reasons = 0, collections.Counter()
    for info in op_db:
        if torch.float32 not in info.supported_dtypes("cpu") or (options.names and info.name not in options.names):
            continue
        name = f"{info.name}.{info.variant_test_name}" if info.variant_test_name else info.name
        torch.manual_seed(0)
        try:
            samples = [s for s, _ in zip(info.sample_inputs("cpu", torch.float32), range(options.samples))]
        except Exception as error:
            reasons[f"no samples: {type(error).__name__}"] += 1
            continue
        for i, sample in enumerate(samples):
            stem = f"{name}.{i}".replace(".", "_")
            try:
                module = Operator(info.op, sample)
                if not module.tensors:
                    reasons["takes no tensor"] += 1
                    continue
                in_pytorch.write_program(stem, in_pytorch.Program(module, [(tuple(module.tensors), {})], decomposed="core" if options.core else ""), options.folder)
                made += 1
            except Exception as error:
                reasons[f"{type(error).__name__}"] += 1
                print(f"not made  {stem}: {type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:150]}", flush=True)
                for left in options.folder.glob(f"{stem}.*"):
                    left.unlink()
    for reason, count in reasons.most_common():
        print(f"{count:5} {reason}")
    print(f"{made} made")
    return 0


if __name__ == "__main__":
    sys.exit(main())
