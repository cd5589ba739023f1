// Tests the structural validator on pieces that join by the names of values.

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "graphnet/decompose/range_decomposer.h"
#include "graphnet/validate/structure.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/decompose/chain_testing.h"
#include "tests/validate/edit_piece.h"

namespace graphnet {
namespace {

constexpr absl::string_view kNet = R"(
graph @forward(%x : f32[2], %unused : f32[1], %w : f32[2]) {
  %a = operator.mul(%x, %w) : f32[2]
  %b = torch.neg(%a) : f32[2]
  %add_ = .add_(%a, 1) : f32[2]
  %c = operator.add(%a, %b) : f32[2]
  return (%c, %w)
}
)";

class DagStructureTest : public testing::Test {
 protected:
  DagStructureTest() : original_(ParseFragment(kNet)) {
    options_.cut.style = Style::kDag;
    auto pieces = CutRanges(original_, {{0, 1}, {1, 2}, {2, 3}, {3, 4}}, options_.cut);
    EXPECT_OK(pieces);
    pieces_ = *std::move(pieces);
  }

  void Edit(size_t piece,
            const std::vector<std::pair<absl::string_view, absl::string_view>>& changes) {
    EditPiece(&pieces_[piece], changes);
  }
  // Returns the first finding.
  std::string First() const {
    const ValidationReport report = ValidateStructure(original_, pieces_, options_);
    return report.ok() ? "valid" : report.findings[0].Text();
  }

  Sample original_;
  std::vector<Sample> pieces_;
  StructureOptions options_;
};

TEST_F(DagStructureTest, RightPieces) { EXPECT_EQ(First(), "valid"); }

TEST_F(DagStructureTest, InputThatNoPieceReturns) {
  Edit(1, {{"return (%a, %b)", "return (%a,)"}});
  EXPECT_EQ(
      First(),
      "E4 port: piece 3: takes %b, which neither the original takes nor a piece before it returns");
}

TEST_F(DagStructureTest, OutputThatNoPieceTakes) {
  Edit(2, {{"return (%a,)", "return (%a, %add_)"}});
  EXPECT_EQ(First(), "E4 port: piece 2: returns %add_, which no later piece takes");
}

TEST_F(DagStructureTest, WriteToAnotherValue) {
  Edit(2,
       {{"%a : f32[2]", "%x : f32[2]"}, {"(%a, 1)", "(%x, 1)"}, {"return (%a,)", "return (%x,)"}});
  EXPECT_EQ(First(), "E4 port: piece 2: returns %x, which no later piece takes");
}

TEST_F(DagStructureTest, DroppedUnusedInput) {
  Edit(0, {{"  %unused : f32[1],\n", ""}});
  EXPECT_EQ(First(), "E4 port: piece 0: does not take %unused, an input of the original");
  options_.cut.all_inputs = false;
  EXPECT_EQ(First(), "valid");
}

TEST_F(DagStructureTest, PortOfAnotherShape) {
  Edit(3, {{"%b : f32[2]", "%b : f32[3]"}});
  EXPECT_EQ(First(), "E4 port: piece 3: input 2 (%b): meta is f32[3], in piece 1 f32[2]");
}

TEST_F(DagStructureTest, InputOfTheOriginalOfAnotherShape) {
  Edit(3, {{"%w : f32[2]", "%w : f64[2]"}});
  EXPECT_EQ(First(), "E4 port: piece 3: input 0 (%w): meta is f64[2], in the original f32[2]");
}

TEST_F(DagStructureTest, SwappedPieces) {
  std::swap(pieces_[1], pieces_[2]);
  EXPECT_EQ(
      First(),
      "E2 config: piece 1: range [2, 3) leaves a gap after what precedes it, which ends at 1 (%b)");
  for (Sample& piece : pieces_) piece.provenance.clear();
  EXPECT_EQ(First(),
            "E3 operator count: piece 1: add_ (%add_) stands where operator 1 of the original is "
            "torch.neg (%b)");
}

TEST_F(DagStructureTest, MissingPiece) {
  pieces_.erase(pieces_.begin() + 1);
  for (Sample& piece : pieces_) piece.provenance.clear();
  EXPECT_THAT(
      First(),
      testing::StartsWith("E3 operator count: piece 0: torch.neg (%b), operator 1 of the original, "
                          "is missing"));
}

TEST_F(DagStructureTest, ChangedConstantAndOperand) {
  Edit(2, {{"(%a, 1)", "(%a, 2)"}});
  EXPECT_THAT(First(), testing::StartsWith("E8 graph: piece 2: %add_ is "));
}

TEST_F(DagStructureTest, OtherResult) {
  Edit(3, {{"return (%c, %w)", "return (%w, %c)"}});
  EXPECT_EQ(First(), "E4 port: piece 3: output 0 is %w, of the original %c");
}

}  // namespace
}  // namespace graphnet
