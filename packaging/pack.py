"""Packs graphnet-VERSION-linux-x86_64.tar.gz; link.bzl says with what.

Of the headers go in those that the roots include, and what those include: that is the API.
"""
import argparse
import gzip
import io
import pathlib
import re
import subprocess
import tarfile

DOC = pathlib.Path("/usr/share/doc")
ABSEIL = pathlib.Path("/usr/include/absl")


def number(path, pattern):
    found = re.search(pattern, pathlib.Path(path).read_text(), re.M)
    if not found:
        raise SystemExit(f"pack: {path} has no {pattern}")
    return found[1]


def abseil(archives):
    """Returns Abseil as it was compiled against, for systems that have another one."""
    files = {f"abseil/include/absl/{file.relative_to(ABSEIL)}": file for file in ABSEIL.rglob("*")
             if file.suffix in (".h", ".inc")}
    files.update({f"abseil/lib/{archive.name}": archive for archive in archives})
    return {path: (file.read_bytes(), False) for path, file in files.items()}


def closure(roots, headers):
    """`roots` and what they include of this project."""
    wanted, left = set(), list(roots)
    while left:
        name = left.pop()
        if name in wanted:
            continue
        if name not in headers:
            raise SystemExit(f"pack: {name} is public, but no target of the API has it")
        wanted.add(name)
        left += re.findall(r'^#include "(graphnet/[^"]+)"', headers[name].read_text(), re.M)
    return sorted(wanted)


def main():
    parser = argparse.ArgumentParser(fromfile_prefix_chars="@")
    parser.add_argument("--version")
    parser.add_argument("--libtorch-version")
    parser.add_argument("--out")
    parser.add_argument("--file", action="append", default=[],
                        help="SOURCE=PATH IN THE TARBALL; SOURCE.tar=FOLDER/ unpacks an archive there")
    parser.add_argument("--header", action="append", default=[])
    parser.add_argument("--root", action="append", default=[])
    parser.add_argument("--notice", action="append", default=[], help="a Debian package that is inside")
    args = parser.parse_args()

    headers = {name[name.index("graphnet/"):]: pathlib.Path(name) for name in args.header}
    said = number(headers["graphnet/base/version.h"], r'kVersion\[\] = "(.*)"')
    if said != args.version:
        raise SystemExit(f"pack: packaging/BUILD.bazel says {args.version}, base/version.h {said}")
    architecture = subprocess.run(["gcc", "-print-multiarch"], capture_output=True, text=True,
                                  check=True).stdout.strip()
    archives = sorted(pathlib.Path("/usr/lib", architecture).glob("libabsl_*.a"))
    protobuf = int(number("/usr/include/google/protobuf/stubs/common.h",
                          r"GOOGLE_PROTOBUF_VERSION (\d+)"))
    values = {
        "VERSION": args.version,
        "ABI": args.version.rpartition(".")[0],
        "LIBTORCH_VERSION": number(args.libtorch_version, r'^ +"(\d+\.\d+)\.\d+"'),
        "ABSL_VERSION": number("/usr/include/absl/base/config.h", r"ABSL_LTS_RELEASE_VERSION (\d+)"),
        "ABSL_ARCHIVES": " ".join(f"-l:{archive.name}" for archive in archives),
        "PROTOBUF_VERSION": f"{protobuf // 1000000}.{protobuf // 1000 % 1000}",
    }

    # Path in the tarball: (bytes, whether it is a program), or what it links to.
    content = abseil(archives)
    for entry in args.file:
        source, _, path = entry.partition("=")
        if path.endswith("/"):  # an archive, whose files go into a folder
            with tarfile.open(source) as archive:
                for member in filter(tarfile.TarInfo.isfile, archive):
                    name = path + member.name.removeprefix("./")
                    content[name] = archive.extractfile(member).read(), False
            continue
        data = pathlib.Path(source).read_bytes()
        if path.endswith(".in"):
            path = path[:-len(".in")]
            data = re.sub("@([A-Z_]+)@", lambda m: values[m[1]], data.decode()).encode()
        if path.endswith(".so") and path.count("/") == 1:  # others are opened, never linked
            real = f"{path}.{values['ABI']}"
            content[path] = pathlib.Path(real).name
            path = real
        content[path] = data, path.startswith("bin/")
    for name in closure(args.root, headers):
        content[f"include/{name}"] = headers[name].read_bytes(), False
    for package in args.notice:
        content[f"share/doc/graphnet/copyright/{package}"] = (
            (DOC / package / "copyright").read_bytes(), False)

    folder = pathlib.Path(args.out).name.removesuffix(".tar.gz")
    with open(args.out, "wb") as file, \
            gzip.GzipFile("", "wb", 6, file, mtime=0) as packed, \
            tarfile.open(mode="w", fileobj=packed, format=tarfile.GNU_FORMAT) as tar:
        for path in sorted(content):
            entry = tarfile.TarInfo(f"{folder}/{path}")
            if isinstance(content[path], str):
                entry.type, entry.linkname = tarfile.SYMTYPE, content[path]
                tar.addfile(entry)
                continue
            data, executable = content[path]
            entry.size, entry.mode = len(data), 0o755 if executable else 0o644
            tar.addfile(entry, io.BytesIO(data))


main()
