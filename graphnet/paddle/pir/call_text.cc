#include "graphnet/paddle/pir/call_text.h"

#include <memory>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/arena.h"
#include "graphnet/base/check.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/paddle/pir/builder.h"

namespace graphnet::pir {

CallText PrintCall(const Node& node) {
  CallText call;
  // Print a copy in a module of its own, whose operands and bodies are named by number.
  Module scratch;
  Graph* graph = scratch.AddGraph("g");
  absl::flat_hash_map<const Node*, Node*> operands;
  absl::flat_hash_map<const Graph*, Graph*> bodies;
  node.ForEachOperand([&](const Node* operand) {
    if (!operands.try_emplace(operand, nullptr).second) return;
    const std::string name = absl::StrCat("a", call.operands.size());
    operands[operand] = graph->Placeholder(name, name);
    call.operands.push_back(operand);
  });
  node.ForEachArgument([&](const Argument& argument) {
    if (!argument.is_graph() || !bodies.try_emplace(argument.graph(), nullptr).second) return;
    bodies[argument.graph()] = scratch.AddGraph(absl::StrCat("r", call.bodies.size()));
    call.bodies.push_back(argument.graph());
  });
  Node* copy = graph->CopyNodeFrom(
      node, [&](Node* operand) { return operands.at(operand); },
      [&](Graph* body) { return bodies.at(body); });
  copy->set_meta(nullptr);
  copy->set_annotation("");
  copy->set_location({});
  copy->set_module_path("");
  const std::string line = PrintNode(*copy, PrintOptions::Complete());
  absl::string_view text = line;
  if (copy->is_call()) {
    absl::ConsumePrefix(&text, absl::StrCat("%", copy->name(), " = "));
  }
  call.text = std::string(text);
  return call;
}

absl::StatusOr<Node*> ParseCall(absl::string_view text, absl::Span<Node* const> operands,
                                absl::Span<Graph* const> bodies, Graph* graph) {
  const auto refuse = [](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("this is not a call: ", why));
  };
  std::string program;
  program += "graph @g(";
  for (size_t i = 0; i < operands.size(); ++i) absl::StrAppend(&program, i ? ", " : "", "%a", i);
  const bool is_return = absl::StartsWith(text, "return ");
  absl::StrAppend(&program, ") {\n", is_return ? "" : "%call = ", text, "\n",
                  is_return ? "" : "return %call\n", "}\n");
  for (size_t i = 0; i < bodies.size(); ++i) {
    absl::StrAppend(&program, "graph @r", i, "() { return None }\n");
  }
  const absl::StatusOr<std::unique_ptr<Module>> parsed = ParseModule(program, "call");
  if (!parsed.ok()) return refuse(parsed.status().message());
  const Module& module = **parsed;
  if (module.graphs().size() != bodies.size() + 1) return refuse("it has graphs");
  const std::vector<Node*> parameters = module.main()->placeholders();
  const size_t others = is_return ? 1 : 2;
  if (parameters.size() != operands.size() ||
      module.main()->num_nodes() != operands.size() + others) {
    return refuse("it has several nodes");
  }
  const Node* call = module.main()->last();
  if (!is_return) {
    call = call->prev();
    if (!call->is_call() || call->meta() != nullptr) return refuse("it is another node");
  }
  if (call->num_uses() != (is_return ? 0 : 1)) return refuse("it is another node");
  size_t used_bodies = 0;
  call->ForEachArgument([&](const Argument& argument) { used_bodies += argument.is_graph(); });
  const bool uses_all = absl::c_all_of(parameters, [](const Node* p) { return p->has_uses(); });
  if (!uses_all || used_bodies < bodies.size()) return refuse("it leaves operands out");
  const auto index_of = [](absl::string_view name) {
    size_t i = 0;
    CHECK(absl::SimpleAtoi(name.substr(1), &i));  // The name was made above.
    return i;
  };
  // Make it like any new node, so that it is named after its target.
  Arena arena;
  const auto map = [&](const Argument& argument) {
    return MapArgument(argument, &arena, [&](const Argument& leaf) -> Argument {
      if (leaf.is_node()) return operands[index_of(leaf.node()->name())];
      if (leaf.is_graph()) return bodies[index_of(leaf.graph()->name())];
      if (leaf.kind() == Argument::Kind::kSymInt) DeclareSymbols(leaf.sym(), graph->module());
      return leaf;
    });
  };
  std::vector<Argument> args;
  for (const Argument& argument : call->args()) args.push_back(map(argument));
  std::vector<KwArg> kwargs;
  for (const KwArg& kwarg : call->kwargs()) kwargs.push_back({kwarg.name, map(kwarg.value)});
  return graph->CreateNode(call->op(), call->target(), args, kwargs);
}

}  // namespace graphnet::pir
