#include "graphnet/ir/outline.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/arena.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/graph_copier.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ir/node_table.h"

namespace graphnet {
namespace {

void SortByOrder(std::vector<Node*>* nodes) {
  absl::c_sort(*nodes, [](const Node* a, const Node* b) { return a->IsBefore(b); });
}

// Returns "%a -> %b -> %c", a path from a node of the set through nodes outside it. For each of
// those, `comes_from` has the operand that leads back.
std::string WayTo(Node* node, const NodeTable<Node*>& comes_from) {
  std::string way;
  for (; node != nullptr; node = comes_from[node]) {
    way = absl::StrCat("%", Printable(node->name()), way.empty() ? "" : " -> ", way);
  }
  return way;
}

// Returns the nodes outside the set, between its first and its last node, that depend on its
// values. FailedPrecondition, with a path, if the set is not convex.
absl::StatusOr<std::vector<Node*>> FindBetween(const Subgraph& subgraph,
                                               const NodeTable<bool>& is_inside) {
  std::vector<Node*> between;
  NodeTable<Node*> comes_from;
  for (Node* node = subgraph.nodes[0];; node = node->next()) {
    Node* from = nullptr;
    node->ForEachOperand([&](Node* operand) {
      // A node of the set is of interest only if its operand comes from outside.
      if (comes_from[operand] != nullptr || (is_inside[operand] && !is_inside[node])) {
        from = operand;
      }
    });
    if (from != nullptr && is_inside[node]) {
      return absl::FailedPreconditionError(
          absl::StrCat("graph ", Printable(node->graph()->name()), ": the nodes are not convex: ",
                       WayTo(from, comes_from), " -> %", Printable(node->name())));
    }
    if (from != nullptr) {
      comes_from[node] = from;
      between.push_back(node);
    }
    if (node == subgraph.nodes.back()) return between;
  }
}

NodeTable<bool> InsideOf(const Subgraph& subgraph) {
  NodeTable<bool> is_inside(*subgraph.nodes[0]->graph()->module());
  for (const Node* node : subgraph.nodes) is_inside[node] = true;
  return is_inside;
}

// Copies the nodes into an empty graph, with placeholders and an output.
void WriteBody(const Subgraph& subgraph, absl::FunctionRef<Graph*(Graph*)> map_graph, Graph* to) {
  NodeTable<Node*> copies;
  for (const Node* input : subgraph.inputs) {
    Node* parameter = copies[input] = to->Placeholder(input->name());
    parameter->set_location(input->location());
    if (input->is_placeholder()) parameter->set_annotation(input->annotation());
    parameter->set_meta(input->meta());
  }
  for (const Node* node : subgraph.nodes) {
    copies[node] = to->CopyNodeFrom(
        *node, [&](Node* operand) { return copies[operand]; }, map_graph);
  }
  std::vector<Argument> returned;
  for (const Node* output : subgraph.outputs) returned.emplace_back(copies[output]);
  to->Output(returned.size() == 1 ? returned[0] : Argument::Tuple(returned));
}

// Like ReplaceUsesWithValue. A node whose index is `known` or more is new, and takes the name of
// the getitem that it replaces.
void ReplaceUses(Node* node, const Argument& value, size_t known) {
  // First `node`, then getitems of the nodes before them, which are erased.
  absl::InlinedVector<std::pair<Node*, Argument>, 1> replaced = {{node, value}};
  for (size_t i = 0; i < replaced.size(); ++i) {
    const auto [from, to] = replaced[i];
    if (to.is_node()) {
      from->ReplaceAllUsesWith(to.node());
      continue;
    }
    for (Node* user : from->users()) {
      if (const Argument* element = ElementOf(*user, from, to)) {
        replaced.emplace_back(user, *element);
      } else {
        user->MapArguments(
            [&](const Argument& a) { return a.is_node() && a.node() == from ? to : a; });
      }
    }
  }
  std::vector<std::pair<Node*, std::string>> names;
  for (size_t i = replaced.size(); i-- > 1;) {
    const auto& [from, to] = replaced[i];
    if (to.is_node() && to.node()->index() >= known) {
      names.emplace_back(to.node(), std::string(from->name()));
    }
    from->graph()->EraseNode(from);
  }
  for (size_t i = names.size(); i-- > 0;) names[i].first->set_name(names[i].second);
}

// Like ReplaceUses. `node` is erased, and its name is passed on, too.
void Replace(Node* node, const Argument& value, size_t known) {
  ReplaceUses(node, value, known);
  const std::string name(node->name());
  node->graph()->EraseNode(node);
  if (value.is_node() && value.node()->index() >= known) value.node()->set_name(name);
}

}  // namespace

absl::StatusOr<Subgraph> FindSubgraph(absl::Span<Node* const> nodes) {
  if (nodes.empty()) return absl::InvalidArgumentError("there are no nodes");
  Subgraph subgraph;
  const Graph* graph = nodes[0]->graph();
  for (Node* node : nodes) {
    const auto error = [&](absl::string_view what) {
      return absl::InvalidArgumentError(absl::StrCat("%", Printable(node->name()), " ", what));
    };
    if (node->is_erased()) return error("is erased");
    if (node->graph() != graph) return error("is of another graph");
    if (node->is_placeholder()) return error("is a placeholder");
    if (node->is_output()) return error("is the output");
    subgraph.nodes.push_back(node);
  }
  SortByOrder(&subgraph.nodes);
  subgraph.nodes.erase(std::unique(subgraph.nodes.begin(), subgraph.nodes.end()),
                       subgraph.nodes.end());
  const NodeTable<bool> is_inside = InsideOf(subgraph);
  RETURN_IF_ERROR(FindBetween(subgraph, is_inside).status());
  NodeTable<bool> is_input;
  for (Node* node : subgraph.nodes) {
    node->ForEachOperand([&](Node* operand) {
      if (is_inside[operand] || is_input[operand]) return;
      is_input[operand] = true;
      subgraph.inputs.push_back(operand);
    });
    if (absl::c_any_of(node->uses(), [&](const Use& use) { return !is_inside[use.user]; })) {
      subgraph.outputs.push_back(node);
    }
  }
  SortByOrder(&subgraph.inputs);
  return subgraph;
}

absl::StatusOr<Node*> Outline(absl::Span<Node* const> nodes, absl::string_view target,
                              absl::string_view body_name) {
  ASSIGN_OR_RETURN(const Subgraph subgraph, FindSubgraph(nodes));
  ASSIGN_OR_RETURN(const std::vector<Node*> between, FindBetween(subgraph, InsideOf(subgraph)));
  Node* const last = subgraph.nodes.back();
  Graph* const graph = last->graph();
  Module* const module = graph->module();
  Graph* const body = module->AddGraph(body_name);
  WriteBody(
      subgraph, [](Graph* inner) { return inner; }, body);

  const std::vector<Node*>& outputs = subgraph.outputs;
  Node* const behind = last->next();
  std::vector<Argument> args = {body};
  args.insert(args.end(), subgraph.inputs.begin(), subgraph.inputs.end());
  Node* const call = graph->CallLike(outputs.empty() ? *last : *outputs[0], target, args);
  graph->MoveBefore(call, behind);
  std::vector<Node*> values = {call};
  if (outputs.size() != 1) {
    values.clear();
    std::vector<const ValueMeta*> metas;
    for (size_t i = 0; i < outputs.size(); ++i) {
      values.push_back(graph->CallLike(*outputs[i], "operator.getitem", {call, i}));
      graph->MoveBefore(values.back(), behind);
      metas.push_back(outputs[i]->meta());
    }
    call->set_annotation({});
    call->set_meta(module->InternTupleMeta(metas));
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i]->ReplaceAllUsesWith(values[i]);
    names.emplace_back(outputs[i]->name());
  }
  for (Node* node : between) graph->MoveBefore(node, behind);
  for (size_t i = subgraph.nodes.size(); i-- > 0;) graph->EraseNode(subgraph.nodes[i]);
  if (outputs.size() != 1) call->set_name(body->name());
  for (size_t i = 0; i < names.size(); ++i) values[i]->set_name(names[i]);
  return call;
}

std::unique_ptr<Module> CutSubgraph(const Subgraph& subgraph) {
  const Graph& graph = *subgraph.nodes[0]->graph();
  const Module& whole = *graph.module();
  auto piece = std::make_unique<Module>();
  for (const Symbol& symbol : whole.symbols()) piece->AddSymbol(symbol.name, symbol.example);
  for (const SymExpr* relation : whole.relations()) piece->AddRelation(relation);
  Graph* const main = piece->AddGraph(graph.name());
  GraphCopier bodies(piece.get());
  WriteBody(
      subgraph, [&](Graph* body) { return bodies.CopyOf(body); }, main);
  bodies.Finish();
  absl::flat_hash_set<absl::string_view> read;
  for (const Graph* made : piece->graphs()) {
    for (const Node* node : made->nodes()) {
      if (node->op() == Op::kGetAttr) read.insert(node->target());
    }
  }
  for (const Attribute& attribute : whole.attributes()) {
    if (read.contains(attribute.name)) piece->AddAttribute(attribute);
  }
  return piece;
}

absl::Status Inline(Node* call) {
  const absl::Span<const Argument> args = call->args();
  if (args.empty() || !args[0].is_graph() || !call->kwargs().empty()) {
    return NodeError(*call, "not a call of a body with operands by position");
  }
  const Graph& body = *args[0].graph();
  if (body.placeholders().size() != args.size() - 1) {
    return NodeError(*call, absl::StrCat(args.size() - 1, " operands for ",
                                         body.placeholders().size(), " parameters"));
  }
  Graph* const graph = call->graph();
  const InsertionGuard guard(graph, call);
  const size_t known = graph->module()->num_indices();
  Arena arena;  // Holds the returned value until its parts are copied to the module.
  NodeTable<Argument> values(*graph->module());
  const auto value_of = [&](const Argument& a) { return a.is_node() ? values[a.node()] : a; };
  size_t next = 1;
  for (const Node* node : body.nodes()) {
    if (node->is_placeholder()) {
      values[node] = args[next++];
    } else if (node->is_output()) {
      Replace(call, MapArgument(node->args()[0], &arena, value_of), known);
    } else {
      values[node] = CopyNode(*node, graph, value_of);
    }
  }
  return absl::OkStatus();
}

Node* CopyNode(const Node& node, Graph* to, absl::FunctionRef<Argument(const Argument&)> map) {
  Arena arena;  // Holds the arguments until they are copied to the module.
  std::vector<Argument> args;
  std::vector<KwArg> kwargs;
  for (const Argument& arg : node.args()) args.push_back(MapArgument(arg, &arena, map));
  for (const KwArg& kwarg : node.kwargs()) {
    kwargs.push_back({kwarg.name, MapArgument(kwarg.value, &arena, map)});
  }
  Node* copy = to->CreateNode(node.op(), node.target(), args, kwargs, node.name());
  copy->set_location(node.location());
  copy->set_module_path(node.module_path());
  copy->set_annotation(node.annotation());
  copy->set_meta(node.meta());
  return copy;
}

const Argument* ElementOf(const Node& user, const Node* node, const Argument& value) {
  if (!value.is_tuple() && !value.is_list()) return nullptr;
  const bool is_getitem = user.is_call_function("operator.getitem") && user.args().size() == 2 &&
                          user.args()[0].is_node() && user.args()[0].node() == node &&
                          user.args()[1].is_int();
  if (!is_getitem) return nullptr;
  const auto size = static_cast<int64_t>(value.elements().size());
  const int64_t i = user.args()[1].integer();
  if (i < -size || i >= size) return nullptr;
  return &value.elements()[static_cast<size_t>(i < 0 ? i + size : i)];
}

void ReplaceUsesWithValue(Node* node, const Argument& value) {
  ReplaceUses(node, value, std::numeric_limits<size_t>::max());
}

}  // namespace graphnet
