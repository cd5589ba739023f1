#include "graphnet/corpus/query_terms.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/corpus/keys.h"

namespace graphnet {
namespace {

using corpus_internal::ArgumentKey;
using corpus_internal::ConstantKey;
using corpus_internal::EdgeKey;
using corpus_internal::IsDefault;
using corpus_internal::NameKey;

class TermMaker {
 public:
  void AddCall(const CallQuery::RequiredCall& call,
               const std::vector<CallQuery::RequiredCall>& calls) {
    std::vector<std::string> targets;
    for (const std::string& meaning : call.meanings) targets.push_back(NameKey(meaning));
    Add("targets", std::move(targets));
    for (const CallQuery::Condition& condition : call.conditions) AddCondition(call, condition);
    for (const size_t operand : call.operands) {
      std::vector<std::string> edges;
      for (const std::string& producer : calls[operand].meanings) {
        for (const std::string& consumer : call.meanings)
          edges.push_back(EdgeKey(NameKey(producer), NameKey(consumer)));
      }
      Add("edges", std::move(edges));
    }
  }

  void AddType(const TypeCondition& type) {
    using Kind = TypeCondition::Size::Kind;
    std::vector<std::string> dtypes;
    for (const DType dtype : type.dtypes) dtypes.emplace_back(DTypeName(dtype));
    if (!absl::c_linear_search(type.dtypes, DType::kUnknown)) Add("dtypes", std::move(dtypes));
    const bool has_rank =
        type.has_sizes && absl::c_none_of(type.sizes, [](const TypeCondition::Size& size) {
          return size.kind == Kind::kRest;
        });
    if (has_rank) Add("ranks", {absl::StrCat(type.sizes.size())});
  }

  std::vector<QueryTerm> Take() { return std::move(terms_); }

 private:
  void Add(absl::string_view column, std::vector<std::string> any_of) {
    if (any_of.empty()) return;
    absl::c_sort(any_of);
    any_of.erase(std::unique(any_of.begin(), any_of.end()), any_of.end());
    const bool is_known = absl::c_any_of(terms_, [&](const QueryTerm& term) {
      return term.column == column && term.any_of == any_of;
    });
    if (!is_known) terms_.push_back({std::string(column), std::move(any_of)});
  }

  void AddCondition(const CallQuery::RequiredCall& call, const CallQuery::Condition& condition) {
    using Relation = ArgumentCondition::Relation;
    absl::Span<const Argument> constants = absl::MakeConstSpan(&condition.value, 1);
    if (condition.relation == Relation::kIn) {
      if (!condition.value.is_sequence()) return;
      constants = condition.value.elements();
    } else if (condition.relation != Relation::kEqual) {
      return;
    }
    std::vector<std::string> keys;
    for (const Argument& constant : constants) {
      uint64_t work = uint64_t{1} << 20;
      const std::optional<std::string> text = ConstantKey(constant, &work);
      if (!text.has_value()) return;
      for (const std::string& meaning : call.meanings) {
        if (IsDefault(meaning, condition.name, constant, *text)) return;
        keys.push_back(ArgumentKey(NameKey(meaning), condition.name, *text));
      }
    }
    Add("args", std::move(keys));
  }

  std::vector<QueryTerm> terms_;
};

}  // namespace

std::vector<QueryTerm> TermsOf(const CallQuery& query) {
  const CallQuery::Requirements required = query.Required();
  TermMaker maker;
  for (const CallQuery::RequiredCall& call : required.calls) maker.AddCall(call, required.calls);
  for (const TypeCondition& type : required.types) maker.AddType(type);
  return maker.Take();
}

}  // namespace graphnet
