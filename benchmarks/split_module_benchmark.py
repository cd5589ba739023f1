"""Measures torch.fx.passes.split_module on a sample, in the pieces that a
decompose_config.json lists, for the ratio to graphnet's own splitting.

  GRAPHNET_SAMPLE=SAMPLE bazel-bin/benchmarks/decompose_benchmark --benchmark_filter=split_dag
  graphnet decompose SAMPLE --pieces 1000 --style dag -o OUT
  python benchmarks/split_module_benchmark.py SAMPLE OUT/decompose_config.json --ours-ms MS

Needs Python with torch. The sample's model.py is imported, so use it on samples
that you trust.
"""

import argparse
import importlib.util
import json
import pathlib
import time

import torch
import torch.fx
from torch.fx.passes.split_module import split_module


def load_graph(folder):
    spec = importlib.util.spec_from_file_location("model", pathlib.Path(folder) / "model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return torch.fx.symbolic_trace(module.GraphModule())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sample", help="GraphNet folder")
    parser.add_argument("config", help="decompose_config.json with the ranges")
    parser.add_argument("--ours-ms", type=float, help="milliseconds that graphnet takes for the same")
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()

    graph = load_graph(args.sample)
    operators = [n for n in graph.graph.nodes if n.op not in ("placeholder", "output")]
    config = json.loads(pathlib.Path(args.config).read_text())
    if len(operators) != config["num_ops"]:
        raise SystemExit(f"torch.fx sees {len(operators)} operators, the configuration {config['num_ops']}")
    piece = {}
    for number, subgraph in enumerate(config["subgraphs"]):
        for i in range(subgraph["start"], subgraph["end"]):
            piece[operators[i]] = number

    best = float("inf")
    for _ in range(args.runs):
        begin = time.perf_counter()
        split = split_module(graph, None, lambda node: piece.get(node, 0))
        best = min(best, time.perf_counter() - begin)
    calls = sum(n.op == "call_module" for n in split.graph.nodes)
    print(f"{len(operators)} operators, {calls} pieces: split_module takes {best * 1e3:.1f} ms (best of {args.runs})")
    if args.ours_ms:
        print(f"graphnet takes {args.ours_ms} ms: {best * 1e3 / args.ours_ms:.0f} times faster")


if __name__ == "__main__":
    main()
