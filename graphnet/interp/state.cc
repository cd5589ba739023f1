// vmap's nesting levels and autocast: calls that change the state of the thread.
#include <string>

#include "ATen/Functions.h"
#include "ATen/WrapDimUtils.h"
#include "ATen/autocast_mode.h"
#include "ATen/functorch/BatchedTensorImpl.h"
#include "ATen/functorch/DynamicLayer.h"
#include "ATen/functorch/LegacyVmapTransforms.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/strip.h"
#include "graphnet/interp/builtins.h"

namespace graphnet::interp {
namespace {

using c10::IValue;
using Args = std::vector<IValue>;

// --- vmap (torch/csrc/functorch/init.cpp) ------------------------------------

IValue IncrementNesting(Args& a, c10::Device) {
  const std::string& randomness = a.at(1).toStringRef();
  const at::functorch::RandomnessType type =
      randomness == "error"       ? at::functorch::RandomnessType::Error
      : randomness == "same"      ? at::functorch::RandomnessType::Same
      : randomness == "different" ? at::functorch::RandomnessType::Different
                                  : at::functorch::RandomnessType::END;
  TORCH_CHECK(type != at::functorch::RandomnessType::END, "no such randomness: ", randomness);
  return at::functorch::initAndPushDynamicLayer(at::functorch::TransformType::Vmap,
                                                c10::SymInt(a.at(0).toInt()), type);
}

IValue DecrementNesting(Args&, c10::Device) {
  TORCH_CHECK(!at::functorch::getDynamicLayerStack().empty(), "no vmap level is open");
  const auto layer = at::functorch::popDynamicLayerAndDeleteMetadata();
  TORCH_CHECK(layer.key() == at::functorch::TransformType::Vmap, "the open level is not of vmap");
  return layer.layerId();
}

IValue AddBatchDim(Args& a, c10::Device) {
  const at::Tensor& tensor = a.at(0).toTensor();
  const int64_t dim = c10::maybe_wrap_dim(a.at(1).toInt(), tensor.dim());
  return at::functorch::addBatchDim(tensor, dim, a.at(2).toInt());
}

bool HasLevel(const at::Tensor& tensor, int64_t level) {
  const auto* batched = at::functorch::maybeGetBatchedImpl(tensor);
  return batched != nullptr && batched->level() >= level;
}

IValue RemoveBatchDim(Args& a, c10::Device) {
  const at::Tensor& self = a.at(0).toTensor();
  const int64_t level = a.at(1).toInt();
  const int64_t size = a.at(2).toInt();
  const int64_t dim = a.at(3).toInt();
  if (!HasLevel(self, level)) {  // Never batched here: it is the same for all.
    std::vector<int64_t> sizes = self.sizes().vec();
    const int64_t at = dim < 0 ? dim + self.dim() + 1 : dim;
    TORCH_CHECK(at >= 0 && at <= self.dim(), "no dimension ", dim);
    sizes.insert(sizes.begin() + at, size);
    return self.unsqueeze(at).expand(sizes);
  }
  const auto* batched = at::functorch::maybeGetBatchedImpl(self);
  TORCH_CHECK(batched->level() == level, "the value is batched at level ", batched->level(),
              ", not ", level);
  return batched->value().movedim(batched->bdim(), dim);
}

// --- autocast (torch/amp/autocast_mode.py) -----------------------------------

struct Autocast {
  c10::DeviceType device;
  bool enabled;
  bool cache;
  c10::ScalarType dtype;
};
thread_local std::vector<Autocast> autocasts;

void Leave() {
  const Autocast& saved = autocasts.back();
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(saved.device, saved.enabled);
  at::autocast::set_autocast_dtype(saved.device, saved.dtype);
  at::autocast::set_autocast_cache_enabled(saved.cache);
  autocasts.pop_back();
}

IValue EnterAutocast(Args& a, c10::Device target) {
  c10::Device device(a.at(0).toStringRef());
  // What holds for the device of the program holds for the one asked for.
  if (!device.is_cpu()) device = target;
  if (device.is_meta()) device = c10::Device(c10::kCPU);
  bool enabled = a.size() < 3 || a[2].isNone() || a[2].toBool();
  autocasts.push_back({device.type(), at::autocast::is_autocast_enabled(device.type()),
                       at::autocast::is_autocast_cache_enabled(),
                       at::autocast::get_autocast_dtype(device.type())});
  if (a.size() > 1 && !a[1].isNone()) {
    at::autocast::set_autocast_dtype(device.type(), static_cast<c10::ScalarType>(a[1].toInt()));
  }
  at::autocast::set_autocast_enabled(device.type(), enabled);
  at::autocast::increment_nesting();
  if (a.size() > 3 && !a[3].isNone()) at::autocast::set_autocast_cache_enabled(a[3].toBool());
  return IValue();
}

IValue ExitAutocast(Args&, c10::Device) {
  TORCH_CHECK(!autocasts.empty(), "no autocast is open");
  Leave();
  return IValue();
}

}  // namespace

StateGuard::StateGuard() : depth_(at::functorch::getDynamicLayerStack().size()) {
  ForgetAttributes();
}

StateGuard::~StateGuard() {
  while (at::functorch::getDynamicLayerStack().size() > depth_) {
    at::functorch::popDynamicLayerAndDeleteMetadata();
  }
  while (!autocasts.empty()) Leave();
  ForgetAttributes();
}

Builtin FindStateCall(absl::string_view name) {
  static const auto* const table = new absl::flat_hash_map<absl::string_view, Builtin>{
      {"_vmap_increment_nesting", IncrementNesting},
      {"_vmap_decrement_nesting", DecrementNesting},
      {"_add_batch_dim", AddBatchDim},
      {"_remove_batch_dim", RemoveBatchDim},
  };
  if (name == "torch.amp.autocast_mode._enter_autocast") return EnterAutocast;
  if (name == "torch.amp.autocast_mode._exit_autocast") return ExitAutocast;
  if (!absl::ConsumePrefix(&name, "torch._functorch.predispatch.") &&
      !absl::ConsumePrefix(&name, "torch._C._functorch.")) {
    return nullptr;
  }
  const auto it = table->find(name);
  return it == table->end() ? nullptr : it->second;
}

}  // namespace graphnet::interp
