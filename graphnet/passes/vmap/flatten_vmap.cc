#include "graphnet/passes/vmap/flatten_vmap.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ir/outline.h"
#include "graphnet/passes/pass.h"
#include "graphnet/passes/vmap/vmap_call.h"

namespace graphnet {
namespace {

constexpr absl::string_view kLoad = "torch._functorch.predispatch.lazy_load_decompositions";
constexpr absl::string_view kIncrement = "torch._functorch.predispatch._vmap_increment_nesting";
constexpr absl::string_view kAdd = "torch._functorch.predispatch._add_batch_dim";
constexpr absl::string_view kRemove = "torch._functorch.predispatch._remove_batch_dim";
constexpr absl::string_view kDecrement = "torch._functorch.predispatch._vmap_decrement_nesting";

// Reads all calls before anything changes, and counts the nodes that they will become.
class Check {
 public:
  absl::Status Run(const Graph& main) { return Size(main, 0).status(); }

  // Returns whether the graph, or a body that it reaches, calls torch.vmap.
  bool HasVmap(const Graph& graph) {
    const auto known = has_vmap_.find(&graph);
    if (known != has_vmap_.end()) return known->second;
    bool has_vmap = false;
    for (const Node* node : graph.nodes()) {
      has_vmap = IsVmapCall(*node);
      if (!has_vmap) {
        node->ForEachArgument(
            [&](const Argument& a) { has_vmap |= a.is_graph() && HasVmap(*a.graph()); });
      }
      if (has_vmap) break;
    }
    has_vmap_[&graph] = has_vmap;
    return has_vmap;
  }

 private:
  // Returns the number of nodes of `graph` when it is written out with `depth` levels open.
  absl::StatusOr<size_t> Size(const Graph& graph, int depth) {
    const auto known = sizes_.find({&graph, depth});
    if (known != sizes_.end()) return known->second;
    size_t size = 0;
    for (const Node* node : graph.nodes()) {
      ++size;
      if (!IsVmapCall(*node)) {
        RETURN_IF_ERROR(CheckBodies(*node, depth));
        continue;
      }
      if (depth == kMaxVmapLevels) {
        return NodeError(*node, absl::StrCat("more than ", kMaxVmapLevels, " vmap levels"));
      }
      ASSIGN_OR_RETURN(VmapCall call, ReadVmapCall(*node));
      ASSIGN_OR_RETURN(const size_t body, Size(*call.body, depth + 1));
      size += body + call.operands.size() + call.results.size() + 4;
      RETURN_IF_ERROR(CheckTotal(*node, size));
    }
    sizes_[{&graph, depth}] = size;
    return size;
  }

  // The body of any other call is written once for each number of open levels.
  absl::Status CheckBodies(const Node& node, int depth) {
    absl::Status status;
    node.ForEachArgument([&](const Argument& argument) {
      if (!status.ok() || !argument.is_graph() || !HasVmap(*argument.graph())) return;
      if (!bodies_.insert({argument.graph(), depth}).second) return;
      const absl::StatusOr<size_t> size = Size(*argument.graph(), depth);
      status = size.status();
      if (!size.ok()) return;
      bodies_size_ += *size;
      status = CheckTotal(node, 0);
    });
    return status;
  }

  absl::Status CheckTotal(const Node& node, size_t size) const {
    if (size + bodies_size_ <= kMaxFlattenedNodes) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        NodeError(node,
                  absl::StrCat("written out, it takes more than ", kMaxFlattenedNodes, " nodes"))
            .message());
  }

  using GraphAtDepth = std::pair<const Graph*, int>;
  absl::flat_hash_map<GraphAtDepth, size_t> sizes_;
  absl::flat_hash_set<GraphAtDepth> bodies_;
  size_t bodies_size_ = 0;
  absl::flat_hash_map<const Graph*, bool> has_vmap_;
};

// Maps nodes of a body to their values in the main graph; several results are one tuple.
using Values = absl::flat_hash_map<const Node*, Argument>;

class Flattener {
 public:
  Flattener(Module* module, Check* check) : module_(module), check_(*check) {}

  void Run() {
    Flatten(module_->main(), 0);
    module_->EraseUnusedGraphs();
    for (const auto& [copy, name] : body_names_) {
      if (module_->FindGraph(name) == nullptr) module_->RenameGraph(copy, name);
    }
  }

 private:
  // Writes out all calls in `graph`, where `depth` levels are open.
  void Flatten(Graph* graph, int depth) {
    graph_ = graph;
    std::vector<std::pair<Node*, std::string>> names;
    for (Node* node : graph->nodes()) {
      if (!IsVmapCall(*node)) {
        bool has_body = false;
        node->ForEachArgument([&](const Argument& a) { has_body |= a.is_graph(); });
        if (has_body) node->MapArguments([&](const Argument& a) { return WithBody(a, depth); });
        continue;
      }
      InsertionGuard guard(graph, node);
      const std::string name(node->name());
      const VmapCall call = *ReadVmapCall(*node);
      const Argument value = Inline(*node, call, call.operands, depth + 1);
      if (value.is_node()) {
        node->ReplaceAllUsesWith(value.node());
        graph->EraseNode(node);
        if (last_made_ == value.node()) names.emplace_back(value.node(), name);
        continue;
      }
      for (Node* user : node->users()) ReplaceTuple(user, node, value);
      graph->EraseNode(node);
    }
    for (const auto& [node, name] : names) node->set_name(name);
  }

  // Returns `argument`; if it is a body with calls of torch.vmap, these are written out.
  Argument WithBody(const Argument& argument, int depth) {
    if (!argument.is_graph() || !check_.HasVmap(*argument.graph())) return argument;
    const Graph& body = *argument.graph();
    const auto known = bodies_.find({&body, depth});
    if (known != bodies_.end()) return known->second;
    Graph* const copy = module_->AddGraph(body.name());
    bodies_[{&body, depth}] = copy;
    body_names_.emplace_back(copy, body.name());
    absl::flat_hash_map<const Node*, Node*> copies;
    for (const Node* node : body.nodes()) {
      copies[node] = copy->CopyNodeFrom(*node, [&](Node* operand) { return copies.at(operand); });
    }
    Graph* const outer = graph_;
    Node* const last_made = last_made_;
    Flatten(copy, depth);
    graph_ = outer;
    last_made_ = last_made;
    return copy;
  }

  // Replaces `node`, which yields `tuple`, in one of its users.
  void ReplaceTuple(Node* user, Node* node, const Argument& tuple) {
    if (const Argument* element = ElementOf(*user, node, tuple)) {
      const std::string name(user->name());
      Node* const value = element->node();
      user->ReplaceAllUsesWith(value);
      graph_->EraseNode(user);
      TakesName(value, name);
      return;
    }
    user->MapArguments([&](const Argument& a) { return a == Argument(node) ? tuple : a; });
  }

  // Gives a removal the name of the first getitem that takes it. Returns false if `value` is not a
  // removal or has such a name already.
  bool TakesName(Node* value, absl::string_view name) {
    if (unnamed_.erase(value) == 0) return false;
    value->set_name(name);
    return true;
  }

  Node* Call(const Node& like, absl::string_view target, absl::Span<const Argument> args,
             absl::string_view name = {}) {
    Node* const node = graph_->CallFunction(target, args, {}, name);
    node->set_location(like.location());
    node->set_module_path(like.module_path());
    last_made_ = node;
    return node;
  }

  // Writes `node` to the main graph, where its operands are `operands`, and returns its value.
  Argument Inline(const Node& node, const VmapCall& call, absl::Span<const Argument> operands,
                  int level) {
    Call(node, kLoad, {});
    Argument size;
    for (size_t i = 0; i < operands.size() && size.is_none(); ++i) {
      if (!call.in_dims[i].has_value()) continue;
      if (const auto known = KnownSize(operands[i], *call.in_dims[i])) {
        size = *known;
      } else {
        Node* const read = graph_->CallMethod("size", {operands[i], *call.in_dims[i]});
        read->set_location(node.location());
        size = read;
      }
    }
    Call(node, kIncrement, {size, call.randomness});
    Values values;
    size_t next = 0;
    for (const Node* inner : call.body->nodes()) {
      if (inner->is_output()) break;
      if (inner->is_placeholder()) {
        const size_t i = next++;
        if (!call.in_dims[i].has_value()) {
          values[inner] = operands[i];
          continue;
        }
        Node* const added =
            Call(*inner, kAdd, {operands[i], *call.in_dims[i], level}, inner->name());
        added->set_meta(inner->meta());
        values[inner] = added;
        continue;
      }
      values[inner] = Copy(*inner, values, level);
    }
    std::vector<Argument> results;
    for (size_t i = 0; i < call.results.size(); ++i) {
      const Argument value = values.at(call.results[i].node());
      if (!call.out_dims[i].has_value()) {
        results.push_back(value);
        continue;
      }
      Node* const removed = Call(node, kRemove, {value, level, size, *call.out_dims[i]},
                                 call.yields_tuple ? absl::string_view() : node.name());
      if (!call.yields_tuple) removed->set_meta(node.meta());
      unnamed_.insert(removed);
      results.push_back(removed);
    }
    Node* const last = last_made_;
    Call(node, kDecrement, {});
    if (!call.yields_tuple) {
      last_made_ = call.out_dims[0].has_value() ? last : nullptr;
      return results[0];
    }
    return Argument::Tuple(arena_.Copy(absl::MakeConstSpan(results)));
  }

  // Copies a node of a body to the main graph.
  Argument Copy(const Node& node, const Values& values, int level) {
    if (node.is_call_function("operator.getitem") && node.args()[0].is_node()) {
      const Node* whole = node.args()[0].node();
      if (const Argument* element = ElementOf(node, whole, values.at(whole))) {
        if (element->is_node() && TakesName(element->node(), node.name()))
          element->node()->set_meta(node.meta());
        return *element;
      }
    }
    const auto value_of = [&](const Argument& a) {
      const auto it = a.is_node() ? values.find(a.node()) : values.end();
      return it == values.end() ? WithBody(a, level) : it->second;
    };
    if (IsVmapCall(node)) {
      VmapCall call = *ReadVmapCall(node);
      for (Argument& operand : call.operands) operand = MapArgument(operand, &arena_, value_of);
      return Inline(node, call, call.operands, level + 1);
    }
    return CopyNode(node, graph_, value_of);
  }

  Module* module_;
  Check& check_;
  Graph* graph_ = nullptr;  // the graph that is being written
  // The bodies of other calls, written out, by the number of open levels.
  absl::flat_hash_map<std::pair<const Graph*, int>, Graph*> bodies_;
  std::vector<std::pair<Graph*, std::string>> body_names_;
  Arena arena_;
  Node* last_made_ = nullptr;
  absl::flat_hash_set<const Node*> unnamed_;  // removals that may take the name of a getitem
};

}  // namespace

absl::StatusOr<bool> FlattenVmap(Module* module) {
  if (module->main() == nullptr) return false;
  Check check;
  if (!check.HasVmap(*module->main())) return false;
  RETURN_IF_ERROR(check.Run(*module->main()));
  Flattener(module, &check).Run();
  return true;
}

namespace {

const RegisteredPass kFlattenVmapPass("flatten-vmap", "flatten_vmap.h",
                                      [](Module* module, PassRun&) { return FlattenVmap(module); });

}  // namespace

}  // namespace graphnet
