#include "graphnet/paddle/pir/lower.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/paddle/pir/operators.h"
#include "graphnet/paddle/pir/printer.h"
#include "graphnet/paddle/pir/reader.h"
#include "graphnet/paddle/pir/rules.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet::pir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Returns the text of a graph, after checking that it reads back as an equal module and the same
// text.
std::string Lower(const std::string& graph) {
  const auto module = ParseModule(absl::StrCat("graphnet.module 1\n", graph, "end\n"), "m.gn");
  EXPECT_OK(module);
  if (!module.ok()) return "";
  const auto lowered = ToPir(**module);
  EXPECT_OK(lowered);
  if (!lowered.ok()) return "";
  EXPECT_OK(Verify(**lowered));
  const auto text = PrintPir(**lowered);
  EXPECT_OK(text);
  const auto again = ReadPir(*text, "x.pir");
  EXPECT_OK(again) << *text;
  if (again.ok()) {
    EXPECT_OK(CheckEqual(**lowered, **again, kExact)) << *text;
    EXPECT_THAT(PrintPir(**again), IsOkAndHolds(*text));
  }
  return *text;
}

// Returns the operators of a graph with an input %x : f32[2, 8, 16], without inputs and outputs.
std::vector<std::string> Operators(const std::string& statements) {
  std::vector<std::string> names;
  const std::string text = Lower(absl::StrCat(
      "graph @forward(%x : f32[2, 8, 16], %w : f32[5, 16], %b : f32[5], %n : i64[2, 8]) {\n",
      statements, "\n return (%r,)\n}\n"));
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<std::string> parts = absl::StrSplit(line, '"');
    if (parts.size() < 3 || parts[1] == "pd_op.data" || parts[1] == "builtin.shadow_output")
      continue;
    names.push_back(parts[1]);
  }
  return names;
}

constexpr char kBatchNorm[] = R"(
graph @forward(%x : f32[SIZE, 4, 3, 3], %m : f32[4], %v : f32[4], %w : f32[4], %b : f32[4]) {
  %n = torch.nn.functional.batch_norm(%x, %m, %v, %w, %b)
  %r = torch.nn.functional.relu(%n)
  return (%r,)
}
)";

// The memory that batch_norm reserves has a type. Its unknown size must not be the symbol of any
// other value.
TEST(ToPir, AllResultsOfBatchNormHaveTypes) {
  const std::string fixed = Lower(absl::StrReplaceAll(kBatchNorm, {{"SIZE", "2"}}));
  EXPECT_THAT(fixed, HasSubstr("builtin.tensor<4xf32>, builtin.tensor<-1xu8> { ("));
  EXPECT_THAT(fixed, Not(HasSubstr("NULL TYPE")));
  EXPECT_THAT(fixed, Not(HasSubstr("sym_shape_str")));
  const std::string symbolic =
      Lower("symbol S0 = 2\n" + absl::StrReplaceAll(kBatchNorm, {{"SIZE", "S0"}}));
  EXPECT_THAT(symbolic, HasSubstr("shape[S0, 4, 3, 3]"));
  EXPECT_THAT(symbolic, Not(HasSubstr("NULL TYPE")));
}

// The example of spec.md, 004.
TEST(ToPir, DifferenceTimesX) {
  EXPECT_EQ(Lower(R"(
graph @forward(%x : f32[64, 128], %y : f32[64, 128]) {
  %d = torch.sub(%x, %y)
  %p = operator.mul(%d, %x)
  return (%p,)
}
)"),
            R"pir({
    (%0) = "pd_op.data" [id:1] () {dtype:(pd_op.DataType)float32,name:"x",place:(pd_op.Place)Place(undefined:0),shape:(pd_op.IntArray)[64,128],stop_gradient:[false]} : () -> builtin.tensor<64x128xf32> { () }	(op_1)
    (%1) = "pd_op.data" [id:2] () {dtype:(pd_op.DataType)float32,name:"y",place:(pd_op.Place)Place(undefined:0),shape:(pd_op.IntArray)[64,128],stop_gradient:[false]} : () -> builtin.tensor<64x128xf32> { () }	(op_2)
    (%2) = "pd_op.subtract" [id:3] (%0, %1) {stop_gradient:[false]} : (builtin.tensor<64x128xf32>, builtin.tensor<64x128xf32>) -> builtin.tensor<64x128xf32> { () }	(op_3)
    (%3) = "pd_op.multiply" [id:4] (%2, %0) {stop_gradient:[false]} : (builtin.tensor<64x128xf32>, builtin.tensor<64x128xf32>) -> builtin.tensor<64x128xf32> { () }	(op_4)
    () = "builtin.shadow_output" [id:5] (%3) {output_name:"output_0"} : (builtin.tensor<64x128xf32>) ->  {  }	(op_5)
}
)pir");
}

// The expected operators are those that Paddle 3.3.1 makes in a static program.
TEST(ToPir, CallsBecomePaddlesOperators) {
  EXPECT_THAT(Operators("%r = torch.nn.functional.linear(%x, %w, %b)"),
              ElementsAre("pd_op.matmul", "pd_op.add"));
  EXPECT_THAT(Operators("%r = torch.nn.functional.linear(%x, %w)"), ElementsAre("pd_op.matmul"));
  EXPECT_THAT(Operators("%r = operator.truediv(%x, 4)"), ElementsAre("pd_op.full", "pd_op.scale"));
  EXPECT_THAT(Operators("%r = operator.mul(%n, 0.5)"),
              ElementsAre("pd_op.cast", "pd_op.full", "pd_op.scale"));
  EXPECT_THAT(Operators("%r = operator.pow(%x, 2)"),
              ElementsAre("pd_op.full", "pd_op.elementwise_pow"));
  EXPECT_THAT(Operators("%r = .view(%x, 2, -1)"),
              ElementsAre("pd_op.full_int_array", "pd_op.reshape"));
  EXPECT_THAT(Operators("%r = operator.getitem(%x, (..., 1))"),
              ElementsAre("pd_op.full_int_array", "pd_op.full_int_array", "pd_op.slice"));
  EXPECT_THAT(Operators("%c = .chunk(%x, 2, 1)\n%r = operator.getitem(%c, 1)"),
              ElementsAre("pd_op.full", "pd_op.split_with_num", "builtin.split"));
  EXPECT_THAT(Operators("%r = torch.cat((%x, %x), 1)"),
              ElementsAre("builtin.combine", "pd_op.full", "pd_op.concat"));
  EXPECT_THAT(Operators("%r = torch.nn.functional.layer_norm(%x, (16,))"),
              ElementsAre("pd_op.layer_norm"));
  EXPECT_THAT(Operators("%r = torch.nn.functional.dropout(%x, 0.1, False)"),
              ElementsAre("pd_op.full", "pd_op.dropout"));
}

// Paddle's `item` returns the tensor itself in a static program, and its dtypes are constants.
TEST(ToPir, NumbersAndDTypesOfTensorsNeedNoOperator) {
  const std::string text = Lower(R"(
graph @forward(%x : f32[2, 8], %i : i64[]) {
  %n = .item(%i)
  %d = builtins.getattr(%x, "dtype")
  %c = .to(%i, dtype = %d)
  %y = operator.mul(%x, %n)
  %z = operator.add(%y, %c)
  return (%z,)
}
)");
  EXPECT_THAT(text, Not(HasSubstr("NULL TYPE")));
  EXPECT_THAT(text, Not(HasSubstr("getattr")));
  EXPECT_THAT(text, HasSubstr("(%1) {dtype:(pd_op.DataType)float32,"));
  EXPECT_THAT(text, HasSubstr("-> builtin.tensor<2x8xf32>"));
}

// In static programs of Paddle, `x.shape` is a list of numbers, too.
TEST(ToPir, KnownSizesAreConstants) {
  EXPECT_THAT(Operators("%s = builtins.getattr(%x, \"shape\")\n"
                        "%i = operator.getitem(%s, 1)\n"
                        "%z = torch.zeros(%i)\n"
                        "%v = .view(%x, %i, -1)\n"
                        "%r = torch.cat((%v, %v), 1)"),
              ElementsAre("pd_op.full", "pd_op.full_int_array", "pd_op.reshape", "builtin.combine",
                          "pd_op.full", "pd_op.concat"));
}

// The value of x[0] = y does not exist.
TEST(ToPir, StatementsHaveNoResult) {
  const std::string text = Lower(R"(
graph @forward(%x : f32[2, 8], %m : bool[2, 8]) {
  %s = operator.setitem(%x, %m, 0.0)
  return (%x,)
}
)");
  EXPECT_THAT(text, HasSubstr("() = \"operator.setitem\" [id:3] (%0, %1) "));
}

TEST(ToPir, KeepsCallsThatPaddleLacks) {
  const std::string text = Lower(R"(
graph @forward(%x : f32[4], %w : f32[4] as torch.nn.parameter.Parameter) {
  %f = mylib.f(%x, [1, 2], mode = "a")
  %g = mylib.g(%f, %w)
  %s = .size(%g, 0)
  %c = torch.cond(True, @body, @body, (%g,))
  return {"out": [%c, %s], "n": 3}
}
graph @body(%a) {
  %r = torch.relu(%a)
  return (%r,)
}
)");
  EXPECT_THAT(
      text,
      HasSubstr(R"pir("mylib.f" [id:3] (%0) {call:"mylib.f(%a0, [1, 2], mode = \"a\")",)pir"));
  EXPECT_THAT(text, HasSubstr(R"pir("mylib.g" [id:4] (%2, %1) {stop_gradient)pir"));
  EXPECT_THAT(text, HasSubstr(R"pir("builtin.parameter" [id:2])pir"));
  EXPECT_THAT(text, HasSubstr(R"pir({call:"torch.cond(True, @r0, @r0, (%a0,))")pir"));
}

// Long constants are abbreviated for people, which must not happen here.
TEST(ToPir, LongConstantsAreWhole) {
  std::string numbers = "0";
  for (int i = 1; i < 500; ++i) absl::StrAppend(&numbers, ", ", i);
  const std::string text =
      Lower(absl::StrCat("graph @forward(%x : f32[4]) {\n  %f = mylib.f(%x, [", numbers, "], \"",
                         std::string(2000, 'a'), "\")\n  return (%f,)\n}\n"));
  EXPECT_THAT(text, HasSubstr("498, 499]"));
}

TEST(ToPir, SymbolicSizesHaveTheirNames) {
  const std::string text = Lower(R"(
symbol S0 = 7
graph @forward(%x : f32[S0, 8], %y : f32[S0 + 1, 8]) {
  %a = torch.exp(%x) : f32[S0, 8]
  %b = torch.cat((%a, %y)) : f32[S0*2 + 1, 8]
  return (%b,)
}
)");
  EXPECT_THAT(text, HasSubstr(R"pir(shape:(pd_op.IntArray)[-1,8])pir"));
  EXPECT_THAT(text, HasSubstr(R"pir(sym_shape_str:"shape[Add(S0, 1), 8], data[NULL]")pir"));
  EXPECT_THAT(text,
              HasSubstr("builtin.tensor<-1x8xf32> { (shape[Add(Mul(S0, 2), 1), 8], data[NULL]) }"));
}

// Sizes that the rules of results.txt (facts/shapes) do not know follow from the operands.
TEST(ToPir, SymbolsKeepTheirNamesThroughOperators) {
  const std::string text = Lower(R"(
symbol S0 = 7
symbol S1 = 7
graph @forward(%x : f32[S0, 8], %y : f32[S0, 8], %z : f32[S1, 1], %m : bool[S0, 8]) {
  %c = torch.cat((%x, %y))
  %s = torch.nn.functional.silu(%c)
  %f = torch.flatten(%s)
  %e = torch.einsum("ij,kj->ik", %x, %y)
  %w = torch.where(%m, %x, %y)
  %a = torch.add(%w, %z)
  return (%f, %e, %a)
}
)");
  const auto shape_of = [&](absl::string_view op) {
    const size_t at = text.find(absl::StrCat("\"pd_op.", op, "\""));
    const size_t begin = text.find("{ (", at) + 2;
    return at == std::string::npos ? "none" : text.substr(begin, text.find(" }\t", at) - begin);
  };
  EXPECT_EQ(shape_of("concat"), "(shape[Add(S0, S0), 8], data[NULL])");
  EXPECT_EQ(shape_of("silu"), "(shape[Add(S0, S0), 8], data[NULL])");
  EXPECT_EQ(shape_of("flatten"), "(shape[Mul(Add(S0, S0), 8)], data[NULL])");
  EXPECT_THAT(shape_of("einsum"),
              StartsWith("(shape[S0, S0], data[NULL]), (shape[0], data[NULL], "));
  EXPECT_EQ(shape_of("where"), "(shape[S0, 8], data[NULL])");
  EXPECT_EQ(shape_of("add"), "(shape[Max(S0, S1), 8], data[NULL])");
  EXPECT_THAT(text, Not(HasSubstr("NULL TYPE")));
}

TEST(ToPir, RefusesBodiesThatAreCalledTooOften) {
  std::string text =
      "graphnet.module 1\ngraph @forward(%x) {\n  %r = torch.cond(True, @b0, @b0, (%x,))\n  return "
      "(%r,)\n}\n";
  for (int i = 0; i < 40; ++i) {
    absl::StrAppend(&text, "graph @b", i, "(%x) {\n  %r = torch.cond(True, @b", i + 1, ", @b",
                    i + 1, ", (%x,))\n  %s = torch.cond(True, @b", i + 1, ", @b", i + 1,
                    ", (%x,))\n  return (%r, %s)\n}\n");
  }
  absl::StrAppend(&text, "graph @b40(%x) {\n  return (%x,)\n}\nend\n");
  const auto module = ParseModule(text, "m.gn");
  ASSERT_OK(module);
  EXPECT_THAT(ToPir(**module),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("too often")));
}

// Each row must name an operator of the table (rules.cc checks that) with parameters that it has,
// for a function that to-paddle writes.
TEST(Rules, NameParametersOfOperators) {
  ForEachRule([](absl::string_view function, const Rule& rule) {
    const auto check = [&](const auto& self, const Term& term) -> void {
      if (term.kind == Term::Kind::kOperator) {
        const Operator* op = FindOperator(term.name);
        ASSERT_NE(op, nullptr) << function;
        size_t positional = 0;
        for (const Term& argument : term.arguments) {
          bool found = argument.keyword.empty();
          positional += found ? 1 : 0;
          for (const Parameter& p : op->operands) found |= p.name == argument.keyword;
          for (const Parameter& p : op->attributes) found |= p.name == argument.keyword;
          EXPECT_TRUE(found) << function << " " << argument.keyword;
        }
        EXPECT_LE(positional, op->operands.size() + op->attributes.size()) << function;
      }
      if (term.kind == Term::Kind::kParameter && FindFunction(function) != nullptr) {
        // A decorator in Paddle also accepts PyTorch's names.
        bool found = function == "paddle.transpose";
        for (const Parameter& p : FindFunction(function)->parameters) found |= p.name == term.name;
        EXPECT_TRUE(found) << function << " has no " << term.name;
      }
      for (const Term& argument : term.arguments) self(self, argument);
    };
    check(check, rule.result);
  });
}

}  // namespace
}  // namespace graphnet::pir
