"""Makes graph modules of torch.fx from samples."""

from __future__ import annotations

import functools
import json
import keyword
import re
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.fx

from graphnet_ir import _core, _treespec
from graphnet_ir._core import Error, Graph, Node, Sample, SymExpr, TensorMeta
from graphnet_ir._errors import made_error, require_sample
from graphnet_ir._graphs import NodeMeta
from graphnet_ir.fx.names import function_of, is_attribute, is_method, name_of_target
from graphnet_ir.fx.shared import FILE, META, PARAMETER, Origin, refuse
from graphnet_ir.fx.types import type_of_text
from graphnet_ir.running import to_torch

# A module, or objects by name, in which to_fx looks up objects that no file can hold.
Root = torch.nn.Module | Mapping[str, Any]


def to_fx(sample: Sample, root: Root | None = None, *, copy: bool = False) -> torch.fx.GraphModule:
    """Makes a graph module that computes the same as a sample.

    Targets are looked up by name among functions that only compute; no text of the sample is run,
    and any other name is refused. root: a module, or objects by their names, in which the
    submodules that are called, functions that are not PyTorch's, and attributes without a value are
    looked up. The graph module that the sample was made from is a valid root.

    Parameters and buffers share the memory of the sample. Memory that was loaded from a file must
    not be written to, so copy=True gives tensors of their own. Those without a value are on the
    meta device, like those of a model that is not initialised yet. The facts about a node are in
    node.meta["graphnet"], where from_fx finds them again, and its shape, if fixed, is in
    node.meta["tensor_meta"].

    Raises Error if a target cannot be looked up ('not_found'), or if fx cannot hold an argument
    ('unimplemented').
    """
    require_sample(sample)
    gm = _Writer(sample, root, copy).write()
    gm.meta[META] = Origin(sample)
    return gm


class _Writer:
    """Makes the graph modules of a sample."""

    def __init__(self, sample: Sample, root: Root | None, copy: bool) -> None:
        self._sample = sample
        self._root = root
        self._copy = copy
        self._attributes: dict[str, Any] = sample.module.attributes
        self._weights = sample.weights
        self._tensors: dict[str, torch.Tensor] = {}
        self._bodies: dict[str, torch.fx.GraphModule] = {}
        self._body_names: dict[str, list[str]] = {}  # names of nodes that read bodies, by caller
        self._wrapped: frozenset[str] = frozenset()  # functions that torch.fx.wrap was told of
        self._functions: dict[str, Any] = {}
        self._methods: set[str] = set()
        if isinstance(root, torch.fx.GraphModule):
            self._learn_functions(root)

    def _learn_functions(self, root: torch.fx.GraphModule) -> None:
        for module in root.modules():
            for node in module.graph.nodes if isinstance(module, torch.fx.GraphModule) else ():
                if node.op == "call_method":
                    self._methods.add(str(node.target))
                elif node.op == "call_function":
                    try:
                        self._functions[name_of_target(node.target)] = node.target
                    except Error:
                        pass  # A sample cannot call it.

    def write(self) -> torch.fx.GraphModule:
        graph = self._sample.graph
        if graph is None:
            raise made_error("failed_precondition", "the sample has no graph")
        defaults, packing = self._read_signature()
        gm = self._module_of(graph, "", defaults)
        # The inputs of a sample may have changed.
        if packing and packing.in_spec.num_leaves == len(gm.graph.find_nodes(op="placeholder")):
            gm.graph.set_codegen(torch.fx.graph._PyTreeCodeGen(packing))
            gm.recompile()
        return gm

    def _read_signature(self) -> tuple[dict[str, Any], torch.fx.graph._PyTreeInfo | None]:
        """Restores the default values of inputs, and the packing of inputs and outputs."""
        text = self._sample.extra_files.get(FILE)
        if text is None:
            return {}, None
        try:
            signature = json.loads(text)
            self._wrapped = frozenset(signature.get("wrapped", ()))
            self._body_names = {
                str(caller): [str(name) for name in names]
                for caller, names in signature.get("bodies", {}).items()
            }
            defaults = dict(signature.get("defaults", {}))
            packing = signature.get("pytree")
            if packing is None:
                return defaults, None
            out = packing["out"]
            names = [str(name) for name in packing["args"]]
            inputs = _treespec.loads(packing["in"])
            # torch.fx generates code from these words.
            words = [
                *names,
                *(
                    key
                    for child in inputs.children()
                    if child.type is dict
                    for key in child.context
                ),
            ]
            if not all(word.isidentifier() and not keyword.iskeyword(word) for word in words):
                raise ValueError("the name of an argument is not a Python identifier")
            return defaults, torch.fx.graph._PyTreeInfo(
                names, inputs, None if out is None else _treespec.loads(out)
            )
        except Exception as error:  # The text is untrusted.
            raise made_error("invalid_argument", f"{FILE}: {error}") from error

    def _module_of(self, graph: Graph, path: str, defaults: dict[str, Any]) -> torch.fx.GraphModule:
        """Returns the graph module of a graph. path: the name of a body and a dot, or ''."""
        holder = torch.nn.Module()
        holder.training = getattr(self._root, "training", True)
        made = torch.fx.Graph()
        values: dict[Node, torch.fx.Node] = {}
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
            raise refuse(f"Python cannot compile the code of {path or 'the graph'}") from error

    def _write_node(
        self,
        node: Node,
        made: torch.fx.Graph,
        path: str,
        defaults: dict[str, Any],
        values: dict[Node, torch.fx.Node],
        holder: torch.nn.Module,
    ) -> torch.fx.Node:
        target: Any = node.target
        # An unknown type stays in node.meta["graphnet"].
        written = type_of_text(node.type) if node.type else None
        names = iter(self._body_names.get(path + node.name, ()))

        def body(graph: Graph) -> torch.fx.Node:
            name = self._write_body(graph, path, holder)
            return made.create_node("get_attr", name, name=next(names, name))

        _check_words(node)
        if node.op == "placeholder":
            args: tuple[Any, ...] = (defaults[target],) if target in defaults else ()
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
                # The IR has one node, but Python calls the function that torch.vmap makes.
                mapped = made.create_node("call_function", target, args[:1], kwargs)
                return made.create_node(
                    "call_method", "__call__", (mapped, *args[1]), {}, node.name, written
                )
        elif node.op == "call_method" and not (is_method(target) or target in self._methods):
            raise made_error("not_found", f"{target} is not a method of tensors")
        return made.create_node(node.op, target, args, kwargs, node.name, written)

    def _function(self, name: str, args: tuple[Any, ...]) -> Any:
        found = self._functions.get(name) or function_of(name)
        if found is None and isinstance(self._root, Mapping):
            found = self._root.get(name)
        if found is None:
            raise made_error(
                "not_found",
                f"{name} is not a function of PyTorch that graphs call; "
                "give to_fx a root that has it",
            )
        is_read = found is getattr and len(args) > 1
        if is_read and not (isinstance(args[1], str) and is_attribute(args[1])):
            raise made_error("not_found", f"{args[1]} is not an attribute of tensors")
        return found

    def _submodule(self, name: str) -> torch.nn.Module:
        found = self._in_root(name)
        if not isinstance(found, torch.nn.Module):
            raise made_error(
                "not_found", f"it calls the module {name}; give to_fx a root that has it"
            )
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
            made = (
                found
                if isinstance(found, torch.Tensor)
                else _without_value(name, fields.get("tensor_meta"))
            )
        if fields.get("type") == PARAMETER and not isinstance(made, torch.nn.Parameter):
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
        if made.name != node.name:  # fx does not accept names of Python's builtins
            ours["name"] = (made.name, node.name)
        made.meta[META] = ours
        meta = ours.get("tensor_meta")
        if (
            isinstance(meta, TensorMeta)
            and meta.shape is not None
            and all(isinstance(size, int) for size in meta.shape)
        ):
            dtype = getattr(torch, meta.dtype.name, None)
            if dtype is not None:
                from torch.fx.passes.shape_prop import TensorMetadata

                made.meta["tensor_meta"] = TensorMetadata(
                    torch.Size(meta.shape), dtype, False, (), None, False, {}
                )
        if "location" in ours and "stack_trace" not in known:
            made.meta["stack_trace"] = node.stack_trace
        if "module_path" in ours and "nn_module_stack" not in known:
            path = ours["module_path"]
            made.meta["nn_module_stack"] = {path: (path, "")}


def _check_words(node: Node) -> None:
    """Refuses words that are not plain names in the code that torch.fx generates for a node."""
    words = list(node.kwargs)
    if node.op == "placeholder":
        words.append(node.target)
    elif node.op in ("get_attr", "call_module"):
        words += ["_" + part for part in node.target.split(".")]
    for word in words:
        if not word.isidentifier() or keyword.iskeyword(word) or word == "self":
            raise refuse(f"{word!r} is not a name that Python can spell")


def _without_value(name: str, meta: TensorMeta | None) -> torch.Tensor:
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
        return  # it belongs to a module that is called
    if not taken and _is_part(value, known):
        setattr(holder, last, value)  # a plain object held only attributes of it
        return
    if taken or known is not None:
        raise refuse(f"an attribute cannot be called {name}, a module of torch has that already")
    if isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter):
        holder.register_buffer(last, value)
    else:
        setattr(holder, last, value)


def _is_part(whole: Any, part: Any) -> bool:
    """Returns whether a module or tensor has everything that another one has, which is a plain
    holder of tensors or a tensor."""
    if whole is part:
        return True
    if isinstance(part, torch.Tensor) and isinstance(whole, torch.Tensor):
        return (
            part.dtype == whole.dtype
            and part.shape == whole.shape
            and part.device == whole.device != torch.device("meta")
            and torch.equal(part, whole)
        )
    held = (
        {**part._parameters, **part._buffers, **part._modules}
        if (type(part) is torch.nn.Module and isinstance(whole, torch.nn.Module))
        else {}
    )
    return bool(held) and all(
        _is_part(getattr(whole, name, None), value) for name, value in held.items()
    )


def _to_python(
    value: Any, values: dict[Node, torch.fx.Node], body: Callable[[Graph], torch.fx.Node]
) -> Any:
    """Returns an argument in terms of torch.fx. body: makes the node that reads a graph module."""
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
        raise refuse(f"the argument {value} is a symbolic size, which fx holds as a node")
    if isinstance(value, list):
        return [_to_python(element, values, body) for element in value]
    if isinstance(value, tuple):
        return tuple(_to_python(element, values, body) for element in value)
    if isinstance(value, dict):
        return {key: _to_python(element, values, body) for key, element in value.items()}
    if isinstance(value, slice):
        return slice(
            *(_to_python(part, values, body) for part in (value.start, value.stop, value.step))
        )
    return value
