#include "graphnet/formats/pt2/guards.h"

#include <string>

#include "gtest/gtest.h"

namespace graphnet::pt2 {
namespace {

using python::Number;

std::optional<Number> Value(absl::string_view text) {
  return EvaluateGuard(text, [](absl::string_view name) -> std::optional<Number> {
    if (name == "L['x'].size()[0]") return Number(int64_t{6});
    if (name == "L['d']['k'].stride()[1]") return Number(int64_t{4});
    if (name == "s0") return Number(int64_t{3});
    return std::nullopt;
  });
}
std::optional<bool> Holds(absl::string_view text) {
  const auto value = Value(text);
  return value ? std::optional<bool>(python::Truth(*value)) : std::nullopt;
}

TEST(Guards, AreEvaluatedAsPythonDoes) {
  for (const char* text : {"L['x'].size()[0] == 6",
                           "2*L['x'].size()[0] % 5 == 2",
                           "(s0 + 1) * 2 == 8",
                           "-7 // 2 == -4",
                           "-7 % 4 == 1",
                           "2 ** 3 ** 2 == 512",
                           "-2 ** 2 == -4",
                           "1 < s0 <= 3",
                           "not s0 == 4",
                           "s0 == 4 or s0 == 3",
                           "s0 == 3 and L['d']['k'].stride()[1] != 5",
                           "max(s0, 5) == 5",
                           "Min(s0, 5) == 3",
                           "math.ceil(IntTrueDiv(7, 2)) == 4",
                           "FloorDiv(7, 2) == 3",
                           "s0 < math.inf",
                           "abs(-3) == s0",
                           "1e3 == 1000",
                           "True",
                           "7 / 2 == 3.5",
                           "((2*L['x'].size()[0]) % (2*s0)) == 0"}) {
    EXPECT_EQ(Holds(text), true) << text;
  }
  for (const char* text :
       {"L['x'].size()[0] == 5", "3 < s0 < 5", "not True", "0", "s0 > 3 or s0 < 1"}) {
    EXPECT_EQ(Holds(text), false) << text;
  }
}

TEST(Guards, HaveNoValueIfNotUnderstood) {
  for (const char* text : {"", "L['y'].size()[0] == 1", "s0 ==", "(s0", "s0 s0", "__import__('os')",
                           "1 // 0 == 1", "isinstance(s0, int)", "lambda: 1", "s0[", "'a' == 'a'",
                           "9223372036854775807 + 1 > 0", "math.sqrt(-1) == 0"}) {
    EXPECT_EQ(Holds(text), std::nullopt) << text;
  }
  EXPECT_EQ(Holds(std::string(1'000'000, '(')), std::nullopt);
  EXPECT_EQ(Holds(std::string(1'000'000, '-') + "1"), true);
  std::string powers = "1";
  for (int i = 0; i < 100'000; ++i) powers += "**1";
  EXPECT_EQ(Holds(powers), std::nullopt);
}

}  // namespace
}  // namespace graphnet::pt2
