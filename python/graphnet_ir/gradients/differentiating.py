"""Makes the forward and backward graphs of a sample, and compares them with eager autograd."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.fx

from graphnet_ir._core import Error, Node, Sample
from graphnet_ir.fx import to_fx
from graphnet_ir.fx.reader import from_traced
from graphnet_ir.fx.shared import PARAMETER
from graphnet_ir.gradients import symbolic
from graphnet_ir.gradients.joint import Halves, Number, Watched, cut, modes_kept, results_of
from graphnet_ir.gradients.made import Compared, Gradients
from graphnet_ir.gradients.refusal import Refusal
from graphnet_ir.rewriting import opt
from graphnet_ir.running import run, to_torch

_NUMBERS = ("torch.SymInt", "torch.SymFloat", "torch.SymBool", "int", "float", "bool")
# The largest relative difference that is taken for rounding. Only these dtypes are rounded.
_ROUNDING = {
    torch.float16: 2e-2,
    torch.bfloat16: 5e-2,
    torch.float32: 1e-4,
    torch.complex64: 1e-4,
    torch.float64: 1e-8,
    torch.complex128: 1e-8,
}
_ORIGIN = (
    "framework",
    "num_devices_required",
    "num_nodes_required",
    "model_name",
    "source",
    "heuristic_tag",
    "original_tag",
)
_MAX_CONSTANT = 1000  # elements
_FARTHER = 8.0  # times as far from float64 as eager autograd, a tensor is still rounding


@dataclass
class Eager:
    """What eager autograd computes for a graph."""

    results: list[Any]
    tangents: dict[int, torch.Tensor]  # by the number of the result
    gradients: list[torch.Tensor | None]  # of all inputs


def drawn(sample: Sample, seed: int) -> list[Any]:
    """Returns the values of all inputs, as a run draws them: tensors, and numbers."""
    inputs = sample.copy()
    graph = inputs.graph
    for node in reversed(list(graph.nodes)):
        if node.op != "placeholder":
            graph.erase_node(node)
    graph.output(tuple(graph.placeholders))
    inputs.module.erase_unused_graphs()
    values = run(inputs, seed=seed)
    return [
        value.item() if node.type in _NUMBERS else value.clone()
        for node, value in zip(graph.placeholders, values)
    ]


def differentiate_sample(
    sample: Sample, seed: int = 0, inputs: bool = False, symbols: bool = True
) -> Gradients:
    """Like differentiate. symbols: those of the sample are kept where they can be. Raises Refusal."""
    fixed = ""
    if symbols and sample.module.symbols:
        try:
            return _differentiated(sample, seed, inputs, True)
        except Refusal as refusal:
            fixed = str(refusal)
    return dataclasses.replace(_differentiated(sample, seed, inputs, False), fixed=fixed)


def _differentiated(sample: Sample, seed: int, inputs: bool, is_symbolic: bool) -> Gradients:
    try:
        ready = opt(sample, "lift-attributes,change-device{to=cpu}").sample
        values = drawn(ready, seed)
        _spell_inputs(ready)
        if is_symbolic:
            ready = symbolic.general(ready)
        learned = [
            i
            for i, (node, value) in enumerate(zip(ready.graph.placeholders, values))
            if isinstance(value, torch.Tensor)
            and (value.is_floating_point() or value.is_complex())
            and (inputs or node.type == PARAMETER)
        ]
        if not learned:
            raise Refusal("has no parameter", "no input is a parameter of floats")
        gm = to_fx(ready)
        written, numbers = _looked_at(gm, values, seed)
        if written:
            ready = opt(ready, "functionalize{outputs=true}").sample
            gm = to_fx(ready)
            written, numbers = _looked_at(gm, values, seed)
    except Error as error:
        raise Refusal("is not read", str(error)) from error

    def worked(values: list[Any]) -> Eager:
        for i in learned:
            values[i].requires_grad_()
        return _eager(gm, values, learned, seed)

    fixed = _fixed(gm, [_is_literal(node) for node in ready.graph.placeholders])
    literal = {node: numbers[node] for node in fixed if node in numbers}
    names: dict[str, tuple[str, int]] = {}
    if is_symbolic:
        points = symbolic.drawn_at(ready, lambda one: drawn(one, seed), worked)
        tried = [(values, eager) for _, values, eager in points]
        fakes, names = symbolic.without_data(ready, tried[1][0], points[1][0])
        halves = cut(gm, fakes, literal, symbolic=True)
    else:
        tried = [(values, worked(values))]
        halves = cut(gm, values, literal)
    try:
        return _proven(sample, ready, halves, tried, seed, names)
    except Error as error:
        found = re.search(r"\b(aten\.[\w.]+)", str(error))
        raise Refusal("is not held", str(error), found[1] if found else "") from error


def _spell_inputs(sample: Sample) -> None:
    """Gives inputs that were attributes, such as layer1.0.weight, names that Python can spell."""
    inputs = sample.graph.placeholders
    taken = {node.target for node in inputs}
    for node in inputs:
        if not node.target.isidentifier():
            name = re.sub(r"\W", "_", "p_" + node.target)
            while name in taken:
                name += "_"
            taken.add(name)
            node.target = name


def _looked_at(
    gm: torch.fx.GraphModule, values: Sequence[Any], seed: int
) -> tuple[bool, dict[torch.fx.Node, Number]]:
    """Runs a graph. Returns whether it writes to inputs, and the numbers that calls return."""
    given = [value.clone() if isinstance(value, torch.Tensor) else value for value in values]
    watched = Watched(gm)
    try:
        with modes_kept(), torch.no_grad():
            torch.manual_seed(seed)
            results = results_of(watched.run(*given))
    except Exception as error:
        raise watched.refusal(error, "does not run") from error
    for i, result in enumerate(results):
        if not isinstance(result, torch.Tensor):
            raise Refusal("returns a number", f"result {i} is a {type(result).__name__}")
    written = any(isinstance(value, torch.Tensor) and value._version for value in given)
    return written, watched.numbers


def _is_literal(node: Node) -> bool:
    """Returns whether the sample has the value of an input, which is the same in every run."""
    if symbolic.is_symbolic(node.tensor_meta and node.tensor_meta.shape):
        return False
    spec = node.draw_spec or {}
    return node.type in _NUMBERS or "data" in spec or spec.get("std") == 0.0


def _fixed(gm: torch.fx.GraphModule, literal: Sequence[bool]) -> set[torch.fx.Node]:
    """Returns the nodes whose values follow from inputs that are literal."""
    fixed: set[torch.fx.Node] = set()
    for node, is_literal in zip(gm.graph.find_nodes(op="placeholder"), literal):
        if is_literal:
            fixed.add(node)
    for node in gm.graph.nodes:
        if node.op.startswith("call_") and node.all_input_nodes:
            if fixed.issuperset(node.all_input_nodes):
                fixed.add(node)
    return fixed


def _in_float64(
    ready: Sample,
    values: Sequence[Any],
    tangents: dict[int, torch.Tensor],
    learned: Sequence[int],
    seed: int,
) -> list[torch.Tensor | None] | None:
    """Returns the results and gradients that eager autograd has in float64; None if it has none."""

    def wide(value: Any) -> Any:
        is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
        return value.detach().double() if is_float else value

    try:
        gm = to_fx(opt(ready, "change-dtype{to=f64}").sample)
        given = [wide(value) for value in values]
        for i in learned:
            given[i].requires_grad_()
        found = _eager(gm, given, learned, seed, {i: wide(one) for i, one in tangents.items()})
    except (Error, Refusal):
        return None
    return [*found.results, *(found.gradients[i] for i in learned)]


def _eager(
    gm: torch.fx.GraphModule,
    values: Sequence[Any],
    learned: Sequence[int],
    seed: int,
    tangents: dict[int, torch.Tensor] | None = None,
) -> Eager:
    """Computes results and gradients by eager autograd. Tangents are drawn by the seed."""
    watched = Watched(gm)
    try:
        with modes_kept(), torch.enable_grad():
            torch.manual_seed(seed)
            results = results_of(watched.run(*values))
            taking = [i for i, result in enumerate(results) if result.requires_grad]
            if not taking:
                raise Refusal(
                    "has no gradient",
                    "no result depends on a parameter by operators with gradients",
                )
            generator = torch.Generator().manual_seed(seed)
            if tangents is None:
                tangents = {
                    i: torch.randn(results[i].shape, generator=generator).to(results[i].dtype)
                    for i in taking
                }
            found = torch.autograd.grad(
                [results[i] for i in taking],
                [values[i] for i in learned],
                [tangents[i] for i in taking],
                allow_unused=True,
            )
    except Refusal:
        raise
    except Exception as error:
        raise watched.refusal(error, "has no derivative") from error
    gradients: list[torch.Tensor | None] = [None] * len(values)
    for i, gradient in zip(learned, found):
        gradients[i] = gradient
    return Eager([result.detach() for result in results], tangents, gradients)


def _proven(
    sample: Sample,
    ready: Sample,
    halves: Halves,
    tried: Sequence[tuple[Sequence[Any], Eager]],
    seed: int,
    names: Mapping[str, tuple[str, int]],
) -> Gradients:
    """Makes samples of the halves, runs them on all inputs that were tried, the first of which they
    describe, and compares with what eager autograd computed. names: those of PyTorch's symbols."""
    inputs = ready.graph.placeholders
    values, eager = tried[0]
    given = _detached(values)
    forward = from_traced(halves.forward, given, name=sample.name, symbols=names)
    forward_names = {}
    for node, made in zip(inputs, forward.graph.placeholders):
        forward_names[made.target] = node.target
        made.target, made.type = node.target, node.type
        if made.tensor_meta is None:  # a number
            made.tensor_meta = node.tensor_meta
        if node.draw_spec is not None:
            made.draw_spec = node.draw_spec
    _spell_constants(forward)
    results = run(forward, *given, seed=seed)
    taken = halves.backward.graph.find_nodes(op="placeholder")
    tangents = list(eager.tangents.values())
    saved = list(results[halves.num_results :])
    if len(taken) != len(saved) + len(tangents):
        raise Refusal("is not traced", "the backward graph takes other values than were saved")
    backward = from_traced(
        halves.backward, [*saved, *tangents], name=sample.name, statistics=True, symbols=names
    )
    _spell_constants(backward)
    for made in backward.graph.placeholders:
        made.target = forward_names.get(made.target, made.target)
    compared = Compared(0, 0, 0.0)
    for values, eager in tried:
        results = run(forward, *_detached(values), seed=seed)
        given = [*results[halves.num_results :], *eager.tangents.values()]
        try:
            gradients = run(backward, *given, seed=seed)
        except Error as error:
            if "view size is not compatible" not in str(error):
                raise
            # Inputs of a sample lie in the order of their sizes, and views of other layouts are copies.
            for node in backward.graph.find_nodes(op="call_function", target="aten.view.default"):
                node.target = "aten.reshape.default"
            gradients = run(backward, *given, seed=seed)
        compared += _compared_with(eager, ready, halves, values, results, gradients, seed)
    told = _told(sample.graph_net_json, bool(names))
    forward.graph_net_json = backward.graph_net_json = told
    return Gradients(
        sample,
        forward,
        backward,
        [made.target for made in backward.graph.placeholders][: len(saved)],
        list(tried[0][1].tangents),
        [inputs[i].target for i in halves.learned],
        compared,
    )


def _detached(values: Sequence[Any]) -> list[Any]:
    return [value.detach() if isinstance(value, torch.Tensor) else value for value in values]


def _compared_with(
    eager: Eager,
    ready: Sample,
    halves: Halves,
    values: Sequence[Any],
    results: Sequence[torch.Tensor],
    gradients: Sequence[torch.Tensor],
    seed: int,
) -> Compared:
    pairs = list(zip(results, eager.results))
    for i, gradient in zip(halves.learned, gradients):
        expected = eager.gradients[i]
        pairs.append((gradient, torch.zeros_like(gradient) if expected is None else expected))

    def exact() -> list[torch.Tensor | None]:
        found = _in_float64(ready, values, eager.tangents, halves.learned, seed)
        return [None] * len(pairs) if found is None else found

    return _compared(pairs, exact)


def _spell_constants(sample: Sample) -> None:
    """Makes calls of torch.tensor of the tensors that a graph holds, as folders hold none."""
    weights = sample.weights
    for node in sample.graph.find_nodes(op="get_attr"):
        if node.target not in weights:
            continue
        value = to_torch(weights[node.target])
        if value.numel() > _MAX_CONSTANT:
            raise Refusal("is not held", f"it holds a constant of {value.numel()} elements")
        with sample.graph.inserting_before(node):
            made = sample.graph.call_function(
                "torch.tensor", (value.tolist(),), {"dtype": value.dtype}
            )
        made.tensor_meta = node.tensor_meta
        node.replace_all_uses_with(made)
        sample.graph.erase_node(node)
        for user in list(made.users):
            if user.target == "aten.lift_fresh_copy.default":
                user.replace_all_uses_with(made)
                sample.graph.erase_node(user)
    for name in sample.module.attributes:
        sample.erase_weight(name)
        sample.module.erase_attribute(name)


def _told(text: str, dynamic: bool) -> str:
    """Returns what graph_net.json says of the origin, without what it says of sizes and dtypes."""
    try:
        told = json.loads(text)
    except ValueError:
        return ""
    kept = {key: told[key] for key in _ORIGIN if key in told} if isinstance(told, dict) else {}
    return json.dumps({**kept, "dynamic": dynamic}, indent=4) if kept else ""


def _compared(
    pairs: Sequence[tuple[torch.Tensor, torch.Tensor]],
    exact: Callable[[], Sequence[torch.Tensor | None]],
) -> Compared:
    """Compares tensors with expected ones. exact: computes the expected ones in float64, for those
    that differ by more than rounding of the whole, as sums that cancel out do. Raises Refusal for
    tensors that are farther from that than eager autograd's."""
    equal, largest, near = 0, 0.0, 0
    precise: Sequence[torch.Tensor | None] | None = None
    for i, (made, expected) in enumerate(pairs):
        if made.shape != expected.shape or made.dtype != expected.dtype:
            raise Refusal("differs", f"value {i} has another shape or dtype than in eager autograd")
        if torch.equal(_bits(made), _bits(expected)):
            equal += 1
            continue
        relative = _apart(made, expected) / (_apart(expected) or 1.0)
        if relative <= _ROUNDING.get(expected.dtype, 0.0):
            largest = max(largest, relative)
            continue
        precise = exact() if precise is None else precise
        ideal = precise[i]
        if ideal is None or _apart(made, ideal) > _FARTHER * _apart(expected, ideal):
            raise Refusal(
                "differs", f"value {i} is {relative:.3g} from eager autograd, relative to its size"
            )
        near += 1
    return Compared(len(pairs), equal, largest, near)


def _apart(one: torch.Tensor, other: torch.Tensor | None = None) -> float:
    """Returns the largest difference of two tensors, or the largest element of one. Two nan, and two
    equal infinities, do not differ."""
    if not one.numel():
        return 0.0
    wide = torch.complex128 if one.is_complex() else torch.float64
    first = one.to(wide)
    if other is None:
        return first.abs().nan_to_num(0.0, 0.0, 0.0).max().item()
    second = other.to(wide)
    same = (first == second) | (first.isnan() & second.isnan())
    return (first - second).abs().nan_to_num(torch.inf).masked_fill(same, 0.0).max().item()


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().reshape(-1).view(torch.uint8)
