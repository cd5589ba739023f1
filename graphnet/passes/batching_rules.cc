#include "graphnet/passes/batching_rules.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/passes/tensor_facts.h"

namespace graphnet {
namespace {

using Rule = BatchingRule;

struct Row {
  Rule rule;
  absl::string_view name;
  absl::string_view operators;  // by name; empty where their schema says it
};
// In the order of the enumeration.
constexpr Row kRows[] = {
    {Rule::kPointwise, "element by element", ""},
    {Rule::kLike, "shape of its first tensor",
     "to _to_copy type_as contiguous detach alias lift_fresh zeros_like ones_like full_like "
     "empty_like log_sigmoid"},
    {Rule::kTrailing, "last dimensions",
     "tril triu layer_norm rms_norm constant_pad_nd pad mT adjoint mH"},
    {Rule::kNew, "new tensors", "new_ones new_zeros new_full new_empty"},
    {Rule::kDims, "along dimensions",
     "softmax log_softmax cumsum cumprod logcumsumexp sum mean prod amax amin max min any all "
     "argmax argmin std var std_mean var_mean logsumexp linalg_vector_norm norm nansum nanmean "
     "sort argsort topk kthvalue median mode count_nonzero flip roll glu select slice narrow "
     "unsqueeze squeeze unbind split split_with_sizes chunk tensor_split transpose swapaxes "
     "swapdims movedim moveaxis flatten unflatten diagonal repeat_interleave cummax cummin"},
    {Rule::kWhole, "reductions of all dimensions", ""},
    {Rule::kView, "sizes", "view reshape"},
    {Rule::kExpand, "expansion", "expand expand_as"},
    {Rule::kRepeat, "repetition", "repeat"},
    {Rule::kPermute, "permutation", "permute"},
    {Rule::kSqueeze, "squeezing", ""},
    {Rule::kTranspose, "transposition", "t numpy_T"},
    {Rule::kJoin, "joining", "cat concat stack"},
    {Rule::kAlong, "gather and scatter", "gather scatter scatter_add"},
    {Rule::kIndex, "indexing by tensors", "index"},
    {Rule::kIndexSelect, "selection of indices", "index_select"},
    {Rule::kEmbedding, "embedding", "embedding"},
    {Rule::kMatmul, "products of matrices and vectors", "matmul mm bmm mv dot"},
    {Rule::kLinear, "linear", "linear"},
    {Rule::kAddMatmul, "sums with products", "addmm baddbmm addmv"},
    {Rule::kOuter, "outer product", "outer ger"},
    {Rule::kAttention, "attention", "scaled_dot_product_attention"},
    {Rule::kEinsum, "sums of products by an equation", "einsum"},
    {Rule::kConvolution, "convolutions",
     "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d convolution"},
    {Rule::kImages, "pooling, interpolation and norms of images",
     "avg_pool1d avg_pool2d avg_pool3d max_pool1d max_pool2d max_pool3d adaptive_avg_pool1d "
     "adaptive_avg_pool2d adaptive_avg_pool3d upsample_nearest1d upsample_nearest2d "
     "upsample_nearest3d upsample_bilinear2d upsample_bicubic2d upsample_linear1d "
     "upsample_trilinear3d group_norm"},
    {Rule::kIndexPut, "writing by tensors of indices", "index_put index_put_"},
    {Rule::kRandom, "random tensors of a size", ""},
    {Rule::kSize, "sizes of dimensions", "size sym_size"},
};

const absl::flat_hash_map<absl::string_view, Rule>& BatchingTable() {
  static const auto* const table = [] {
    auto* made = new absl::flat_hash_map<absl::string_view, Rule>;
    for (const Row& row : kRows) {
      for (const absl::string_view name : absl::StrSplit(row.operators, ' ', absl::SkipEmpty()))
        (*made)[name] = row.rule;
    }
    return made;
  }();
  return *table;
}

}  // namespace

BatchingRule BatchingRuleOf(const Schema& schema) {
  if (IsPointwise(schema)) return Rule::kPointwise;
  const absl::string_view name = OperatorName(schema);
  const bool takes_tensors = absl::c_any_of(schema.arguments, [](const SchemaArgument& argument) {
    return argument.type.kind == SchemaType::Kind::kTensor;
  });
  if (schema.is_random && !takes_tensors && schema.FindArgument("size") != nullptr) {
    return Rule::kRandom;
  }
  const auto it = BatchingTable().find(name);
  if (schema.mutates() && (it == BatchingTable().end() || it->second != Rule::kIndexPut)) {
    return Rule::kNone;
  }
  if (it == BatchingTable().end()) return Rule::kNone;
  if (name == "view" && schema.FindArgument("size") == nullptr) return Rule::kLike;  // view(dtype)
  if (it->second != Rule::kDims) return it->second;
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
    const absl::string_view name = OperatorName(schema);
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
