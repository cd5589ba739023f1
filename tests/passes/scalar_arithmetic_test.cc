#include "graphnet/passes/scalar_arithmetic.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "graphnet/ir/text/printer.h"

namespace graphnet {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

// Returns the value as Python prints it; "" if there is none.
std::string Value(absl::string_view target, const std::vector<Argument>& args) {
  const auto value = EvaluateScalar(target, args);
  return value.has_value() ? PrintArgument(*value) : "";
}

TEST(EvaluateScalarTest, IntegersAsInPython) {
  EXPECT_EQ(Value("operator.floordiv", {-7, 2}), "-4");
  EXPECT_EQ(Value("operator.floordiv", {7, -2}), "-4");
  EXPECT_EQ(Value("operator.mod", {-7, 2}), "1");
  EXPECT_EQ(Value("operator.mod", {7, -2}), "-1");
  EXPECT_EQ(Value("operator.truediv", {7, 2}), "3.5");
  EXPECT_EQ(Value("operator.pow", {2, 10}), "1024");
  EXPECT_EQ(Value("operator.pow", {-1, 1001}), "-1");
  EXPECT_EQ(Value("operator.iadd", {2, true}), "3");
  EXPECT_EQ(Value("operator.neg", {true}), "-1");
  EXPECT_EQ(Value("builtins.max", {3, 5}), "5");
  EXPECT_EQ(Value("builtins.min", {2, 2.0}), "2");
  EXPECT_EQ(Value("torch.sym_max", {3, 5}), "5");
}

TEST(EvaluateScalarTest, FloatsAsInPython) {
  EXPECT_EQ(Value("operator.truediv", {kMax, 3}), "3.0744573456182584e+18");
  EXPECT_EQ(Value("operator.mod", {-7.5, 2}), "0.5");
  EXPECT_EQ(Value("builtins.round", {2.675, 2}), "2.67");
  EXPECT_EQ(Value("operator.lt", {kMax, 9.223372036854775807e18}), "True");
  EXPECT_EQ(Value("operator.mul", {0.1, 3}), "0.30000000000000004");
  EXPECT_EQ(Value("math.floor", {-1.5}), "-2");
  EXPECT_EQ(Value("math.ceil", {1.2}), "2");
  EXPECT_EQ(Value("builtins.int", {-1.9}), "-1");
  EXPECT_EQ(Value("math.sqrt", {2.0}), "1.4142135623730951");
  EXPECT_EQ(Value("operator.lt", {1, 1.5}), "True");
}

TEST(EvaluateScalarTest, LeavesErrorsAndLargeResults) {
  EXPECT_EQ(Value("operator.floordiv", {1, 0}), "");
  EXPECT_EQ(Value("operator.mod", {1, 0}), "");
  EXPECT_EQ(Value("operator.truediv", {1, 0}), "");
  EXPECT_EQ(Value("operator.add", {kMax, 1}), "");
  EXPECT_EQ(Value("operator.mul", {kMax, 2}), "");
  EXPECT_EQ(Value("operator.neg", {kMin}), "");
  EXPECT_EQ(Value("operator.floordiv", {kMin, -1}), "");
  EXPECT_EQ(Value("operator.mod", {kMin, -1}), "0");
  EXPECT_EQ(Value("operator.pow", {2, 63}), "");
  EXPECT_EQ(Value("operator.pow", {2, -1}), "");
  EXPECT_EQ(Value("math.sqrt", {-1.0}), "");
  EXPECT_EQ(Value("math.floor", {1e300}), "");
  EXPECT_EQ(Value("operator.add", {"a", 1}), "");
  EXPECT_EQ(Value("math.log", {2.0}), "");
  EXPECT_EQ(Value("operator.pow", {2.0, 0.5}), "");
  EXPECT_EQ(Value("builtins.abs", {-1, 2}), "");
  EXPECT_EQ(Value("mylib.add", {1, 2}), "");
}

TEST(EvaluateScalarTest, Sequences) {
  const std::vector<Argument> sizes = {4, 5, 6};
  EXPECT_EQ(Value("operator.getitem", {Argument::Tuple(sizes), -1}), "6");
  EXPECT_EQ(Value("operator.getitem", {Argument::List(sizes), 3}), "");
  EXPECT_EQ(Value("builtins.len", {Argument::Tuple(sizes)}), "3");
  const Argument mixed[] = {2, 3, 0.5};
  EXPECT_EQ(Value("builtins.sum", {Argument::List(mixed)}), "5.5");
  EXPECT_EQ(Value("torch.sym_sum", {Argument::Tuple({})}), "0");
  const Argument texts[] = {"a"};
  EXPECT_EQ(Value("builtins.sum", {Argument::List(texts)}), "");
}

}  // namespace
}  // namespace graphnet
