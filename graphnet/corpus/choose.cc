#include "graphnet/corpus/choose.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/corpus/calls.h"
#include "graphnet/corpus/keys.h"
#include "graphnet/decompose/graph_index.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/passes/call_meaning.h"

namespace graphnet {
namespace {

using corpus_internal::Mix;
using corpus_internal::NameKey;
using corpus_internal::StableHash;

constexpr double kAddedToCounts = 0.001;

// The names of targets, each made once.
class TargetNames {
 public:
  const std::string& operator()(const Node& node) {
    // Modules own one copy of each target.
    const auto [it, is_new] = names_.try_emplace({node.op(), node.target().data()});
    if (is_new) {
      const bool is_named = node.op() == Op::kCallFunction || node.op() == Op::kCallMethod;
      it->second = NameKey(is_named ? MeaningOf(node.op(), node.target()).name : node.target());
    }
    return it->second;
  }

 private:
  absl::flat_hash_map<std::pair<Op, const char*>, std::string> names_;
};

// Returns floor(log2(size) / 4), and -1 for a size that is unknown or 0.
int64_t SizeClass(const Module& module, const Dim& dim) {
  const int64_t size =
      dim.is_static() ? dim.value : EvaluateWithExamples(module, *dim.expr).value_or(0);
  if (size <= 0) return -1;
  return (static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(size))) - 1) / 4;
}

void AddInputs(const Module& module, ChoiceFacts* facts) {
  facts->input_sizes = facts->input_dtypes = 1;
  for (const Node* input : module.main()->placeholders()) {
    const TensorMeta* meta = input->tensor_meta();
    if (meta == nullptr) continue;
    facts->input_dtypes = Mix(facts->input_dtypes, StableHash(DTypeName(meta->dtype)));
    facts->input_sizes = Mix(facts->input_sizes, meta->shape.size() + 1);
    for (const Dim& dim : meta->shape)
      facts->input_sizes =
          Mix(facts->input_sizes, static_cast<uint64_t>(SizeClass(module, dim) + 2));
  }
}

absl::Status AddKinds(const Module& module, ChoiceFacts* facts) {
  ASSIGN_OR_RETURN(const std::vector<CallKind> kinds, AllCallKindsOf(module));
  for (const CallKind& kind : kinds) {
    facts->kinds.push_back(StableHash(absl::StrCat(kind.target, "\n", static_cast<int>(kind.dtype),
                                                   "\n", kind.rank, "\n", kind.user)));
  }
  absl::c_sort(facts->kinds);
  facts->kinds.erase(std::unique(facts->kinds.begin(), facts->kinds.end()), facts->kinds.end());
  return absl::OkStatus();
}

// Numbers things from 0 in the order in which they come.
class Numbers {
 public:
  uint32_t operator()(uint64_t thing) {
    return numbers_.try_emplace(thing, static_cast<uint32_t>(numbers_.size())).first->second;
  }
  size_t size() const { return numbers_.size(); }

 private:
  absl::flat_hash_map<uint64_t, uint32_t> numbers_;
};

// Returns the place of each graph in the order of the seed.
std::vector<size_t> PlacesOf(absl::Span<const ChoiceFacts> graphs, uint64_t seed) {
  std::vector<std::pair<uint64_t, size_t>> order;
  for (size_t i = 0; i < graphs.size(); ++i)
    order.push_back({Mix(Mix(StableHash("choose"), seed), StableHash(graphs[i].id)), i});
  absl::c_sort(order, [&](const auto& a, const auto& b) {
    return std::tie(a.first, graphs[a.second].id, a.second) <
           std::tie(b.first, graphs[b.second].id, b.second);
  });
  std::vector<size_t> places(graphs.size());
  for (size_t place = 0; place < order.size(); ++place) places[order[place].second] = place;
  return places;
}

// The items of each graph, without repetitions, and how much a new one counts.
struct Sets {
  std::vector<std::vector<uint32_t>> items;
  std::vector<double> factors;
  size_t num_items = 0;
};

// Chooses greedily. What a graph adds only falls as others are chosen, so a graph need not be counted
// again before it is the best (lazy greedy).
class Greedy {
 public:
  Greedy(const Sets& sets, absl::Span<const ChoiceFacts> graphs, const ChoiceOptions& options)
      : sets_(sets),
        options_(options),
        places_(PlacesOf(graphs, options.seed)),
        is_taken_(graphs.size()),
        is_covered_(sets.num_items),
        ever_covered_(sets.num_items) {}

  Choice Run() {
    for (const size_t i : options_.start) Take(i);
    const size_t at_first = AtMost();
    Begin();
    while (choice_.chosen.size() < options_.count && !queue_.empty()) {
      Candidate best = queue_.top();
      queue_.pop();
      const size_t adds = Adds(best.graph);
      if (adds != best.adds) {  // It adds less than when it was counted.
        queue_.push(CandidateOf(best.graph, adds));
        continue;
      }
      if (adds == 0 && !is_covered_.empty() && num_covered_ > 0) {
        if (!is_first_round_ && num_covered_in_round_ == 0) {
          // Nothing that is left has any item.
          choice_.chosen.push_back(best.graph);
          is_taken_[best.graph] = true;
          continue;
        }
        // All is covered. It is to be covered once more.
        is_first_round_ = false;
        is_covered_.assign(is_covered_.size(), false);
        num_covered_in_round_ = 0;
        Begin();
        continue;
      }
      choice_.chosen.push_back(best.graph);
      Take(best.graph);
    }
    choice_.items = sets_.num_items;
    choice_.covered = num_covered_;
    choice_.at_most = is_first_round_ ? std::min({sets_.num_items, at_first, AtMost()})
                                      : std::min(sets_.num_items, at_first);
    return std::move(choice_);
  }

 private:
  struct Candidate {
    double gain = 0;
    size_t adds = 0;
    double factor = 0;
    size_t place = 0;
    size_t graph = 0;

    friend bool operator<(const Candidate& a, const Candidate& b) {
      return std::tie(a.gain, a.adds, a.factor, b.place) <
             std::tie(b.gain, b.adds, b.factor, a.place);
    }
  };

  Candidate CandidateOf(size_t graph, size_t adds) const {
    const double factor = sets_.factors[graph];
    return {static_cast<double>(adds) * factor, adds, factor, places_[graph], graph};
  }

  size_t Adds(size_t graph) const {
    return static_cast<size_t>(
        absl::c_count_if(sets_.items[graph], [&](uint32_t item) { return !is_covered_[item]; }));
  }

  // Counts all graphs that are not taken.
  void Begin() {
    std::vector<Candidate> all;
    for (size_t i = 0; i < is_taken_.size(); ++i) {
      if (!is_taken_[i]) all.push_back(CandidateOf(i, Adds(i)));
    }
    queue_ = std::priority_queue<Candidate>(std::less<Candidate>(), std::move(all));
  }

  void Take(size_t graph) {
    is_taken_[graph] = true;
    for (const uint32_t item : sets_.items[graph]) {
      num_covered_in_round_ += is_covered_[item] ? 0 : 1;
      is_covered_[item] = true;
      num_covered_ += ever_covered_[item] ? 0 : 1;
      ever_covered_[item] = true;
    }
  }

  // Returns how much `count` graphs can cover together with those that are taken now: no more than what
  // is covered and what the best ones add each by itself. So no more without those, either.
  size_t AtMost() const {
    std::vector<size_t> adds;
    for (size_t i = 0; i < is_taken_.size(); ++i) {
      if (!is_taken_[i]) adds.push_back(Adds(i));
    }
    absl::c_sort(adds, std::greater<>());
    adds.resize(std::min(adds.size(), options_.count));
    return std::accumulate(adds.begin(), adds.end(), num_covered_);
  }

  const Sets& sets_;
  const ChoiceOptions& options_;
  const std::vector<size_t> places_;
  std::vector<bool> is_taken_;
  std::vector<bool> is_covered_;    // in this round
  std::vector<bool> ever_covered_;  // in any
  size_t num_covered_in_round_ = 0;
  size_t num_covered_ = 0;
  bool is_first_round_ = true;
  std::priority_queue<Candidate> queue_;
  Choice choice_;
};

// The pairs of operators that follow each other in a graph, numbered, with repetitions.
struct Pairs {
  std::vector<std::vector<uint32_t>> of_graph;
  std::vector<uint32_t> first;  // by pair: its first operator
  std::vector<double> counts;   // by pair
  std::vector<double> sums;     // by first operator: of the counts of its pairs
  size_t num_operators = 0;
};

Pairs PairsIn(absl::Span<const ChoiceFacts> graphs) {
  Pairs pairs;
  Numbers operators, numbers;
  for (const ChoiceFacts& graph : graphs) {
    std::vector<uint32_t>& own = pairs.of_graph.emplace_back();
    for (size_t k = 0; k < graph.operators.size(); ++k) {
      const uint32_t second = operators(graph.operators[k]);
      if (k == 0) continue;
      const uint32_t first = operators(graph.operators[k - 1]);
      const uint32_t pair = numbers(uint64_t{first} << 32 | second);
      if (pair == pairs.first.size()) {
        pairs.first.push_back(first);
        pairs.counts.push_back(0);
      }
      if (pairs.sums.size() <= first) pairs.sums.resize(first + 1, 0);
      ++pairs.counts[pair];
      ++pairs.sums[first];
      own.push_back(pair);
    }
  }
  pairs.num_operators = operators.size();
  return pairs;
}

std::vector<double> RaritiesOf(const Pairs& pairs) {
  std::vector<double> surprise;  // by pair: -log p
  for (size_t pair = 0; pair < pairs.first.size(); ++pair) {
    const double all =
        pairs.sums[pairs.first[pair]] + kAddedToCounts * static_cast<double>(pairs.num_operators);
    surprise.push_back(-std::log((pairs.counts[pair] + kAddedToCounts) / all));
  }
  std::vector<double> rarities;
  for (const std::vector<uint32_t>& own : pairs.of_graph) {
    double sum = 0;
    for (const uint32_t pair : own) sum += surprise[pair];
    rarities.push_back(own.empty() ? 0 : sum / static_cast<double>(own.size()));
  }
  return rarities;
}

void SortWithoutRepetitions(std::vector<uint32_t>* list) {
  absl::c_sort(*list);
  list->erase(std::unique(list->begin(), list->end()), list->end());
}

// Graphs of one bucket, in the order of the seed.
struct Bucket {
  std::vector<size_t> graphs;
  bool is_taken = false;  // The start has a graph of it.
};

}  // namespace

std::vector<std::string> OperatorNames(const Module& module) {
  TargetNames names;
  std::vector<std::string> all;
  for (const Node* node : module.main()->nodes()) {
    if (IsOperator(*node)) all.push_back(names(*node));
  }
  return all;
}

absl::StatusOr<ChoiceFacts> ChoiceFactsOf(const Module& module, ChoiceWay way) {
  ChoiceFacts facts;
  if (module.main() == nullptr) return facts;
  if (way == ChoiceWay::kCoverage) {
    RETURN_IF_ERROR(AddKinds(module, &facts));
    return facts;
  }
  for (const std::string& name : OperatorNames(module)) facts.operators.push_back(StableHash(name));
  if (way == ChoiceWay::kBuckets) AddInputs(module, &facts);
  return facts;
}

Choice ChooseByCoverage(absl::Span<const ChoiceFacts> graphs, const ChoiceOptions& options) {
  Numbers numbers;
  Sets sets;
  for (const ChoiceFacts& graph : graphs) {
    std::vector<uint32_t>& items = sets.items.emplace_back();
    for (const uint64_t kind : graph.kinds) items.push_back(numbers(kind));
  }
  sets.factors.assign(graphs.size(), 1);
  sets.num_items = numbers.size();
  return Greedy(sets, graphs, options).Run();
}

Choice ChooseByRarity(absl::Span<const ChoiceFacts> graphs, const ChoiceOptions& options) {
  Pairs pairs = PairsIn(graphs);
  Sets sets;
  sets.factors = RaritiesOf(pairs);
  if (!sets.factors.empty()) {
    const auto [low, high] = std::minmax_element(sets.factors.begin(), sets.factors.end());
    const double least = *low, range = *high - *low;
    for (double& factor : sets.factors)
      factor = 1 + options.weight * (range > 0 ? (factor - least) / range : 0);
  }
  sets.items = std::move(pairs.of_graph);
  for (std::vector<uint32_t>& items : sets.items) SortWithoutRepetitions(&items);
  sets.num_items = pairs.first.size();
  return Greedy(sets, graphs, options).Run();
}

std::vector<double> Rarities(absl::Span<const ChoiceFacts> graphs) {
  return RaritiesOf(PairsIn(graphs));
}

Choice ChooseByBuckets(absl::Span<const ChoiceFacts> graphs, const ChoiceOptions& options) {
  const std::vector<size_t> places = PlacesOf(graphs, options.seed);
  std::vector<size_t> order(graphs.size());
  for (size_t i = 0; i < places.size(); ++i) order[places[i]] = i;
  const absl::flat_hash_set<size_t> start(options.start.begin(), options.start.end());
  // Sequences, and buckets of a sequence, in the order of their first graph.
  absl::flat_hash_map<uint64_t, size_t> sequence_of;
  absl::flat_hash_map<uint64_t, std::pair<size_t, size_t>> bucket_of;
  std::vector<std::vector<Bucket>> sequences;
  Choice choice;
  for (const size_t i : order) {
    uint64_t sequence = graphs[i].operators.size();
    for (const uint64_t name : graphs[i].operators) sequence = Mix(sequence, name);
    const uint64_t key = Mix(sequence, Mix(graphs[i].input_sizes, graphs[i].input_dtypes));
    const size_t s = sequence_of.try_emplace(sequence, sequences.size()).first->second;
    if (s == sequences.size()) sequences.emplace_back();
    const auto [it, is_new] = bucket_of.try_emplace(key, s, sequences[s].size());
    if (is_new) sequences[s].emplace_back();
    Bucket& bucket = sequences[s][it->second.second];
    if (start.contains(i)) {
      choice.covered += bucket.is_taken ? 0 : 1;
      bucket.is_taken = true;
    } else {
      bucket.graphs.push_back(i);
    }
  }
  choice.items = bucket_of.size();
  const auto take = [&](size_t i) {
    if (choice.chosen.size() < options.count) choice.chosen.push_back(i);
  };
  size_t most = 0;
  for (const std::vector<Bucket>& buckets : sequences) most = std::max(most, buckets.size());
  for (size_t turn = 0; turn < most; ++turn) {
    for (std::vector<Bucket>& buckets : sequences) {
      if (turn >= buckets.size() || buckets[turn].is_taken) continue;
      if (choice.chosen.size() == options.count) break;
      choice.covered += 1;
      take(buckets[turn].graphs[0]);
    }
  }
  const size_t every = std::max<size_t>(options.every, 1);
  for (size_t k = every; k < graphs.size() && choice.chosen.size() < options.count; k += every) {
    bool any = false;
    for (const std::vector<Bucket>& buckets : sequences) {
      for (const Bucket& bucket : buckets) {
        if (k >= bucket.graphs.size()) continue;
        any = true;
        take(bucket.graphs[k]);
      }
    }
    if (!any) break;
  }
  return choice;
}

Choice Choose(ChoiceWay way, absl::Span<const ChoiceFacts> graphs, const ChoiceOptions& options) {
  switch (way) {
    case ChoiceWay::kCoverage: return ChooseByCoverage(graphs, options);
    case ChoiceWay::kRarity: return ChooseByRarity(graphs, options);
    case ChoiceWay::kBuckets: return ChooseByBuckets(graphs, options);
  }
  return {};
}

}  // namespace graphnet
