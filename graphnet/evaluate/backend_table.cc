#include "graphnet/evaluate/backend_table.h"

#include "graphnet/evaluate/worker_text.h"

namespace graphnet {
namespace {

constexpr WorkerFile kLoop = {"worker.py", WorkerPy};
constexpr WorkerFile kTensors = {"tensors.py", TensorsPy};
constexpr WorkerFile kTorch = {"torch_worker.py", TorchWorkerPy};

}  // namespace

absl::string_view FormName(ProgramForm form) {
  switch (form) {
    case ProgramForm::kSample: return "graphnet";
    case ProgramForm::kPt2: return "pt2";
    case ProgramForm::kTorchScript: return "torchscript";
    case ProgramForm::kExport: return "export";
    case ProgramForm::kMlir: return "mlir";
  }
  return "";
}

absl::Span<const Backend> Backends() {
  static const auto* const backends = new std::vector<Backend>{
      {.name = "nope",
       .description = "graphnet's own interpreter, which compiles nothing",
       .kind = BackendKind::kTool,
       .reads = ProgramForm::kSample},
      {.name = "jit",
       .description = "TorchScript, frozen and optimised for inference by LibTorch",
       .kind = BackendKind::kTool,
       .reads = ProgramForm::kTorchScript},
      {.name = "torch",
       .description = "PyTorch in Python, operator by operator",
       .kind = BackendKind::kPython,
       .reads = ProgramForm::kPt2,
       .files = {kLoop, kTensors, kTorch},
       .needs_torch = true},
      {.name = "inductor",
       .description = "torch.compile with TorchInductor; needs a C++ compiler",
       .kind = BackendKind::kPython,
       .reads = ProgramForm::kPt2,
       .files = {kLoop, kTensors, kTorch, {"inductor_worker.py", InductorWorkerPy}},
       .needs_torch = true},
      {.name = "exec",
       .description = "any program that keeps the contract: --exec COMMAND, --exec-reads FORM",
       .kind = BackendKind::kCommand,
       .reads = ProgramForm::kPt2},
  };
  return *backends;
}

const Backend* FindBackend(absl::string_view name) {
  for (const Backend& backend : Backends()) {
    if (backend.name == name) return &backend;
  }
  return nullptr;
}

std::vector<absl::string_view> BackendNames() {
  std::vector<absl::string_view> names;
  for (const Backend& backend : Backends()) names.push_back(backend.name);
  return names;
}

}  // namespace graphnet
