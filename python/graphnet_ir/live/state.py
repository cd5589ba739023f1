"""The state that a call of a program can reach: kept, put back, and copied for comparisons.

What is reached is followed by rules: containers, attributes in __dict__ and in __slots__, closures,
defaults and globals of functions, attributes of the user's classes, and what partial functions,
methods, iterators of views and weak references point to. Objects of PyTorch's public classes count
as the user's. State.unkept says what cannot be put back.
"""

from __future__ import annotations

import collections
import functools
import io
import os
import pickle
import random
import sys
import sysconfig
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch

MAX_OBJECTS = 200_000
# Values that nothing can change.
_FIXED = (
    type(None),
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    range,
    slice,
    torch.dtype,
    torch.device,
    torch.layout,
    torch.memory_format,
    type(...),
    types.ModuleType,
    types.CodeType,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    property,
    staticmethod,
    classmethod,
    types.FrameType,
    torch.finfo,
    torch.iinfo,
    torch._ops.OpOverload,
    torch._ops.OpOverloadPacket,
)
_MISSING = object()


class State:
    """Everything that a call can reach and change. restore() puts it back in place, so that objects
    that Dynamo guards by identity do not change. `unkept` says what cannot be put back; `used_up`
    is the part of it that would be used up by a call, so that there must not be a second one."""

    def __init__(self, *roots: Any):
        self.unkept: list[str] = []
        self.used_up: list[str] = []
        self._tensors: list[_Tensor] = []
        self._arrays: list[tuple[Any, Any]] = []
        self._storages: dict[int, tuple[Any, torch.Tensor]] = {}
        self._undo: list[Callable[[], object]] = []
        self._opaque: list[tuple[Any, bytes | None]] = []
        self._seen: dict[int, Any] = {}
        self._process = _process_state()
        pending = list(roots)
        while pending:
            value = pending.pop()
            if isinstance(value, _FIXED) or id(value) in self._seen:
                continue
            if len(self._seen) >= MAX_OBJECTS:
                self.unkept.append(f"the call reaches more than {MAX_OBJECTS:,} objects")
                break
            self._seen[id(value)] = value  # kept alive, so that no other object gets its id
            pending += self._keep(value)

    # --- What is kept -----------------------------------------------------------------------------

    def _keep(self, value: Any) -> list[Any]:
        """Keeps one object, and returns what it leads to."""
        if isinstance(value, torch.Tensor):
            return self._keep_tensor(value)
        if isinstance(value, type):
            return self._keep_class(value)
        found: list[Any] = []
        known = True
        if isinstance(value, dict):
            found += self._keep_items(value)
        elif isinstance(value, (list, collections.deque)):
            self._undo.append(functools.partial(_put_sequence, value, list(value)))
            found += list(value)
        elif isinstance(value, set):
            self._undo.append(functools.partial(_put_set, value, set(value)))
            found += value
        elif isinstance(value, bytearray):
            self._undo.append(functools.partial(_put_bytes, value, bytes(value)))
        elif isinstance(value, (tuple, frozenset)):
            found += value
        elif isinstance(value, types.FunctionType):
            found += self._keep_function(value)
        elif isinstance(value, types.MethodType):
            found += [value.__self__, value.__func__]
        elif isinstance(value, functools.partial):
            found += [value.func, value.args, value.keywords]
        elif isinstance(value, types.CellType):
            found += self._keep_cell(value)
        elif isinstance(value, weakref.ref):
            found.append(value())
        elif isinstance(value, types.MappingProxyType):
            found += value.values()
        elif hasattr(value, "__array_interface__") and hasattr(value, "flags"):
            if value.dtype.hasobject:
                found += value.ravel().tolist()
            elif value.flags.writeable:
                self._arrays.append((value, value.copy()))
        else:
            known = self._keep_generator(value)
        if is_users(value) or isinstance(value, torch.nn.Module):
            found += self._keep_attributes(value)
        elif not known:
            self._opaque.append((value, _fingerprint(value)))
        return found

    def _keep_generator(self, value: Any) -> bool:
        """Keeps a generator of random numbers. Returns whether the value is one, or an iterator."""
        numpy = sys.modules.get("numpy.random")
        if isinstance(value, random.Random):
            if not isinstance(value, random.SystemRandom):
                self._undo.append(functools.partial(value.setstate, value.getstate()))
        elif isinstance(value, torch.Generator):
            self._undo.append(functools.partial(value.set_state, value.get_state()))
        elif numpy is not None and isinstance(value, numpy.Generator):
            kept = value.bit_generator.state
            self._undo.append(lambda: setattr(value.bit_generator, "state", kept))
        elif numpy is not None and isinstance(value, numpy.BitGenerator):
            kept = value.state
            self._undo.append(lambda: setattr(value, "state", kept))
        elif numpy is not None and isinstance(value, numpy.RandomState):
            self._undo.append(functools.partial(value.set_state, value.get_state()))
        elif isinstance(value, Iterator) and not isinstance(value, io.IOBase):
            if not is_users(value):  # Those of the user keep their place in attributes.
                self._note_iterator(value)
        else:
            return type(value).__module__.startswith("torch._")
        return True

    def _note_iterator(self, value: Any) -> None:
        kind = type(value)
        name = getattr(value, "__qualname__", None) or f"{kind.__module__}.{kind.__qualname__}"
        self.used_up.append(f"the iterator {name} cannot be put back")

    def _keep_items(self, value: dict[Any, Any]) -> list[Any]:
        items: Any = (
            collections.OrderedDict.items
            if isinstance(value, collections.OrderedDict)
            else dict.items
        )
        self._undo.append(functools.partial(_put_items, value, dict(items(value))))
        factory = getattr(value, "default_factory", None)
        return [*value.keys(), *dict.values(value), factory]

    def _keep_attributes(self, value: Any) -> list[Any]:
        found: list[Any] = []
        own = getattr(value, "__dict__", None)
        if isinstance(own, dict):
            found += self._keep_items(own)
        for name, kept in slots_of(value):
            self._undo.append(functools.partial(_put_attribute, value, name, kept))
            found.append(kept)
        if isinstance(value, torch.jit.ScriptModule):
            found += [*value.parameters(), *value.buffers()]
        found.append(type(value))
        return found

    def _keep_class(self, value: type) -> list[Any]:
        """Keeps attributes of classes of the user."""
        if not _is_users_module(value.__module__) or value.__module__.startswith("torch"):
            return []
        found: list[Any] = []
        for cls in value.__mro__:
            if not _is_users_module(cls.__module__) or cls.__module__.startswith("torch"):
                continue
            kept = {
                name: item
                for name, item in vars(cls).items()
                if not (name.startswith("__") and name.endswith("__"))
            }
            self._undo.append(functools.partial(_put_class, cls, kept))
            is_own = _is_own(cls.__module__)
            found += [
                item
                for item in vars(cls).values()
                if is_own or not isinstance(item, types.FunctionType)
            ]
        return found

    def _keep_cell(self, cell: types.CellType) -> list[Any]:
        try:
            kept = cell.cell_contents
        except ValueError:  # an empty cell
            kept = _MISSING
        self._undo.append(functools.partial(_put_cell, cell, kept))
        return [] if kept is _MISSING else [kept]

    def _keep_function(self, function: types.FunctionType) -> list[Any]:
        """Returns what a function can change: its attributes, defaults, closure, and globals that
        it names."""
        found: list[Any] = [
            *(function.__defaults__ or ()),
            function.__kwdefaults__,
            *(function.__closure__ or ()),
        ]
        if function.__dict__:
            found += self._keep_items(function.__dict__)
        if not _is_own(function.__module__):
            return found
        codes = [function.__code__]
        names: dict[str, None] = {}
        while codes:
            code = codes.pop()
            codes += [const for const in code.co_consts if isinstance(const, types.CodeType)]
            names.update(dict.fromkeys(code.co_names))
        known = function.__globals__
        kept = {name: known.get(name, _MISSING) for name in names}
        self._undo.append(functools.partial(_put_globals, known, kept))
        for value in kept.values():
            if not isinstance(value, types.FunctionType) or (
                value.__module__ == function.__module__
            ):
                if value is not _MISSING:
                    found.append(value)
        return found

    def _keep_tensor(self, value: torch.Tensor) -> list[Any]:
        found: list[Any] = [value.grad] if value.is_leaf and value.grad is not None else []
        if hasattr(value, "__tensor_flatten__"):
            names = value.__tensor_flatten__()[0]
            return found + [getattr(value, name) for name in names]
        if type(value) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer):
            own = getattr(value, "__dict__", None)
            found += self._keep_items(own) if own else []
        if value.layout == torch.strided and not value.is_quantized and value.device.type != "meta":
            storage = value.untyped_storage()
            if storage._cdata not in self._storages:
                bytes_ = torch.empty(0, dtype=torch.uint8, device=storage.device)
                bytes_.set_(storage)
                self._storages[storage._cdata] = (storage, bytes_.clone())
        self._tensors.append(_Tensor(value))
        return found

    # --- Putting it back --------------------------------------------------------------------------

    def restore(self) -> None:
        """Puts everything back. What cannot be put back is added to `unkept`."""
        for undo in self._undo:
            self._try(undo, "an object")
        for tensor in self._tensors:
            self._try(tensor.restore, "a tensor")
        for storage, kept in self._storages.values():
            self._try(functools.partial(_put_storage, storage, kept), "a tensor")
        for array, kept in self._arrays:
            self._try(functools.partial(_put_array, array, kept), "an array")
        for value, before in self._opaque:
            if before is not None and _fingerprint(value) != before:
                kind = type(value)
                self.unkept.append(
                    f"{kind.__module__}.{kind.__qualname__} changed and cannot be put back"
                )
        for put in self._process:
            self._try(put, "the state of PyTorch")

    def _try(self, put: Callable[[], object], what: str) -> None:
        try:
            put()
        except Exception as error:  # of any kind: objects may forbid what they like
            self.unkept.append(f"{what} cannot be put back: {type(error).__name__}: {error}")

    def values(self) -> list[Any]:
        """Copies all tensors, their gradients and arrays, in an order that is the same after
        restore."""
        made: list[Any] = []
        for kept in self._tensors:
            made.append(copy_of(kept.tensor))
            if kept.tensor.is_leaf and kept.tensor.grad is not None:
                made.append(copy_of(kept.tensor.grad))
        return made + [array.copy() for array, _ in self._arrays]


class _Tensor:
    """A tensor, and what is to be put back besides the memory of strided tensors."""

    def __init__(self, tensor: torch.Tensor):
        self.tensor = tensor
        self._grad = tensor.grad if tensor.is_leaf else None
        self._asks = tensor.requires_grad
        self._is_plain = tensor.layout == torch.strided and not tensor.is_quantized
        with torch.no_grad():
            # Shares the memory, and has the sizes of now.
            self._alias = tensor.detach() if self._is_plain else tensor.detach().clone()

    def restore(self) -> None:
        tensor = self.tensor
        with torch.no_grad():
            if not self._is_plain:
                if not same_bits(tensor, self._alias):
                    tensor.data = self._alias.clone()
            elif tensor.device.type != "meta" and not _same_place(tensor, self._alias):
                tensor.data = self._alias
        if tensor.is_leaf:
            if tensor.requires_grad != self._asks:
                tensor.requires_grad_(self._asks)
            if tensor.grad is not self._grad:
                tensor.grad = self._grad


def _same_place(a: torch.Tensor, b: torch.Tensor) -> bool:
    return (
        a.dtype == b.dtype
        and a.shape == b.shape
        and a.stride() == b.stride()
        and a.storage_offset() == b.storage_offset()
        and a.untyped_storage()._cdata == b.untyped_storage()._cdata
    )


def _put_storage(storage: Any, kept: torch.Tensor) -> None:
    if storage.nbytes() != kept.numel():
        storage.resize_(kept.numel())
    now = torch.empty(0, dtype=torch.uint8, device=storage.device)
    now.set_(storage)
    if not torch.equal(now, kept):
        now.copy_(kept)


def _put_array(array: Any, kept: Any) -> None:
    if array.tobytes() != kept.tobytes():
        array[...] = kept


def _put_items(value: dict[Any, Any], kept: dict[Any, Any]) -> None:
    kind: Any = collections.OrderedDict if isinstance(value, collections.OrderedDict) else dict
    if len(value) != len(kept) or any(
        a is not c or b is not d for (a, b), (c, d) in zip(kind.items(value), kept.items())
    ):
        kind.clear(value)
        for key, item in kept.items():
            kind.__setitem__(value, key, item)


def _put_sequence(value: Any, kept: list[Any]) -> None:
    if len(value) != len(kept) or any(a is not b for a, b in zip(value, kept)):
        value.clear()
        value.extend(kept)


def _put_set(value: Any, kept: Any) -> None:
    if value != kept:
        value.clear()
        value.update(kept)


def _put_bytes(value: bytearray, kept: bytes) -> None:
    value[:] = kept


def _put_attribute(value: Any, name: str, kept: Any) -> None:
    if getattr(value, name, _MISSING) is not kept:
        object.__setattr__(value, name, kept)


def _put_class(cls: type, kept: dict[str, Any]) -> None:
    for name, item in kept.items():
        if vars(cls).get(name, _MISSING) is not item:
            setattr(cls, name, item)


def _put_cell(cell: types.CellType, kept: Any) -> None:
    if kept is _MISSING:
        del cell.cell_contents
    else:
        cell.cell_contents = kept


def _put_globals(known: dict[str, Any], kept: dict[str, Any]) -> None:
    for name, item in kept.items():
        if item is _MISSING:
            known.pop(name, None)
        elif known.get(name, _MISSING) is not item:
            known[name] = item


def _fingerprint(value: Any) -> bytes | None:
    """Returns what tells whether an object of an unknown type changed; None if nothing does."""
    try:
        return pickle.dumps(value)
    except Exception:  # of any kind: locks, files and the like cannot be pickled
        return None


def _process_state() -> list[Callable[[], None]]:
    """Returns functions that put back what belongs to the whole process: random numbers, modes and
    defaults of PyTorch."""
    found: list[Callable[[], None]] = [
        functools.partial(torch.set_rng_state, torch.get_rng_state()),
        functools.partial(random.setstate, random.getstate()),
        functools.partial(torch.set_default_dtype, torch.get_default_dtype()),
        functools.partial(torch._C._set_grad_enabled, torch.is_grad_enabled()),
        functools.partial(
            torch._C._set_deterministic_algorithms,
            torch.are_deterministic_algorithms_enabled(),
            warn_only=torch.is_deterministic_algorithms_warn_only_enabled(),
        ),
    ]
    if torch.cuda.is_available() and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        found.append(
            functools.partial(torch.cuda.set_rng_state_all, torch.cuda.get_rng_state_all())
        )
    for device in ("cpu", "cuda"):
        found += [
            functools.partial(
                torch.set_autocast_enabled, device, torch.is_autocast_enabled(device)
            ),
            functools.partial(torch.set_autocast_dtype, device, torch.get_autocast_dtype(device)),
        ]
    numpy = sys.modules.get("numpy")
    if numpy is not None and hasattr(numpy, "random"):
        found.append(functools.partial(numpy.random.set_state, numpy.random.get_state()))
    return found


# --- Objects --------------------------------------------------------------------------------------


def _is_users_module(module: str | None) -> bool:
    """Returns whether objects of a module's classes belong to the program. PyTorch's schedulers,
    scalers and optimisers do; what is below a private name does not."""
    parts = (module or "").split(".")
    if parts[0] == "torch":
        return not any(part.startswith("_") for part in parts) and parts[1:2] != ["fx"]
    return parts[0] not in (
        "builtins",
        "threading",
        "logging",
        "graphnet_ir",
        "_thread",
        "importlib",
        "_frozen_importlib",
        "typing",
        "abc",
        "re",
        "enum",
    )


@functools.lru_cache(maxsize=10_000)
def _is_own(module: str | None) -> bool:
    """Returns whether a module is the program's own, and not of an installed package."""
    file = getattr(sys.modules.get(module or ""), "__file__", None) or ""
    paths = sysconfig.get_paths()
    return not any(
        file.startswith(paths[name] + os.sep)
        for name in ("stdlib", "platstdlib", "purelib", "platlib")
    ) and ((module or "").partition(".")[0] not in ("torch", "graphnet_ir", "builtins"))


def is_users(value: Any) -> bool:
    """Returns whether a value is an object with attributes that belong to the program."""
    return (
        not isinstance(value, (type, types.ModuleType, types.FunctionType, torch.Tensor))
        and (hasattr(value, "__dict__") or _has_slots(type(value)))
        and _is_users_module(type(value).__module__)
    )


@functools.lru_cache(maxsize=10_000)
def _slots(cls: Any) -> tuple[str, ...]:
    return tuple(
        name
        for base in cls.__mro__
        if "__slots__" in vars(base)
        for name, item in vars(base).items()
        if isinstance(item, types.MemberDescriptorType)
    )


def _has_slots(cls: Any) -> bool:
    return bool(_slots(cls))


def slots_of(value: Any) -> list[tuple[str, Any]]:
    """Returns names and values of the attributes in __slots__ that have a value."""
    kind: Any = type(value)
    pairs = [(name, getattr(value, name, _MISSING)) for name in _slots(kind)]
    return [(name, kept) for name, kept in pairs if kept is not _MISSING]


def attributes_of(value: Any) -> list[tuple[str, Any]]:
    """Returns names and values of all attributes of an object."""
    return list(getattr(value, "__dict__", {}).items()) + slots_of(value)


# --- Tensors --------------------------------------------------------------------------------------


def copy_of(value: Any) -> Any:
    """Returns a copy of a tensor or array, and any other value itself."""
    if isinstance(value, torch.Tensor):
        if value.layout == torch.strided and type(value) in (torch.Tensor, torch.nn.Parameter):
            return value.detach().clone(memory_format=torch.preserve_format)
        return value.detach().clone()
    return value.copy() if hasattr(value, "__array_interface__") else value


def same_bits(a: Any, b: Any) -> bool:
    """Returns whether two tensors agree in dtype, shape and every bit. Raises for kinds of tensors
    of which it cannot tell."""
    if a.dtype != b.dtype or a.layout != b.layout or a.is_quantized != b.is_quantized:
        return False
    if hasattr(a, "__tensor_flatten__"):
        names = a.__tensor_flatten__()[0]
        return (
            type(a) is type(b)
            and names == b.__tensor_flatten__()[0]
            and all(same_bits(getattr(a, name), getattr(b, name)) for name in names)
        )
    if a.is_nested:
        ours, others = a.unbind(), b.unbind()
        return len(ours) == len(others) and all(map(same_bits, ours, others))
    if a.shape != b.shape:
        return False
    a, b = a.detach(), b.detach()
    if a.is_quantized:
        return (
            str(a.qscheme()) == str(b.qscheme())
            and same_bits(a.int_repr(), b.int_repr())
            and _same_scale(a, b)
        )
    if a.layout == torch.strided:
        if a.device.type == "meta" or a.numel() == 0:
            return True
        a, b = (_bytes(x) for x in (a, b))
        return bool(torch.equal(a, b))
    if a.layout == torch._mkldnn:  # type: ignore[attr-defined]
        return same_bits(a.to_dense(), b.to_dense())
    return all(map(same_bits, _parts_of_sparse(a), _parts_of_sparse(b)))


def _bytes(x: torch.Tensor) -> torch.Tensor:
    x = x.resolve_conj().resolve_neg().contiguous().reshape(-1)
    if x.stride() != (1,):  # a tensor of one element may have any stride
        x = x.clone(memory_format=torch.contiguous_format).as_strided((x.numel(),), (1,))
    return x.view(torch.uint8)


def _same_scale(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        return a.q_scale() == b.q_scale() and a.q_zero_point() == b.q_zero_point()
    return same_bits(a.q_per_channel_scales(), b.q_per_channel_scales()) and same_bits(
        a.q_per_channel_zero_points(), b.q_per_channel_zero_points()
    )


def _parts_of_sparse(x: torch.Tensor) -> list[torch.Tensor]:
    if x.layout == torch.sparse_coo:
        x = x.coalesce()
        return [x.indices(), x.values()]
    if x.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [x.crow_indices(), x.col_indices(), x.values()]
    return [x.ccol_indices(), x.row_indices(), x.values()]
