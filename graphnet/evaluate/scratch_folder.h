// A folder for workers and the files that they read, which goes when it is no longer needed.
#ifndef GRAPHNET_EVALUATE_SCRATCH_FOLDER_H_
#define GRAPHNET_EVALUATE_SCRATCH_FOLDER_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace graphnet {

class ScratchFolder {
 public:
  // Its path begins with `prefix`; without one it lies among the temporary files.
  static absl::StatusOr<std::unique_ptr<ScratchFolder>> Make(const std::string& prefix = "");
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

#endif  // GRAPHNET_EVALUATE_SCRATCH_FOLDER_H_
