// A program that runs again and again on the same values, whatever its runs write to.
#ifndef GRAPHNET_INTERP_REPEATABLE_RUN_H_
#define GRAPHNET_INTERP_REPEATABLE_RUN_H_

#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "ATen/core/ivalue.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/interp/executable.h"
#include "graphnet/interp/prepare.h"

namespace graphnet {

// Returns the whole memory of a tensor as bytes that share it. A tensor whose elements overlap, as in
// `expand`, cannot be written to itself.
at::Tensor MemoryOf(const at::Tensor& tensor);

// Holds a copy of the memory that runs write to. The first run shows which that is; later runs write
// to the same. Errors are those of LibTorch and of Executable::Run.
class RepeatableRun {
 public:
  static absl::StatusOr<RepeatableRun> Make(PreparedRun prepared);

  // Restores what earlier runs have written to.
  absl::Status Restore();
  // Runs the program. Its inputs, to which it may have written, are then in `inputs()`.
  absl::StatusOr<std::vector<c10::IValue>> Run(const RunOptions& options);
  // Restores and runs.
  absl::StatusOr<std::vector<c10::IValue>> RunAgain(const RunOptions& options);

  // Restores, and returns what Make has taken.
  absl::StatusOr<PreparedRun> Release() &&;

  const PreparedRun& prepared() const { return prepared_; }
  // The inputs of the last run.
  const std::vector<c10::IValue>& inputs() const { return given_; }

 private:
  void Keep(const at::Tensor& tensor);

  PreparedRun prepared_;
  std::vector<c10::IValue> given_;
  std::vector<std::pair<at::Tensor, at::Tensor>> kept_;  // memory, and what it held
  bool knows_written_ = false;
};

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_REPEATABLE_RUN_H_
