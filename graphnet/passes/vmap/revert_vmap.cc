#include "graphnet/passes/vmap/revert_vmap.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/memory/effects.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/passes/pass.h"
#include "graphnet/passes/vmap/round_trips.h"
#include "graphnet/passes/vmap/vmap_call.h"

namespace graphnet {
namespace {

// A tensor that enters or leaves a level.
struct Crossing {
  Node* node;     // the call that adds or removes the dimension
  Node* operand;  // its tensor
  int64_t dim;
};

// A level that was opened. Its items are nodes, and the nodes that open the levels inside it.
struct Level {
  Node* increment = nullptr;
  Node* decrement = nullptr;
  Argument size;
  absl::string_view randomness;
  int parent = -1;  // index of the level around it; -1: none
  int depth = 0;    // counted from 1
  std::vector<Crossing> adds;
  std::vector<Crossing> removes;
  std::vector<Node*> items;
  std::vector<Node*> sizes;  // nodes that yield the batch size
  // Set when the level is closed: the outside values that its items and results use, in order, and
  // the levels at which any of them is batched.
  std::vector<Node*> captures;
  uint64_t batched_at = 0;
};

uint64_t BitOf(int depth) { return uint64_t{1} << depth; }

// `%n = .size(%x, 0)` written twice counts as one size.
bool IsSameSize(const Argument& a, const Argument& b) {
  if (a == b) return true;
  if (!a.is_node() || !b.is_node()) return false;
  const Node& x = *a.node();
  const Node& y = *b.node();
  return x.is_call_method("size") && y.is_call_method("size") && x.kwargs().empty() &&
         y.kwargs().empty() && absl::c_equal(x.args(), y.args());
}

// The effects and memory groups of a module, computed on first use.
class ModuleEffects {
 public:
  explicit ModuleEffects(const Module& module) : module_(module) {}
  const CallEffects& Of(const Node& node) { return effects().Of(node); }
  const Node* GroupOf(const Node* node) {
    if (!groups_.has_value()) groups_.emplace(module_, effects());
    return groups_->Of(node);
  }

 private:
  const Effects& effects() {
    if (!effects_.has_value()) effects_.emplace(module_);
    return *effects_;
  }
  const Module& module_;
  std::optional<Effects> effects_;
  std::optional<MemoryGroups> groups_;
};

// Finds out where each node of a graph belongs, without changing the graph.
class Analysis {
 public:
  // `outer_levels` levels are open where the graph is called.
  Analysis(Graph* graph, int outer_levels, const NestingCalls& calls, ModuleEffects* effects)
      : graph(graph), outer_levels_(outer_levels), calls_(calls), effects_(*effects) {}

  absl::Status Run() {
    for (Node* node : graph->nodes()) RETURN_IF_ERROR(Visit(node));
    return absl::OkStatus();
  }

  Graph* const graph;
  std::vector<Level> levels;
  NodeTable<std::optional<int>> level_of_increment;
  std::vector<Node*> loads;
  // The replacement of an outermost level: the nodes and levels that move out of it, in order, with
  // the level itself among them.
  struct Group {
    int level;
    std::vector<Node*> items;
  };
  std::vector<Group> groups;

  bool IsLevel(const Node* node) const { return level_of_increment[node].has_value(); }
  Level& LevelOf(const Node* increment) {
    return levels[static_cast<size_t>(*level_of_increment[increment])];
  }

 private:
  absl::Status Visit(Node* node) {
    switch (calls_[node]) {
      case NestingCall::kLoad:
        if (node->has_uses()) return NodeError(*node, "has no value to use");
        loads.push_back(node);
        return absl::OkStatus();
      case NestingCall::kIncrement: return Open(node);
      case NestingCall::kAdd: return Add(node);
      case NestingCall::kRemove: return Remove(node);
      case NestingCall::kDecrement: return Close(node);
      case NestingCall::kNone: break;
    }
    if (open_.empty()) return absl::OkStatus();
    if (node->is_output()) {
      return NodeError(*levels[static_cast<size_t>(open_.back())].increment,
                       "opens a vmap level that nothing closes");
    }
    uint64_t batched_at = 0;
    node->ForEachOperand([&](const Node* operand) { batched_at |= batched_at_[operand]; });
    // A random draw inside a level belongs to that level, whatever its operands are.
    if (random_levels_ != 0) {
      const CallEffects& effects = effects_.Of(*node);
      if (effects.is_random || effects.is_unknown) batched_at |= random_levels_;
    }
    Put(node, batched_at);
    top().items.push_back(node);
    return absl::OkStatus();
  }

  Level& top() { return levels[static_cast<size_t>(open_.back())]; }

  void Put(Node* node, uint64_t batched_at) {
    home_[node] = open_.back();
    batched_at_[node] = batched_at;
  }

  absl::Status Open(Node* node) {
    ASSIGN_OR_RETURN(const std::vector<Argument> args, NestingArguments(*node));
    Level level;
    level.increment = node;
    level.size = args[0];
    if (args[0].is_node()) level.sizes.push_back(args[0].node());
    if (args[0].is_int() ? args[0].integer() < 0
                         : !args[0].is_node() && args[0].kind() != Argument::Kind::kSymInt) {
      return NodeError(*node, "the batch size is not a size");
    }
    if (!args[1].is_string() || (args[1].string() != "error" && args[1].string() != "different" &&
                                 args[1].string() != "same")) {
      return NodeError(*node, "randomness must be \"error\", \"different\" or \"same\"");
    }
    level.randomness = args[1].string();
    level.parent = open_.empty() ? -1 : open_.back();
    level.depth = outer_levels_ + static_cast<int>(open_.size()) + 1;
    if (level.depth > kMaxVmapLevels) {
      return NodeError(*node, absl::StrCat("more than ", kMaxVmapLevels, " vmap levels"));
    }
    for (const Use& use : node->uses()) {
      const NestingCall call = calls_[use.user];
      if (call != NestingCall::kAdd && call != NestingCall::kRemove) {
        return NodeError(*use.user, absl::StrCat("uses the level number of node ", node->name()));
      }
    }
    const int index = static_cast<int>(levels.size());
    if (!open_.empty()) {
      Put(node, 0);
      top().items.push_back(node);
    }
    level_of_increment[node] = index;
    if (level.randomness != "error") random_levels_ |= BitOf(level.depth);
    levels.push_back(std::move(level));
    open_.push_back(index);
    return absl::OkStatus();
  }

  absl::Status CheckLevel(const Node& node, const Argument& level) {
    if (open_.empty()) return NodeError(node, "no vmap level is open");
    const bool fits = level.is_int() ? level.integer() == top().depth
                                     : level.is_node() && level.node() == top().increment;
    if (fits) return absl::OkStatus();
    return NodeError(node, absl::StrCat("names another vmap level than ", top().depth,
                                        ", which is the open one"));
  }

  absl::Status Add(Node* node) {
    ASSIGN_OR_RETURN(const std::vector<Argument> args, NestingArguments(*node));
    RETURN_IF_ERROR(CheckLevel(*node, args[2]));
    if (!args[0].is_node())
      return NodeError(*node, "adds a dimension to a value that is not a tensor");
    if (!args[1].is_int()) return NodeError(*node, "the batch dimension is not a number");
    const uint64_t batched_at = batched_at_[args[0].node()];
    if ((batched_at & BitOf(top().depth)) != 0) {
      return NodeError(*node, "its tensor is batched at this vmap level already");
    }
    const std::optional<int64_t> size = KnownSize(args[0], args[1].integer());
    if (size.has_value() && top().size.is_int() && *size != top().size.integer()) {
      return NodeError(*node, absl::StrCat("the dimension has size ", *size, ", the vmap level ",
                                           top().size.integer()));
    }
    Put(node, batched_at | BitOf(top().depth));
    top().adds.push_back({node, args[0].node(), args[1].integer()});
    return absl::OkStatus();
  }

  absl::Status Remove(Node* node) {
    ASSIGN_OR_RETURN(const std::vector<Argument> args, NestingArguments(*node));
    RETURN_IF_ERROR(CheckLevel(*node, args[1]));
    if (!args[0].is_node())
      return NodeError(*node, "removes a dimension from a value that is not a tensor");
    if (!args[3].is_int()) return NodeError(*node, "the output dimension is not a number");
    if (!IsSameSize(args[2], top().size)) {
      return NodeError(*node,
                       absl::StrCat("its batch size is not that of the vmap level that node ",
                                    top().increment->name(), " opens"));
    }
    Put(node, batched_at_[args[0].node()] & ~BitOf(top().depth));
    top().removes.push_back({node, args[0].node(), args[3].integer()});
    if (args[2].is_node()) top().sizes.push_back(args[2].node());
    return absl::OkStatus();
  }

  absl::Status Close(Node* node) {
    if (!node->args().empty() || !node->kwargs().empty()) {
      return NodeError(*node, "takes no arguments");
    }
    if (open_.empty()) return NodeError(*node, "no vmap level is open");
    if (node->has_uses()) {
      return NodeError(*node->users()[0], absl::StrCat("uses the value of node ", node->name()));
    }
    top().decrement = node;
    home_[node] = open_.back();
    RETURN_IF_ERROR(Divide(open_.back()));
    random_levels_ &= ~BitOf(top().depth);
    open_.pop_back();
    return absl::OkStatus();
  }

  // Returns the item of level `index` that contains `node`, which may lie deeper.
  const Node* ItemOf(const Node* node, int index) const {
    while (true) {
      const int home = *home_[node];
      if (home == index) return node;
      node = levels[static_cast<size_t>(home)].increment;
    }
  }

  template <typename Fn>
  void ForEachItemOperand(Node* item, Fn&& fn) {
    if (!IsLevel(item)) {
      item->ForEachOperand(fn);
      return;
    }
    const Level& level = LevelOf(item);
    // Otherwise torch.vmap finds the size itself.
    if (level.size.is_node() && level.adds.empty()) fn(level.size.node());
    for (const Crossing& add : level.adds) fn(add.operand);
    for (Node* capture : level.captures) fn(capture);
  }
  template <typename Fn>
  void ForEachItemValue(const Node* item, Fn&& fn) {
    if (!IsLevel(item)) {
      fn(item);
      return;
    }
    for (const Crossing& remove : LevelOf(item).removes) fn(remove.node);
  }
  uint64_t ItemBatchedAt(const Node* item) {
    return IsLevel(item) ? LevelOf(item).batched_at : batched_at_[item];
  }

  // Separates the body of a level that has just been closed from nodes that merely stand in it.
  // These move out, before or behind the level.
  absl::Status Divide(int index) {
    Level& level = levels[static_cast<size_t>(index)];
    const uint64_t bit = BitOf(level.depth);
    absl::flat_hash_set<const Node*> removed;
    for (const Crossing& remove : level.removes) removed.insert(remove.node);
    absl::flat_hash_set<const Node*> outside;
    absl::flat_hash_set<const Node*> behind;
    const auto in_level = [&](const Node* node) { return level.increment->IsBefore(node); };

    const auto is_result = [&](const Node* operand) {
      return in_level(operand) &&
             (removed.contains(operand) || behind.contains(ItemOf(operand, index)));
    };
    const auto refuse = [](const Node& user) {
      return NodeError(user, "uses a result of the vmap level inside of it");
    };
    for (Node* item : level.items) {
      bool uses_result = false;
      ForEachItemOperand(item, [&](const Node* operand) { uses_result |= is_result(operand); });
      if (!uses_result) continue;
      if ((ItemBatchedAt(item) & bit) != 0) return refuse(*item);
      behind.insert(item);
    }
    for (const std::vector<Crossing>* crossings : {&level.adds, &level.removes}) {
      for (const Crossing& crossing : *crossings) {
        if (is_result(crossing.operand)) return refuse(*crossing.node);
      }
    }
    for (const Crossing& add : level.adds) RETURN_IF_ERROR(CheckStays(*add.node, *level.decrement));
    for (size_t i = level.items.size(); i-- > 0;) {
      const Node* item = level.items[i];
      const Node* user = nullptr;
      ForEachItemValue(item, [&](const Node* value) {
        for (const Use& use : value->uses()) {
          if (!use.user->IsBefore(level.decrement) ||
              (calls_[use.user] == NestingCall::kAdd && home_[use.user] == index) ||
              outside.contains(ItemOf(use.user, index))) {
            user = use.user;
          }
        }
      });
      if (user == nullptr && !behind.contains(item) && item->op() != Op::kGetAttr) continue;
      if ((ItemBatchedAt(item) & bit) != 0) {
        return NodeError(*user, absl::StrCat("uses node ", item->name(),
                                             " outside of the vmap level that it is batched at"));
      }
      outside.insert(item);
    }
    if (!outside.empty()) RETURN_IF_ERROR(CheckMoves(level, outside, behind));

    std::vector<Node*> before, body, after;
    for (Node* item : level.items) {
      (behind.contains(item) ? after : outside.contains(item) ? before : body).push_back(item);
    }
    for (const std::vector<Node*>* moved : {&before, &after}) {
      for (Node* item : *moved) {
        home_[item] = level.parent >= 0 ? std::optional<int>(level.parent) : std::nullopt;
        if (IsLevel(item)) LevelOf(item).parent = level.parent;
      }
    }
    level.items = std::move(body);
    FindCaptures(&level);
    std::vector<Node*> replacement = std::move(before);
    replacement.push_back(level.increment);
    replacement.insert(replacement.end(), after.begin(), after.end());
    if (level.parent < 0) {
      groups.push_back({index, std::move(replacement)});
    } else {
      std::vector<Node*>& items = levels[static_cast<size_t>(level.parent)].items;
      items.pop_back();  // The level was the last item.
      items.insert(items.end(), replacement.begin(), replacement.end());
    }
    return absl::OkStatus();
  }

  static absl::Status CheckStays(const Node& node, const Node& end) {
    for (const Use& use : node.uses()) {
      if (use.user->IsBefore(&end)) continue;
      return NodeError(*use.user, absl::StrCat("uses node ", node.name(),
                                               " outside of the vmap level that it is batched at"));
    }
    return absl::OkStatus();
  }

  void FindCaptures(Level* level) {
    absl::flat_hash_set<const Node*> known;
    for (const Crossing& add : level->adds) known.insert(add.node);
    const auto use = [&](Node* value) {
      if (known.insert(value).second) level->captures.push_back(value);
    };
    for (Node* item : level->items) {
      ForEachItemOperand(item, use);
      ForEachItemValue(item, [&](const Node* value) { known.insert(value); });
      level->batched_at |= ItemBatchedAt(item);
    }
    for (const Crossing& add : level->adds) level->batched_at |= batched_at_[add.node];
    for (const Crossing& remove : level->removes) use(remove.operand);
    // From outside, the level itself no longer counts.
    level->batched_at &= ~BitOf(level->depth);
  }

  // --- Whether moving out passes a dependency ------------------------------------

  struct Footprint {
    bool is_barrier = false;
    absl::flat_hash_set<const Node*> reads;
    absl::flat_hash_set<const Node*> writes;
  };
  void AddFootprint(Node* item, Footprint* footprint) {
    if (IsLevel(item)) {
      const Level& level = LevelOf(item);
      for (Node* inner : level.items) AddFootprint(inner, footprint);
      return;
    }
    if (item->is_call_function("torch.autograd.function.FunctionCtx")) return;
    const CallEffects& effects = effects_.Of(*item);
    footprint->is_barrier |= effects.is_unknown || effects.is_random || effects.is_statement;
    item->ForEachOperand(
        [&](const Node* operand) { footprint->reads.insert(effects_.GroupOf(operand)); });
    for (const Node* written : effects.mutates) {
      footprint->writes.insert(effects_.GroupOf(written));
    }
  }
  static bool Intersect(const absl::flat_hash_set<const Node*>& a,
                        const absl::flat_hash_set<const Node*>& b) {
    return absl::c_any_of(a, [&](const Node* node) { return b.contains(node); });
  }

  // `order` lists the items in the order in which one that moves out meets them.
  template <typename Moves>
  absl::Status CheckMovesAgainst(const std::vector<Node*>& order, Moves&& moves) {
    Footprint passed;
    bool any = false;
    for (Node* item : order) {
      if (!moves(item)) {
        AddFootprint(item, &passed);
        any = true;
        continue;
      }
      Footprint own;
      AddFootprint(item, &own);
      if (any && (own.is_barrier || passed.is_barrier || Intersect(own.writes, passed.reads) ||
                  Intersect(own.reads, passed.writes))) {
        return UnimplementedAt(*item,
                               "is used outside of the vmap level that it stands in, and "
                               "cannot be moved out of it");
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckMoves(const Level& level, const absl::flat_hash_set<const Node*>& outside,
                          const absl::flat_hash_set<const Node*>& behind) {
    RETURN_IF_ERROR(CheckMovesAgainst(level.items, [&](const Node* item) {
      return outside.contains(item) && !behind.contains(item);
    }));
    const std::vector<Node*> backwards(level.items.rbegin(), level.items.rend());
    return CheckMovesAgainst(backwards, [&](const Node* item) { return behind.contains(item); });
  }

  const int outer_levels_;
  const NestingCalls& calls_;
  ModuleEffects& effects_;
  std::vector<int> open_;
  uint64_t random_levels_ = 0;  // open levels whose randomness is not "error"
  // The level around a node that lies between an increment and its decrement. For an increment it
  // is the level around the new one.
  NodeTable<std::optional<int>> home_;
  NodeTable<uint64_t> batched_at_;
};

// Analyses all graphs that open and close levels. Levels in a body are counted on from those that
// are open where it is called.
class AllAnalyses {
 public:
  AllAnalyses(const Module& module, const NestingCalls& calls)
      : calls_(calls), effects_(module), has_bodies_(module.graphs().size() > 1) {}

  absl::Status Visit(Graph* graph, int outer_levels) {
    if (!visited_.insert({graph, outer_levels}).second) return absl::OkStatus();
    for (const Node* node : graph->nodes()) {
      if (calls_[node] == NestingCall::kNone) continue;
      const auto [it, is_first] = outer_levels_.insert({graph, outer_levels});
      if (!is_first) {
        return NodeError(*node, absl::StrCat("is in a body that is called with ", it->second,
                                             " and with ", outer_levels, " vmap levels open"));
      }
      analyses.emplace_back(graph, outer_levels, calls_, &effects_);
      RETURN_IF_ERROR(analyses.back().Run());
      break;
    }
    if (!has_bodies_) return absl::OkStatus();
    for (const Node* node : graph->nodes()) {
      const NestingCall call = calls_[node];
      if (call == NestingCall::kIncrement) ++outer_levels;
      if (call == NestingCall::kDecrement) --outer_levels;
      const int inside = outer_levels + (IsVmapCall(*node) ? 1 : 0);
      absl::Status status;
      node->ForEachArgument([&](const Argument& argument) {
        if (status.ok() && argument.is_graph()) status = Visit(argument.graph(), inside);
      });
      RETURN_IF_ERROR(status);
    }
    return absl::OkStatus();
  }

  std::deque<Analysis> analyses;

 private:
  const NestingCalls& calls_;
  ModuleEffects effects_;
  const bool has_bodies_;
  absl::flat_hash_set<std::pair<const Graph*, int>> visited_;
  absl::flat_hash_map<const Graph*, int> outer_levels_;  // for graphs with nesting calls
};

// Writes the calls of torch.vmap. The replaced nodes stay until all calls are made, since a level
// may take the results of an earlier one.
class Builder {
 public:
  Builder(Module* module, Analysis* analysis)
      : module_(module), graph_(analysis->graph), analysis_(*analysis) {}

  void Run() {
    for (const Analysis::Group& group : analysis_.groups) MakeCalls(group);
    for (const auto& [removed, result] : results_) removed->ReplaceAllUsesWith(result);
    std::vector<std::pair<Node*, std::string>> names;
    for (const auto& [removed, result] : results_) names.emplace_back(result, removed->name());
    for (const Analysis::Group& group : analysis_.groups) EraseLevel(group);
    for (const auto& [node, name] : names) node->set_name(name);
    for (Node* load : analysis_.loads) {
      if (!load->is_erased()) load->graph()->EraseNode(load);
    }
    for (Node* size : sizes_) {
      if (!size->is_erased() && !size->has_uses() && size->is_call_method("size")) {
        size->graph()->EraseNode(size);
      }
    }
  }

 private:
  using Values = absl::flat_hash_map<const Node*, Node*>;

  void MakeCalls(const Analysis::Group& group) {
    const Level& level = analysis_.levels[static_cast<size_t>(group.level)];
    for (Node* item : group.items) {
      if (!analysis_.IsLevel(item)) {
        graph_->MoveBefore(item, level.increment);
        continue;
      }
      InsertionGuard guard(graph_, level.increment);
      const Level& made = analysis_.LevelOf(item);
      const std::vector<Node*> results = Build(made, graph_, nullptr);
      for (size_t i = 0; i < results.size(); ++i) {
        results_.emplace_back(made.removes[i].node, results[i]);
        result_of_[made.removes[i].node] = results[i];
      }
    }
  }

  // Erases the rest of a level, whose nodes have been copied to bodies.
  void EraseLevel(const Analysis::Group& group) {
    const Level& level = analysis_.levels[static_cast<size_t>(group.level)];
    for (Node* node = level.decrement;;) {
      Node* const previous = node->prev();
      const bool is_first = node == level.increment;
      graph_->EraseNode(node);
      if (is_first) return;
      node = previous;
    }
  }

  // Makes the call of `level` and returns a node for each of its results. `values` maps analysed
  // nodes to their copies in `graph`; it is null in their own graph.
  std::vector<Node*> Build(const Level& level, Graph* graph, Values* values) {
    const auto value_of = [&](Node* node) {
      if (values != nullptr) return values->at(node);
      const auto result = result_of_.find(node);
      return result == result_of_.end() ? node : result->second;
    };
    Graph* const body = module_->AddGraph("vmap_body");
    Values inner;
    std::vector<Argument> operands;
    std::vector<Argument> in_dims;
    const auto add_operand = [&](Node* operand, const Argument& dim, const Node& like) {
      Node* const parameter = body->Placeholder(like.name(), like.name());
      parameter->set_location(like.location());
      parameter->set_meta(like.meta());
      if (like.is_placeholder()) parameter->set_annotation(like.annotation());
      operands.emplace_back(operand);
      in_dims.push_back(dim);
      inner[&like] = parameter;
    };
    for (const Crossing& add : level.adds) add_operand(value_of(add.operand), add.dim, *add.node);
    if (level.adds.empty()) {
      const Argument size =
          level.size.is_node() ? Argument(value_of(level.size.node())) : level.size;
      Node* const indices = graph->CallFunction("torch.arange", {size}, {}, "batch_index");
      indices->set_location(level.increment->location());
      add_operand(indices, 0, *indices);
    }
    for (Node* capture : level.captures) add_operand(value_of(capture), Argument(), *capture);

    for (Node* item : level.items) {
      if (analysis_.IsLevel(item)) {
        const Level& nested = analysis_.LevelOf(item);
        const std::vector<Node*> results = Build(nested, body, &inner);
        for (size_t i = 0; i < results.size(); ++i) inner[nested.removes[i].node] = results[i];
      } else if (item->has_uses() ||
                 !item->is_call_function("torch.autograd.function.FunctionCtx")) {
        inner[item] = body->CopyNodeFrom(*item, [&](Node* node) { return inner.at(node); });
      }
    }
    std::vector<Argument> results;
    std::vector<Argument> out_dims;
    for (const Crossing& remove : level.removes) {
      results.emplace_back(inner.at(remove.operand));
      out_dims.emplace_back(remove.dim);
    }
    for (Node* size : level.sizes) {
      for (const Values* known :
           {static_cast<const Values*>(&inner), static_cast<const Values*>(values)}) {
        if (known == nullptr) {
          sizes_.push_back(size);
        } else if (const auto it = known->find(size); it != known->end()) {
          sizes_.push_back(it->second);
        }
      }
    }
    const bool is_single = results.size() == 1;
    body->Output(is_single ? results[0] : Argument::Tuple(results));
    Node* const call =
        graph->CallFunction("torch.vmap", {body, Argument::Tuple(operands)},
                            {{"in_dims", Argument::Tuple(in_dims)},
                             {"out_dims", is_single         ? out_dims[0]
                                          : results.empty() ? Argument(0)
                                                            : Argument::Tuple(out_dims)},
                             {"randomness", level.randomness}},
                            is_single ? level.removes[0].node->name() : "vmap");
    call->set_location(level.increment->location());
    call->set_module_path(level.increment->module_path());
    if (is_single) {
      call->set_meta(level.removes[0].node->meta());
      return {call};
    }
    std::vector<Node*> elements;
    for (size_t i = 0; i < results.size(); ++i) {
      const Node& removed = *level.removes[i].node;
      Node* const element = graph->CallFunction("operator.getitem", {call, i}, {}, removed.name());
      element->set_location(removed.location());
      element->set_module_path(removed.module_path());
      element->set_meta(removed.meta());
      elements.push_back(element);
    }
    return elements;
  }

  Module* module_;
  Graph* graph_;
  Analysis& analysis_;
  // The calls that remove a dimension, and their replacements, in order.
  std::vector<std::pair<Node*, Node*>> results_;
  Values result_of_;
  // The sizes of levels, which may be unused now.
  std::vector<Node*> sizes_;
};

}  // namespace

absl::StatusOr<bool> RevertVmap(Module* module) {
  if (module->main() == nullptr) return false;
  NestingCalls calls;
  bool has_calls = false;
  for (const Graph* graph : module->graphs()) {
    for (const Node* node : graph->nodes()) {
      const NestingCall call = NestingCallOf(*node);
      if (call == NestingCall::kNone) continue;
      calls[node] = call;
      has_calls = true;
    }
  }
  if (!has_calls) return false;
  RoundTrips round_trips(calls);
  for (Graph* graph : module->graphs()) round_trips.Replace(graph);
  AllAnalyses all(*module, calls);
  if (absl::Status status = all.Visit(module->main(), 0); !status.ok()) {
    round_trips.Undo();
    return status;
  }
  for (Analysis& analysis : all.analyses) Builder(module, &analysis).Run();
  return !all.analyses.empty();
}

namespace {

const RegisteredPass kRevertVmapPass("revert-vmap", "revert_vmap.h",
                                     [](Module* module, PassRun&) { return RevertVmap(module); });

}  // namespace

}  // namespace graphnet
