"""Writes a program of torch.export as ONNX with PyTorch's exporter; onnx.checker checks the result.

    onnx_export.py IN.pt2 OUT.onnx
"""
import logging
import re
import sys
import warnings

# Weights of more bytes, which protobuf might not take, are written to OUT.onnx.data.
_LIMIT = 1 << 30


def export(program, out, inputs=None, outputs=None):
    """Writes the program. Inputs and outputs get these names in order if they are given."""
    import onnx
    import torch

    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    exported = torch.export.load(program)
    _fill_by_tensors(exported.graph)
    try:
        onnx_program = torch.onnx.export(exported, dynamo=True, verbose=False, optimize=True, opset_version=18)
    except Exception as error:
        # The exporter names its step that failed; the cause says what failed there.
        raise _cause(error) from error
    if inputs is not None:
        _rename(onnx_program.model.graph, inputs, outputs)
    size = sum(value.numel() * value.element_size() for value in
               [*exported.state_dict.values(), *exported.constants.values()]
               if isinstance(value, torch.Tensor))
    onnx_program.save(out, external_data=size > _LIMIT)
    onnx.checker.check_model(out)
    logging.disable(logging.NOTSET)


def _fill_by_tensors(graph):
    """Writes full(size, x.item()) as x expanded: the exporter loses track of such numbers."""
    import torch

    aten = torch.ops.aten
    items = {aten.item.default, aten._local_scalar_dense.default}
    for node in list(graph.nodes):
        if node.target is not aten.full.default or not isinstance(node.args[1], torch.fx.Node):
            continue
        number = node.args[1]
        if number.target not in items:
            continue
        with graph.inserting_before(node):
            value = node.meta["val"]
            cast = graph.call_function(aten._to_copy.default, (number.args[0],), {"dtype": value.dtype})
            cast.meta["val"] = aten._to_copy.default(number.args[0].meta["val"], dtype=value.dtype)
            wide = graph.call_function(aten.expand.default, (cast, node.args[0]))
            wide.meta["val"] = value
        node.replace_all_uses_with(wide)
        graph.erase_node(node)
        for user in list(number.users):
            if "_assert" in str(user.target) or "sym_constrain" in str(user.target):
                graph.erase_node(user)
        if not number.users:
            graph.erase_node(number)


def _rename(graph, inputs, outputs):
    if len(graph.inputs) != len(inputs) or len(graph.outputs) != len(outputs):
        raise ValueError(f"the exporter wrote {len(graph.inputs)} inputs for {len(inputs)} and "
                         f"{len(graph.outputs)} outputs for {len(outputs)}")
    taken = set(inputs)
    for i, name in enumerate(outputs):
        # A value that is returned twice, or an input that is returned, needs a name for each place.
        number = 0
        while outputs[i] in taken:
            number += 1
            outputs[i] = f"{name}_{number}"
        taken.add(outputs[i])
    named = {id(value) for value in [*graph.inputs, *graph.outputs]}
    values = [*graph.initializers.values(), *(value for node in graph.all_nodes() for value in node.outputs)]
    for value in values:
        if value.name in taken and id(value) not in named:
            value.name += ".inner"
    for value, name in zip([*graph.inputs, *graph.outputs], [*inputs, *outputs]):
        value.name = name


def _cause(error):
    """Returns the first failure, with operators named as in graphs."""
    while error.__cause__ is not None:
        error = error.__cause__
    text = re.sub(r"<?OpOverload\(op='([\w.]+)', overload='(\w+)'\)>?", r"\1.\2", str(error))
    return RuntimeError(text) if text != str(error) else error


def count_operators(path):
    import onnx

    return len(onnx.load(path, load_external_data=False).graph.node)


if __name__ == "__main__":
    _, source, target = sys.argv
    try:
        export(source, target)
    except Exception as error:
        text = [line.strip() for line in str(error).splitlines() if line.strip()]
        sys.exit(f"{type(error).__name__}: {' '.join(text)[:1000]}")
