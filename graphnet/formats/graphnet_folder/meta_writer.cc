#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/graphnet_folder/literal_writer.h"
#include "graphnet/formats/graphnet_folder/writers.h"
#include "graphnet/ir/verifier.h"

namespace graphnet {
namespace {

// GraphNet prints statistics with three decimals, literal data with six.
constexpr int kStatisticDecimals = 3;
constexpr int kDataDecimals = 6;

absl::Status AppendRecord(const Module& module, const Node& node, MetaFile kind,
                          Framework framework, std::string* out) {
  const DrawSpec& spec = *node.draw_spec();
  absl::StrAppend(
      out, "class ",
      kind == MetaFile::kWeightMeta ? "Program_weight_tensor_meta_" : "Program_input_tensor_meta_",
      node.target(), ":\n    name = \"", node.target(), "\"\n");
  if (!spec.original_name.empty()) {
    out->append("    original_name = ");
    AppendPythonString(spec.original_name, out);
    out->append("\n");
  }
  const TensorMeta unknown;
  const TensorMeta& meta = node.tensor_meta() ? *node.tensor_meta() : unknown;
  if (meta.has_shape) {
    out->append("    shape = [");
    for (size_t i = 0; i < meta.shape.size(); ++i) {
      const Dim& dim = meta.shape[i];
      std::optional<int64_t> size = dim.value;
      if (!dim.is_static()) size = EvaluateWithExamples(module, *dim.expr);
      if (!size) {
        return absl::UnimplementedError(absl::StrCat("node ", Printable(node.name()),
                                                     ": dimension ", i, " has no example value"));
      }
      absl::StrAppend(out, i > 0 ? ", " : "", *size);
    }
    out->append("]\n");
  } else {
    out->append("    shape = None\n");
  }
  const auto append_text = [&](absl::string_view name, bool has, const std::string& value) {
    absl::StrAppend(out, "    ", name, has ? absl::StrCat(" = \"", value, "\"\n") : " = None\n");
  };
  append_text("dtype", meta.dtype != DType::kUnknown, DTypeWord(meta.dtype, framework));
  append_text("device", meta.has_device, DeviceWord(meta.device, framework));
  const auto append_statistic = [&](absl::string_view name, bool has, double value) {
    absl::StrAppend(out, "    ", name, " = ");
    if (has) {
      AppendPythonDecimal(value, kStatisticDecimals, out);
    } else {
      out->append("None");
    }
    out->append("\n");
  };
  append_statistic("mean", spec.has_mean, spec.mean);
  append_statistic("std", spec.has_std, spec.std);
  if (spec.data.is_none()) {
    out->append("    data = None\n");
  } else {
    out->append("    data = [");
    const char* separator = "";
    for (const Argument& element : spec.data.elements()) {
      out->append(separator);
      separator = ", ";
      AppendMetaNumber(element, out);
    }
    out->append("]\n");
  }
  const auto append_bound = [&](absl::string_view name, const Argument& bound) {
    if (bound.is_none()) return;
    absl::StrAppend(out, "    ", name, " = ");
    AppendMetaNumber(bound, out);
    out->append("\n");
  };
  append_bound("min_val", spec.min);
  append_bound("max_val", spec.max);
  return absl::OkStatus();
}

// Appends an expression in Python. Every operand that is not an atom gets parentheses, so that
// precedence never matters.
void AppendExpr(const SymExpr& expr, bool is_operand, std::string* out) {
  using Kind = SymExpr::Kind;
  if (expr.kind == Kind::kInt) {
    absl::StrAppend(out, expr.value);
    return;
  }
  if (expr.kind == Kind::kSymbol) {
    absl::StrAppend(out, expr.name);
    return;
  }
  const auto append = [&](absl::string_view open, absl::string_view infix, bool operands) {
    out->append(open.data(), open.size());
    AppendExpr(*expr.lhs, operands, out);
    if (expr.rhs == nullptr) return;
    out->append(infix.data(), infix.size());
    AppendExpr(*expr.rhs, operands, out);
  };
  static constexpr std::pair<Kind, absl::string_view> kFunctions[] = {
      {Kind::kMin, "Min("}, {Kind::kMax, "Max("}, {Kind::kEq, "Eq("}, {Kind::kNe, "Ne("}};
  for (const auto& [kind, function] : kFunctions) {
    if (kind != expr.kind) continue;
    append(function, ", ", false);
    out->append(")");
    return;
  }
  static constexpr std::pair<Kind, absl::string_view> kOperators[] = {
      {Kind::kAdd, " + "}, {Kind::kSub, " - "},  {Kind::kMul, " * "}, {Kind::kFloorDiv, " // "},
      {Kind::kMod, " % "}, {Kind::kPow, " ** "}, {Kind::kLt, " < "},  {Kind::kLe, " <= "},
      {Kind::kGt, " > "},  {Kind::kGe, " >= "},  {Kind::kNeg, "-"}};
  const auto* const op =
      absl::c_find_if(kOperators, [&](const auto& o) { return o.first == expr.kind; });
  if (is_operand) out->append("(");
  append(expr.kind == Kind::kNeg ? op->second : "", op->second, true);
  if (is_operand) out->append(")");
}

}  // namespace

void AppendMetaNumber(const Argument& number, std::string* out) {
  if (number.is_bool()) {
    out->append(number.boolean() ? "True" : "False");
  } else if (number.is_int()) {
    absl::StrAppend(out, number.integer());
  } else {
    AppendPythonDecimal(number.real(), kDataDecimals, out);
  }
}

absl::StatusOr<std::string> WriteMetaPy(const Module& module, MetaFile kind, Framework framework) {
  std::string out;
  for (const Node* node : module.main()->nodes()) {
    if (!node->is_placeholder()) break;
    if (node->draw_spec()->in_input_meta != (kind == MetaFile::kInputMeta)) continue;
    if (!out.empty()) out.append("\n\n");
    RETURN_IF_ERROR(AppendRecord(module, *node, kind, framework, &out));
  }
  return out;
}

std::string WriteConstraintsPy(const Module& module, bool has_constraints,
                               const std::vector<std::string>& order) {
  if (!has_constraints && module.symbols().empty()) return {};
  std::string out;
  if (!module.symbols().empty()) {
    // Min, Max and the relations are sympy functions.
    out.append(module.relations().empty() ? "from sympy import Symbol\n\n"
                                          : "from sympy import Symbol, Eq, Ne, Min, Max\n\n");
    for (const Symbol& symbol : module.symbols()) {
      absl::StrAppend(&out, symbol.name, " = Symbol(\"", symbol.name, "\")\n");
    }
    out.append("\n");
  }
  out.append("dynamic_dim_constraint_symbols = [");
  const char* separator = "";
  for (const Symbol& symbol : module.symbols()) {
    absl::StrAppend(&out, separator, symbol.name);
    separator = ", ";
  }
  out.append("]\n\ndynamic_dim_constraint_symbol2example_value = {");
  separator = "";
  for (const Symbol& symbol : module.symbols()) {
    if (!symbol.example) continue;
    absl::StrAppend(&out, separator, symbol.name, ": ", *symbol.example);
    separator = ", ";
  }
  out.append("}\n\ndynamic_dim_constraint_relations = [");
  separator = "";
  for (const SymExpr* relation : module.relations()) {
    out.append(separator);
    separator = ", ";
    AppendExpr(*relation, false, &out);
  }
  out.append("]\n\ndynamic_dim_constraint_input_shapes = [\n");
  absl::flat_hash_map<absl::string_view, const Node*> by_target;
  std::vector<absl::string_view> names(order.begin(), order.end());
  for (const Node* node : module.main()->nodes()) {
    if (!node->is_placeholder()) break;
    by_target[node->target()] = node;
    if (order.empty()) names.push_back(node->target());
  }
  if (order.empty()) std::sort(names.begin(), names.end());
  for (absl::string_view name : names) {
    const auto it = by_target.find(name);
    const TensorMeta* meta = it == by_target.end() ? nullptr : it->second->tensor_meta();
    if (meta == nullptr || !meta->has_shape) continue;
    out.append("    ([");
    for (size_t i = 0; i < meta->shape.size(); ++i) {
      if (i > 0) out.append(", ");
      if (meta->shape[i].is_static()) {
        absl::StrAppend(&out, meta->shape[i].value);
      } else {
        AppendExpr(*meta->shape[i].expr, false, &out);
      }
    }
    absl::StrAppend(&out, "], \"", name, "\"),\n");
  }
  out.append("]\n");
  return out;
}

}  // namespace graphnet
