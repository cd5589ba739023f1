// A stand-in registers itself as what c10 calls CUDA: it has a clock and does nothing. So these tests
// show how the clock of a device is asked; they do not show what a GPU answers.
#include "graphnet/run/engine/device_clock.h"

#include <optional>

#include "absl/status/status.h"
#include "c10/core/impl/DeviceGuardImplInterface.h"
#include "c10/util/Exception.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

double now = 0;  // milliseconds
int waits = 0;
bool has_events = true;
bool is_broken = false;

struct StandIn final : c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::CUDA> {
  c10::Device getDevice() const override { return {c10::DeviceType::CUDA, 0}; }
  c10::Stream getStream(c10::Device device) const noexcept override {
    return c10::Stream(c10::Stream::DEFAULT, device);
  }
  void record(void** event, const c10::Stream& stream, const c10::DeviceIndex,
              const c10::EventFlag flag) const override {
    TORCH_CHECK(has_events, "no events");
    EXPECT_EQ(stream.device(), c10::Device(c10::DeviceType::CUDA, 0));
    EXPECT_EQ(flag, c10::EventFlag::BACKEND_DEFAULT);  // the one that times
    if (*event == nullptr) *event = new double;
    *static_cast<double*>(*event) = now;
  }
  bool queryEvent(void*) const override { return true; }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    delete static_cast<double*>(event);
  }
  double elapsedTime(void* first, void* last, const c10::DeviceIndex) const override {
    return *static_cast<double*>(last) - *static_cast<double*>(first);
  }
  void synchronizeStream(const c10::Stream&) const override {
    TORCH_CHECK(!is_broken, "an illegal access");
    ++waits;
  }
};
C10_REGISTER_GUARD_IMPL(CUDA, StandIn)

class DeviceClockTest : public ::testing::Test {
 protected:
  void SetUp() override {
    now = waits = 0;
    has_events = true;
    is_broken = false;
  }
};

TEST_F(DeviceClockTest, TheCpuHasNone) {
  DeviceClock clock{c10::Device(c10::DeviceType::CPU)};
  EXPECT_FALSE(clock.is_there());
  clock.Start();
  clock.Stop();
  EXPECT_OK(clock.Wait());
  EXPECT_EQ(waits, 0);
  EXPECT_EQ(clock.Milliseconds(), std::nullopt);
  bool has_run = false;
  const auto kernels = clock.KernelMilliseconds([&] {
    has_run = true;
    return absl::OkStatus();
  });
  ASSERT_OK(kernels);
  EXPECT_EQ(*kernels, std::nullopt);
  EXPECT_FALSE(has_run);
}

TEST_F(DeviceClockTest, MeasuresFromMarkToMark) {
  DeviceClock clock(c10::Device("cuda"));
  ASSERT_TRUE(clock.is_there());
  for (const double took : {5.5, 2.25}) {
    clock.Start();
    now += took;
    clock.Stop();
    EXPECT_OK(clock.Wait());
    EXPECT_EQ(clock.Milliseconds(), took);
  }
  EXPECT_EQ(waits, 2);
}

TEST_F(DeviceClockTest, ADeviceWithoutMarksHasNoTime) {
  has_events = false;
  DeviceClock clock(c10::Device("cuda:0"));
  clock.Start();
  clock.Stop();
  EXPECT_OK(clock.Wait());
  EXPECT_EQ(clock.Milliseconds(), std::nullopt);
}

TEST_F(DeviceClockTest, AFailureOfTheDeviceIsAnError) {
  is_broken = true;
  const DeviceClock clock(c10::Device("cuda:0"));
  EXPECT_FALSE(clock.Wait().ok());
  EXPECT_FALSE(clock.KernelMilliseconds([] { return absl::OkStatus(); }).ok());
}

// The profiler of this LibTorch sees no kernels of a stand-in, and can be started again.
TEST_F(DeviceClockTest, KernelsThatNothingSeesHaveNoTime) {
  const DeviceClock clock(c10::Device("cuda:0"));
  int runs = 0;
  for (int i = 0; i < 2; ++i) {
    const auto kernels = clock.KernelMilliseconds([&] {
      ++runs;
      return absl::OkStatus();
    });
    ASSERT_OK(kernels);
    EXPECT_EQ(*kernels, std::nullopt);
  }
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(waits, 2);
  EXPECT_EQ(clock.KernelMilliseconds([] { return absl::AbortedError("ended"); }).status(),
            absl::AbortedError("ended"));
  EXPECT_OK(clock.KernelMilliseconds([] { return absl::OkStatus(); }));
}

}  // namespace
}  // namespace graphnet
