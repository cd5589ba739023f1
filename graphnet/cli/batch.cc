#include "graphnet/cli/batch.h"

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "graphnet/base/file.h"

namespace graphnet {

void PrintCount(const BatchCount& count) {
  const std::string passed = absl::StrCat(count.done - count.failed, " passed");
  const std::string failed = absl::StrCat(count.failed, " failed");
  std::printf("%s, %s\n", count.failed == 0 ? Green(passed).c_str() : passed.c_str(),
              count.failed == 0 ? failed.c_str() : Red(failed).c_str());
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
