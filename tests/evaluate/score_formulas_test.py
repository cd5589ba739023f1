#!/usr/bin/env python3
"""Compares `graphnet score` with the formulas, computed directly, on logs or one of made-up samples.

    tests/evaluate/score_formulas_test.py GRAPHNET [LOG…] [--samples N]

For each of the three interpretations with several p and b: S(t) and ES(t) at every t from the samples, all
macro parameters, the aggregated score. What a log says is read here by regular expressions, a sample at a
time, with nothing in common with graphnet. The exit status is 1 if one differs.
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from typing import Iterator

import make_score_log

EXPONENTS = {"float16": (1, 3 / 5), "complex32": (1, 3 / 5), "bfloat16": (1, 1.796 / 5), "float32": (1, 5.886 / 5),
             "complex64": (1, 5.886 / 5), "float64": (7 / 5, 7 / 5), "complex128": (7 / 5, 7 / 5)}
# When a failure is forgiven, and which class it counts as.
THRESHOLDS = {
    "default": {"accuracy": (1, "accuracy"), "compile_fail": (3, "compile"), None: (3, "runtime")},
    "mismatch_extended": {"accuracy": (1, "accuracy"), "type_mismatch": (2, "mismatch"), "shape_mismatch": (2, "mismatch"),
                          "runtime_fail": (3, "runtime"), "compile_fail": (4, "compile"), "eager_fail": (math.inf, "eager")},
    "report": {"accuracy": (1, "accuracy"), "compile_fail": (3, "compile"), None: (2, "runtime")},
}
WEIGHTS = {**{t: 0.001 for t in (-10, -9, -8)}, -7: 0.13, -6: 0.40, **{t: 0.48 for t in range(-5, 5)}}


def status_of(lines):
    has = lambda *words: any(all(word in line for word in words) for line in lines)
    if not has("[Datatype][eager]"):
        return "eager_fail"
    if not has("[Datatype][compiled]"):
        return "compile_fail"
    if not has("[Shape]", "match:True") and not has("all_close"):
        return "shape_mismatch"
    if not has("[DataType]", "match:True"):
        return "type_mismatch"
    if has("Error:") or has("Exception:"):
        return "runtime_fail"
    return "correct"


def read_log(path):
    """Of each sample its status, its speedup and whether it is right at each t."""
    blocks = []
    with open(path) as file:
        for line in file:
            if "[Processing]" in line:
                blocks.append([])
            if blocks:
                blocks[-1].append(line)
    samples = []
    for lines in blocks:
        text = "".join(lines)
        values = {key: value.split() for key, value in re.findall(r"\[Correctness\]\[(.+)\]: (.+)", text)}
        dtypes = (re.findall(r"\[Datatype\]\[eager\]: (.+)", text) or [""])[-1].split()
        speedup = (re.findall(r"\[Speedup\]\[e2e\]: (.+)", text) or [None])[-1]
        status = status_of(lines)
        right = {}
        for t in range(-10, 6):
            right[t] = status == "correct"
            for i, dtype in enumerate(dtypes):
                key = "equal"
                if dtype in EXPONENTS:
                    a, r = EXPONENTS[dtype]
                    key = f"all_close_atol_{10 ** (a * t):.2E}_rtol_{10 ** (r * t):.2E}"
                right[t] = right[t] and values[key][i] == "1"
        samples.append((status, float(speedup) if speedup else None, right))
    return samples


def geometric_mean(values):
    return math.exp(math.fsum(math.log(value) for value in values) / len(values)) if values else 1


def direct(samples, p, b, interpretation):
    """Everything that is compared, as `graphnet score --json` names it."""
    rectified = lambda s: s if s >= 1 else s ** (p + 1)
    thresholds = THRESHOLDS[interpretation]
    error = lambda status: thresholds.get("accuracy" if status == "correct" else status) or thresholds[None]
    last = 5 if interpretation == "mismatch_extended" else 4
    made = {"S": {}, "ES": {}, "macro": {}}
    for t in range(-10, last + 1):
        at = [s for _, s, right in samples if right[t]]
        slow = [s for s in at if s < 1]
        made["S"][t] = geometric_mean([rectified(s) if right[t] else b for _, s, right in samples])
        if t <= 0:
            made["ES"][t] = made["S"][t]
        else:
            made["ES"][t] = geometric_mean([rectified(s) if right[1] else b if t < error(status)[0] else 1
                                            for status, s, right in samples])
        failed = [error(status) for status, _, right in samples if not right[1]]
        penalty = sum(threshold > t for threshold, _ in failed) / len(failed) if failed else 0
        made["macro"][t] = {
            "alpha": geometric_mean(at), "beta": geometric_mean(slow), "lambda": len(at) / len(samples),
            "eta": len(slow) / len(at) if at else 0, "gamma": b if t <= 0 else b ** penalty}
    made["pi"] = {name: sum(c == name for _, c in failed) / len(failed) for name in {c for _, c in thresholds.values()}}
    made["aggregated_score"] = sum(w * math.log10(made["ES"][t]) for t, w in WEIGHTS.items()) / sum(WEIGHTS.values())
    made["samples"] = len(samples)
    return made


def differences(expected: object, actual: object, where: str = "") -> Iterator[str]:
    if isinstance(expected, dict):
        for key, value in expected.items():
            yield from differences(value, actual[str(key)], f"{where} {key}")
    elif not math.isclose(expected, actual, rel_tol=1e-9, abs_tol=1e-12):
        yield f"{where}: {actual}, directly {expected}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphnet")
    parser.add_argument("logs", nargs="*")
    parser.add_argument("--samples", type=int, default=10000, help="that are made up (default: %(default)s)")
    args = parser.parse_args()
    compared = wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        made = os.path.join(scratch, "made.log")
        if not args.logs:
            make_score_log.write_log(args.samples, made)
        for log in args.logs or [made]:
            samples = read_log(log)
            for interpretation in THRESHOLDS:
                for p, b in ((0, 0.1), (0.1, 0.1), (1.5, 0.01)):
                    words = ["--p", str(p), "--b", str(b), "--interpretation", interpretation]
                    said = subprocess.run([args.graphnet, "score", log, "--json", *words], check=True, capture_output=True)
                    curve = json.loads(said.stdout)["curves"][0]
                    found = list(differences(direct(samples, p, b, interpretation), curve))
                    compared, wrong = compared + 1, wrong + bool(found)
                    for what in found[:10]:
                        print(f"{os.path.basename(log)}, p = {p}, b = {b}, {interpretation}: {what}")
    print(f"{compared} curves compared, {wrong} different")
    return 1 if wrong or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
