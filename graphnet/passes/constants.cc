#include "graphnet/passes/constants.h"

#include <vector>

#include "graphnet/base/arena.h"

namespace graphnet {
void ReplaceUsesWithValue(Node* node, const Argument& value) {
  if (value.is_node()) {
    node->ReplaceAllUsesWith(value.node());
    return;
  }
  Arena arena;  // Until the user has its own copy.
  const auto replace = [&](const Argument& argument) {
    return MapArgument(argument, &arena, [&](const Argument& a) {
      return a.is_node() && a.node() == node ? value : a;
    });
  };
  for (Node* user : node->users()) {
    std::vector<Argument> args;
    for (const Argument& a : user->args()) args.push_back(replace(a));
    std::vector<KwArg> kwargs;
    for (const KwArg& a : user->kwargs()) kwargs.push_back({a.name, replace(a.value)});
    user->set_args(args);
    user->set_kwargs(kwargs);
  }
}

}  // namespace graphnet
