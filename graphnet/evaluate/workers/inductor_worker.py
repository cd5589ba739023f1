"""TorchInductor: torch.compile of a .pt2."""
import os
import re
from unittest import mock

os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", os.path.join(os.getcwd(), "inductor"))
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

import torch
import torch._dynamo
import torch._inductor.config
import torch._inductor.metrics
from torch._inductor.graph import GraphLowering

import torch_worker
import worker

# In the code that TorchInductor writes: the line above each loop nest of a function in C++, the launch
# of a kernel on a GPU, and a call of a library or of an operator that it leaves to PyTorch.
KERNEL = re.compile(r"    \{$|\s*\w+\.run\(|\s*(\w+ = )?(extern_kernels|torch\.ops|aten)\.[\w.]+\(")

# Draw the same random numbers as PyTorch without TorchInductor.
torch._inductor.config.fallback_random = True


class _Written(Exception):
    """Ends a compilation whose code has been written."""


class InductorWorker(torch_worker.TorchWorker):
    name = "inductor"

    def compile(self, module, arguments):
        torch._dynamo.reset()
        torch._inductor.metrics.reset()
        torch._dynamo.utils.counters.clear()
        compiled = torch.compile(module, fullgraph=True, mode=self.option("mode"),
                                 dynamic=self.option("dynamic") == "true")
        # The first call compiles.
        with torch.no_grad():
            compiled(*arguments)
        return compiled

    def proof(self):
        return f"{torch._inductor.metrics.generated_kernel_count} generated kernels"

    def kernels(self, program, inputs):
        """Counts the loop nests, launches and calls of libraries in the code that TorchInductor
        writes. Nothing is compiled to machine code."""
        codes = []

        def keep(code):
            codes.append(code)
            raise _Written

        self.load_program(program)
        torch._dynamo.reset()
        with mock.patch.object(GraphLowering, "save_output_code", staticmethod(keep)), \
                torch._inductor.config.patch({"fx_graph_cache": False, "cpp.threads": 1}), \
                torch.no_grad():
            try:
                torch.compile(self.module, fullgraph=True, dynamic=False)(*self.arguments(inputs))
            except Exception:
                if not codes:
                    raise
        return sum(bool(KERNEL.match(line)) for code in codes for line in code.splitlines())

    def compiled(self):
        # A graph of matrix products alone has no generated kernel.
        return torch._dynamo.utils.counters["stats"]["unique_graphs"] if self.calls else None


if __name__ == "__main__":
    worker.serve(InductorWorker())
