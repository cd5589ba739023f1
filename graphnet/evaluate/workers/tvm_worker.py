"""TVM: Relax's front end for torch.export, compiled by LLVM for this processor."""
import logging
import warnings

warnings.filterwarnings("ignore")

import torch
import tvm
from tvm import relax
from tvm.relax.frontend.torch import from_exported_program

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
        names = exported.graph_signature.user_inputs
        with torch.no_grad():
            module = from_exported_program(exported)
        module = relax.get_pipeline("zero")(module)
        # Its inputs stand in an order of their own, and numbers may not stand there at all.
        place = {name: i for i, name in enumerate(names)}
        self.places = [place[_name_of(parameter)] for parameter in module["main"].params]
        self.functions = sum(isinstance(f, tvm.tirx.PrimFunc if hasattr(tvm, "tirx") else tvm.tir.PrimFunc)
                             for f in module.functions.values())
        target = tvm.target.Target({"kind": "llvm", "mcpu": tvm.target.codegen.llvm_get_system_cpu()})
        self.machine = relax.VirtualMachine(tvm.compile(module, target=target), tvm.cpu())
        self.function = self.machine["main"]

    def run(self, inputs):
        return _flat(self.function(*[inputs[i] for i in self.places]))

    def unload(self, output):
        return super().unload(output.numpy() if hasattr(output, "numpy") else output)

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
