"""Proves that captured graphs are complete: compares runs, and graphs with graphnet's interpreter."""

from __future__ import annotations

import collections
import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

import torch

from graphnet_ir._core import Error, Node, Sample, TensorMeta
from graphnet_ir.fx import from_fx
from graphnet_ir.live.state import attributes_of, copy_of, is_users, same_bits
from graphnet_ir.running import prepare

MAX_PARTS = 200_000  # of a result
_NUMBERS = (bool, int, float, complex, torch.SymInt, torch.SymFloat, torch.SymBool)


def leaves(result: Any) -> list[Any]:
    """Returns the parts of a result, each container once. Tensors are copied, so that later writes
    do not reach them."""
    flat: list[Any] = []
    seen: dict[int, Any] = {}
    pending = [result]
    while pending and len(flat) < MAX_PARTS:
        part = pending.pop()
        parts = _parts(part)
        if parts is None:
            flat.append(copy_of(part))
        elif id(part) not in seen:
            seen[id(part)] = part
            pending += reversed(parts)
    if pending:
        flat.append(Unknown(f"a result has more than {MAX_PARTS} parts"))
    return flat


class Unknown:
    """The place of a part that cannot be compared, and why."""

    def __init__(self, why: str):
        self.why = why


def _parts(value: Any) -> list[Any] | None:
    """Returns what a container or an object of the user holds; None for all else."""
    if isinstance(value, torch.Tensor):
        return None
    found: list[Any] = []
    if isinstance(value, dict):
        found += dict.values(value)
    elif isinstance(value, (list, tuple, collections.deque)):
        found += value
    if is_users(value) and not callable(value):
        return found + [kept for _, kept in attributes_of(value) if not callable(kept)]
    return found if isinstance(value, (dict, list, tuple, collections.deque)) else None


def differences(
    name: str, a: Sequence[Any], b: Sequence[Any], sides: tuple[str, str] = ("eager", "the replay")
) -> tuple[list[str], list[str]]:
    """Describes how the leaves of two results differ, and which of them cannot be compared."""
    if len(a) != len(b):
        return [f"{name}: {sides[0]} has {len(a)} parts and {sides[1]} {len(b)}"], []
    found, unknown = [], []
    for i, (one, other) in enumerate(zip(a, b)):
        try:
            text = _difference(one, other)
        except Exception as error:  # of any kind: tensors of other libraries raise what they like
            unknown.append(f"{name} {i} cannot be compared: {type(error).__name__}: {error}")
            continue
        if text is not None:
            found.append(f"{name} {i}: {text}")
        elif isinstance(one, Unknown):
            unknown.append(f"{name} {i}: {one.why}")
    return found, unknown


def _difference(a: Any, b: Any) -> str | None:
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        if same_bits(a, b):
            return None
        text = f"{tuple(a.shape)} {a.dtype} and {tuple(b.shape)} {b.dtype}"
        if a.shape == b.shape and a.dtype == b.dtype and a.is_floating_point():
            apart = (a.detach().to_dense() if a.layout != torch.strided else a.detach()).double()
            apart = apart - (b.to_dense() if b.layout != torch.strided else b.detach()).double()
            text += f", differ by up to {apart.abs().max().item():.3g}"
        return text
    if type(a) is not type(b):
        return f"{type(a).__name__} and {type(b).__name__}"
    if (
        isinstance(a, (bool, int, str, bytes, float, complex))
        and a != b
        and not (a != a and b != b)
    ):
        return f"{a!r} and {b!r}"
    if hasattr(a, "__array_interface__") and (
        a.dtype != b.dtype or a.shape != b.shape or a.tobytes() != b.tobytes()
    ):
        return f"arrays of {a.shape} {a.dtype} and {b.shape} {b.dtype}"
    return None


class Refused(Exception):
    """The interpreter does not run a graph."""


class GraphRunner:
    """A captured graph that runs twice: by the interpreter on copies, and in its own code. All that
    both make and write is compared, so that one may stand in the place of the other."""

    def __init__(self, sample: Sample, gm: torch.fx.GraphModule, function: Callable[..., Any]):
        self.function = function
        self._sample = sample.copy()
        graph = self._sample.graph
        output = graph.output_node()
        result = output.args[0]
        self._result: list[Any] = list(result) if isinstance(result, (list, tuple)) else [result]
        made = list(dict.fromkeys(item for item in self._result if isinstance(item, Node)))
        self._places = {node: i for i, node in enumerate(made)}
        inputs = list(graph.placeholders)
        self._num_made = len(made)
        self._attributes: dict[str, Any] = {
            name: functools.reduce(getattr, name.split("."), gm)
            for name in self._sample.module.attributes
        }
        self._kept = [i for i, node in enumerate(inputs) if node.type != "torch.SymInt"]
        output.args = (tuple(made + [inputs[i] for i in self._kept]),)

    def run(self, args: Sequence[Any]) -> tuple[Any, list[str], list[str]]:
        """Returns the results of the graph's own code, differences from the interpreter, and what
        cannot be compared. Raises Refused, before anything ran, if the interpreter cannot run."""
        random = torch.get_rng_state()
        try:
            values, state, shared = self._interpret(args)
        except Error as error:
            raise Refused(str(error)) from error
        except Exception as error:  # of any kind: the user's program must run in any case
            raise Refused(f"{type(error).__name__}: {error}") from error
        finally:
            drawn = torch.get_rng_state()
            torch.set_rng_state(random)
        outputs = self.function(*args)
        made = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        expected = [
            _as_number(values[self._places[item]], made[i])
            if isinstance(item, Node) and i < len(made)
            else item
            for i, item in enumerate(self._result)
        ]
        whole = values[len(values) - len(shared) :]
        of_shared = {_storage(tensor) for tensor in shared}
        inputs = [
            i for i in self._kept if not (_has_storage(args[i]) and _storage(args[i]) in of_shared)
        ]
        places = {i: self._num_made + k for k, i in enumerate(self._kept)}
        names = [name for name in self._attributes if name in state]
        found, unknown = differences("result", made, expected, _SIDES)
        for name, own, others in (
            ("input", [args[i] for i in inputs], [values[places[i]] for i in inputs]),
            ("memory of inputs", shared, whole),
            (
                "attribute",
                [self._attributes[name] for name in names],
                [state[name] for name in names],
            ),
        ):
            more, less = differences(name, own, others, _SIDES)
            found += more
            unknown += less
        if not torch.equal(drawn, torch.get_rng_state()):
            found.append("random numbers: the interpreter has drawn others")
        return outputs, found, unknown

    def _interpret(self, args: Sequence[Any]) -> tuple[list[Any], dict[str, Any], list[Any]]:
        """Returns results and inputs after a run on copies, attributes after it, and the memory
        that inputs share, whose values are behind the inputs."""
        threads = torch.get_num_threads()
        sample, shared = self._sharing(args)
        try:
            with torch.no_grad():
                values, program = self._run_sample(sample, [*args, *shared])
                return values, program.state() if self._attributes else {}, shared
        finally:
            if threads != torch.get_num_threads():
                torch.set_num_threads(threads)

    def _sharing(self, args: Sequence[Any]) -> tuple[Sample, list[torch.Tensor]]:
        """The sample for these arguments, and what it takes after them: the whole memory of those
        that share it, of which they are views."""
        groups: dict[Any, list[int]] = {}
        for i, value in enumerate(args):
            if _has_storage(value) and value.numel() > 0:
                groups.setdefault((_storage(value), value.dtype), []).append(i)
        shared: list[torch.Tensor] = []
        sample = self._sample
        for members in (group for group in groups.values() if len(group) > 1):
            if sample is self._sample:
                sample = sample.copy()
            storage = args[members[0]].untyped_storage()
            count = storage.nbytes() // args[members[0]].element_size()
            whole = torch.empty(0, dtype=args[members[0]].dtype)
            whole.set_(storage, 0, (count,))  # type: ignore[call-overload]
            graph = sample.graph
            inputs = list(graph.placeholders)
            with graph.inserting_after(inputs[-1]):
                place = graph.placeholder(f"shared_{len(shared)}")
            place.tensor_meta = TensorMeta(whole.dtype, [count], "cpu")
            last = place
            for i in members:
                with graph.inserting_after(last):
                    view = graph.call_function(
                        "torch.as_strided",
                        (
                            place,
                            list(args[i].shape),
                            list(args[i].stride()),
                            args[i].storage_offset(),
                        ),
                    )
                inputs[i].replace_all_uses_with(view)
                last = view
            output = graph.output_node()
            output.args = ((*output.args[0], place),)
            shared.append(whole)
        return sample, shared

    def _run_sample(self, sample: Sample, given: list[Any]) -> tuple[list[Any], Any]:
        """What the interpreter returns, and the program that ran. It works on copies, and draws
        random numbers where PyTorch would go on."""
        random = torch.get_rng_state()
        try:
            program = prepare(sample, *given, values=self._attributes, seed=None)
            return list(program.run()), program
        except Error:
            # An optimiser's step turns gradients off to write to parameters.
            torch.set_rng_state(random)

        def plain(value: Any) -> Any:
            return value.detach() if isinstance(value, torch.Tensor) else value

        program = prepare(
            sample,
            *map(plain, given),
            seed=None,
            values={name: plain(value) for name, value in self._attributes.items()},
        )
        return list(program.run()), program


_SIDES = ("the graph", "the interpreter")


def _as_number(value: Any, like: Any) -> Any:
    return value.item() if isinstance(like, _NUMBERS) and isinstance(value, torch.Tensor) else value


def _has_storage(value: Any) -> bool:
    return (
        isinstance(value, torch.Tensor) and value.layout == torch.strided and not value.is_quantized
    )


def _storage(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


# --- Graphs with calls that the interpreter lacks -------------------------------------------------


class PieceRunner:
    """A captured graph as pieces: calls that the interpreter refuses run in their own code, and the
    calls between them are compared with the interpreter."""

    def __init__(self, sample: Sample, gm: torch.fx.GraphModule, function: Callable[..., Any]):
        self.notes: list[str] = []
        self.runs = 0
        self._gm, self._function = gm, function
        self._whole: GraphRunner | None = None
        self._apart: set[str] = set()  # names of nodes that run in their own code
        try:
            self._whole = GraphRunner(sample, gm, function)
        except Exception as error:  # of any kind: the user's program must run in any case
            self.notes.append(f"{type(error).__name__}: {error}")

    def run(self, args: Sequence[Any]) -> tuple[Any, list[str], list[str]]:
        """Returns the results of the graph's own code, differences, and what cannot be compared.
        `runs` counts what the interpreter ran."""
        if self._whole is None:
            return self._function(*args), [], []
        if not self._apart:
            try:
                made = self._whole.run(args)
                self.runs += 1
                return made
            except Refused as error:
                if not self._set_apart(str(error)):
                    return self._function(*args), [], []
        return self._run_pieces(args)

    def _set_apart(self, why: str) -> bool:
        """Notes why the interpreter refuses, and sets the node apart that the text names."""
        if why not in self.notes:
            self.notes.append(why)
        names = re.findall(r"\(node ([^()]+)\)", why) or re.findall(r"\bnode (\S+):", why)
        found = [
            name
            for name in names
            if name not in self._apart and any(node.name == name for node in self._gm.graph.nodes)
        ]
        self._apart.update(found[-1:])
        return bool(found)

    def _run_pieces(self, args: Sequence[Any]) -> tuple[Any, list[str], list[str]]:
        found: list[str] = []
        unknown: list[str] = []
        values: dict[torch.fx.Node, Any] = dict(
            zip(self._gm.graph.find_nodes(op="placeholder"), args)
        )
        output = self._gm.graph.output_node()
        pending = [
            node for node in self._gm.graph.nodes if node not in values and node is not output
        ]
        interpreter = torch.fx.Interpreter(self._gm, garbage_collect_values=False)
        interpreter.env = values
        while pending:
            piece = self._next_piece(pending)
            if piece:
                try:
                    more, less = self._run_piece(piece, values)
                    found += more
                    unknown += less
                    pending = pending[len(piece) :]
                    continue
                except Refused as error:
                    if self._set_apart(str(error)):
                        continue  # A smaller piece is tried.
            for node in pending[: max(1, len(piece))]:
                values[node] = interpreter.run_node(node)
            pending = pending[max(1, len(piece)) :]
        return torch.fx.node.map_arg(output.args[0], values.__getitem__), found, unknown

    def _next_piece(self, pending: list[torch.fx.Node]) -> list[torch.fx.Node]:
        """Returns the first calls that may run in the interpreter, as far as only tensors and sizes
        go into them and come out of them."""
        piece: list[torch.fx.Node] = []
        for node in pending:
            if node.name in self._apart or _is_uninitialised(node):
                break
            piece.append(node)
        while piece:
            inside = set(piece)
            cut = next(
                (
                    i
                    for i, node in enumerate(piece)
                    if any(
                        read not in inside and not _crosses(read) for read in node.all_input_nodes
                    )
                    or (
                        node.op != "get_attr"
                        and not _crosses(node)
                        and any(user not in inside for user in node.users)
                    )
                ),
                len(piece),
            )
            if cut == len(piece):
                break
            piece = piece[:cut]
        return piece if any(node.op != "get_attr" for node in piece) else []

    def _run_piece(
        self, piece: list[torch.fx.Node], values: dict[torch.fx.Node, Any]
    ) -> tuple[list[str], list[str]]:
        """Runs some calls, and adds what they make to values."""
        inside = set(piece)
        reads = list(
            dict.fromkeys(
                read for node in piece for read in node.all_input_nodes if read not in inside
            )
        )
        made = [
            node
            for node in piece
            if node.op != "get_attr" and any(user not in inside for user in node.users)
        ]
        graph = torch.fx.Graph()
        copies: dict[torch.fx.Node, torch.fx.Node] = {}
        for read in reads:
            kind = torch.SymInt if isinstance(_fake(read), torch.SymInt) else torch.Tensor
            copies[read] = graph.placeholder(read.name, type_expr=kind)
            copies[read].meta = dict(read.meta)
        for node in piece:
            copies[node] = graph.node_copy(node, copies.__getitem__)
        graph.output(tuple(copies[node] for node in made))
        part = torch.fx.GraphModule(self._gm, graph)
        given = [values[read] for read in reads]
        try:
            sample = from_fx(part, given)
            outputs, found, unknown = GraphRunner(sample, part, part.forward).run(given)
        except Error as error:
            raise Refused(str(error)) from error
        self.runs += 1
        values.update(zip(made, outputs))
        for node in piece:  # A body or a parameter is read again where it is needed.
            if node.op == "get_attr":
                values[node] = functools.reduce(getattr, str(node.target).split("."), self._gm)
        return found, unknown


def _fake(node: torch.fx.Node) -> Any:
    return node.meta.get("example_value", node.meta.get("val"))


def _crosses(node: torch.fx.Node) -> bool:
    """Returns whether a piece may take or return what a node makes."""
    return isinstance(_fake(node), (torch.Tensor, torch.SymInt))


def _is_uninitialised(node: torch.fx.Node) -> bool:
    """Returns whether a call makes memory that nobody has written to, which has any bits."""
    name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
    return node.op in ("call_function", "call_method") and bool(re.match("(new_)?empty", name))
