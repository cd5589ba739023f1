"""ONNX of a program of torch.export, by PyTorch's exporter.

    onnx_export.py IN.pt2 OUT.onnx
"""
import logging
import sys
import warnings

# Of more bytes than protobuf takes: the weights lie beside, in OUT.onnx.data.
_LIMIT = 1 << 30


def export(program, out):
    import torch

    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    exported = torch.export.load(program)
    onnx_program = torch.onnx.export(exported, dynamo=True, verbose=False, optimize=True)
    size = sum(value.numel() * value.element_size() for value in
               [*exported.state_dict.values(), *exported.constants.values()]
               if isinstance(value, torch.Tensor))
    onnx_program.save(out, external_data=size > _LIMIT)
    logging.disable(logging.NOTSET)


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
