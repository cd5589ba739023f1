#include "graphnet/passes/name_inputs.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/near_miss.h"
#include "graphnet/base/status.h"
#include "graphnet/passes/pass.h"

namespace graphnet {
namespace {

// Returns the placeholders to rename with their new names. These differ from each other and from
// the names of all other inputs and attributes.
absl::StatusOr<std::vector<std::pair<Node*, std::string>>> FindInputs(const Module& module,
                                                                      const PassRun& run) {
  const std::vector<Node*> inputs = module.main()->placeholders();
  absl::flat_hash_map<absl::string_view, Node*> by_name;
  for (Node* node : inputs) by_name.emplace(node->name(), node);
  for (Node* node : inputs) by_name.insert_or_assign(node->target(), node);
  std::vector<std::pair<Node*, std::string>> renamed;
  absl::flat_hash_set<const Node*> moved;
  for (const auto& [from, to] : run.options()) {
    const auto it = by_name.find(from);
    if (it == by_name.end() && by_name.contains(to)) continue;
    if (it == by_name.end()) {
      std::vector<absl::string_view> names;
      for (const Node* node : inputs) names.push_back(node->target());
      return absl::NotFoundError(
          absl::StrCat("there is no input ", Printable(from), NearMissHint(from, names)));
    }
    if (to.empty())
      return absl::InvalidArgumentError(
          absl::StrCat("the new name of ", Printable(from), " is empty"));
    if (!moved.insert(it->second).second)
      return absl::InvalidArgumentError(absl::StrCat(Printable(from), " is renamed twice"));
    renamed.emplace_back(it->second, to);
  }
  absl::flat_hash_set<absl::string_view> taken;
  for (const Attribute& attribute : module.attributes()) taken.insert(attribute.name);
  for (const Node* node : inputs) {
    if (!moved.contains(node)) taken.insert(node->target());
  }
  for (const auto& [node, name] : renamed) {
    if (taken.insert(name).second) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("two inputs or attributes would be called ", Printable(name)));
  }
  return renamed;
}

}  // namespace

absl::StatusOr<bool> NameInputs(Module* module, PassRun& run) {
  using Renamed = std::vector<std::pair<Node*, std::string>>;
  ASSIGN_OR_RETURN(const Renamed renamed, FindInputs(*module, run));
  Graph* const graph = module->main();
  bool changed = false;
  for (const auto& [node, name] : renamed) {
    if (node->target() == name && node->name() == name) continue;
    changed = true;
    if (Node* const holder = graph->FindNode(name); holder != nullptr && holder != node)
      holder->set_name(absl::StrCat(name, "_1"));
    run.Renamed(node->target(), name);
    node->set_target(name);
    node->set_name(name);
  }
  return changed;
}

namespace {

const RegisteredPass kNameInputsPass("rename-inputs", "name_inputs.h", NameInputs, {kAnyOption});

}  // namespace

}  // namespace graphnet
