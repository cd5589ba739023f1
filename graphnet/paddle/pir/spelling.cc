#include "graphnet/paddle/pir/spelling.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/ir/text/literal.h"

namespace graphnet::pir {
namespace {

absl::string_view FunctionOf(SymExpr::Kind kind) {
  switch (kind) {
    case SymExpr::Kind::kNeg: return "Neg";
    case SymExpr::Kind::kAdd: return "Add";
    case SymExpr::Kind::kSub: return "Sub";
    case SymExpr::Kind::kMul: return "Mul";
    case SymExpr::Kind::kFloorDiv: return "Div";
    case SymExpr::Kind::kMod: return "Mod";
    case SymExpr::Kind::kPow: return "Pow";
    case SymExpr::Kind::kMin: return "Min";
    case SymExpr::Kind::kMax: return "Max";
    default: return "";
  }
}

void AppendShape(const TensorMeta* meta, std::string* out) {
  if (meta == nullptr || !meta->has_shape) {
    *out += "NULL";
    return;
  }
  *out += "shape[";
  absl::string_view separator;
  for (const Dim& dim : meta->shape) {
    absl::StrAppend(out, separator);
    separator = ", ";
    if (dim.is_static()) {
      AppendInteger(dim.value, out);
    } else {
      AppendDimExpr(*dim.expr, out);
    }
  }
  *out += "], data[NULL]";
}

// Appends a float as C++ prints it, but with as many digits as it needs.
void AppendNumber(double value, std::string* out) {
  std::string text;
  AppendFloat(value, &text);
  absl::string_view digits = text;
  absl::ConsumeSuffix(&digits, ".0");
  // All nans are written alike, whatever their bits.
  absl::StrAppend(out, std::isnan(value) ? "nan" : digits);
}

// Returns whether the reader would take the whole of `text` as one value: brackets match, and
// commas are inside of brackets only.
bool IsBracketed(absl::string_view text) {
  int depth = 0;
  for (const char c : text) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c)) || c == '"') return false;
    if (absl::StrContains("([{<", absl::string_view(&c, 1))) ++depth;
    if (absl::StrContains(")]}>", absl::string_view(&c, 1)) && --depth < 0) return false;
    if (c == ',' && depth == 0) return false;
  }
  return depth == 0 && !text.empty();
}

bool IsTypeName(absl::string_view type) {
  return IsBareWord(type) && type != "Int32" && type != "Int64" && type != "Float" &&
         type != "Double" && type != "IntArray" && !absl::StartsWith(type, "pd_op.");
}

// Returns whether a value is a pair of a type and a value or its text, such as ("Int64", 3).
bool IsTyped(const Argument& value) {
  return value.is_tuple() && value.elements().size() == 2 && value.elements()[0].is_string();
}

}  // namespace

absl::string_view ElementTypeName(DType dtype) {
  if (dtype == DType::kBool) return "b";
  return dtype == DType::kUnknown ? "undefined" : DTypeShortName(dtype);
}

void AppendTensorType(const TensorMeta* meta, absl::string_view constructor, std::string* out) {
  if (meta == nullptr || !meta->has_shape) {
    out->append(kUnknownType);
    return;
  }
  absl::StrAppend(out, constructor, "<");
  for (const Dim& dim : meta->shape) {
    AppendInteger(dim.is_static() ? dim.value : -1, out);
    *out += 'x';
  }
  absl::StrAppend(out, ElementTypeName(meta->dtype), ">");
}

void AppendType(const ValueMeta* meta, std::string* out) {
  if (meta == nullptr || !meta->is_tuple) {
    AppendTensorType(meta == nullptr ? nullptr : meta->tensor, "builtin.tensor", out);
    return;
  }
  *out += "vec[";
  for (size_t i = 0; i < meta->elements.size(); ++i) {
    if (i > 0) *out += ',';
    AppendType(meta->elements[i], out);
  }
  *out += ']';
}

void AppendDimExpr(const SymExpr& expr, std::string* out) {
  switch (expr.kind) {
    case SymExpr::Kind::kInt: AppendInteger(expr.value, out); return;
    case SymExpr::Kind::kSymbol: AppendWord(expr.name, out); return;
    default: break;
  }
  absl::StrAppend(out, FunctionOf(expr.kind), "(");
  AppendDimExpr(*expr.lhs, out);
  if (expr.rhs != nullptr) {
    *out += ", ";
    AppendDimExpr(*expr.rhs, out);
  }
  *out += ')';
}

void AppendSymbolicShape(const ValueMeta* meta, std::string* out) {
  // An empty vec counts as unknown.
  if (meta == nullptr || !meta->is_tuple || meta->elements.empty()) {
    AppendShape(meta == nullptr ? nullptr : meta->tensor, out);
    return;
  }
  for (size_t i = 0; i < meta->elements.size(); ++i) {
    if (i > 0) *out += ", ";
    AppendSymbolicShape(meta->elements[i], out);
  }
}

bool IsTypeText(absl::string_view text) {
  const absl::string_view word = text.substr(0, text.find('<'));
  return IsBareWord(word) && word != "vec" &&
         (word.size() == text.size() || (text.back() == '>' && IsBracketed(text)));
}

bool IsIntType(absl::string_view type) { return type == "Int32" || type == "Int64"; }
bool IsFloatType(absl::string_view type) { return type == "Float" || type == "Double"; }
bool IsWordType(absl::string_view type) {
  return type == "DataType" || type == "Place" || type == "DataLayout";
}

bool IsPlainWord(absl::string_view text) {
  int depth = 0;
  for (const char c : text) {
    if (c == '(') ++depth;
    if (c == ')' && --depth < 0) return false;
    const bool is_fine = absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                         absl::StrContains("_.:()-", absl::string_view(&c, 1));
    if (!is_fine) return false;
  }
  return depth == 0 && !text.empty() && absl::ascii_isalpha(static_cast<unsigned char>(text[0]));
}

absl::string_view ElementType(absl::string_view type) {
  return absl::ConsumeSuffix(&type, "[]") ? type : "";
}

absl::string_view TypeOfAttribute(const Argument& value, absl::string_view known_type) {
  switch (value.kind()) {
    case Argument::Kind::kInt: {
      if (IsIntType(known_type)) return known_type;
      const int64_t v = value.integer();
      const bool is_small =
          v >= std::numeric_limits<int32_t>::min() && v <= std::numeric_limits<int32_t>::max();
      return is_small ? "Int32" : "Int64";
    }
    case Argument::Kind::kFloat: return IsFloatType(known_type) ? known_type : "Float";
    case Argument::Kind::kDType: return "DataType";
    case Argument::Kind::kString:
      return IsWordType(known_type) && IsPlainWord(value.string()) ? known_type : "";
    case Argument::Kind::kList: {
      const bool is_sizes =
          known_type == "IntArray" &&
          absl::c_all_of(value.elements(), [](const Argument& e) { return e.is_int(); });
      return is_sizes ? known_type : "";
    }
    default: return "";
  }
}

bool IsAttribute(const Argument& value) {
  switch (value.kind()) {
    case Argument::Kind::kNone:
    case Argument::Kind::kBool:
    case Argument::Kind::kInt:
    case Argument::Kind::kFloat:
    case Argument::Kind::kString:
    case Argument::Kind::kDType: return true;
    case Argument::Kind::kList: return absl::c_all_of(value.elements(), IsAttribute);
    case Argument::Kind::kTuple: {
      if (!IsTyped(value)) return false;
      const absl::string_view type = value.elements()[0].string();
      const Argument& typed = value.elements()[1];
      if (typed.is_int()) return IsIntType(type);
      if (typed.is_float()) return IsFloatType(type);
      if (typed.is_list()) {
        return type == "IntArray" &&
               absl::c_all_of(typed.elements(), [](const Argument& e) { return e.is_int(); });
      }
      if (!typed.is_string() || type == "Str") return typed.is_string();
      if (IsWordType(type)) return IsPlainWord(typed.string());
      return (type.empty() || IsTypeName(type)) && IsBracketed(typed.string());
    }
    default: return false;
  }
}

void AppendAttribute(const Argument& value, absl::string_view known_type, std::string* out) {
  absl::string_view type = TypeOfAttribute(value, known_type);
  Argument plain = value;
  if (IsTyped(value)) {
    type = value.elements()[0].string();
    plain = value.elements()[1];
    if (plain.is_string() && type != "Str") {  // the text of an unknown type
      if (!type.empty()) {
        absl::StrAppend(out, "(", IsWordType(type) ? "pd_op." : "", type, ")");
      }
      absl::StrAppend(out, plain.string());
      return;
    }
    if (type == "Str") type = "";
  }
  if (!type.empty()) {
    const bool is_paddles = IsWordType(type) || type == "IntArray";
    absl::StrAppend(out, "(", is_paddles ? "pd_op." : "", type, ")");
  }
  switch (plain.kind()) {
    case Argument::Kind::kNone: *out += "<#AttrNull>"; return;
    case Argument::Kind::kBool: *out += plain.boolean() ? "true" : "false"; return;
    case Argument::Kind::kInt: AppendInteger(plain.integer(), out); return;
    case Argument::Kind::kFloat: AppendNumber(plain.real(), out); return;
    case Argument::Kind::kDType: absl::StrAppend(out, DTypeName(plain.dtype())); return;
    case Argument::Kind::kString:
      if (IsWordType(type)) {
        absl::StrAppend(out, plain.string());
      } else {
        AppendQuoted(plain.string(), out);
      }
      return;
    default: break;
  }
  *out += '[';
  for (size_t i = 0; i < plain.elements().size(); ++i) {
    if (i > 0) *out += ',';
    if (type == "IntArray" && plain.elements()[i].is_int()) {
      AppendInteger(plain.elements()[i].integer(), out);
    } else {
      AppendAttribute(plain.elements()[i], ElementType(known_type), out);
    }
  }
  *out += ']';
}

}  // namespace graphnet::pir
