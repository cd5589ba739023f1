"""Functions for cases that make damaged archives (.pt, .pt2), samples (.pb) and folders."""

import json
import os
import pickle
import pickletools
import struct
import warnings
import zipfile
import zlib

warnings.simplefilter("ignore")  # of names that occur twice


def archive(source, target, replace={}, add=(), drop=()):
    """Writes the archive with some contents replaced (by bytes, a text, or a function of the bytes),
    added as pairs of name and content, or left out. Names are without the archive's own folder."""
    with zipfile.ZipFile(source) as read, zipfile.ZipFile(target, "w") as out:
        root = read.namelist()[0].split("/")[0]
        kept = {info.filename: read.read(info) for info in read.infolist()}
        left = set(replace) | set(drop)
        for full, content in kept.items():
            name = full[len(root) + 1:]
            left.discard(name)
            if name in drop:
                continue
            new = replace.get(name, content)
            content = new(content) if callable(new) else new
            out.writestr(full, content)
        for name, content in add:
            out.writestr(f"{root}/{name}", content)
        assert not left, f"{source} has no {left}"


def json_entry(source, target, name, change):
    """Writes the archive with the JSON of an entry as the function `change` leaves it."""

    def changed(content):
        value = json.loads(content)
        change(value)
        return json.dumps(value)

    archive(source, target, replace={name: changed})


def entry(source, name):
    """The content of an entry."""
    with zipfile.ZipFile(source) as read:
        return read.read(read.namelist()[0].split("/")[0] + "/" + name)


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def field(number, content):
    """A field of protobuf: a varint if the content is an int, bytes, or fields as `fields` makes."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    if isinstance(content, str):
        content = content.encode()
    if isinstance(content, list):
        content = message(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def fields(content):
    """The fields of a message as lists [number, content]; those of 4 and 8 bytes are tuples
    (wire type, bytes)."""
    out, at = [], 0

    def read():
        nonlocal at
        value = shift = 0
        while True:
            byte = content[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(content):
        key = read()
        number, wire = key >> 3, key & 7
        if wire == 0:
            out.append([number, read()])
        else:
            size = {1: 8, 5: 4}.get(wire) or read()
            part = content[at:at + size]
            out.append([number, part if wire == 2 else (wire, part)])
            at += size
    return out


def message(parts):
    """The bytes of what `fields` returned."""
    return b"".join(varint(number << 3 | content[0]) + content[1] if isinstance(content, tuple)
                    else field(number, content) for number, content in parts)


def payload(path):
    """The message Sample in a file .pb."""
    return open(path, "rb").read()[22:]


def envelope(content, version=1):
    """A file .pb with the message Sample, given as bytes or fields; the checksum is right."""
    content = message(content) if isinstance(content, list) else content
    head = b"\x0a\x08graphnet\x10" + bytes([version]) + b"\x1d" + struct.pack("<I", len(content))
    return head + b"\x25" + struct.pack("<I", zlib.crc32(content, zlib.crc32(head))) + content


ZIP = {
    "local": ("<4s5H3I2H", "magic needs flags method time date crc compressed size name extra"),
    "central": ("<4s6H3I5H2I", "magic made_by needs flags method time date crc compressed size "
                "name extra comment disk kind attributes offset"),
    "end": ("<4s4H2IH", "magic disk first_disk entries all_entries size offset comment"),
}


def zip_of(name=b"m/version", content=b"hello", extra=b"", local_extra=b"", tail=b"", deflate=False,
           before_end=b"", **changes):
    """An archive with one entry. `extra` is the extra field of both headers, which the local one
    has before `local_extra`; `tail` follows the content. Other arguments are false numbers of
    fields of ZIP, such as local_crc."""

    def record(kind, **values):
        form, fields = ZIP[kind]
        return struct.pack(form, *(changes.get(f"{kind}_{field}", values.get(field, 0))
                                   for field in fields.split()))

    data = zlib.compress(content, 9)[2:-4] if deflate else content
    same = {"crc": zlib.crc32(content), "compressed": len(data), "size": len(content),
            "method": 8 if deflate else 0, "name": len(name), "extra": len(extra)}
    same_here = same | {"extra": len(extra + local_extra)}
    first = record("local", magic=b"PK\3\4", **same_here) + name + extra + local_extra + data + tail
    directory = record("central", magic=b"PK\1\2", **same) + name + extra
    return first + directory + before_end + record(
        "end", magic=b"PK\5\6", entries=1, all_entries=1, size=len(directory), offset=len(first))


def changed_pt2(target, change, source="dynamic_derived"):
    """Writes a program of torch.export of the tests, with its JSON as the function `change` leaves
    it."""
    json_entry(f"tests/formats/pt2/testdata/{source}.pt2", target, "models/model.json", change)


def safetensors(**tensors):
    """The bytes of a file .safetensors; a tensor is its dtype as "F32", its sizes and its bytes."""
    header, data = {}, b""
    for name, (dtype, sizes, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": sizes,
                        "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def embed(path, **tensors):
    """Writes these weights into a file .pb."""
    content = payload(path) + field(15, safetensors(**tensors))
    with open(path, "wb") as out:
        out.write(envelope(content))


FOLDER = {
    "graph_net.json": '{"framework": "torch"}',
    "model.py": "import torch\nclass GraphModule(torch.nn.Module):\n"
                "    def forward(self, x: torch.Tensor):\n        return x\n",
    "weight_meta.py": 'class Program_weight_tensor_meta_x:\n    name = "x"\n    shape = [4, 8]\n'
                      '    dtype = "torch.float32"\n    device = "cpu"\n'
                      "    mean = None\n    std = None\n",
}


def folder(path, files={}):
    """Writes a sample of GraphNet, whose graph returns its argument, with some files replaced. A
    list takes the place of the statements of model.py."""
    os.makedirs(path)
    for name, content in {**FOLDER, **files}.items():
        if isinstance(content, list):
            content = FOLDER[name].replace("return x\n", "\n        ".join(content) + "\n")
        with open(f"{path}/{name}", "w") as file:
            file.write(content)


def column(source, target, place, change):
    """Writes a sample (.pb) with the integers of a column as the function `change` returns them.
    The place is the numbers of the fields that lead to it: (6, 14, 3) is the operands of the first
    graph. Returns the integers that were there."""
    before = []

    def changed(content, place):
        parts = fields(content)
        part = next((part for part in parts if part[0] == place[0]), None)
        if part is None:
            part = [place[0], b""]
            parts.append(part)
        if place[1:]:
            part[1] = changed(part[1], place[1:])
        else:
            before.extend(unpacked(part[1]))
            part[1] = packed(change(list(before)))
        return message(parts)

    content = changed(payload(source), place)
    with open(target, "wb") as out:
        out.write(envelope(content))
    return before


def packed(values):
    return b"".join(map(varint, values))


def unpacked(content):
    values, value, shift = [], 0, 0
    for byte in content:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            values.append(value)
            value = shift = 0
    return values


def pickled(value):
    """A value as torch.jit.save pickles it; bytes are a pickle already."""
    if isinstance(value, bytes):
        return value
    return pickletools.optimize(pickle.dumps(value, 2))[2:-1]


def instance(name, values):
    """The pickle of an object of the class __torch__.NAME."""
    items = b"".join(pickled(key) + pickled(value) for key, value in values.items())
    return b"c__torch__\n" + name.encode() + b"\n)\x81}(" + items + b"ub"


def storage(key, elements):
    """The pickle of a storage of floats."""
    return (b"(" + pickled("storage") + b"ctorch\nFloatStorage\n" + pickled(key) + pickled("cpu") +
            pickled(elements) + b"tQ")


def tensor(stored, offset, size):
    """The pickle of a tensor of one dimension, after the pickle of its storage."""
    return (b"ctorch._utils\n_rebuild_tensor_v2\n(" + stored + pickled(offset) + b"(" +
            pickled(size) + b"t(K\x01t\x89ccollections\nOrderedDict\n)RtR")


def torchscript(path, code, values={}, files={}, name="M"):
    """Writes a TorchScript archive with this code, whose module is of the class with this name."""
    with zipfile.ZipFile(path, "w") as out:
        for entry, content in {
            "data.pkl": b"\x80\x02" + instance(name, values) + b".",
            "code/__torch__.py": code,
            "constants.pkl": b"\x80\x02).",
            "version": "3\n",
            **files,
        }.items():
            out.writestr("m/" + entry, content)


def scripted(path, code, constants=(), **attributes):
    """Writes a TorchScript archive, whose module is of the class Net with the attribute training :
    bool; other attributes, and constants, are anything but tensors."""
    torchscript(path, code, {"training": False, **attributes},
                {"constants.pkl": b"\x80\x02" + pickled(tuple(constants)) + b"."}, name="Net")
