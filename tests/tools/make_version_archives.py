#!/usr/bin/env python3
"""Lets releases of PyTorch write small programs of every kind, and tells what graphnet makes of them.

    make_version_archives.py write OUT VERSION...
    make_version_archives.py table OUT --graphnet bazel-bin/graphnet/cli/graphnet

`write` installs one release after the other below OUT/.scratch, without the packages that it needs
for a GPU, lets it write its programs into OUT/VERSION/, and removes it again. Beside NAME lie
NAME.in.npz and NAME.out.npz with the inputs and that release's outputs, v0, v1 and so on. A release
that is not to be had, or a kind that it cannot write, is a line of OUT/VERSION/log.txt. This Python
must have numpy, sympy, networkx, jinja2, filelock, fsspec and typing_extensions. `gcc`, `nm` and
`readelf` must be there.

`table` prints a table: for each release and kind, how many programs graphnet reads, how many it
runs, for how many it has the bits of the release, and for how many those of this Python's PyTorch.
Where this PyTorch does not open a .pt2, it exports the same program anew. All run in one thread.
Releases compute some operators with other last bits. So the exit status is 1 if anything is not
read, is not run, or has other bits than this PyTorch, whose operators graphnet calls.

The wheels for Linux are linked with the libraries of a GPU, which take gigabytes. Nothing here
calls them, so `write` makes libraries of the same names, versions and functions, each of which
returns an error.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")

# --- Programs: this part runs in the old release ------------------------------------------------


def arrays(values):
    """The tensors within `values`, in order, as numpy arrays. Old releases do not know numpy 2."""
    import numpy
    import torch

    if isinstance(values, dict):
        values = [values[key] for key in values]
    if isinstance(values, (list, tuple)):
        return [array for value in values for array in arrays(value)]
    if values is None:
        return []
    tensor = values if isinstance(values, torch.Tensor) else torch.tensor(values)
    tensor = tensor.detach()
    if tensor.dtype in (torch.bfloat16, torch.float16):
        tensor = tensor.float()
    dtype = str(tensor.dtype).removeprefix("torch.")
    return [numpy.array(tensor.tolist(), dtype=dtype).reshape(tuple(tensor.shape))]


def programs():
    """Classes of small modules. They are defined here since only the old release knows torch."""
    import torch
    from torch import nn

    class Mlp(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(4, 8)
            self.second = nn.Linear(8, 3)

        def forward(self, x):
            return self.second(torch.relu(self.first(x)))

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(8, 24)
            self.norm = nn.LayerNorm(8)

        def forward(self, x):
            q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
            scores = torch.softmax(q @ k.transpose(-2, -1) / 8**0.5, dim=-1)
            return x + scores @ v

    class Flow(nn.Module):
        def forward(self, x, n: int):
            total = torch.zeros_like(x)
            for i in range(n):
                if float(total.sum()) > 2.0:
                    total = total * 0.5
                else:
                    total = total + x * i
            count = 0
            while count < 3 and bool((total < 1).any()):
                total = total + 0.25
                count += 1
            return total, count

    class Buffers(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.arange(4).float())
            self.register_buffer("steps", torch.tensor(3))
            self.register_buffer("empty", torch.zeros(0, 4))
            self.register_buffer("halves", torch.ones(4, dtype=torch.float16) * 0.5)
            self.scale = nn.Parameter(torch.tensor([1.0, 2.0, 3.0, 4.0]))

        def forward(self, x):
            y = torch.cat([self.empty, x.unsqueeze(0)]).mul(self.scale) - self.mean
            return y * self.steps, y + self.halves.float()

    class Conv(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(2, 4, 3, padding=1)
            self.norm = nn.BatchNorm2d(4)

        def forward(self, x):
            return torch.relu(self.norm(self.conv(x))).mean((2, 3))

    class Lstm(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(3, 5, num_layers=1, batch_first=True)

        def forward(self, x):
            y, (h, c) = self.lstm(x)
            return y, h, c

    class Embedding(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(10, 4)
            self.register_buffer("counts", torch.zeros(3))

        def forward(self, ids):
            self.counts.add_(1)
            return self.table(ids) + torch.tensor([1.0, 2.0, 3.0, 4.0]), self.counts * 2

    class Quantised(nn.Module):
        """Static quantisation, with weights per channel."""

        def __init__(self):
            super().__init__()
            self.quant = torch.ao.quantization.QuantStub()
            self.conv = nn.Conv2d(2, 4, 3)
            self.relu = nn.ReLU()
            self.head = nn.Linear(4, 3)
            self.dequant = torch.ao.quantization.DeQuantStub()

        def forward(self, x):
            y = self.relu(self.conv(self.quant(x))).mean((2, 3))
            return self.dequant(self.head(y))

    class QuantisedBuffer(nn.Module):
        """Quantised tensors that are plain buffers."""

        def __init__(self):
            super().__init__()
            x = torch.linspace(-1, 1, 12).reshape(3, 4)
            self.register_buffer("whole", torch.quantize_per_tensor(x, 0.1, 3, torch.qint8))
            self.register_buffer("channels", torch.quantize_per_channel(
                x, torch.tensor([0.1, 0.2, 0.3]), torch.tensor([0, 1, 2]), 0, torch.quint8))

        def forward(self, x):
            return x * self.whole.dequantize() + self.channels.dequantize(), self.whole.int_repr()

    return locals()


def write_programs(out):
    import numpy
    import torch

    torch.set_num_threads(1)
    torch.backends.quantized.engine = "fbgemm"
    kinds = argparse.Namespace(**programs())
    release = tuple(int(part) for part in re.findall(r"\d+", torch.__version__)[:2])
    log = open(out / "log.txt", "w")

    def keep(name, inputs, make):
        """Writes one program with its inputs and outputs. `make` returns how to write and call it."""
        try:
            torch.manual_seed(7)
            save, call = make()
            save(str(out / name))
            with torch.no_grad():
                outputs = call(*[x.clone() if isinstance(x, torch.Tensor) else x for x in inputs])
            for end, values in (("in", inputs), ("out", outputs)):
                numpy.savez(out / f"{name}.{end}.npz", **{f"v{i}": v for i, v in enumerate(arrays(values))})
        except Exception as error:  # pylint: disable=broad-except
            for path in out.glob(f"{name}*"):
                path.unlink()
            print(f"{name}: {type(error).__name__}: {str(error).strip().splitlines()[0][:200]}", file=log, flush=True)

    def scripted(make):
        module = torch.jit.script(make().eval())
        return module.save, module

    def mobile(make):
        module = torch.jit.script(make().eval())
        return module._save_for_lite_interpreter, module

    def traced(make, inputs):
        module = torch.jit.trace(make().eval(), tuple(inputs))
        return module.save, module

    def frozen(make):
        module = torch.jit.freeze(torch.jit.script(make().eval()))
        return module.save, module

    def dynamic():
        return torch.ao.quantization.quantize_dynamic(kinds.Mlp().eval(), {torch.nn.Linear}, dtype=torch.qint8)

    def dynamic_lstm():
        return torch.ao.quantization.quantize_dynamic(kinds.Lstm().eval(), {torch.nn.LSTM}, dtype=torch.qint8)

    def static():
        module = kinds.Quantised().eval()
        module.qconfig = torch.ao.quantization.get_default_qconfig("fbgemm")
        torch.ao.quantization.prepare(module, inplace=True)
        module(images)
        return torch.ao.quantization.convert(module)

    def exported(make, inputs, core=False, **options):
        program = torch.export.export(make().eval(), tuple(inputs), **options)
        if core:
            program = program.run_decompositions()
        call = program.module() if callable(getattr(program, "module", None)) else program
        return lambda path: torch.export.save(program, path), call

    images = torch.linspace(-1, 1, 2 * 2 * 5 * 5).reshape(2, 2, 5, 5)
    rows = torch.linspace(-1, 1, 8).reshape(2, 4)
    steps = torch.linspace(-1, 1, 2 * 5 * 8).reshape(2, 5, 8)
    series = torch.linspace(-1, 1, 2 * 4 * 3).reshape(2, 4, 3)
    four = torch.tensor([1.0, -2.0, 0.5, 3.0])
    ids = torch.tensor([[1, 2, 3], [4, 5, 9]])

    keep("mlp.script.pt", [rows], lambda: scripted(kinds.Mlp))
    keep("flow.script.pt", [four, 6], lambda: scripted(kinds.Flow))
    keep("buffers.script.pt", [four], lambda: scripted(kinds.Buffers))
    keep("lstm.script.pt", [series], lambda: scripted(kinds.Lstm))
    keep("attention.trace.pt", [steps], lambda: traced(kinds.Attention, [steps]))
    keep("conv.trace.pt", [images], lambda: traced(kinds.Conv, [images]))
    keep("conv.frozen.pt", [images], lambda: frozen(kinds.Conv))
    keep("lstm.frozen.pt", [series], lambda: frozen(kinds.Lstm))
    keep("buffers.mobile.ptl", [four], lambda: mobile(kinds.Buffers))
    keep("mlp.mobile.ptl", [rows], lambda: mobile(kinds.Mlp))
    keep("dynamic.quantised.pt", [rows], lambda: scripted(dynamic))
    keep("dynamic.quantised.ptl", [rows], lambda: mobile(dynamic))
    keep("static.quantised.pt", [images], lambda: scripted(static))
    keep("lstm.quantised.pt", [series], lambda: scripted(dynamic_lstm))
    keep("buffers.quantised.pt", [rows[:1]], lambda: scripted(kinds.QuantisedBuffer))
    if release < (2, 1):
        return
    import torch.export

    keep("mlp.export.pt2", [rows], lambda: exported(kinds.Mlp, [rows]))
    keep("attention.export.pt2", [steps], lambda: exported(kinds.Attention, [steps]))
    keep("buffers.export.pt2", [four], lambda: exported(kinds.Buffers, [four]))
    keep("embedding.export.pt2", [ids], lambda: exported(kinds.Embedding, [ids]))
    keep("conv.core.pt2", [images], lambda: exported(kinds.Conv, [images], core=True))
    keep("attention.core.pt2", [steps], lambda: exported(kinds.Attention, [steps], core=True))
    if hasattr(torch.export, "Dim"):
        keep("attention.dynamic.pt2", [steps], lambda: exported(
            kinds.Attention, [steps], dynamic_shapes=({0: torch.export.Dim("batch", min=2, max=64)},)))


# --- Releases -----------------------------------------------------------------------------------


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def make_gpu_libraries(torch_libraries, out):
    """Writes the libraries that those of torch want and this machine lacks. Their functions fail."""
    out.mkdir()
    wanted = set()
    versions = collections.defaultdict(set)  # library -> versions of its functions
    functions = collections.defaultdict(set)  # version -> functions
    libraries = sorted(torch_libraries.glob("*.so*"))
    for library in libraries:
        wanted.update(re.findall(r"NEEDED.*\[(.*)\]", output_of("readelf", "-dW", library)))
        file = ""
        for line in output_of("readelf", "-VW", library).splitlines():
            if found := re.search(r"File: (\S+)", line):
                file = found[1]
            elif found := re.search(r"Name: (\S+)", line):
                versions[file].add(found[1])
        for name, version in re.findall(r" U ([^\s@]+)@*(\S*)", output_of("nm", "-D", "--undefined-only", library)):
            functions[version].add(name)
    known = output_of("ldconfig", "-p")
    there = {library.name for library in libraries}
    missing = [name for name in sorted(wanted - there) if name not in known and not name.startswith("ld-linux")]
    unversioned = {name for name in functions[""] if re.match(r"(__)?(cu[a-zA-Z]|nccl|nv)", name)}
    for i, name in enumerate(missing):
        own = set().union(*(functions[version] for version in versions[name]))
        if i == 0:
            own |= unversioned
        source = out / "source.c"
        source.write_text("".join(f"int {function}(void) {{ return 999; }}\n" for function in sorted(own)))
        command = ["gcc", "-w", "-fno-builtin", "-shared", "-fPIC", f"-Wl,-soname,{name}", source, "-o", out / name]
        if versions[name]:
            script = out / "versions.map"
            script.write_text("".join(
                f"{version} {{ global: {' '.join(f'{f};' for f in sorted(functions[version]))} }};\n"
                for version in sorted(versions[name])))
            command.append(f"-Wl,--version-script={script}")
        subprocess.run(command, check=True)


def write(out, version):
    """Installs one release, lets it write its programs, and removes it."""
    scratch = out / ".scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    folder = out / version
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    site = scratch / "site"
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--no-compile", "--no-deps",
             "--target", site, f"torch=={version}", "setuptools<81"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            (folder / "log.txt").write_text(f"torch {version} is not to be had: {done.stderr[-500:]}\n")
            return
        make_gpu_libraries(site / "torch" / "lib", scratch / "gpu")
        here = next(path for path in sys.path if path.endswith("-packages"))
        environment = dict(os.environ, LD_LIBRARY_PATH=str(scratch / "gpu"), PYTHONPATH=f"{site}:{here}")
        done = subprocess.run([sys.executable, __file__, "programs", folder], env=environment, capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            with open(folder / "log.txt", "a") as log:
                log.write(f"torch {version} does not write: {done.stderr[-2000:]}\n")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


# --- What graphnet makes of them ----------------------------------------------------------------


def read_safetensors(path):
    import numpy

    kinds = {"F64": "f8", "F32": "f4", "F16": "f2", "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1", "U8": "u1",
             "BOOL": "?"}
    data = pathlib.Path(path).read_bytes()
    size = int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__" and entry["dtype"] in kinds:
            begin, end = entry["data_offsets"]
            values = numpy.frombuffer(data[8 + size + begin:8 + size + end], kinds[entry["dtype"]])
            tensors[name] = values.reshape(entry["shape"])
    return [tensors[name] for name in sorted(tensors, key=lambda name: int(name[1:]))]


def write_safetensors(path, tensors):
    import numpy

    kinds = {"float64": "F64", "float32": "F32", "int64": "I64", "int32": "I32", "bool": "BOOL"}
    header, body = {}, b""
    for name, value in tensors.items():
        content = numpy.ascontiguousarray(value).tobytes()
        header[name] = {"dtype": kinds[str(value.dtype)], "shape": list(value.shape),
                        "data_offsets": [len(body), len(body) + len(content)]}
        body += content
    text = json.dumps(header).encode()
    pathlib.Path(path).write_bytes(len(text).to_bytes(8, "little") + text + body)


def equal(left, right):
    """Bit for bit; None if there is nothing to compare with."""
    if left is None or right is None:
        return None
    return len(left) == len(right) and all(
        a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in zip(left, right))


def by_pytorch(path, inputs):
    """The outputs of this Python's PyTorch; None if it cannot run the program."""
    import logging

    import torch

    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    tensors = [torch.tensor(value) for value in inputs]
    try:
        with torch.no_grad():
            if path.suffix == ".pt2":
                try:
                    return arrays(torch.export.load(str(path)).module()(*tensors))
                except Exception:  # pylint: disable=broad-except
                    return by_new_export(path, tensors)
            module = torch.jit.load(str(path))
            kinds = [str(argument.type) for argument in module.forward.schema.arguments[1:]]
            return arrays(module(*(t.item() if kind == "int" else t for t, kind in zip(tensors, kinds))))
    except Exception:  # pylint: disable=broad-except
        return None


def by_new_export(path, tensors):
    """What this PyTorch computes for the program from which a release made the archive."""
    import torch

    kind, form = path.name.split(".")[:2]
    torch.manual_seed(7)
    program = torch.export.export(programs()[kind.capitalize()]().eval(), tuple(tensors))
    if form == "core":
        program = program.run_decompositions()
    return arrays(program.module()(*tensors))


def verdict(path, graphnet, scratch):
    """(read, run, bits of the release, bits of this PyTorch), and what went wrong."""
    import numpy

    def values(end):
        with numpy.load(f"{path}.{end}.npz") as stored:
            return [stored[f"v{i}"] for i in range(len(stored.files))]

    inputs, expected = values("in"), values("out")
    shown = subprocess.run([graphnet, "show", path], capture_output=True, text=True, check=False)
    if shown.returncode != 0:
        return (False, False, None, None), shown.stderr.strip()
    head = shown.stdout[shown.stdout.index("graph @"):]
    head = head[:head.index(") {")]
    names = [name for name, rest in re.findall(r"^\s+%([\w.]+)(.*)$", head, re.M)] or re.findall(r"%([\w.]+)", head)
    command = [graphnet, "run", path, "--threads", "1", "--inputs", scratch / "in.safetensors", "-o", scratch / "out.safetensors"]
    write_safetensors(scratch / "in.safetensors", dict(zip(names, inputs)))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return (True, False, None, None), done.stderr.strip()
    got = read_safetensors(scratch / "out.safetensors")
    return (True, True, equal(got, expected), equal(got, by_pytorch(path, inputs))), ""


KINDS = ["script.pt", "trace.pt", "frozen.pt", "mobile.ptl", "quantised.pt", "quantised.ptl", "export.pt2", "core.pt2",
         "dynamic.pt2"]


def table(out, graphnet, kinds):
    """Prints the table: a line a release, a column a kind."""
    releases = sorted((path for path in out.iterdir() if re.fullmatch(r"[\d.]+", path.name)),
                      key=lambda path: [int(part) for part in path.name.split(".")])
    print("| release |", " | ".join(kinds), "|")
    print("|---" * (len(kinds) + 1) + "|")
    problems = []
    with tempfile.TemporaryDirectory() as scratch:
        for release in releases:
            cells = []
            for kind in kinds:
                found = []
                for path in sorted(release.glob(f"*.{kind}")):
                    marks, why = verdict(path, graphnet, pathlib.Path(scratch))
                    found.append(marks)
                    if not marks[3]:
                        problems.append(f"{release.name}/{path.name}: {why or marks}")
                if not found:
                    cells.append("–")
                    continue
                # Of as many programs: read, run, bits of the release, bits of this PyTorch.
                counts = [sum(marks[i] is True for marks in found) for i in range(4)]
                cells.append(" ".join(map(str, counts)) + f" of {len(found)}")
            print(f"| {release.name} |", " | ".join(cells), "|", flush=True)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(dest="step", required=True)
    step = steps.add_parser("write")
    step.add_argument("out", type=pathlib.Path)
    step.add_argument("versions", nargs="+")
    step = steps.add_parser("programs")  # what `write` starts in the release
    step.add_argument("out", type=pathlib.Path)
    step = steps.add_parser("table")
    step.add_argument("out", type=pathlib.Path)
    step.add_argument("--graphnet", required=True)
    step.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    args = parser.parse_args()
    if args.step == "table":
        return table(args.out, args.graphnet, args.kinds)
    if args.step == "programs":
        write_programs(args.out)
    else:
        for version in args.versions:
            write(args.out.resolve(), version)
            print(version, len(list((args.out / version).glob("*.in.npz"))), "programs", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
