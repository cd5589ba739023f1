#include "graphnet/passes/constants.h"

#include <vector>

#include "graphnet/base/arena.h"

namespace graphnet {
namespace {

Argument Replaced(const Argument& argument, const Node* node, const Argument& value, Arena* arena) {
  if (argument.is_node()) return argument.node() == node ? value : argument;
  if (!argument.is_aggregate()) return argument;
  std::vector<Argument> elements;
  elements.reserve(argument.elements().size());
  for (const Argument& element : argument.elements()) {
    elements.push_back(Replaced(element, node, value, arena));
  }
  const absl::Span<const Argument> kept = arena->Copy(absl::MakeConstSpan(elements));
  switch (argument.kind()) {
    case Argument::Kind::kList: return Argument::List(kept);
    case Argument::Kind::kTuple: return Argument::Tuple(kept);
    case Argument::Kind::kDict: return Argument::Dict(kept);
    default: return Argument::Slice(kept);
  }
}

}  // namespace

void ReplaceUsesWithValue(Node* node, const Argument& value) {
  if (value.is_node()) {
    node->ReplaceAllUsesWith(value.node());
    return;
  }
  Arena arena;  // Until the user has its own copy.
  for (Node* user : node->users()) {
    std::vector<Argument> args;
    for (const Argument& a : user->args()) args.push_back(Replaced(a, node, value, &arena));
    std::vector<KwArg> kwargs;
    for (const KwArg& a : user->kwargs()) {
      kwargs.push_back({a.name, Replaced(a.value, node, value, &arena)});
    }
    user->set_args(args);
    user->set_kwargs(kwargs);
  }
}

}  // namespace graphnet
