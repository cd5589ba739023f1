#include "graphnet/paddle/pir/type_reader.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/limits.h"
#include "graphnet/paddle/pir/builder.h"
#include "graphnet/paddle/pir/spelling.h"

namespace graphnet::pir {
namespace {

std::optional<DType> ParseElementType(absl::string_view name) {
  if (name == "b") return DType::kBool;
  if (name == "undefined") return DType::kUnknown;
  const std::optional<DType> dtype = ParseDTypeShortName(name);
  return dtype.has_value() && ElementTypeName(*dtype) == name ? dtype : std::nullopt;
}

// Parses "64x-1xf32". A size of -1 stays -1 for now.
bool ParseTensor(absl::string_view text, std::vector<Dim>* sizes, DType* dtype) {
  while (true) {
    int64_t size = 0;
    const char* const end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, size);
    if (result.ec != std::errc() || result.ptr == end || *result.ptr != 'x') break;
    if (size < -1 || sizes->size() >= kMaxRank) return false;
    sizes->emplace_back(size);
    text = text.substr(static_cast<size_t>(result.ptr - text.data()) + 1);
  }
  const std::optional<DType> parsed = ParseElementType(text);
  *dtype = parsed.value_or(DType::kUnknown);
  return parsed.has_value();
}

SymExpr::Kind KindOf(absl::string_view function) {
  constexpr std::pair<absl::string_view, SymExpr::Kind> kKinds[] = {
      {"Neg", SymExpr::Kind::kNeg},      {"Add", SymExpr::Kind::kAdd},
      {"Sub", SymExpr::Kind::kSub},      {"Mul", SymExpr::Kind::kMul},
      {"Div", SymExpr::Kind::kFloorDiv}, {"Mod", SymExpr::Kind::kMod},
      {"Pow", SymExpr::Kind::kPow},      {"Min", SymExpr::Kind::kMin},
      {"Max", SymExpr::Kind::kMax},      {"Broadcast", SymExpr::Kind::kMax}};
  for (const auto& [name, kind] : kKinds) {
    if (name == function) return kind;
  }
  return SymExpr::Kind::kInt;
}

}  // namespace

bool TypeReader::StartsType(Scanner& in) {
  if (in.AtEnd()) return false;
  const char c = *in.at();
  return absl::ascii_isalpha(static_cast<unsigned char>(c)) || in.Peek("<<NULL TYPE>>");
}

bool TypeReader::Read(Type* out, bool keep) { return Read(out, keep, 0); }

bool TypeReader::Read(Type* out, bool keep, int depth) {
  if (depth > kMaxNesting / 2) return in_.Fail("types nest too deep");
  if (in_.Take("<<NULL TYPE>>")) return true;
  const char* start = in_.at();
  const absl::string_view word = in_.TakeWord();
  if (word.empty()) return in_.FailExpected("a type");
  if (word == "vec" && in_.Take("[")) return ReadVec(out, keep, depth);
  if (!in_.Peek("<") || in_.Peek("<<")) {
    out->annotation = std::string(word);
    return true;
  }
  in_.Take("<");
  const char* inner = in_.at();
  absl::string_view text;
  while (!in_.Peek(">")) {
    if (in_.AtEnd() || !in_.ReadRaw(&text)) return in_.FailExpected("a type");
    in_.Take(",");
  }
  text =
      absl::StripAsciiWhitespace(absl::string_view(inner, static_cast<size_t>(in_.at() - inner)));
  in_.Take(">");
  if (!keep) return true;
  std::vector<Dim> sizes;
  DType dtype = DType::kUnknown;
  const bool is_tensor = ParseTensor(text, &sizes, &dtype);
  const bool is_plain = word == "builtin.tensor" || word == "tensor" || word == "pd_op.tensor";
  if (is_plain && !is_tensor) return in_.Fail(inner, "expected a type such as 64x128xf32");
  if (is_tensor && (is_plain || absl::EndsWith(word, "_tensor"))) {
    TensorMeta meta;
    meta.dtype = dtype;
    meta.has_shape = true;
    meta.shape = sizes;
    out->meta = module_.InternValueMeta(meta);
    if (!is_plain) out->annotation = std::string(word);
    return true;
  }
  const absl::string_view whole(start, static_cast<size_t>(text.end() - start) + 1);
  if (!IsTypeText(whole)) return in_.Fail(start, "a type may hold no control characters");
  out->annotation = std::string(whole);
  return true;
}

bool TypeReader::ReadVec(Type* out, bool keep, int depth) {
  std::vector<const ValueMeta*> elements;
  while (!in_.Take("]")) {
    if (!elements.empty() && !in_.Expect(",")) return false;
    Type element;
    if (!Read(&element, keep, depth + 1)) return false;
    elements.push_back(element.meta != nullptr ? element.meta
                                               : module_.InternValueMeta(TensorMeta()));
  }
  out->meta = module_.InternTupleMeta(elements);
  out->annotation = std::string(kVec);
  return true;
}

bool TypeReader::ReadSymbolicShapes(absl::string_view end, std::vector<std::vector<Dim>>* shapes) {
  while (!(end.empty() ? in_.AtEnd() : in_.Take(end))) {
    if (in_.Take(")") || in_.Take(",")) continue;
    if (in_.Take("(")) {
      if (in_.Take(")")) shapes->emplace_back();
    } else if (in_.Take("NULL")) {
      shapes->emplace_back();
    } else if (in_.Take("shape[")) {
      if (!ReadSizes(in_, &shapes->emplace_back())) return false;
    } else if (in_.Take("data[")) {
      std::vector<Dim> ignored;
      if (in_.Take("NULL")) {
        if (!in_.Expect("]")) return false;
      } else if (!ReadSizes(in_, &ignored)) {
        return false;
      }
    } else {
      return in_.FailExpected("a shape such as shape[S0, 128]");
    }
  }
  return true;
}

bool TypeReader::ParseSymbolicShapes(absl::string_view text, const char* where,
                                     std::vector<std::vector<Dim>>* shapes) {
  Scanner in(text, "sym_shape_str");
  TypeReader reader(&in, &module_);
  if (reader.ReadSymbolicShapes("", shapes)) return true;
  return in_.Fail(where, in.status().message());
}

bool TypeReader::ReadSizes(Scanner& in, std::vector<Dim>* sizes) {
  bool is_first = true;
  while (!in.Take("]")) {
    if (!is_first && !in.Expect(",")) return false;
    is_first = false;
    const SymExpr* size = nullptr;
    if (sizes->size() >= 100000) return in.Fail("a shape has too many sizes");
    if (!ReadSum(in, 0, &size)) return false;
    if (size->kind == SymExpr::Kind::kInt) {
      sizes->emplace_back(size->value);
    } else {
      sizes->emplace_back(size);
    }
  }
  return true;
}

// Reads a number, a symbol, -x or F(x, y, …).
bool TypeReader::ReadSum(Scanner& in, int depth, const SymExpr** out) {
  if (depth > kMaxNesting / 2) return in.Fail("the expression nests too deep");
  if (in.AtEnd()) return in.FailExpected("a size");
  const char first = *in.at();
  const absl::string_view rest = in.rest();
  const bool is_number =
      absl::ascii_isdigit(static_cast<unsigned char>(first)) ||
      (first == '-' && rest.size() > 1 && absl::ascii_isdigit(static_cast<unsigned char>(rest[1])));
  if (is_number) {
    int64_t value = 0;
    if (!in.ReadInt(&value)) return false;
    *out = module_.SymInt(value);
    return true;
  }
  if (in.Take("-")) {
    const SymExpr* operand = nullptr;
    if (!ReadSum(in, depth + 1, &operand)) return false;
    *out = module_.SymNeg(operand);
    return true;
  }
  if (first == '"') {
    std::string name;
    if (!in.ReadString(&name)) return false;
    if (name.empty()) return in.FailExpected("the name of a symbol");
    *out = Symbol(name);
    return true;
  }
  const absl::string_view word = in.TakeWord();
  if (word.empty()) return in.FailExpected("a size");
  if (!in.Take("(")) {
    *out = Symbol(word);
    return true;
  }
  const SymExpr::Kind kind = KindOf(word);
  if (kind == SymExpr::Kind::kInt) return in.Fail(word.data(), "unknown function of sizes");
  const SymExpr* sum = nullptr;
  if (!ReadSum(in, depth + 1, &sum)) return false;
  if (kind == SymExpr::Kind::kNeg) {
    *out = module_.SymNeg(sum);
    return in.Expect(")");
  }
  int terms = 1;
  while (in.Take(",")) {
    const SymExpr* term = nullptr;
    // Each term nests one level deeper.
    if (++terms + depth > kMaxNesting / 2) return in.Fail("the expression nests too deep");
    if (!ReadSum(in, depth + terms, &term)) return false;
    sum = module_.SymBinary(kind, sum, term);
  }
  if (terms == 1) return in.FailExpected("','");
  *out = sum;
  return in.Expect(")");
}

const SymExpr* TypeReader::Symbol(absl::string_view name) {
  if (module_.FindSymbol(name) == nullptr) module_.AddSymbol(name, std::nullopt);
  return module_.SymSymbol(name);
}

const SymExpr* TypeReader::NewSymbol() {
  std::string name;
  do {
    name = absl::StrCat("D", num_new_++);
  } while (module_.FindSymbol(name) != nullptr);
  return Symbol(name);
}

const ValueMeta* TypeReader::Named(const ValueMeta* meta, absl::Span<const std::vector<Dim>> shapes,
                                   size_t* next) {
  if (meta != nullptr && meta->is_tuple && !meta->elements.empty()) {
    std::vector<const ValueMeta*> elements;
    for (const ValueMeta* element : meta->elements)
      elements.push_back(Named(element, shapes, next));
    return module_.InternTupleMeta(elements);
  }
  const size_t i = (*next)++;
  if (meta == nullptr || meta->tensor == nullptr || !meta->tensor->has_shape) return meta;
  TensorMeta tensor = *meta->tensor;
  std::vector<Dim> sizes(tensor.shape.begin(), tensor.shape.end());
  const bool is_named = i < shapes.size() && shapes[i].size() == sizes.size();
  for (size_t k = 0; k < sizes.size(); ++k) {
    if (!sizes[k].is_static() || sizes[k].value != -1) continue;
    sizes[k] = is_named && !(shapes[i][k].is_static() && shapes[i][k].value < 0) ? shapes[i][k]
                                                                                 : Dim(NewSymbol());
  }
  tensor.shape = sizes;
  return module_.InternValueMeta(tensor);
}

void TypeReader::NameSizes(absl::Span<const std::vector<Dim>> shapes, absl::Span<Type> types) {
  size_t next = 0;
  for (Type& type : types) type.meta = Named(type.meta, shapes, &next);
}

}  // namespace graphnet::pir
