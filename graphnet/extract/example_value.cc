#include "graphnet/extract/example_value.h"

#include <utility>
#include <vector>

#include "ATen/core/jit_type.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/torch/tensors.h"

namespace graphnet {
namespace {

using Kind = ExampleInput::Kind;

absl::Status Error(const std::string& name, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("--input: ", Printable(name), ": ", what));
}

// A list, tuple or dict.
absl::StatusOr<c10::IValue> MakeStructure(const ExampleInput& input, const std::string& name,
                                          uint64_t seed, const c10::TypePtr& type) {
  const bool is_tuple = input.kind == Kind::kTuple;
  const bool is_dict = input.kind == Kind::kDict;
  const c10::TypeKind kind = is_tuple  ? c10::TypeKind::TupleType
                             : is_dict ? c10::TypeKind::DictType
                                       : c10::TypeKind::ListType;
  const bool known = type != nullptr && type->kind() == kind &&
                     (!is_tuple || type->containedTypes().size() == input.elements.size());
  std::vector<c10::IValue> values;
  for (size_t i = 0; i < input.elements.size(); ++i) {
    const std::string key = is_dict ? input.keys[i] : absl::StrCat(i);
    const c10::TypePtr inner = known ? type->containedType(is_tuple ? i : is_dict) : nullptr;
    ASSIGN_OR_RETURN(
        values.emplace_back(),
        MakeExampleValue(input.elements[i], absl::StrCat(name, ".", key), seed, inner));
  }
  if (is_tuple) return c10::IValue(c10::ivalue::Tuple::create(std::move(values)));
  c10::TypePtr inner = known ? type->containedType(is_dict) : nullptr;
  if (inner == nullptr) {
    if (values.empty()) {
      return Error(name, absl::StrCat("the element type of the empty ", is_dict ? "dict" : "list",
                                      " is unknown"));
    }
    inner = c10::unshapedType(values[0].type());
  }
  c10::impl::GenericList list(inner);
  c10::impl::GenericDict dict(c10::StringType::get(), inner);
  for (size_t i = 0; i < values.size(); ++i) {
    if (!c10::unshapedType(values[i].type())->isSubtypeOf(*inner))
      return Error(name, absl::StrCat(is_dict ? "values" : "elements", " of different types"));
    if (is_dict) {
      dict.insert(input.keys[i], std::move(values[i]));
    } else {
      list.push_back(std::move(values[i]));
    }
  }
  return is_dict ? c10::IValue(dict) : c10::IValue(list);
}

}  // namespace

absl::StatusOr<c10::IValue> MakeExampleValue(const ExampleInput& written, const std::string& name,
                                             uint64_t seed, const c10::TypePtr& type) {
  ExampleInput input = written;
  if (type != nullptr) {
    const absl::Status fits = FitTo(type->annotation_str(), &input);
    if (!fits.ok()) return Error(name, fits.message());
  }
  if (type != nullptr && type->kind() == c10::TypeKind::OptionalType) {
    return MakeExampleValue(input, name, seed,
                            type->expectRef<c10::OptionalType>().getElementType());
  }
  switch (input.kind) {
    case Kind::kNone: return c10::IValue();
    case Kind::kInt: return c10::IValue(input.integer);
    case Kind::kFloat: return c10::IValue(input.real);
    case Kind::kBool: return c10::IValue(input.integer != 0);
    case Kind::kComplex: return c10::IValue(c10::complex<double>(input.real, input.imaginary));
    case Kind::kString:
      if (type != nullptr && type->kind() == c10::TypeKind::DeviceObjType)
        return c10::IValue(c10::Device(input.text));
      return c10::IValue(input.text);
    case Kind::kTensor: {
      ASSIGN_OR_RETURN(const TensorData data, DrawExample(input, name, seed));
      ASSIGN_OR_RETURN(at::Tensor tensor, ToTensor(data, c10::Device(c10::kCPU)));
      return c10::IValue(std::move(tensor));
    }
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict: return MakeStructure(input, name, seed, type);
  }
  return absl::InternalError("no such kind");
}

absl::StatusOr<c10::IValue> MakeExampleValue(const std::string& text, const std::string& name,
                                             uint64_t seed, const c10::TypePtr& type) {
  ASSIGN_OR_RETURN(const ExampleInput input, ParseExampleInput(text));
  return MakeExampleValue(input, name, seed, type);
}

}  // namespace graphnet
