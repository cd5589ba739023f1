"""A compiler with faults, and one without, as a test of a cause takes them: FILE.py:compiled."""

import torch
import torch.fx

WRONG = {torch.nn.functional.gelu: torch.nn.functional.relu, torch.sigmoid: torch.nn.functional.hardsigmoid,
         torch.sub: torch.add, "sub_": "add_"}
REFUSED = {torch.tanh: "no kernel for tanh", torch.erf: "erf has no lowering"}


def compiled(module, inputs):
    graph = torch.fx.symbolic_trace(module)
    for node in graph.graph.nodes:
        if node.target in REFUSED:
            raise RuntimeError(REFUSED[node.target])
        node.target = WRONG.get(node.target, node.target)
    graph.recompile()
    return graph


def right(module, inputs):
    return torch.fx.symbolic_trace(module)
