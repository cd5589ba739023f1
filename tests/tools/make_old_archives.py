#!/usr/bin/env python3
"""Writes small TorchScript archives in the forms of older releases of PyTorch, with their results.

    make_old_archives.py tests/formats/torchscript/testdata

The archives are built byte by byte, as no release that can be installed writes these forms. This
Python's PyTorch must read and run each of them; its outputs are what graphnet's are compared with.
Beside NAME.pt lie NAME.in.safetensors and NAME.out.safetensors.
"""

import io
import json
import pathlib
import struct
import sys
import warnings
import zipfile

import torch

warnings.filterwarnings("ignore")

# --- Pickles of protocol 2 as PyTorch's pickler writes them -----------------------------------------


def text(value):
    encoded = value.encode()
    return b"X" + struct.pack("<I", len(encoded)) + encoded


def integer(value):
    if 0 <= value < 256:
        return b"K" + bytes([value])
    return b"J" + struct.pack("<i", value)


def real(value):
    return b"G" + struct.pack(">d", value)


def glob(module, name):
    return f"c{module}\n{name}\n".encode()


def tup(*elements):
    return b"(" + b"".join(elements) + b"t"


def lst(*elements):
    return b"](" + b"".join(elements) + b"e"


def dic(**entries):
    return b"}(" + b"".join(text(key) + value for key, value in entries.items()) + b"u"


def call(function, *arguments):
    return function + tup(*arguments) + b"R"


def obj(cls, state):
    return glob(*cls.rsplit(".", 1)) + b")\x81" + state + b"b"


def pickle(value):
    return b"\x80\x02" + value + b"."


TRUE, FALSE, NONE = b"\x88", b"\x89", b"N"
HOOKS = glob("collections", "OrderedDict") + b")R"


def tensor(key, sizes, storage="FloatStorage", rebuild="_rebuild_tensor_v2", parameters=b""):
    count, strides = 1, []
    for size in reversed(sizes):
        strides.insert(0, count)
        count *= size
    stored = tup(text("storage"), glob("torch", storage), text(key), text("cpu"), integer(count)) + b"Q"
    return call(glob("torch._utils", rebuild), stored, integer(0), tup(*map(integer, sizes)),
                tup(*map(integer, strides)), *([parameters] if parameters else []), FALSE, HOOKS)


def floats(*values):
    return struct.pack(f"<{len(values)}f", *values)


# --- Tables of source positions -----------------------------------------------------------------


def flat_table(source, file, tags):
    """Rows (offset, (source, begin, end)[, tag]): releases 1.4 to 1.9. Tags came with 1.6."""
    shared = tup(text(source), file, integer(12))
    row = (integer(0), tup(shared, integer(0), integer(len(source))))
    return pickle(tup(tup(*row, *([integer(0)] if tags else []))))


# --- Archives -----------------------------------------------------------------------------------

MODULE = """class M(Module):
  __parameters__ = ["w", ]
  __buffers__ = []
  w : Tensor
  training : bool
"""
FORWARD = """  def forward(self: __torch__.M,
    x: Tensor) -> Tensor:
    _0 = torch.mul(x, self.w)
    if bool(torch.gt(torch.sum(x), 0)):
      y = torch.add(_0, 1, alpha=2)
    else:
      y = torch.neg(_0)
    return y
"""


def archive(version, code, data, storages, constants=b")", table=None, extra=None):
    entries = {"data.pkl": pickle(data), "constants.pkl": pickle(constants), "version": f"{version}\n".encode(),
               "code/__torch__.py": code.encode()}
    if table is not None:
        entries["code/__torch__.py.debug_pkl"] = table
    entries.update(storages)
    entries.update(extra or {})
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as written:
        for name, content in entries.items():
            written.writestr(zipfile.ZipInfo("old/" + name), content)
    return out.getvalue()


def plain_state():
    return obj("__torch__.M", dic(w=tensor("0", [3]), training=FALSE))


def archives():
    x = torch.tensor([[1.0, -2.0, 3.0], [0.5, 0.25, -0.125]])
    storages = {"data/0": floats(1.5, -2.0, 0.1)}
    state = plain_state()
    plain = MODULE + FORWARD

    # Version 1 began its code with the version of its operators.
    yield "version_1", archive(1, "op_version_set = 1\n" + plain, state, storages,
                               table=flat_table("def f(x):", NONE, False)), [x]
    yield "version_2_flat", archive(2, "op_version_set = 1\n" + plain, state, storages,
                                    table=flat_table("def f(x):\n  pass", text("net.py"), False)), [x]
    yield "version_3_flat", archive(3, plain, state, storages,
                                    table=flat_table("def f(x):\n  pass", text("net.py"), True)), [x]
    # A table of nobody knows what.
    yield "unknown_table", archive(3, plain, state, storages,
                                   table=pickle(tup(text("FORMAT_OF_TOMORROW"), lst(integer(1))))), [x]
    yield "damaged_table", archive(3, plain, state, storages, table=b"not a pickle"), [x]
    # Before version 4, a quotient of integers was an integer.
    integers = """  def forward(self: __torch__.M,
    x: Tensor) -> Tensor:
    return torch.div(x, torch.add(torch.mul(x, 0), 4))
"""
    yield "version_3_div", archive(3, MODULE + integers, state, storages), [torch.tensor([9, -9, 3])]
    # For mobile devices, 2020 and 2021: bytecode, and tensors whose names end in .storage.
    constant = MODULE + """  def forward(self: __torch__.M,
    x: Tensor) -> Tensor:
    return torch.add(torch.mul(x, self.w), CONSTANTS.c0)
"""
    yield "mobile", archive(
        3, constant, state, {**storages, "constants/0.storage": floats(10, 20, 30)},
        constants=tup(tensor("0.storage", [3])),
        extra={"bytecode.pkl": pickle(tup(integer(5))), "mobile_debug.pkl": pickle(tup()),
               "extra/mobile_info.json": b"{}", "traced_inputs.pkl": b"anything"}), [x]


# --- Files --------------------------------------------------------------------------------------


def safetensors(values):
    header, body = {}, b""
    names = {torch.float32: "F32", torch.int64: "I64", torch.float64: "F64", torch.int32: "I32",
             torch.int8: "I8", torch.uint8: "U8", torch.bool: "BOOL", torch.float16: "F16"}
    for name, value in values.items():
        value = value.contiguous()
        content = bytes(value.untyped_storage())[:value.numel() * value.element_size()]
        header[name] = {"dtype": names[value.dtype], "shape": list(value.shape),
                        "data_offsets": [len(body), len(body) + len(content)]}
        body += content
    encoded = json.dumps(header).encode()
    encoded += b" " * (-len(encoded) % 8)
    return struct.pack("<Q", len(encoded)) + encoded + body


def flatten(value):
    if isinstance(value, (tuple, list)):
        return [leaf for element in value for leaf in flatten(element)]
    return [value if isinstance(value, torch.Tensor) else torch.tensor(value)]


def main(folder):
    for name, content, inputs in archives():
        module = torch.jit.load(io.BytesIO(content))
        with torch.no_grad():
            outputs = flatten(module(*inputs))
        names = [argument.name for argument in module.forward.schema.arguments[1:]]
        (folder / f"{name}.pt").write_bytes(content)
        (folder / f"{name}.in.safetensors").write_bytes(safetensors(dict(zip(names, inputs))))
        (folder / f"{name}.out.safetensors").write_bytes(
            safetensors({f"o{i}": value for i, value in enumerate(outputs)}))
        print(name, len(content), "bytes", [tuple(o.shape) for o in outputs])


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
