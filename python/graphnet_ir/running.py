"""Runs samples, and finds the shapes of their values. This needs torch."""

from __future__ import annotations

import collections
import itertools
import time
from collections.abc import Iterator, Mapping
from typing import Any

from graphnet_ir import _core
from graphnet_ir._core import Error, Sample, Tensor
from graphnet_ir._errors import made_error, require_sample
from graphnet_ir._notebook import table

TORCH_VERSION = "2.13"  # the version that the library was built with
MAX_RUNS = 1000  # number of runs of a program that records() remembers


def _need_torch() -> Any:
    """Imports torch, whose operators the library uses."""
    try:
        import torch
    except ImportError as error:
        raise made_error(
            "failed_precondition",
            f"needs torch {TORCH_VERSION}: pip install 'torch=={TORCH_VERSION}.*'",
        ) from error
    version = torch.__version__
    if not version.startswith(TORCH_VERSION + "."):
        raise made_error(
            "failed_precondition", f"needs torch {TORCH_VERSION}, and {version} is imported"
        )
    return torch


def has_torch() -> bool:
    """Returns whether the torch that the library needs is there, and imports it if so."""
    try:
        _need_torch()
    except Error:
        return False
    return True


def as_tensor(value: Any) -> Tensor:
    """Makes a Tensor of a number, or of a tensor of torch or numpy, sharing memory if possible."""
    import sys

    if isinstance(value, Tensor):
        return value
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        # Copies a view with gaps, and bytes in another order.
        return Tensor(numpy.asarray(value, value.dtype.newbyteorder("="), order="C"))
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        value = value.detach()
        if value.device.type != "cpu":
            value = value.cpu()
        strides = value.stride()
        if value.numel() and value.layout == torch.strided:
            last = value.storage_offset() + sum(
                (size - 1) * stride for size, stride in zip(value.shape, strides)
            )
            if value.untyped_storage().nbytes() < (last + 1) * value.element_size():
                raise ValueError("the memory of the tensor was released")
        value = value.contiguous().resolve_conj().resolve_neg()
        try:
            made = Tensor(value)
            # Only memory without gaps and overlaps can keep its strides.
            dense = sorted(strides, reverse=True) == sorted(value.stride(), reverse=True)
            return made.with_strides(strides) if strides != value.stride() and dense else made
        except (TypeError, ValueError, BufferError):
            raw = value.reshape(-1).view(torch.uint8)
            return Tensor.from_bytes(raw, str(value.dtype), list(value.shape))
    if isinstance(value, (bool, int, float, complex)):
        torch = _need_torch()
        dtype = torch.float64 if isinstance(value, float) else None
        return Tensor(torch.tensor(value, dtype=dtype))
    return Tensor(value)


def to_torch(tensor: Tensor) -> Any:
    """Returns a Tensor as one of torch, which shares its memory and must not be written to."""
    torch = _need_torch()
    dtype = getattr(torch, tensor.dtype.name)
    if tensor.nbytes == 0:
        return torch.empty(tensor.shape, dtype=dtype)
    return torch.from_dlpack(tensor.bytes).view(dtype).reshape(tensor.shape)


def _leaves(structure: Any) -> Iterator[str]:
    """Returns the names at the leaves of what _core._arguments returns."""
    if isinstance(structure, str):
        yield structure
    elif structure is not None:
        for part in structure.values() if isinstance(structure, dict) else structure:
            yield from _leaves(part)


def _pair(value: Any, structure: Any, place: str, given: dict[str, Any]) -> None:
    """Adds to `given` the values that an argument has for the inputs in its structure."""
    if isinstance(structure, str):
        if structure:  # Constants have no name. They are part of the program.
            given[structure] = value
    elif isinstance(structure, dict):
        if not isinstance(value, Mapping) or set(value) != set(structure):
            raise TypeError(f"{place} must be a dict with the keys {list(structure)}")
        for key, part in structure.items():
            _pair(value[key], part, f"{place}[{key!r}]", given)
    else:
        if not isinstance(value, (list, tuple)):
            from torch.utils._pytree import tree_flatten

            value = tree_flatten(value, is_leaf=lambda part: part is not value)[0]
        if len(value) != len(structure):
            raise TypeError(f"{place} must have {len(structure)} parts, not {len(value)}")
        for i, part in enumerate(structure):
            _pair(value[i], part, f"{place}[{i}]", given)


def _without_weights(sample: Sample) -> list[str]:
    """Returns the inputs that are neither parameters nor known."""
    weights = sample.weights
    return [
        node.target
        for node in sample.graph.placeholders
        if node.target not in weights and not node.type.endswith("Parameter")
    ]


def _given(sample: Sample, tensors: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """Returns the values for a run, by the names of inputs and attributes."""
    require_sample(sample)
    if sample.graph is None:
        raise made_error("failed_precondition", "the sample has no graph")
    if not isinstance(named, Mapping):
        raise TypeError(f"values must be a dict, not {type(named).__name__}")
    inputs = [node.target for node in sample.graph.placeholders]
    given: dict[str, Any] = {}
    arguments = _core._arguments(sample) if tensors else None
    leaves = list(_leaves(arguments))
    if not set(leaves) <= {"", *inputs}:
        arguments, leaves = None, []  # The sample has changed since.
    are_leaves = not any(isinstance(value, (Mapping, list, tuple)) for value in tensors)
    if leaves and are_leaves and len(tensors) == len(leaves):
        given = {name: value for name, value in zip(leaves, tensors) if name}
    elif arguments and len(tensors) == len(arguments[0]):
        for i, (value, part) in enumerate(zip(tensors, arguments[0])):
            _pair(value, part, f"argument {i}", given)
    elif tensors:
        if len(tensors) != len(inputs):
            inputs = [name for name in leaves if name] if leaves else _without_weights(sample)
        if len(tensors) != len(inputs):
            raise TypeError(
                f"the sample takes {len(inputs)} inputs ({', '.join(inputs)}), "
                f"{len(tensors)} were given"
            )
        given = dict(zip(inputs, tensors))
    given = {name: value for name, value in given.items() if value is not None}
    known = {node.target for node in sample.graph.placeholders} | set(sample.module.attributes)
    for name, value in named.items():
        if name not in known:
            raise TypeError(f"the sample has no input or attribute {name}")
        given[name] = value
    return given


def _tensors(given: dict[str, Any]) -> dict[str, Tensor]:
    """Returns the values as tensors. Lists, tuples and dicts become their elements, with the order
    of a dict's keys."""
    tensors: dict[str, Tensor] = {}
    left = list(given.items())
    while left:
        name, value = left.pop()
        if isinstance(value, dict):
            left += [(f"{name}.{key}", element) for key, element in value.items()]
            order = "".join(f"{key}\0" for key in value)
            tensors[name + "."] = as_tensor(_text(order))
        elif isinstance(value, (list, tuple)):
            left += [(f"{name}.{i}", element) for i, element in enumerate(value)]
        elif isinstance(value, str):
            tensors[name] = as_tensor(_text(value))
        elif value is not None:
            tensors[name] = as_tensor(value)
    return tensors


def _text(value: str) -> Any:
    """Returns a text as the u8 tensor of its bytes."""
    torch = _need_torch()
    return torch.tensor(list(value.encode()), dtype=torch.uint8)


class ReadyProgram:
    """A sample that is ready to run, with its values. The next run sees what a run writes to
    parameters and buffers. Several threads may call it; their runs follow each other."""

    def __init__(self, program: _core.ReadyProgram):
        self._program = program
        self._numbers = itertools.count()  # Unlike a sum, it is right from several threads.
        self._runs: collections.deque[dict[str, Any]] = collections.deque(maxlen=MAX_RUNS)

    def run(self, *, numpy: bool = False) -> tuple[Any, ...]:
        """Runs the sample and returns the outputs, tensors of torch. numpy: returns arrays of
        numpy instead, which are read-only; TypeError for a dtype that numpy lacks."""
        begin = time.perf_counter()
        made = self._program.run()
        seconds = time.perf_counter() - begin
        outputs = [made[f"o{i}"] for i in range(len(made))]
        self._runs.append(
            {
                "run": next(self._numbers),
                "seconds": seconds,
                "outputs": [
                    {"dtype": output.dtype.name, "shape": list(output.shape)} for output in outputs
                ],
            }
        )
        return tuple(output.__array__() if numpy else to_torch(output) for output in outputs)

    def records(self) -> list[dict[str, Any]]:
        """Returns a dict for each of the last 1000 runs: its number, seconds, and outputs."""
        return [dict(row) for row in list(self._runs)]

    def _repr_html_(self) -> str:
        return table(
            [
                {
                    "run": row["run"],
                    "seconds": row["seconds"],
                    "outputs": [
                        f"{output['dtype']} {output['shape']}" for output in row["outputs"]
                    ],
                }
                for row in list(self._runs)
            ]
        )

    def state(self) -> dict[str, Any]:
        """Returns parameters and buffers by name, as runs have left them."""
        return {name: to_torch(value) for name, value in self._program.state().items()}


def prepare(
    sample: Sample,
    *tensors: Any,
    values: dict[str, Any] | None = None,
    seed: int | None = 0,
    device: str = "cpu",
) -> ReadyProgram:
    """Makes a sample ready to run. tensors: its inputs in order, either all or those that are not
    parameters, or, for a program of torch.export, the arguments of its forward by position, or the
    leaves of all arguments; values: inputs and attributes by name. Other values are taken from the sample's
    weights, or drawn with the seed. Operators use the seed, too; with None their generator
    continues from its state. Tensors that need gradients are multiplied as PyTorch does in that
    case, but no gradients are computed."""
    _need_torch()
    given = _given(sample, tensors, values or {})
    asks = [name for name, value in given.items() if getattr(value, "requires_grad", False)]
    return ReadyProgram(_core._prepare(sample, _tensors(given), seed, device, asks))


def run(
    sample: Sample,
    *tensors: Any,
    values: dict[str, Any] | None = None,
    seed: int | None = 0,
    device: str = "cpu",
    numpy: bool = False,
) -> tuple[Any, ...]:
    """Runs a sample once (prepare) and returns its outputs, a tuple of tensors of torch, or of
    numpy's read-only arrays (ReadyProgram.run)."""
    return prepare(sample, *tensors, values=values, seed=seed, device=device).run(numpy=numpy)


def shapes(sample: Sample, *tensors: Any, values: dict[str, Any] | None = None) -> Sample:
    """Returns a copy of a sample with the shape and dtype of each value, found by running it on
    tensors without data. The data of small tensors that are given is used."""
    _need_torch()
    return _core._with_shapes(sample, _tensors(_given(sample, tensors, values or {})))


def set_num_threads(threads: int) -> None:
    """Sets the number of threads that operators compute with; 0 leaves the choice to torch."""
    _need_torch()
    _core._set_num_threads(threads)
