// A folder among the temporary files, for workers and what they read.
#ifndef GRAPHNET_CLI_SCRATCH_FOLDER_H_
#define GRAPHNET_CLI_SCRATCH_FOLDER_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace graphnet {

class ScratchFolder {
 public:
  static absl::StatusOr<std::unique_ptr<ScratchFolder>> Make();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  // It goes with all in it, and with the processes that workers below it have left.
  ~ScratchFolder();

  const std::string& path() const { return path_; }  // from the root

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace graphnet

#endif  // GRAPHNET_CLI_SCRATCH_FOLDER_H_
