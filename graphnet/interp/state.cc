// vmap's nesting levels and autocast: calls that change the state of the thread.
#include <string>
#include <utility>

#include "ATen/Functions.h"
#include "ATen/WrapDimUtils.h"
#include "ATen/autocast_mode.h"
#include "ATen/functorch/BatchedTensorImpl.h"
#include "ATen/functorch/DynamicLayer.h"
#include "ATen/functorch/LegacyVmapTransforms.h"
#include "absl/container/flat_hash_map.h"
#include "graphnet/interp/builtins.h"
#include "graphnet/interp/values.h"

namespace graphnet::interp {
namespace {

using c10::IValue;
using Args = std::vector<IValue>;

// --- vmap (torch/csrc/functorch/init.cpp) ------------------------------------

// The number of levels of vmap that were open when the run began; they are not its own.
thread_local size_t run_levels = 0;

size_t NumLevels() { return at::functorch::getDynamicLayerStack().size(); }

IValue IncrementNesting(Args& a, c10::Device) {
  const std::string& randomness = a[1].toStringRef();
  const at::functorch::RandomnessType type =
      randomness == "error"       ? at::functorch::RandomnessType::Error
      : randomness == "same"      ? at::functorch::RandomnessType::Same
      : randomness == "different" ? at::functorch::RandomnessType::Different
                                  : at::functorch::RandomnessType::END;
  TORCH_CHECK(type != at::functorch::RandomnessType::END, "unknown randomness: ", randomness);
  return at::functorch::initAndPushDynamicLayer(at::functorch::TransformType::Vmap,
                                                c10::SymInt(a[0].toInt()), type);
}

IValue DecrementNesting(Args&, c10::Device) {
  TORCH_CHECK(NumLevels() > run_levels, "no vmap level is open");
  const auto layer = at::functorch::popDynamicLayerAndDeleteMetadata();
  TORCH_CHECK(layer.key() == at::functorch::TransformType::Vmap, "the open level is not of vmap");
  return layer.layerId();
}

IValue AddBatchDim(Args& a, c10::Device) {
  const at::Tensor& tensor = a[0].toTensor();
  const int64_t dim = c10::maybe_wrap_dim(a[1].toInt(), tensor.dim());
  const int64_t level = a[2].toInt();
  TORCH_CHECK(level > 0 && level <= static_cast<int64_t>(NumLevels()), "level ", level,
              " of vmap is not open");
  return at::functorch::addBatchDim(tensor, dim, level);
}

bool HasLevel(const at::Tensor& tensor, int64_t level) {
  const auto* batched = at::functorch::maybeGetBatchedImpl(tensor);
  return batched != nullptr && batched->level() >= level;
}

IValue RemoveBatchDim(Args& a, c10::Device) {
  const at::Tensor& self = a[0].toTensor();
  const int64_t level = a[1].toInt();
  const int64_t size = a[2].toInt();
  const int64_t dim = a[3].toInt();
  if (!HasLevel(self, level)) {  // Not batched at this level: the same for all.
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
thread_local size_t run_autocasts = 0;  // the same for autocasts

void Leave() {
  const Autocast& saved = autocasts.back();
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(saved.device, saved.enabled);
  at::autocast::set_autocast_dtype(saved.device, saved.dtype);
  at::autocast::set_autocast_cache_enabled(saved.cache);
  autocasts.pop_back();
}

IValue EnterAutocast(Args& a, c10::Device target) {
  c10::Device device(a[0].toStringRef());
  // A mode for the program's device applies to the device of the run.
  if (!device.is_cpu()) device = target;
  if (device.is_meta()) device = c10::Device(c10::kCPU);
  bool enabled = a.size() < 3 || a[2].isNone() || a[2].toBool();
  autocasts.push_back({device.type(), at::autocast::is_autocast_enabled(device.type()),
                       at::autocast::is_autocast_cache_enabled(),
                       at::autocast::get_autocast_dtype(device.type())});
  if (a.size() > 1 && !a[1].isNone()) {
    at::autocast::set_autocast_dtype(device.type(), AsScalarType(a[1]));
  }
  at::autocast::set_autocast_enabled(device.type(), enabled);
  at::autocast::increment_nesting();
  if (a.size() > 3 && !a[3].isNone()) at::autocast::set_autocast_cache_enabled(a[3].toBool());
  return IValue();
}

IValue ExitAutocast(Args&, c10::Device) {
  TORCH_CHECK(autocasts.size() > run_autocasts, "no autocast is open");
  Leave();
  return IValue();
}

}  // namespace

StateGuard::StateGuard()
    : outer_levels_(std::exchange(run_levels, NumLevels())),
      outer_autocasts_(std::exchange(run_autocasts, autocasts.size())),
      outer_written_(std::exchange(Written(), {})) {}

StateGuard::~StateGuard() {
  while (NumLevels() > run_levels) at::functorch::popDynamicLayerAndDeleteMetadata();
  while (autocasts.size() > run_autocasts) Leave();
  run_levels = outer_levels_;
  run_autocasts = outer_autocasts_;
  Written() = std::move(outer_written_);
}

Builtin FindStateCall(absl::string_view name) {
  static const auto* const table = new absl::flat_hash_map<absl::string_view, Builtin>{
      {"torch._C._functorch._vmap_increment_nesting", {IncrementNesting, 2}},
      {"torch._C._functorch._vmap_decrement_nesting", {DecrementNesting, 0}},
      {"torch._C._functorch._add_batch_dim", {AddBatchDim, 3}},
      {"torch._C._functorch._remove_batch_dim", {RemoveBatchDim, 4}},
      {"torch.amp.autocast_mode._enter_autocast", {EnterAutocast, 1, 4}},
      {"torch.amp.autocast_mode._exit_autocast", {ExitAutocast, 0, 1}},
  };
  const auto it = table->find(name);
  return it == table->end() ? Builtin() : it->second;
}

}  // namespace graphnet::interp
