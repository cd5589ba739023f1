"""Arrays for models that learn what graphs cost."""

from __future__ import annotations

import itertools
import math
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from graphnet_ir import _core, commands
from graphnet_ir._core import Error, Graph, Node, Sample, TensorMeta
from graphnet_ir._errors import made_error

UNKNOWN = "unknown"
"""The first of the types: what a node has whose type is none of the others."""

_GRAPHS_A_RUN = 256
_MOST = (1 << 63) - 1  # A number above it does not fit, and counts as unknown.


@dataclass(frozen=True)
class GraphArrays:
    """A graph as arrays of numpy, with an element for each node of all its bodies."""

    hash: str  # of the graph in the corpus
    names: list[str]  # of the nodes in the normal form, with that of the body before it
    edge_index: Any  # 2 x edges: from an operand, or the output of a body, to its user
    node_type: Any  # places in the types that were given
    elements: Any  # of the value, all tensors together; -1: unknown
    value_bytes: Any  # the bytes of these; -1: unknown
    flops: Any  # of all times that the node is called; -1: unknown
    other: Any  # operations that are no FLOPs
    bytes_moved: Any  # read and written

    def arrays(self) -> dict[str, Any]:
        """Returns the arrays by name."""
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name not in ("hash", "names")
        }


def counted_types(samples: Iterable[Sample]) -> Counter[str]:
    """Counts the graphs that have a node of each type."""
    found: Counter[str] = Counter()
    for sample in samples:
        form = _form(sample)
        found.update({_type(node) for graph in form.module.graphs for node in graph.nodes})
    return found


def arrays(samples: Iterable[tuple[str, Sample]], types: Sequence[str]) -> Iterator[GraphArrays]:
    """Yields the arrays of samples, each behind its hash."""
    if not types or types[0] != UNKNOWN or len(set(types)) != len(types):
        raise made_error(
            "invalid_argument", f"the types of nodes begin with '{UNKNOWN}', and each is there once"
        )
    place = {name: index for index, name in enumerate(types)}
    left = iter(samples)
    while group := list(itertools.islice(left, _GRAPHS_A_RUN)):
        forms = [(hash, _form(sample)) for hash, sample in group]
        for (hash, form), costs in zip(forms, _costs([form for _, form in forms])):
            yield _arrays_of(hash, form, costs, place)


def _form(sample: Sample) -> Sample:
    """Returns the normal form of a graph; itself, if it has calls that are no operators of
    PyTorch."""
    try:
        return _core.normal_form(sample)
    except Error:
        return sample


def _costs(samples: Sequence[Sample]) -> list[dict[str, Any]]:
    """Returns what graphnet stats knows of each node of each sample, by name."""
    with tempfile.TemporaryDirectory() as folder:
        names = [os.path.join(folder, f"{index:06}.pb") for index in range(len(samples))]
        for name, sample in zip(names, samples):
            _core.save(sample, name, format="protobuf")
        told = commands.stats(*names, cost_by="node")
    found = {row["path"]: {cost["name"]: cost for cost in row["costs"]} for row in told["samples"]}
    return [found[name] for name in names]


def _arrays_of(
    hash: str, sample: Sample, costs: dict[str, Any], types: dict[str, int]
) -> GraphArrays:
    import numpy as np  # Importing it takes long.

    graphs = sample.module.graphs
    nodes = [(graph, node) for graph in graphs for node in graph.nodes]
    names = [
        node.name if graph == sample.graph else f"{graph.name}:{node.name}" for graph, node in nodes
    ]
    index = {node: place for place, (_, node) in enumerate(nodes)}
    edges = [
        (index[operand], place)
        for place, (_, node) in enumerate(nodes)
        for operand in (*node.all_input_nodes, *_outputs_of_bodies(node))
    ]
    sizes = [_size(node) for _, node in nodes]

    def column(values: Iterable[int]) -> Any:
        return np.fromiter((value if value <= _MOST else -1 for value in values), dtype=np.int64)

    def cost(key: str) -> Any:
        # A node without a cost does not run. A node of whose cost only a lower bound is known has no
        # such key.
        return column(costs[name].get(key, -1) if name in costs else 0 for name in names)

    return GraphArrays(
        hash,
        names,
        np.array(edges, dtype=np.int64).reshape(-1, 2).T.copy(),
        column(types.get(_type(node), 0) for _, node in nodes),
        column(size for size, _ in sizes),
        column(size for _, size in sizes),
        cost("flops"),
        cost("other"),
        cost("bytes_moved"),
    )


def _type(node: Node) -> str:
    return node.target if node.op.startswith("call_") else node.op


def _outputs_of_bodies(node: Node) -> Iterator[Node]:
    waiting: list[Any] = [*node.args, *node.kwargs.values()]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Graph):
            yield value.output_node()
        elif isinstance(value, (list, tuple)):
            waiting += value
        elif isinstance(value, dict):
            waiting += value.values()


def _size(node: Node) -> tuple[int, int]:
    """Returns the elements and bytes of a value, or -1 where these are not known numbers."""
    waiting, elements, size = [node.tensor_meta], 0, 0
    if node.tensor_meta is None:
        return -1, -1
    while waiting:
        meta = waiting.pop()
        if isinstance(meta, TensorMeta):
            shape: Sequence[Any] | None = meta.shape
            if shape is None or not all(isinstance(dim, int) for dim in shape):
                return -1, -1
            count = math.prod(shape)
            elements, size = elements + count, size + count * meta.dtype.itemsize
        elif isinstance(meta, (list, tuple)):
            waiting += meta
        else:
            return -1, -1
    return elements, size
