#include "graphnet/passes/partial_evaluation/partial_evaluation.h"

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Returns the text of a module, evaluated as for a writer of programs, or the error.
std::string Evaluated(absl::string_view module) {
  const auto parsed = ParseModule(absl::StrCat("graphnet.module 1\n", module, "end\n"), "m.gn");
  EXPECT_OK(parsed);
  const auto program = EvaluateCall(**parsed, /*with_state=*/false);
  return program.ok() ? PrintModule(*program->module) : std::string(program.status().message());
}

// Returns what a program yields that consists of these calls, which are divided by semicolons, and
// returns %r.
std::string ResultOf(absl::string_view calls) {
  std::string text =
      Evaluated(absl::StrCat("graph @forward(%x : f32[2, 3]@cpu, %y : f32[2, 3]@cpu) {\n  ",
                             absl::StrReplaceAll(calls, {{"; ", "\n  "}}), "\n  return %r\n}\n"));
  const size_t begin = text.find("  return ");
  if (begin == std::string::npos || absl::StrContains(text, " = ")) return text;
  return text.substr(begin + 9, text.find('\n', begin) - begin - 9);
}

struct Case {
  const char* calls;
  const char* result;
};

void ExpectResults(absl::Span<const Case> cases) {
  for (const auto& [calls, result] : cases) EXPECT_EQ(ResultOf(calls), result) << calls;
}

TEST(PartialEvaluation, Lists) {
  ExpectResults({
      {"%r = prim.ListConstruct(3, 1); %a = aten.append.t(%r, 2)", "[3, 1, 2]"},
      {"%r = prim.ListConstruct(3, 1); %s = aten.sort.int(%r, False)", "[1, 3]"},
      {"%r = prim.ListConstruct(3, 1); %s = aten.insert.t(%r, -1, 7)", "[3, 7, 1]"},
      {"%l = prim.ListConstruct(3, 1); %r = aten.pop.t(%l, 0)", "3"},
      {"%l = prim.ListConstruct(3, 1); %p = aten.pop.t(%l, -1); %r = aten.len.t(%l)", "1"},
      {"%r = prim.ListConstruct(3, 1, 4, 1); %s = aten.remove.int(%r, 1)", "[3, 4, 1]"},
      {"%l = prim.ListConstruct(3, 1, 4, 1); %r = aten.count.int(%l, 1)", "2"},
      {"%l = prim.ListConstruct(3, 1, 4, 1); %r = aten.index.int(%l, 4)", "2"},
      {"%l = prim.ListConstruct(0, 1, 2, 3); %r = aten.slice.t(%l, -3, None, 2)", "[1, 3]"},
      {"%l = prim.ListConstruct(1); %r = aten.mul.left_t(%l, 3)", "[1, 1, 1]"},
      {"%l = prim.ListConstruct(1); %r = aten.add.t(%l, %l)", "[1, 1]"},
      {"%r = prim.ListConstruct(1); %s = aten.extend.t(%r, %r)", "[1, 1]"},
      {"%l = prim.ListConstruct(4, 2); %r = prim.min.self_int(%l)", "2"},
      {"%l = prim.ListConstruct(4, 2.5); %r = aten.sum.float(%l)", "6.5"},
      {"%l = prim.ListConstruct(0, 2); %r = aten.any.int(%l)", "True"},
      {"%l = prim.ListConstruct(0, 2); %r = aten.all.int(%l)", "False"},
      {"%l = prim.ListConstruct(1, 2); %r = aten.eq.int_list(%l, [1, 2])", "True"},
      {"%l = prim.ListConstruct(%x); %r = aten.__getitem__.t(%l, -1)", "%x"},
      // All holders of a list see its changes.
      {"%l = prim.ListConstruct(1); %r = prim.ListConstruct(%l, %l); %c = aten.clear.t(%l)",
       "[[], []]"},
  });
}

TEST(PartialEvaluation, Dicts) {
  ExpectResults({
      {"%r = prim.DictConstruct(\"a\", %x); %s = aten._set_item.str(%r, \"b\", %y)",
       "{\"a\": %x, \"b\": %y}"},
      {"%d = prim.DictConstruct(\"a\", 1, \"b\", 2); %r = aten.keys.str(%d)", "[\"a\", \"b\"]"},
      {"%d = prim.DictConstruct(\"a\", 1, \"b\", 2); %r = aten.values.str(%d)", "[1, 2]"},
      {"%d = prim.DictConstruct(3, %x); %r = aten.items.int(%d)", "[(3, %x)]"},
      {"%d = prim.DictConstruct(\"a\", 1, \"a\", 2); %r = aten.len.Dict_str(%d)", "1"},
      {"%d = prim.DictConstruct(\"a\", 1); %r = aten.get.default_str(%d, \"b\", 5)", "5"},
      {"%d = prim.DictConstruct(\"a\", 1); %r = aten.__contains__.str(%d, \"a\")", "True"},
      {"%r = prim.DictConstruct(\"a\", 1, \"b\", 2); %p = aten.pop.Dict_str(%r, \"a\")",
       "{\"b\": 2}"},
      {"%r = prim.DictConstruct(\"a\", 1); %s = aten.setdefault.str(%r, \"a\", 2)", "{\"a\": 1}"},
      {"%r = prim.DictConstruct(\"a\", 1); %o = prim.DictConstruct(\"b\", 2); "
       "%u = aten.update.str(%r, %o)",
       "{\"a\": 1, \"b\": 2}"},
      {"%t = prim.TupleConstruct(\"a\", 1); %l = prim.ListConstruct(%t); "
       "%r = aten.dict.str(%l)",
       "{\"a\": 1}"},
  });
}

TEST(PartialEvaluation, Texts) {
  ExpectResults({
      {"%r = aten.format.default(\"{}-{}\", 3, \"b\")", "\"3-b\""},
      {"%r = aten.add.str(\"a\", \"b\")", "\"ab\""},
      {"%r = aten.upper.default(\"ab\")", "\"AB\""},
      {"%r = aten.strip.default(\" a \")", "\"a\""},
      {"%r = aten.slice.str(\"abcd\", 1, 3, 1)", "\"bc\""},
      {"%r = aten.split.str(\"a,b\", \",\")", "[\"a\", \"b\"]"},
      {"%l = prim.ListConstruct(\"a\", \"b\"); %r = aten.join.default(\"-\", %l)", "\"a-b\""},
      {"%r = aten.replace.default(\"aba\", \"a\", \"cc\")", "\"ccbcc\""},
      {"%r = aten.find.default(\"abc\", \"c\")", "2"},
      {"%r = aten.count.default(\"abab\", \"ab\")", "2"},
      {"%r = aten.startswith.default(\"abc\", \"ab\")", "True"},
      {"%r = aten.lt.str(\"ab\", \"b\")", "True"},
      {"%r = aten.ord.default(\"a\")", "97"},
      {"%r = aten.Int.str(\"12\")", "12"},
      {"%r = aten.str.default(True)", "\"True\""},
  });
}

TEST(PartialEvaluation, Numbers) {
  ExpectResults({
      {"%r = aten.floordiv.int(-7, 2)", "-4"},
      {"%r = aten.__xor__.int(6, 3)", "5"},
      {"%r = aten.__lshift__.int(1, 4)", "16"},
      {"%r = aten.pow.int(2, 3)", "8.0"},
      {"%r = aten.pow.int_to_int(2, 3)", "8"},
      {"%r = aten.round.float(2.5)", "2.0"},
      {"%r = prim.max.int(2, 3)", "3"},
      {"%n = prim.NumToTensor.Scalar(7); %m = aten.mul.Tensor(%n, 2); %r = aten.Int.Tensor(%m)",
       "14"},
  });
}

// What cannot be computed stays, as it may raise.
TEST(PartialEvaluation, CallsThatMayRaiseStay) {
  for (const char* calls :
       {"%l = prim.ListConstruct(1); %r = aten.pop.t(%l, 3)",
        "%l = prim.ListConstruct(1); %r = aten.index.int(%l, 4)",
        "%d = prim.DictConstruct(\"a\", 1); %r = aten.__getitem__.Dict_str(%d, \"b\")",
        "%l = prim.ListConstruct(%x); %r = aten.index.Tensor(%l, %y)",
        "%r = aten.floordiv.int(1, 0)", "%r = aten.Int.str(\"a\")",
        "%l = prim.ListConstruct(1); %r = aten.append.t(%l, %l)",
        // A constant is no object that a call could change.
        "%r = aten.append.t([1], 2)", "%r = aten.append.t([%x], %y)",
        "%r = aten._set_item.str({\"a\": %x}, \"a\", %y)"}) {
    EXPECT_THAT(ResultOf(calls), HasSubstr("%r = aten.")) << calls;
  }
}

// A list that a call may hold is an object, unless no list is one for the writer.
TEST(PartialEvaluation, ListsThatCannotBeFollowedStayObjects) {
  const auto parsed = ParseModule(
      "graphnet.module 1\ngraph @forward(%x : f32[2]@cpu) {\n  %l = prim.ListConstruct(%x)\n"
      "  %k = foo.keep(%l)\n  %a = aten.append.t(%l, %x)\n  %n = aten.len.t(%l)\n"
      "  return (%n, %k)\n}\nend\n",
      "m.gn");
  ASSERT_OK(parsed);
  const auto evaluated = PartiallyEvaluate(**parsed);
  ASSERT_OK(evaluated);
  EXPECT_THAT(PrintModule(**evaluated),
              AllOf(HasSubstr("foo.keep(%l)"), HasSubstr("aten.append.t(%l, %x)"),
                    HasSubstr("%n = aten.len.t(%l)")));
}

TEST(PartialEvaluation, BranchesGetConstantsInTheirGraphs) {
  EXPECT_THAT(Evaluated(R"(
graph @forward(%x : f32[2]@cpu, %p : bool[]@cpu) {
  %a = torch.cond(%p, @taken, @other, (%x, 3)) : (f32[2]@cpu,)
  return %a
}
graph @taken(%x : f32[2]@cpu, %n as int) {
  %m = aten.mul.int(%n, 2)
  %y = aten.mul.Scalar(%x, %m) : f32[2]@cpu
  return (%y,)
}
graph @other(%x : f32[2]@cpu, %n as int) {
  return (%x,)
}
)"),
              AllOf(HasSubstr("torch.cond(%p, @taken, @other, (%x,))"),
                    HasSubstr("aten.mul.Scalar(%x, 6)"), Not(HasSubstr("%n"))));
}

// A list of results may be changed as any other.
TEST(PartialEvaluation, ResultsAreLists) {
  const std::string text = Evaluated(R"(
graph @forward(%x : f32[4, 3]@cpu) {
  %l = aten.split.Tensor(%x, 2) : (f32[2, 3]@cpu, f32[2, 3]@cpu)
  %a = aten.append.t(%l, %x)
  %n = aten.len.t(%l)
  %e = aten.__getitem__.t(%l, 1)
  return (%e, %n)
}
)");
  EXPECT_THAT(text, HasSubstr("%l_1 = operator.getitem(%l, 1) : f32[2, 3]@cpu"));
  EXPECT_THAT(text, HasSubstr("return (%l_1, 3)"));
}

}  // namespace
}  // namespace graphnet
