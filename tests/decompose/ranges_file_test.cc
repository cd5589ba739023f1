#include "graphnet/decompose/ranges_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/file.h"
#include "graphnet/base/json.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Temporary(const std::string& name) { return JoinPath(::testing::TempDir(), name); }

std::string Written(const std::string& name, const std::string& text) {
  EXPECT_OK(WriteFileAtomic(Temporary(name), text));
  return Temporary(name);
}

std::string ReadBack(const std::string& path) {
  const auto text = ReadFile(path, 1 << 20);
  EXPECT_OK(text);
  return text.ok() ? *text : "";
}

TEST(RangesFileTest, WritesWhatGraphNetReads) {
  const std::string folder = Temporary("ranges");
  ASSERT_OK(WriteRanges({{"timm/a", {"a", {{2, 5}, {5, 7}}, 9}}, {"b", {"b", {}, 3}}}, folder));
  const Json one = Json::Parse(ReadBack(folder + "/timm/a/subgraph_ranges.json"));
  EXPECT_EQ(one.Dump(-1), Json::Parse(R"({"model_name": "a", "subgraph_ranges": [[2, 5], [5, 7]],
                            "total_length": 9})")
                              .Dump(-1));
  const Json all = Json::Parse(ReadBack(folder + "/subgraph_ranges.json"));
  EXPECT_EQ(all.Find("timm/a")->Dump(), one.Dump());
  const Json splits = Json::Parse(ReadBack(folder + "/split_results.json"));
  EXPECT_THAT(*splits.Find("timm/a")->Get<std::vector<int64_t>>("split_positions"),
              ElementsAre(2, 5, 7));
  EXPECT_EQ(splits.Find("b")->Get<int64_t>("total_length"), 3);

  for (const std::string& path : {folder, folder + "/subgraph_ranges.json"}) {
    const auto file = RangesFile::Open(path);
    ASSERT_OK(file);
    EXPECT_THAT(*file->Of("timm/a", 9), ElementsAre(Range{2, 5}, Range{5, 7})) << path;
    EXPECT_THAT(file->Of("c", 9), StatusIs(absl::StatusCode::kNotFound)) << path;
  }
  const auto file = RangesFile::Open(folder + "/split_results.json");
  ASSERT_OK(file);
  EXPECT_THAT(*file->Of("timm/a", 9),
              ElementsAre(Range{0, 2}, Range{2, 5}, Range{5, 7}, Range{7, 9}));
}

TEST(RangesFileTest, OneSampleIsForAll) {
  const auto file = RangesFile::Open(Written("one.json", R"({"subgraph_ranges": [[0, 3]]})"));
  ASSERT_OK(file);
  EXPECT_THAT(*file->Of("any", 9), ElementsAre(Range{0, 3}));
}

TEST(RangesFileTest, RefusesOtherForms) {
  const auto open = [](const std::string& text) {
    return RangesFile::Open(Written("bad.json", text)).status();
  };
  const auto code = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(open(R"({"subgraph_ranges": [[5, 3]]})"), StatusIs(code, HasSubstr("[5, 3) is not")));
  EXPECT_THAT(open(R"({"subgraph_ranges": [[-1, 3]]})"), StatusIs(code, HasSubstr("[-1, 3)")));
  EXPECT_THAT(open(R"({"subgraph_ranges": [[1, 2, 3]]})"), StatusIs(code, HasSubstr("a pair")));
  EXPECT_THAT(open(R"({"subgraph_ranges": 3})"), StatusIs(code, HasSubstr("list of pairs")));
  EXPECT_THAT(open(R"({"a": {"subgraph_ranges": [[4, 4]]}})"),
              StatusIs(code, HasSubstr("json: a: ")));
  EXPECT_THAT(open(R"({"a": {}})"), StatusIs(code, HasSubstr("neither")));
  EXPECT_THAT(open("[]"), StatusIs(code));
  EXPECT_FALSE(RangesFile::Open(Temporary("nothing.json")).ok());
  const auto splits = RangesFile::Open(Written("s.json", R"({"a": {"split_positions": [5, 3]}})"));
  ASSERT_OK(splits);
  EXPECT_THAT(splits->Of("a", 9), StatusIs(code, HasSubstr("position 3 is not behind")));
  EXPECT_THAT(splits->Of("a", 4), StatusIs(code, HasSubstr("position 5")));
}

TEST(KernelCountsTest, AreReadAsTheyAreWritten) {
  const KernelCounts counts = {{1, 2, 3}, {1, 1, 2}, 4};
  const auto read = ParseKernelCounts(KernelCountsText(counts), "k.json");
  ASSERT_OK(read);
  EXPECT_EQ(read->operators, counts.operators);
  EXPECT_EQ(read->kernels, counts.kernels);
  EXPECT_EQ(read->first_operator, 4);
  EXPECT_THAT(
      ParseKernelCounts(R"({"num_subgraph_ops": [1], "num_subgraph_kernels": [],
                                    "start_offset_in_original_graph": 0})",
                        "k.json"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("k.json: lacks lists of one length, num_subgraph_ops and "
                         "num_subgraph_kernels, or the number start_offset_in_original_graph")));
}

TEST(KernelCountsTest, PrefixesGrow) {
  const auto read = [](absl::string_view operators) {
    return ParseKernelCounts(
        absl::StrCat(R"({"num_subgraph_ops": )", operators,
                     R"(, "num_subgraph_kernels": [1, 2], "start_offset_in_original_graph": 0})"),
        "k.json");
  };
  EXPECT_OK(read("[1, 3]"));
  for (const char* wrong : {"[3, 1]", "[2, 2]", "[-1, 2]", "[1, 9223372036854775807]"}) {
    EXPECT_THAT(read(wrong), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("num_subgraph_ops does not grow")))
        << wrong;
  }
}

TEST(FusedRangesTest, AreRunsThatAddOneKernel) {
  EXPECT_THAT(FusedRanges({{1, 2, 3, 4, 5, 6}, {1, 2, 2, 3, 4, 4}, 0}),
              ElementsAre(Range{1, 3}, Range{4, 6}));
  // Operator 1 stores a value that is fused with what follows.
  EXPECT_THAT(FusedRanges({{1, 2, 3, 4, 5}, {1, 2, 1, 1, 2}, 0}), ElementsAre(Range{0, 4}));
  // A cut is not possible behind each operator.
  EXPECT_THAT(FusedRanges({{3, 4, 5}, {1, 2, 2}, 10}), ElementsAre(Range{10, 13}, Range{13, 15}));
}

TEST(FusedRangesTest, OperatorsWithoutAKernelAreNoRange) {
  EXPECT_THAT(FusedRanges({{1, 2, 3}, {0, 0, 1}, 0}), IsEmpty());
  EXPECT_THAT(FusedRanges({}), IsEmpty());
}

TEST(RangesFileTest, CountsOfKernelsAreRanges) {
  const auto file = RangesFile::Open(
      Written("cumsum_num_kernels.json", KernelCountsText({{1, 2, 3, 4}, {1, 2, 2, 3}, 0})));
  ASSERT_OK(file);
  EXPECT_THAT(file->Of("any", 4), IsOkAndHolds(ElementsAre(Range{1, 3})));
}

}  // namespace
}  // namespace graphnet
