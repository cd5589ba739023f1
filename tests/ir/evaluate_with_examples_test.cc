// Expressions are evaluated with the example values of symbols.
#include <cstdint>
#include <optional>
#include <utility>

#include "graphnet/base/limits.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/verifier.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

using Kind = SymExpr::Kind;

TEST(EvaluateWithExamplesTest, Computes) {
  Module m;
  m.AddSymbol("s0", 7);
  m.AddSymbol("unknown", std::nullopt);
  const auto i = [&](int64_t v) { return m.SymInt(v); };
  const auto op = [&](Kind kind, int64_t a, int64_t b) { return m.SymBinary(kind, i(a), i(b)); };
  const std::pair<const SymExpr*, std::optional<int64_t>> cases[] = {
      {i(5), 5},
      {m.SymSymbol("s0"), 7},
      {m.SymSymbol("unknown"), std::nullopt},
      {m.SymSymbol("undeclared"), std::nullopt},
      {m.SymNeg(i(5)), -5},
      {m.SymNeg(i(INT64_MIN)), std::nullopt},
      {op(Kind::kAdd, 2, 3), 5},
      {op(Kind::kAdd, INT64_MAX, 1), std::nullopt},
      {op(Kind::kSub, 2, 3), -1},
      {op(Kind::kSub, INT64_MIN, 1), std::nullopt},
      {op(Kind::kMul, -2, 3), -6},
      {op(Kind::kMul, INT64_MAX, 2), std::nullopt},
      // Like Python, rounds towards minus infinity, and the remainder has the divisor's sign.
      {op(Kind::kFloorDiv, 7, 2), 3},
      {op(Kind::kFloorDiv, -7, 2), -4},
      {op(Kind::kFloorDiv, 7, -2), -4},
      {op(Kind::kFloorDiv, -7, -2), 3},
      {op(Kind::kFloorDiv, -6, 2), -3},
      {op(Kind::kFloorDiv, 7, 0), std::nullopt},
      {op(Kind::kFloorDiv, INT64_MIN, -1), std::nullopt},
      {op(Kind::kFloorDiv, INT64_MIN, 1), INT64_MIN},
      {op(Kind::kFloorDiv, INT64_MIN, 2), INT64_MIN / 2},
      {op(Kind::kMod, 7, 3), 1},
      {op(Kind::kMod, -7, 3), 2},
      {op(Kind::kMod, 7, -3), -2},
      {op(Kind::kMod, -7, -3), -1},
      {op(Kind::kMod, 6, -3), 0},
      {op(Kind::kMod, INT64_MIN, INT64_MAX), INT64_MAX - 1},
      {op(Kind::kMod, INT64_MAX, INT64_MIN), -1},
      {op(Kind::kMod, 7, 0), std::nullopt},
      {op(Kind::kMod, INT64_MIN, -1), 0},
      {op(Kind::kPow, 3, 4), 81},
      {op(Kind::kPow, 3, 0), 1},
      {op(Kind::kPow, -2, 63), INT64_MIN},
      {op(Kind::kPow, 2, 63), std::nullopt},
      {op(Kind::kPow, 1, -1), std::nullopt},
      {op(Kind::kMin, 2, -3), -3},
      {op(Kind::kMax, 2, -3), 2},
      {op(Kind::kEq, 2, 2), 1},
      {op(Kind::kNe, 2, 2), 0},
      {op(Kind::kLt, 2, 2), 0},
      {op(Kind::kLe, 2, 2), 1},
      {op(Kind::kGt, 3, 2), 1},
      {op(Kind::kGe, 1, 2), 0},
      {m.SymBinary(Kind::kMul, m.SymSymbol("s0"), op(Kind::kAdd, 1, 2)), 21},
      {m.SymBinary(Kind::kMul, i(1), m.SymSymbol("unknown")), std::nullopt},
      {m.SymBinary(Kind::kMul, m.SymSymbol("unknown"), i(1)), std::nullopt},
  };
  for (const auto& [expr, expected] : cases) {
    EXPECT_EQ(EvaluateWithExamples(m, *expr), expected) << "case " << (&expr - &cases[0].first);
  }
}

TEST(EvaluateWithExamplesTest, NestingIsNotLimited) {
  Module m;
  const SymExpr* sum = m.SymInt(0);
  for (int depth = 1; depth <= 100 * kMaxNesting; ++depth) {
    sum = m.SymBinary(Kind::kAdd, sum, m.SymInt(1));
    if (depth == kMaxNesting || depth == 100 * kMaxNesting) {
      EXPECT_EQ(EvaluateWithExamples(m, *sum), depth);
    }
  }
}

}  // namespace
}  // namespace graphnet
