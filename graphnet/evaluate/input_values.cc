#include "graphnet/evaluate/input_values.h"

#include <cstddef>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/file.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/near_miss.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/safetensors/safetensors.h"
#include "graphnet/formats/source.h"
#include "graphnet/interp/inputs/elements.h"
#include "graphnet/interp/inputs/example_input.h"
#include "graphnet/ir/annotation.h"

namespace graphnet {
namespace {

bool IsKnown(const std::string& name, const std::vector<std::string>& names) {
  return absl::c_any_of(names, [&](const std::string& known) {
    return name == known || (absl::EndsWith(known, ".") && absl::StartsWith(name, known));
  });
}

bool HoldsZeros(const DrawSpec* spec) {
  if (spec == nullptr) return false;
  if (spec->data.is_none())
    return spec->has_mean && spec->has_std && spec->mean == 0 && spec->std == 0;
  return absl::c_all_of(spec->data.elements(), [](const Argument& element) {
    return element.is_float() && element.real() == 0;
  });
}

// The values are positive because some tensors may be variances.
DrawSpec ValuesForZeros(const DrawSpec* spec) {
  DrawSpec made = spec == nullptr ? DrawSpec() : *spec;
  made.data = Argument();
  made.has_mean = made.has_std = true;
  made.mean = 0.5;
  made.std = 0.2;
  made.min = Argument(0.1);
  made.max = Argument(1.0);
  return made;
}

}  // namespace

absl::StatusOr<std::map<std::string, TensorData>> ReadValues(
    const std::string& path, const std::vector<std::string>& names) {
  std::map<std::string, TensorData> values;
  if (path.empty() || path == kRandomInputs) return values;
  if (path == "-") {
    RETURN_IF_ERROR(TakeStandardInput());
    const auto half = static_cast<size_t>(AvailableMemoryBytes()) / 2;
    ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, half));
    ASSIGN_OR_RETURN(values, ParseSafetensors(bytes, "<stdin>"));
  } else {
    ASSIGN_OR_RETURN(values, ReadSafetensorsFile(path));
  }
  const std::vector<absl::string_view> all(names.begin(), names.end());
  for (const auto& [name, value] : values) {
    if (IsKnown(name, names)) continue;
    return absl::InvalidArgumentError(absl::StrCat(Printable(path, 1000),
                                                   ": nothing takes a value by the name ",
                                                   Printable(name), NearMissHint(name, all)));
  }
  return values;
}

std::vector<std::string> NamesOfValues(const Sample& sample) {
  std::vector<std::string> names;
  for (const Node* node : sample.module->main()->placeholders()) {
    const bool holds_others =
        IsStructure(node->annotation()) || (node->meta() != nullptr && node->meta()->is_tuple);
    names.push_back(absl::StrCat(node->target(), holds_others ? "." : ""));
    if (TakesSeveralKinds(node->annotation())) names.push_back(absl::StrCat(node->target(), "."));
  }
  for (const Attribute& attribute : sample.module->attributes()) names.emplace_back(attribute.name);
  return names;
}

void ReplaceZeros(Sample* sample) {
  const auto holds_zeros = [sample](absl::string_view name, const TensorMeta* meta,
                                    const DrawSpec* spec) {
    if (meta == nullptr || !IsFloatingPoint(meta->dtype)) return false;
    const auto it = sample->weights.find(std::string(name));
    if (it == sample->weights.end()) return HoldsZeros(spec);
    const auto& bytes = it->second.bytes;
    if (bytes == nullptr || absl::c_any_of(*bytes, [](char byte) { return byte != 0; }))
      return false;
    sample->weights.erase(it);
    return true;
  };
  Module* module = sample->module.get();
  const std::vector<Attribute> attributes(module->attributes().begin(), module->attributes().end());
  for (Attribute attribute : attributes) {
    if (!holds_zeros(attribute.name, attribute.meta, attribute.draw_spec)) continue;
    const DrawSpec spec = ValuesForZeros(attribute.draw_spec);
    attribute.draw_spec = &spec;
    module->AddAttribute(attribute);
  }
  for (Node* input : module->main()->placeholders()) {
    if (holds_zeros(input->target(), input->tensor_meta(), input->draw_spec()))
      input->set_draw_spec(ValuesForZeros(input->draw_spec()));
  }
}

absl::Status DescribeAll(const InputOptions& options, uint64_t seed, Sample* sample) {
  RETURN_IF_ERROR(DescribeInputs(options.words, seed, sample));
  ASSIGN_OR_RETURN(auto given, ReadValues(options.file, NamesOfValues(*sample)));
  for (auto& [name, data] : given) sample->weights[name] = std::move(data);
  if (options.file == kRandomInputs) ReplaceZeros(sample);
  return absl::OkStatus();
}

absl::Status GiveInputs(const InputOptions& options, uint64_t seed, Sample* sample) {
  RETURN_IF_ERROR(DescribeAll(options, seed, sample));
  return CheckKnown(*sample);
}

absl::StatusOr<std::map<std::string, TensorData>> ReadInputs(const InputOptions& options,
                                                             const DrawOptions& draw,
                                                             Sample* sample) {
  RETURN_IF_ERROR(GiveInputs(options, draw.seed, sample));
  return DrawInputs(*sample, draw);
}

}  // namespace graphnet
