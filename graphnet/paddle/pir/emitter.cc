#include "graphnet/paddle/pir/emitter.h"

#include <cstddef>
#include <new>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/ir/module.h"
#include "graphnet/paddle/pir/result_types.h"
#include "graphnet/paddle/pir/rules.h"
#include "graphnet/paddle/pir/spelling.h"

namespace graphnet::pir {
namespace {

constexpr absl::string_view kAnyPlace = "Place(undefined:0)";
constexpr absl::string_view kCpu = "Place(cpu)";

}  // namespace

std::optional<std::vector<int64_t>> Integers(const Argument& value) {
  std::vector<int64_t> numbers;
  if (value.is_int()) return std::vector<int64_t>{value.integer()};
  if (!value.is_list() && !value.is_tuple()) return std::nullopt;
  for (const Argument& element : value.elements()) {
    if (!element.is_int()) return std::nullopt;
    numbers.push_back(element.integer());
  }
  return numbers;
}

DType DTypeOf(const Node* node) {
  const TensorMeta* meta = node->tensor_meta();
  return meta == nullptr ? DType::kUnknown : meta->dtype;
}

int RankOf(const Node* node) {
  const TensorMeta* meta = node->tensor_meta();
  return meta == nullptr || !meta->has_shape ? -1 : static_cast<int>(meta->shape.size());
}

Argument Emitter::List(absl::Span<const int64_t> values) {
  Argument* const elements = arena_.NewArray<Argument>(values.size());
  for (size_t i = 0; i < values.size(); ++i) new (&elements[i]) Argument(values[i]);
  return Argument::List(absl::MakeConstSpan(elements, values.size()));
}

// Prefers inferred sizes to symbols that were made for unknown sizes, and numbers to any symbol.
const ValueMeta* Emitter::Merged(const ValueMeta* known, const ValueMeta* inferred) {
  if (known->tensor == nullptr || inferred == nullptr || inferred->tensor == nullptr ||
      known->tensor->shape.size() != inferred->tensor->shape.size()) {
    return known;
  }
  TensorMeta tensor = *known->tensor;
  std::vector<Dim> sizes(tensor.shape.begin(), tensor.shape.end());
  for (size_t i = 0; i < sizes.size(); ++i) {
    const Dim& other = inferred->tensor->shape[i];
    if (!sizes[i].is_static() && (other.is_static() || made_.Has(sizes[i].expr))) sizes[i] = other;
  }
  tensor.shape = sizes;
  if (tensor.dtype == DType::kUnknown) tensor.dtype = inferred->tensor->dtype;
  return module()->InternValueMeta(tensor);
}

Node* Emitter::EmitAll(absl::string_view name, absl::Span<const Argument> operands,
                       const Attributes& attributes, const ValueMeta* meta) {
  std::vector<KwArg> kwargs;
  kwargs.reserve(attributes.size());
  for (const auto& [attribute, value] : attributes) kwargs.push_back({attribute, value});
  const std::string target =
      absl::StrContains(name, '.') ? std::string(name) : absl::StrCat("pd_op.", name);
  Node* node = graph_.CallFunction(target, operands, kwargs);
  std::vector<const ValueMeta*> metas = InferResults(*node);
  if (meta != nullptr && !metas.empty()) metas[0] = Merged(meta, metas[0]);
  const bool has_several = name == "builtin.split" || metas.size() > 1;
  for (const ValueMeta* known : metas) DeclareSymbols(known, module());
  if (has_several) {
    for (size_t i = 0; i < metas.size(); ++i) {
      if (metas[i] != nullptr) continue;
      TensorMeta unknown;
      std::vector<Dim> sizes;
      if (IsReserve(*node, i)) {
        sizes.emplace_back(made_.New(module()));
        unknown = {.dtype = DType::kUInt8, .has_shape = true, .shape = sizes};
      }
      metas[i] = module()->InternValueMeta(unknown);
    }
    node->set_meta(module()->InternTupleMeta(metas));
  } else {
    node->set_meta(metas[0]);
    if (metas[0] != nullptr && metas[0]->is_tuple) node->set_annotation(kVec);
  }
  return node;
}

Node* Emitter::Emit(absl::string_view name, absl::Span<const Argument> operands,
                    const Attributes& attributes, const ValueMeta* meta) {
  return results_.Result(EmitAll(name, operands, attributes, meta), 0);
}

std::vector<Node*> Emitter::Split(Node* vec) {
  Node* split = EmitAll("builtin.split", {vec}, {});
  std::vector<Node*> parts;
  for (size_t i = 0; i < NumResults(*split); ++i) parts.push_back(results_.Result(split, i));
  return parts;
}

Node* Emitter::Combine(absl::Span<Node* const> values) {
  return Emit("builtin.combine", std::vector<Argument>(values.begin(), values.end()), {});
}

Node* Emitter::Scalar(double value, DType dtype) {
  return Emit(
      "full", {},
      {{"dtype", dtype}, {"place", kAnyPlace}, {"shape", Argument::List({})}, {"value", value}});
}

Node* Emitter::One(double value, DType dtype) {
  const Argument size(1);
  return Emit("full", {},
              {{"dtype", dtype},
               {"place", kCpu},
               {"shape", Argument::List(absl::MakeConstSpan(&size, 1))},
               {"value", value}});
}

Node* Emitter::IntArray(absl::Span<const int64_t> values) {
  return Emit("full_int_array", {},
              {{"dtype", DType::kInt64}, {"place", kCpu}, {"value", List(values)}});
}

Node* Emitter::ConstantOperand(const Argument& value, absl::string_view type) {
  if (type == "IntArray") {
    const auto numbers = Integers(value);
    return numbers.has_value() ? IntArray(*numbers) : nullptr;
  }
  const bool is_number = value.is_int() || value.is_float() || value.is_bool();
  if (!is_number || (IsIntType(type) && value.is_float())) return nullptr;
  const double number = value.is_float()  ? value.real()
                        : value.is_bool() ? static_cast<double>(value.boolean())
                                          : static_cast<double>(value.integer());
  const DType dtype = type == "Int32"    ? DType::kInt32
                      : type == "Int64"  ? DType::kInt64
                      : type == "Double" ? DType::kFloat64
                                         : DType::kFloat32;
  return One(number, dtype);
}

Node* Emitter::Cast(Node* value, DType dtype) {
  if (DTypeOf(value) == dtype || dtype == DType::kUnknown) return value;
  return Emit("cast", {value}, {{"dtype", dtype}});
}

std::optional<Argument> Emitter::Attribute(const Argument& value, absl::string_view type) {
  if (absl::EndsWith(type, "[]") || type == "IntArray") {
    const absl::string_view element = type == "IntArray" ? "Int64" : ElementType(type);
    const bool is_list = value.is_list() || value.is_tuple();
    const absl::Span<const Argument> from =
        is_list ? value.elements() : absl::MakeConstSpan(&value, 1);
    std::vector<Argument> made;
    for (const Argument& e : from) {
      const std::optional<Argument> converted = Attribute(e, element);
      if (!converted.has_value()) return std::nullopt;
      made.push_back(*converted);
    }
    Argument* const kept = arena_.NewArray<Argument>(made.size());
    for (size_t i = 0; i < made.size(); ++i) new (&kept[i]) Argument(made[i]);
    return Argument::List(absl::MakeConstSpan(kept, made.size()));
  }
  switch (value.kind()) {
    case Argument::Kind::kBool:
      if (type == "Bool") return value;
      return std::nullopt;
    case Argument::Kind::kInt:
      if (IsIntType(type)) return value;
      if (IsFloatType(type)) return Argument(static_cast<double>(value.integer()));
      return std::nullopt;
    case Argument::Kind::kFloat:
      if (IsFloatType(type)) return value;
      return std::nullopt;
    case Argument::Kind::kDType:
      if (type == "DataType") return value;
      return std::nullopt;
    case Argument::Kind::kString:
      if (type == "DataType") {
        const std::optional<DType> dtype = ParseDType(value.string());
        if (dtype.has_value()) return Argument(*dtype);
        if (value.string() != "Undefined") return std::nullopt;
        return value;
      }
      if (type == "Str" || type == "Place" || type == "DataLayout") return value;
      return std::nullopt;
    default: return std::nullopt;
  }
}

Argument Emitter::Default(const Parameter& parameter) {
  const absl::string_view text = *parameter.otherwise;
  if (parameter.type == "Bool") return text == "true";
  if (parameter.type == "DataType") {
    const std::optional<DType> dtype = ParseDType(text);
    return dtype.has_value() ? Argument(*dtype) : Argument(text);
  }
  if (IsWordType(parameter.type)) return text;
  if (text == "[]") return Argument::List({});
  const Argument literal = ParseLiteral(text);
  return Attribute(literal, parameter.type).value_or(literal);
}

}  // namespace graphnet::pir
