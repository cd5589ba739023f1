#include "graphnet/decompose/schemes.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "graphnet/base/near_miss.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/module_path.h"

namespace graphnet {
namespace {

absl::string_view FirstComponents(absl::string_view path, int depth) {
  size_t end = 0;
  for (int i = 0; i < depth && end != absl::string_view::npos; ++i)
    end = path.find('.', end == 0 ? 0 : end + 1);
  return path.substr(0, end);
}

std::string PathOfOperator(const GraphIndex& index, size_t i) {
  const Node& node = *index.node(i);
  if (!node.module_path().empty()) return std::string(node.module_path());
  for (const uint32_t o : index.operands(i)) {
    const Node& operand = *index.node(o);
    if (!operand.is_placeholder() && operand.op() != Op::kGetAttr) continue;
    std::string path = ModulePathOfParameter(operand.target());
    if (!path.empty()) return path;
  }
  return "";
}

absl::Status CheckEnds(const Range& range, const Regions& regions) {
  for (const int64_t cut : {range.start, range.end}) {
    if (regions.OpenAt(cut) == nullptr) continue;
    return absl::FailedPreconditionError(absl::StrCat("cut ", cut, " ", regions.WhyNot(cut)));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<int64_t> CutsEvery(int64_t size, const Regions& regions, int64_t num_operators) {
  std::vector<int64_t> cuts;
  for (int64_t cut = size; cut < num_operators; cut += size) {
    cuts.push_back(cut);
    if (num_operators - cut <= size) break;  // This also prevents overflow of cut + size.
  }
  return AllowedCuts(std::move(cuts), regions, num_operators);
}

std::vector<std::string> ModulePaths(const GraphIndex& index) {
  std::vector<std::string> paths;
  for (int64_t k = 0; k < index.num_operators(); ++k) {
    std::string path = PathOfOperator(index, index.operator_node(k));
    if (path.empty() && k > 0) path = paths.back();
    paths.push_back(std::move(path));
  }
  return paths;
}

absl::StatusOr<std::vector<int64_t>> ModuleCuts(int depth, const GraphIndex& index,
                                                const Regions& regions) {
  const std::vector<std::string> paths = ModulePaths(index);
  std::vector<int64_t> cuts;
  absl::string_view current;
  bool any = false;
  for (size_t k = 0; k < paths.size(); ++k) {
    if (paths[k].empty()) continue;
    const absl::string_view prefix = FirstComponents(paths[k], depth);
    if (any && prefix != current) cuts.push_back(static_cast<int64_t>(k));
    any = true;
    current = prefix;
  }
  if (!any) {
    return absl::FailedPreconditionError(
        "no operator has a module path, its own or that of a parameter it takes");
  }
  return AllowedCuts(std::move(cuts), regions, index.num_operators());
}

absl::StatusOr<Range> RangeOfValues(absl::Span<const std::string> inputs,
                                    absl::Span<const std::string> outputs, const GraphIndex& index,
                                    const Regions& regions) {
  absl::flat_hash_map<absl::string_view, size_t> by_name;
  for (size_t i = 0; i < index.size(); ++i) by_name.emplace(index.node(i)->name(), i);
  const auto mark = [&](absl::Span<const std::string> names,
                        std::vector<bool>* marks) -> absl::Status {
    for (const std::string& name : names) {
      const auto it = by_name.find(absl::StripPrefix(name, "%"));
      if (it == by_name.end())
        return absl::NotFoundError(absl::StrCat("the graph has no value ", Printable(name)));
      (*marks)[it->second] = true;
    }
    return absl::OkStatus();
  };
  // `after` marks nodes that depend on the inputs, `wanted` those that the outputs depend on.
  std::vector<bool> given(index.size());
  std::vector<bool> wanted(index.size());
  RETURN_IF_ERROR(mark(inputs, &given));
  RETURN_IF_ERROR(mark(outputs, &wanted));
  std::vector<bool> after(index.size(), inputs.empty());
  for (size_t i = 0; i < index.size(); ++i) {
    for (const uint32_t o : index.operands(i)) after[i] = after[i] || given[o] || after[o];
  }
  Range range = {index.num_operators(), 0};
  for (size_t i = index.size(); i-- > index.operator_node(0);) {
    if (!wanted[i] || given[i]) continue;
    for (const uint32_t o : index.operands(i)) wanted[o] = true;
    if (!after[i] || i == index.output()) continue;
    const int64_t k = index.operator_of(i);
    range.start = std::min(range.start, k);
    range.end = std::max(range.end, k + 1);
  }
  if (range.end == 0) {
    return absl::FailedPreconditionError("no operator lies between the inputs and the outputs");
  }
  RETURN_IF_ERROR(CheckEnds(range, regions));
  return range;
}

absl::StatusOr<std::vector<Node*>> NodesOfModule(absl::string_view path, const GraphIndex& index) {
  std::vector<Node*> nodes;
  const std::vector<std::string> path_of = ModulePaths(index);
  absl::btree_set<std::string> paths;
  for (int64_t k = 0; k < index.num_operators(); ++k) {
    Node* const node = index.node(index.operator_node(k));
    const absl::string_view current = path_of[static_cast<size_t>(k)];
    // Adds the path and those of all enclosing modules.
    absl::string_view module = current;
    while (!module.empty() && paths.emplace(module).second)
      module = module.substr(0, module.find('.') == module.npos ? 0 : module.rfind('.'));
    absl::string_view below = current;
    if (!absl::ConsumePrefix(&below, path) || !(below.empty() || below[0] == '.')) continue;
    nodes.push_back(node);
  }
  if (nodes.empty() || path.empty()) {
    const std::vector<absl::string_view> all(paths.begin(), paths.end());
    return absl::NotFoundError(absl::StrCat("no operator belongs to the module ", Printable(path),
                                            NearMissHint(path, all)));
  }
  return nodes;
}

}  // namespace graphnet
