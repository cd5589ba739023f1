#include "graphnet/passes/fuse.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/arena.h"
#include "graphnet/base/near_miss.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/memory/memory_use.h"
#include "graphnet/facts/shapes/facts_table.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/fused.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/passes/pass.h"
#include "graphnet/passes/pattern.h"

namespace graphnet {
namespace {

// The greatest distance between the calls of a group; all calls in between are checked.
constexpr size_t kMaxDistance = 10000;

bool IsFalse(const Argument* argument) {
  return argument != nullptr && argument->is_bool() && !argument->boolean();
}

const Schema* SchemaOf(const Node& call) {
  if (!call.is_call()) return nullptr;
  const Callable callee = CalleeOf(call);
  const bool is_one =
      callee.kind == Callable::Kind::kOperator
          ? callee.names_overload
          : callee.kind == Callable::Kind::kFunction && callee.overloads.size() == 1;
  return is_one ? &callee.overloads[0] : nullptr;
}

bool IsIdleDropout(const Node& node) {
  return node.is_call_function("aten.dropout.default") && !node.args().empty() &&
         IsFalse(node.FindArg("train", 2));
}

// Returns whether a call, whose arguments are all written out, draws random numbers.
bool IsRandom(const Node& call, const Schema& schema) {
  const Argument* const p = schema.Given(call, "dropout_p");  // a parameter of attention
  return schema.is_random && !IsIdleDropout(call) &&
         !(p != nullptr && p->is_float() && p->real() == 0);
}

// --- One way to write a call ---------------------------------------------------------

// Writes out all arguments, by position as far as possible and the others by keyword.
void WriteOut(Node* call) {
  const Schema* const schema = SchemaOf(*call);
  if (schema == nullptr ||
      absl::c_any_of(schema->arguments, [](const SchemaArgument& a) { return a.is_variadic; })) {
    return;
  }
  // The other arguments of embedding matter only for gradients.
  const bool is_embedding = schema->target == "aten.embedding.default";
  std::vector<Argument> args;
  std::vector<KwArg> kwargs;
  for (size_t i = 0; i < schema->arguments.size(); ++i) {
    const SchemaArgument& parameter = schema->arguments[i];
    const Argument* given = schema->Given(*call, i);
    if (is_embedding && i >= 2) given = nullptr;
    Argument value = given != nullptr ? *given : parameter.default_value;
    if (value.is_tuple() && parameter.type.is_list) value = Argument::List(value.elements());
    if (parameter.keyword_only) {
      kwargs.push_back({parameter.name, value});
    } else {
      args.push_back(value);
    }
  }
  call->set_kwargs({});
  call->set_args(args);
  call->set_kwargs(kwargs);
}

// Gives equal calls one form, with all arguments: views become reshapes, squares powers, and the
// parts of an unbind indices. Returns the calls that are gone.
std::vector<const Node*> WriteAlike(Graph* graph) {
  std::vector<const Node*> gone;
  for (Node* node : graph->nodes()) {
    if (!node->is_call()) continue;
    WriteOut(node);
    if (node->is_call_function("aten.view.default")) node->set_target("aten.reshape.default");
    if (node->is_call_function("aten.square.default")) {
      node->set_target("aten.pow.Tensor_Scalar");
      node->set_args({node->args()[0], 2});
    }
    if (!node->is_call_function("operator.getitem") || !node->args()[0].is_node()) continue;
    Node* const unbind = node->args()[0].node();
    const bool is_part = unbind->is_call_function("aten.unbind.int") &&
                         unbind->args()[1] == Argument(0) && node->args()[1].is_int() &&
                         node->args()[1].integer() >= 0;
    if (!is_part) continue;
    node->set_arg(0, unbind->args()[0]);
    if (unbind->has_uses()) continue;
    graph->EraseNode(unbind);
    gone.push_back(unbind);
  }
  return gone;
}

// A lowered copy of a module in which equal calls are written alike.
class BareModule {
 public:
  // If `drops` is set, dropout that does nothing is left out.
  static absl::StatusOr<std::unique_ptr<BareModule>> Make(Module* module, bool drops) {
    RefusedCalls refused;
    ASSIGN_OR_RETURN(LoweredModule lowered, LowerToAten(*module, &refused));
    auto bare = std::make_unique<BareModule>(module, std::move(lowered));
    bare->Simplify(refused, drops);
    return bare;
  }
  BareModule(Module* module, LoweredModule lowered)
      : module_(module), lowered_(std::move(lowered)) {
    for (size_t i = 0; i < module->graphs().size(); ++i) {
      Originals& originals = originals_[lowered_.module->graphs()[i]];
      for (Node* node : module->graphs()[i]->nodes()) {
        if (node->is_output()) continue;
        const Argument& value = lowered_.values[node];
        if (value.is_node()) originals.of.try_emplace(value.node()->name(), node);
      }
    }
  }

  Module* module() { return lowered_.module.get(); }

  // Returns whether a match may become one call at its anchor; remembers the calls that make it up.
  bool Take(const PatternMatch& match) {
    Originals& originals = originals_[match.nodes[0]->graph()];
    const auto anchor = originals.of.find(match.nodes[0]->name());
    if (anchor == originals.of.end() || IsFusedCall(*anchor->second) || IsCrossed(match))
      return false;
    std::vector<Node*> made_of;
    for (const Node* node : match.nodes) {
      if (const auto it = originals.made_of.find(node->name()); it != originals.made_of.end()) {
        made_of.insert(made_of.end(), it->second.begin(), it->second.end());
      } else if (const Node* origin = lowered_.origins[node]) {
        made_of.push_back(const_cast<Node*>(origin));
      }
    }
    originals.made_of[match.nodes[0]->name()] = std::move(made_of);
    return true;
  }

  // Writes the calls of `fused` in this copy to the original module; returns how many.
  size_t WriteBack(const FusedOperator& fused) {
    size_t made = 0;
    for (Graph* graph : lowered_.module->graphs()) {
      const auto it = originals_.find(graph);
      if (it == originals_.end()) continue;
      std::vector<Node*> old = it->second.idle;
      for (Node* node : graph->nodes()) {
        if (node->is_call_function(fused.name) && WriteCall(*node, &it->second, &old)) ++made;
      }
      // Erase the calls that were fused, last one first, unless something still uses them.
      absl::c_sort(old, [](const Node* a, const Node* b) { return b->IsBefore(a); });
      old.erase(std::unique(old.begin(), old.end()), old.end());
      for (Node* node : old) {
        if (!node->is_erased() && !node->has_uses()) node->graph()->EraseNode(node);
      }
    }
    return made;
  }

 private:
  // The original nodes of a graph by the names of lowered ones; a fused call keeps its anchor's
  // name.
  struct Originals {
    absl::flat_hash_map<absl::string_view, Node*> of;
    absl::flat_hash_map<absl::string_view, std::vector<Node*>> made_of;
    std::vector<Node*> idle;  // identity calls that are skipped
  };

  void Simplify(const RefusedCalls& refused, bool drops) {
    std::optional<FactsTable> facts;
    const auto of_one_dtype = [&](const Node* a, const Node* b) {
      if (!facts.has_value()) facts.emplace(lowered_, refused);
      const DType dtype = facts->Of(a).dtype;
      return dtype != DType::kUnknown && dtype == facts->Of(b).dtype;
    };
    // Collect these before any change, since the facts describe the unchanged module.
    absl::flat_hash_map<Node*, std::string> functional;
    for (Graph* graph : lowered_.module->graphs()) {
      for (Node* node : graph->nodes()) {
        std::string target = OutOfPlace(*node, functional, of_one_dtype);
        if (!target.empty()) functional.try_emplace(node, std::move(target));
      }
    }
    for (const auto& [node, target] : functional) node->set_target(target);
    for (Graph* graph : lowered_.module->graphs()) {
      std::vector<const Node*> gone = WriteAlike(graph);
      for (Node* node : graph->nodes()) {
        if (!drops || !IsIdleDropout(*node) || !node->args()[0].is_node()) continue;
        node->ReplaceAllUsesWith(node->args()[0].node());
        graph->EraseNode(node);
        gone.push_back(node);
      }
      for (const Node* node : gone) {
        auto* const original = const_cast<Node*>(lowered_.origins[node]);
        if (original->has_uses()) originals_[graph].idle.push_back(original);
      }
    }
  }

  // Returns the target that yields the same without writing, for an in-place call on a new value
  // that nothing else uses. Two tensors must have one dtype. `functional` holds the earlier calls
  // of this kind.
  template <typename Fn>
  static std::string OutOfPlace(const Node& call,
                                const absl::flat_hash_map<Node*, std::string>& functional,
                                Fn&& of_one_dtype) {
    const Schema* const schema = SchemaOf(call);
    if (schema == nullptr || !absl::EndsWith(schema->name, "_") || call.args().empty() ||
        !call.args()[0].is_node()) {
      return "";
    }
    Node* const written = call.args()[0].node();
    const Schema* const maker = SchemaOf(*written);
    if (maker == nullptr || maker->is_python || written->num_uses() != 1) return "";
    const MemoryUse use = MemoryUseOf(*written);
    const bool is_new = use.shared.empty() || (use.shared.size() == 1 && !use.written.empty() &&
                                               functional.contains(written));
    if (!is_new) return "";
    if (call.args().size() > 1 && call.args()[1].is_node() &&
        !of_one_dtype(written, call.args()[1].node())) {
      return "";
    }
    const std::string target =
        absl::StrCat("aten.", absl::StripSuffix(schema->name, "_"), ".", schema->overload);
    const Schema* const other = FindOverload(target);
    const auto same = [](const SchemaArgument& a, const SchemaArgument& b) {
      return a.name == b.name && a.keyword_only == b.keyword_only;
    };
    return other != nullptr && absl::c_equal(other->arguments, schema->arguments, same) ? target
                                                                                        : "";
  }

  // Returns whether moving the match to its anchor would pass a call that changes its meaning.
  static bool IsCrossed(const PatternMatch& match) {
    const Node* first = match.nodes[0];
    bool is_random = false;
    for (const Node* node : match.nodes) {
      if (node->IsBefore(first)) first = node;
      const Schema* const schema = SchemaOf(*node);
      is_random |= schema != nullptr && IsRandom(*node, *schema);
    }
    size_t distance = 0;
    for (const Node* node = first; node != match.nodes[0]; node = node->next()) {
      if (++distance > kMaxDistance) return true;
      if (!node->is_call() || absl::c_linear_search(match.nodes, node)) continue;
      const Callable callee = CalleeOf(*node);
      if (callee.bracket() != Schema::Bracket::kNone) return true;
      const Schema* const schema = SchemaOf(*node);
      if (!is_random || callee.kind == Callable::Kind::kPythonOperator) continue;
      if (schema == nullptr || IsRandom(*node, *schema) || node->HasBody()) return true;
    }
    return false;
  }

  // Adds to `old` the nodes to erase if nothing uses them.
  bool WriteCall(const Node& fused, Originals* originals, std::vector<Node*>* old) {
    const auto at = originals->of.find(fused.name());
    const auto made_of = originals->made_of.find(fused.name());
    if (at == originals->of.end() || made_of == originals->made_of.end()) return false;
    Node* const anchor = at->second;
    bool is_known = true;
    fused.ForEachOperand([&](const Node* operand) {
      const auto it = originals->of.find(operand->name());
      is_known &= it != originals->of.end() && it->second->IsBefore(anchor);
    });
    if (!is_known) return false;
    Arena arena;
    const auto map = [&](const Argument& argument) {
      return MapArgument(argument, &arena, [&](const Argument& a) -> Argument {
        if (a.is_node()) return originals->of.at(a.node()->name());
        return a.kind() == Argument::Kind::kSymInt ? Argument(module_->CopySym(a.sym())) : a;
      });
    };
    // Leave out arguments that equal the defaults.
    const Schema& schema = *SchemaOf(fused);
    std::vector<Argument> args;
    std::vector<KwArg> kwargs;
    bool gap = false;
    for (size_t i = 0; i < schema.arguments.size(); ++i) {
      const SchemaArgument& parameter = schema.arguments[i];
      const Argument* const given = schema.Given(fused, i);
      if (given == nullptr || parameter.IsDefault(*given)) {
        gap = true;
      } else if (gap || parameter.keyword_only) {
        kwargs.push_back({parameter.name, map(*given)});
      } else {
        args.push_back(map(*given));
      }
    }
    Graph* const graph = anchor->graph();
    const InsertionGuard guard(graph, anchor);
    Node* const call = graph->CallFunction(fused.target(), args, kwargs, anchor->name());
    call->set_location(anchor->location());
    call->set_module_path(anchor->module_path());
    call->set_meta(anchor->meta());
    const std::string name(anchor->name());
    anchor->ReplaceAllUsesWith(call);
    graph->EraseNode(anchor);
    call->set_name(name);
    for (Node* node : made_of->second) {
      if (node != anchor) old->push_back(node);
    }
    at->second = call;
    return true;
  }

  Module* const module_;
  LoweredModule lowered_;
  absl::flat_hash_map<const Graph*, Originals> originals_;
};

// --- The rules ----------------------------------------------------------------------

// The rules that find an operator. Their patterns have several calls, or one where that is asked for,
// and none that only writes to memory, since nothing could replace such calls.
struct Finder {
  const FusedOperator* fused = nullptr;
  std::vector<RewriteRule> rules;
  bool has_dropout = false;
  bool is_recursive = false;
};

// With `alone`, also by rules whose pattern is one call.
absl::StatusOr<Finder> FinderOf(const FusedOperator& fused, bool alone) {
  Finder finder{.fused = &fused};
  const auto uses_itself = [&](const RewriteRule& rule) {
    return absl::c_any_of(rule.pattern->nodes(),
                          [&](const Node* node) { return node->is_call_function(fused.name); });
  };
  for (const FusedRule& rule : fused.rules) {
    size_t calls = 0, writes = 0;
    for (const Node* node : rule.definition->nodes()) {
      calls += node->is_call() ? 1 : 0;
      writes += node->is_call() && !node->has_uses() ? 1 : 0;
    }
    if (calls < (alone ? 1 : 2) || writes > 0) continue;
    ASSIGN_OR_RETURN(std::vector<RewriteRule> read,
                     ParseRules(rule.text, "graphnet/ops/fused.txt"));
    for (Graph* graph : read[0].module->graphs()) {
      WriteAlike(graph);
      for (Node* node : graph->nodes()) {
        if (!node->is_call()) continue;
        finder.has_dropout |= node->is_call_function("aten.dropout.default");
        if (node->is_call_function("aten.add.Tensor") || node->is_call_function("aten.mul.Tensor"))
          read[0].commuting.insert(node);
      }
    }
    finder.rules.push_back(std::move(read[0]));
  }
  // Extending a call that was made comes before starting another one.
  std::stable_partition(finder.rules.begin(), finder.rules.end(), uses_itself);
  finder.is_recursive = absl::c_any_of(finder.rules, uses_itself);
  return finder;
}

// Returns whether a list names an operator, with or without "fused.".
bool HasOperator(absl::Span<const std::string> names, absl::string_view operator_name) {
  return absl::c_any_of(names, [&](absl::string_view name) {
    return absl::StripPrefix(name, "fused.") == absl::StripPrefix(operator_name, "fused.");
  });
}

// Returns the finders of the operators in `names`, or of all if it is empty. Those in `alone` are also
// found where one call makes them up.
absl::StatusOr<std::vector<Finder>> FindersOf(std::vector<std::string> names,
                                              const std::vector<std::string>& alone) {
  std::vector<Finder> finders;
  std::vector<absl::string_view> known;
  for (const FusedOperator& fused : FusedOperators()) {
    ASSIGN_OR_RETURN(Finder finder, FinderOf(fused, HasOperator(alone, fused.name)));
    if (finder.rules.empty()) continue;
    known.push_back(absl::StripPrefix(fused.name, "fused."));
    if (names.empty() || HasOperator(names, fused.name)) finders.push_back(std::move(finder));
  }
  names.insert(names.end(), alone.begin(), alone.end());
  for (const std::string& name : names) {
    const absl::string_view bare = absl::StripPrefix(name, "fused.");
    if (absl::c_linear_search(known, bare)) continue;
    return absl::InvalidArgumentError(absl::StrCat("fuse cannot make an operator called ",
                                                   Printable(bare), NearMissHint(bare, known)));
  }
  return finders;
}

}  // namespace

absl::StatusOr<bool> Fuse(Module* module, PassRun& run) {
  ASSIGN_OR_RETURN(std::vector<Finder> finders,
                   FindersOf(run.list("operators"), run.list("alone")));
  bool changed = false;
  // The last copy, with or without dropout; reused as long as nothing has changed.
  std::unique_ptr<BareModule> bare;
  bool has_dropout = false;
  for (Finder& finder : finders) {
    if (bare == nullptr || has_dropout != finder.has_dropout) {
      has_dropout = finder.has_dropout;
      ASSIGN_OR_RETURN(bare, BareModule::Make(module, /*drops=*/!has_dropout));
    }
    size_t applied = 0;
    for (RewriteRule& rule : finder.rules)
      rule.where = [&bare](const PatternMatch& match) { return bare->Take(match); };
    // The rules of a recursive operator are applied together. Others go one by one, so that a small
    // pattern does not take the end of a larger one.
    const absl::Span<const RewriteRule> all = finder.rules;
    for (size_t i = 0, step = finder.is_recursive ? all.size() : 1; i < all.size(); i += step) {
      std::vector<size_t> counts;
      RETURN_IF_ERROR(ApplyRules(all.subspan(i, step), bare->module(), &counts));
      for (const size_t count : counts) applied += count;
    }
    if (applied == 0) continue;
    const size_t made = bare->WriteBack(*finder.fused);
    if (made > 0) run.Note(absl::StrCat("calls of ", finder.fused->name), made);
    changed |= made > 0;
    bare = nullptr;
  }
  if (changed) module->EraseUnusedGraphs();
  return changed;
}

namespace {

const RegisteredPass kFusePass("fuse", "fuse.h", Fuse, {"operators", "alone"});

}  // namespace

}  // namespace graphnet
