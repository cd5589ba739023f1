#include "graphnet/formats/commands/convert_paddle.h"

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/command/batch.h"
#include "graphnet/command/inputs.h"
#include "graphnet/command/json.h"
#include "graphnet/command/progress.h"
#include "graphnet/command/save.h"
#include "graphnet/formats/commands/paddle_runner.h"
#include "graphnet/formats/formats.h"
#include "graphnet/formats/graphnet_folder/writer.h"
#include "graphnet/ir/sample.h"
#include "graphnet/paddle/paddle_sample.h"

namespace graphnet {
namespace {

constexpr char kFullList[] = "torch_to_paddle_samples_list_full.txt";
constexpr char kRunList[] = "torch_to_paddle_samples_list.txt";

struct Converted {
  PaddleCoverage coverage;
  Losses lost;
};

absl::Status ConvertOne(const std::string& path, const Output& out, bool trust,
                        Converted* converted) {
  ASSIGN_OR_RETURN(const Sample sample,
                   Load(path, {.trust = trust, .values_if_there = true, .statistics = true}));
  ASSIGN_OR_RETURN(PaddleSample made, MakePaddleSample(sample));
  converted->coverage = std::move(made.coverage);
  if (!converted->coverage.left.empty()) {
    return absl::UnimplementedError(
        absl::StrCat("no calls of Paddle: ", LeftCalls(converted->coverage)));
  }
  converted->lost = LossesOf(sample, out);
  return WriteGraphNetFolder(made.sample, out.path);
}

size_t NumLeft(const PaddleCoverage& coverage) {
  size_t count = 0;
  for (const auto& [call, times] : coverage.left) count += times;
  return count;
}

// Returns a percentage with two decimals; null if there are no calls.
Json Rate(size_t converted, size_t left) {
  if (converted + left == 0) return {};
  const double rate = static_cast<double>(converted) / static_cast<double>(converted + left);
  return std::floor(rate * 10000) / 100;
}

// The results of all samples.
class PaddleReport {
 public:
  void Add(const std::string& path, const absl::Status& status, const PaddleCoverage& coverage) {
    const size_t left = NumLeft(coverage);
    std::set<std::string> unsupported;
    for (const auto& [call, times] : coverage.left) unsupported.insert(call.first);
    Json sample;
    sample["conversion_status"] = status.ok() ? "success" : "failed";
    sample["num_calls"] = coverage.converted + left;
    sample["api_convert_rate"] = Rate(coverage.converted, left);
    Json& names = sample["api_unsupported_list"] = Json::List();
    for (const std::string& name : unsupported) names.push_back(name);
    if (!status.ok()) {
      sample["error"] = ErrorJson(status);
      AddError("conversion", std::string(status.message()), path);
    }
    samples_.emplace(path, std::move(sample));
    ++(status.ok() ? success_ : failed_);
    converted_ += coverage.converted;
    left_ += left;
    if (status.ok()) written_.insert(path);
  }

  // Adds the result of running a sample that was added.
  void AddRun(const std::string& path, const absl::Status& status) {
    Json& sample = samples_[path];
    sample["run_status"] = status.ok() ? "success" : "failed";
    has_runs_ = true;
    if (status.ok()) {
      run_.insert(path);
      return;
    }
    const std::string kind(PaddleErrorClass(status));
    sample["run_error"]["class"] = kind;
    sample["run_error"]["message"] = status.message();
    AddError(kind, std::string(status.message()), path);
  }

  size_t num_run() const { return run_.size(); }

  absl::Status Write(const std::string& path) const {
    Report document, samples, errors;
    for (const auto& [name, sample] : samples_) samples.Add(name, sample);
    document.Add("samples", std::move(samples));
    document.Add("total", success_ + failed_);
    document.Add("success", success_);
    document.Add("failed", failed_);
    document.Add("num_calls", converted_ + left_);
    document.Add("converted_calls", converted_);
    document.Add("api_convert_rate", Rate(converted_, left_));
    if (has_runs_) {
      document.Add("run_success", run_.size());
      document.Add("run_failed", written_.size() - run_.size());
    }
    for (const auto& [kind, messages] : errors_) {
      Table of_kind = {{"message"}, {"count"}, {"samples"}};
      for (const auto& [message, paths] : messages)
        of_kind.Add({message, paths.size(), Json::List(paths)});
      errors.Add(kind, std::move(of_kind));
    }
    document.Add("errors", std::move(errors));
    return WriteFileAtomic(path, document.ToJson().Dump() + "\n");
  }

  // Writes both lists or neither. Without runs, the second list of an earlier conversion is
  // removed.
  absl::Status WriteLists(const std::string& folder) const {
    const std::string full = JoinPath(folder, kFullList);
    const std::string run = JoinPath(folder, kRunList);
    std::error_code ignored;
    std::filesystem::remove(run, ignored);
    RETURN_IF_ERROR(WriteFileAtomic(full, TextOf(written_)));
    if (!has_runs_) return absl::OkStatus();
    absl::Status status = WriteFileAtomic(run, TextOf(run_));
    if (!status.ok()) std::filesystem::remove(full, ignored);
    return status;
  }

 private:
  static std::string TextOf(const std::set<std::string>& names) {
    std::string text;
    for (const std::string& name : names) absl::StrAppend(&text, name, "\n");
    return text;
  }

  void AddError(const std::string& kind, const std::string& message, const std::string& path) {
    const std::string line = message.substr(0, message.find('\n'));
    errors_[kind][line].push_back(path);
  }

  std::map<std::string, Json> samples_;
  std::set<std::string> written_;
  std::set<std::string> run_;
  bool has_runs_ = false;
  // Paths by class and by first line of the error.
  std::map<std::string, std::map<std::string, std::vector<std::string>>> errors_;
  size_t success_ = 0;
  size_t failed_ = 0;
  size_t converted_ = 0;
  size_t left_ = 0;
};

// Returns the path below the folder of samples, which is that of a line of a list.
std::string NameOf(const NamedInput& input) {
  const std::string below =
      std::filesystem::path(input.path).lexically_relative(input.root).string();
  return below.empty() || below == "." ? BaseName(input.path) : below;
}

absl::Status RunOne(PaddleRunner& runner, const std::string& path) {
  return Annotate(runner.Run(path), absl::StrCat("in Paddle ", runner.version()));
}

// Runs the samples one after the other, because each may need all memory. Returns how many failed.
size_t RunAll(PaddleRunner& runner, const std::vector<NamedInput>& inputs,
              const std::vector<size_t>& written, const std::map<std::string, Output>& outputs,
              PaddleReport* report, std::vector<Report>* samples) {
  Progress progress(written.size());
  size_t failed = 0;
  size_t done = 0;
  for (const size_t i : written) {
    const absl::Status status = RunOne(runner, outputs.at(inputs[i].path).path);
    report->AddRun(NameOf(inputs[i]), status);
    (*samples)[i].Add("run_status", status.ok() ? "success" : "failed");
    if (!status.ok()) {
      ++failed;
      (*samples)[i].Add("run_error", ErrorJson(status));
      if (!WantsJson()) progress.Note(FailLine(inputs[i].path, status));
    }
    progress.Step(++done, failed);
  }
  return failed;
}

// Returns what is known of a sample.
Report Told(const std::string& path, const absl::Status& status, const Output& out,
            const Losses& lost) {
  Report sample = SampleReport(path, status);
  if (!status.ok()) return sample;
  sample.Add("out", out.path);
  lost.AddTo(&sample);
  return sample;
}

absl::StatusOr<CommandResult> ConvertSingle(const PaddleFlags& flags, const Output& out,
                                            PaddleRunner* runner) {
  const std::string& in = flags.samples.in[0];
  Converted converted;
  const absl::Status status = ConvertOne(in, out, flags.trust, &converted);
  PaddleReport report;
  report.Add(in, status, converted.coverage);
  absl::Status run;
  if (status.ok() && runner != nullptr) {
    run = RunOne(*runner, out.path);
    report.AddRun(in, run);
  }
  if (!flags.report.empty()) RETURN_IF_ERROR(report.Write(flags.report));
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(run);
  return CommandResult(SamplesReport({Told(in, status, out, converted.lost)}, /*failed=*/0), 0,
                       LossNote(converted.lost, out));
}

}  // namespace

absl::StatusOr<CommandResult> ConvertToPaddle(const PaddleFlags& flags, const Output& out) {
  std::unique_ptr<PaddleRunner> runner;
  if (!flags.paddle_python.empty()) {
    ASSIGN_OR_RETURN(runner,
                     PaddleRunner::Start(flags.paddle_python, absl::Seconds(flags.timeout_s)));
  }
  if (IsOneSample(flags.samples)) return ConvertSingle(flags, out, runner.get());
  ASSIGN_OR_RETURN(const std::vector<NamedInput> inputs, FindNamedInputs(flags.samples));
  ASSIGN_OR_RETURN(const auto outputs, OutputsOf(inputs, out));
  PaddleReport report;
  Losses lost;
  std::vector<Report> samples(inputs.size());
  std::vector<size_t> written;
  const BatchCount count = RunBatch<Converted>(
      inputs, flags.jobs,
      [&](const NamedInput& input, Converted* converted) {
        return ConvertOne(input.path, outputs.at(input.path), flags.trust, converted);
      },
      [&](size_t i, const absl::Status& status, const Converted& converted) {
        report.Add(NameOf(inputs[i]), status, converted.coverage);
        if (status.ok()) written.push_back(i);
        samples[i] = Told(inputs[i].path, status, outputs.at(inputs[i].path), converted.lost);
        if (status.ok()) lost.Add(converted.lost);
        return "";
      });
  size_t failed_runs = 0;
  if (runner != nullptr) {
    failed_runs = RunAll(*runner, inputs, written, outputs, &report, &samples);
  }
  RETURN_IF_ERROR(report.WriteLists(out.path));
  if (!flags.report.empty()) RETURN_IF_ERROR(report.Write(flags.report));
  Report made = SamplesReport(std::move(samples), count.failed + failed_runs);
  made.Say(CountLine(count));
  if (runner != nullptr) {
    made.Say(absl::StrCat(report.num_run(), " of ", written.size(),
                          " that were written ran in Paddle ", runner->version()));
  }
  return CommandResult(std::move(made), failed_runs > 0 ? 2 : count.ExitCode(),
                       LossNote(lost, out));
}

}  // namespace graphnet
