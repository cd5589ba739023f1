// Compares the rules of facts/shapes/tensor_facts.h with the results of LibTorch's kernels.
#ifndef TESTS_FACTS_SHAPES_COMPARE_FACTS_H_
#define TESTS_FACTS_SHAPES_COMPARE_FACTS_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphnet/facts/shapes/tensor_facts.h"
#include "graphnet/ir/module.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {

// Counts of calls by how the inferred facts compare with the metas.
struct FactsComparison {
  struct Counts {
    size_t equal = 0;    // dtype and all sizes are known and equal
    size_t partly = 0;   // some are known, and those are equal
    size_t unknown = 0;  // none are known
    size_t different = 0;
  };
  Counts all;
  std::map<std::string, Counts> by_operator;
  std::vector<std::string> differences;

  // Compares `call`. It and its operands must have exact metas.
  void Add(const Node& call) {
    const Schema* schema = FindOverload(call.target());
    if (schema == nullptr || call.meta() == nullptr) return;
    std::vector<TensorFacts> elements;
    const TensorFacts facts = FactsOfCall(call, *schema, FactsOf, &elements);
    if (facts.kind == TensorFacts::Kind::kOther) return;
    if (call.tensor_meta() != nullptr) {
      Add(call, *schema, facts, *call.tensor_meta());
      return;
    }
    if (!elements.empty() && elements.size() != call.meta()->elements.size()) {
      Differ(call, *schema, absl::StrCat(elements.size(), " values"));
      return;
    }
    for (size_t i = 0; i < call.meta()->elements.size(); ++i) {
      const TensorMeta* meta = call.meta()->elements[i]->tensor;
      if (meta != nullptr) Add(call, *schema, elements.empty() ? facts : elements[i], *meta);
    }
  }

 private:
  static TensorFacts FactsOf(const Argument& value) {
    if (!value.is_node()) return TensorFacts::Other();
    const ValueMeta* meta = value.node()->meta();
    if (meta == nullptr) return TensorFacts::Other();  // All tensors have one.
    TensorFacts facts = FactsOfMeta(meta->is_tuple ? nullptr : meta->tensor);
    if (meta->is_tuple) facts.kind = TensorFacts::Kind::kList;
    return facts;
  }

  void Differ(const Node& call, const Schema& schema, const std::string& what) {
    ++all.different;
    ++by_operator[schema.target].different;
    differences.push_back(absl::StrCat(schema.target, " at ", call.location().line, ": ", what));
  }

  void Add(const Node& call, const Schema& schema, const TensorFacts& facts,
           const TensorMeta& meta) {
    Counts& counts = by_operator[schema.target];
    bool right = facts.dtype == DType::kUnknown || facts.dtype == meta.dtype;
    bool whole = facts.dtype != DType::kUnknown && facts.sizes.has_value();
    if (facts.sizes.has_value()) {
      right = right && facts.sizes->size() == meta.shape.size();
      for (size_t i = 0; right && i < meta.shape.size(); ++i) {
        whole = whole && (*facts.sizes)[i] >= 0;
        right = (*facts.sizes)[i] < 0 || (*facts.sizes)[i] == meta.shape[i].value;
      }
    }
    if (!right) {
      std::string sizes;
      for (const int64_t size : facts.sizes.value_or(Sizes())) absl::StrAppend(&sizes, size, " ");
      absl::StrAppend(&sizes, "for ");
      for (const Dim& dim : meta.shape) absl::StrAppend(&sizes, dim.value, " ");
      return Differ(call, schema,
                    absl::StrCat(DTypeShortName(facts.dtype), " for ", DTypeShortName(meta.dtype),
                                 ", ", sizes));
    }
    const bool none = facts.dtype == DType::kUnknown && !facts.sizes.has_value();
    ++(whole ? all.equal : none ? all.unknown : all.partly);
    ++(whole ? counts.equal : none ? counts.unknown : counts.partly);
  }
};

}  // namespace graphnet

#endif  // TESTS_FACTS_SHAPES_COMPARE_FACTS_H_
