#include "graphnet/ir/weights.h"

#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/status.h"
#include "graphnet/base/tensor_size.h"

namespace graphnet {
namespace {

template <typename T>
constexpr DType kDTypeOf = DType::kUnknown;
template <>
constexpr DType kDTypeOf<float> = DType::kFloat32;
template <>
constexpr DType kDTypeOf<double> = DType::kFloat64;
template <>
constexpr DType kDTypeOf<int8_t> = DType::kInt8;
template <>
constexpr DType kDTypeOf<int16_t> = DType::kInt16;
template <>
constexpr DType kDTypeOf<int32_t> = DType::kInt32;
template <>
constexpr DType kDTypeOf<int64_t> = DType::kInt64;
template <>
constexpr DType kDTypeOf<uint8_t> = DType::kUInt8;

template <typename T>
SharedBytes BytesOf(absl::Span<const T> values) {
  return std::make_shared<std::string>(reinterpret_cast<const char*>(values.data()),
                                       values.size() * sizeof(T));
}

absl::Status CheckDType(absl::string_view name, DType is, DType wanted) {
  if (is == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the dtype of ", Printable(name), " is ",
                                                 DTypeShortName(is), ", not ",
                                                 DTypeShortName(wanted)));
}

}  // namespace

template <typename T>
absl::StatusOr<std::vector<T>> Values(const Sample& sample, absl::string_view name) {
  const auto it = sample.weights.find(std::string(name));
  if (it == sample.weights.end())
    return absl::NotFoundError(absl::StrCat("no value of ", Printable(name), " is known"));
  RETURN_IF_ERROR(CheckDType(name, it->second.dtype, kDTypeOf<T>));
  const absl::string_view bytes = *it->second.bytes;
  std::vector<T> values(bytes.size() / sizeof(T));
  // The bytes of a file need not be aligned.
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

template <typename T>
absl::Status SetValues(absl::string_view name, absl::Span<const T> values, Sample* sample) {
  const auto it = sample->weights.find(std::string(name));
  if (it == sample->weights.end())
    return absl::NotFoundError(absl::StrCat("no value of ", Printable(name), " is known"));
  RETURN_IF_ERROR(CheckDType(name, it->second.dtype, kDTypeOf<T>));
  const size_t wanted = it->second.bytes->size() / sizeof(T);
  if (values.size() != wanted) {
    return absl::InvalidArgumentError(
        absl::StrCat(Printable(name), " has ", wanted, " elements, not ", values.size()));
  }
  it->second.bytes = BytesOf(values);
  return absl::OkStatus();
}

template <typename T>
absl::StatusOr<Node*> AddParameter(absl::string_view name, absl::Span<const int64_t> shape,
                                   absl::Span<const T> values, Sample* sample) {
  Module* const module = sample->module.get();
  if (module->FindAttribute(name) != nullptr)
    return absl::AlreadyExistsError(absl::StrCat("there is an attribute ", Printable(name)));
  const std::optional<int64_t> elements = NumElements(shape);
  if (elements != static_cast<int64_t>(values.size())) {
    return absl::InvalidArgumentError(absl::StrCat("the shape [", absl::StrJoin(shape, ", "),
                                                   "] of ", Printable(name), " has not ",
                                                   values.size(), " elements"));
  }
  TensorMeta meta;
  meta.dtype = kDTypeOf<T>;
  meta.has_device = meta.has_shape = true;
  const std::vector<Dim> dims(shape.begin(), shape.end());
  meta.shape = dims;
  module->AddAttribute({.name = name,
                        .meta = module->InternMeta(meta),
                        .annotation = "torch.nn.parameter.Parameter"});
  sample->weights[std::string(name)] = {kDTypeOf<T>, {shape.begin(), shape.end()}, BytesOf(values)};
  Node* const node = module->main()->GetAttr(name);
  node->set_meta(module->InternValueMeta(meta));
  return node;
}

// NOLINTBEGIN(bugprone-macro-parentheses): a type
#define GRAPHNET_WEIGHTS_OF(T)                                                                 \
  template absl::StatusOr<std::vector<T>> Values<T>(const Sample&, absl::string_view);         \
  template absl::Status SetValues<T>(absl::string_view, absl::Span<const T>, Sample*);         \
  template absl::StatusOr<Node*> AddParameter<T>(absl::string_view, absl::Span<const int64_t>, \
                                                 absl::Span<const T>, Sample*)
GRAPHNET_WEIGHTS_OF(float);
GRAPHNET_WEIGHTS_OF(double);
GRAPHNET_WEIGHTS_OF(int8_t);
GRAPHNET_WEIGHTS_OF(int16_t);
GRAPHNET_WEIGHTS_OF(int32_t);
GRAPHNET_WEIGHTS_OF(int64_t);
GRAPHNET_WEIGHTS_OF(uint8_t);
#undef GRAPHNET_WEIGHTS_OF
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace graphnet
