// Many inputs in one run, as every command that takes a folder of samples has it: on a
// few threads, with a bar, going on after those that fail.
#ifndef GRAPHNET_CLI_BATCH_H_
#define GRAPHNET_CLI_BATCH_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/parallel.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/progress.h"
#include "graphnet/cli/terminal.h"
#include "graphnet/formats/formats.h"

namespace graphnet {

struct BatchCount {
  size_t done = 0;
  size_t failed = 0;
  size_t unusable = 0;  // of those that failed

  // 2 if anything failed: for the command, an input that cannot be used.
  int ExitCode() const { return failed > 0 ? 2 : 0; }
  // The exit code of a command that checks: 2 if an input cannot be read, else 1 if one failed.
  int CheckExitCode() const { return unusable > 0 ? 2 : failed > 0 ? 1 : 0; }
};

// Runs work(path, &result) of each input on `jobs` threads (0: one a CPU), what it
// throws being its error, then account(i, status, result), one at a time, which yields
// the line to print; empty: none.
template <typename Result>
BatchCount RunBatch(
    const std::vector<std::string>& inputs, int jobs,
    absl::FunctionRef<absl::Status(const std::string& path, Result* result)> work,
    absl::FunctionRef<std::string(size_t i, const absl::Status& status, Result& result)> account) {
  std::vector<Result> results(inputs.size());
  Progress progress(inputs.size());
  BatchCount count;
  ParallelFor(
      inputs.size(), jobs > 0 ? jobs : NumCpus(),
      [&](size_t i) { return work(inputs[i], &results[i]); },
      [&](size_t i, const absl::Status& status) {
        ++count.done;
        count.failed += status.ok() ? 0 : 1;
        count.unusable += IsUnusable(status) ? 1 : 0;
        const std::string line = account(i, status, results[i]);
        results[i] = Result();
        if (!line.empty()) progress.Print(line + "\n");
        progress.Step(count.done, count.failed);
      });
  return count;
}

// "3 passed, 1 failed"
void PrintCount(const BatchCount& count);

// "FAIL <path>: <message>", the path once; nothing if it did not fail.
inline std::string FailLine(const std::string& path, const absl::Status& status,
                            absl::string_view verdict = "FAIL") {
  if (status.ok()) return "";
  const std::string shown = Printable(path, 1000);
  if (IsUnusable(status) || absl::StartsWith(status.message(), absl::StrCat(shown, ":")))
    return absl::StrCat(Red(verdict), " ", status.message());
  return absl::StrCat(Red(verdict), " ", shown, ": ", status.message());
}

// The path below `out` that `path` has below `root`.
std::string PathBelow(const std::string& out, const std::string& root, const std::string& path);
// Who has claimed a path.
using ReservedPaths = std::map<std::string, std::string>;
// InvalidArgument if another input has claimed `path`, which would hold both.
absl::Status ReservePath(const std::string& path, const std::string& input,
                         ReservedPaths* reserved);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_BATCH_H_
