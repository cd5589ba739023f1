#include "graphnet/ops/value_type.h"

#include <array>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/ir/annotation.h"

namespace graphnet {
namespace {

using Kind = ValueType::Kind;

constexpr absl::string_view kNames[] = {"value of unknown type",
                                        "None",
                                        "Tensor",
                                        "number",
                                        "int",
                                        "float",
                                        "bool",
                                        "complex",
                                        "str",
                                        "dtype",
                                        "device",
                                        "layout",
                                        "memory format",
                                        "graph",
                                        "list",
                                        "tuple"};
constexpr size_t kNumKinds = static_cast<size_t>(Kind::kTuple) + 1;
static_assert(std::size(kNames) == kNumKinds);

ValueType FromSchema(const SchemaType& type) {
  Kind kind = Kind::kUnknown;
  switch (type.kind) {
    case SchemaType::Kind::kTensor: kind = Kind::kTensor; break;
    case SchemaType::Kind::kScalar: kind = Kind::kNumber; break;
    case SchemaType::Kind::kInt: kind = Kind::kInt; break;
    case SchemaType::Kind::kFloat: kind = Kind::kFloat; break;
    case SchemaType::Kind::kBool: kind = Kind::kBool; break;
    case SchemaType::Kind::kString: kind = Kind::kString; break;
    case SchemaType::Kind::kDType: kind = Kind::kDType; break;
    case SchemaType::Kind::kLayout: kind = Kind::kLayout; break;
    case SchemaType::Kind::kDevice: kind = Kind::kDevice; break;
    case SchemaType::Kind::kMemoryFormat: kind = Kind::kMemoryFormat; break;
    case SchemaType::Kind::kAny:
    case SchemaType::Kind::kOther: break;
  }
  return type.is_list ? ListOf(kind) : ValueType(kind);
}

}  // namespace

ValueType ValueType::element() const {
  if (!is_sequence() || elements.empty()) return Kind::kUnknown;
  for (const ValueType& e : elements) {
    if (e.kind != elements[0].kind) return Kind::kUnknown;
  }
  return elements[0];
}

ValueType ListOf(Kind element) {
  static const std::array<ValueType, kNumKinds>* const elements = [] {
    auto* all = new std::array<ValueType, kNumKinds>;
    for (size_t i = 0; i < kNumKinds; ++i) {
      const auto kind = static_cast<Kind>(i);
      // The elements of lists in lists are unknown.
      (*all)[i] = kind == Kind::kList || kind == Kind::kTuple ? Kind::kUnknown : kind;
    }
    return all;
  }();
  return ValueType(Kind::kList, absl::MakeConstSpan(&(*elements)[static_cast<size_t>(element)], 1));
}

ValueType TypeOfAnnotation(absl::string_view annotation) {
  if (const std::optional<DType> number = NumberDType(annotation)) {
    return *number == DType::kInt64  ? Kind::kInt
           : *number == DType::kBool ? Kind::kBool
                                     : Kind::kFloat;
  }
  if (annotation == "str") return Kind::kString;
  if (annotation == "List[int]") return ListOf(Kind::kInt);
  if (annotation == "List[float]") return ListOf(Kind::kFloat);
  if (annotation == "List[Tensor]") return ListOf(Kind::kTensor);
  if (annotation.empty() || absl::StartsWith(annotation, "torch.") || annotation == "Tensor") {
    return Kind::kTensor;
  }
  return Kind::kUnknown;
}

ValueType ResultType(const Schema& schema, Arena* arena) {
  if (schema.returns.empty()) return Kind::kNone;
  if (schema.returns.size() == 1) return FromSchema(schema.returns[0]);
  ValueType* elements = arena->NewArray<ValueType>(schema.returns.size());
  for (size_t i = 0; i < schema.returns.size(); ++i) {
    new (&elements[i]) ValueType(FromSchema(schema.returns[i]));
  }
  return ValueType(Kind::kTuple, absl::MakeConstSpan(elements, schema.returns.size()));
}

std::string TypeName(const ValueType& type) {
  const absl::string_view name = kNames[static_cast<size_t>(type.kind)];
  if (type.kind == Kind::kList && type.element().kind == Kind::kUnknown) return "list";
  if (type.kind == Kind::kList) return absl::StrCat("list of ", TypeName(type.element()));
  if (type.kind != Kind::kTuple) return std::string(name);
  return absl::StrCat("(",
                      absl::StrJoin(type.elements, ", ",
                                    [](std::string* out, const ValueType& e) {
                                      absl::StrAppend(out, TypeName(e));
                                    }),
                      ")");
}

}  // namespace graphnet
