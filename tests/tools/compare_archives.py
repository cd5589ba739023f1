#!/usr/bin/env python3
"""Runs archives that other releases of PyTorch and other projects wrote, and compares with PyTorch.

    compare_archives.py [--graphnet G] FOLDER

Each archive in FOLDER (.pt, .ptl, .pt2) is run on inputs by graphnet and by this Python's PyTorch,
which must have the same bits. NAME.in.npz beside it are the inputs and NAME.out.npz the results of
the release that wrote it; where graphnet has other last bits than these, this PyTorch must have
them, too, so that the difference is the operators' and not graphnet's. An archive without inputs
gets four drawn ones for each method.

A .pt2 that this PyTorch does not open is run here call by call: each operator that the archive
names is called in Python, on the weights in the archive. An object of a class of TorchScript cannot
be given to a method, and its attributes count as outputs.
"""

import argparse
import io
import json
import logging
import pathlib
import subprocess
import sys
import tempfile
import warnings
import zipfile

import numpy
import torch

import make_version_archives as versions

warnings.filterwarnings("ignore")


def in_order(path):
    """The arrays v0, v1, …"""
    content = numpy.load(path)
    return [content[f"v{i}"] for i in range(len(content.files))]


# --- A .pt2 of an older release, call by call ----------------------------------------------------


def weights_of(archive, name):
    """A dictionary of tensors; torch 2.1 calls the file one of JSON, which it is not."""
    for ending in ("pt", "json"):
        if f"{name}.{ending}" in archive.namelist() and archive.read(f"{name}.{ending}"):
            return torch.load(io.BytesIO(archive.read(f"{name}.{ending}")), weights_only=True)
    return {}


def argument(value, values):
    """What an argument of the schema stands for."""
    kinds = {kind: entry for kind, entry in value.items() if entry is not None and entry is not False}
    if not kinds:
        return None
    (kind, entry), = kinds.items()
    if kind == "as_none":
        return None
    if kind == "as_tensor":
        return values[entry["name"]]
    if kind == "as_tensors":
        return [values[one["name"]] for one in entry]
    if kind in ("as_sym_int", "as_sym_bool"):
        return entry["as_int"] if "as_int" in entry else values[entry["as_name"]]
    if kind == "as_sym_ints":
        return [one["as_int"] if "as_int" in one else values[one["as_name"]] for one in entry]
    if kind == "as_scalar_type":
        return {7: torch.float32, 5: torch.int64, 12: torch.bool, 8: torch.float64}[entry]
    if kind == "as_device":
        return torch.device(entry["type"])
    if kind in ("as_memory_format", "as_layout"):
        return {("as_memory_format", 1): torch.contiguous_format, ("as_layout", 7): torch.strided}[kind, entry]
    if kind in ("as_int", "as_ints", "as_float", "as_floats", "as_bool", "as_bools", "as_string"):
        return entry
    raise NotImplementedError(f"an argument {kind}")


def call_by_call(path, tensors):
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
        for spec in signature["output_specs"]:
            (kind, entry), = spec.items()
            if kind == "user_output":
                outputs.append(entry["arg"])
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
        positional = [one.name for one in operator._schema.arguments if not one.kwarg_only]
        arguments, keywords = [], {}
        for name in positional:  # leading ones by place, as the exporter writes them
            if name not in named:
                break
            arguments.append(named.pop(name))
        keywords = named
        result = operator(*arguments, **keywords)
        results = result if isinstance(result, (tuple, list)) else [result]
        names = []
        for entry in node["outputs"]:
            entry = {kind: one for kind, one in entry.items() if one is not None and one is not False}
            if "as_tensors" in entry:
                names += [one["name"] for one in entry["as_tensors"]]
            elif entry:
                (one,) = entry.values()
                names.append(one.get("name") or one.get("as_name"))
        values.update(zip(names, results))
    return [argument(entry, values) for entry in outputs]


# --- Methods -------------------------------------------------------------------------------------


def drawn(kind, generator):
    """A value of a type of TorchScript, and what `graphnet run` is told; None if there is no way."""
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
        return tuple(drawn(part.strip(), generator) for part in kind[6:-1].split(","))
    return None


def leaves(name, value):
    if isinstance(value, torch.Tensor):
        return {name: value.numpy()}
    if isinstance(value, dict):
        return {key: one for k, v in value.items() for key, one in leaves(f"{name}.{k}", v).items()}
    return {}


def described(name, value):
    """The words of --input for what a file of tensors does not hold."""
    def text(one):
        if isinstance(one, torch.Tensor):
            return f"f32[{','.join(map(str, one.shape))}]"
        return str(one)

    if isinstance(value, torch.Tensor):
        return []
    if isinstance(value, dict):
        return ["--input", f"{name}=dict({','.join(f'{key}={text(one)}' for key, one in value.items())})"]
    if isinstance(value, (list, tuple)):
        return ["--input", f"{name}=list({','.join(map(text, value))})"]
    return ["--input", f"{name}={value}"]


def as_outputs(values):
    """Tensors and numbers in order; a text is its bytes, as graphnet writes it."""
    if isinstance(values, dict):
        values = list(values.values())
    if isinstance(values, (list, tuple)):
        return [one for value in values for one in as_outputs(value)]
    if isinstance(values, str):
        return [numpy.frombuffer(values.encode(), "u1")]
    if isinstance(values, float):
        return [numpy.array(values)]
    return versions.arrays(values)


class Comparison:
    def __init__(self, graphnet, scratch):
        self.graphnet, self.scratch = graphnet, scratch
        self.faults, self.same, self.other_release, self.notes = [], 0, 0, []

    def ours(self, path, tensors, words):
        versions.write_safetensors(self.scratch / "in.safetensors", tensors)
        inputs = ["--inputs", self.scratch / "in.safetensors"] if tensors else []
        done = subprocess.run([self.graphnet, "run", path, "--threads", "1", *inputs, *words, "-o", self.scratch / "out.safetensors"],
                              capture_output=True, text=True, check=False)
        return versions.read_safetensors(self.scratch / "out.safetensors") if done.returncode == 0 else done.stderr.strip()

    def names(self, path, words):
        done = subprocess.run([self.graphnet, "show", path, "--json", *words], capture_output=True, text=True, check=False)
        return [entry["name"] for entry in json.loads(done.stdout)["inputs"]] if done.returncode == 0 else None

    def compare(self, what, got, expected):
        if isinstance(got, str):
            self.faults.append(f"{what}: {got}")
        elif not versions.equal(got, expected):
            self.faults.append(f"{what}: PyTorch {torch.__version__} has other bits")
        else:
            self.same += 1

    def with_results(self, path):
        inputs = in_order(f"{path}.in.npz")
        names = self.names(path, [])
        if names is None or len(names) != len(inputs):
            self.faults.append(f"{path}: takes {names}")
            return
        got = self.ours(path, dict(zip(names, inputs)), [])
        tensors = [torch.tensor(value) for value in inputs]
        with torch.no_grad():
            if path.suffix == ".pt2":
                try:
                    expected = torch.export.load(str(path)).module()(*tensors)
                except Exception:  # pylint: disable=broad-except
                    expected = call_by_call(path, tensors)
            else:
                expected = torch.jit.load(str(path))(*tensors)
        self.compare(f"{path.parent.name}/{path.name}", got, as_outputs(expected))
        if not isinstance(got, str) and not versions.equal(got, in_order(f"{path}.out.npz")):
            self.other_release += 1
            self.notes.append(f"{path.parent.name}/{path.name}: the results beside it have other last bits")

    def drawn(self, path):
        module = torch.jit.load(str(path))
        for method in module._c._method_names():
            schema = module._c._get_method(method).schema
            kinds = [(argument.name, str(argument.type)) for argument in schema.arguments[1:]]
            for seed in range(4):
                generator = torch.Generator().manual_seed(seed)
                values = {name: drawn(kind, generator) for name, kind in kinds}
                what = f"{path.name}, {method}, seed {seed}"
                if any(value is None for value in values.values()):
                    self.notes.append(f"{what}: an argument is an object")
                    break
                words = ["--method", method, *(word for name, value in values.items() for word in described(name, value))]
                tensors = {key: one for name, value in values.items() for key, one in leaves(name, value).items()}
                got = self.ours(path, tensors, words)
                try:
                    expected = as_outputs(getattr(module, method)(*values.values()))
                except RuntimeError as error:
                    if "classType" not in str(error):
                        raise
                    # Python does not see objects of TorchScript's classes; their attributes are the arguments here.
                    expected = as_outputs(list(values.values()))
                self.compare(what, got, expected)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--graphnet", default="bazel-bin/graphnet/cli/graphnet")
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scratch:
        comparison = Comparison(args.graphnet, pathlib.Path(scratch))
        for path in sorted(p for p in args.folder.rglob("*") if p.suffix in (".pt", ".ptl", ".pt2")):
            if pathlib.Path(f"{path}.in.npz").is_file():
                comparison.with_results(path)
            else:
                comparison.drawn(path)
    for line in comparison.notes + comparison.faults:
        print(line)
    print(f"{comparison.same} runs have PyTorch's bits, {comparison.other_release} of them other ones than the results "
          f"beside the archive; {len(comparison.faults)} faults")
    return 1 if comparison.faults or not comparison.same else 0


if __name__ == "__main__":
    sys.exit(main())
