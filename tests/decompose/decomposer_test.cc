#include "graphnet/decompose/decomposer.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "graphnet/ir/canonical_hash.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/validate/structure.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/decompose/chain_testing.h"

namespace graphnet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A graph of two layers of five operators each, a tuple, and a head.
constexpr absl::string_view kNet = R"(
graph @forward(
  %x : f32[4],
  %w "L_self_modules_head_parameters_weight_" : f32[4, 4],
  %w0 "L_self_modules_layers_modules_0_parameters_weight_" : f32[4, 4],
  %w1 "L_self_modules_layers_modules_1_parameters_weight_" : f32[4, 4]
) {
  %stem = torch.nn.functional.linear(%x, %w) : f32[4]
  %a0 = torch.nn.functional.linear(%stem, %w0) : f32[4]
  %s0 = torch.chunk(%a0, 2) : (f32[2], f32[2])
  %b0 = operator.getitem(%s0, 0) : f32[2]
  %c0 = operator.getitem(%s0, 1) : f32[2]
  %d0 = torch.cat((%c0, %b0)) : f32[4]
  %a1 = torch.nn.functional.linear(%d0, %w1) : f32[4]
  %s1 = torch.chunk(%a1, 2) : (f32[2], f32[2])
  %b1 = operator.getitem(%s1, 0) : f32[2]
  %c1 = operator.getitem(%s1, 1) : f32[2]
  %d1 = torch.cat((%c1, %b1)) : f32[4]
  %last = torch.neg(%d1) : f32[4]
  return (%last,)
}
)";

class DecomposerTest : public testing::TestWithParam<Style> {
 protected:
  DecomposerTest() : sample_(ParseFragment(kNet)) { config_.cut.style = GetParam(); }

  // Decomposes and returns the ranges. If they cover the graph, joining the pieces must give it.
  std::vector<Range> Run() {
    absl::StatusOr<Decomposition> made = Decompose(sample_, config_);
    EXPECT_OK(made);
    if (!made.ok()) return {};
    made_ = *std::move(made);
    std::vector<Range> ranges;
    int64_t operators = 0;
    for (const SubgraphConfig& piece : made_.config.subgraphs) {
      ranges.push_back(piece.range);
      operators += piece.range.end - piece.range.start;
    }
    if (operators == made_.config.num_ops) {
      EXPECT_OK(ValidateStructure(sample_, made_.pieces, {.cut = config_.cut}).status());
    }
    ExpectReplays();
    return ranges;
  }

  // Expects that the configuration, written and read back, gives the same decomposition.
  void ExpectReplays() const {
    const auto config =
        ParseDecomposeConfigJson(WriteDecomposeConfigJson(made_.config).value(), "c.json");
    ASSERT_OK(config);
    const absl::StatusOr<Decomposition> again = Decompose(sample_, *config);
    ASSERT_OK(again);
    EXPECT_TRUE(again->config == made_.config);
    ASSERT_EQ(again->pieces.size(), made_.pieces.size());
    for (size_t i = 0; i < made_.pieces.size(); ++i) {
      EXPECT_EQ(PrintSample(again->pieces[i]), PrintSample(made_.pieces[i]));
    }
  }

  Sample sample_;
  DecomposeConfig config_;
  Decomposition made_;
};

INSTANTIATE_TEST_SUITE_P(Styles, DecomposerTest, testing::Values(Style::kChain, Style::kDag));

TEST_P(DecomposerTest, Positions) {
  config_.mode = DecomposeMode::kPositions;
  config_.split_positions = {1, 6};
  EXPECT_THAT(Run(), ElementsAre(Range{0, 1}, Range{1, 6}, Range{6, 12}));
  config_.group_head_and_tail = false;
  EXPECT_THAT(Run(), ElementsAre(Range{1, 6}));
  config_.split_positions = {6};
  EXPECT_THAT(Decompose(sample_, config_).status(), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_P(DecomposerTest, RefusesPositionsThatDoNotFit) {
  config_.mode = DecomposeMode::kPositions;
  const auto refusal = [&](std::vector<int64_t> positions) {
    config_.split_positions = std::move(positions);
    return std::string(Decompose(sample_, config_).status().message());
  };
  EXPECT_EQ(refusal({8, 4}), "cuts must rise: 4 comes after 8");
  EXPECT_EQ(refusal({13}), "cut 13 is not between 0 and 12, the number of operators");
  EXPECT_THAT(refusal({4}), HasSubstr("cut 4 parts the tuple that s0 (torch.chunk) yields"));
}

TEST_P(DecomposerTest, Ranges) {
  config_.mode = DecomposeMode::kRanges;
  config_.subgraph_ranges = {{1, 2}, {2, 6}};
  EXPECT_THAT(Run(), ElementsAre(Range{0, 1}, Range{1, 2}, Range{2, 6}, Range{6, 12}));
  config_.group_head_and_tail = false;
  EXPECT_THAT(Run(), ElementsAre(Range{1, 2}, Range{2, 6}));
}

TEST_P(DecomposerTest, Sizes) {
  config_.mode = DecomposeMode::kFixedSize;
  config_.number = 6;
  EXPECT_THAT(Run(), ElementsAre(Range{0, 6}, Range{6, 12}));
  EXPECT_THAT(made_.notes, IsEmpty());
  config_.mode = DecomposeMode::kSingleOp;
  config_.number = 0;
  EXPECT_THAT(Run(), ElementsAre(Range{0, 1}, Range{1, 2}, Range{2, 5}, Range{5, 6}, Range{6, 7},
                                 Range{7, 10}, Range{10, 11}, Range{11, 12}));
  ASSERT_EQ(made_.notes.size(), 1u);
  EXPECT_THAT(made_.notes[0], HasSubstr("4 fewer cuts than asked for"));
}

TEST_P(DecomposerTest, EqualPiecesAndBalanced) {
  config_.mode = DecomposeMode::kEqual;
  config_.number = 2;
  EXPECT_THAT(Run(), ElementsAre(Range{0, 6}, Range{6, 12}));
  config_.number = 100;
  EXPECT_EQ(Run().size(), 8u);
  EXPECT_THAT(made_.notes, testing::SizeIs(2));
  config_.mode = DecomposeMode::kBalanced;
  config_.number = 3;
  EXPECT_EQ(Run().size(), 3u);
}

TEST_P(DecomposerTest, Blocks) {
  config_.mode = DecomposeMode::kBlocks;
  EXPECT_THAT(Run(), ElementsAre(Range{0, 1}, Range{1, 6}, Range{6, 11}, Range{11, 12}));
  EXPECT_THAT(made_.notes,
              ElementsAre("a block of 5 operators occurs 2 times, first at operator 1"));
}

TEST_P(DecomposerTest, ModulePath) {
  config_.mode = DecomposeMode::kModulePath;
  config_.number = 1;
  EXPECT_THAT(Run(), ElementsAre(Range{0, 1}, Range{1, 12}));
  config_.number = 2;
  EXPECT_THAT(Run(), ElementsAre(Range{0, 1}, Range{1, 6}, Range{6, 12}));
}

TEST_P(DecomposerTest, Values) {
  config_.mode = DecomposeMode::kValues;
  config_.values = {{{"stem"}, {"d0"}}};
  EXPECT_THAT(Run(), ElementsAre(Range{0, 1}, Range{1, 6}, Range{6, 12}));
  config_.group_head_and_tail = false;
  EXPECT_THAT(Run(), ElementsAre(Range{1, 6}));
}

TEST_P(DecomposerTest, RecordsWhatCameOfIt) {
  config_.mode = DecomposeMode::kPositions;
  config_.split_positions = {6};
  Run();
  EXPECT_EQ(made_.config.model_name, "net");
  EXPECT_EQ(made_.config.parent_hash, CanonicalHash(*sample_.module));
  EXPECT_EQ(made_.config.num_ops, 12);
  EXPECT_EQ(made_.config.subgraphs[1].name, "subgraph_1");
  PortNames ports(made_.config);
  ports.Next();
  ports.Next();
  EXPECT_THAT(ports.inputs(), ElementsAre("w1", "d0"));
  EXPECT_THAT(ports.outputs(), ElementsAre("last"));
  // The weight is an input of the graph, so only %d0 goes between pieces.
  EXPECT_THAT(PieceTraffic(*sample_.module, made_.pieces),
              ElementsAre(Traffic{0, 0}, Traffic{16, 0}));
}

TEST_P(DecomposerTest, RefusesTheRecordOfAnotherGraph) {
  config_.mode = DecomposeMode::kPositions;
  config_.split_positions = {6};
  Run();
  const DecomposeConfig record = made_.config;
  const auto refusal = [&](auto&& change) {
    DecomposeConfig changed = record;
    change(&changed);
    return std::string(Decompose(sample_, changed).status().message());
  };
  EXPECT_EQ(
      refusal([](DecomposeConfig* c) { c->parent_hash[0] = c->parent_hash[0] == 'a' ? 'b' : 'a'; }),
      "the configuration belongs to another graph: net");
  EXPECT_EQ(refusal([](DecomposeConfig* c) { c->num_ops = 13; }),
            "the configuration belongs to another graph: net");
  EXPECT_THAT(refusal([](DecomposeConfig* c) {
                c->subgraphs[1].outputs = {"d0", "w1"};
              }),
              HasSubstr("mismatch of the outputs of subgraph_1"));
  EXPECT_THAT(refusal([](DecomposeConfig* c) { c->model_name = "other"; }),
              HasSubstr("mismatch of the name of the model"));
  EXPECT_THAT(refusal([](DecomposeConfig* c) { c->subgraphs[0].range.end = 4; }),
              HasSubstr("parts the tuple"));
}

TEST(DecomposerEdgeTest, GraphsWithFewOperators) {
  for (const char* text : {"graph @forward(%x) {\n  return %x\n}\n",
                           "graph @forward(%x) {\n  %a = torch.relu(%x)\n  return %a\n}\n"}) {
    const Sample sample = ParseFragment(text);
    for (const DecomposeMode mode :
         {DecomposeMode::kSingleOp, DecomposeMode::kEqual, DecomposeMode::kFixedSize,
          DecomposeMode::kBalanced, DecomposeMode::kBlocks}) {
      for (const Style style : {Style::kChain, Style::kDag}) {
        DecomposeConfig config;
        config.mode = mode;
        config.cut.style = style;
        config.number = mode == DecomposeMode::kSingleOp || mode == DecomposeMode::kBlocks ? 0 : 3;
        const absl::StatusOr<Decomposition> made = Decompose(sample, config);
        ASSERT_OK(made) << DecomposeModeName(mode);
        EXPECT_EQ(made->pieces.size(), 1u);
        EXPECT_OK(ValidateStructure(sample, made->pieces, {.cut = config.cut}).status());
      }
    }
  }
}

TEST(DecomposerEdgeTest, RefusesWhatIsNoSample) {
  DecomposeConfig config;
  config.mode = DecomposeMode::kBlocks;
  EXPECT_THAT(Decompose(Sample(), config).status(), StatusIs(absl::StatusCode::kInvalidArgument));
  const Sample sample = ParseFragment(kNet);
  config.mode = DecomposeMode::kEqual;  // config.number is missing.
  EXPECT_THAT(Decompose(sample, config).status(), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace graphnet
