// Processes many inputs in one run, for every command that takes a folder of samples: on several
// threads, with a progress bar, and without stopping when one fails.
#ifndef GRAPHNET_COMMAND_BATCH_H_
#define GRAPHNET_COMMAND_BATCH_H_

#include <cstddef>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/parallel.h"
#include "graphnet/base/report.h"
#include "graphnet/base/status.h"
#include "graphnet/command/inputs.h"
#include "graphnet/command/json.h"
#include "graphnet/command/progress.h"
#include "graphnet/command/result.h"
#include "graphnet/command/terminal.h"
#include "graphnet/formats/formats.h"

namespace graphnet {

struct BatchCount {
  size_t done = 0;
  size_t failed = 0;
  size_t unusable = 0;  // failed because they cannot be read

  // Returns the exit code of a command that converts: 2 if an input failed.
  int ExitCode() const { return failed > 0 ? 2 : 0; }
  // Returns the exit code of a command that checks: 2 if an input cannot be read, 1 if one failed.
  int CheckExitCode() const { return unusable > 0 ? 2 : failed > 0 ? 1 : 0; }
};

// Returns "3 passed, 1 failed", or "3 passed (2 were there), 1 failed".
std::string CountLine(const BatchCount& count, size_t there = 0);
// Returns "FAIL <path>: <message>", with the path only once, as it is printed on the standard error; of
// no path the message alone; empty if the status is OK or Cancelled.
std::string FailLine(const std::string& path, const absl::Status& status);

// Calls work(input, &result) for each input on `jobs` threads (0: one per CPU); an exception counts as
// its error. Then calls account(i, status, result), one call at a time and in the order of the inputs,
// which returns the text to print, whole lines without the last line end, or an empty string. Unless
// JSON is wanted, each failure is a line on the standard error, in the same order.
template <typename Result>
BatchCount RunBatch(
    const std::vector<NamedInput>& inputs, int jobs,
    absl::FunctionRef<absl::Status(const NamedInput& input, Result* result)> work,
    absl::FunctionRef<std::string(size_t i, const absl::Status& status, Result& result)> account) {
  std::vector<Result> results(inputs.size());
  std::vector<std::optional<absl::Status>> ended(inputs.size());
  size_t next = 0;  // All before this one are accounted for.
  Progress progress(inputs.size());
  BatchCount count;
  ParallelFor(
      inputs.size(), jobs > 0 ? jobs : NumCpus(),
      [&](size_t i) { return work(inputs[i], &results[i]); },
      [&](size_t i, const absl::Status& status) {
        ++count.done;
        count.failed += status.ok() ? 0 : 1;
        count.unusable += IsUnusable(status) ? 1 : 0;
        ended[i] = status;
        for (; next < ended.size() && ended[next].has_value(); ++next) {
          const std::string text = account(next, *ended[next], results[next]);
          results[next] = Result();
          const std::string failure = FailLine(inputs[next].path, *ended[next]);
          if (!failure.empty() && !WantsJson()) progress.Note(failure);
          if (!text.empty()) progress.Print(text + "\n");
        }
        progress.Step(count.done, count.failed);
      });
  return count;
}

// The result of a batch, when it has ended.
struct BatchReport {
  Report report;  // has "samples", "passed" and "failed" for JSON, and no text
  BatchCount count;
  std::string aside;  // lines for the standard error

  // Return the result of a command that converts, and of one that checks.
  CommandResult Converted() && { return {std::move(report), count.ExitCode(), std::move(aside)}; }
  CommandResult Checked() && {
    return {std::move(report), count.CheckExitCode(), std::move(aside)};
  }
};

// Returns lines such as "failed 3: cannot be read" for the causes of more than one failure, given how
// often each occurs, the most frequent first.
std::string CauseLines(const std::map<std::string, size_t>& causes);

// Like RunBatch. `add` adds to the report of a sample, which has its path and error, what is known of
// it. Unless JSON is wanted, its text is printed as soon as that of all before it is.
template <typename Result>
BatchReport ReportBatch(
    const std::vector<NamedInput>& inputs, int jobs,
    absl::FunctionRef<absl::Status(const NamedInput& input, Result* result)> work,
    absl::FunctionRef<void(size_t i, const absl::Status& status, Result& result, Report* sample)>
        add) {
  BatchReport made;
  std::vector<Report> samples;
  std::map<std::string, size_t> causes;
  made.count = RunBatch<Result>(
      inputs, jobs, work, [&](size_t i, const absl::Status& status, Result& result) -> std::string {
        Report sample = SampleReport(inputs[i].path, status);
        add(i, status, result, &sample);
        if (!status.ok()) ++causes[CauseOf(inputs[i].path, status.message())];
        if (!WantsJson())
          return std::string(absl::StripSuffix(sample.ToText(0, HasColours(stdout)), "\n"));
        samples.push_back(std::move(sample));
        return "";
      });
  made.report = SamplesReport(std::move(samples), made.count.failed);
  if (!WantsJson()) made.aside = CauseLines(causes);
  return made;
}

// Returns the path below `out` that corresponds to `path` below `root`.
std::string PathBelow(const std::string& out, const std::string& root, const std::string& path);
// The input that each output path is reserved for.
using ReservedPaths = std::map<std::string, std::string>;
// Reserves `path` for `input`. InvalidArgument if it is reserved for another input.
absl::Status ReservePath(const std::string& path, const std::string& input,
                         ReservedPaths* reserved);

}  // namespace graphnet

#endif  // GRAPHNET_COMMAND_BATCH_H_
