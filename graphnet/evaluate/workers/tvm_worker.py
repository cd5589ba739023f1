"""TVM: Relax's front end for torch.export reads a .pt2, and LLVM compiles it for this processor."""
import logging
import traceback
import warnings

warnings.filterwarnings("ignore")

import onnx
import torch
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx
from tvm.relax.frontend.torch import from_exported_program

import onnx_export
import worker


class TvmWorker(worker.Worker):
    name = "tvm"

    def __init__(self):
        self.function = self.machine = None

    def version(self):
        return tvm.__version__

    def load(self, tensor):
        return tvm.runtime.tensor(tensor.numpy())

    def prepare(self, program, inputs):
        self.close()
        logging.disable(logging.WARNING)
        exported = torch.export.load(program)
        logging.disable(logging.NOTSET)
        try:
            with torch.no_grad():
                module = from_exported_program(exported)
        except Exception as error:
            traceback.print_exc()
            module = self.by_onnx(program, error)
        module = relax.get_pipeline("zero")(module)
        # Find the inputs by name; unused numbers may be missing.
        names = [spec.arg.name for spec in exported.graph_signature.input_specs
                 if spec.kind == torch.export.graph_signature.InputKind.USER_INPUT]
        place = {name.lower(): i for i, name in enumerate(names)}
        self.places = [place[_name_of(parameter).lower()] for parameter in module["main"].params]
        self.functions = sum(isinstance(f, tvm.tirx.PrimFunc if hasattr(tvm, "tirx") else tvm.tir.PrimFunc)
                             for f in module.functions.values())
        self.calls = sum(node.op == "call_function" for node in exported.graph.nodes)
        target = tvm.target.Target({"kind": "llvm", "mcpu": tvm.target.codegen.llvm_get_system_cpu()})
        self.machine = relax.VirtualMachine(tvm.compile(module, target=target), tvm.cpu())
        self.function = self.machine["main"]

    def by_onnx(self, program, error):
        """Reads a program through ONNX if the front end for torch.export cannot read it."""
        try:
            onnx_export.export(program, "program.onnx")
            return from_onnx(onnx.load("program.onnx"), keep_params_in_input=False)
        except Exception:
            traceback.print_exc()
            raise error

    def run(self, inputs):
        return _flat(self.function(*[inputs[i] for i in self.places]))

    def unload(self, output):
        return super().unload(output.numpy() if hasattr(output, "numpy") else output)

    def compiled(self):
        return self.functions if self.calls else None

    def proof(self):
        return f"{self.functions} functions of TensorIR"

    def close(self):
        self.function = self.machine = None


def _name_of(variable):
    return variable.name if hasattr(variable, "name") else variable.name_hint


def _flat(value):
    if isinstance(value, (tvm.runtime.Tensor, int, float, bool)):
        return [value]
    return [element for part in value for element in _flat(part)]


if __name__ == "__main__":
    worker.serve(TvmWorker())
