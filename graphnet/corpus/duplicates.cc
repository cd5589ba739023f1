#include "graphnet/corpus/duplicates.h"

#include "absl/container/flat_hash_map.h"
#include "graphnet/base/status.h"

namespace graphnet {
namespace {

template <typename Key>
std::vector<size_t> Firsts(absl::Span<const Key> keys) {
  absl::flat_hash_map<Key, size_t> first;
  std::vector<size_t> stays;
  stays.reserve(keys.size());
  for (size_t i = 0; i < keys.size(); ++i)
    stays.push_back(first.try_emplace(keys[i], i).first->second);
  return stays;
}

}  // namespace

std::vector<size_t> FirstOfEqual(absl::Span<const std::string> keys) { return Firsts(keys); }

absl::StatusOr<std::vector<size_t>> FirstOfAlike(absl::Span<const FeatureList> graphs,
                                                 double threshold) {
  std::vector<size_t> stays = Firsts(graphs);
  // Pairs of equal lists would be as many as the square of their number.
  std::vector<FeatureList> lists;
  std::vector<size_t> places;  // by list: the first graph that has it
  for (size_t i = 0; i < graphs.size(); ++i) {
    if (stays[i] != i) continue;
    lists.push_back(graphs[i]);
    places.push_back(i);
  }
  ASSIGN_OR_RETURN(const std::vector<NearPair> pairs, NearPairs(lists, threshold));
  std::vector<size_t> first(lists.size());
  for (size_t i = 0; i < first.size(); ++i) first[i] = i;
  for (const NearPair& pair : pairs) {  // those of the first list first
    const auto a = static_cast<size_t>(pair.a), b = static_cast<size_t>(pair.b);
    if (first[a] == a && first[b] == b) first[b] = a;
  }
  absl::flat_hash_map<size_t, size_t> of_graph;  // what stays for the first graph of a list
  for (size_t i = 0; i < lists.size(); ++i) of_graph[places[i]] = places[first[i]];
  for (size_t& stay : stays) stay = of_graph[stay];
  return stays;
}

}  // namespace graphnet
