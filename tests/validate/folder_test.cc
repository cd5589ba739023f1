#include "graphnet/validate/folder.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "graphnet/base/file.h"
#include "graphnet/decompose/decomposer.h"
#include "graphnet/decompose/folder.h"
#include "graphnet/formats/graphnet_folder/writer.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/decompose/chain_testing.h"
#include "tests/validate/cnn_testing.h"

namespace graphnet {
namespace {

using testing::HasSubstr;

class ValidateFolderTest : public testing::Test {
 protected:
  ValidateFolderTest() : folder_(JoinPath(testing::TempDir(), "pieces")) {
    std::filesystem::remove_all(folder_);
  }

  static Sample Cnn() {
    Sample sample = ParseFragment(kCnn);
    sample.name = "simple_CNN";
    return sample;
  }
  // Writes pieces without a configuration, as another tool would.
  void WriteForeign(const std::vector<std::string>& pieces, const std::string& stem = "subgraph_") {
    std::filesystem::create_directories(folder_);
    for (size_t i = 0; i < pieces.size(); ++i) {
      EXPECT_OK(
          WriteGraphNetFolder(ParseFragment(pieces[i]), JoinPath(folder_, absl::StrCat(stem, i))));
    }
  }
  void Write(const DecomposeConfig& config, const DecompositionFolderOptions& options = {}) {
    const auto made = Decompose(Cnn(), config);
    ASSERT_OK(made);
    ASSERT_OK(WriteDecomposition(*made, folder_, options));
  }
  static DecomposeConfig Ranges(std::vector<Range> ranges, bool head_and_tail,
                                Style style = Style::kDag) {
    DecomposeConfig config;
    config.mode = DecomposeMode::kRanges;
    config.subgraph_ranges = std::move(ranges);
    config.group_head_and_tail = head_and_tail;
    config.cut.style = style;
    return config;
  }
  void EditFile(const std::string& name, const std::string& from, const std::string& to) {
    const std::string path = JoinPath(folder_, name);
    const std::string text = ReadFile(path, 1 << 20).value();
    ASSERT_THAT(text, HasSubstr(from));
    ASSERT_OK(WriteFileAtomic(path, absl::StrReplaceAll(text, {{from, to}})));
  }
  FolderValidation Validate() { return ValidateFolder(Cnn(), folder_).value(); }
  std::string First() {
    const FolderValidation validation = Validate();
    return validation.report.ok() ? "valid" : validation.report.findings[0].Text();
  }

  const std::string folder_;
};

TEST_F(ValidateFolderTest, WeightsByNameAndTheRestInOrder) {
  WriteForeign(CnnPieces());
  const FolderValidation validation = Validate();
  EXPECT_OK(validation.report.status());
  EXPECT_EQ(validation.report.Counts(), "original=10 pieces=3+3+4=10");
  EXPECT_EQ(validation.options.cut.style, Style::kDag);
  EXPECT_THAT(validation.report.notes, testing::ElementsAre(HasSubstr("without a configuration")));
}

TEST_F(ValidateFolderTest, ForeignPiecesWithFaults) {
  std::vector<std::string> pieces = CnnPieces();
  pieces[1] = absl::StrReplaceAll(pieces[1], {{"inplace = False", "inplace = True"}});
  WriteForeign(pieces);
  EXPECT_EQ(First(),
            "E8 graph: piece 1: %relu is '%relu = torch.nn.functional.relu(%conv, inplace = "
            "True)', in the original "
            "'%input_5 = torch.nn.functional.relu(%input_4, inplace = False)'");
  std::filesystem::remove_all(folder_);
  pieces = CnnPieces();
  pieces[2] = absl::StrReplaceAll(pieces[2], {{"%fc2_bias", "%fc3_bias"}});
  WriteForeign(pieces);
  EXPECT_EQ(First(),
            "E4 port: piece 2: takes %input_6, which neither the original takes nor a piece before "
            "it returns");
  std::filesystem::remove_all(folder_);
  pieces = CnnPieces();
  pieces.pop_back();
  WriteForeign(pieces);
  EXPECT_THAT(First(),
              HasSubstr("E3 operator count: piece 1: torch.flatten (%input_7), operator 6"));
}

TEST_F(ValidateFolderTest, ForeignChain) {
  const auto made = Decompose(Cnn(), Ranges({{0, 3}, {3, 6}, {6, 10}}, true, Style::kChain));
  ASSERT_OK(made);
  DecompositionFolderOptions options;
  options.layout = FolderLayout::kPythonGraphNet;
  ASSERT_OK(WriteDecomposition(*made, folder_, options));
  std::filesystem::remove(JoinPath(folder_, "_decomposed/decompose_config.json"));
  const FolderValidation validation = Validate();
  EXPECT_OK(validation.report.status());
  EXPECT_EQ(validation.options.cut.style, Style::kChain);
}

TEST_F(ValidateFolderTest, PartOfAGraph) {
  for (const Style style : {Style::kDag, Style::kChain}) {
    std::filesystem::remove_all(folder_);
    Write(style == Style::kDag ? Ranges({{2, 4}, {6, 8}}, false)
                               : Ranges({{2, 4}, {4, 8}}, false, style));
    const FolderValidation validation = Validate();
    EXPECT_OK(validation.report.status());
    ASSERT_FALSE(validation.report.notes.empty());
    EXPECT_EQ(validation.report.notes[0], "operators [0, 2) are in no piece and are not validated");
  }
  // A fault in an existing piece is still found, under the piece's own number.
  EditFile("subgraph_1/model.py", "torch.flatten(input_6, 1)", "torch.flatten(input_6, 2)");
  EXPECT_THAT(First(), HasSubstr("E1 layout: piece 1: graph_hash.txt"));
}

TEST_F(ValidateFolderTest, RefusesAnOriginalWithoutAGraph) {
  EXPECT_THAT(ValidateFolder(Sample(), folder_).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, "the original has no graph"));
}

TEST_F(ValidateFolderTest, NoPieces) {
  EXPECT_THAT(First(), HasSubstr("E1 layout: "));
  std::filesystem::create_directories(folder_);
  EXPECT_THAT(First(), HasSubstr("no pieces, such as subgraph_0"));
}

TEST_F(ValidateFolderTest, MissingPiece) {
  Write(Ranges({{0, 3}, {3, 6}, {6, 10}}, true));
  std::filesystem::remove(JoinPath(folder_, "subgraph_1/graph_net.json"));
  EXPECT_THAT(First(), HasSubstr("E1 layout: piece 1: is missing"));
  EXPECT_THAT(First(), HasSubstr("subgraph_1 has no graph_net.json"));
}

TEST_F(ValidateFolderTest, UnreadablePiece) {
  Write(Ranges({{0, 3}, {3, 6}, {6, 10}}, true));
  EditFile("subgraph_2/model.py", "torch.flatten(", "torch.flatten((");
  EXPECT_THAT(First(), HasSubstr("E1 layout: piece 2: "));
  EXPECT_THAT(First(), HasSubstr("model.py:"));
}

TEST_F(ValidateFolderTest, ConfigurationDisagrees) {
  Write(Ranges({{0, 3}, {3, 6}, {6, 10}}, true));
  const std::string config = "decompose_config.json";
  const std::string right = ReadFile(JoinPath(folder_, config), 1 << 20).value();
  const auto expect = [&](const std::string& from, const std::string& to,
                          const std::string& message) {
    ASSERT_OK(WriteFileAtomic(JoinPath(folder_, config), right));
    EditFile(config, from, to);
    EXPECT_THAT(First(), HasSubstr(message));
  };
  expect("\"model_name\": \"simple_CNN\"", "\"model_name\": \"other\"",
         "E2 config: the configuration says that the original is other");
  expect("\"inputs\": [\"conv2_weight\", \"conv2_bias\", \"input_3\"]",
         "\"inputs\": [\"conv2_bias\", \"conv2_weight\", \"input_3\"]",
         "E2 config: piece 1: the configuration says that input 0 is %conv2_bias, but it is "
         "%conv2_weight");
  expect("[3, 6]", "[3, 5]", "E2 config: ");
  expect("\"chain_style\": false", "\"chain_style\": true",
         "decompose_config.json: subgraph 0 has \"outputs\", but returns its inputs without what");
  std::filesystem::remove(JoinPath(folder_, config));
  EXPECT_THAT(First(), HasSubstr("E2 config: "));
  EXPECT_THAT(First(), HasSubstr("the configuration beside the pieces is missing"));
}

TEST_F(ValidateFolderTest, ProtobufPiecesNeedTheirConfiguration) {
  Write(Ranges({{0, 3}, {3, 6}, {6, 10}}, true), {.format = PieceFormat::kProtobuf});
  EXPECT_EQ(First(), "valid");
  std::filesystem::remove(JoinPath(folder_, "decompose_config.pb"));
  EXPECT_THAT(First(), HasSubstr("the configuration beside the pieces is missing"));
}

TEST_F(ValidateFolderTest, AttributesOfTheOriginalAreLifted) {
  Sample original = ParseFragment(R"(
attribute fc.weight : f32[4, 4]

graph @forward(%x : f32[2, 4]) {
  %a = torch.relu(%x)
  %w = get_attr fc.weight
  %b = torch.nn.functional.linear(%a, %w)
  %c = torch.relu(%b)
  return (%c,)
}
)");
  const auto form = FolderFormOfSample(original);
  ASSERT_OK(form);
  DecomposeConfig config;
  config.mode = DecomposeMode::kSingleOp;
  const auto made = Decompose(*form, config);
  ASSERT_OK(made);
  ASSERT_OK(WriteDecomposition(*made, folder_, {}));
  const auto validation = ValidateFolder(std::move(original), folder_);
  ASSERT_OK(validation);
  EXPECT_OK(validation->report.status());
}

TEST_F(ValidateFolderTest, GivenConfigurationMustBeReadable) {
  Write(Ranges({{0, 3}, {3, 6}, {6, 10}}, true));
  FolderValidationOptions options;
  options.config_file = JoinPath(folder_, "none.json");
  EXPECT_FALSE(ValidateFolder(Cnn(), folder_, options).ok());
}

}  // namespace
}  // namespace graphnet
