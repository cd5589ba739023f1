"""TensorRT: Torch-TensorRT's compilation of a .pt2, on a GPU of NVIDIA."""
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
            raise worker.Failure("compile", "TensorRT runs on GPUs only: --device cuda:0")
        self.load_program(program)
        # Dtypes stay what they are, as is the default. What TensorRT lacks runs in PyTorch. A mask
        # of attention is any mask, though it takes it for a causal one if it is not told.
        self.function = torch_tensorrt.dynamo.compile(
            self.exported, arg_inputs=self.arguments(inputs), disable_tf32=True, min_block_size=1,
            require_full_compilation=False, attn_bias_is_causal=False)
        self.engines = sum("TensorRT" in type(part).__name__ for part in self.function.modules())

    def proof(self):
        return f"{self.engines} engines of TensorRT"


def _tensorrt():
    if not torch.cuda.is_available():
        raise worker.Failure("compile", "TensorRT needs a GPU of NVIDIA, and PyTorch sees none")
    try:
        import torch_tensorrt
    except ImportError as error:
        raise worker.Failure("compile", f"torch-tensorrt is not installed: {error}") from error
    return torch_tensorrt


if __name__ == "__main__":
    worker.serve(TensorRtWorker())
