"""Finds recompilations of one frame that are one graph with other sizes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from graphnet_ir import _core
from graphnet_ir._core import Error, Sample, parse, show
from graphnet_ir._lists import map_nodes
from graphnet_ir.live.captured import CapturedGraph
from graphnet_ir.rewriting import opt


def merge_variants(graphs: Sequence[CapturedGraph]) -> None:
    """Sets merged_into of each graph that is a case of another one of its frame, and apart of
    those that are not."""
    frames: dict[str, list[CapturedGraph]] = {}
    for graph in graphs:
        if graph.kind == "graph" and graph.sample is not None:
            frames.setdefault(graph.frame, []).append(graph)
    for variants in frames.values():
        for i, graph in enumerate(variants[1:], 1):
            if graph.merged_into is not None or graph.apart is not None:
                continue
            for earlier in variants[:i]:
                if earlier.merged_into is None and _merge(earlier, graph):
                    break
            else:
                graph.apart = graph.recompiled or "the graphs differ"


def _merge(earlier: CapturedGraph, graph: CapturedGraph) -> bool:
    if _is_case(earlier, graph):
        earlier.merged_into = graph.index
        return True
    if _is_case(graph, earlier):
        graph.merged_into = earlier.index
        return True
    general = _generalised(earlier, graph)
    if general is not None:
        earlier.sample = general
        earlier.symbols = {name: example or 0 for name, example in general.module.symbols.items()}
        graph.merged_into = earlier.index
        return True
    return False


def _is_case(graph: CapturedGraph, general: CapturedGraph) -> bool:
    """Returns whether a graph is another one with numbers in the place of its symbols."""
    if not general.symbols and general.sample is not None and graph.sample is not None:
        return bool(
            _core.canonical_hash(graph.sample, metas=True)
            == _core.canonical_hash(general.sample, metas=True)
        )
    numbers = _numbers(graph, general)
    if numbers is None or general.sample is None or graph.sample is None:
        return False
    try:
        return _plain(_specialised(general.sample, numbers)) == _plain(graph.sample.copy())
    except (Error, ValueError):
        return False


def _numbers(graph: CapturedGraph, general: CapturedGraph) -> dict[str, int] | None:
    """Returns the values that the symbols of a graph have in another one."""
    shapes = {given.name: given.shape for given in graph.inputs if given.device}
    numbers: dict[str, int] = {}
    for given in general.inputs:
        if not given.device:
            continue
        shape = shapes.get(given.name)
        if shape is None or len(shape) != len(given.shape):
            return None
        for size, symbolic in zip(shape, given.shape):
            if isinstance(size, str):
                return None
            if isinstance(symbolic, int):
                if size != symbolic:
                    return None
            elif re.fullmatch(r"\w+", symbolic) and numbers.setdefault(symbolic, size) != size:
                return None
    return numbers


def _specialised(sample: Sample, numbers: dict[str, int]) -> Sample:
    """Returns a sample with numbers for its symbols, and without inputs for them."""
    made = sample.copy()
    for name in list(made.weights):
        made.erase_weight(name)
    for node in made.graph.placeholders:
        node.draw_spec = None
    text = re.sub(r"^relation .*\n", "", show(made, complete=True), flags=re.MULTILINE)
    for name, number in numbers.items():
        text = re.sub(
            rf"^symbol {name} = -?\d+", f"symbol {name} = {number}", text, flags=re.MULTILINE
        )
    made = parse(text)
    graph = made.graph
    for node in list(graph.placeholders):
        if node.type == "torch.SymInt":
            if node.target not in numbers and list(node.users):
                raise ValueError(f"{node.target} is not the size of any input")
            for user in list(node.users):

                def put(operand: Any, size: Any = node) -> Any:
                    return numbers[size.target] if operand is size else operand

                user.args = map_nodes(user.args, put)
                user.kwargs = map_nodes(user.kwargs, put)
            graph.erase_node(node)
    return opt(made, "specialize").sample


def _plain(sample: Sample) -> str:
    return str(_core.canonical_hash(opt(sample, "fold-constants,dce").sample))


def _generalised(a: CapturedGraph, b: CapturedGraph) -> Sample | None:
    """Returns one graph for both, if they differ in one size of their inputs and generalize-dims
    confirms that they are one."""
    shapes = {given.name: given.shape for given in b.inputs if given.device}
    dims: dict[int, list[str]] = {}
    for given in a.inputs:
        if given.device:
            other = shapes.get(given.name)
            if other is None or len(other) != len(given.shape):
                return None
            for dim, (x, y) in enumerate(zip(given.shape, other)):
                if x != y:
                    dims.setdefault(dim, []).append(given.name)
    if len(dims) != 1 or a.sample is None or b.sample is None:
        return None
    ((dim, names),) = dims.items()
    pipeline = f"generalize-dims{{dim={dim},inputs={'+'.join(names)}}}"
    try:
        first, second = opt(a.sample, pipeline).sample, opt(b.sample, pipeline).sample
    except Error:
        return None
    return first if _core.canonical_hash(first) == _core.canonical_hash(second) else None
