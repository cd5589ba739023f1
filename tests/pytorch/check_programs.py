#!/usr/bin/env python3
"""Takes programs through the forms and the commands of the tool.

    check_programs.py forms [IN…]      writes them in every form, reads what was written, and compares
    check_programs.py ways [FOLDER]    checks, decomposes and changes those that have inputs beside them

`forms`: IN is a program, a GraphNet sample, or a folder of them, such as make_programs.py and others write;
without IN, make_programs.py makes all of its own, --count of them odd. Where NAME.0.in.safetensors lies beside NAME.pt, these are
the inputs, and NAME.0.out.safetensors are PyTorch's outputs, which the program itself must have, too. Where
NAME.json has `inputs`, a list of shape, dtype, low and high, inputs are drawn by it. Others are drawn by
graphnet. Each program is written as protobuf, text, GraphNet folder, .pt2, .pt and MLIR. What is written must
have, when it is read again,

    the names, dtypes and sizes of inputs and of the weights that are read, which of them are
    parameters, and the number, dtypes and sizes of outputs;
    the verdict of `check`, and in protobuf, text, and a folder of a folder, the hash of the graph;
    the outputs, bit for bit, on the same inputs and weights;
    in PyTorch, which loads .pt and .pt2, the values and strides of the weights, bit for bit; those of
    protobuf are compared by way of .pt.

GraphNet samples whose inputs have more than --max-bytes are not run. Text takes its weights from the file
beside it. A folder draws them, so that only programs without weights run with the same bits there. MLIR is
written only. .pt and folders spell names in ASCII.

`ways`: without FOLDER, of programs in the manner of the field's libraries. The ways are check, check --calls
and shapes; run; decompose by four schemes into both forms, each with validate
--run; each pass, with diff-run. Values must be PyTorch's bits, and no verdict INVALID.

No command may end by a signal, and each message is one line. A refusal is a fault unless REFUSED names it, and
is counted by kind. --quick takes each form or way once a program or so, in turns. The exit status is 0 if there
is no fault.
"""

import argparse
import collections
import concurrent.futures
import ctypes
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import warnings

import in_pytorch
import torch

warnings.filterwarnings("ignore")

FORMS = {"pb": "x.pb", "text": "x.gn", "folder": "x_folder", "pt2": "x.pt2", "pt": "x.pt", "mlir": "x.mlir"}
PYTORCH = ("pt", "pt2")

# How --input calls the dtypes that it does not call as files of tensors do.
SHORT_NAMES = {
    torch.float8_e4m3fn: "f8e4m3fn",
    torch.float8_e5m2: "f8e5m2",
    torch.float8_e4m3fnuz: "f8e4m3fnuz",
    torch.float8_e5m2fnuz: "f8e5m2fnuz",
    torch.float8_e8m0fnu: "f8e8m0fnu",
}

# (form, what the message says): what a form cannot hold.
REFUSED = [
    # Of what PyTorch itself reads: attributes of one memory that are written to, names that are no names of Python.
    ("read", r"overlap in memory, and one is written to"),
    # A value that is called torch would hide the operators from what follows.
    ("read", r"'torch' is not what PyTorch writes here"),
    ("read|pt2|mlir", r"which PyTorch would evaluate as Python|has no name of Python"),
    ("folder", r"has no Python spelling|a name that Python cannot spell"),
    # torch.export and MLIR take tensors and numbers, and say the shape and dtype of each value.
    (
        "pt2|mlir",
        r"an input of type (Dict|List|Tuple|Optional)|its (elements|text|shape and dtype|shape) (are|is) not known"
        r"|are not known; give them",
    ),
    (
        "pt2|mlir",
        r"_nested_tensor_from_mask|_transformer_encoder_layer_fwd|the program assigns this attribute in a branch or loop that depends on data",
    ),
    (
        "pt2|mlir",
        r"torch\.export does not support this call|torch\.export stores no tensors of dtype"
        r"|torch\.export has no dtype",
    ),
    (
        "mlir",
        r"its rank or dtype is unknown, or MLIR does not have the dtype|it writes to memory|the torch dialect has no"
        r"|calls with bodies other than branches|a mask as an index",
    ),
    ("pt2|mlir", r"cannot draw float8"),
    # How often a loop turns may depend on data only where PyTorch has a loop for it.
    ("pt2|mlir", r"the number of its turns is known only when it runs"),
    ("pt2|mlir", r"the shape and dtype of its value are not known"),
    ("pt2|mlir", r"Length of all samples has to be greater than 0"),
    # Text without weights beside it.
    ("pt2|pt|mlir", r"the value of .* is not known"),
    ("pt", r"LibTorch has no operator|Cannot match List|cannot export"),
    # These are refusals of ways. Most programs of one function have no modules, and a GraphNet folder is Python
    # that torch.fx could have written.
    (r"decompose --by-module.*", r"no operator has a module path"),
    (r"decompose .* graphnet", r"has no Python spelling"),
]
# Faults that are known: a piece that takes a list of sizes from another one does not run.
KNOWN = [(r"mel_scripted, decompose --pieces.*", r"expected an int, not GenericList")]


class Tool:
    def __init__(self, graphnet, timeout):
        self.graphnet, self.timeout = graphnet, timeout

    def __call__(self, *words):
        try:
            return subprocess.run(
                [self.graphnet, *map(str, words)],
                capture_output=True,
                text=True,
                timeout=self.timeout,
                check=False,
                errors="replace",
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(words, 124, "", f"graphnet: no end within {self.timeout} s")


class Fault(Exception):
    """What must not be."""


class Refusal(Exception):
    """What the tool says it cannot do."""


def succeed(done, what):
    """Returns what was printed. Raises Refusal for one line of error, Fault for anything else."""
    if done.returncode == 0:
        return done.stdout
    errors = [line for line in done.stderr.splitlines() if not re.match(r"(note|warning):", line)]
    if done.returncode not in (1, 2) or len(errors) != 1 or re.search(r"INTERNAL|internal error", errors[0]):
        raise Fault(f"{what}: exit {done.returncode}: {(done.stderr or done.stdout)[-500:]}")
    raise Refusal(errors[0])


def facts(document):
    """What `show --json` says of inputs and outputs, and of the weights that the program reads."""

    def meta(entry):
        return entry.get("dtype"), tuple(map(str, entry.get("shape") or ()))

    read = {node["target"] for graph in document["graphs"] for node in graph["nodes"] if node["op"] == "get_attr"}
    # Inputs are given by their targets; a node may have another name.
    main = next((graph for graph in document["graphs"] if graph["name"] == "forward"), document["graphs"][0])
    names = [node["target"] for node in main["nodes"] if node["op"] == "placeholder"]
    return {
        "inputs": [(name, meta(entry)) for name, entry in zip(names, document["inputs"])],
        "outputs": [meta(entry) for entry in document["outputs"]],
        "weights": {
            entry["name"]: (meta(entry), "Parameter" in (entry.get("annotation") or ""))
            for entry in document["attributes"]
            if entry["name"] in read
        },
    }


def is_spelled(name, other, is_module):
    """Whether `other` is how TorchScript or Python spells the name: other characters become _, and a keyword, a
    function's name or a name that is taken gets an end. torch.jit calls _ itself _0."""
    plain = "".join(chr(byte) if chr(byte).isalnum() and byte < 128 else "_" for byte in name.encode())
    ends = r"_?(_\d+)?" if plain.strip("_") else r"_?(_?\d+)?"
    return name == other or is_module and bool(re.fullmatch("_?" + plain + ends, other.replace(".", "_")))


def compare_facts(before, after, form, kept=()):
    """`kept`: weights that the file has in PyTorch, even if only calls without an effect read them, which go."""
    module = form in ("pt", "pt2", "folder")
    inputs = after["inputs"]
    if form == "folder":  # Weights are inputs there, behind the others.
        weights = sorted(meta for _, meta in inputs[len(before["inputs"]) :])
        if weights != sorted(meta for meta, _ in before["weights"].values()):
            raise Fault(f"weights {before['weights']} became inputs {weights}")
        inputs = inputs[: len(before["inputs"])]
    if len(before["inputs"]) != len(inputs):
        raise Fault(f"{before['inputs']} became {inputs}")
    # torch.export has the parts of a list or a dict as outputs.
    is_divided = form == "pt2" and any(dtype is None for dtype, _ in before["outputs"])
    if len(before["outputs"]) != len(after["outputs"]) and not is_divided:
        raise Fault(f"{len(before['outputs'])} outputs became {len(after['outputs'])}")
    for (name, meta), (other, now) in zip(before["inputs"], inputs):
        if not is_spelled(name, other, module):
            raise Fault(f"input {name!r} became {other!r}")
        if meta != now and meta[0] and now[0]:
            raise Fault(f"input {name!r}: {meta} became {now}")
    for meta, now in zip(before["outputs"], after["outputs"]):
        if meta != now and meta[0] and now[0]:
            raise Fault(f"an output: {meta} became {now}")
    if form == "folder":
        return
    left = dict(after["weights"])
    for name, what in before["weights"].items():
        found = [other for other in left if left[other] == what and is_spelled(name, other, module)]
        if not found and name in kept:
            continue
        if not found:
            raise Fault(f"weight {name!r} {what} became one of {left}")
        del left[name if name in found else found[0]]
    if left:
        raise Fault(f"there are weights more: {left}")


def bits(tensor):
    """The elements of a tensor, row by row."""
    content = in_pytorch.as_bytes(tensor.detach())
    return ctypes.string_at(content.data_ptr(), content.numel()) if content.numel() else b""


class InPyTorch:
    """A file as PyTorch loads it."""

    def __init__(self, path):
        if path.suffix == ".pt2":
            program = torch.export.load(str(path))
            self.state = {
                **program.state_dict,
                **{k: v for k, v in program.constants.items() if isinstance(v, torch.Tensor)},
            }
        else:
            self.state = torch.jit.load(str(path)).state_dict()

    def weights(self, names=None):
        """What is under the names; each once, as a tensor with two names may have one of them in a file.
        A constant of a trace gets a name in a file."""
        return sorted(
            {
                (str(value.dtype), tuple(value.shape), tuple(value.stride()) if value.numel() > 0 else (), bits(value))
                for name, value in self.state.items()
                if isinstance(value, torch.Tensor)
                and (name in names if names is not None else not name.startswith("_tensor_constant"))
            }
        )


def load_written(path):
    """A file that graphnet wrote, as PyTorch loads it."""
    try:
        return InPyTorch(path)
    except Exception as error:  # pylint: disable=broad-except
        raise Fault(f"PyTorch does not load it: {type(error).__name__}: {str(error)[:300]}") from error


def described(tensors):
    """The words of --input for the dtypes and sizes of inputs, which an archive of TorchScript does not say."""

    def text(value):
        if isinstance(value, dict):
            if all(key.isdigit() for key in value):
                return f"list({','.join(text(value[key]) for key in sorted(value, key=int))})"
            return f"dict({','.join(f'{key}={text(one)}' for key, one in value.items())})"
        kind = SHORT_NAMES.get(value.dtype) or in_pytorch.DTYPES[value.dtype].lower()
        return f"{kind}[{','.join(map(str, value.shape))}]"

    tree = {}
    for name, value in tensors.items():
        place = tree
        *heads, leaf = name.split(".")
        for head in heads:
            place = place.setdefault(head, {})
        place[leaf] = value
    return [word for name, value in tree.items() for word in ("--input", f"{name}={text(value)}")]


def drawn(entry):
    """A tensor of the dtype, sizes and bounds that a list of inputs says."""
    dtype = getattr(torch, entry["dtype"].removeprefix("torch."))
    if entry.get("high") is not None:
        return torch.randint(entry["low"], entry["high"], entry["shape"]).to(dtype)
    return torch.randn(entry["shape"]).to(dtype)


class Program:
    """A program to write."""

    def __init__(self, path, tool, scratch, max_bytes):
        self.path, self.tool, self.scratch = path, tool, scratch
        self.is_pytorch = path.suffix in (".pt", ".pt2")
        call = path.with_name(path.name.removesuffix(path.suffix) + ".0.in.safetensors")
        self.call = call if self.is_pytorch and call.is_file() else None
        self.expected, self.shapes = None, []
        if self.call is not None:
            self.expected = in_pytorch.read_safetensors(call.with_name(call.name.replace(".in.", ".out.")))
        self.runs = True
        if path.is_dir():
            metas = in_pytorch.read_metas(path)
            self.runs = in_pytorch.declared_bytes(metas) <= max_bytes
            if self.runs:
                self.call = scratch / "drawn.safetensors"
                in_pytorch.write_safetensors(
                    {name: in_pytorch.draw(meta, 0) for name, meta in metas.items()}, self.call
                )
        listed = path.with_name(path.name.removesuffix(".pt") + ".json")
        if self.is_pytorch and self.call is None and listed.is_file():
            self.call = scratch / "drawn.safetensors"
            names = [name for name, _ in self.show(path)["inputs"]]
            in_pytorch.write_safetensors(
                dict(zip(names, map(drawn, json.loads(listed.read_text())["inputs"]))), self.call
            )
        self.inputs = ["--seed", "3"] if self.call is None else ["--inputs", self.call]

    def show(self, path):
        return facts(json.loads(succeed(self.tool("show", path, "--json"), "show")))

    def run(self, path, out):
        inputs = self.inputs
        if self.call is not None:
            given, named = in_pytorch.read_safetensors(self.call), self.show(path)["inputs"]
            renamed = dict(zip((name for name, _ in self.facts["inputs"]), (name for name, _ in named)))
            changed = {
                ".".join([renamed.get(name.split(".")[0], name.split(".")[0]), *name.split(".")[1:]]): value
                for name, value in given.items()
            }
            in_pytorch.write_safetensors(changed, self.scratch / "in.safetensors")
            inputs = ["--inputs", self.scratch / "in.safetensors"]
        succeed(self.tool("run", path, "--threads", "1", *inputs, "-o", out), "run")
        return in_pytorch.read_safetensors(out)

    def hash_of(self, path):
        return succeed(self.tool("hash", path), "hash").split()[0]

    def begin(self):
        """Reads and runs the program itself."""
        self.facts = self.show(self.path)
        if self.call is not None and self.path.suffix == ".pt":
            self.shapes = described(in_pytorch.read_safetensors(self.call))
        succeed(self.tool("check", self.path), "check")
        self.outputs = self.weights = None
        self.hash = self.hash_of(self.path)
        try:
            if self.runs:
                self.outputs = self.run(self.path, self.scratch / "a.safetensors")
        except Refusal:
            if self.call is not None:
                raise
        if self.expected is not None and (differs := in_pytorch.compare(self.expected, self.outputs)):
            raise Fault(f"PyTorch computes something else: {differs}")
        # A storage that several attributes share is one attribute of the program, by its own name.
        if self.is_pytorch and not any("_storage_" in name for name in self.facts["weights"]):
            try:
                loaded = InPyTorch(self.path)
            except Exception:  # pylint: disable=broad-except
                return  # PyTorch does not load it here: it has a class of the program that exported it.
            self.weights, self.all_weights = loaded.weights(self.facts["weights"]), loaded.weights()

    def write(self, form):
        target = self.scratch / FORMS[form]
        succeed(self.tool("convert", self.path, target, *(self.shapes if form in ("pt2", "mlir") else [])), "convert")
        if form == "mlir":
            return
        if form == "text" and self.is_pytorch:  # Its values lie beside it, as those of protobuf do.
            succeed(self.tool("convert", self.path, self.scratch / "x.pb"), "convert to protobuf")
        checked = self.tool("check", target)
        if checked.returncode != 0:
            raise Fault(f"check: {(checked.stdout + checked.stderr)[-300:]}")
        loaded = load_written(target) if self.weights is not None and form in PYTORCH else None
        compare_facts(self.facts, self.show(target), form, loaded.state if form == "pt" and loaded else ())
        keeps_graph = form in ("pb", "text") or form == "folder" and self.path.is_dir()
        if keeps_graph and self.hash_of(target) != self.hash:
            raise Fault("has another hash")
        # A folder has other weights, and its inputs have no structure.
        lacks = (
            form == "folder"
            and not self.path.is_dir()
            and (
                self.facts["weights"]
                or self.call
                and any("." in name for name in in_pytorch.read_safetensors(self.call))
            )
        )
        if self.outputs is not None and not lacks and (self.call or form not in PYTORCH):
            try:
                got = self.run(target, self.scratch / "b.safetensors")
            except Refusal as refusal:
                raise Fault(f"does not run: {refusal}") from refusal
            if differs := in_pytorch.compare(self.outputs, got):
                raise Fault(f"has other outputs: {differs}")
        if self.weights is not None and form == "pb":  # by way of a form that PyTorch reads
            back = self.scratch / "back.pt"
            if self.tool("convert", target, back).returncode == 0:
                loaded = load_written(back)
        if loaded is not None:
            self.compare_weights(loaded)

    def compare_weights(self, loaded):
        # Beside those that the program reads there may be others of the file.
        if not set(self.weights) <= set(loaded.weights()) or not set(loaded.weights()) <= set(self.all_weights):
            raise Fault(
                f"weights in PyTorch: {[w[:3] for w in self.weights]} became {[w[:3] for w in loaded.weights()]}"
            )


def judge(path, forms, tool, max_bytes):
    """[(form, None or what is wrong)]"""
    found = []
    with tempfile.TemporaryDirectory() as scratch:
        try:
            program = Program(path, tool, pathlib.Path(scratch), max_bytes)
            program.begin()
        except (Fault, Refusal) as error:
            return [("read", error)]
        for form in forms:
            try:
                program.write(form)
                found.append((form, None))
            except (Fault, Refusal) as error:
                found.append((form, error))
    return found


def programs_in(path):
    """The programs in a folder; each sample is one."""
    if path.is_file():
        return [path]
    if (path / "graph_net.json").is_file():
        return [path]
    found = []
    for child in sorted(path.iterdir()):
        if child.is_dir():
            found += programs_in(child)
        elif child.suffix in (".pt", ".pt2", ".pb", ".gn"):
            found.append(child)
    return found


def make_programs(*words):
    """Runs make_programs.py, in a process of its own: threads here load archives of TorchScript."""
    script = pathlib.Path(__file__).with_name("make_programs.py")
    made = subprocess.run([sys.executable, script, *map(str, words)], capture_output=True, text=True, check=True)
    print(made.stdout.strip().splitlines()[-1], flush=True)


# --- Ways ------------------------------------------------------------------------------------------

SCHEMES = ["--pieces 3", "--single-op", "--blocks", "--by-module 2"]
# Options of passes that need some, and passes after which values are meant to differ.
OPTIONS = {"change-dtype": "{to=f64}", "change-device": "{to=cpu}", "partition": "{backend=mlir}"}
NEED_OPTIONS = {"rename", "rewrite", "specialize", "generalize-dims"}
OTHER_VALUES = {"change-dtype", "to-paddle", "check-stable", "fold-batch-norm", "quantize-weights"}


class Ways:
    """The ways of one program; each returns nothing or raises."""

    def __init__(self, path, tool, scratch):
        self.path, self.tool, self.scratch = path, tool, scratch
        self.calls = sorted(path.parent.glob(f"{path.stem}.*.in.safetensors"))

    def check(self):
        succeed(self.tool("check", self.path), "check")
        succeed(self.tool("check", "--calls", self.path), "check --calls")

    def shapes(self):
        succeed(self.tool("shapes", self.path, "--inputs", self.calls[0], "--check"), "shapes --check")

    def run(self):
        out = self.scratch / "out.safetensors"
        for inputs in self.calls:
            succeed(self.tool("run", self.path, "--inputs", inputs, "-o", out, "--threads", 1), "run")
            expected = in_pytorch.read_safetensors(inputs.with_name(inputs.name.replace(".in.", ".out.")))
            if differs := in_pytorch.compare(expected, in_pytorch.read_safetensors(out)):
                raise Fault(f"{inputs.name}: {differs[:400]}")

    def decompose(self, scheme, form):
        out = self.scratch / "pieces"
        succeed(self.tool("decompose", self.path, *scheme.split(), "--to", form, "-o", out), "decompose")
        done = self.tool("validate", self.path, out, "--run", "--inputs", self.calls[0], "--threads", 1)
        if "INVALID" in done.stdout + done.stderr:
            raise Fault((done.stdout + done.stderr)[-600:])
        succeed(done, "validate")

    def opt(self, name):
        out = self.scratch / "changed.pb"
        succeed(self.tool("opt", self.path, "-p", name + OPTIONS.get(name, ""), "-o", out, "--verify-each"), "opt")
        if name in OTHER_VALUES:
            return
        done = self.tool("diff-run", self.path, out, "--inputs", self.calls[0], "--threads", 1)
        if done.returncode == 1:
            raise Fault((done.stdout + done.stderr)[-600:])
        succeed(done, "diff-run")

    def all(self, passes):
        yield from (("check", self.check), ("shapes", self.shapes), ("run", self.run))
        for scheme in SCHEMES:
            for form in ("protobuf", "graphnet"):
                yield f"decompose {scheme} {form}", lambda s=scheme, f=form: self.decompose(s, f)
        for name in passes:
            yield f"opt {name}", lambda n=name: self.opt(n)


def ways(args, tool):
    """The programs, and what judges the Nth: [(way, None or what is wrong)]."""
    passes = [row["pass"] for row in json.loads(tool("passes", "--json").stdout)["passes"]]
    passes = [name for name in passes if name not in NEED_OPTIONS]
    if not args.folder:
        args.folder = args.scratch / "field"
        make_programs("field", args.folder)
    paths = sorted(path for path in args.folder.iterdir() if path.suffix in (".pt", ".pt2"))

    def one(number):
        found = []
        for turn, (way, _) in enumerate(Ways(paths[number], tool, None).all(passes)):
            if not re.search(args.way, way) or args.quick and way != "run" and (turn + number) % 12:
                continue
            with tempfile.TemporaryDirectory() as scratch:
                do = dict(Ways(paths[number], tool, pathlib.Path(scratch)).all(passes))[way]
                try:
                    do()
                    found.append((way, None))
                except (Fault, Refusal) as error:
                    found.append((way, error))
        return found

    return paths, one


# --- Both ------------------------------------------------------------------------------------------


def forms(args, tool):
    """The programs, and what judges the Nth: [(form, None or what is wrong)]."""
    if not args.programs:
        make_programs("odd", args.scratch, "--count", args.count)
        make_programs("field", args.scratch / "field")
    paths = [path for given in args.programs or [args.scratch] for path in programs_in(given)]
    if args.skip_larger:
        paths = [
            path
            for path in paths
            if not path.is_dir() or in_pytorch.declared_bytes(in_pytorch.read_metas(path)) <= args.max_bytes
        ]
    if args.sample:
        paths = random.Random(0).sample(paths, min(args.sample, len(paths)))
    every = list(FORMS)
    return paths, lambda number: judge(
        paths[number], [every[number % len(every)]] if args.quick else every, tool, args.max_bytes
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(required=True)
    for name, take in (("forms", forms), ("ways", ways)):
        step = steps.add_parser(name)
        step.set_defaults(take=take)
        step.add_argument("--graphnet", default="bazel-bin/graphnet/cli/graphnet")
        step.add_argument("--quick", action="store_true", help="some forms or ways of each program, in turns")
        step.add_argument("--timeout", type=int, default=300, help="seconds for one command")
        step.add_argument("--jobs", type=int, default=1)
        if name == "ways":
            step.add_argument("folder", type=pathlib.Path, nargs="?")
            step.add_argument("--way", default="", help="only the ways that this regular expression matches")
            continue
        step.add_argument("programs", nargs="*", type=pathlib.Path, metavar="IN")
        step.add_argument("--count", type=int, default=200, help="odd programs to make (default: %(default)s)")
        step.add_argument("--sample", type=int, help="take this many programs at random")
        step.add_argument(
            "--max-bytes",
            type=int,
            default=1 << 28,
            help="do not run GraphNet samples with inputs of more bytes (default: %(default)s)",
        )
        step.add_argument("--skip-larger", action="store_true", help="skip these samples")
    args = parser.parse_args()
    torch.set_num_threads(1)
    equal, wrong, refused = 0, 0, collections.Counter()
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        args.scratch = pathlib.Path(scratch)
        paths, one = args.take(args, Tool(args.graphnet, args.timeout))
        numbers = range(len(paths))[in_pytorch.shard()]
        for number, found in zip(numbers, pool.map(one, numbers)):
            path = paths[number]
            for form, error in found:
                if error is None:
                    equal += 1
                    continue
                listed = [why for where, why in REFUSED if re.fullmatch(where, form) and re.search(why, str(error))]
                listed = listed if isinstance(error, Refusal) else []
                listed += [
                    why
                    for where, why in KNOWN
                    if re.fullmatch(where, f"{path.stem}, {form}") and re.search(why, str(error))
                ]
                if listed:
                    refused[form, listed[0]] += 1
                    continue
                wrong += 1
                print(f"{type(error).__name__.lower()}  {path.name}, {form}: {error}", flush=True)
    for (form, why), count in sorted(refused.items()):
        print(f"refused  {form}, {count} times: {why}")
    print(
        f"{len(numbers)} programs: {equal} forms or ways are right, {sum(refused.values())} are refused, {wrong} faults"
    )
    return 1 if wrong or not equal else 0


if __name__ == "__main__":
    sys.exit(main())
