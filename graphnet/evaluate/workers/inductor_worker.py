"""TorchInductor: torch.compile of a .pt2."""
import os

os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", os.path.join(os.getcwd(), "inductor"))
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

import torch
import torch._dynamo
import torch._inductor.config
import torch._inductor.metrics

import torch_worker
import worker

# Draw the same random numbers as PyTorch without TorchInductor.
torch._inductor.config.fallback_random = True


class InductorWorker(torch_worker.TorchWorker):
    name = "inductor"

    def compile(self, module, arguments):
        torch._dynamo.reset()
        torch._inductor.metrics.reset()
        torch._dynamo.utils.counters.clear()
        compiled = torch.compile(module, fullgraph=True, dynamic=False)
        # The first call compiles.
        with torch.no_grad():
            compiled(*arguments)
        return compiled

    def proof(self):
        return f"{torch._inductor.metrics.generated_kernel_count} generated kernels"

    def compiled(self):
        # A graph of matrix products alone has no generated kernel.
        return torch._dynamo.utils.counters["stats"]["unique_graphs"] if self.calls else None


if __name__ == "__main__":
    worker.serve(InductorWorker())
