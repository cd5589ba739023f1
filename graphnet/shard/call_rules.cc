#include "graphnet/shard/call_rules.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "graphnet/facts/shapes/result_rules.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/shard/dim_rules.h"
#include "graphnet/shard/view_rules.h"

namespace graphnet::spmd {

using Result = std::optional<ShardingRule>;
using Letters = std::vector<int>;

ShardingRule StartRule(const CallFacts& call) {
  ShardingRule rule;
  for (const TensorFacts& operand : call.operands)
    rule.operands.push_back({Letters(static_cast<size_t>(std::max(operand.rank(), 0)), kNoLetter)});
  return rule;
}

const Sizes* SizesOf(const CallFacts& call, size_t operand) {
  if (operand >= call.operands.size()) return nullptr;
  const auto& sizes = call.operands[operand].sizes;
  return sizes.has_value() ? &*sizes : nullptr;
}

namespace {

// Gives the dimensions of an operand, from the last on, the letters to which they broadcast. If a
// size is unknown, or neither 1 nor that of the letter, the letter stays whole.
void Align(const CallFacts& call, size_t operand, absl::Span<const int> letters,
           ShardingRule* rule) {
  const TensorFacts& facts = call.operands[operand];
  if (facts.kind == TensorFacts::Kind::kOther) return;
  Letters& dims = rule->operands[operand].dims;
  if (!facts.sizes.has_value() || dims.size() > letters.size()) {
    for (const int letter : letters) rule->KeepWhole(letter);
    return;
  }
  const size_t missing = letters.size() - dims.size();
  for (size_t d = 0; d < dims.size(); ++d) {
    const int letter = letters[missing + d];
    if (letter < 0) continue;
    const int64_t size = (*facts.sizes)[d];
    const int64_t whole = rule->letters[static_cast<size_t>(letter)].sizes[0];
    if (size == whole && size >= 0) {
      dims[d] = letter;
    } else if (size != 1 || whole < 0) {
      rule->KeepWhole(letter);
    }
  }
}

const Sizes* SizesOf(const CallFacts& call, absl::string_view parameter) {
  const std::vector<size_t> operands = call.operands_of(parameter);
  return operands.size() == 1 ? SizesOf(call, operands[0]) : nullptr;
}

Letters* DimsOfOperand(const CallFacts& call, absl::string_view parameter, ShardingRule* rule) {
  const std::vector<size_t> operands = call.operands_of(parameter);
  return operands.size() == 1 ? &rule->operands[operands[0]].dims : nullptr;
}

size_t NumResults(const CallFacts& call) {
  return call.schema == nullptr ? 1 : std::max<size_t>(call.schema->returns.size(), 1);
}

}  // namespace

Result PointwiseRule(const CallFacts& call) {
  if (!call.result.is_tensor() || !call.result.sizes.has_value()) return std::nullopt;
  ShardingRule rule = StartRule(call);
  const Letters letters = rule.NewLetters(*call.result.sizes);
  for (size_t i = 0; i < call.operands.size(); ++i) Align(call, i, letters, &rule);
  rule.results.push_back({letters});
  return rule;
}

Result KeepDims(const CallFacts& call, absl::Span<const size_t> whole, bool drop) {
  const Sizes* sizes = SizesOf(call, size_t{0});
  if (sizes == nullptr) return std::nullopt;
  ShardingRule rule = StartRule(call);
  const Letters letters = rule.NewLetters(*sizes);
  rule.operands[0].dims = letters;
  Letters result;
  for (size_t i = 0; i < letters.size(); ++i) {
    const bool is_whole = absl::c_linear_search(whole, i);
    if (is_whole) rule.KeepWhole(letters[i]);
    if (!is_whole || !drop) result.push_back(letters[i]);
  }
  rule.results.assign(NumResults(call), {result});
  return rule;
}

namespace {

// Returns the dimensions that a call names by "dim" or "dims"; all if it names none.
std::optional<std::vector<size_t>> DimsSaid(const CallFacts& call) {
  for (const absl::string_view name : {"dim", "dims"}) {
    if (!call.has(name)) continue;
    const Argument said = call.arg(name);
    const bool none = said.is_none() || (said.is_aggregate() && said.elements().empty());
    if (!none) return DimsOf(said, call.operands[0].rank());
    break;
  }
  std::vector<size_t> all(static_cast<size_t>(std::max(call.operands[0].rank(), 0)));
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

Result AlongDims(const CallFacts& call) {
  if (SizesOf(call, size_t{0}) == nullptr) return std::nullopt;
  const auto dims = DimsSaid(call);
  return dims.has_value() ? KeepDims(call, *dims) : std::nullopt;
}

Result ReduceBy(const CallFacts& call, std::optional<ReduceType> type) {
  const Sizes* sizes = SizesOf(call, size_t{0});
  if (sizes == nullptr) return std::nullopt;
  const auto dims = DimsSaid(call);
  if (!dims.has_value()) return std::nullopt;
  const bool keep = call.has("keepdim") && call.arg("keepdim") == Argument(true);
  ShardingRule rule = StartRule(call);
  const Letters letters = rule.NewLetters(*sizes);
  rule.operands[0].dims = letters;
  Letters result;
  for (size_t i = 0; i < letters.size(); ++i) {
    if (!absl::c_linear_search(*dims, i)) {
      result.push_back(letters[i]);
      continue;
    }
    // Indices (the second result of max and min) cannot be combined across ranks.
    if (NumResults(call) == 1) rule.letters[static_cast<size_t>(letters[i])].reduced = type;
    if (keep) result.push_back(kNoLetter);
  }
  rule.results.assign(NumResults(call), {result});
  return rule;
}
Result Reduce(const CallFacts& call) { return ReduceBy(call, std::nullopt); }
template <ReduceType kType>
Result ReducePartially(const CallFacts& call) {
  return ReduceBy(call, kType);
}

// Returns the number of last dimensions on which an operator works.
std::optional<size_t> NumTrailing(const CallFacts& call) {
  const auto length = [&](absl::string_view parameter) -> std::optional<size_t> {
    const Argument list = call.arg(parameter);
    if (!list.is_aggregate()) return std::nullopt;
    return list.elements().size();
  };
  if (call.has("normalized_shape")) return length("normalized_shape");
  if (call.has("pad")) {
    const auto pads = length("pad");
    return pads.has_value() ? std::optional<size_t>(*pads / 2) : std::nullopt;
  }
  const absl::string_view name = call.schema->name;
  if (name == "tril" || name == "triu") return 2;
  if (absl::StartsWith(name, "pixel_")) return 3;
  for (const auto& [ending, dims] :
       {std::pair("1d", size_t{1}), std::pair("2d", size_t{2}), std::pair("3d", size_t{3})}) {
    if (absl::StrContains(name, ending)) return dims;
  }
  return std::nullopt;
}

Result Trailing(const CallFacts& call) {
  const Sizes* sizes = SizesOf(call, size_t{0});
  const auto trailing = NumTrailing(call);
  if (sizes == nullptr || !trailing.has_value() || *trailing > sizes->size()) return std::nullopt;
  std::vector<size_t> dims;
  for (size_t i = sizes->size() - *trailing; i < sizes->size(); ++i) dims.push_back(i);
  return KeepDims(call, dims);
}

// Rule of norms that compute statistics over all dimensions but the first.
Result Samples(const CallFacts& call) {
  const Sizes* sizes = SizesOf(call, size_t{0});
  if (sizes == nullptr || sizes->size() < 2) return std::nullopt;
  // Running statistics are those of the whole batch.
  if (!call.operands_of("running_mean").empty()) return std::nullopt;
  std::vector<size_t> dims;
  for (size_t i = 1; i < sizes->size(); ++i) dims.push_back(i);
  return KeepDims(call, dims);
}

// Rule of element-wise calls with one number for each channel (dimension 1).
Result Channels(const CallFacts& call) {
  const Sizes* sizes = SizesOf(call, size_t{0});
  if (sizes == nullptr || sizes->size() < 2) return std::nullopt;
  if (call.has("training") && call.arg("training") != Argument(false)) return std::nullopt;
  ShardingRule rule = StartRule(call);
  const Letters letters = rule.NewLetters(*sizes);
  rule.operands[0].dims = letters;
  for (size_t i = 1; i < call.operands.size(); ++i) Align(call, i, {letters[1]}, &rule);
  rule.results.push_back({letters});
  return rule;
}

// Rule of a product of the operands `first` and `first` + 1. An operand before them is added.
Result Product(const CallFacts& call, size_t first) {
  const Sizes* a = SizesOf(call, first);
  const Sizes* b = SizesOf(call, first + 1);
  if (a == nullptr || b == nullptr || a->empty() || b->empty()) return std::nullopt;
  if (!call.result.sizes.has_value()) return std::nullopt;
  ShardingRule rule = StartRule(call);
  const bool has_m = a->size() > 1;
  const bool has_n = b->size() > 1;
  const Letters letters = rule.NewLetters(*call.result.sizes);
  const size_t own = static_cast<size_t>(has_m) + static_cast<size_t>(has_n);
  if (letters.size() < own) return std::nullopt;
  const absl::Span<const int> batch = absl::MakeConstSpan(letters).first(letters.size() - own);
  const int k = rule.NewLetter(a->back());
  rule.letters.back().reduced = ReduceType::kSum;
  // Each operand has the letters of the batch in front, as many as it has batch dimensions.
  Letters of_a(batch.begin(), batch.end());
  Letters of_b = of_a;
  if (has_m) of_a.push_back(letters[batch.size()]);
  of_a.push_back(k);
  of_b.push_back(k);
  if (has_n) of_b.push_back(letters.back());
  Align(call, first, of_a, &rule);
  Align(call, first + 1, of_b, &rule);
  if (first > 0) {
    Align(call, 0, letters, &rule);
    rule.operands[0].is_term = true;
  }
  rule.results.push_back({letters});
  return rule;
}
Result Matmul(const CallFacts& call) { return Product(call, 0); }
Result AddMatmul(const CallFacts& call) { return Product(call, 1); }

Result Linear(const CallFacts& call) {
  const Sizes* x = SizesOf(call, "input");
  const Sizes* weight = SizesOf(call, "weight");
  if (x == nullptr || weight == nullptr || x->empty() || weight->size() != 2) return std::nullopt;
  ShardingRule rule = StartRule(call);
  Letters letters = rule.NewLetters(*x);
  const int k = letters.back();
  rule.letters[static_cast<size_t>(k)].reduced = ReduceType::kSum;
  const int n = rule.NewLetter((*weight)[0]);
  *DimsOfOperand(call, "input", &rule) = letters;
  Align(call, 1, {n, k}, &rule);
  for (const size_t bias : call.operands_of("bias")) {
    Align(call, bias, {n}, &rule);
    rule.operands[bias].is_term = true;
  }
  letters.back() = n;
  rule.results.push_back({letters});
  return rule;
}

Result Outer(const CallFacts& call) {
  const Sizes* a = SizesOf(call, size_t{0});
  const Sizes* b = SizesOf(call, 1);
  if (a == nullptr || b == nullptr || a->size() != 1 || b->size() != 1) return std::nullopt;
  ShardingRule rule = StartRule(call);
  const Letters letters = rule.NewLetters({(*a)[0], (*b)[0]});
  rule.operands[0].dims = {letters[0]};
  rule.operands[1].dims = {letters[1]};
  rule.results.push_back({letters});
  return rule;
}

Result Einsum(const CallFacts& call) {
  const Argument equation = call.arg("equation");
  if (!equation.is_string() || absl::StrContains(equation.string(), '.')) return std::nullopt;
  std::string text(equation.string());
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const std::string terms = text.substr(0, text.find("->"));
  const std::vector<std::string> inputs = absl::StrSplit(terms, ',');
  if (inputs.size() != call.operands.size()) return std::nullopt;
  ShardingRule rule = StartRule(call);
  absl::flat_hash_map<char, int> letters;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Sizes* sizes = SizesOf(call, i);
    if (sizes == nullptr || sizes->size() != inputs[i].size()) return std::nullopt;
    for (size_t d = 0; d < sizes->size(); ++d) {
      const char c = inputs[i][d];
      const auto [letter, is_new] = letters.try_emplace(c, 0);
      if (is_new) letter->second = rule.NewLetter((*sizes)[d]);
      // Diagonals and sizes that broadcast stay whole.
      if (inputs[i].find(c) != d || rule.letters[letter->second].sizes[0] != (*sizes)[d])
        rule.KeepWhole(letter->second);
      rule.operands[i].dims[d] = letter->second;
    }
  }
  const std::string output = OutputOfEinsum(equation.string());
  Letters result;
  for (const char c : output) {
    const auto letter = letters.find(c);
    if (letter == letters.end()) return std::nullopt;
    result.push_back(letter->second);
  }
  for (const auto& [c, letter] : letters) {
    if (!absl::StrContains(output, c))
      rule.letters[static_cast<size_t>(letter)].reduced = ReduceType::kSum;
  }
  rule.results.push_back({result});
  return rule;
}

Result Convolution(const CallFacts& call) {
  const Sizes* x = SizesOf(call, "input");
  const Sizes* weight = SizesOf(call, "weight");
  if (x == nullptr || weight == nullptr || x->size() != weight->size() || x->size() < 3)
    return std::nullopt;
  const bool transposed = absl::StrContains(call.schema->name, "transpose") ||
                          (call.has("transposed") && call.arg("transposed") != Argument(false));
  ShardingRule rule = StartRule(call);
  const int n = rule.NewLetter((*x)[0]);
  Letters result(x->size(), kNoLetter);
  Letters& of_x = *DimsOfOperand(call, "input", &rule);
  of_x[0] = result[0] = n;
  if (call.arg("groups") == Argument(1)) {
    const size_t out = transposed ? 1 : 0;
    const int o = rule.NewLetter((*weight)[out]);
    const int c = rule.NewLetter((*x)[1]);
    rule.letters.back().reduced = ReduceType::kSum;
    Letters& of_weight = *DimsOfOperand(call, "weight", &rule);
    of_weight[out] = result[1] = o;
    of_weight[1 - out] = of_x[1] = c;
    for (const size_t bias : call.operands_of("bias")) {
      Align(call, bias, {o}, &rule);
      rule.operands[bias].is_term = true;
    }
  }
  rule.results.push_back({result});
  return rule;
}

Result Attention(const CallFacts& call) {
  const Sizes* query = SizesOf(call, "query");
  if (query == nullptr || query->size() < 3 || !call.result.sizes.has_value()) return std::nullopt;
  ShardingRule rule = StartRule(call);
  Letters letters = rule.NewLetters(*call.result.sizes);
  letters.resize(letters.size() - 2);
  letters.resize(letters.size() + 2, kNoLetter);
  for (size_t i = 0; i < call.operands.size(); ++i) Align(call, i, letters, &rule);
  rule.results.push_back({letters});
  return rule;
}

Result Embedding(const CallFacts& call) {
  const Sizes* weight = SizesOf(call, "weight");
  const Sizes* indices = SizesOf(call, "indices");
  if (weight == nullptr || indices == nullptr || weight->size() != 2) return std::nullopt;
  ShardingRule rule = StartRule(call);
  Letters letters = rule.NewLetters(*indices);
  *DimsOfOperand(call, "indices", &rule) = letters;
  letters.push_back(rule.NewLetter((*weight)[1]));
  DimsOfOperand(call, "weight", &rule)->back() = letters.back();
  rule.results.push_back({letters});
  return rule;
}

Result Gather(const CallFacts& call) {
  const Sizes* self = SizesOf(call, "self");
  const Sizes* index = SizesOf(call, "index");
  if (self == nullptr || index == nullptr || index->size() != self->size()) return std::nullopt;
  const auto dim = DimsOf(call.arg("dim"), call.operands[0].rank());
  if (!dim.has_value() || dim->size() != 1) return std::nullopt;
  ShardingRule rule = StartRule(call);
  const Letters letters = rule.NewLetters(*index);
  *DimsOfOperand(call, "index", &rule) = letters;
  Letters& of_self = *DimsOfOperand(call, "self", &rule);
  for (size_t i = 0; i < letters.size(); ++i) {
    if (i == (*dim)[0]) continue;
    // If the index is smaller, a rank's part of it does not go with its part of the source.
    if ((*self)[i] == (*index)[i])
      of_self[i] = letters[i];
    else
      rule.KeepWhole(letters[i]);
  }
  rule.results.push_back({letters});
  return rule;
}

// Rule of a call that replaces a dimension of the first operand by those of an index.
Result TakeAlong(const CallFacts& call, size_t dim, size_t index) {
  const Sizes* self = SizesOf(call, size_t{0});
  const Sizes* of_index = SizesOf(call, index);
  if (self == nullptr || of_index == nullptr || dim >= self->size()) return std::nullopt;
  ShardingRule rule = StartRule(call);
  const Letters letters = rule.NewLetters(*self);
  rule.operands[0].dims = letters;
  const Letters taken = rule.NewLetters(*of_index);
  rule.operands[index].dims = taken;
  Letters result(letters.begin(), letters.begin() + static_cast<ptrdiff_t>(dim));
  result.insert(result.end(), taken.begin(), taken.end());
  result.insert(result.end(), letters.begin() + static_cast<ptrdiff_t>(dim) + 1, letters.end());
  rule.results.push_back({result});
  return rule;
}

Result IndexSelect(const CallFacts& call) {
  const auto dim = DimsOf(call.arg("dim"), call.operands[0].rank());
  const std::vector<size_t> index = call.operands_of("index");
  if (!dim.has_value() || dim->size() != 1 || index.size() != 1) return std::nullopt;
  const Sizes* sizes = SizesOf(call, index[0]);
  if (sizes == nullptr || sizes->size() != 1) return std::nullopt;
  return TakeAlong(call, (*dim)[0], index[0]);
}

Result Index(const CallFacts& call) {
  const Argument indices = call.arg("indices");
  if (!indices.is_aggregate() || call.operands.size() != 2 || !call.operands[1].is_index())
    return std::nullopt;
  for (size_t i = 0; i < indices.elements().size(); ++i) {
    if (indices.elements()[i].is_node()) return TakeAlong(call, i, 1);
  }
  return std::nullopt;
}

Result Join(const CallFacts& call) {
  if (!call.result.sizes.has_value()) return std::nullopt;
  const auto dim = DimsOf(call.arg("dim"), call.result.rank());
  if (!dim.has_value() || dim->size() != 1) return std::nullopt;
  const bool adds_dim = call.schema->name == "stack";
  ShardingRule rule = StartRule(call);
  const Letters letters = rule.NewLetters(*call.result.sizes);
  rule.KeepWhole(letters[(*dim)[0]]);
  Letters own = letters;
  if (adds_dim) own.erase(own.begin() + static_cast<ptrdiff_t>((*dim)[0]));
  for (ShardingRule::Tensor& operand : rule.operands) {
    if (operand.dims.size() != own.size()) return std::nullopt;
    operand.dims = own;
  }
  rule.results.push_back({letters});
  return rule;
}

Result Pieces(const CallFacts& call) {
  const Sizes* sizes = SizesOf(call, size_t{0});
  if (sizes == nullptr || call.operands.size() != 1) return std::nullopt;
  const auto dim = DimsOf(call.arg("dim"), call.operands[0].rank());
  if (!dim.has_value()) return std::nullopt;
  const absl::string_view name = call.schema->name;
  return KeepDims(call, *dim, /*drop=*/name == "unbind" || name == "select");
}

constexpr CallRule kRules[] = {
    {"pointwise", "all dimensions; a size of 1 that broadcasts stays whole",
     "alias clone contiguous detach dropout empty_like fill full_like lift_fresh ones_like to "
     "zero zeros_like _to_copy",
     &PointwiseRule, ""},
    {"channels",
     "all dimensions; operands with one value for each channel are divided with the channels",
     "batch_norm prelu", &Channels, ""},
    {"matmul", "rows, columns and batch; the summed dimension gives a partial sum",
     "bmm dot matmul mm mv", &Matmul, "", /*adds_up=*/true},
    {"addmm", "as matmul; the added operand is a term of the partial sum", "addmm addmv baddbmm",
     &AddMatmul, "", /*adds_up=*/true},
    {"linear", "as matmul; the bias is a term of the partial sum", "linear", &Linear, "",
     /*adds_up=*/true},
    {"outer", "both dimensions", "ger outer", &Outer, ""},
    {"einsum", "all letters; summed letters give a partial sum", "einsum", &Einsum, "",
     /*adds_up=*/true},
    {"sum", "all dimensions; reduced dimensions give a partial sum", "sum nansum count_nonzero",
     &ReducePartially<ReduceType::kSum>, "", /*adds_up=*/true},
    {"mean", "all dimensions; reduced dimensions give a partial average", "mean",
     &ReducePartially<ReduceType::kAvg>, "",
     /*adds_up=*/true},
    {"max",
     "all dimensions; reduced dimensions give a partial maximum, but not if indices are returned",
     "amax max", &ReducePartially<ReduceType::kMax>, ""},
    {"min",
     "all dimensions; reduced dimensions give a partial minimum, but not if indices are returned",
     "amin min", &ReducePartially<ReduceType::kMin>, ""},
    {"prod", "all dimensions; reduced dimensions give a partial product", "prod",
     &ReducePartially<ReduceType::kProduct>, "",
     /*adds_up=*/true},
    {"any", "all dimensions; reduced dimensions give a partial or", "any",
     &ReducePartially<ReduceType::kAny>, ""},
    {"all", "all dimensions; reduced dimensions give a partial and", "all",
     &ReducePartially<ReduceType::kAll>, ""},
    {"reduce", "the dimensions that are not reduced",
     "argmax argmin kthvalue linalg_vector_norm logsumexp median mode nanmean norm std std_mean "
     "var var_mean",
     &Reduce, "", /*adds_up=*/true},
    {"along", "the dimensions along which it does not work",
     "_log_softmax _softmax argsort cummax cummin cumprod cumsum flip glu log_softmax "
     "logcumsumexp roll softmax sort topk",
     &AlongDims, "", /*adds_up=*/true},
    {"trailing", "the dimensions before those on which it works",
     "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool2d avg_pool1d "
     "avg_pool2d avg_pool3d constant_pad_nd layer_norm max_pool1d max_pool2d max_pool3d "
     "max_pool2d_with_indices pad pixel_shuffle pixel_unshuffle rms_norm tril triu "
     "upsample_bicubic2d upsample_bilinear2d upsample_linear1d upsample_nearest1d "
     "upsample_nearest2d upsample_nearest3d upsample_trilinear3d",
     &Trailing, "", /*adds_up=*/true},
    {"samples", "the first dimension", "group_norm instance_norm", &Samples, "", /*adds_up=*/true},
    {"conv", "the batch and, without groups, output channels; input channels give a partial sum",
     "_convolution conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d "
     "convolution",
     &Convolution, "", /*adds_up=*/true},
    {"attention", "batch and heads", "scaled_dot_product_attention", &Attention, "",
     /*adds_up=*/true},
    {"embedding", "the dimensions of the indices and of an entry", "embedding", &Embedding, ""},
    {"gather", "the dimensions of the index, and all of the source but the one that is indexed",
     "gather", &Gather, ""},
    {"index_select",
     "the dimensions of the index, and all of the source but the one that is indexed",
     "index_select", &IndexSelect, ""},
    {"index",
     "the dimensions of the index, and all of the source but the one that is indexed; one tensor "
     "of integers only",
     "index", &Index, ""},
    {"join", "all dimensions but the one along which they are joined", "cat stack", &Join, ""},
    {"pieces", "all dimensions but the one that is cut",
     "chunk select split split_with_sizes tensor_split unbind unsafe_chunk unsafe_split", &Pieces,
     ""},
    {"slice", "all dimensions but the one that is sliced", "narrow slice", &Slice, ""},
    {"subscript", "the dimensions that are taken whole", "operator.getitem", &Subscript, ""},
    {"permute", "all dimensions", "permute", &Permute, ""},
    {"transpose", "all dimensions", "adjoint mH mT numpy_T swapaxes swapdims t transpose",
     &Transpose, ""},
    {"movedim", "all dimensions", "moveaxis movedim", &MoveDim, ""},
    {"view", "all dimensions; if several become one or one becomes several, only the first of them",
     "_unsafe_view view", &Reshape, "size"},
    {"reshape",
     "all dimensions; if several become one or one becomes several, only the first of them",
     "reshape", &Reshape, "shape"},
    {"unflatten",
     "all dimensions; if several become one or one becomes several, only the first of them",
     "unflatten", &Reshape, "sizes"},
    {"flatten", "all dimensions; if several become one, only the first of them", "flatten",
     &Flatten, ""},
    {"squeeze", "all dimensions that are not of size 1", "squeeze", &Squeeze, ""},
    {"unsqueeze", "all dimensions that are not of size 1", "unsqueeze", &Unsqueeze, ""},
    {"expand", "the dimensions that are not expanded", "broadcast_to expand", &Expand, "size"},
    {"repeat", "the dimensions that are not repeated", "repeat", &Repeat, ""},
};

}  // namespace

CallFacts::CallFacts(const Node& call, std::vector<TensorFacts> operand_facts,
                     TensorFacts result_facts)
    : node(call),
      schema(FindOverload(call.target())),
      operands(std::move(operand_facts)),
      result(std::move(result_facts)) {}

bool CallFacts::has(absl::string_view parameter) const {
  return schema != nullptr && schema->FindArgument(parameter) != nullptr;
}

Argument CallFacts::arg(absl::string_view parameter) const {
  return schema == nullptr ? Argument() : ArgumentOf(node, *schema, parameter);
}

std::vector<size_t> CallFacts::operands_of(absl::string_view parameter) const {
  std::vector<size_t> found;
  size_t next = 0;
  const auto add = [&](bool is_it, const Argument& argument) {
    ForEachArgument(argument, [&](const Argument& a) {
      if (!a.is_node()) return;
      if (is_it) found.push_back(next);
      ++next;
    });
  };
  const int at = schema == nullptr ? -1 : schema->IndexOf(parameter);
  for (size_t i = 0; i < node.args().size(); ++i) add(static_cast<int>(i) == at, node.args()[i]);
  for (const KwArg& kwarg : node.kwargs()) add(kwarg.name == parameter, kwarg.value);
  return found;
}

bool DrawsNothing(const Node& call) {
  const Schema* schema = FindOverload(call.target());
  if (schema == nullptr) return false;
  if (!schema->is_random) return true;
  for (const absl::string_view name : {"train", "training"}) {
    if (schema->FindArgument(name) != nullptr)
      return ArgumentOf(call, *schema, name) == Argument(false);
  }
  const Argument p = ArgumentOf(call, *schema, "dropout_p");
  return p == Argument(0.0) || p == Argument(0);
}

absl::Span<const CallRule> CallRules() { return kRules; }

const CallRule* FindCallRule(const Node& call) {
  static const auto* const rules = [] {
    auto* by_name = new absl::flat_hash_map<absl::string_view, const CallRule*>;
    for (const CallRule& rule : kRules) {
      for (const absl::string_view name : absl::StrSplit(rule.operators, ' '))
        by_name->emplace(name, &rule);
    }
    return by_name;
  }();
  const Schema* schema = FindOverload(call.target());
  if (schema != nullptr && IsPointwise(*schema)) return &kRules[0];
  const auto rule = rules->find(schema == nullptr ? call.target() : CommonName(schema->name));
  return rule == rules->end() ? nullptr : rule->second;
}

std::optional<ShardingRule> ShardingRuleOfCall(const CallFacts& call) {
  const CallRule* rule = FindCallRule(call.node);
  if (rule == nullptr || call.operands.empty()) return std::nullopt;
  if (call.schema != nullptr && !DrawsNothing(call.node)) return std::nullopt;
  return rule->rule(call);
}

}  // namespace graphnet::spmd
