#include "graphnet/evaluate/export_onnx.h"

#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/evaluate/backend_process.h"
#include "graphnet/evaluate/backend_table.h"
#include "graphnet/evaluate/environment.h"
#include "graphnet/evaluate/scratch_folder.h"
#include "graphnet/formats/export_program.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ops/callable.h"

namespace graphnet {
namespace {

namespace fs = std::filesystem;

// The largest samples take minutes.
constexpr absl::Duration kLimit = absl::Hours(1);

const Backend& Exporter() { return *FindBackend("onnxruntime"); }

// One worker for each thread that exports at the same time; starting one takes seconds.
class Exporters {
 public:
  struct One {
    std::unique_ptr<ScratchFolder> folder;
    std::unique_ptr<BackendProcess> process;  // runs in the folder
  };

  absl::StatusOr<std::unique_ptr<One>> Take(absl::FunctionRef<WorkerHost()> host) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<One> one = std::move(idle_.back());
        idle_.pop_back();
        return one;
      }
    }
    auto one = std::make_unique<One>();
    ASSIGN_OR_RETURN(one->folder, ScratchFolder::Make());
    one->process = std::make_unique<BackendProcess>(
        &Exporter(), host(), WorkerLimits{.time = kLimit}, JoinPath(one->folder->path(), "worker"));
    return one;
  }
  void Return(std::unique_ptr<One> one) {
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(std::move(one));
  }
  void Close() {
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<One>> idle_;
};

Exporters& AllExporters() {
  static Exporters exporters;
  return exporters;
}

// Returns the names of the tensors and numbers that the program takes and returns.
ExportRequest NamesOf(const Module& module) {
  ExportRequest request;
  for (const Node* node : module.main()->placeholders())
    request.inputs.emplace_back(node->target());
  const auto add = [&](const auto& self, const Argument& value) -> void {
    if (value.is_list() || value.is_tuple()) {
      for (const Argument& element : value.elements()) self(self, element);
    } else if (value.is_node()) {
      request.outputs.emplace_back(value.node()->name());
    }
  };
  for (const Argument& value : module.main()->output()->args()) add(add, value);
  return request;
}

// Returns the missing parent folders of `path`, innermost first.
std::vector<fs::path> MissingFoldersOf(const fs::path& path) {
  std::vector<fs::path> missing;
  for (fs::path folder = path.parent_path(); !folder.empty() && !FileExists(folder.string());
       folder = folder.parent_path()) {
    missing.push_back(folder);
  }
  return missing;
}

// Moves the exported files to their place, the model last.
absl::Status Publish(const std::string& made, const std::string& path) {
  // An older model must not stand beside this data, not even after a kill.
  if (std::error_code ignored; FileExists(made + ".data")) fs::remove(path, ignored);
  for (const char* ending : {".data", ""}) {
    const std::string from = made + ending;
    if (*ending != '\0' && !FileExists(from)) continue;
    std::error_code error;
    fs::rename(from, path + ending, error);
    if (error) {
      return absl::FailedPreconditionError(
          absl::StrCat("cannot write ", Printable(path + ending, 1000), ": ", error.message()));
    }
  }
  return absl::OkStatus();
}

absl::Status Print(const std::string& made) {
  if (FileExists(made + ".data"))
    return absl::UnimplementedError(
        "the weights are too large for the standard output; write to a file");
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(made, std::numeric_limits<size_t>::max()));
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckOnnxExporter() {
  if (FileExists(JoinPath(EnvironmentFolder(Exporter()), "bin/python"))) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "ONNX is written by PyTorch's exporter, which is not installed: ", InstallLine(Exporter())));
}

void CloseOnnxExporters() { AllExporters().Close(); }

namespace {

// The exporter has no message for operators that PyTorch does not have.
absl::Status CheckCalls(const Module& module) {
  for (const Graph* graph : module.graphs()) {
    for (const Node* node : graph->nodes()) {
      if (CalleeOf(*node).is_of_library()) {
        return NodeError(*node,
                         "PyTorch does not have this operator, so its exporter cannot write it "
                         "as ONNX");
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ExportOnnx(const Sample& sample, const std::string& path,
                        absl::FunctionRef<WorkerHost()> host) {
  RETURN_IF_ERROR(CheckOnnxExporter());
  ASSIGN_OR_RETURN(const Sample program, WithoutEffects(sample));
  RETURN_IF_ERROR(CheckCalls(*program.module));
  ExportRequest request = NamesOf(*program.module);
  ASSIGN_OR_RETURN(const Pt2Archive archive, ExportPt2Program(program, /*flat_calls=*/true));
  ASSIGN_OR_RETURN(std::unique_ptr<Exporters::One> exporter, AllExporters().Take(host));
  // Export to a folder beside the target, so that the file can be moved there in one step.
  const std::string file = path == "-" ? "model.onnx" : BaseName(path);
  const std::vector<fs::path> missing =
      path == "-" ? std::vector<fs::path>() : MissingFoldersOf(path);
  if (path != "-") RETURN_IF_ERROR(MakeFoldersOf(path));
  // Folders that contain the model are not empty then, and stay.
  const absl::Cleanup remove = [&] {
    std::error_code ignored;
    for (const fs::path& folder : missing) fs::remove(folder, ignored);
  };
  const std::string prefix =
      path == "-" ? JoinPath(exporter->folder->path(), "out")
                  : (fs::path(path).parent_path() / absl::StrCat(".", file)).string();
  ASSIGN_OR_RETURN(const auto scratch, ScratchFolder::Make(prefix));
  request.program = JoinPath(exporter->folder->path(), "program.pt2");
  request.out = JoinPath(scratch->path(), file);
  RETURN_IF_ERROR(WriteFileAtomic(request.program,
                                  [&](const ByteSink& sink) { return archive.WriteTo(sink); }));
  ASSIGN_OR_RETURN(Worker* const worker, exporter->process->worker());
  const absl::Status status = worker->Export(request);
  AllExporters().Return(std::move(exporter));
  RETURN_IF_ERROR(status);
  return path == "-" ? Print(request.out) : Publish(request.out, path);
}

}  // namespace graphnet
