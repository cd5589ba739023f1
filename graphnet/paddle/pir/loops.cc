#include "graphnet/paddle/pir/loops.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "graphnet/ir/text/literal.h"
#include "graphnet/paddle/pir/builder.h"
#include "graphnet/paddle/pir/formulas.h"
#include "graphnet/paddle/pir/groups.h"

namespace graphnet::pir {
namespace {

constexpr int64_t kThreads = 256;

// Limit for operations and loads in one block. Longer expressions are divided over several blocks.
constexpr size_t kMaxTerms = 64;

// Returns a number as a 64-bit literal of C.
std::string Wide(int64_t number) { return absl::StrCat(number, "ll"); }

// Returns an expression in C, with numbers printed by `print`.
std::string DimText(const SymExpr& expr, std::string (*print)(int64_t)) {
  const auto operand = [&](const SymExpr* e) { return DimText(*e, print); };
  const auto infix = [&](absl::string_view op) {
    return absl::StrCat("(", operand(expr.lhs), op, operand(expr.rhs), ")");
  };
  const auto call = [&](absl::string_view function) {
    return absl::StrCat(function, "(", operand(expr.lhs), ", ", operand(expr.rhs), ")");
  };
  switch (expr.kind) {
    case SymExpr::Kind::kInt: return print(expr.value);
    case SymExpr::Kind::kNeg: return absl::StrCat("(-", operand(expr.lhs), ")");
    case SymExpr::Kind::kAdd: return infix(" + ");
    case SymExpr::Kind::kSub: return infix(" - ");
    case SymExpr::Kind::kMul: return infix(" * ");
    case SymExpr::Kind::kFloorDiv: return infix(" / ");
    case SymExpr::Kind::kMod: return infix(" % ");
    case SymExpr::Kind::kPow: return call("pow");
    case SymExpr::Kind::kMin: return call("min");
    case SymExpr::Kind::kMax: return call("max");
    default: return std::string(expr.name);
  }
}

// A size or a product of sizes: a number times an expression of symbols, if there are any.
class Size {
 public:
  Size(int64_t number) : number_(number) {}  // NOLINT
  explicit Size(const Dim& dim) : number_(dim.is_static() ? dim.value : 1) {
    if (!dim.is_static()) symbols_ = DimText(*dim.expr, Wide);
  }

  bool is_number() const { return symbols_.empty(); }
  // Returns the number, or the factor in front of the symbols.
  int64_t number() const { return number_; }
  std::string text() const {
    if (is_number()) return absl::StrCat(number_);
    return number_ == 1 ? symbols_ : absl::StrCat("(", symbols_, " * ", Wide(number_), ")");
  }
  std::string wide() const { return is_number() ? Wide(number_) : text(); }
  bool operator==(const Size&) const = default;
  Size operator*(const Size& other) const {
    Size product = *this;
    if (__builtin_mul_overflow(number_, other.number_, &product.number_)) {
      product.number_ = std::numeric_limits<int64_t>::max();
    }
    if (is_number()) {
      product.symbols_ = other.symbols_;
    } else if (!other.is_number()) {
      product.symbols_ = absl::StrCat("(", symbols_, " * ", other.symbols_, ")");
    }
    return product;
  }
  // `number` must divide it.
  Size operator/(int64_t number) const {
    Size quotient = *this;
    quotient.number_ /= number;
    return quotient;
  }

 private:
  int64_t number_ = 0;
  std::string symbols_;
};

std::vector<Size> SizesOf(const Node& node) {
  std::vector<Size> sizes;
  for (const Dim& dim : node.tensor_meta()->shape) sizes.emplace_back(dim);
  return sizes;
}

// Returns i, j, k, …, and unique names beyond those.
std::string LoopName(size_t i) {
  constexpr absl::string_view kNames = "ijkabcde";
  return i < kNames.size() ? std::string(1, kNames[i]) : absl::StrCat("l", i);
}
// Makes names unique as Paddle does: x, x_0, x_1, ….
std::string Unique(absl::string_view name, size_t i) {
  return i == 0 ? std::string(name) : absl::StrCat(name, "_", i - 1);
}

std::string NumberText(double value) {
  if (std::isinf(value)) return value < 0 ? "(-inf)" : "inf";
  std::string text;
  AppendFloat(value, &text);
  absl::string_view digits = text;
  absl::ConsumeSuffix(&digits, ".0");
  return std::isnan(value) ? "nan" : std::string(digits);
}

// Returns a declaration such as "x: float32[64, 128]".
std::string Declaration(absl::string_view name, const Node& node) {
  std::string out(name);
  const TensorMeta* meta = node.tensor_meta();
  if (meta == nullptr || !meta->has_shape) return out;
  absl::StrAppend(&out, ": ", DTypeName(meta->dtype), "[");
  absl::string_view separator;
  for (const Dim& dim : meta->shape) {
    absl::StrAppend(&out, separator,
                    dim.is_static() ? absl::StrCat(dim.value) : DimText(*dim.expr, [](int64_t n) {
                      return absl::StrCat(n);
                    }));
    separator = ", ";
  }
  return out + "]";
}

std::string Element(absl::string_view name, absl::Span<const std::string> indices) {
  return absl::StrCat(name, "[", absl::StrJoin(indices, ", "), "]");
}

// Returns the operands whose elements are read, as often as the formula mentions them.
std::vector<Node*> Read(const Node& node) {
  const absl::string_view formula = FormulaOf(node)->text;
  std::vector<Node*> read;
  for (size_t i = 0; i + 1 < formula.size(); ++i) {
    if (formula[i] != '$' || !absl::ascii_isdigit(static_cast<unsigned char>(formula[i + 1]))) {
      continue;
    }
    Node* operand = node.args()[static_cast<size_t>(formula[i + 1] - '0')].node();
    double ignored = 0;
    if (!IsScalarConstant(*operand, &ignored)) read.push_back(operand);
  }
  return read;
}

// A group of operations as a function: the names of its values, and the values that are computed in
// a block and kept in a buffer. All others are computed where they are read.
class Function {
 public:
  explicit Function(const Unit& unit) : nodes_(unit.nodes) {
    const absl::flat_hash_set<const Node*> members(nodes_.begin(), nodes_.end());
    for (const Node* node : nodes_) {
      for (Node* operand : Read(*node)) {
        if (members.contains(operand) || names_.contains(operand)) continue;
        names_[operand] = Unique("var", names_.size());
        inputs_.push_back(operand);
      }
    }
    size_t num_values = names_.size();
    for (size_t i = 0; i < nodes_.size(); ++i) {
      names_[nodes_[i]] = Unique("var", num_values++);
      places_[nodes_[i]] = i;
    }
    num_stored_ = nodes_.size();
    for (Node* node : nodes_) {
      if (FormulaOf(*node)->is_reduction) kept_.insert(node);
      if (absl::c_none_of(node->users(), [&](Node* u) { return !members.contains(u); })) continue;
      // A value that is used outside is also stored under the next name.
      outputs_.push_back(node);
      kept_.insert(node);
      names_[node] = Unique("var", num_values++);
      places_[node] = num_stored_++;
    }
    absl::flat_hash_map<const Node*, size_t> terms;
    for (const Node* node : nodes_) {
      const std::vector<Node*> read = Read(*node);
      const auto count = [&] {
        size_t sum = 1;
        for (const Node* operand : read) sum += IsKept(*operand) ? 1 : terms[operand];
        return sum;
      };
      terms[node] = count();
      if (terms[node] <= kMaxTerms) continue;
      for (const Node* operand : read) kept_.insert(operand);
      terms[node] = count();
    }
  }

  const std::vector<Node*>& inputs() const { return inputs_; }
  const std::vector<Node*>& outputs() const { return outputs_; }
  // Returns the values that have a block of their own, in order.
  std::vector<Node*> blocks() const {
    std::vector<Node*> blocks;
    absl::c_copy_if(nodes_, std::back_inserter(blocks), [&](Node* n) { return IsKept(*n); });
    return blocks;
  }
  // Returns whether a value lies in a buffer: it is stored or is an input.
  bool IsKept(const Node& node) const { return kept_.contains(&node) || !places_.contains(&node); }
  const std::string& name(const Node& node) const { return names_.at(&node); }
  std::string root() const { return Unique("root", num_stored_ - 1); }
  // Returns the name of the i-th axis of the block of `node`.
  std::string axis(const Node& node, size_t i) const {
    return Unique(absl::StrCat("i", i), places_.at(&node));
  }

 private:
  const std::vector<Node*>& nodes_;
  std::vector<Node*> inputs_;
  std::vector<Node*> outputs_;
  absl::flat_hash_map<const Node*, std::string> names_;
  absl::flat_hash_map<const Node*, size_t> places_;  // operations first, then stored values
  absl::flat_hash_set<const Node*> kept_;
  size_t num_stored_ = 0;
};

// One block: its axes, the expressions that they are bound to, and the elements that it reads.
struct Block {
  std::vector<std::string> axes;
  std::vector<std::string> bound;
  std::vector<std::string> read;
};

class LoopPrinter {
 public:
  explicit LoopPrinter(const LoopOptions& options) : options_(options) {}

  absl::StatusOr<std::string> Print(const Graph& graph) {
    const std::vector<Unit> units = GroupsOf(graph);
    if (options_.group.has_value()) {
      size_t left = *options_.group;
      for (const Unit& unit : units) {
        if (!unit.is_group) continue;
        if (left-- > 0) continue;
        PrintBody(Function(unit));
        return std::move(out_);
      }
      return absl::InvalidArgumentError(
          absl::StrCat("no group ", *options_.group, ": there are ", *options_.group - left));
    }
    std::vector<std::string> inputs;
    for (const Node* node : graph.placeholders()) {
      inputs.push_back(Declaration(node->name(), *node));
    }
    Line(absl::StrCat("inputs (", absl::StrJoin(inputs, ", "), ")"));
    for (const Unit& unit : units) {
      if (unit.is_group) in_groups_.insert(unit.nodes.begin(), unit.nodes.end());
    }
    for (const Unit& unit : units) {
      if (unit.is_group) {
        PrintGroup(Function(unit));
      } else if (!IsFolded(*unit.nodes[0])) {
        PrintCall(*unit.nodes[0]);
      }
    }
    std::vector<std::string> outputs;
    ForEachArgument(graph.output()->args()[0], [&](const Argument& value) {
      if (value.is_node()) outputs.emplace_back(value.node()->name());
    });
    Line(absl::StrCat("outputs (", absl::StrJoin(outputs, ", "), ")"));
    return std::move(out_);
  }

 private:
  void Line(absl::string_view text) {
    absl::StrAppend(&out_, std::string(depth_ * 2, ' '), text, "\n");
  }
  void Open(absl::string_view text) {
    if (!text.empty()) Line(text);
    Line("{");
    ++depth_;
  }
  void Close() {
    --depth_;
    Line("}");
  }

  // Returns whether a node is a constant that groups write as a number, or the axes of a reduction.
  bool IsFolded(const Node& node) const {
    double ignored = 0;
    const bool is_constant =
        IsScalarConstant(node, &ignored) || node.is_call_function("pd_op.full_int_array");
    return is_constant && node.has_uses() &&
           absl::c_all_of(node.users(), [&](Node* user) { return in_groups_.contains(user); });
  }

  void PrintCall(const Node& node) {
    std::vector<std::string> operands;
    node.ForEachOperand([&](const Node* operand) { operands.emplace_back(operand->name()); });
    std::vector<std::string> results;
    if (HasSeveralResults(node)) {
      for (const Node* user : node.users()) {
        const Node* of = nullptr;
        size_t i = 0;
        if (IsResult(*user, &of, &i)) results.push_back(Declaration(user->name(), *user));
      }
    } else {
      results.push_back(Declaration(node.name(), node));
    }
    Line(absl::StrCat("call ", node.op() == Op::kCallMethod ? "Tensor." : "", node.target(), " (",
                      absl::StrJoin(operands, ", "), ") -> (", absl::StrJoin(results, ", "), ")"));
  }

  void PrintGroup(const Function& function) {
    std::vector<std::string> parameters;
    std::vector<std::string> operands;
    std::vector<std::string> results;
    std::vector<std::string> buffers;
    const auto declare = [&](const Node& node) {
      return Declaration(absl::StrCat("_", function.name(node)), node);
    };
    for (const Node* node : function.inputs()) {
      parameters.push_back(declare(*node));
      operands.emplace_back(node->name());
    }
    for (const Node* node : function.outputs()) {
      parameters.push_back(declare(*node));
      results.push_back(Declaration(node->name(), *node));
    }
    for (Node* node : function.blocks()) {
      if (!absl::c_linear_search(function.outputs(), node)) buffers.push_back(declare(*node));
    }
    const std::string name = absl::StrCat("group_", num_groups_++);
    Line(absl::StrCat("function ", name, " (", absl::StrJoin(parameters, ", "), ")"));
    if (!buffers.empty()) Line(absl::StrCat("buffers (", absl::StrJoin(buffers, ", "), ")"));
    PrintBody(function);
    Line(absl::StrCat("call ", name, " (", absl::StrJoin(operands, ", "), ") -> (",
                      absl::StrJoin(results, ", "), ")"));
  }

  void PrintBody(const Function& function) {
    Open("");
    Open(absl::StrCat("ScheduleBlock(", function.root(), ")"));
    const std::vector<Node*> blocks = function.blocks();
    for (size_t i = 0; i < blocks.size();) {
      if (FormulaOf(*blocks[i])->is_reduction) {
        PrintReduction(function, *blocks[i++]);
        continue;
      }
      size_t end = i + 1;
      while (end < blocks.size() && !FormulaOf(*blocks[end])->is_reduction &&
             SizesOf(*blocks[end]) == SizesOf(*blocks[i])) {
        ++end;
      }
      PrintNest(function, absl::MakeConstSpan(blocks).subspan(i, end - i));
      i = end;
    }
    Close();
    Close();
  }

  // Opens loops over `sizes`, with the names `loops`. Returns the expressions that the indices are
  // bound to.
  std::vector<std::string> OpenLoops(absl::Span<const Size> sizes,
                                     absl::Span<const std::string> loops) {
    opened_ = 0;
    if (!options_.bound) {
      for (size_t i = 0; i < sizes.size(); ++i) {
        Open(absl::StrCat("serial for (", loops[i], ", 0ll, ", sizes[i].wide(), ")"));
        ++opened_;
      }
      return std::vector<std::string>(loops.begin(), loops.end());
    }
    Size all = 1;
    for (const Size& size : sizes) all = all * size;
    const int64_t threads =
        all.is_number() ? std::clamp<int64_t>(all.number(), 1, kThreads) : kThreads;
    const bool fits = all.number() % threads == 0;
    std::string blocks = (all / threads).text();
    if (!fits && all.is_number()) blocks = absl::StrCat((all.number() - 1) / threads + 1);
    if (!fits && !all.is_number()) {
      blocks = absl::StrCat("((", all.text(), " + ", Wide(threads - 1), ") / ", Wide(threads), ")");
    }
    std::string block = loops.empty() ? "i" : absl::StrJoin(loops, "_");
    if (loops.size() > 1) block += "_fused";
    const std::string thread = absl::StrCat(block, "_0");
    Open(absl::StrCat("thread_bind[blockIdx.x] for (", block, ", 0, ", blocks, ")"));
    Open(absl::StrCat("thread_bind[threadIdx.x] for (", thread, ", 0, ", threads, ")"));
    opened_ = 2;
    const std::string index = absl::StrCat("((", block, " * ", threads, ") + ", thread, ")");
    if (!fits) {
      Open(absl::StrCat("if (", index, " < ", all.text(), ")"));
      ++opened_;
    }
    std::vector<std::string> indices;
    // Go from the last dimension on, since the stride of an index is the product of the sizes
    // behind it.
    Size stride = 1;
    for (size_t i = sizes.size(); i-- > 0;) {
      // A size of 0 would divide by 0, and the body of an empty loop never runs.
      const Size size =
          sizes[i].is_number() ? Size(std::max<int64_t>(1, sizes[i].number())) : sizes[i];
      const Size span = size * stride;
      // If the span divides the number of threads, the index does not depend on the block.
      const bool is_of_thread = i > 0 && span.is_number() && threads % span.number() == 0;
      std::string at = is_of_thread ? thread : index;
      if (!(stride == Size(1))) at = absl::StrCat("(", at, " / ", stride.text(), ")");
      if (i > 0) at = absl::StrCat("(", at, " % ", size.wide(), ")");
      indices.push_back(at);
      stride = span;
    }
    absl::c_reverse(indices);
    return indices;
  }
  void CloseLoops() {
    for (; opened_ > 0; --opened_) Close();
  }

  static std::string Range(absl::string_view name, const Node& node,
                           absl::Span<const std::string> indices) {
    std::vector<std::string> ranges;
    const std::vector<Size> sizes = SizesOf(node);
    for (size_t i = 0; i < indices.size(); ++i) {
      ranges.push_back(indices[i] == "0" ? "0"
                                         : absl::StrCat(indices[i], "(0:", sizes[i].wide(), ")"));
    }
    return Element(absl::StrCat("_", name), ranges);
  }

  // Prints one block. It names the buffers that it reads and writes if blocks run in parallel.
  void PrintBlock(absl::string_view name, const Block& block, absl::string_view write,
                  absl::string_view statement) {
    Open(absl::StrCat("ScheduleBlock(", name, ")"));
    if (!block.axes.empty()) {
      Line(absl::StrCat(absl::StrJoin(block.axes, ", "), " = axis.bind(",
                        absl::StrJoin(block.bound, ", "), ")"));
    }
    if (options_.bound) {
      if (!block.read.empty()) {
        Line(absl::StrCat("read_buffers(", absl::StrJoin(block.read, ", "), ")"));
      }
      Line(absl::StrCat("write_buffers(", write, ")"));
    }
    Line(statement);
    Close();
  }

  // Returns the element of a value at `indices`: a load, or the expression that computes it.
  static std::string ValueAt(const Function& function, const Node& node,
                             const std::vector<std::string>& indices, Block* block) {
    if (!function.IsKept(node)) {
      return Fill(function, node, FormulaOf(node)->text, indices, "", block);
    }
    block->read.push_back(Range(function.name(node), node, indices));
    return Element(function.name(node), indices);
  }

  // Returns the element of an operand for the result's element at `indices`; sizes of 1 broadcast.
  static std::string OperandAt(const Function& function, const Node& node, const Node& operand,
                               const std::vector<std::string>& indices, Block* block) {
    double number = 0;
    if (IsScalarConstant(operand, &number)) return NumberText(number);
    const bool is_reduced = FormulaOf(node)->is_reduction;
    const std::vector<Size> sizes = SizesOf(operand);
    const std::vector<Size> all = is_reduced ? sizes : SizesOf(node);
    std::vector<std::string> own;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const size_t at = all.size() - sizes.size() + i;
      own.push_back(sizes[i] == all[at] ? indices[at] : "0");
    }
    return ValueAt(function, operand, own, block);
  }

  // Replaces $0, $v, $n and @bias in a formula by elements, numbers and attributes.
  static std::string Fill(const Function& function, const Node& node, absl::string_view text,
                          const std::vector<std::string>& indices, absl::string_view target,
                          Block* block, const Size& count = 0) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '@') {
        size_t end = i + 1;
        while (end < text.size() &&
               (absl::ascii_isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
          ++end;
        const Argument* value = node.kwarg(text.substr(i + 1, end - i - 1));
        const bool is_int = value != nullptr && value->is_int();
        out += NumberText(is_int ? static_cast<double>(value->integer())
                          : value != nullptr && value->is_float() ? value->real()
                                                                  : 0);
        i = end - 1;
      } else if (text[i] == '$') {
        const char what = text[++i];
        if (what == 'v') {
          absl::StrAppend(&out, target);
        } else if (what == 'n') {
          absl::StrAppend(&out, count.text());
        } else {
          const Node& operand = *node.args()[static_cast<size_t>(what - '0')].node();
          absl::StrAppend(&out, OperandAt(function, node, operand, indices, block));
        }
      } else if (absl::StartsWith(text.substr(i), "cast(")) {
        absl::StrAppend(&out, DTypeName(node.tensor_meta()->dtype));
        i += 3;
      } else {
        out += text[i];
      }
    }
    return out;
  }

  void PrintNest(const Function& function, absl::Span<Node* const> nodes) {
    const std::vector<Size> sizes = SizesOf(*nodes[0]);
    std::vector<std::string> loops;
    for (size_t i = 0; i < sizes.size(); ++i) loops.push_back(LoopName(i));
    const std::vector<std::string> bound = OpenLoops(sizes, loops);
    for (const Node* node : nodes) {
      Block block;
      block.bound = bound;
      for (size_t i = 0; i < sizes.size(); ++i) block.axes.push_back(function.axis(*node, i));
      const std::string& name = function.name(*node);
      const std::string target = Element(name, block.axes);
      const std::string value =
          Fill(function, *node, FormulaOf(*node)->text, block.axes, target, &block);
      PrintBlock(name, block, Range(name, *node, block.axes), absl::StrCat(target, " = ", value));
    }
    CloseLoops();
  }

  void PrintReduction(const Function& function, const Node& node) {
    const Formula& formula = *FormulaOf(node);
    const std::vector<Size> sizes = SizesOf(*node.args()[0].node());
    const std::vector<bool> is_reduced = *ReducedDims(node);
    std::vector<Size> kept;
    std::vector<std::string> loops;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (is_reduced[i]) continue;
      kept.push_back(sizes[i]);
      loops.push_back(LoopName(i));
    }
    const bool keeps_dims = SizesOf(node).size() == sizes.size();
    Block outer;  // over the axes that are not reduced
    outer.bound = OpenLoops(kept, loops);
    Block inner;  // over all axes
    std::vector<std::string> written;
    Size count = 1;
    size_t next = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const std::string axis = function.axis(node, i);
      inner.axes.push_back(axis);
      if (is_reduced[i]) {
        inner.bound.push_back(absl::StrCat("reduce_", LoopName(i)));
        count = count * sizes[i];
        if (keeps_dims) written.emplace_back("0");
      } else {
        inner.bound.push_back(outer.bound[next++]);
        outer.axes.push_back(axis);
        written.push_back(axis);
      }
    }
    const std::string& name = function.name(node);
    const std::string target = Element(name, written);
    const std::string write = Range(name, node, written);
    PrintBlock(absl::StrCat(name, "__reduce_init"), outer, write,
               absl::StrCat(target, " = ", formula.start == "-inf" ? "(-inf)" : formula.start));
    size_t reduced = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (!is_reduced[i]) continue;
      Open(absl::StrCat("serial for (reduce_", LoopName(i), ", 0ll, ", sizes[i].wide(), ")"));
      ++reduced;
    }
    const std::string value = Fill(function, node, formula.text, inner.axes, target, &inner);
    PrintBlock(name, inner, write, absl::StrCat(target, " = ", value));
    for (; reduced > 0; --reduced) Close();
    if (!formula.finish.empty()) {
      const std::string last =
          Fill(function, node, formula.finish, outer.axes, target, &outer, count);
      PrintBlock(absl::StrCat(name, "__reduce_finish"), outer, write,
                 absl::StrCat(target, " = ", last));
    }
    CloseLoops();
  }

  const LoopOptions options_;
  std::string out_;
  size_t depth_ = 0;
  int opened_ = 0;
  size_t num_groups_ = 0;
  absl::flat_hash_set<const Node*> in_groups_;
};

}  // namespace

absl::StatusOr<std::string> PrintLoops(const Module& module, const LoopOptions& options) {
  return LoopPrinter(options).Print(*module.main());
}

}  // namespace graphnet::pir
