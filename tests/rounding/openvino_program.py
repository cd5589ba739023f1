"""OpenVINO as a worker: it reads the ONNX of a .pt2, and computes in float32."""

import openvino

import onnx_export
import worker


class OpenVinoProgram(worker.Worker):
    name = "openvino"

    def version(self):
        return openvino.__version__

    def prepare(self, program, inputs):
        onnx_export.export(program, "program.onnx")
        model = openvino.convert_model("program.onnx")
        # By itself it computes float32 in bfloat16 where the processor is faster so.
        self.function = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        order = [name.lower() for name in self.request["order"]]
        self.places = [order.index(value.get_any_name().lower()) for value in model.inputs]

    def run(self, inputs):
        outputs = self.function([inputs[place] for place in self.places])
        return [outputs[i] for i in range(len(self.function.outputs))]


if __name__ == "__main__":
    worker.serve(OpenVinoProgram())
