#include "graphnet/view/commands/unittest_python.h"

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "graphnet/base/file.h"
#include "graphnet/base/json.h"
#include "graphnet/base/status.h"
#include "graphnet/command/batch.h"
#include "graphnet/command/inputs.h"
#include "graphnet/command/save.h"
#include "graphnet/evaluate/environment.h"
#include "graphnet/evaluate/python_form.h"
#include "graphnet/evaluate/scratch_folder.h"
#include "graphnet/evaluate/worker.h"
#include "graphnet/formats/formats.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/passes/pipeline.h"
#include "graphnet/run/worker_host.h"

namespace graphnet {
namespace {

constexpr char kTryProgram[] = "try_unittest.py";
constexpr absl::Duration kTimeToTry = absl::Seconds(600);

// Returns whether an argument is a weight, by its annotation and by the name that it has in GraphNet's
// samples.
bool IsWeight(const PythonArgument& argument) {
  if (argument.is_attribute || argument.annotation == kParameterAnnotation) return true;
  if (NumberDType(argument.annotation).has_value()) return false;
  return absl::StrContains(argument.source, "_self_") ||
         absl::StrContains(argument.source, "_instance_modules_") ||
         absl::StartsWith(argument.source, "w_");
}

// Runs files of Python, one after the other, in a process with limits.
class Trial {
 public:
  static absl::StatusOr<std::unique_ptr<Trial>> Start() {
    const std::string python = PythonOfTorch(HostOfTool().torch);
    if (python.empty()) {
      return absl::FailedPreconditionError(
          "--to unittest runs what it writes, and no Python has the PyTorch of this program");
    }
    std::unique_ptr<Trial> trial(new Trial(python));
    ASSIGN_OR_RETURN(trial->folder_, ScratchFolder::Make());
    RETURN_IF_ERROR(
        WriteFileAtomic(JoinPath(trial->folder_->path(), kTryProgram), TryUnittestPy()));
    return trial;
  }

  absl::Status Run(const std::string& text) {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (worker_ == nullptr || !worker_->is_alive()) {
      const std::string& folder = folder_->path();
      ASSIGN_OR_RETURN(
          worker_, Worker::StartScript(python_, JoinPath(folder, kTryProgram), folder, kTimeToTry));
    }
    PrepareRequest request;
    request.program = JoinPath(folder_->path(), "tried.py");
    RETURN_IF_ERROR(WriteFileAtomic(request.program, text));
    return Annotate(worker_->Prepare(request), "does not run");
  }

 private:
  explicit Trial(std::string python) : python_(std::move(python)) {}

  std::string python_;
  std::unique_ptr<ScratchFolder> folder_;
  std::unique_ptr<Worker> worker_;
  std::mutex mutex_;
};

absl::Status WriteOne(const std::string& path, const std::string& out, bool trust, Trial* trial) {
  ASSIGN_OR_RETURN(Sample sample,
                   Load(path, {.trust = trust, .values_if_there = true, .statistics = true}));
  ASSIGN_OR_RETURN(const std::string text, UnittestPython(std::move(sample)));
  RETURN_IF_ERROR(trial->Run(text));
  const std::string parent = std::filesystem::path(out).parent_path();
  std::error_code error;
  if (!parent.empty()) std::filesystem::create_directories(parent, error);
  return WriteFileAtomic(out, text);
}

}  // namespace

absl::StatusOr<std::string> UnittestPython(Sample sample) {
  const std::string name = sample.name;
  ASSIGN_OR_RETURN(const Pipeline to_cpu, ParsePipeline("change-device{to=cpu}"));
  RETURN_IF_ERROR(RunPipeline(to_cpu, &sample).status());
  ASSIGN_OR_RETURN(const PythonForm form, PythonFormOf(std::move(sample)));
  std::vector<std::string> weights;
  for (const PythonArgument& argument : form.arguments) {
    if (IsWeight(argument)) weights.push_back(Json(argument.name).Dump(-1));
  }
  return absl::StrCat(form.files.at("model.py"), "\n\n", form.files.at("input_meta.py"), "\n\n",
                      form.files.at("weight_meta.py"), "\n\nNAME = ", Json(name).Dump(-1),
                      "\nWEIGHTS = [\n    ", absl::StrJoin(weights, ",\n    "),
                      weights.empty() ? "]\n" : ",\n]\n", UnittestTail());
}

absl::StatusOr<CommandResult> WriteUnittests(const UnittestFlags& flags) {
  ASSIGN_OR_RETURN(const std::vector<NamedInput> inputs, FindNamedInputs(flags.inputs));
  ASSIGN_OR_RETURN(const std::unique_ptr<Trial> trial, Trial::Start());
  const bool is_one = inputs.size() == 1 && EndingOfFile(flags.out) == ".py";
  if (is_one) {
    RETURN_IF_ERROR(WriteOne(inputs[0].path, flags.out, flags.trust, trial.get()));
    return 0;
  }
  std::vector<std::string> outs;
  ReservedPaths reserved;
  for (const NamedInput& input : inputs) {
    outs.push_back(JoinPath(flags.out, absl::StrCat(input.name, "_test.py")));
    RETURN_IF_ERROR(ReservePath(outs.back(), input.path, &reserved));
  }
  BatchReport made = ReportBatch<size_t>(
      inputs, flags.jobs,
      [&](const NamedInput& input, size_t*) {
        return WriteOne(input.path, outs[&input - inputs.data()], flags.trust, trial.get());
      },
      [&](size_t i, const absl::Status& status, size_t&, Report* sample) {
        if (status.ok()) sample->Add("out", outs[i]);
      });
  made.report.Say(CountLine(made.count));
  return std::move(made).Converted();
}

}  // namespace graphnet
