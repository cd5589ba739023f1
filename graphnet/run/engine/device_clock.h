// The clock of the device that a program runs on. Calls return before a GPU has done what they ask
// for, so the wall clock alone says how long it took to ask. Nothing here links CUDA: c10 and the
// profiler find what the LibTorch that runs has.
#ifndef GRAPHNET_RUN_ENGINE_DEVICE_CLOCK_H_
#define GRAPHNET_RUN_ENGINE_DEVICE_CLOCK_H_

#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "c10/core/Device.h"

namespace graphnet {

class DeviceClock {
 public:
  // The clock of the current stream of the device.
  explicit DeviceClock(c10::Device device);
  ~DeviceClock();
  DeviceClock(const DeviceClock&) = delete;
  DeviceClock& operator=(const DeviceClock&) = delete;

  // False on the CPU, where calls return when they are done. All functions then do nothing.
  bool is_there() const { return events_ != nullptr; }
  // Waits until the device has done all that it was asked for.
  absl::Status Wait() const;
  // Mark the moments at which the device has done what it was asked for before the call.
  void Start();
  void Stop();
  // Returns the time between the two marks; nullopt if the device has no clock. Wait() comes first.
  std::optional<double> Milliseconds() const;
  // Returns the sum of the times of the kernels, copies and fills that the device does in `run`, by
  // the profiler of LibTorch; nullopt if it sees none, and without `run` if there is no clock.
  // Returns the error of `run`.
  absl::StatusOr<std::optional<double>> KernelMilliseconds(
      const std::function<absl::Status()>& run) const;

 private:
  struct Events;
  c10::Device device_;
  std::unique_ptr<Events> events_;
};

}  // namespace graphnet

#endif  // GRAPHNET_RUN_ENGINE_DEVICE_CLOCK_H_
