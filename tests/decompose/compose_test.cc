#include "graphnet/decompose/compose.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "graphnet/ir/text/printer.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/decompose/chain_testing.h"

namespace graphnet {
namespace {

std::vector<Sample> Pieces(const std::vector<absl::string_view>& texts) {
  std::vector<Sample> pieces;
  for (const absl::string_view text : texts) pieces.push_back(ParseFragment(text));
  return pieces;
}

std::string Compose(const std::vector<Sample>& pieces) {
  const absl::StatusOr<std::unique_ptr<Module>> composed = ComposeChain(pieces);
  EXPECT_OK(composed);
  if (!composed.ok()) return "";
  EXPECT_OK(Verify(**composed));
  PrintOptions options;
  options.header = false;
  return PrintModule(**composed, options);
}

void ExpectRefused(const std::vector<absl::string_view>& texts, absl::string_view message) {
  EXPECT_THAT(ComposeChain(Pieces(texts)), StatusIs(absl::StatusCode::kFailedPrecondition,
                                                    testing::HasSubstr(std::string(message))));
}

TEST(ComposeChainTest, PortsMeetByPosition) {
  EXPECT_EQ(
      Compose(Pieces({"graph @f(%x) {\n  %a = torch.relu(%x)\n  return (%x, %a, %a)\n}\n",
                      "graph @g(%p, %q, %r) {\n  %b = torch.cat([%q, %r, %p])\n  return (%b,)\n}\n",
                      "graph @h(%z) {\n  %c = torch.neg(%z)\n  return {\"c\": %c}\n}\n"})),
      R"(graph @f(%x) {
  %a = torch.relu(%x)
  %b = torch.cat([%a, %a, %x])
  %c = torch.neg(%b)
  return {"c": %c}
}
)");
}

TEST(ComposeChainTest, TakenNamesGetASuffix) {
  EXPECT_EQ(Compose(Pieces({"graph @f(%x) {\n  %a = torch.relu(%x)\n  return (%a,)\n}\n",
                            "graph @f(%x) {\n  %a = torch.relu(%x)\n  return %a\n}\n"})),
            "graph @f(%x) {\n  %a = torch.relu(%x)\n  %a_1 = torch.relu(%a)\n  return %a_1\n}\n");
}

TEST(ComposeChainTest, BodiesOfOneNameAreOne) {
  const absl::string_view body =
      "graph @f(%x) {\n  %a = torch.vmap(@body, %x)\n  return (%a,)\n}\n"
      "graph @body(%y) {\n  %b = torch.vmap(@inner, %y)\n  return %b\n}\n"
      "graph @inner(%y) {\n  %c = torch.relu(%y)\n  return %c\n}\n";
  const absl::StatusOr<std::unique_ptr<Module>> composed = ComposeChain(Pieces({body, body, body}));
  ASSERT_OK(composed);
  EXPECT_OK(Verify(**composed));
  EXPECT_EQ((*composed)->graphs().size(), 3u);
  EXPECT_EQ((*composed)->main()->num_nodes(), 5u);
}

TEST(ComposeChainTest, ABodyMayBecomeSharedLater) {
  const absl::StatusOr<std::unique_ptr<Module>> composed = ComposeChain(Pieces({
      "graph @f(%x) {\n  %a = torch.vmap(@inner, %x)\n  return (%a,)\n}\n"
      "graph @inner(%y) {\n  %c = torch.relu(%y)\n  return %c\n}\n",
      "graph @f(%x) {\n  %a = torch.vmap(@body, %x)\n  return (%a,)\n}\n"
      "graph @body(%y) {\n  %b = torch.vmap(@inner, %y)\n  return %b\n}\n"
      "graph @inner(%y) {\n  %c = torch.relu(%y)\n  return %c\n}\n",
  }));
  ASSERT_OK(composed);
  EXPECT_OK(Verify(**composed));
  EXPECT_EQ((*composed)->graphs().size(), 3u);
}

TEST(ComposeChainTest, BodiesThatDiffer) {
  ExpectRefused({"graph @f(%x) {\n  %a = torch.vmap(@body, %x)\n  return (%a,)\n}\n"
                 "graph @body(%y) {\n  %b = torch.relu(%y)\n  return %b\n}\n",
                 "graph @f(%x) {\n  %a = torch.vmap(@body, %x)\n  return (%a,)\n}\n"
                 "graph @body(%y) {\n  %b = torch.neg(%y)\n  return %b\n}\n"},
                "piece 1 declares a body differently from a piece before it: graph body, node b");
}

TEST(ComposeChainTest, TablesAreMerged) {
  const std::vector<Sample> pieces = Pieces({
      "symbol s1 = 2\nrelation s1 > 0\nrelation s1 > 0\nattribute w : f32[2]\n"
      "graph @f(%x : f32[s1]) {\n  %w = get_attr w\n  return (%x, %w)\n}\n",
      "symbol s0 = 1\nsymbol s1 = 2\nrelation s1 > 0\nattribute v : f32[3]\nattribute w : f32[2]\n"
      "graph @f(%x : f32[s1], %w) {\n  %v = get_attr v : f32[s0]\n  return (%x, %w, %v)\n}\n",
  });
  const absl::StatusOr<std::unique_ptr<Module>> composed = ComposeChain(pieces);
  ASSERT_OK(composed);
  ASSERT_EQ((*composed)->symbols().size(), 2u);
  EXPECT_EQ((*composed)->symbols()[0].name, "s1");
  EXPECT_EQ((*composed)->relations().size(), 2u);
  EXPECT_EQ((*composed)->attributes()[0].name, "w");

  const Sample like =
      ParseFragment("symbol s0 = 1\nattribute u\nattribute v\ngraph @f(%x) {\n  return %x\n}\n");
  const absl::StatusOr<std::unique_ptr<Module>> ordered = ComposeChain(pieces, like.module.get());
  ASSERT_OK(ordered);
  EXPECT_EQ((*ordered)->symbols()[0].name, "s0");
  ASSERT_EQ((*ordered)->attributes().size(), 2u);
  EXPECT_EQ((*ordered)->attributes()[0].name, "v");
}

TEST(ComposeChainTest, TablesThatDiffer) {
  ExpectRefused({"symbol s0 = 1\ngraph @f(%x : f32[s0]) {\n  return (%x,)\n}\n",
                 "symbol s0 = 2\ngraph @f(%x : f32[s0]) {\n  return (%x,)\n}\n"},
                "piece 1 declares symbol s0 differently");
  ExpectRefused({"attribute w : f32[2]\ngraph @f() {\n  %w = get_attr w\n  return (%w,)\n}\n",
                 "attribute w : f32[3]\ngraph @f(%x) {\n  %w = get_attr w\n  return (%w,)\n}\n"},
                "piece 1 declares attribute w differently");
}

TEST(ComposeChainTest, PiecesThatDoNotFit) {
  const absl::string_view identity = "graph @f(%x) {\n  return (%x,)\n}\n";
  ExpectRefused({identity, "graph @f(%x, %y) {\n  return (%x,)\n}\n"},
                "piece 1 takes 2 values, piece 0 returns 1");
  ExpectRefused({identity, "graph @f(%x) {\n  return %x\n}\n", identity},
                "piece 1 does not return a tuple");
  ExpectRefused({"graph @f(%x) {\n  return (%x, (%x,))\n}\n", identity},
                "piece 0 returns something other than a value at position 1");
}

TEST(ComposeChainTest, WithoutPieces) {
  EXPECT_THAT(ComposeChain({}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ComposeChain(std::vector<Sample>(1)), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace graphnet
