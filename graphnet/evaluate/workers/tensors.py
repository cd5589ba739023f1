"""Reads and writes .safetensors files as arrays of NumPy or tensors of PyTorch, without a package.

The format has no name for quantised dtypes, so an output of one is an error. It has none for
complex32 and complex128 either: pairs of their parts are stored, and the metadata say so.
"""
import ctypes
import json
import math
import os

# The name in the format, in NumPy and in PyTorch, and the bytes of an element. NumPy needs ml_dtypes
# for some of them.
DTYPES = [
    ("BOOL", "bool", "bool", 1), ("U8", "uint8", "uint8", 1), ("I8", "int8", "int8", 1),
    ("F8_E5M2", "float8_e5m2", "float8_e5m2", 1), ("F8_E4M3", "float8_e4m3fn", "float8_e4m3fn", 1),
    ("F8_E8M0", "float8_e8m0fnu", "float8_e8m0fnu", 1),
    ("F8_E4M3FNUZ", "float8_e4m3fnuz", "float8_e4m3fnuz", 1),
    ("F8_E5M2FNUZ", "float8_e5m2fnuz", "float8_e5m2fnuz", 1),
    ("I16", "int16", "int16", 2), ("U16", "uint16", "uint16", 2), ("F16", "float16", "float16", 2),
    ("BF16", "bfloat16", "bfloat16", 2), ("I32", "int32", "int32", 4), ("U32", "uint32", "uint32", 4),
    ("F32", "float32", "float32", 4), ("C64", "complex64", "complex64", 8),
    ("F64", "float64", "float64", 8), ("I64", "int64", "int64", 8), ("U64", "uint64", "uint64", 8),
    ("C32", "complex32", "complex32", 4), ("C128", "complex128", "complex128", 16),
]
WIDTHS = {name: width for name, _, _, width in DTYPES}


STRIDES = "graphnet.strides."  # in the metadata, before a tensor's name
PAIRS = "graphnet.dtype."
PARTS = {"C32": "F16", "C128": "F64"}


class Tensor:
    """A tensor as plain bytes, row by row, and the strides with which it is run, None if row by row."""

    def __init__(self, dtype, shape, data, strides=None):
        self.dtype, self.shape, self.data, self.strides = dtype, list(shape), data, strides

    def numpy(self):
        import numpy
        (name,) = [numpy_name for name, numpy_name, _, _ in DTYPES if name == self.dtype]
        if not hasattr(numpy, name) and name != "bool":
            import ml_dtypes
            dtype = getattr(ml_dtypes, name)
        else:
            dtype = numpy.dtype(name)
        return numpy.frombuffer(bytearray(self.data), dtype=dtype).reshape(self.shape)

    def torch(self):
        import torch
        (name,) = [torch_name for name, _, torch_name, _ in DTYPES if name == self.dtype]
        dtype = getattr(torch, name)
        if math.prod(self.shape) == 0:
            return torch.empty(self.shape, dtype=dtype)
        # The copy is not a view and is aligned like PyTorch's own tensors.
        values = torch.frombuffer(bytearray(self.data), dtype=dtype)
        return values.reshape(self.shape).clone() if self.strides is None else self._strided(values)

    def _strided(self, values):
        import torch
        # Bits, as PyTorch does not assign to places of every dtype; places of equal values may be one.
        bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64,
                16: torch.complex128}[WIDTHS[self.dtype]]
        places = torch.zeros(self.shape, dtype=torch.int64)
        for dim, (size, stride) in enumerate(zip(self.shape, self.strides)):
            places += (torch.arange(size) * stride).reshape([-1] + [1] * (len(self.shape) - dim - 1))
        storage = torch.zeros(int(places.max()) + 1, dtype=bits)
        storage[places.flatten()] = values.view(bits)
        return torch.as_strided(storage.view(values.dtype), self.shape, self.strides)


def of(value):
    """Converts a tensor of PyTorch or NumPy, or a number."""
    if isinstance(value, bool):
        return Tensor("BOOL", [], bytes([value]))
    if isinstance(value, int):
        return Tensor("I64", [], value.to_bytes(8, "little", signed=True))
    if isinstance(value, float):
        import struct
        return Tensor("F64", [], struct.pack("<d", value))
    if hasattr(value, "detach"):
        value = value.detach().cpu().resolve_conj().resolve_neg().contiguous()
        name = _name(str(value.dtype).removeprefix("torch."))
        # NumPy is not used, as PyTorch does not need it.
        data = ctypes.string_at(value.data_ptr(), value.nbytes) if value.numel() else b""
        return Tensor(name, value.shape, data)
    import numpy
    value = numpy.asarray(value)
    return Tensor(_name(value.dtype.name), value.shape, value.tobytes())


def _name(dtype):
    for name, numpy_name, torch_name, _ in DTYPES:
        if dtype in (numpy_name, torch_name):
            return name
    raise TypeError(f".safetensors does not support dtype {dtype}")


def read(path):
    """Returns {name: Tensor}."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = memoryview(file.read())
    metadata = header.pop("__metadata__", {})
    tensors = {name: Tensor(entry["dtype"], entry["shape"], data[slice(*entry["data_offsets"])])
               for name, entry in header.items()}
    for key, text in metadata.items():
        if key.startswith(PAIRS):
            tensor = tensors[key[len(PAIRS):]]
            tensor.dtype, tensor.shape = _name(text), tensor.shape[:-1]
        if key.startswith(STRIDES):
            tensors[key[len(STRIDES):]].strides = [int(stride) for stride in text.split(",")]
    return tensors


def write(path, tensors):
    """Writes wider elements first to align each tensor. The file appears whole or not at all."""
    header, metadata, blocks, end = {}, {}, [], 0
    for name, tensor in sorted(tensors.items(), key=lambda item: -WIDTHS[item[1].dtype]):
        block = memoryview(tensor.data)
        header[name] = {"dtype": tensor.dtype, "shape": tensor.shape,
                        "data_offsets": [end, end + block.nbytes]}
        if tensor.dtype in PARTS:
            (metadata[PAIRS + name],) = [torch_name for key, _, torch_name, _ in DTYPES if key == tensor.dtype]
            header[name].update(dtype=PARTS[tensor.dtype], shape=[*tensor.shape, 2])
        blocks.append(block)
        end += block.nbytes
    if metadata:
        header["__metadata__"] = metadata
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path + ".part", "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for block in blocks:
            file.write(block)
    os.replace(path + ".part", path)
