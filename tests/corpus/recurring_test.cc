#include "graphnet/corpus/recurring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/corpus/range_walk.h"
#include "graphnet/ir/text/printer.h"
#include "tests/base/status_matchers.h"
#include "tests/corpus/slow_ranges.h"
#include "tests/ir/text/random_module.h"

namespace graphnet {
namespace {

using corpus_internal::Fingerprint;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Makes graphs of few different calls, so that many ranges recur: pure calls, calls in place, views,
// tuples, attributes, bodies, and sizes with symbols.
class GraphMaker {
 public:
  explicit GraphMaker(uint64_t seed) : random_(seed) {}

  Sample Make(int calls) {
    Sample sample;
    sample.name = "made";
    sample.module = std::make_unique<Module>();
    module_ = sample.module.get();
    graph_ = module_->AddGraph("forward");
    values_.clear();
    // Which names the symbols have must not matter.
    symbols_ = {"s0", "s1"};
    if (Below(2) == 0) std::swap(symbols_[0], symbols_[1]);
    for (const absl::string_view symbol : {"s0", "s1"}) module_->AddSymbol(symbol, 7);
    for (const absl::string_view name : {"w0", "w1"})
      module_->AddAttribute({.name = name, .meta = module_->InternMeta(Meta())});
    if (Below(3) == 0) MakeBody();
    for (uint64_t i = 0; i < 2 + Below(2); ++i) Keep(graph_->Placeholder(absl::StrCat("x", i)));
    for (int i = 0; i < calls; ++i) AddCall();
    std::vector<Argument> returned = {values_.back()};
    if (Below(2) == 0) returned.emplace_back(Value());
    graph_->Output(Argument::Tuple(returned));
    module_->EraseUnusedGraphs();
    return sample;
  }

 private:
  uint64_t Below(uint64_t n) { return random_() % n; }
  // Mostly one of the last values.
  Node* Value() {
    const uint64_t back = std::min(Below(4), Below(values_.size()));
    return values_[values_.size() - 1 - back];
  }
  TensorMeta Meta() {
    TensorMeta meta;
    meta.dtype = Below(12) == 0 ? DType::kFloat16 : DType::kFloat32;
    meta.has_shape = true;
    shape_ = {Dim(2)};
    if (Below(8) == 0) shape_ = {Dim(module_->SymSymbol(symbols_[Below(2)]))};
    meta.shape = shape_;
    return meta;
  }
  Node* Keep(Node* node) {
    if (Below(10) != 0) node->set_meta(module_->InternValueMeta(Meta()));
    values_.push_back(node);
    return node;
  }
  void MakeBody() {
    body_ = module_->AddGraph("body");
    Node* x = body_->Placeholder("x");
    if (Below(2) == 0) x->set_meta(module_->InternValueMeta(Meta()));
    Node* y = Below(2) == 0 ? body_->GetAttr(Below(2) == 0 ? "w0" : "w1") : x;
    body_->Output(body_->CallFunction("torch.add", {x, y}));
  }
  void AddCall() {
    switch (Below(body_ != nullptr ? 12 : 11)) {
      case 0:
      case 1: Keep(graph_->CallFunction("torch.relu", {Value()})); break;
      case 2:
      case 3: Keep(graph_->CallFunction("torch.add", {Value(), Value()})); break;
      case 4: Keep(graph_->CallFunction("torch.sum", {Value()}, {{"dim", 0}})); break;
      case 5: Keep(graph_->CallMethod("relu_", {Value()})); break;
      case 6: Keep(graph_->CallMethod("view", {Value(), 2})); break;
      case 7: {
        Node* const parts = graph_->CallFunction("torch.split", {Value(), 1});
        parts->set_meta(module_->InternValueMeta(TensorMeta()));
        Keep(graph_->CallFunction("operator.getitem", {parts, 0}));
        if (Below(2) == 0) Keep(graph_->CallFunction("operator.getitem", {parts, 1}));
        break;
      }
      case 8:
        values_.push_back(graph_->GetAttr(Below(2) == 0 ? "w0" : "w1"));
        if (Below(2) == 0) Keep(graph_->CallFunction("torch.add", {values_.back(), Value()}));
        break;
      case 9:
        Keep(graph_->CallFunction("torch.cat", {Argument::List({Value(), Value(), Value()})}));
        break;
      case 10: Keep(graph_->CallMethod("add_", {Value(), Value()})); break;
      default: Keep(graph_->CallFunction("my.apply", {body_, Value()})); break;
    }
  }

  std::mt19937_64 random_;
  Module* module_ = nullptr;
  Graph* graph_ = nullptr;
  Graph* body_ = nullptr;
  std::vector<Node*> values_;
  std::vector<absl::string_view> symbols_;
  std::vector<Dim> shape_;
};

std::vector<Sample> MadeSamples(uint64_t seed, int count) {
  std::vector<Sample> samples;
  for (int i = 0; i < count; ++i)
    samples.push_back(GraphMaker(seed * 1000 + static_cast<uint64_t>(i) % 7).Make(8 + i));
  return samples;
}

std::string Text(const Sample& sample) { return PrintModule(*sample.module); }

// All ranges of samples: the fingerprint must be the same exactly where the hash is.
size_t CompareAll(const std::vector<Sample>& samples) {
  corpus_internal::Tokens tokens;
  const corpus_internal::FingerprintKeys keys;
  corpus_internal::RangeWalk walk(keys);
  std::map<std::string, std::pair<Fingerprint, std::string>> by_hash;
  std::map<std::pair<uint64_t, uint64_t>, std::pair<std::string, size_t>> by_print;
  size_t recur = 0;
  for (size_t s = 0; s < samples.size(); ++s) {
    auto form = corpus_internal::MakeRangeForm(*samples[s].module, /*modules=*/false);
    EXPECT_OK(form);
    if (!form.ok()) return 0;
    tokens.Number(&*form);
    const SlowRanges slow(samples[s]);
    const int64_t n = slow.num_operators();
    EXPECT_EQ(form->num_operators(), n);
    for (int64_t start = 0; start < n; ++start) {
      EXPECT_EQ(form->can_cut[static_cast<size_t>(start)], slow.CanCut(start));
      if (!slow.CanCut(start)) continue;
      walk.Start(*form, static_cast<uint32_t>(start));
      while (walk.Extend()) {
        if (!slow.CanCut(walk.end())) continue;
        const std::string place = absl::StrCat("sample ", s, " ", start, ":", walk.end());
        const auto hash = slow.Hash({start, walk.end()});
        const std::optional<Fingerprint> print = walk.Piece();
        EXPECT_OK(hash) << place;
        EXPECT_TRUE(print.has_value()) << place;
        if (!hash.ok() || !print.has_value()) return 0;
        const auto [slowly, new_hash] = by_hash.try_emplace(*hash, *print, place);
        const auto [fast, new_print] = by_print.try_emplace({print->a, print->b}, place, s);
        recur += new_hash ? 0 : 1;
        if (new_hash == new_print && slowly->second.second == fast->second.first) continue;
        ADD_FAILURE() << place << " is the same as " << slowly->second.second
                      << " by its hash, and as " << fast->second.first << " by its fingerprint\n"
                      << Text(samples[s]);
        return recur;
      }
    }
  }
  return recur;
}

TEST(RangeWalkTest, FingerprintsAreThoseOfEqualPieces) {
  size_t recur = 0;
  for (uint64_t seed = 0; seed < 20 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    recur += CompareAll(MadeSamples(seed, 16));
  }
  EXPECT_GT(recur, 10000);
}

TEST(RangeWalkTest, FingerprintsTellRandomGraphsApart) {
  std::vector<Sample> samples;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    samples.push_back(RandomSample(seed));
    // A sample and its copy have the same ranges.
    if (seed % 3 == 0) samples.push_back(RandomSample(seed));
  }
  EXPECT_GT(CompareAll(samples), 1000);
}

using Row = std::tuple<size_t, int64_t, int64_t, int64_t, std::vector<uint32_t>>;

std::vector<Row> RowsOf(const Recurring& found) {
  std::vector<Row> rows;
  for (const RecurringRange& range : found.ranges)
    rows.emplace_back(range.graph, range.range.start, range.range.end, range.occurrences,
                      range.graphs);
  return rows;
}

absl::StatusOr<Recurring> Find(const std::vector<Sample>& samples,
                               const RecurringOptions& options) {
  RecurringRanges search(options);
  for (const Sample& sample : samples) {
    auto prepared = PrepareRanges(*sample.module, options);
    if (!prepared.ok()) return prepared.status();
    if (absl::Status added = search.Add(*std::move(prepared)); !added.ok()) return added;
  }
  return search.Find();
}

// The rows as recurring.h defines them.
std::vector<Row> SlowRows(const std::vector<Sample>& samples, int64_t least, int64_t most) {
  struct Class {
    int64_t occurrences = 0;
    std::set<uint32_t> graphs;
    size_t graph = 0;
    Range first;
  };
  std::map<std::string, Class> classes;
  std::vector<std::map<std::pair<int64_t, int64_t>, std::string>> hashes(samples.size());
  for (size_t s = 0; s < samples.size(); ++s) {
    const SlowRanges slow(samples[s]);
    for (int64_t start = 0; start < slow.num_operators(); ++start) {
      for (int64_t end = start + 1; end <= std::min(slow.num_operators(), start + most + 8);
           ++end) {
        if (!slow.CanCut(start) || !slow.CanCut(end)) continue;
        const std::string hash = *slow.Hash({start, end});
        hashes[s][{start, end}] = hash;
        const auto [it, is_new] = classes.try_emplace(hash);
        if (is_new) it->second.graph = s;
        if (is_new) it->second.first = {start, end};
        ++it->second.occurrences;
        it->second.graphs.insert(static_cast<uint32_t>(s));
      }
    }
  }
  std::vector<std::tuple<int64_t, int64_t, Row>> sorted;
  for (const auto& [hash, one] : classes) {
    const auto [start, end] = one.first;
    if (one.occurrences < 2 || end - start < least || end - start > most) continue;
    const SlowRanges slow(samples[one.graph]);
    int64_t left = start - 1;
    while (left >= 0 && !slow.CanCut(left)) --left;
    int64_t right = end + 1;
    while (right <= slow.num_operators() && !slow.CanCut(right)) ++right;
    const auto occurs_as_often = [&](int64_t from, int64_t to) {
      const auto it = hashes[one.graph].find({from, to});
      return it != hashes[one.graph].end() && classes.at(it->second).occurrences == one.occurrences;
    };
    if (occurs_as_often(left, end)) continue;
    if (right - start <= most && occurs_as_often(start, right)) continue;
    sorted.push_back(
        {-one.occurrences * (end - start), start - end,
         Row(one.graph, start, end, one.occurrences, {one.graphs.begin(), one.graphs.end()})});
  }
  std::sort(sorted.begin(), sorted.end());
  std::vector<Row> rows;
  for (const auto& [score, calls, row] : sorted) rows.push_back(row);
  return rows;
}

TEST(RecurringRangesTest, AreThoseOfBruteForce) {
  size_t rows = 0;
  for (uint64_t seed = 0; seed < 6 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<Sample> samples = MadeSamples(seed, 12);
    for (const auto& [least, most] : {std::pair{2, 64}, {1, 3}, {3, 6}}) {
      SCOPED_TRACE(most);
      const std::vector<Row> slow = SlowRows(samples, least, most);
      rows += slow.size();
      // With little memory, fewer lengths are worked on at a time.
      for (const uint64_t bytes : {uint64_t{1} << 30, uint64_t{220} << 10}) {
        const auto found = Find(samples, {.least_calls = least,
                                          .most_calls = most,
                                          .limit = 100000,
                                          .max_bytes = bytes,
                                          .jobs = 2});
        ASSERT_OK(found);
        EXPECT_EQ(RowsOf(*found), slow);
        EXPECT_EQ(found->found, slow.size());
        EXPECT_EQ(found->cut_short, 0);
      }
    }
  }
  EXPECT_GT(rows, 200);
}

// A graph of calls in a row.
Sample Chain(const std::vector<std::string>& targets) {
  Sample sample;
  sample.module = std::make_unique<Module>();
  Graph* graph = sample.module->AddGraph("forward");
  Node* x = graph->Placeholder("x");
  for (const std::string& target : targets) x = graph->CallFunction(target, {x});
  graph->Output(Argument::Tuple({x}));
  return sample;
}

TEST(RecurringRangesTest, ListsTheLargestOnly) {
  std::vector<Sample> samples;
  samples.push_back(Chain({"torch.relu", "torch.tanh", "torch.relu", "torch.tanh", "torch.sum"}));
  const auto found = Find(samples, {});
  ASSERT_OK(found);
  EXPECT_THAT(RowsOf(*found), ElementsAre(Row(0, 0, 2, 2, {0})));
}

TEST(RecurringRangesTest, LimitsWhatItLists) {
  const std::vector<Sample> samples = MadeSamples(1, 12);
  const auto all = Find(samples, {.limit = 100000});
  const auto some = Find(samples, {.limit = 3});
  ASSERT_OK(all);
  ASSERT_OK(some);
  ASSERT_GT(all->ranges.size(), 3);
  EXPECT_EQ(some->found, all->ranges.size());
  std::vector<Row> first = RowsOf(*all);
  first.resize(3);
  EXPECT_EQ(RowsOf(*some), first);
  const auto none = Find({}, {});
  ASSERT_OK(none);
  EXPECT_THAT(none->ranges, IsEmpty());
}

TEST(RecurringRangesTest, RefusesOptionsWithoutSense) {
  for (const auto& [least, most] : {std::pair<int64_t, int64_t>{0, 2}, {3, 2}, {2, 5000}}) {
    EXPECT_THAT(Find({}, {.least_calls = least, .most_calls = most}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("a range has at least 1 call and at most 4096, and the least "
                                   "number comes first")));
  }
}

TEST(RecurringRangesTest, RefusesWhatHasNoRoom) {
  const std::vector<Sample> samples = MadeSamples(1, 12);
  for (const bool modules : {false, true}) {
    EXPECT_THAT(Find(samples, {.modules = modules, .max_bytes = 1000}),
                StatusIs(absl::StatusCode::kResourceExhausted,
                         HasSubstr("graphs take more than 1000 bytes; give more memory or "
                                   "fewer graphs")));
  }
  // Memory that is enough for the graphs may be too little for the search.
  size_t refused = 0;
  for (uint64_t bytes = 10000; bytes < 100000; bytes += 1000) {
    const auto found = Find(samples, {.max_bytes = bytes});
    if (found.ok()) continue;
    EXPECT_THAT(found, StatusIs(absl::StatusCode::kResourceExhausted));
    refused += absl::StrContains(found.status().message(), "the ranges of 12 graphs") ? 1 : 0;
  }
  EXPECT_GT(refused, 1);
}

TEST(RecurringRangesTest, RefusesAGraphThatIsWrong) {
  Sample sample;
  sample.module = std::make_unique<Module>();
  sample.module->AddGraph("forward");
  EXPECT_THAT(PrepareRanges(*sample.module, {}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("output")));
}

TEST(RecurringRangesTest, RefusesWordsThatAreFarLargerThanTheGraph) {
  Sample sample;
  sample.module = std::make_unique<Module>();
  Graph* graph = sample.module->AddGraph("forward");
  Node* x = graph->Placeholder("x");
  // Each list has the one before twice.
  std::vector<std::vector<Argument>> lists;
  lists.reserve(30);
  lists.push_back({1, 1});
  for (int i = 0; i < 22; ++i) {
    const Argument list = Argument::List(lists.back());
    lists.push_back({list, list});
  }
  Node* first = graph->CallFunction("torch.tensor", {Argument::List(lists.back())});
  for (int i = 0; i < 40; ++i) graph->CallFunction("torch.tensor", first->args());
  graph->Output(Argument::Tuple({x}));
  EXPECT_THAT(PrepareRanges(*sample.module, {}), StatusIs(absl::StatusCode::kResourceExhausted,
                                                          HasSubstr("far larger than the graph")));
}

TEST(RecurringRangesTest, CutsShortWhatTakesTooManyValues) {
  Sample sample;
  sample.module = std::make_unique<Module>();
  Graph* graph = sample.module->AddGraph("forward");
  std::vector<Argument> inputs;
  for (int i = 0; i < 10000; ++i) inputs.emplace_back(graph->Placeholder(absl::StrCat("x", i)));
  std::vector<Argument> made;
  for (int i = 0; i < 3; ++i) {
    made.emplace_back(graph->CallFunction("torch.relu", {inputs[0]}));
    made.emplace_back(graph->CallFunction("torch.tanh", {made.back()}));
    made.emplace_back(graph->CallFunction("torch.cat", {Argument::List(inputs)}));
  }
  graph->Output(Argument::Tuple(made));
  std::vector<Sample> samples;
  samples.push_back(std::move(sample));
  const auto found = Find(samples, {});
  ASSERT_OK(found);
  EXPECT_THAT(RowsOf(*found), ElementsAre(Row(0, 0, 2, 3, {0})));
  EXPECT_EQ(found->cut_short, 8);
}

// Two layers and a head, and operators of no module.
Sample Layers(absl::string_view head, absl::string_view layers = "layers") {
  Sample sample;
  sample.module = std::make_unique<Module>();
  Graph* graph = sample.module->AddGraph("forward");
  Node* x = graph->Placeholder("x");
  const auto call = [&](absl::string_view target, absl::string_view module) {
    x = graph->CallFunction(target, {x});
    x->set_module_path(module);
  };
  call("torch.sin", "");
  for (const int number : {0, 1}) {
    const std::string layer = absl::StrCat(layers, ".", number);
    call("torch.tanh", absl::StrCat(layer, ".norm"));
    call("torch.abs", absl::StrCat(layer, ".norm"));
    call("torch.relu", absl::StrCat(layer, ".act"));
  }
  call("torch.tanh", head);
  call("torch.abs", head);
  graph->Output(Argument::Tuple({x}));
  return sample;
}

TEST(RecurringRangesTest, FindsLayers) {
  std::vector<Sample> samples;
  samples.push_back(Layers("head"));
  const RecurringOptions options = {.modules = true, .least_calls = 1, .most_calls = 1 << 20};
  auto found = Find(samples, options);
  ASSERT_OK(found);
  // The norm of a layer occurs as the head, too. An activation is always in a layer.
  EXPECT_THAT(RowsOf(*found), ElementsAre(Row(0, 1, 4, 2, {0}), Row(0, 1, 3, 3, {0})));
  EXPECT_EQ(found->ranges[0].module, "layers.0");
  EXPECT_EQ(found->ranges[1].module, "layers.0.norm");
  samples.push_back(Layers("other.head"));
  found = Find(samples, options);
  ASSERT_OK(found);
  // Both layers together occur once in each graph.
  EXPECT_THAT(RowsOf(*found), ElementsAre(Row(0, 1, 7, 2, {0, 1}), Row(0, 1, 4, 4, {0, 1}),
                                          Row(0, 1, 3, 6, {0, 1})));
  EXPECT_EQ(found->ranges[0].module, "layers");
  // A path may begin with a point.
  samples.clear();
  samples.push_back(Layers("head", ".layers"));
  found = Find(samples, options);
  ASSERT_OK(found);
  EXPECT_THAT(RowsOf(*found), ElementsAre(Row(0, 1, 4, 2, {0}), Row(0, 1, 3, 3, {0})));
  EXPECT_EQ(found->ranges[0].module, ".layers.0");
}

}  // namespace
}  // namespace graphnet
