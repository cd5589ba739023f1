"""Writes schemas.txt and signatures.txt: what PyTorch's operators take and return.

Run with the Python whose torch is to be described:
  python graphnet/ops/make_schemas.py graphnet/ops

schemas.txt: the operators of ATen, a line each, "<flags> <schema>", the
overloads of a name in the order in which PyTorch's Python argument parser tries
them. The flags:
  f  a function of a Python module (torch, or the one named by the letters below)
  m  a method of Tensor
  n l F s p  in torch._C._nn, _linalg, _fft, _special, _sparse
  r  draws random numbers
  a  may return an argument, or a view of it, though its schema does not say so
  u  writes to its running statistics in training, which its schema does not say
  e  element by element: its tensors broadcast, and so is its result
  -  none of these
signatures.txt: functions written in Python, as inspect.signature gives them.
public.txt: the functions that PyTorch's public modules have, a name a line.
"""

import inspect
import pathlib
import sys

import torch
import torchgen
from torchgen.api.python import PythonSignatureNativeFunctionPair, signature
from torchgen.gen import parse_native_yaml
from torchgen.model import Variant
from torchgen.packaged.autograd import gen_python_functions as bindings

# Composite operators whose result may be a view of an argument or the argument
# itself, which neither their schema nor a tag says.
UNDECLARED_ALIASES = {"broadcast_tensors", "chain_matmul", "channel_shuffle", "einsum", "meshgrid",
                      "native_dropout", "pin_memory", "sum_to_size", "to_dense", "type_as"}

MODULES = {"nn": "n", "linalg": "l", "fft": "F", "special": "s", "sparse": "p"}


def native_functions():
    root = pathlib.Path(torchgen.__file__).parent / "packaged" / "ATen" / "native"
    return parse_native_yaml(str(root / "native_functions.yaml"), str(root / "tags.yaml"))


def python_order(functions):
    """Overload -> position among the overloads of its name in Python."""
    order = {}
    bound = [f for f in functions if bindings.should_generate_py_binding(f)]
    for method in (False, True):
        variant = Variant.method if method else Variant.function
        pairs = [PythonSignatureNativeFunctionPair(signature=signature(f, method=method), function=f)
                 for f in bound if variant in f.variants]
        by_name = {}
        for pair in pairs:
            by_name.setdefault(pair.function.func.name.name, []).append(pair)
        for group in by_name.values():
            grouped = bindings.group_overloads(group, symint=True)
            for position, overload in enumerate(grouped):
                order.setdefault(str(overload.base.func.name), position)
    return order, {str(f.func.name) for f in bound}


def schema_lines():
    functions = native_functions().native_functions
    order, bound = python_order(functions)
    groups = {}
    for f in functions:
        if f.func.is_out_fn():
            continue
        flags = ""
        name = str(f.func.name)
        if name in bound:
            variants = {v.name for v in f.variants}
            if "function" in variants:
                flags += "f"
            if "method" in variants:
                flags += "m"
            if f.python_module in MODULES:
                flags += MODULES[f.python_module]
        if "nondeterministic_seeded" in f.tags:
            flags += "r"
        if "pointwise" in f.tags:
            flags += "e"
        if any(a.name == "running_mean" for a in f.func.arguments.flat_all):
            flags += "u"
        elif "maybe_aliasing_or_mutating" in f.tags or f.func.name.name.base in UNDECLARED_ALIASES:
            flags += "a"
        groups.setdefault(str(f.func.name.name), []).append((order.get(name, 1000), flags or "-", str(f.func)))
    for base in sorted(groups):
        for _, flags, schema in sorted(groups[base], key=lambda item: item[0]):
            yield f"{flags} {schema}"


def signature_lines():
    modules = {"torch.nn.functional": torch.nn.functional, "torch.functional": torch.functional}
    for prefix, module in modules.items():
        for name in sorted(vars(module)):
            function = getattr(module, name)
            if name.startswith("_") or not callable(function) or inspect.isclass(function):
                continue
            # What torch._jit_internal.boolean_dispatch made says nothing of its own.
            function = getattr(module, name + "_with_indices", function)
            try:
                signature = inspect.signature(function)
            except (TypeError, ValueError):
                continue  # written in C++
            parameters = [p.replace(annotation=inspect.Parameter.empty)
                          for p in signature.parameters.values()]
            # Only what PyTorch itself defines here, not what it imports.
            if not getattr(function, "__module__", "").startswith(("torch.nn.functional", "torch.functional")):
                continue
            text = str(signature.replace(parameters=parameters,
                                         return_annotation=inspect.Signature.empty))
            yield f"{prefix}.{name}{text}"


def public_lines():
    modules = [torch, torch.nn.functional, torch.fft, torch.linalg, torch.special, torch.sparse]
    for module in modules:
        for name in sorted(vars(module)):
            function = getattr(module, name)
            # Classes in small letters are called as functions are: torch.set_grad_enabled.
            is_function = callable(function) and (name.islower() or not inspect.isclass(function))
            if is_function and not name.startswith("_"):
                yield f"{module.__name__}.{name}"


def main():
    folder = pathlib.Path(sys.argv[1])
    note = f"# Made by make_schemas.py from torch {torch.__version__.split('+')[0]}.\n"
    (folder / "schemas.txt").write_text(note + "\n".join(schema_lines()) + "\n")
    (folder / "signatures.txt").write_text(note + "\n".join(signature_lines()) + "\n")
    (folder / "public.txt").write_text(note + "\n".join(public_lines()) + "\n")


if __name__ == "__main__":
    main()
