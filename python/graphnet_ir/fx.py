"""Graphs of torch.fx as samples, and samples as graphs of torch.fx.

    sample = graphnet_ir.from_fx(graph_module, example_inputs)
    graph_module = graphnet_ir.to_fx(sample)

A sample holds what the nodes say: names, targets, arguments, written types, shapes and dtypes,
places in the program, paths of submodules. Parameters and buffers become attributes of its module
with their values, graph modules that a higher-order call takes become its bodies. How arguments
are packed (a pytree), default values of inputs, functions that torch.fx.wrap was told of, and
unusual names of nodes that read bodies are kept in the sample's file torch_fx.json. Other entries
of fx's node.meta are entries of node.meta here, too: they live as long as the module object does,
and no file holds them.

The IR cannot hold these, and from_fx refuses them with Error of kind 'unimplemented':

  - a function without a name of its own (a lambda, or one that was made within another), and two
    functions of one name;
  - an argument that is a tensor, a function, an operator, a range, a named tuple, an enum or any
    other object, and an integer of more than 64 bits;
  - an attribute that is neither a tensor nor a graph module, or a tensor that is sparse or
    quantized;
  - inputs that are starred (*args, **kwargs), and a default value that is more than a number, a
    text or None;
  - code that another class than torch.fx's own generates.

It holds the names of submodules that are called and of functions that are not PyTorch's, and not
these themselves: to_fx takes them from its argument `root`. Strides of attributes, and which of
them need a gradient, are not kept.
"""

from __future__ import annotations

import builtins
import copy
import functools
import json
import keyword
import math
import operator
import re
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Dict, FrozenSet, List, Optional, Set, Tuple, Union

import torch
import torch.fx
from torch.utils import _pytree as pytree

from graphnet_ir import _core
from graphnet_ir._core import Error, Graph, Module, Node, Sample, SymExpr, TensorMeta
from graphnet_ir._errors import made_error
from graphnet_ir._graphs import NodeMeta
from graphnet_ir._targets import name_of
from graphnet_ir.running import as_tensor, to_torch

# A module, or objects by name, where to_fx looks up what no file can hold.
Root = Union[torch.nn.Module, Mapping[str, Any]]

_FILE = "torch_fx.json"  # how inputs are packed, their defaults, and other words of fx alone
_META = "graphnet"  # the key of fx's node.meta and gm.meta under which ours travel along
_PARAMETER = "torch.nn.parameter.Parameter"
_SMALL = 2**12  # elements whose deviation torch.std finds as fast
_PART = 2**17  # elements that a cache holds
_LITERAL_SIZE = 64  # tensors of fewer elements are described by their data


def _refuse(message: str) -> Error:
    return made_error("unimplemented", message)


# --- Names of functions ------------------------------------------------------------------------

# Functions of Python's builtins that graphs call; the readers of folders know the same.
_BUILTINS = ("getattr", "max", "min", "abs", "int", "float", "bool", "len", "round", "pow", "sum",
             "list", "tuple", "divmod", "str")

# Modules whose functions compute. Others of torch load files and run what is in them.
_MODULES = ("torch.functional", "torch.nn.functional", "torch.nn.init", "torch.linalg",
            "torch.fft", "torch.special", "torch.sparse", "torch._C._nn", "torch._C._linalg",
            "torch._C._fft", "torch._C._special", "torch._C._sparse", "torch._C._nested",
            "torch._C._functorch", "torch._functorch.predispatch", "torch._functorch.vmap",
            "torch.amp.autocast_mode")

# What graphs call of other modules of torch.
_SINGLE = ("torch.cond", "torch.vmap", "torch.Size", "torch.autograd.function.FunctionCtx",
           "torch._C._set_grad_enabled", "torch._C._log_api_usage_once")


def _name_of_target(target: Any) -> str:
    """The name of a function as GraphNet's folders spell it. Raises Error if it has none."""
    plain = getattr(target, "__name__", "")
    inner = getattr(target, "__qualname__", plain)
    refusal = _refuse(f"the function {inner or type(target).__qualname__} has no name of its own")
    if plain == "<lambda>":
        raise refusal
    try:
        name = name_of(target)
    except Exception as error:
        raise refusal from error
    module, _, attribute = name.rpartition(".")
    if "<locals>" in inner and getattr(sys.modules.get(module), attribute, None) is not target:
        raise refusal
    return name


def _operator_of(parts: Sequence[str]) -> Any:
    """The operator, or packet of operators, of a namespace of torch.ops."""
    if len(parts) not in (2, 3) or parts[1] == "from_file" or any(p.startswith("__") and
                                                                  not p.endswith("__")
                                                                  for p in parts):
        return None
    found = getattr(torch.ops, parts[0], None)
    for part in parts[1:]:
        found = getattr(found, part, None)
    kinds = (torch._ops.OpOverload, torch._ops.OpOverloadPacket, torch._ops.HigherOrderOperator)
    return found if isinstance(found, kinds) else None


def _function_of(name: str) -> Any:
    """The function of a name, or None if graphs call none of that name.

    Nothing is imported and no text is run: the name leads along modules that are listed above.
    """
    if name in _SINGLE:
        return functools.reduce(getattr, name.split(".")[1:], torch)
    module, _, attribute = name.rpartition(".")
    parts = name.split(".")
    if module == "operator":
        known = attribute in operator.__all__ and attribute != "call"
        found = getattr(operator, attribute) if known else None
        return found if isinstance(found, types.BuiltinFunctionType) else None
    if module == "math":
        found = getattr(math, attribute, None)
        return found if isinstance(found, types.BuiltinFunctionType) else None
    if module == "builtins":
        return getattr(builtins, attribute) if attribute in _BUILTINS else None
    if parts[0] != "torch":
        return _operator_of(parts) if len(parts) == 3 else None
    if parts[1:2] == ["ops"]:
        return _operator_of(parts[2:])
    if module == "torch.Tensor":
        return getattr(torch.Tensor, attribute, None) if _is_method(attribute) else None
    if module == "torch":
        found = getattr(torch, attribute, None)
        if attribute == "from_file":
            return None
        if hasattr(torch._C._VariableFunctions, attribute):
            return found
        is_ours = (re.match(r"_?sym_|_check", attribute)
                   or getattr(found, "__module__", "") == "torch.functional")
        return found if is_ours and isinstance(found, types.FunctionType) else None
    if module not in _MODULES or attribute.startswith("__"):
        return None
    found = getattr(sys.modules.get(module), attribute, None)
    return found if isinstance(found, (types.FunctionType, types.BuiltinFunctionType)) else None


def _is_attribute(name: str) -> bool:
    """Whether graphs may read an attribute of this name: none that leads out of values, as
    __class__ does."""
    if name.startswith("__"):
        known = isinstance(vars(operator).get(name), types.BuiltinFunctionType)
        return known and name != "__call__"
    return name.isidentifier()


def _is_method(name: str) -> bool:
    """Whether graphs may call a method of this name: those of tensors, numbers and containers, and
    not of what these can be turned into, as an array that writes itself to a file."""
    kinds = (torch.Tensor, torch.Size, torch.SymInt, list, dict, str, int, float)
    return _is_attribute(name) and any(hasattr(kind, name) for kind in kinds)


# --- Written types -----------------------------------------------------------------------------


def _text_of_type(written: Any) -> str:
    """A type annotation as text: 'torch.Tensor', 'typing.Optional[torch.Tensor]', 'int'."""
    if written is None or written is type(None):
        return "None"
    if isinstance(written, type) and not isinstance(written, types.GenericAlias):
        name = written.__qualname__
        return name if written.__module__ == "builtins" else f"{written.__module__}.{name}"
    return repr(written)


def _type_of_text(text: str) -> Any:
    """The type that a text names, or None if it names none that is known here. A text in quotes
    is a type that was never looked up."""
    if re.fullmatch(r"'[^'\\]*'", text):
        return text[1:-1]
    tokens = re.findall(r"\.\.\.|[\w.]+|\S", text)
    try:
        made, rest = _parse_union(tokens)
    except (LookupError, TypeError, ValueError, AttributeError):
        return None
    return None if rest else made


def _parse_union(tokens: List[str]) -> Tuple[Any, List[str]]:
    made, tokens = _parse_type(tokens)
    while tokens[:1] == ["|"]:
        other, tokens = _parse_type(tokens[1:])
        made = made | other
    return made, tokens


def _parse_type(tokens: List[str]) -> Tuple[Any, List[str]]:
    name, tokens = tokens[0], tokens[1:]
    made: Any
    if name == "...":
        made = ...
    elif name == "None":
        made = type(None)
    else:
        module, _, attribute = name.rpartition(".")
        # A type may lie in another one.
        while module and module not in sys.modules:
            module, _, outer = module.rpartition(".")
            attribute = f"{outer}.{attribute}"
        made = functools.reduce(getattr, attribute.split("."), sys.modules[module or "builtins"])
        if not isinstance(made, type) and module != "typing":
            raise ValueError(name)
    if tokens[:1] == ["["]:
        parts = []
        while tokens[0] != "]":
            part, tokens = _parse_union(tokens[1:])
            parts.append(part)
            if tokens[0] not in ",]":
                raise ValueError(tokens[0])
        made, tokens = made[tuple(parts) if len(parts) > 1 else parts[0]], tokens[1:]
    return made, tokens


# --- From torch.fx -----------------------------------------------------------------------------


def from_fx(gm: torch.fx.GraphModule, example_inputs: Optional[Sequence[Any]] = None, *,
            name: Optional[str] = None, weights: bool = False,
            statistics: bool = False) -> Sample:
    """Makes a sample of a graph module: of torch.fx.symbolic_trace, make_fx, torch.export, or a
    backend of torch.compile.

    example_inputs: the values of its inputs in order, as a backend gets them; they say shapes and
    dtypes where the graph does not. name: of the sample, else that of gm's class. weights: the
    values of the inputs that are parameters or buffers are kept, sharing memory. statistics: how
    inputs are drawn is taken from example_inputs, as GraphNet's own extractor describes them.

    Parameters and buffers that gm has itself always come with their values, sharing memory. What
    the IR cannot hold is refused with Error, see the module's text.
    """
    origin = gm.meta.get(_META)
    base = origin.sample if isinstance(origin, _Origin) else None
    reader = _Reader(base)
    sample = reader.sample
    sample.name = name or (type(gm).__name__ if base is None else base.name)
    reader.read_main(gm)
    if example_inputs is not None:
        reader.describe(list(example_inputs), weights, statistics)
    return sample


class _Origin:
    """The sample that a graph module was made of. Copies of the module share it."""

    def __init__(self, sample: Optional[Sample] = None) -> None:
        self.sample = sample

    def __deepcopy__(self, memo: Any) -> "_Origin":
        return self

    def __reduce__(self) -> Any:
        return _Origin, ()  # A module that is pickled leaves it behind.


class _Mapped(typing.NamedTuple):
    """The function that torch.vmap makes of a body, until it is called."""

    body: Graph
    options: Dict[str, Any]


class _Reader:
    """Makes the graphs of a sample."""

    def __init__(self, base: Optional[Sample]) -> None:
        """base: the sample that the graph was once made of; its other fields are kept."""
        self._bodies: Dict[int, Graph] = {}
        self._body_names: Dict[str, List[str]] = {}  # names of nodes that read bodies, by caller
        self._functions: Dict[str, Any] = {}
        self._symbols: Dict[str, SymExpr] = {}
        self._attributes: Set[str] = set()
        self._is_dynamo = False
        self._keys = set(NodeMeta.FIELDS) | {_META, "target"}
        if base is None:
            self.sample = Sample(Module(""))
            self.module: Module = self.sample.module
            self._main: Optional[Graph] = None
            return
        self.sample = base.copy()
        self.module = self.sample.module
        self._main = self.sample.graph
        assert self._main is not None
        for node in reversed(list(self._main.nodes)):
            self._main.erase_node(node)
        self.module.erase_unused_graphs()
        self._attributes = set(self.module.attributes)
        self._symbols = {symbol: self.module.symbol(symbol) for symbol in self.module.symbols}

    def read_main(self, gm: torch.fx.GraphModule) -> None:
        self._is_dynamo = any("example_value" in node.meta for node in gm.graph.nodes)
        files = dict(self.sample.extra_files)
        files.pop(_FILE, None)
        signature = _signature_of(gm)
        wrapped = {_name_of_target(node.target) for node in gm.graph.nodes
                   if node.op == "call_function" and node.meta.get("is_wrapped")}
        if wrapped:
            signature["wrapped"] = sorted(wrapped)
        self._read(gm, self._main or self.module.add_graph("forward"), "")
        if self._body_names:
            signature["bodies"] = self._body_names
        if signature:
            files[_FILE] = json.dumps(signature, sort_keys=True)
        self.sample.extra_files = files

    def _read(self, gm: torch.fx.GraphModule, graph: Graph, path: str) -> None:
        """Copies the nodes. path: where gm lies in the whole, 'cond_true_0.', or ''."""
        values: Dict[torch.fx.Node, Any] = {}
        # The graphs of torch.export have attributes before inputs.
        for node in sorted(gm.graph.nodes, key=lambda node: node.op != "placeholder"):
            try:
                made = self._read_node(gm, node, graph, path, values)
            except Error as error:
                raise made_error(error.kind, f"node {path}{node.name}: {error}") from error
            values[node] = made
            if isinstance(made, Node):
                known = node.meta.get(_META, {}).get("name", ())
                name = known[1] if known and known[0] == node.name else node.name
                if made.name != name:
                    made.name = name
                self._read_meta(node, made, is_main=not path)
        self._note_names(values, path)

    def _note_names(self, values: Dict[torch.fx.Node, Any], path: str) -> None:
        """Notes the names of the nodes that read bodies where to_fx would choose others."""
        names = torch.fx.graph._Namespace()
        for node, value in values.items():
            if isinstance(value, Graph):
                continue
            reads = [read for read in node.all_input_nodes if isinstance(values[read], Graph)]
            chosen = copy.deepcopy(names) if reads else names
            if any(chosen.create_name(values[read].name.removeprefix(path), None) != read.name
                   for read in reads):
                self._body_names[path + node.name] = [read.name for read in reads]
            for made in (*reads, node):
                names.create_name(made.name, None)

    def _read_node(self, gm: torch.fx.GraphModule, node: torch.fx.Node, graph: Graph, path: str,
                   values: Dict[torch.fx.Node, Any]) -> Any:
        target: Any = node.target
        if node.op == "placeholder":
            return graph.placeholder(target, node.name)
        if node.op == "get_attr":
            value = _attribute(gm, target)
            if isinstance(value, torch.fx.GraphModule):
                return self._body(value, path + target)
            # A body may read an attribute of the whole.
            name = node.meta.get(_META, {}).get("target", path + target)
            if not name.endswith(target) or name not in self._attributes:
                name = path + target
            self._add_attribute(name, value)
            return graph.get_attr(name, node.name)
        args = tuple(self._argument(arg, values) for arg in node.args)
        if node.op == "output":
            return graph.output(args[0])
        kwargs = {key: self._argument(arg, values) for key, arg in node.kwargs.items()}
        if node.op == "call_method" and target == "__call__" and isinstance(args[0], _Mapped):
            return graph.call_function("torch.vmap", (args[0].body, args[1:]), args[0].options,
                                       node.name)
        if any(isinstance(arg, _Mapped) for arg in (*args, *kwargs.values())):
            raise _refuse("the function that torch.vmap makes is no value")
        if node.op == "call_module":
            target = path + target
        elif target is torch.vmap and len(args) == 1 and isinstance(args[0], Graph):
            return _Mapped(args[0], kwargs)
        elif node.op == "call_function":
            target = self._name(node)
        return graph.create_node(node.op, target, args, kwargs, node.name)

    def _body(self, gm: torch.fx.GraphModule, path: str) -> Graph:
        body = self._bodies.get(id(gm))
        if body is None:
            if _signature_of(gm):
                raise _refuse("a body whose inputs are packed, or have default values")
            taken = self.module.find_graph(path) is not None
            body = self.module.add_graph(path + ".body" if taken else path)
            self._bodies[id(gm)] = body
            self._read(gm, body, path + ".")
        return body

    def _name(self, node: torch.fx.Node) -> str:
        known = node.meta.get(_META, {}).get("target")
        if known is not None and _function_of(known) is node.target:
            return str(known)
        name = _name_of_target(node.target)
        if self._is_dynamo and isinstance(node.target, torch._ops.OpOverload):
            name = f"torch.ops.{name}"  # as folders of Dynamo's graphs have it
        if self._functions.setdefault(name, node.target) is not node.target:
            raise _refuse(f"there are two functions {name}")
        return name

    def _add_attribute(self, name: str, value: Any) -> None:
        if not isinstance(value, torch.Tensor):
            raise _refuse(f"the attribute {name} is a {type(value).__name__}, and no tensor")
        if value.layout != torch.strided or value.is_quantized:
            raise _refuse(f"the attribute {name} is sparse or quantized")
        if name not in self._attributes:
            written = _PARAMETER if isinstance(value, torch.nn.Parameter) else "torch.Tensor"
            self.module.add_attribute(name, self._meta(value), written)
            self._attributes.add(name)
        if _has_data(value):
            self._set_weight(name, value)

    def _set_weight(self, name: str, value: torch.Tensor) -> None:
        try:
            self.sample.set_weight(name, as_tensor(value))
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise _refuse(f"the values of {name} cannot be read: {error}") from error

    def _argument(self, value: Any, values: Dict[torch.fx.Node, Any]) -> Any:
        kind = type(value)
        if isinstance(value, torch.fx.Node):
            return values[value]
        if value is None or value is ... or kind in (bool, float, complex, str):
            return value
        if kind is int:
            if not -2**63 <= value < 2**63:
                raise _refuse("an integer of more than 64 bits")
            return value
        if isinstance(value, (torch.dtype, torch.device, torch.layout, torch.memory_format)):
            return value
        if isinstance(value, list):
            return [self._argument(element, values) for element in value]
        if kind in (tuple, torch.Size):
            return tuple(self._argument(element, values) for element in value)
        if isinstance(value, dict):
            return {key: self._argument(element, values) for key, element in value.items()}
        if kind is slice:
            return slice(*(self._argument(part, values)
                           for part in (value.start, value.stop, value.step)))
        if isinstance(value, torch.SymInt):
            size = self._size(value)
            if size is not None:
                return size
        raise _refuse(f"an argument is a {kind.__module__}.{kind.__qualname__}")

    def _read_meta(self, node: torch.fx.Node, made: Node, is_main: bool) -> None:
        known = node.meta.get(_META)
        if isinstance(known, dict):
            for key in NodeMeta.FIELDS:
                if key in known:
                    made.meta[key] = known[key]
        else:
            value = next((node.meta[key] for key in ("example_value", "val", "tensor_meta")
                          if key in node.meta), None)
            if isinstance(value, torch.SymInt) and node.op == "placeholder" and is_main:
                self._describe_size(made, value)
            else:
                made.tensor_meta = self._meta(value)
            place = _place(node.meta.get("stack_trace"))
            if place is not None:
                made.location = place
            if node.op != "placeholder":
                made.module_path = _module_path(node.meta.get("nn_module_stack"))
        if node.type is not None:
            made.type = _text_of_type(node.type)
        for key, entry in node.meta.items():
            if key not in self._keys:
                made.meta[key] = entry

    def _meta(self, value: Any) -> Any:
        """The meta of a tensor, or of several, as far as there are any."""
        if isinstance(value, (list, tuple)) and not hasattr(value, "dtype"):
            metas = tuple(self._meta(element) for element in value)
            return metas if any(meta is not None for meta in metas) else None
        dtype = getattr(value, "dtype", None)
        if not isinstance(dtype, torch.dtype):
            return None
        sizes = [self._size(size) for size in value.shape]
        shape = None if any(size is None for size in sizes) else sizes
        device = getattr(value, "device", None)
        try:
            return TensorMeta(dtype, shape, device)
        except ValueError:  # a dtype or device that the IR does not know
            return None

    def _size(self, size: Any) -> Any:
        """A size as an int or SymExpr, or None where the IR has no such expression."""
        if isinstance(size, int):
            return size
        return self._expression(size.node.expr, size.node.shape_env)

    def _expression(self, expr: Any, env: Any) -> Any:
        if expr.is_Integer:
            return int(expr)
        if expr.is_Symbol:
            return self._symbol(expr, env)
        kind = type(expr).__name__
        ordered = {"Add": "as_ordered_terms", "Mul": "as_ordered_factors"}.get(kind)
        args = [self._expression(arg, env)
                for arg in (getattr(expr, ordered)() if ordered else expr.args)]
        if any(arg is None for arg in args):
            return None
        rules: Dict[str, Callable[..., Any]] = {
            "Add": operator.add, "Mul": operator.mul, "Pow": operator.pow,
            "PowByNatural": operator.pow, "FloorDiv": operator.floordiv,
            "CleanDiv": operator.floordiv, "Mod": operator.mod, "PythonMod": operator.mod,
            "Min": _smaller, "Max": _larger}
        if kind == "ModularIndexing":
            return args[0] // args[1] % args[2]
        if kind == "Identity":
            return args[0]
        if kind not in rules or (kind == "Pow" and isinstance(args[1], int) and args[1] < 0):
            return None
        return functools.reduce(rules[kind], args)

    def _symbol(self, symbol: Any, env: Any) -> SymExpr:
        name = str(symbol)
        if name not in self._symbols:
            hint = env.backed_var_to_val.get(symbol)
            made = self.module.add_symbol(name, None if hint is None else int(hint))
            self._symbols[name] = made
            bounds = env.var_to_range.get(symbol)
            if bounds is not None and bounds.lower.is_Integer and bounds.lower > 0:
                self.module.add_relation(made.ge(int(bounds.lower)))
            if bounds is not None and bounds.upper.is_Integer and bounds.upper < 2**62:
                self.module.add_relation(made.le(int(bounds.upper)))
        return self._symbols[name]

    def _describe_size(self, node: Node, size: torch.SymInt) -> None:
        """A size that is an input is a tensor without dimensions for who reads a folder."""
        self._size(size)
        node.tensor_meta = TensorMeta("int64", (), "cpu")
        hint = size.node.hint
        if hint is not None:
            node.draw_spec = {"data": [int(hint)]}

    def describe(self, values: List[Any], weights: bool, statistics: bool) -> None:
        placeholders = self.sample.graph.placeholders
        if len(values) != len(placeholders):
            raise TypeError(f"the graph has {len(placeholders)} inputs, {len(values)} are given")
        for node, value in zip(placeholders, values):
            if not isinstance(value, torch.Tensor):
                continue
            if node.tensor_meta is None:
                node.tensor_meta = self._meta(value)
            if not _has_data(value):
                continue
            if statistics:
                node.draw_spec = _statistics(value)
            is_weight = node.type == _PARAMETER or isinstance(value, torch.nn.Parameter)
            if weights and (is_weight or re.search(r"_buffers_|_parameters_", node.target)):
                self._set_weight(node.target, value)


def _smaller(a: Any, b: Any) -> Any:
    return a.min(b) if isinstance(a, SymExpr) else b.min(a) if isinstance(b, SymExpr) else min(a, b)


def _larger(a: Any, b: Any) -> Any:
    return a.max(b) if isinstance(a, SymExpr) else b.max(a) if isinstance(b, SymExpr) else max(a, b)


def _attribute(root: Any, name: str) -> Any:
    try:
        return functools.reduce(getattr, name.split("."), root)
    except AttributeError as error:
        raise made_error("not_found", f"there is no attribute {name}") from error


def _has_data(value: torch.Tensor) -> bool:
    from torch._subclasses.fake_tensor import FakeTensor

    return value.device.type != "meta" and not isinstance(value, FakeTensor)


def _place(trace: Optional[str]) -> Optional[Tuple[str, int]]:
    """The file and line of the innermost frame of a stack trace."""
    frames = re.findall(r'File "([^"]*)", line (\d+)', trace or "")
    return (frames[-1][0], int(frames[-1][1])) if frames else None


def _module_path(stack: Any) -> str:
    """'layer1.0.conv1' of the innermost module of fx's nn_module_stack."""
    if not stack:
        return ""
    path = str(list(stack.values())[-1][0])
    path = re.sub(r"^[LG]\[['\"]\w+['\"]\]\.?", "", path)  # Dynamo's name of the outermost module
    path = re.sub(r"\[['\"]?([^'\"\]]*)['\"]?\]", r".\1", path).replace("_modules.", "")
    return path.strip(".")


def _statistics(value: torch.Tensor) -> Dict[str, Any]:
    """How a tensor is drawn, as GraphNet's extractor describes it: mean and deviation of floats,
    bounds of large tensors of integers, all of what is small."""
    spec: Dict[str, Any] = {}
    value = value.detach()
    if value.dtype.is_floating_point:
        spec["mean"], spec["std"] = (float(f"{x:.3f}") for x in _mean_and_std(value))
    elif value.dtype.is_complex:
        return spec
    if value.numel() < _LITERAL_SIZE:
        data = value.flatten().tolist()
        spec["data"] = [float(f"{x:.6f}") for x in data] if value.dtype.is_floating_point else data
    elif not value.dtype.is_floating_point and value.dtype != torch.bool:
        spec["min"], spec["max"] = int(value.min()), int(value.max())
    return spec


def _mean_and_std(value: torch.Tensor) -> Tuple[float, float]:
    """Of large tensors by sums over parts that a cache holds, in a sixth of the time of torch.std,
    unless the mean is so far from zero that squares would not say how values differ."""
    count = value.numel()
    if value.is_contiguous() and count > _SMALL:
        total = squares = 0.0
        flat = value.view(-1)
        for start in range(0, count, _PART):
            part = flat[start:start + _PART]
            part = part if part.dtype == torch.float64 else part.float()
            total += part.sum().item()
            squares += torch.dot(part, part).item()
        apart = squares - total * total / count
        if 32 * apart > squares:
            return total / count, math.sqrt(apart / (count - 1))
    wide = value if value.dtype == torch.float64 else value.float()
    return wide.mean().item(), wide.std().item() if count > 1 else 0.0


def _signature_of(gm: torch.fx.GraphModule) -> Dict[str, Any]:
    """How inputs and outputs are packed, and the default values of inputs, for _FILE."""
    signature: Dict[str, Any] = {}
    defaults = {}
    for node in gm.graph.nodes:
        if node.op != "placeholder":
            continue
        if str(node.target).startswith("*"):
            raise _refuse(f"the input {node.target} takes any number of arguments")
        if node.args:
            value = node.args[0]
            if value is not None and type(value) not in (bool, int, float, str):
                raise _refuse(f"the input {node.target} has the default value {value!r}")
            defaults[str(node.target)] = value
    if defaults:
        signature["defaults"] = defaults
    codegen = gm.graph._codegen
    if type(codegen) is torch.fx.graph._PyTreeCodeGen:
        info = codegen.pytree_info
        try:
            signature["pytree"] = {
                "args": list(info.orig_args), "in": pytree.treespec_dumps(info.in_spec),
                "out": None if info.out_spec is None else pytree.treespec_dumps(info.out_spec)}
        except (NotImplementedError, TypeError, ValueError) as error:
            raise _refuse(f"how inputs are packed cannot be written: {error}") from error
    elif type(codegen) is not torch.fx.graph.CodeGen:
        raise _refuse(f"its code is generated by {type(codegen).__qualname__}")
    return signature


# --- To torch.fx -------------------------------------------------------------------------------


def to_fx(sample: Sample, root: Optional[Root] = None, *,
          copy: bool = False) -> torch.fx.GraphModule:
    """Makes a graph module that does what a sample does.

    Targets are looked up by their names among functions that compute; no text of the sample is
    run, and a name that leads elsewhere is refused. root: a module, or objects by their names, in
    which the submodules that are called, functions that are not PyTorch's, and attributes that
    have no value are looked up; the graph module that the sample was made of fits.

    Parameters and buffers share the memory of the sample; what was loaded from a file must not be
    written to, so copy=True gives tensors of their own. Those without a value lie on the meta
    device, as those of a model that is not initialised yet. What is known of a node is in
    node.meta["graphnet"], where from_fx finds it again, and its shape in node.meta["tensor_meta"]
    if it is fixed.

    Raises Error if a target cannot be looked up ('not_found'), or if fx cannot hold an argument
    ('unimplemented').
    """
    gm = _Writer(sample, root, copy).write()
    gm.meta[_META] = _Origin(sample)
    return gm


class _Writer:
    """Makes the graph modules of a sample."""

    def __init__(self, sample: Sample, root: Optional[Root], copy: bool) -> None:
        self._sample = sample
        self._root = root
        self._copy = copy
        self._attributes: Dict[str, Any] = sample.module.attributes
        self._weights = sample.weights
        self._tensors: Dict[str, torch.Tensor] = {}
        self._bodies: Dict[str, torch.fx.GraphModule] = {}
        self._body_names: Dict[str, List[str]] = {}  # names of nodes that read bodies, by caller
        self._wrapped: FrozenSet[str] = frozenset()  # functions that torch.fx.wrap was told of
        self._functions: Dict[str, Any] = {}
        self._methods: Set[str] = set()
        if isinstance(root, torch.fx.GraphModule):
            self._learn_functions(root)

    def _learn_functions(self, root: torch.fx.GraphModule) -> None:
        for module in root.modules():
            for node in module.graph.nodes if isinstance(module, torch.fx.GraphModule) else ():
                if node.op == "call_method":
                    self._methods.add(str(node.target))
                elif node.op == "call_function":
                    try:
                        self._functions[_name_of_target(node.target)] = node.target
                    except Error:
                        pass  # No sample calls it.

    def write(self) -> torch.fx.GraphModule:
        graph = self._sample.graph
        if graph is None:
            raise made_error("failed_precondition", "the sample has no graph")
        defaults, packing = self._read_signature()
        gm = self._module_of(graph, "", defaults)
        # A sample that was changed may have other inputs now.
        if packing and packing.in_spec.num_leaves == len(gm.graph.find_nodes(op="placeholder")):
            gm.graph.set_codegen(torch.fx.graph._PyTreeCodeGen(packing))
            gm.recompile()
        return gm

    def _read_signature(self) -> Tuple[Dict[str, Any], Optional[torch.fx.graph._PyTreeInfo]]:
        """The default values of inputs, and how inputs and outputs are packed."""
        text = self._sample.extra_files.get(_FILE)
        if text is None:
            return {}, None
        try:
            signature = json.loads(text)
            self._wrapped = frozenset(signature.get("wrapped", ()))
            self._body_names = {str(caller): [str(name) for name in names]
                                for caller, names in signature.get("bodies", {}).items()}
            defaults = dict(signature.get("defaults", {}))
            packing = signature.get("pytree")
            if packing is None:
                return defaults, None
            out = packing["out"]
            names = [str(name) for name in packing["args"]]
            inputs = pytree.treespec_loads(packing["in"])
            # torch.fx makes code of these words.
            words = [*names, *(key for child in inputs.children() if child.type is dict
                               for key in child.context)]
            if not all(word.isidentifier() and not keyword.iskeyword(word) for word in words):
                raise ValueError("the name of an argument is none that Python can spell")
            return defaults, torch.fx.graph._PyTreeInfo(
                names, inputs, None if out is None else pytree.treespec_loads(out))
        except Exception as error:  # It is a text that anyone may have written.
            raise made_error("invalid_argument", f"{_FILE}: {error}") from error

    def _module_of(self, graph: Graph, path: str,
                   defaults: Dict[str, Any]) -> torch.fx.GraphModule:
        """The graph module of a graph. path: the name of a body and a dot, or ''."""
        holder = torch.nn.Module()
        holder.training = getattr(self._root, "training", True)
        made = torch.fx.Graph()
        values: Dict[Node, torch.fx.Node] = {}
        for node in graph.nodes:
            try:
                values[node] = self._write_node(node, made, path, defaults, values, holder)
            except Error as error:
                raise made_error(error.kind, f"node {path}{node.name}: {error}") from error
            self._write_meta(node, values[node])
        name = self._sample.name if not path else "GraphModule"
        is_name = name.isidentifier() and not keyword.iskeyword(name)
        try:
            return torch.fx.GraphModule(holder, made, name if is_name else "GraphModule")
        except (SyntaxError, RecursionError, MemoryError) as error:
            raise _refuse(f"Python cannot compile the code of {path or 'the graph'}") from error

    def _write_node(self, node: Node, made: torch.fx.Graph, path: str, defaults: Dict[str, Any],
                    values: Dict[Node, torch.fx.Node], holder: torch.nn.Module) -> torch.fx.Node:
        target: Any = node.target
        # A type that is not known stays in node.meta["graphnet"].
        written = _type_of_text(node.type) if node.type else None
        names = iter(self._body_names.get(path + node.name, ()))

        def body(graph: Graph) -> torch.fx.Node:
            name = self._write_body(graph, path, holder)
            return made.create_node("get_attr", name, name=next(names, name))

        _check_words(node)
        if node.op == "placeholder":
            args: Tuple[Any, ...] = (defaults[target],) if target in defaults else ()
        else:
            args = tuple(_to_python(arg, values, body) for arg in node.args)
        kwargs = {key: _to_python(arg, values, body) for key, arg in node.kwargs.items()}
        if node.op == "get_attr":
            target = target.removeprefix(path)
            _place_object(holder, target, self._tensor(node.target))
        elif node.op == "call_module":
            target = target.removeprefix(path)
            _place_object(holder, target, self._submodule(node.target))
        elif node.op == "call_function":
            target = self._function(target, args)
            if target is torch.vmap and len(args) == 2:
                # One node of the IR; Python calls the function that torch.vmap makes.
                mapped = made.create_node("call_function", target, args[:1], kwargs)
                return made.create_node("call_method", "__call__", (mapped, *args[1]), {},
                                        node.name, written)
        elif node.op == "call_method" and not (_is_method(target) or target in self._methods):
            raise made_error("not_found", f"{target} is no method of tensors")
        return made.create_node(node.op, target, args, kwargs, node.name, written)

    def _function(self, name: str, args: Tuple[Any, ...]) -> Any:
        found = self._functions.get(name) or _function_of(name)
        if found is None and isinstance(self._root, Mapping):
            found = self._root.get(name)
        if found is None:
            raise made_error("not_found", f"{name} is no function of PyTorch that graphs call; "
                                      "give to_fx a root that has it")
        is_read = found is getattr and len(args) > 1
        if is_read and not (isinstance(args[1], str) and _is_attribute(args[1])):
            raise made_error("not_found", f"{args[1]} is no attribute of tensors")
        return found

    def _submodule(self, name: str) -> torch.nn.Module:
        found = self._in_root(name)
        if not isinstance(found, torch.nn.Module):
            raise made_error("not_found",
                             f"it calls the module {name}; give to_fx a root that has it")
        return found

    def _in_root(self, name: str) -> Any:
        if isinstance(self._root, Mapping):
            return self._root.get(name)
        try:
            return functools.reduce(getattr, name.split("."), self._root)
        except AttributeError:
            return None

    def _tensor(self, name: str) -> torch.Tensor:
        if name in self._tensors:
            return self._tensors[name]
        fields = self._attributes.get(name, {})
        if name in self._weights:
            made = to_torch(self._weights[name])
            made = made.clone() if self._copy else made
        else:
            found = self._in_root(name)
            made = found if isinstance(found, torch.Tensor) else _without_value(
                name, fields.get("tensor_meta"))
        if fields.get("type") == _PARAMETER and not isinstance(made, torch.nn.Parameter):
            learns = made.dtype.is_floating_point or made.dtype.is_complex
            made = torch.nn.Parameter(made, requires_grad=learns)
        self._tensors[name] = made
        return self._tensors[name]

    def _write_body(self, graph: Graph, path: str, holder: torch.nn.Module) -> str:
        name = str(graph.name).removeprefix(path)
        if not all(part.isidentifier() for part in name.split(".")):
            name = re.sub(r"\W", "_", "_" + name)
        if graph.name not in self._bodies:
            self._bodies[graph.name] = self._module_of(graph, graph.name + ".", {})
        _place_object(holder, name, self._bodies[graph.name])
        return name

    def _write_meta(self, node: Node, made: torch.fx.Node) -> None:
        known = dict(node.meta)
        ours = {key: known.pop(key) for key in NodeMeta.FIELDS if key in known}
        made.meta.update(known)
        if node.op in ("call_function", "get_attr"):
            ours["target"] = node.target
            if node.target in self._wrapped:
                made.meta["is_wrapped"] = True
        if made.name != node.name:  # fx takes no names of Python's builtins
            ours["name"] = (made.name, node.name)
        made.meta[_META] = ours
        meta = ours.get("tensor_meta")
        if isinstance(meta, TensorMeta) and meta.shape is not None and all(
                isinstance(size, int) for size in meta.shape):
            dtype = getattr(torch, meta.dtype.name, None)
            if dtype is not None:
                from torch.fx.passes.shape_prop import TensorMetadata

                made.meta["tensor_meta"] = TensorMetadata(torch.Size(meta.shape), dtype, False, (),
                                                          None, False, {})
        if "location" in ours and "stack_trace" not in known:
            file, line = ours["location"][:2]
            made.meta["stack_trace"] = f'  File "{file}", line {line}, in forward\n'
        if "module_path" in ours and "nn_module_stack" not in known:
            path = ours["module_path"]
            made.meta["nn_module_stack"] = {path: (path, "")}


def _check_words(node: Node) -> None:
    """Refuses words that would be more than words in the code that torch.fx makes of a node."""
    words = list(node.kwargs)
    if node.op == "placeholder":
        words.append(node.target)
    elif node.op in ("get_attr", "call_module"):
        words += ["_" + part for part in node.target.split(".")]
    for word in words:
        if not word.isidentifier() or keyword.iskeyword(word) or word == "self":
            raise _refuse(f"{word!r} is no name that Python can spell")


def _without_value(name: str, meta: Optional[TensorMeta]) -> torch.Tensor:
    if meta is None or meta.shape is None:
        raise made_error("failed_precondition", f"the attribute {name} has neither value nor shape")
    sizes = [size if isinstance(size, int) else size.example for size in meta.shape]
    return torch.empty(sizes, dtype=getattr(torch, meta.dtype.name), device="meta")


def _place_object(holder: torch.nn.Module, name: str, value: Any) -> None:
    """Makes an object an attribute of a module, or of modules in it: 'layer1.0.weight'."""
    *path, last = name.split(".")
    taken = hasattr(torch.fx.GraphModule, name.partition(".")[0])
    for part in path if not taken else ():
        if not hasattr(holder, part):
            holder.add_module(part, torch.nn.Module())
        holder = getattr(holder, part)
        taken = not isinstance(holder, torch.nn.Module)
    known = getattr(holder, last, None)
    if known is value and not taken:
        return
    if not taken and _is_part(known, value):
        return  # of a module that is called
    if not taken and _is_part(value, known):
        setattr(holder, last, value)  # what was read of it lay in a place of its own
        return
    if taken or known is not None:
        raise _refuse(f"an attribute cannot be called {name}, a module of torch has that already")
    if isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter):
        holder.register_buffer(last, value)
    else:
        setattr(holder, last, value)


def _is_part(whole: Any, part: Any) -> bool:
    """Whether a module or tensor has all that another one has, which is a plain place for
    tensors or a tensor."""
    if whole is part:
        return True
    if isinstance(part, torch.Tensor) and isinstance(whole, torch.Tensor):
        return (part.dtype == whole.dtype and part.shape == whole.shape
                and part.device == whole.device != torch.device("meta")
                and torch.equal(part, whole))
    held = {**part._parameters, **part._buffers, **part._modules} if (
        type(part) is torch.nn.Module and isinstance(whole, torch.nn.Module)) else {}
    return bool(held) and all(_is_part(getattr(whole, name, None), value)
                              for name, value in held.items())


def _to_python(value: Any, values: Dict[Node, torch.fx.Node],
               body: Callable[[Graph], torch.fx.Node]) -> Any:
    """An argument of the IR as one of torch.fx. body makes the node that reads a graph module."""
    if isinstance(value, Node):
        return values[value]
    if isinstance(value, Graph):
        return body(value)
    if isinstance(value, _core.Device):
        return torch.device(str(value))
    if isinstance(value, (_core.DType, _core.Layout, _core.MemoryFormat)):
        return getattr(torch, value.name)
    if isinstance(value, SymExpr):
        if value.value is not None:
            return value.value
        raise _refuse(f"the argument {value} is a symbolic size, which fx holds as a node")
    if isinstance(value, list):
        return [_to_python(element, values, body) for element in value]
    if isinstance(value, tuple):
        return tuple(_to_python(element, values, body) for element in value)
    if isinstance(value, dict):
        return {key: _to_python(element, values, body) for key, element in value.items()}
    if isinstance(value, slice):
        return slice(*(_to_python(part, values, body)
                       for part in (value.start, value.stop, value.step)))
    return value
