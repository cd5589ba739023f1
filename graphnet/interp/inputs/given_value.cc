#include "graphnet/interp/inputs/given_value.h"

#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/interp/inputs/elements.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/module.h"

namespace graphnet {
namespace {

template <typename T>
std::optional<Argument> NumberIn(const TensorData& data) {
  T number{};
  if (data.bytes->size() != sizeof(number)) return std::nullopt;
  std::memcpy(&number, data.bytes->data(), sizeof(number));
  return Argument(number);
}

std::optional<Argument> NumberIn(const TensorData& data, DType dtype) {
  if (data.dtype != dtype || !data.shape.empty() || data.bytes == nullptr) return std::nullopt;
  if (dtype == DType::kInt64) return NumberIn<int64_t>(data);
  if (dtype == DType::kFloat64) return NumberIn<double>(data);
  return NumberIn<bool>(data);
}

}  // namespace

std::optional<Argument> GivenValue(const Node& input, const Sample& sample, Arena* arena) {
  const absl::string_view type = InnerAnnotation(input.annotation());
  const bool is_number = type == "int" || type == "float" || type == "bool";
  if (!is_number && type != "str") return std::nullopt;
  if (sample.module->FindSymbol(input.target()) != nullptr) return std::nullopt;
  const auto given = sample.weights.find(std::string(input.target()));
  const DrawSpec* const spec = input.draw_spec();
  const bool has_data = spec != nullptr && spec->data.is_list();
  const absl::Span<const Argument> data =
      has_data ? spec->data.elements() : absl::Span<const Argument>();
  if (is_number) {
    const DType dtype = *NumberDType(type);
    if (given != sample.weights.end()) return NumberIn(given->second, dtype);
    if (data.size() != 1) return std::nullopt;
    const bool fits = dtype == DType::kInt64  ? data[0].is_int()
                      : dtype == DType::kBool ? data[0].is_bool()
                                              : data[0].is_float();
    return fits ? std::optional(data[0]) : std::nullopt;
  }
  std::string text;
  if (given != sample.weights.end()) {
    if (given->second.dtype != DType::kUInt8 || given->second.bytes == nullptr) return std::nullopt;
    text = std::string(*given->second.bytes);
  } else if (has_data) {
    for (const Argument& byte : data) {
      if (!byte.is_int()) return std::nullopt;
      text.push_back(static_cast<char>(byte.integer()));
    }
  } else {
    return std::nullopt;
  }
  return Argument(arena->Copy(absl::string_view(text)));
}

}  // namespace graphnet
