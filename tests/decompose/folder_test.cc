#include "graphnet/decompose/folder.h"

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "graphnet/base/file.h"
#include "graphnet/decompose/compose.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/validate/structure.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/decompose/chain_testing.h"

namespace graphnet {
namespace {

using testing::HasSubstr;

constexpr absl::string_view kNet = R"(
graph @forward(%x "L_x_" : f32[2, 2]@cpu as torch.Tensor {mean = 0.0, std = 1.0}) {
  %slice = torch.relu(%x)
  %b = operator.iadd(%slice, %x)
  %c = torch.matmul(%b, %slice)
  %d = torch.neg(%c)
  return (%d, %c)
}
)";

struct Case {
  PieceFormat format;
  FolderLayout layout;
  Style style;
};

class FolderTest : public testing::TestWithParam<Case> {
 protected:
  FolderTest() : sample_(ParseFragment(kNet)) {
    folder_ = JoinPath(
        testing::TempDir(),
        absl::StrCat("folder_test_", static_cast<int>(GetParam().format),
                     static_cast<int>(GetParam().layout), static_cast<int>(GetParam().style)));
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
    options_ = {GetParam().format, GetParam().layout};
    Make({1, 3});
  }

  void Make(std::vector<int64_t> positions) {
    DecomposeConfig config;
    config.mode = DecomposeMode::kPositions;
    config.split_positions = std::move(positions);
    config.cut.style = GetParam().style;
    auto made = Decompose(sample_, config);
    ASSERT_OK(made);
    made_ = *std::move(made);
  }

  std::string Inside() const {
    return GetParam().layout == FolderLayout::kPythonGraphNet ? JoinPath(folder_, "_decomposed")
                                                              : folder_;
  }
  std::string Piece(int i) const {
    return JoinPath(
        Inside(),
        absl::StrCat(GetParam().layout == FolderLayout::kPythonGraphNet ? "net_" : "subgraph_", i,
                     GetParam().format == PieceFormat::kProtobuf ? ".pb" : ""));
  }
  // Returns a file of piece i, which a test damages.
  std::string FileOfPiece(int i) const {
    return GetParam().format == PieceFormat::kProtobuf ? Piece(i) : JoinPath(Piece(i), "model.py");
  }
  std::string ConfigFile() const {
    return JoinPath(Inside(), GetParam().format == PieceFormat::kProtobuf
                                  ? "decompose_config.pb"
                                  : "decompose_config.json");
  }
  WriteReport Write() {
    const auto report = WriteDecomposition(made_, folder_, options_);
    EXPECT_OK(report);
    return report.ok() ? *report : WriteReport();
  }

  Sample sample_;
  std::string folder_;
  DecompositionFolderOptions options_;
  Decomposition made_;
};

INSTANTIATE_TEST_SUITE_P(
    All, FolderTest,
    testing::Values(Case{PieceFormat::kGraphNetFolder, FolderLayout::kPlain, Style::kChain},
                    Case{PieceFormat::kGraphNetFolder, FolderLayout::kPythonGraphNet, Style::kDag},
                    Case{PieceFormat::kProtobuf, FolderLayout::kPlain, Style::kDag},
                    Case{PieceFormat::kProtobuf, FolderLayout::kPythonGraphNet, Style::kChain}));

TEST_P(FolderTest, IsReadBack) {
  EXPECT_EQ(Write().written, 3u);
  const auto stored = ReadDecomposition(folder_, true);
  ASSERT_OK(stored);
  ASSERT_TRUE(stored->config.has_value());
  EXPECT_TRUE(*stored->config == made_.config);
  ASSERT_EQ(stored->pieces.size(), 3u);
  StructureOptions options;
  options.cut.style = GetParam().style;
  // A folder renames %slice and does not keep locations.
  if (GetParam().format == PieceFormat::kGraphNetFolder) {
    options.equality = {
        .names = false, .metas = false, .locations = false, .attribute_names = true};
  }
  EXPECT_OK(ValidateStructure(sample_, stored->pieces, options).status());
}

TEST_P(FolderTest, WholePiecesAreKept) {
  Write();
  const auto before = std::filesystem::last_write_time(FileOfPiece(0));
  WriteReport report = Write();
  EXPECT_EQ(report.kept, 3u);
  EXPECT_EQ(report.written, 0u);
  EXPECT_EQ(std::filesystem::last_write_time(FileOfPiece(0)), before);
}

TEST_P(FolderTest, ResumesAnInterruptedWrite) {
  Write();
  std::filesystem::remove(ConfigFile());
  std::filesystem::remove_all(Piece(2));
  ASSERT_OK(WriteFileAtomic(FileOfPiece(1), "half"));
  ASSERT_OK(WriteFileAtomic(absl::StrCat(Piece(2), ".1.0.tmp"), "left over"));
  const WriteReport report = Write();
  EXPECT_EQ(report.kept, 1u);
  EXPECT_EQ(report.written, 2u);
  EXPECT_OK(ReadDecomposition(folder_, true));
}

TEST_P(FolderTest, TakesUpAFolderWithoutItsMarker) {
  if (GetParam().format == PieceFormat::kProtobuf) return;
  Write();
  std::filesystem::remove(JoinPath(Piece(1), "graph_net.json"));
  EXPECT_EQ(Write().written, 1u);
  EXPECT_OK(ReadDecomposition(folder_, true));
}

TEST_P(FolderTest, RefusesToOverwriteOtherFiles) {
  Write();
  Make({2});
  EXPECT_THAT(WriteDecomposition(made_, folder_, options_).status(),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("not replaced, as it holds")));
  Make({1, 2});  // The number of pieces is the same.
  EXPECT_THAT(WriteDecomposition(made_, folder_, options_).status(),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("another decomposition")));
  Make({1, 3});
  ASSERT_OK(WriteFileAtomic(JoinPath(Inside(), "notes.txt"), "mine"));
  EXPECT_THAT(WriteDecomposition(made_, folder_, options_).status(),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("notes.txt")));
}

TEST_P(FolderTest, MissingPieces) {
  EXPECT_THAT(ReadDecomposition(testing::TempDir() + "/nowhere", true).status(),
              StatusIs(absl::StatusCode::kNotFound));
  Write();
  std::filesystem::remove_all(Piece(2));
  EXPECT_THAT(ReadDecomposition(folder_, true).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("the configuration has 3 subgraphs")));
  std::filesystem::remove_all(Piece(0));
  EXPECT_THAT(ReadDecomposition(folder_, true).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("piece 0 is missing")));
}

TEST_P(FolderTest, WithoutConfiguration) {
  Write();
  std::filesystem::remove(ConfigFile());
  const auto stored = ReadDecomposition(folder_, true);
  ASSERT_OK(stored);
  EXPECT_FALSE(stored->config.has_value());
  EXPECT_EQ(stored->pieces.size(), 3u);
}

TEST(FolderWeightsTest, GoAlongWithProtobuf) {
  Sample sample = ParseFragment(R"(
attribute w : f32[1]

graph @forward(%x) {
  %w = get_attr w
  %a = operator.mul(%x, %w)
  %b = torch.neg(%a)
  return %b
}
)");
  sample.weights["w"] = {DType::kFloat32, {1}, std::make_shared<const std::string>("abcd")};
  DecomposeConfig config;
  config.mode = DecomposeMode::kPositions;
  config.split_positions = {1};
  auto made = Decompose(sample, config);
  ASSERT_OK(made);
  const std::string folder = JoinPath(testing::TempDir(), "folder_weights");
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  ASSERT_OK(WriteDecomposition(*made, folder, {.format = PieceFormat::kProtobuf}));
  EXPECT_TRUE(FileExists(JoinPath(folder, "subgraph_0.safetensors")));
  EXPECT_EQ(WriteDecomposition(*made, folder, {.format = PieceFormat::kProtobuf})->kept, 2u);
  const auto stored = ReadDecomposition(folder, true);
  ASSERT_OK(stored);
  EXPECT_EQ(*stored->pieces[0].weights.at("w").bytes, "abcd");
  // A piece with other weights is another piece.
  made->pieces[0].weights["w"].bytes = std::make_shared<const std::string>("abce");
  EXPECT_EQ(WriteDecomposition(*made, folder, {.format = PieceFormat::kProtobuf})->written, 1u);
}

}  // namespace
}  // namespace graphnet
