#!/usr/bin/env python3
"""`graphnet run --stats`: the numbers of each value, beside Python's.

    tests/cli/value_statistics_test.py GRAPHNET

tests/pytorch (suite statistics) compares with PyTorch.
"""

import csv
import io
import json
import math
import os
import statistics
import struct
import subprocess
import sys

graphnet = os.path.abspath(sys.argv[1])
os.chdir(os.environ["TEST_TMPDIR"])

PROGRAM = """graphnet.module 1

graph @forward(%x : f32[6]) {
  %log = aten.log.default(%x) : f32[6] in net.first
  %relu = aten.relu.default(%log) : f32[6] in net.first
  %sign = aten.sign.default(%relu) : f32[6]
  return (%sign,)
}
end
"""
X = [-1.0, 0.0, 1.0, 2.0, 4.0, math.inf]


def call(*words, code=0):
    done = subprocess.run([graphnet, *words], capture_output=True, text=True)
    assert done.returncode == code, (words, done)
    return done.stdout


os.mkdir("many")
for path in ["p.gn", "many/a.gn", "many/b.gn"]:
    with open(path, "w") as file:
        file.write(PROGRAM)
header = json.dumps({"x": {"dtype": "F32", "shape": [6], "data_offsets": [0, 24]}}).encode()
header += b" " * (-len(header) % 8)
with open("x.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(header)) + header + struct.pack("<6f", *X))

# --- One sample: JSON, text and CSV have the same numbers.
one = ["run", "p.gn", "--inputs", "x.safetensors"]
rows = {row["node"]: row for row in json.loads(call(*one, "--stats", "--json"))["samples"][0]["stats"]}
log = rows["log"]
logs = [math.log(x) for x in X[2:5]]
assert (log["num_elements"], log["num_nan"], log["num_inf"], log["num_zeros"]) == (6, 1, 2, 1), log
assert (log["dtype"], log["shape"], log["module"]) == ("f32", [6], "net.first"), log
for key, value in {"min": 0, "max": logs[-1], "mean": statistics.mean(logs), "std": statistics.stdev(logs)}.items():
    assert abs(log[key] - value) < 1e-6, (key, log)
text = call(*one, "--stats")
assert "log" in text and "aten.relu.default" in text and "o0  f32[6]" in text, text
lines = list(csv.DictReader(io.StringIO(call(*one, "--stats", "--csv"))))
assert [line["node"] for line in lines] == list(rows), lines
assert float(lines[list(rows).index("log")]["mean"]) == log["mean"], lines

# --- By module: the elements of all its values together.
modules = {row["module"]: row for row in json.loads(call(*one, "--stats-by", "module", "--json"))["samples"][0]["stats"]}
first = modules["net.first"]
assert first["num_values"] == 2 and first["num_elements"] == 12 and first["num_nan"] == 2, first
both = logs + [max(x, 0) for x in [0, *logs[1:]]] + [0]  # relu of -inf is 0, of nan is nan
assert abs(first["mean"] - statistics.mean(both)) < 1e-6 and abs(first["std"] - statistics.stdev(both)) < 1e-6, first

# --- Many samples: one document, and one table of CSV with their paths.
many = json.loads(call("run", "many", "--stats", "--json"))
assert [len(sample["stats"]) for sample in many["samples"]] == [len(rows)] * 2, many
lines = list(csv.DictReader(io.StringIO(call("run", "many", "-j", "2", "--stats-by", "target", "--csv"))))
assert {line["path"] for line in lines} == {"many/a.gn", "many/b.gn"}, lines
assert "many/a.gn" in call("run", "many", "--stats")

# --- What does not go together.
for words in [["--csv"], ["--stats", "--repeat", "2"], ["--stats", "--profile"], ["--stats", "--csv", "--json"]]:
    call("run", "p.gn", *words, code=2)
print("passed")
