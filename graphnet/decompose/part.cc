#include "graphnet/decompose/part.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "graphnet/base/near_miss.h"
#include "graphnet/base/status.h"
#include "graphnet/decompose/gather.h"
#include "graphnet/decompose/graph_index.h"
#include "graphnet/decompose/regions.h"
#include "graphnet/decompose/schemes.h"

namespace graphnet {
namespace {

// Makes the nodes that option `flag` names adjacent and returns their range.
absl::StatusOr<Part> Gather(absl::Span<Node* const> nodes, absl::string_view flag) {
  const GraphIndex before(*nodes.front()->graph());
  std::vector<int64_t> numbers;
  for (const Node* node : nodes) numbers.push_back(before.operator_of(before.IndexOf(node)));
  absl::StatusOr<Range> range = GatherNodes(nodes);
  if (!range.ok()) return Annotate(range.status(), flag);
  return Part{*range, absl::c_any_of(
                          numbers, [&](int64_t k) { return k < range->start || k >= range->end; })};
}

absl::StatusOr<Part> NodesOf(absl::string_view list, Graph* graph) {
  std::vector<Node*> nodes;
  for (const absl::string_view name : absl::StrSplit(list, ',', absl::SkipEmpty())) {
    nodes.push_back(graph->FindNode(name));
    if (nodes.back() != nullptr) continue;
    std::vector<absl::string_view> all;
    for (const Node* node : graph->nodes()) all.push_back(node->name());
    return absl::NotFoundError(
        absl::StrCat("--nodes: the graph has no value ", Printable(name), NearMissHint(name, all)));
  }
  if (nodes.empty()) return absl::InvalidArgumentError("--nodes: names no value");
  return Gather(nodes, "--nodes");
}

}  // namespace

absl::StatusOr<Part> FindPart(const PartFlags& flags, Graph* graph) {
  if (!flags.nodes.empty()) return NodesOf(flags.nodes, graph);
  if (!flags.module.empty()) {
    ASSIGN_OR_RETURN(const std::vector<Node*> nodes,
                     NodesOfModule(flags.module, GraphIndex(*graph)));
    absl::StatusOr<Part> part = Gather(nodes, absl::StrCat("--module ", Printable(flags.module)));
    if (part.ok() || !absl::IsFailedPrecondition(part.status())) return part;
    return absl::FailedPreconditionError(absl::StrCat(
        part.status().message(),
        "; if a module is called in several places, choose one with --nodes or --range"));
  }
  const bool by_values = !flags.values.empty();
  const std::vector<std::string> sides =
      absl::StrSplit(by_values ? flags.values : flags.range, ':');
  if (by_values) {
    if (sides.size() != 2 || sides[1].empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--by-value: ", Printable(flags.values), " is not INPUTS:OUTPUTS"));
    }
    const std::vector<std::string> inputs = absl::StrSplit(sides[0], ',', absl::SkipEmpty());
    const std::vector<std::string> outputs = absl::StrSplit(sides[1], ',', absl::SkipEmpty());
    const GraphIndex index(*graph);
    ASSIGN_OR_RETURN(const Range between, RangeOfValues(inputs, outputs, index, Regions(index)));
    return Part{between};
  }
  Range range;
  if (sides.size() != 2 || !absl::SimpleAtoi(sides[0], &range.start) ||
      !absl::SimpleAtoi(sides[1], &range.end) || range.start >= range.end) {
    return absl::InvalidArgumentError(absl::StrCat("--range: ", Printable(flags.range),
                                                   " is not START:END with START below END"));
  }
  return Part{range};
}

}  // namespace graphnet
