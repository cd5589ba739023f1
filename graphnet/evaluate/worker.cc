#include "graphnet/evaluate/worker.h"

#include <cmath>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/json.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/status.h"

namespace graphnet {
namespace {

// Answers are read by recursion.
constexpr int kMaxAnswerNesting = 8;

// The lists of times in an answer, and the clocks of WorkerTimes.
constexpr std::pair<absl::string_view, absl::string_view> kClocks[] = {
    {"ms", "e2e"}, {"gpu", "gpu"}, {"kernel", "kernel"}};

std::string TextOf(const Json& answer, absl::string_view name) {
  const std::string text = answer.Get<std::string>(name).value_or("");
  return Printable(absl::StripAsciiWhitespace(text), 1000);
}

absl::Status Nonsense(WorkerProcess& process, const std::string& line) {
  process.Kill();
  return absl::DataLossError(absl::StrCat("garbage: answered '", Printable(line, 100), "'"));
}

// Removes an old file of outputs, which must not be taken for an answer.
void Forget(const std::string& outputs) {
  std::error_code ignored;
  std::filesystem::remove(outputs, ignored);
}

// Sends a request. Returns the answer if it is a valid one that reports success.
absl::StatusOr<Json> Ask(WorkerProcess& process, const Json& request, absl::Duration limit) {
  const std::string text = request.Dump(/*indent=*/-1, /*is_ascii=*/true);
  ASSIGN_OR_RETURN(const std::string line, process.Ask(text, limit));
  absl::StatusOr<Json> answer = Json::ParseObject(line, "", kMaxAnswerNesting);
  const std::optional<bool> is_ok = answer.ok() ? answer->Get<bool>("ok") : std::nullopt;
  if (!is_ok) return Nonsense(process, line);
  if (*is_ok) return answer;
  std::string error = TextOf(*answer, "error");
  if (error.empty()) error = "the worker failed without giving a reason";
  if (TextOf(*answer, "stage") == "compile") return absl::FailedPreconditionError(error);
  return absl::UnavailableError(error);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Worker>> Worker::Start(const ProcessOptions& options,
                                                      absl::Duration limit) {
  ASSIGN_OR_RETURN(std::unique_ptr<WorkerProcess> process, WorkerProcess::Start(options));
  std::unique_ptr<Worker> worker(new Worker(std::move(process), limit));
  RETURN_IF_ERROR(worker->Greet());
  return worker;
}

absl::StatusOr<std::unique_ptr<Worker>> Worker::StartScript(const std::string& python,
                                                            const std::string& script,
                                                            const std::string& folder,
                                                            absl::Duration limit) {
  constexpr int64_t kMaxDiskBytes = int64_t{1} << 30;
  ProcessOptions options;
  options.command = {python, script};
  options.environment = {{"OMP_WAIT_POLICY", "PASSIVE"}};
  options.folder = folder;
  options.max_memory = AvailableMemoryBytes() / 2;
  options.max_file_bytes = kMaxDiskBytes;
  return Start(options, limit);
}

absl::Status Worker::Greet() {
  ASSIGN_OR_RETURN(const Json answer, Ask(*process_, Json::Object({{"verb", "hello"}}), limit_));
  greeting_.name = TextOf(answer, "name");
  greeting_.version = TextOf(answer, "version");
  greeting_.hardware = TextOf(answer, "hardware");
  greeting_.has_slots = answer.Get<bool>("slots").value_or(false);
  if (const Json* const devices = answer.Find("devices")) {
    for (const Json& device : devices->elements()) {
      if (device.text() != nullptr) greeting_.devices.push_back(Printable(*device.text()));
    }
  }
  return absl::OkStatus();
}

absl::Status Worker::Prepare(const PrepareRequest& request) {
  Json json = Json::Object({{"verb", "prepare"},
                            {"program", request.program},
                            {"inputs", request.inputs},
                            {"order", request.order},
                            {"device", request.device},
                            {"seed", request.seed}});
  if (!request.weights.empty()) json["weights"] = request.weights;
  if (!request.constants.empty()) json["constants"] = request.constants;
  if (!request.written.empty()) json["written"] = request.written;
  for (const auto& [name, value] : request.options) json["options"][name] = value;
  if (request.slot != 0) json["slot"] = request.slot;
  if (!request.keep.empty()) json["keep"] = request.keep;
  if (!request.kept.empty()) json["kept"] = request.kept;
  return Ask(*process_, json, limit_).status();
}

absl::StatusOr<std::string> Worker::Run(const std::string& inputs, const std::string& outputs,
                                        uint64_t seed, int slot) {
  Forget(outputs);
  Json request =
      Json::Object({{"verb", "run"}, {"inputs", inputs}, {"outputs", outputs}, {"seed", seed}});
  if (slot != 0) request["slot"] = slot;
  ASSIGN_OR_RETURN(const Json answer, Ask(*process_, request, limit_));
  return TextOf(answer, "proof");
}

absl::StatusOr<WorkerTimes> Worker::Time(const std::string& inputs, const std::string& outputs,
                                         int warmup, int trials, uint64_t seed) {
  Forget(outputs);
  const Json request = Json::Object({{"verb", "time"},
                                     {"inputs", inputs},
                                     {"outputs", outputs},
                                     {"warmup", warmup},
                                     {"trials", trials},
                                     {"seed", seed}});
  ASSIGN_OR_RETURN(const Json answer, Ask(*process_, request, limit_));
  const auto is_wrong = [](double ms) { return !std::isfinite(ms) || ms < 0; };
  WorkerTimes times;
  for (const auto& [key, clock] : kClocks) {
    if (key != "ms" && answer.Find(key) == nullptr) continue;
    auto ms = answer.Get<std::vector<double>>(key).value_or(std::vector<double>());
    if (ms.size() != static_cast<size_t>(trials) || absl::c_any_of(ms, is_wrong))
      return Nonsense(*process_, answer.Dump(-1));
    times.emplace_back(clock, std::move(ms));
  }
  return times;
}

absl::StatusOr<SampleRounding> Worker::Judge(const std::string& inputs, const std::string& outputs,
                                             const std::string& expected, const std::string& exact,
                                             uint64_t seed) {
  Json request = Json::Object({{"verb", "judge"},
                               {"inputs", inputs},
                               {"outputs", outputs},
                               {"expected", expected},
                               {"seed", seed}});
  if (!exact.empty()) request["exact"] = exact;
  ASSIGN_OR_RETURN(const Json answer, Ask(*process_, request, limit_));
  SampleRounding rounding;
  rounding.verdict = RoundingVerdictOfName(TextOf(answer, "verdict"));
  if (!rounding.verdict.has_value()) return Nonsense(*process_, answer.Dump(-1));
  rounding.text = TextOf(answer, "text");
  rounding.level = answer.Get<int>("t");
  return rounding;
}

absl::Status Worker::Export(const ExportRequest& request) {
  Forget(request.out);
  const Json asked = Json::Object({{"verb", "export"},
                                   {"program", request.program},
                                   {"out", request.out},
                                   {"inputs", request.inputs},
                                   {"outputs", request.outputs}});
  ASSIGN_OR_RETURN(const Json answer, Ask(*process_, asked, limit_));
  std::error_code error;
  if (std::filesystem::file_size(request.out, error) > 0 && !error) return absl::OkStatus();
  return Nonsense(*process_, answer.Dump(-1));
}

absl::StatusOr<int64_t> Worker::CountKernels(const PrepareRequest& request) {
  const Json asked = Json::Object({{"verb", "kernels"},
                                   {"program", request.program},
                                   {"inputs", request.inputs},
                                   {"order", request.order},
                                   {"device", request.device}});
  ASSIGN_OR_RETURN(const Json answer, Ask(*process_, asked, limit_));
  const auto count = answer.Get<int64_t>("kernels");
  if (!count.has_value() || *count < 0) return Nonsense(*process_, answer.Dump(-1));
  return *count;
}

absl::Status Worker::Close(int slot) {
  Json request = Json::Object({{"verb", "close"}});
  if (slot != 0) request["slot"] = slot;
  return Ask(*process_, request, limit_).status();
}

}  // namespace graphnet
