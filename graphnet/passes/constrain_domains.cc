#include "graphnet/passes/constrain_domains.h"

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/memory/memory_use.h"
#include "graphnet/interp/inputs/drawn_values.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/passes/domain.h"
#include "graphnet/passes/pass.h"
#include "graphnet/passes/traced_inputs.h"

namespace graphnet {
namespace {

constexpr Domain kNotNegative = {.low = 0};
constexpr Domain kPositive = {.low = 0, .is_open = true};
constexpr Domain kAboveMinusOne = {.low = -1, .is_open = true};
constexpr Domain kFromOne = {.low = 1};
constexpr Domain kSine = {.low = -1, .high = 1};
constexpr Domain kInsideSine = {.low = -1, .high = 1, .is_open = true};
constexpr Domain kProbability = {.low = 0, .high = 1};
constexpr Domain kInsideProbability = {.low = 0, .high = 1, .is_open = true};
constexpr Domain kNonzero = {.is_nonzero = true};

// The domain that an argument of an operator should come from.
struct OperatorDomain {
  absl::string_view name;
  absl::string_view argument;
  Domain domain;
};
constexpr OperatorDomain kOperatorDomains[] = {
    {"sqrt", "self", kNotNegative},
    {"rsqrt", "self", kPositive},
    {"log", "self", kPositive},
    {"log2", "self", kPositive},
    {"log10", "self", kPositive},
    {"log1p", "self", kAboveMinusOne},
    {"special_log1p", "self", kAboveMinusOne},
    {"acos", "self", kSine},
    {"arccos", "self", kSine},
    {"asin", "self", kSine},
    {"arcsin", "self", kSine},
    {"acosh", "self", kFromOne},
    {"arccosh", "self", kFromOne},
    {"atanh", "self", kInsideSine},
    {"arctanh", "self", kInsideSine},
    {"erfinv", "self", kInsideSine},
    {"special_erfinv", "self", kInsideSine},
    {"logit", "self", kInsideProbability},
    {"special_logit", "self", kInsideProbability},
    {"special_ndtri", "self", kInsideProbability},
    {"special_entr", "self", kNotNegative},
    {"xlogy", "other", kPositive},
    {"special_xlogy", "other", kPositive},
    {"special_xlog1py", "other", kAboveMinusOne},
    {"reciprocal", "self", kNonzero},
    {"div", "other", kNonzero},
    {"divide", "other", kNonzero},
    {"true_divide", "other", kNonzero},
    {"floor_divide", "other", kNonzero},
    {"remainder", "other", kNonzero},
    {"fmod", "other", kNonzero},
    {"bernoulli", "self", kProbability},
    {"bernoulli", "p", kProbability},
    {"poisson", "self", kNotNegative},
    {"multinomial", "self", kNotNegative},
    {"binary_cross_entropy", "self", kProbability},
};

// Returns the domain of x in x ** exponent; nullopt if it is all numbers.
std::optional<Domain> DomainOfPower(const Argument* exponent) {
  if (exponent == nullptr || !(exponent->is_int() || exponent->is_float())) return std::nullopt;
  const double e = exponent->is_int() ? static_cast<double>(exponent->integer()) : exponent->real();
  if (e != std::trunc(e)) return e < 0 ? kPositive : kNotNegative;
  if (e < 0) return kNonzero;
  return std::nullopt;
}

// Returns whether the row applies to this call: other arguments may make the call accept any
// number.
bool Applies(const OperatorDomain& row, const Schema& schema, const Node& call) {
  if (row.name == "logit" || row.name == "special_logit") {
    const Argument* eps = schema.Given(call, "eps");
    return eps == nullptr || eps->is_none();
  }
  return row.name != "bernoulli" || row.argument == "p" || schema.FindArgument("p") == nullptr;
}

bool IsUnordered(DType dtype) {
  return dtype == DType::kComplex32 || dtype == DType::kComplex64 || dtype == DType::kComplex128;
}

class Domains {
 public:
  Domains(Module* module, const LoweredModule& lowered, PassRun* run)
      : lowered_(lowered), inputs_(module, lowered), run_(run) {}

  bool Run() {
    absl::flat_hash_set<const Node*> seen;
    for (const Graph* graph : lowered_.module->graphs()) {
      for (const Node* call : graph->nodes()) {
        if (!call->is_call()) continue;
        for (const Node* operand : MemoryUseOf(*call).written)
          inputs_.Follow(operand, &seen, [&](const Node& input) { written_.insert(&input); });
      }
    }
    for (const Graph* graph : lowered_.module->graphs()) {
      for (const Node* call : graph->nodes()) {
        const Schema* schema = call->is_call() ? FindOverload(call->target()) : nullptr;
        if (schema != nullptr) Check(*call, *schema);
      }
    }
    for (const absl::string_view input : order_) Constrain(needs_[input]);
    return changed_;
  }

 private:
  void Check(const Node& call, const Schema& schema) {
    absl::string_view name = schema.name;
    if (!absl::EndsWith(name, "__")) absl::ConsumeSuffix(&name, "_");
    if (name == "pow" || name == "float_power") {
      if (const auto domain = DomainOfPower(schema.Given(call, "exponent")))
        Check(call, name, schema.Given(call, "self"), *domain);
      return;
    }
    for (const OperatorDomain& row : kOperatorDomains) {
      if (row.name == name && Applies(row, schema, call))
        Check(call, name, schema.Given(call, row.argument), row.domain);
    }
  }

  void Check(const Node& call, absl::string_view name, const Argument* argument,
             const Domain& domain) {
    if (argument == nullptr || !argument->is_node()) return;
    inputs_.Follow(argument->node(), &seen_[domain], [&](const Node& input) {
      if (!written_.contains(&input)) AddNeed(call, name, input, domain);
    });
  }

  // The domain that a call needs the values of an input to be in.
  struct Need {
    const Node* call;
    absl::string_view name;
    const Node* input;
    Domain domain;
  };

  void AddNeed(const Node& call, absl::string_view name, const Node& node, const Domain& domain) {
    const TracedInput input = inputs_.Get(node);
    if (run_->IsKnown(input.name)) return;
    if (DTypeOf(input) == DType::kUnknown || IsUnordered(DTypeOf(input)))
      return;  // Complex numbers have other domains.
    if (needs_[input.name].empty()) order_.push_back(input.name);
    needs_[input.name].push_back({&call, name, &node, domain});
  }

  static DType DTypeOf(const TracedInput& input) {
    return input.meta == nullptr ? DType::kUnknown : input.meta->dtype;
  }

  std::string Describe(const Need& need, const TracedInput& input,
                       const DrawnValues& values) const {
    return absl::StrCat(inputs_.Place(*need.call), ": ", Printable(input.name), ", drawn from ",
                        values.min, " to ", values.max, ", must be ", DescribeDomain(need.domain),
                        " for ", need.name);
  }

  // Bounds an input so that all calls can take it; if that is impossible, says why and leaves it.
  void Constrain(absl::Span<const Need> needs) {
    const TracedInput input = inputs_.Get(*needs[0].input);
    const DType dtype = DTypeOf(input);
    DrawSpec spec = input.spec;
    std::vector<std::string> notes;
    const Need* bounding = nullptr;
    // Do this twice: the bound of one call may be the 0 that another one does not take.
    for (int round = 0; round < 2; ++round) {
      for (const Need& need : needs) {
        const DrawnValues values = ValuesOf(dtype, spec);
        if (need.domain.Holds(values)) continue;
        const std::optional<DrawSpec> bounded = BoundedTo(need.domain, dtype, spec);
        if (!bounded.has_value()) return Warn(needs, input, need, bounding);
        notes.push_back(Describe(need, input, values));
        spec = *bounded;
        bounding = &need;
      }
    }
    if (notes.empty()) return;
    for (const std::string& note : notes) run_->Note(note);
    inputs_.SetSpec(*needs[0].input, spec);
    changed_ = true;
  }

  // Warns that `failed` cannot be met; `bounding`, which may be null, is the need in its way.
  void Warn(absl::Span<const Need> needs, const TracedInput& input, const Need& failed,
            const Need* bounding) {
    const DType dtype = DTypeOf(input);
    const DrawnValues values = ValuesOf(dtype, input.spec);
    for (const Need& need : needs) {
      if (need.domain.Holds(values)) continue;
      const Need* const other = &need == &failed ? bounding : &failed;
      const bool is_alone =
          other == nullptr || !BoundedTo(need.domain, dtype, input.spec).has_value();
      run_->Warn(absl::StrCat(Describe(need, input, values), ", but no bounds ensure it",
                              is_alone ? "" : absl::StrCat(" and suit ", other->name, ", too")));
    }
  }

  const LoweredModule& lowered_;
  TracedInputs inputs_;
  PassRun* const run_;
  absl::flat_hash_set<const Node*> written_;
  std::map<Domain, absl::flat_hash_set<const Node*>> seen_;
  absl::flat_hash_map<absl::string_view, std::vector<Need>> needs_;  // by input
  std::vector<absl::string_view> order_;                             // of the inputs
  bool changed_ = false;
};

}  // namespace

absl::StatusOr<bool> ConstrainDomains(Module* module, PassRun& run) {
  RefusedCalls refused;
  ASSIGN_OR_RETURN(const LoweredModule lowered, LowerToAten(*module, &refused));
  return Domains(module, lowered, &run).Run();
}

namespace {

const RegisteredPass kConstrainDomainsPass("constrain-domains", "constrain_domains.h",
                                           ConstrainDomains);

}  // namespace

}  // namespace graphnet
