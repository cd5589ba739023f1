#include "graphnet/cli/batch.h"

#include <filesystem>
#include <system_error>

#include "graphnet/base/file.h"

namespace graphnet {

std::string PathBelow(const std::string& out, const std::string& root, const std::string& path) {
  return JoinPath(out, std::filesystem::path(path).lexically_relative(root).string());
}

absl::Status MakeFoldersOf(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (!error) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("cannot create the folder of ", Printable(path, 1000), ": ", error.message()));
}

}  // namespace graphnet
