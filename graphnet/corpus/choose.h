// Chooses few of many graphs that stand for all.
//
//   std::vector<ChoiceFacts> facts;  // of each graph, by ChoiceFactsOf
//   const Choice choice = ChooseByCoverage(facts, {.count = 100, .seed = 1});
//   for (const size_t i : choice.chosen) std::cout << facts[i].id << "\n";
//
// The choice depends on the facts, the ids and the options alone, not on the order of the graphs.
// docs/datasets.md explains the ways.
#ifndef GRAPHNET_CORPUS_CHOOSE_H_
#define GRAPHNET_CORPUS_CHOOSE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// How graphs are chosen.
enum class ChoiceWay { kCoverage, kRarity, kBuckets };

// The facts about a graph that a choice needs. Names and kinds are numbers that are the same on all machines.
struct ChoiceFacts {
  std::string id;  // tells graphs apart and, with the seed, which of equally good ones is taken

  // For kCoverage, rising and each once: the kinds of calls (operator, dtype, rank), and these with an
  // operator that takes the value.
  std::vector<uint64_t> kinds;
  // For kRarity and kBuckets: the operators of the main graph in their order, by their meaning.
  std::vector<uint64_t> operators;
  // For kBuckets: of each input that is a tensor, floor(log2(size) / 4) of each dimension, and the
  // dtype.
  uint64_t input_sizes = 0;
  uint64_t input_dtypes = 0;
};

// Returns the facts that one way needs. The module must verify. Symbolic sizes count as their
// examples. The errors are those of CallKindsOf.
absl::StatusOr<ChoiceFacts> ChoiceFactsOf(const Module& module, ChoiceWay way);

// Returns the names of the operators of the main graph in their order (IsOperator in
// decompose/graph_index.h): the meaning of a call of a function or method ("add" for x + y), the target
// of anything else. They are keys of a corpus (CorpusRow::targets).
std::vector<std::string> OperatorNames(const Module& module);

struct ChoiceOptions {
  size_t count = 0;  // how many graphs are chosen, if there are so many
  uint64_t seed = 0;
  std::vector<size_t> start = {};  // graphs that are chosen already; they do not count
  double weight = 1;               // of rarity
  size_t every = 16;               // which graphs of a bucket behind its head are taken
};

struct Choice {
  std::vector<size_t> chosen;  // in the order in which they were chosen
  // Kinds, pairs of operators, or buckets: how many all graphs have, and how many those that are chosen,
  // with those of the start, have.
  size_t items = 0;
  size_t covered = 0;
  // With kCoverage, no choice of as many graphs, beside the start, covers more than this.
  size_t at_most = 0;
};

// Takes the graph that adds most kinds, again and again. If none adds any, all kinds count as new once
// more, so that graphs that come later cover them again. Of n graphs, those that are taken cover at
// least 1 - 1/e of what n graphs can cover. O(kinds · log(graphs)) as a rule.
Choice ChooseByCoverage(absl::Span<const ChoiceFacts> graphs, const ChoiceOptions& options);

// Takes the graph with the largest gain, again and again: the number of pairs of operators, one behind
// the other, that no chosen graph has, times 1 + weight · rarity. The rarity of a graph is the mean of
// -log p of its pairs, scaled so that the graphs have 0 to 1. p is the share of the pair among those
// with the same first operator, with 0.001 added to each count (Laplace).
Choice ChooseByRarity(absl::Span<const ChoiceFacts> graphs, const ChoiceOptions& options);
// Returns the rarities, before they are scaled.
std::vector<double> Rarities(absl::Span<const ChoiceFacts> graphs);

// Graphs of one sequence of operators, with inputs of the same sizes and dtypes, are a bucket. Takes the
// first graph of one bucket of each sequence, then of a second bucket of each, and so on; and then each
// `every`-th of all buckets. Fewer than asked for are chosen if that is all.
Choice ChooseByBuckets(absl::Span<const ChoiceFacts> graphs, const ChoiceOptions& options);

// Calls the function of a way.
Choice Choose(ChoiceWay way, absl::Span<const ChoiceFacts> graphs, const ChoiceOptions& options);

}  // namespace graphnet

#endif  // GRAPHNET_CORPUS_CHOOSE_H_
