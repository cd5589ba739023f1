#include "graphnet/command/batch.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "graphnet/base/file.h"

namespace graphnet {

std::string CountLine(const BatchCount& count, size_t there) {
  const std::string passed =
      absl::StrCat(count.done - count.failed, " passed",
                   there > 0 ? absl::StrCat(" (", there, " were there)") : "");
  const std::string failed = absl::StrCat(count.failed, " failed");
  return absl::StrCat(count.failed == 0 ? Green(passed) : passed, ", ",
                      count.failed == 0 ? failed : Red(failed));
}

std::string FailLine(const std::string& path, const absl::Status& status) {
  if (status.ok() || absl::IsCancelled(status)) return "";
  const std::string shown = Printable(path, 1000);
  const bool has_path = path.empty() || IsUnusable(status) ||
                        absl::StartsWith(status.message(), absl::StrCat(shown, ":"));
  return absl::StrCat(Red("FAIL", stderr), " ", has_path ? "" : absl::StrCat(shown, ": "),
                      status.message());
}

std::string CauseLines(const std::map<std::string, size_t>& causes) {
  std::vector<std::pair<size_t, std::string>> sorted;
  for (const auto& [cause, times] : causes) {
    if (times > 1) sorted.emplace_back(times, cause);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string lines;
  for (const auto& [times, cause] : sorted)
    absl::StrAppend(&lines, "failed ", times, ": ", Printable(cause, 1000), "\n");
  return lines;
}

std::string PathBelow(const std::string& out, const std::string& root, const std::string& path) {
  return JoinPath(out, std::filesystem::path(path).lexically_relative(root).string());
}

absl::Status ReservePath(const std::string& path, const std::string& input,
                         ReservedPaths* reserved) {
  const auto [it, is_new] = reserved->emplace(path, input);
  if (is_new) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(Printable(it->second, 1000), " and ", Printable(input, 1000),
                   " would both be written to ", Printable(path, 1000)));
}

}  // namespace graphnet
