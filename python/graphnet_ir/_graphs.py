"""Parts of the classes of the IR that are written in Python; the extension calls them."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any, NamedTuple

from graphnet_ir import _core
from graphnet_ir._core import (
    Device,
    DType,
    Graph,
    Layout,
    MemoryFormat,
    Module,
    Node,
    Sample,
    SymExpr,
    Tensor,
    TensorMeta,
)
from graphnet_ir.viewing import viz

Argument = (
    Node
    | bool
    | int
    | float
    | complex
    | str
    | DType
    | Device
    | Layout
    | MemoryFormat
    | SymExpr
    | Graph
    | slice
    | list[Any]
    | tuple[Any, ...]
    | dict[Any, Any]
    | None
)
"""A value that may be an argument of a node."""


class ArgsKwargsPair(NamedTuple):
    """The arguments of a call by position and by name, as torch.fx has them."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def args_and_kwargs(parts: tuple[list[Any], dict[str, Any]]) -> ArgsKwargsPair:
    return ArgsKwargsPair(tuple(parts[0]), parts[1])


def stack_trace(node: Node) -> str | None:
    own: str | None = (node._own_meta_or_none or {}).get("stack_trace")
    if own is not None or node.location is None:
        return own
    return f'  File "{node.location[0]}", line {node.location[1]}, in forward\n'


class NodeMeta(MutableMapping[str, Any]):
    """node.meta: the known facts about a node besides its operation.

    The keys tensor_meta, location, module_path, type and draw_spec are the properties of that name,
    if they are set; formats keep them. All other keys may hold anything. They live as long as the
    module object, and nothing copies or saves them.
    """

    FIELDS = ("tensor_meta", "location", "module_path", "type", "draw_spec")
    __slots__ = ("_node",)

    def __init__(self, node: Node):
        self._node = node

    def __getitem__(self, key: str) -> Any:
        if key in self.FIELDS:
            value = getattr(self._node, key)
            if value is None or value == "":
                raise KeyError(key)
            return value
        own = self._node._own_meta_or_none
        if own is None:
            raise KeyError(key)
        return own[key]

    def __setitem__(self, key: str, value: Any) -> None:
        if key in self.FIELDS:
            setattr(self._node, key, value)
        else:
            self._node._own_meta[key] = value

    def __delitem__(self, key: str) -> None:
        if key in self.FIELDS:
            self[key]  # raises KeyError if the property is not set
            setattr(self._node, key, "" if key in ("module_path", "type") else None)
        else:
            own = self._node._own_meta_or_none
            if own is None:
                raise KeyError(key)
            del own[key]

    def __iter__(self) -> Iterator[str]:
        for key in self.FIELDS:
            if key in self:
                yield key
        yield from list(self._node._own_meta_or_none or ())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, key: object) -> bool:
        try:
            self[key]  # type: ignore[index]
        except KeyError:
            return False
        return True

    def __repr__(self) -> str:
        return repr(dict(self))


# --- Copies, pickle and arrays -----------------------------------------------------------------


def copy_of_module(module: Module) -> Module:
    return Sample(module).copy().module


def copy_of_graph(graph: Graph) -> Graph:
    """Returns the same graph of a copy of its module."""
    return _graph_of(copy_of_module(graph.owning_module), graph.name)


def reduced_module(module: Module) -> tuple[Any, ...]:
    sample = Sample(module)
    return _module_of, (_core.to_bytes(sample), sample.name)


def _module_of(content: bytes, name: str) -> Module:
    sample = _core.load_bytes(content, "<pickle>")
    sample.name = name
    return sample.module


def reduced_graph(graph: Graph) -> tuple[Any, ...]:
    return _graph_of, (graph.owning_module, graph.name)


def _graph_of(module: Module, name: str) -> Graph:
    found = module.find_graph(name)
    if found is None:
        raise ValueError(f"the module has no graph {name}")
    return found


def reduced_node(node: Node) -> tuple[Any, ...]:
    return _node_of, (node.graph, node.name)


def _node_of(graph: Graph, name: str) -> Node:
    found = graph.find_node(name)
    if found is None:
        raise ValueError(f"the graph has no node {name}")
    return found


def reduced_expression(parts: tuple[Module, SymExpr]) -> tuple[Any, ...]:
    module, expression = parts
    return _expression_of, (
        module,
        expression.kind,
        expression.value,
        expression.name,
        expression.operands,
    )


def _expression_of(
    module: Module, kind: str, value: int | None, name: str, operands: tuple[SymExpr, ...]
) -> SymExpr:
    return _core._make_sym(module, kind, value, name, operands)


def reduced_tensor(tensor: Tensor) -> tuple[Any, ...]:
    return _tensor_of, (_core._bytes_of(tensor), tensor.dtype, tensor.shape, tensor.strides)


def _tensor_of(
    content: bytes, dtype: DType, shape: Sequence[int], strides: Sequence[int] | None
) -> Tensor:
    made = Tensor.from_bytes(content, dtype, shape)
    return made if strides is None else made.with_strides(strides)


def array_of(asked: tuple[Tensor, Any, bool | None]) -> Any:
    import numpy

    tensor, dtype, copy = asked
    try:
        array = numpy.from_dlpack(tensor)
    except (BufferError, RuntimeError) as error:
        raise TypeError(f"numpy has no dtype {tensor.dtype}; use Tensor.bytes") from error
    array.flags.writeable = False
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError(f"an array of {dtype} would be a copy")
        return array.astype(dtype)
    return array.copy() if copy else array


def tabular(graph: Graph) -> str:
    rows = [("opcode", "name", "target", "args", "kwargs")]
    rows += [
        (node.op, node.name, node.target, str(node.args), str(node.kwargs)) for node in graph.nodes
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    rows.insert(
        1, ("-" * widths[0], "-" * widths[1], "-" * widths[2], "-" * widths[3], "-" * widths[4])
    )
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows
    )


def records(graph: Graph) -> list[dict[str, Any]]:
    return [
        {
            "name": node.name,
            "op": node.op,
            "target": node.target,
            "args": str(node.args),
            "kwargs": str(node.kwargs),
            "num_users": len(node.users),
            **_described(node.tensor_meta),
            "module_path": node.module_path or None,
            "file": node.location[0] if node.location else None,
            "line": node.location[1] if node.location else None,
        }
        for node in graph.nodes
    ]


def _described(meta: Any) -> dict[str, Any]:
    """Returns plain values of a meta, or lists of them for a meta with several parts."""
    if meta is None:
        return {"dtype": None, "shape": None, "device": None}
    if not isinstance(meta, TensorMeta):
        parts = [_described(part) for part in meta]
        return {key: [part[key] for part in parts] for key in ("dtype", "shape", "device")}
    shape = (
        None
        if meta.shape is None
        else [size if isinstance(size, int) else str(size) for size in meta.shape]
    )
    return {
        "dtype": meta.dtype.name,
        "shape": shape,
        "device": None if meta.device is None else str(meta.device),
    }


def graph_html(graph: Graph) -> str:
    """Returns the page of the graph's module, for a notebook."""
    return viz(graph)._repr_html_()


def module_html(module: Module) -> str:
    return viz(module)._repr_html_()


def sample_html(sample: Sample) -> str:
    return viz(sample)._repr_html_()
