#include "graphnet/decompose/sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "graphnet/base/file.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;

TEST(SubgraphSourcesTest, AreReadAsGraphNetWritesThem) {
  const std::string text = R"({"timm/a": [[8, 20], [0, 8], [8, 20]], "b": [[3, 4]]})";
  const auto sources = ParseSubgraphSources(text, "s.json");
  ASSERT_THAT(sources, IsOk());
  EXPECT_THAT(sources->at("timm/a"), ElementsAre(Range{0, 8}, Range{8, 20}));
  EXPECT_THAT(sources->at("b"), ElementsAre(Range{3, 4}));
  const auto again = ParseSubgraphSources(SubgraphSourcesText(*sources), "s.json");
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(*again, *sources);
}

TEST(SubgraphSourcesTest, RefusesWhatIsNoRange) {
  for (const std::string ranges :
       {"[[5, 3]]", "[[3, 3]]", "[[-1, 3]]", "[[1, 2, 3]]", "[3]", "3"}) {
    EXPECT_THAT(ParseSubgraphSources("{\"a\": " + ranges + "}", "s.json"),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("s.json: a: ")))
        << ranges;
  }
  EXPECT_THAT(ParseSubgraphSources("[]", "s.json"), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(SourcesOfTest, ReadsTheFileBeforeTheProvenance) {
  Sample sample;
  sample.provenance.push_back({.parent = "r", .parent_hash = "", .start = 2, .end = 5});
  const auto told = SourcesOf(sample, "p/x", "x");
  ASSERT_THAT(told, IsOk());
  EXPECT_THAT((*told).at("r"), ElementsAre(Range{2, 5}));

  sample.extra_files[kSubgraphSources] = R"({"q": [[0, 1]]})";
  const auto kept = SourcesOf(sample, "p/x", "x");
  ASSERT_THAT(kept, IsOk());
  EXPECT_THAT(*kept, ElementsAre(Key("q")));

  sample.extra_files.clear();
  const std::string file = JoinPath(::testing::TempDir(), "x.pb");
  ASSERT_THAT(WriteFileAtomic(JoinPath(::testing::TempDir(), "x.subgraph_sources.json"),
                              R"({"beside": [[0, 1]]})"),
              IsOk());
  const auto beside = SourcesOf(sample, file, "x");
  ASSERT_THAT(beside, IsOk());
  EXPECT_THAT(*beside, ElementsAre(Key("beside")));
  EXPECT_THAT(*SourcesOf(Sample(), "p/x", "x"), IsEmpty());
}

TEST(SourcesOfTest, TellsThePathOfTheOriginal) {
  Sample sample;
  sample.provenance.push_back({.parent = "r", .parent_hash = "", .start = 2, .end = 5});
  EXPECT_THAT(*SourcesOf(sample, "-", "timm/r_decomposed/subgraph_0"), ElementsAre(Key("timm/r")));
  EXPECT_THAT(*SourcesOf(sample, "-", "timm/r/_decomposed/r_0"), ElementsAre(Key("timm/r")));
  EXPECT_THAT(*SourcesOf(sample, "-", "timm/other_decomposed/subgraph_0"), ElementsAre(Key("r")));
  EXPECT_THAT(*SourcesOf(sample, "-", "subgraph_0"), ElementsAre(Key("r")));
}

TEST(MergeSourcesTest, AddsWhatIsNotThere) {
  SubgraphSources sources = {{"a", {{4, 8}}}};
  MergeSources({{"a", {{0, 4}, {4, 8}}}, {"b", {{1, 2}}}}, &sources);
  EXPECT_THAT(sources.at("a"), ElementsAre(Range{0, 4}, Range{4, 8}));
  EXPECT_THAT(sources.at("b"), ElementsAre(Range{1, 2}));
}

}  // namespace
}  // namespace graphnet
