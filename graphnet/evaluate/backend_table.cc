#include "graphnet/evaluate/backend_table.h"

#include "absl/strings/match.h"
#include "graphnet/evaluate/worker_text.h"

namespace graphnet {
namespace {

constexpr WorkerFile kLoop = {"worker.py", WorkerPy};
constexpr WorkerFile kHeader = {"worker.h", WorkerH};
constexpr WorkerFile kOnnx = {"onnx_export.py", OnnxExportPy};
constexpr WorkerFile kTensors = {"tensors.py", TensorsPy};
constexpr WorkerFile kTorch = {"torch_worker.py", TorchWorkerPy};

// An option of several backends.
const BackendOption kThreads = {"threads", "threads of one operator"};

}  // namespace

absl::string_view FormName(ProgramForm form) {
  switch (form) {
    case ProgramForm::kSample: return "graphnet";
    case ProgramForm::kPt2: return "pt2";
    case ProgramForm::kTorchScript: return "torchscript";
    case ProgramForm::kExport: return "export";
    case ProgramForm::kMlir: return "mlir";
    case ProgramForm::kPaddle: return "paddle";
  }
  return "";
}

absl::Span<const Backend> Backends() {
  static const auto* const backends = new std::vector<Backend>{
      {.name = "nope",
       .description = "graphnet's own interpreter, which compiles nothing",
       .kind = BackendKind::kTool,
       .reads = ProgramForm::kSample,
       .tier = Tier::kCore},
      {.name = "jit",
       .description = "TorchScript, frozen and optimised for inference by LibTorch",
       .kind = BackendKind::kTool,
       .reads = ProgramForm::kTorchScript,
       .tier = Tier::kCore},
      {.name = "torch",
       .description = "PyTorch in Python, operator by operator",
       .kind = BackendKind::kPython,
       .reads = ProgramForm::kPt2,
       .files = {kLoop, kTensors, kTorch},
       .needs_torch = true,
       .options = {kThreads}},
      {.name = "inductor",
       .description = "torch.compile with TorchInductor; needs a C++ compiler",
       .kind = BackendKind::kPython,
       .reads = ProgramForm::kPt2,
       .files = {kLoop, kTensors, kTorch, {"inductor_worker.py", InductorWorkerPy}},
       .needs_torch = true,
       .options = {{"mode",
                    "what torch.compile trades for speed",
                    {"default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"}},
                   {"dynamic", "whether sizes are symbols", {"true", "false"}},
                   kThreads}},
      {.name = "openvino",
       .description = "OpenVINO's PyTorch front end, in C++",
       .kind = BackendKind::kProgram,
       .reads = ProgramForm::kExport,
       .files = {kHeader,
                 {"openvino_arguments.h", OpenVinoArgumentsH},
                 {"openvino_worker.cc", OpenVinoWorkerCc}},
       .packages = {"openvino==2026.4.1"},
       .compile = "g++ -O2 -std=c++17 -I. -I\"$SITE/openvino/include\" openvino_worker.cc "
                  "\"$SITE\"/openvino/libs/libopenvino.so.2641 "
                  "\"$SITE\"/openvino/libs/libopenvino_pytorch_frontend.so.2641 "
                  "-Wl,-rpath,\"$SITE/openvino/libs\" -o \"$OUT\""},
      {.name = "iree",
       .description = "IREE, from text of the torch dialect",
       .kind = BackendKind::kPython,
       .reads = ProgramForm::kMlir,
       .files =
           {kLoop, kTensors, {"mlir_program.py", MlirProgramPy}, {"iree_worker.py", IreeWorkerPy}},
       .packages = {"iree-base-compiler==3.13.0", "iree-base-runtime==3.13.0"},
       .options = {{"level", "optimisation level of iree-compile", {"O0", "O1", "O2", "O3"}}}},
      {.name = "xla",
       .description = "XLA's CPU compiler through PJRT, from StableHLO that torch-mlir-opt makes",
       .kind = BackendKind::kProgram,
       .reads = ProgramForm::kMlir,
       .files = {kHeader, {"xla_worker.cc", XlaWorkerCc}},
       .packages = {"xla-cpu-pjrt==0.0.1", "torch-mlir==20261001"},
       .compile = "g++ -O2 -std=c++17 -I. -I\"$SITE/xla_plugins/xla_cpu_pjrt/include\" "
                  "-DXLA_PLUGIN='\"'\"$SITE\"/xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so'\"' "
                  "-DTORCH_MLIR_OPT='\"'\"$SITE\"/torch_mlir/_mlir_libs/torch-mlir-opt'\"' "
                  "xla_worker.cc -ldl -o \"$OUT\""},
      {.name = "onnxruntime",
       .description = "ONNX Runtime, from ONNX that PyTorch's exporter makes",
       .kind = BackendKind::kPython,
       .reads = ProgramForm::kPt2,
       .files = {kLoop, kTensors, kOnnx, {"onnxruntime_worker.py", OnnxRuntimeWorkerPy}},
       .needs_torch = true,
       .packages = {"onnxruntime==1.32.0", "onnx==1.23.2", "onnxscript==0.7.2"},
       .options = {{"optimisation",
                    "which graph optimisations ONNX Runtime makes",
                    {"none", "basic", "extended", "all"}},
                   kThreads}},
      {.name = "tvm",
       .description = "TVM's Relax, whose schedules trials=N tunes",
       .kind = BackendKind::kPython,
       .reads = ProgramForm::kPt2,
       .files = {kLoop, kTensors, kOnnx, {"tvm_worker.py", TvmWorkerPy}},
       .needs_torch = true,
       .packages = {"apache-tvm==0.27.0.post1", "apache-tvm-ffi==0.1.14.post0", "cloudpickle",
                    "onnx==1.23.2", "onnxscript==0.7.2", "psutil"},
       .options =
           {{"trials",
             "schedules that MetaSchedule measures in all; the best of each function stay"}}},
      {.name = "paddle",
       .description = "Paddle, whose to_static compiles the sample in Paddle's calls",
       .kind = BackendKind::kPython,
       .reads = ProgramForm::kPaddle,
       .files = {kLoop, kTensors, {"paddle_worker.py", PaddleBackendPy}},
       .packages = {"paddlepaddle==3.3.1"},
       .options = {{"mode",
                    "how the calls run: compiled by to_static, by that with CINN, or one by one",
                    {"static", "cinn", "eager"}}}},
      {.name = "tensorrt",
       .description = "TensorRT through Torch-TensorRT; needs an NVIDIA GPU and a torch for it",
       .kind = BackendKind::kPython,
       .reads = ProgramForm::kPt2,
       .files = {kLoop, kTensors, kTorch, {"tensorrt_worker.py", TensorRtWorkerPy}},
       .needs_torch = true,
       .packages = {"torch-tensorrt==2.13.0"},
       .tier = Tier::kExperimental},
      {.name = "bladedisc",
       .description = "BladeDISC, unmaintained since torch 1.12, by command: $GRAPHNET_BLADEDISC",
       .kind = BackendKind::kPython,
       .reads = ProgramForm::kTorchScript,
       .files = {kLoop,
                 kTensors,
                 kTorch,
                 {"bladedisc_optimise.py", BladeDiscOptimisePy},
                 {"bladedisc_worker.py", BladeDiscWorkerPy}},
       .needs_torch = true,
       .alias = "blade-disc",
       .tier = Tier::kExperimental},
      {.name = "exec",
       .description = "any program that keeps the contract: --exec COMMAND, --exec-reads FORM",
       .kind = BackendKind::kCommand,
       .reads = ProgramForm::kPt2},
  };
  return *backends;
}

const Backend* FindBackend(absl::string_view name) {
  for (const Backend& backend : Backends()) {
    if (backend.name == name || (!backend.alias.empty() && backend.alias == name)) return &backend;
  }
  return nullptr;
}

std::string FileNameOf(const Backend& backend) {
  std::string name(backend.shown());
  for (char& c : name) {
    const bool is_control = static_cast<unsigned char>(c) < ' ' || c == '\x7f';
    if (is_control || absl::StrContains("/\\:*?\"<>|", c)) c = '_';
  }
  return name;
}

std::vector<absl::string_view> BackendNames() {
  std::vector<absl::string_view> names;
  for (const Backend& backend : Backends()) names.push_back(backend.name);
  return names;
}

}  // namespace graphnet
