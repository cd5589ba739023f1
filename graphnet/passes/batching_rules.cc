#include "graphnet/passes/batching_rules.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/passes/tensor_facts.h"

namespace graphnet {
namespace {

using Rule = BatchingRule;

const absl::flat_hash_map<absl::string_view, Rule>& Table() {
  static const auto* const table = [] {
    auto* made = new absl::flat_hash_map<absl::string_view, Rule>;
    const auto add = [made](Rule rule, std::initializer_list<absl::string_view> names) {
      for (const absl::string_view name : names) (*made)[name] = rule;
    };
    add(Rule::kLike, {"to", "_to_copy", "type_as", "contiguous", "detach", "alias", "lift_fresh",
                      "zeros_like", "ones_like", "full_like", "empty_like", "log_sigmoid"});
    add(Rule::kTrailing, {"tril", "triu", "layer_norm", "rms_norm", "constant_pad_nd", "pad", "mT",
                          "adjoint", "mH"});
    add(Rule::kNew, {"new_ones", "new_zeros", "new_full", "new_empty"});
    add(Rule::kDims, {"softmax",
                      "log_softmax",
                      "cumsum",
                      "cumprod",
                      "logcumsumexp",
                      "sum",
                      "mean",
                      "prod",
                      "amax",
                      "amin",
                      "max",
                      "min",
                      "any",
                      "all",
                      "argmax",
                      "argmin",
                      "std",
                      "var",
                      "std_mean",
                      "var_mean",
                      "logsumexp",
                      "linalg_vector_norm",
                      "norm",
                      "nansum",
                      "nanmean",
                      "sort",
                      "argsort",
                      "topk",
                      "kthvalue",
                      "median",
                      "mode",
                      "count_nonzero",
                      "flip",
                      "roll",
                      "glu",
                      "select",
                      "slice",
                      "narrow",
                      "unsqueeze",
                      "squeeze",
                      "unbind",
                      "split",
                      "split_with_sizes",
                      "chunk",
                      "tensor_split",
                      "transpose",
                      "swapaxes",
                      "swapdims",
                      "movedim",
                      "moveaxis",
                      "flatten",
                      "unflatten",
                      "diagonal",
                      "repeat_interleave",
                      "cummax",
                      "cummin"});
    add(Rule::kView, {"view", "reshape"});
    add(Rule::kExpand, {"expand", "expand_as"});
    add(Rule::kRepeat, {"repeat"});
    add(Rule::kPermute, {"permute"});
    add(Rule::kTranspose, {"t", "numpy_T"});
    add(Rule::kJoin, {"cat", "concat", "stack"});
    add(Rule::kAlong, {"gather", "scatter", "scatter_add"});
    add(Rule::kIndex, {"index"});
    add(Rule::kIndexSelect, {"index_select"});
    add(Rule::kEmbedding, {"embedding"});
    add(Rule::kMatmul, {"matmul", "mm", "bmm", "mv", "dot"});
    add(Rule::kLinear, {"linear"});
    add(Rule::kAddMatmul, {"addmm", "baddbmm", "addmv"});
    add(Rule::kOuter, {"outer", "ger"});
    add(Rule::kAttention, {"scaled_dot_product_attention"});
    add(Rule::kEinsum, {"einsum"});
    add(Rule::kConvolution, {"conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
                             "conv_transpose3d", "convolution"});
    add(Rule::kImages,
        {"avg_pool1d", "avg_pool2d", "avg_pool3d", "max_pool1d", "max_pool2d", "max_pool3d",
         "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "upsample_nearest1d",
         "upsample_nearest2d", "upsample_nearest3d", "upsample_bilinear2d", "upsample_bicubic2d",
         "upsample_linear1d", "upsample_trilinear3d", "group_norm"});
    add(Rule::kIndexPut, {"index_put", "index_put_"});
    add(Rule::kSize, {"size", "sym_size"});
    return made;
  }();
  return *table;
}

}  // namespace

absl::string_view BatchingRuleName(BatchingRule rule) {
  switch (rule) {
    case Rule::kNone: return "none";
    case Rule::kPointwise: return "element by element";
    case Rule::kLike: return "shape of its first tensor";
    case Rule::kTrailing: return "last dimensions";
    case Rule::kNew: return "new tensors";
    case Rule::kDims: return "along dimensions";
    case Rule::kWhole: return "reductions of all dimensions";
    case Rule::kView: return "sizes";
    case Rule::kExpand: return "expansion";
    case Rule::kRepeat: return "repetition";
    case Rule::kPermute: return "permutation";
    case Rule::kSqueeze: return "squeezing";
    case Rule::kTranspose: return "transposition";
    case Rule::kJoin: return "joining";
    case Rule::kAlong: return "gather and scatter";
    case Rule::kIndex: return "indexing by tensors";
    case Rule::kIndexSelect: return "selection of indices";
    case Rule::kEmbedding: return "embedding";
    case Rule::kMatmul: return "products of matrices and vectors";
    case Rule::kLinear: return "linear";
    case Rule::kAddMatmul: return "sums with products";
    case Rule::kOuter: return "outer product";
    case Rule::kAttention: return "attention";
    case Rule::kEinsum: return "sums of products by an equation";
    case Rule::kConvolution: return "convolutions";
    case Rule::kImages: return "pooling, interpolation and norms of images";
    case Rule::kIndexPut: return "writing by tensors of indices";
    case Rule::kRandom: return "random tensors of a size";
    case Rule::kSize: return "sizes of dimensions";
  }
  return "none";
}

BatchingRule BatchingRuleOf(const Schema& schema) {
  if (IsPointwise(schema)) return Rule::kPointwise;
  const absl::string_view name = OperatorName(schema);
  const bool takes_tensors = absl::c_any_of(schema.arguments, [](const SchemaArgument& argument) {
    return argument.type.kind == SchemaType::Kind::kTensor;
  });
  if (schema.is_random && !takes_tensors && schema.FindArgument("size") != nullptr) {
    return Rule::kRandom;
  }
  const auto it = Table().find(name);
  if (schema.mutates() && (it == Table().end() || it->second != Rule::kIndexPut)) {
    return Rule::kNone;
  }
  if (it == Table().end()) return Rule::kNone;
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
  for (auto rule = static_cast<int>(Rule::kNone) + 1; rule <= static_cast<int>(Rule::kSize);
       ++rule) {
    const auto names = OperatorsWithBatchingRule(static_cast<Rule>(rule));
    absl::StrAppend(&out, "| ", BatchingRuleName(static_cast<Rule>(rule)), " | `",
                    absl::StrJoin(names, "` `"), "` |\n");
  }
  return out;
}

}  // namespace graphnet
