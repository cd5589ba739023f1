#include "graphnet/passes/functional/functionalize.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/arena.h"
#include "graphnet/base/check.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/memory/memory_use.h"
#include "graphnet/facts/memory/view_steps.h"
#include "graphnet/facts/memory/write_analysis.h"
#include "graphnet/facts/shapes/facts_table.h"
#include "graphnet/facts/shapes/functional_twin.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/ir/shared_walk.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/passes/functional/out_arguments.h"
#include "graphnet/passes/pass.h"

namespace graphnet {
namespace {

using Write = WriteAnalysis::Write;
using View = WriteAnalysis::View;
// The budget of view calls that may be made: this many for each call of the program, plus a
// constant for small ones.
constexpr uint64_t kFreeCalls = uint64_t{1} << 18;
constexpr uint64_t kCallsPerCall = 16;

using BodyMap = absl::flat_hash_map<const Graph*, Graph*>;

// Rewrites one graph by the analysis of its lowered form. Each memory that is written to has a
// current value, and so has each of its views, which is made on demand.
class WriteRewriter {
 public:
  WriteRewriter(Graph* graph, const WriteAnalysis& analysis, const LoweredFacts& shared,
                const BodyMap& graphs, Budget* calls)
      : graph_(graph),
        calls_(*calls),
        module_(graph->module()),
        analysis_(analysis),
        shared_(shared),
        lowered_(*shared.lowered),
        facts_(*shared.facts),
        graphs_(graphs),
        view_of_tensor_(analysis.first_views().begin(), analysis.first_views().end()),
        views_(analysis.num_views()),
        writes_(analysis.num_memories()),
        made_(*shared.lowered->module),
        is_replaced_(*graph->module()),
        may_die_(*graph->module()) {}

  // InvalidArgument names the node at which the budget ran out.
  absl::Status Run(const Graph& lowered, bool returns_inputs) {
    const InsertionGuard guard(graph_, nullptr);
    std::vector<Node*> nodes;
    for (Node* node : graph_->nodes()) nodes.push_back(node);
    const Node* next = lowered.first();
    std::vector<const Node*> calls;  // the calls that a node is lowered to
    for (Node* node : nodes) {
      calls.clear();
      for (; next != nullptr && lowered_.origins[next] == node; next = next->next())
        calls.push_back(next);
      graph_->set_insertion_point(node);
      at_ = node;
      if (node->is_output()) {
        Finish(node, returns_inputs);
      } else if (IsTouched(*node, calls)) {
        Replace(node, calls);
      } else {
        Keep(node);
      }
      RETURN_IF_ERROR(status_);
    }
    Erase(nodes);
    return absl::OkStatus();
  }

 private:
  struct ViewValue {
    Node* node = nullptr;
    int writes = -1;  // writes to the memory before it was made
  };

  bool IsRewritten(int tensor) const {
    return tensor >= 0 && analysis_.IsRewritten(MemoryOf(tensor));
  }
  int MemoryOf(int tensor) const {
    return analysis_.view(view_of_tensor_[static_cast<size_t>(tensor)]).memory;
  }

  // Returns whether a node is replaced by its lowered calls.
  bool IsTouched(const Node& node, const std::vector<const Node*>& calls) const {
    for (const Node* call : calls) {
      // The overload without `out` has another name.
      if (shared_.out_calls.contains(&node) && node.target() != call->target() &&
          absl::StartsWith(node.target(), "aten.")) {
        return true;
      }
      if (const Write* write = analysis_.WriteOf(call);
          write != nullptr && analysis_.IsRewritten(analysis_.view(write->view).memory)) {
        return true;
      }
      // Intermediate values of the node have no name in the program.
      if (calls.size() > 1 && IsRewritten(analysis_.TensorOf(call))) return true;
    }
    return false;
  }

  // --- Values ------------------------------------------------------------------

  // Returns the current value of an argument of the program.
  Argument Current(const Argument& a) {
    if (!a.is_node()) return a;
    const Argument& value = lowered_.values[a.node()];
    if (value.is_node() && IsRewritten(analysis_.TensorOf(value.node()))) {
      return ValueOf(value.node());
    }
    if (!is_replaced_[a.node()]) return a;
    return FromLowered(value);
  }

  Argument FromLowered(const Argument& a) {
    return MapArgument(a, &arena_, [this](const Argument& x) -> Argument {
      switch (x.kind()) {
        case Argument::Kind::kNode: return ValueOf(x.node());
        case Argument::Kind::kGraph: return graphs_.at(x.graph());
        case Argument::Kind::kSymInt: return module_->CopySym(x.sym());
        default: return x;
      }
    });
  }

  // Returns the current value of a node of the lowered graph.
  Node* ValueOf(const Node* call) {
    const int tensor = analysis_.TensorOf(call);
    if (IsRewritten(tensor)) return ValueOfView(view_of_tensor_[static_cast<size_t>(tensor)]);
    if (made_[call] != nullptr) return made_[call];
    auto* const origin = const_cast<Node*>(lowered_.origins[call]);
    const Argument& value = lowered_.values[origin];
    if (value.is_node() && value.node() == call && !is_replaced_[origin]) return origin;
    return CopyCall(*call, *origin);
  }

  // Views may nest deeply, so this first collects the stale ones from `i` on, then remakes them.
  Node* ValueOfView(int i) {
    const int writes = writes_[static_cast<size_t>(analysis_.view(i).memory)];
    std::vector<int> stale;
    for (int at = i; views_[static_cast<size_t>(at)].writes != writes;
         at = analysis_.view(at).parent) {
      CHECK(analysis_.view(at).parent >= 0);
      stale.push_back(at);
    }
    for (; !stale.empty(); stale.pop_back()) {
      const View& view = analysis_.view(stale.back());
      Node* const parent = views_[static_cast<size_t>(view.parent)].node;
      ViewValue& value = views_[static_cast<size_t>(stale.back())];
      // Once the budget is spent, the graph is discarded.
      value.node = Charge(1) ? Call(view.step.target, {parent}, view.step.args, view.like) : parent;
      value.writes = writes;
    }
    return views_[static_cast<size_t>(i)].node;
  }

  bool Charge(uint64_t calls) {
    if (status_.ok() && !calls_.Charge(calls)) {
      status_ = NodeError(*at_,
                          "without writes, the views of written memory take more than 16 calls "
                          "for each of the program");
    }
    return status_.ok();
  }

  // Records `node` as the value of a new call of the lowered graph.
  void Define(const Node* call, Node* node) {
    made_[call] = node;
    const int tensor = analysis_.TensorOf(call);
    if (!IsRewritten(tensor)) return;
    const int view = view_of_tensor_[static_cast<size_t>(tensor)];
    const int memory = analysis_.view(view).memory;
    int& writes = writes_[static_cast<size_t>(memory)];
    ViewValue& value = views_[static_cast<size_t>(view)];
    if (value.writes == writes) return;
    // After a write, an element of a tuple differs from the one that the tuple holds.
    if (analysis_.view(view).parent < 0 && writes > 0) return;
    value = {node, writes};
  }

  // --- Calls -------------------------------------------------------------------

  // `like` is a node of the lowered graph whose value has the same meta; it may be null.
  Node* Call(absl::string_view target, std::vector<Argument> args, absl::Span<const Argument> more,
             const Node* like) {
    for (const Argument& a : more) args.push_back(FromLowered(a));
    return Make(target, args, {}, like);
  }

  Node* Make(absl::string_view target, absl::Span<const Argument> args,
             absl::Span<const KwArg> kwargs, const Node* like) {
    const Node* const origin = like == nullptr ? nullptr : lowered_.origins[like];
    Node* const node =
        graph_->CallFunction(target, args, kwargs, (origin == nullptr ? at_ : origin)->name());
    if (origin != nullptr) {
      const Argument& value = lowered_.values[origin];
      if (value.is_node() && value.node() == like) node->set_meta(origin->meta());
    }
    node->set_location(at_->location());
    node->set_module_path(at_->module_path());
    may_die_[node] = true;
    last_made_ = node;
    return node;
  }

  // Copies a call of the lowered graph unchanged.
  Node* CopyCall(const Node& call, const Node& origin) {
    std::vector<Argument> args;
    for (const Argument& a : call.args()) args.push_back(FromLowered(a));
    std::vector<KwArg> kwargs;
    for (const KwArg& k : call.kwargs()) kwargs.push_back({k.name, FromLowered(k.value)});
    Node* const node = Make(call.target(), args, kwargs, &call);
    node->set_annotation(origin.annotation());
    may_die_[node] = false;
    Define(&call, node);
    return node;
  }

  // --- Nodes of the program ------------------------------------------------------

  void Keep(Node* node) {
    node->MapArguments([this](const Argument& a) { return Current(a); });
    const Argument& value = lowered_.values[node];
    if (value.is_node()) {
      Define(value.node(), node);
      const int tensor = analysis_.TensorOf(value.node());
      may_die_[node] = node->is_call() && IsRewritten(tensor) &&
                       analysis_.view(view_of_tensor_[static_cast<size_t>(tensor)]).parent >= 0;
    } else if (value.is_tuple() || value.is_list()) {
      graph_->set_insertion_point(node->next());
      for (size_t i = 0; i < value.elements().size(); ++i) {
        const Argument& element = value.elements()[i];
        if (element.is_node() && IsRewritten(analysis_.TensorOf(element.node())))
          Define(element.node(), Make("operator.getitem", {node, i}, {}, element.node()));
      }
    }
  }

  void Replace(Node* node, const std::vector<const Node*>& calls) {
    last_made_ = nullptr;
    for (const Node* call : calls) {
      const Write* write = analysis_.WriteOf(call);
      if (write != nullptr && analysis_.IsRewritten(analysis_.view(write->view).memory)) {
        AddWrite(*write);
      } else {
        CopyCall(*call, *node);
      }
    }
    is_replaced_[node] = true;
    if (last_made_ != nullptr) names_.emplace_back(last_made_, std::string(node->name()));
  }

  // --- Writes --------------------------------------------------------------------

  void AddWrite(const Write& write) {
    const Node& call = *write.node;
    switch (write.form) {
      case Write::Form::kShape:
        view_of_tensor_[static_cast<size_t>(analysis_.TensorOf(&call))] = write.view;
        break;
      case Write::Form::kTwin: {
        const bool is_copy =
            write.twin->name == "copy" && IsWrittenAsItIs(write.view, write.node->args()[1]);
        WriteBack(write.view, is_copy ? ValueOf(write.node->args()[1].node()) : TwinOf(write),
                  write.twin->is_pointwise || write.twin->name == "copy" ||
                      write.twin->name == "fill" || write.twin->name == "zero");
        break;
      }
      case Write::Form::kFill:
        WriteBack(write.view, Call("aten.fill.Scalar", {ValueOfView(write.view)}, {write.value},
                                   Like(write.view)));
        break;
      case Write::Form::kCopy: {
        Argument value = FromLowered(write.value);
        // x[0] += 1 ends with x[0] = x[0].
        if (value.node() == ValueOfView(write.view)) break;
        value = WithoutFront(value, write.extra_dims);
        WriteBack(write.view, IsWrittenAsItIs(write.view, write.value)
                                  ? value.node()
                                  : Make("aten.copy.default", {ValueOfView(write.view), value}, {},
                                         Like(write.view)));
        break;
      }
      case Write::Form::kIndexPut: PutByIndex(write); break;
      case Write::Form::kStatistics: Normalize(write); break;
    }
  }

  // Removes `count` leading dimensions of size 1.
  Argument WithoutFront(const Argument& value, int count) {
    if (count == 0) return value;
    std::vector<Argument> dims(static_cast<size_t>(count));
    absl::c_iota(dims, 0);
    return Make("aten.squeeze.dims", {value, Argument::List(dims)}, {}, nullptr);
  }

  // Returns whether a scatter can take the copied value without a conversion.
  bool IsWrittenAsItIs(int view, const Argument& value) const {
    if (!value.is_node() || Like(view) == nullptr) return false;
    const TensorFacts to = facts_.Of(Like(view)), from = facts_.Of(value.node());
    return analysis_.view(view).parent >= 0 &&
           analysis_.view(view).step.inverse == ViewStep::Inverse::kScatter && to.is_static() &&
           to.sizes == from.sizes && to.dtype != DType::kUnknown && to.dtype == from.dtype &&
           from.is_tensor();
  }

  Node* TwinOf(const Write& write) {
    const Node& call = *write.node;
    const Schema& writer = *FindOverload(call.target());
    Node* const before = ValueOfView(write.view);
    std::vector<Argument> args = {before};
    std::vector<KwArg> kwargs;
    for (size_t i = 1; i < writer.arguments.size(); ++i) {
      const SchemaArgument& parameter = writer.arguments[i];
      const Argument* given = writer.Given(call, i);
      // Write out a default that the twin lacks.
      const bool needed = parameter.has_default && !write.twin->arguments[i].has_default;
      if (given == nullptr && !needed) continue;
      const Argument value = given != nullptr ? FromLowered(*given) : parameter.default_value;
      if (args.size() == i && !parameter.keyword_only) {
        args.push_back(value);
      } else {
        kwargs.push_back({parameter.name, value});
      }
    }
    Node* made = Make(write.twin->target, args, kwargs, Like(write.view));
    if (write.twin->is_random) may_die_[made] = false;
    if (!MayChangeDType(call, writer, facts_)) return made;
    made->set_meta(nullptr);
    const DType dtype = facts_.Of(call.args()[0].node()).dtype;
    return dtype == DType::kUnknown
               ? Make("aten.type_as.default", {made, before}, {}, Like(write.view))
               : Make("aten.to.dtype", {made, dtype}, {}, Like(write.view));
  }

  void PutByIndex(const Write& write) {
    Node* const before = ValueOfView(write.view);
    std::vector<Argument> indices;
    for (const Argument& index : write.indices) {
      indices.push_back(index.is_list() ? Argument(Make("torch.tensor", {index}, {}, nullptr))
                                        : FromLowered(index));
    }
    Argument value = WithoutFront(FromLowered(write.value), write.extra_dims);
    const DType dtype = facts_.Of(write.node->args()[0].node()).dtype;
    if (!value.is_node() || analysis_.TensorOf(write.value.node()) < 0) {
      value = Make("aten.new_full.default", {before, Argument::List({}), value}, {}, nullptr);
    } else if (dtype == DType::kUnknown) {
      value = Make("aten.type_as.default", {value, before}, {}, nullptr);
    } else if (facts_.Of(write.value.node()).dtype != dtype) {
      value = Make("aten.to.dtype", {value, dtype}, {}, nullptr);
    }
    WriteBack(write.view, Make("aten.index_put.default", {before, Argument::List(indices), value},
                               {}, Like(write.view)));
  }

  void Normalize(const Write& write) {
    const Node& call = *write.node;
    const Schema& schema = *FindOverload(call.target());
    std::vector<Argument> args;
    for (size_t i = 0; i < 8; ++i) {
      args.push_back(FromLowered(GivenOrDefault(call, schema, schema.arguments[i].name)));
    }
    Node* const all = Make("aten._native_batch_norm_legit_functional.default", args, {}, nullptr);
    WriteBack(write.view, Make("operator.getitem", {all, 3}, {}, Like(write.view)));
    WriteBack(write.second, Make("operator.getitem", {all, 4}, {}, Like(write.second)));
    Define(&call, Make("operator.getitem", {all, 0}, {}, &call));
  }

  const Node* Like(int view) const { return analysis_.view(view).like; }

  // Makes `value` the new value of the view and of all that shares its memory. If keeps_strides is
  // false, the operator may have made its value contiguous, so restore the memory's strides.
  void WriteBack(int view, Node* value, bool keeps_strides = true) {
    bool restore = false;
    for (; analysis_.view(view).parent >= 0; view = analysis_.view(view).parent) {
      const ViewStep& step = analysis_.view(view).step;
      const int parent = analysis_.view(view).parent;
      if (!keeps_strides && analysis_.view(parent).parent < 0 &&
          step.inverse != ViewStep::Inverse::kScatter) {
        restore = true;
      }
      switch (step.inverse) {
        case ViewStep::Inverse::kNone: CHECK(false);
        case ViewStep::Inverse::kSame: break;
        case ViewStep::Inverse::kReshape: value = Reshape(value, parent); break;
        case ViewStep::Inverse::kDense:
          value = Make("aten.contiguous.default", {value}, {}, Like(view));
          [[fallthrough]];
        case ViewStep::Inverse::kCall:
          value = Call(step.inverse_target, {value}, step.inverse_args, Like(parent));
          break;
        case ViewStep::Inverse::kScatter:
          value = Call(step.inverse_target, {ValueOfView(parent), value}, step.inverse_args,
                       Like(parent));
          break;
      }
    }
    if (restore) value = Make("aten.copy.default", {ValueOfView(view), value}, {}, Like(view));
    const int writes = ++writes_[static_cast<size_t>(analysis_.view(view).memory)];
    views_[static_cast<size_t>(view)] = {value, writes};
  }

  Node* Reshape(Node* value, int like) {
    const TensorFacts facts = Like(like) == nullptr ? TensorFacts() : facts_.Of(Like(like));
    if (!facts.is_static()) {
      return Make("aten.reshape_as.default", {value, ValueOfView(like)}, {}, Like(like));
    }
    const std::vector<Argument> sizes(facts.sizes->begin(), facts.sizes->end());
    return Make("aten.reshape.default", {value, Argument::List(sizes)}, {}, Like(like));
  }

  // --- The end -------------------------------------------------------------------

  void Finish(Node* output, bool returns_inputs) {
    output->MapArguments([this](const Argument& a) { return Current(a); });
    for (const Node* copy : analysis_.final_copies())
      graph_->MoveBefore(const_cast<Node*>(lowered_.origins[copy]), output);
    std::vector<Argument> further;
    for (size_t i = 0; i < analysis_.num_memories(); ++i) {
      const WriteAnalysis::Memory& memory = analysis_.memory(static_cast<int>(i));
      if (!memory.is_escaping || writes_[i] == 0) continue;
      Node* const value = views_[static_cast<size_t>(memory.root)].node;
      auto* const input = const_cast<Node*>(lowered_.origins[memory.made_by]);
      if (value == input) continue;
      if (returns_inputs) {
        further.emplace_back(value);
      } else {
        Make("aten.copy_.default", {input, value}, {}, memory.made_by);
        may_die_[last_made_] = false;
      }
    }
    if (further.empty()) return;
    const Argument& returned = output->args()[0];
    std::vector<Argument> all;
    if (returned.is_tuple()) {
      all.assign(returned.elements().begin(), returned.elements().end());
    } else {
      all.push_back(returned);
    }
    all.insert(all.end(), further.begin(), further.end());
    output->set_arg(0, Argument::Tuple(all));
  }

  void Erase(const std::vector<Node*>& nodes) {
    for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
      if (is_replaced_[*it]) graph_->EraseNode(*it);
    }
    for (Node* node = graph_->last(); node != nullptr;) {
      Node* const before = node->prev();
      if (may_die_[node] && !node->has_uses()) graph_->EraseNode(node);
      node = before;
    }
    for (const auto& [node, name] : names_) {
      if (!node->is_erased()) node->set_name(name);
    }
  }

  Graph* const graph_;
  Budget& calls_;  // the remaining budget of view calls
  absl::Status status_;
  Module* const module_;
  const WriteAnalysis& analysis_;
  const LoweredFacts& shared_;
  const LoweredModule& lowered_;
  const FactsTable& facts_;
  const BodyMap& graphs_;
  Arena arena_;
  const Node* at_ = nullptr;  // a node of the program
  std::vector<int> view_of_tensor_;
  std::vector<ViewValue> views_;
  std::vector<int> writes_;  // the number of writes to each memory so far
  NodeTable<Node*> made_;    // new nodes for nodes of the lowered graph
  NodeTable<bool> is_replaced_;
  NodeTable<bool> may_die_;  // True if only its value is needed.
  Node* last_made_ = nullptr;
  std::vector<std::pair<Node*, std::string>> names_;
};

bool AnyWrites(const Module& module) {
  for (const Graph* graph : module.graphs()) {
    for (const Node* node : graph->nodes()) {
      if (!MemoryUseOf(*node).written.empty()) return true;
    }
  }
  return false;
}

class Functionalizer {
 public:
  Functionalizer(Module* module, const LoweredFacts& shared, bool returns_inputs, PassRun* run)
      : module_(*module),
        shared_(shared),
        returns_inputs_(returns_inputs),
        run_(*run),
        calls_(kFreeCalls + kCallsPerCall * shared.lowered->module->num_nodes()) {
    for (size_t i = 0; i < module->graphs().size(); ++i) {
      graphs_[shared.lowered->module->graphs()[i]] = module->graphs()[i];
    }
  }

  absl::StatusOr<bool> Run() {
    for (const Graph* graph : shared_.lowered->module->graphs()) RETURN_IF_ERROR(RunOn(*graph));
    return changed_;
  }

 private:
  // Visits bodies before the calls that take them.
  absl::Status RunOn(const Graph& lowered) {
    if (!done_.insert(&lowered).second) return absl::OkStatus();
    absl::Status status;
    for (const Node* node : lowered.nodes()) {
      node->ForEachArgument([&](const Argument& a) {
        if (a.is_graph()) status.Update(RunOn(*a.graph()));
      });
    }
    RETURN_IF_ERROR(status);
    Graph* const graph = graphs_.at(&lowered);
    const bool is_main = graph == module_.main();
    const WriteAnalysis analysis(lowered, is_main, !returns_inputs_, &shared_);
    for (const WriteAnalysis::Reason& reason : analysis.Blocked()) {
      const Node* call = shared_.lowered->origins[reason.call];
      if (shared_.out_copies.contains(call)) {
        call = call->args()[1].node();
        if (call->is_call_function("operator.getitem")) call = call->args()[0].node();
      }
      const absl::string_view name = call->name();
      run_.Note(is_main ? absl::StrCat("stays as it is: what %", name, " is given: ", reason.what)
                        : absl::StrCat("stays as it is: @", graph->name(), ": %", name, ": ",
                                       reason.what));
      if (!is_main) break;
    }
    shared_.writes[&lowered] = analysis.may_write();
    if (!analysis.any_rewritten()) return absl::OkStatus();
    changed_ = true;
    return WriteRewriter(graph, analysis, shared_, graphs_, &calls_)
        .Run(lowered, is_main && returns_inputs_);
  }

  Module& module_;
  LoweredFacts shared_;
  const bool returns_inputs_;
  PassRun& run_;
  BodyMap graphs_;
  absl::flat_hash_set<const Graph*> done_;
  Budget calls_;
  bool changed_ = false;
};

}  // namespace

absl::StatusOr<bool> Functionalize(Module* module, PassRun& run) {
  ASSIGN_OR_RETURN(const bool returns_inputs, run.flag("outputs"));
  if (module->main() == nullptr || !AnyWrites(*module)) return false;
  const std::vector<OutCall> out_calls = SplitOutCalls(module);
  const absl::Cleanup join = [&] { JoinOutCalls(out_calls); };
  RefusedCalls refused;
  ASSIGN_OR_RETURN(const LoweredModule lowered, LowerToAten(*module, &refused));
  const FactsTable facts(lowered, refused);
  Arena arena;
  LoweredFacts shared = {
      .lowered = &lowered, .refused = &refused, .facts = &facts, .arena = &arena};
  for (const OutCall& of : out_calls) {
    shared.out_copies.insert(of.copies.begin(), of.copies.end());
    shared.out_calls.insert(of.call);
  }
  return Functionalizer(module, shared, returns_inputs, &run).Run();
}

namespace {

const RegisteredPass kFunctionalizePass("functionalize", "functionalize.h", Functionalize,
                                        {"outputs"});

}  // namespace

}  // namespace graphnet
