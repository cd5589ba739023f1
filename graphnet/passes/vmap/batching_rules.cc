#include "graphnet/passes/vmap/batching_rules.h"

#include <algorithm>
#include <iterator>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/facts/shapes/result_rules.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {
namespace {

using Rule = BatchingRule;

struct Row {
  Rule rule;
  absl::string_view name;
  absl::string_view word;  // of results.txt; empty if the schema decides
};
// The rows are in the order of the enumeration.
constexpr Row kRows[] = {
    {Rule::kPointwise, "element by element", ""},
    {Rule::kLike, "shape of its first tensor", "like"},
    {Rule::kTrailing, "last dimensions", "trailing"},
    {Rule::kNew, "new tensors", "new"},
    {Rule::kDims, "along dimensions", "dims"},
    {Rule::kWhole, "reductions of all dimensions", ""},
    {Rule::kView, "sizes", "view"},
    {Rule::kExpand, "expansion", "expand"},
    {Rule::kRepeat, "repetition", "repeat"},
    {Rule::kPermute, "permutation", "permute"},
    {Rule::kSqueeze, "squeezing", ""},
    {Rule::kTranspose, "transposition", "transpose"},
    {Rule::kJoin, "joining", "join"},
    {Rule::kAlong, "gather and scatter", "along"},
    {Rule::kIndex, "indexing by tensors", "index"},
    {Rule::kIndexSelect, "selection of indices", "index_select"},
    {Rule::kEmbedding, "embedding", "embedding"},
    {Rule::kMatmul, "products of matrices and vectors", "matmul"},
    {Rule::kLinear, "linear", "linear"},
    {Rule::kAddMatmul, "sums with products", "addmm"},
    {Rule::kOuter, "outer product", "outer"},
    {Rule::kAttention, "attention", "attention"},
    {Rule::kEinsum, "sums of products by an equation", "einsum"},
    {Rule::kConvolution, "convolutions", "conv"},
    {Rule::kImages, "pooling, interpolation and norms of images", "images"},
    {Rule::kIndexPut, "writing by tensors of indices", "put"},
    {Rule::kRandom, "random tensors of a size", ""},
    {Rule::kSize, "sizes of dimensions", "size"},
};

}  // namespace

BatchingRule BatchingRuleOf(const Schema& schema) {
  if (IsPointwise(schema)) return Rule::kPointwise;
  const absl::string_view name = schema.name;
  const bool takes_tensors = absl::c_any_of(schema.arguments, [](const SchemaArgument& argument) {
    return argument.type.kind == SchemaType::Kind::kTensor;
  });
  if (schema.is_random && !takes_tensors && schema.FindArgument("size") != nullptr) {
    return Rule::kRandom;
  }
  const absl::string_view word = ResultRuleOf(name).batching;
  const Row* const row = absl::c_find_if(kRows, [&](const Row& r) { return r.word == word; });
  if (row == std::end(kRows) || (schema.mutates() && row->rule != Rule::kIndexPut))
    return Rule::kNone;
  if (name == "view" && schema.FindArgument("size") == nullptr) return Rule::kLike;  // view(dtype)
  if (row->rule != Rule::kDims) return row->rule;
  for (const SchemaArgument& argument : schema.arguments) {
    if (absl::StartsWith(argument.name, "dim") || argument.name == "axis0" ||
        argument.name == "source" || argument.name == "start_dim") {
      return Rule::kDims;
    }
  }
  if (name == "squeeze") return Rule::kSqueeze;
  return WholeReductionOf(name).target.empty() ? Rule::kNone : Rule::kWhole;
}

WholeReduction WholeReductionOf(absl::string_view name) {
  if (name == "sum") return {"aten.sum.dim_IntList"};
  if (name == "mean") return {"aten.mean.dim"};
  if (name == "max") return {"aten.amax.default"};
  if (name == "min") return {"aten.amin.default"};
  if (name == "std") return {"aten.std.dim"};
  if (name == "var") return {"aten.var.dim"};
  if (name == "norm") return {"aten.linalg_vector_norm.default"};
  if (name == "prod") return {"aten.prod.dim_int", true};
  if (name == "any") return {"aten.any.dim", true};
  if (name == "all") return {"aten.all.dim", true};
  return {};
}

std::vector<absl::string_view> OperatorsWithBatchingRule(BatchingRule rule) {
  std::vector<absl::string_view> names;
  for (const Schema& schema : AllSchemas()) {
    const absl::string_view name = schema.name;
    if (BatchingRuleOf(schema) == rule && !absl::c_linear_search(names, name))
      names.push_back(name);
  }
  absl::c_sort(names);
  return names;
}

std::string BatchingRulesSection() {
  std::string out =
      "## Operators that expand-vmap covers\n\n"
      "| rule | operators of ATen |\n|---|---|\n";
  for (const Row& row : kRows) {
    absl::StrAppend(&out, "| ", row.name, " | `",
                    absl::StrJoin(OperatorsWithBatchingRule(row.rule), "` `"), "` |\n");
  }
  return out;
}

}  // namespace graphnet
