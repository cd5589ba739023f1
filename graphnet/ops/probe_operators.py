"""Which operators of ATen reach beyond the values that they are given.

Calls each with hostile arguments (indices and sizes out of all bounds, tensors of shapes
and types that do not fit) in processes of their own: one that dies by a signal read or
wrote memory that is not its own. make_schemas.py asks it.
"""

import os
import random
import resource
import signal

import torch

CALLS = 60
SECONDS = 10


def tensors(rng):
    far = rng.choice([10**12, -(10**12), 2**62, -(2**62), 2**31 - 1, -(2**31), 7, -7])
    return rng.choice([
        lambda: torch.randn(2, 3, 4), lambda: torch.randn(4, 4), lambda: torch.randn(3),
        lambda: torch.randn(()), lambda: torch.randn(0), lambda: torch.randn(1, 2, 3, 4),
        lambda: torch.randn(1, 2, 3, 4, 5), lambda: torch.full((4,), far), lambda: torch.full((2, 3), far),
        lambda: torch.full((2, 3, 4), far), lambda: torch.full((1, 2, 3, 4), far), lambda: torch.full((), far),
        lambda: torch.arange(4), lambda: torch.tensor([0, 2, 4]), lambda: torch.tensor([0, far]),
        lambda: torch.full((3,), far % 2**31, dtype=torch.int32), lambda: torch.ones(4, dtype=torch.bool),
        lambda: torch.ones(4, 4, dtype=torch.bool), lambda: torch.randn(4, dtype=torch.float64),
        lambda: torch.randn(3, dtype=torch.complex64), lambda: torch.full((4,), float("nan")),
        lambda: torch.ones(4, dtype=torch.uint8), lambda: torch.randn(3, 3).to_sparse()])()


# What graphs have of their own kind, so that no other number comes for it.
KINDS = {
    "ScalarType": [torch.float32, torch.int64, torch.float64, torch.bool, torch.complex64, torch.uint8],
    "Layout": [torch.strided],
    "MemoryFormat": [torch.contiguous_format, torch.preserve_format, torch.channels_last],
}


def value(type, rng):
    kind = type.kind()
    for name, values in KINDS.items():
        if str(type) == name:
            return rng.choice(values)
    if kind == "OptionalType":
        return None if rng.random() < 0.5 else value(type.getElementType(), rng)
    if kind == "ListType":
        count = rng.choice([0, 1, 2, 2, 3])
        return [value(type.getElementType(), rng) for _ in range(count)]
    if kind == "TensorType":
        return tensors(rng)
    if kind in ("IntType", "SymIntType"):
        return rng.choice([0, 1, 2, 3, -1, -2, 7, 2**31, -(2**31), 2**40, -(2**40), 2**62])
    if kind in ("FloatType", "NumberType"):
        return rng.choice([0.0, 0.5, 1.0, -1.0, 1e30, float("nan"), 3])
    if kind == "BoolType":
        return rng.random() < 0.5
    if kind == "StringType":
        return rng.choice(["mean", "sum", "none", "i,j->ij", "ij,jk->ik", "reflect", "word", ""])
    return None  # devices, generators, …


def use(result):
    """Reads all of it: an operator may make what only its users trip over."""
    for item in result if isinstance(result, (list, tuple)) else [result]:
        if isinstance(item, (list, tuple)):
            use(item)
        elif isinstance(item, torch.Tensor):
            dense = item.to_dense() if item.layout != torch.strided else item.clone()
            dense.to(torch.complex128).sum().item()


def probe(name, overload):
    """How many of the calls the operator took (255: or more); None when one died."""
    operator = getattr(getattr(torch.ops.aten, name), overload)
    types = [(a.real_type, a.has_default_value()) for a in operator._schema.arguments]
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        signal.alarm(SECONDS)  # SIGALRM: it takes long, which is no harm
        torch.set_num_threads(1)
        rng = random.Random(name + overload)
        taken = 0
        for _ in range(CALLS):
            try:
                given = [value(type, rng) for type, has_default in types
                         if not has_default or rng.random() < 0.7]
                result = operator(*given)
                taken += 1
                use([result, given])
            except BaseException:
                pass
        os._exit(min(taken, 255))
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return 0 if os.WTERMSIG(status) == signal.SIGALRM else None
    return os.WEXITSTATUS(status)
