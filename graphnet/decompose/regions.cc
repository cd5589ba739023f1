#include "graphnet/decompose/regions.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/memory/memory_use.h"
#include "graphnet/ops/callable.h"

namespace graphnet {
namespace {

using Bracket = Schema::Bracket;

}  // namespace

int64_t NumOperators(const Graph& graph) {
  int64_t n = 0;
  for (const Node* node : graph.nodes()) n += IsOperator(*node) ? 1 : 0;
  return n;
}

Regions::Regions(const GraphIndex& index) {
  AddBrackets(index);
  AddTuples(index);
  std::sort(regions_.begin(), regions_.end(), [](const Region& a, const Region& b) {
    return a.first != b.first ? a.first < b.first : a.last > b.last;
  });
  int64_t last = -1;
  std::erase_if(regions_, [&](const Region& region) {
    if (region.last <= last) return true;
    last = region.last;
    return false;
  });
}

void Regions::AddBrackets(const GraphIndex& index) {
  size_t vmaps = 0, autocasts = 0;  // numbers of open regions
  Region region;
  const int64_t n = index.num_operators();
  for (int64_t position = 0; position < n; ++position) {
    const Node* node = index.node(index.operator_node(position));
    const Bracket bracket = CalleeOf(*node).bracket();
    if (bracket == Bracket::kNone) continue;
    size_t& open =
        bracket == Bracket::kVmapOpen || bracket == Bracket::kVmapClose ? vmaps : autocasts;
    if (bracket == Bracket::kVmapOpen || bracket == Bracket::kAutocastOpen) {
      if (vmaps + autocasts == 0) region = {position, 0, node, false};
      ++open;
    } else if (open > 0) {
      --open;
      if (vmaps + autocasts > 0) continue;
      region.last = position;
      regions_.push_back(region);
    }
  }
  if (vmaps + autocasts > 0) {
    region.last = n - 1;
    regions_.push_back(region);
  }
}

void Regions::AddTuples(const GraphIndex& index) {
  for (int64_t position = 0; position < index.num_operators(); ++position) {
    const size_t i = index.operator_node(position);
    // The output counts like any other user of a tuple: the last piece must make the tuple.
    const int64_t last = index.operator_of(index.last_use(i));
    if (last <= position || !YieldsTuple(*index.node(i))) continue;
    regions_.push_back({position, std::min(last, index.num_operators() - 1), index.node(i), true});
  }
}

// Returns the first region that lasts up to `position` or longer.
const Regions::Region* Regions::Find(int64_t position) const {
  const auto it = std::lower_bound(regions_.begin(), regions_.end(), position,
                                   [](const Region& r, int64_t p) { return r.last < p; });
  return it != regions_.end() && it->first < position ? &*it : nullptr;
}

const Node* Regions::OpenAt(int64_t position) const {
  const Region* region = Find(position);
  return region == nullptr ? nullptr : region->opener;
}

std::string Regions::WhyNot(int64_t position) const {
  const Region* region = Find(position);
  if (region == nullptr) return "";
  const Node& opener = *region->opener;
  return region->is_tuple
             ? absl::StrCat("parts the tuple that ", Printable(opener.name()), " (",
                            Printable(opener.target()), ") yields from an operator that takes it")
             : absl::StrCat("goes through the region that ", Printable(opener.name()), " (",
                            Printable(opener.target()), ") opens");
}

int64_t Regions::NextCut(int64_t position) const {
  // If a region opens right where another one closes, the cut between the two is allowed. Regions
  // that overlap leave no such place, so the search goes on.
  for (const Region* region = Find(position); region != nullptr; region = Find(position)) {
    position = region->last + 1;
  }
  return position;
}

std::vector<int64_t> AllowedCuts(std::vector<int64_t> cuts, const Regions& regions,
                                 int64_t num_operators) {
  std::sort(cuts.begin(), cuts.end());
  std::vector<int64_t> allowed;
  for (int64_t cut : cuts) {
    cut = regions.NextCut(cut);
    if (cut > (allowed.empty() ? 0 : allowed.back()) && cut < num_operators) allowed.push_back(cut);
  }
  return allowed;
}

}  // namespace graphnet
