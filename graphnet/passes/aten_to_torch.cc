#include "graphnet/passes/aten_to_torch.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/passes/pass.h"

namespace graphnet {
namespace {

// Public modules and the prefix that their operators' names have in ATen.
struct Home {
  char function_module;
  absl::string_view prefix;
  absl::string_view module;
};
constexpr Home kHomes[] = {{'n', "", "torch.nn.functional."}, {'t', "", "torch."},
                           {'t', "", "torch.nn.functional."}, {'l', "linalg_", "torch.linalg."},
                           {'F', "fft_", "torch.fft."},       {'s', "special_", "torch.special."}};

// Returns the function that a call of `schema` may be written as; empty if it is a method or
// neither.
std::string FunctionOf(const Schema& schema) {
  for (const Home& home : kHomes) {
    absl::string_view name = schema.name;
    if (schema.function_module != home.function_module || !absl::ConsumePrefix(&name, home.prefix))
      continue;
    std::string function = absl::StrCat(home.module, name);
    if (!absl::StartsWith(name, "_") && IsPublicFunction(function)) return function;
  }
  return "";
}

struct AtenRewrite {
  Node* node;
  std::string target;  // before the rewrite
};

// Compares operands by the nodes of the original graph that they are the values of.
bool IsSame(const Argument& written, const Argument& lowered, const LoweredModule& all) {
  if (written.is_node()) {
    const Argument& value = all.values[written.node()];
    return value == lowered;
  }
  // Lowering repeats a number where ATen expects a list.
  if (lowered.is_list() && !written.is_aggregate() && !lowered.elements().empty()) {
    return absl::c_all_of(lowered.elements(),
                          [&](const Argument& element) { return IsSame(written, element, all); });
  }
  const bool sequences =
      (written.is_list() || written.is_tuple()) && (lowered.is_list() || lowered.is_tuple());
  if (sequences || (written.is_aggregate() && lowered.kind() == written.kind())) {
    if (written.elements().size() != lowered.elements().size()) return false;
    for (size_t i = 0; i < written.elements().size(); ++i) {
      if (!IsSame(written.elements()[i], lowered.elements()[i], all)) return false;
    }
    return true;
  }
  return written == lowered;
}

// Returns whether `call` is what `node` was before: `target` on its arguments.
bool IsSameCall(const Node& node, absl::string_view target, const Node& call,
                const LoweredModule& all) {
  if (call.target() != target || call.args().size() != node.args().size() ||
      call.kwargs().size() != node.kwargs().size()) {
    return false;
  }
  for (size_t i = 0; i < node.args().size(); ++i) {
    if (!IsSame(node.args()[i], call.args()[i], all)) return false;
  }
  for (const KwArg& kwarg : node.kwargs()) {
    const Argument* other = call.kwarg(kwarg.name);
    if (other == nullptr || !IsSame(kwarg.value, *other, all)) return false;
  }
  return true;
}

// Replaces `node` by a call of `target` (Graph::CallLike) with the same arguments.
Node* CallInstead(Node* node, absl::string_view target) {
  Graph* graph = node->graph();
  Node* made = graph->CallLike(*node, target, node->args(), node->kwargs());
  const std::string name(node->name());
  node->ReplaceAllUsesWith(made);
  graph->EraseNode(node);
  made->set_name(name);
  return made;
}

}  // namespace

absl::StatusOr<bool> AtenToTorch(Module* module, PassRun& run) {
  std::vector<AtenRewrite> rewrites;
  for (Graph* graph : module->graphs()) {
    for (Node* node : graph->nodes()) {
      if (node->op() != Op::kCallFunction) continue;
      const Schema* schema = FindOverload(node->target());
      if (schema == nullptr) continue;
      std::string target = FunctionOf(*schema);
      if (target.empty()) {
        if (!schema->is_method || absl::StartsWith(schema->name, "_") || node->args().empty() ||
            !node->args()[0].is_node()) {
          continue;
        }
        target = absl::StrCat(".", schema->name);
      }
      const std::string was(node->target());
      rewrites.push_back({CallInstead(node, target), was});
    }
  }
  if (rewrites.empty()) return false;
  // Lower the rewritten calls again, to compare them with the original ones.
  RefusedCalls refused;
  ASSIGN_OR_RETURN(const LoweredModule lowered, LowerToAten(*module, &refused));
  NodeTable<std::pair<const Node*, int>> calls(*module);  // the last one, and how many there are
  for (const Graph* graph : lowered.module->graphs()) {
    for (const Node* call : graph->nodes()) {
      if (!call->is_call()) continue;
      auto& [last, count] = calls[lowered.origins[call]];
      last = call;
      ++count;
    }
  }
  size_t changed = 0;
  for (const AtenRewrite& rewrite : rewrites) {
    Node* node = rewrite.node;
    const auto [call, count] = calls[node];
    const bool same =
        !refused.contains(node) && count == 1 &&
        lowered.values[node] == Argument(const_cast<Node*>(call)) &&
        IsSameCall(*node, absl::StripPrefix(rewrite.target, "torch.ops."), *call, lowered);
    if (same) {
      ++changed;
      continue;
    }
    CallInstead(node, rewrite.target);  // Undo the rewrite.
  }
  if (changed > 0) run.Note("overloads of ATen written as public calls", changed);
  return changed > 0;
}

namespace {

const RegisteredPass kAtenToTorchPass("aten-to-torch", "aten_to_torch.h", AtenToTorch);

}  // namespace

}  // namespace graphnet
