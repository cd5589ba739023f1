// Five surgeries on a graph, each as long as in torch.fx (surgery.py has the same there).
// Prints the graph before and after each of them.
//
//   ./bazelw run //examples:surgery
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/outline.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/passes/pattern.h"

using namespace graphnet;  // NOLINT: as a user writes it.

// Replaces an operator.
void ReplaceOperator(Graph* graph) {
  for (Node* node : graph->nodes()) {  // erasing `node` is fine
    if (!node->is_call_function("torch.nn.functional.relu")) continue;
    const Argument& input = *node->FindArg("input", 0);
    Node* gelu = graph->CallLike(*node, "torch.nn.functional.gelu", {input});
    node->ReplaceAllUsesWith(gelu);
    graph->EraseNode(node);
  }
}

// Fuses a pattern where a predicate says so.
absl::Status FusePattern(Module* module) {
  constexpr absl::string_view kRules = R"(rule silu
    graph @pattern(%x) { %s = torch.sigmoid(%x) %m = torch.mul(%x, %s) return %m }
    graph @replacement(%x) { %y = torch.nn.functional.silu(%x) return %y })";
  ASSIGN_OR_RETURN(std::vector<RewriteRule> rules, ParseRules(kRules, "silu"));
  rules[0].where = [](const PatternMatch& match) {
    return IsFloatingPoint(match["x"].node()->tensor_meta()->dtype);
  };
  return ApplyRules(rules, module);
}

// Inserts an observer behind an operator.
void InsertObserver(Graph* graph) {
  for (Node* node : graph->nodes()) {
    if (!node->is_call_function("torch.nn.functional.linear")) continue;
    Node* observed = graph->CallLike(*node, "observe", {node});
    node->ReplaceUsesWithIf(observed, [&](Node* user) { return user != observed; });
  }
}

// Moves nodes, which must be convex, into a body that is called.
absl::StatusOr<Node*> CutNodes(absl::Span<Node* const> nodes) {
  return Outline(nodes, "torch.ops.higher_order.wrap", "part");
}

// Changes a dtype in arguments and metas.
void ChangeDType(Graph* graph, DType from, DType to) {
  for (Node* node : graph->nodes()) {
    node->MapArguments([&](const Argument& a) { return a == Argument(from) ? to : a; });
    if (node->tensor_meta() == nullptr || node->tensor_meta()->dtype != from) continue;
    TensorMeta changed = *node->tensor_meta();
    changed.dtype = to;
    node->set_meta(graph->module()->InternValueMeta(changed));
  }
}

namespace {

constexpr char kProgram[] = R"(
graph @forward(%x : f32[2, 8], %w : f32[8, 8], %b : f32[8]) {
  %h = torch.nn.functional.linear(%x, %w, %b) : f32[2, 8] in fc
  %a = torch.nn.functional.relu(input = %h) : f32[2, 8] in act
  %s = torch.sigmoid(%a) : f32[2, 8]
  %z = torch.zeros((2, 8), dtype = torch.float32) : f32[2, 8]
  %m = torch.mul(%a, %s) : f32[2, 8]
  %r = torch.add(%m, %z) : f32[2, 8]
  return %r
}
)";

absl::Status Show(const char* what, absl::FunctionRef<absl::Status(Module*)> surgery) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Module> module, ParseModule(kProgram, "program"));
  RETURN_IF_ERROR(surgery(module.get()));
  RETURN_IF_ERROR(Verify(*module));
  std::printf("# %s\n%s\n", what, PrintModule(*module, {.header = false}).c_str());
  return absl::OkStatus();
}

absl::Status Run() {
  RETURN_IF_ERROR(Show("before", [](Module*) { return absl::OkStatus(); }));
  RETURN_IF_ERROR(Show("replace an operator", [](Module* module) {
    ReplaceOperator(module->main());
    return absl::OkStatus();
  }));
  RETURN_IF_ERROR(Show("fuse a pattern", FusePattern));
  RETURN_IF_ERROR(Show("insert an observer", [](Module* module) {
    InsertObserver(module->main());
    return absl::OkStatus();
  }));
  RETURN_IF_ERROR(Show("cut a subgraph", [](Module* module) {
    const Graph& main = *module->main();
    // The nodes are not adjacent: %z is between them.
    return CutNodes({main.FindNode("a"), main.FindNode("s"), main.FindNode("m")}).status();
  }));
  return Show("change a dtype", [](Module* module) {
    ChangeDType(module->main(), DType::kFloat32, DType::kBFloat16);
    return absl::OkStatus();
  });
}

}  // namespace

int main() {
  const absl::Status status = Run();
  if (!status.ok()) std::fprintf(stderr, "surgery: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
