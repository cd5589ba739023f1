#include "graphnet/cli/ports.h"

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/engine.h"
#include "graphnet/cli/inputs.h"
#include "graphnet/cli/options.h"

namespace graphnet {

namespace {

bool IsKnown(const ValueMeta& meta) {
  if (meta.tensor != nullptr) {
    // Integers are never fully known: inference also finds their bounds as indices.
    const DType dtype = meta.tensor->dtype;
    return meta.tensor->has_shape && (IsFloatingPoint(dtype) || dtype == DType::kBool);
  }
  return meta.is_tuple &&
         absl::c_all_of(meta.elements, [](const ValueMeta* element) { return IsKnown(*element); });
}

// Returns whether the sample already states everything that inference could find.
bool IsAllKnown(const Graph& graph) {
  return absl::c_all_of(graph.nodes(), [](const Node* node) {
    return node->op() == Op::kPlaceholder || node->op() == Op::kOutput ||
           (node->meta() != nullptr && IsKnown(*node->meta()));
  });
}

// Returns the device of all inputs and attributes; nullopt if there are several or none, or if a
// call names another one.
std::optional<Device> DeviceOfAll(const Module& module) {
  std::vector<Device> devices;
  const auto add = [&](const TensorMeta* meta) {
    if (meta != nullptr && meta->has_device) devices.push_back(meta->device);
  };
  for (const Node* node : module.main()->placeholders()) {
    // In a folder, numbers are tensors on the CPU.
    if (!absl::StrContains(node->annotation(), "Sym")) add(node->tensor_meta());
  }
  for (const Attribute& attribute : module.attributes()) add(attribute.meta);
  for (const Graph* graph : module.graphs()) {
    for (const Node* node : graph->nodes()) {
      node->ForEachArgument([&](const Argument& a) {
        if (a.kind() == Argument::Kind::kDevice) devices.push_back(a.device());
      });
    }
  }
  if (devices.empty() || !absl::c_all_of(devices, [&](Device d) { return d == devices[0]; }))
    return std::nullopt;
  return devices[0];
}

// Adds the device to metas, which are inferred without one. Numbers have no device.
void SayDevice(Device device, ObservedValues* values) {
  Module* const module = values->module.get();
  absl::flat_hash_map<const ValueMeta*, const ValueMeta*> made;
  const std::function<const ValueMeta*(const ValueMeta*)> with_device =
      [&](const ValueMeta* meta) -> const ValueMeta* {
    if (const auto it = made.find(meta); it != made.end()) return it->second;
    const ValueMeta* with = meta;
    if (meta->tensor != nullptr && !meta->tensor->has_device) {
      TensorMeta tensor = *meta->tensor;
      tensor.has_device = true;
      tensor.device = device;
      with = module->InternValueMeta(tensor);
    } else if (meta->is_tuple) {
      std::vector<const ValueMeta*> elements;
      for (const ValueMeta* element : meta->elements) elements.push_back(with_device(element));
      with = module->InternTupleMeta(elements);
    }
    return made[meta] = with;
  };
  for (Node* node : module->main()->nodes()) {
    if (!node->is_call() || node->meta() == nullptr) continue;
    const auto value = values->values.find(std::string(node->name()));
    if (value != values->values.end() && !value->second.annotation.empty()) continue;
    node->set_meta(with_device(node->meta()));
  }
}

}  // namespace

void AddPortOptions(CLI::App* command, PortOptions* options) {
  AddInputOption(command, &options->inputs);
  const std::map<std::string, PortFacts> facts = {{"none", PortFacts::kNone},
                                                  {"shapes", PortFacts::kShapes},
                                                  {"stats", PortFacts::kStatistics}};
  AddChoiceOption(command, "--ports", &options->facts, facts,
                  "Facts that pieces state about values from inside the graph: none: only those of "
                  "the sample; shapes (default): also inferred shapes; stats: also mean, std, min "
                  "and max, measured in a run");
  command->add_option("--seed", options->seed, "Seed of the drawn inputs, for --ports");
}

absl::StatusOr<PortValues> FindPortValues(const PortOptions& options, Sample* sample) {
  PortValues found;
  absl::Status status = GiveInputs({.words = options.inputs}, options.seed, sample);
  if (options.facts == PortFacts::kStatistics) {
    RETURN_IF_ERROR(status);
    ASSIGN_OR_RETURN(const Engine* engine, OpenEngine());
    RETURN_IF_ERROR(engine->MeasureValues(
        *sample, {.seed = options.seed, .max_bytes = AvailableMemoryBytes() / 2}, &found.values));
    return found;
  }
  // A word that does not fit is an error; an input without a description is not.
  if (!status.ok() && !options.inputs.empty()) return status;
  if (options.facts == PortFacts::kNone || IsAllKnown(*sample->module->main())) return found;
  const absl::StatusOr<const Engine*> engine = OpenEngine();
  absl::string_view help;
  if (status.ok() && engine.ok()) {
    status = (*engine)->InferValues(*sample, /*name_sizes=*/true, &found.values);
    if (status.ok() && found.values.module != nullptr) {
      const std::optional<Device> device = DeviceOfAll(*sample->module);
      if (device.has_value()) SayDevice(*device, &found.values);
    }
    help = "; --ports stats measures them in a run";
  } else if (status.ok()) {
    status = engine.status();
  }
  if (!status.ok()) {
    constexpr size_t kLongestReason = 200;  // PyTorch's reasons can fill pages
    found.why_not = absl::StrCat("the shapes of inputs of pieces are unknown: ",
                                 Printable(status.message(), kLongestReason), help);
  }
  return found;
}

}  // namespace graphnet
