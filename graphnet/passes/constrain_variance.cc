#include "graphnet/passes/constrain_variance.h"

#include <map>
#include <optional>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/inputs/drawn_values.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/passes/domain.h"
#include "graphnet/passes/pass.h"
#include "graphnet/passes/traced_inputs.h"

namespace graphnet {
namespace {

double Number(const Argument& number) {
  return number.is_int() ? static_cast<double>(number.integer()) : number.real();
}

class Variances {
 public:
  Variances(Module* module, const LoweredModule& lowered, PassRun* run)
      : lowered_(lowered), inputs_(module, lowered), run_(run) {}

  bool Run() {
    for (const Graph* graph : lowered_.module->graphs()) {
      for (const Node* call : graph->nodes()) {
        const Schema* schema = call->is_call() ? FindOverload(call->target()) : nullptr;
        if (schema == nullptr) continue;
        const Argument* variance = schema->Given(*call, "running_var");
        if (variance == nullptr || !variance->is_node()) continue;
        const Argument* eps = schema->Given(*call, "eps");
        if (eps == nullptr) eps = schema->Given(*call, "epsilon");
        const bool has_eps =
            eps == nullptr || !(eps->is_int() || eps->is_float()) || Number(*eps) > 0;
        const Domain domain = {.low = 0, .is_open = !has_eps};
        inputs_.Follow(variance->node(), &seen_[domain.is_open],
                       [&](const Node& input) { Constrain(*call, input, domain); });
      }
    }
    return changed_;
  }

 private:
  void Constrain(const Node& call, const Node& node, const Domain& domain) {
    const TracedInput input = inputs_.Get(node);
    if (run_->IsKnown(input.name)) return;
    const std::string what =
        absl::StrCat(inputs_.Place(call), ": ", Printable(input.name), " is a variance");
    // Mean and deviation make a negative value unlikely at best; only a bound excludes it.
    const Argument& min = input.spec.min;
    const bool has_bound = !min.is_none() && (domain.is_open ? Number(min) > 0 : Number(min) >= 0);
    const bool is_known = input.meta != nullptr && input.meta->dtype != DType::kUnknown;
    const DType dtype = is_known ? input.meta->dtype : DType::kFloat32;
    const DrawnValues values = ValuesOf(dtype, input.spec);
    if (values.is_fixed && domain.Holds(values)) return;
    DrawSpec bounded = input.spec;
    if (!has_bound) bounded.min = domain.is_open ? Argument(kSmallest) : Argument(int64_t{0});
    if (!domain.Holds(ValuesOf(dtype, bounded))) {
      run_->Warn(absl::StrCat(what, ", and no bound can keep it ", DescribeDomain(domain)));
    } else if (!has_bound) {
      run_->Note(absl::StrCat(what, ", but may be drawn ",
                              domain.is_open ? "at 0 or below, where eps is 0" : "below 0"));
      inputs_.SetSpec(node, bounded);
      changed_ = true;
    }
  }

  // The lower bound of a variance to which no eps is added.
  static constexpr double kSmallest = 1e-6;

  const LoweredModule& lowered_;
  TracedInputs inputs_;
  PassRun* const run_;
  absl::flat_hash_set<const Node*> seen_[2];  // with an eps, and without one
  bool changed_ = false;
};

}  // namespace

absl::StatusOr<bool> ConstrainVariance(Module* module, PassRun& run) {
  RefusedCalls refused;
  ASSIGN_OR_RETURN(const LoweredModule lowered, LowerToAten(*module, &refused));
  return Variances(module, lowered, &run).Run();
}

namespace {

const RegisteredPass kConstrainVariancePass("constrain-variance", "constrain_variance.h",
                                            ConstrainVariance);

}  // namespace

}  // namespace graphnet
