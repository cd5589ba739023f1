#!/usr/bin/env python3
"""Runs samples by workers of compilers, without graphnet bench, and compares with eager PyTorch.

    try_worker.py --set FOLDER --make SAMPLE…       what workers need of each sample, into FOLDER
    try_worker.py --set FOLDER WORKER…              by each worker: compiled, correct, why not

A worker is NAME of graphnet/evaluate/workers/NAME_worker.py or .cc. Right is what is within the
tolerances of t = -5 of docs/evaluation.md. This runs the Python text of the samples: use it on
samples that you trust.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile

import torch

import compare_outputs as common
import compare_runs as runs

READS = {"openvino": "export", "xla": "mlir", "iree": "mlir", "bladedisc": "torchscript"}  # others: pt2
PASSES = "change-device{to=cpu},revert-vmap,expand-vmap,specialize,fold-constants"
WORKERS = pathlib.Path(__file__).resolve().parents[2] / "graphnet/evaluate/workers"
BACKENDS = pathlib.Path(os.environ.get("GRAPHNET_BACKENDS") or pathlib.Path.home() / ".local/share/graphnet/backends")


# --- What workers need -----------------------------------------------------------

def write_export(folder):
    """model.json and the constants of a .pt2."""
    with zipfile.ZipFile(folder / "a.pt2") as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("models/model.json")]
        (folder / "model.json").write_bytes(archive.read(name))
    program = torch.export.load(folder / "a.pt2")
    weights = {**program.state_dict, **{k: v for k, v in program.constants.items() if isinstance(v, torch.Tensor)}}
    if weights:
        runs.write_safetensors({name: value.detach().contiguous() for name, value in weights.items()}, folder / "weights.safetensors")


def make(sample, folder, args):
    if not (folder / "inputs.safetensors").exists():
        folder.mkdir(parents=True)
        limits = argparse.Namespace(seed=args.seed, max_memory=16 << 30, timeout=300)
        if what := runs.python_side(sample, limits, folder):
            return f"eager: {what}"
    for path in [*folder.glob("a.*"), *folder.glob("model.json")]:
        path.unlink()
    tool = [args.graphnet, "opt", sample]
    for name, passes in (("a.pt2", PASSES + ",functionalize{outputs=true},dce"), ("a.mlir", PASSES)):
        done = subprocess.run([*tool, f"--passes={passes}", "-o", folder / name], capture_output=True, text=True)
        if done.returncode != 0:
            (folder / f"{name}.error").write_text(done.stderr)
    if (folder / "a.pt2").exists():
        try:
            write_export(folder)
        except Exception as error:
            (folder / "a.pt2.error").write_text(f"torch.export.load: {common.one_line(error)}")
            (folder / "a.pt2").unlink()
    scope = {"__name__": "sample"}
    exec(compile((sample / "model.py").read_text(), "model.py", "exec"), scope)
    code = scope["GraphModule"].forward.__code__
    (folder / "order.json").write_text(json.dumps(code.co_varnames[1 : code.co_argcount]))
    (folder / "sample").write_text(str(sample))
    return ", ".join(f"{path.name}: {path.read_text().strip()[:200]}" for path in sorted(folder.glob("*.error")))


def make_all(args):
    samples = common.find_samples(args.words)
    for i, sample in enumerate(samples):
        folder = args.set / f"{sample.parent.name}.{sample.name}"
        if folder.exists() and not args.again:
            continue
        what = make(sample, folder, args)
        if what.startswith("eager"):
            shutil.rmtree(folder)
            folder.mkdir()  # So that it is not tried again.
        print(f"{i + 1}/{len(samples)} {sample}: {what or 'made'}", flush=True)


# --- A worker ----------------------------------------------------------------------

class Worker:
    def __init__(self, name, args):
        self.name, self.args, self.process = name, args, None

    def command(self):
        venv = BACKENDS / self.name
        if (WORKERS / f"{self.name}_worker.cc").exists():
            return [venv / f"{self.name}_worker"]
        python = venv / "bin/python" if venv.exists() else sys.executable
        return [python, WORKERS / f"{self.name}_worker.py"]

    def start(self):
        self.scratch = tempfile.TemporaryDirectory()
        read, write = os.pipe()
        log = open(f"{self.scratch.name}/log", "wb")
        words = " ".join(f"'{word}'" for word in self.command())
        self.process = subprocess.Popen(["bash", "-c", f"exec {words} 3>&{write} {write}>&-"], stdin=subprocess.PIPE,
                                        stdout=log, stderr=log, pass_fds=[write], cwd=self.scratch.name, start_new_session=True)
        os.close(write)
        self.answers, self.rest = read, b""

    def stop(self):
        if self.process is None:
            return
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.answers)
        self.scratch.cleanup()
        self.process = None

    def ask(self, verb, **more):
        if self.process is None:
            self.start()
        try:
            self.process.stdin.write(json.dumps({"verb": verb, **more}).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        end = time.monotonic() + self.args.limit
        while b"\n" not in self.rest:
            if not select.select([self.answers], [], [], max(0, end - time.monotonic()))[0]:
                self.stop()
                return {"ok": False, "stage": verb, "error": f"takes over {self.args.limit} s"}
            got = os.read(self.answers, 1 << 16)
            if not got:
                code = self.process.wait()
                lines = pathlib.Path(self.scratch.name, "log").read_text(errors="replace").splitlines()
                lines = [line for line in lines if re.search("error|what\\(\\)|assert|fault", line, re.I)] or lines
                self.stop()
                return {"ok": False, "stage": verb, "error": f"died with {code}: {lines[-1] if lines else ''}"}
            self.rest += got
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)


def is_right(actual, expected):
    """At t = -5."""
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return f"{actual.dtype} {list(actual.shape)} instead of {expected.dtype} {list(expected.shape)}"
    atol, rtol = {torch.float16: (1e-5, 1e-3), torch.bfloat16: (1e-5, 1.6e-2), torch.float32: (1e-5, 1.3e-6), torch.complex64: (1e-5, 1.3e-6),
                  torch.float64: (1e-7, 1e-7)}.get(expected.dtype, (0, 0))
    exact = torch.complex128 if expected.is_complex() else torch.float64
    if not (expected.is_floating_point() or expected.is_complex()):
        return "" if torch.equal(actual, expected) else "values differ"
    difference = (actual.to(exact) - expected.to(exact)).abs()
    allowed = atol + rtol * expected.to(exact).abs()
    fine = (difference <= allowed) | (actual == expected)
    if fine.all():
        return ""
    if not actual.isfinite().all():
        return "not finite" if expected.isfinite().all() else "not finite in eager either"
    return f"off by {difference.max():.2e} of {expected.to(exact).abs().max():.2e}"


def try_one(worker, folder, args):
    reads = READS.get(worker.name, "pt2")
    program = folder / {"pt2": "a.pt2", "export": "model.json", "mlir": "a.mlir", "torchscript": "a.pt"}[reads]
    weights = folder / {"export": "weights.safetensors", "mlir": "a.mlir.safetensors"}.get(reads, "none")
    if not program.exists():
        error = folder / ("a.mlir.error" if reads == "mlir" else "a.pt2.error")
        return "not written", error.read_text().strip() if error.exists() else "", 0
    common_words = {"inputs": str(folder / "inputs.safetensors"), "seed": args.seed}
    begin = time.monotonic()
    more = {"weights": str(weights)} if weights.exists() else {}
    answer = worker.ask("prepare", program=str(program), order=json.loads((folder / "order.json").read_text()),
                        device="cpu", **common_words, **more)
    seconds = time.monotonic() - begin
    if not answer["ok"]:
        return "compile", answer["error"], seconds
    with tempfile.TemporaryDirectory() as scratch:
        outputs = pathlib.Path(scratch, "out.safetensors")
        answer = worker.ask("run", outputs=str(outputs), **common_words)
        if not answer["ok"]:
            return "run", answer["error"], seconds
        actual, expected = runs.read_safetensors(outputs), runs.read_safetensors(folder / "expected.safetensors")
        proof = answer.get("proof", "")
        if args.time:
            answer = worker.ask("time", outputs=str(outputs), warmup=1, trials=3, **common_words)
            if not answer["ok"]:
                return "run", f"timed: {answer['error']}", seconds
            proof = f"{statistics.median(answer['ms']):.2f} ms, {proof}"
            again = runs.read_safetensors(outputs)
            if set(again) != set(actual) or any(is_right(again[name], actual[name]) for name in actual):
                return "wrong", "another result when timed", seconds
    for i in range(len(expected)):
        if str(i) not in actual:
            return "wrong", f"{len(actual)} outputs instead of {len(expected)}", seconds
        if what := is_right(actual[str(i)], expected[f"o{i}"]):
            return "accuracy" if what.startswith("off") else "wrong", f"output {i} {what}", seconds
    return "correct", proof, seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="+", metavar="SAMPLE or WORKER")
    parser.add_argument("--set", type=pathlib.Path, required=True)
    parser.add_argument("--make", action="store_true")
    parser.add_argument("--again", action="store_true", help="write the programs anew")
    parser.add_argument("--graphnet", default="bazel-bin/graphnet/cli/graphnet")
    parser.add_argument("--limit", type=float, default=120, help="seconds an answer")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="samples whose folders match")
    parser.add_argument("--count", type=int)
    parser.add_argument("--time", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.make:
        args.words = [pathlib.Path(word) for word in args.words]
        make_all(args)
        return 0
    folders = [f.parent for f in sorted(args.set.glob("*/sample")) if re.search(args.only, f.parent.name)][: args.count]
    for name in args.words:
        worker, counts, reasons = Worker(name, args), collections.Counter(), collections.Counter()
        print(name, worker.ask("hello"), flush=True)
        for folder in folders:
            verdict, what, seconds = try_one(worker, folder, args)
            counts[verdict] += 1
            if verdict != "correct":
                reasons[verdict, re.sub(r"%[\w.$]+|\d+(\.\d+)?(e-?\d+)?", "#", what)[:110]] += 1
            print(f"{name:10} {verdict:11} {seconds:6.1f} s  {folder.name}: {what[:250]}", flush=True)
        worker.stop()
        for (verdict, what), count in reasons.most_common():
            print(f"{name:10} {count:4} {verdict}: {what}")
        print(f"{name}: {len(folders)} samples, " + ", ".join(f"{n} {v}" for v, n in counts.most_common()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
