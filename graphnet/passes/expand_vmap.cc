#include "graphnet/passes/expand_vmap.h"

#include <algorithm>
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
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/arena.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/passes/batching_rules.h"
#include "graphnet/passes/flatten_vmap.h"
#include "graphnet/passes/tensor_facts.h"
#include "graphnet/passes/vmap_call.h"

namespace graphnet {
namespace {

using Arguments = std::vector<Argument>;

// A value of a body where it is expanded: `prefix` dimensions, one a level, stand in
// front of its own; those of levels that are not in `levels` have size 1.
struct Value {
  Argument arg;
  int prefix = 0;
  uint64_t levels = 0;  // bit 0: the outermost
  TensorFacts facts;    // without the prefix

  bool batched() const { return levels != 0; }
  bool is_tensor() const { return arg.is_node() && facts.is_tensor(); }
  int rank() const { return facts.rank; }
};

using Result = absl::StatusOr<Value>;

absl::Status NoRule(absl::string_view why) { return absl::UnimplementedError(why); }

constexpr absl::string_view kWritten = "a value that is not batched is written to with one that is";

std::string RankUnknown(const Node& node) {
  return absl::StrCat("the number of dimensions of an operand of ", node.target(), " is not known");
}

Argument FullSlice() {
  static const Argument kNones[3];
  return Argument::Slice(kNones);
}

class Expander {
 public:
  Expander(Module* module, PassRun* run)
      : module_(module), run_(*run), lowered_(*LowerToAten(*module, &refused_)), facts_(lowered_) {
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
        if (!IsVmapCall(*node)) {
          for (const Argument& argument : node->args()) {
            if (argument.is_graph() && seen.insert(argument.graph()).second) {
              graphs.push_back(argument.graph());
            }
          }
          continue;
        }
        RETURN_IF_ERROR(TryCall(node));
        if (node->is_erased()) continue;
        Graph* const body = node->args()[0].graph();
        if (seen.insert(body).second) graphs.push_back(body);
      }
    }
    for (const auto& [why, count] : reasons_) run_.Note(why, count);
    if (changed_) module_->EraseUnusedGraphs();
    return changed_;
  }

 private:
  // Replaces `call`, or leaves it and notes why.
  absl::Status TryCall(Node* call) {
    graph_ = call->graph();
    source_ = call;
    emitted_.clear();
    levels_.clear();
    values_.clear();
    tuples_.clear();
    InsertionGuard guard(graph_, call);
    absl::StatusOr<std::vector<Value>> results = ExpandOutermost(*call);
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
    for (const Argument& operand : read.operands) {
      Value value;
      value.arg = operand;
      if (operand.is_node()) {
        const Argument& known = lowered_.values[operand.node()];
        if (known.is_node()) {
          value.facts = facts_.Of(known.node());
        } else if (const auto it = made_facts_.find(operand.node()); it != made_facts_.end()) {
          value.facts = it->second;  // It was made by this pass.
        }
      }
      operands.push_back(value);
    }
    ASSIGN_OR_RETURN(std::vector<Value> results, ExpandLevel(call, read, std::move(operands), 1));
    yields_tuple_ = read.yields_tuple;
    for (const Value& result : results) {
      if (!result.arg.is_node()) return NoRule("a body returns what is no tensor");
    }
    return results;
  }

  void Finish(Node* call, const std::vector<Value>& results) {
    const std::string name(call->name());
    for (const Value& result : results) {
      if (absl::c_linear_search(emitted_, result.arg.node()))
        made_facts_[result.arg.node()] = result.facts;
    }
    if (!yields_tuple_) {
      Node* const value = results[0].arg.node();
      if (value->meta() == nullptr) value->set_meta(call->meta());
      call->ReplaceAllUsesWith(value);
      graph_->EraseNode(call);
      if (absl::c_linear_search(emitted_, value)) value->set_name(name);
      return;
    }
    Arguments elements;
    for (const Value& result : results) elements.push_back(result.arg);
    for (Node* user : call->users()) {
      const bool takes = user->is_call_function("operator.getitem") && user->args()[0].is_node() &&
                         user->args()[0].node() == call && user->args()[1].is_int();
      int64_t i = takes ? user->args()[1].integer() : -1;
      if (takes && i < 0) i += static_cast<int64_t>(elements.size());
      if (takes && i >= 0 && i < static_cast<int64_t>(elements.size())) {
        Node* const value = elements[static_cast<size_t>(i)].node();
        const std::string element_name(user->name());
        user->ReplaceAllUsesWith(value);
        graph_->EraseNode(user);
        if (renamed_.insert(value).second && absl::c_linear_search(emitted_, value)) {
          value->set_name(element_name);
        }
        continue;
      }
      Arguments args;
      const auto replace = [&](const Argument& a) {
        return MapNodes(
            a, [&](Node* n) { return n == call ? Argument::Tuple(elements) : Argument(n); });
      };
      for (const Argument& a : user->args()) args.push_back(replace(a));
      std::vector<KwArg> kwargs;
      for (const KwArg& k : user->kwargs()) kwargs.push_back({k.name, replace(k.value)});
      user->set_args(args);
      user->set_kwargs(kwargs);
    }
    graph_->EraseNode(call);
  }

  template <typename Fn>
  Argument MapNodes(const Argument& argument, Fn&& fn) {
    return MapArgument(argument, &arena_,
                       [&](const Argument& a) { return a.is_node() ? Argument(fn(a.node())) : a; });
  }
  Argument List(const Arguments& elements) {
    return Argument::List(arena_.Copy(absl::MakeConstSpan(elements)));
  }
  Argument Tuple(const Arguments& elements) {
    return Argument::Tuple(arena_.Copy(absl::MakeConstSpan(elements)));
  }

  // --- Emission ----------------------------------------------------------------

  Node* Track(Node* node) {
    node->set_location(source_->location());
    node->set_module_path(source_->module_path());
    emitted_.push_back(node);
    return node;
  }
  Node* Emit(absl::string_view target, const Arguments& args,
             const std::vector<KwArg>& kwargs = {}) {
    return Track(graph_->CallFunction(target, args, kwargs, source_->name()));
  }
  // `count` dimensions of size 1 at `at`.
  Argument Insert(const Argument& x, int at, int count) {
    if (count <= 0) return x;
    if (count == 1) return Emit("aten.unsqueeze.default", {x, at});
    Arguments index(static_cast<size_t>(at), FullSlice());
    index.resize(static_cast<size_t>(at + count));  // None
    return Emit("operator.getitem", {x, Tuple(index)});
  }
  Argument MoveDim(const Argument& x, int from, int to) {
    if (from == to) return x;
    return Emit("aten.movedim.int", {x, from, to});
  }
  // Of a level, from 0.
  Argument SizeOf(int level) {
    Level& info = levels_[static_cast<size_t>(level)];
    if (info.size.is_none()) {
      info.size = Track(graph_->CallMethod("size", {info.source, info.dim}, {}, "size"));
    }
    return info.size;
  }
  static bool Has(uint64_t levels, int level) { return (levels >> level & 1) != 0; }

  // With `prefix` dimensions in front and `rank` of its own, for broadcasting; what is
  // not batched stays.
  Argument Align(const Value& v, int prefix, int rank) {
    if (!v.is_tensor() || v.prefix == 0) return v.arg;
    return Insert(v.arg, v.prefix, prefix - v.prefix + rank - v.rank());
  }
  // Ditto, in any case, of the levels' full sizes for all in `levels`.
  Value Materialize(const Value& v, int prefix, int rank, uint64_t levels) {
    Value made = v;
    made.arg = Insert(v.arg, v.prefix, prefix - v.prefix + rank - v.rank());
    made.prefix = prefix;
    made.facts.rank = rank;
    made.levels = levels;
    if ((levels & ~v.levels) == 0) return made;
    Arguments sizes;
    for (int i = 0; i < prefix; ++i) {
      sizes.push_back(Has(levels, i) && !Has(v.levels, i) ? SizeOf(i) : Argument(-1));
    }
    for (int i = 0; i < rank; ++i) sizes.push_back(-1);
    made.arg = Emit("aten.expand.default", {made.arg, List(sizes)});
    return made;
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
    Level info;
    size_t next = 0;
    bool has_size = false;
    for (const Node* parameter : body->nodes()) {
      if (!parameter->is_placeholder()) break;
      const size_t i = next++;
      Value v = operands[i];
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
        v.arg = MoveDim(v.arg, level - 1 + static_cast<int>(dim), level - 1);
        v.prefix = level;
        v.levels |= uint64_t{1} << (level - 1);
        if (v.facts.rank > 0) --v.facts.rank;
      }
      values_[parameter] = v;
    }
    info.randomness = read.randomness;
    levels_.resize(static_cast<size_t>(level - 1));
    levels_.push_back(info);

    for (const Node* node : read.body->nodes()) {
      if (node->is_placeholder() || node->is_output()) continue;
      source_ = node;
      RETURN_IF_ERROR(ExpandNode(*node, level));
      if (emitted_.size() > kMaxFlattenedNodes)
        return NoRule("written out, a call takes too many nodes");
    }

    source_ = outer_source;
    std::vector<Value> results;
    for (size_t i = 0; i < read.results.size(); ++i) {
      const auto result = ValueOfOriginal(read.results[i].node());
      if (!result.has_value()) return NoRule("a body returns what is no tensor");
      Value v = *result;
      const uint64_t bit = uint64_t{1} << (level - 1);
      if (!read.out_dims[i].has_value()) {
        if ((v.levels & bit) != 0) return NoRule("a batched result with out_dim None");
        if (v.prefix == level) {
          v.arg = Emit("aten.select.int", {v.arg, level - 1, 0});
          v.prefix = level - 1;
        }
        results.push_back(v);
        continue;
      }
      if (v.rank() < 0 && !(Has(v.levels, level - 1) && *read.out_dims[i] == 0)) {
        return NoRule(absl::StrCat("the number of dimensions of a result of ",
                                   read.results[i].node()->target(), " is not known"));
      }
      ASSIGN_OR_RETURN(v, Leave(v, level, *read.out_dims[i]));
      results.push_back(v);
    }
    levels_.resize(static_cast<size_t>(level - 1));
    return results;
  }

  // The value that removing the dimension of `level` yields.
  Result Leave(Value v, int level, int64_t out_dim) {
    const int at = level - 1;
    if (!v.arg.is_node() || (!v.is_tensor() && v.batched()))
      return NoRule("a body returns what is no tensor");
    const auto dim = static_cast<int>(out_dim < 0 ? out_dim + v.rank() + 1 : out_dim);
    if (dim < 0 || (v.rank() >= 0 && dim > v.rank()))
      return NoRule("out_dims beyond the dimensions");
    const auto expand = [&](int place, int dims) {
      Arguments sizes(static_cast<size_t>(dims), Argument(-1));
      sizes[static_cast<size_t>(place)] = SizeOf(at);
      v.arg = Emit("aten.expand.default", {v.arg, List(sizes)});
    };
    if (v.prefix == level) {
      if (!Has(v.levels, at)) expand(at, level + v.rank());
      v.arg = MoveDim(v.arg, at, at + dim);
    } else {
      v.arg = Emit("aten.unsqueeze.default", {v.arg, v.prefix + dim});
      expand(v.prefix + dim, v.prefix + v.rank() + 1);
    }
    v.prefix = std::min(v.prefix, at);
    v.levels &= ~(uint64_t{1} << at);
    if (v.facts.rank >= 0) ++v.facts.rank;
    if (!v.batched() && v.prefix > 0) {  // What is not batched has nothing in front.
      v.arg = Emit("operator.getitem",
                   {v.arg, Tuple(Arguments(static_cast<size_t>(v.prefix), Argument(0)))});
      v.prefix = 0;
    }
    return v;
  }

  // --- Nodes -------------------------------------------------------------------

  // Of a lowered node or a constant.
  std::optional<Value> ValueOf(const Argument& argument) {
    if (!argument.is_node()) {
      Value value;
      value.arg = argument;
      value.facts.kind = TensorFacts::Kind::kOther;
      return value;
    }
    const auto it = values_.find(argument.node());
    return it == values_.end() ? std::nullopt : std::optional<Value>(it->second);
  }
  std::optional<Value> ValueOfOriginal(const Node* node) {
    const Argument& value = lowered_.values[node];
    return ValueOf(value);
  }

  // The lowered nodes of one as it is written, in order: they stand together.
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
      values_[lowered] = {Track(graph_->GetAttr(node.target(), node.name())), 0, 0,
                          facts_.Of(lowered)};
      return absl::OkStatus();
    }
    if (refused_.contains(&node)) return NoRule(absl::StrCat(node.target(), " cannot be lowered"));
    bool batched = false;
    bool unknown = false;
    node.ForEachOperand([&](const Node* operand) {
      ForEachArgument(lowered_.values[operand], [&](const Argument& a) {
        if (!a.is_node()) return;
        const auto it = values_.find(a.node());
        if (it != values_.end()) {
          batched |= it->second.batched();
        } else if (tuples_.contains(a.node())) {
          batched = true;
        } else {
          unknown = true;
        }
      });
    });
    if (unknown) return NoRule(absl::StrCat(node.target(), " uses a structure of tensors"));
    if (!batched) return Copy(node);
    for (const Node* call : MadeFor(node)) {  // none: nothing to compute
      ASSIGN_OR_RETURN(Value value, Apply(*call));
      values_[call] = value;
    }
    return absl::OkStatus();
  }

  absl::Status ExpandInner(const Node& node, int level) {
    ASSIGN_OR_RETURN(const VmapCall read, ReadVmapCall(node));
    std::vector<Value> operands;
    for (const Argument& operand : read.operands) {
      const auto value = operand.is_node() ? ValueOfOriginal(operand.node()) : ValueOf(operand);
      if (!value.has_value()) return NoRule("an operand of torch.vmap is a structure of tensors");
      operands.push_back(*value);
    }
    ASSIGN_OR_RETURN(std::vector<Value> results,
                     ExpandLevel(node, read, std::move(operands), level + 1));
    const Node* lowered = lowered_.values[&node].node();
    if (read.yields_tuple) {
      tuples_[lowered] = std::move(results);
    } else {
      values_[lowered] = results[0];
    }
    return absl::OkStatus();
  }

  // What depends on no level, as it is written.
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
      return Draw(*call, *schema, different);
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
      return NoRule("a method of what is no node");
    Node* const copy =
        Track(graph_->CreateNode(node.op(), node.target(), args, kwargs, node.name()));
    copy->set_meta(node.meta());
    const Argument& value = lowered_.values[&node];
    if (value.is_node()) {
      if (lowered_.origins[value.node()] == &node) {
        values_[value.node()] = {copy, 0, 0, facts_.Of(value.node())};
      }
    } else if (value.is_aggregate() && node.has_uses()) {
      return NoRule(absl::StrCat(node.target(), " yields a structure of tensors"));
    }
    return absl::OkStatus();
  }

  // PyTorch draws the numbers of all elements at once, the levels in front.
  absl::Status Draw(const Node& node, const Schema& schema, uint64_t different) {
    ASSIGN_OR_RETURN(Call call, Begin(node, schema));
    const Argument given = Get(node, schema, "size");
    if (!given.is_list() && !given.is_tuple()) return NoRule("random numbers of an unknown size");
    const Argument own = MapNodes(given, [&](Node* n) { return values_.at(n).arg; });
    int prefix = 0;
    while (different >> prefix != 0) ++prefix;
    Arguments sizes = SizesOf(different, prefix);
    sizes.insert(sizes.end(), own.elements().begin(), own.elements().end());
    call.Set("size", List(sizes));
    values_[&node] = Yield(call, prefix, different);
    return absl::OkStatus();
  }
  bool DropsNothing(const Node& node, const Schema& schema) {
    if (schema.FindArgument("dropout_p") == nullptr) return false;
    const Argument p = Get(node, schema, "dropout_p");
    return p.is_none() || (p.is_float() && p.real() == 0) || (p.is_int() && p.integer() == 0);
  }

  // --- Rules -------------------------------------------------------------------

  // A call whose arguments are being changed.
  struct Call {
    const Node* node;
    const Schema* schema;
    Arguments args;
    std::vector<KwArg> kwargs;

    void Set(absl::string_view name, const Argument& value) {
      for (size_t i = 0; i < args.size(); ++i) {
        if (schema->arguments[i].name == name) {
          args[i] = value;
          return;
        }
      }
      for (KwArg& kwarg : kwargs) {
        if (kwarg.name == name) {
          kwarg.value = value;
          return;
        }
      }
      kwargs.push_back({name, value});
    }
  };
  absl::StatusOr<Call> Begin(const Node& node, const Schema& schema) {
    Call call{&node, &schema, {}, {}};
    bool known = true;
    const auto map = [&](const Argument& a) {
      return MapNodes(a, [&](Node* n) {
        const auto it = values_.find(n);
        known = known && it != values_.end();
        return it == values_.end() ? Argument() : it->second.arg;
      });
    };
    for (const Argument& a : node.args()) call.args.push_back(map(a));
    for (const KwArg& k : node.kwargs()) call.kwargs.push_back({k.name, map(k.value)});
    if (!known) return NoRule(absl::StrCat(node.target(), " uses a structure of tensors"));
    return call;
  }
  Value Yield(const Call& call, int prefix, uint64_t levels) {
    return {Emit(call.schema->target, call.args, call.kwargs), prefix, levels,
            facts_.Of(call.node)};
  }
  Argument Get(const Node& node, const Schema& schema, absl::string_view name) {
    return ArgumentOf(node, schema, name);
  }
  // Of an argument of a lowered call; not a structure.
  Value At(const Node& node, const Schema& schema, absl::string_view name) {
    return ValueOf(Get(node, schema, name)).value_or(Value());
  }
  bool AnyBatched(const Argument& argument) {
    bool batched = false;
    ForEachArgument(argument, [&](const Argument& a) {
      if (a.is_node())
        batched |= tuples_.contains(a.node()) || ValueOf(a).value_or(Value()).batched();
    });
    return batched;
  }

  Result Apply(const Node& node) {
    if (node.target() == "operator.getitem") return Subscript(node);
    if (node.target() == "operator.setitem") return SetItem(node);
    if (node.target() == "builtins.getattr") return Attribute(node);
    const Schema* schema = FindOverload(node.target());
    const auto no_rule = [&] {
      return NoRule(absl::StrCat("no batching rule for ", node.target()));
    };
    if (schema == nullptr) return no_rule();
    const BatchingRule rule = BatchingRuleOf(*schema);
    // Their order would be that of the batched tensor's memory.
    if (schema->is_random && !DropsNothing(node, *schema)) {
      return NoRule("random numbers are drawn for a batched tensor");
    }
    if (rule == BatchingRule::kNone || schema->arguments.empty()) return no_rule();
    ASSIGN_OR_RETURN(Call call, Begin(node, *schema));
    const Value self = At(node, *schema, schema->arguments[0].name);
    // Most rules know what to do with their first tensor only.
    bool others_batched = false;
    for (size_t i = 1; i < schema->arguments.size(); ++i) {
      others_batched |= AnyBatched(Get(node, *schema, schema->arguments[i].name));
    }
    const auto only_first = [&]() -> absl::Status {
      if (!others_batched && self.batched()) return absl::OkStatus();
      return NoRule(absl::StrCat("no batching rule for ", node.target(), " with these operands"));
    };
    switch (rule) {
      case BatchingRule::kNone: break;
      case BatchingRule::kPointwise: return Pointwise(std::move(call));
      case BatchingRule::kLike: {
        if (!self.batched()) return Value{Yield(call, 0, 0)};
        return Yield(call, self.prefix, self.levels);
      }
      case BatchingRule::kTrailing: {
        RETURN_IF_ERROR(only_first());
        const Argument mode = Get(node, *schema, "mode");
        if (mode.is_string() && mode.string() != "constant") return no_rule();
        return Yield(call, self.prefix, self.levels);
      }
      case BatchingRule::kNew: {
        RETURN_IF_ERROR(only_first());
        return Yield(call, 0, 0);
      }
      case BatchingRule::kDims: {
        RETURN_IF_ERROR(only_first());
        return Dims(std::move(call), self);
      }
      case BatchingRule::kWhole: {
        RETURN_IF_ERROR(only_first());
        return Whole(call, self);
      }
      case BatchingRule::kView: {
        RETURN_IF_ERROR(only_first());
        const absl::string_view name = schema->FindArgument("size") != nullptr ? "size" : "shape";
        const Argument& given = call.args.size() > 1 ? call.args[1] : Argument();
        if (!given.is_list() && !given.is_tuple()) return no_rule();
        Arguments sizes = SizesOf(self.levels, self.prefix);
        sizes.insert(sizes.end(), given.elements().begin(), given.elements().end());
        call.Set(name, List(sizes));
        return Yield(call, self.prefix, self.levels);
      }
      case BatchingRule::kExpand: return Expand(std::move(call), self);
      case BatchingRule::kRepeat: {
        RETURN_IF_ERROR(only_first());
        const Argument& repeats = call.args[1];
        if (self.rank() < 0) return NoRule(RankUnknown(node));
        if (!repeats.is_list()) return no_rule();
        Arguments all(static_cast<size_t>(self.prefix), Argument(1));
        all.insert(all.end(), repeats.elements().begin(), repeats.elements().end());
        const auto count = static_cast<int>(repeats.elements().size());
        call.args = {Insert(self.arg, self.prefix, count - self.rank()), List(all)};
        return Yield(call, self.prefix, self.levels);
      }
      case BatchingRule::kPermute: {
        RETURN_IF_ERROR(only_first());
        if (self.rank() < 0) return NoRule(RankUnknown(node));
        Arguments dims;
        for (int i = 0; i < self.prefix; ++i) dims.push_back(i);
        for (const Argument& dim : call.args[1].elements()) {
          if (!dim.is_int()) return no_rule();
          dims.push_back(dim.integer() + self.prefix + (dim.integer() < 0 ? self.rank() : 0));
        }
        call.args = {self.arg, List(dims)};
        return Yield(call, self.prefix, self.levels);
      }
      case BatchingRule::kSqueeze:
      case BatchingRule::kTranspose: {
        RETURN_IF_ERROR(only_first());
        if (self.rank() < 0) return NoRule(RankUnknown(node));
        Value made{self.arg, self.prefix, self.levels, facts_.Of(&node)};
        const int n = self.rank();
        Arguments dims;
        if (rule == BatchingRule::kSqueeze) {
          for (int i = 0; i < n; ++i) dims.push_back(self.prefix + i);
          if (n > 0) made.arg = Emit("aten.squeeze.dims", {self.arg, List(dims)});
        } else if (n > 1) {
          for (int i = 0; i < self.prefix; ++i) dims.push_back(i);
          for (int i = n; i-- > 0;) dims.push_back(self.prefix + i);
          made.arg = Emit("aten.permute.default", {self.arg, List(dims)});
        }
        return made;
      }
      case BatchingRule::kJoin: return Join(std::move(call));
      case BatchingRule::kAlong: return Along(std::move(call));
      case BatchingRule::kIndex: {
        const Argument indices = Get(node, *schema, "indices");
        if (!indices.is_list()) return no_rule();
        std::vector<Value> values;
        for (const Argument& index : indices.elements()) values.push_back(*ValueOf(index));
        return Index(self, values, facts_.Of(&node));
      }
      case BatchingRule::kIndexSelect: {
        const Value index = At(node, *schema, "index");
        const Argument dim = Get(node, *schema, "dim");
        if (!dim.is_int() || self.rank() < 1 || index.rank() != 1) return NoRule(RankUnknown(node));
        const auto at =
            static_cast<size_t>(dim.integer() < 0 ? dim.integer() + self.rank() : dim.integer());
        std::vector<Value> values(at);
        values.push_back(index);
        return Index(self, values, facts_.Of(&node));
      }
      case BatchingRule::kEmbedding: {
        const Value indices = At(node, *schema, "indices");
        if (!self.batched()) return Yield(call, indices.prefix, indices.levels);
        return Index(self, {indices}, facts_.Of(&node));
      }
      case BatchingRule::kMatmul: {
        if (call.args.size() != 2) return no_rule();
        return Matmul(self, *ValueOf(node.args()[1]), facts_.Of(&node));
      }
      case BatchingRule::kLinear: return Linear(std::move(call), self);
      case BatchingRule::kAddMatmul: return AddMatmul(node, *schema, self);
      case BatchingRule::kOuter: {
        const Value other = *ValueOf(node.args()[1]);
        Value a = self, b = other;
        a.arg = Emit("aten.unsqueeze.default", {self.arg, -1});
        b.arg = Emit("aten.unsqueeze.default", {other.arg, -2});
        a.facts.rank = b.facts.rank = 2;
        return Binary("aten.mul.Tensor", a, b, facts_.Of(&node));
      }
      case BatchingRule::kAttention: return Attention(std::move(call));
      case BatchingRule::kEinsum: return Einsum(std::move(call));
      case BatchingRule::kConvolution: return Convolution(std::move(call), self);
      case BatchingRule::kImages: {
        RETURN_IF_ERROR(only_first());
        // "avg_pool2d" takes images of two dimensions and channels, or one of them.
        const absl::string_view name = OperatorName(*schema);
        const int own = absl::EndsWith(name, "d") ? name[name.size() - 2] - '0' + 1 : 0;
        if (self.rank() < 1 || (own != 0 && self.rank() != own && self.rank() != own + 1)) {
          return NoRule(RankUnknown(node));
        }
        return Images(std::move(call), schema->arguments[0].name, self, self.rank() != own);
      }
      case BatchingRule::kIndexPut: {
        const Argument indices = Get(node, *schema, "indices");
        if (!indices.is_list() && !indices.is_tuple()) return no_rule();
        std::vector<Value> values;
        for (const Argument& index : indices.elements()) values.push_back(*ValueOf(index));
        ASSIGN_OR_RETURN(const Put put, AlignPut(self, values, At(node, *schema, "values"),
                                                 /*in_place=*/schema->mutates()));
        call.Set("self", put.self);
        call.Set("indices", List(put.indices));
        call.Set("values", put.values);
        return Yield(call, put.prefix, put.levels);
      }
      case BatchingRule::kRandom: break;  // it takes no tensor
      case BatchingRule::kSize: {
        const Argument dim = Get(node, *schema, "dim");
        if (!dim.is_int()) return no_rule();
        call.Set("dim", dim.integer() < 0 ? dim.integer() : dim.integer() + self.prefix);
        return Yield(call, 0, 0);
      }
    }
    return no_rule();
  }

  Result Attribute(const Node& node) {
    const Value self = *ValueOf(node.args()[0]);
    const absl::string_view name = node.args()[1].string();
    Value made;
    made.facts.kind = TensorFacts::Kind::kOther;
    if (name == "ndim") {
      if (self.rank() < 0) return NoRule(RankUnknown(node));
      made.arg = self.rank();
      return made;
    }
    if (name != "dtype" && name != "device" && name != "layout" && name != "is_cuda" &&
        name != "requires_grad" && name != "shape") {
      return NoRule(absl::StrCat("no batching rule for the attribute ", name));
    }
    made.arg = Emit("builtins.getattr", {self.arg, name});
    if (name == "shape") {
      const Argument from[] = {self.prefix, Argument(), Argument()};
      made.arg = Emit("operator.getitem", {made.arg, Argument::Slice(from)});
    }
    return made;
  }

  // As PyTorch promotes tensors: one without own dimensions does not raise the dtype of
  // one with some, which its levels would hide.
  absl::Status Promote(std::vector<Value>* values) {
    for (Value& scalar : *values) {
      if (!scalar.batched() || scalar.rank() != 0) continue;
      const Value* other = nullptr;
      for (const Value& v : *values) {
        if (!v.is_tensor() || &v == &scalar || (v.batched() && v.rank() == 0)) continue;
        if (v.facts.dtype != DType::kUnknown && v.facts.dtype == scalar.facts.dtype) continue;
        if (other != nullptr) return NoRule("tensors of several dtypes under vmap");
        other = &v;
      }
      if (other == nullptr) continue;
      const Argument element =
          Emit("operator.getitem",
               {scalar.arg, Tuple(Arguments(static_cast<size_t>(scalar.prefix), Argument(0)))});
      const Argument dtype = Emit("torch.result_type", {element, other->arg});
      scalar.arg = Track(graph_->CallMethod("to", {scalar.arg, dtype}, {}, source_->name()));
      scalar.facts.dtype = DType::kUnknown;
    }
    return absl::OkStatus();
  }

  Result Pointwise(Call call) {
    const Schema& schema = *call.schema;
    const absl::string_view name = OperatorName(schema);
    const bool in_place = schema.mutates();
    std::vector<Value> tensors;
    std::vector<absl::string_view> names;
    for (const SchemaArgument& argument : schema.arguments) {
      if (argument.type.kind != SchemaType::Kind::kTensor) {
        if (AnyBatched(Get(*call.node, schema, argument.name))) {
          return NoRule(
              absl::StrCat("no batching rule for ", schema.target, " with these operands"));
        }
        continue;
      }
      const Value v = At(*call.node, schema, argument.name);
      if (!v.arg.is_node() || v.facts.kind == TensorFacts::Kind::kOther) continue;
      tensors.push_back(v);
      names.push_back(argument.name);
    }
    int prefix = 0, rank = 0;
    uint64_t levels = 0;
    for (const Value& v : tensors) {
      if (tensors.size() > 1 && (v.rank() < 0 || !v.is_tensor()))
        return NoRule(RankUnknown(*call.node));
      prefix = std::max(prefix, v.prefix);
      rank = std::max(rank, v.rank());
      levels |= v.levels;
    }
    if (in_place && (tensors.empty() || (levels & ~tensors[0].levels) != 0)) {
      return NoRule(kWritten);
    }
    if (tensors.size() > 1) {
      if (!in_place) {
        std::vector<Value> promoted(tensors.begin() + (name == "where" ? 1 : 0), tensors.end());
        if (name == "masked_fill") promoted.clear();
        RETURN_IF_ERROR(Promote(&promoted));
        std::copy(promoted.begin(), promoted.end(),
                  tensors.end() - static_cast<int64_t>(promoted.size()));
      }
      for (size_t i = 0; i < tensors.size(); ++i) {
        call.Set(names[i], i == 0 && in_place ? tensors[0].arg : Align(tensors[i], prefix, rank));
      }
    }
    return Yield(call, prefix, levels);
  }

  Result Binary(absl::string_view target, const Value& a, const Value& b,
                const TensorFacts& facts) {
    const int prefix = std::max(a.prefix, b.prefix), rank = std::max(a.rank(), b.rank());
    return Value{Emit(target, {Align(a, prefix, rank), Align(b, prefix, rank)}),
                 prefix,
                 a.levels | b.levels,
                 {TensorFacts::Kind::kTensor, rank, facts.dtype}};
  }

  // What a dimension is when it is not given; absent: none.
  static std::optional<int64_t> DefaultDim(absl::string_view op, absl::string_view argument) {
    static const auto* const last = new absl::flat_hash_set<absl::string_view>{
        "sort", "argsort", "topk", "kthvalue", "glu", "mode"};
    static const auto* const first = new absl::flat_hash_set<absl::string_view>{
        "split", "split_with_sizes", "chunk",   "tensor_split", "unbind",
        "slice", "flatten",          "diagonal"};
    if (last->contains(op) || argument == "end_dim") return -1;
    if (argument == "dim2") return 1;
    if (first->contains(op)) return 0;
    return std::nullopt;
  }

  Result Dims(Call call, const Value& self) {
    const Schema& schema = *call.schema;
    const absl::string_view op = OperatorName(schema);
    if (self.rank() < 0 || !self.is_tensor()) return NoRule(RankUnknown(*call.node));
    const auto no_rule = [&] {
      return NoRule(absl::StrCat("no batching rule for ", schema.target, " with these arguments"));
    };
    const int k = self.prefix;
    const bool is_scalar = self.rank() == 0 && op != "unsqueeze";
    Argument x = is_scalar ? Insert(self.arg, k, 1) : self.arg;
    const int rank = is_scalar ? 1 : self.rank();
    const int base = op == "unsqueeze" ? rank + 1 : rank;
    const Argument keepdim = Get(*call.node, schema, "keepdim");
    const bool keeps = keepdim.is_bool() && keepdim.boolean();
    const auto count = [&](const Argument& dim) {
      return Argument(dim.integer() + k + (dim.integer() < 0 ? base : 0));
    };
    for (const SchemaArgument& argument : schema.arguments) {
      static const auto* const names = new absl::flat_hash_set<absl::string_view>{
          "dim",   "dims",   "dim0",        "dim1",      "dim2",   "axis0",
          "axis1", "source", "destination", "start_dim", "end_dim"};
      if (!names->contains(argument.name)) continue;
      Argument dim = Get(*call.node, schema, argument.name);
      const bool is_list = dim.is_list() || dim.is_tuple();
      if (dim.is_none()) {
        if (const auto otherwise = DefaultDim(op, argument.name)) dim = *otherwise;
      }
      if (dim.is_int()) {
        call.Set(argument.name, argument.type.is_list ? List({count(dim)}) : count(dim));
      } else if (is_list && !dim.elements().empty()) {
        Arguments dims;
        for (const Argument& d : dim.elements()) {
          if (!d.is_int()) return no_rule();
          dims.push_back(count(d));
        }
        call.Set(argument.name, List(dims));
      } else if (!dim.is_none() && !is_list) {
        return no_rule();
      } else if (op == "roll" || op == "flip" || op == "squeeze" || op == "movedim" ||
                 op == "moveaxis") {
        return no_rule();
      } else if (argument.type.is_list) {
        Arguments dims;
        for (int i = 0; i < rank; ++i) dims.push_back(k + i);
        call.Set(argument.name, List(dims));
      } else {  // of all elements
        if (keeps) return no_rule();
        if (rank > 1) x = Emit("aten.flatten.using_ints", {x, k, -1});
        call.Set(argument.name, k);
      }
    }
    call.Set(schema.arguments[0].name, x);
    Value made = Yield(call, k, self.levels);
    const bool reduces = schema.FindArgument("keepdim") != nullptr || op == "count_nonzero";
    if (is_scalar && (keeps || !reduces) && made.facts.rank != 1) {
      if (made.facts.kind != TensorFacts::Kind::kTensor) return no_rule();
      made.arg = Emit("aten.select.int", {made.arg, k, 0});
      made.facts.rank = 0;
    }
    return made;
  }

  Result Whole(const Call& call, const Value& self) {
    if (self.rank() < 0) return NoRule(RankUnknown(*call.node));
    const absl::string_view op = OperatorName(*call.schema);
    const WholeReduction whole = WholeReductionOf(op);
    const int k = self.prefix;
    Argument x = self.rank() == 0 ? Insert(self.arg, k, 1) : self.arg;
    Arguments dims;
    for (int i = 0; i < std::max(1, self.rank()); ++i) dims.push_back(k + i);
    if (whole.flatten && self.rank() > 1) x = Emit("aten.flatten.using_ints", {x, k, -1});
    const Argument along = whole.flatten ? Argument(k) : List(dims);
    Arguments args = {x};
    if (op == "norm") {
      const Argument p = Get(*call.node, *call.schema, "p");
      args.push_back(p.is_none() ? Argument(2) : p);
    }
    args.push_back(along);
    if (op == "std" || op == "var") {
      const Argument unbiased = Get(*call.node, *call.schema, "unbiased");
      args.push_back(unbiased.is_none() ? Argument(true) : unbiased);
    }
    std::vector<KwArg> kwargs;
    if (const Argument dtype = Get(*call.node, *call.schema, "dtype"); !dtype.is_none()) {
      kwargs.push_back({"dtype", ValueOf(dtype)->arg});
    }
    return Value{Emit(whole.target, args, kwargs), k, self.levels, facts_.Of(call.node)};
  }

  Result Expand(Call call, const Value& self) {
    if (self.rank() < 0) return NoRule(RankUnknown(*call.node));
    if (OperatorName(*call.schema) == "expand_as") {
      const Value other = *ValueOf(call.node->args()[1]);
      if (other.rank() < 0) return NoRule(RankUnknown(*call.node));
      const int prefix = std::max(self.prefix, other.prefix);
      const uint64_t levels = self.levels | other.levels;
      call.args = {Materialize(self, prefix, other.rank(), levels).arg,
                   Materialize(other, prefix, other.rank(), levels).arg};
      return Yield(call, prefix, levels);
    }
    const Argument sizes = call.args.size() > 1 ? call.args[1] : Argument();
    if (!sizes.is_list() || !self.batched()) {
      return NoRule(
          absl::StrCat("no batching rule for ", call.schema->target, " with these operands"));
    }
    Arguments all(static_cast<size_t>(self.prefix), Argument(-1));
    all.insert(all.end(), sizes.elements().begin(), sizes.elements().end());
    const int added = static_cast<int>(sizes.elements().size()) - self.rank();
    call.args = {Insert(self.arg, self.prefix, added), List(all)};
    return Yield(call, self.prefix, self.levels);
  }

  Result Join(Call call) {
    const Argument list = call.node->args()[0];
    if (!list.is_list() && !list.is_tuple()) {
      return NoRule(absl::StrCat("no batching rule for ", call.schema->target,
                                 " of a list that is not written out"));
    }
    std::vector<Value> tensors;
    int prefix = 0, rank = -1;
    uint64_t levels = 0;
    for (const Argument& element : list.elements()) {
      const Value v = *ValueOf(element);
      if (!v.is_tensor() || v.rank() < 0) return NoRule(RankUnknown(*call.node));
      if (rank >= 0 && rank != v.rank()) return NoRule("tensors of other ranks are joined");
      rank = v.rank();
      prefix = std::max(prefix, v.prefix);
      levels |= v.levels;
      tensors.push_back(v);
    }
    Arguments all;
    for (const Value& v : tensors) all.push_back(Materialize(v, prefix, rank, levels).arg);
    Argument dim = Get(*call.node, *call.schema, "dim");
    if (dim.is_none()) dim = 0;
    if (!dim.is_int()) return NoRule("a dimension that is not written out");
    const int base = OperatorName(*call.schema) == "stack" ? rank + 1 : rank;
    call.Set("tensors", List(all));
    call.Set("dim", dim.integer() + prefix + (dim.integer() < 0 ? base : 0));
    return Yield(call, prefix, levels);
  }

  Result Along(Call call) {
    std::vector<std::pair<absl::string_view, Value>> tensors;
    int prefix = 0;
    uint64_t levels = 0;
    for (const absl::string_view name : {"self", "index", "src"}) {
      const Value v = At(*call.node, *call.schema, name);
      if (!v.arg.is_node()) continue;
      if (!v.is_tensor() || v.rank() < 1) return NoRule(RankUnknown(*call.node));
      prefix = std::max(prefix, v.prefix);
      levels |= v.levels;
      tensors.emplace_back(name, v);
    }
    const Argument dim = Get(*call.node, *call.schema, "dim");
    if (!dim.is_int()) return NoRule("a dimension that is not written out");
    call.Set("dim", dim.integer() + prefix + (dim.integer() < 0 ? tensors[0].second.rank() : 0));
    for (const auto& [name, v] : tensors)
      call.Set(name, Materialize(v, prefix, v.rank(), levels).arg);
    return Yield(call, prefix, levels);
  }

  // Of the indices that are tensors, taken together.
  struct IndexShape {
    int prefix = 0;
    uint64_t levels = 0;
    int rank = 0;
    int first = -1, last = -1, number = 0;  // where they stand, and how many they are
  };
  static absl::StatusOr<IndexShape> ShapeOf(const std::vector<Value>& indices) {
    IndexShape shape;
    for (size_t i = 0; i < indices.size(); ++i) {
      const Value& v = indices[i];
      if (!v.arg.is_node()) continue;
      if (v.rank() < 0 || v.facts.dtype == DType::kBool || v.facts.dtype == DType::kUnknown) {
        return NoRule("an index under vmap whose dimensions or dtype are not known, or of bool");
      }
      if (shape.first < 0) shape.first = static_cast<int>(i);
      shape.last = static_cast<int>(i);
      ++shape.number;
      shape.rank = std::max(shape.rank, v.rank());
      shape.prefix = std::max(shape.prefix, v.prefix);
      shape.levels |= v.levels;
    }
    return shape;
  }

  // self[indices], where an index without a node is a whole dimension.
  Result Index(const Value& self, const std::vector<Value>& indices, const TensorFacts& facts) {
    const absl::string_view target = "aten.index.Tensor";
    ASSIGN_OR_RETURN(const IndexShape shape, ShapeOf(indices));
    const int rank = shape.rank, first = shape.first, last = shape.last, number = shape.number;
    const int prefix = std::max(self.prefix, shape.prefix);
    const uint64_t levels = self.levels | shape.levels;
    const bool any_batched = shape.levels != 0;
    if (!self.is_tensor() || self.rank() < 0)
      return NoRule("a tensor of unknown rank is indexed under vmap");
    const bool adjacent = last - first + 1 == number;
    const int at = adjacent ? first : 0;  // where the dimensions of the indices go
    const auto align = [&](const Value& v) {
      return !v.arg.is_node() || v.prefix == 0 ? v.arg : Align(v, prefix, rank);
    };
    Arguments all;
    if (!self.batched()) {
      for (const Value& v : indices) all.push_back(align(v));
      Argument x = Emit(target, {self.arg, List(all)});
      if (at > 0 && prefix > 0) x = Move(x, at, 0, prefix);
      return Value{x, prefix, levels, facts};
    }
    if (!any_batched) {
      all.resize(static_cast<size_t>(self.prefix));
      for (const Value& v : indices) all.push_back(v.arg);
      Argument x = Emit(target, {self.arg, List(all)});
      if (!adjacent) x = Move(x, rank, 0, self.prefix);
      return Value{x, self.prefix, levels, facts};
    }
    // Both: the own levels of the tensor are indexed by their numbers.
    Argument x = self.arg;
    for (int i = self.prefix; i-- > 0;) {
      if (!Has(self.levels, i)) x = Emit("aten.select.int", {x, i, 0});
    }
    const Argument device = Emit("builtins.getattr", {x, "device"});
    for (int i = 0; i < self.prefix; ++i) {
      if (!Has(self.levels, i)) continue;
      const Argument numbers = Emit("torch.arange", {SizeOf(i)}, {{"device", device}});
      all.push_back(Insert(numbers, 1, prefix - i - 1 + rank));
    }
    for (const Value& v : indices) all.push_back(align(v));
    x = Emit(target, {x, List(all)});
    // The indices' dimensions come first; those before them go in between.
    if (at > 0) x = Move(x, prefix, prefix + at, rank);
    return Value{x, prefix, levels, facts};
  }
  // `count` dimensions from `from` on to `to` on.
  Argument Move(const Argument& x, int from, int to, int count) {
    if (count == 0 || from == to) return x;
    if (count == 1) return MoveDim(x, from, to);
    Arguments source, destination;
    for (int i = 0; i < count; ++i) {
      source.push_back(from + i);
      destination.push_back(to + i);
    }
    return Emit("aten.movedim.intlist", {x, List(source), List(destination)});
  }

  Result Subscript(const Node& node) {
    if (!node.args()[0].is_node()) return NoRule("a structure of tensors is taken apart");
    if (const auto tuple = tuples_.find(node.args()[0].node()); tuple != tuples_.end()) {
      const Argument& i = node.args()[1];
      const auto size = static_cast<int64_t>(tuple->second.size());
      const int64_t at = i.is_int() ? (i.integer() < 0 ? i.integer() + size : i.integer()) : -1;
      if (at < 0 || at >= size)
        return NoRule("a tuple of vmap's results is taken apart by no constant");
      return tuple->second[static_cast<size_t>(at)];
    }
    const Value self = *ValueOf(node.args()[0]);
    const Argument& index = node.args()[1];
    if (self.facts.kind == TensorFacts::Kind::kList) {
      if (!index.is_int()) return NoRule("a list of batched tensors is cut");
      return Value{Emit("operator.getitem", {self.arg, index}), self.prefix, self.levels,
                   facts_.Of(&node)};
    }
    ASSIGN_OR_RETURN(const Subscripts read, ReadSubscripts(node, self));
    Value view = self;
    if (!read.only_slices || !read.any_tensor) {
      view.arg = Emit("operator.getitem", {self.arg, Tuple(read.basic)});
      view.facts = facts_.Of(&node);
    }
    if (!read.any_tensor) return view;
    if (self.rank() < 0) return NoRule(RankUnknown(node));
    view.facts.rank = read.rank;
    return Index(view, read.indices, facts_.Of(&node));
  }

  struct Subscripts {
    Arguments basic;             // slices, numbers and None, those of the levels in front
    std::vector<Value> indices;  // of the dimensions that the basic ones leave
    bool any_tensor = false;
    bool only_slices = true;  // the basic ones, and whole ones
    int rank = -1;            // that the basic ones leave, without the levels
  };
  // Of operator.getitem and setitem on a tensor.
  absl::StatusOr<Subscripts> ReadSubscripts(const Node& node, const Value& self) {
    if (!self.is_tensor()) return NoRule("what is no tensor is indexed under vmap");
    const Argument& index = node.args()[1];
    const absl::Span<const Argument> elements =
        index.is_tuple() ? index.elements() : absl::MakeConstSpan(&index, 1);
    Subscripts read;
    read.basic.assign(static_cast<size_t>(self.prefix), FullSlice());
    read.rank = self.rank();
    int taken = 0;
    for (const Argument& element : elements)
      taken += element.is_none() || element.kind() == Argument::Kind::kEllipsis ? 0 : 1;
    for (const Argument& element : elements) {
      switch (element.kind()) {
        case Argument::Kind::kInt:
          read.basic.push_back(element);
          read.only_slices = false;
          --read.rank;
          break;
        case Argument::Kind::kNone:
          read.basic.push_back(element);
          read.indices.emplace_back();
          read.only_slices = false;
          ++read.rank;
          break;
        case Argument::Kind::kEllipsis:
          if (self.rank() < 0) return NoRule(RankUnknown(node));
          for (int i = 0; i < self.rank() - taken; ++i) {
            read.basic.push_back(FullSlice());
            read.indices.emplace_back();
          }
          break;
        case Argument::Kind::kSlice: {
          if (AnyBatched(element)) return NoRule("a slice by batched numbers");
          const Argument mapped = MapNodes(element, [&](Node* n) { return values_.at(n).arg; });
          read.only_slices =
              read.only_slices &&
              absl::c_all_of(mapped.elements(), [](const Argument& a) { return a.is_none(); });
          read.basic.push_back(mapped);
          read.indices.emplace_back();
          break;
        }
        case Argument::Kind::kNode: {
          const Value v = *ValueOf(element);
          if (v.facts.kind == TensorFacts::Kind::kOther) {
            read.basic.push_back(v.arg);
            read.only_slices = false;
            --read.rank;
          } else {
            read.basic.push_back(FullSlice());
            read.indices.push_back(v);
            read.any_tensor = true;
          }
          break;
        }
        default: return NoRule("a subscript of a kind without a batching rule");
      }
    }
    return read;
  }

  // What index_put takes, all levels in front of all.
  struct Put {
    Argument self, values;
    Arguments indices;
    int prefix = 0;
    uint64_t levels = 0;
  };
  // The levels are indexed by their numbers, so that the dimensions of the indices come
  // right behind them.
  absl::StatusOr<Put> AlignPut(const Value& self, const std::vector<Value>& indices,
                               const Value& values, bool in_place) {
    Put put;
    put.prefix = std::max(self.prefix, values.prefix);
    put.levels = self.levels | values.levels;
    ASSIGN_OR_RETURN(const IndexShape shape, ShapeOf(indices));
    const int rank = shape.rank, first = shape.first, last = shape.last, number = shape.number;
    put.prefix = std::max(put.prefix, shape.prefix);
    put.levels |= shape.levels;
    const int result = self.rank() - number + rank;
    if (!self.is_tensor() || self.rank() < 0 || number == 0 ||
        (values.arg.is_node() && (!values.is_tensor() || values.rank() < 0))) {
      return NoRule("a tensor of unknown rank is written to under vmap");
    }
    if (values.is_tensor() && values.rank() > result)
      return NoRule("a tensor is written to with one of more dimensions");
    if (in_place && (put.levels & ~self.levels) != 0) return NoRule(kWritten);
    put.self = in_place ? Insert(self.arg, self.prefix, put.prefix - self.prefix)
                        : Materialize(self, put.prefix, self.rank(), put.levels).arg;
    const Argument device = Emit("builtins.getattr", {put.self, "device"});
    for (int i = 0; i < put.prefix; ++i) {
      const Argument size = Has(put.levels, i) ? SizeOf(i) : Argument(1);
      const Argument numbers = Emit("torch.arange", {size}, {{"device", device}});
      put.indices.push_back(Insert(numbers, 1, put.prefix - i - 1 + rank));
    }
    for (const Value& v : indices) put.indices.push_back(Align(v, put.prefix, rank));
    // Where the indices stand together, what is written has their dimensions there.
    const bool moves = values.is_tensor() && last - first + 1 == number && first > 0 && rank > 0;
    if (!moves) {
      put.values = Align(values, put.prefix, result);
    } else if (values.prefix > 0) {
      put.values = Move(Align(values, put.prefix, result), put.prefix + first, put.prefix, rank);
    } else {
      put.values = Move(Insert(values.arg, 0, result - values.rank()), first, 0, rank);
    }
    return put;
  }

  Result SetItem(const Node& node) {
    const std::optional<Value> self = ValueOf(node.args()[0]);
    const std::optional<Value> values = ValueOf(node.args()[2]);
    if (!self.has_value() || !values.has_value() || (values->batched() && !values->is_tensor()))
      return NoRule("a structure of tensors is written to");
    if (self->rank() < 0 || (values->is_tensor() && values->rank() < 0))
      return NoRule(RankUnknown(node));
    ASSIGN_OR_RETURN(Subscripts read, ReadSubscripts(node, *self));
    Value done;
    done.facts.kind = TensorFacts::Kind::kOther;
    if (read.any_tensor) {
      Value view = *self;
      if (!read.only_slices) view.arg = Emit("operator.getitem", {self->arg, Tuple(read.basic)});
      view.facts.rank = read.rank;
      ASSIGN_OR_RETURN(Put put, AlignPut(view, read.indices, *values, /*in_place=*/true));
      for (Argument& index : put.indices) {
        if (index.is_none()) index = FullSlice();
      }
      Emit("operator.setitem", {put.self, Tuple(put.indices), put.values});
      return done;
    }
    if ((values->levels & ~self->levels) != 0) return NoRule(kWritten);
    if (values->is_tensor() && values->rank() > read.rank)
      return NoRule("a tensor is written to with one of more dimensions");
    const int prefix = std::max(self->prefix, values->prefix);
    read.basic.insert(read.basic.begin(), static_cast<size_t>(prefix - self->prefix), FullSlice());
    Emit("operator.setitem", {Insert(self->arg, self->prefix, prefix - self->prefix),
                              Tuple(read.basic), Align(*values, prefix, read.rank)});
    return done;
  }

  Result Matmul(Value a, Value b, const TensorFacts& facts) {
    if (a.rank() < 1 || b.rank() < 1)
      return NoRule("the ranks of matrices under vmap are not known");
    const uint64_t levels = a.levels | b.levels;
    const int prefix = std::max(a.prefix, b.prefix);
    const int ra = a.rank(), rb = b.rank();
    // One matrix for all: its product with what stands behind one another.
    if (!b.batched() && rb <= 2)
      return Value{Emit("aten.matmul.default", {a.arg, b.arg}), prefix, levels, facts};
    const auto as_matrix = [&](Value* v, int at) {
      if (v->rank() > 1) return;
      v->arg = Emit("aten.unsqueeze.default", {v->arg, at});
      v->facts.rank = 2;
    };
    as_matrix(&a, -2);
    as_matrix(&b, -1);
    const int rank = std::max(a.rank(), b.rank());
    Argument x = Emit("aten.matmul.default", {Align(a, prefix, rank), Align(b, prefix, rank)});
    if (rb == 1) x = Emit("aten.select.int", {x, -1, 0});
    if (ra == 1) x = Emit("aten.select.int", {x, rb == 1 ? -1 : -2, 0});
    return Value{x, prefix, levels, facts};
  }

  Result Linear(Call call, const Value& input) {
    const Value weight = At(*call.node, *call.schema, "weight");
    const Value bias = At(*call.node, *call.schema, "bias");
    if (!weight.batched() && !bias.batched()) return Yield(call, input.prefix, input.levels);
    if (weight.rank() != 2 || input.rank() < 1) return NoRule(RankUnknown(*call.node));
    Value transposed = weight;
    transposed.arg = Emit("aten.transpose.int", {weight.arg, -2, -1});
    ASSIGN_OR_RETURN(const Value product, Matmul(input, transposed, facts_.Of(call.node)));
    if (!bias.arg.is_node()) return product;
    if (bias.rank() < 0 || product.rank() < 0) return NoRule(RankUnknown(*call.node));
    return Binary("aten.add.Tensor", product, bias, facts_.Of(call.node));
  }

  Result AddMatmul(const Node& node, const Schema& schema, const Value& self) {
    const absl::string_view op = OperatorName(schema);
    const Value a = *ValueOf(node.args()[1]), b = *ValueOf(node.args()[2]);
    const TensorFacts facts = facts_.Of(&node);
    ASSIGN_OR_RETURN(Value product, Matmul(a, b, facts));
    const auto scale = [&](Value* v, absl::string_view factor) {
      const Argument by = Get(node, schema, factor);
      const bool is_one =
          by.is_none() || (by.is_int() && by.integer() == 1) || (by.is_float() && by.real() == 1);
      if (!is_one) v->arg = Emit("aten.mul.Scalar", {v->arg, ValueOf(by)->arg});
    };
    Value added = self;
    scale(&product, "alpha");
    scale(&added, "beta");
    product.facts.rank = op == "addmv" ? 1 : op == "addmm" ? 2 : 3;
    if (added.rank() < 0) return NoRule(RankUnknown(node));
    return Binary("aten.add.Tensor", added, product, facts);
  }

  Result Attention(Call call) {
    const Value mask = At(*call.node, *call.schema, "attn_mask");
    int prefix = mask.prefix, rank = 0;
    uint64_t levels = mask.levels;
    for (const absl::string_view name : {"query", "key", "value"}) {
      const Value v = At(*call.node, *call.schema, name);
      if (!v.is_tensor() || v.rank() < 2) return NoRule(RankUnknown(*call.node));
      prefix = std::max(prefix, v.prefix);
      rank = std::max(rank, v.rank());
      levels |= v.levels;
    }
    for (const absl::string_view name : {"query", "key", "value"}) {
      const Value v = At(*call.node, *call.schema, name);
      call.Set(name, Materialize(v, prefix, rank, levels).arg);
    }
    if (mask.arg.is_node()) {
      if (mask.rank() < 0 || mask.rank() > rank) return NoRule(RankUnknown(*call.node));
      call.Set("attn_mask", Align(mask, prefix, rank));
    }
    return Yield(call, prefix, levels);
  }

  Result Einsum(Call call) {
    const Argument equation = Get(*call.node, *call.schema, "equation");
    const Argument list = Get(*call.node, *call.schema, "tensors");
    if (!equation.is_string() || !list.is_list())
      return NoRule("an equation of einsum that is not written out");
    std::string text(equation.string());
    text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
    const std::string output = OutputOfEinsum(text);
    const std::vector<std::string> inputs = absl::StrSplit(text.substr(0, text.find("->")), ',');
    if (inputs.size() != list.elements().size())
      return NoRule("an equation of einsum for another number of tensors");
    // A letter a level; those of size 1 broadcast.
    std::string letters;
    for (const char c : absl::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")) {
      if (!absl::StrContains(text, std::string(1, c))) letters += c;
    }
    int prefix = 0;
    uint64_t levels = 0;
    std::vector<std::string> terms;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Value v = *ValueOf(list.elements()[i]);
      prefix = std::max(prefix, v.prefix);
      levels |= v.levels;
      if (static_cast<size_t>(v.prefix) > letters.size())
        return NoRule("einsum with more dimensions than letters");
      terms.push_back(absl::StrCat(letters.substr(0, static_cast<size_t>(v.prefix)), inputs[i]));
    }
    call.Set("equation",
             arena_.Copy(absl::StrCat(absl::StrJoin(terms, ","), "->",
                                      letters.substr(0, static_cast<size_t>(prefix)), output)));
    return Yield(call, prefix, levels);
  }

  // Dimensions `first` to `last` as one.
  Argument Flatten(const Argument& x, int first, int last) {
    return first >= last ? x : Emit("aten.flatten.using_ints", {x, first, last});
  }
  // The sizes that the dimensions in front have.
  Arguments SizesOf(uint64_t levels, int prefix) {
    Arguments sizes;
    for (int i = 0; i < prefix; ++i) sizes.push_back(Has(levels, i) ? SizeOf(i) : Argument(1));
    return sizes;
  }

  // `x`, argument `name`, is of several images or of one.
  Value Images(Call call, absl::string_view name, const Value& x, bool several) {
    Arguments sizes = SizesOf(x.levels, x.prefix);
    if (several) sizes.push_back(-1);
    call.Set(name, Flatten(x.arg, 0, static_cast<int>(sizes.size()) - 1));
    Value made = Yield(call, x.prefix, x.levels);
    if (sizes.size() > 1) made.arg = Emit("aten.unflatten.int", {made.arg, 0, List(sizes)});
    made.facts.rank = x.rank();
    return made;
  }

  // Where only the images are batched, there are more of them; where the weights are,
  // more groups.
  Result Convolution(Call call, const Value& input) {
    const Value weight = At(*call.node, *call.schema, "weight");
    Value bias = At(*call.node, *call.schema, "bias");
    const bool several = input.rank() == weight.rank();
    if (weight.rank() < 3 || (!several && input.rank() != weight.rank() - 1) ||
        (bias.arg.is_node() && bias.rank() != 1)) {
      return NoRule(RankUnknown(*call.node));
    }
    if (!weight.batched() && !bias.batched())
      return Images(std::move(call), "input", input, several);
    const bool has_bias = bias.arg.is_node();
    if (has_bias) call.Set("bias", Argument());  // added below, as under vmap
    Value made;
    if (weight.batched()) {
      const int prefix = std::max(input.prefix, weight.prefix);
      const uint64_t levels = input.levels | weight.levels;
      Argument x = Materialize(input, prefix, input.rank(), levels).arg;
      const Argument w = Materialize(weight, prefix, weight.rank(), levels).arg;
      const int at = several ? 1 : 0;
      if (several) x = MoveDim(x, prefix, 0);
      call.Set("input", Flatten(x, at, at + prefix));
      call.Set("weight", Flatten(w, 0, prefix));
      Argument groups = Get(*call.node, *call.schema, "groups");
      if (groups.is_none()) groups = 1;
      if (!groups.is_int()) return NoRule("groups of a convolution that are not written out");
      Arguments sizes = SizesOf(levels, prefix);
      for (const Argument& size : sizes) {
        groups = size.is_int() && groups.is_int() ? Argument(groups.integer() * size.integer())
                                                  : Emit("operator.mul", {groups, size});
      }
      call.Set("groups", groups);
      made = Yield(call, prefix, levels);
      sizes.push_back(-1);
      made.arg = Emit("aten.unflatten.int", {made.arg, at, List(sizes)});
      if (several) made.arg = MoveDim(made.arg, 0, prefix);
    } else if (input.batched()) {
      made = Images(std::move(call), "input", input, several);
    } else {
      made = Yield(call, 0, 0);
    }
    made.facts.rank = input.rank();
    if (!has_bias) return made;
    bias.arg = Insert(bias.arg, bias.prefix + 1, weight.rank() - 2);
    bias.facts.rank = weight.rank() - 1;
    return Binary("aten.add.Tensor", made, bias, facts_.Of(call.node));
  }

  struct Level {
    Argument size;    // None until it is needed
    Argument source;  // a tensor and which of its dimensions it is
    int dim = 0;
    absl::string_view randomness;
  };

  Module* module_;
  PassRun& run_;
  Arena arena_;
  RefusedCalls refused_;
  LoweredModule lowered_;
  FactsTable facts_;
  // For each node as it is written, the first of the lowered ones.
  NodeTable<const Node*> first_made_;
  std::map<std::string, size_t> reasons_;
  bool changed_ = false;
  // Of values that this pass has made, where a later call takes them.
  absl::flat_hash_map<const Node*, TensorFacts> made_facts_;
  absl::flat_hash_set<const Node*> renamed_;

  // Of the call that is being expanded.
  Graph* graph_ = nullptr;
  const Node* source_ = nullptr;
  bool yields_tuple_ = false;
  std::vector<Node*> emitted_;
  std::vector<Level> levels_;
  absl::flat_hash_map<const Node*, Value> values_;  // by lowered node
  absl::flat_hash_map<const Node*, std::vector<Value>> tuples_;
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

}  // namespace graphnet
