#include "graphnet/passes/vmap/expand_vmap.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/ir/outline.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/passes/pass.h"
#include "graphnet/passes/vmap/batched_calls.h"
#include "graphnet/passes/vmap/batching_rules.h"
#include "graphnet/passes/vmap/vmap_call.h"

namespace graphnet {
namespace {

class Expander : private BatchedCalls {
 public:
  Expander(Module* module, PassRun* run) : BatchedCalls(*module), module_(module), run_(*run) {
    for (const Graph* graph : lowered_.module->graphs()) {
      for (const Node* node : graph->nodes()) {
        const Node*& first = first_made_[lowered_.origins[node]];
        if (first == nullptr) first = node;
      }
    }
  }

  absl::StatusOr<bool> Run() {
    absl::flat_hash_set<Graph*> seen = {module_->main()};
    std::vector<Graph*> graphs = {module_->main()};
    while (!graphs.empty()) {
      Graph* const graph = graphs.back();
      graphs.pop_back();
      for (Node* node : graph->nodes()) {
        if (IsVmapCall(*node)) RETURN_IF_ERROR(TryCall(node));
        if (node->is_erased()) continue;
        node->ForEachArgument([&](const Argument& a) {
          if (a.is_graph() && seen.insert(a.graph()).second) graphs.push_back(a.graph());
        });
      }
    }
    for (const auto& [why, count] : reasons_) run_.Note(why, count);
    if (changed_) module_->EraseUnusedGraphs();
    return changed_;
  }

 private:
  // Replaces `call`, or leaves it and notes the reason.
  absl::Status TryCall(Node* call) {
    graph_ = call->graph();
    source_ = call;
    emitted_.clear();
    levels_.clear();
    values_.clear();
    tuples_.clear();
    InsertionGuard guard(graph_, call);
    absl::StatusOr<std::vector<Value>> results = ExpandOutermost(*call);
    written_ += emitted_.size();
    if (!results.ok()) {
      for (size_t i = emitted_.size(); i-- > 0;) graph_->EraseNode(emitted_[i]);
      if (results.status().code() != absl::StatusCode::kUnimplemented) return results.status();
      ++reasons_[std::string(results.status().message())];
      return absl::OkStatus();
    }
    Finish(call, *results);
    changed_ = true;
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Value>> ExpandOutermost(const Node& call) {
    ASSIGN_OR_RETURN(const VmapCall read, ReadVmapCall(call));
    std::vector<Value> operands;
    operands.reserve(read.operands.size());
    for (const Argument& operand : read.operands) {
      Value value;
      value.arg = operand;
      if (operand.is_node()) {
        const Argument& known = lowered_.values[operand.node()];
        if (known.is_node()) {
          value.facts = facts_.Of(known.node());
        } else if (const auto it = made_facts_.find(operand.node()); it != made_facts_.end()) {
          value.facts = it->second;  // This pass made it.
        }
      }
      operands.push_back(std::move(value));
    }
    ASSIGN_OR_RETURN(std::vector<Value> results, ExpandLevel(call, read, std::move(operands), 1));
    yields_tuple_ = read.yields_tuple;
    for (const Value& result : results) {
      if (!result.arg.is_node()) return NoRule("a body returns a value that is not a tensor");
    }
    return results;
  }

  bool IsEmitted(const Node* node) const { return absl::c_linear_search(emitted_, node); }

  void Finish(Node* call, const std::vector<Value>& results) {
    const std::string name(call->name());
    Arguments elements;
    for (const Value& result : results) {
      if (IsEmitted(result.arg.node())) made_facts_[result.arg.node()] = result.facts;
      elements.push_back(result.arg);
    }
    if (!yields_tuple_) {
      Node* const value = elements[0].node();
      if (value->meta() == nullptr) value->set_meta(call->meta());
      call->ReplaceAllUsesWith(value);
      graph_->EraseNode(call);
      if (IsEmitted(value)) value->set_name(name);
      return;
    }
    const Argument tuple = Argument::Tuple(elements);
    for (Node* user : call->users()) {
      const Argument* element = ElementOf(*user, call, tuple);
      if (element == nullptr) {
        user->MapArguments([&](const Argument& a) { return a == Argument(call) ? tuple : a; });
        continue;
      }
      Node* const value = element->node();
      const std::string element_name(user->name());
      user->ReplaceAllUsesWith(value);
      graph_->EraseNode(user);
      if (renamed_.insert(value).second && IsEmitted(value)) value->set_name(element_name);
    }
    graph_->EraseNode(call);
  }

  // --- Levels ------------------------------------------------------------------

  absl::StatusOr<std::vector<Value>> ExpandLevel(const Node& call, const VmapCall& read,
                                                 std::vector<Value> operands, int level) {
    const Argument& known = lowered_.values[&call];
    if (!known.is_node() || refused_.contains(&call)) {
      return NoRule("a call of torch.vmap that cannot be lowered");
    }
    const Graph* const body = known.node()->args()[0].graph();
    if (facts_.IsAmbiguous(body))
      return NoRule("a body that several calls share with other operands");
    if (level > kMaxVmapLevels) return NoRule("more vmap levels than PyTorch has");
    const Node* const outer_source = source_;
    BatchLevel info;
    size_t next = 0;
    bool has_size = false;
    for (const Node* parameter : body->nodes()) {
      if (!parameter->is_placeholder()) break;
      const size_t i = next++;
      Value v = std::move(operands[i]);
      source_ = lowered_.origins[parameter];
      if (read.in_dims[i].has_value()) {
        int64_t dim = *read.in_dims[i];
        if (!v.is_tensor() || (v.rank() < 0 && (dim < 0 || v.prefix > 0))) {
          return NoRule("the number of dimensions of a batched operand is not known");
        }
        if (dim < 0) dim += v.rank();
        if (dim < 0 || (v.rank() >= 0 && dim >= v.rank()))
          return NoRule("in_dims beyond the dimensions");
        if (!has_size) {
          has_size = true;
          info.source = v.arg;
          info.dim = v.prefix + static_cast<int>(dim);
          if (const auto size = KnownSize(v.arg, info.dim); size && !v.batched()) info.size = *size;
        }
        v.arg = Insert(v.arg, v.prefix, level - 1 - v.prefix);
        v.arg = Move(v.arg, level - 1 + static_cast<int>(dim), level - 1);
        v.prefix = level;
        v.levels |= uint64_t{1} << (level - 1);
        if (v.rank() > 0) v.facts.set_rank(v.rank() - 1);
      }
      values_[parameter] = std::move(v);
    }
    info.randomness = read.randomness;
    levels_.resize(static_cast<size_t>(level - 1));
    levels_.push_back(info);

    for (const Node* node : read.body->nodes()) {
      if (node->is_placeholder() || node->is_output()) continue;
      source_ = node;
      RETURN_IF_ERROR(ExpandNode(*node, level));
      if (written_ + emitted_.size() > kMaxExpandedNodes)
        return NoRule("written out, the calls take too many nodes");
    }

    source_ = outer_source;
    std::vector<Value> results;
    results.reserve(read.results.size());
    for (size_t i = 0; i < read.results.size(); ++i) {
      std::optional<Value> result = ValueOf(lowered_.values[read.results[i].node()]);
      if (!result.has_value()) return NoRule("a body returns a value that is not a tensor");
      Value& v = *result;
      if (!read.out_dims[i].has_value()) {
        if (v.Has(level - 1)) return NoRule("a batched result with out_dim None");
        if (v.prefix == level) {
          v.arg = Emit("aten.select.int", {v.arg, level - 1, 0});
          v.prefix = level - 1;
        }
        results.push_back(std::move(v));
        continue;
      }
      if (v.rank() < 0 && !(v.Has(level - 1) && *read.out_dims[i] == 0)) {
        return NoRule(absl::StrCat("the number of dimensions of a result of ",
                                   read.results[i].node()->target(), " is not known"));
      }
      ASSIGN_OR_RETURN(v, Leave(std::move(v), level, *read.out_dims[i]));
      results.push_back(std::move(v));
    }
    levels_.resize(static_cast<size_t>(level - 1));
    return results;
  }

  // Returns the value after the dimension of `level` is removed.
  Result Leave(Value v, int level, int64_t out_dim) {
    const int at = level - 1;
    if (!v.arg.is_node() || (!v.is_tensor() && v.batched()))
      return NoRule("a body returns a value that is not a tensor");
    const auto dim = static_cast<int>(out_dim < 0 ? out_dim + v.rank() + 1 : out_dim);
    if (dim < 0 || (v.rank() >= 0 && dim > v.rank()))
      return NoRule("out_dims beyond the dimensions");
    const auto expand = [&](int place, int dims) {
      Arguments sizes(static_cast<size_t>(dims), Argument(-1));
      sizes[static_cast<size_t>(place)] = SizeOf(at);
      v.arg = Emit("aten.expand.default", {v.arg, List(sizes)});
    };
    if (v.prefix == level) {
      if (!v.Has(at)) expand(at, level + v.rank());
      v.arg = Move(v.arg, at, at + dim);
    } else {
      v.arg = Emit("aten.unsqueeze.default", {v.arg, v.prefix + dim});
      expand(v.prefix + dim, v.prefix + v.rank() + 1);
    }
    v.prefix = std::min(v.prefix, at);
    v.levels &= ~(uint64_t{1} << at);
    if (v.rank() >= 0) v.facts.set_rank(v.rank() + 1);
    if (!v.batched() && v.prefix > 0) {  // An unbatched value has no prefix.
      v.arg = First(v.arg, v.prefix);
      v.prefix = 0;
    }
    return v;
  }

  // --- Nodes -------------------------------------------------------------------

  // The lowered calls of a node, in order; they are adjacent.
  using Calls = absl::InlinedVector<const Node*, 4>;
  Calls MadeFor(const Node& node) const {
    Calls made;
    for (const Node* n = first_made_[&node]; n != nullptr && lowered_.origins[n] == &node;
         n = n->next()) {
      made.push_back(n);
    }
    return made;
  }

  absl::Status ExpandNode(const Node& node, int level) {
    if (IsVmapCall(node)) return ExpandInner(node, level);
    if (node.op() == Op::kGetAttr) {
      const Node* lowered = lowered_.values[&node].node();
      values_[lowered] = {
          {}, Track(graph_->GetAttr(node.target(), node.name())), facts_.Of(lowered)};
      return absl::OkStatus();
    }
    if (refused_.contains(&node)) return NoRule(absl::StrCat(node.target(), " cannot be lowered"));
    bool batched = false;
    bool unknown = false;
    node.ForEachOperand([&](const Node* operand) {
      ForEachArgument(lowered_.values[operand], [&](const Argument& a) {
        if (!a.is_node()) return;
        batched |= AnyBatched(a);
        unknown |= !values_.contains(a.node()) && !tuples_.contains(a.node());
      });
    });
    if (unknown) return NoRule(absl::StrCat(node.target(), " uses a structure of tensors"));
    if (!batched) return Copy(node);
    for (const Node* call : MadeFor(node)) {  // None means there is nothing to compute.
      ASSIGN_OR_RETURN(Value value, Apply(*call));
      values_[call] = std::move(value);
    }
    return absl::OkStatus();
  }

  absl::Status ExpandInner(const Node& node, int level) {
    ASSIGN_OR_RETURN(const VmapCall read, ReadVmapCall(node));
    std::vector<Value> operands;
    operands.reserve(read.operands.size());
    for (const Argument& operand : read.operands) {
      std::optional<Value> value =
          ValueOf(operand.is_node() ? lowered_.values[operand.node()] : operand);
      if (!value.has_value()) return NoRule("an operand of torch.vmap is a structure of tensors");
      operands.push_back(*std::move(value));
    }
    ASSIGN_OR_RETURN(std::vector<Value> results,
                     ExpandLevel(node, read, std::move(operands), level + 1));
    const Node* lowered = lowered_.values[&node].node();
    if (read.yields_tuple) {
      tuples_[lowered] = std::move(results);
    } else {
      values_[lowered] = std::move(results[0]);
    }
    return absl::OkStatus();
  }

  // Copies a node that depends on no level.
  absl::Status Copy(const Node& node) {
    const Calls made = MadeFor(node);
    for (const Node* call : made) {
      const Schema* schema = FindOverload(call->target());
      if (schema == nullptr || !schema->is_random || DropsNothing(*call, *schema)) continue;
      uint64_t different = 0;
      for (size_t i = 0; i < levels_.size(); ++i) {
        if (levels_[i].randomness == "error") {
          return NoRule("random numbers are drawn under vmap with randomness \"error\"");
        }
        if (levels_[i].randomness == "different") different |= uint64_t{1} << i;
      }
      if (different == 0) continue;
      if (made.size() != 1 || BatchingRuleOf(*schema) != BatchingRule::kRandom) {
        return NoRule(absl::StrCat("random numbers of ", call->target(),
                                   " under vmap with randomness \"different\""));
      }
      ASSIGN_OR_RETURN(values_[call], Draw(*call, *schema, different));
      return absl::OkStatus();
    }
    if (node.is_call_function("torch.autograd.function.FunctionCtx") && !node.has_uses()) {
      return absl::OkStatus();
    }
    const auto map = [&](const Argument& a) {
      return MapNodes(a, [&](Node* operand) {
        return MapNodes(lowered_.values[operand], [&](Node* n) { return values_.at(n).arg; });
      });
    };
    Arguments args;
    for (const Argument& a : node.args()) args.push_back(map(a));
    std::vector<KwArg> kwargs;
    for (const KwArg& k : node.kwargs()) kwargs.push_back({k.name, map(k.value)});
    if (node.op() == Op::kCallMethod && !args[0].is_node())
      return NoRule("a method of a value that is not a node");
    Node* const copy =
        Track(graph_->CreateNode(node.op(), node.target(), args, kwargs, node.name()));
    copy->set_meta(node.meta());
    const Argument& value = lowered_.values[&node];
    if (value.is_node()) {
      if (lowered_.origins[value.node()] == &node) {
        values_[value.node()] = {{}, copy, facts_.Of(value.node())};
      }
    } else if (value.is_aggregate() && node.has_uses()) {
      return NoRule(absl::StrCat(node.target(), " yields a structure of tensors"));
    }
    return absl::OkStatus();
  }

  Module* module_;
  PassRun& run_;
  // The first lowered call of each original node.
  NodeTable<const Node*> first_made_;
  std::map<std::string, size_t> reasons_;
  size_t written_ = 0;  // nodes, with those of calls that stayed after all
  bool changed_ = false;
  bool yields_tuple_ = false;  // for the call that is being expanded
  // Facts about values that this pass has made, for later calls that take them.
  absl::flat_hash_map<const Node*, TensorFacts> made_facts_;
  absl::flat_hash_set<const Node*> renamed_;
};

}  // namespace

absl::StatusOr<bool> ExpandVmap(Module* module, PassRun& run) {
  for (const Graph* graph : module->graphs()) {
    for (const Node* node : graph->nodes()) {
      if (IsVmapCall(*node)) return Expander(module, &run).Run();
    }
  }
  return false;
}

namespace {

const RegisteredPass kExpandVmapPass("expand-vmap", "expand_vmap.h", ExpandVmap);

}  // namespace

}  // namespace graphnet
