"""Paddle: a sample in Paddle's calls, as paddle.jit.to_static compiles it, or operator by operator."""
import os
import traceback

import numpy
import paddle

import tensors
import worker


class PaddleWorker(worker.Worker):
    name = "paddle"

    def __init__(self):
        self.function = None
        self.weights = []

    def version(self):
        return paddle.__version__

    def devices(self):
        gpus = paddle.device.cuda.device_count() if paddle.is_compiled_with_cuda() else 0
        return ["cpu"] + [f"cuda:{i}" for i in range(gpus)]

    def load(self, tensor):
        self.set_device()
        if tensor.dtype != "BF16":
            return paddle.to_tensor(tensor.numpy())
        # NumPy has no bfloat16, whose bits are the upper half of those of float32.
        bits = numpy.frombuffer(bytearray(tensor.data), "uint16").astype("uint32") << 16
        return paddle.to_tensor(bits.view("float32").reshape(tensor.shape)).astype("bfloat16")

    def unload(self, output):
        if not isinstance(output, paddle.Tensor):
            return tensors.of(output)
        if output.dtype != paddle.bfloat16:
            return tensors.of(output.numpy())
        bits = output.astype("float32").numpy().view("uint32") >> 16
        return tensors.Tensor("BF16", output.shape, bits.astype("uint16").tobytes())

    def seed(self, number):
        super().seed(number)
        paddle.seed(number)

    def wait(self):
        if self.request["device"].startswith("cuda"):
            paddle.device.synchronize()

    def event(self):
        # Marks belong to the device that is set.
        on_gpu = self.request["device"].startswith("cuda")
        return paddle.device.Event(enable_timing=True) if on_gpu else None

    def set_device(self):
        paddle.device.set_device(self.request["device"].replace("cuda", "gpu"))

    def prepare(self, program, inputs):
        self.close()
        mode = self.option("mode", "static")
        if mode == "cinn" and not paddle.is_compiled_with_cinn():
            raise worker.Failure("compile", "this Paddle was built without CINN")
        path = os.path.join(program, "model.py")
        with open(path, encoding="utf-8") as file:
            code = compile(file.read(), path, "exec")
        scope = {"__name__": "program", "__file__": path}
        exec(code, scope)  # pylint: disable=exec-used  # graphnet has just written it
        model = scope["GraphModule"]()
        model.eval()
        code = model.forward.__code__
        annotations = model.forward.__annotations__
        self.numbers = [annotations.get(name) in (int, float, bool)
                        for name in code.co_varnames[1:code.co_argcount]]
        names = self.request.get("constants", [])
        read = tensors.read(self.request["weights"]) if names else {}
        self.weights = [self.load(read[name]) for name in names]
        self.forward = None
        if mode != "eager":
            paddle.view = _view
            # full_graph: what cannot be compiled is an error, and does not run in Python instead.
            model = paddle.jit.to_static(model, full_graph=True,
                                         backend="CINN" if mode == "cinn" else None)
            self.forward = model.forward
        self.function = model
        try:
            self.run(inputs)  # The first call compiles.
        except Exception as error:
            traceback.print_exc()
            raise worker.Failure("compile", _summary(error)) from error
        self.operators = self.count_operators()

    def run(self, inputs):
        values = [value.item() if is_number else value
                  for value, is_number in zip([*inputs, *self.weights], self.numbers, strict=True)]
        with paddle.no_grad():
            return _flat(self.function(*values))

    def count_operators(self):
        """Returns the names of the operators of the programs that were compiled."""
        if self.forward is None:
            return []
        programs = [concrete.main_program for concrete in self.forward.program_cache.concrete_programs()]
        return [operator.name() for program in programs for operator in program.global_block().ops]

    def proof(self):
        if self.forward is None:
            return "Paddle's operators, one by one"
        kernels = sum(name.startswith("cinn") for name in self.operators)
        made = f" with {kernels} kernels of CINN" if self.option("mode") == "cinn" else ""
        return f"a program of {len(self.operators)} operators{made}"

    def compiled(self):
        return None if self.forward is None else len(self.operators)

    def poison(self, outputs, inputs):
        kept = [_memory(value) for value in [*inputs, *self.weights] if isinstance(value, paddle.Tensor)]
        for output in outputs:
            if not isinstance(output, paddle.Tensor) or output.size == 0:
                continue
            begin, end = _memory(output)
            if any(begin < last and first < end for first, last in kept):
                continue
            wrong = float("inf") if output.is_floating_point() else 1
            output.fill_(wrong)

    def close(self):
        self.function = self.forward = None
        self.weights = []


def _view(x, shape_or_dtype, name=None):
    """paddle.view, which static programs lack. They write to nothing, so a copy is as good as a view."""
    if isinstance(shape_or_dtype, (list, tuple)):
        return paddle.reshape(x, shape_or_dtype, name)
    return x.view(shape_or_dtype)


def _summary(error):
    """Returns the line that says what is wrong: Paddle's errors begin with a stack of its own code."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = next((line for line in reversed(lines) if "Error:" in line), lines[0] if lines else "")
    return said[:500] if "Error" in said else f"{type(error).__name__}: {said[:500]}"


def _memory(tensor):
    begin = tensor.data_ptr()
    return begin, begin + tensor.size * tensor.element_size()


def _flat(value):
    if value is None:
        return []
    if isinstance(value, (list, tuple)):
        return [element for part in value for element in _flat(part)]
    return [value]


if __name__ == "__main__":
    worker.serve(PaddleWorker())
