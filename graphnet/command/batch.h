// Processes many inputs in one run, for every command that takes a folder of samples: on several
// threads, with a progress bar, and without stopping when one fails.
#ifndef GRAPHNET_COMMAND_BATCH_H_
#define GRAPHNET_COMMAND_BATCH_H_

#include <cstddef>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/parallel.h"
#include "graphnet/base/report.h"
#include "graphnet/base/status.h"
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

// Calls work(input, &result) for each input, such as a path, on `jobs` threads (0: one per CPU); an
// exception counts as its error. Then calls account(i, status, result), one call at a time, which
// returns the line to print, or an empty string. The lines are printed in the order of the inputs.
template <typename Result, typename Input>
BatchCount RunBatch(
    const std::vector<Input>& inputs, int jobs,
    absl::FunctionRef<absl::Status(const std::type_identity_t<Input>& input, Result* result)> work,
    absl::FunctionRef<std::string(size_t i, const absl::Status& status, Result& result)> account) {
  std::vector<Result> results(inputs.size());
  std::vector<std::optional<std::string>> lines(inputs.size());
  size_t next = 0;  // All lines before this one are printed.
  Progress progress(inputs.size());
  BatchCount count;
  ParallelFor(
      inputs.size(), jobs > 0 ? jobs : NumCpus(),
      [&](size_t i) { return work(inputs[i], &results[i]); },
      [&](size_t i, const absl::Status& status) {
        ++count.done;
        count.failed += status.ok() ? 0 : 1;
        count.unusable += IsUnusable(status) ? 1 : 0;
        lines[i] = account(i, status, results[i]);
        results[i] = Result();
        for (; next < lines.size() && lines[next].has_value(); ++next) {
          if (!lines[next]->empty()) progress.Print(*lines[next] + "\n");
          lines[next]->clear();
          lines[next]->shrink_to_fit();
        }
        progress.Step(count.done, count.failed);
      });
  return count;
}

// Returns "3 passed, 1 failed".
std::string CountLine(const BatchCount& count);
// Returns "FAIL <path>: <message>", with the path only once; empty if the status is OK. The verdict
// is red if `out` has colours.
std::string FailLine(const std::string& path, const absl::Status& status,
                     absl::string_view verdict = "FAIL", FILE* out = stdout);

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

// Like RunBatch. `add` adds to the report of a sample, which has its path and error, what is known of
// it. Unless JSON is wanted, the text of each is printed as soon as it is done. If the output is a
// list for other programs, what has failed is told on the standard error.
template <typename Result>
BatchReport ReportBatch(
    const std::vector<std::string>& inputs, int jobs,
    absl::FunctionRef<absl::Status(const std::string& path, Result* result)> work,
    absl::FunctionRef<void(size_t i, const absl::Status& status, Result& result, Report* sample)>
        add,
    bool is_list = false) {
  BatchReport made;
  std::vector<Report> samples(WantsJson() ? inputs.size() : 0);
  made.count = RunBatch<Result>(
      inputs, jobs, work, [&](size_t i, const absl::Status& status, Result& result) {
        Report sample = SampleReport(inputs[i], status);
        add(i, status, result, &sample);
        if (WantsJson()) {
          samples[i] = std::move(sample);
          return std::string();
        }
        if (is_list && !status.ok()) {
          absl::StrAppend(&made.aside, FailLine(inputs[i], status, "graphnet:", stderr), "\n");
          return std::string();
        }
        return absl::StrCat(FailLine(inputs[i], status),
                            absl::StripSuffix(sample.ToText(0, HasColours(stdout)), "\n"));
      });
  made.report = SamplesReport(std::move(samples), made.count.failed);
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
