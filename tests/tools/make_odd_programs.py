#!/usr/bin/env python3
"""Writes programs that are odd in what they hold, with inputs and PyTorch's outputs.

    make_odd_programs.py FOLDER [--count N] [--seed N] [--only REGEX]

Each has some of: weights without elements and without dimensions, of every dtype; shared, transposed,
expanded, sparse in their storage, channels last, overlapping; no weights at all; names with blanks,
dots, quotes, in other alphabets, keywords of Python and C++; no inputs; inputs that nothing uses,
that are returned, that are lists, dictionaries, numbers, None; one value that is returned twice;
weights and numbers as outputs; outputs within tuples, lists and dictionaries.

For each program there are NAME.pt2 (torch.export) or NAME.pt (scripted or traced), and
NAME.0.in.safetensors and NAME.0.out.safetensors as make_field_programs.py has them. Programs in text
(NAME.gn) have names that no module can have, and neither weights nor outputs beside them.
What PyTorch itself cannot write is counted. check_writers.py takes them through all formats.
"""

import argparse
import importlib.util
import keyword
import pathlib
import random
import re
import sys
import typing
import warnings

import torch
from torch import nn

import check_languages as languages
import in_pytorch
import make_field_programs as field

warnings.filterwarnings("ignore")

DTYPES = [getattr(torch, name) for name in (
    "float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex32 complex64 complex128 "
    "float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu").split()]
SHAPES = [(), (0,), (1,), (3,), (2, 3), (1, 3), (3, 1), (0, 3), (3, 0, 2), (2, 1, 3), (2, 3, 1, 1), (2, 3, 2, 2), (1, 2, 1, 2, 1)]
LAYOUTS = ["plain", "transposed", "channels_last", "sparse", "expanded", "window", "offset"]
NAMES = ["weight", "bias", "class_", "_0", "W", "a_b", "lambda_", "x1", "self_", "Ünï", "日本", "running_mean", "input", "class",
         "lambda", "int", "template", "None", "a b", " ", "a'b", 'a"b', "a-b", "a/b", "1", "forward_", "%x", "α", "a\tb", "a\nb",
         "x" * 200, "training_", "output", "self", "torch", "o0", "__p", "p_weight", "b_weight", "_storage_weight_1", "}", "\\"]
PLAIN = [torch.float32, torch.float64, torch.int64]


def tensor(rng, dtype, shape, layout):
    """A tensor of a dtype and shape whose elements lie in memory in an odd way, where the shape has such."""
    def values(*sizes):
        made = torch.randn(sizes) * 3
        if dtype == torch.bool:
            return made > 0
        if not dtype.is_floating_point and not dtype.is_signed and not dtype.is_complex:
            made = made.abs()
        return made.to(dtype)

    if layout == "transposed" and len(shape) > 1:
        return values(*shape[::-1]).permute(*range(len(shape))[::-1])
    if layout == "channels_last" and len(shape) in (4, 5):
        last = list(range(len(shape)))
        return values(shape[0], *shape[2:], shape[1]).permute(0, last[-1], *last[1:-1])
    if layout == "sparse" and shape:  # every other element of a storage
        return values(*shape, 2)[..., 0]
    if layout == "expanded":
        return values(*shape).expand(2, *shape)
    if layout == "window" and shape == (2, 3):  # rows that overlap
        return values(4).unfold(0, 3, 1)
    if layout == "offset":
        return values(2, *shape)[1]
    return values(*shape)


class Maker:
    """Draws one module: its members, its source text, its inputs."""

    def __init__(self, rng, turn, form):
        self.rng, self.turn, self.form = rng, turn, form
        self.members, self.lines, self.values, self.annotations = [], [], [], {}

    def seen(self, text, dtype):
        """An expression whose value a file of tensors can hold."""
        if dtype in (torch.complex128, torch.complex32):
            return f"torch.view_as_real({text})"
        return text

    def members_of(self):
        rng = self.rng
        module = nn.Module()
        count = rng.choice([0, 1, 1, 2, 3, 5])
        # PyTorch's own source text has no quotes around the names of members.
        spelled = [name for name in NAMES if name.isidentifier() and not keyword.iskeyword(name)]
        names = rng.sample(NAMES if self.form == "export" and rng.random() < 0.5 else spelled, count)
        for i, name in enumerate(names):
            # Each dtype and each layout has its turn.
            dtype = DTYPES[(self.turn + 7 * i) % len(DTYPES)] if rng.random() < 0.7 else torch.float32
            layout = LAYOUTS[(self.turn // 2 + i) % len(LAYOUTS)]
            shape = rng.choice(SHAPES[4:] if layout != "plain" and rng.random() < 0.6 else SHAPES)
            if layout == "window":
                shape = (2, 3)
            made = tensor(rng, dtype, shape, layout)
            tensors = [value for _, value in self.members]
            way = rng.random()
            if tensors and way < 0.2:
                made = rng.choice(tensors)  # one tensor with two names
            elif tensors and way < 0.4:  # a view of another's memory
                base = rng.choice(tensors).detach()
                made = base.unsqueeze(0) if base.dim() < 1 else rng.choice([base[:1], base[:0], base.transpose(0, -1), base.detach()])
            elif (made.is_floating_point() or made.is_complex()) and rng.random() < 0.4:
                made = nn.Parameter(made, requires_grad=rng.random() < 0.8)
            place, leaf = module, name
            if rng.random() < 0.3:  # a member of a submodule
                leaf = rng.choice(["weight", name])
                within = f"{name}_of" if rng.random() < 0.5 else f"sub{i}"
                place = nn.Module()
                module.add_module(within, place)
                text = f"self.{within}" if within.isidentifier() else f"getattr(self, {within!r})"
            else:
                text = "self"
            if isinstance(made, nn.Parameter):
                place.register_parameter(leaf, made)
            else:
                place.register_buffer(leaf, made, persistent=rng.random() < 0.9)
            spelled = leaf.isidentifier() and not keyword.iskeyword(leaf) and not leaf.startswith("__")
            text = f"{text}.{leaf}" if spelled else f"getattr({text}, {leaf!r})"
            self.members.append((text, made))
        return module

    def inputs(self):
        rng = self.rng
        kinds = {
            "x": lambda: ("torch.Tensor", tensor(rng, rng.choice(PLAIN), rng.choice(SHAPES[:6]), "plain")),
            "odd": lambda: ("torch.Tensor", tensor(rng, rng.choice([d for d in DTYPES if d in in_pytorch.DTYPES]), rng.choice(SHAPES), "plain")),
            "image": lambda: ("torch.Tensor", tensor(rng, torch.float32, (2, 3, 2, 2), "plain")),
        }
        names = rng.sample(["x", "input", "self_", "o0", "ä", "class_", "weight", "_1", "y", "output", "print", "int", "N", "forward"],
                           rng.choice([0, 1, 1, 2, 3]))
        self.args = []
        for name in names:
            annotation, value = kinds[rng.choice(["x", "x", "odd", "image"])]()
            way = rng.random() + (1 if self.form == "trace" else 0)
            if way < 0.1:
                annotation, value = "List[torch.Tensor]", [value, torch.randn(2)]
            elif way < 0.2:
                annotation, value = "Dict[str, torch.Tensor]", {"b": value, "a": torch.randn(2)}
            elif way < 0.25:
                annotation, value = "Optional[torch.Tensor]", None
            elif way < 0.3:
                annotation, value = "Tuple[torch.Tensor, torch.Tensor]", (value, torch.randn(()))
            self.annotations[name] = annotation
            self.args.append(value)
            if rng.random() < 0.2:
                continue  # nothing uses it
            if isinstance(value, torch.Tensor):
                self.use(name, value)
            elif annotation.startswith(("List", "Tuple")):
                self.use(f"{name}[1]", value[1])
            elif annotation.startswith("Dict"):
                self.use(f'{name}["a"]', value["a"])
                self.use(f'{name}["b"]', value["b"])

    def use(self, text, value):
        rng, dtype = self.rng, value.dtype
        plain = dtype in (torch.float32, torch.float64, torch.int64, torch.int32, torch.complex64, torch.float16, torch.bfloat16)
        ways = [text, f"{text}.clone()", f"{text}.detach()"]
        if plain:
            ways += [f"{text} * 2", f"torch.cat([{text}.flatten()] * 2)", f"{text}.sum()", f"{text}.t()" if value.dim() < 3 else text,
                     f"{text} + {text}", f"{text}.unsqueeze(0)", f"{text}.reshape(-1)"]
        elif not dtype.is_complex:
            ways += [f"{text}.to(torch.float32)", f"{text}.to(torch.float32) + 1"]
        if value.dim() > 0 and value.shape[0] > 0:
            ways += [f"{text}[0]"]
        self.values.append(self.seen(rng.choice(ways), dtype))

    def source(self):
        rng = self.rng
        for text, value in self.members:
            if rng.random() < 0.9:
                self.use(text, value)
                if rng.random() < 0.12 and not isinstance(value, nn.Parameter) and value.dtype in PLAIN:
                    self.lines.append(f"{text}.add_(1)" if self.turn % 2 else f"{text}.zero_()")
        values = list(self.values)
        if rng.random() < 0.3 or not values:
            values.append(rng.choice(["torch.zeros(0)", "torch.ones(2, 0)", "torch.arange(3)", "torch.full((), 2.5)", "torch.eye(2)"]))
        if rng.random() < 0.3:
            values.append(rng.choice(values))  # twice
        named = []
        for i, value in enumerate(values):
            self.lines.append(f"v{i} = {value}")
            named.append(f"v{i}")
        if rng.random() < 0.2:
            named.append(named[0])
        way = rng.randrange(2 if self.form == "trace" else 7)
        whole = f"({', '.join(named)},)"
        if way == 0 and len(named) == 1:
            whole = named[0]
        elif way == 1:
            whole = f"[{', '.join(named)}]"
        elif way == 2:
            whole = "{" + ", ".join(f'{key!r}: {name}' for key, name in zip(["b", "a b", "class", "", "é", "0", "c", "d", "e", "f"], named)) + "}"
        elif way == 3:
            whole = f"({named[0]}, ({', '.join(named)},), [{named[-1]}])"
        elif way == 4:
            whole = f"({', '.join(named)}, None)"
        elif way == 5:
            whole = f"({', '.join(named)}, {rng.choice(['3', '2.5', 'True'])})"
        arguments = "".join(f", {name}: {kind}" for name, kind in self.annotations.items())
        body = "\n        ".join([*self.lines, f"return {whole}"])
        return ("from typing import Dict, List, Optional, Tuple\nimport torch\n\n\nclass M(torch.nn.Module):\n"
                f"    def forward(self{arguments}):\n        {body}\n")


def known_modules():
    """Programs of kinds that once failed: (name, module, inputs)."""
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

    class Written(nn.Module):
        """Buffers that are views of one storage, one of which is written to."""

        def __init__(self):
            super().__init__()
            whole = torch.arange(12.0).reshape(3, 4)
            self.register_buffer("whole", whole)
            self.register_buffer("row", whole[1])
            self.register_buffer("turned", whole.t())

        def forward(self, x):
            self.whole.add_(1)
            return self.row * x, self.turned + 0

    class Names(nn.Module):
        """Inputs with the names of weights, of a submodule, of what TorchScript reads as words."""

        def __init__(self):
            super().__init__()
            self.register_buffer("int", torch.ones(3, dtype=torch.complex128))
            self.int_ = nn.Parameter(torch.full((3,), 2.0))
            self.weight = nn.Parameter(torch.full((3,), 3 + 1j, dtype=torch.complex32))
            self.y = nn.Linear(3, 3)

        def forward(self, int, y, weight):
            return int * self.int_, self.y(y), weight + torch.view_as_real(self.weight)[:, 0], torch.view_as_real(self.int)

    yield "names", Names(), [torch.randn(3), torch.randn(3), torch.randn(3)]
    yield "cache", Cache(), [torch.randn(3)]
    yield "tied", Tied(), [torch.randn(2, 4)]
    yield "written", Written(), [torch.randn(4)]
    for name, make in {"depthwise": lambda: nn.Conv2d(8, 8, 3, groups=8), "one": lambda: nn.Conv2d(1, 4, 3),
                       "point": lambda: nn.Conv2d(8, 4, 1)}.items():
        module = make().to(memory_format=torch.channels_last)
        image = torch.randn(2, module.in_channels, 6, 6)
        yield name, module, [image]
        yield name + "_last", module, [image.to(memory_format=torch.channels_last)]


def odd_module(rng, turn, form, folder):
    maker = Maker(rng, turn, form)
    module = maker.members_of()
    maker.inputs()
    place = folder / f"odd_{turn}.py"
    place.write_text(maker.source())
    spec = importlib.util.spec_from_file_location(place.stem, place)
    made = importlib.util.module_from_spec(spec)
    sys.modules[place.stem] = made
    spec.loader.exec_module(made)
    module.__class__ = made.M
    return module, maker.args


def leaves(name, value):
    """The tensors of an input by the names by which they are given."""
    if isinstance(value, torch.Tensor):
        return {name: value}
    if isinstance(value, dict):
        return {k: v for key in value for k, v in leaves(f"{name}.{key}", value[key]).items()}
    if isinstance(value, (list, tuple)):
        return {k: v for i, one in enumerate(value) for k, v in leaves(f"{name}.{i}", one).items()}
    return {}


def write(form, path, module, args, folder):
    name = path.name.rsplit(".", 1)[0]
    with torch.no_grad():
        if form == "export":
            torch.export.save(torch.export.export(module.eval(), tuple(in_pytorch.copied(args))), str(path))
            in_pytorch.write_calls(name, in_pytorch.Program(module, [(tuple(args), {})]), path, folder)
            return
        if form == "script":
            made = torch.jit.script(module.eval())
        else:
            made = torch.jit.trace(module.eval(), tuple(in_pytorch.copied(args)), check_trace=False, strict=False)
        made.save(str(path))
        loaded = torch.jit.load(str(path))
        names = [argument.name for argument in loaded.forward.schema.arguments][1:]
        given = {key: value for n, a in zip(names, args) for key, value in leaves(n, a).items()}
        in_pytorch.write_safetensors(given, folder / f"{name}.0.in.safetensors")
        in_pytorch.write_safetensors(field.values(loaded(*in_pytorch.copied(args))), folder / f"{name}.0.out.safetensors")


def text_program(rng, turn):
    """A program in text with hostile names of values, inputs, attributes, modules and the sample."""
    names = list(dict.fromkeys(rng.choice(languages.PARTS + NAMES) + rng.choice(["", "", str(i)]) for i in range(12)))
    quoted = [languages.quoted(name) for name in names]
    dtypes = ["f32", "f64", "f16", "bf16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool", "c64", "c128", "f8e4m3fn"]
    kind = dtypes[turn % len(dtypes)] + rng.choice(["[]", "[0]", "[2, 3]", "[1]"])
    return "\n".join([
        "graphnet.sample 1", f"name = {quoted[0]}", "graphnet.module 1", "",
        f"attribute {quoted[1]} : {kind}@cpu" + rng.choice([" as torch.nn.parameter.Parameter", ""]),
        f"graph @forward(%{quoted[2]} {quoted[3]} : f32[2, 3]@cpu, %{quoted[4]} {quoted[5]} : {kind}@cpu) {{",
        f"  %{quoted[6]} = get_attr {quoted[1]} : {kind}@cpu",
        f"  %{quoted[7]} = torch.add(%{quoted[2]}, 1) in {quoted[8] if len(quoted) > 8 else quoted[0]}",
        f"  return (%{quoted[7]}, %{quoted[6]}, %{quoted[4]}, %{quoted[7]})", "}", "end", ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=200, help="programs to write (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="write only the programs whose names this regular expression matches")
    args = parser.parse_args()
    sources = args.folder / "sources"
    sources.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    rng = random.Random(args.seed)
    torch.manual_seed(args.seed)
    made, refused = 0, 0
    known = list(known_modules())

    def drawn() -> typing.Iterator[tuple]:
        for name, module, inputs in known[: max(3, args.count // 8)]:
            yield name, module, inputs, ("script", "export")
        for number in range(10 * args.count):
            form = ["script", "export", "export", "script", "trace"][number % 5]
            yield (f"odd_{number}", *odd_module(rng, number, form, sources), (form,))

    for number in range(args.count // 8):
        text = text_program(rng, number)
        made += 1
        if re.search(args.only, f"text_{number}"):
            (args.folder / f"text_{number}.gn").write_text(text)
    for name, module, inputs, forms in drawn():
        for form in forms:
            path = args.folder / f"{name}.{form}.{'pt2' if form == 'export' else 'pt'}"
            if made >= args.count:
                break
            try:
                if re.search(args.only, path.name):
                    write(form, path, module, inputs, args.folder)
                made += 1
            except Exception as error:  # pylint: disable=broad-except
                refused += 1
                print(f"{path.name}: PyTorch does not write or call it: {type(error).__name__}: "
                      f"{str(error).strip().splitlines()[0][:150] if str(error).strip() else ''}")
                for left in args.folder.glob(f"{path.name.rsplit('.', 1)[0]}.*"):
                    left.unlink()
    print(f"{made} programs, {refused} that PyTorch does not write")
    return 0 if made else 1


if __name__ == "__main__":
    sys.exit(main())
