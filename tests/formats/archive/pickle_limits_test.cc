// Tests the reader of pickles one below, at and one above its limits. pickle_reader_test has the
// limit of depth.

#include <cstdint>
#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "graphnet/base/limits.h"
#include "graphnet/formats/archive/pickle_reader.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/formats/archive/pickle_builder.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;

auto Refused(const std::string& message) {
  return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message));
}

TEST(PickleLimitsTest, Bytes) {
  const auto sized = [](size_t size) {
    const size_t other = pickle::Of(pickle::Text("")).size();
    const std::string bytes = pickle::Of(pickle::Text(std::string(size - other, 'a')));
    EXPECT_EQ(bytes.size(), size);
    return Pickle::Parse(bytes).status();
  };
  EXPECT_OK(sized(kMaxTextFileBytes - 1));
  EXPECT_OK(sized(kMaxTextFileBytes));
  EXPECT_THAT(sized(kMaxTextFileBytes + 1), Refused("larger than 67108864 bytes"));
}

TEST(PickleLimitsTest, BytesOfNames) {
  for (const int delta : {-1, 0, 1}) {
    // The limit is for module and name together, with the dot between them.
    const std::string name(kMaxNameBytes + static_cast<size_t>(delta) - 2, 'a');
    for (const std::string& global : {pickle::Global(name, "b"), pickle::Global("a", name)}) {
      const std::string bytes = pickle::Of(global);
      if (delta <= 0) {
        EXPECT_OK(Pickle::Parse(bytes)) << delta;
      } else {
        EXPECT_THAT(Pickle::Parse(bytes), Refused("byte 2: a global's name is too long"));
      }
    }
  }
}

TEST(PickleLimitsTest, Integers) {
  const auto read = [](const std::string& digits) {
    const std::string bytes = pickle::Of("\x8a" + Bytes(digits.size(), 1) + digits);
    const absl::StatusOr<Pickle> parsed = Pickle::Parse(bytes);
    return parsed.ok() ? absl::StatusOr<int64_t>(parsed->integer(parsed->root())) : parsed.status();
  };
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  EXPECT_THAT(read(Bytes(kMax - 1, 8)), IsOkAndHolds(kMax - 1));
  EXPECT_THAT(read(Bytes(kMax, 8)), IsOkAndHolds(kMax));
  EXPECT_THAT(read(Bytes(kMin, 8)), IsOkAndHolds(kMin));
  // The next larger and the next smaller integer take nine bytes.
  EXPECT_THAT(read(Bytes(kMin, 8) + Bytes(0, 1)), Refused("byte 2: an integer does not fit"));
  EXPECT_THAT(read(Bytes(kMax, 8) + Bytes(0xff, 1)), Refused("byte 2: an integer does not fit"));
}

}  // namespace
}  // namespace graphnet
