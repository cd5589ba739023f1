#include "graphnet/facts/shapes/functional_twin.h"

#include <cstddef>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/facts/shapes/result_rules.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {
namespace {

// Returns whether both take the same parameters; `writer` writes to the first one.
bool TakesTheSame(const Schema& writer, const Schema& other) {
  if (other.mutates() || other.returns.size() != 1 || other.returns[0].is_list ||
      other.arguments.size() != writer.arguments.size()) {
    return false;
  }
  for (size_t i = 0; i < other.arguments.size(); ++i) {
    const SchemaArgument& x = writer.arguments[i];
    const SchemaArgument& y = other.arguments[i];
    if (x.type.kind != y.type.kind || x.type.is_list != y.type.is_list ||
        (i > 0 && x.name != y.name)) {
      return false;
    }
  }
  return true;
}

// Returns whether the tensor may have another number of elements or other memory afterwards.
bool IsResize(const Schema& writer) {
  static const auto* const names = new absl::flat_hash_set<absl::string_view>{
      "resize_", "resize_as_", "resize_as_sparse_", "sparse_resize_", "sparse_resize_and_clear_",
      "set_"};
  return names->contains(writer.name);
}

const Schema* FindTwin(const Schema& writer) {
  if (writer.arguments.empty() || !writer.arguments[0].type.is_mutated ||
      writer.arguments[0].type.is_list || !absl::EndsWith(writer.name, "_") || IsResize(writer)) {
    return nullptr;
  }
  for (size_t i = 1; i < writer.arguments.size(); ++i) {
    if (writer.arguments[i].type.is_mutated) return nullptr;
  }
  std::string name(absl::StripSuffix(writer.name, "_"));
  if (absl::EndsWith(writer.name, "__")) {  // __iand__
    if (!absl::StartsWith(writer.name, "__i")) return nullptr;
    name = absl::StrCat("__", writer.name.substr(3));
  }
  for (const std::string& candidate : {name, absl::StrCat(name, "_functional")}) {
    for (const Schema& other : FindSchemas(candidate)) {
      if (TakesTheSame(writer, other)) return &other;
    }
  }
  return nullptr;
}

}  // namespace

const Schema* FunctionalTwin(const Schema& writer) {
  static const auto* const twins = [] {
    auto* made = new absl::flat_hash_map<const Schema*, const Schema*>;
    for (const Schema& schema : AllSchemas()) {
      if (const Schema* twin = FindTwin(schema)) made->emplace(&schema, twin);
    }
    return made;
  }();
  if (!writer.is_of_aten()) return FindTwin(writer);
  const auto it = twins->find(&writer);
  return it == twins->end() ? nullptr : it->second;
}

bool IsView(const Schema& twin) { return twin.returns[0].is_alias; }

bool ChangesSizes(const Schema& writer) {
  if (!writer.mutates()) return false;
  const Schema* const twin = FunctionalTwin(writer);
  return twin == nullptr ? IsResize(writer) : IsView(*twin) && twin->name != "detach";
}

bool MayChangeDType(const Node& call, const Schema& writer, const FactsTable& facts) {
  const absl::string_view name = absl::StripSuffix(writer.name, "_");
  if (ResultRuleOf(name).type == "bool") return true;
  const Argument* self = writer.Given(call, size_t{0});
  const DType dtype = self->is_node() ? facts.Of(self->node()).dtype : DType::kUnknown;
  // Sums of smaller integers are int64.
  if (name == "cumsum" || name == "cumprod") {
    return !IsFloatingPoint(dtype) && dtype != DType::kInt64;
  }
  // A filled tensor keeps its dtype.
  if (!IsPointwise(writer) || name == "masked_fill" || name == "fill") return false;
  // If a number promoted the tensor, PyTorch could not write the result back, so only tensors
  // count.
  for (size_t i = 1; i < writer.arguments.size(); ++i) {
    const Argument* other = writer.Given(call, i);
    if (other == nullptr || !other->is_node() ||
        writer.arguments[i].type.kind != SchemaType::Kind::kTensor) {
      continue;
    }
    if (dtype == DType::kUnknown || facts.Of(other->node()).dtype != dtype) return true;
  }
  return false;
}

}  // namespace graphnet
