#include "graphnet/identity/commands/identity.h"

#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/formats.h"
#include "graphnet/identity/normal_form.h"
#include "graphnet/interp/inputs/example_input.h"

namespace graphnet {
namespace {

// Numbers that a program holds as tensors are part of its computation. Some formats have them only
// in the weights.
bool IsUnknownNumber(const Attribute& attribute) {
  return attribute.meta != nullptr && attribute.meta->has_shape && attribute.meta->shape.empty() &&
         attribute.annotation != "torch.nn.parameter.Parameter" &&
         (attribute.draw_spec == nullptr || attribute.draw_spec->data.is_none());
}

std::optional<Argument> NumberIn(const TensorData& data) {
  const auto read = [&](auto value, auto as) -> std::optional<Argument> {
    if (data.bytes == nullptr || data.bytes->size() != sizeof value) return std::nullopt;
    std::memcpy(&value, data.bytes->data(), sizeof value);
    return Argument(static_cast<decltype(as)>(value));
  };
  switch (data.dtype) {
    case DType::kInt64: return read(int64_t{}, int64_t{});
    case DType::kInt32: return read(int32_t{}, int64_t{});
    case DType::kFloat64: return read(double{}, double{});
    case DType::kFloat32: return read(float{}, double{});
    default: return std::nullopt;
  }
}

void AddNumbers(const std::map<std::string, TensorData>& weights, Module* module) {
  const std::vector<Attribute> attributes(module->attributes().begin(), module->attributes().end());
  for (Attribute attribute : attributes) {
    const auto it = weights.find(std::string(attribute.name));
    if (!IsUnknownNumber(attribute) || it == weights.end()) continue;
    const std::optional<Argument> number = NumberIn(it->second);
    if (!number.has_value()) continue;
    DrawSpec spec = attribute.draw_spec != nullptr ? *attribute.draw_spec : DrawSpec();
    const Argument elements[] = {*number};
    spec.data = Argument::List(elements);
    attribute.draw_spec = &spec;
    module->AddAttribute(attribute);
  }
}

absl::StatusOr<NormalFormOptions> FixedInputs(const std::vector<std::string>& words,
                                              const Module& module) {
  NormalFormOptions options;
  std::vector<absl::string_view> names;
  for (const Node* node : module.main()->placeholders()) names.push_back(node->target());
  for (const std::string& word : words) {
    ASSIGN_OR_RETURN(ExampleInput input, ParseExampleInput(word, names));
    if (input.name.empty()) continue;
    for (const Node* node : module.main()->placeholders()) {
      if (node->target() == input.name) RETURN_IF_ERROR(FitTo(node->annotation(), &input));
    }
    using Kind = ExampleInput::Kind;
    switch (input.kind) {
      case Kind::kNone: options.constants[input.name] = Argument(); break;
      case Kind::kInt: options.constants[input.name] = Argument(input.integer); break;
      case Kind::kFloat: options.constants[input.name] = Argument(input.real); break;
      case Kind::kBool: options.constants[input.name] = Argument(input.integer != 0); break;
      default: break;
    }
  }
  return options;
}

}  // namespace

absl::StatusOr<Sample> LoadForIdentity(const std::string& path, const IdentityOptions& options) {
  ASSIGN_OR_RETURN(Sample sample, Load(path, {.trust = options.trust, .weights = options.weights}));
  if (options.normal_form && path != "-" &&
      absl::c_any_of(sample.module->attributes(), IsUnknownNumber)) {
    if (!options.weights) {
      ASSIGN_OR_RETURN(sample, Load(path, {.trust = options.trust, .weights = true}));
    }
    AddNumbers(sample.weights, sample.module.get());
    if (!options.weights) sample.weights.clear();
  }
  RETURN_IF_ERROR(DescribeAll(options.inputs, /*seed=*/0, &sample));
  if (!options.normal_form) return sample;
  ASSIGN_OR_RETURN(const NormalFormOptions fixed,
                   FixedInputs(options.inputs.words, *sample.module));
  ASSIGN_OR_RETURN(sample.module, NormalForm(*sample.module, fixed));
  return sample;
}

}  // namespace graphnet
