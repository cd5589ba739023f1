"""Keeps the symbols of a sample in the graphs of its training step.

The pass generalize-dims makes the numbers of the graph follow the symbols. Then PyTorch traces it on
tensors without data, whose sizes are symbols, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._dynamo.source import LocalSource
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv

from graphnet_ir._core import Error, Sample, SymExpr
from graphnet_ir.gradients.refusal import Refusal
from graphnet_ir.rewriting import opt
from graphnet_ir.running import shapes

Point = Mapping[str, int]  # a size for each symbol
CAUSE = "has symbols that cannot be kept"
_LARGE = 32  # a larger size is slow, so a part of it is tried first


def is_symbolic(sizes: Sequence[int | SymExpr] | None) -> bool:
    return any(isinstance(size, SymExpr) for size in sizes or ())


def general(ready: Sample) -> Sample:
    """Returns a sample whose numbers follow its symbols. Raises Refusal or Error."""
    passes = []
    for name in ready.module.symbols:
        place = next(
            (
                (node.target, dim)
                for node in ready.graph.placeholders
                for dim, size in enumerate((node.tensor_meta and node.tensor_meta.shape) or ())
                if isinstance(size, SymExpr) and size.kind == "symbol" and size.name == name
            ),
            None,
        )
        if place is None:
            raise Refusal(CAUSE, f"no input has the size {name}")
        passes.append(f"generalize-dims{{dim={place[1]},inputs={place[0]}}}")
    return opt(shapes(ready), ",".join(passes)).sample


def example_of(sample: Sample) -> Point:
    """Returns the sizes of the example. Raises Refusal if a symbol has none."""
    example = {name: size or 0 for name, size in sample.module.symbols.items()}
    if min(example.values()) < 1:
        raise Refusal(CAUSE, "a symbol has no example above 0")
    return example


def others_of(example: Point) -> list[Point]:
    """Returns other sizes, the best first: unlike those that graphs state as numbers, and cheap."""

    def sizes(size: int) -> tuple[int, ...]:
        if size == 1:
            return 3, 2, 5
        if size < _LARGE:
            return 3 * size, size + 1, 2 * size
        return size // 2, size - size // 4, 2 * size

    return [{name: sizes(size)[i] for name, size in example.items()} for i in range(3)]


def at(sample: Sample, point: Point) -> Sample:
    """Returns a copy whose example is a point. Literal data begins again where it ends."""
    made = sample.copy()
    for name, size in point.items():
        made.module.add_symbol(name, size)
    for node in made.graph.placeholders:
        spec, meta = dict(node.draw_spec or {}), node.tensor_meta
        data = spec.get("data")
        if not data or meta is None or not is_symbolic(meta.shape):
            continue
        count = math.prod(
            size if isinstance(size, int) else size.example or 0 for size in meta.shape
        )
        spec["data"] = [data[i % len(data)] for i in range(count)]
        node.draw_spec = spec
    return made


def drawn_at(
    ready: Sample, draw: Callable[[Sample], list[Any]], worked: Callable[[list[Any]], Any]
) -> list[tuple[Point, list[Any], Any]]:
    """Returns the example and two other points, each with the drawn inputs and what `worked` makes of
    them. Raises Refusal if the graph runs at fewer."""
    example = example_of(ready)
    values = draw(at(ready, example))
    found = [(example, values, worked(values))]
    why = ""
    for point in others_of(example):
        try:
            values = draw(at(ready, point))
            found.append((point, values, worked(values)))
        except (Error, Refusal) as error:
            why = str(error)
        if len(found) == 3:
            return found
    raise Refusal(CAUSE, f"the graph runs at fewer than two other sizes: {why}")


def without_data(
    ready: Sample, values: Sequence[Any], point: Point
) -> tuple[list[Any], dict[str, tuple[str, int]]]:
    """Returns tensors without data whose sizes are symbols of PyTorch, and the name and example that
    the sample has for each of these. The tracing takes the sizes of a point where it must know."""
    # A size of one would be a number.
    env = ShapeEnv(specialize_zero_one=False)
    mode = FakeTensorMode(shape_env=env, allow_non_fake_inputs=True)
    names: dict[str, tuple[str, int]] = {}
    symbols: dict[str, torch.SymInt] = {}
    for name, example in example_of(ready).items():
        source = LocalSource(name)
        made = env.create_symbol(point[name], source=source, dynamic_dim=DimDynamic.DYNAMIC)
        symbol = env.create_symintnode(made, hint=point[name], source=source)
        assert isinstance(symbol, torch.SymInt)
        symbols[name] = symbol
        names[str(made)] = (name, example)
    fakes: list[Any] = []
    for node, value in zip(ready.graph.placeholders, values):
        shape = node.tensor_meta and node.tensor_meta.shape
        if not isinstance(value, torch.Tensor):
            fakes.append(value)
        elif not is_symbolic(shape):
            fakes.append(mode.from_tensor(value, static_shapes=True))
        elif all(isinstance(size, int) or size.kind == "symbol" for size in shape):
            sizes = [size if isinstance(size, int) else symbols[size.name] for size in shape]
            with mode:
                fakes.append(
                    torch.empty(sizes, dtype=value.dtype).requires_grad_(value.requires_grad)
                )
        else:
            raise Refusal(CAUSE, f"input {node.target} has a size that is computed")
    return fakes, names
