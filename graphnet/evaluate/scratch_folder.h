// A temporary folder for workers and the files that they read.
#ifndef GRAPHNET_EVALUATE_SCRATCH_FOLDER_H_
#define GRAPHNET_EVALUATE_SCRATCH_FOLDER_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace graphnet {

// A folder that is deleted with this object.
class ScratchFolder {
 public:
  // Creates a folder whose path begins with `prefix`, by default in the system's temporary folder.
  static absl::StatusOr<std::unique_ptr<ScratchFolder>> Make(const std::string& prefix = "");
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  // Kills the processes that workers below it have left, and deletes the folder with its content.
  ~ScratchFolder();

  const std::string& path() const { return path_; }  // absolute

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_SCRATCH_FOLDER_H_
