#!/usr/bin/env python3
"""Writes a benchmark log as GraphNet's tools do, of made-up samples: SAMPLES of them, the same
ones for the same seed.

    make_score_log.py SAMPLES FILE [--seed 0] [--compiler inductor]

Outputs of all dtypes, up to five of them; lines of each sample in the order of the newer format
or of the older one, under either prompt; correct from some t on, never, or not even compared; a
crash with a traceback, other dtypes, other shapes, warnings that look like errors.
"""
import argparse
import random

EXPONENTS = {"float16": (1, 3 / 5), "bfloat16": (1, 1.796 / 5), "float32": (1, 5.886 / 5), "float64": (7 / 5, 7 / 5)}
DTYPES = ["float32"] * 8 + ["float16", "bfloat16", "float64", "int64", "bool", "complex64"]
LEVELS = range(-10, 6)
KEYS = [(t, dtype, f"all_close_atol_{10 ** (a * t):.2E}_rtol_{10 ** (r * t):.2E}")
        for t in LEVELS for dtype, (a, r) in EXPONENTS.items()]


def comparisons(draw, dtypes):
    """The lines of a comparison: each output is right from a level on, the same for all dtypes."""
    first = [draw.choice([-10, -10, -9, -7, -6, -5, -5, -4, -3, 0, 1, 2, 4, 9]) for _ in dtypes]
    equal = [start == -10 and draw.random() < 0.8 for start in first]
    lines = ["[Correctness][equal]: " + " ".join(str(int(e)) for e in equal)]
    lines += [f"[Correctness][{key}]: " + " ".join(str(int(t >= start)) for start in first)
              for t, _, key in KEYS]
    differences = " ".join(repr(0.0 if e else 10.0 ** s) if s < 9 else "nan" for s, e in zip(first, equal))
    return lines + [f"[Correctness][max_diff]: {differences}", f"[Correctness][mean_diff]: {differences}"]


def sample(draw, number, compiler="inductor"):
    path = f"/samples/source{number % 11}/model_{number}"
    if draw.random() < 0.3:
        path += f"/subgraph_{number % 4}"
    prompt = draw.choice(["graph-net-test-compiler-log", "graph-net-test-device-log"])
    config = [f"[Config] {key}: {value}" for key, value in
              (("model", f"model_{number}"), ("device", "cpu"), ("hardware", "made up"), ("compiler", compiler),
               ("warmup", 3), ("trials", 5), ("compile_framework_version", "2.13.0"))]
    dtypes = [draw.choice(DTYPES) for _ in range(draw.choice([1, 1, 1, 2, 5]))]
    speedup = 2 ** draw.gauss(0.3, 0.7)
    kind = draw.random()
    other = list(dtypes)
    eager = f"[Datatype][eager]: {' '.join(dtypes)}"
    compiled = f"[Datatype][compiled]: {' '.join(other)}"
    match = f"[DataType] eager:{dtypes} compiled:{other} match:True"
    times = [f'[Performance][{side}]: {{"e2e": {{"median": {ms:.6g}, "mean": {ms:.6g}, "std": 0.01, "min": {ms:.6g}, "max": {ms:.6g}}}}}'
             for side, ms in (("eager", 10.0), ("compiled", 10.0 / speedup))]
    result = "[Result] status: success"
    plain = []  # without the prompt
    if kind < 0.04:  # The PyTorch tool says nothing else of a crash.
        tagged = [result.replace("success", "failed"), "[Fail due to compiled model execution error.]"]
        plain = ["Traceback (most recent call last):", '  File "model.py", line 7, in forward', f"RuntimeError: number {number % 5}"]
    elif kind < 0.06:
        tagged = [eager, "[Result] status: failed"]
    elif kind < 0.08:
        tagged = [eager, compiled.replace("float32", "float16"), "[Shape] match:True", match.replace("True", "False")]
    elif kind < 0.10:
        tagged = [eager, compiled, "[Shape] eager:[[2]] compiled:[[3]] match:False", match]
    else:
        tagged = [eager, compiled, match, *comparisons(draw, dtypes), result, *times, f"[Speedup][e2e]: {speedup:.5f}"]
        if kind > 0.98:
            plain = ["UserWarning: ValueError: is only mentioned"]
        if kind > 0.9:
            draw.shuffle(tagged)
        elif kind > 0.8:
            tagged = times + tagged[:-3] + tagged[-1:]
    lines = [f"{prompt} {line}" for line in [f"[Processing] {path}", *config, *tagged]]
    return lines + plain + ["Trial 1: e2e=10.00000 ms"] * draw.choice([0, 1])


def write_log(samples, path, seed=0, compiler="inductor"):
    draw = random.Random(seed)
    with open(path, "w") as file:
        file.write("Unable to import quantization op.\n")
        for number in range(samples):
            file.write("\n".join(sample(draw, number, compiler)) + "\n")
        file.write(f"Totally {samples} verified samples, failed some samples.\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("samples", type=int)
    parser.add_argument("file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--compiler", default="inductor")
    options = parser.parse_args()
    write_log(options.samples, options.file, options.seed, options.compiler)
