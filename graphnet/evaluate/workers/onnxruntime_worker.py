"""ONNX Runtime: torch.onnx.export writes a .pt2 as ONNX, which runs on the CPU."""

import os
import shutil

import onnxruntime

import onnx_export
import worker


LEVELS = {
    "none": onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "basic": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "extended": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
}


class OnnxRuntimeWorker(worker.Worker):
    name = "onnxruntime"

    def __init__(self):
        self.session = None

    def version(self):
        return onnxruntime.__version__

    def prepare(self, program, inputs):
        self.close()
        onnx = self.request.get("kept", "program.onnx")
        if "kept" not in self.request:
            onnx_export.export(program, onnx)
        if "keep" in self.request and not os.path.exists(onnx + ".data"):
            shutil.copyfile(onnx, self.request["keep"])
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.graph_optimization_level = LEVELS[self.option("optimisation", "all")]
        options.intra_op_num_threads = int(self.option("threads", 0))
        self.session = onnxruntime.InferenceSession(onnx, options, ["CPUExecutionProvider"])
        self.names = [argument.name for argument in self.session.get_inputs()]
        self.operators = onnx_export.count_operators(onnx)

    def export(self, program, out, inputs, outputs):
        onnx_export.export(program, out, inputs, outputs)

    def run(self, inputs):
        return self.session.run(None, dict(zip(self.names, inputs, strict=True)))

    def proof(self):
        return f"{self.operators} operators of ONNX by {self.session.get_providers()[0]}"

    def close(self):
        self.session = None


if __name__ == "__main__":
    worker.serve(OnnxRuntimeWorker())
