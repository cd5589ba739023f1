#include "graphnet/command/batch.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "graphnet/base/file.h"

namespace graphnet {

std::string CountLine(const BatchCount& count) {
  const std::string passed = absl::StrCat(count.done - count.failed, " passed");
  const std::string failed = absl::StrCat(count.failed, " failed");
  return absl::StrCat(count.failed == 0 ? Green(passed) : passed, ", ",
                      count.failed == 0 ? failed : Red(failed));
}

std::string FailLine(const std::string& path, const absl::Status& status, absl::string_view verdict,
                     FILE* out) {
  if (status.ok()) return "";
  const std::string shown = Printable(path, 1000);
  const bool has_path =
      IsUnusable(status) || absl::StartsWith(status.message(), absl::StrCat(shown, ":"));
  return absl::StrCat(Red(verdict, out), " ", has_path ? "" : absl::StrCat(shown, ": "),
                      status.message());
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
