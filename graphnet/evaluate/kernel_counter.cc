#include "graphnet/evaluate/kernel_counter.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/decompose/graph_index.h"
#include "graphnet/decompose/regions.h"

namespace graphnet {

absl::StatusOr<KernelCounts> CountKernelsOfPrefixes(
    const Sample& sample, absl::FunctionRef<absl::StatusOr<int64_t>(const Sample&)> count) {
  RETURN_IF_ERROR(CheckModule(sample));
  const GraphIndex index(*sample.module->main());
  const Regions regions(index);
  std::vector<int64_t> ends = {0};
  for (int64_t end = 1; end <= index.num_operators(); ++end)
    if (regions.OpenAt(end) == nullptr) ends.push_back(end);
  std::vector<int64_t> kernels(ends.size());
  const auto count_at = [&](size_t i) -> absl::Status {
    ASSIGN_OR_RETURN(
        const std::vector<Sample> pieces,
        CutRanges(sample, {{0, ends[i]}}, {.all_inputs = false, .keep_unused = false}));
    const absl::StatusOr<int64_t> counted = count(pieces[0]);
    if (!counted.ok()) {
      return absl::Status(
          counted.status().code(),
          absl::StrCat("the first ", ends[i], " operators: ", counted.status().message()));
    }
    kernels[i] = *counted;
    return absl::OkStatus();
  };
  const size_t last = ends.size() - 1;
  if (last > 0) RETURN_IF_ERROR(count_at(last));
  std::vector<std::pair<size_t, size_t>> open = {{0, last}};  // both ends are counted
  while (!open.empty()) {
    const auto [from, to] = open.back();
    open.pop_back();
    if (kernels[from] == kernels[to]) {
      for (size_t i = from + 1; i < to; ++i) kernels[i] = kernels[from];
    } else if (to - from > 1) {
      const size_t middle = from + (to - from) / 2;
      RETURN_IF_ERROR(count_at(middle));
      open.emplace_back(from, middle);
      open.emplace_back(middle, to);
    }
  }
  KernelCounts counts;
  counts.operators.assign(ends.begin() + 1, ends.end());
  counts.kernels.assign(kernels.begin() + 1, kernels.end());
  return counts;
}

}  // namespace graphnet
