#include "graphnet/passes/vmap/round_trips.h"

#include <cstdint>
#include <cstdlib>
#include <utility>

#include "graphnet/ir/argument.h"
#include "graphnet/ir/tensor_meta.h"

namespace graphnet {

void RoundTrips::Replace(Graph* graph) {
  std::vector<std::vector<std::pair<Node*, Node*>>> open;
  for (Node* node : graph->nodes()) {
    switch (calls_[node]) {
      case NestingCall::kIncrement: open.emplace_back(); break;
      case NestingCall::kRemove:
        if (Node* const tensor = TensorOf(*node); tensor != nullptr && !open.empty())
          open.back().emplace_back(node, tensor);
        break;
      case NestingCall::kDecrement:
        if (open.empty()) return;
        for (const auto& [removed, tensor] : open.back()) ReplaceIn(removed, tensor, node);
        open.pop_back();
        break;
      default: break;
    }
  }
}

void RoundTrips::Undo() {
  for (auto it = replaced_.rbegin(); it != replaced_.rend(); ++it)
    it->user->SetOperand(it->operand, it->removed);
  replaced_.clear();
}

Node* RoundTrips::TensorOf(const Node& remove) const {
  bool takes_added = false;
  remove.ForEachOperand(
      [&](const Node* operand) { takes_added |= calls_[operand] == NestingCall::kAdd; });
  if (!takes_added) return nullptr;
  const auto removal = NestingArguments(remove);
  if (!removal.ok() || !(*removal)[0].is_node()) return nullptr;
  const Node& added = *(*removal)[0].node();
  if (calls_[&added] != NestingCall::kAdd) return nullptr;
  const auto addition = NestingArguments(added);
  if (!addition.ok() || !(*addition)[0].is_node() || (*addition)[2] != (*removal)[1])
    return nullptr;
  const Argument& in = (*addition)[1];
  const Argument& out = (*removal)[3];
  if (!in.is_int() || !out.is_int()) return nullptr;
  Node* const tensor = (*addition)[0].node();
  int64_t apart = in.integer() - out.integer();
  const TensorMeta* const meta = tensor->tensor_meta();
  if (apart != 0 && meta != nullptr && meta->has_shape)
    apart = std::abs(apart) - static_cast<int64_t>(meta->shape.size());
  return apart == 0 ? tensor : nullptr;
}

void RoundTrips::ReplaceIn(Node* removed, Node* tensor, const Node* end) {
  for (const Use& use : removed->uses()) {
    if (!use.user->IsBefore(end)) continue;
    replaced_.push_back({use.user, use.operand, removed});
    use.user->SetOperand(use.operand, tensor);
  }
}

}  // namespace graphnet
