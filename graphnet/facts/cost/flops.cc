#include "graphnet/facts/cost/flops.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/base/check.h"
#include "graphnet/facts/cost/cost_text.h"
#include "graphnet/facts/shapes/result_rules.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr size_t kMaxOfEinsum = 64;  // operands: each step moves the remaining ones

int64_t Add(int64_t a, int64_t b) { return a > kMost - b ? kMost : a + b; }
int64_t Multiply(int64_t a, int64_t b) { return a != 0 && b > kMost / a ? kMost : a * b; }

// A number; nullopt if it is unknown.
using Count = std::optional<int64_t>;

Count operator+(Count a, Count b) {
  return a.has_value() && b.has_value() ? Count(Add(*a, *b)) : std::nullopt;
}
Count operator*(Count a, Count b) {
  return a.has_value() && b.has_value() ? Count(Multiply(*a, *b)) : std::nullopt;
}
Count operator*(int64_t a, Count b) { return Count(a) * b; }

// The known sizes of a tensor. A negative dimension counts from the end.
class Shape {
 public:
  explicit Shape(const TensorFacts& facts) : sizes_(facts.sizes) {}
  explicit Shape(std::optional<Sizes> sizes) : sizes_(std::move(sizes)) {}

  bool is_known() const { return sizes_.has_value(); }
  int rank() const { return is_known() ? static_cast<int>(sizes_->size()) : -1; }
  Count operator[](int dim) const {
    if (dim < 0) dim += rank();
    if (dim < 0 || dim >= rank()) return std::nullopt;
    const int64_t size = (*sizes_)[static_cast<size_t>(dim)];
    return size < 0 ? std::nullopt : Count(size);
  }
  // Returns the product of the sizes from `begin` to `end`, by default of all. A size of 0 makes it
  // 0 even if others are unknown.
  Count Elements(int begin, int end) const {
    if (!is_known()) return std::nullopt;
    Count count = 1;
    bool is_empty = false;
    for (int dim = std::max(begin, 0); dim < std::min(end, rank()); ++dim) {
      is_empty |= (*this)[dim] == 0;
      count = count * (*this)[dim];
    }
    return is_empty ? Count(0) : count;
  }
  Count Elements() const { return Elements(0, rank()); }
  const std::optional<Sizes>& sizes() const { return sizes_; }

 private:
  std::optional<Sizes> sizes_;
};

// Returns the number of elements to which all but the last `kept` dimensions broadcast. If sizes
// differ, the larger one counts: it may be a multiple, as for the heads of queries and keys.
Count Broadcast(const Shape& a, const Shape& b, int kept) {
  if (!a.is_known() || !b.is_known()) return std::nullopt;
  Count count = 1;
  for (int dim = kept; dim < std::max(a.rank(), b.rank()); ++dim) {
    const Count x = dim < a.rank() ? a[a.rank() - 1 - dim] : Count(1);
    const Count y = dim < b.rank() ? b[b.rank() - 1 - dim] : Count(1);
    if (!x.has_value() || !y.has_value()) return std::nullopt;
    count = count * (*x == 0 || *y == 0 ? 0 : std::max(*x, *y));
  }
  return count;
}

// The work of a call, and the column that it counts in.
struct Work {
  enum class Column : uint8_t { kFlops, kOther };
  Column column = Column::kFlops;
  Count count;
};
Work Flops(Count count) { return {Work::Column::kFlops, count}; }
Work Other(Count count) { return {Work::Column::kOther, count}; }

// A call with the facts of its operands and results.
struct Call {
  const Node& node;
  const Schema& schema;
  FactsOfArgument of;
  absl::Span<const TensorFacts> results;

  Argument operator[](absl::string_view parameter) const {
    return ArgumentOf(node, schema, parameter);
  }
  Shape shape(absl::string_view parameter) const { return Shape(of((*this)[parameter])); }
  // Returns the shape of the argument for the i-th parameter.
  Shape shape(size_t i) const {
    return i < schema.arguments.size() ? shape(schema.arguments[i].name) : Shape(std::nullopt);
  }
  Shape result() const { return results.empty() ? Shape(std::nullopt) : Shape(results[0]); }
  bool is_true(absl::string_view parameter) const {
    const Argument value = (*this)[parameter];
    return (value.is_bool() && value.boolean()) || (value.is_int() && value.integer() != 0);
  }
  std::vector<Shape> shapes(absl::string_view parameter) const {
    std::vector<Shape> shapes;
    const Argument list = (*this)[parameter];
    if (!list.is_list() && !list.is_tuple()) return shapes;
    for (const Argument& element : list.elements()) shapes.emplace_back(of(element));
    return shapes;
  }
};

// Returns the FLOPs of each row of `a` times the matrix or vector `b`.
Count Product(const Shape& a, const Shape& b) {
  if (!a.is_known() || !b.is_known()) return std::nullopt;
  return 2 * a.Elements() * (b.rank() > 1 ? b[-1] : Count(1));
}

Work Matmul(const Shape& a, const Shape& b) {
  if (!a.is_known() || !b.is_known()) return Flops(std::nullopt);
  // Products with a vector are dot or mv, which FlopCounterMode does not count.
  if (b.rank() == 1) return Other(2 * a.Elements());
  if (a.rank() == 1) return Flops(2 * b.Elements());
  return Flops(2 * Broadcast(a, b, 2) * a[-2] * a[-1] * b[-1]);
}

Work Linear(const Call& call) {
  const Shape x = call.shape("input");
  const Shape w = call.shape("weight");
  if (w.rank() == 1) return Other(2 * x.Elements());
  return Flops(2 * x.Elements() * w[0]);
}

// Returns the FLOPs of a convolution: one product with the filter at each place.
Count Convolution(const Shape& x, const Shape& w, const Shape& result, bool transposed) {
  if (!x.is_known() || !w.is_known()) return std::nullopt;
  const Shape& places = transposed ? x : result;
  if (!places.is_known()) return std::nullopt;
  const int dims = w.rank() - 2;
  const bool has_batch = x.rank() == w.rank();
  return 2 * places.Elements(places.rank() - dims, places.rank()) * w.Elements() *
         (has_batch ? x[0] : Count(1));
}

Work ConvolutionBackward(const Call& call) {
  const Shape grad = call.shape("grad_output");
  const Shape x = call.shape("input");
  const Shape w = call.shape("weight");
  const bool transposed = call.is_true("transposed");
  const Argument mask = call["output_mask"];
  Count count = 0;
  const auto asked = [&](size_t i) {
    return mask.elements().size() > i && mask.elements()[i].is_bool() &&
           mask.elements()[i].boolean();
  };
  if (!mask.is_list() && !mask.is_tuple()) return Flops(std::nullopt);
  if (asked(0)) count = count + Convolution(grad, w, x, !transposed);
  // The gradient of the weight is a convolution of the one tensor with the other as its filter.
  const Shape& filter = transposed ? x : grad;
  const Shape& over = transposed ? grad : x;
  if (asked(1)) count = count + 2 * w.Elements(2, w.rank()) * filter.Elements() * over[1];
  return Flops(count);
}

// Returns the FLOPs of the scores and of the values that they weigh.
Count Attention(const Shape& q, const Shape& k, const Shape& v) {
  return 2 * Broadcast(q, k, 2) * q[-2] * k[-2] * (q[-1] + v[-1]);
}

// Recurrent layers apply each of their matrices to every step of every sequence.
Work Recurrent(const Call& call) {
  const Shape x = call.shape("input");
  Count count = 0;
  for (const Shape& w : call.shapes("params")) {
    if (!w.is_known()) return Flops(std::nullopt);
    if (w.rank() == 2) count = count + w.Elements();
  }
  return Flops(2 * x.Elements(0, x.rank() - 1) * count);
}

Work RecurrentCell(const Call& call) {
  const Shape x = call.shape("input");
  return Flops(2 * x.Elements(0, x.rank() - 1) *
               (call.shape("w_ih").Elements() + call.shape("w_hh").Elements()));
}

Work Tensordot(const Call& call) {
  const Shape a = call.shape("self");
  const Shape b = call.shape("other");
  const auto summed = DimsOf(call["dims_other"], b.rank());
  if (!summed.has_value()) return Flops(std::nullopt);
  Count kept = 1;
  for (int dim = 0; dim < b.rank(); ++dim) {
    if (!absl::c_linear_search(*summed, static_cast<size_t>(dim))) kept = kept * b[dim];
  }
  return Flops(2 * a.Elements() * kept);
}

// Multiplies all pairs of rows.
Work Inner(const Call& call) {
  const Shape a = call.shape("self");
  const Shape b = call.shape("other");
  if (a.rank() == 1 && b.rank() == 1) return Other(2 * a.Elements());
  return Flops(2 * a.Elements() * b.Elements(0, b.rank() - 1));
}

// Returns the sizes of an operand of einsum by label. A dimension of an ellipsis has a negative
// label, -1 for the last one.
std::optional<std::map<int, int64_t>> LabelledSizes(absl::string_view labels, const Shape& shape) {
  std::map<int, int64_t> sizes;
  if (!shape.is_known()) return std::nullopt;
  const std::string spelled = absl::StrReplaceAll(labels, {{"...", "."}});
  const int more =
      shape.rank() - static_cast<int>(spelled.size()) + 1;  // dimensions of the ellipsis
  int dim = 0;
  const auto add = [&](int label) {
    const Count size = shape[dim++];
    if (!size.has_value()) return false;
    int64_t& known = sizes.try_emplace(label, 1).first->second;
    known = std::max(known, *size);
    return true;
  };
  for (const char letter : spelled) {
    if (letter != '.') {
      if (!add(letter)) return std::nullopt;
      continue;
    }
    for (int i = 0; i < more; ++i) {
      if (!add(i - more)) return std::nullopt;
    }
  }
  return sizes;
}

// Follows ATen's evaluation of an equation: two operands become one. The step is a matrix product
// if it sums over labels, otherwise an elementwise product, which FlopCounterMode does not count.
Work Einsum(const Call& call) {
  const Argument equation = call["equation"];
  std::vector<Shape> shapes = call.shapes("tensors");
  if (!equation.is_string() || shapes.empty() || shapes.size() > kMaxOfEinsum)
    return Flops(std::nullopt);
  const std::string spelled = absl::StrReplaceAll(equation.string(), {{" ", ""}});
  const std::string output = OutputOfEinsum(spelled);
  const std::vector<std::string> terms = absl::StrSplit(spelled.substr(0, spelled.find("->")), ',');
  if (terms.size() != shapes.size()) return Flops(std::nullopt);
  std::vector<std::map<int, int64_t>> operands;
  std::map<int, int>
      holders;  // for each summed label, the number of operands in which its size is not 1
  for (size_t i = 0; i < terms.size(); ++i) {
    auto sizes = LabelledSizes(terms[i], shapes[i]);
    if (!sizes.has_value()) return Flops(std::nullopt);
    for (const auto& [label, size] : *sizes) {
      const bool is_kept = label < 0 || absl::StrContains(output, static_cast<char>(label));
      if (!is_kept && size != 1) ++holders[label];
    }
    operands.push_back(*std::move(sizes));
  }
  const std::optional<Sizes> path = NumbersOf(call["path"]);
  Count count = 0;
  for (size_t step = 0; operands.size() > 1; ++step) {
    size_t i = 0;
    size_t j = 1;
    if (path.has_value() && path->size() > 2 * step + 1) {
      i = static_cast<size_t>(std::min((*path)[2 * step], (*path)[2 * step + 1]));
      j = static_cast<size_t>(std::max((*path)[2 * step], (*path)[2 * step + 1]));
      if (i >= j || j >= operands.size()) return Flops(std::nullopt);
    }
    std::map<int, int64_t> a = std::move(operands[i]);
    std::map<int, int64_t> b = std::move(operands[j]);
    operands.erase(operands.begin() + static_cast<ptrdiff_t>(j));
    operands.erase(operands.begin() + static_cast<ptrdiff_t>(i));
    bool sums = false;
    for (auto& [label, size] : a) {
      const auto other = b.find(label);
      if (size == 1 || other == b.end() || other->second == 1) continue;
      const auto holder = holders.find(label);
      if (holder != holders.end() && --holder->second == 1) {
        sums = true;
        holder->second = 0;
      }
    }
    // A label that only one of them has is summed before the product.
    std::map<int, int64_t> product = a;
    for (const auto& [label, size] : b) {
      int64_t& known = product.try_emplace(label, 1).first->second;
      known = size == 0 || known == 0 ? 0 : std::max(known, size);
    }
    Count all = 2;
    for (auto it = product.begin(); it != product.end();) {
      const auto holder = holders.find(it->first);
      const bool is_alone = holder != holders.end() && holder->second == 1;
      if (is_alone) holder->second = 0;
      if (!is_alone) all = all * it->second;
      const bool is_gone = holder != holders.end() && holder->second == 0;
      it = is_gone ? product.erase(it) : std::next(it);
    }
    if (sums) count = count + all;
    operands.insert(path.has_value() ? operands.end() : operands.begin(), std::move(product));
  }
  if (count == 0) {  // elementwise steps only
    return Other(call.result().Elements());
  }
  return Flops(count);
}

// torch.nn.functional.multi_head_attention_forward takes the sequence dimension first.
Work MultiHeadAttention(const Call& call) {
  const Shape q = call.shape("query");
  const Shape k = call.shape("key");
  const Shape v = call.shape("value");
  const Shape out = call.shape("out_proj_weight");
  const Count width = q[-1];
  const Count rows = q.Elements(0, q.rank() - 1);
  Count steps = k[0];  // number of keys
  if (call.shape("bias_k").is_known()) steps = steps + 1;
  if (call.is_true("add_zero_attn")) steps = steps + 1;
  const Count projections = q.Elements() * width + (k.Elements() + v.Elements()) * width;
  const Count attention = 2 * rows * steps * width;
  return Flops(2 * (projections + attention + rows * out.Elements()));
}

struct Formula {
  Work (*work)(const Call& call);
  WorkClass of;
};

// Returns the formulas by the exact name of the operator: aten.addmm_ has none.
const absl::flat_hash_map<absl::string_view, Formula>& Formulas() {
  static const auto* const formulas = [] {
    using enum WorkClass;
    const auto first_two = [](const Call& call) {
      return Flops(Product(call.shape(0), call.shape(1)));
    };
    const auto second_two = [](const Call& call) {
      return Flops(Product(call.shape(1), call.shape(2)));
    };
    const auto matmul = [](const Call& call) { return Matmul(call.shape(0), call.shape(1)); };
    const auto convolution = [](const Call& call) {
      return Flops(
          Convolution(call.shape(0), call.shape(1), call.result(), call.is_true("transposed")));
    };
    const auto transposed = [](const Call& call) {
      return Flops(Convolution(call.shape(0), call.shape(1), call.result(), true));
    };
    const auto attention = [](const Call& call) {
      return Flops(Attention(call.shape("query"), call.shape("key"), call.shape("value")));
    };
    const auto attention_backward = [](const Call& call) {
      const Shape q = call.shape("query");
      const Shape k = call.shape("key");
      // The scores are computed again, and each of the two forward products needs two products.
      const Count columns = 3 * q[-1] + 2 * call.shape("value")[-1];
      return Flops(2 * Broadcast(q, k, 2) * q[-2] * k[-2] * columns);
    };
    auto* made = new absl::flat_hash_map<absl::string_view, Formula>{
        {"mm", {first_two, kMatmul}},
        {"bmm", {first_two, kMatmul}},
        {"_scaled_mm", {first_two, kMatmul}},
        {"addmm", {second_two, kMatmul}},
        {"baddbmm", {second_two, kMatmul}},
        {"matmul", {matmul, kMatmul}},
        {"linalg_matmul", {matmul, kMatmul}},
        {"linear", {Linear, kMatmul}},
        {"einsum", {Einsum, kMatmul}},
        {"tensordot", {Tensordot, kMatmul}},
        {"inner", {Inner, kMatmul}},
        {"convolution_backward", {ConvolutionBackward, kConvolution}},
        {"torch.nn.functional.multi_head_attention_forward", {MultiHeadAttention, kAttention}},
    };
    for (const char* name : {"conv1d", "conv2d", "conv3d", "convolution", "_convolution",
                             "convolution_overrideable", "cudnn_convolution", "_convolution_mode"})
      made->insert({name, {convolution, kConvolution}});
    for (const char* name : {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d"})
      made->insert({name, {transposed, kConvolution}});
    for (const char* name :
         {"scaled_dot_product_attention", "_scaled_dot_product_attention_math",
          "_scaled_dot_product_flash_attention", "_scaled_dot_product_efficient_attention",
          "_scaled_dot_product_cudnn_attention", "_scaled_dot_product_flash_attention_for_cpu",
          "_scaled_dot_product_fused_attention_overrideable"})
      made->insert({name, {attention, kAttention}});
    for (const char* name : {"_scaled_dot_product_flash_attention_backward",
                             "_scaled_dot_product_efficient_attention_backward",
                             "_scaled_dot_product_cudnn_attention_backward",
                             "_scaled_dot_product_flash_attention_for_cpu_backward"})
      made->insert({name, {attention_backward, kAttention}});
    for (const char* name : {"lstm", "gru", "rnn_tanh", "rnn_relu"})
      made->insert({name, {Recurrent, kRecurrent}});
    for (const char* name : {"lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"})
      made->insert({name, {RecurrentCell, kRecurrent}});
    return made;
  }();
  return *formulas;
}

// A row of costs.txt.
struct Rule {
  enum class Kind : uint8_t { kNone, kMove, kResult, kInput, kProduct };
  Kind kind = Kind::kNone;
  int64_t times = 0;
  bool normalises = false;
};

Rule ParseRule(absl::string_view word) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(word, absl::MaxSplits(':', 1));
  Rule rule;
  CHECK(parts.second.empty() || absl::SimpleAtoi(parts.second, &rule.times));
  if (parts.first == "move") {
    rule.kind = Rule::Kind::kMove;
  } else if (parts.first == "result") {
    rule.kind = Rule::Kind::kResult;
  } else if (parts.first == "input" || parts.first == "norm") {
    rule.kind = Rule::Kind::kInput;
    rule.normalises = parts.first == "norm";
  } else if (parts.first == "product") {
    rule.kind = Rule::Kind::kProduct;
  } else {
    CHECK(parts.first == "none");
  }
  return rule;
}

const absl::flat_hash_map<absl::string_view, Rule>& Rules() {
  static const auto* const rules = [] {
    auto* made = new absl::flat_hash_map<absl::string_view, Rule>;
    for (const absl::string_view line : absl::StrSplit(CostText(), '\n', absl::SkipEmpty())) {
      if (line[0] == '#') continue;
      const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
      const Rule rule = ParseRule(words[0]);
      for (size_t i = 1; i < words.size(); ++i) CHECK(made->try_emplace(words[i], rule).second);
    }
    return made;
  }();
  return *rules;
}

// Returns the operator that torch.nn.functional.interpolate calls for a mode.
absl::string_view Interpolation(const Argument& mode) {
  constexpr std::pair<absl::string_view, absl::string_view> kOperators[] = {
      {"linear", "upsample_linear1d"},       {"bilinear", "upsample_bilinear2d"},
      {"trilinear", "upsample_trilinear3d"}, {"bicubic", "upsample_bicubic2d"},
      {"area", "adaptive_avg_pool2d"},
  };
  for (const auto& [name, of] : kOperators) {
    if (mode.is_string() && mode.string() == name) return of;
  }
  return "upsample_nearest2d";
}

// Returns the rule of costs.txt for an operator; null if there is none.
const Rule* FindRule(absl::string_view name) {
  for (const absl::string_view spelling : {name, absl::StripSuffix(name, "_")}) {
    if (const auto it = Rules().find(CommonName(spelling)); it != Rules().end()) return &it->second;
  }
  return nullptr;
}

const Rule* FindRule(const Call& call) {
  return FindRule(call.schema.name == "torch.nn.functional.interpolate"
                      ? Interpolation(call["mode"])
                      : call.schema.name);
}

bool IsView(const Schema& schema) {
  return !schema.mutates() && !schema.returns.empty() &&
         absl::c_all_of(schema.returns, [](const SchemaType& type) { return type.is_alias; });
}

// Returns whether the call is a dropout outside of training, which returns its operand.
bool IsIdleDropout(const Call& call) {
  if (!absl::StrContains(call.schema.name, "dropout")) return false;
  for (const absl::string_view parameter : {"train", "training"}) {
    const Argument value = call[parameter];
    if (call.schema.FindArgument(parameter) != nullptr) return value.is_bool() && !value.boolean();
  }
  return false;
}

// Returns whether the results have the dtype of the first operand.
bool KeepsDType(const Call& call) {
  const TensorFacts from = call.of(call.node.args().empty() ? Argument() : call.node.args()[0]);
  return absl::c_all_of(call.results,
                        [&](const TensorFacts& result) { return result.dtype == from.dtype; });
}

Count BytesMoved(const Call& call, bool is_move) {
  Count written = 0;
  for (const TensorFacts& result : call.results) written = written + BytesOfTensor(result);
  Count read = 0;
  absl::flat_hash_set<const Node*> seen;
  call.node.ForEachOperand([&](Node* operand) {
    const TensorFacts facts = call.of(Argument(operand));
    if (facts.kind == TensorFacts::Kind::kOther || !seen.insert(operand).second) return;
    Count bytes = BytesOfTensor(facts);
    if (is_move && bytes.has_value() && written.has_value()) bytes = std::min(*bytes, *written);
    read = read + bytes;
  });
  return written + read;
}

// Returns the work of an operator without a formula, by the rules of costs.txt.
Work OtherWork(const Call& call, const Rule* rule) {
  if (rule == nullptr) {
    return Other(IsPointwise(call.schema) ? call.result().Elements() : std::nullopt);
  }
  const Shape first = Shape([&] {
    TensorFacts facts;
    call.node.ForEachOperand([&](Node* operand) {
      const TensorFacts of = call.of(Argument(operand));
      if (!facts.is_tensor() && of.is_tensor()) facts = of;
    });
    return facts;
  }());
  switch (rule->kind) {
    case Rule::Kind::kResult: return Other(rule->times * call.result().Elements());
    case Rule::Kind::kInput: return Other(rule->times * first.Elements());
    case Rule::Kind::kProduct: {
      const bool adds = absl::StartsWith(call.schema.name, "add");
      return Other(Product(call.shape(adds ? 1 : 0), call.shape(adds ? 2 : 1)));
    }
    default: return Other(0);
  }
}

// Returns the cost of a subscript. It is a view unless an index is a tensor. An assigned value is
// read and written.
Cost CostOfSubscript(const Node& node, FactsOfArgument of, absl::Span<const TensorFacts> results) {
  Cost cost = {.calls = 1};
  Count bytes = 0;
  if (node.target() == "operator.setitem") {
    const TensorFacts value = of(node.args().back());
    if (value.is_tensor()) bytes = 2 * BytesOfTensor(value);
  } else if (!results.empty() && of(node.args()[0]).is_tensor()) {
    bool picks = false;
    graphnet::ForEachArgument(node.args()[1], [&](const Argument& index) {
      picks |= index.is_node() && of(index).is_tensor();
    });
    if (picks) bytes = 2 * BytesOfTensor(results[0]);
  }
  cost.bytes = bytes.value_or(0);
  cost.unknown = bytes.has_value() ? 0 : 1;
  return cost;
}

Cost Unknown() { return {.calls = 1, .unknown = 1}; }

}  // namespace

std::optional<int64_t> BytesOfTensor(const TensorFacts& facts) {
  const int64_t bytes = DTypeBytes(facts.dtype);
  if (bytes == 0) return std::nullopt;
  return bytes * Shape(facts).Elements();
}

Cost& Cost::operator+=(const Cost& more) {
  flops = Add(flops, more.flops);
  other = Add(other, more.other);
  bytes = Add(bytes, more.bytes);
  calls = Add(calls, more.calls);
  unknown = Add(unknown, more.unknown);
  return *this;
}

Cost Cost::Times(int64_t times) const {
  return {Multiply(flops, times), Multiply(other, times), Multiply(bytes, times),
          Multiply(calls, times), Multiply(unknown, times)};
}

bool IsProduct(const Node& call) {
  const Schema* const schema = FindOverload(call.target());
  return schema != nullptr && Formulas().contains(schema->name);
}

absl::string_view WorkClassName(WorkClass work) {
  static constexpr absl::string_view kNames[kNumWorkClasses] = {
      "attention", "convolution", "recurrent", "matmul", "normalisation",
      "reduction", "pointwise",   "movement",  "other"};
  return kNames[static_cast<size_t>(work)];
}

WorkClass WorkClassOf(absl::string_view meaning) {
  const std::string function = absl::StrCat("torch.nn.functional.", meaning);
  for (const absl::string_view name : {absl::string_view(function), meaning}) {
    if (const auto it = Formulas().find(name); it != Formulas().end()) return it->second.of;
  }
  if (meaning == "getitem" || meaning == "setitem") return WorkClass::kMovement;
  const Rule* const rule =
      FindRule(meaning == "interpolate" ? Interpolation(Argument()) : absl::string_view(meaning));
  if (rule != nullptr) {
    switch (rule->kind) {
      case Rule::Kind::kNone:
      case Rule::Kind::kMove: return WorkClass::kMovement;
      case Rule::Kind::kResult: return WorkClass::kPointwise;
      case Rule::Kind::kInput:
        return rule->normalises ? WorkClass::kNormalisation : WorkClass::kReduction;
      case Rule::Kind::kProduct: return WorkClass::kMatmul;
    }
  }
  for (const Schema& schema : FindSchemas(meaning)) {
    if (IsPointwise(schema)) return WorkClass::kPointwise;
    if (IsView(schema)) return WorkClass::kMovement;
  }
  return WorkClass::kOther;
}

bool IsOfTorchScript(absl::string_view target) {
  absl::ConsumePrefix(&target, "torch.ops.");
  return absl::StartsWith(target, "aten.") || absl::StartsWith(target, "prim.");
}

std::vector<absl::string_view> OperatorsWithCosts() {
  std::vector<absl::string_view> names;
  for (const auto& [name, rule] : Rules()) names.push_back(name);
  absl::c_sort(names);
  return names;
}

Cost CostOfCall(const Node& node, FactsOfArgument of, absl::Span<const TensorFacts> results) {
  constexpr Rule kMoves = {.kind = Rule::Kind::kMove};
  const Callable callee = CalleeOf(node);
  const Schema* schema = FindOverload(node.target());
  if (schema == nullptr && callee.kind == Callable::Kind::kFunction) schema = &callee.overloads[0];
  bool has_tensors = absl::c_any_of(results, [](const TensorFacts& f) { return f.is_tensor(); });
  node.ForEachOperand([&](Node* operand) {
    has_tensors |= of(Argument(operand)).kind != TensorFacts::Kind::kOther;
  });
  const bool is_python =
      callee.kind == Callable::Kind::kPythonOperator || callee.kind == Callable::Kind::kFunction;
  if (!has_tensors) return {.calls = 1};
  if (node.target() == "operator.getitem" || node.target() == "operator.setitem")
    return CostOfSubscript(node, of, results);
  if (is_python && results.empty()) return {.calls = 1};  // It only inspects a tensor.
  if (schema == nullptr) {
    const bool yields_numbers = absl::c_all_of(results, [](const TensorFacts& result) {
      return result.is_tensor() && result.rank() == 0;
    });
    return yields_numbers && IsOfTorchScript(node.target()) ? Cost{.calls = 1} : Unknown();
  }
  const Call call{node, *schema, of, results};
  const auto formula = Formulas().find(schema->name);
  const Rule* rule = FindRule(call);
  Work work;
  if (formula != Formulas().end()) {
    work = formula->second.work(call);
  } else if (rule != nullptr && rule->kind == Rule::Kind::kNone) {
    return {.calls = 1};
  } else if (IsIdleDropout(call) || (IsView(*schema) && KeepsDType(call))) {
    return {.calls = 1};
  } else {
    work = OtherWork(call, IsView(*schema) && rule == nullptr ? &kMoves : rule);
  }
  const Count bytes = BytesMoved(call, rule != nullptr && rule->kind == Rule::Kind::kMove);
  Cost cost = {.bytes = bytes.value_or(0), .calls = 1};
  (work.column == Work::Column::kFlops ? cost.flops : cost.other) = work.count.value_or(0);
  cost.unknown = work.count.has_value() && bytes.has_value() ? 0 : 1;
  return cost;
}

}  // namespace graphnet
