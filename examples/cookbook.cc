// Six more surgeries, of docs/library.md. Prints the graph before and after each of them.
//
//   ./bazelw run //examples:cookbook
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/outline.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/passes/value.h"

using namespace graphnet;  // NOLINT: as a user writes it.

// Removes an operator in all graphs of the module. Users of its value then use its input.
void RemoveDropout(Module* module) {
  for (Graph* graph : module->graphs()) {
    for (Node* node : graph->nodes()) {
      if (!node->is_call_function("torch.nn.functional.dropout")) continue;
      node->ReplaceAllUsesWith(node->FindArg("input", 0)->node());
      graph->EraseNode(node);
    }
  }
}

// Sets a keyword argument, even if the call did not have it. An argument by position stays.
void DoNotWriteInPlace(Graph* graph) {
  for (Node* node : graph->nodes()) {
    if (node->is_call_function("torch.nn.functional.relu")) node->set_kwarg("inplace", false);
  }
}

// Adds a value from inside of the graph to its outputs.
void Expose(Node* value) {
  Node* output = value->graph()->output();
  std::vector<Argument> values = {value};
  output->ForEachOperand([&](Node* returned) { values.push_back(returned); });
  output->set_args({Argument::Tuple(values)});
}

// Adds a parameter, and a call behind a value that uses the parameter.
void ScaleBy(Node* value, absl::string_view parameter) {
  Graph* graph = value->graph();
  TensorMeta meta;
  meta.dtype = DType::kFloat32;
  meta.has_shape = true;
  graph->module()->AddAttribute(
      {.name = parameter, .meta = graph->module()->InternMeta(meta), .annotation = "torch.Tensor"});
  const InsertionGuard guard(graph, value->next());
  Node* scaled = (Value(value) * graph->GetAttr(parameter)).node();
  value->ReplaceUsesWithIf(scaled, [&](Node* user) { return user != scaled; });
}

// Replaces an operator by a formula.
void SpellOutSigmoid(Graph* graph) {
  for (Node* node : graph->nodes()) {
    if (!node->is_call_function("torch.sigmoid")) continue;
    const InsertionGuard guard(graph, node);
    const Value x(node->FindArg("input", 0)->node());
    node->ReplaceAllUsesWith((1.0 / (1.0 + (-x).Call("exp"))).node());
    graph->EraseNode(node);
  }
}

// Returns the part of a graph that a value depends on, as a new module.
absl::StatusOr<std::unique_ptr<Module>> SliceOf(Node* value) {
  std::vector<Node*> nodes = {value};
  absl::flat_hash_set<Node*> seen = {value};
  for (size_t i = 0; i < nodes.size(); ++i) {
    nodes[i]->ForEachOperand([&](Node* operand) {
      if (!operand->is_placeholder() && seen.insert(operand).second) nodes.push_back(operand);
    });
  }
  ASSIGN_OR_RETURN(const Subgraph slice, FindSubgraph(nodes));
  return CutSubgraph(slice);
}

namespace {

constexpr char kProgram[] = R"(
attribute w : f32[8, 8] as torch.nn.parameter.Parameter
graph @forward(%x : f32[2, 8]) {
  %w = get_attr w : f32[8, 8]
  %h = torch.matmul(%x, %w) : f32[2, 8]
  %d = torch.nn.functional.dropout(%h, 0.5, False) : f32[2, 8]
  %a = torch.nn.functional.relu(%d, inplace = True) : f32[2, 8]
  %s = torch.sigmoid(%x) : f32[2, 8]
  %y = torch.add(%a, %s) : f32[2, 8]
  return (%y,)
}
)";

using Surgery = absl::FunctionRef<absl::Status(std::unique_ptr<Module>&)>;

absl::Status Show(const char* what, Surgery surgery) {
  ASSIGN_OR_RETURN(std::unique_ptr<Module> module, ParseModule(kProgram, "program"));
  RETURN_IF_ERROR(surgery(module));
  RETURN_IF_ERROR(Verify(*module));
  std::printf("# %s\n%s\n", what, PrintModule(*module, {.header = false}).c_str());
  return absl::OkStatus();
}

// A surgery that cannot fail.
auto On(void (*surgery)(Module* module)) {
  return [surgery](std::unique_ptr<Module>& module) {
    surgery(module.get());
    return absl::OkStatus();
  };
}

absl::Status Run() {
  RETURN_IF_ERROR(Show("before", On([](Module*) {})));
  RETURN_IF_ERROR(Show("remove an operator", On(RemoveDropout)));
  RETURN_IF_ERROR(
      Show("change an argument", On([](Module* module) { DoNotWriteInPlace(module->main()); })));
  RETURN_IF_ERROR(Show("return a value from inside",
                       On([](Module* module) { Expose(module->main()->FindNode("h")); })));
  RETURN_IF_ERROR(Show("add a parameter", On([](Module* module) {
                         ScaleBy(module->main()->FindNode("a"), "scale");
                       })));
  RETURN_IF_ERROR(Show("replace an operator by a formula",
                       On([](Module* module) { SpellOutSigmoid(module->main()); })));
  return Show("cut out what a value depends on",
              [](std::unique_ptr<Module>& module) -> absl::Status {
                ASSIGN_OR_RETURN(module, SliceOf(module->main()->FindNode("a")));
                return absl::OkStatus();
              });
}

}  // namespace

int main() {
  const absl::Status status = Run();
  if (!status.ok()) std::fprintf(stderr, "cookbook: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
