"""Compares the IR in Python with torch.fx, and loading with exec, by ratios within one run.

    python_graphs.py [FOLDER]

FOLDER holds GraphNet samples; without one nothing is loaded. Needs torch and graphnet_ir.
"""
import copy
import operator
import pathlib
import sys
import time

import torch
import torch.fx

import graphnet_ir

NODES = 5000


def best(function, repeat=7):
    """Returns the seconds of the fastest of several runs."""
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return min(times)


def fx_chain():
    graph = torch.fx.Graph()
    x = value = graph.placeholder("x")
    for _ in range(NODES):
        value = graph.call_function(operator.add, (value, x))
    graph.output(value)
    return graph


def our_chain():
    graph = graphnet_ir.Module().add_graph()
    x = value = graph.placeholder("x")
    for _ in range(NODES):
        value = graph.call_function("operator.add", (value, x))
    graph.output(value)
    return graph


def replace_all(graph):
    """Replaces all uses of the input by the first call, and back."""
    x, first, *_ = graph.nodes
    last = graph.output_node()
    first.replace_all_uses_with(x)
    x.replace_all_uses_with(first)
    last.args = (list(graph.nodes)[-2],)


def rows():
    fx, ours = fx_chain(), our_chain()
    fx_nodes, our_nodes = list(fx.nodes), list(ours.nodes)
    sample = graphnet_ir.Sample(ours.owning_module)
    yield "build", fx_chain, our_chain
    yield "iterate", lambda: [None for _ in fx.nodes], lambda: [None for _ in ours.nodes]
    yield "args", lambda: [n.args for n in fx_nodes], lambda: [n.args for n in our_nodes]
    yield "users", lambda: [n.users for n in fx_nodes], lambda: [n.users for n in our_nodes]
    yield "set args", lambda: [setattr(n, "args", n.args) for n in fx_nodes], \
        lambda: [setattr(n, "args", n.args) for n in our_nodes]
    yield "copy", lambda: copy.deepcopy(fx), sample.copy
    yield "print", lambda: str(fx), lambda: str(ours)
    yield "lint", fx.lint, ours.lint
    yield "dead code", fx.eliminate_dead_code, ours.eliminate_dead_code
    yield "replace uses", lambda: replace_all(fx_chain()), lambda: replace_all(our_chain())


class Timer:
    """Adds up the seconds on the clock and the CPU seconds of all threads."""

    def __init__(self):
        self.clock = self.processor = 0.0

    def run(self, function):
        begin = time.perf_counter(), time.process_time()
        function()
        self.clock += time.perf_counter() - begin[0]
        self.processor += time.process_time() - begin[1]


def compare_loading(files):
    """Measures in turns of 50 samples, so that other work of the machine slows both."""

    def execute(part):
        for file in part:
            exec(compile(file.read_text(), str(file), "exec"), {})  # pylint: disable=exec-used

    def load(part):
        for file in part:
            graphnet_ir.load(str(file.parent))

    def load_ahead(part):
        for _ in graphnet_ir.load_samples([str(file.parent) for file in part], progress=False):
            pass

    executing, loading, loading_ahead = Timer(), Timer(), Timer()
    for begin in range(0, len(files), 50):
        part = files[begin:begin + 50]
        executing.run(lambda: execute(part))  # pylint: disable=cell-var-from-loop
        loading.run(lambda: load(part))  # pylint: disable=cell-var-from-loop
        loading_ahead.run(lambda: load_ahead(part))  # pylint: disable=cell-var-from-loop
    print(f"\n| {len(files)} samples | exec, s | graphnet_ir, s | ratio |\n|---|---:|---:|---:|")
    for name, a, b in (
            ("`load_samples`, by the clock", executing.clock, loading_ahead.clock),
            ("`load`, by the processor", executing.processor, loading.processor)):
        print(f"| {name} | {a:.2f} | {b:.2f} | {a / b:.1f} |")


def main():
    print("| 5,000 nodes | torch.fx, us a node | graphnet_ir | ratio |\n|---|---:|---:|---:|")
    for name, theirs, mine in rows():
        a, b = best(theirs), best(mine)
        print(f"| {name} | {a / NODES * 1e6:.3f} | {b / NODES * 1e6:.3f} | {a / b:.1f} |")
    if len(sys.argv) < 2:
        return
    files = sorted(pathlib.Path(sys.argv[1]).rglob("model.py"))[:1000]
    compare_loading(files)


main()
