#include "graphnet/evaluate/result_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/file.h"
#include "graphnet/base/json.h"
#include "graphnet/base/status.h"
#include "graphnet/base/tolerance.h"
#include "graphnet/evaluate/log.h"
#include "graphnet/evaluate/log_writer.h"

namespace graphnet {
namespace {

absl::Status FileError(absl::string_view what, const std::string& path) {
  return absl::FailedPreconditionError(
      absl::StrCat("cannot ", what, " ", Printable(path, 1000), ": ", std::strerror(errno)));
}

absl::Status Cut(int fd, int64_t size, const std::string& path) {
  if (ftruncate(fd, size) != 0) return FileError("write", path);
  return absl::OkStatus();
}

// Appends the whole text or, after an error, nothing.
absl::Status Append(int fd, absl::string_view text, int64_t* size, const std::string& path) {
  absl::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t n = write(fd, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      absl::Status status = FileError("write", path);
      Cut(fd, *size, path).IgnoreError();
      return status;
    }
    rest.remove_prefix(static_cast<size_t>(n));
  }
  *size += static_cast<int64_t>(text.size());
  return absl::OkStatus();
}

absl::StatusOr<int> OpenToAppend(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return FileError("write", path);
  return fd;
}

Json ObjectOf(const OracleFinding& finding) {
  Json object;
  object["wrong"] = finding.verdict.has_value() ? Json(WrongName(finding.verdict->wrong)) : Json();
  if (finding.verdict.has_value()) {
    object["eager_error"] = finding.verdict->eager_error;
    object["backend_error"] = finding.verdict->backend_error;
  }
  if (!finding.node.empty()) {
    object["node"] = finding.node;
    object["target"] = finding.target;
  }
  if (!finding.reduced.empty()) {
    object["reduced"] = finding.reduced;
    object["operators"] = finding.operators;
  }
  if (!finding.why_not.empty()) object["note"] = finding.why_not;
  return object;
}

Json LineOf(const SampleResult& result, const AbRun& ab_run, const OracleFinding* oracle,
            int64_t log_bytes) {
  Json line;
  line["path"] = result.path;
  line["status"] = OutcomeName(result.Verdict());
  if (!result.reason.empty()) line["reason"] = result.reason;
  const uint16_t levels = result.CorrectLevels();
  // All outputs are right from this tolerance on.
  std::optional<int> right_from;
  for (int t = kMaxToleranceLevel; t >= kMinToleranceLevel; --t) {
    if ((levels >> (t - kMinToleranceLevel) & 1) == 0) break;
    right_from = t;
  }
  line["right_from_t"] = right_from.has_value() ? Json(*right_from) : Json();
  line["eager_dtypes"] = result.eager_dtypes;
  line["compiled_dtypes"] = result.compiled_dtypes;
  for (const BlindOutput& blind : result.blind) {
    line["blind"].push_back(Json::Object(
        {{"output", blind.output}, {"from_t", blind.from_t}, {"answer", blind.answer}}));
  }
  if (result.rounding.has_value()) {
    const SampleRounding& rounding = *result.rounding;
    Json& object = line["rounding"];
    object["verdict"] =
        rounding.verdict.has_value() ? Json(RoundingVerdictName(*rounding.verdict)) : Json();
    object["text"] = rounding.text;
    if (rounding.level.has_value()) object["t"] = *rounding.level;
  }
  for (const auto& [key, value] : result.config) {
    if (key == kDrawingKey) line["drawing"] = value;
  }
  line["equal"] = Json::List();
  line["max_diff"] = Json::List();
  for (const OutputComparison& output : result.outputs) {
    line["equal"].push_back(output.equal);
    line["max_diff"].push_back(output.max_diff);
  }
  if (ab_run.speedup.speedup > 0) {
    line["speedup"] = ab_run.speedup.speedup;
    line["speedup_95"] = std::vector{ab_run.speedup.low, ab_run.speedup.high};
    line["eager_ms"] = ab_run.trials.eager;
    line["compiled_ms"] = ab_run.trials.compiled;
    line["fluctuates"] = ab_run.fluctuates;
  }
  for (const auto& [measure, trials] : ab_run.device_trials) {
    Json& times = line[measure];
    if (!trials.eager.empty()) times["eager_ms"] = trials.eager;
    if (!trials.compiled.empty()) times["compiled_ms"] = trials.compiled;
    for (const auto& [of, speedup] : result.speedups) {
      if (of == measure) times["speedup"] = speedup;
    }
    for (const auto& [of, interval] : result.intervals) {
      if (of == measure) times["speedup_95"] = std::vector{interval.first, interval.second};
    }
  }
  if (!ab_run.is_loaded) line["loaded"] = false;
  if (ab_run.prepare_ms > 0) line["prepare_ms"] = ab_run.prepare_ms;
  if (!ab_run.proof.empty()) line["proof"] = ab_run.proof;
  if (oracle != nullptr) line["oracle"] = ObjectOf(*oracle);
  line["log_bytes"] = log_bytes;
  return line;
}

struct KnownLine {
  std::string path;
  ResultSummary summary;
  int64_t log_bytes = 0;
};

std::optional<KnownLine> ReadLine(absl::string_view text) {
  const Json line = Json::Parse(text);
  const auto path = line.Get<std::string>("path");
  const auto status = line.Get<std::string>("status");
  const auto bytes = line.Get<int64_t>("log_bytes");
  if (!path || !status || !bytes || *bytes < 0) return std::nullopt;
  const std::optional<Outcome> outcome = OutcomeOfName(*status);
  if (!outcome) return std::nullopt;
  KnownLine known{.path = *path, .log_bytes = *bytes};
  // Logs of older versions call all outputs correct that could be compared.
  const int t = line.Get<int>("right_from_t").value_or(kCustomaryToleranceLevel + 1);
  const bool is_right = *outcome != Outcome::kCorrect || t <= kCustomaryToleranceLevel;
  ResultSummary& summary = known.summary;
  summary.outcome = is_right ? *outcome : Outcome::kAccuracy;
  summary.speedup = line.Get<double>("speedup").value_or(summary.speedup);
  summary.fluctuates = line.Get<bool>("fluctuates").value_or(summary.fluctuates);
  summary.is_loaded = line.Get<bool>("loaded").value_or(summary.is_loaded);
  if (const Json* const rounding = line.Find("rounding"); rounding != nullptr) {
    summary.rounding =
        RoundingVerdictOfName(rounding->Get<std::string>("verdict").value_or(std::string()));
  }
  return known;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ResultLog>> ResultLog::Open(const std::string& folder,
                                                           const std::string& backend) {
  std::unique_ptr<ResultLog> log(new ResultLog);
  log->log_path_ = JoinPath(folder, absl::StrCat(backend, ".log"));
  log->lines_path_ = JoinPath(folder, absl::StrCat(backend, ".jsonl"));
  ASSIGN_OR_RETURN(log->log_, OpenToAppend(log->log_path_));
  ASSIGN_OR_RETURN(log->lines_, OpenToAppend(log->lines_path_));
  RETURN_IF_ERROR(log->GoOn());
  return log;
}

ResultLog::~ResultLog() {
  if (log_ >= 0) close(log_);
  if (lines_ >= 0) close(lines_);
}

absl::Status ResultLog::GoOn() {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(lines_path_, kMaxLogBytes));
  struct stat state {};
  if (fstat(log_, &state) != 0) return FileError("read", log_path_);
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;  // cut
    std::optional<KnownLine> known = ReadLine(absl::string_view(text).substr(begin, end - begin));
    if (!known.has_value()) {
      return absl::FailedPreconditionError(absl::StrCat(
          Printable(lines_path_, 1000), ": not a line of a benchmark at byte ", begin));
    }
    // After a crash of the machine, only the later file may have been kept.
    if (known->log_bytes > state.st_size) break;
    results_[known->path] = known->summary;
    log_bytes_ = known->log_bytes;
    begin = end + 1;
  }
  lines_bytes_ = static_cast<int64_t>(begin);
  RETURN_IF_ERROR(Cut(log_, log_bytes_, log_path_));
  return Cut(lines_, lines_bytes_, lines_path_);
}

absl::Status ResultLog::Add(const SampleResult& result, const AbRun& ab_run,
                            const OracleFinding* oracle) {
  const int64_t log_before = log_bytes_;
  RETURN_IF_ERROR(Append(log_, WriteLog(result), &log_bytes_, log_path_));
  const std::string line = LineOf(result, ab_run, oracle, log_bytes_).Dump(/*indent=*/-1);
  absl::Status status = Append(lines_, absl::StrCat(line, "\n"), &lines_bytes_, lines_path_);
  if (!status.ok()) {
    log_bytes_ = log_before;
    Cut(log_, log_bytes_, log_path_).IgnoreError();
    return status;
  }
  ResultSummary summary;
  summary.outcome = result.Verdict();
  summary.speedup = ab_run.speedup.speedup;
  summary.fluctuates = ab_run.fluctuates;
  summary.is_loaded = ab_run.is_loaded;
  if (result.rounding.has_value()) summary.rounding = result.rounding->verdict;
  results_[result.path] = summary;
  return absl::OkStatus();
}

}  // namespace graphnet
