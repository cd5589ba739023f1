#include "graphnet/identity/pair_nodes.h"

#include <algorithm>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/identity/diff.h"
#include "graphnet/identity/normal_form.h"
#include "graphnet/ir/graph.h"

namespace graphnet {
namespace {

absl::flat_hash_map<absl::string_view, const Node*> CallsOf(const Module& module) {
  absl::flat_hash_map<absl::string_view, const Node*> calls;
  for (const Node* node : module.main()->nodes()) {
    if (node->is_call()) calls[node->name()] = node;
  }
  return calls;
}

}  // namespace

NodePairs PairNodes(const Module& a, const Module& b) {
  NodePairs pairs;
  if (a.main() == nullptr || b.main() == nullptr) return pairs;
  const absl::StatusOr<std::unique_ptr<Module>> normal_a = NormalForm(a);
  const absl::StatusOr<std::unique_ptr<Module>> normal_b = NormalForm(b);
  const bool are_normal = normal_a.ok() && normal_b.ok();
  const Module& form_a = are_normal ? **normal_a : a;
  const Module& form_b = are_normal ? **normal_b : b;
  // The normal form keeps the names of the calls that it keeps.
  const auto calls_of_a = CallsOf(a);
  const auto calls_of_b = CallsOf(b);
  absl::flat_hash_set<const Node*> taken;
  const GraphDiff diff = DiffModules(form_a, form_b);
  for (const auto& [of_a, of_b] : diff.pairs) {
    if (of_a->graph() != form_a.main() || of_b->graph() != form_b.main()) continue;
    const auto first = calls_of_a.find(of_a->name());
    const auto second = calls_of_b.find(of_b->name());
    if (first == calls_of_a.end() || second == calls_of_b.end()) continue;
    if (!taken.insert(first->second).second || !taken.insert(second->second).second) continue;
    pairs.push_back({first->second, second->second});
  }
  absl::flat_hash_map<const Node*, size_t> place;
  for (const Node* node : b.main()->nodes()) place[node] = place.size();
  std::sort(pairs.begin(), pairs.end(),
            [&](const auto& x, const auto& y) { return place.at(x.second) < place.at(y.second); });
  return pairs;
}

}  // namespace graphnet
