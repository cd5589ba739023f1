"""Writes onnx_operators.txt, the list of ATen's overloads that PyTorch's ONNX exporter takes.

Run with the Python that has torch, onnx and onnxscript, such as that of backend onnxruntime:
  python graphnet/evaluate/make_onnx_operators.py graphnet/evaluate

The exporter's registry lists the overloads that have an ONNX function themselves. All others are
decomposed first. The result is found by exporting calls from PyTorch's own operator database
(torch.testing), overload by overload. Each line has an overload and flags:
  r  taken for real tensors
  c  taken for complex tensors
  d  decomposed; followed by the resulting overloads that are not taken, if any
  u  decomposed, but the database has no call of it
  x  decomposed, but no call of the database can be made a program
An overload without a line is not taken.
"""

import pathlib
import sys
import types
import unittest
import warnings

# torch's tests import it only for a base class.
sys.modules.setdefault("expecttest", types.ModuleType("expecttest"))
sys.modules["expecttest"].TestCase = getattr(sys.modules["expecttest"], "TestCase", unittest.TestCase)

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.onnx._internal.exporter import _decomp, _fx_passes, _registration
from torch.testing._internal.common_methods_invocations import op_db

OPSET = 18  # as in evaluate/workers/onnx_export.py
SAMPLES = 3  # calls of each operator of the database


class Call(torch.nn.Module):
    def __init__(self, target, args, kwargs):
        super().__init__()
        leaves, self.spec = torch.utils._pytree.tree_flatten((args, kwargs))
        self.leaves = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        self.places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        self.tensors = tuple(leaves[i] for i in self.places)
        self.target = target

    def forward(self, *tensors):
        leaves = list(self.leaves)
        for place, tensor in zip(self.places, tensors):
            leaves[place] = tensor
        args, kwargs = torch.utils._pytree.tree_unflatten(leaves, self.spec)
        return self.target(*args, **kwargs)


def missing_of(call, registry):
    """Returns the overloads without a function to which the call decomposes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exported = torch.export.export(call, call.tensors)
        exported = _fx_passes.decompose_with_registry(exported, registry)
    graph = _fx_passes.remove_assertion_nodes(exported.graph_module).graph
    return {str(node.target) for node in graph.nodes if isinstance(node.target, torch._ops.OpOverload)
            and not registry.is_registered(node.target)}


def calls_of(operator):
    """Yields the overloads of ATen that the database calls for an operator, with arguments."""
    dtypes = sorted(operator.dtypes, key=lambda dtype: (dtype != torch.float32, str(dtype)))
    if not dtypes:
        return
    for i, sample in enumerate(operator.sample_inputs("cpu", dtypes[0])):
        if i == SAMPLES:
            return
        found = []

        class Record(torch.fx.Interpreter):
            def call_function(self, target, args, kwargs):
                if isinstance(target, torch._ops.OpOverload):
                    found.append((target, args, kwargs))
                return super().call_function(target, args, kwargs)

        leaves, spec = torch.utils._pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
        places = [k for k, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

        def run(*tensors):
            all_leaves = list(leaves)
            for place, tensor in zip(places, tensors):
                all_leaves[place] = tensor
            first, args, kwargs = torch.utils._pytree.tree_unflatten(all_leaves, spec)
            return operator.op(first, *args, **kwargs)

        tensors = [leaves[k] for k in places]
        try:
            Record(make_fx(run, pre_dispatch=True)(*tensors)).run(*tensors)
        except Exception:
            continue  # no graph, so nothing is exported
        yield from found


def overloads_of_aten():
    """Yields the overloads that do not write to memory, with their names."""
    for schema in torch._C._jit_get_all_schemas():
        space, name = schema.name.split("::")
        packet = getattr(torch.ops.aten, name, None) if space == "aten" else None
        overload = getattr(packet, schema.overload_name or "default", None)
        if isinstance(overload, torch._ops.OpOverload) and not overload._schema.is_mutable:
            yield str(overload), overload


def is_composite(target):
    """Returns whether PyTorch itself decomposes it."""
    try:
        return torch._C._dispatch_has_kernel_for_dispatch_key(target.name(), "CompositeImplicitAutograd")
    except RuntimeError:
        return False  # an operator of TorchScript


def main():
    folder = pathlib.Path(sys.argv[1])
    registry = _registration.ONNXRegistry.from_torchlib(OPSET)
    table = _decomp.create_onnx_friendly_decomposition_table(
        set(_decomp.get_onnx_implemented_overloads(registry)))
    lines = {}
    for target in [*registry.functions]:
        for meta in registry.functions[target]:
            overload = meta.fx_target
            if isinstance(overload, torch._ops.OpOverload) and overload.namespace == "aten":
                lines.setdefault(str(overload), set()).add("c" if meta.is_complex else "r")
    direct = {name: "".join(sorted(flags, reverse=True)) for name, flags in lines.items()}
    decomposed = dict.fromkeys(name for name, target in overloads_of_aten()
                               if target in table or is_composite(target))
    tried = {}
    for operator in op_db:
        for target, args, kwargs in calls_of(operator):
            name = str(target)
            if target.namespace != "aten" or target._schema.is_mutable or name in direct or tried.get(name, 0) >= SAMPLES:
                continue
            tried[name] = tried.get(name, 0) + 1
            try:
                missing = missing_of(Call(target, args, kwargs), registry)
            except Exception as error:
                print(f"{name}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}", file=sys.stderr)
                decomposed.setdefault(name)
                continue
            decomposed[name] = (decomposed.get(name) or set()) | missing
    rows = [f"{name} {flags}" for name, flags in direct.items()]
    for name, missing in decomposed.items():
        if name in direct or missing == {name}:
            continue
        if missing is None:
            rows.append(f"{name} {'x' if name in tried else 'u'}")
        else:
            rows.append(" ".join([name, "d", *sorted(missing)]))
    (folder / "onnx_operators.txt").write_text("\n".join(sorted(rows)) + "\n")


if __name__ == "__main__":
    main()
