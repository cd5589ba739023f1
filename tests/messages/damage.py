"""Functions for cases that make damaged archives (.pt, .pt2) and protobuf samples (.pb)."""

import json
import pickle
import pickletools
import struct
import sys
import types
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


def program(target, code, constants=(), **attributes):
    """Writes a TorchScript archive of one module. `code` has its class __torch__.Net with the
    attribute training : bool; other attributes, and constants, are anything but tensors."""
    net = type("Net", (), {"__module__": "__torch__"})
    sys.modules["__torch__"] = types.SimpleNamespace(Net=net)
    module = net()
    module.__dict__.update(training=False, **attributes)
    with zipfile.ZipFile(target, "w") as out:
        out.writestr("net/data.pkl", pickletools.optimize(pickle.dumps(module, 2)))
        out.writestr("net/code/__torch__.py", code)
        out.writestr("net/constants.pkl", pickletools.optimize(pickle.dumps(tuple(constants), 2)))
        out.writestr("net/version", "3")
        out.writestr("net/byteorder", "little")
