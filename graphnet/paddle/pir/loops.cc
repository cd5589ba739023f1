#include "graphnet/paddle/pir/loops.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "graphnet/ir/text/literal.h"
#include "graphnet/paddle/pir/builder.h"
#include "graphnet/paddle/pir/formulas.h"
#include "graphnet/paddle/pir/groups.h"
#include "graphnet/paddle/pir/spelling.h"

namespace graphnet::pir {
namespace {

constexpr int64_t kThreads = 256;

// A size, or what is computed of some: a number, or an expression of symbols.
class Size {
 public:
  Size(int64_t number) : number_(number) {}  // NOLINT
  explicit Size(const Dim& dim) : number_(dim.value) {
    if (!dim.is_static()) AppendDimExpr(*dim.expr, &text_);
  }

  bool is_number() const { return text_.empty(); }
  int64_t number() const { return number_; }
  std::string text() const { return is_number() ? absl::StrCat(number_) : text_; }
  // As an operand of what is written around it.
  std::string operand() const {
    const bool is_name = absl::c_all_of(text_, [](char c) {
      return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
    });
    return is_name ? text() : absl::StrCat("(", text_, ")");
  }
  bool operator==(const Size&) const = default;
  Size operator*(const Size& other) const {
    if (is_number() && other.is_number()) return number_ * other.number_;
    if (is_number() && number_ == 1) return other;
    if (other.is_number() && other.number_ == 1) return *this;
    return Size(absl::StrCat(operand(), " * ", other.operand()));
  }

 private:
  explicit Size(std::string text) : text_(std::move(text)) {}
  int64_t number_ = 0;
  std::string text_;  // of symbols; else empty
};

std::vector<Size> SizesOf(const Node& node) {
  std::vector<Size> sizes;
  for (const Dim& dim : node.tensor_meta()->shape) sizes.emplace_back(dim);
  return sizes;
}

// i, j, k, then what no other is called.
std::string LoopName(size_t i) {
  constexpr absl::string_view kNames = "ijkabcde";
  return i < kNames.size() ? std::string(1, kNames[i]) : absl::StrCat("l", i);
}
std::string AxisName(size_t i) { return absl::StrCat("i", i); }

std::string NumberText(double value) {
  if (std::isinf(value)) return value < 0 ? "(-inf)" : "inf";
  std::string text;
  AppendFloat(value, &text);
  absl::string_view digits = text;
  absl::ConsumeSuffix(&digits, ".0");
  return std::isnan(value) ? "nan" : std::string(digits);
}

// "x: float32[64, 128]".
std::string Declaration(absl::string_view prefix, const Node& node) {
  std::string out = absl::StrCat(prefix, node.name());
  const TensorMeta* meta = node.tensor_meta();
  if (meta == nullptr || !meta->has_shape) return out;
  absl::StrAppend(&out, ": ", DTypeName(meta->dtype), "[");
  for (size_t i = 0; i < meta->shape.size(); ++i) {
    absl::StrAppend(&out, i > 0 ? ", " : "", Size(meta->shape[i]).text());
  }
  return out + "]";
}

// One loop, or one axis of a block.
struct Loop {
  std::string name;
  Size size = 0;
};

class LoopPrinter {
 public:
  explicit LoopPrinter(const LoopOptions& options) : options_(options) {}

  std::string Print(const Graph& graph) {
    std::vector<std::string> inputs;
    for (const Node* node : graph.placeholders()) inputs.push_back(Declaration("", *node));
    Line(absl::StrCat("inputs (", absl::StrJoin(inputs, ", "), ")"));
    const std::vector<Unit> units = GroupsOf(graph);
    for (const Unit& unit : units) {
      if (unit.is_group) in_groups_.insert(unit.nodes.begin(), unit.nodes.end());
    }
    for (const Unit& unit : units) {
      if (unit.is_group) {
        PrintGroup(unit);
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
    Line(text);
    Line("{");
    ++depth_;
  }
  void Close() {
    --depth_;
    Line("}");
  }

  // A constant that groups have as a number, or that says over what they reduce.
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
        if (IsResult(*user, &of, &i)) results.push_back(Declaration("", *user));
      }
    } else {
      results.push_back(Declaration("", node));
    }
    Line(absl::StrCat("call ", node.op() == Op::kCallMethod ? "Tensor." : "", node.target(), " (",
                      absl::StrJoin(operands, ", "), ") -> (", absl::StrJoin(results, ", "), ")"));
  }

  // The operands of which elements are read: those that the formula names.
  static std::vector<Node*> Read(const Node& node) {
    const Formula* formula = FormulaOf(node);
    std::vector<Node*> read;
    for (size_t i = 0; i < node.args().size(); ++i) {
      double ignored = 0;
      const bool is_named = absl::StrContains(formula->text, absl::StrCat("$", i));
      if (is_named && node.args()[i].is_node() &&
          !IsScalarConstant(*node.args()[i].node(), &ignored)) {
        read.push_back(node.args()[i].node());
      }
    }
    return read;
  }

  void PrintGroup(const Unit& unit) {
    const absl::flat_hash_set<Node*> members(unit.nodes.begin(), unit.nodes.end());
    std::vector<std::string> parameters;
    std::vector<std::string> results;
    std::vector<std::string> buffers;
    absl::flat_hash_set<Node*> seen;
    for (Node* node : unit.nodes) {
      for (Node* operand : Read(*node)) {
        if (members.contains(operand) || !seen.insert(operand).second) continue;
        parameters.push_back(Declaration("_", *operand));
      }
      const bool is_result =
          absl::c_any_of(node->users(), [&](Node* user) { return !members.contains(user); });
      (is_result ? results : buffers).push_back(Declaration("_", *node));
    }
    parameters.insert(parameters.end(), results.begin(), results.end());
    Open(
        absl::StrCat("function group_", num_groups_++, " (", absl::StrJoin(parameters, ", "), ")"));
    if (!buffers.empty()) Line(absl::StrCat("buffers (", absl::StrJoin(buffers, ", "), ")"));
    Open("ScheduleBlock(root)");
    for (size_t i = 0; i < unit.nodes.size();) {
      if (FormulaOf(*unit.nodes[i])->is_reduction) {
        PrintReduction(*unit.nodes[i++]);
        continue;
      }
      size_t end = i + 1;
      while (end < unit.nodes.size() && !FormulaOf(*unit.nodes[end])->is_reduction &&
             SizesOf(*unit.nodes[end]) == SizesOf(*unit.nodes[i])) {
        ++end;
      }
      PrintNest(absl::MakeConstSpan(unit.nodes).subspan(i, end - i));
      i = end;
    }
    Close();
    Close();
  }

  // Opens the loops over `sizes`; gives what their indices are bound to.
  std::vector<std::string> OpenLoops(absl::Span<const Size> sizes) {
    std::vector<std::string> indices;
    opened_ = 0;
    if (!options_.bound) {
      for (size_t i = 0; i < sizes.size(); ++i) {
        Open(absl::StrCat("serial for (", LoopName(i), ", 0, ", sizes[i].text(), ")"));
        indices.push_back(LoopName(i));
        ++opened_;
      }
      return indices;
    }
    Size all = 1;
    for (const Size& size : sizes) all = all * size;
    const int64_t threads =
        all.is_number() ? std::clamp<int64_t>(all.number(), 1, kThreads) : kThreads;
    const std::string blocks =
        all.is_number()
            ? absl::StrCat((all.number() + threads - 1) / threads)
            : absl::StrCat("((", all.operand(), " + ", threads - 1, ") / ", threads, ")");
    Open(absl::StrCat("thread_bind[blockIdx.x] for (b, 0, ", blocks, ")"));
    Open(absl::StrCat("thread_bind[threadIdx.x] for (t, 0, ", threads, ")"));
    opened_ = 2;
    const std::string index = absl::StrCat("((b * ", threads, ") + t)");
    if (!all.is_number() || all.number() % threads != 0) {
      Open(absl::StrCat("if (", index, " < ", all.operand(), ")"));
      ++opened_;
    }
    // From behind: what an index counts is what the dimensions behind it hold.
    Size stride = 1;
    for (size_t i = sizes.size(); i-- > 0;) {
      // The indices of an empty loop are never computed.
      const Size size =
          sizes[i].is_number() ? Size(std::max<int64_t>(1, sizes[i].number())) : sizes[i];
      std::string at = index;
      if (!(stride == Size(1))) at = absl::StrCat("(", at, " / ", stride.operand(), ")");
      if (i > 0) at = absl::StrCat("(", at, " % ", size.operand(), ")");
      indices.push_back(at);
      stride = size * stride;
    }
    absl::c_reverse(indices);
    return indices;
  }
  void CloseLoops() {
    for (; opened_ > 0; --opened_) Close();
  }

  // The indices of `node` where those of what is computed are `axes`; sizes of 1 repeat.
  static std::vector<std::string> IndicesOf(const Node& node, absl::Span<const Loop> axes) {
    const std::vector<Size> sizes = SizesOf(node);
    std::vector<std::string> indices;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const Loop& axis = axes[axes.size() - sizes.size() + i];
      indices.push_back(sizes[i] == axis.size ? axis.name : "0");
    }
    return indices;
  }

  static std::string Element(absl::string_view name, absl::Span<const std::string> indices) {
    return absl::StrCat(name, "[", absl::StrJoin(indices, ", "), "]");
  }

  static std::string Range(const Node& node, absl::Span<const std::string> indices) {
    std::vector<std::string> ranges;
    const std::vector<Size> sizes = SizesOf(node);
    for (size_t i = 0; i < indices.size(); ++i) {
      ranges.push_back(indices[i] == "0" ? "0"
                                         : absl::StrCat(indices[i], "(0:", sizes[i].text(), ")"));
    }
    return absl::StrCat("_", node.name(), "[", absl::StrJoin(ranges, ", "), "]");
  }

  void PrintBind(absl::Span<const Loop> axes, absl::Span<const std::string> bound) {
    if (axes.empty()) return;
    std::vector<std::string> names;
    for (const Loop& axis : axes) names.push_back(axis.name);
    Line(
        absl::StrCat(absl::StrJoin(names, ", "), " = axis.bind(", absl::StrJoin(bound, ", "), ")"));
  }

  void PrintBuffers(const Node& node, absl::Span<Node* const> read, absl::Span<const Loop> axes,
                    absl::Span<const std::string> written) {
    std::vector<std::string> ranges;
    for (const Node* operand : read) ranges.push_back(Range(*operand, IndicesOf(*operand, axes)));
    if (!ranges.empty()) Line(absl::StrCat("read_buffers(", absl::StrJoin(ranges, ", "), ")"));
    Line(absl::StrCat("write_buffers(", Range(node, written), ")"));
  }

  // A formula with elements, numbers and attributes in the places of $0, @bias and $v.
  static std::string Fill(const Node& node, absl::string_view text, absl::Span<const Loop> axes,
                          absl::string_view target, const Size& count) {
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
          absl::StrAppend(&out, count.operand());
        } else {
          const Node* operand = node.args()[static_cast<size_t>(what - '0')].node();
          double number = 0;
          out += IsScalarConstant(*operand, &number)
                     ? NumberText(number)
                     : Element(operand->name(), IndicesOf(*operand, axes));
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

  void PrintNest(absl::Span<Node* const> nodes) {
    const std::vector<Size> sizes = SizesOf(*nodes[0]);
    const std::vector<std::string> bound = OpenLoops(sizes);
    std::vector<Loop> axes;
    for (size_t i = 0; i < sizes.size(); ++i) axes.push_back({AxisName(i), sizes[i]});
    for (const Node* node : nodes) {
      Open(absl::StrCat("ScheduleBlock(", node->name(), ")"));
      PrintBind(axes, bound);
      const std::vector<Node*> read = Read(*node);
      std::vector<std::string> written;
      for (const Loop& axis : axes) written.push_back(axis.name);
      PrintBuffers(*node, read, axes, written);
      const std::string target = Element(node->name(), written);
      Line(absl::StrCat(target, " = ", Fill(*node, FormulaOf(*node)->text, axes, target, 0)));
      Close();
    }
    CloseLoops();
  }

  void PrintReduction(const Node& node) {
    const Formula& formula = *FormulaOf(node);
    Node* const x = node.args()[0].node();
    const std::vector<Size> sizes = SizesOf(*x);
    const std::vector<bool> is_reduced = *ReducedDims(node);
    std::vector<Size> kept;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (!is_reduced[i]) kept.push_back(sizes[i]);
    }
    const bool keeps_dims = SizesOf(node).size() == sizes.size();
    const std::vector<std::string> bound = OpenLoops(kept);
    // The axes that are kept, all axes, what they are bound to, and where the result lies.
    std::vector<Loop> outer;
    std::vector<Loop> axes;
    std::vector<std::string> bound_axes;
    std::vector<std::string> written;
    Size count = 1;
    size_t next = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      axes.push_back({AxisName(i), sizes[i]});
      if (is_reduced[i]) {
        bound_axes.push_back(absl::StrCat("reduce_", LoopName(i)));
        count = count * sizes[i];
        if (keeps_dims) written.emplace_back("0");
      } else {
        bound_axes.push_back(bound[next++]);
        outer.push_back(axes.back());
        written.push_back(axes.back().name);
      }
    }
    const std::string target = Element(node.name(), written);
    Open(absl::StrCat("ScheduleBlock(", node.name(), "__reduce_init)"));
    PrintBind(outer, bound);
    PrintBuffers(node, {}, axes, written);
    Line(absl::StrCat(target, " = ", formula.start == "-inf" ? "(-inf)" : formula.start));
    Close();
    size_t reduced = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (!is_reduced[i]) continue;
      Open(absl::StrCat("serial for (reduce_", LoopName(i), ", 0, ", sizes[i].text(), ")"));
      ++reduced;
    }
    Open(absl::StrCat("ScheduleBlock(", node.name(), ")"));
    PrintBind(axes, bound_axes);
    PrintBuffers(node, absl::MakeConstSpan(&x, 1), axes, written);
    Line(absl::StrCat(target, " = ", Fill(node, formula.text, axes, target, count)));
    Close();
    for (; reduced > 0; --reduced) Close();
    if (!formula.finish.empty()) {
      Open(absl::StrCat("ScheduleBlock(", node.name(), "__reduce_finish)"));
      PrintBind(outer, bound);
      PrintBuffers(node, {}, axes, written);
      Line(absl::StrCat(target, " = ", Fill(node, formula.finish, axes, target, count)));
      Close();
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

std::string PrintLoops(const Module& module, const LoopOptions& options) {
  return LoopPrinter(options).Print(*module.main());
}

}  // namespace graphnet::pir
