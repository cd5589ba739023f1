#include "graphnet/extract/example_value.h"

#include <map>

#include "ATen/core/jit_type.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/structured_input.h"
#include "graphnet/interp/torch/tensors.h"

namespace graphnet {
absl::StatusOr<c10::IValue> MakeExampleValue(const ExampleInput& written, const std::string& name,
                                             uint64_t seed, const c10::TypePtr& type) {
  const auto annotate = [&](const absl::Status& status) {
    return absl::InvalidArgumentError(
        absl::StrCat("--input: ", Printable(name), ": ", status.message()));
  };
  ExampleInput input = written;
  if (const absl::Status fits = FitTo(type->annotation_str(), &input); !fits.ok())
    return annotate(fits);
  std::map<std::string, TensorData> values;
  RETURN_IF_ERROR(DrawExamples(input, name, seed, &values));
  absl::StatusOr<c10::IValue> value =
      MakeStructure(type, name, values, [](const std::string&, const TensorData& data) {
        return ToTensor(data, c10::Device(c10::kCPU));
      });
  if (!value.ok()) return annotate(value.status());
  return value;
}

absl::StatusOr<c10::IValue> MakeExampleValue(const std::string& text, const std::string& name,
                                             uint64_t seed, const c10::TypePtr& type) {
  ASSIGN_OR_RETURN(const ExampleInput input, ParseExampleInput(text));
  return MakeExampleValue(input, name, seed, type);
}

}  // namespace graphnet
