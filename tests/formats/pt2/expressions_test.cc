#include "graphnet/formats/pt2/expressions.h"

#include <string>

#include "gmock/gmock.h"
#include "graphnet/ir/verifier.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet::pt2 {
namespace {

using testing::HasSubstr;

// The value with s0 = 7, s1 = 3.
std::optional<int64_t> Value(const std::string& text) {
  Module module;
  module.AddSymbol("s0", 7);
  module.AddSymbol("s1", 3);
  const auto expr = ParseSympy(text, &module);
  EXPECT_OK(expr) << text;
  if (!expr.ok() || *expr == nullptr) return std::nullopt;
  return EvaluateWithExamples(module, **expr);
}

constexpr char kS0[] = "Symbol('s0', positive=True, integer=True)";
constexpr char kS1[] = "Symbol('s1', positive=True, integer=True)";

TEST(Expressions, MeanWhatSympyMeans) {
  const std::string s0 = kS0, s1 = kS1;
  EXPECT_EQ(Value(s0), 7);
  EXPECT_EQ(Value("Integer(-4)"), -4);
  EXPECT_EQ(Value("Add(" + s0 + ", Integer(1), " + s1 + ")"), 11);
  EXPECT_EQ(Value("Mul(Integer(2), " + s0 + ", " + s1 + ")"), 42);
  EXPECT_EQ(Value("Mul(Integer(-1), " + s0 + ")"), -7);
  EXPECT_EQ(Value("Add(" + s0 + ", Mul(Integer(-1), " + s1 + "))"), 4);
  EXPECT_EQ(Value("Pow(" + s0 + ", Integer(2))"), 49);
  EXPECT_EQ(Value("PowByNatural(" + s0 + ", " + s1 + ")"), 343);
  EXPECT_EQ(Value("FloorDiv(Mul(Integer(-1), " + s0 + "), Integer(2))"), -4);
  EXPECT_EQ(Value("CeilDiv(" + s0 + ", Integer(2))"), 4);
  EXPECT_EQ(Value("PythonMod(Mul(Integer(-1), " + s0 + "), Integer(4))"), 1);
  EXPECT_EQ(Value("Mod(" + s0 + ", " + s1 + ")"), 1);
  EXPECT_EQ(Value("Max(Integer(0), " + s0 + ", " + s1 + ")"), 7);
  EXPECT_EQ(Value("Min(" + s0 + ", " + s1 + ")"), 3);
  EXPECT_EQ(Value("Identity(" + s0 + ")"), 7);
}

// PyTorch wrote expressions so before 2.6.
TEST(Expressions, AreAlsoReadInPythonsForm) {
  for (const auto& [text, value] :
       std::initializer_list<std::pair<const char*, int64_t>>{{"s0", 7},
                                                              {"2*s0 + 1", 15},
                                                              {"s0 - s1 - 1", 3},
                                                              {"-s0*s1", -21},
                                                              {"-3*s1 + 2*s0", 5},
                                                              {"((s0 - 1)//2) + 1", 4},
                                                              {"s0 % s1", 1},
                                                              {"s0**2", 49},
                                                              {"-s0**2", -49},
                                                              {"2*s0**2 - 1", 97},
                                                              {"Max(1, s0 - s1)", 4},
                                                              {"Mod(s0, 4)*Min(s0, s1)", 9},
                                                              {"(-s0)//2", -4},
                                                              {"- -s0", 7}}) {
    EXPECT_EQ(Value(text), value) << text;
  }
  for (const char* text : {"s0/2", "u0 >= 0", "s0 < s1 + 1", "Eq(s0, 3)", "oo", "-2**s0"}) {
    EXPECT_EQ(Value(text), std::nullopt) << text;
  }
  for (const char* text : {"2*", "(s0", "s0)", "s0 s1", "s0 +", "s0 < s1 < 3", "*s0"}) {
    Module module;
    EXPECT_THAT(ParseSympy(text, &module),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("column ")))
        << text;
  }
}

TEST(Expressions, AreNullIfTheIrCannotExpressThem) {
  const std::string s0 = kS0;
  for (const char* text :
       {"Rational(1, 2)", "Float('1.5', precision=53)", "oo", "true",
        "Integer(99999999999999999999)", "Piecewise(ExprCondPair(Integer(1), true))"}) {
    EXPECT_EQ(Value(text), std::nullopt) << text;
    EXPECT_EQ(Value("Add(" + s0 + ", " + text + ")"), std::nullopt) << text;
  }
  EXPECT_EQ(Value("Pow(" + s0 + ", Integer(-1))"), std::nullopt);
  EXPECT_EQ(Value("Add(TrueDiv(" + s0 + ", Integer(2)), Integer(1))"), std::nullopt);
}

TEST(Expressions, SymbolsAreDeclared) {
  Module module;
  ASSERT_OK(ParseSympy("Symbol('u12', integer=True)", &module));
  ASSERT_NE(module.FindSymbol("u12"), nullptr);
  EXPECT_FALSE(module.FindSymbol("u12")->example.has_value());
}

TEST(Expressions, RefusesOtherText) {
  for (const char* text :
       {"", "Add(", "Add(Integer(1)", "Add(Integer(1),)", "Integer(1))", "Symbol()", "Symbol('')",
        "Symbol('a", "Symbol('a\\'')", "Integer(1, 2)", "%", "x=", "Integer(1) Integer(2)"}) {
    Module module;
    EXPECT_THAT(ParseSympy(text, &module),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("column ")))
        << text;
  }
}

TEST(Expressions, MayBeLongAndDeep) {
  std::string sum = "Add(Integer(0)";
  for (int i = 0; i < 100'000; ++i) sum += ", Integer(1)";
  EXPECT_EQ(Value(sum + ")"), 100'000);
  const auto nested = [](int depth) {
    std::string text = "Integer(1)";
    std::string open, close;
    for (int i = 0; i < depth; ++i) {
      open += "Max(";
      close += ", Integer(2))";
    }
    return open + text + close;
  };
  // Nesting deeper than the IR allows is not an error, but gives no expression.
  EXPECT_EQ(Value(nested(40)), 2);
  EXPECT_EQ(Value(nested(190)), std::nullopt);
  Module module;
  EXPECT_THAT(ParseSympy(nested(250), &module),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("nests deeper than 200")));
}

// PyTorch evaluates the texts as Python.
TEST(Expressions, NothingButArithmeticOfSympyIsTaken) {
  for (const std::string text :
       {"exec('import os')", "eval('1')", "__import__('os')", "open('f')", "S('exit()')",
        "Symbol('s0', integer=exec('1'))", "Add(Integer(1), breakpoint())", "os.system('ls')",
        "sympy.S(1)", "Lambda('x')", "Float('1+exit()')", "'text'", "Integer('1')",
        "getattr(s0, 1)", "Symbol('s0', integer=True) if exit() else Symbol('s0')", "Max.mro()"}) {
    Module module;
    EXPECT_THAT(ParseSympy(text, &module), StatusIs(absl::StatusCode::kInvalidArgument)) << text;
  }
  Module module;
  EXPECT_THAT(ParseSympy("'text'", &module).status().message(),
              HasSubstr("a string is no expression"));
  EXPECT_THAT(ParseSympy("exec(1)", &module).status().message(),
              HasSubstr("a function that SymPy does not have"));
}

}  // namespace
}  // namespace graphnet::pt2
