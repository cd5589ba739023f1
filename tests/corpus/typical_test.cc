#include "graphnet/corpus/typical.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "graphnet/ir/text/parser.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Names = std::vector<std::string>;
using Texts = std::vector<Names>;
struct Count {
  int64_t occurrences = 0;
  std::set<size_t> graphs;
  std::set<std::string> before, behind;
  std::pair<size_t, int64_t> first;
};

// Counts all stretches of every length.
std::map<Names, Count> CountAll(const Texts& texts, int64_t least, int64_t most) {
  std::map<Names, Count> counts;
  for (size_t graph = 0; graph < texts.size(); ++graph) {
    const Names& text = texts[graph];
    const auto size = static_cast<int64_t>(text.size());
    for (int64_t start = 0; start < size; ++start) {
      for (int64_t end = start + least; end <= std::min(size, start + most); ++end) {
        Count& count = counts[Names(text.begin() + start, text.begin() + end)];
        if (count.occurrences++ == 0) count.first = {graph, start};
        count.graphs.insert(graph);
        const std::string edge = "end of " + std::to_string(graph);
        count.before.insert(start == 0 ? edge : text[static_cast<size_t>(start - 1)]);
        count.behind.insert(end == size ? edge : text[static_cast<size_t>(end)]);
      }
    }
  }
  return counts;
}

TypicalSequences SearchOf(const Texts& texts) {
  TypicalSequences search;
  for (const Names& names : texts)
    EXPECT_THAT(search.Add({names, std::vector<bool>(names.size() + 1, true)}), IsOk());
  return search;
}

Texts RandomTexts(std::mt19937* random) {
  Texts texts((*random)() % 6 + 1);
  const size_t letters = (*random)() % 4 + 1;
  for (Names& text : texts) {
    for (size_t i = (*random)() % 40; i > 0; --i)
      text.emplace_back(1, static_cast<char>('a' + (*random)() % letters));
    // A block that repeats, as the layers of a model do.
    if ((*random)() % 2 == 0) {
      const Names block(text.begin(), text.begin() + static_cast<ptrdiff_t>(text.size() / 3));
      for (int i = 0; i < 3; ++i) text.insert(text.end(), block.begin(), block.end());
    }
  }
  return texts;
}

TEST(TypicalTest, FindsWhatCountingEachStretchFinds) {
  std::mt19937 random(3);
  size_t compared = 0;
  for (int round = 0; round < 400; ++round) {
    const Texts texts = RandomTexts(&random);
    const TypicalOptions options = {.least_calls = static_cast<int64_t>(1 + random() % 3),
                                    .most_calls = static_cast<int64_t>(3 + random() % 12),
                                    .least_count = static_cast<int64_t>(2 + random() % 3),
                                    .least_graphs = static_cast<int64_t>(1 + random() % 2),
                                    .limit = 0};
    std::map<Names, std::tuple<int64_t, size_t, size_t, int64_t>> wanted;
    for (const auto& [names, count] : CountAll(texts, options.least_calls, options.most_calls)) {
      const bool grows_right =
          count.behind.size() == 1 && static_cast<int64_t>(names.size()) < options.most_calls;
      if (count.occurrences < options.least_count || count.before.size() == 1 || grows_right ||
          static_cast<int64_t>(count.graphs.size()) < options.least_graphs) {
        continue;
      }
      wanted[names] = {count.occurrences, count.graphs.size(), count.first.first,
                       count.first.second};
    }
    const auto found = SearchOf(texts).Find(options);
    ASSERT_THAT(found, IsOk());
    std::map<Names, std::tuple<int64_t, size_t, size_t, int64_t>> got;
    for (const TypicalSequence& one : found->sequences) {
      EXPECT_EQ(one.range.end - one.range.start, static_cast<int64_t>(one.names.size()));
      got[one.names] = {one.occurrences, static_cast<size_t>(one.graphs), one.graph,
                        one.range.start};
    }
    ASSERT_EQ(got, wanted) << round;
    EXPECT_EQ(found->found, wanted.size());
    EXPECT_EQ(found->sequences.size(), wanted.size());
    compared += wanted.size();
    // The ranges are occurrences, without overlaps, and no other occurrence has room.
    for (size_t graph = 0; graph < texts.size(); ++graph) {
      int64_t end = 0;
      std::vector<bool> taken(texts[graph].size());
      for (const Range& range : found->ranges[graph]) {
        EXPECT_GE(range.start, end);
        end = range.end;
        EXPECT_TRUE(wanted.contains(
            Names(texts[graph].begin() + range.start, texts[graph].begin() + range.end)));
        std::fill(taken.begin() + range.start, taken.begin() + range.end, true);
      }
      for (const auto& [names, count] : wanted) {
        for (size_t start = 0; start + names.size() <= texts[graph].size(); ++start) {
          if (!std::equal(names.begin(), names.end(),
                          texts[graph].begin() + static_cast<ptrdiff_t>(start)))
            continue;
          const auto from = taken.begin() + static_cast<ptrdiff_t>(start);
          EXPECT_TRUE(std::any_of(from, from + static_cast<ptrdiff_t>(names.size()),
                                  [](bool is_taken) { return is_taken; }));
        }
      }
    }
  }
  EXPECT_GT(compared, 3000U);
}

TEST(TypicalTest, TheLargestComeFirst) {
  const auto found = SearchOf({{"a", "b", "c", "d"}, {"a", "b", "c", "x"}, {"c", "d"}}).Find({});
  ASSERT_THAT(found, IsOk());
  ASSERT_EQ(found->sequences.size(), 2U);
  EXPECT_THAT(found->sequences[0].names, ElementsAre("a", "b", "c"));
  EXPECT_EQ(found->sequences[0].occurrences, 2);
  EXPECT_THAT(found->sequences[1].names, ElementsAre("c", "d"));
  EXPECT_THAT(found->ranges, ElementsAre(ElementsAre(Range{0, 3}), ElementsAre(Range{0, 3}),
                                         ElementsAre(Range{0, 2})));
  const auto one =
      SearchOf({{"a", "b", "c", "d"}, {"a", "b", "c", "x"}, {"c", "d"}}).Find({.limit = 1});
  EXPECT_EQ(one->sequences.size(), 1U);
  EXPECT_EQ(one->found, 2U);
}

TEST(TypicalTest, OneGraphAloneOrNone) {
  EXPECT_THAT(SearchOf({{"a", "b", "a", "b"}}).Find({})->sequences, IsEmpty());
  EXPECT_EQ(SearchOf({{"a", "b", "a", "b"}}).Find({.least_graphs = 1})->sequences.size(), 1U);
  EXPECT_THAT(SearchOf({}).Find({})->sequences, IsEmpty());
  EXPECT_THAT(SearchOf({{}, {}}).Find({})->ranges, ElementsAre(IsEmpty(), IsEmpty()));
}

TEST(TypicalTest, RefusesOptionsWithoutSense) {
  EXPECT_THAT(SearchOf({{"a"}}).Find({.least_calls = 5, .most_calls = 4}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("5 to 4")));
  EXPECT_THAT(SearchOf({{"a"}}).Find({.least_calls = 0}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(SearchOf({{"a"}}).Find({.most_calls = 5000}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(TypicalTest, NamesAreMeanings_AndNoTupleIsParted) {
  const auto module = ParseModule(R"(graph @forward(%x : f32[4, 4], %y : f32[4, 4]) {
  %a = operator.add(%x, %y)
  %b = .add_(%a, %y)
  %s = torch.split(%b, 2)
  %c = operator.getitem(%s, 0)
  %d = torch.relu(%c)
  return (%d,)
})",
                                  "m.gn");
  ASSERT_THAT(module, IsOk());
  const TypicalSequences::Graph graph = TypicalSequences::GraphOf(**module);
  EXPECT_THAT(graph.names, ElementsAre("add", "add", "split", "getitem", "relu"));
  EXPECT_THAT(graph.can_cut, ElementsAre(true, true, true, false, true, true));
  TypicalSequences search;
  EXPECT_THAT(search.Add(graph), IsOk());
  EXPECT_THAT(search.Add({{"add", "add", "split"}, {true, true, true, true}}), IsOk());
  const auto found = search.Find({});
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->sequences[0].occurrences, 2);
  EXPECT_THAT(found->ranges, ElementsAre(IsEmpty(), ElementsAre(Range{0, 3})));
}

}  // namespace
}  // namespace graphnet
