#include "graphnet/ir/text/value_printer.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "graphnet/base/limits.h"
#include "graphnet/ir/text/literal.h"

namespace graphnet::text_internal {
namespace {

using SymKind = SymExpr::Kind;

// Printed instead of a value that is nested too deeply to be valid. The parser refuses it.
constexpr char kTooDeep[] = "<nested too deeply>";
// The number of elements that are shown of a list that is cut.
constexpr size_t kShownElements = 8;

// The precedence of operators, as in Python.
enum Binding { kAny = 0, kRelation, kSum, kProduct, kUnary, kPower, kPrimary };

struct OperatorRow {
  absl::string_view text;
  Binding binding;   // The precedence of the operator itself.
  Binding lhs, rhs;  // The lowest precedence of an operand that needs no parentheses.
};
OperatorRow OperatorOf(SymKind kind) {
  switch (kind) {
    case SymKind::kAdd: return {" + ", kSum, kSum, kProduct};
    case SymKind::kSub: return {" - ", kSum, kSum, kProduct};
    case SymKind::kMul: return {"*", kProduct, kProduct, kUnary};
    case SymKind::kFloorDiv: return {"//", kProduct, kProduct, kUnary};
    case SymKind::kMod: return {" % ", kProduct, kProduct, kUnary};
    case SymKind::kPow: return {"**", kPower, kPrimary, kUnary};
    case SymKind::kEq: return {" == ", kRelation, kSum, kSum};
    case SymKind::kNe: return {" != ", kRelation, kSum, kSum};
    case SymKind::kLt: return {" < ", kRelation, kSum, kSum};
    case SymKind::kLe: return {" <= ", kRelation, kSum, kSum};
    case SymKind::kGt: return {" > ", kRelation, kSum, kSum};
    case SymKind::kGe: return {" >= ", kRelation, kSum, kSum};
    default: return {"", kPrimary, kAny, kAny};
  }
}

Binding BindingOf(const SymExpr& expr) {
  switch (expr.kind) {
    case SymKind::kInt: return expr.value < 0 ? kUnary : kPrimary;
    case SymKind::kSymbol:
    case SymKind::kMin:
    case SymKind::kMax: return kPrimary;
    case SymKind::kNeg: return kUnary;
    default: return OperatorOf(expr.kind).binding;
  }
}

}  // namespace

void ValuePrinter::NodeName(const Node* node) {
  if (node == nullptr) {
    out_ += "<null>";
    return;
  }
  out_ += '%';
  NodeLabel(node);
}

void ValuePrinter::NodeLabel(const Node* node) {
  if (!numbered_) return AppendName(node->name(), &out_);
  const auto it = node_numbers_.find(node);
  if (it == node_numbers_.end()) {
    out_ += "<undefined>";
  } else {
    AppendInteger(static_cast<int64_t>(it->second), &out_);
  }
}

void ValuePrinter::GraphName(const Graph* graph) {
  if (graph == nullptr) {
    out_ += "<null>";
    return;
  }
  out_ += '@';
  const auto it = numbered_ ? graph_numbers_.find(graph) : graph_numbers_.end();
  if (it != graph_numbers_.end()) {
    AppendInteger(static_cast<int64_t>(it->second), &out_);
  } else {
    AppendName(graph->name(), &out_);
  }
}

void ValuePrinter::String(absl::string_view text) {
  if (max_string_bytes_ == 0 || text.size() <= max_string_bytes_) return AppendQuoted(text, &out_);
  AppendQuoted(text.substr(0, max_string_bytes_), &out_);
  absl::StrAppend(&out_, "<", text.size() - max_string_bytes_, " more bytes>");
}

void ValuePrinter::Float(double value) { AppendFloat(value, &out_); }

void ValuePrinter::DeviceText(Device device) {
  const absl::string_view type = DeviceTypeName(device.type);
  out_.append(type.data(), type.size());
  if (device.index < 0) return;
  out_ += ':';
  AppendInteger(device.index, &out_);
}

void ValuePrinter::Elements(char open, const Argument& argument, char close, int depth) {
  const absl::Span<const Argument> elements = argument.elements();
  out_ += open;
  size_t shown = elements.size();
  if (max_elements_ > 0 && shown > max_elements_) {
    bool constant = true;
    for (const Argument& element : elements) constant = constant && element.is_number();
    if (constant) shown = kShownElements;
  }
  for (size_t i = 0; i < shown; ++i) {
    if (i > 0) out_ += ", ";
    Value(elements[i], depth + 1);
  }
  if (shown < elements.size()) absl::StrAppend(&out_, ", <", elements.size() - shown, " more>");
  if (argument.is_tuple() && elements.size() == 1) out_ += ',';
  out_ += close;
}

void ValuePrinter::Dict(absl::Span<const Argument> elements, int depth) {
  out_ += '{';
  for (size_t i = 0; i + 1 < elements.size(); i += 2) {
    if (i > 0) out_ += ", ";
    Value(elements[i], depth + 1);
    out_ += ": ";
    Value(elements[i + 1], depth + 1);
  }
  out_ += '}';
}

void ValuePrinter::Value(const Argument& argument, int depth) {
  using Kind = Argument::Kind;
  if (depth > kMaxNesting) {
    out_ += kTooDeep;
    return;
  }
  const auto torch = [&](absl::string_view name) {
    out_ += "torch.";
    out_.append(name.data(), name.size());
  };
  switch (argument.kind()) {
    case Kind::kNone: out_ += "None"; return;
    case Kind::kNode: return NodeName(argument.node());
    case Kind::kBool: out_ += argument.boolean() ? "True" : "False"; return;
    case Kind::kInt: return AppendInteger(argument.integer(), &out_);
    case Kind::kFloat: return Float(argument.real());
    case Kind::kComplex:
      out_ += "complex(";
      Float(argument.complex().real());
      out_ += ", ";
      Float(argument.complex().imag());
      out_ += ')';
      return;
    case Kind::kString: return String(argument.string());
    case Kind::kDType: return torch(DTypeName(argument.dtype()));
    case Kind::kDevice:
      out_ += "device(\"";
      DeviceText(argument.device());
      out_ += "\")";
      return;
    case Kind::kLayout: return torch(LayoutName(argument.layout()));
    case Kind::kMemoryFormat: return torch(MemoryFormatName(argument.memory_format()));
    case Kind::kList: return Elements('[', argument, ']', depth);
    case Kind::kTuple: return Elements('(', argument, ')', depth);
    case Kind::kDict: return Dict(argument.elements(), depth);
    case Kind::kSlice: out_ += "slice"; return Elements('(', argument, ')', depth);
    case Kind::kEllipsis: out_ += "..."; return;
    case Kind::kGraph: return GraphName(argument.graph());
    case Kind::kSymInt:
      out_ += "sym(";
      Expr(*argument.sym());
      out_ += ')';
      return;
  }
}

void ValuePrinter::Call(const Node& node) {
  out_ += '(';
  bool first = true;
  for (const Argument& arg : node.args()) {
    if (!first) out_ += ", ";
    first = false;
    Value(arg);
  }
  for (const KwArg& kwarg : node.kwargs()) {
    if (!first) out_ += ", ";
    first = false;
    AppendWord(kwarg.name, &out_);
    out_ += " = ";
    Value(kwarg.value);
  }
  out_ += ')';
}

void ValuePrinter::Expr(const SymExpr& expr) { ExprAt(&expr, kAny, 0); }

void ValuePrinter::ExprAt(const SymExpr* expr, int binding, int depth) {
  if (expr == nullptr || depth > kMaxNesting) {
    out_ += expr == nullptr ? "<null>" : kTooDeep;
    return;
  }
  const bool parentheses = BindingOf(*expr) < binding;
  if (parentheses) out_ += '(';
  switch (expr->kind) {
    case SymKind::kInt: AppendInteger(expr->value, &out_); break;
    case SymKind::kSymbol:
      if (expr->name == "min" || expr->name == "max" || expr->name == "sym") {
        AppendQuoted(expr->name, &out_);
      } else {
        AppendWord(expr->name, &out_);
      }
      break;
    case SymKind::kNeg:
      out_ += '-';
      // "-5" is a number, "-(5)" is the negation of one.
      if (expr->lhs != nullptr && expr->lhs->kind == SymKind::kInt) {
        out_ += '(';
        ExprAt(expr->lhs, kAny, depth + 1);
        out_ += ')';
      } else {
        ExprAt(expr->lhs, kPrimary, depth + 1);
      }
      break;
    case SymKind::kMin:
    case SymKind::kMax:
      out_ += expr->kind == SymKind::kMin ? "min(" : "max(";
      ExprAt(expr->lhs, kSum, depth + 1);
      out_ += ", ";
      ExprAt(expr->rhs, kSum, depth + 1);
      out_ += ')';
      break;
    default: {
      const OperatorRow row = OperatorOf(expr->kind);
      ExprAt(expr->lhs, row.lhs, depth + 1);
      out_.append(row.text.data(), row.text.size());
      ExprAt(expr->rhs, row.rhs, depth + 1);
    }
  }
  if (parentheses) out_ += ')';
}

void ValuePrinter::DimText(const Dim& dim) {
  if (dim.is_static()) return AppendInteger(dim.value, &out_);
  // A plain number is a static size, so an expression that is a number, and likewise a relation,
  // is marked as an expression.
  const bool wrapped = dim.expr->kind == SymKind::kInt || dim.expr->is_relation();
  if (wrapped) out_ += "sym(";
  Expr(*dim.expr);
  if (wrapped) out_ += ')';
}

void ValuePrinter::Tensor(const TensorMeta& meta) {
  const absl::string_view dtype = DTypeShortName(meta.dtype);
  out_.append(dtype.data(), dtype.size());
  if (meta.has_shape) {
    out_ += '[';
    for (size_t i = 0; i < meta.shape.size(); ++i) {
      if (i > 0) out_ += ", ";
      DimText(meta.shape[i]);
    }
    out_ += ']';
  }
  if (meta.has_device) {
    out_ += '@';
    DeviceText(meta.device);
  }
}

void ValuePrinter::Meta(const ValueMeta* meta, int depth) {
  if (depth > kMaxNesting) {
    out_ += kTooDeep;
  } else if (meta == nullptr || (meta->tensor == nullptr && !meta->is_tuple)) {
    out_ += '_';
  } else if (!meta->is_tuple) {
    Tensor(*meta->tensor);
  } else {
    out_ += '(';
    for (size_t i = 0; i < meta->elements.size(); ++i) {
      if (i > 0) out_ += ", ";
      Meta(meta->elements[i], depth + 1);
    }
    if (meta->elements.size() == 1) out_ += ',';
    out_ += ')';
  }
}

void ValuePrinter::Draw(const DrawSpec& spec) {
  absl::string_view separator = "";
  const auto field = [&](absl::string_view name) {
    absl::StrAppend(&out_, separator, name);
    separator = ", ";
  };
  out_ += '{';
  if (spec.has_mean) {
    field("mean = ");
    Float(spec.mean);
  }
  if (spec.has_std) {
    field("std = ");
    Float(spec.std);
  }
  if (!spec.min.is_none()) {
    field("min = ");
    Value(spec.min);
  }
  if (!spec.max.is_none()) {
    field("max = ");
    Value(spec.max);
  }
  if (!spec.data.is_none()) {
    field("data = ");
    Value(spec.data);
  }
  if (!spec.original_name.empty()) {
    field("original_name = ");
    AppendName(spec.original_name, &out_);
  }
  if (spec.in_input_meta) field("input_meta");
  out_ += '}';
}

}  // namespace graphnet::text_internal
