#include "graphnet/paddle/pir/formulas.h"

#include <cstddef>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/strip.h"
#include "graphnet/paddle/pir/groups.h"

namespace graphnet::pir {
namespace {

constexpr Formula kFormulas[] = {
    // Element-wise operators.
    {"abs", "abs($0)"},
    {"add", "($0 + $1)"},
    {"asin", "asin($0)"},
    {"acos", "acos($0)"},
    {"assign", "$0"},
    {"atan", "atan($0)"},
    {"bitwise_and", "($0 & $1)"},
    {"bitwise_not", "~$0"},
    {"bitwise_or", "($0 | $1)"},
    {"bitwise_xor", "($0 ^ $1)"},
    {"cast", "cast($0)"},
    {"ceil", "ceil($0)"},
    {"clip", "min(max($0, $1), $2)"},
    {"cos", "cos($0)"},
    {"cosh", "cosh($0)"},
    {"divide", "($0 / $1)"},
    {"elementwise_pow", "pow($0, $1)"},
    {"equal", "($0 == $1)"},
    {"erf", "erf($0)"},
    {"exp", "exp($0)"},
    {"expand", "$0"},
    {"expm1", "expm1($0)"},
    {"floor", "floor($0)"},
    {"floor_divide", "floordiv($0, $1)"},
    {"full_like", "$1"},
    {"gelu", "((0.5 * $0) * (1 + erf(($0 * 0.7071067811865476))))"},
    {"greater_equal", "($0 >= $1)"},
    {"greater_than", "($0 > $1)"},
    {"hardsigmoid", "min(max((($0 * @slope) + @offset), 0), 1)"},
    {"hardswish", "(($0 * min(max(($0 + 3), 0), 6)) / 6)"},
    {"hardtanh", "min(max($0, @t_min), @t_max)"},
    {"leaky_relu", "select(($0 > 0), $0, ($0 * @negative_slope))"},
    {"less_equal", "($0 <= $1)"},
    {"less_than", "($0 < $1)"},
    {"log", "log($0)"},
    {"log10", "log10($0)"},
    {"log1p", "log1p($0)"},
    {"log2", "log2($0)"},
    {"logical_and", "($0 && $1)"},
    {"logical_not", "!$0"},
    {"logical_or", "($0 || $1)"},
    {"masked_fill", "select($1, $2, $0)"},
    {"maximum", "max($0, $1)"},
    {"minimum", "min($0, $1)"},
    {"multiply", "($0 * $1)"},
    {"not_equal", "($0 != $1)"},
    {"reciprocal", "(1 / $0)"},
    {"relu", "max($0, 0)"},
    {"relu6", "min(max($0, 0), 6)"},
    {"remainder", "mod($0, $1)"},
    {"rsqrt", "rsqrt($0)"},
    {"scale", "(($0 * $1) + @bias)"},
    {"sigmoid", "sigmoid($0)"},
    {"sign", "sign($0)"},
    {"silu", "($0 * sigmoid($0))"},
    {"sin", "sin($0)"},
    {"sinh", "sinh($0)"},
    {"softsign", "($0 / (1 + abs($0)))"},
    {"sqrt", "sqrt($0)"},
    {"square", "($0 * $0)"},
    {"subtract", "($0 - $1)"},
    {"tan", "tan($0)"},
    {"tanh", "tanh($0)"},
    {"tanh_shrink", "($0 - tanh($0))"},
    {"trunc", "trunc($0)"},
    {"where", "select($0, $1, $2)"},
    // Reductions.
    {"all", "($v && $0)", true, "true"},
    {"amax", "max($v, $0)", true, "-inf"},
    {"amin", "min($v, $0)", true, "inf"},
    {"any", "($v || $0)", true, "false"},
    {"max", "max($v, $0)", true, "-inf"},
    {"mean", "($v + $0)", true, "0", "($v / $n)"},
    {"min", "min($v, $0)", true, "inf"},
    {"prod", "($v * $0)", true, "1"},
    {"sum", "($v + $0)", true, "0"},
};

constexpr Formula kGeluByTanh = {
    "gelu",
    "((0.5 * $0) * (1 + tanh((0.7978845608028654 * ($0 + (0.044715 * (($0 * $0) * $0)))))))"};

// The operator scale without a bias, and scale that only adds.
constexpr Formula kTimes = {"scale", "($0 * $1)"};
constexpr Formula kPlus = {"scale", "($0 + @bias)"};

bool IsTrue(const Node& node, absl::string_view attribute) {
  const Argument* value = node.kwarg(attribute);
  return value != nullptr && value->is_bool() && value->boolean();
}

bool IsOfFloats(const Node* node) {
  const TensorMeta* meta = node->tensor_meta();
  return meta != nullptr && IsFloatingPoint(meta->dtype);
}

}  // namespace

const Formula* FormulaOf(const Node& node) {
  static const auto* const kTable = [] {
    auto* const table = new absl::flat_hash_map<absl::string_view, const Formula*>();
    for (const Formula& formula : kFormulas) table->emplace(formula.name, &formula);
    return table;
  }();
  absl::string_view name = node.target();
  if (!absl::ConsumePrefix(&name, "pd_op.")) return nullptr;
  const auto it = kTable->find(name);
  if (it == kTable->end()) return nullptr;
  if (name == "gelu" && IsTrue(node, "approximate")) return &kGeluByTanh;
  if (name == "scale") {
    if (!IsTrue(node, "bias_after_scale") || node.args().size() != 2) return nullptr;
    const Argument* bias = node.kwarg("bias");
    if (bias != nullptr && bias->is_float() && bias->real() == 0) return &kTimes;
    double factor = 0;
    const bool is_number =
        node.args()[1].is_node() && IsScalarConstant(*node.args()[1].node(), &factor);
    return is_number && factor == 1 ? &kPlus : it->second;
  }
  const Formula* formula = it->second;
  if (!formula->is_reduction) return formula;
  const std::optional<std::vector<bool>> dims = ReducedDims(node);
  if (!dims.has_value()) return nullptr;
  // A reduction of ints cannot begin with infinity.
  const bool needs_floats = formula->start == "-inf" || formula->start == "inf";
  return needs_floats && !IsOfFloats(node.args()[0].node()) ? nullptr : formula;
}

std::optional<std::vector<bool>> ReducedDims(const Node& node) {
  if (node.args().empty() || !node.args()[0].is_node()) return std::nullopt;
  const TensorMeta* meta = node.args()[0].node()->tensor_meta();
  if (meta == nullptr || !meta->has_shape) return std::nullopt;
  // The axes are an attribute, or an operand that is a constant.
  const Argument* axes = node.kwarg("axis");
  if (axes == nullptr && node.args().size() > 1 && node.args()[1].is_node() &&
      node.args()[1].node()->is_call_function("pd_op.full_int_array")) {
    axes = node.args()[1].node()->kwarg("value");
  }
  if (axes == nullptr || !axes->is_list()) return std::nullopt;
  const auto rank = static_cast<int64_t>(meta->shape.size());
  std::vector<bool> is_reduced(meta->shape.size(), axes->elements().empty());
  for (const Argument& axis : axes->elements()) {
    if (!axis.is_int()) return std::nullopt;
    const int64_t at = axis.integer() < 0 ? axis.integer() + rank : axis.integer();
    if (at < 0 || at >= rank) return std::nullopt;
    is_reduced[static_cast<size_t>(at)] = true;
  }
  return is_reduced;
}

}  // namespace graphnet::pir
