#include "graphnet/passes/resize/resize_plan.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/passes/resize/extent.h"
#include "graphnet/passes/resize/find_symbols.h"
#include "graphnet/passes/resize/size_table.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Sample Parse(absl::string_view body) {
  Sample sample;
  absl::StatusOr<std::unique_ptr<Module>> module =
      ParseModule(absl::StrCat("graphnet.module 1\n", body, "end\n"), "test");
  EXPECT_TRUE(module.ok()) << module.status();
  sample.module = *std::move(module);
  return sample;
}

// The graphs state all sizes, and nothing else may be asked.
InferSizes InferOnly(const Sample& sample) {
  return [module = sample.module.get()](Module* asked) {
    return asked == module ? absl::OkStatus() : absl::UnimplementedError("no LibTorch here");
  };
}

// Returns the text of a sample at one row.
std::string At(absl::string_view body, const std::vector<int64_t>& row) {
  Sample sample = Parse(body);
  const auto plan = ResizePlan::Make(&sample, {row}, InferOnly(sample));
  if (!plan.ok()) return std::string(plan.status().message());
  if (!(*plan)->status(0).ok()) return std::string((*plan)->status(0).message());
  const absl::Status applied = (*plan)->Apply(0);
  return applied.ok() ? PrintModule(*sample.module) : std::string(applied.message());
}

TEST(ResizePlanTest, NumbersFollowBatchAndLength) {
  constexpr absl::string_view kText = R"(symbol S0 = 1
symbol S1 = 4
graph @forward(%x : i64[S0, S1], %w : f32[10, 6] as torch.nn.parameter.Parameter) {
  %e = torch.nn.functional.embedding(%x, %w) : f32[1, 4, 6]
  %v = .view(%e, 1, 4, 2, 3) : f32[1, 4, 2, 3]
  %t = .transpose(%v, 1, 2) : f32[1, 2, 4, 3]
  %f = .reshape(%t, 2, 12) : f32[2, 12]
  return (%f,)
}
)";
  const std::string made = At(kText, {3, 8});
  EXPECT_THAT(made, HasSubstr(".view(%e, 3, 8, 2, 3) : f32[3, 8, 2, 3]"));
  EXPECT_THAT(made, HasSubstr(".reshape(%t, 6, 24) : f32[6, 24]"));
  EXPECT_THAT(made, HasSubstr("symbol S1 = 8"));
}

TEST(ResizePlanTest, CopiesOfASquareFollowItsSides) {
  constexpr absl::string_view kText = R"(symbol S0 = 4
graph @forward(%x : f32[S0, S0, S0, S0]) {
  %f = .reshape(%x, 16, 16) : f32[16, 16]
  %a = torch.arange(4) : i64[4]
  %b = .view(%a, 1, -1) : i64[1, 4]
  %c = .view(%a, -1, 1) : i64[4, 1]
  %d = operator.sub(%b, %c) : i64[4, 4]
  %r = .repeat(%d, 4, 4) : i64[16, 16]
  %i = .repeat_interleave(%d, 4, dim = 0) : i64[16, 4]
  %j = .repeat_interleave(%i, 4, dim = 1) : i64[16, 16]
  %s = operator.add(%f, %r) : f32[16, 16]
  %t = operator.add(%s, %j) : f32[16, 16]
  return (%t,)
}
)";
  const std::string made = At(kText, {6});
  EXPECT_THAT(made, HasSubstr("torch.arange(6) : i64[6]"));
  EXPECT_THAT(made, HasSubstr(".repeat(%d, 6, 6) : i64[36, 36]"));
  EXPECT_THAT(made, HasSubstr(".repeat_interleave(%i, 6, dim = 1) : i64[36, 36]"));
}

TEST(ResizePlanTest, FoldMakesTheImageThatWasCut) {
  constexpr absl::string_view kText = R"(symbol S0 = 4
graph @forward(%x : f32[1, 8, S0, S0], %w : f32[32, 8, 2, 2] as torch.nn.parameter.Parameter) {
  %c = torch.conv2d(%x, %w, None, (2, 2)) : f32[1, 32, 2, 2]
  %f = .flatten(%c, 2) : f32[1, 32, 4]
  %y = torch.nn.functional.fold(%f, output_size = (4, 4), kernel_size = (2, 2), stride = (2, 2)) : f32[1, 8, 4, 4]
  return (%y,)
}
)";
  EXPECT_THAT(At(kText, {8}), HasSubstr("output_size = (8, 8)"));
  EXPECT_THAT(At(kText, {7}), HasSubstr("output_size = (7, 7)"));
}

TEST(ResizePlanTest, FactorsInTensorsAreNumbers) {
  constexpr absl::string_view kText = R"(symbol S0 = 4
graph @forward(%x : f32[1, 2, S0, S0], %f : f32[] {data = [2.0]}) {
  %i = .item(%f)
  %m = operator.mul(4, %i)
  %n = torch.sym_int(%m)
  %y = torch.nn.functional.interpolate(%x, [%n, %n], None, "bilinear", False) : f32[1, 2, 8, 8]
  return (%y,)
}
)";
  EXPECT_THAT(At(kText, {16}), HasSubstr("(%x, [32, 32], None"));
}

TEST(ResizePlanTest, TheMiddleOfATableOfRelativePositionsGrows) {
  constexpr absl::string_view kText = R"(symbol S0 = 3
graph @forward(%x : f32[1, S0, 4], %w : f32[1, 9, 4]) {
  %a = .relu(%x) : f32[1, 3, 4]
  %p = operator.getitem(%w, (slice(None, None, None), slice(2, 7, None))) : f32[1, 5, 4]
  %t = .transpose(%p, 1, 2) : f32[1, 4, 5]
  %m = torch.matmul(%a, %t) : f32[1, 3, 5]
  %n = operator.getitem(%m, (slice(None, None, None), slice(None, None, None), slice(None, 3, None))) : f32[1, 3, 3]
  %u = .transpose(%a, 1, 2) : f32[1, 4, 3]
  %q = torch.matmul(%a, %u) : f32[1, 3, 3]
  %s = operator.add(%q, %n) : f32[1, 3, 3]
  return (%s,)
}
)";
  const std::string made = At(kText, {4});
  EXPECT_THAT(made, HasSubstr("slice(1, 8, None))) : f32[1, 7, 4]"));
  EXPECT_THAT(made, HasSubstr("slice(None, 4, None))) : f32[1, 4, 4]"));
  EXPECT_THAT(At(kText, {2}), HasSubstr("slice(3, 6, None))) : f32[1, 3, 4]"));
  EXPECT_THAT(At(kText, {6}), HasSubstr("too few rows"));
}

TEST(ResizePlanTest, APadFillsWholeWindows) {
  constexpr absl::string_view kText = R"(symbol S0 = 6
graph @forward(%x : f32[1, S0, 2]) {
  %p = torch.nn.functional.pad(%x, (0, 0, 0, 2), "constant", None) : f32[1, 8, 2]
  %r = torch.roll(%p, shifts = (-1,), dims = (1,)) : f32[1, 8, 2]
  %w = .view(%r, 1, 2, 4, 2) : f32[1, 2, 4, 2]
  %v = .view(%w, 1, 8, 2) : f32[1, 8, 2]
  %c = operator.getitem(%v, (slice(None, None, None), slice(None, 6, None))) : f32[1, 6, 2]
  %s = operator.add(%x, %c) : f32[1, 6, 2]
  return (%s,)
}
)";
  const std::string made = At(kText, {9});
  EXPECT_THAT(made, HasSubstr("pad(%x, (0, 0, 0, 3), \"constant\", None) : f32[1, 12, 2]"));
  EXPECT_THAT(made, HasSubstr(".view(%r, 1, 3, 4, 2)"));
  EXPECT_THAT(made, HasSubstr("slice(None, 9, None))) : f32[1, 9, 2]"));
  EXPECT_THAT(At(kText, {8}), HasSubstr("(0, 0, 0, 0)"));
}

TEST(ResizePlanTest, ATableHasARowForEachPosition) {
  constexpr absl::string_view kText = R"(symbol S0 = 4
graph @forward(%x : f32[S0, 2], %w : f32[5, 2] as torch.nn.parameter.Parameter) {
  %a = torch.arange(0, 4) : i64[4]
  %t = operator.getitem(%w, slice(None, 4, None)) : f32[4, 2]
  %g = operator.getitem(%t, %a) : f32[4, 2]
  %s = operator.add(%x, %g) : f32[4, 2]
  return (%s,)
}
)";
  const std::string made = At(kText, {8});
  EXPECT_THAT(made, HasSubstr("torch.arange(0, 8)"));
  EXPECT_THAT(made, HasSubstr("slice(None, 8, None)) : f32[8, 2]"));
}

TEST(ResizePlanTest, ConstantsGrowWhereTheyMeetWhatGrows) {
  constexpr absl::string_view kText = R"(symbol S0 = 4
graph @forward(%x : f32[1, 2, S0, S0]) {
  %a = torch.arange(0, 4) : i64[4]
  %b = torch.full((4, 4), -1.0) : f32[4, 4]
  %c = operator.add(%a, 1) : i64[4]
  %d = .view(%c, 4, 1) : i64[4, 1]
  %e = operator.lt(%a, %d) : bool[4, 4]
  %m = .masked_fill_(%b, %e, 0) : f32[4, 4]
  %n = operator.getitem(%m, (None, None, slice(None, 4, None), slice(None, 4, None))) : f32[1, 1, 4, 4]
  %p = .expand(%n, 1, 1, 4, 4) : f32[1, 1, 4, 4]
  %s = operator.add(%x, %p) : f32[1, 2, 4, 4]
  return (%s,)
}
)";
  const std::string made = At(kText, {16});
  EXPECT_THAT(made, HasSubstr("torch.arange(0, 16)"));
  EXPECT_THAT(made, HasSubstr("torch.full((16, 16), -1.0)"));
  EXPECT_THAT(made, HasSubstr(".view(%c, 16, 1)"));
  EXPECT_THAT(made, HasSubstr(".expand(%n, 1, 1, 16, 16)"));
  EXPECT_THAT(made, HasSubstr("slice(None, 16, None), slice(None, 16, None)"));
}

TEST(ResizePlanTest, EqualSlicesOfOneCallAreToldApart) {
  constexpr absl::string_view kText = R"(symbol S0 = 4
graph @forward(%x : f32[1, S0]) {
  %b = torch.ones(4, 4) : f32[4, 4]
  %m = operator.getitem(%b, (slice(None, 4, None), slice(None, 4, None))) : f32[4, 4]
  %s = operator.add(%x, %m) : f32[4, 4]
  return (%s,)
}
)";
  const std::string made = At(kText, {9});
  EXPECT_THAT(made, HasSubstr("torch.ones(4, 9)"));
  EXPECT_THAT(made, HasSubstr("(slice(None, 4, None), slice(None, 9, None))"));
}

TEST(ResizePlanTest, PartsOfWhatIsJoinedGrowAsWhatWasSeen) {
  constexpr absl::string_view kText = R"(symbol S0 = 4
symbol S1 = 6
graph @forward(%x : f32[1, S0], %y : f32[1, S1]) {
  %a = torch.zeros(1, 4) : f32[1, 4]
  %r = .repeat(%a, [1, 1]) : f32[1, 4]
  %b = torch.zeros(1, 6) : f32[1, 6]
  %c = torch.cat((%r, %b), 1) : f32[1, 10]
  %d = torch.cat((%x, %y), 1) : f32[1, 10]
  %s = operator.add(%d, %c) : f32[1, 10]
  return (%s,)
}
)";
  const std::string made = At(kText, {3, 20});
  EXPECT_THAT(made, HasSubstr("%a = torch.zeros(1, 3) : f32[1, 3]"));
  EXPECT_THAT(made, HasSubstr("%b = torch.zeros(1, 20) : f32[1, 20]"));
}

TEST(ResizePlanTest, CheckComparesWithWhatIsInferred) {
  Sample sample = Parse(R"(symbol S0 = 4
graph @forward(%x : f32[S0, 6]) {
  %y = .neg(%x) : f32[4, 6]
  return (%y,)
}
)");
  const auto plan = ResizePlan::Make(&sample, {{8}}, InferOnly(sample));
  ASSERT_TRUE(plan.ok() && (*plan)->Apply(0).ok());
  EXPECT_TRUE((*plan)->Check(0, InferOnly(sample)).ok());
  const absl::Status other = (*plan)->Check(0, [](Module* module) {
    TensorMeta meta;
    meta.has_shape = true;
    const std::vector<Dim> dims = {9, 6};
    meta.shape = dims;
    for (Node* node : module->main()->nodes()) {
      if (node->is_call()) node->set_meta(module->InternValueMeta(meta));
    }
    return absl::OkStatus();
  });
  EXPECT_THAT(std::string(other.message()), HasSubstr("has other sizes than those that were"));
  EXPECT_THAT(PrintModule(*sample.module), HasSubstr("%y = .neg(%x) : f32[8, 6]"));
}

TEST(ResizePlanTest, TablesOfPositionsGrow) {
  constexpr absl::string_view kText = R"(symbol S0 = 4
graph @forward(%x : f32[1, S0, 6], %w "L_self_positions" : f32[5, 6] as torch.nn.parameter.Parameter) {
  %a = torch.arange(4) : i64[4]
  %e = torch.nn.functional.embedding(%a, %w) : f32[4, 6]
  %s = operator.add(%x, %e) : f32[1, 4, 6]
  return (%s,)
}
)";
  EXPECT_THAT(At(kText, {5}), HasSubstr("L_self_positions\" : f32[5, 6]"));
  EXPECT_THAT(At(kText, {64}), HasSubstr("L_self_positions\" : f32[64, 6]"));
}

TEST(ResizePlanTest, SizesOfOneAreExpandedWhereTheyAreJoined) {
  constexpr absl::string_view kText = R"(symbol S0 = 1
graph @forward(%x : f32[S0, 4, 6], %c "L_self_token" : f32[1, 1, 6] as torch.nn.parameter.Parameter) {
  %e = .expand(%c, 1, -1, -1) : f32[1, 1, 6]
  %y = torch.cat((%e, %x), 1) : f32[1, 5, 6]
  return (%y,)
}
)";
  EXPECT_THAT(At(kText, {8}), HasSubstr(".expand(%c, 8, -1, -1) : f32[8, 1, 6]"));
}

TEST(ResizePlanTest, ConvolutionsAndPoolsFollowTheSide) {
  constexpr absl::string_view kText = R"(symbol S0 = 1
symbol S1 = 32
graph @forward(%x : f32[S0, 3, S1, S1], %w : f32[8, 3, 3, 3] as torch.nn.parameter.Parameter) {
  %c = torch.conv2d(%x, %w, None, (2, 2), (1, 1), (1, 1), 1) : f32[1, 8, 16, 16]
  %p = torch.nn.functional.max_pool2d(%c, 2, 2) : f32[1, 8, 8, 8]
  %v = .view(%p, 1, 8, 64) : f32[1, 8, 64]
  %t = .transpose(%v, 1, 2) : f32[1, 64, 8]
  %b = .reshape(%t, 1, 8, 8, 8) : f32[1, 8, 8, 8]
  %f = torch.nn.functional.interpolate(%c, (32, 32), None, "nearest") : f32[1, 8, 32, 32]
  return (%b, %f)
}
)";
  const std::string made = At(kText, {2, 64});
  EXPECT_THAT(made, HasSubstr(".view(%p, 2, 8, 256)"));
  EXPECT_THAT(made, HasSubstr(".reshape(%t, 2, 16, 16, 8) : f32[2, 16, 16, 8]"));
  EXPECT_THAT(made, HasSubstr("interpolate(%c, (64, 64)"));
  EXPECT_THAT(At(kText, {1, 1}), HasSubstr("has a window that is larger than its operand"));
}

TEST(ResizePlanTest, EachRowHasItsOwnCause) {
  Sample sample = Parse(R"(symbol S0 = 4
graph @forward(%x : f32[S0, 6]) {
  %v = .view(%x, 2, 2, 6) : f32[2, 2, 6]
  return (%v,)
}
)");
  const auto plan = ResizePlan::Make(&sample, {{8}, {5}, {4}, {12}}, InferOnly(sample));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_TRUE((*plan)->status(0).ok());
  EXPECT_THAT(std::string((*plan)->status(1).message()), HasSubstr("do not divide"));
  ASSERT_TRUE((*plan)->Apply(3).ok());
  EXPECT_THAT(PrintModule(*sample.module), HasSubstr(".view(%x, 6, 2, 6) : f32[6, 2, 6]"));
  // Rows may be applied in any order.
  ASSERT_TRUE((*plan)->Apply(2).ok());
  EXPECT_THAT(PrintModule(*sample.module), HasSubstr(".view(%x, 2, 2, 6) : f32[2, 2, 6]"));
}

TEST(ResizePlanTest, LiteralDataBeginsAgain) {
  const std::string made = At(R"(symbol S0 = 2
graph @forward(%x : i64[S0] {data = [7, 8]}) {
  %y = .neg(%x) : i64[2]
  return (%y,)
}
)",
                              {5});
  EXPECT_THAT(made, HasSubstr("data = [7, 8, 7, 8, 7]"));
}

TEST(ResizePlanTest, RefusesMoreLiteralDataThanMemoryShouldHold) {
  EXPECT_THAT(At(R"(symbol S0 = 2
graph @forward(%x : i64[S0] {data = [1, 2]}) {
  %y = torch.neg(%x) : i64[2]
  return (%y,)
}
)",
                 {1 << 23}),
              HasSubstr("input x would have more than 2^22 elements of literal data"));
}

// Written out, the list has 2^24 elements: more than are followed, and as many as a graph may have.
TEST(ResizePlanTest, RefusesSharedListsThatAreTooLong) {
  Sample sample = Parse(R"(symbol S0 = 2
graph @forward(%x : f32[S0]) {
  %y = torch.neg(%x, (1, 2)) : f32[2]
  return (%y,)
}
)");
  Node* const call = sample.module->main()->placeholders()[0]->next();
  for (int i = 0; i < 24; ++i) {
    const Argument list = call->args()[1];
    const Argument pair[] = {list, list};
    call->set_arg(1, Argument::List(pair));
  }
  const absl::Status refused = ResizePlan::Make(&sample, {{4}}, InferOnly(sample)).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.message(),
              HasSubstr("lists and tuples have more than 2^20 elements up to here"));
}

TEST(ResizePlanTest, SizesBeyondAllTensorsDoNotWrap) {
  EXPECT_EQ(Times(int64_t{1} << 31, int64_t{1} << 31), int64_t{1} << 62);
  EXPECT_EQ(Times(int64_t{1} << 40, int64_t{1} << 40), int64_t{1} << 62);
  EXPECT_EQ(Times(-(int64_t{1} << 40), int64_t{1} << 40), -(int64_t{1} << 62));
  EXPECT_EQ(Times(-3, 5), -15);
}

TEST(ResizePlanTest, RefusesWhatIsWrong) {
  EXPECT_THAT(At("graph @forward(%x : f32[2]) {\n  return (%x,)\n}\n", {}),
              HasSubstr("no input has a symbol"));
  EXPECT_THAT(At("symbol S0\ngraph @forward(%x : f32[S0]) {\n  return (%x,)\n}\n", {2}),
              HasSubstr("has no example above 0"));
  constexpr absl::string_view kTwo = R"(symbol S0 = 4
symbol S1 = 4
graph @forward(%x : f32[S0], %y : f32[S1]) {
  %z = operator.add(%x, %y) : f32[4]
  return (%z,)
}
)";
  EXPECT_THAT(At(kTwo, {2, 3}), HasSubstr("joins two sizes that were equal and are not any more"));
  EXPECT_THAT(At(kTwo, {3, 3}), HasSubstr("symbol S0 = 3"));
  EXPECT_THAT(At(kTwo, {3}), HasSubstr("a row has 1 sizes, and there are 2 symbols"));
  EXPECT_THAT(At(kTwo, {0, 1}), HasSubstr("a size is not above 0"));
  // Its size is data.
  EXPECT_THAT(At(R"(symbol S0 = 4
graph @forward(%x : f32[S0]) {
  %n = torch.nonzero(%x)
  %z = .neg(%n)
  return (%z,)
}
)",
                 {8}),
              HasSubstr("its sizes depend on data"));
  // More elements than can be drawn.
  EXPECT_THAT(At("symbol S0 = 2\nsymbol S1 = 2\ngraph @forward(%x : f32[S0, S1]) {\n"
                 "  return (%x,)\n}\n",
                 {2000000000, 2000000000}),
              HasSubstr("input x would have more than 2^40 elements"));
}

TEST(ResizePlanTest, RefusesWhatCannotBeFollowed) {
  const auto with = [](absl::string_view lines) {
    return absl::StrCat("symbol S0 = 4\ngraph @forward(%x : f32[S0, 3, 4, 4], %t : i64[4], ",
                        "%m : bool[4]) {\n  %n = .item(%t)\n", lines, "  return (%y,)\n}\n");
  };
  EXPECT_THAT(At(with("  %y = operator.getitem(%x, %m) : f32[2, 3, 4, 4]\n"), {8}),
              HasSubstr("is indexed with data, or in an unknown way"));
  EXPECT_THAT(
      At(with("  %y = operator.getitem(%x, slice(None, %n, None)) : f32[2, 3, 4, 4]\n"), {8}),
      HasSubstr("is cut at a place that depends on data"));
  EXPECT_THAT(
      At(with("  %y = torch.nn.functional.interpolate(%x, (%n, 8)) : f32[4, 3, 8, 8]\n"), {8}),
      HasSubstr("has sizes that are not known"));
  EXPECT_THAT(At(with("  %y = torch.nn.functional.pad(%x, (%n, 0)) : f32[4, 3, 4, 5]\n"), {8}),
              HasSubstr("no rule says how it changes sizes"));
  EXPECT_THAT(At(with("  %l = .tolist(%t)\n"
                      "  %y = torch.nn.functional.pad(%x, %l) : f32[4, 3, 4, 5]\n"),
                 {8}),
              HasSubstr("has operands whose sizes are not known"));
}

TEST(ResizePlanTest, RefusesSamplesThatContradictThemselves) {
  Sample sample = Parse("symbol S0 = 4\ngraph @forward(%x : f32[S0]) {\n  return (%x,)\n}\n");
  const auto unfit =
      ResizePlan::Make(&sample, {{8}}, [](Module*) { return absl::InvalidArgumentError("no"); });
  EXPECT_THAT(std::string(unfit.status().message()),
              HasSubstr("the recorded sizes do not fit: no"));
  Module& module = *sample.module;
  module.AddRelation(
      module.SymBinary(SymExpr::Kind::kLt, module.SymSymbol("S0"), module.SymInt(6)));
  const auto plan = ResizePlan::Make(&sample, {{8}, {5}}, InferOnly(sample));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(std::string((*plan)->status(0).message()),
              HasSubstr("the sizes contradict a relation of the symbols"));
  EXPECT_TRUE((*plan)->status(1).ok());
}

TEST(ResizePlanTest, TablesWhoseValuesAreKnownStay) {
  Sample sample = Parse(R"(symbol S0 = 4
graph @forward(%x : f32[1, S0, 6], %w "L_self_positions" : f32[5, 6] as torch.nn.parameter.Parameter) {
  %a = torch.arange(4) : i64[4]
  %e = torch.nn.functional.embedding(%a, %w) : f32[4, 6]
  %s = operator.add(%x, %e) : f32[1, 4, 6]
  return (%s,)
}
)");
  sample.weights["L_self_positions"] = {};
  const auto plan = ResizePlan::Make(&sample, {{64}}, InferOnly(sample));
  EXPECT_THAT(
      std::string(plan.status().message()),
      HasSubstr("the table L_self_positions would need more rows, and its values are known"));
}

TEST(FindSymbolsTest, KeepsThoseWithWhichTheSampleWorks) {
  Sample sample = Parse(R"(graph @forward(%x : f32[1, 5], %y : f32[1, 6]) {
  %z = torch.cat((%x, %y), 1) : f32[1, 11]
  %v = .view(%z, 1, 11) : f32[1, 11]
  return (%v,)
}
)");
  const auto infer = [](Module*) { return absl::OkStatus(); };
  const absl::Status found = FindSymbols(&sample, infer, [](Sample* tried, ResizePlan*, size_t) {
    // The size of y cannot be another.
    const Symbol& last = tried->module->symbols().back();
    return *last.example > 6 && *last.example % 6 == 0 ? absl::InternalError("no")
                                                       : absl::OkStatus();
  });
  ASSERT_TRUE(found.ok()) << found;
  EXPECT_THAT(PrintModule(*sample.module), HasSubstr("%x : f32[S0, S1],\n  %y : f32[S0, 6]"));
}

// What is passed by keyword, or under NumPy's name, is found, too.
TEST(ResizePlanTest, KeywordsAreFollowed) {
  const std::string made = At(R"(symbol S0 = 4
graph @forward(%x : f32[2, S0], %y : f32[2, S0]) {
  %a = torch.arange(end = 8, dtype = torch.float32) : f32[8]
  %c = torch.cat((%x, %y), axis = 1) : f32[2, 8]
  %s = operator.add(%c, %a) : f32[2, 8]
  return (%s,)
}
)",
                              {6});
  EXPECT_THAT(made, HasSubstr("end = 12"));
  EXPECT_THAT(made, HasSubstr("f32[2, 12]"));
}

// None beside the result leaves a call without a meta.
TEST(ResizePlanTest, AttentionThatReturnsNoneBesideItsResult) {
  const std::string made = At(R"(symbol S0 = 1
graph @forward(%x : f32[S0, 5, 8], %w : f32[24, 8], %b : f32[24], %o : f32[8, 8], %p : f32[8]) {
  %m = torch._native_multi_head_attention(%x, %x, %x, 8, 2, %w, %b, %o, %p, None, False, True, None)
  %y = operator.getitem(%m, 0) : f32[1, 5, 8]
  %v = .view(%y, 5, 8) : f32[5, 8]
  return (%v,)
}
)",
                              {3});
  EXPECT_THAT(made, HasSubstr(".reshape(%y, 15, 8) : f32[15, 8]"));
}

// A mask of attention has one part for each head, and its rows and columns are positions.
TEST(ResizePlanTest, MasksOfAttentionGrow) {
  const std::string made = At(R"(symbol S0 = 5
graph @forward(%x : f32[S0, 1, 8], %w : f32[24, 8], %b : f32[24], %o : f32[8, 8], %p : f32[8]) {
  %k = torch.zeros(2, 5, 5) : f32[2, 5, 5]
  %m = torch.nn.functional.multi_head_attention_forward(%x, %x, %x, 8, 2, %w, %b, None, None, False, 0.0, %o, %p, False, None, False, %k)
  %y = operator.getitem(%m, 0) : f32[5, 1, 8]
  return (%y,)
}
)",
                              {9});
  EXPECT_THAT(made, HasSubstr("torch.zeros(2, 9, 9)"));
}

// A value that is written to a part grows with the part, and the other way round.
TEST(ResizePlanTest, WritesToPartsGrow) {
  const std::string made = At(R"(symbol S0 = 4
graph @forward(%x : f32[S0, 5]) {
  %t = torch.zeros(5, 5) : f32[5, 5]
  %v = torch.ones(4, 4) : f32[4, 4]
  %i = operator.setitem(%t, (slice(1, None, None), slice(1, None, None)), %v)
  %r = operator.getitem(%t, (slice(1, None, None), slice(None, None, None))) : f32[4, 5]
  %y = operator.add(%x, %r) : f32[4, 5]
  %u = torch.zeros(6, 5) : f32[6, 5]
  %j = operator.setitem(%u, slice(2, 6, None), %x)
  return (%y, %u)
}
)",
                              {2});
  EXPECT_THAT(made, HasSubstr("torch.ones(2, 4)"));
  EXPECT_THAT(made, HasSubstr("torch.zeros(3, 5)"));
  EXPECT_THAT(made, HasSubstr("slice(2, 4, None)"));
}

// What is repeated once for each sequence of the batch.
TEST(ResizePlanTest, ValuesAreRepeatedMoreOften) {
  const std::string made = At(R"(symbol S0 = 1
graph @forward(%x : f32[S0, 2, 5, 8], %t : f32[2, 8, 7]) {
  %q = .reshape(%x, -1, 5, 8) : f32[2, 5, 8]
  %r = .repeat(%t, 1, 1, 1) : f32[2, 8, 7]
  %y = torch.bmm(%q, %r) : f32[2, 5, 7]
  return (%y,)
}
)",
                              {3});
  EXPECT_THAT(made, HasSubstr(".repeat(%t, 3, 1, 1)"));
  EXPECT_THAT(made, HasSubstr("torch.bmm(%q, %r) : f32[6, 5, 7]"));
}

// A batch of one that is split into heads makes the outer size grow.
TEST(ResizePlanTest, OuterSizesGrowFirst) {
  const std::string made = At(R"(symbol S0 = 1
graph @forward(%x : f32[S0, 12, 3, 3], %n : f32[S0, 6]) {
  %r = .reshape(%x, 4, 3, -1) : f32[4, 3, 9]
  %l = torch.nn.functional.layer_norm(%n, (1, 6)) : f32[1, 6]
  return (%r, %l)
}
)",
                              {5});
  EXPECT_THAT(made, HasSubstr(".reshape(%x, 20, 3, -1) : f32[20, 3, 9]"));
  // A norm without weights may be over all that there is.
  EXPECT_THAT(made, HasSubstr("layer_norm(%n, (5, 6))"));
}

TEST(FindSymbolsTest, SaysWhyThereIsNone) {
  Sample sample = Parse("graph @forward(%x : f32[]) {\n  return (%x,)\n}\n");
  const auto works = [](Sample*, ResizePlan*, size_t) { return absl::OkStatus(); };
  EXPECT_THAT(std::string(FindSymbols(&sample, InferOnly(sample), works).message()),
              HasSubstr("no input has a size"));
}

TEST(SizeTableTest, ReadsRows) {
  const Sample sample = Parse(
      "symbol S0 = 1\nsymbol S1 = 4\ngraph @forward(%x : i64[S0, S1], %y : i64[S0, 1]) {\n"
      "  return (%x,)\n}\n");
  EXPECT_EQ(SymbolicShapes(*sample.module), "[(S0,1),(S0,S1)]");
  const auto table = SizeTable::Parse("# batch, length\n1, 16\n4 16 # four\n\n7\n", "t");
  ASSERT_TRUE(table.ok()) << table.status();
  const auto rows = table->RowsFor(*sample.module, "");
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_THAT(*rows, ElementsAre(ElementsAre(1, 16), ElementsAre(4, 16)));
}

TEST(SizeTableTest, RefusesSizesThatAreNone) {
  for (const std::string text : {"0", "1,-4", "1,x", "2147483648", "1.5", "99999999999999999999"}) {
    EXPECT_THAT(
        std::string(SizeTable::Parse(absl::StrCat("1\n", text, "\n"), "t").status().message()),
        HasSubstr("t:2: "))
        << text;
  }
  EXPECT_THAT(std::string(SizeTable::Parse("# nothing\n", "t").status().message()),
              HasSubstr("has no row of sizes"));
}

TEST(SizeTableTest, FindsGraphNetsTables) {
  const Sample image =
      Parse("symbol S0 = 224\ngraph @forward(%x : f32[1, 3, S0, S0]) {\n  return (%x,)\n}\n");
  const auto automatic = SizeTable::Open("auto");
  ASSERT_TRUE(automatic.ok());
  const auto sides = automatic->RowsFor(
      *image.module, R"({"symbolic_dimension_reifier": "naive_cv_sym_dim_reifier"})");
  ASSERT_TRUE(sides.ok()) << sides.status();
  EXPECT_THAT(sides->front(), ElementsAre(128));
  EXPECT_EQ(sides->size(), 9u);
  EXPECT_THAT(std::string(automatic->RowsFor(*image.module, "{}").status().message()),
              HasSubstr("names no table"));
  const Sample batch =
      Parse("symbol S0 = 1\ngraph @forward(%x : f32[S0, 3, 64, 64]) {\n  return (%x,)\n}\n");
  const auto batches = SizeTable::Open("cv")->RowsFor(*batch.module, "");
  ASSERT_TRUE(batches.ok());
  EXPECT_EQ(batches->size(), 7u);
  EXPECT_THAT(std::string(SizeTable::Open("nlp")->RowsFor(*batch.module, "").status().message()),
              HasSubstr("has no row for the shapes [(S0,3,64,64)]"));
}

}  // namespace
}  // namespace graphnet
