#include "graphnet/passes/commands/opt_worker.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/json.h"
#include "graphnet/base/status.h"
#include "graphnet/command/messages.h"
#include "graphnet/formats/formats.h"

namespace graphnet {
namespace {

constexpr char kAnswers[] = "/dev/fd/3";

Json AnswerOf(const absl::StatusOr<OptOutcome>& outcome, const std::string& aside) {
  Json answer;
  answer["aside"] = aside;
  if (!outcome.ok()) {
    const absl::Status& status = outcome.status();
    // What cannot be read is no failed check, whatever its code is.
    const absl::StatusCode code = IsUnusable(status) ? absl::StatusCode::kNotFound : status.code();
    answer["code"] = static_cast<int>(code);
    answer["error"] = status.message();
    if (const std::optional<ErrorPlace> place = PlaceOf(status)) {
      answer["file"] = place->file;
      answer["line"] = place->line;
      answer["column"] = place->column;
    }
    return answer;
  }
  Json& steps = answer["steps"] = Json::List();
  for (const StepResult& step : outcome->steps) {
    Json notes = Json::List();
    for (const PassNote& note : step.notes) {
      notes.push_back(Json::Object({{"what", note.what},
                                    {"count", note.count},
                                    {"counted", note.is_counted},
                                    {"warning", note.is_warning}}));
    }
    steps.push_back(Json::Object({{"changed", step.changed},
                                  {"seconds", step.seconds},
                                  {"before", step.nodes_before},
                                  {"after", step.nodes_after},
                                  {"notes", std::move(notes)}}));
  }
  const Losses& lost = outcome->lost;
  answer["lost"] =
      Json::List({lost.weights, lost.weight_bytes, lost.metas, lost.module_paths, lost.annotations,
                  lost.draw_specs, lost.samples, lost.drawn_inputs, lost.drawn_samples});
  return answer;
}

absl::StatusOr<OptOutcome> OutcomeOf(const Json& answer) {
  if (const auto code = answer.Get<int>("code")) {
    absl::Status status(static_cast<absl::StatusCode>(*code),
                        answer.Get<std::string>("error").value_or(""));
    if (const auto file = answer.Get<std::string>("file")) {
      SetPlace(
          {*file, answer.Get<size_t>("line").value_or(0), answer.Get<size_t>("column").value_or(0)},
          &status);
    }
    return status;
  }
  // Processes of Python do not count losses.
  const auto lost = answer.Get<std::vector<size_t>>("lost").value_or(std::vector<size_t>(9));
  const Json* steps = answer.Find("steps");
  if (steps == nullptr || lost.size() != 9)
    return absl::DataLossError("the process of the passes gave another answer than it should");
  OptOutcome outcome;
  outcome.aside = answer.Get<std::string>("aside").value_or("");
  outcome.lost = {.weights = lost[0],
                  .weight_bytes = lost[1],
                  .metas = lost[2],
                  .module_paths = lost[3],
                  .annotations = lost[4],
                  .draw_specs = lost[5],
                  .samples = lost[6],
                  .drawn_inputs = lost[7],
                  .drawn_samples = lost[8]};
  for (const Json& step : steps->elements()) {
    StepResult& made = outcome.steps.emplace_back();
    made.changed = step.Get<bool>("changed").value_or(false);
    made.seconds = step.Get<double>("seconds").value_or(0);
    made.nodes_before = step.Get<size_t>("before").value_or(0);
    made.nodes_after = step.Get<size_t>("after").value_or(0);
    const Json* notes = step.Find("notes");
    if (notes == nullptr) continue;
    for (const Json& note : notes->elements()) {
      made.notes.push_back({.what = note.Get<std::string>("what").value_or(""),
                            .count = note.Get<size_t>("count").value_or(1),
                            .is_counted = note.Get<bool>("counted").value_or(false),
                            .is_warning = note.Get<bool>("warning").value_or(false)});
    }
  }
  return outcome;
}

}  // namespace

OptWorkers::OptWorkers(std::vector<std::string> words,
                       std::vector<std::pair<std::string, std::string>> environment,
                       int64_t max_memory, absl::Duration time)
    : words_(std::move(words)),
      environment_(std::move(environment)),
      max_memory_(max_memory),
      time_(time) {}

absl::StatusOr<std::unique_ptr<WorkerProcess>> OptWorkers::Start() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!free_.empty()) {
    std::unique_ptr<WorkerProcess> process = std::move(free_.back());
    free_.pop_back();
    return process;
  }
  if (scratch_ == nullptr) {
    ASSIGN_OR_RETURN(scratch_, ScratchFolder::Make());
  }
  ProcessOptions options;
  options.command = words_;
  // Paths in the options of passes are those of this process.
  options.environment = environment_;
  options.environment.emplace_back("BUILD_WORKING_DIRECTORY",
                                   std::filesystem::current_path().string());
  options.folder = JoinPath(scratch_->path(), absl::StrCat(started_++));
  options.max_memory = max_memory_;
  std::filesystem::create_directory(options.folder);
  return WorkerProcess::Start(options);
}

absl::StatusOr<OptOutcome> OptWorkers::Run(const std::string& path, const Output& out) {
  ASSIGN_OR_RETURN(std::unique_ptr<WorkerProcess> process, Start());
  const Json request = Json::Object({{"path", path}, {"out", out.path}, {"to", out.to}});
  ASSIGN_OR_RETURN(const std::string line, process->Ask(request.Dump(-1), time_));
  absl::StatusOr<OptOutcome> outcome = OutcomeOf(Json::Parse(line));
  if (absl::IsDataLoss(outcome.status())) return outcome;  // This process is not asked again.
  const std::lock_guard<std::mutex> lock(mutex_);
  free_.push_back(std::move(process));
  return outcome;
}

absl::Status ServeOpt(const std::function<absl::StatusOr<OptOutcome>(const std::string& path,
                                                                     const Output& out)>& run) {
  std::ofstream answers(kAnswers);
  std::string line;
  while (std::getline(std::cin, line)) {
    const Json request = Json::Parse(line);
    CollectedOutput printed;
    const absl::StatusOr<OptOutcome> outcome =
        run(request.Get<std::string>("path").value_or(""),
            {.path = request.Get<std::string>("out").value_or(""),
             .to = request.Get<std::string>("to").value_or("")});
    answers << AnswerOf(outcome, printed.TakeAside()).Dump(-1) << std::endl;
  }
  return absl::OkStatus();
}

}  // namespace graphnet
