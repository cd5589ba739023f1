"""Traces a graph together with its gradients, and cuts it into a forward and a backward graph.

AOTAutograd, which torch.compile uses for training, does the tracing. It wants a function that writes
to no input and returns no view, so the functions here give it one.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.fx
from torch._decomp import get_decompositions
from torch._functorch.aot_autograd import aot_export_joint_simple
from torch._functorch.partitioners import default_partition
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
)
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from graphnet_ir.fx.shared import META
from graphnet_ir.gradients.refusal import Refusal, first_line

_CLONE = torch.ops.aten.clone.default
_DETACH = torch.ops.aten.detach.default
# Operators that graphnet does not run.
_EXPANDED = [torch.ops.aten._weight_norm_interface.default]
# Views of whole tensors, which cost nothing to take again.
_VIEWS = {
    getattr(getattr(torch.ops.aten, packet), overload)
    for packet, overload in (
        ("alias", "default"),
        ("expand", "default"),
        ("permute", "default"),
        ("squeeze", "default"),
        ("squeeze", "dim"),
        ("squeeze", "dims"),
        ("t", "default"),
        ("transpose", "int"),
        ("unsqueeze", "default"),
        ("view", "default"),
        ("_unsafe_view", "default"),
    )
}


@dataclass(frozen=True)
class Halves:
    """A graph cut in two. The forward graph returns the results and then what is saved, which the
    backward graph takes before the tangents."""

    forward: torch.fx.GraphModule
    backward: torch.fx.GraphModule
    learned: list[int]  # inputs whose gradients the backward graph returns, in order
    num_results: int


Number = int | float | bool


class Watched(torch.fx.Interpreter):
    """Runs a graph node by node, and knows the node that failed. `numbers` has those that calls made
    of tensors, by their nodes. Those that are given are not computed again."""

    def __init__(
        self, gm: torch.fx.GraphModule, numbers: Mapping[torch.fx.Node, Number] | None = None
    ) -> None:
        super().__init__(gm)
        self.node: torch.fx.Node | None = None
        self.numbers: dict[torch.fx.Node, Number] = dict(numbers or {})
        self.extra_traceback = False

    def run_node(self, n: torch.fx.Node) -> Any:
        self.node = n
        if n in self.numbers:
            return self.numbers[n]
        with torch.fx.traceback.set_current_meta(n):
            made = super().run_node(n)
        if n.op.startswith("call_") and isinstance(made, Number):
            self.numbers[n] = made
        return made

    def refusal(self, error: BaseException, cause: str) -> Refusal:
        """Makes the refusal of a graph in which running a node, or its gradient, raised an error."""
        known = {} if self.node is None else self.node.meta.get(META, {})
        target = "" if self.node is None else str(known.get("target", self.node.target))
        # The gradient of an operator is computed after the whole graph has run.
        if self.node is None or self.node.op == "output":
            target = ""
        operator = operator_in(error) or target
        where = f"node {self.node.name}: " if target and self.node is not None else ""
        return Refusal(cause, where + first_line(error), operator)


def operator_in(error: BaseException) -> str:
    """Returns the operator that an error of PyTorch names, or ''."""
    function = getattr(error, "func", None)
    if function is not None:
        return str(function)
    found = re.search(r"derivative for '?([\w:.]*\w)", str(error))
    return "" if found is None else found[1].replace("::", ".")


@contextlib.contextmanager
def modes_kept() -> Iterator[None]:
    """Puts back what a graph may switch and leave so: the gradient mode and autocast."""
    grad = torch.is_grad_enabled()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.set_grad_enabled(grad)


def results_of(made: Any) -> list[Any]:
    """Returns the results of a graph as a flat list."""
    return list(torch.utils._pytree.tree_leaves(made))


def cut(
    gm: torch.fx.GraphModule,
    values: Sequence[Any],
    numbers: Mapping[torch.fx.Node, Number],
    symbolic: bool = False,
) -> Halves:
    """Traces gm on values, some of which require gradients, and cuts it.

    numbers: those that are part of the graphs though calls read them from tensors. symbolic: the values
    have no data, and symbols as sizes. Raises Refusal with the operator that cannot be traced.
    """
    watched = Watched(gm, numbers)

    def function(*given: Any) -> list[Any]:
        # A result may be a view, or an input, of which AOTAutograd needs copies.
        return [torch.clone(one) for one in results_of(watched.run(*given))]

    def trace(given: Sequence[Any]) -> Any:
        with modes_kept(), torch.enable_grad(), torch.fx.traceback.preserve_node_meta():
            return aot_export_joint_simple(
                function,
                tuple(given),
                trace_joint=True,
                decompositions=get_decompositions(_EXPANDED),  # type: ignore[arg-type]
            )

    try:
        try:
            joint = trace(values)
        except (DataDependentOutputException, DynamicOutputShapeException):
            if symbolic:
                raise
            joint = trace(_of_fixed_sizes(values))
    except Exception as error:  # whatever a rule of PyTorch raises
        raise watched.refusal(error, "is not traced") from error
    assert isinstance(joint, torch.fx.GraphModule)
    made = joint.graph.output_node().args[0]
    assert isinstance(made, (list, tuple))
    num_results = len(made) - len(values)
    kept = [i for i, gradient in enumerate(made[num_results:]) if gradient is not None]
    _tidy(joint, num_results)
    with modes_kept():
        forward, backward = default_partition(joint, list(values), num_fwd_outputs=num_results)
    output = backward.graph.output_node()
    output.args = ([one for one in output.args[0] if one is not None],)  # type: ignore[union-attr]
    if symbolic:
        _take_sizes(forward, backward, num_results)
    _save_bases(forward, backward, num_results)
    return Halves(forward, backward, kept, num_results)


def _of_fixed_sizes(values: Sequence[Any]) -> list[Any]:
    """Returns tensors without data, among which numbers that calls read from tensors are unknown,
    and stay calls. Their own sizes are fixed."""
    mode = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)
    return [
        mode.from_tensor(value, static_shapes=True) if isinstance(value, torch.Tensor) else value
        for value in values
    ]


def _tidy(joint: torch.fx.GraphModule, num_results: int) -> None:
    """Removes copies that were only for AOTAutograd, and calls that return their argument."""
    output = joint.graph.output_node()
    made = list(output.args[0])  # type: ignore[arg-type]
    made[:num_results] = [
        one.args[0] if one.target is _CLONE else one for one in made[:num_results]
    ]
    output.args = (made,)
    for node in list(joint.graph.nodes):
        if node.target is _DETACH:
            node.replace_all_uses_with(node.args[0])
            joint.graph.erase_node(node)
        for key in (META, "target"):
            node.meta.pop(key, None)
    joint.graph.eliminate_dead_code()
    joint.recompile()


def _is_size(node: torch.fx.Node) -> bool:
    return isinstance(node.meta.get("val"), torch.SymInt)


def _take_sizes(
    forward: torch.fx.GraphModule, backward: torch.fx.GraphModule, num_results: int
) -> None:
    """Computes sizes that are saved from those of saved tensors and tangents: a sample returns no
    numbers. A tensor that no other reason saves is saved if only it has a size."""
    output = forward.graph.output_node()
    made: list[Any] = list(output.args[0])  # type: ignore[arg-type]
    saved = made[num_results:]
    sizes = [node for node in saved if _is_size(node)]
    inputs = {node.name: node for node in backward.graph.find_nodes(op="placeholder")}
    tensors = {node: inputs[node.name] for node in saved if not _is_size(node)}
    tangents = set(inputs.values()) - {inputs[node.name] for node in saved}
    last = next(node for node in backward.graph.nodes if node in tangents)
    first = next(node for node in backward.graph.nodes if node.op != "placeholder")
    known: dict[torch.fx.Node, torch.fx.Node] = {}

    def size_of(tensor: torch.fx.Node, dim: int, like: torch.fx.Node) -> torch.fx.Node:
        with backward.graph.inserting_before(first):
            size = backward.graph.call_function(torch.ops.aten.sym_size.int, (tensor, dim))
        size.meta = dict(like.meta)
        return size

    def taken(node: torch.fx.Node) -> torch.fx.Node:
        """Returns the node of the backward graph that has a size of the forward graph."""
        if node in known:
            return known[node]
        expression = node.meta["val"].node.expr
        for tensor in [*tensors.values(), *tangents]:
            for dim, size in enumerate(tensor.meta["val"].shape):
                if isinstance(size, torch.SymInt) and size.node.expr == expression:
                    known[node] = size_of(tensor, dim, node)
                    return known[node]
        if node.target is torch.ops.aten.sym_size.int:
            base, place = node.args
            assert isinstance(base, torch.fx.Node) and isinstance(place, int)
            if base not in tensors:
                with backward.graph.inserting_before(last):
                    tensors[base] = backward.graph.placeholder(base.name)
                tensors[base].meta = dict(base.meta)
                made.append(base)
            known[node] = size_of(tensors[base], place, node)
        else:
            parts = {part: taken(part) for part in node.all_input_nodes}
            with backward.graph.inserting_before(first):
                known[node] = backward.graph.node_copy(node, parts.__getitem__)
        return known[node]

    for node in sizes:
        inputs[node.name].replace_all_uses_with(taken(node))
        backward.graph.erase_node(inputs[node.name])
    output.args = ([node for node in made if node not in sizes],)


def _save_bases(
    forward: torch.fx.GraphModule, backward: torch.fx.GraphModule, num_results: int
) -> None:
    """Saves what a view shows in the place of the view, which the backward graph then takes again:
    a weight rather than its transpose, and a tensor once rather than in three shapes."""
    output = forward.graph.output_node()
    made: list[Any] = list(output.args[0])  # type: ignore[arg-type]
    taken = backward.graph.find_nodes(op="placeholder")
    saved: dict[torch.fx.Node, torch.fx.Node] = {}  # nodes of forward, and inputs of backward
    for node, placeholder in zip(made[num_results:], taken):
        saved[node] = placeholder
    first = next(node for node in backward.graph.nodes if node.op != "placeholder")
    for node, placeholder in list(saved.items()):
        chain = []
        base = node
        while base.target in _VIEWS and not any(
            argument is not base.args[0] for argument in base.all_input_nodes
        ):
            chain.append(base)
            base = base.all_input_nodes[0]
        if not chain:
            continue
        if base not in saved:
            with backward.graph.inserting_before(placeholder):
                saved[base] = backward.graph.placeholder(base.name)
            saved[base].meta = dict(base.meta)
        value = saved[base]
        with backward.graph.inserting_before(first):
            for view in reversed(chain):
                known = {view.all_input_nodes[0]: value}
                value = backward.graph.node_copy(view, known.__getitem__)
        placeholder.replace_all_uses_with(value)
        backward.graph.erase_node(placeholder)
        del saved[node]
    by_place = {placeholder: node for node, placeholder in saved.items()}
    order = [node for node in backward.graph.find_nodes(op="placeholder") if node in by_place]
    output.args = ([*made[:num_results], *(by_place[placeholder] for placeholder in order)],)
    for gm in (forward, backward):
        gm.graph.eliminate_dead_code()
        gm.recompile()
