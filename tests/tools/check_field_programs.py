#!/usr/bin/env python3
"""Takes programs in the manner of the field's libraries through every way of the tool.

    check_field_programs.py FOLDER [NAME…]           programs that make_field_programs.py wrote
    check_field_programs.py --quick FOLDER           each way once a program or so, in turns

The ways: check, check --calls and shapes; run; decompose by four schemes into both forms, each
with validate --run; each pass, with diff-run; each format, back again and run. Values must be
PyTorch's bits, no verdict INVALID, no end by a signal, and each message one line. What the tool
refuses in one line is counted by reason; it is a fault unless REFUSED names it.
The exit status is 0 if there is no fault.
"""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import sys
import tempfile

import in_pytorch
from check_writers import Fault, Refusal, Tool, described, succeed

SCHEMES = ["--pieces 3", "--single-op", "--blocks", "--by-module 2"]
FORMS = ["protobuf", "graphnet"]
FORMATS = ["pb", "gn", "pt2", "pt", "folder", "mlir"]
ONE_WAY = {"mlir"}  # written, not read
NO_WEIGHTS = {"gn", "folder"}
STATIC = {"pt2", "mlir"}  # these need the shapes of inputs
# Options of passes that need some, and passes after which values are meant to differ.
OPTIONS = {"change-dtype": "{to=f64}", "change-device": "{to=cpu}"}
NEED_OPTIONS = {"rename", "rewrite", "specialize", "generalize-dims"}
OTHER_VALUES = {"change-dtype", "to-paddle", "check-stable"}
# (program, way, what the message says): what cannot be, by its reason.
REFUSED = [
    # A graph without modules, as most programs of one function are.
    (r".*", r"decompose --by-module.*", r"no operator has a module path"),
    # A GraphNet folder is Python that torch.fx could have written.
    (r".*", r"decompose .* graphnet|convert folder", r"has no Python spelling"),
    # What torch-mlir's dialect lacks, which has neither sizes that depend on data nor graphs in calls.
    (r".*", r"convert mlir",
     r"the torch dialect has no operator|calls with bodies other than branches|a mask as an index"
     r"|its rank or dtype is unknown, or MLIR does not have the dtype"),
    # Operators that PyTorch defines in Python; TorchScript knows those of C++.
    (r".*", r"convert pt", r"LibTorch has no operator (higher_order|quantized_decomposed)::"),
    # torch.export and MLIR say the shape of each value, also of those that depend on data, of branches
    # on types, and of kernels that have none for tensors without data; and have no gradients in a program.
    (r"encoder_padding|encoder_scripted|lists_and_dicts|suppression", r"convert (pt2|mlir)",
     r"the shape and dtype of its value are not known"),
    (r"force_field", r"convert (pt2|mlir)", r"torch\.export does not support this call"),
    (r"packed_lstm", r"convert (pt2|mlir)", r"Length of all samples has to be greater than 0"),
    (r"packed_lstm", r"convert pt", r"Cannot match List\[t\] to Tensor"),
    # How often a loop turns may depend on data only where PyTorch has a loop for it.
    (r"suppression", r"convert (pt2|mlir)", r"the number of its turns is known only when it runs"),
]
# Faults that are known: a piece that takes a list of sizes from another one does not run.
KNOWN = [(r"mel_scripted", r"decompose --pieces.*", r"expected an int, not GenericList")]


class Program:
    """One file, with its calls; the ways return nothing or raise."""

    def __init__(self, path, tool, scratch):
        self.path, self.tool, self.scratch = path, tool, scratch
        self.name = path.stem
        self.calls = sorted(path.parent.glob(f"{self.name}.*.in.safetensors"))

    def compare(self, model, what, calls=None):
        for inputs in calls or self.calls:
            expected = inputs.with_name(inputs.name.replace(".in.", ".out."))
            out = self.scratch / "out.safetensors"
            succeed(self.tool("run", model, "--inputs", inputs, "-o", out, "--threads", 1), f"{what}, run")
            differs = in_pytorch.compare(in_pytorch.read_safetensors(expected), in_pytorch.read_safetensors(out))
            if differs:
                raise Fault(f"{what}: {inputs.name}: {differs[:400]}")

    def check(self):
        succeed(self.tool("check", self.path), "check")
        succeed(self.tool("check", "--calls", self.path), "check --calls")

    def shapes(self):
        succeed(self.tool("shapes", self.path, "--inputs", self.calls[0], "--check"), "shapes --check")

    def run(self):
        self.compare(self.path, "as it is")

    def decompose(self, scheme, form):
        out = self.scratch / "pieces"
        succeed(self.tool("decompose", self.path, *scheme.split(), "--to", form, "-o", out), f"decompose {scheme}")
        done = self.tool("validate", self.path, out, "--run", "--inputs", self.calls[0], "--threads", 1)
        if "INVALID" in done.stdout + done.stderr:
            raise Fault(f"decompose {scheme} --to {form}: {(done.stdout + done.stderr)[-600:]}")
        succeed(done, f"validate {scheme} --to {form}")

    def opt(self, name):
        out = self.scratch / "changed.pb"
        succeed(self.tool("opt", self.path, "-p", name + OPTIONS.get(name, ""), "-o", out, "--verify-each"), f"opt {name}")
        if name in OTHER_VALUES:
            return
        done = self.tool("diff-run", self.path, out, "--inputs", self.calls[0], "--threads", 1)
        if done.returncode == 1:
            raise Fault(f"opt {name}: {(done.stdout + done.stderr)[-600:]}")
        succeed(done, f"diff-run after {name}")

    def convert(self, form):
        first = self.scratch / ("there" if form == "folder" else f"there.{form}")
        # An archive of TorchScript knows no shapes.
        shapes = described(in_pytorch.read_safetensors(self.calls[0])) if form in STATIC and self.path.suffix == ".pt" else []
        succeed(self.tool("convert", self.path, first, *shapes), f"convert to {form}")
        if form in ONE_WAY:
            return
        if form in NO_WEIGHTS:
            succeed(self.tool("check", first), f"check of {form}")
            return
        back = self.scratch / "back.pb"
        succeed(self.tool("convert", first, back), f"convert from {form}")
        calls = self.calls[:1] if shapes else self.calls
        self.compare(first, f"as {form}", calls)
        self.compare(back, f"by way of {form}", calls)


def ways(program, passes):
    yield "check", program.check
    yield "shapes", program.shapes
    yield "run", program.run
    for scheme in SCHEMES:
        for form in FORMS:
            yield f"decompose {scheme} {form}", lambda s=scheme, f=form: program.decompose(s, f)
    for name in passes:
        yield f"opt {name}", lambda n=name: program.opt(n)
    for form in FORMATS:
        yield f"convert {form}", lambda f=form: program.convert(f)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--way", default="", help="only the ways that this regular expression matches")
    parser.add_argument("--graphnet", default="bazel-bin/graphnet/cli/graphnet")
    parser.add_argument("--timeout", type=int, default=120)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    tool = Tool(args.graphnet, args.timeout)
    listed = json.loads(tool("passes", "--json").stdout)["passes"]
    passes = [row["pass"] for row in listed if row["pass"] not in NEED_OPTIONS]
    paths = sorted(p for p in args.folder.iterdir() if p.suffix in (".pt", ".pt2") and (not args.names or p.stem in args.names))
    if not paths or len(passes) < 10:
        raise SystemExit("no programs, or no passes")

    return report(args, paths, tool, passes)


def report(args, paths, tool, passes):
    def one(number):
        found = []
        program = Program(paths[number], tool, None)
        for turn, (way, do) in enumerate(ways(program, passes)):
            if args.way and not re.search(args.way, way) or args.quick and way != "run" and (turn + number) % 12:
                continue
            with tempfile.TemporaryDirectory() as scratch:
                program.scratch = pathlib.Path(scratch)
                try:
                    do()
                    found.append((way, None))
                except (Fault, Refusal) as error:
                    found.append((way, error))
        return paths[number].stem, found

    done = faults = 0
    refused = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for name, found in pool.map(one, range(len(paths))):
            for way, error in found:
                done += error is None
                if error is None:
                    continue
                if any(re.fullmatch(p, name) and re.fullmatch(w, way) and re.search(r, str(error))
                       for p, w, r in [*KNOWN, *(REFUSED if isinstance(error, Refusal) else [])]):
                    refused[way] += 1
                    continue
                faults += 1
                print(f"{type(error).__name__.lower()}  {name}, {way}: {error}", flush=True)
    print(f"{len(paths)} programs: {done} ways right, {sum(refused.values())} refused for a reason that is listed, {faults} faults")
    return faults > 0


if __name__ == "__main__":
    sys.exit(main())
