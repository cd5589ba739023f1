#include "graphnet/interp/compare_runs.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/dead_paths.h"
#include "graphnet/interp/prepare.h"
#include "graphnet/interp/torch/comparison.h"
#include "graphnet/interp/torch/status.h"
#include "graphnet/interp/torch/tensors.h"
#include "graphnet/interp/torch/types.h"

namespace graphnet {
namespace {

absl::StatusOr<std::vector<c10::IValue>> Run(RunSide side, uint64_t seed,
                                             const Observer& observer) {
  PrepareOptions prepare;
  prepare.parameters = std::move(side.parameters);
  prepare.max_bytes = AvailableMemoryBytes();
  ASSIGN_OR_RETURN(PreparedRun prepared, PrepareRun(*side.module, std::move(side.values), prepare));
  return prepared.executable->Run(std::move(prepared.inputs), {.seed = seed, .observer = observer});
}

std::string FormOf(const at::Tensor& tensor) {
  return absl::StrCat(DTypeShortName(DTypeOf(tensor.scalar_type())), "[",
                      tensor.is_nested() ? "nested" : absl::StrJoin(tensor.sizes(), ", "), "]");
}

absl::StatusOr<OutputDifference> CompareOutput(const c10::IValue& a, const c10::IValue& b) {
  OutputDifference made;
  const auto is_tensor = [](const c10::IValue& value) {
    return value.isTensor() && IsReadable(value.toTensor());
  };
  made.are_tensors = is_tensor(a) && is_tensor(b);
  if (!made.are_tensors) {
    const bool nan =
        a.isDouble() && b.isDouble() && std::isnan(a.toDouble()) && std::isnan(b.toDouble());
    made.equal = a.tagKind() == b.tagKind() && (a.isNone() || nan || a == b);
    return made;
  }
  made.equal = DigestOf(a) == DigestOf(b);
  if (made.equal) return made;
  const at::Tensor& s = a.toTensor();
  const at::Tensor& t = b.toTensor();
  made.same_dtype = s.scalar_type() == t.scalar_type();
  made.same_shape = s.is_nested() == t.is_nested() &&
                    (s.is_nested() ? s.numel() == t.numel() : s.sizes() == t.sizes());
  made.form_a = FormOf(s);
  made.form_b = FormOf(t);
  made.elements = s.numel();
  if (made.same_shape) {
    ASSIGN_OR_RETURN(made.difference, DifferenceOf(s, t));
  }
  return made;
}

}  // namespace

absl::StatusOr<TensorDifference> DifferenceOf(const TensorData& a, const TensorData& b) {
  ASSIGN_OR_RETURN(const at::Tensor s, ToTensor(a, c10::Device(c10::kCPU)));
  ASSIGN_OR_RETURN(const at::Tensor t, ToTensor(b, c10::Device(c10::kCPU)));
  return DifferenceOf(s, t);
}

absl::StatusOr<RunComparison> CompareRuns(RunSide a, RunSide b, uint64_t seed,
                                          const std::string& name_of_b) {
  RunComparison made;
  absl::flat_hash_map<std::string, size_t> digests;
  const Observer remember = [&](const Node& node, const c10::IValue& value) -> absl::Status {
    return Guarded([&]() -> absl::Status {
      if (const std::optional<size_t> digest = DigestOf(value))
        digests[std::string(node.name())] = *digest;
      return absl::OkStatus();
    });
  };
  ASSIGN_OR_RETURN(const std::vector<c10::IValue> of_a, Run(std::move(a), seed, remember));
  DeadPaths dead(b.values);
  const Observer compare = [&](const Node& node, const c10::IValue& value) -> absl::Status {
    dead.See(node, value);
    const auto it = digests.find(std::string(node.name()));
    if (it == digests.end()) return absl::OkStatus();
    return Guarded([&]() -> absl::Status {
      const std::optional<size_t> digest = DigestOf(value);
      if (!digest.has_value()) return absl::OkStatus();
      ++made.values;
      const bool same = *digest == it->second;
      made.equal[&node] = same;
      if (!same && ++made.different == 1)
        made.first_difference = absl::StrCat(node.name(), " = ", node.target());
      return absl::OkStatus();
    });
  };
  const absl::StatusOr<std::vector<c10::IValue>> of_b = Run(std::move(b), seed, compare);
  if (!of_b.ok()) return Annotate(of_b.status(), name_of_b);
  made.dead_paths = dead.found();
  made.outputs_a = of_a.size();
  made.outputs_b = of_b->size();
  for (size_t i = 0; i < std::min(of_a.size(), of_b->size()); ++i) {
    ASSIGN_OR_RETURN(made.outputs.emplace_back(),
                     Guarded([&] { return CompareOutput(of_a[i], (*of_b)[i]); }));
  }
  return made;
}

}  // namespace graphnet
