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
  S  is there for more than its value: it reads a file
  c  only computes on the values that it is given: graphs may run it (may_run below)
  -  none of these
signatures.txt: functions and methods written in Python, as inspect.signature gives them.
outs.txt: the overloads that write their results to given tensors, a line each: flags, the operator
that makes new tensors from the same arguments, the overload and the names of the given tensors. The
flags:
  p  Python's function calls it where it is given out
  o  lacks the options of new tensors: dtype, layout, device and pin_memory
  -  none of these
public.txt: the functions that PyTorch's public modules have: a module and names of it a line.
torchscript.txt: the operators on Python's values that TorchScript adds and graphs may run, and
those on quantised tensors and the packed parameters of quantised layers.
other_operators.txt: all else that PyTorch registers or torch.export calls by name, which nothing
but its name is known of: a namespace and names with overloads a line.
"""

import functools
import importlib
import inspect
import math
import operator
import pathlib
import pkgutil
import re
import sys
import textwrap

import probe_operators
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


@functools.cache
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


# Text that is neither a word (words.txt) nor the name of a file.
FREE_TEXT = {"equation", "assert_msg", "api_name"}
# Tensors whose elements are positions in memory of others.
POSITIONS = {"indices", "index", "crow_indices", "col_indices", "ccol_indices", "row_indices",
             "compressed_indices", "plain_indices", "offsets", "offset2bag", "nested_size", "lengths",
             "batch_sizes", "cu_seqlens", "cum_seq_q", "cum_seq_k", "mask_indices", "batch_offsets"}
# Private ones that check them all the same, by their source (native/PackedSequence.cpp,
# native/TensorAdvancedIndexing.cpp), though none of the probe's calls fits them.
CHECKED = {"_pack_padded_sequence", "_pad_packed_sequence", "_index_put_impl_", "_unsafe_index_put"}
# Those that die of, or take minutes for, numbers that the probe draws seldom
# (tests/interp/hostile_numbers_test.cc).
UNCHECKED = {"_new_zeros_with_same_feature_meta", "_sobol_engine_draw", "choose_qparams_optimized"}
# What a graph holds; None stands for anything that is optional.
VALUES = {"Tensor", "Scalar", "int", "SymInt", "float", "bool", "str", "ScalarType", "Layout",
          "Device", "MemoryFormat", "DeviceIndex"}


@functools.cache
def words():
    lines = (pathlib.Path(__file__).parent / "words.txt").read_text().splitlines()
    return {line.split()[0] for line in lines if not line.startswith("#")}


def may_run(f):
    """Values in, values out: no file, process, raw pointer or unchecked index."""
    base = str(f.func.name.name)
    for argument in f.func.arguments.flat_all:
        text = str(argument.type)
        if text.rstrip("?")[-1] != "]" and text.rstrip("?") not in VALUES and "?" not in text and \
                "Tensor" not in text:
            return False
        if text.startswith("str") and argument.name not in FREE_TEXT | words() and \
                f"{base}.{argument.name}" not in words():
            return False
    # Written to, the positions of a sparse tensor's elements are no longer checked ones; when
    # one is made, they are only on request.
    names = {a.name for a in f.func.arguments.flat_all}
    if (base.endswith("indices") and f.is_view_op) or "values" in names and names & POSITIONS and \
            "self" not in names:
        return False
    overload = f.func.name.overload_name or "default"
    if base in CHECKED:
        return True
    if base in UNCHECKED:
        return False
    taken = probe_operators.probe(base, overload)
    # What is private need not check what it is given.
    positions = any(a.name in POSITIONS for a in f.func.arguments.flat_all)
    return taken is not None and (taken > 0 or not positions or not base.startswith("_"))


def quantised_names():
    """Of operators on quantised tensors: those that check what they are given."""
    taken = {}
    for schema in torch._C._jit_get_all_schemas():
        space, name = schema.name.split("::")
        if space != "quantized" or "out" in schema.overload_name or re.search("_out$|legacy", name):
            continue
        if "legacy" not in schema.overload_name:
            taken.setdefault(name, []).append(
                probe_operators.probe(name, schema.overload_name or "default", space))
    # What it returns shares memory with the parameters, which may be gone by then.
    return [name for name, counts in taken.items() if all(counts) and name != "embedding_bag_unpack"]


def torchscript_lines():
    """Of operators that ATen lacks: those on numbers, text, lists and dicts."""
    native = {str(f.func.name.name) for f in native_functions().native_functions}
    values = {"Tensor", "int", "float", "bool", "complex", "number", "str", "t", "t1", "t2", "tVal",
              "Device", "Any", "AnyEnumType", "Layout"}
    # Gradients that tensors keep, addresses, other machines, output.
    others = {"save", "warn", "Print", "backward", "get_gradients", "id", "hash"}
    names = {}
    for schema in torch._C._jit_get_all_schemas():
        space, name = schema.name.split("::")
        if space not in ("aten", "prim") or (space == "aten" and name in native) or name in others or \
                name.startswith(("rpc_", "profile", "oneDNN")):
            continue
        # prim's in capitals are instructions of TorchScript's compiler.
        if space == "prim" and not name[0].islower() and name not in (
                "TupleIndex", "TupleUnpack", "NumToTensor", "ConstantChunk", "StringIndex",
                "EnumName", "EnumValue", "RaiseException", "ListConstruct", "DictConstruct"):
            continue
        types = " ".join(str(a.type) for a in [*schema.arguments, *schema.returns])
        if set(re.findall(r"[A-Za-z_.0-9]+", types)) <= values | {"List", "Dict", "Tuple", "Optional"}:
            names.setdefault(space, set()).add(name)
    names["quantized"] = set(quantised_names())
    for space in sorted(names):
        yield from textwrap.wrap(" ".join(sorted(names[space])), 90, initial_indent=f"{space} ",
                                 subsequent_indent=f"{space} ")


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
        if f.func.name.name.base == "from_file":
            flags += "S"
        if may_run(f):
            flags += "c"
        # Some return what the statistics become, and some only read them.
        readers = ("_functional", "_no_training", "_no_update", "_backward")
        reads = str(f.func.name.name).endswith(readers)
        if any(a.name == "running_mean" for a in f.func.arguments.flat_all) and not reads:
            flags += "u"
        elif "maybe_aliasing_or_mutating" in f.tags or f.func.name.name.base in UNDECLARED_ALIASES:
            flags += "a"
        groups.setdefault(str(f.func.name.name), []).append((order.get(name, 1000), flags or "-", str(f.func)))
    for base in sorted(groups):
        for _, flags, schema in sorted(groups[base], key=lambda item: item[0]):
            yield f"{flags} {schema}"


def out_lines():
    options = {"dtype", "layout", "device", "pin_memory"}

    def parameters(f, without):
        return [(a.name, str(a.type)) for a in f.func.arguments.flat_non_out if a.name not in without]

    functions = native_functions().native_functions
    makers = {}
    for f in functions:
        if not f.func.is_out_fn() and not f.func.name.name.inplace:
            makers.setdefault(f.func.name.name.base, []).append(f)
    lines = []
    for f in functions:
        if not f.func.is_out_fn():
            continue
        for without in (set(), options):
            maker = next((m for m in makers.get(f.func.name.name.base, [])
                          if parameters(m, without) == parameters(f, set())), None)
            if maker is not None:
                # What PyTorch makes out of another overload has no binding. Those that are written by
                # hand, such as nonzero, are not among the others.
                is_bound = bindings.should_generate_py_binding(f) or (
                    "generated" not in f.tags and hasattr(torch, f.func.name.name.base) and
                    not bindings.should_generate_py_binding(maker))
                flags = ("p" if is_bound else "") + ("o" if without else "")
                outs = " ".join(a.name for a in f.func.arguments.out)
                lines.append((f"{maker.func.name} {f.func.name.overload_name} {outs}", flags or "-"))
                break
    return [f"{flags} {line}" for line, flags in sorted(lines)]


@functools.cache
def operators():
    return {f.func.name.name.base for f in native_functions().native_functions} | {"unique"}


def signature_lines():
    modules = {"torch.nn.functional": torch.nn.functional, "torch.functional": torch.functional,
               "Tensor": torch.Tensor}
    for prefix, module in modules.items():
        for name in sorted(vars(module)):
            function = getattr(module, name)
            # Of Tensor, what Python puts before the operator of the name.
            if prefix == "Tensor" and not (inspect.isfunction(function) and name in operators()):
                continue
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
            if not getattr(function, "__module__", "").startswith(tuple(modules) + ("torch._tensor",)):
                continue
            if prefix == "Tensor" and not inspect.getsourcefile(inspect.unwrap(function)).endswith("_tensor.py"):
                continue
            text = str(signature.replace(parameters=parameters,
                                         return_annotation=inspect.Signature.empty))
            yield f"{prefix}.{name}{text}"


def public_lines():
    modules = [torch, torch.nn.functional, torch.fft, torch.linalg, torch.special, torch.sparse]
    for module in modules:
        names = []
        for name in sorted(vars(module)):
            function = getattr(module, name)
            # Classes in small letters are called as functions are: torch.set_grad_enabled.
            is_function = callable(function) and (name.islower() or not inspect.isclass(function))
            if is_function and not name.startswith("_"):
                names.append(name)
        yield from textwrap.wrap(" ".join(names), 100, initial_indent=module.__name__ + " ",
                                 subsequent_indent=module.__name__ + " ")


def other_lines():
    """What a program may call that schemas.txt lacks."""
    described = {str(f.func.name) for f in native_functions().native_functions if not f.func.is_out_fn()}
    # These register operators when they are imported.
    for module in pkgutil.walk_packages(torch._higher_order_ops.__path__, "torch._higher_order_ops."):
        try:
            importlib.import_module(module.name)
        except ImportError:  # It is about a device that is not there.
            pass
    importlib.import_module("torch.ao.quantization.fx._decomposed")
    names = {"higher_order": set(torch._ops._higher_order_ops), "math": set(dir(math)),
             "_operator": set(dir(operator))}
    registered = {schema.name + "." + schema.overload_name for schema in torch._C._jit_get_all_schemas()}
    for name in registered | set(torch._C._dispatch_get_all_op_names()):
        space, name = name.split("::")
        name = name.removesuffix(".")
        if space == "aten" and (name in described or name.partition(".")[0][0].isupper()):
            continue
        if not space.startswith(("_test", "static_runtime", "prim")) or space == "prims":
            names.setdefault(space, set()).add(name if "." in name else name + ".default")
    for space in sorted(names):
        public = sorted(name for name in names[space] if not name.startswith("__") or space == "aten")
        yield from textwrap.wrap(" ".join(public), 100, initial_indent=f"{space} ",
                                 subsequent_indent=f"{space} ", break_long_words=False, break_on_hyphens=False)


def main():
    folder = pathlib.Path(sys.argv[1])
    note = f"# Made by make_schemas.py from torch {torch.__version__.split('+')[0]}.\n"
    (folder / "schemas.txt").write_text(note + "\n".join(schema_lines()) + "\n")
    (folder / "signatures.txt").write_text(note + "\n".join(signature_lines()) + "\n")
    (folder / "torchscript.txt").write_text(note + "\n".join(torchscript_lines()) + "\n")
    (folder / "other_operators.txt").write_text(note + "\n".join(other_lines()) + "\n")
    (folder / "outs.txt").write_text(note + "\n".join(out_lines()) + "\n")
    (folder / "public.txt").write_text(note + "\n".join(public_lines()) + "\n")


if __name__ == "__main__":
    main()
