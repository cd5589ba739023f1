#include "graphnet/run/engine/device_clock.h"

#include <cstdint>
#include <exception>
#include <set>

#include "c10/core/Event.h"
#include "c10/core/Stream.h"
#include "c10/core/impl/VirtualGuardImpl.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/torch/status.h"
#include "torch/csrc/autograd/profiler_kineto.h"

namespace graphnet {
namespace {

// Returns what the profiler calls the kernels of a kind of device; nullopt if it has no name for them.
std::optional<torch::profiler::impl::ActivityType> KernelsOf(c10::DeviceType type) {
  switch (type) {
    case c10::DeviceType::CUDA: return torch::profiler::impl::ActivityType::CUDA;
    case c10::DeviceType::XPU: return torch::profiler::impl::ActivityType::XPU;
    default: return std::nullopt;
  }
}

void Mark(const c10::Stream& stream, c10::Event* event) {
  try {
    event->record(stream);
  } catch (const c10::Error&) {
    // The device has no such marks. Other errors of the device come up again in Wait().
  }
}

}  // namespace

struct DeviceClock::Events {
  explicit Events(c10::Device device)
      : guard(device.type()),
        stream(guard.getStream(device)),
        start(device.type(), c10::EventFlag::BACKEND_DEFAULT),
        stop(device.type(), c10::EventFlag::BACKEND_DEFAULT) {}

  c10::impl::VirtualGuardImpl guard;
  c10::Stream stream;
  c10::Event start;
  c10::Event stop;
};

DeviceClock::DeviceClock(c10::Device device) : device_(device) {
  if (device.is_cpu() || !c10::impl::hasDeviceGuardImpl(device.type())) return;
  if (!device_.has_index()) device_ = c10::impl::VirtualGuardImpl(device.type()).getDevice();
  events_ = std::make_unique<Events>(device_);
}

DeviceClock::~DeviceClock() = default;

absl::Status DeviceClock::Wait() const {
  if (!is_there()) return absl::OkStatus();
  return Guarded([this] {
    events_->guard.synchronizeStream(events_->stream);
    return absl::OkStatus();
  });
}

void DeviceClock::Start() {
  if (is_there()) Mark(events_->stream, &events_->start);
}

void DeviceClock::Stop() {
  if (is_there()) Mark(events_->stream, &events_->stop);
}

std::optional<double> DeviceClock::Milliseconds() const {
  if (!is_there()) return std::nullopt;
  try {
    return events_->start.elapsedTime(events_->stop);
  } catch (const c10::Error&) {
    return std::nullopt;
  }
}

absl::StatusOr<std::optional<double>> DeviceClock::KernelMilliseconds(
    const std::function<absl::Status()>& run) const {
  namespace profiler = torch::autograd::profiler;
  const auto kernels = KernelsOf(device_.type());
  if (!is_there() || !kernels.has_value()) return std::optional<double>();
  uint64_t nanoseconds = 0;
  try {
    const profiler::ProfilerConfig config(profiler::ProfilerState::KINETO);
    const std::set<profiler::ActivityType> activities = {*kernels};
    profiler::prepareProfiler(config, activities);
    profiler::enableProfiler(config, activities);
    absl::Status status = run();
    if (status.ok()) status = Wait();
    const auto result = profiler::disableProfiler();
    RETURN_IF_ERROR(status);
    for (const profiler::KinetoEvent& event : result->events()) {
      if (event.deviceType() == device_.type()) nanoseconds += event.durationNs();
    }
  } catch (const std::exception&) {
    return std::optional<double>();  // a LibTorch without this profiler
  }
  if (nanoseconds == 0) return std::optional<double>();
  return std::optional<double>(static_cast<double>(nanoseconds) / 1e6);
}

}  // namespace graphnet
