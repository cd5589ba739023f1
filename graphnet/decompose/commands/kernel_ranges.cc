#include "graphnet/decompose/commands/kernel_ranges.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "graphnet/base/status.h"
#include "graphnet/evaluate/backend_options.h"
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

absl::StatusOr<std::unique_ptr<KernelCounter>> KernelRanges::Take() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<KernelCounter> counter = std::move(idle_.back());
      idle_.pop_back();
      return counter;
    }
  }
  return KernelCounter::Start(&backend_, HostOfTool(), {.time = kLimit});
}

absl::StatusOr<KernelCounts> KernelRanges::Find(const Sample& sample) {
  ASSIGN_OR_RETURN(std::unique_ptr<KernelCounter> counter, Take());
  absl::StatusOr<KernelCounts> counts =
      CountKernelsOfPrefixes(sample, [&](const Sample& prefix) { return counter->Count(prefix); });
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(std::move(counter));
  }
  if (counts.ok() && FusedRanges(*counts).empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(backend_.name, " fuses no two adjacent operators"));
  }
  return counts;
}

}  // namespace graphnet
