#include "graphnet/passes/change_device.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/passes/pass.h"

namespace graphnet {
namespace {

class DeviceChange {
 public:
  DeviceChange(Module* module, Device to, std::optional<Device> from)
      : module_(module), to_(to), to_name_(DeviceName(to)), from_(from) {}

  bool Run() {
    bool changed = false;
    for (Graph* graph : module_->graphs()) {
      for (Node* node : graph->nodes()) {
        changed |= ChangeMeta(node);
        if (node->is_call()) changed |= ChangeCall(node);
      }
    }
    const std::vector<Attribute> attributes(module_->attributes().begin(),
                                            module_->attributes().end());
    for (Attribute attribute : attributes) {
      if (attribute.meta == nullptr) continue;
      const TensorMeta* meta = Changed(*attribute.meta);
      if (meta == attribute.meta) continue;
      attribute.meta = meta;
      module_->AddAttribute(attribute);
      changed = true;
    }
    return changed;
  }

 private:
  bool IsMeant(Device device) const {
    if (device == to_) return false;
    return !from_.has_value() ||
           (device.type == from_->type && (from_->index < 0 || device.index == from_->index));
  }

  const TensorMeta* Changed(const TensorMeta& meta) {
    if (!meta.has_device || !IsMeant(meta.device)) return &meta;
    TensorMeta changed = meta;
    changed.device = to_;
    return module_->InternMeta(changed);
  }
  const ValueMeta* Changed(const ValueMeta* meta) {
    if (meta->tensor != nullptr) {
      const TensorMeta* tensor = Changed(*meta->tensor);
      return tensor == meta->tensor ? meta : module_->InternValueMeta(*tensor);
    }
    std::vector<const ValueMeta*> elements;
    bool changed = false;
    for (const ValueMeta* element : meta->elements) {
      elements.push_back(element == nullptr ? nullptr : Changed(element));
      changed |= elements.back() != element;
    }
    return changed ? module_->InternTupleMeta(elements) : meta;
  }
  bool ChangeMeta(Node* node) {
    if (node->meta() == nullptr) return false;
    // A folder stores symbolic numbers as tensors on the host, but they are on no device.
    if (absl::StrContains(node->annotation(), "Sym")) return false;
    const ValueMeta* meta = Changed(node->meta());
    if (meta == node->meta()) return false;
    node->set_meta(meta);
    return true;
  }

  bool ChangeCall(Node* node) {
    if ((node->is_call_method("cuda") || node->is_call_method("cpu")) && node->args().size() == 1) {
      const Device device{node->target() == "cpu" ? DeviceType::kCpu : DeviceType::kCuda, -1};
      if (!IsMeant(device)) return false;
      node->set_target("to");
      node->set_args({node->args()[0], to_});
      return true;
    }
    // A string names a device only where a device is expected.
    const Argument* name =
        node->is_call_method("to") ? node->FindArg("device", 1) : node->kwarg("device");
    return node->MapArguments([&](const Argument& a) -> Argument {
      if (a.kind() == Argument::Kind::kDevice) return IsMeant(a.device()) ? Argument(to_) : a;
      if (&a != name || !a.is_string()) return a;
      const std::optional<Device> device = ParseDevice(a.string());
      return device.has_value() && IsMeant(*device) ? Argument(absl::string_view(to_name_)) : a;
    });
  }

  Module* const module_;
  const Device to_;
  const std::string to_name_;
  const std::optional<Device> from_;
};

absl::StatusOr<Device> DeviceOption(absl::string_view name, absl::string_view text) {
  const std::optional<Device> device = ParseDevice(text);
  if (device.has_value()) return *device;
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is a device such as cpu or cuda:0, not \"", Printable(text), "\""));
}

}  // namespace

absl::StatusOr<bool> ChangeDevice(Module* module, PassRun& run) {
  ASSIGN_OR_RETURN(const Device to, DeviceOption("to", run.option("to")));
  std::optional<Device> from;
  if (!run.option("from").empty()) {
    ASSIGN_OR_RETURN(from, DeviceOption("from", run.option("from")));
  }
  return DeviceChange(module, to, from).Run();
}

namespace {

const RegisteredPass kChangeDevicePass("change-device", "change_device.h", ChangeDevice,
                                       {"from", "to"});

}  // namespace

}  // namespace graphnet
