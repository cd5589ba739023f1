#include "graphnet/evaluate/log.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/file.h"
#include "graphnet/base/mapped_file.h"
#include "graphnet/base/parallel.h"
#include "graphnet/base/status.h"
#include "graphnet/evaluate/log_reader.h"

namespace graphnet {
namespace {

constexpr size_t kMinPartBytes = size_t{1} << 20;
// The configuration key that differs between samples and does not describe the whole log.
constexpr absl::string_view kModelKey = "model";

using Config = std::vector<std::pair<std::string, std::string>>;

struct Part {
  std::vector<LoggedSample> samples;
  Config config;
  LogWarnings warnings;
};

// Keeps the entries that both have.
void Intersect(const Config& other, Config* config) {
  std::erase_if(*config, [&](const auto& entry) {
    return std::find(other.begin(), other.end(), entry) == other.end();
  });
}

LoggedSample Condense(const SampleResult& result, size_t line, absl::string_view clock) {
  LoggedSample sample;
  sample.path = result.path;
  sample.line = line;
  sample.status = result.status;
  sample.correct_levels = result.CorrectLevels();
  sample.speedup = result.SpeedupBy(clock);
  for (const auto& [measure, interval] : result.intervals) {
    if (measure == clock) std::tie(sample.speedup_low, sample.speedup_high) = interval;
  }
  sample.reason = result.reason;
  sample.is_blind = !result.blind.empty();
  sample.rounding = result.rounding;
  if (sample.is_blind && sample.reason.empty()) sample.reason = DescribeBlind(result.blind);
  for (const OutputComparison& output : result.outputs) {
    sample.max_diff = std::max(sample.max_diff, output.max_diff);
    if (std::isnan(output.max_diff)) {
      sample.max_diff = output.max_diff;
      break;
    }
  }
  return sample;
}

absl::Status ReadPart(absl::string_view bytes, const LogReadOptions& options,
                      absl::string_view clock, Part* part) {
  const auto take = [&](size_t line, const SampleResult& result) {
    if (part->samples.size() == kMaxLogSamples) {
      return ErrorAt(options.file, line, 0, absl::StrCat("more than ", kMaxLogSamples, " samples"));
    }
    if (part->samples.empty()) {
      part->config = result.config;
      std::erase_if(part->config, [](const auto& entry) { return entry.first == kModelKey; });
    } else {
      Intersect(result.config, &part->config);
    }
    part->samples.push_back(Condense(result, line, clock));
    return absl::OkStatus();
  };
  return ReadLogLines(bytes, options, &part->warnings, take);
}

// Keeps the last sample of each path, at its own place.
void DropRepeated(std::vector<LoggedSample>* samples, LogWarnings* warnings) {
  absl::flat_hash_map<absl::string_view, size_t> last;
  last.reserve(samples->size());
  bool repeated = false;
  for (size_t i = 0; i < samples->size(); ++i) {
    const auto [it, is_new] = last.try_emplace((*samples)[i].path, i);
    if (is_new) continue;
    it->second = i;
    repeated = true;
    warnings->Add(LogOddity::kRepeatedSample, (*samples)[i].line);
  }
  if (!repeated) return;
  std::vector<LoggedSample> kept;
  for (size_t i = 0; i < samples->size(); ++i) {
    if (last[(*samples)[i].path] == i) kept.push_back((*samples)[i]);
  }
  *samples = std::move(kept);
}

}  // namespace

absl::StatusOr<Log> ParseLog(absl::string_view bytes, const std::string& file,
                             const LogOptions& options) {
  const int jobs = options.jobs;
  const size_t most = std::max<size_t>(1, bytes.size() / kMinPartBytes);
  std::vector<size_t> begins = DivideLog(bytes, std::min(most, static_cast<size_t>(jobs)));
  begins.push_back(bytes.size());
  const size_t n = begins.size() - 1;
  std::vector<size_t> first_lines(n, 1);
  for (size_t i = 1; i < n; ++i) {
    const absl::string_view before = bytes.substr(begins[i - 1], begins[i] - begins[i - 1]);
    first_lines[i] =
        first_lines[i - 1] + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
  }
  std::vector<Part> parts(n);
  std::vector<absl::Status> statuses(n);
  ParallelFor(
      n, jobs,
      [&](size_t i) {
        return ReadPart(bytes.substr(begins[i], begins[i + 1] - begins[i]),
                        {.file = file, .first_line = first_lines[i], .times = false}, options.clock,
                        &parts[i]);
      },
      [&](size_t i, const absl::Status& status) { statuses[i] = status; });

  Log log;
  log.file = file;
  log.name = file == "-" ? "log" : BaseName(file);
  if (const size_t dot = log.name.rfind('.'); dot != std::string::npos && dot > 0) {
    log.name.resize(dot);
  }
  LogWarnings warnings;
  bool first = true;
  for (size_t i = 0; i < n; ++i) {
    RETURN_IF_ERROR(statuses[i]);
    if (parts[i].samples.empty()) continue;
    if (first) {
      log.config = std::move(parts[i].config);
    } else {
      Intersect(parts[i].config, &log.config);
    }
    first = false;
    warnings.Merge(parts[i].warnings);
    std::move(parts[i].samples.begin(), parts[i].samples.end(), std::back_inserter(log.samples));
  }
  if (log.samples.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(Printable(file, 1000), ": no sample in it: no line has [Processing]"));
  }
  DropRepeated(&log.samples, &warnings);
  for (const LoggedSample& sample : log.samples) {
    if (sample.correct_levels == 0 || sample.speedup > 0) continue;
    return ErrorAt(file, sample.line, 0,
                   absl::StrCat("no [Speedup][", options.clock, "] of sample ",
                                Printable(sample.path), ", which is correct"));
  }
  log.clock = options.clock;
  if (log.clock != kEndToEnd) log.config.emplace_back("measure", log.clock);
  log.notes = warnings.Messages(file);
  return log;
}

absl::StatusOr<Log> ReadLog(const std::string& file, const LogOptions& options) {
  if (file == "-") {
    ASSIGN_OR_RETURN(const std::string bytes, ReadFile(file, kMaxLogBytes));
    return ParseLog(bytes, file, options);
  }
  ASSIGN_OR_RETURN(const MappedFile mapped, MappedFile::Open(file, kMaxLogBytes));
  return ParseLog(mapped.bytes(), file, options);
}

absl::StatusOr<std::vector<std::string>> FindLogs(const std::string& path) {
  if (path == "-" || !IsFolder(path)) return std::vector<std::string>{path};
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(path));
  std::vector<std::string> logs;
  for (const std::string& name : names) {
    std::string file = JoinPath(path, name);
    if ((absl::EndsWith(name, ".log") || absl::EndsWith(name, ".txt")) && !IsFolder(file)) {
      logs.push_back(std::move(file));
    }
  }
  if (logs.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(Printable(path, 1000), ": no log in this folder: none ends in .log or .txt"));
  }
  return logs;
}

}  // namespace graphnet
