#!/usr/bin/env python3
"""Writes programs in every form, reads what was written, and compares.

    check_writers.py [--graphnet G] [--count N] [--seed N] [--keep FOLDER] [PROGRAM...]

Without PROGRAM, this Python's PyTorch makes odd programs, as torch.jit.script and as torch.export:
tensors without elements and without dimensions, of every dtype, shared, strided and transposed
ones, channels last, no weights at all, odd names. Each is converted to protobuf, .pt, .pt2, text
and a GraphNet folder. A form may refuse a program in one line. What it writes must pass `check`,
and, where the form has weights, run with the program's bits and have as many elements of
parameters. Text and folders have no weights; they must have as many outputs. An odd program that
PyTorch made must run with PyTorch's bits in the first place.
"""

import argparse
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")

FORMS = {"pb": "x.pb", "pt": "x.pt", "pt2": "x.pt2", "text": "x.gn", "folder": "x_folder"}
WITH_WEIGHTS = ("pb", "pt", "pt2")


# --- Programs ---------------------------------------------------------------------------------------


def odd_module(torch, rng):
    """A module with odd tensors, and its input. Its result depends on each of them."""
    dtypes = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.int16, torch.int32,
              torch.int64, torch.uint8, torch.bool, torch.complex64]
    names = ["weight", "bias", "class_", "_0", "W", "a_b", "lambda_", "x1", "self_", "Ünï", "running_mean", "input"]

    def tensor():
        shape = rng.choice([(), (0,), (1,), (3,), (2, 3), (1, 3), (3, 1), (0, 3), (2, 1, 3), (2, 3, 1, 1)])
        dtype = rng.choice(dtypes)
        values = torch.randn(shape) * 3
        made = values > 0 if dtype == torch.bool else values.to(dtype)
        way = rng.randrange(6)
        if way == 0:
            made = made.transpose(0, -1) if made.dim() > 1 else made
        elif way == 1 and made.dim() == 4:
            made = made.to(memory_format=torch.channels_last)
        elif way == 2 and made.dim() > 0:
            made = torch.stack([made, made], -1)[..., 0]  # every other element of a storage
        elif way == 3:
            made = made.expand(2, *made.shape)
        return made

    module = torch.nn.Module()
    count = rng.choice([0, 1, 1, 2, 3, 4])
    chosen = rng.sample(names, count)
    tensors = []
    for name in chosen:
        if tensors and rng.random() < 0.3:
            value = rng.choice(tensors)  # one tensor with two names
        else:
            value = tensor()
            if rng.random() < 0.4 and value.is_floating_point():
                value = torch.nn.Parameter(value)
        tensors.append(value)
        if isinstance(value, torch.nn.Parameter):
            module.register_parameter(name, value)
        else:
            module.register_buffer(name, value)
    if count > 1 and rng.random() < 0.3:  # a view of another one's memory
        base = tensors[0]
        if base.dim() > 0 and not isinstance(base, torch.nn.Parameter):
            module.register_buffer("view", base[:1])
            chosen.append("view")
    operations = []
    for name in chosen:
        operations.append(rng.choice([f"self.{name} * 2", f"self.{name}.clone()", f"torch.cat([self.{name}.flatten()] * 2)",
                                      f"self.{name}.sum()", f"self.{name}.to(torch.float32) + x.sum()"]))
    if rng.random() < 0.5 or not operations:
        operations.append(rng.choice(["x * 2", "torch.zeros(0)", "x.sum()", "torch.relu(x)"]))
    body = f"def forward(self, x):\n    return ({', '.join(operations)},)\n"
    return module, body, rng.choice([torch.randn(2, 3), torch.randn(()), torch.randn(0, 3), torch.randn(1)])


def known_modules(torch):
    """Programs of kinds that once failed: (name, module, input)."""
    nn = torch.nn

    class Cache(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("cache", torch.zeros(0))
            self.scale = nn.Parameter(torch.tensor(2.0))

        def forward(self, x):
            return torch.cat([self.cache, x * self.scale])

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(5, 4)
            self.head = nn.Linear(4, 5, bias=False)
            self.head.weight = self.table.weight

        def forward(self, x):
            return self.head(torch.relu(x))

    yield "cache", Cache(), torch.randn(3)
    yield "tied", Tied(), torch.randn(2, 4)
    for name, make in {"depthwise": lambda: nn.Conv2d(8, 8, 3, groups=8), "one": lambda: nn.Conv2d(1, 4, 3),
                       "point": lambda: nn.Conv2d(8, 4, 1)}.items():
        module = make().to(memory_format=torch.channels_last)
        channels = module.in_channels
        yield name, module, torch.randn(2, channels, 6, 6)
        yield name + "_last", module, torch.randn(2, channels, 6, 6).to(memory_format=torch.channels_last)


def write_programs(out, count, seed):
    """Writes programs with their inputs and outputs (NAME.in, NAME.out, as safetensors by name)."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    rng = random.Random(seed)
    programs = list(known_modules(torch))
    while len(programs) < count:
        module, body, x = odd_module(torch, rng)
        place = out / f"odd_{len(programs)}.py"
        place.write_text(f"import torch\n\n\nclass M(torch.nn.Module):\n    {body.replace(chr(10), chr(10) + '    ').rstrip()}\n")
        space = {}
        exec(compile(place.read_text(), str(place), "exec"), space)  # pylint: disable=exec-used
        sys.modules[f"odd_{len(programs)}"] = space
        module.__class__ = space["M"]
        programs.append((f"odd_{len(programs)}", module, x))
    written = []
    for name, module, x in programs:
        for form in ("script.pt", "export.pt2"):
            path = out / f"{name}.{form}"
            try:
                with torch.no_grad():
                    if form == "script.pt":
                        torch.jit.script(module.eval()).save(str(path))
                        outputs = torch.jit.load(str(path))(x)
                    else:
                        program = torch.export.export(module.eval(), (x,))
                        torch.export.save(program, str(path))
                        outputs = torch.export.load(str(path)).module()(x)
            except Exception as error:  # pylint: disable=broad-except
                # PyTorch itself cannot write it.
                print(f"{path.name}: not written: {type(error).__name__}", file=sys.stderr)
                path.unlink(missing_ok=True)
                continue
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            written.append((path, x, [o.detach() for o in outputs]))
    return written


# --- Files of tensors -------------------------------------------------------------------------------

KINDS = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32",
         "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL", "complex64": "C64"}


def read_tensors(path):
    """Name -> (dtype, shape, bytes)."""
    data = pathlib.Path(path).read_bytes()
    size = int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            tensors[name] = (entry["dtype"], tuple(entry["shape"]), data[8 + size + begin:8 + size + end])
    return tensors


def content(tensor):
    """The elements of a tensor in row-major order."""
    import torch

    plain = tensor.contiguous()
    if plain.numel() == 0:
        return b""
    return bytes(plain.reshape(-1).view(torch.uint8).tolist()) if plain.dtype != torch.bool else bytes(
        plain.reshape(-1).to(torch.uint8).tolist())


def write_input(path, name, tensor):
    data = content(tensor)
    entry = {"dtype": KINDS[str(tensor.dtype).removeprefix("torch.")], "shape": list(tensor.shape),
             "data_offsets": [0, len(data)]}
    text = json.dumps({name: entry}).encode()
    pathlib.Path(path).write_bytes(len(text).to_bytes(8, "little") + text + data)


# --- What graphnet makes of them -----------------------------------------------------------------


class Judge:
    def __init__(self, graphnet, scratch):
        self.graphnet, self.scratch = graphnet, scratch
        self.wrong, self.refused, self.equal = [], 0, 0

    def call(self, *arguments):
        return subprocess.run([self.graphnet, *map(str, arguments)], capture_output=True, text=True, check=False)

    def facts(self, path):
        """The inputs and outputs of a program, and its parameters and buffers."""
        done = self.call("stats", "--json", path)
        if done.returncode != 0:
            return None
        found = json.loads(done.stdout)
        found = found[0] if isinstance(found, list) else found
        found = found.get("samples", [found])[0]
        return {key: found[key] for key in ("num_inputs", "num_outputs", "parameter_elements") if key in found}

    def run(self, path, inputs, out):
        done = self.call("run", path, "--threads", "1", *inputs, "-o", out)
        return read_tensors(out) if done.returncode == 0 else done.stderr.strip().splitlines()[-1]

    def judge(self, path, x=None, expected=None):
        inputs = ["--seed", "3"]
        if x is not None:
            shown = self.call("show", path)
            if shown.returncode != 0:
                self.wrong.append(f"{path.name}: not read: {shown.stderr.strip()}")
                return
            head = shown.stdout[shown.stdout.index("graph @"):]
            names = re.findall(r"%([^\s:,)]+)", head[:head.index(") {")])
            write_input(self.scratch / "in.safetensors", names[0] if names else "x", x)
            inputs = ["--inputs", self.scratch / "in.safetensors"] if names else []
        before = self.run(path, inputs, self.scratch / "a.safetensors")
        if isinstance(before, str):
            if x is None:
                return  # it cannot run without values
            self.wrong.append(f"{path.name}: does not run: {before}")
            return
        if expected is not None:
            wanted = {f"o{i}": (KINDS[str(o.dtype).removeprefix('torch.')], tuple(o.shape), content(o))
                      for i, o in enumerate(expected)}
            if before != wanted:
                self.wrong.append(f"{path.name}: PyTorch computes something else")
        facts = self.facts(path)
        for form, name in FORMS.items():
            target = self.scratch / name
            subprocess.run(["rm", "-rf", target, target.with_suffix(".safetensors")], check=True)
            done = self.call("convert", path, target)
            said = done.stderr.strip()
            if done.returncode != 0:
                self.refused += 1
                errors = [line for line in said.splitlines() if line.startswith("graphnet: ")]
                if done.returncode < 0 or len(errors) != 1:
                    self.wrong.append(f"{path.name} to {form}: exit code {done.returncode}: {said}")
                continue
            checked = self.call("check", target)
            if checked.returncode != 0:
                self.wrong.append(f"{path.name} as {form}: {checked.stdout.strip()} {checked.stderr.strip()}")
                continue
            after = self.facts(target)
            keys = facts if form in WITH_WEIGHTS else ("num_outputs",)
            if after is None or any(after.get(key) != facts.get(key) for key in keys if key in facts):
                self.wrong.append(f"{path.name} as {form}: {facts} became {after}")
            if form in WITH_WEIGHTS:
                got = self.run(target, inputs, self.scratch / "b.safetensors")
                if got != before:
                    self.wrong.append(f"{path.name} as {form}: "
                                      f"{got if isinstance(got, str) else 'has other outputs'}")
                    continue
            self.equal += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", type=pathlib.Path)
    parser.add_argument("--graphnet", default="bazel-bin/graphnet/cli/graphnet")
    parser.add_argument("--count", type=int, default=200, help="programs that PyTorch makes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path, help="keep the programs in this new folder")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        judge = Judge(args.graphnet, pathlib.Path(scratch))
        folder = args.keep or pathlib.Path(scratch) / "programs"
        folder.mkdir(parents=True)
        for path in args.programs:
            judge.judge(path)
        if not args.programs:
            for path, x, expected in write_programs(folder, args.count, args.seed):
                judge.judge(path, x, expected)
    for problem in judge.wrong:
        print(problem)
    print(f"{judge.equal} forms hold what they were made of, {judge.refused} were refused, {len(judge.wrong)} are wrong")
    return 1 if judge.wrong or judge.equal == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
