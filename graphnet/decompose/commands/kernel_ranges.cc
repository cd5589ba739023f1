#include "graphnet/decompose/commands/kernel_ranges.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "graphnet/base/status.h"
#include "graphnet/evaluate/backend_options.h"
#include "graphnet/evaluate/kernel_counter.h"
#include "graphnet/run/worker_host.h"

namespace graphnet {
namespace {

// For one prefix.
constexpr absl::Duration kLimit = absl::Minutes(10);

}  // namespace

absl::StatusOr<std::unique_ptr<KernelRanges>> KernelRanges::Of(const std::string& backend) {
  ASSIGN_OR_RETURN(Backend found, BackendOfText(backend));
  return std::unique_ptr<KernelRanges>(new KernelRanges(std::move(found)));
}

absl::StatusOr<std::shared_ptr<SampleCompiler>> KernelRanges::Take() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!idle_.empty()) {
      std::shared_ptr<SampleCompiler> compiler = std::move(idle_.back());
      idle_.pop_back();
      return compiler;
    }
  }
  return SampleCompiler::Start(&backend_, HostOfTool(), {.time = kLimit});
}

absl::StatusOr<KernelCounts> KernelRanges::Find(const Sample& sample) {
  ASSIGN_OR_RETURN(std::shared_ptr<SampleCompiler> compiler, Take());
  absl::StatusOr<KernelCounts> counts = CountKernelsOfPrefixes(
      sample, [&](const Sample& prefix) { return compiler->CountKernels(prefix); });
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(std::move(compiler));
  }
  if (counts.ok() && FusedRanges(*counts).empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(backend_.name, " fuses no two adjacent operators"));
  }
  return counts;
}

}  // namespace graphnet
