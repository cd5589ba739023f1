"""Makes samples of graphs of torch.fx."""

from __future__ import annotations

import copy
import functools
import json
import math
import operator
import re
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.fx

from graphnet_ir import _treespec
from graphnet_ir._core import Error, Graph, Module, Node, Sample, SymExpr, TensorMeta
from graphnet_ir._errors import made_error
from graphnet_ir._graphs import NodeMeta
from graphnet_ir.fx.names import function_of, is_same, name_of_target
from graphnet_ir.fx.shared import FILE, META, PARAMETER, Origin, refuse
from graphnet_ir.fx.types import text_of_type
from graphnet_ir.running import as_tensor

_SMALL = 2**12  # up to this many elements torch.std is as fast
_PART = 2**17  # number of elements that fit a cache
_LITERAL_SIZE = 64  # tensors of fewer elements are described by their data


def from_fx(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any] | None = None,
    *,
    name: str | None = None,
    weights: bool = False,
    statistics: bool = False,
) -> Sample:
    """Makes a sample of a graph module: of torch.fx.symbolic_trace, make_fx, torch.export, or a
    backend of torch.compile.

    example_inputs: the values of its inputs in order, as a backend gets them. They supply shapes
    and dtypes that the graph lacks. name: the name of the sample; by default that of gm's class.
    weights: keeps the values of the inputs that are parameters or buffers, sharing memory.
    statistics: describes inputs by example_inputs, as GraphNet's own extractor does.

    Parameters and buffers of gm itself always come with their values, sharing memory. Raises Error
    for anything that the IR cannot hold; the text of this module lists it.
    """
    if not isinstance(gm, torch.fx.GraphModule):
        raise TypeError(f"a graph module must be a torch.fx.GraphModule, not {type(gm).__name__}")
    origin = gm.meta.get(META)
    base = origin.sample if isinstance(origin, Origin) else None
    sample = _Reader(base).read(gm, example_inputs, weights, statistics)
    sample.name = name or (type(gm).__name__ if base is None else base.name)
    return sample


def from_traced(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    name: str,
    statistics: bool = False,
    symbols: Mapping[str, tuple[str, int]],
) -> Sample:
    """Like from_fx. symbols: the name and example that each symbol of PyTorch gets."""
    sample = _Reader(None, symbols).read(gm, example_inputs, False, statistics)
    sample.name = name
    return sample


class _Mapped(typing.NamedTuple):
    """The function that torch.vmap makes from a body, until it is called."""

    body: Graph
    options: dict[str, Any]


class _Reader:
    """Makes the graphs of a sample."""

    def __init__(
        self, base: Sample | None, symbols: Mapping[str, tuple[str, int]] | None = None
    ) -> None:
        """base: the sample that the graph was once made from; its other fields are kept. symbols:
        the name and example that each symbol of PyTorch gets."""
        self._renamed = symbols or {}
        self._bodies: dict[int, Graph] = {}
        self._body_names: dict[str, list[str]] = {}  # names of nodes that read bodies, by caller
        self._functions: dict[str, Any] = {}
        self._symbols: dict[str, SymExpr] = {}
        self._attributes: set[str] = set()
        self._is_dynamo = False
        self._keys = set(NodeMeta.FIELDS) | {META, "target"}
        if base is None:
            self.sample = Sample(Module(""))
            self.module: Module = self.sample.module
            self._main: Graph | None = None
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

    def read(
        self,
        gm: torch.fx.GraphModule,
        example_inputs: Sequence[Any] | None,
        weights: bool,
        statistics: bool,
    ) -> Sample:
        self.read_main(gm)
        if example_inputs is not None:
            self.describe(list(example_inputs), weights, statistics)
        return self.sample

    def read_main(self, gm: torch.fx.GraphModule) -> None:
        self._is_dynamo = any("example_value" in node.meta for node in gm.graph.nodes)
        files = dict(self.sample.extra_files)
        files.pop(FILE, None)
        signature = _signature_of(gm)
        wrapped = {
            name_of_target(node.target)
            for node in gm.graph.nodes
            if node.op == "call_function" and node.meta.get("is_wrapped")
        }
        if wrapped:
            signature["wrapped"] = sorted(wrapped)
        self._read(gm, self._main or self.module.add_graph("forward"), "")
        if self._body_names:
            signature["bodies"] = self._body_names
        if signature:
            files[FILE] = json.dumps(signature, sort_keys=True)
        self.sample.extra_files = files

    def _read(self, gm: torch.fx.GraphModule, graph: Graph, path: str) -> None:
        """Copies the nodes. path: the place of gm in the whole, 'cond_true_0.', or ''."""
        values: dict[torch.fx.Node, Any] = {}
        # The graphs of torch.export have attributes before inputs.
        for node in sorted(gm.graph.nodes, key=lambda node: node.op != "placeholder"):
            try:
                made = self._read_node(gm, node, graph, path, values)
            except Error as error:
                raise made_error(error.kind, f"node {path}{node.name}: {error}") from error
            values[node] = made
            if isinstance(made, Node):
                known = node.meta.get(META, {}).get("name", ())
                name = known[1] if known and known[0] == node.name else node.name
                if made.name != name:
                    made.name = name
                self._read_meta(node, made, is_main=not path)
        self._note_names(values, path)

    def _note_names(self, values: dict[torch.fx.Node, Any], path: str) -> None:
        """Records the names of the nodes that read bodies if to_fx would choose others."""
        names = torch.fx.graph._Namespace()
        for node, value in values.items():
            if isinstance(value, Graph):
                continue
            reads = [read for read in node.all_input_nodes if isinstance(values[read], Graph)]
            chosen = copy.deepcopy(names) if reads else names
            if any(
                chosen.create_name(values[read].name.removeprefix(path), None) != read.name
                for read in reads
            ):
                self._body_names[path + node.name] = [read.name for read in reads]
            for made in (*reads, node):
                names.create_name(made.name, None)

    def _read_node(
        self,
        gm: torch.fx.GraphModule,
        node: torch.fx.Node,
        graph: Graph,
        path: str,
        values: dict[torch.fx.Node, Any],
    ) -> Any:
        target: Any = node.target
        if node.op == "placeholder":
            return graph.placeholder(target, node.name)
        if node.op == "get_attr":
            value = _attribute(gm, target)
            if isinstance(value, torch.fx.GraphModule):
                return self._body(value, path + target)
            # A body may read an attribute of the whole.
            name = node.meta.get(META, {}).get("target", path + target)
            if not name.endswith(target) or name not in self._attributes:
                name = path + target
            self._add_attribute(name, value)
            return graph.get_attr(name, node.name)
        args = tuple(self._argument(arg, values) for arg in node.args)
        if node.op == "output":
            return graph.output(args[0])
        kwargs = {key: self._argument(arg, values) for key, arg in node.kwargs.items()}
        if node.op == "call_method" and target == "__call__" and isinstance(args[0], _Mapped):
            return graph.call_function(
                "torch.vmap", (args[0].body, args[1:]), args[0].options, node.name
            )
        if any(isinstance(arg, _Mapped) for arg in (*args, *kwargs.values())):
            raise refuse("the function that torch.vmap makes is used as a value")
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
                raise refuse("the inputs of a body are packed, or have default values")
            taken = self.module.find_graph(path) is not None
            body = self.module.add_graph(path + ".body" if taken else path)
            self._bodies[id(gm)] = body
            self._read(gm, body, path + ".")
        return body

    def _name(self, node: torch.fx.Node) -> str:
        known = node.meta.get(META, {}).get("target")
        if known is not None and function_of(known) is node.target:
            return str(known)
        name = name_of_target(node.target)
        if self._is_dynamo and isinstance(node.target, torch._ops.OpOverload):
            name = f"torch.ops.{name}"  # as folders of Dynamo's graphs have it
        if not is_same(self._functions.setdefault(name, node.target), node.target):
            raise refuse(f"there are two functions {name}")
        return name

    def _add_attribute(self, name: str, value: Any) -> None:
        if not isinstance(value, torch.Tensor):
            raise refuse(f"the attribute {name} is a {type(value).__name__}, not a tensor")
        if value.layout != torch.strided or value.is_quantized or value.is_nested:
            raise refuse(f"the attribute {name} is sparse, quantized or nested")
        if name not in self._attributes:
            written = PARAMETER if isinstance(value, torch.nn.Parameter) else "torch.Tensor"
            self.module.add_attribute(name, self._meta(value), written)
            self._attributes.add(name)
        if _has_data(value):
            self._set_weight(name, value)

    def _set_weight(self, name: str, value: torch.Tensor) -> None:
        try:
            self.sample.set_weight(name, as_tensor(value))
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise refuse(f"the values of {name} cannot be read: {error}") from error

    def _argument(self, value: Any, values: dict[torch.fx.Node, Any]) -> Any:
        kind = type(value)
        if isinstance(value, torch.fx.Node):
            return values[value]
        if value is None or value is ... or kind in (bool, float, complex, str):
            return value
        if kind is int:
            if not -(2**63) <= value < 2**63:
                raise refuse("an integer has more than 64 bits")
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
            return slice(
                *(self._argument(part, values) for part in (value.start, value.stop, value.step))
            )
        if isinstance(value, torch.SymInt):
            size = self._size(value)
            if size is not None:
                return size
        raise refuse(f"an argument is a {kind.__module__}.{kind.__qualname__}")

    def _read_meta(self, node: torch.fx.Node, made: Node, is_main: bool) -> None:
        known = node.meta.get(META)
        if isinstance(known, dict):
            for key in NodeMeta.FIELDS:
                if key in known:
                    made.meta[key] = known[key]
        else:
            value = next(
                (
                    node.meta[key]
                    for key in ("example_value", "val", "tensor_meta")
                    if key in node.meta
                ),
                None,
            )
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
            made.type = text_of_type(node.type)
        for key, entry in node.meta.items():
            if key not in self._keys:
                made.meta[key] = entry

    def _meta(self, value: Any) -> Any:
        """Returns the meta of a tensor or of several tensors, as far as there are any."""
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
        """Returns a size as an int or SymExpr, or None if the IR does not have the expression."""
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
        args = [
            self._expression(arg, env)
            for arg in (getattr(expr, ordered)() if ordered else expr.args)
        ]
        if any(arg is None for arg in args):
            return None
        rules: dict[str, Callable[..., Any]] = {
            "Add": operator.add,
            "Mul": operator.mul,
            "Pow": operator.pow,
            "PowByNatural": operator.pow,
            "FloorDiv": operator.floordiv,
            "CleanDiv": operator.floordiv,
            "Mod": operator.mod,
            "PythonMod": operator.mod,
            "Min": _smaller,
            "Max": _larger,
        }
        if kind == "ModularIndexing":
            return args[0] // args[1] % args[2]
        if kind == "Identity":
            return args[0]
        if kind not in rules or (kind == "Pow" and isinstance(args[1], int) and args[1] < 0):
            return None
        return functools.reduce(rules[kind], args)

    def _symbol(self, symbol: Any, env: Any) -> SymExpr:
        name = str(symbol)
        if name in self._renamed and name not in self._symbols:
            self._symbols[name] = self.module.add_symbol(*self._renamed[name])
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
        """Makes a tensor without dimensions of an input that is a size, as folders need it."""
        self._size(size)
        node.tensor_meta = TensorMeta("int64", (), "cpu")
        hint = size.node.hint
        if hint is not None:
            node.draw_spec = {"data": [int(hint)]}

    def describe(self, values: list[Any], weights: bool, statistics: bool) -> None:
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
            is_weight = node.type == PARAMETER or isinstance(value, torch.nn.Parameter)
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
        raise made_error("not_found", f"no attribute is called {name}") from error


def _has_data(value: torch.Tensor) -> bool:
    from torch._subclasses.fake_tensor import FakeTensor

    return value.device.type != "meta" and not isinstance(value, FakeTensor)


def _place(trace: str | None) -> tuple[str, int] | None:
    """Returns the file and line of the innermost frame of a stack trace."""
    frames = re.findall(r'File "([^"]*)", line (\d+)', trace or "")
    return (frames[-1][0], int(frames[-1][1])) if frames else None


def _module_path(stack: Any) -> str:
    """Returns the path of the innermost module of fx's nn_module_stack: 'layer1.0.conv1'."""
    if not stack:
        return ""
    path = str(list(stack.values())[-1][0])
    path = re.sub(r"^[LG]\[['\"]\w+['\"]\]\.?", "", path)  # Dynamo's name of the outermost module
    path = re.sub(r"\[['\"]?([^'\"\]]*)['\"]?\]", r".\1", path).replace("_modules.", "")
    return path.strip(".")


def _statistics(value: torch.Tensor) -> dict[str, Any]:
    """Returns how a tensor is drawn, as GraphNet's extractor describes it: mean and deviation of
    floats, bounds of large tensors of integers, and all data of small tensors."""
    spec: dict[str, Any] = {}
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


def _mean_and_std(value: torch.Tensor) -> tuple[float, float]:
    """For large tensors, adds up parts that fit a cache, in a sixth of the time of torch.std,
    unless the mean is so far from zero that squares would lose the differences of values."""
    count = value.numel()
    if value.is_contiguous() and count > _SMALL:
        total = squares = 0.0
        flat = value.view(-1)
        for start in range(0, count, _PART):
            part = flat[start : start + _PART]
            part = part if part.dtype == torch.float64 else part.float()
            total += part.sum().item()
            squares += torch.dot(part, part).item()
        apart = squares - total * total / count
        if 32 * apart > squares:
            return total / count, math.sqrt(apart / (count - 1))
    wide = value if value.dtype == torch.float64 else value.float()
    return wide.mean().item(), wide.std().item() if count > 1 else 0.0


def _signature_of(gm: torch.fx.GraphModule) -> dict[str, Any]:
    """Returns the packing of inputs and outputs, and the default values of inputs, for FILE."""
    signature: dict[str, Any] = {}
    defaults = {}
    for node in gm.graph.nodes:
        if node.op != "placeholder":
            continue
        if str(node.target).startswith("*"):
            raise refuse(f"the input {node.target} takes any number of arguments")
        if node.args:
            value = node.args[0]
            if value is not None and type(value) not in (bool, int, float, str):
                raise refuse(f"the input {node.target} has the default value {value!r}")
            defaults[str(node.target)] = value
    if defaults:
        signature["defaults"] = defaults
    codegen = gm.graph._codegen
    if type(codegen) is torch.fx.graph._PyTreeCodeGen:
        info = codegen.pytree_info
        try:
            signature["pytree"] = {
                "args": list(info.orig_args),
                "in": _treespec.dumps(info.in_spec),
                "out": None if info.out_spec is None else _treespec.dumps(info.out_spec),
            }
        except (NotImplementedError, TypeError, ValueError) as error:
            raise refuse(f"the packing of inputs cannot be written: {error}") from error
    elif type(codegen) is not torch.fx.graph.CodeGen:
        raise refuse(f"its code is generated by {type(codegen).__qualname__}")
    return signature
