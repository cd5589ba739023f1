"""Suites of compare.py on files of PyTorch: programs, models, archives of other releases and versions."""

import argparse
import copy
import functools
import io
import json
import logging
import pathlib
import random
import zipfile
from typing import Any, Dict, Iterator, List, Optional, Tuple

import torch

import in_pytorch
from compare import Failed, Run, Suite

FLOATS_AS_HALF = (torch.float16, torch.bfloat16)


class Programs(Suite):
    """Runs programs of torch.export whose inputs and outputs lie beside them; without a folder, those that
make_pt2_programs.py makes.

Dtypes, shapes and bits must agree, and calls that PyTorch refuses must be refused in one line. With
--through-pt2 graphnet writes each program, and PyTorch runs what it wrote; with --same, too, its JSON has to
be that of the original, field by field.
"""

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("folder", type=pathlib.Path, nargs="?")
        parser.add_argument("names", nargs="*", metavar="NAME")
        parser.add_argument("--through-pt2", action="store_true")
        parser.add_argument("--same", action="store_true")

    def run(self, run: Run) -> None:
        import make_pt2_programs  # which has the classes that inputs and outputs are of, too

        logging.disable(logging.CRITICAL)
        torch.set_num_threads(1)
        if not run.args.folder:
            run.args.folder, programs = run.scratch / "programs", make_pt2_programs.build()
            in_pytorch.write_programs(programs, run.args.folder, list(programs)[in_pytorch.shard()])
        for path in sorted(run.args.folder.glob("*.pt2")):
            if not run.args.names or path.stem in run.args.names:
                try:
                    run.tell(path.name, self.check(run, path))
                except Failed as error:
                    run.tell(path.name, str(error))

    def check(self, run: Run, path: pathlib.Path) -> str:
        """What differs, over all calls."""
        run_it = functools.partial(run.outputs, path)
        if run.args.through_pt2:
            written = run.scratch / "written.pt2"
            run.graphnet("convert", path, written)
            if run.args.same and in_pytorch.program_json(path) != in_pytorch.program_json(written):
                return "the JSON is another"

            def run_it(inputs: pathlib.Path, *words: object) -> Dict[str, torch.Tensor]:
                program = torch.export.load(str(written))
                try:
                    return in_pytorch.call_exported(program, in_pytorch.read_safetensors(inputs), repeat=2 if words else 1)
                except Exception as error:  # Whatever it raises is a refusal.
                    raise Failed(f"exit status 2: {in_pytorch.one_line(error)}") from None
        stem = path.name.removesuffix(".pt2")
        for inputs in sorted(path.parent.glob(f"{stem}.*.in.safetensors")):
            call = str(inputs).removesuffix(".in.safetensors")
            what = in_pytorch.compare(in_pytorch.read_safetensors(pathlib.Path(f"{call}.out.safetensors")), run_it(inputs))
            again = pathlib.Path(f"{call}.again.safetensors")
            if not what and again.exists():
                what = in_pytorch.compare(in_pytorch.read_safetensors(again), run_it(inputs, "--repeat", 2))
            if what:
                return f"{inputs.name}: {what}"
        for inputs in sorted(path.parent.glob(f"{stem}.*.refused.safetensors")):
            try:
                run_it(inputs)
                return f"{inputs.name} is not refused"
            except Failed as error:
                if "exit status 2: " not in str(error) or "\n" in str(error):
                    return f"{inputs.name} is not refused in one line: {error}"
        return ""


class Models(Suite):
    """Runs models that lie in a folder as NAME.pt2, and as NAME.pt beside NAME.json with the shapes of its inputs.

Both sides get inputs drawn as the examples or the JSON say; PyTorch runs torch.export.load(NAME.pt2).module()
and torch.jit.load(NAME.pt).
"""

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("folder", type=pathlib.Path)
        parser.add_argument("names", nargs="*", metavar="NAME")

    def run(self, run: Run) -> None:
        torch.set_num_threads(1)
        for path in sorted(run.args.folder.rglob("*.pt")) + sorted(run.args.folder.rglob("*.pt2")):
            if run.args.names and path.stem not in run.args.names:
                continue
            try:
                module, drawn = (exported if path.suffix == ".pt2" else scripted)(path, run.args.seed)
                torch.manual_seed(run.args.seed)
                found = run.outputs(path, drawn, seed=run.args.seed)
                with torch.no_grad():
                    expected = in_pytorch.outputs(module(*drawn.values()))
                run.tell(path.name, in_pytorch.compare(expected, found))
            except Exception as error:  # Whatever a model raises is a result.
                run.tell(path.name, str(error) if isinstance(error, Failed) else in_pytorch.one_line(error))


def exported(path: pathlib.Path, seed: int) -> Tuple[Any, Dict[str, torch.Tensor]]:
    """A program of torch.export and inputs by name, drawn like its examples."""
    program = torch.export.load(str(path))
    generator = torch.Generator().manual_seed(seed)
    (examples, kwargs) = program.example_inputs
    names = [spec.arg.name for spec in program.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
    drawn = [torch.randn(e.shape, generator=generator).to(e.dtype) if e.is_floating_point() else
             torch.randint(int(e.min()), int(e.max()) + 1, e.shape, generator=generator).to(e.dtype) for e in examples]
    return functools.partial(program.module(), **kwargs), dict(zip(names, drawn, strict=True))


def scripted(path: pathlib.Path, seed: int) -> Tuple[Any, Dict[str, torch.Tensor]]:
    """An archive of TorchScript and inputs by name, drawn as NAME.json says."""
    specs = json.loads(path.with_suffix(".json").read_text())
    module = torch.jit.load(str(path))
    generator = torch.Generator().manual_seed(seed)
    drawn = []
    for spec in specs["inputs"] if isinstance(specs, dict) else specs:
        dtype = getattr(torch, spec["dtype"].removeprefix("torch."))
        drawn.append(torch.randint(spec["low"], spec["high"], spec["shape"], dtype=dtype, generator=generator)
                     if spec["low"] is not None else torch.randn(spec["shape"], generator=generator).to(dtype))
    names = [argument.name for argument in module.forward.schema.arguments[1:]]
    return module, dict(zip(names, drawn))


# --- Damaged programs -------------------------------------------------------------------------------


# These fields tell people where a call came from. They are not damaged.
UNREAD = {"metadata", "guards_code", "verifiers", "torch_version", "opset_version"}


def places_of(value, path=()):
    """Paths of all values below one."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in UNREAD:
                yield (*path, key)
                yield from places_of(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield (*path, i)
            yield from places_of(inner, (*path, i))


def damages(value, key, rng):
    """What may stand in the place of a value; `...`: nothing."""
    yield ...
    yield None
    if isinstance(value, str):
        yield value + "x"
        yield rng.randrange(100)
        if "." in value:
            yield value.rsplit(".", 1)[0] + ".Nothing"
            yield "torch.ops.aten.nothing.default"
    elif isinstance(value, bool):
        yield "true"
    elif isinstance(value, int):
        yield value + 1
        yield value + 1000
        yield -value - 1
        yield str(value)
        yield value + 0.5
    elif isinstance(value, float):
        yield value + 1
        yield "half"
    elif isinstance(value, list):
        yield []
        yield {}
        if value:
            yield [*value, copy.deepcopy(value[0])]
            yield value[:-1]
            yield value[::-1]
    elif isinstance(value, dict):
        yield []
        if len(value) == 1:
            (kind, inner), = value.items()
            for other in ("as_int", "as_string", "as_tensor", "as_none", "as_what"):
                yield {other: inner}
            yield {kind: inner, "as_bool": True}
            yield {"as_string": "text"}
            yield {"as_ints": [1, 2]}


def damaged(program, path, what):
    made = copy.deepcopy(program)
    inner = made
    for key in path[:-1]:
        inner = inner[key]
    if what is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = what
    return made


def write_damaged(path, source, program):
    with zipfile.ZipFile(source) as archive, zipfile.ZipFile(path, "w") as out:
        for info in archive.infolist():
            is_program = "/models/" in info.filename
            content = json.dumps(program).encode() if is_program else archive.read(info)
            out.writestr(zipfile.ZipInfo(info.filename), content)


class Damaged(Suite):
    """Damages the JSON of programs of torch.export and compares who still takes them.

The folder has programs and inputs that make_pt2_programs.py wrote. Each field of the graph of a program is
damaged by itself: left out, null, of another kind, with another name or number, given twice. What
torch.export.load and a call of its module refuse, `graphnet run` has to refuse in one line; what they take, it
has to refuse, too, or give the same bits. It may refuse what PyTorch passes over: a name that the operator does
not know, an argument that is given twice, tables that contradict each other.
"""

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("folder", type=pathlib.Path)
        parser.add_argument("names", nargs="*", metavar="NAME")
        parser.add_argument("--limit", type=int, default=1000, help="damages in all (default: %(default)s)")

    def run(self, run: Run) -> str:
        import make_pt2_programs  # noqa: F401  the classes that inputs and outputs are of

        logging.disable(logging.CRITICAL)
        torch.set_num_threads(1)
        rng, tasks = random.Random(run.args.seed), []
        for source in sorted(run.args.folder.glob("*.pt2")):
            if not run.args.names or source.stem in run.args.names:
                program = in_pytorch.program_json(source)
                for path in places_of(program["graph_module"], ("graph_module",)):
                    value = functools.reduce(lambda inner, key: inner[key], path, program)
                    tasks += [(source, path, what) for what in damages(value, path[-1], rng)]
        passed_over = 0
        for source, path, what in rng.sample(tasks, min(run.args.limit, len(tasks))):
            given, broken = source.with_suffix(".0.in.safetensors"), run.scratch / "damaged.pt2"
            name = f"{source.name} {'.'.join(map(str, path))} = {'nothing' if what is ... else json.dumps(what)[:80]}"
            if isinstance(self.by_pytorch(source, given), str):
                run.tell(name, "skipped: PyTorch does not take it whole: its operators are not there")
                continue
            write_damaged(broken, source, damaged(in_pytorch.program_json(source), path, what))
            expected = self.by_pytorch(broken, given)
            try:
                found = run.outputs(broken, given)
                run.tell(name, f"PyTorch refuses it: {expected}" if isinstance(expected, str) else in_pytorch.compare(expected, found))
            except Failed as error:
                is_line = "exit status 2: " in str(error) and "\n" not in str(error)
                run.tell(name, "" if is_line else str(error))
                passed_over += not isinstance(expected, str)
        return f"{passed_over} are refused that PyTorch passes over"

    @staticmethod
    def by_pytorch(path: pathlib.Path, inputs: pathlib.Path) -> Any:
        """What PyTorch yields, or why it refuses the program."""
        try:
            return in_pytorch.call_exported(torch.export.load(str(path)), in_pytorch.read_safetensors(inputs))
        except Exception as error:  # Whatever it raises is a refusal.
            return in_pytorch.one_line(error)


# --- Archives of other releases --------------------------------------------------------------------


def weights_of(archive: zipfile.ZipFile, name: str) -> Dict[str, torch.Tensor]:
    """A dictionary of tensors; torch 2.1 calls the file one of JSON, which it is not."""
    for ending in ("pt", "json"):
        if f"{name}.{ending}" in archive.namelist() and archive.read(f"{name}.{ending}"):
            return torch.load(io.BytesIO(archive.read(f"{name}.{ending}")), weights_only=True)
    return {}


def kept(entry: Dict[str, Any]) -> Dict[str, Any]:
    return {kind: value for kind, value in entry.items() if value is not None and value is not False}


def argument(value: Dict[str, Any], values: Dict[str, Any]) -> Any:
    """What an argument of the schema of an older release stands for."""
    kinds = kept(value)
    if not kinds or "as_none" in kinds:
        return None
    (kind, entry), = kinds.items()
    size = lambda one: one["as_int"] if "as_int" in one else values[one["as_name"]]
    return {
        "as_tensor": lambda: values[entry["name"]],
        "as_tensors": lambda: [values[one["name"]] for one in entry],
        "as_sym_int": lambda: size(entry), "as_sym_bool": lambda: size(entry),
        "as_sym_ints": lambda: [size(one) for one in entry],
        "as_scalar_type": lambda: {7: torch.float32, 5: torch.int64, 12: torch.bool, 8: torch.float64}[entry],
        "as_device": lambda: torch.device(entry["type"]),
        "as_memory_format": lambda: {1: torch.contiguous_format}[entry],
        "as_layout": lambda: {7: torch.strided}[entry],
    }.get(kind, lambda: entry)()


def call_by_call(path: pathlib.Path, tensors: List[torch.Tensor]) -> List[Any]:
    """Runs a .pt2 that this PyTorch does not open: each operator that it names, on the weights in it."""
    with zipfile.ZipFile(path) as archive:
        program = json.loads(archive.read("serialized_exported_program.json"))
        state = {**weights_of(archive, "serialized_constants"), **weights_of(archive, "serialized_state_dict")}
    module = program["graph_module"]
    signature, values, given = module["signature"], {}, list(tensors)
    outputs = []
    if "input_specs" in signature:
        for spec in signature["input_specs"]:
            (kind, entry), = spec.items()
            name = entry["arg"].get("name") or entry["arg"]["as_tensor"]["name"]
            keys = {"parameter": "parameter_name", "buffer": "buffer_name", "tensor_constant": "tensor_constant_name"}
            values[name] = given.pop(0) if kind == "user_input" else state[entry[keys[kind]]]
        outputs = [entry["arg"] for spec in signature["output_specs"] for kind, entry in spec.items() if kind == "user_output"]
    else:
        for names in (signature["inputs_to_parameters"], signature["inputs_to_buffers"]):
            values.update({name: state[target] for name, target in names.items()})
        values.update(zip(signature["user_inputs"], given))
        outputs = [{"as_tensor": {"name": name}} for name in signature["user_outputs"]]
    for node in module["graph"]["nodes"]:
        operator = torch.ops
        for part in node["target"].removeprefix("torch.ops.").split("."):
            operator = getattr(operator, part)
        named = {entry["name"]: argument(entry["arg"], values) for entry in node["inputs"]}
        arguments = []
        for one in operator._schema.arguments:  # leading ones by place, as the exporter writes them
            if one.kwarg_only or one.name not in named:
                break
            arguments.append(named.pop(one.name))
        result = operator(*arguments, **named)
        names = []
        for entry in map(kept, node["outputs"]):
            if "as_tensors" in entry:
                names += [one["name"] for one in entry["as_tensors"]]
            elif entry:
                (one,) = entry.values()
                names.append(one.get("name") or one.get("as_name"))
        values.update(zip(names, result if isinstance(result, (tuple, list)) else [result]))
    return [argument(entry, values) for entry in outputs]


def drawn_of(kind: str, generator: torch.Generator) -> Any:
    """A value of a type of TorchScript; None if there is no way."""
    if kind == "Tensor":
        return torch.randn(3, 3, generator=generator)
    if kind in ("float", "int"):
        number = torch.randint(1, 9, (), generator=generator).item()
        return number + 0.5 if kind == "float" else number
    if kind == "List[str]":
        return ["abc", "éx", "d"][: torch.randint(1, 4, (), generator=generator).item()]
    if kind == "Dict[str, Tensor]":
        return {name: torch.randn(2, generator=generator) for name in ("bar", "foo", "other")}
    if kind.startswith("Tuple["):
        return tuple(drawn_of(part.strip(), generator) for part in kind[6:-1].split(","))
    return None


def described(name: str, value: Any) -> List[str]:
    """The words of --input for what a file of tensors does not hold."""
    text = lambda one: f"f32[{','.join(map(str, one.shape))}]" if isinstance(one, torch.Tensor) else str(one)
    if isinstance(value, torch.Tensor):
        return []
    if isinstance(value, dict):
        return ["--input", f"{name}=dict({','.join(f'{key}={text(one)}' for key, one in value.items())})"]
    if isinstance(value, (list, tuple)):
        return ["--input", f"{name}=list({','.join(map(text, value))})"]
    return ["--input", f"{name}={value}"]


def as_outputs(returned: Any) -> Dict[str, torch.Tensor]:
    """As graphnet writes them: a text is its bytes, a float is one of 64 bits, and short floats are float32."""
    found = []
    for value in in_pytorch.leaves(returned):
        if isinstance(value, str):
            found.append(torch.tensor(list(value.encode()), dtype=torch.uint8))
        elif isinstance(value, float):
            found.append(torch.tensor(value, dtype=torch.float64))
        else:
            found.append(torch.as_tensor(value).detach())
    return {f"o{i}": value for i, value in enumerate(found)}


class Archives(Suite):
    """Runs archives (.pt, .ptl, .pt2) that other releases of PyTorch and other projects wrote.

graphnet must have the bits of this Python's PyTorch. NAME.in.npz beside an archive are its inputs and
NAME.out.npz the results of the release that wrote it (make_version_archives.py); how many runs have other
bits than those is told. An archive without inputs gets four drawn ones for each method. A .pt2 that this
PyTorch does not open is run here call by call. An object of a class of TorchScript cannot be given to a
method, and its attributes count as outputs.
"""

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("folder", type=pathlib.Path)

    def run(self, run: Run) -> str:
        logging.disable(logging.WARNING)
        torch.set_num_threads(1)
        self.other_release = 0
        for path in sorted(p for p in run.args.folder.rglob("*") if p.suffix in (".pt", ".ptl", ".pt2")):
            has_results = pathlib.Path(f"{path}.in.npz").is_file()
            for name, what in self.with_results(run, path) if has_results else self.drawn(run, path):
                run.tell(name, what)
        return f"{self.other_release} have other bits than the results beside the archive"

    @staticmethod
    def arrays(path: str) -> List[torch.Tensor]:
        import numpy

        content = numpy.load(path)
        return [torch.tensor(content[f"v{i}"]) for i in range(len(content.files))]

    def with_results(self, run: Run, path: pathlib.Path) -> Iterator[Tuple[str, str]]:
        name = f"{path.parent.name}/{path.name}"
        inputs = self.arrays(f"{path}.in.npz")
        try:
            names = [entry["name"] for entry in json.loads(run.graphnet("show", path, "--json"))["inputs"]]
            found = run.outputs(path, dict(zip(names, inputs, strict=True)))
        except (Failed, ValueError) as error:
            yield name, str(error)
            return
        with torch.no_grad():
            if path.suffix == ".pt2":
                try:
                    expected = torch.export.load(str(path)).module()(*inputs)
                except Exception:  # It does not open it.
                    expected = call_by_call(path, inputs)
            else:
                module = torch.jit.load(str(path))
                kinds = [str(argument.type) for argument in module.forward.schema.arguments[1:]]
                expected = module(*(value.item() if kind == "int" else value for value, kind in zip(inputs, kinds)))
        yield name, in_pytorch.compare(as_outputs(expected), found)
        beside = {f"o{i}": value for i, value in enumerate(self.arrays(f"{path}.out.npz"))}
        short = {key: value.float() if value.dtype in FLOATS_AS_HALF else value for key, value in found.items()}
        self.other_release += bool(in_pytorch.compare(beside, short))

    def drawn(self, run: Run, path: pathlib.Path) -> Iterator[Tuple[str, str]]:
        module = torch.jit.load(str(path))
        for method in module._c._method_names():
            kinds = [(one.name, str(one.type)) for one in module._c._get_method(method).schema.arguments[1:]]
            for seed in range(4):
                generator = torch.Generator().manual_seed(seed)
                values = {name: drawn_of(kind, generator) for name, kind in kinds}
                what = f"{path.name}, {method}, seed {seed}"
                if any(value is None for value in values.values()):
                    yield what, "skipped: an argument is an object"
                    break
                words = ["--method", method, *(word for name, value in values.items() for word in described(name, value))]
                tensors = {key: one for name, value in values.items() for key, one in in_pytorch.named_tensors(name, value)}
                try:
                    found = run.outputs(path, tensors or None, *words)
                except Failed as error:
                    yield what, str(error)
                    continue
                try:
                    expected = getattr(module, method)(*values.values())
                except RuntimeError as error:
                    if "classType" not in str(error):
                        raise
                    # Python does not see objects of TorchScript's classes; their attributes are the arguments here.
                    expected = list(values.values())
                yield what, in_pytorch.compare(as_outputs(expected), found)


# --- Versions of the format ------------------------------------------------------------------------


FACTORY = "dtype={dtype}, layout=None, device=torch.device(\"cpu\"), pin_memory=False"
# What forward returns of x and y, a line a statement; before which version this form is the one to read
# (11: in all of them).
PROGRAMS = {
    "div.Tensor": (11, ["return torch.div(x, y)"]),
    "div.Scalar": (11, ["return torch.div(x, 2)"]),
    "div.Scalar of a float": (11, ["return torch.div(x, 2.5)"]),
    "div.Tensor_mode": (11, ["return torch.div(x, y, rounding_mode=\"floor\")"]),
    "div.Scalar_mode": (11, ["return torch.div(x, 3, rounding_mode=\"trunc\")"]),
    "div_.Tensor": (11, ["z = torch.add(x, 0)", "return torch.div_(z, torch.add(y, 0))"]),
    "div_.Scalar": (11, ["z = torch.add(x, 0)", "return torch.div_(z, 3)"]),
    "div.out": (11, ["z = torch.add(x, 0)", "return torch.div(x, y, out=z)"]),
    "full of a float": (11, [f"return torch.full([2, 3], 1.5, {FACTORY.format(dtype='None')})"]),
    "full of an int": (11, [f"return torch.full([2, 3], 3, {FACTORY.format(dtype='None')})"]),
    "full of a dtype": (11, [f"return torch.full([2, 3], 3, {FACTORY.format(dtype='4')})"]),
    "gelu": (11, ["return torch.gelu(torch.to(x, 6))"]),
    "linspace": (11, [f"return torch.linspace(0, 10, 7, {FACTORY.format(dtype='6')})"]),
    "linspace without steps": (8, [f"return torch.linspace(0, 10, None, {FACTORY.format(dtype='6')})"]),
    "logspace": (11, [f"return torch.logspace(0, 2, 5, 2., {FACTORY.format(dtype='6')})"]),
    "logspace without steps": (9, [f"return torch.logspace(0, 2, None, 10., {FACTORY.format(dtype='6')})"]),
    "floordiv of ints": (11, ["n = torch.floordiv(torch.size(x, 1), 2)", "return torch.mul(x, n)"]),
    "floor_divide": (11, ["return torch.floor_divide(x, y)"]),
    "div of ints": (11, ["n = torch.div(torch.size(x, 1), 2)", "return torch.mul(x, n)"]),
    "a loop": (11, ["z = torch.add(x, 0)", "for i in range(torch.size(x, 0)):",
                    "  z = torch.div(torch.add(z, i), y)", "return z"]),
    "a branch": (11, ["if torch.gt(torch.size(x, 0), 1):", "  z = torch.div(x, y)", "else:", "  z = x", "return z"]),
    "arange": (11, [f"return torch.arange(0, 7, 2, {FACTORY.format(dtype='None')})"]),
    "to": (11, ["return torch.to(x, 6, False, False)"]),
    "a list": (11, ["a = torch.split(x, 1)", "return torch.cat([a[1], torch.div(a[0], 2)])"]),
}
INPUTS = {
    "floats": (torch.tensor([[7.0, -7.0, 3.5], [2.0, -1.0, 9.0]]), torch.tensor([[2.0, 2.0, -2.0], [3.0, 4.0, 0.5]])),
    "ints": (torch.tensor([[7, -7, 3], [2, -1, 9]]), torch.tensor([[2, 2, -2], [3, 4, 5]])),
}


class Pair(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x


class Versions(Suite):
    """Writes a saved module anew for each format version from 2 to 10: its record `version`, and code that calls
what has changed since as the PyTorch of its time wrote it.

torch.jit.load, which puts an upgrader in place of each such call, says what is right. All that it takes of one
version is run as one archive.
"""

    def run(self, run: Run) -> str:
        torch.set_num_threads(1)
        template, one, archive = (run.scratch / f"{name}.pt" for name in ("template", "one", "archive"))
        torch.jit.script(Pair()).save(str(template))
        calls = 0
        for version in range(2, 11):
            for kind, inputs in INPUTS.items():
                taken = {}
                for program, (before, body) in PROGRAMS.items():
                    self.write(template, one, version, [body])
                    if version < before and self.by_pytorch(one, inputs) is not None:
                        taken[program] = body
                self.write(template, archive, version, list(taken.values()))
                calls += len(taken)
                try:
                    what = in_pytorch.compare(in_pytorch.outputs(self.by_pytorch(archive, inputs)),
                                              run.outputs(archive, dict(zip("xy", inputs))))
                except Failed as error:
                    what = str(error)
                run.tell(f"version {version}, {kind}", what and f"{what} of {list(taken)}")
        return f"{calls} calls in the archives of versions 2 to 10"

    @staticmethod
    def by_pytorch(path: pathlib.Path, inputs: Tuple[torch.Tensor, ...]) -> Optional[Any]:
        try:
            with torch.no_grad():
                return torch.jit.load(str(path))(*(value.clone() for value in inputs))
        except RuntimeError:
            return None

    @staticmethod
    def write(template: pathlib.Path, path: pathlib.Path, version: int, bodies: List[List[str]]) -> None:
        """The archive `template`, of that version, with a method for each body; forward calls all."""
        with zipfile.ZipFile(template) as old, zipfile.ZipFile(path, "w") as new:
            for entry in old.infolist():
                data = old.read(entry)
                name = entry.filename.split("/", 1)[1]
                if name in ("version", ".data/version"):
                    data = f"{version}\n".encode()
                elif name.endswith(".debug_pkl") or name.startswith(".data/") or name in ("byteorder", ".format_version"):
                    continue  # which older writers did not write
                elif name.endswith(".py"):
                    head, parameters = data.decode().split("    return x")[0].split("  def forward(")
                    # Until version 2, each file began with it.
                    text = ("op_version_set = 1\n" if version == 2 else "") + head
                    calls = ", ".join(f"(self).p{i}(x, y, )" for i in range(len(bodies)))
                    methods = [(f"p{i}", body, "Tensor") for i, body in enumerate(bodies)]
                    for method, lines, result in [*methods, ("forward", [f"return [{calls}]"], "List[Tensor]")]:
                        text += f"  def {method}(" + parameters.replace("-> Tensor", f"-> {result}")
                        text += "".join(f"    {line}\n" for line in lines)
                    data = text.encode()
                new.writestr(zipfile.ZipInfo(entry.filename), data)
