#include "graphnet/ir/lift_attributes.h"

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/annotation.h"

namespace graphnet {

absl::StatusOr<bool> LiftAttributes(Module* module, std::map<std::string, std::string>* renamed) {
  if (module->attributes().empty()) return false;
  absl::flat_hash_map<absl::string_view, std::vector<Node*>> readers;
  for (Graph* graph : module->graphs()) {
    for (Node* node : graph->nodes()) {
      if (node->op() != Op::kGetAttr) continue;
      if (graph != module->main()) {
        return absl::UnimplementedError(absl::StrCat("graph ", Printable(graph->name()), ", node ",
                                                     Printable(node->name()),
                                                     ": an attribute is read inside a body"));
      }
      readers[node->target()].push_back(node);
    }
  }
  Graph* const graph = module->main();
  Node* first_other = graph->first();
  while (first_other != nullptr && first_other->is_placeholder()) first_other = first_other->next();
  // The name of an attribute may be the target of an input.
  absl::flat_hash_map<std::string, Node*> targets;
  for (Node* node : graph->placeholders()) targets[std::string(node->target())] = node;

  for (const Attribute& attribute : module->attributes()) {
    const auto it = readers.find(attribute.name);
    if (it == readers.end()) continue;
    std::string target(attribute.name);
    for (int i = 1; targets.contains(target); ++i) target = absl::StrCat(attribute.name, "_", i);
    Node* const first = it->second[0];
    Node* placeholder;
    {
      InsertionGuard guard(graph, first_other);
      placeholder = graph->Placeholder(target, first->name());
    }
    targets[target] = placeholder;
    if (renamed != nullptr && attribute.name != target) renamed->emplace(attribute.name, target);
    if (attribute.meta != nullptr) placeholder->set_meta(module->InternValueMeta(*attribute.meta));
    placeholder->set_annotation(attribute.annotation);
    placeholder->set_location(first->location());
    DrawSpec spec = attribute.draw_spec ? *attribute.draw_spec : DrawSpec();
    if (spec.original_name.empty()) spec.original_name = attribute.name;
    placeholder->set_draw_spec(spec);
    for (Node* node : it->second) {
      node->ReplaceAllUsesWith(placeholder);
      if (node == first_other) first_other = node->next();
      graph->EraseNode(node);
    }
  }
  module->EraseAllAttributes();
  return true;
}

bool IsLiftedParameter(const Node& placeholder) {
  return placeholder.annotation() == kParameterAnnotation && placeholder.draw_spec() != nullptr &&
         placeholder.draw_spec()->original_name == placeholder.target();
}

}  // namespace graphnet
