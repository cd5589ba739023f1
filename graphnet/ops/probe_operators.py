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


def quantised(rng):
    """A quantised tensor of a shape and a type that often does not fit."""
    shape = rng.choice([(4, 4), (3, 4), (2, 3), (3,), (), (0, 4), (1, 2, 5), (1, 2, 5, 5), (4, 2, 3, 3), (2, 4, 3, 3),
                        (1, 2, 3, 5, 5), (4, 2, 3, 3, 3)])
    dtype = rng.choice([torch.quint8, torch.quint8, torch.qint8, torch.qint8, torch.qint32])
    scale, zero = rng.choice([0.1, 0.1, 1e-30, 1e30]), rng.choice([0, 0, 3, -3])
    if rng.random() < 0.7 or not shape:
        return torch.quantize_per_tensor(torch.randn(shape), scale, zero, dtype)
    axis = rng.randrange(len(shape))
    scales, zeros = torch.full((shape[axis],), scale), torch.full((shape[axis],), zero)
    if rng.random() < 0.3:
        return torch.quantize_per_channel(torch.randn(shape), scales, zeros.float(), axis, torch.quint8)
    return torch.quantize_per_channel(torch.randn(shape), scales, zeros, axis, dtype)


def packed(name, rng):
    """Packed parameters of a class of PyTorch's quantised modules."""
    ops = torch.ops.quantized

    def weight(*shape):
        return torch.quantize_per_tensor(torch.randn(shape), 0.1, 0, torch.qint8)

    def linear(inputs):
        return ops.linear_prepack(weight(4, inputs), rng.choice([None, torch.randn(4)]))

    if name == "LinearPackedParamsBase":
        return rng.choice([lambda: linear(rng.choice([3, 4])),
                           lambda: ops.linear_prepack_fp16(torch.randn(4, 4), torch.randn(4))])()
    if name in ("Conv2dPackedParamsBase", "Conv3dPackedParamsBase"):
        n = 2 if "2d" in name else 3
        if rng.random() < 0.3:
            pack = getattr(ops, f"conv_transpose{n}d_prepack")
            return pack(weight(2, 4, *[3] * n), torch.randn(4), [1] * n, [1] * n, [0] * n, [1] * n, 1)
        return getattr(ops, f"conv{n}d_prepack")(weight(4, 2, *[3] * n), torch.randn(4), [1] * n, [1] * n, [1] * n, 1)
    if name == "EmbeddingPackedParamsBase":
        return ops.embedding_bag_prepack(torch.quantize_per_channel(
            torch.randn(5, 4), torch.full((5,), 0.1), torch.zeros(5), 0, torch.quint8))
    if name == "CellParamsBase":
        if rng.random() < 0.3:
            return ops.make_quantized_cell_params_fp16(*[ops.linear_prepack_fp16(torch.randn(4, 4), torch.randn(4))] * 2)
        return ops.make_quantized_cell_params_dynamic(linear(4), linear(4), torch.randn(4), torch.randn(4), True)
    raise ValueError(name)


def value(type, rng, of_quantised=False):
    kind = type.kind()
    if kind == "TensorType" and of_quantised and rng.random() < 0.6:
        return quantised(rng)
    if kind == "ClassType":
        return packed(type.qualified_name().split(".")[-1], rng)
    for name, values in KINDS.items():
        if str(type) == name:
            return rng.choice(values)
    if kind == "OptionalType":
        return None if rng.random() < 0.5 else value(type.getElementType(), rng, of_quantised)
    if kind == "ListType":
        count = rng.choice([0, 1, 2, 2, 3])
        return [value(type.getElementType(), rng, of_quantised) for _ in range(count)]
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
            item = item.dequantize() if item.is_quantized else item
            dense = item.to_dense() if item.layout != torch.strided else item.clone()
            dense.to(torch.complex128).sum().item()


def probe(name, overload, space="aten"):
    """How many of the calls the operator took (255: or more); None when one died."""
    operator = getattr(getattr(getattr(torch.ops, space), name), overload)
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
        for _ in range(CALLS if space == "aten" else 10 * CALLS):
            try:
                given = [value(type, rng, space == "quantized") for type, has_default in types
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
