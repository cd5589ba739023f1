"""The programs of examples/consumer-cmake in torch.fx: the same work, to compare lines and times.

    python examples/programs.py histogram|fold_batch_norm|partition MODEL.pt2 [OUT.pt2]
"""

import collections
import sys
import time

import torch
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase


def histogram(program):
    counts = collections.Counter()
    for module in program.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            counts.update(str(node.target) for node in module.graph.nodes if node.op == "call_function")
    for target, count in counts.most_common():
        print(f"{count:7}  {target}")


def fold_batch_norm(program, out):
    aten, graph = torch.ops.aten, program.graph_module.graph
    names = {**program.graph_signature.inputs_to_parameters, **program.graph_signature.inputs_to_buffers}
    state, folded = program.state_dict, 0

    def value(node):
        return None if node is None else state[names[node.name]]

    for norm in list(graph.nodes):
        if norm.target != aten.batch_norm.default or norm.args[0].target != aten.conv2d.default:
            continue
        conv = norm.args[0]
        if len(conv.users) != 1:
            continue
        weight, bias = value(conv.args[1]), value(conv.args[2]) if len(conv.args) > 2 else None
        scale, shift, mean, var = (value(node) for node in norm.args[1:5])
        weight, bias = torch.nn.utils.fuse_conv_bn_weights(weight, bias, mean, var, norm.args[7], scale, shift)
        # The graph has no input for a bias, so the input of the shift becomes it.
        state[names[conv.args[1].name]] = weight
        state[names[norm.args[2].name]] = torch.nn.Parameter(bias)
        conv.args = (*conv.args[:2], norm.args[2], *conv.args[3:])
        norm.replace_all_uses_with(conv)
        graph.erase_node(norm)
        folded += 1
    print(f"{folded} batch norms folded")
    torch.export.save(program, out)


class Supported(OperatorSupportBase):
    NAMES = {"linear", "relu", "gelu", "layer_norm", "conv2d", "batch_norm", "add"}

    def is_node_supported(self, submodules, node):
        return node.op == "call_function" and str(node.target).split(".")[1] in self.NAMES


def partition(program):
    module = program.module()
    inputs = program.example_inputs[0]
    wanted = module(*inputs)
    calls = 0

    def backend(part):
        def run(*values):
            nonlocal calls
            calls += 1
            return part.forward(*values)

        return run

    fused = CapabilityBasedPartitioner(module, Supported(), allows_single_node_partition=False).partition_and_fuse()
    groups = 0
    for name, part in list(fused.named_children()):
        if name.startswith("fused_"):
            groups += 1
            run = backend(part)
            setattr(fused, name, torch.nn.Module())
            getattr(fused, name).forward = run
    assert torch.equal(fused(*inputs), wanted)
    print(f"{groups} groups, {calls} calls of the backend, equal in bits")


if __name__ == "__main__":
    model = torch.export.load(sys.argv[2])
    start = time.perf_counter()
    globals()[sys.argv[1]](model, *sys.argv[3:])
    print(f"{time.perf_counter() - start:.3f} s", file=sys.stderr)
