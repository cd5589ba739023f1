"""What the scripts that compare with PyTorch share: samples and their inputs, runs of their model.py,
files of tensors, and what differs.

Loading a sample runs its Python text: use it on samples that you trust.
"""

import ctypes
import hashlib
import json
import math
import multiprocessing
import os
import pathlib
import re
import resource
import signal
import struct
import sys
import traceback
import zipfile
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Tuple

import torch

FORK = multiprocessing.get_context("fork")


def shard() -> slice:
    """Which of its programs this process takes, where Bazel divides a test among several."""
    return slice(int(os.environ.get("TEST_SHARD_INDEX", 0)), None, int(os.environ.get("TEST_TOTAL_SHARDS", 1)))


# ------------------------------------------------------------------ samples


def find_samples(folders: List[pathlib.Path]) -> List[pathlib.Path]:
    """All sample folders, sorted within each of `folders`, not looked into further."""

    def walk(folder: pathlib.Path) -> Iterator[pathlib.Path]:
        if (folder / "graph_net.json").is_file():
            yield folder
            return
        for child in sorted(folder.iterdir()):
            if child.is_dir() and not child.is_symlink():
                yield from walk(child)

    samples: List[pathlib.Path] = []
    for folder in folders:
        if not folder.is_dir():
            sys.exit(f"{folder}: no such folder")
        samples += walk(folder)
    return samples


class Meta(NamedTuple):
    """One record of weight_meta.py or input_meta.py."""

    name: str
    original_name: str
    shape: List[int]
    dtype: torch.dtype
    mean: float
    std: float
    data: Any
    min_val: Any
    max_val: Any


def read_metas(sample: pathlib.Path) -> Dict[str, Meta]:
    metas = {}
    for file in ("input_meta.py", "weight_meta.py"):
        path = sample / file
        if not path.is_file():
            continue
        scope: Dict[str, Any] = {}
        exec(compile(path.read_text(), str(path), "exec"), scope)
        for value in scope.values():
            if not isinstance(value, type):
                continue
            fields = vars(value)
            mean, std = fields.get("mean"), fields.get("std")
            metas[fields["name"]] = Meta(
                name=fields["name"],
                original_name=fields.get("original_name") or fields["name"],
                shape=fields["shape"],
                dtype=getattr(torch, fields["dtype"].removeprefix("torch.")),
                mean=0.0 if mean is None else mean,
                std=0.1 if std is None else std,
                data=fields.get("data"),
                min_val=fields.get("min_val"),
                max_val=fields.get("max_val"),
            )
    return metas


def declared_bytes(metas: Dict[str, Meta]) -> int:
    return sum(math.prod(meta.shape) * meta.dtype.itemsize for meta in metas.values())


def draw(meta: Meta, seed: int) -> torch.Tensor:
    """The tensor that a record describes, by the rules of GraphNet's replay.

    An integer tensor with neither data nor bounds is cast to its type, as
    GraphNet's benchmark does, rather than left as floats.
    """
    # Seeded by the name before renaming, so that renaming changes no values.
    key = hashlib.sha256(f"{seed}:{meta.original_name}".encode()).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(key[:8], "little") >> 1)
    is_float = meta.dtype.is_floating_point or meta.dtype.is_complex
    is_integer = not is_float and meta.dtype != torch.bool
    if is_integer and meta.min_val is not None and meta.max_val is not None:
        return torch.randint(meta.min_val, meta.max_val + 1, meta.shape, dtype=meta.dtype, generator=generator)
    if meta.data is not None:
        return torch.tensor(meta.data, dtype=meta.dtype).reshape(meta.shape)
    if meta.dtype == torch.bool:
        return torch.randn(meta.shape, generator=generator) > 0.5
    wide = meta.dtype if meta.dtype in (torch.float64, torch.complex64, torch.complex128) else torch.float32
    if meta.std == 0:
        value = torch.full(meta.shape, meta.mean, dtype=wide)
    else:
        value = torch.randn(meta.shape, dtype=wide, generator=generator).mul_(meta.std * 0.2).add_(meta.mean)
    if not meta.dtype.is_complex:
        if meta.min_val is not None:
            value.clamp_(min=meta.min_val)
        if meta.max_val is not None:
            value.clamp_(max=meta.max_val)
        if is_float:
            finite = value.isfinite()
            if not finite.all():
                other = torch.randn(meta.shape, dtype=wide, generator=generator).mul_(0.01)
                value = torch.where(finite, value, other)
            value.clamp_(-100, 100)
    return value.to(meta.dtype)


def write_sample(folder: pathlib.Path, inputs: Dict[str, Tuple[List[int], str]], body: List[str], returned: str,
                 **bounds: Any) -> None:
    """Writes a GraphNet sample: of each input the sizes and dtype, the lines of forward, what it returns, and
    what the records of floating-point numbers (mean, std) and of integers (min_val, max_val) say."""
    folder.mkdir(parents=True, exist_ok=True)
    parameters = ", ".join(f"{name}: torch.Tensor" for name in inputs)
    lines = "".join(f"        {line}\n" for line in [*body, f"return {returned}"])
    (folder / "model.py").write_text(
        f"import torch\n\n\nclass GraphModule(torch.nn.Module):\n    def forward(self, {parameters}):\n{lines}")
    records = []
    for name, (shape, dtype) in inputs.items():
        fields = {"name": name, "shape": list(shape), "dtype": f"torch.{dtype}", "device": "cpu", "data": None}
        drawn = ("min_val", "max_val") if dtype == "int64" and "min_val" in bounds else ("mean", "std")
        fields.update({key: bounds.get(key) if dtype != "bool" else None for key in drawn})
        records.append(f"class Program_weight_tensor_meta_{name}:\n"
                       + "".join(f"    {key} = {json.dumps(value) if isinstance(value, str) else repr(value)}\n"
                                 for key, value in fields.items()))
    (folder / "weight_meta.py").write_text("\n\n".join(records))
    for name in ("input_meta.py", "input_tensor_constraints.py"):
        (folder / name).write_text("")
    (folder / "graph_hash.txt").write_text("0" * 64)
    (folder / "graph_net.json").write_text(json.dumps(
        {"framework": "torch", "num_devices_required": 1, "num_nodes_required": 1, "dynamic": False, "model_name": folder.name}))


# ------------------------------------------------------------------ running


def on_cpu(text: str) -> str:
    """The text of model.py with CUDA devices made the CPU."""
    text = re.sub(r"device\(\s*type\s*=\s*(['\"])cuda\1\s*(,\s*index\s*=\s*\d+\s*)?\)", "device(type='cpu')", text)
    return re.sub(r"(['\"])cuda(:\d+)?\1", "'cpu'", text)


def load(sample: pathlib.Path) -> Any:
    """A sample's module, on the CPU."""
    path = sample / "model.py"
    scope: Dict[str, Any] = {"__name__": "sample"}
    exec(compile(on_cpu(path.read_text()), str(path), "exec"), scope)
    return scope["GraphModule"]()


def parameters(model: Any) -> List[str]:
    """The names of what forward takes."""
    code = model.forward.__code__
    return list(code.co_varnames[1 : code.co_argcount])


def arguments(model: Any, inputs: Dict[str, torch.Tensor]) -> Dict[str, Any]:
    """What forward is called with: a size is a number."""
    annotations = model.forward.__annotations__
    return {name: value.item() if annotations.get(name) is torch.SymInt else value for name, value in inputs.items()}


def call(model: Any, inputs: Dict[str, torch.Tensor], seed: int) -> Any:
    given = arguments(model, inputs)
    torch.manual_seed(seed)
    with torch.no_grad():
        return model(**given)


def program_json(path: pathlib.Path) -> Any:
    """The JSON of a program of torch.export."""
    with zipfile.ZipFile(path) as archive:
        (name,) = [name for name in archive.namelist() if "/models/" in name]
        return json.loads(archive.read(name))


def call_exported(program: Any, inputs: Dict[str, torch.Tensor], seed: int = 0, repeat: int = 1) -> Dict[str, torch.Tensor]:
    """What a program of torch.export returns for inputs by their names, by the names of `graphnet run`."""
    # Its own inputs, and constants that a caller can only repeat.
    given = []
    for spec in program.graph_signature.input_specs:
        if spec.kind.name != "USER_INPUT":
            continue
        constant = isinstance(spec.arg, torch.export.graph_signature.ConstantArgument)
        value = spec.arg.value if constant else inputs[spec.arg.name]
        given.append(value.item() if isinstance(spec.arg, torch.export.graph_signature.SymIntArgument) else value)
    called, named = torch.utils._pytree.tree_unflatten(given, program.module_call_graph[0].signature.in_spec)
    module = program.module()
    for _ in range(repeat):
        torch.manual_seed(seed)
        with torch.no_grad():
            returned = module(*called, **named)
    found = [value for value in torch.utils._pytree.tree_leaves(returned) if value is not None]
    return {f"o{i}": (torch.tensor(value, dtype=torch.float64) if isinstance(value, float) else torch.as_tensor(value)).detach()
            for i, value in enumerate(found)}


def in_process(function: Callable[..., Any], *given: Any, seconds: int, memory: int) -> Tuple[Any, str]:
    """What the function returns in a process of its own with limits of processor time and address
    space, and an empty text; or None, and why there is nothing."""

    def child(pipe: Any) -> None:
        torch.set_num_threads(1)
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))
        try:
            pipe.send((function(*given), ""))
        except MemoryError:
            pipe.send((None, "MemoryError: out of memory"))
        except Exception as error:  # Whatever a model raises is a result.
            pipe.send((None, one_line(error)))

    receiver, sender = FORK.Pipe(duplex=False)
    process = FORK.Process(target=child, args=(sender,))
    process.start()
    sender.close()
    try:
        # It may wait for something instead of computing.
        return receiver.recv() if receiver.poll(20 * seconds) else (None, "hangs")
    except EOFError:
        process.join()
        if process.exitcode == -signal.SIGXCPU:
            return None, f"takes more than {seconds} seconds"
        return None, f"the process died with exit code {process.exitcode}"
    finally:
        process.kill()
        process.join()


def one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename.endswith("model.py"):
            return f"{type(error).__name__}: {text[:200]} (line {frame.lineno})"
    return f"{type(error).__name__}: {text[:200]}"


# ------------------------------------------------------------- programs of PyTorch


class Program(NamedTuple):
    module: torch.nn.Module
    calls: list  # of (args, kwargs); the first is the example
    options: dict = {}  # of torch.export.export
    refused: list = []  # calls that fail
    decomposed: str = ""  # "functional": writes are gone; "core": only core ATen is left
    form: str = "export"  # or "script" or "trace"
    gradients: bool = True  # whether it is written outside of no_grad


class Call(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def spread(ep: Any, args: Any, kwargs: Any) -> Dict[str, torch.Tensor]:
    """The user's inputs by name."""
    leaves = torch.utils._pytree.tree_leaves((args, kwargs))
    named = {}
    for spec, value in zip([s for s in ep.graph_signature.input_specs if s.kind.name == "USER_INPUT"], leaves):
        if isinstance(value, torch.Tensor):
            named[spec.arg.name] = value.detach().clone()
        elif type(spec.arg).__name__ == "SymIntArgument":
            named[spec.arg.name] = torch.tensor(value)
    return named


def values(returned: Any) -> Dict[str, torch.Tensor]:
    """What is returned, by the names of `graphnet run`."""
    leaves = [v for v in torch.utils._pytree.tree_leaves(returned) if v is not None]
    return {f"o{i}": v.detach().clone() if isinstance(v, torch.Tensor) else torch.tensor(v, dtype=torch.float64 if isinstance(v, float) else None)
            for i, v in enumerate(leaves)}


def copied(value: Any) -> Any:
    return torch.utils._pytree.tree_map(lambda v: v.detach().clone() if isinstance(v, torch.Tensor) else v, value)


def named_tensors(name: str, value: Any, numbers: bool = False) -> Iterator[Tuple[str, torch.Tensor]]:
    """The tensors of an input by the names by which they are given, and the numbers in structures if asked for."""
    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, (dict, list, tuple)):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from named_tensors(f"{name}.{key}", one, numbers)
    elif numbers and "." in name and isinstance(value, (int, float)):
        yield name, torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else None)


def write_programs(programs: Dict[str, Program], folder: pathlib.Path, names: List[str]) -> int:
    """Writes them, or those of these names; tells and returns how many PyTorch does not make."""
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [name for name in programs if not names or name in names]
    failed = 0
    for name in chosen:
        try:
            with torch.set_grad_enabled(programs[name].gradients):
                write_program(name, programs[name], folder)
        except Exception as error:  # Whatever PyTorch raises.
            failed += 1
            print(f"not made  {name}: {one_line(error)}", flush=True)
            for left in folder.glob(f"{name}.*"):
                left.unlink()
    print(f"{len(chosen) - failed} made, {failed} that PyTorch does not make")
    return failed


def write_program(name: str, made: Program, folder: pathlib.Path) -> None:
    """Writes NAME.pt2 or NAME.pt, and its calls."""
    path = folder / f"{name}.{'pt2' if made.form == 'export' else 'pt'}"
    args, kwargs = made.calls[0]
    if made.form == "export":
        ep = torch.export.export(made.module, copied(tuple(args)), copied(kwargs), **made.options)
        if made.decomposed:
            ep = ep.run_decompositions({} if made.decomposed == "functional" else None)
        torch.export.save(ep, str(path))
        make_portable(path)
        with torch.no_grad():
            write_calls(name, made, path, folder)
        return
    if made.form == "script":
        module = torch.jit.script(made.module)
    else:
        with torch.no_grad():
            module = torch.jit.trace(made.module, copied(tuple(args)), check_trace=False, strict=False)
    module.save(str(path))
    names = [argument.name for argument in module.forward.schema.arguments][1:]
    for i, (args, _) in enumerate(made.calls):
        loaded = torch.jit.load(str(path))
        torch.manual_seed(0)
        returned = loaded(*copied(args))
        given = {key: one for name_of, value in zip(names, args) for key, one in named_tensors(name_of, value)}
        write_safetensors(given, folder / f"{name}.{i}.in.safetensors")
        # A dict gives its values in the order of its keys, as TorchScript keeps them.
        returned = list(returned.values()) if isinstance(returned, dict) else returned
        write_safetensors(values(returned), folder / f"{name}.{i}.out.safetensors")


def make_portable(path: pathlib.Path) -> None:
    """Stack traces name files of this machine: the same program gives the same bytes anywhere."""
    with zipfile.ZipFile(path) as archive:
        records = [(info.filename, archive.read(info)) for info in archive.infolist()]
    folders = (pathlib.Path(torch.__file__).parents[1], pathlib.Path(__file__).resolve().parent)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in records:
            if name.endswith("/models/model.json"):
                for folder in folders:
                    content = content.replace(f"{folder}/".encode(), b"")
            if not name.endswith("serialization_id"):
                archive.writestr(zipfile.ZipInfo(name), content)


def write_calls(name: str, made: Program, path: pathlib.Path, folder: pathlib.Path) -> None:
    """Writes the inputs and outputs of each call, as make_pt2_programs.py says."""
    loaded = torch.export.load(str(path))
    for i, (args, kwargs) in enumerate(made.calls):
        module = torch.export.load(str(path)).module()
        write_safetensors(spread(loaded, args, kwargs), folder / f"{name}.{i}.in.safetensors")
        torch.manual_seed(0)
        write_safetensors(values(module(*copied(args), **copied(kwargs))), folder / f"{name}.{i}.out.safetensors")
        if i == 0 and loaded.graph_signature.buffers:
            again = values(module(*copied(args), **copied(kwargs)))
            write_safetensors(again, folder / f"{name}.0.again.safetensors")
    for i, args in enumerate(made.refused):
        try:
            module(*args)
        except Exception:  # noqa: BLE001 (as it should)
            write_safetensors(spread(loaded, args, {}), folder / f"{name}.{i}.refused.safetensors")
        else:
            raise AssertionError(f"{name}: call {i} is not refused")


# ---------------------------------------------------------------- comparing


def flatten(value: Any, label: str) -> Iterator[Tuple[str, Any]]:
    """The leaves of nested tuples, lists and dicts, after the containers themselves."""
    if isinstance(value, dict):
        yield label, ("dict", *value.keys())
        for key, element in value.items():
            yield from flatten(element, f"{label}[{key!r}]")
    elif isinstance(value, (tuple, list)):
        # Named tuples such as torch.return_types.max count as what they are.
        yield label, (type(value).__name__, len(value))
        for i, element in enumerate(value):
            yield from flatten(element, f"{label}[{i}]")
    else:
        yield label, value


def leaves(returned: Any) -> List[Any]:
    """The values in nested tuples, lists and dicts, without None."""
    return [value for _, value in flatten(returned, "") if not isinstance(value, tuple) and value is not None]


def outputs(returned: Any) -> Dict[str, torch.Tensor]:
    """What `graphnet run` writes of what a program returns, by its names."""
    return {f"o{i}": (value if isinstance(value, torch.Tensor) else torch.tensor(value)).detach()
            for i, value in enumerate(leaves(returned))}


def as_bytes(value: torch.Tensor) -> torch.Tensor:
    value = value.detach()
    if value.is_sparse:
        value = value.to_dense()
    if value.is_complex():
        value = torch.view_as_real(value.resolve_conj())
    flat = value.resolve_neg().contiguous().reshape(-1)
    if flat.stride(0) != 1:  # of one element
        flat = flat.clone(memory_format=torch.contiguous_format)
    return flat.view(torch.uint8)


def difference(a: Any, b: Any) -> str:
    """Empty if equal, nan to itself; else what differs."""
    if type(a) is not type(b):
        return f"a {type(a).__name__} and a {type(b).__name__}"
    if not isinstance(a, torch.Tensor):
        both_nan = isinstance(a, float) and math.isnan(a) and math.isnan(b)
        return "" if both_nan or repr(a) == repr(b) else f"{a!r} and {b!r}"
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"{a.dtype}{list(a.shape)} and {b.dtype}{list(b.shape)}"
    if torch.equal(as_bytes(a), as_bytes(b)):
        return ""
    if a.dtype == torch.bool or not (a.dtype.is_floating_point or a.dtype.is_complex):
        return f"{int((a != b).sum())} of {a.numel()} elements differ"
    unequal = (a != b) & ~(a.isnan() & b.isnan())
    if not unequal.any():
        return "" if torch.equal(a.isnan(), b.isnan()) and signs_agree(a, b) else "signs of zeros differ"
    worst = (a - b).abs().nan_to_num(math.inf).max()
    return f"{int(unequal.sum())} of {a.numel()} elements differ, by {float(worst):.3g} at most"


def signs_agree(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.is_complex():
        return signs_agree(torch.view_as_real(a), torch.view_as_real(b))
    return bool(((a.signbit() == b.signbit()) | a.isnan()).all())


# --------------------------------------------------------- files of tensors


DTYPES = {
    torch.bool: "BOOL", torch.uint8: "U8", torch.int8: "I8", torch.int16: "I16", torch.int32: "I32",
    torch.int64: "I64", torch.uint16: "U16", torch.uint32: "U32", torch.uint64: "U64",
    torch.float16: "F16", torch.bfloat16: "BF16", torch.float32: "F32", torch.float64: "F64",
    torch.complex64: "C64", torch.float8_e5m2: "F8_E5M2", torch.float8_e4m3fn: "F8_E4M3",
    torch.float8_e8m0fnu: "F8_E8M0", torch.float8_e4m3fnuz: "F8_E4M3FNUZ", torch.float8_e5m2fnuz: "F8_E5M2FNUZ",
}


def write_safetensors(tensors: Dict[str, torch.Tensor], path: pathlib.Path) -> None:
    header, offset = {}, 0
    order = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))
    for name in order:
        tensor = tensors[name]
        end = offset + tensor.numel() * tensor.dtype.itemsize
        header[name] = {"dtype": DTYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name in order:
            content = as_bytes(tensors[name])
            file.write(ctypes.string_at(content.data_ptr(), content.numel()))


def read_safetensors(path: pathlib.Path) -> Dict[str, torch.Tensor]:
    content = bytearray(path.read_bytes())
    size = struct.unpack("<Q", content[:8])[0]
    header = json.loads(bytes(content[8 : 8 + size]))
    header.pop("__metadata__", None)
    names = {text: dtype for dtype, text in DTYPES.items()}
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        dtype = names[entry["dtype"]]
        if begin == end:
            tensors[name] = torch.empty(entry["shape"], dtype=dtype)
        else:
            # A copy, as the bytes may not be aligned to the elements.
            data = torch.frombuffer(content[begin:end], dtype=dtype)
            tensors[name] = data.reshape(entry["shape"])
    return tensors


def compare(expected: Dict[str, torch.Tensor], actual: Dict[str, torch.Tensor]) -> str:
    if expected.keys() != actual.keys():
        return f"{len(expected)} outputs and {len(actual)}"
    for name in sorted(expected, key=lambda n: int(n[1:])):
        if what := difference(expected[name], actual[name]):
            return f"{name}: {what}"
    return ""
