#include "graphnet/passes/canonical_names.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/ir/unchecked_builder.h"
#include "graphnet/passes/pass.h"

namespace graphnet {
namespace {

std::string BaseName(const Node& node) {
  absl::string_view target = node.target();
  std::string base;
  if (absl::ConsumePrefix(&target, "torch.ops.aten.") || absl::ConsumePrefix(&target, "aten.")) {
    absl::ConsumeSuffix(&target, ".default");
    base = absl::AsciiStrToLower(target);
  } else {
    base = std::string(target.substr(target.rfind('.') + 1));
  }
  for (char& c : base) c = absl::ascii_isalnum(c) ? c : '_';
  // In place and private: torch.fx has it without the underscores.
  absl::string_view name = absl::StripPrefix(base, "__");
  while (absl::ConsumePrefix(&name, "_")) {
  }
  while (absl::ConsumeSuffix(&name, "_")) {
  }
  if (name.empty() || absl::ascii_isdigit(name[0])) return absl::StrCat("v_", name);
  return std::string(name);
}

bool RunOn(Graph* graph) {
  absl::flat_hash_set<std::string> taken;
  for (const Node* node : graph->nodes()) {
    if (!node->is_call() && node->op() != Op::kGetAttr) taken.insert(std::string(node->name()));
  }
  absl::flat_hash_map<std::string, int> next;
  std::vector<std::pair<Node*, std::string>> renamed;
  for (Node* node : graph->nodes()) {
    if (!node->is_call() && node->op() != Op::kGetAttr) continue;
    const std::string base = BaseName(*node);
    int& count = next[base];
    std::string name;
    do {
      name = count == 0 ? base : absl::StrCat(base, "_", count);
      ++count;
    } while (!taken.insert(name).second);
    if (node->name() != name) renamed.emplace_back(node, std::move(name));
  }
  for (const auto& [node, name] : renamed) UncheckedBuilder(graph).SetName(node, name);
  return !renamed.empty();
}

}  // namespace

absl::StatusOr<bool> CanonicalizeNames(Module* module) {
  bool changed = false;
  for (Graph* graph : module->graphs()) changed |= RunOn(graph);
  return changed;
}

namespace {

const RegisteredPass kCanonicalNamesPass("canonical-names", "canonical_names.h",
                                         [](Module* module, PassRun&) {
                                           return CanonicalizeNames(module);
                                         });

}  // namespace

}  // namespace graphnet
