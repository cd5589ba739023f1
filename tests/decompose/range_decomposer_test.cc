#include "graphnet/decompose/range_decomposer.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "graphnet/base/limits.h"
#include "graphnet/ir/canonical_hash.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/decompose/chain_testing.h"

namespace graphnet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Text(const Sample& piece) {
  PrintOptions options;
  options.header = false;
  return PrintModule(*piece.module, options);
}

// Cuts `text` and returns the pieces, which must verify and compose to it.
std::vector<Sample> Cut(absl::string_view text, const std::vector<int64_t>& cuts) {
  const Sample sample = ParseFragment(text);
  absl::StatusOr<std::vector<Sample>> pieces = DecomposeChain(sample, cuts);
  EXPECT_OK(pieces);
  if (!pieces.ok()) return {};
  ExpectComposesTo(*pieces, sample);
  return *std::move(pieces);
}

TEST(EqualPiecesTest, SizesDifferByAtMostOne) {
  EXPECT_THAT(EqualPieces(10, 4), ElementsAre(Range{0, 3}, Range{3, 6}, Range{6, 8}, Range{8, 10}));
  EXPECT_THAT(EqualPieces(8, 2), ElementsAre(Range{0, 4}, Range{4, 8}));
  EXPECT_THAT(EqualPieces(5, 1), ElementsAre(Range{0, 5}));
}

TEST(EqualPiecesTest, NoMorePiecesThanOperators) {
  EXPECT_THAT(EqualPieces(2, 5), ElementsAre(Range{0, 1}, Range{1, 2}));
  EXPECT_THAT(EqualPieces(0, 3), ElementsAre(Range{0, 0}));
  EXPECT_THAT(EqualPieces(1, 1 << 30), ElementsAre(Range{0, 1}));
  EXPECT_EQ(EqualPieces(int64_t{1} << 62, 3).back().end, int64_t{1} << 62);
}

constexpr absl::string_view kThreeOperators = R"(
graph @forward(%x, %w) {
  %a = torch.matmul(%x, %w)
  %b = operator.add(%a, %x)
  %c = torch.relu(%b)
  return (%c,)
}
)";

TEST(DecomposeChainTest, PassesOnWhatIsUsedLater) {
  const std::vector<Sample> pieces = Cut(kThreeOperators, {1, 2});
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(Text(pieces[0]), R"(graph @forward(%x, %w) {
  %a = torch.matmul(%x, %w)
  return (%x, %a)
}
)");
  EXPECT_EQ(Text(pieces[1]), R"(graph @forward(%x, %a) {
  %b = operator.add(%a, %x)
  return (%b,)
}
)");
  EXPECT_EQ(Text(pieces[2]), R"(graph @forward(%b) {
  %c = torch.relu(%b)
  return (%c,)
}
)");
}

TEST(DecomposeChainTest, PiecesAreSamples) {
  Sample sample = ParseFragment(kThreeOperators);
  sample.name = "net";
  sample.graph_net_json = "{}";
  sample.graph_hash = "abc";
  sample.has_constraints = true;
  sample.constraint_order = {"w", "x"};
  sample.extra_files["notes.txt"] = "about the whole";
  const auto pieces = DecomposeChain(sample, {2});
  ASSERT_OK(pieces);
  ASSERT_EQ(pieces->size(), 2u);
  const Sample& piece = (*pieces)[1];
  EXPECT_EQ(piece.name, "net_subgraph_1");
  ASSERT_EQ(piece.provenance.size(), 1u);
  EXPECT_EQ(piece.provenance[0].parent, "net");
  EXPECT_EQ(piece.provenance[0].parent_hash, CanonicalHash(*sample.module));
  EXPECT_EQ(piece.provenance[0].start, 2);
  EXPECT_EQ(piece.provenance[0].end, 3);
  EXPECT_EQ(piece.graph_net_json, "{}");
  EXPECT_EQ(piece.graph_hash, "");
  EXPECT_TRUE(piece.has_constraints);
  EXPECT_THAT((*pieces)[0].constraint_order, ElementsAre("w", "x"));
  EXPECT_THAT(piece.constraint_order, ElementsAre());
  EXPECT_TRUE(piece.extra_files.empty());
}

TEST(DecomposeChainTest, OnePieceIsTheWhole) {
  const std::vector<Sample> pieces = Cut(kThreeOperators, {});
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(Text(pieces[0]), Text(ParseFragment(kThreeOperators)));
}

TEST(DecomposeChainTest, EmptyRangesVanish) {
  const std::vector<Sample> pieces = Cut(kThreeOperators, {0, 0, 2, 2, 3, 3});
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].provenance[0].end, 2);
  EXPECT_EQ(pieces[1].provenance[0].end, 3);
}

TEST(DecomposeChainTest, GraphWithoutOperatorsIsOnePiece) {
  const std::vector<Sample> pieces = Cut("graph @forward(%x, %y) {\n  return %y\n}\n", {0, 0});
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(Text(pieces[0]), "graph @forward(%x, %y) {\n  return %y\n}\n");
}

TEST(DecomposeChainTest, GraphWithoutInputs) {
  const std::vector<Sample> pieces = Cut(R"(
graph @forward() {
  %a = torch.zeros(2)
  %b = torch.relu(%a)
  return ()
}
)",
                                         {1});
  ASSERT_EQ(pieces.size(), 2u);
}

TEST(DecomposeChainTest, FirstPieceTakesUnusedInputs) {
  const std::vector<Sample> pieces = Cut(R"(
graph @forward(%s0, %x, %unused) {
  %a = torch.relu(%x)
  %b = torch.relu(%a)
  return %b
}
)",
                                         {1});
  EXPECT_THAT(Text(pieces[0]), HasSubstr("graph @forward(%s0, %x, %unused)"));
  EXPECT_THAT(Text(pieces[1]), HasSubstr("graph @forward(%a)"));
}

TEST(DecomposeChainTest, InputStraightToOutputPassesThroughAll) {
  const std::vector<Sample> pieces = Cut(R"(
graph @forward(%x, %y) {
  %a = torch.relu(%x)
  %b = torch.relu(%a)
  %c = torch.relu(%b)
  return (%y, %c)
}
)",
                                         {1, 2});
  EXPECT_EQ(Text(pieces[1]), R"(graph @forward(%y, %a) {
  %b = torch.relu(%a)
  return (%y, %b)
}
)");
}

TEST(DecomposeChainTest, OutputKeepsItsForm) {
  Cut(R"(
graph @forward(%x) {
  %a = torch.relu(%x)
  %b = torch.relu(%a)
  return {"a": [%a, %a, None], "b": (%b, 3)}
}
)",
      {1});
}

TEST(DecomposeChainTest, SameValueReturnedTwiceIsPassedOnce) {
  const std::vector<Sample> pieces = Cut(R"(
graph @forward(%x) {
  %a = torch.relu(%x)
  %b = torch.relu(%x)
  return (%a, %a)
}
)",
                                         {1});
  EXPECT_THAT(Text(pieces[0]), HasSubstr("return (%x, %a)"));
  EXPECT_THAT(Text(pieces[1]), HasSubstr("return (%a, %a)"));
}

TEST(DecomposeChainTest, DeadCodeStays) {
  const std::vector<Sample> pieces = Cut(R"(
graph @forward(%x) {
  %a = torch.relu(%x)
  %dead = torch.neg(%a)
  %b = torch.relu(%a)
  return %b
}
)",
                                         {1, 2});
  EXPECT_EQ(Text(pieces[1]), "graph @forward(%a) {\n  %dead = torch.neg(%a)\n  return (%a,)\n}\n");
}

TEST(DecomposeChainTest, NothingPassedOn) {
  const std::vector<Sample> pieces = Cut(R"(
graph @forward(%x) {
  %a = torch.relu(%x)
  %b = torch.zeros(3)
  return %b
}
)",
                                         {1});
  EXPECT_THAT(Text(pieces[0]), HasSubstr("return ()"));
  EXPECT_THAT(Text(pieces[1]), HasSubstr("graph @forward() {"));
}

TEST(DecomposeChainTest, TuplesDoNotCross) {
  const Sample sample = ParseFragment(R"(
graph @forward(%x) {
  %split = torch.chunk(%x, 2)
  %a = operator.getitem(%split, 0)
  %b = operator.getitem(%split, 1)
  %c = operator.add(%a, %b)
  return %c
}
)");
  EXPECT_THAT(
      DecomposeChain(sample, {2}),
      StatusIs(
          absl::StatusCode::kFailedPrecondition,
          "cut 2 parts the tuple that split (torch.chunk) yields from an operator that takes it; "
          "the next place for it is 3"));
  EXPECT_OK(DecomposeChain(sample, {3}));
  EXPECT_THAT(EqualCuts(*sample.module->main(), 4), ElementsAre(3));
}

TEST(DecomposeChainTest, RefusesASampleWithoutAModule) {
  EXPECT_THAT(DecomposeChain(Sample(), {}),
              StatusIs(absl::StatusCode::kInvalidArgument, "the sample has no module"));
}

TEST(DecomposeChainTest, MutatedValuesAndTheirViewsArePassedOnByIdentity) {
  const std::vector<Sample> pieces = Cut(R"(
graph @forward(%x) {
  %view = .view(%x, -1)
  %add_ = .add_(%x, 1)
  %b = torch.relu(%view)
  return (%b, %x)
}
)",
                                         {1, 2});
  // The result of the mutation is unused, but the values that it changes are passed on.
  EXPECT_THAT(Text(pieces[1]), HasSubstr("return (%x, %view)"));
}

TEST(DecomposeChainTest, PortsKeepKnownFacts) {
  const std::vector<Sample> pieces = Cut(R"(
attribute fc.weight : f32[2, 2] as torch.nn.parameter.Parameter {mean = 0.0, std = 0.1}
attribute unused : f32[3]

graph @forward(%x "L_x_" : f32[2, 2] as torch.Tensor {mean = 0.5, std = 1.0}) {
  %weight = get_attr fc.weight : f32[2, 2]
  %a = .mul_(%weight, %x) : f32[2, 2]
  %b = torch.matmul(%a, %x) : f32[2, 2]
  %c = torch.matmul(%b, %weight) : f32[2, 2]
  return %c
}
)",
                                         {1, 2});
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(Text(pieces[1]), R"(graph @forward(
  %x "L_x_" : f32[2, 2] as torch.Tensor {mean = 0.5, std = 1.0},
  %weight : f32[2, 2] as torch.nn.parameter.Parameter {mean = 0.0, std = 0.1, original_name = fc.weight},
  %a : f32[2, 2]
) {
  %b = torch.matmul(%a, %x) : f32[2, 2]
  return (%weight, %b)
}
)");
  // The first piece reads the attribute, and also keeps the unused one.
  EXPECT_NE(pieces[0].module->FindAttribute("fc.weight"), nullptr);
  EXPECT_NE(pieces[0].module->FindAttribute("unused"), nullptr);
  EXPECT_TRUE(pieces[1].module->attributes().empty());
}

TEST(DecomposeChainTest, TargetsOfPortsAreUnique) {
  // A value has the name of an input's target, and so does the first variant of its name.
  const std::vector<Sample> pieces = Cut(R"(
graph @forward(%x "a", %y "a_1", %a_2) {
  %a = torch.relu(%x)
  %b = operator.add(%x, %y)
  %c = operator.add(%a, %b)
  %d = operator.add(%c, %a)
  return (%d, %a_2, %x, %y)
}
)",
                                         {1, 2, 3});
  const Node* port = pieces[1].module->main()->FindNode("a");
  ASSERT_NE(port, nullptr);
  EXPECT_EQ(port->target(), "a_3");
  EXPECT_EQ(pieces[2].module->main()->FindNode("a")->target(), "a_3");
}

TEST(DecomposeChainTest, BodiesAreCloned) {
  const std::vector<Sample> pieces = Cut(R"(
attribute scale : f32[]

graph @forward(%x) {
  %a = torch.cond(%x, @then, @otherwise, (%x,))
  %b = torch.relu(%a)
  %c = torch.cond(%b, @then, @then, (%b,))
  return %c
}

graph @then(%t) {
  %inner = torch.vmap(@innermost, %t)
  return %inner
}

graph @innermost(%i) {
  %scale = get_attr scale
  %m = operator.mul(%i, %scale)
  return %m
}

graph @otherwise(%o) {
  return %o
}
)",
                                         {1, 2});
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[0].module->graphs().size(), 4u);
  EXPECT_EQ(pieces[1].module->graphs().size(), 1u);
  EXPECT_EQ(pieces[2].module->graphs().size(), 3u);
  EXPECT_NE(pieces[2].module->FindAttribute("scale"), nullptr);
  EXPECT_EQ(pieces[1].module->FindAttribute("scale"), nullptr);
}

TEST(DecomposeChainTest, BodiesMayNestDeep) {
  Sample sample;
  sample.name = "deep";
  sample.module = std::make_unique<Module>();
  std::vector<Graph*> graphs;
  for (int i = 0; i <= kMaxNesting; ++i) graphs.push_back(sample.module->AddGraph("g"));
  for (size_t i = 0; i < graphs.size(); ++i) {
    Node* x = graphs[i]->Placeholder("x");
    if (i + 1 < graphs.size()) x = graphs[i]->CallFunction("torch.vmap", {graphs[i + 1], x});
    graphs[i]->Output(graphs[i]->CallFunction("torch.relu", {x}));
  }
  const auto pieces = DecomposeChain(sample, {1});
  ASSERT_OK(pieces);
  ExpectComposesTo(*pieces, sample);
}

TEST(DecomposeChainTest, SymbolsAndRelationsGoWhereTheyAreUsed) {
  const std::vector<Sample> pieces = Cut(R"(
symbol s0 = 4
symbol s1 = 3
symbol s2 = 2
symbol s3
symbol s4 = 9
relation s0 > 1
relation s1 == s2
relation s4 != 3
relation 1 < 2

graph @forward(%x : f32[s0], %y) {
  %a = torch.relu(%x) : f32[s0]
  %b = .view(%y, sym(s1 * 2))
  %c = torch.relu(%b)
  return (%c, %a)
}
)",
                                         {1, 2});
  const auto symbols = [&](size_t i) {
    std::vector<std::string> names;
    for (const Symbol& symbol : pieces[i].module->symbols()) names.emplace_back(symbol.name);
    return names;
  };
  // The first piece also has the symbols that nothing uses.
  EXPECT_THAT(symbols(0), ElementsAre("s0", "s3", "s4"));
  EXPECT_THAT(symbols(1), ElementsAre("s0", "s1", "s2"));
  EXPECT_THAT(symbols(2), ElementsAre("s0"));
  EXPECT_EQ(pieces[0].module->relations().size(), 3u);
  EXPECT_EQ(pieces[1].module->relations().size(), 2u);
  EXPECT_EQ(pieces[2].module->relations().size(), 1u);
}

TEST(DecomposeChainTest, SymbolsOfUnusedAttributes) {
  const std::vector<Sample> pieces = Cut(R"(
symbol s0 = 4
symbol s1 = 4
relation s0 <= s1
attribute unused : f32[s0]

graph @forward(%x) {
  %a = torch.relu(%x)
  %b = torch.relu(%a) : f32[s1]
  return %b
}
)",
                                         {1});
  EXPECT_EQ(pieces[0].module->relations().size(), 1u);
}

TEST(DecomposeChainTest, WeightsGoAlong) {
  Sample sample = ParseFragment(R"(
attribute w : f32[1]
attribute v : f32[1]

graph @forward(%x, %p) {
  %w = get_attr w
  %a = operator.mul(%x, %w)
  %v = get_attr v
  %b = operator.mul(%a, %v)
  %c = operator.mul(%b, %p)
  return %c
}
)");
  const auto bytes = std::make_shared<const std::string>("abcd");
  for (const char* name : {"w", "v", "p", "elsewhere"}) {
    sample.weights[name] = {DType::kFloat32, {1}, bytes};
  }
  const auto pieces = DecomposeChain(sample, {1, 2});
  ASSERT_OK(pieces);
  const auto names = [&](size_t i) {
    std::vector<std::string> out;
    for (const auto& [name, data] : (*pieces)[i].weights) out.push_back(name);
    return out;
  };
  EXPECT_THAT(names(0), ElementsAre("elsewhere", "p", "w"));
  EXPECT_THAT(names(1), ElementsAre("p", "v"));
  EXPECT_THAT(names(2), ElementsAre("p"));
  EXPECT_EQ((*pieces)[1].weights.at("v").bytes, bytes);
}

TEST(DecomposeChainTest, RefusesBadCuts) {
  const Sample sample = ParseFragment(kThreeOperators);
  EXPECT_THAT(DecomposeChain(sample, {2, 1}),
              StatusIs(absl::StatusCode::kInvalidArgument, "cuts must rise: 1 comes after 2"));
  EXPECT_THAT(DecomposeChain(sample, {4}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "cut 4 is not between 0 and 3, the number of operators"));
  EXPECT_THAT(DecomposeChain(sample, {-1}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(DecomposeChain(Sample(), {}), StatusIs(absl::StatusCode::kInvalidArgument));
  Sample empty;
  empty.module = std::make_unique<Module>();
  EXPECT_THAT(DecomposeChain(empty, {}), StatusIs(absl::StatusCode::kInvalidArgument));
}

constexpr absl::string_view kAutocast = R"(
graph @forward(%x) {
  %a = torch.relu(%x)
  %enter = torch.amp.autocast_mode._enter_autocast("cuda", None, False, None)
  %b = torch.relu(%a)
  %c = torch.relu(%b)
  %exit = torch.amp.autocast_mode._exit_autocast(%enter)
  %d = torch.relu(%c)
  return %d
}
)";

TEST(DecomposeChainTest, RefusesCutsThroughRegions) {
  const Sample sample = ParseFragment(kAutocast);
  EXPECT_THAT(
      DecomposeChain(sample, {3}),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               "cut 3 goes through the region that enter "
               "(torch.amp.autocast_mode._enter_autocast) opens; the next place for it is 5"));
  EXPECT_OK(DecomposeChain(sample, {1, 5}));
}

TEST(EqualCutsTest, MovesCutsOutOfRegions) {
  const Sample sample = ParseFragment(kAutocast);
  const Graph& graph = *sample.module->main();
  EXPECT_THAT(EqualCuts(graph, 2), ElementsAre(5));
  EXPECT_THAT(EqualCuts(graph, 6), ElementsAre(1, 5));
  EXPECT_THAT(EqualCuts(graph, 1), ElementsAre());
  for (int k = 1; k < 10; ++k) EXPECT_OK(DecomposeChain(sample, EqualCuts(graph, k)));
}

TEST(EqualCutsTest, OneOperatorAPiece) {
  const Sample sample = ParseFragment(kThreeOperators);
  EXPECT_THAT(EqualCuts(*sample.module->main(), 3), ElementsAre(1, 2));
  EXPECT_THAT(EqualCuts(*sample.module->main(), 100), ElementsAre(1, 2));
}

}  // namespace
}  // namespace graphnet
