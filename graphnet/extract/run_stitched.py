#!/usr/bin/env python3
"""Runs the program of this folder, which `graphnet extract` wrote, in PyTorch.

    python run_stitched.py [--inputs x.safetensors] [--outputs y.safetensors] [--seed 0]

    from run_stitched import load
    program = load("DIR")
    result = program(x)

stitch.json describes the program. Tensors in --inputs have the program's names: x, x.0 for the
first element of a list, x.key for an element of a dict; missing tensors are drawn. Lists and
dicts of the caller do not change even if the program changes them, as when Python calls TorchScript.
"""
import argparse
import ctypes
import json
import pathlib
import struct
import warnings

import torch

DTYPES = {"BOOL": "bool", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64", "C64": "complex64",
          **{f"I{n}": f"int{n}" for n in (8, 16, 32, 64)}, **{f"U{n}": f"uint{n}" for n in (8, 16, 32, 64)},
          "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu",
          "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz"}
PAIRS = "graphnet.dtype."  # in the metadata, before the name of a tensor of complex32 or complex128
PARTS = {"complex32": "F16", "complex128": "F64"}
# Operations that only TorchScript has, on operands a, b, c, …
SCRIPTED = {"prim::Print": "print({all})", "aten::format": "return a.format({rest})",
            "aten::str": "return str(a)", "aten::len": "return len(a)"}


class OtherPath(RuntimeError):
    """The program met other values than when it was captured."""


def read_safetensors(path):
    data = torch.from_file(str(path), size=path.stat().st_size, dtype=torch.uint8)
    size, = struct.unpack("<Q", ctypes.string_at(data.data_ptr(), 8))
    header = json.loads(ctypes.string_at(data.data_ptr() + 8, size))
    metadata = header.pop("__metadata__", {})
    for name, entry in header.items():
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        dtype, shape = DTYPES[entry["dtype"]], entry["shape"]
        if PAIRS + name in metadata:  # pairs of real and imaginary parts
            dtype, shape = metadata[PAIRS + name], shape[:-1]
        # The last copy makes a tensor that is not a view: products would not see requires_grad of a view of bytes.
        yield name, data[begin:end].clone().view(getattr(torch, dtype)).reshape(shape).clone()


def write_safetensors(tensors, path):
    names, header, data = {name: letter for letter, name in DTYPES.items()} | PARTS, {}, b""
    for name, tensor in tensors.items():
        tensor, begin = tensor.detach().resolve_conj().resolve_neg().contiguous(), len(data)
        data += ctypes.string_at(tensor.data_ptr(), tensor.nbytes) if tensor.nbytes else b""
        dtype, shape = str(tensor.dtype)[6:], [*tensor.shape]
        if dtype in PARTS:
            header.setdefault("__metadata__", {})[PAIRS + name] = dtype
            shape.append(2)
        header[name] = {"dtype": names[dtype], "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


def parts(value):
    """Returns the kind and the content of a value of stitch.json; (None, None) for values that JSON itself has."""
    return next(iter(value.items())) if isinstance(value, dict) else (None, None)


class Program:
    def __init__(self, folder):
        self.manifest = json.loads((folder / "stitch.json").read_text())
        rows = {row["name"]: row for row in self.manifest["attributes"]}
        attributes = {}
        for file in {row["file"] for row in rows.values()}:
            for name, tensor in read_safetensors(folder / file):
                if name not in rows or rows[name]["file"] != file:
                    continue
                if rows[name]["strides"] is not None:
                    tensor = torch.empty_strided(tensor.shape, rows[name]["strides"], dtype=tensor.dtype).copy_(tensor)
                # No gradients are computed, but products of matrices round differently if operands require them.
                attributes[name] = tensor.requires_grad_(rows[name]["requires_grad"])
        self.guards = {row["tensor"]: row for row in self.manifest["tensors"]}
        self.tensors = self.constants = {number: attributes[row["from"]["attribute"]]
                                         for number, row in self.guards.items() if "attribute" in row["from"]}
        objects = [row["object"] for row in self.manifest["objects"] if "attribute" in row["from"]]
        stored = torch.jit.load(str(folder / "stitch.pt")) if objects else None
        self.objects = self.kept = {number: getattr(stored, f"object_{number}") for number in objects}
        self.numbers = {}
        self.examples = {row["number"]: self.make(row["example"]) for row in self.manifest.get("numbers", [])}
        self.state = {(row["path"], row["name"]): self.make(row["value"]) for row in self.manifest["states"]}
        self.graphs, self.asks_for_gradients = [], False
        for row in self.manifest["subgraphs"]:
            if row["python"] is None:
                raise NotImplementedError(f"{row['name']} is not in Python ({row['why_not']}): use graphnet run")
            names = {}
            text = (folder / row["python"]).read_text()
            self.asks_for_gradients |= "aten.grad." in text
            exec(compile(text, str(folder / row["python"]), "exec"), names)
            self.graphs.append((names["GraphModule"]().forward, [attributes[name] for name in row["attributes"]]))

    def evaluate(self, size):
        return eval(size, {"__builtins__": {}, "min": min, "max": max}, self.sizes) if isinstance(size, str) else size

    def make(self, value):
        """Returns a value of stitch.json as it is in this run."""
        kind, what = parts(value)
        match kind:
            case None: return value
            case "tensor": return self.tensors[what]
            case "object": return self.objects[what]
            case "number": return self.numbers.get(what, self.examples[what])
            case "list": return [self.make(element) for element in what]
            case "tuple": return tuple(self.make(element) for element in what)
            case "dict": return {self.make(key): self.make(element) for key, element in what}
            case "size": return self.evaluate(what)
            case "float": return float(what)
            case "complex": return complex(*map(self.make, what))
            case "device": return torch.device(what)
            case "bytes": return bytes(what).decode(errors="surrogateescape")

    def match(self, pattern, value, name):
        """Keeps the tensors in `value`; raises OtherPath if it does not fit."""
        def check(fits, expected, found):
            if not fits:
                raise OtherPath(f"{name}: expected {expected}, found {found}")
        kind, what = parts(pattern)
        if kind == "tensor":
            check(isinstance(value, torch.Tensor), "a tensor", repr(value))
            row = self.guards[what]
            if row["dtype"] is not None:
                check(value.dim() == len(row["shape"]), f"rank {len(row['shape'])}", f"rank {value.dim()}")
                for size, expected in zip(value.shape, row["shape"]):
                    if isinstance(expected, str) and expected.isidentifier():
                        self.sizes.setdefault(expected, size)
                sizes = [self.evaluate(size) for size in row["shape"]]
                check(str(value.dtype)[6:] == row["dtype"], row["dtype"], value.dtype)
                check(str(value.device) == row["device"], row["device"], value.device)
                check([*value.shape] == sizes, f"sizes {sizes}", f"sizes {[*value.shape]}")
                check("input" not in row["from"] or not value.requires_grad, "a tensor that requires no gradient", "requires_grad")
            check(self.tensors.setdefault(what, value) is value, "the same tensor as elsewhere", "another one")
        elif kind == "object":
            self.objects.setdefault(what, value)
        elif kind == "number":
            check(type(value) is type(self.examples[what]), type(self.examples[what]).__name__, repr(value))
            self.numbers[what] = value
        elif kind in ("list", "tuple", "dict"):
            check(type(value).__name__ == kind or kind == "tuple" and isinstance(value, tuple), f"a {kind}", repr(value))
            check(len(value) == len(what), f"{len(what)} elements", len(value))
            for i, (inner, element) in enumerate(zip(what, value.items() if kind == "dict" else value)):
                for one, other in zip(inner, element) if kind == "dict" else [(inner, element)]:
                    self.match(one, other, f"{name}[{i}]")
        else:
            expected = self.make(pattern)
            check(type(value) is type(expected) and repr(value) == repr(expected), repr(expected), repr(value))

    def operate(self, step):
        """Runs an operation between subgraphs."""
        name, operands = step["operation"], [self.make(value) for value in step["inputs"]]
        match name:
            case "prim::SetAttr": self.state[operands[0], operands[1]] = operands[2]
            case "prim::Loop": pass  # between two iterations of a long loop
            case "aten::warn": warnings.warn(operands[0])
            case "prim::tolist": return operands[0].tolist()
            case _ if step["reason"] == "custom-class":
                *_, space, kind, method = name.split(".")
                if method == "__init__":
                    return getattr(getattr(torch.classes, space), kind)(*operands)
                return getattr(operands[0], method)(*operands[1:])
            case _ if name in SCRIPTED:
                names = [chr(ord("a") + i) for i in range(len(operands))]
                types = [f"{n}: {type_of(value)}" for n, value in zip(names, step["inputs"])]
                text = SCRIPTED[name].format(all=", ".join(names), rest=", ".join(names[1:]))
                return torch.jit.CompilationUnit(f"def f({', '.join(types)}):\n    {text}\n").f(*operands)
            case _:
                space, function = name.split("::")
                operator = getattr(getattr(getattr(torch.ops, space), function), step["overload"] or "default")
                # Keyword-only arguments come last.
                names = [argument.name for argument in operator._schema.arguments if argument.kwarg_only]
                first = len(operator._schema.arguments) - len(names)
                return operator(*operands[:first], **dict(zip(names, operands[first:])))

    @torch.compiler.set_stance("force_eager")  # torch.cond takes a branch, without a compiler
    def __call__(self, *inputs):
        with torch.set_grad_enabled(self.asks_for_gradients):
            return self.run(inputs)

    def run(self, inputs):
        expected = self.manifest["inputs"]
        if len(inputs) != len(expected):
            raise TypeError(f"expected {len(expected)} inputs ({', '.join(row['name'] for row in expected)}), found {len(inputs)}")
        self.tensors, self.sizes, self.numbers, self.objects = {}, {}, {}, dict(self.kept)
        for row, value in zip(expected, inputs):
            self.match(row["value"], value, row["name"])
        for row in self.manifest["states"]:
            self.match(row["value"], self.state[row["path"], row["name"]], row["name"])
        for row in self.manifest["relations"]:
            if not self.evaluate(row["text"]):
                raise OtherPath(f"sizes: expected {row['text']}, found {self.sizes}")
        self.tensors = {**self.constants, **self.tensors}
        for step in self.manifest["steps"]:
            if "subgraph" in step:
                forward, attributes = self.graphs[step["subgraph"]]
                results = forward(*(self.make(value) for value in step["inputs"]), *attributes)
                self.tensors.update((value["tensor"], result) for value, result in zip(step["outputs"], results))
            else:
                results = self.operate(step)
                for pattern, result in zip(step["outputs"], results if len(step["outputs"]) > 1 else [results]):
                    self.match(pattern, result, f"{step['file']}:{step['line']}: {step['operation']}")
        return self.make(self.manifest["result"])

    def draw(self, given):
        """Returns inputs: tensors as `given` by name, others drawn, and everything else as captured."""
        def name_tensors(value, name):
            kind, what = parts(value)
            if kind == "tensor" and what not in self.tensors:
                sizes, dtype = self.guards[what]["example"], getattr(torch, self.guards[what]["dtype"])
                drawn = torch.randn(sizes) if dtype.is_floating_point or dtype.is_complex else torch.randint(0, 2, sizes)
                self.tensors[what] = given[name] if name in given else drawn.to(dtype)
            for key, inner in what if kind == "dict" else enumerate(what) if kind in ("list", "tuple") else ():
                name_tensors(inner, f"{name}.{key}")
        self.tensors = {}
        for row in self.manifest["inputs"]:
            name_tensors(row["value"], row["name"])
        return [self.make(row["value"]) for row in self.manifest["inputs"]]


def type_of(value):
    """Returns the type of a value as TorchScript writes it."""
    kind, what = parts(value)
    if kind in ("list", "dict", "number"):
        return value["type"]
    if kind == "tuple":
        return f"Tuple[{', '.join(map(type_of, what))}]"
    plain = {"tensor": "Tensor", "device": "Device", "size": "int", "bytes": "str", "NoneType": "Optional[int]"}
    kind = kind or type(value).__name__
    return plain.get(kind, kind)


def leaves(value):
    if isinstance(value, (list, tuple, dict)):
        for element in value.values() if isinstance(value, dict) else value:
            yield from leaves(element)
    elif value is not None:
        dtype = {float: torch.float64, complex: torch.complex128, str: torch.uint8}.get(type(value))
        value = [*value.encode(errors="surrogateescape")] if isinstance(value, str) else value
        yield value if isinstance(value, torch.Tensor) else torch.tensor(value, dtype=dtype)


def load(folder=pathlib.Path(__file__).parent):
    """Returns the program in `folder`, which is called with its inputs. It keeps its state between calls."""
    return Program(pathlib.Path(folder))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", nargs="?", default=pathlib.Path(__file__).parent)
    parser.add_argument("--inputs", type=pathlib.Path, help="tensors by name (safetensors)")
    parser.add_argument("--outputs", help="file for the results (safetensors): o0, o1, …")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--library", action="append", default=[], help="library of operators that the program calls")
    options = parser.parse_args()
    for library in options.library:
        torch.ops.load_library(library)
    try:
        program = load(options.folder)
        torch.manual_seed(options.seed)
        inputs = program.draw(dict(read_safetensors(options.inputs)) if options.inputs else {})
        torch.manual_seed(options.seed)
        results = {f"o{i}": result for i, result in enumerate(leaves(program(*inputs)))}
    except (OtherPath, NotImplementedError) as error:
        raise SystemExit(f"run_stitched.py: {error}") from None
    for name, result in results.items():
        print(f"{name}  {str(result.dtype)[6:]}{[*result.shape]}")
    if options.outputs:
        write_safetensors(results, options.outputs)


if __name__ == "__main__":
    main()
