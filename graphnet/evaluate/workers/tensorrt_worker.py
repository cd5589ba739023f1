"""TensorRT: Torch-TensorRT compiles a .pt2 for an NVIDIA GPU."""
import torch

import torch_worker
import worker


class TensorRtWorker(torch_worker.TorchWorker):
    name = "tensorrt"

    def version(self):
        _tensorrt()
        import tensorrt
        return tensorrt.__version__

    def devices(self):
        return [f"cuda:{i}" for i in range(torch.cuda.device_count())]

    def prepare(self, program, inputs):
        torch_tensorrt = _tensorrt()
        if not self.on_gpu():
            raise worker.Failure("compile", "TensorRT runs only on GPUs; use --device cuda:0")
        self.load_program(program)
        # Dtypes are kept by default. Operators that TensorRT lacks run in PyTorch. Without
        # attn_bias_is_causal=False, any attention mask would be taken for a causal one.
        self.function = torch_tensorrt.dynamo.compile(
            self.exported, arg_inputs=self.arguments(inputs), disable_tf32=True, min_block_size=1,
            require_full_compilation=False, attn_bias_is_causal=False)
        self.engines = sum("TensorRT" in type(part).__name__ for part in self.function.modules())

    def proof(self):
        return f"{self.engines} engines of TensorRT"

    def compiled(self):
        return self.engines if self.calls else None


def _tensorrt():
    if not torch.cuda.is_available():
        raise worker.Failure("compile", "TensorRT needs an NVIDIA GPU, and PyTorch finds none")
    try:
        import torch_tensorrt
    except ImportError as error:
        raise worker.Failure("compile", f"torch-tensorrt is not installed: {error}") from error
    return torch_tensorrt


if __name__ == "__main__":
    worker.serve(TensorRtWorker())
