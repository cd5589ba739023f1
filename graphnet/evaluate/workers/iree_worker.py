"""IREE: iree-compile compiles text of the torch dialect, and IREE's runtime runs it on the CPU."""
import os
import subprocess
import sys

import iree.compiler
import iree.runtime

import mlir_program
import worker

FLAGS = [
    "--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
    # Keep float64.
    "--iree-input-demote-f64-to-f32=false",
]


class IreeWorker(worker.Worker):
    name = "iree"

    def __init__(self):
        self.config = iree.runtime.Config("local-task")
        self.module = self.function = None

    def version(self):
        return iree.compiler.version.VERSION if hasattr(iree.compiler, "version") else _version()

    def load(self, tensor):
        return iree.runtime.asdevicearray(self.config.device, tensor.numpy())

    def prepare(self, program, inputs):
        self.close()
        main = mlir_program.read(program)
        compiled = self.request.get("kept") or self.request.get("keep", "program.vmfb")
        if "kept" not in self.request:
            tool = os.path.join(os.path.dirname(sys.executable), "iree-compile")
            level = "--iree-opt-level=" + self.option("level", "O2")
            done = subprocess.run([tool, program, *FLAGS, level, "-o", compiled], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, errors="replace")
            if done.returncode != 0:
                raise worker.Failure("compile", mlir_program.first_error(done))
        with open(compiled, "rb") as file:
            binary = file.read()
        context = iree.runtime.SystemContext(config=self.config)
        context.add_vm_module(iree.runtime.VmModule.copy_buffer(context.instance, binary))
        self.module = context.modules.module
        self.function = self.module["main"]
        weights = mlir_program.weights_of(main, len(inputs), self.request.get("weights"))
        self.weights = [self.load(weight) for weight in weights]
        self.is_number = [not argument.is_tensor for argument in main]
        self.bytes = len(binary)

    def run(self, inputs):
        values = [value.to_host().item() if is_number else value
                  for value, is_number in zip([*inputs, *self.weights], self.is_number)]
        results = self.function(*values)
        if results is None:
            return []
        return list(results) if isinstance(results, (tuple, list)) else [results]

    def unload(self, output):
        if isinstance(output, iree.runtime.DeviceArray):
            output = output.to_host()
        return super().unload(output)

    def proof(self):
        return f"@main of an IREE module of {self.bytes} bytes, on {self.config.device}"

    def close(self):
        self.module = self.function = None


def _version():
    from importlib import metadata
    return metadata.version("iree-base-compiler")


if __name__ == "__main__":
    worker.serve(IreeWorker())
