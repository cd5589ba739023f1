#!/usr/bin/env python3
"""Compares what `graphnet check --for` says of samples with what comes of converting and running
them.

    tests/tools/check_for.py --graphnet G FOLDER [--for onnx,onnxruntime,mlir,pt2,torchscript,paddle]
        [--results DIR] [--seconds S]

A format works if `graphnet convert --to` writes the sample, a backend if `graphnet bench` compiles
and runs it: numbers that differ are no fault of the prediction. Of each target it prints how many
samples were judged, how many works and how many missing were false, and which. The exit status is 1
if a "works" was false, or more than 4 of 200 "missing".

What converting and running gave is kept in --results and not done again. With --seconds, what is
left after that time is not judged.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

BACKENDS = {"onnxruntime", "torch", "inductor", "openvino", "iree", "xla", "tvm", "tensorrt", "nope", "jit",
            "bladedisc"}
RUN_FAILS = {"compile_fail", "runtime_fail"}


def convert(graphnet, path, target, folder):
    """Why it is not written; empty if it is."""
    done = subprocess.run([graphnet, "convert", path, folder / "out", "--to", target],
                          capture_output=True, text=True, errors="replace")
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no message"])[-1]


def bench(graphnet, path, target, folder):
    """Why it does not run; empty if it does, None if that cannot be judged."""
    subprocess.run([graphnet, "bench", path, "--backend", target, "--warmup", "0", "--trials", "1", "-o",
                    folder / "bench"], capture_output=True)
    lines = (folder / "bench" / f"{target}.jsonl").read_text().splitlines()
    result = json.loads(lines[0])
    if result["status"] == "eager_fail":
        return None
    return result.get("reason") or result["status"] if result["status"] in RUN_FAILS else ""


def judge(graphnet, path, target, results):
    file = results / target / f"{path.name}.json"
    if not file.exists():
        with tempfile.TemporaryDirectory() as folder:
            way = bench if target in BACKENDS else convert
            why = way(graphnet, path, target, pathlib.Path(folder))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(why))
    return json.loads(file.read_text())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="of samples, each with a name of its own")
    parser.add_argument("--graphnet", default="bazel-bin/graphnet/cli/graphnet")
    parser.add_argument("--for", dest="targets", default="onnx,onnxruntime,mlir,pt2,torchscript,paddle")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    args = parser.parse_args()
    targets = args.targets.split(",")
    results = args.results or pathlib.Path(tempfile.mkdtemp(prefix="check_for."))

    begin = time.monotonic()
    done = subprocess.run([args.graphnet, "check", args.folder, "--for", args.targets, "--json"],
                          stdout=subprocess.PIPE, text=True)
    if done.returncode not in (0, 1):
        print(f"check --for exits with {done.returncode}", file=sys.stderr)
        return 1
    said = {pathlib.Path(row["path"]): row["targets"] for row in json.loads(done.stdout)["samples"]}
    print(f"check --for: {len(said)} samples in {time.monotonic() - begin:.1f} s", flush=True)

    fails = False
    for target in targets:
        judged, works, missing = 0, [], []
        for path, prediction in sorted(said.items()):
            is_known = (results / target / f"{path.name}.json").exists()
            if not is_known and time.monotonic() - begin > args.seconds:
                continue
            why = judge(args.graphnet, path, target, results)
            if why is None:
                continue
            judged += 1
            if prediction[target]["works"] and why:
                works.append(f"{path}: {why[:300]}")
            if not prediction[target]["works"] and not why:
                missing.append(f"{path}: {prediction[target]['missing'][0]}")
        print(f"{target}: {judged} judged, {len(works)} false works, {len(missing)} false missing", flush=True)
        for line in works:
            print(f"  works, but {line}")
        for line in missing:
            print(f"  missing, but it works: {line}")
        fails = fails or bool(works) or len(missing) * 200 > 4 * max(judged, 200)
    return 1 if fails else 0


if __name__ == "__main__":
    sys.exit(main())
