"""PyTorch itself: runs the operators of a .pt2 one by one."""
import torch

import worker


class TorchWorker(worker.Worker):
    name = "torch"

    def version(self):
        return torch.__version__

    def devices(self):
        return ["cpu"] + [f"cuda:{i}" for i in range(torch.cuda.device_count())]

    def load(self, tensor):
        return tensor.torch().to(self.request["device"])

    def seed(self, number):
        super().seed(number)
        torch.manual_seed(number)

    def wait(self):
        if self.on_gpu():
            torch.cuda.synchronize(self.request["device"])

    def event(self):
        return _Event(self.request["device"]) if self.on_gpu() else None

    def kernel_time(self, inputs):
        if not self.on_gpu():
            return [], None
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            outputs = self.run(inputs)
            self.wait()
        # Calls on the host repeat the times of the kernels that they start, and ranges that have a
        # name those of the kernels in them.
        took = sum(event.self_device_time_total for event in profile.events()
                   if event.device_type == torch.autograd.DeviceType.CUDA
                   and not event.is_user_annotation)
        return outputs, took / 1e3 if took else None

    def on_gpu(self):
        return self.request["device"].startswith("cuda")

    def prepare(self, program, inputs):
        if self.option("threads") is not None:
            torch.set_num_threads(int(self.option("threads")))
        self.load_program(program)
        self.function = self.compile(self.module, self.arguments(inputs))

    def load_program(self, program):
        """Loads the program as a module, and finds the memory that must not be written to."""
        exported = torch.export.load(program)
        if self.on_gpu():
            from torch.export.passes import move_to_device_pass
            exported = move_to_device_pass(exported, self.request["device"])
        takes = [spec.arg for spec in exported.graph_signature.input_specs
                 if spec.kind == torch.export.graph_signature.InputKind.USER_INPUT]
        # True for the inputs that the program takes as numbers.
        self.numbers = [not isinstance(arg, torch.export.graph_signature.TensorArgument)
                        for arg in takes]
        self.kept = _memory([*exported.state_dict.values(), *exported.constants.values()])
        self.exported = exported
        self.module = exported.module()
        self.calls = sum(node.op == "call_function" for node in self.module.graph.nodes)

    def arguments(self, inputs):
        return [value.item() if number else value for value, number in zip(inputs, self.numbers)]

    def compile(self, module, arguments):
        return module

    def run(self, inputs):
        with torch.no_grad():
            return _flat(self.function(*self.arguments(inputs)))

    def proof(self):
        return f"{self.calls} calls"

    def poison(self, outputs, inputs):
        kept = self.kept | _memory(inputs)
        for output in outputs:
            if not isinstance(output, torch.Tensor) or _memory([output]) & kept:
                continue
            poison = float("nan") if output.is_floating_point() or output.is_complex() else -1
            try:
                output.detach().fill_(poison)
            except RuntimeError:
                pass  # its elements overlap

    def close(self):
        self.function = self.module = self.exported = None


class _Event:
    """A mark in the current stream of a device."""

    def __init__(self, device):
        self.mark = torch.cuda.Event(enable_timing=True)
        self.stream = torch.cuda.current_stream(device)

    def record(self):
        self.mark.record(self.stream)

    def elapsed_time(self, later):
        return self.mark.elapsed_time(later.mark)


def _memory(values):
    return {value.untyped_storage().data_ptr() for value in values
            if isinstance(value, torch.Tensor) and value.numel()}


def _flat(value):
    if value is None:
        return []
    if isinstance(value, (list, tuple)):
        return [element for part in value for element in _flat(part)]
    if isinstance(value, dict):
        return [element for part in value.values() for element in _flat(part)]
    return [value]


if __name__ == "__main__":
    worker.serve(TorchWorker())
