// Ranges for `decompose --kernels`.
#ifndef GRAPHNET_DECOMPOSE_COMMANDS_KERNEL_RANGES_H_
#define GRAPHNET_DECOMPOSE_COMMANDS_KERNEL_RANGES_H_

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/decompose/ranges_file.h"
#include "graphnet/evaluate/backend_table.h"
#include "graphnet/evaluate/compiled_sample.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Finds the ranges that a backend fuses (evaluate/kernel_counter.h). Thread-safe: each thread that
// asks has a worker, and starting one takes seconds.
class KernelRanges {
 public:
  // InvalidArgument if there is no backend of that name.
  static absl::StatusOr<std::unique_ptr<KernelRanges>> Of(const std::string& backend);

  // Returns the counts by which FusedRanges finds the ranges. FailedPrecondition if there is none.
  absl::StatusOr<KernelCounts> Find(const Sample& sample);

 private:
  explicit KernelRanges(Backend backend) : backend_(std::move(backend)) {}
  absl::StatusOr<std::shared_ptr<SampleCompiler>> Take();

  const Backend backend_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<SampleCompiler>> idle_;
};

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_COMMANDS_KERNEL_RANGES_H_
