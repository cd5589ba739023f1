// Workers that are the tool itself. They follow the protocol in docs/evaluation_reference.md.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/ivalue.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/base/tolerance.h"
#include "graphnet/formats/safetensors/safetensors.h"
#include "graphnet/interp/inputs/numbers.h"
#include "graphnet/interp/measure_rounding.h"
#include "graphnet/interp/repeatable_run.h"
#include "graphnet/interp/rounding.h"
#include "graphnet/interp/tensors.h"
#include "graphnet/run/engine/device_clock.h"
#include "graphnet/run/engine/programs.h"
#include "graphnet/run/engine/worker_program.h"
#include "nlohmann/json.hpp"
#include "torch/version.h"

namespace graphnet {
namespace {

using JsonValue = nlohmann::json;

constexpr int kAnswers = 3;  // file descriptor

// Returns a text that changes if the file is replaced or modified.
std::string StateOf(const std::string& path) {
  struct stat state {};
  if (stat(path.c_str(), &state) != 0) return "";
  return absl::StrCat(path, " ", state.st_ino, " ", state.st_size, " ", state.st_mtim.tv_sec, " ",
                      state.st_mtim.tv_nsec);
}

// Overwrites outputs, so that a program which returns an old result is detected.
void Poison(const std::vector<c10::IValue>& outputs, const WorkerProgram& program) {
  absl::flat_hash_set<const void*> kept;
  for (const at::Tensor& tensor : program.Kept()) {
    if (tensor.has_storage()) kept.insert(tensor.storage().data());
  }
  for (const c10::IValue& output : outputs) {
    if (!output.isTensor() || !output.toTensor().has_storage()) continue;
    const at::Tensor& tensor = output.toTensor();
    if (tensor.numel() == 0 || kept.contains(tensor.storage().data())) continue;
    // All bits set means nan or -1, for any strides.
    MemoryOf(tensor).fill_(0xff);
  }
}

class WorkerLoop {
 public:
  explicit WorkerLoop(std::string backend) : backend_(std::move(backend)) {}

  // Returns the answer to a request. If that is an error, `*stage` is the stage that failed.
  absl::StatusOr<JsonValue> Answer(const JsonValue& request, std::string* stage) {
    const std::string verb = request.value("verb", "");
    *stage = "run";
    if (verb == "hello") {
      return JsonValue{{"name", backend_}, {"version", TORCH_VERSION}, {"devices", {"cpu"}}};
    }
    if (verb == "prepare") {
      *stage = "compile";
      return Prepare(request, stage);
    }
    if (verb == "run") return Run(request, stage);
    if (verb == "time") return Time(request, stage);
    if (verb == "judge" && backend_ == "nope") return Judge(request, stage);
    if (verb == "close") {
      program_.reset();
      loaded_.clear();
      return JsonValue::object();
    }
    return absl::InvalidArgumentError(absl::StrCat("there is no verb ", Printable(verb)));
  }

 private:
  absl::StatusOr<JsonValue> Prepare(const JsonValue& request, std::string* stage) {
    program_.reset();
    loaded_.clear();
    weights_.clear();
    WorkerProgramRequest what;
    what.program = request.at("program").get<std::string>();
    what.order = request.at("order").get<std::vector<std::string>>();
    what.written = request.value("written", std::vector<std::string>());
    what.device = request.at("device").get<std::string>();
    if (const std::string weights = request.value("weights", ""); !weights.empty()) {
      ASSIGN_OR_RETURN(weights_, ReadSafetensorsFile(weights));
    }
    ASSIGN_OR_RETURN(const c10::Device device, ParseRunDevice(what.device));
    ASSIGN_OR_RETURN(program_, backend_ == "jit" ? PrepareJit(what) : PrepareNope(what));
    clock_ = std::make_unique<DeviceClock>(device);
    RETURN_IF_ERROR(Load(request.at("inputs").get<std::string>(), stage));
    return JsonValue::object();
  }

  absl::Status Load(const std::string& inputs, std::string* stage) {
    if (program_ == nullptr) return absl::FailedPreconditionError("nothing is prepared");
    const std::string state = StateOf(inputs);
    if (!state.empty() && state == loaded_) return absl::OkStatus();
    *stage = "inputs";
    loaded_.clear();
    ASSIGN_OR_RETURN(auto values, ReadSafetensorsFile(inputs));
    values.insert(weights_.begin(), weights_.end());
    RETURN_IF_ERROR(program_->Load(std::move(values)));
    loaded_ = state;
    *stage = "run";
    return absl::OkStatus();
  }

  absl::StatusOr<JsonValue> Run(const JsonValue& request, std::string* stage) {
    RETURN_IF_ERROR(Load(request.at("inputs").get<std::string>(), stage));
    RETURN_IF_ERROR(program_->Restore());
    ASSIGN_OR_RETURN(const std::vector<c10::IValue> outputs,
                     program_->Run({.seed = request.at("seed").get<uint64_t>()}));
    RETURN_IF_ERROR(Write(outputs, request.at("outputs").get<std::string>()));
    Poison(outputs, *program_);
    return JsonValue{{"proof", program_->Proof()}};
  }

  absl::StatusOr<JsonValue> Time(const JsonValue& request, std::string* stage) {
    RETURN_IF_ERROR(Load(request.at("inputs").get<std::string>(), stage));
    const auto seed = request.at("seed").get<uint64_t>();
    const int trials = request.at("trials").get<int>();
    JsonValue answer{{"ms", JsonValue::array()}};
    std::vector<double> gpu;
    for (int trial = -request.at("warmup").get<int>(); trial < trials; ++trial) {
      RETURN_IF_ERROR(program_->Restore());
      RETURN_IF_ERROR(clock_->Wait());
      const auto begin = std::chrono::steady_clock::now();
      clock_->Start();
      ASSIGN_OR_RETURN(const std::vector<c10::IValue> outputs, program_->Run({.seed = seed}));
      clock_->Stop();
      RETURN_IF_ERROR(clock_->Wait());
      const auto end = std::chrono::steady_clock::now();
      if (trial >= 0) {
        answer["ms"].push_back(std::chrono::duration<double, std::milli>(end - begin).count());
        if (const std::optional<double> ms = clock_->Milliseconds()) gpu.push_back(*ms);
      }
      if (trial + 1 == trials)
        RETURN_IF_ERROR(Write(outputs, request.at("outputs").get<std::string>()));
      Poison(outputs, *program_);
    }
    if (gpu.size() == answer["ms"].size()) answer["gpu"] = gpu;
    ASSIGN_OR_RETURN(const std::vector<double> kernel, TimeKernels(seed, trials));
    if (kernel.size() == answer["ms"].size()) answer["kernel"] = kernel;
    return answer;
  }

  // Runs the trials once more, as the profiler would slow down those that the clocks measure. Returns
  // fewer times than trials if kernels are not seen.
  absl::StatusOr<std::vector<double>> TimeKernels(uint64_t seed, int trials) {
    std::vector<double> kernel;
    if (!clock_->is_there()) return kernel;
    for (int trial = 0; trial < trials; ++trial) {
      RETURN_IF_ERROR(program_->Restore());
      RETURN_IF_ERROR(clock_->Wait());
      std::vector<c10::IValue> outputs;
      ASSIGN_OR_RETURN(const std::optional<double> ms,
                       clock_->KernelMilliseconds([&]() -> absl::Status {
                         ASSIGN_OR_RETURN(outputs, program_->Run({.seed = seed}));
                         return absl::OkStatus();
                       }));
      Poison(outputs, *program_);
      if (!ms.has_value()) break;
      kernel.push_back(*ms);
    }
    return kernel;
  }

  // Says whether rounding explains the outputs of something else (interp/rounding.h).
  absl::StatusOr<JsonValue> Judge(const JsonValue& request, std::string* stage) {
    RETURN_IF_ERROR(Load(request.at("inputs").get<std::string>(), stage));
    ASSIGN_OR_RETURN(const auto others, ReadNumbered(request.at("outputs").get<std::string>()));
    ASSIGN_OR_RETURN(const auto expected, ReadNumbered(request.at("expected").get<std::string>()));
    MeasureRoundingOptions options;
    options.seed = request.at("seed").get<uint64_t>();
    options.others = &others;
    if (const std::string exact = request.value("exact", ""); !exact.empty()) {
      ASSIGN_OR_RETURN(options.exact, ReadNumbered(exact));
    }
    const auto again = [&](const RunOptions& how) -> absl::StatusOr<std::vector<c10::IValue>> {
      RETURN_IF_ERROR(program_->Restore());
      return program_->Run(how);
    };
    ASSIGN_OR_RETURN(auto roundings, MeasureRounding(again, options));
    std::vector<RoundingFinding> findings;
    std::optional<int> level = kMinToleranceLevel;
    for (auto& [name, rounding] : roundings) {
      // Another machine may have computed what is expected.
      if (const auto known = expected.find(name); known != expected.end() &&
                                                  known->second.dtype == rounding.value.dtype &&
                                                  known->second.shape == rounding.value.shape) {
        rounding.value = known->second;
      }
      const auto other = others.find(name);
      if (other == others.end()) continue;
      findings.push_back(JudgeRounding(rounding, other->second));
      if (!HasFractions(rounding.value.dtype)) continue;
      const std::optional<int> of_output = DerivedLevel(rounding);
      level = level.has_value() && of_output.has_value() ? std::max(*level, *of_output)
                                                         : std::optional<int>();
    }
    const RoundingFinding& worst = WorstOf(findings);
    JsonValue answer{{"verdict", std::string(RoundingVerdictName(worst.verdict))},
                     {"text", worst.Text()}};
    if (level.has_value()) answer["t"] = *level;
    return answer;
  }

  // Reads outputs, which a file calls "0", "1", …, by the names of NameOutputs.
  static absl::StatusOr<std::map<std::string, TensorData>> ReadNumbered(const std::string& path) {
    ASSIGN_OR_RETURN(auto numbered, ReadSafetensorsFile(path));
    std::map<std::string, TensorData> named;
    for (auto& [number, data] : numbered) named[absl::StrCat("o", number)] = std::move(data);
    return named;
  }

  static absl::Status Write(const std::vector<c10::IValue>& outputs, const std::string& path) {
    ASSIGN_OR_RETURN(const auto named, NameOutputs(outputs));
    std::map<std::string, TensorData> numbered;
    for (const auto& [name, data] : named) numbered[name.substr(1)] = data;  // "o12"
    return WriteSafetensorsFile(numbered, path);
  }

  std::string backend_;
  std::unique_ptr<WorkerProgram> program_;
  std::unique_ptr<DeviceClock> clock_;  // of the device of program_
  std::map<std::string, TensorData> weights_;
  std::string loaded_;  // the state of the loaded file of inputs
};

bool WriteAll(absl::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(kAnswers, text.data(), text.size());
    if (n <= 0) return false;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

}  // namespace

absl::StatusOr<int> ServeWorker(const std::string& backend) {
  WorkerLoop loop(backend);
  std::string line;
  while (std::getline(std::cin, line)) {
    std::string stage = "run";
    absl::StatusOr<JsonValue> answer = absl::InvalidArgumentError("no request");
    try {
      answer = loop.Answer(JsonValue::parse(line), &stage);
    } catch (const std::exception& error) {
      answer = absl::InvalidArgumentError(Printable(error.what(), 1000));
    }
    const bool ok = answer.ok();
    JsonValue said;
    if (ok) {
      said = *std::move(answer);
    } else {
      said["stage"] = stage;
      said["error"] = std::string(answer.status().message());
    }
    said["ok"] = ok;
    const std::string text =
        said.dump(/*indent=*/-1, ' ', /*ensure_ascii=*/true, JsonValue::error_handler_t::replace);
    if (!WriteAll(text + "\n")) return 1;
  }
  return 0;
}

}  // namespace graphnet
