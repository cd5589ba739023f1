#include "graphnet/cli/scratch_folder.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "graphnet/evaluate/worker_process.h"

namespace graphnet {

absl::StatusOr<std::unique_ptr<ScratchFolder>> ScratchFolder::Make() {
  std::string path = (std::filesystem::temp_directory_path() / "graphnet-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr)
    return absl::FailedPreconditionError("cannot create a folder in the folder of temporary files");
  return std::unique_ptr<ScratchFolder>(
      new ScratchFolder(std::filesystem::absolute(path).string()));
}

ScratchFolder::~ScratchFolder() {
  KillLeftProcesses(path_);
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace graphnet
