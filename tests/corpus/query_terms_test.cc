#include "graphnet/corpus/query_terms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/corpus/match.h"
#include "graphnet/formats/protobuf/sample_proto.h"
#include "graphnet/ir/text/parser.h"
#include "tests/base/status_matchers.h"
#include "tests/corpus/random_query.h"

namespace graphnet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> Terms(const std::string& text) {
  const auto query = CallQuery::Parse(text);
  EXPECT_OK(query);
  std::vector<std::string> terms;
  if (!query.ok()) return terms;
  for (const QueryTerm& term : TermsOf(*query))
    terms.push_back(absl::StrCat(term.column, " ", absl::StrJoin(term.any_of, " or ")));
  return terms;
}

TEST(QueryTermsTest, ACallGivesItsMeaning) {
  for (const char* const query : {"relu", ".relu", "relu_(%)", "torch.ops.aten.relu"})
    EXPECT_THAT(Terms(query), ElementsAre("targets relu")) << query;
  // The name of a function may lack an overload.
  EXPECT_THAT(Terms("torch.ops.mylib.gain"), ElementsAre("targets gain"));
  EXPECT_THAT(Terms("mylib.gain"), ElementsAre("targets default or gain"));
  EXPECT_THAT(Terms("add|mul(%, %)"), ElementsAre("targets add or mul"));
}

TEST(QueryTermsTest, ANestedCallGivesAnEdge) {
  EXPECT_THAT(Terms("softmax(matmul(?, ?))"),
              ElementsAre("targets matmul", "targets softmax", "edges matmul>softmax"));
  EXPECT_THAT(Terms("cat([relu|gelu(?), %])"),
              ElementsAre("targets gelu or relu", "targets cat", "edges gelu>cat or relu>cat"));
}

TEST(QueryTermsTest, AConstantGivesAnArgumentUnlessItMayBeOmitted) {
  EXPECT_THAT(Terms("conv2d(groups=384)"), ElementsAre("targets conv2d", "args conv2d.groups=384"));
  EXPECT_THAT(Terms("conv2d(stride=(2, 2))"),
              ElementsAre("targets conv2d", "args conv2d.stride=2"));
  EXPECT_THAT(Terms("conv2d(groups in [2, 384])"),
              ElementsAre("targets conv2d", "args conv2d.groups=2 or conv2d.groups=384"));
  for (const char* const query :
       {"conv2d(groups=1)", "conv2d(groups=1.0)", "conv2d(groups in [1, 2])", "conv2d(groups>1)",
        "conv2d(groups!=2)", "conv2d(?, ?, ?, 2)", "conv2d(stride=(1, 1))"}) {
    EXPECT_THAT(Terms(query), ElementsAre("targets conv2d")) << query;
  }
}

TEST(QueryTermsTest, ManyNamesGiveNoTerm) {
  std::string names = "f";
  for (int i = 0; i < 20'000; ++i) absl::StrAppend(&names, "|f", i);
  EXPECT_THAT(Terms(absl::StrCat(names, "(", names, "(k=3))")), IsEmpty());
  EXPECT_THAT(Terms(absl::StrCat(names, "(relu(?))")), ElementsAre("targets relu"));
}

TEST(QueryTermsTest, ATypeGivesDtypesAndARank) {
  EXPECT_THAT(Terms("relu(%: f16|bf16[*, 64])"),
              ElementsAre("targets relu", "dtypes bfloat16 or float16", "ranks 2"));
  EXPECT_THAT(Terms("relu(%): ?[*, ...]"), ElementsAre("targets relu"));
}

TEST(QueryTermsTest, NoTermLosesAMatch) {
  constexpr const char* kSamples[] = {"bert", "detector", "gpt", "resnet", "unet", "vit"};
  std::vector<Sample> samples;
  std::vector<CorpusRow> rows;
  for (const char* const name : kSamples) {
    auto sample = ReadSampleFile(absl::StrCat("samples/", name, ".pb"), /*with_weights=*/false);
    ASSERT_OK(sample);
    auto row = MakeRow(*sample);
    ASSERT_OK(row);
    samples.push_back(*std::move(sample));
    rows.push_back(*std::move(row));
  }
  std::mt19937 random(5);
  int with_match = 0, left_out = 0;
  for (int asked = 0; asked < 3000;) {
    const std::string text = RandomQuery(*samples[random() % samples.size()].module, &random);
    const auto query = CallQuery::Parse(text);
    if (!query.ok()) continue;
    ++asked;
    const std::vector<QueryTerm> terms = TermsOf(*query);
    for (size_t i = 0; i < samples.size(); ++i) {
      const auto found = query->Find(samples[i].module.get());
      ASSERT_OK(found) << text;
      const bool has_terms = HasTerms(rows[i], terms);
      EXPECT_TRUE(has_terms || found->empty()) << text << " in " << kSamples[i];
      if (!has_terms) ++left_out;
      if (!found->empty()) ++with_match;
      if (asked % 20 == 0) {
        EXPECT_THAT(CountMatches(*query, rows[i].blob), IsOkAndHolds(found->size())) << text;
      }
    }
  }
  // The test would show nothing if hardly a query matched, or if no term left a sample out.
  EXPECT_GT(with_match, 1000);
  EXPECT_GT(left_out, 3000);
}

TEST(CountMatchesTest, ABadBlobIsAnError) {
  const auto query = CallQuery::Parse("relu");
  ASSERT_OK(query);
  EXPECT_THAT(CountMatches(*query, ""), Not(IsOk()));
  EXPECT_THAT(CountMatches(*query, "no sample"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("blob: ")));
}

}  // namespace
}  // namespace graphnet
