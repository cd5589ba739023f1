#!/usr/bin/env python3
"""A compiler of programs that multiply an input x by an attribute w of one element.

It stores the factor as text. If OLD is given, it greets like older workers, which held one program.
If ENDS is given, it ends when it runs.
"""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../../graphnet/evaluate/workers"))
import tensors  # noqa: E402
import worker  # noqa: E402


class ScalingWorker(worker.Worker):
    name = "scaling"

    def version(self):
        return "1"

    def load(self, tensor):
        return list(struct.unpack(f"<{len(tensor.data) // 4}f", bytes(tensor.data)))

    def unload(self, output):
        return tensors.Tensor("F32", [len(output)], struct.pack(f"<{len(output)}f", *output))

    def prepare(self, program, inputs):
        if "kept" in self.request:
            with open(self.request["kept"]) as file:
                self.factor = float(file.read())
        else:
            self.factor, = self.load(tensors.read(self.request["weights"])["w"])
        if "keep" in self.request:
            with open(self.request["keep"], "w") as file:
                file.write(str(self.factor))

    def run(self, inputs):
        if "ENDS" in sys.argv:
            os._exit(3)
        return [[self.factor * value for value in inputs[0]]]


if "OLD" in sys.argv:
    worker._Server.hello = lambda self, request: {"name": "scaling", "version": "0", "devices": []}
worker.serve(ScalingWorker())
