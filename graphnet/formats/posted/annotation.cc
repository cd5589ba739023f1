#include "graphnet/formats/posted/annotation.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "graphnet/base/limits.h"
#include "graphnet/formats/pt2/expressions.h"

namespace graphnet::posted {
namespace {

// The short names of torch.utils._dtype_abbrs.
constexpr std::pair<absl::string_view, DType> kDTypes[] = {
    {"bf16", DType::kBFloat16},
    {"f64", DType::kFloat64},
    {"f32", DType::kFloat32},
    {"f16", DType::kFloat16},
    {"f8e4m3fn", DType::kFloat8E4M3FN},
    {"f8e5m2", DType::kFloat8E5M2},
    {"f8e4m3fnuz", DType::kFloat8E4M3FNUZ},
    {"f8e5m2fnuz", DType::kFloat8E5M2FNUZ},
    {"f8e8m0fnu", DType::kFloat8E8M0FNU},
    {"c32", DType::kComplex32},
    {"c64", DType::kComplex64},
    {"c128", DType::kComplex128},
    {"i8", DType::kInt8},
    {"i16", DType::kInt16},
    {"i32", DType::kInt32},
    {"i64", DType::kInt64},
    {"b8", DType::kBool},
    {"u8", DType::kUInt8},
    {"u16", DType::kUInt16},
    {"u32", DType::kUInt32},
    {"u64", DType::kUInt64},
    {"bits16", DType::kBits16},
};

DType DTypeOf(absl::string_view name) {
  for (const auto& [abbreviation, dtype] : kDTypes) {
    if (name == abbreviation) return dtype;
  }
  return DType::kUnknown;
}

// Takes "[…]" off the front; false if there is none.
bool TakeBrackets(absl::string_view* text, absl::string_view* inside) {
  if (!absl::StartsWith(*text, "[")) return false;
  const size_t end = text->find(']');
  if (end == absl::string_view::npos) return false;
  *inside = text->substr(1, end - 1);
  text->remove_prefix(end + 1);
  return true;
}

// Returns the size that an expression says; nullopt if the IR has no such expression.
std::optional<Dim> SizeOf(absl::string_view text, Module* module) {
  text = absl::StripAsciiWhitespace(text);
  int64_t number = 0;
  if (absl::SimpleAtoi(text, &number)) {
    return number < 0 ? std::nullopt : std::optional<Dim>(number);
  }
  const absl::StatusOr<const SymExpr*> parsed = pt2::ParseSympy(text, module);
  if (!parsed.ok() || *parsed == nullptr) return std::nullopt;
  if ((*parsed)->kind == SymExpr::Kind::kInt) return Dim((*parsed)->value);
  return Dim(*parsed);
}

// Divides "2, Max(1, s0)" at the commas that stand in no parentheses.
std::vector<absl::string_view> Divided(absl::string_view list) {
  std::vector<absl::string_view> parts;
  if (absl::StripAsciiWhitespace(list).empty()) return parts;
  int open = 0;
  size_t begin = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i] == '(') ++open;
    if (list[i] == ')') --open;
    if (list[i] != ',' || open > 0) continue;
    parts.push_back(list.substr(begin, i - begin));
    begin = i + 1;
  }
  parts.push_back(list.substr(begin));
  return parts;
}

// Returns whether numbers are the strides of a contiguous tensor, as far as sizes are numbers.
bool IsContiguous(absl::Span<const Dim> sizes, absl::Span<const absl::string_view> strides) {
  int64_t expected = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    int64_t stride = 0;
    if (!absl::SimpleAtoi(strides[i], &stride)) return true;
    const bool is_one = sizes[i].is_static() && sizes[i].value == 1;
    if (!is_one && stride != expected) return false;
    if (!sizes[i].is_static() || __builtin_mul_overflow(expected, sizes[i].value, &expected))
      return true;
    if (expected == 0) return true;
  }
  return true;
}

}  // namespace

absl::string_view AbbreviationOf(DType dtype) {
  for (const auto& [abbreviation, abbreviated] : kDTypes) {
    if (dtype == abbreviated) return abbreviation;
  }
  return {};
}

Annotation ReadAnnotation(absl::string_view text, Module* module) {
  Annotation found;
  text = absl::StripAsciiWhitespace(text);
  absl::string_view inner = text;
  if (absl::ConsumePrefix(&inner, "Sym(") && absl::ConsumeSuffix(&inner, ")")) {
    found.is_number = true;
    const std::optional<Dim> size = SizeOf(inner, module);
    if (size) found.number = size->is_static() ? module->SymInt(size->value) : size->expr;
    return found;
  }
  const size_t open = text.find('[');
  if (open == absl::string_view::npos) return found;
  TensorMeta meta;
  meta.dtype = DTypeOf(text.substr(0, open));
  if (meta.dtype == DType::kUnknown) return found;
  text.remove_prefix(open);
  absl::string_view sizes, strides;
  if (!TakeBrackets(&text, &sizes)) return found;
  const bool has_strides = TakeBrackets(&text, &strides);
  const std::vector<absl::string_view> parts = Divided(sizes);
  if (parts.size() > kMaxRank) return found;
  std::vector<Dim> shape;
  meta.has_shape = true;
  for (const absl::string_view part : parts) {
    const std::optional<Dim> size = SizeOf(part, module);
    meta.has_shape &= size.has_value();
    shape.push_back(size.value_or(Dim()));
  }
  if (meta.has_shape) {
    meta.shape = shape;
    std::vector<absl::string_view> steps = Divided(strides);
    for (absl::string_view& step : steps) step = absl::StripAsciiWhitespace(step);
    found.is_strided = has_strides && steps.size() == shape.size() && !IsContiguous(shape, steps);
  }
  if (const std::optional<Device> device = ParseDevice(absl::StripAsciiWhitespace(text))) {
    meta.has_device = true;
    meta.device = *device;
  }
  found.tensor = module->InternMeta(meta);
  return found;
}

}  // namespace graphnet::posted
