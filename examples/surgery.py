"""The five surgeries of surgery.cc in torch.fx. Runs them and compares what the graph
then computes with what it should.

    python examples/surgery.py
"""

import torch
import torch.nn.functional as F
from torch.fx.node import map_aggregate
from torch.fx.passes.shape_prop import ShapeProp
from torch.fx.passes.utils.fuser_utils import fuse_by_partitions
from torch.fx.subgraph_rewriter import replace_pattern_with_filters


# Replaces an operator.
def replace_operator(graph):
    for node in graph.nodes:
        if node.op != "call_function" or node.target is not F.relu:
            continue
        x = node.args[0] if node.args else node.kwargs["input"]
        with graph.inserting_before(node):
            gelu = graph.call_function(F.gelu, (x,))
            gelu.meta = node.meta
        node.replace_all_uses_with(gelu)
        graph.erase_node(node)


# Fuses a pattern where a predicate says so.
def fuse_pattern(module):
    def pattern(x):
        s = torch.sigmoid(x)
        return torch.mul(x, s)

    def replacement(x):
        return F.silu(x)

    def is_floating(match, original, pattern):
        x = match.placeholder_nodes[0]
        return x.meta["tensor_meta"].dtype.is_floating_point

    replace_pattern_with_filters(module, pattern, replacement, [is_floating])


# Inserts an observer behind an operator.
def insert_observer(graph):
    for node in graph.nodes:
        if node.op != "call_function" or node.target is not F.linear:
            continue
        with graph.inserting_after(node):
            observed = graph.call_function(observe, (node,))
            observed.meta = node.meta
        node.replace_all_uses_with(observed, lambda user: user is not observed)


# Cuts nodes out into a body that is called: any that are convex.
def cut_nodes(module, nodes):
    return fuse_by_partitions(module, [dict.fromkeys(nodes)])


# Changes a dtype in arguments and metas.
def change_dtype(graph, old, new):
    for node in graph.nodes:
        change = lambda a: new if a is old else a
        node.args = map_aggregate(node.args, change)
        node.kwargs = map_aggregate(node.kwargs, change)
        if "tensor_meta" not in node.meta or node.meta["tensor_meta"].dtype is not old:
            continue
        changed = node.meta["tensor_meta"]._replace(dtype=new)
        node.meta["tensor_meta"] = changed


seen = []


@torch.fx.wrap
def observe(x):
    seen.append(x)
    return x


class Program(torch.nn.Module):
    def forward(self, x, w, b):
        h = F.linear(x, w, b)
        a = F.relu(input=h)
        s = torch.sigmoid(a)
        z = torch.zeros((2, 8), dtype=torch.float32)
        m = torch.mul(a, s)
        return torch.add(m, z)


def traced(inputs):
    module = torch.fx.symbolic_trace(Program())
    # Tracing has computed what depends on no input; in surgery.cc that is a call.
    for node in list(module.graph.nodes):
        if node.op == "get_attr":
            with module.graph.inserting_before(node):
                zeros = module.graph.call_function(torch.zeros, ((2, 8),), {"dtype": torch.float32})
            node.replace_all_uses_with(zeros)
            module.graph.erase_node(node)
    ShapeProp(module).propagate(*inputs)
    return module


def show(what, surgery, expected, inputs):
    module = traced(inputs)
    module = surgery(module) or module
    module.graph.lint()
    module.recompile()
    torch.testing.assert_close(module(*inputs), expected(*inputs))
    print(f"# {what}\n{module.graph}\n")


def main():
    inputs = (torch.randn(2, 8), torch.randn(8, 8), torch.randn(8))
    program = Program()
    show("before", lambda m: None, program, inputs)

    def with_gelu(x, w, b):
        a = F.gelu(F.linear(x, w, b))
        return a * torch.sigmoid(a)

    show("replace an operator", lambda m: replace_operator(m.graph), with_gelu, inputs)
    show("fuse a pattern", fuse_pattern, program, inputs)
    show("insert an observer", lambda m: insert_observer(m.graph), program, inputs)
    assert len(seen) == 1

    def cut(module):
        nodes = {node.name: node for node in module.graph.nodes}
        return cut_nodes(module, [nodes[n] for n in ("relu", "sigmoid", "mul")])

    show("cut a subgraph", cut, program, inputs)
    half = [t.to(torch.bfloat16) for t in inputs]
    module = traced(inputs)
    change_dtype(module.graph, torch.float32, torch.bfloat16)
    module.recompile()
    assert module(*half).dtype == torch.bfloat16
    assert all(
        n.meta["tensor_meta"].dtype is torch.bfloat16
        for n in module.graph.nodes
        if "tensor_meta" in n.meta
    )
    print(f"# change a dtype\n{module.graph}")


if __name__ == "__main__":
    main()
