// Tests that graphs may run all operators of core ATen.
#include <fstream>
#include <string>
#include <vector>

#include "ATen/core/dispatch/Dispatcher.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "graphnet/interp/torch/allowed_operators.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

TEST(CoreOperatorsTest, AllMayRun) {
  std::ifstream file("tests/interp/torch/core_operators.txt");
  int operators = 0;
  for (std::string line; std::getline(file, line);) {
    if (line[0] == '#' || absl::StrContains(line, "  ")) continue;  // a listed exception
    const std::vector<std::string> parts = absl::StrSplit(line, '.');
    ASSERT_EQ(parts.size(), 3) << line;
    const auto handle = c10::Dispatcher::singleton().findSchema(
        {"aten::" + parts[1], parts[2] == "default" ? "" : parts[2]});
    ASSERT_TRUE(handle.has_value()) << line;
    EXPECT_TRUE(IsAllowed(handle->schema())) << line;
    ++operators;
  }
  EXPECT_GT(operators, 250);
}

}  // namespace
}  // namespace graphnet
