"""Packs graphnet_ir-VERSION-cp3NN-cp3NN-PLATFORM.whl from the files that wheel.bzl lists.

The same files give the same bytes. auditwheel must confirm the platform of the tag.
"""

import argparse
import base64
import hashlib
import json
import pathlib
import re
import tempfile
import zipfile

from auditwheel.architecture import Architecture
from auditwheel.libc import Libc
from auditwheel.wheel_abi import analyze_wheel_abi

from make_stub import make_commands_stub, make_stub

NAME = "graphnet_ir"
DOC = pathlib.Path("/usr/share/doc")
# The user's torch brings these libraries.
LIBTORCH = frozenset({"libtorch.so", "libtorch_cpu.so", "libc10.so"})

METADATA = """\
Metadata-Version: 2.4
Name: {name}
Version: {version}
Summary: Computation graphs of PyTorch: import, look at, check, cut and convert
License-Expression: Apache-2.0
{licences}
Requires-Python: >=3.{minor},<3.{next}
Provides-Extra: corpus
Requires-Dist: pylance<15,>=14; extra == "corpus"
Requires-Dist: pyarrow; extra == "corpus"
Provides-Extra: corpus-serve
Requires-Dist: graphnet_ir[corpus]; extra == "corpus-serve"
Requires-Dist: starlette; extra == "corpus-serve"
Requires-Dist: uvicorn; extra == "corpus-serve"
Provides-Extra: corpus-sql
Requires-Dist: duckdb; extra == "corpus-sql"
Requires-Dist: graphnet_ir[corpus]; extra == "corpus-sql"
Provides-Extra: notebook
Requires-Dist: tqdm; extra == "notebook"
Provides-Extra: ray
Requires-Dist: graphnet_ir[corpus]; extra == "ray"
Requires-Dist: ray<3,>=2.60; extra == "ray"
Provides-Extra: torch
Requires-Dist: torch=={torch}.*; extra == "torch"
Description-Content-Type: text/markdown

{readme}"""

WHEEL = """\
Wheel-Version: 1.0
Generator: graphnet
Root-Is-Purelib: false
Tag: {tag}
"""


def number(text, name):
    return re.search(rf'{name}\[\] = "(.*)"', text)[1]


def entry_points(entries):
    """Returns the file of entry points GROUP:NAME=MODULE:FUNCTION."""
    groups = {}
    for entry in entries:
        group, _, line = entry.partition(":")
        groups.setdefault(group, []).append(line.replace("=", " = "))
    return "\n".join(
        "\n".join([f"[{group}]", *sorted(lines), ""]) for group, lines in sorted(groups.items())
    )


def record(content):
    """Lists each file with its hash and size, as installers do."""
    lines = []
    for path, (data, _) in sorted(content.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(data)}\n")
    return "".join(lines)


def write(path, content):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, (data, executable) in content.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            wheel.writestr(entry, data)


def check(wheel, platform):
    found = analyze_wheel_abi(
        Libc.GLIBC,
        Architecture.x86_64,
        wheel,
        LIBTORCH,
        disable_isa_ext_check=False,
        allow_graft=False,
    )
    if found.overall_policy.name != platform:
        raise SystemExit(
            f"pack_wheel: auditwheel finds {found.overall_policy.name}, not "
            f"{platform}; versions that are wanted: {found.versioned_symbols}"
        )


def stubs(content):
    """Returns the stubs for type checkers by file, for which it loads the extension."""
    with tempfile.TemporaryDirectory() as folder:
        for path, (data, _) in content.items():
            if path.startswith(f"{NAME}/"):
                file = pathlib.Path(folder, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
        return {
            "_core.pyi": make_stub(pathlib.Path(folder)).encode(),
            "commands.pyi": make_commands_stub(pathlib.Path(folder)).encode(),
        }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", type=pathlib.Path, help="what wheel.bzl knows of the Python")
    parser.add_argument("--version-header", type=pathlib.Path)
    parser.add_argument("--platform")
    parser.add_argument("--readme", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--file", action="append", default=[], help="SOURCE=PATH IN THE WHEEL")
    parser.add_argument(
        "--notice", action="append", default=[], help="a Debian package that is inside"
    )
    parser.add_argument("--entry-point", action="append", default=[])
    args = parser.parse_args()

    python = json.loads(args.python.read_text())
    header = args.version_header.read_text()
    version, minor = number(header, "kVersion"), python["minor"]
    info = f"{NAME}-{version}.dist-info"
    tag = f"cp3{minor}-cp3{minor}-{args.platform}"

    content = {}  # path in the wheel: (bytes, whether it is a program)
    for entry in args.file:
        source, _, path = entry.partition("=")
        data = pathlib.Path(source).read_bytes()
        path = path.format(suffix=python["suffix"], data=f"{NAME}-{version}.data", info=info)
        if source.endswith(".sh"):
            data = data.replace(b"@MINOR@", str(minor).encode())
        content[path] = data, "/bin/" in path or "/scripts/" in path
    for name, text in stubs(content).items():
        content[f"{NAME}/{name}"] = text, False
    for package in args.notice:
        content[f"{info}/licenses/{package}"] = (DOC / package / "copyright").read_bytes(), False
    licences = [
        path.rpartition("/")[2] for path in sorted(content) if path.startswith(f"{info}/licenses/")
    ]
    texts = {
        "METADATA": METADATA.format(
            name=NAME,
            version=version,
            minor=minor,
            next=minor + 1,
            readme=args.readme.read_text(),
            torch=number(header, "kLibTorchVersion"),
            licences="\n".join(f"License-File: {name}" for name in licences),
        ),
        "WHEEL": WHEEL.format(tag=tag),
    }
    if args.entry_point:
        texts["entry_points.txt"] = entry_points(args.entry_point)
    content = dict(sorted(content.items()))
    for name, text in texts.items():  # at the end, as the format wants it
        content[f"{info}/{name}"] = text.encode(), False
    content[f"{info}/RECORD"] = f"{record(content)}{info}/RECORD,,\n".encode(), False

    args.out.mkdir(parents=True, exist_ok=True)
    wheel = args.out / f"{NAME}-{version}-{tag}.whl"
    write(wheel, content)
    check(wheel, args.platform)


main()
