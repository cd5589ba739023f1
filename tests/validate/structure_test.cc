#include "graphnet/validate/structure.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "graphnet/decompose/range_decomposer.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/verifier.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/decompose/chain_testing.h"
#include "tests/validate/edit_piece.h"

namespace graphnet {
namespace {

const StructureOptions kAsChain = {.cut = {.style = Style::kChain}};

using testing::HasSubstr;
using testing::Not;

// Ten operators, with an in-place one at a boundary and an unused input.
constexpr absl::string_view kSimpleCnn = R"(
attribute fc2.weight : f32[10, 128]

graph @forward(
  %x : f32[1, 1, 28, 28]@cpu {mean = 0.0, std = 1.0},
  %unused : f32[1]@cpu,
  %w1 : f32[16, 1, 3, 3]@cpu as torch.nn.parameter.Parameter,
  %w2 : f32[32, 16, 3, 3]@cpu as torch.nn.parameter.Parameter,
  %fc1 : f32[128, 1568]@cpu as torch.nn.parameter.Parameter
) {
  %conv1 = torch.conv2d(%x, %w1, None, (1, 1), (1, 1)) : f32[1, 16, 28, 28]@cpu
  %relu1 = torch.nn.functional.relu(%conv1, inplace = True) : f32[1, 16, 28, 28]@cpu
  %pool1 = torch.max_pool2d(%relu1, 2) : f32[1, 16, 14, 14]@cpu
  %conv2 = torch.conv2d(%pool1, %w2, None, (1, 1), (1, 1)) : f32[1, 32, 14, 14]@cpu
  %relu2 = torch.nn.functional.relu(%conv2, inplace = False) : f32[1, 32, 14, 14]@cpu
  %pool2 = torch.max_pool2d(%relu2, 2) : f32[1, 32, 7, 7]@cpu
  %flat = torch.flatten(%pool2, 1) : f32[1, 1568]@cpu
  %linear1 = torch.nn.functional.linear(%flat, %fc1) : f32[1, 128]@cpu
  %weight = get_attr fc2.weight : f32[10, 128]
  %tanh = torch.tanh(%linear1) : f32[1, 128]@cpu
  %linear2 = torch.nn.functional.linear(%tanh, %weight) : f32[1, 10]@cpu
  return (%linear2,)
}
)";

class StructureTest : public testing::Test {
 protected:
  StructureTest() : original_(ParseFragment(kSimpleCnn)) {
    auto pieces = DecomposeChain(original_, {3, 6});
    EXPECT_OK(pieces);
    pieces_ = *std::move(pieces);
  }

  void Edit(size_t piece,
            const std::vector<std::pair<absl::string_view, absl::string_view>>& changes) {
    EditPiece(&pieces_[piece], changes);
  }
  Sample Copy(size_t piece) {
    Sample copy;
    copy.name = pieces_[piece].name;
    copy.module = pieces_[piece].module->Clone();
    copy.provenance = pieces_[piece].provenance;
    return copy;
  }
  // Removes the provenance, which pieces of other tools do not have.
  void DropProvenance() {
    for (Sample& piece : pieces_) piece.provenance.clear();
  }

  ValidationReport Validate() { return ValidateStructure(original_, pieces_, kAsChain); }
  Finding First() {
    const ValidationReport report = Validate();
    return report.ok() ? Finding() : report.findings[0];
  }
  void ExpectFinding(ErrorClass error, int piece, absl::string_view where, absl::string_view text) {
    const ValidationReport report = Validate();
    ASSERT_FALSE(report.ok());
    const Finding& finding = report.findings[0];
    EXPECT_EQ(finding.error, error) << finding.Text();
    EXPECT_EQ(finding.piece, piece) << finding.Text();
    EXPECT_EQ(finding.where, where) << finding.Text();
    EXPECT_EQ(finding.Text(), text);
    EXPECT_THAT(report.status(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                          testing::StartsWith(std::string(text))));
  }

  Sample original_;
  std::vector<Sample> pieces_;
};

TEST_F(StructureTest, RightPieces) {
  const ValidationReport report = Validate();
  EXPECT_OK(report.status());
  EXPECT_EQ(report.Counts(), "original=10 pieces=3+3+4=10");
  EXPECT_EQ(report.original_operators, 10);
  EXPECT_THAT(report.piece_operators, testing::ElementsAre(3, 3, 4));
}

TEST_F(StructureTest, ProvenanceMayBeAbsent) {
  DropProvenance();
  EXPECT_OK(Validate().status());
}

TEST_F(StructureTest, EveryCut) {
  for (int64_t a = 0; a <= 10; ++a) {
    for (int64_t b = a; b <= 10; ++b) {
      const auto pieces = DecomposeChain(original_, {a, b});
      ASSERT_OK(pieces);
      EXPECT_OK(ValidateStructure(original_, *pieces, kAsChain).status());
    }
  }
}

TEST_F(StructureTest, CountsOfManyPiecesAreShort) {
  ValidationReport report;
  report.original_operators = 100;
  report.piece_operators.assign(50, 2);
  EXPECT_EQ(report.Counts(), "original=100 pieces(50)=100");
  report.piece_operators = {100};
  EXPECT_EQ(report.Counts(), "original=100 pieces=100");
}

// --- E1 ------------------------------------------------------------------------

TEST_F(StructureTest, NoPieces) {
  pieces_.clear();
  ExpectFinding(ErrorClass::kLayout, -1, "", "E1 layout: there are no pieces");
}

TEST_F(StructureTest, PieceThatDoesNotVerify) {
  Graph* graph = pieces_[1].module->main();
  graph->MoveBefore(graph->FindNode("relu2"), graph->FindNode("conv2"));
  ExpectFinding(ErrorClass::kLayout, 1, "",
                absl::StrCat("E1 layout: piece 1: ", Verify(*pieces_[1].module).message()));
  pieces_[1].module = nullptr;
  ExpectFinding(ErrorClass::kLayout, 1, "", "E1 layout: piece 1: has no module");
  pieces_[1].module = std::make_unique<Module>();
  EXPECT_EQ(First().error, ErrorClass::kLayout);
}

// --- E2 ------------------------------------------------------------------------

TEST_F(StructureTest, StaleProvenance) {
  pieces_[1].provenance[0].parent_hash = "0123";
  ExpectFinding(ErrorClass::kConfig, 1, "",
                "E2 config: piece 1: was cut from net, but another graph than this one");
  pieces_[1].provenance[0].parent = "other";
  ExpectFinding(ErrorClass::kConfig, 1, "", "E2 config: piece 1: was cut from other, not from net");
}

TEST_F(StructureTest, RangesThatDoNotMakeUpTheGraph) {
  pieces_[1].provenance[0].start = 4;
  ExpectFinding(
      ErrorClass::kConfig, 1, "",
      "E2 config: piece 1: range [4, 6) leaves a gap after what precedes it, which ends at 3 "
      "(%conv2)");
  pieces_[1].provenance[0].start = 2;
  ExpectFinding(
      ErrorClass::kConfig, 1, "",
      "E2 config: piece 1: range [2, 6) overlaps or comes before what precedes it, which ends "
      "at 3 (%conv2)");
  pieces_[1].provenance[0] = pieces_[2].provenance[0];
  pieces_[1].provenance.push_back(pieces_[1].provenance[0]);
  ExpectFinding(ErrorClass::kConfig, 1, "",
                "E2 config: piece 1: does not say which range of the original it is");
}

TEST_F(StructureTest, RangeOfAnotherSize) {
  pieces_[2].provenance[0].end = 9;
  ExpectFinding(ErrorClass::kConfig, 2, "",
                "E2 config: piece 2: range [6, 9) has 3 operators, the piece 4");
  EXPECT_EQ(Validate().findings[1].Text(),
            "E2 config: piece 2: the last range ends at 9 (%linear2), the original at 10");
}

// --- E3 ------------------------------------------------------------------------

TEST_F(StructureTest, DroppedOperator) {
  Edit(1,
       {{"  %relu2 = torch.nn.functional.relu(%conv2, inplace = False) : f32[1, 32, 14, 14]@cpu\n",
         ""},
        {"(%relu2, 2)", "(%conv2, 2)"}});
  EXPECT_EQ(First().Text(), "E2 config: piece 1: range [3, 6) has 3 operators, the piece 2");
  DropProvenance();
  ExpectFinding(ErrorClass::kCount, 1, "relu2",
                "E3 operator count: piece 1: torch.nn.functional.relu (%relu2), operator 4 of the "
                "original, is missing in it or right after it; original=10 pieces=9");
  EXPECT_EQ(Validate().Counts(), "original=10 pieces=3+2+4=9");
}

TEST_F(StructureTest, DroppedOperatorAtABoundary) {
  DropProvenance();
  Edit(0, {{"  %pool1 = torch.max_pool2d(%relu1, 2) : f32[1, 16, 14, 14]@cpu\n", ""},
           {"%pool1", "%relu1"}});
  ExpectFinding(
      ErrorClass::kCount, 0, "pool1",
      "E3 operator count: piece 0: torch.max_pool2d (%pool1), operator 2 of the original, is "
      "missing in it or right after it; original=10 pieces=9");
}

TEST_F(StructureTest, DroppedOperatorWithoutItsName) {
  // The names do not help, so the last operator of the kind is named.
  DropProvenance();
  Edit(1,
       {{"  %relu2 = torch.nn.functional.relu(%conv2, inplace = False) : f32[1, 32, 14, 14]@cpu\n",
         ""},
        {"(%relu2, 2)", "(%conv2, 2)"},
        {"%conv2", "%relu2"}});
  const ValidationReport report = Validate();
  EXPECT_EQ(report.findings[0].error, ErrorClass::kCount);
  EXPECT_EQ(report.findings[0].where, "relu2");
}

TEST_F(StructureTest, SurplusOperator) {
  Edit(2, {{"  %linear1", "  %twice = torch.flatten(%flat, 1)\n  %linear1"}});
  EXPECT_EQ(First().error, ErrorClass::kConfig);
  DropProvenance();
  ExpectFinding(
      ErrorClass::kCount, 2, "twice",
      "E3 operator count: piece 2: torch.flatten (%twice) is one more than the original has; "
      "original=10 pieces=11");
}

TEST_F(StructureTest, DuplicatedOperatorAtABoundary) {
  // Repeat the last operator of piece 0 at the start of piece 1.
  DropProvenance();
  Edit(1, {{"(%pool1, %w2", "(%again, %w2"},
           {"  %conv2", "  %again = torch.max_pool2d(%pool1, 2)\n  %conv2"}});
  ExpectFinding(
      ErrorClass::kCount, 1, "again",
      "E3 operator count: piece 1: torch.max_pool2d (%again) is one more than the original "
      "has; original=10 pieces=11");
}

TEST_F(StructureTest, OtherOperator) {
  DropProvenance();
  Edit(1, {{"torch.nn.functional.relu(%conv2, inplace = False)", "torch.sigmoid(%conv2)"}});
  const ValidationReport report = Validate();
  ASSERT_EQ(report.findings.size(), 2u);
  EXPECT_THAT(report.findings[0].Text(),
              HasSubstr("piece 1: torch.nn.functional.relu (%relu2), operator 4"));
  EXPECT_THAT(report.findings[1].Text(), HasSubstr("piece 1: torch.sigmoid (%relu2) is one more"));
}

TEST_F(StructureTest, MissingPiece) {
  pieces_.erase(pieces_.begin() + 1);
  ExpectFinding(
      ErrorClass::kConfig, 1, "",
      "E2 config: piece 1: range [6, 10) leaves a gap after what precedes it, which ends at 3 "
      "(%conv2)");
  DropProvenance();
  ExpectFinding(ErrorClass::kCount, 0, "conv2",
                "E3 operator count: piece 0: torch.conv2d (%conv2), operator 3 of the original, is "
                "missing in it or right after it; original=10 pieces=7");
}

TEST_F(StructureTest, MissingLastPiece) {
  pieces_.pop_back();
  ExpectFinding(ErrorClass::kConfig, 1, "",
                "E2 config: piece 1: the last range ends at 6 (%flat), the original at 10");
  DropProvenance();
  EXPECT_EQ(First().where, "flat");
}

TEST_F(StructureTest, DuplicatedPiece) {
  pieces_.insert(pieces_.begin() + 1, Copy(1));
  EXPECT_EQ(
      First().Text(),
      "E2 config: piece 2: range [3, 6) overlaps or comes before what precedes it, which ends at 6 "
      "(%flat)");
  DropProvenance();
  ExpectFinding(
      ErrorClass::kCount, 2, "conv2",
      "E3 operator count: piece 2: torch.conv2d (%conv2) is one more than the original has; "
      "original=10 pieces=13");
}

TEST_F(StructureTest, SwappedPieces) {
  std::swap(pieces_[1], pieces_[2]);
  EXPECT_EQ(
      First().Text(),
      "E2 config: piece 1: range [6, 10) leaves a gap after what precedes it, which ends at 3 "
      "(%conv2)");
  DropProvenance();
  ExpectFinding(ErrorClass::kCount, 1, "flat",
                "E3 operator count: piece 1: torch.flatten (%flat) stands where operator 3 of the "
                "original is torch.conv2d (%conv2)");
  // Ports and order show the fault, too.
  const ValidationReport report = Validate();
  std::vector<ErrorClass> errors;
  for (const Finding& finding : report.findings) errors.push_back(finding.error);
  EXPECT_THAT(errors, testing::Contains(ErrorClass::kPort));
  EXPECT_THAT(errors, testing::Contains(ErrorClass::kOrder));
  EXPECT_EQ(report.findings.back().Text(),
            "E5 chain order: piece 1: takes %pool2, which piece 2 computes");
}

TEST_F(StructureTest, WrongBoundary) {
  // Cut one operator too early, and one too late.
  for (const int64_t cut : {2, 4}) {
    auto right = DecomposeChain(original_, {3, 6});
    const auto wrong = DecomposeChain(original_, {cut, 6});
    ASSERT_OK(right);
    ASSERT_OK(wrong);
    pieces_ = *std::move(right);
    pieces_[0].module = (*wrong)[0].module->Clone();
    EXPECT_EQ(First().error, ErrorClass::kConfig);
    DropProvenance();
    const ValidationReport report = Validate();
    EXPECT_EQ(report.findings[0].error, ErrorClass::kCount);
    EXPECT_EQ(report.findings[0].where, cut == 2 ? "pool1" : "conv2");
  }
}

TEST_F(StructureTest, PieceOfAnotherModel) {
  const Sample other =
      ParseFragment("graph @forward(%x) {\n  %a = torch.erf(%x)\n  return (%a,)\n}\n");
  auto others = DecomposeChain(other, {});
  ASSERT_OK(others);
  pieces_[1] = std::move((*others)[0]);
  EXPECT_EQ(First().Text(),
            "E2 config: piece 1: was cut from net, but another graph than this one");
  DropProvenance();
  EXPECT_EQ(First().error, ErrorClass::kCount);
}

TEST_F(StructureTest, FindingsAreLimited) {
  pieces_.erase(pieces_.begin() + 1, pieces_.end());
  DropProvenance();
  Edit(0, {{"return (", "return (%x, %x, %x, "}});
  const ValidationReport report = Validate();
  size_t counts = 0;
  for (const Finding& finding : report.findings) {
    counts += finding.error == ErrorClass::kCount ? 1 : 0;
  }
  EXPECT_EQ(counts, 7u);
  EXPECT_THAT(report.status().message(), HasSubstr("more)"));
}

// --- E4 ------------------------------------------------------------------------

TEST_F(StructureTest, OutputsInAnotherOrder) {
  Edit(0, {{"return (%w2, %fc1, %pool1)", "return (%fc1, %w2, %pool1)"}});
  ExpectFinding(ErrorClass::kPort, 1, "w2",
                "E4 port: piece 1: input 0 (%w2): name is %w2, in piece 0 %fc1");
}

TEST_F(StructureTest, MissingOutput) {
  Edit(0, {{"return (%w2, %fc1, %pool1)", "return (%w2, %pool1)"}});
  ExpectFinding(ErrorClass::kPort, 1, "",
                "E4 port: piece 1: takes 3 values (%fc1), piece 0 returns 2");
}

TEST_F(StructureTest, DroppedUnusedInput) {
  Edit(0, {{"  %unused : f32[1]@cpu,\n", ""}});
  ExpectFinding(ErrorClass::kPort, 0, "",
                "E4 port: piece 0: takes 4 values, the original takes 5 (%unused)");
}

TEST_F(StructureTest, PortOfAnotherDType) {
  Edit(1, {{"%pool1 : f32[1, 16, 14, 14]", "%pool1 : f16[1, 16, 14, 14]"}});
  ExpectFinding(ErrorClass::kPort, 1, "pool1",
                "E4 port: piece 1: input 2 (%pool1): meta is f16[1, 16, 14, 14]@cpu, in piece 0 "
                "f32[1, 16, 14, 14]@cpu");
}

TEST_F(StructureTest, PortOfAnotherShape) {
  Edit(2, {{"%fc1 : f32[128, 1568]", "%fc1 : f32[1568, 128]"}});
  EXPECT_THAT(First().Text(), HasSubstr("piece 2: input 0 (%fc1): meta is f32[1568, 128]"));
}

// If the giver has no meta, as in a folder, a port may write the original's sizes differently, but
// it may not have other sizes whose values are unknown.
TEST_F(StructureTest, UnknownSizesAreNotTheSame) {
  original_ = ParseFragment(R"(
symbol a
symbol b

graph @forward(%x : f32[a, b]@cpu) {
  %h = torch.relu(%x) : f32[a, b]@cpu
  %y = torch.exp(%h) : f32[a, b]@cpu
  return (%y,)
}
)");
  const auto port_is = [this](absl::string_view meta) {
    auto pieces = DecomposeChain(original_, {1});
    EXPECT_OK(pieces);
    pieces_ = *std::move(pieces);
    Edit(0, {{"torch.relu(%x) : f32[a, b]@cpu", "torch.relu(%x)"}});
    Edit(1, {{"%h : f32[a, b]@cpu", meta}});
    std::string text;
    for (const Finding& finding : Validate().findings) absl::StrAppend(&text, finding.Text(), "\n");
    return text;
  };
  EXPECT_THAT(port_is("%h : f32[a, b]"), Not(HasSubstr("E4 port")));
  EXPECT_THAT(port_is("%h : f32[b, a]"), HasSubstr("E4 port: piece 1: input 0 (%h)"));
}

// A piece need not know a size that depends on data, and a port may have the size of one run.
TEST_F(StructureTest, SizesThatDependOnDataMayBeLeftOut) {
  original_ = ParseFragment(R"(
symbol u0

graph @forward(%x : i64[8]@cpu) {
  %h = torch.bincount(%x) : i64[u0]@cpu
  %y = torch.neg(%h) : i64[u0]@cpu
  return (%y,)
}
)");
  const auto port_is = [this](absl::string_view meta, bool giver_knows) {
    auto pieces = DecomposeChain(original_, {1});
    EXPECT_OK(pieces);
    pieces_ = *std::move(pieces);
    if (!giver_knows) Edit(0, {{"torch.bincount(%x) : i64[u0]@cpu", "torch.bincount(%x)"}});
    Edit(1, {{"%h : i64[u0]@cpu", meta}});
    std::string text;
    for (const Finding& finding : Validate().findings) absl::StrAppend(&text, finding.Text(), "\n");
    return text;
  };
  for (const bool giver_knows : {true, false}) {
    EXPECT_THAT(port_is("%h", giver_knows), Not(HasSubstr("E4 port")));
    EXPECT_THAT(port_is("%h : i64[8]", giver_knows), Not(HasSubstr("E4 port")));
    EXPECT_THAT(port_is("%h : i64", giver_knows), Not(HasSubstr("E4 port")));
    EXPECT_THAT(port_is("%h : i64[8, 1]", giver_knows), HasSubstr("E4 port"));
    EXPECT_THAT(port_is("%h : f32[8]", giver_knows), HasSubstr("E4 port"));
  }
}

TEST_F(StructureTest, InputsOfTheOriginalMustStay) {
  Edit(0, {{"std = 1.0", "std = 2.0"}});
  ExpectFinding(ErrorClass::kPort, 0, "x",
                "E4 port: piece 0: input 0 (%x): draw spec is not that of the original's input");
  Edit(1, {{"%w2 : f32[32, 16, 3, 3]@cpu as torch.nn.parameter.Parameter",
            "%w2 : f32[32, 16, 3, 3]@cpu"}});
  EXPECT_EQ(Validate().findings[1].Text(),
            "E4 port: piece 1: input 0 (%w2): annotation is not that of the original's input");
}

TEST_F(StructureTest, OtherResult) {
  Edit(2, {{"return (%linear2,)", "return (%linear1,)"}});
  ExpectFinding(ErrorClass::kPort, 2, "linear1",
                "E4 port: piece 2: output 0 is %linear1, of the original %linear2");
  Edit(2, {{"return (%linear1,)", "return (%linear2, %linear1)"}});
  ExpectFinding(ErrorClass::kPort, 2, "", "E4 port: piece 2: returns 2 values, the original 1");
}

// --- E8 ------------------------------------------------------------------------

TEST_F(StructureTest, ChangedConstant) {
  Edit(1, {{"(%relu2, 2)", "(%relu2, 3)"}});
  ExpectFinding(ErrorClass::kGraph, 1, "pool2",
                "E8 graph: piece 1: %pool2 is '%pool2 = torch.max_pool2d(%relu2, 3) : "
                "f32[1, 32, 7, 7]@cpu', in the original '%pool2 = torch.max_pool2d(%relu2, 2) : "
                "f32[1, 32, 7, 7]@cpu'");
}

TEST_F(StructureTest, ChangedKeyword) {
  Edit(0, {{"inplace = True", "inplace = False"}});
  EXPECT_THAT(First().Text(), HasSubstr("E8 graph: piece 0: %relu1 is "));
}

TEST_F(StructureTest, ChangedMeta) {
  Edit(2, {{"%flat, %fc1) : f32", "%flat, %fc1) : bf16"}});
  EXPECT_EQ(First().where, "linear1");
  EXPECT_EQ(First().piece, 2);
}

TEST_F(StructureTest, ChangedOperand) {
  Edit(1, {{"torch.max_pool2d(%relu2, 2)", "torch.max_pool2d(%conv2, 2)"}});
  EXPECT_EQ(First().where, "pool2");
}

TEST_F(StructureTest, ChangedName) {
  Edit(1, {{"%relu2", "%activation"}});
  ExpectFinding(ErrorClass::kGraph, 1, "activation", First().Text());
  StructureOptions options;
  options.equality.names = false;
  EXPECT_OK(ValidateStructure(original_, pieces_, options).status());
}

TEST_F(StructureTest, ChangedLocation) {
  pieces_[1].module->main()->FindNode("relu2")->set_location({"other.py", 3, 4});
  EXPECT_EQ(First().Text(),
            "E8 graph: piece 1: %relu2: graph forward, node relu2: location differs: :0:0 against "
            "other.py:3:4");
}

TEST_F(StructureTest, ChangedFormOfTheResult) {
  Edit(2, {{"return (%linear2,)", "return %linear2"}});
  EXPECT_THAT(First().Text(), HasSubstr("E8 graph: piece 2: %output is 'return %linear2'"));
}

TEST_F(StructureTest, ChangedAttribute) {
  Edit(2, {{"attribute fc2.weight : f32[10, 128]", "attribute fc2.weight : f32[10, 129]"}});
  ExpectFinding(ErrorClass::kGraph, 2, "fc2.weight",
                "E8 graph: piece 2: attribute fc2.weight is not the original's");
}

TEST_F(StructureTest, ChangedWeights) {
  original_.weights["fc2.weight"] = {
      DType::kFloat32, {2}, std::make_shared<const std::string>("12345678")};
  EXPECT_EQ(Validate().status().message(), "E8 graph: no piece has the weights of fc2.weight");
  auto pieces = DecomposeChain(original_, {3, 6});
  ASSERT_OK(pieces);
  pieces_ = *std::move(pieces);
  EXPECT_OK(Validate().status());
  pieces_[2].weights["fc2.weight"].bytes = std::make_shared<const std::string>("12345679");
  ExpectFinding(
      ErrorClass::kGraph, 2, "fc2.weight",
      "E8 graph: piece 2: the weights of fc2.weight are not the original's: f32[2], by at "
      "most 0.000131");
}

TEST(StructureBodyTest, ChangedBody) {
  const Sample original = ParseFragment(R"(
graph @forward(%x) {
  %a = torch.vmap(@body, %x)
  %b = torch.vmap(@body, %a)
  return %b
}
graph @body(%y) {
  %c = torch.relu(%y)
  return %c
}
)");
  auto pieces = DecomposeChain(original, {1});
  ASSERT_OK(pieces);
  EXPECT_OK(ValidateStructure(original, *pieces, kAsChain).status());
  (*pieces)[1].module->FindGraph("body")->FindNode("c")->set_target("torch.neg");
  EXPECT_EQ(ValidateStructure(original, *pieces, kAsChain).status().message(),
            "E8 graph: piece 1: graph body, node c: target differs: torch.relu against torch.neg");
}

// --- Valid cuts ----------------------------------------------------------------

TEST(StructureEdgeTest, PiecesWithoutOperatorsOrInputs) {
  for (const absl::string_view text :
       {"graph @forward(%x) {\n  return (%x,)\n}\n", "graph @forward(%x, %y) {\n  return ()\n}\n",
        "graph @forward() {\n  %a = torch.zeros(1)\n  %b = torch.zeros(2)\n  return (%b, %b)\n}\n",
        "graph @forward(%x) {\n  %a = torch.max(%x, 0)\n  %b = operator.getitem(%a, 0)\n  "
        "%c = operator.getitem(%a, 1)\n  return (%c, %x, %c)\n}\n"}) {
    const Sample original = ParseFragment(text);
    for (int k = 1; k < 5; ++k) {
      const auto pieces = DecomposeChain(original, EqualCuts(*original.module->main(), k));
      ASSERT_OK(pieces);
      EXPECT_OK(ValidateStructure(original, *pieces, kAsChain).status()) << text;
    }
  }
}

}  // namespace
}  // namespace graphnet
