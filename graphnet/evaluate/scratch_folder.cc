#include "graphnet/evaluate/scratch_folder.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/evaluate/worker_process.h"

namespace graphnet {

absl::StatusOr<std::unique_ptr<ScratchFolder>> ScratchFolder::Make(const std::string& prefix) {
  std::string path = absl::StrCat(
      prefix.empty() ? (std::filesystem::temp_directory_path() / "graphnet").string() : prefix,
      "-XXXXXX");
  if (mkdtemp(path.data()) == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot create a folder ", Printable(path, 1000)));
  }
  return std::unique_ptr<ScratchFolder>(
      new ScratchFolder(std::filesystem::absolute(path).string()));
}

ScratchFolder::~ScratchFolder() {
  KillLeftProcesses(path_);
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace graphnet
