#include "graphnet/interp/inputs/scale_weights.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/cost/flops.h"
#include "graphnet/facts/shapes/facts_table.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {
namespace {

constexpr double kOfRecord = 0.2;  // draw.h: the part of a record's deviation that is drawn
constexpr double kDefaultStd = 0.1;
constexpr double kSmallFactor = 1e-3;

// Facts about the values of a lowered graph, with the example values of symbols.
class Facts {
 public:
  Facts(const Module& module, const LoweredModule& lowered, const RefusedCalls& refused)
      : module_(module), lowered_(lowered), table_(lowered, refused) {}

  TensorFacts Of(const Node* node) const {
    TensorFacts facts = table_.Of(node);
    const Node* const origin = lowered_.origins[node];
    const TensorMeta* const meta = origin == nullptr ? nullptr : origin->tensor_meta();
    if (meta == nullptr || !meta->has_shape || static_cast<int>(meta->shape.size()) != facts.rank())
      return facts;
    for (size_t d = 0; d < meta->shape.size(); ++d) {
      const Dim& dim = meta->shape[d];
      if (!dim.is_static() && IsInput(*origin))
        (*facts.sizes)[d] = EvaluateWithExamples(module_, *dim.expr).value_or(-1);
    }
    return facts;
  }
  TensorFacts OfArgument(const Argument& argument) const {
    return argument.is_node() ? Of(argument.node()) : TensorFacts::Other();
  }
  static bool IsInput(const Node& node) {
    return node.op() == Op::kPlaceholder || node.op() == Op::kGetAttr;
  }

 private:
  const Module& module_;
  const LoweredModule& lowered_;
  FactsTable table_;
};

std::optional<int64_t> ElementsOf(const TensorFacts& facts) {
  if (!facts.is_tensor() || !facts.is_static()) return std::nullopt;
  int64_t count = 1;
  for (const int64_t size : *facts.sizes) {
    if (__builtin_mul_overflow(count, size, &count)) return std::nullopt;
  }
  return count;
}

// Returns the input whose elements a value has, behind calls that only move or convert them.
const Node* InputOf(const Node* node, const Facts& facts) {
  while (!Facts::IsInput(*node)) {
    const Node* only = nullptr;
    size_t tensors = 0;
    node->ForEachOperand([&](const Node* operand) {
      if (!facts.Of(operand).is_tensor()) return;
      only = operand;
      ++tensors;
    });
    if (!node->is_call() || tensors != 1) return nullptr;
    const std::optional<int64_t> elements = ElementsOf(facts.Of(node));
    if (!elements.has_value() || elements != ElementsOf(facts.Of(only))) return nullptr;
    node = only;
  }
  return node;
}

class Scaling {
 public:
  explicit Scaling(Sample* sample) : sample_(*sample), module_(*sample->module) {}

  absl::StatusOr<std::vector<ScaledWeight>> Run() {
    std::vector<ScaledWeight> scaled;
    if (module_.main() == nullptr) return scaled;
    RefusedCalls refused;
    ASSIGN_OR_RETURN(const LoweredModule lowered, LowerToAten(module_, &refused));
    const Facts facts(module_, lowered, refused);
    for (const Node* node : lowered.module->main()->nodes()) {
      if (node->is_call() && !refused.contains(lowered.origins[node])) AddCall(*node, facts);
    }
    for (Node* node : module_.main()->nodes()) {
      if (!node->is_placeholder()) continue;
      const std::optional<DrawSpec> spec = SpecFor(node->target(), node->draw_spec(), &scaled);
      if (spec.has_value()) node->set_draw_spec(*spec);
    }
    const std::vector<Attribute> attributes(module_.attributes().begin(),
                                            module_.attributes().end());
    for (Attribute attribute : attributes) {
      const std::optional<DrawSpec> spec = SpecFor(attribute.name, attribute.draw_spec, &scaled);
      if (!spec.has_value()) continue;
      attribute.draw_spec = &*spec;
      module_.AddAttribute(attribute);
    }
    return scaled;
  }

 private:
  // Finds the weights of a product.
  void AddCall(const Node& call, const Facts& facts) {
    const Schema* const schema = FindOverload(call.target());
    if (schema == nullptr) return;
    if (schema->name == "mul" || schema->name == "mul_") {
      call.ForEachOperand([&](const Node* operand) {
        const Node* const input = InputOf(operand, facts);
        if (input != nullptr) factors_.insert(std::string(input->target()));
      });
    }
    if (!IsProduct(call)) return;
    // The first operand is the data.
    const Node* data = nullptr;
    for (const SchemaArgument& parameter : schema->arguments) {
      const Argument given = ArgumentOf(call, *schema, parameter.name);
      ForEachArgument(given, [&](const Argument& argument) {
        if (!argument.is_node() || !facts.Of(argument.node()).is_tensor()) return;
        const Node* const input = InputOf(argument.node(), facts);
        if (data == nullptr && parameter.name != "bias" && facts.Of(argument.node()).rank() != 1) {
          data = input == nullptr ? argument.node() : input;
          // A weight may stand on the left of a product, too.
          if (input == nullptr || !IsWeight(*input)) return;
        }
        if (input == nullptr) return;
        const double terms = TermsOf(facts.Of(argument.node()), given, parameter.name);
        if (terms < 1) return;
        double& known = terms_.try_emplace(std::string(input->target()), terms).first->second;
        known = std::max(known, terms);
      });
    }
  }

  // Returns the numbers that each element of the product is a sum of; 0 if unknown.
  static double TermsOf(const TensorFacts& weight, const Argument& given,
                        absl::string_view parameter) {
    if (weight.rank() < 2 || !IsFloatingPoint(weight.dtype)) return 0;
    const std::vector<int64_t>& sizes = *weight.sizes;
    // Layers have their weights as [results, terms, …], products as [terms, results].
    const bool is_layer = absl::StrContains(parameter, "weight") ||
                          absl::StartsWith(parameter, "w_") || !given.is_node();
    if (!is_layer) return static_cast<double>(sizes[sizes.size() - 2]);
    double terms = 1;
    for (size_t d = 1; d < sizes.size(); ++d) terms *= static_cast<double>(sizes[d]);
    return terms;
  }

  // Returns whether an input is certainly a weight.
  static bool IsWeight(const Node& input) {
    return input.op() == Op::kGetAttr || input.annotation() == kParameterAnnotation;
  }

  std::optional<DrawSpec> SpecFor(absl::string_view name, const DrawSpec* had,
                                  std::vector<ScaledWeight>* scaled) const {
    const std::string key(name);
    const auto it = terms_.find(key);
    if ((it == terms_.end() && !factors_.contains(key)) || sample_.weights.contains(key))
      return std::nullopt;
    DrawSpec spec = had == nullptr ? DrawSpec() : *had;
    if (!spec.data.is_none() || spec.in_input_meta) return std::nullopt;
    const double before = (spec.has_std ? std::abs(spec.std) : kDefaultStd) * kOfRecord;
    if (it == terms_.end()) {
      // A factor that is 0 or nearly so, such as the scale of a residual branch, hides what it
      // multiplies.
      if (std::abs(spec.has_mean ? spec.mean : 0) + before > kSmallFactor) return std::nullopt;
      spec.has_mean = true;
      spec.mean = 1;
      scaled->push_back({key, before, before});
      return spec;
    }
    const double after = std::sqrt(2 / it->second);
    spec.has_mean = true;
    spec.mean = 0;
    spec.has_std = true;
    spec.std = after / kOfRecord;
    if (had != nullptr && spec == *had) return std::nullopt;
    scaled->push_back({key, before, after});
    return spec;
  }

  const Sample& sample_;
  Module& module_;
  std::set<std::string> factors_;        // inputs that something is multiplied by
  std::map<std::string, double> terms_;  // the numbers that a product with the weight sums over
};

}  // namespace

absl::StatusOr<std::vector<ScaledWeight>> ScaleDrawnWeights(Sample* sample) {
  return Scaling(sample).Run();
}

}  // namespace graphnet
