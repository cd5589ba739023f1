// Tests of the DAG style: each piece takes the values that it uses from the pieces that made them,
// and memory that is written to is handed on from piece to piece.

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "graphnet/decompose/compose.h"
#include "graphnet/decompose/range_decomposer.h"
#include "graphnet/decompose/regions.h"
#include "graphnet/decompose/schemes.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/validate/structure.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/decompose/chain_testing.h"
#include "tests/ir/text/random_module.h"

namespace graphnet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Range> Every(const Graph& graph, int64_t size) {
  const int64_t n = NumOperators(graph);
  std::vector<Range> ranges;
  int64_t start = 0;
  for (const int64_t cut : CutsEvery(size, Regions(graph), n))
    ranges.push_back({std::exchange(start, cut), cut});
  ranges.push_back({start, n});
  return ranges;
}

// Cuts after every operator; joining the pieces must give the whole.
std::vector<Sample> Cut(absl::string_view text,
                        const CutOptions& options = {.style = Style::kDag}) {
  const Sample sample = ParseFragment(text);
  absl::StatusOr<std::vector<Sample>> pieces =
      CutRanges(sample, Every(*sample.module->main(), 1), options);
  EXPECT_OK(pieces);
  if (!pieces.ok()) return {};
  StructureOptions validate;
  validate.cut = options;
  EXPECT_OK(ValidateStructure(sample, *pieces, validate).status());
  return *std::move(pieces);
}

std::string Text(const Sample& piece) {
  PrintOptions options;
  options.header = false;
  return PrintModule(*piece.module, options);
}

std::vector<std::string> Inputs(const Sample& piece) {
  std::vector<std::string> names;
  for (const Node* node : piece.module->main()->placeholders()) names.emplace_back(node->name());
  return names;
}

std::vector<std::string> Outputs(const Sample& piece) {
  std::vector<std::string> names;
  for (const Node* node : piece.module->main()->output()->operands())
    names.emplace_back(node->name());
  return names;
}

constexpr absl::string_view kDiamond = R"(
graph @forward(%x, %w, %unused) {
  %a = torch.relu(%x)
  %b = torch.matmul(%a, %w)
  %c = torch.neg(%a)
  %d = operator.add(%b, %c)
  return (%d, %x)
}
)";

TEST(DagTest, PiecesTakeOnlyWhatTheyUse) {
  const std::vector<Sample> pieces = Cut(kDiamond);
  ASSERT_EQ(pieces.size(), 4u);
  EXPECT_THAT(Inputs(pieces[0]), ElementsAre("x", "w", "unused"));
  EXPECT_THAT(Inputs(pieces[1]), ElementsAre("w", "a"));
  EXPECT_THAT(Inputs(pieces[2]), ElementsAre("a"));
  // The last piece takes an input that goes straight to the output.
  EXPECT_THAT(Inputs(pieces[3]), ElementsAre("x", "b", "c"));
  EXPECT_THAT(Outputs(pieces[0]), ElementsAre("a"));
  EXPECT_THAT(Outputs(pieces[1]), ElementsAre("b"));
  EXPECT_THAT(Text(pieces[3]), HasSubstr("return (%d, %x)"));
}

TEST(DagTest, MinimalInputs) {
  const std::vector<Sample> pieces = Cut(kDiamond, {.style = Style::kDag, .all_inputs = false});
  EXPECT_THAT(Inputs(pieces[0]), ElementsAre("x"));
  // The unused input comes from the original.
  const Sample sample = ParseFragment(kDiamond);
  const auto composed = ComposeDag(pieces, sample.module.get());
  ASSERT_OK(composed);
  EXPECT_OK(CheckEqual(*sample.module, **composed, kExact));
}

TEST(DagTest, MinimalInputsOfAChain) {
  const std::vector<Sample> pieces = Cut(kDiamond, {.style = Style::kChain, .all_inputs = false});
  EXPECT_THAT(Inputs(pieces[0]), ElementsAre("x", "w"));
}

TEST(DagTest, GapsAreLeftOut) {
  const Sample sample = ParseFragment(kDiamond);
  const auto pieces =
      CutRanges(sample, {{0, 1}, {2, 3}}, {.style = Style::kDag, .all_inputs = false});
  ASSERT_OK(pieces);
  ASSERT_EQ(pieces->size(), 2u);
  EXPECT_THAT(Outputs((*pieces)[0]), ElementsAre("a"));
  EXPECT_THAT(Inputs((*pieces)[1]), ElementsAre("a"));
  EXPECT_THAT(Outputs((*pieces)[1]), ElementsAre("c"));
  EXPECT_THAT(CutRanges(sample, {{0, 1}, {2, 3}}, {.style = Style::kChain}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "a chain has no gaps: range [2, 3) comes after one that ends at 1"));
}

TEST(DagTest, AWriteHandsOnWhatItChanges) {
  const std::vector<Sample> pieces = Cut(R"(
graph @forward(%x, %v) {
  %a = torch.relu(%x)
  %set = operator.setitem(%a, 0, %v)
  %b = torch.neg(%a)
  %c = torch.abs(%a)
  %d = operator.add(%b, %c)
  return (%d,)
}
)");
  ASSERT_EQ(pieces.size(), 5u);
  // The piece that writes makes no value that is used later.
  EXPECT_THAT(Inputs(pieces[1]), ElementsAre("v", "a"));
  EXPECT_THAT(Outputs(pieces[1]), ElementsAre("a"));
  // After the last write, pieces that read need no order.
  EXPECT_THAT(Outputs(pieces[2]), ElementsAre("b"));
  EXPECT_THAT(Outputs(pieces[3]), ElementsAre("c"));
}

TEST(DagTest, ReadersBeforeAWriteComeBeforeIt) {
  const std::vector<Sample> pieces = Cut(R"(
graph @forward(%x) {
  %a = torch.relu(%x)
  %b = torch.neg(%a)
  %add_ = .add_(%a, 1)
  %c = operator.add(%b, %a)
  return (%c,)
}
)");
  ASSERT_EQ(pieces.size(), 4u);
  // The reader returns the value that it read, so that the writer waits for it.
  EXPECT_THAT(Outputs(pieces[1]), ElementsAre("a", "b"));
  EXPECT_THAT(Inputs(pieces[2]), ElementsAre("a"));
  EXPECT_THAT(Outputs(pieces[2]), ElementsAre("a"));
}

TEST(DagTest, WritesThroughViews) {
  const std::vector<Sample> pieces = Cut(R"(
graph @forward(%x) {
  %a = torch.relu(%x)
  %view = .view(%a, -1)
  %add_ = .add_(%view, 1)
  %b = torch.neg(%a)
  return (%b,)
}
)");
  ASSERT_EQ(pieces.size(), 4u);
  // %a changes through its view, so the piece that writes to the view returns %a, too.
  EXPECT_THAT(Inputs(pieces[2]), ElementsAre("a", "view"));
  EXPECT_THAT(Outputs(pieces[2]), ElementsAre("a"));
}

TEST(DagTest, WritesToInputsAndAttributes) {
  const std::vector<Sample> pieces = Cut(R"(
attribute count : i64[]

graph @forward(%x) {
  %count = get_attr count
  %add_ = .add_(%count, 1)
  %fill_ = .fill_(%x, 0)
  %y = operator.add(%x, %count)
  return (%y,)
}
)");
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_THAT(Outputs(pieces[0]), ElementsAre("count"));
  EXPECT_THAT(Outputs(pieces[1]), ElementsAre("x"));
  EXPECT_THAT(Inputs(pieces[2]), ElementsAre("x", "count"));
}

constexpr absl::string_view kReadTwice = R"(
attribute count : i64[]

graph @forward(%x) {
  %count = get_attr count
  %add_ = .add_(%count, 1)
  %same = get_attr count
  %y = operator.add(%x, %same)
  return (%y,)
}
)";

TEST(DagTest, WhatIsWrittenIsReadOnce) {
  for (const Style style : {Style::kDag, Style::kChain}) {
    const Sample sample = ParseFragment(kReadTwice);
    const auto pieces = CutRanges(sample, {{0, 1}, {1, 2}}, {.style = style});
    ASSERT_OK(pieces);
    EXPECT_NE((*pieces)[0].module->main()->FindNode("same"), nullptr);
    EXPECT_THAT(Inputs((*pieces)[1]), ElementsAre("x", "same"));
    EXPECT_EQ((*pieces)[1].module->FindAttribute("count"), nullptr);
    const auto composed = style == Style::kDag ? ComposeDag(*pieces, sample.module.get())
                                               : ComposeChain(*pieces, sample.module.get());
    ASSERT_OK(composed);
    EXPECT_OK(CheckEqual(*sample.module, **composed, kExact));
  }
  // Behind the write the value differs from the attribute, so the piece takes it as an input.
  const Sample sample = ParseFragment(kReadTwice);
  const auto behind = CutRanges(sample, {{1, 2}}, {.all_inputs = false, .keep_unused = false});
  ASSERT_OK(behind);
  EXPECT_THAT(Inputs((*behind)[0]), ElementsAre("x", "same"));
}

TEST(DagTest, WhatIsNotWrittenIsReadWhereItIsUsed) {
  const Sample sample = ParseFragment(R"(
attribute w : f32[2]
attribute v : f32[2]

graph @forward(%x) {
  %v = get_attr v
  %w = get_attr w
  %a = operator.mul(%x, %w)
  %b = operator.mul(%a, %v)
  %c = operator.mul(%b, %w)
  return (%c, %v)
}
)");
  const std::vector<Sample> pieces = *CutRanges(sample, {{0, 1}, {1, 2}, {2, 3}});
  const auto attributes = [&](size_t i) {
    std::vector<std::string> names;
    for (const Attribute& attribute : pieces[i].module->attributes())
      names.emplace_back(attribute.name);
    return names;
  };
  EXPECT_THAT(attributes(0), ElementsAre("w"));
  EXPECT_THAT(attributes(1), ElementsAre("v"));
  EXPECT_THAT(attributes(2), ElementsAre("w", "v"));
  EXPECT_THAT(Inputs(pieces[2]), ElementsAre("b"));
  const auto composed = ComposeDag(pieces, sample.module.get());
  ASSERT_OK(composed);
  EXPECT_OK(CheckEqual(*sample.module, **composed, kExact));
}

TEST(DagTest, AnUnusedWriteIsKept) {
  const std::vector<Sample> pieces = Cut(R"(
graph @forward(%x) {
  %a = torch.relu(%x)
  %dead = torch.neg(%a)
  %add_ = .add_(%a, 1)
  return (%x,)
}
)");
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_THAT(Outputs(pieces[1]), ElementsAre("a"));
  EXPECT_THAT(Inputs(pieces[2]), ElementsAre("x", "a"));
}

TEST(DagTest, ComposesWithoutTheOriginal) {
  const std::vector<Sample> pieces = Cut(kDiamond);
  const auto composed = ComposeDag(pieces);
  ASSERT_OK(composed);
  EXPECT_OK(CheckEqual(*ParseFragment(kDiamond).module, **composed, kExact));
}

TEST(DagTest, RefusesWhatNobodyReturns) {
  std::vector<Sample> pieces = Cut(kDiamond);
  pieces.erase(pieces.begin() + 1);
  const Sample sample = ParseFragment(kDiamond);
  EXPECT_THAT(
      ComposeDag(pieces, sample.module.get()),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               "piece 2 takes %b, which is neither an input nor returned by an earlier piece"));
}

TEST(DagTest, RandomModules) {
  int refused = 0;
  for (uint64_t seed = 0; seed < 600 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Sample sample = RandomSample(seed);
    const Graph& graph = *sample.module->main();
    std::mt19937_64 random(seed);
    const CutOptions options = {.style = random() % 3 > 0 ? Style::kDag : Style::kChain,
                                .all_inputs = random() % 2 == 0};
    const auto pieces =
        CutRanges(sample, Every(graph, 1 + static_cast<int64_t>(random() % 4)), options);
    // Operators without known effects count as writing to all their operands.
    if (pieces.status().code() == absl::StatusCode::kFailedPrecondition) {
      EXPECT_THAT(std::string(pieces.status().message()), HasSubstr("would both read it"));
      ++refused;
      continue;
    }
    ASSERT_OK(pieces);
    StructureOptions validate;
    validate.cut = options;
    EXPECT_OK(ValidateStructure(sample, *pieces, validate).status()) << PrintModule(*sample.module);
  }
  EXPECT_LT(refused, 200);
}

}  // namespace
}  // namespace graphnet
