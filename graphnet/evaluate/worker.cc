#include "graphnet/evaluate/worker.h"

#include <cmath>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/status.h"
#include "nlohmann/json.hpp"

namespace graphnet {
namespace {

using JsonValue = nlohmann::json;

constexpr int kMaxAnswerNesting = 8;

// Rejects deep nesting, so that code that reads answers may recurse.
std::optional<JsonValue> ParseAnswer(const std::string& line) {
  bool too_deep = false;
  const JsonValue::parser_callback_t check = [&](int depth, JsonValue::parse_event_t, JsonValue&) {
    too_deep |= depth > kMaxAnswerNesting;
    return !too_deep;
  };
  JsonValue value = JsonValue::parse(line, check, /*allow_exceptions=*/false);
  if (too_deep || !value.is_object()) return std::nullopt;
  return value;
}

std::string TextOf(const JsonValue& answer, const char* name) {
  const auto it = answer.find(name);
  if (it == answer.end() || !it->is_string()) return "";
  return Printable(absl::StripAsciiWhitespace(it->get_ref<const std::string&>()), 1000);
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
absl::StatusOr<JsonValue> Ask(WorkerProcess& process, const JsonValue& request,
                              absl::Duration limit) {
  const std::string text =
      request.dump(/*indent=*/-1, ' ', /*ensure_ascii=*/true, JsonValue::error_handler_t::replace);
  ASSIGN_OR_RETURN(const std::string line, process.Ask(text, limit));
  std::optional<JsonValue> answer = ParseAnswer(line);
  const auto ok = answer.has_value() ? answer->find("ok") : JsonValue::iterator();
  if (!answer.has_value() || ok == answer->end() || !ok->is_boolean())
    return Nonsense(process, line);
  if (ok->get<bool>()) return *std::move(answer);
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

absl::Status Worker::Greet() {
  ASSIGN_OR_RETURN(const JsonValue answer, Ask(*process_, {{"verb", "hello"}}, limit_));
  greeting_.name = TextOf(answer, "name");
  greeting_.version = TextOf(answer, "version");
  if (const auto slots = answer.find("slots"); slots != answer.end())
    greeting_.has_slots = *slots == true;
  if (const auto devices = answer.find("devices"); devices != answer.end()) {
    for (const JsonValue& device : *devices) {
      if (device.is_string()) greeting_.devices.push_back(Printable(device.get<std::string>()));
    }
  }
  return absl::OkStatus();
}

absl::Status Worker::Prepare(const PrepareRequest& request) {
  JsonValue json = {{"verb", "prepare"},        {"program", request.program},
                    {"inputs", request.inputs}, {"order", request.order},
                    {"device", request.device}, {"seed", request.seed}};
  if (!request.weights.empty()) json["weights"] = request.weights;
  if (!request.constants.empty()) json["constants"] = request.constants;
  if (!request.written.empty()) json["written"] = request.written;
  if (request.slot != 0) json["slot"] = request.slot;
  if (!request.keep.empty()) json["keep"] = request.keep;
  if (!request.kept.empty()) json["kept"] = request.kept;
  return Ask(*process_, json, limit_).status();
}

absl::StatusOr<std::string> Worker::Run(const std::string& inputs, const std::string& outputs,
                                        uint64_t seed, int slot) {
  Forget(outputs);
  JsonValue request = {{"verb", "run"}, {"inputs", inputs}, {"outputs", outputs}, {"seed", seed}};
  if (slot != 0) request["slot"] = slot;
  ASSIGN_OR_RETURN(const JsonValue answer, Ask(*process_, request, limit_));
  return TextOf(answer, "proof");
}

absl::StatusOr<std::vector<double>> Worker::Time(const std::string& inputs,
                                                 const std::string& outputs, int warmup, int trials,
                                                 uint64_t seed) {
  Forget(outputs);
  ASSIGN_OR_RETURN(const JsonValue answer, Ask(*process_,
                                               {{"verb", "time"},
                                                {"inputs", inputs},
                                                {"outputs", outputs},
                                                {"warmup", warmup},
                                                {"trials", trials},
                                                {"seed", seed}},
                                               limit_));
  std::vector<double> milliseconds;
  if (const auto times = answer.find("ms"); times != answer.end() && times->is_array()) {
    for (const JsonValue& time : *times) {
      const double ms = time.is_number() ? time.get<double>() : -1;
      if (!std::isfinite(ms) || ms < 0) return Nonsense(*process_, answer.dump());
      milliseconds.push_back(ms);
    }
  }
  if (milliseconds.size() != static_cast<size_t>(trials)) return Nonsense(*process_, answer.dump());
  return milliseconds;
}

absl::Status Worker::Export(const ExportRequest& request) {
  Forget(request.out);
  ASSIGN_OR_RETURN(const JsonValue answer, Ask(*process_,
                                               {{"verb", "export"},
                                                {"program", request.program},
                                                {"out", request.out},
                                                {"inputs", request.inputs},
                                                {"outputs", request.outputs}},
                                               limit_));
  std::error_code error;
  if (std::filesystem::file_size(request.out, error) > 0 && !error) return absl::OkStatus();
  return Nonsense(*process_, answer.dump());
}

absl::Status Worker::Close(int slot) {
  JsonValue request = {{"verb", "close"}};
  if (slot != 0) request["slot"] = slot;
  return Ask(*process_, request, limit_).status();
}

}  // namespace graphnet
