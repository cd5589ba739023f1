#include "graphnet/interp/domain.h"

#include <deque>
#include <utility>

#include "ATen/core/Tensor.h"
#include "ATen/core/ivalue.h"
#include "ATen/ops/isfinite.h"
#include "ATen/ops/isnan.h"
#include "ATen/ops/sum.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/interp/prepare.h"

namespace graphnet {
namespace {

using Values = std::map<std::string, TensorData>;

// Inputs that are tried for one call.
constexpr size_t kMaxCandidates = 8;

struct Counts {
  int64_t nans = 0;
  int64_t others = 0;  // infinities
};

Counts CountNonFinite(const c10::IValue& value) {
  Counts counts;
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    // Batched values of open levels of vmap have no storage; their numbers are seen when they
    // leave the level.
    if (!tensor.defined() || !tensor.has_storage() ||
        !(tensor.is_floating_point() || tensor.is_complex()) || tensor.numel() == 0) {
      return counts;
    }
    const int64_t finite = at::sum(at::isfinite(tensor)).item<int64_t>();
    if (finite == tensor.numel()) return counts;
    counts.nans = at::sum(at::isnan(tensor)).item<int64_t>();
    counts.others = tensor.numel() - finite - counts.nans;
  } else if (value.isTuple() || value.isList()) {
    for (const c10::IValue& element :
         value.isTuple() ? value.toTupleRef().elements().vec() : value.toListRef().vec()) {
      const Counts of = CountNonFinite(element);
      counts.nans += of.nans;
      counts.others += of.others;
    }
  }
  return counts;
}

absl::StatusOr<Counts> RunOutputs(const Module& module, const Values& values, uint64_t seed,
                                  const Observer& observer) {
  ASSIGN_OR_RETURN(PreparedRun prepared, PrepareRun(module, values));
  ASSIGN_OR_RETURN(
      const std::vector<c10::IValue> outputs,
      prepared.executable->Run(std::move(prepared.inputs), {.seed = seed, .observer = observer}));
  Counts all;
  for (const c10::IValue& output : outputs) {
    const Counts of = CountNonFinite(output);
    all.nans += of.nans;
    all.others += of.others;
  }
  return all;
}

// Runs up to `node` and returns true if its value is finite.
absl::StatusOr<bool> IsFiniteAt(const Module& module, const Node* node, const Values& values,
                                uint64_t seed) {
  std::optional<bool> finite;
  const auto status =
      RunOutputs(module, values, seed, [&](const Node& at, const c10::IValue& value) {
        if (&at != node) return absl::OkStatus();
        const Counts counts = CountNonFinite(value);
        finite = counts.nans == 0 && counts.others == 0;
        return absl::CancelledError();
      });
  if (finite.has_value()) return *finite;
  if (!status.ok()) return status.status();
  return false;
}

// Returns floating-point inputs whose values are drawn, nearest to `node` first.
std::vector<Node*> Candidates(Node* node) {
  std::vector<Node*> found;
  absl::flat_hash_set<const Node*> seen = {node};
  std::deque<Node*> queue = {node};
  while (!queue.empty() && found.size() < kMaxCandidates) {
    Node* next = queue.front();
    queue.pop_front();
    const TensorMeta* meta = next->tensor_meta();
    const bool drawn = next->draw_spec() == nullptr || next->draw_spec()->data.is_none();
    if (next->is_placeholder() && drawn && meta != nullptr && IsFloatingPoint(meta->dtype))
      found.push_back(next);
    next->ForEachOperand([&](Node* operand) {
      if (seen.insert(operand).second) queue.push_back(operand);
    });
  }
  return found;
}

double LowerBound(const DrawSpec& spec) {
  if (spec.min.is_int()) return static_cast<double>(spec.min.integer());
  return spec.min.is_float() ? spec.min.real() : -1e300;
}

std::string PlaceOf(const Node& node) {
  const SourceLocation location = node.location();
  return absl::StrCat(
      location.line > 0 ? absl::StrCat(location.line, ":", location.column, ": ") : "", "%",
      Printable(node.name()), " = ", Printable(node.target()));
}

absl::StatusOr<Values> Draw(Sample* sample, const Values& known, uint64_t seed) {
  DrawOptions options;
  options.seed = seed;
  std::map<std::string, TensorData> weights = std::exchange(sample->weights, known);
  absl::StatusOr<Values> values = DrawInputs(*sample, options);
  sample->weights = std::move(weights);
  return values;
}

// Bounds one input of `node` so that its value is finite; returns false if no bound does that.
absl::StatusOr<bool> BoundOne(Sample* sample, Node* node, uint64_t seed, Values* values,
                              DomainRepair* repair) {
  for (Node* input : Candidates(node)) {
    const std::optional<DrawSpec> old =
        input->draw_spec() == nullptr ? std::nullopt : std::optional<DrawSpec>(*input->draw_spec());
    const std::string name(input->target());
    for (const double bound : {0.0, 1e-6}) {
      DrawSpec spec = old.value_or(DrawSpec());
      if (LowerBound(spec) >= bound) continue;
      spec.min = bound == 0.0 ? Argument(int64_t{0}) : Argument(bound);
      input->set_draw_spec(spec);
      Values others = *values;
      others.erase(name);
      ASSIGN_OR_RETURN(Values drawn, Draw(sample, others, seed));
      ASSIGN_OR_RETURN(const bool finite, IsFiniteAt(*sample->module, node, drawn, seed));
      if (finite) {
        *values = std::move(drawn);
        repair->changed = true;
        repair->notes.push_back(absl::StrCat(Printable(name), " is drawn at least ", bound, ": ",
                                             PlaceOf(*node), " was not finite"));
        return true;
      }
    }
    if (old.has_value()) {
      input->set_draw_spec(*old);
    } else {
      input->clear_draw_spec();
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<std::optional<NonFinite>> FindNonFinite(const Module& module, const Values& values,
                                                       uint64_t seed) {
  std::optional<NonFinite> first_nan;
  std::optional<NonFinite> first_other;
  ASSIGN_OR_RETURN(
      const Counts outputs,
      RunOutputs(module, values, seed, [&](const Node& node, const c10::IValue& value) {
        if (node.is_output() || first_nan.has_value()) return absl::OkStatus();
        const Counts counts = CountNonFinite(value);
        if (counts.nans > 0) first_nan = NonFinite{&node, true, counts.nans};
        if (counts.others > 0 && !first_other.has_value()) {
          first_other = NonFinite{&node, false, counts.others};
        }
        return absl::OkStatus();
      }));
  if (outputs.nans > 0 && first_nan.has_value()) return first_nan;
  if (outputs.others > 0 && first_other.has_value()) return first_other;
  if (outputs.nans > 0 || outputs.others > 0)
    return std::optional<NonFinite>(
        NonFinite{module.main()->output(), outputs.nans > 0, outputs.nans + outputs.others});
  return std::optional<NonFinite>();
}

absl::StatusOr<DomainRepair> RepairDomains(Sample* sample, uint64_t seed, int max_bounds) {
  DomainRepair repair;
  ASSIGN_OR_RETURN(Values values, Draw(sample, sample->weights, seed));
  for (int bounds = 0;; ++bounds) {
    ASSIGN_OR_RETURN(const std::optional<NonFinite> found,
                     FindNonFinite(*sample->module, values, seed));
    if (!found.has_value()) {
      repair.finite = true;
      return repair;
    }
    if (bounds == max_bounds) {
      repair.notes.push_back(absl::StrCat("not finite after ", max_bounds, " bounds"));
      return repair;
    }
    ASSIGN_OR_RETURN(const bool bounded,
                     BoundOne(sample, const_cast<Node*>(found->node), seed, &values, &repair));
    if (bounded) continue;
    repair.notes.push_back(absl::StrCat(PlaceOf(*found->node), " yields ", found->elements, " ",
                                        found->is_nan ? "nans" : "infinities",
                                        ", and no bound on one input helps"));
    return repair;
  }
}

}  // namespace graphnet
