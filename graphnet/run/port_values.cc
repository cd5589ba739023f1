#include "graphnet/run/port_values.h"

#include <functional>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/run/engine.h"

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

PortValues InferPortValues(const Sample& sample) {
  PortValues found;
  if (IsAllKnown(*sample.module->main())) return found;
  const absl::StatusOr<const Engine*> engine = OpenEngine();
  absl::Status status = engine.status();
  if (engine.ok()) {
    status = (*engine)->InferValues(sample, /*name_sizes=*/true, &found.values);
    if (status.ok() && found.values.module != nullptr) {
      const std::optional<Device> device = DeviceOfAll(*sample.module);
      if (device.has_value()) SayDevice(*device, &found.values);
    }
  }
  if (!status.ok()) found.why_not = WhyUnknown(status);
  return found;
}

std::string WhyUnknown(const absl::Status& status) {
  constexpr size_t kLongestReason = 200;  // PyTorch's reasons can fill pages
  return absl::StrCat("the shapes of inputs of pieces are unknown: ",
                      Printable(status.message(), kLongestReason));
}

}  // namespace graphnet
