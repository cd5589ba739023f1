#!/usr/bin/env python3
"""Compares the cost of running a node by torch.fx.Interpreter with graphnet.

    fx_interpreter.py bazel-bin/benchmarks/overhead_benchmark

Runs the benchmark and the same operators, as often, as a torch.fx.Graph; prints
nanoseconds a node above the bare ATen call, and how many times lower graphnet's are.
"""

import operator
import statistics
import subprocess
import sys
import time

import torch
import torch.fx

NODES = 200
X, Y, IMAGE, KERNEL, SCALE, INDEX, HEADS = range(7)
functional = torch.nn.functional

# The same operators as in overhead_benchmark.cc.
CASES = {
    "add": lambda g, v: g.call_function(operator.add, (v[X], v[Y])),
    "add number": lambda g, v: g.call_function(operator.add, (v[X], 1)),
    "mul": lambda g, v: g.call_function(operator.mul, (v[X], v[Y])),
    "div number": lambda g, v: g.call_function(operator.truediv, (v[X], 2.0)),
    "relu": lambda g, v: g.call_function(torch.relu, (v[X],)),
    "gelu": lambda g, v: g.call_function(torch._C._nn.gelu, (v[X],)),
    "sigmoid": lambda g, v: g.call_method("sigmoid", (v[X],)),
    "softmax": lambda g, v: g.call_function(torch.softmax, (v[X], -1)),
    "matmul": lambda g, v: g.call_function(torch.matmul, (v[X], v[Y])),
    "linear": lambda g, v: g.call_function(torch._C._nn.linear, (v[X], v[Y], v[SCALE])),
    "layer_norm": lambda g, v: g.call_function(torch.layer_norm, (v[X], (4,), v[SCALE], v[SCALE], 1e-5)),
    "batch_norm": lambda g, v: g.call_function(
        functional.batch_norm, (v[IMAGE], v[SCALE], v[SCALE], v[SCALE], v[SCALE], False, 0.1, 1e-5)),
    "conv2d": lambda g, v: g.call_function(torch.conv2d, (v[IMAGE], v[KERNEL], None, (1, 1), (1, 1), (1, 1), 1)),
    "transpose": lambda g, v: g.call_method("transpose", (v[X], 0, 1)),
    "permute": lambda g, v: g.call_method("permute", (v[HEADS], 0, 2, 1, 3)),
    "view": lambda g, v: g.call_method("view", (v[X], 2, 8)),
    "reshape": lambda g, v: g.call_method("reshape", (v[X], 16)),
    "flatten": lambda g, v: g.call_method("flatten", (v[X], 0)),
    "unsqueeze": lambda g, v: g.call_method("unsqueeze", (v[X], 0)),
    "getitem": lambda g, v: g.call_function(operator.getitem, (v[X], (slice(None), slice(1, 3, None)))),
    "cat": lambda g, v: g.call_function(torch.cat, ((v[X], v[Y]), 1)),
    "mean": lambda g, v: g.call_method("mean", (v[X], (-1,), True)),
    "to dtype": lambda g, v: g.call_method("to", (v[X], torch.float64)),
    "contiguous": lambda g, v: g.call_method("contiguous", (v[X],)),
    "expand": lambda g, v: g.call_method("expand", (v[SCALE], 4, 4)),
    "embedding": lambda g, v: g.call_function(functional.embedding, (v[INDEX], v[X])),
    "dropout": lambda g, v: g.call_function(functional.dropout, (v[X], 0.1, False, False)),
    "attention": lambda g, v: g.call_function(
        torch._C._nn.scaled_dot_product_attention, (v[HEADS], v[HEADS], v[HEADS])),
}


def main() -> int:
    done = subprocess.run([sys.argv[1], "--tsv"], capture_output=True, text=True)
    rows = {row[0]: [float(x) for x in row[1:]] for row in (line.split("\t") for line in done.stdout.splitlines())}
    torch.set_num_threads(1)
    operands = [torch.randn(4, 4), torch.randn(4, 4), torch.randn(1, 4, 8, 8), torch.randn(4, 4, 3, 3),
                torch.rand(4), torch.arange(4), torch.randn(1, 2, 4, 8)]
    theirs, ours = [], []
    print(f"{'':12} {'aten':>8} {'graphnet':>10} {'torch.fx':>10}   ns a node above aten")
    with torch.inference_mode():
        for name, make in CASES.items():
            graph = torch.fx.Graph()
            values = [graph.placeholder(f"v{i}") for i in range(len(operands))]
            graph.output(tuple(make(graph, values) for _ in range(NODES)))
            interpreter = torch.fx.Interpreter(torch.fx.GraphModule({}, graph))
            best = float("inf")
            for _ in range(30):
                begin = time.perf_counter_ns()
                interpreter.run(*operands)
                best = min(best, time.perf_counter_ns() - begin)
            aten, graphnet, _ = rows[name]
            ours.append(graphnet - aten)
            theirs.append(best / NODES - aten)
            print(f"{name:12} {aten:8.0f} {ours[-1]:10.0f} {theirs[-1]:10.0f}")
    ratio = statistics.median(theirs) / statistics.median(ours)
    print(f"median overhead: graphnet {statistics.median(ours):.0f} ns, torch.fx.Interpreter "
          f"{statistics.median(theirs):.0f} ns: {ratio:.0f} times (wanted: 15)")
    return 0 if ratio >= 15 else 1


if __name__ == "__main__":
    sys.exit(main())
