#include "graphnet/extract/compiled_subgraph.h"

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/memory/effects.h"

namespace graphnet {
namespace {

using Numbers = absl::flat_hash_set<int64_t>;  // of tensors of a manifest

bool IsInput(const Node& node) { return node.is_placeholder() || node.op() == Op::kGetAttr; }

std::string Percent(const Node& node) { return absl::StrCat("%", Printable(node.name())); }

void AddTensors(const ValueTree& tree, Numbers* numbers) {
  if (tree.kind == ValueTree::Kind::kTensor) numbers->insert(tree.number);
  for (const ValueTree& element : tree.elements) AddTensors(element, numbers);
}

// Returns true if the operands may be written to, by the operation or after the run.
bool LetsEscape(const StitchStep& step) {
  switch (step.reason) {
    case BreakReason::kAttributeAssigned:
    case BreakReason::kAttributeMutated:
    case BreakReason::kSideEffect:
    case BreakReason::kCustomOperator:
    case BreakReason::kCustomClass: return true;
    default: return absl::EndsWith(step.op, "_");  // aten::add_
  }
}

// The effects of a graph's calls, and the groups of values that may share memory.
class Subgraph {
 public:
  explicit Subgraph(const Module& module)
      : graph_(*module.main()), effects_(module), groups_(module, effects_) {}

  bool WritesToInputs() const {
    return absl::c_any_of(graph_.nodes(), [this](const Node* node) {
      return IsInput(*node) && groups_.IsWritten(node);
    });
  }

  // `escapes[i]` is true if result i may be written to later.
  std::string WhyInterpreted(const std::vector<bool>& escapes) const {
    absl::flat_hash_map<const Node*, const Node*> first;  // of the inputs and results of a group
    for (const Node* node : graph_.nodes()) {
      if (IsInput(*node)) {
        if (groups_.IsWritten(node)) return absl::StrCat("it writes to ", Percent(*node));
        first[groups_.Of(node)] = node;
        continue;
      }
      const CallEffects& of = effects_.Of(*node);
      if (of.is_random) return absl::StrCat(Percent(*node), " draws random numbers");
      if (of.is_unknown || of.is_statement)
        return absl::StrCat(Percent(*node), " does more than return a value");
    }
    absl::flat_hash_set<const Node*> escaping;  // groups
    const absl::Span<const Argument> results = graph_.output()->args()[0].elements();
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i].is_node()) return "it returns a value that is not a tensor";
      const Node* const node = results[i].node();
      const Node* const group = groups_.Of(node);
      const auto [shared, is_alone] = first.try_emplace(group, node);
      if (escapes[i]) escaping.insert(group);
      if (!is_alone && escaping.contains(group)) {
        return absl::StrCat("its result ", Percent(*node), " may share memory with ",
                            Percent(*shared->second));
      }
    }
    return "";
  }

 private:
  const Graph& graph_;
  const Effects effects_;
  const MemoryGroups groups_;
};

}  // namespace

std::vector<std::string> WhyInterpreted(const StitchManifest& manifest,
                                        const std::vector<const Module*>& subgraphs) {
  std::vector<Subgraph> all;
  for (const Module* module : subgraphs) all.emplace_back(*module);
  bool writes = absl::c_any_of(all, [](const Subgraph& one) { return one.WritesToInputs(); });
  Numbers escaping;
  AddTensors(manifest.result, &escaping);
  for (const StitchManifest::Input& input : manifest.inputs) {
    if (input.after) AddTensors(*input.after, &escaping);
  }
  for (const StitchStep& step : manifest.steps) {
    if (step.subgraph >= 0 || !LetsEscape(step)) continue;
    writes |= step.reason != BreakReason::kAttributeAssigned;
    for (const ValueTree& operand : step.operands) AddTensors(operand, &escaping);
  }
  std::vector<std::string> why(subgraphs.size());
  for (const StitchStep& step : manifest.steps) {
    if (step.subgraph < 0) continue;
    std::vector<bool> escapes;
    for (const int64_t number : step.outputs)
      escapes.push_back(writes || escaping.contains(number));
    const auto i = static_cast<size_t>(step.subgraph);
    if (why[i].empty()) why[i] = all[i].WhyInterpreted(escapes);
  }
  return why;
}

}  // namespace graphnet
