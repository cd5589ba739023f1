"""TorchInductor: torch.compile of a .pt2."""
import os
from unittest import mock

os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", os.path.join(os.getcwd(), "inductor"))
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

import torch
import torch._dynamo
import torch._inductor.config
import torch._inductor.metrics
from torch._inductor import scheduler
from torch._inductor.graph import GraphLowering

import torch_worker
import worker

# Draw the same random numbers as PyTorch without TorchInductor.
torch._inductor.config.fallback_random = True


class _Counted(Exception):
    """Ends a compilation whose kernels have been counted."""


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
        """Counts what TorchInductor's scheduler fuses into one, and its calls of libraries. Each
        of them is a launch on a GPU, and one loop nest or several on a CPU. No code is compiled."""
        counts = []

        def count(graph):
            graph.codegen()
            counts.append(sum(not isinstance(node, scheduler.NopKernelSchedulerNode)
                              for node in graph.scheduler.nodes))
            raise _Counted

        self.load_program(program)
        torch._dynamo.reset()
        with mock.patch.object(GraphLowering, "compile_to_module", count), \
                torch._inductor.config.patch(fx_graph_cache=False), torch.no_grad():
            try:
                torch.compile(self.module, fullgraph=True, dynamic=False)(*self.arguments(inputs))
            except Exception:
                if not counts:
                    raise
        return sum(counts)

    def compiled(self):
        # A graph of matrix products alone has no generated kernel.
        return torch._dynamo.utils.counters["stats"]["unique_graphs"] if self.calls else None


if __name__ == "__main__":
    worker.serve(InductorWorker())
