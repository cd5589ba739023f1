#include "graphnet/passes/rename_inputs.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

bool IsWeight(const Node& placeholder) {
  absl::string_view target = placeholder.target();
  if (absl::StrContains(placeholder.annotation(), "Parameter") ||
      absl::StrContains(target, "_self_") || absl::StrContains(target, "_instance_modules_")) {
    return true;
  }
  return absl::ConsumePrefix(&target, "w_") && !target.empty() &&
         absl::c_all_of(target, absl::ascii_isdigit);
}

absl::StatusOr<bool> RenameInputs(Module* module, PassRun& run) {
  Graph* const graph = module->main();
  std::vector<std::pair<Node*, std::string>> renamed;
  int inputs = 0;
  int weights = 0;
  for (Node* node : graph->placeholders()) {
    std::string name =
        IsWeight(*node) ? absl::StrCat("w_", weights++) : absl::StrCat("in_", inputs++);
    if (node->target() != name || node->name() != name) renamed.emplace_back(node, std::move(name));
  }
  // First rename other nodes that hold one of the new names.
  for (const auto& [node, name] : renamed) {
    if (Node* holder = graph->FindNode(name); holder != nullptr && !holder->is_placeholder()) {
      holder->set_name(absl::StrCat(name, "_1"));
    }
  }
  for (size_t i = 0; i < renamed.size(); ++i)
    renamed[i].first->set_name(absl::StrCat("renamed_placeholder_", i));
  for (const auto& [node, name] : renamed) {
    if (node->target() != name) {
      DrawSpec spec = node->draw_spec() == nullptr ? DrawSpec() : *node->draw_spec();
      if (spec.original_name.empty()) spec.original_name = node->target();
      node->set_draw_spec(spec);
      run.Renamed(node->target(), name);
      node->set_target(name);
    }
    node->set_name(name);
  }
  return !renamed.empty();
}

namespace {

const RegisteredPass kRenameInputsPass("rename", "rename_inputs.h", RenameInputs);

}  // namespace

}  // namespace graphnet
