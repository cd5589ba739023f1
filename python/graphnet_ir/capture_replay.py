"""Proves that captured graphs are complete: runs graphnet's interpreter in Dynamo's place."""

from __future__ import annotations

import collections
import functools
import sys
import types
from contextlib import AbstractContextManager
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch
from torch.utils._pytree import tree_flatten

from graphnet_ir._core import Error, Node, Sample, TensorMeta
from graphnet_ir.running import prepare

_MAX_OBJECTS = 200_000
_NUMBERS = (bool, int, float, torch.SymInt, torch.SymFloat, torch.SymBool)


class State:
    """Everything that a call can reach and change: tensors and gradients, containers, objects.

    restore() puts it back in place, so that objects that Dynamo guards by identity do not change.
    """

    def __init__(self, *roots: Any):
        self._tensors: List[Tuple[torch.Tensor, torch.Tensor, Optional[torch.Tensor],
                                  Optional[torch.Tensor]]] = []
        self._containers: List[Tuple[Any, Any]] = []
        self._seen: Dict[int, Any] = {}
        self._random = _random_state()
        pending = list(roots)
        while pending and len(self._seen) < _MAX_OBJECTS:
            value = pending.pop()
            if id(value) in self._seen:
                continue
            self._seen[id(value)] = value  # kept alive, so that no other object gets its id
            pending += self._keep(value)

    def _keep(self, value: Any) -> List[Any]:
        if isinstance(value, torch.Tensor):
            if type(value) in (torch.Tensor, torch.nn.Parameter) and value.layout == torch.strided:
                grad = value.grad if value.is_leaf else None
                self._tensors.append((value, _copy(value), grad,
                                      None if grad is None else _copy(grad)))
            return []
        if isinstance(value, dict):
            self._containers.append((value, dict(value)))
            return list(value.values())
        if isinstance(value, (list, collections.deque)):
            self._containers.append((value, list(value)))
            return list(value)
        if isinstance(value, set):
            self._containers.append((value, set(value)))
            return list(value)
        if isinstance(value, (tuple, frozenset)):
            return list(value)
        if isinstance(value, types.FunctionType):
            return _reached_by_function(value)
        if isinstance(value, types.MethodType):
            return [value.__self__, value.__func__]
        if isinstance(value, functools.partial):
            return [value.func, value.args, value.keywords]
        if isinstance(value, (torch.nn.Module, torch.optim.Optimizer)) or _is_users(value):
            return [getattr(value, "__dict__", {})]
        return []

    def restore(self) -> None:
        for container, kept in self._containers:
            if isinstance(container, (dict, set)):
                if container != kept if isinstance(container, set) else _differs(container, kept):
                    container.clear()
                    container.update(kept)
            elif len(container) != len(kept) or any(a is not b for a, b in zip(container, kept)):
                container.clear()
                container.extend(kept)
        with torch.no_grad():
            for tensor, kept, grad, kept_grad in self._tensors:
                if tensor.shape != kept.shape or tensor.dtype != kept.dtype:
                    tensor.data = kept.clone()
                elif not same_bits(tensor, kept):
                    tensor.data.copy_(kept)
                if tensor.is_leaf and tensor.grad is not grad:
                    tensor.grad = grad
                if grad is not None and kept_grad is not None:
                    grad.data.copy_(kept_grad)
        _set_random_state(self._random)

    def values(self) -> List[torch.Tensor]:
        """Copies all tensors and their gradients, in an order that is the same after restore."""
        made = []
        for tensor, _, _, _ in self._tensors:
            made.append(_copy(tensor))
            if tensor.is_leaf and tensor.grad is not None:
                made.append(_copy(tensor.grad))
        return made


def _differs(a: Dict[Any, Any], b: Dict[Any, Any]) -> bool:
    return len(a) != len(b) or any(key not in b or value is not b[key] for key, value in a.items())


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone(memory_format=torch.preserve_format)


def _is_users(value: Any) -> bool:
    module = type(value).__module__ or ""
    return (hasattr(value, "__dict__") and not isinstance(value, (type, types.ModuleType))
            and module.partition(".")[0] not in ("builtins", "torch", "threading", "logging",
                                                 "graphnet_ir"))


def _reached_by_function(function: types.FunctionType) -> List[Any]:
    """Returns the objects that a function can change: its closure, and globals that it names."""
    found: List[Any] = [function.__defaults__, function.__kwdefaults__ or ()]
    for cell in function.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # an empty cell
            pass
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [const for const in code.co_consts if isinstance(const, types.CodeType)]
        for name in code.co_names:
            value = function.__globals__.get(name)
            if isinstance(value, (torch.nn.Module, torch.optim.Optimizer, torch.Tensor, list,
                                  dict)):
                found.append(value)
            elif (isinstance(value, types.FunctionType)
                  and value.__module__ == function.__module__):
                found.append(value)
    return found


def _random_state() -> Tuple[Any, ...]:
    import random

    numpy = sys.modules.get("numpy")
    return (torch.get_rng_state(), random.getstate(),
            numpy.random.get_state() if numpy is not None and hasattr(numpy, "random") else None)


def _set_random_state(state: Tuple[Any, ...]) -> None:
    import random

    torch.set_rng_state(state[0])
    random.setstate(state[1])
    if state[2] is not None:
        sys.modules["numpy"].random.set_state(state[2])


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Returns whether two tensors agree in dtype, shape and every bit."""
    if a.dtype != b.dtype or a.shape != b.shape or a.layout != b.layout:
        return False
    a, b = a.detach(), b.detach()
    if a.layout != torch.strided:
        return bool(torch.equal(a.to_dense(), b.to_dense()))
    if a.is_quantized:
        return bool(torch.equal(a.int_repr(), b.int_repr()))
    if a.device.type == "meta" or a.numel() == 0:
        return True
    a, b = (x.resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8)
            for x in (a, b))
    return bool(torch.equal(a, b))


def leaves(result: Any) -> List[Any]:
    """Returns the parts of a result. Tensors are copied, so that later writes do not reach them."""
    flat: List[Any] = []
    pending = [result]
    while pending:
        for part in tree_flatten(pending.pop())[0]:
            if isinstance(part, torch.Tensor):
                plain = type(part) in (torch.Tensor, torch.nn.Parameter)
                flat.append(_copy(part) if plain else part)
            elif _is_users(part) and len(flat) < 10_000 and not callable(part):
                values = [v for v in vars(part).values() if not callable(v)]
                if values and all(v is not part for v in values):
                    pending.append([v for v in values if isinstance(
                        v, (torch.Tensor, list, tuple, dict, int, float, str))])
            else:
                flat.append(part)
    return flat


def differences(name: str, eager: Sequence[Any], replayed: Sequence[Any]) -> List[str]:
    """Describes how the leaves of two results differ."""
    if len(eager) != len(replayed):
        return [f"{name}: eager has {len(eager)} parts and the replay {len(replayed)}"]
    found = []
    for i, (a, b) in enumerate(zip(eager, replayed)):
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
            if same_bits(a, b):
                continue
            text = f"{name} {i}: {tuple(a.shape)} {a.dtype} and {tuple(b.shape)} {b.dtype}"
            if a.shape == b.shape and a.dtype == b.dtype and a.is_floating_point():
                text += f", differ by up to {(a.double() - b.double()).abs().max().item():.3g}"
            found.append(text)
        elif type(a) is not type(b):
            found.append(f"{name} {i}: {type(a).__name__} and {type(b).__name__}")
        elif isinstance(a, (bool, int, str, float)) and a != b and not (a != a and b != b):
            found.append(f"{name} {i}: {a!r} and {b!r}")
    return found


class _Recomputed(torch.autograd.Function):
    """Values of the interpreter, with the gradients of the graph's own code."""

    @staticmethod
    def forward(ctx: Any, call: "GraphCall", *args: Any) -> Any:
        ctx.call = call
        outputs = call.interpret()
        fixed = [out for out, grad in zip(outputs, call.wants_grad)
                 if isinstance(out, torch.Tensor) and not grad]
        ctx.mark_non_differentiable(*fixed)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        gradients: Any = torch._dynamo.disable(ctx.call.gradients)  # type: ignore[no-untyped-call]
        return (None, *gradients(grads))


class GraphCall:
    """A call of a captured graph by the interpreter."""

    def __init__(self, runner: "GraphRunner", args: Sequence[Any]):
        self._runner = runner
        self._args = list(args)
        self._before = list(args)  # values before the graph wrote to them
        self._random = torch.get_rng_state()
        self._autocast = [(device, torch.is_autocast_enabled(device),
                           torch.get_autocast_dtype(device)) for device in ("cpu",)]
        self.wants_grad = runner.wants_grad

    def interpret(self) -> List[Any]:
        outputs, written = self._runner.interpret(self._args)
        with torch.no_grad():
            for i, value in written.items():
                self._before[i] = _copy(self._args[i])
                self._args[i].detach().copy_(value)
        return outputs

    def gradients(self, grads: Sequence[Any]) -> List[Any]:
        kept = torch.get_rng_state()
        torch.set_rng_state(self._random)
        args = [a.detach().requires_grad_(a.requires_grad) if isinstance(a, torch.Tensor) else a
                for a in self._before]
        contexts: List[AbstractContextManager[Any]] = [torch.enable_grad()]
        device, enabled, dtype = self._autocast[0]
        contexts.append(torch.autocast(device, dtype=dtype, enabled=enabled))
        with contexts[0], contexts[1]:
            outputs = self._runner.function(*args)
        torch.set_rng_state(kept)
        pairs = [(out, grad) for out, grad in zip(outputs, grads)
                 if isinstance(out, torch.Tensor) and out.requires_grad and grad is not None]
        wanted = [a for a in args if isinstance(a, torch.Tensor) and a.requires_grad]
        made = iter(torch.autograd.grad([p[0] for p in pairs], wanted, [p[1] for p in pairs],
                                        allow_unused=True) if pairs else [None] * len(wanted))
        return [next(made) if isinstance(a, torch.Tensor) and a.requires_grad else None
                for a in args]


class GraphRunner:
    """A captured graph that behaves in the interpreter like Dynamo's code: it writes to the same
    inputs, outputs that are views of inputs are views, and gradients flow."""

    def __init__(self, sample: Sample, gm: torch.fx.GraphModule, function: Callable[..., Any]):
        self.function = function
        self._sample = sample.copy()
        graph = self._sample.graph
        output = graph.output_node()
        result = output.args[0]
        self._result: List[Any] = list(result) if isinstance(result, (list, tuple)) else [result]
        made = list(dict.fromkeys(item for item in self._result if isinstance(item, Node)))
        self._places = {node: i for i, node in enumerate(made)}
        inputs = list(graph.placeholders)
        self._num_made = len(made)
        self._records = False
        self._attributes: Dict[str, Any] = {name: functools.reduce(getattr, name.split("."), gm)
                                            for name in self._sample.module.attributes}
        self._kept = [i for i, node in enumerate(inputs) if node.type != "torch.SymInt"]
        output.args = (tuple(made + [inputs[i] for i in self._kept]),)
        self._note_memory(gm)

    def _note_memory(self, gm: torch.fx.GraphModule) -> None:
        """Finds the outputs that are views of inputs, and those that need gradients."""
        result = gm.graph.output_node().args[0]
        outs = list(result) if isinstance(result, (list, tuple)) else [result]
        fakes = [_fake(node) for node in gm.graph.find_nodes(op="placeholder")]
        storages = {f.untyped_storage()._cdata: i for i, f in enumerate(fakes) if _has_storage(f)}
        self._views: Dict[int, Tuple[int, Any]] = {}
        self.wants_grad: List[bool] = []
        self._is_number: List[bool] = []
        for i, out in enumerate(outs):
            fake = _fake(out)
            self._is_number.append(isinstance(fake, _NUMBERS))
            self.wants_grad.append(isinstance(fake, torch.Tensor) and fake.requires_grad)
            if _has_storage(fake) and fake.untyped_storage()._cdata in storages:
                self._views[i] = (storages[fake.untyped_storage()._cdata], fake)

    def interpret(self, args: Sequence[Any]) -> Tuple[List[Any], Dict[int, torch.Tensor]]:
        """Returns the outputs, and the new values of inputs that were written to."""
        threads = torch.get_num_threads()
        sample, shared = self._sharing(args)
        with torch.no_grad():
            values, program = self._run_sample(sample, [*args, *shared])
            for whole in reversed(shared):
                whole.copy_(values.pop())
            state = program.state() if self._attributes else {}
        if threads != torch.get_num_threads():
            torch.set_num_threads(threads)
        with torch.no_grad():
            for name, tensor in self._attributes.items():
                if name in state and not same_bits(tensor, state[name]):
                    tensor.detach().copy_(state[name])
        written = {}
        for i, value in zip(self._kept, values[self._num_made:]):
            if (isinstance(args[i], torch.Tensor) and not same_bits(args[i], value)
                    and not any(_storage(args[i]) == _storage(whole) for whole in shared)):
                written[i] = value
        outputs: List[Any] = []
        for i, item in enumerate(self._result):
            if not isinstance(item, Node):
                outputs.append(item)
                continue
            value = values[self._places[item]]
            outputs.append(value.item() if self._is_number[i] else value.clone())
        return outputs, written

    def _sharing(self, args: Sequence[Any]) -> Tuple[Sample, List[torch.Tensor]]:
        """The sample for these arguments, and what it takes after them: the whole memory of those
        that share it, of which they are views."""
        groups: Dict[Any, List[int]] = {}
        for i, value in enumerate(args):
            if _has_storage(value) and value.numel() > 0:
                groups.setdefault((_storage(value), value.dtype), []).append(i)
        shared: List[torch.Tensor] = []
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
                    view = graph.call_function("torch.as_strided", (
                        place, list(args[i].shape), list(args[i].stride()),
                        args[i].storage_offset()))
                inputs[i].replace_all_uses_with(view)
                last = view
            output = graph.output_node()
            output.args = ((*output.args[0], place),)
            shared.append(whole)
        return sample, shared

    def _run_sample(self, sample: Sample, given: List[Any]) -> Tuple[List[Any], Any]:
        """What the interpreter returns, and the program that ran. It works on copies, and draws
        random numbers where PyTorch would go on."""
        def plain(value: Any) -> Any:
            return value.detach() if isinstance(value, torch.Tensor) else value

        if self._records:
            random = torch.get_rng_state()
            try:
                program = prepare(sample, *given, values=self._attributes, seed=None)
                return list(program.run()), program
            except Error:
                # An optimiser's step turns gradients off to write to parameters.
                torch.set_rng_state(random)
        program = prepare(
            sample, *map(plain, given), seed=None,
            values={name: plain(value) for name, value in self._attributes.items()})
        return list(program.run()), program

    def run(self, args: Sequence[Any]) -> List[Any]:
        self._records = torch.is_grad_enabled()
        call = GraphCall(self, args)
        asks = [a for a in args if isinstance(a, torch.Tensor) and a.requires_grad]
        if torch.is_grad_enabled() and asks and any(self.wants_grad):
            recomputed: Any = _Recomputed.apply
            outputs = list(recomputed(call, *args))
        else:
            outputs = call.interpret()
        for i, (k, fake) in self._views.items():
            view = _as_view(args[k], outputs[i], fake)
            if view is not None:
                outputs[i] = view
        return outputs


def _fake(node: Any) -> Any:
    if not isinstance(node, torch.fx.Node):
        return node
    return node.meta.get("example_value", node.meta.get("val"))


def _has_storage(value: Any) -> bool:
    return (isinstance(value, torch.Tensor) and value.layout == torch.strided
            and not value.is_quantized)


def _storage(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _as_view(base: Any, value: Any, fake: Any) -> Optional[torch.Tensor]:
    """Returns the part of an input that an output is a view of, if its strides are known."""
    try:
        strides = [int(s) for s in fake.stride()]
        offset = int(fake.storage_offset())
    except Exception:  # symbolic sizes that are not known
        return None
    if not isinstance(base, torch.Tensor) or base.dtype != value.dtype or value.requires_grad:
        return None
    if value.shape == base.shape and list(base.stride()) == strides:
        return base
    view = base.as_strided(value.shape, strides, offset)
    return view if same_bits(view, value) else None
