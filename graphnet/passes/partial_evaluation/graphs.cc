// Follows graphs, branches, loops and attributes; see evaluator.h.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/memory/memory_use.h"
#include "graphnet/facts/shapes/infer_meta.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/passes/partial_evaluation/evaluator.h"

namespace graphnet::evaluation {
namespace {

// Limits of loop iterations, over all loops together. A loop that exceeds it stays, which writers of
// programs refuse, so they are given more.
constexpr size_t kMaxIterations = 10'000;
constexpr size_t kMaxIterationsOfCall = 100'000;

bool IsBranch(const Node& node) {
  return (node.is_call_function("torch.cond") ||
          node.is_call_function("torch.ops.higher_order.cond")) &&
         node.args().size() == 4;
}

bool IsLoop(const Node& node) {
  return (node.is_call_function("torch.ops.higher_order.while_loop") ||
          node.is_call_function("torch.while_loop")) &&
         node.args().size() >= 3 && node.kwargs().empty() && node.args()[0].is_graph() &&
         node.args()[1].is_graph();
}

bool IsState(const Node& node) {
  const bool reads = node.is_call_function("prim.GetAttr");
  return (reads || node.is_call_function("prim.SetAttr")) && node.args().size() == 3 &&
         node.args()[0].is_string() && node.args()[1].is_string();
}

// An argument that is left out, which a writer of programs does not take for an input.
bool IsLeftOut(const Node& placeholder) {
  return absl::StartsWith(placeholder.annotation(), "Optional[") && placeholder.meta() == nullptr;
}

// Returns whether a branch gets this operand as a constant in its graph.
bool IsPutIn(const Value& operand) { return operand.is_constant() && !operand.is_number_tensor; }

Node* Same(Node* node) { return node; }

// Returns the meta of a value that is `a` or `b`: null for numbers, nullopt if it is not known.
std::optional<const ValueMeta*> MetaOfEither(const Argument& a, const Argument& b) {
  const auto meta_of = [](const Argument& value) -> const TensorMeta* {
    return value.is_node() ? value.node()->tensor_meta() : nullptr;
  };
  const TensorMeta* const x = meta_of(a);
  const TensorMeta* const y = meta_of(b);
  if (x == nullptr && y == nullptr) return nullptr;
  if (x == nullptr || y == nullptr || !x->is_static() || !y->is_static() || x->dtype != y->dtype ||
      x->dtype == DType::kUnknown || x->device != y->device || !absl::c_equal(x->shape, y->shape))
    return std::nullopt;
  return a.node()->meta();
}

// Returns the meta of what a call of one of two branches returns; null if it is not known.
const ValueMeta* MetaOfBranches(const Graph& taken, const Graph& other, Module* module) {
  const Argument& a = taken.output()->args()[0];
  const Argument& b = other.output()->args()[0];
  if (!a.is_sequence() || !b.is_sequence()) return MetaOfEither(a, b).value_or(nullptr);
  if (a.elements().size() != b.elements().size()) return nullptr;
  std::vector<const ValueMeta*> metas;
  for (size_t i = 0; i < a.elements().size(); ++i) {
    const std::optional<const ValueMeta*> meta = MetaOfEither(a.elements()[i], b.elements()[i]);
    if (!meta) return nullptr;
    metas.push_back(*meta);
  }
  return absl::c_all_of(metas, [](const ValueMeta* meta) { return meta == nullptr; })
             ? nullptr
             : module->InternTupleMeta(metas);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Module>> Evaluator::Run() {
  for (const Graph* graph : from_.graphs()) {
    for (const Node* node : graph->nodes()) {
      changes_sizes_ |= ChangesSizes(*node);
      for (const Node* value : MemoryUseOf(*node).written) {
        if (value->op() == Op::kGetAttr) written_.insert(value->target());
      }
    }
  }
  sizes_of_run_.AddAll(from_);
  for (const Symbol& symbol : from_.symbols()) made_->AddSymbol(symbol.name, symbol.example);
  for (const SymExpr* relation : from_.relations()) made_->AddRelation(relation);
  for (const Attribute& attribute : from_.attributes()) made_->AddAttribute(attribute);
  graph_ = made_->AddGraph(from_.main()->name());
  for (const Node* node : from_.main()->nodes()) {
    if (!node->is_placeholder()) break;
    Node* copy = graph_->CopyNodeFrom(*node, Same);
    Set(node, options_.of_call && IsLeftOut(*node) ? Value() : Value{copy});
  }
  ASSIGN_OR_RETURN(const Value result, EvaluateGraph(*from_.main()));
  KeepState();
  if (options_.of_call) {
    const Argument returned = Materialise(result);
    if (is_too_long()) return NodeError(*from_.main()->output(), kTooLong);
    graph_->Output(returned);
    return std::move(made_);
  }
  // The graph returns one flat tuple, whatever structure the program returns.
  std::vector<Argument> leaves;
  if (values_.MayWriteOut(result)) AddLeaves(result, &leaves);
  if (is_too_long()) return NodeError(*from_.main()->output(), kTooLong);
  graph_->Output(Argument::Tuple(leaves));
  return std::move(made_);
}

// --- Values ------------------------------------------------------------------------

Value Evaluator::ValueOf(const Argument& a) {
  if (a.is_node()) return env_[a.node()];
  if (!a.is_aggregate() || a.kind() == Argument::Kind::kSlice) return {Plain(a)};
  bool has_node = false;
  ForEachArgument(a, [&](const Argument& x) { has_node |= x.is_node(); });
  if (!has_node) return {a};
  std::vector<Value> elements;
  for (const Argument& element : a.elements()) elements.push_back(ValueOf(element));
  const Value made = values_.Make(a.kind(), std::move(elements));
  made.container->is_literal = true;
  return made;
}

Argument Evaluator::Plain(const Argument& a) {
  return MapArgument(a, values_.arena(), [&](const Argument& x) {
    return x.is_node() ? Materialise(env_[x.node()]) : x;
  });
}

Argument Evaluator::Materialise(const Value& value, bool as_numbers) {
  if (value.is_number_tensor && !as_numbers) {
    const Argument args[] = {value.argument};
    Node* node = graph_->CallFunction("prim.NumToTensor.Scalar", args);
    InferMeta(node);
    return node;
  }
  if (!value.is_container()) return value.argument;
  return values_.MayWriteOut(value) ? WrittenOut(value, as_numbers) : Argument();
}

Argument Evaluator::WrittenOut(const Value& value, bool as_numbers) {
  if (!value.is_container()) return Materialise(value, as_numbers);
  std::vector<Argument> elements;
  for (const Value& element : value.container->elements)
    elements.push_back(WrittenOut(element, as_numbers));
  return Argument::Aggregate(value.container->kind,
                             values_.arena()->Copy(absl::MakeConstSpan(elements)));
}

void Evaluator::AddLeaves(const Value& value, std::vector<Argument>* leaves) {
  const Argument written = WrittenOut(value, /*as_numbers=*/false);
  const auto add = [&](const auto& self, const Argument& a) -> void {
    const bool is_dict = a.kind() == Argument::Kind::kDict;
    if (is_dict || a.is_sequence()) {
      const size_t step = is_dict ? 2 : 1;
      for (size_t i = step - 1; i < a.elements().size(); i += step) self(self, a.elements()[i]);
    } else if (!a.is_none()) {  // None yields no leaf.
      leaves->push_back(a);
    }
  };
  add(add, written);
}

void Evaluator::Lose(const Value& value) {
  if (options_.of_call) return;
  values_.ForEachContainer(value, [&](const Container& container) {
    if (container.maker != nullptr) kept_.insert(container.maker);
    return true;
  });
}

// --- Attributes that the program assigns -------------------------------------------

Value Evaluator::EvaluateState(const Node& node) {
  const absl::string_view path = node.args()[0].string();
  const std::string name = absl::StrCat(path, path.empty() ? "" : ".", node.args()[1].string());
  const bool reads = node.is_call_function("prim.GetAttr");
  const Value given = ValueOf(node.args()[2]);
  const auto [it, is_new] = state_.try_emplace(name);
  State& state = it->second;
  if (is_new && reads) {
    state.now = given;
    if (given.argument.is_node() && given.argument.node()->op() == Op::kGetAttr) {
      // The attribute keeps its value until the end, whatever the program does with it.
      state.tensor = given.argument.node();
      const Argument tensor[] = {given.argument};
      Node* const copy = graph_->CallFunction("aten.clone.default", tensor);
      InferMeta(copy);
      state.now = {copy};
    } else if (!given.is_container() && given.argument.is_list()) {
      state.now = {Argument(), values_.ContainerOf(given)};
      state.now.container->is_literal = false;
    }
    state.before = given;
  }
  if (reads) {
    state.is_read = true;
    return state.now;
  }
  state.now = given;
  return Value{};
}

void Evaluator::KeepState() {
  for (const auto& [name, state] : state_) {
    // An attribute that no call reads does not matter.
    if (!state.is_read && !IsReadAnywhere(name)) continue;
    const Attribute* const attribute = made_->FindAttribute(name);
    const TensorMeta* const meta = attribute == nullptr ? nullptr : attribute->meta;
    const Argument& now = state.now.argument;
    const TensorMeta* const is =
        now.is_node() && !state.now.is_container() ? now.node()->tensor_meta() : nullptr;
    const bool fits = meta != nullptr && is != nullptr && meta->is_static() && is->is_static() &&
                      meta->dtype == is->dtype && absl::c_equal(meta->shape, is->shape) &&
                      !changed_sizes_;
    if (fits) {
      Node* tensor = state.tensor;
      if (tensor == nullptr) tensor = graph_->GetAttr(name);
      if (tensor->meta() == nullptr) tensor->set_meta(made_->InternValueMeta(*meta));
      const Argument args[] = {tensor, now};
      InferMeta(graph_->CallFunction("aten.copy_.default", args));
    } else if (!state.is_read || state.tensor != nullptr ||
               !values_.AreSame(state.before, state.now)) {
      lost_.push_back(name);
    }
  }
}

bool Evaluator::IsReadAnywhere(absl::string_view name) const {
  return absl::c_any_of(from_.graphs(), [&](const Graph* graph) {
    return absl::c_any_of(graph->nodes(), [&](const Node* node) {
      return node->is_call_function("prim.GetAttr") && IsState(*node) &&
             absl::EndsWith(name, node->args()[1].string());
    });
  });
}

// --- Graphs ------------------------------------------------------------------------

absl::StatusOr<Value> Evaluator::EvaluateGraph(const Graph& graph) {
  for (const Node* node : graph.nodes()) {
    if (node->is_placeholder()) continue;
    if (node->is_output()) return ValueOf(node->args()[0]);
    ASSIGN_OR_RETURN(const Value value, Evaluate(*node));
    Set(node, value);
    if (is_too_long()) return NodeError(*node, kTooLong);
  }
  return absl::InvalidArgumentError("a graph without an output");
}

Value Evaluator::EvaluateAttribute(const Node& node) {
  Node*& made = attributes_[{graph_, std::string(node.target())}];
  if (made == nullptr) {
    made = graph_->CopyNodeFrom(node, Same);
    const Attribute* attribute = made_->FindAttribute(node.target());
    if (made->meta() == nullptr && attribute != nullptr && attribute->meta != nullptr)
      made->set_meta(made_->InternValueMeta(*attribute->meta));
  }
  return Value{made};
}

absl::StatusOr<Value> Evaluator::Evaluate(const Node& node) {
  if (node.op() == Op::kGetAttr) return EvaluateAttribute(node);
  if (!values_.Charge(1)) return NodeError(node, kTooLong);
  if (options_.with_state && IsState(node)) {
    if (graph_ == made_->main()) return EvaluateState(node);
    has_state_in_body_ = true;
  }
  if (node.HasBody()) return EvaluateBodies(node);
  std::vector<Value> args;
  for (const Argument& arg : node.args()) args.push_back(ValueOf(arg));
  ConstantsAsNumbers(AtenName(node), &args);
  if (std::optional<Value> value = Known(node, args)) return *value;
  return Write(node, args);
}

absl::StatusOr<Value> Evaluator::EvaluateBodies(const Node& node) {
  if (IsBranch(node) && node.kwargs().empty() && node.args()[1].is_graph() &&
      node.args()[2].is_graph()) {
    const Value predicate = ValueOf(node.args()[0]);
    const auto operands = values_.ElementsOf(ValueOf(node.args()[3]));
    if (operands.has_value() && predicate.is_constant() && predicate.argument.is_number()) {
      const Argument& p = predicate.argument;
      const bool taken = p.is_bool() ? p.boolean() : p.is_int() ? p.integer() != 0 : p.real() != 0;
      return Inline(*node.args()[taken ? 1 : 2].graph(), *operands);
    }
  }
  if (IsLoop(node)) {
    ASSIGN_OR_RETURN(std::optional<Value> value, Unroll(node));
    if (value.has_value()) return *value;
  }
  return CopyWithBodies(node);
}

absl::StatusOr<Value> Evaluator::Inline(const Graph& body, const std::vector<Value>& operands) {
  size_t i = 0;
  for (const Node* node : body.nodes()) {
    if (!node->is_placeholder()) break;
    if (i == operands.size()) return NodeError(*node, "has no operand");
    Set(node, operands[i++]);
  }
  return EvaluateGraph(body);
}

absl::StatusOr<std::optional<Value>> Evaluator::Unroll(const Node& node) {
  const Graph& condition = *node.args()[0].graph();
  const Graph& body = *node.args()[1].graph();
  if (kept_.contains(&node)) return std::nullopt;
  auto carried = values_.ElementsOf(ValueOf(node.args()[2]));
  std::vector<Value> more;
  if (node.args().size() > 3) {
    const auto given = values_.ElementsOf(ValueOf(node.args()[3]));
    if (!given.has_value()) return std::nullopt;
    more = *given;
  }
  if (!carried.has_value()) return std::nullopt;
  for (bool is_first = true;; is_first = false) {
    std::vector<Value> operands = *carried;
    operands.insert(operands.end(), more.begin(), more.end());
    const Node* const last = graph_->last();
    ASSIGN_OR_RETURN(const Value again, Inline(condition, operands));
    const auto elements = values_.ElementsOf(again);
    const Value& goes_on = elements.has_value() && elements->size() == 1 ? (*elements)[0] : again;
    if (!goes_on.is_constant() || !goes_on.argument.is_bool()) {
      if (!is_first) return Keep(node);
      // What was evaluated in vain might write.
      EraseCallsBehind(last);
      return std::nullopt;
    }
    if (!goes_on.argument.boolean()) break;
    if (++iterations_ > (options_.of_call ? kMaxIterationsOfCall : kMaxIterations))
      return Keep(node);
    ASSIGN_OR_RETURN(const Value next, Inline(body, operands));
    carried = values_.ElementsOf(next);
    if (!carried.has_value()) carried = {next};
  }
  return values_.Tuple(*std::move(carried));
}

void Evaluator::EraseCallsBehind(const Node* last) {
  for (Node* node = graph_->last(); node != last;) {
    Node* const before = node->prev();
    if (node->is_call()) graph_->EraseNode(node);
    node = before;
  }
}

std::optional<Value> Evaluator::Keep(const Node& loop) {
  kept_.insert(&loop);
  return std::nullopt;
}

absl::StatusOr<Value> Evaluator::CopyWithBodies(const Node& node) {
  node.ForEachArgument([&](const Argument& a) {
    if (a.is_node()) Lose(env_[a.node()]);
  });
  // What a turn of a loop changes has changed before the next.
  if (!IsBranch(node)) changed_sizes_ |= changes_sizes_;
  // The operands of a branch are those of the call; those of a loop change as it runs.
  std::optional<std::vector<Value>> operands;
  if (IsBranch(node)) operands = values_.ElementsOf(ValueOf(node.args()[3]));
  absl::flat_hash_map<const Graph*, Graph*> bodies;
  absl::Status status;
  node.ForEachArgument([&](const Argument& a) {
    if (!a.is_graph() || bodies.contains(a.graph()) || !status.ok()) return;
    absl::StatusOr<Graph*> body =
        EvaluateBody(*a.graph(), operands ? *operands : std::vector<Value>());
    status = body.status();
    if (body.ok()) bodies[a.graph()] = *body;
  });
  RETURN_IF_ERROR(status);
  const auto map = [&](const Argument& a) -> Argument {
    if (a.is_graph()) return bodies.at(a.graph());
    return a.is_node() ? Materialise(env_[a.node()]) : a;
  };
  std::vector<Argument> args;
  std::vector<KwArg> kwargs;
  for (const Argument& a : node.args()) {
    if (operands && args.size() == 3) {
      std::erase_if(*operands, IsPutIn);
      args.push_back(Materialise(values_.Tuple(*operands)));
    } else {
      args.push_back(MapArgument(a, values_.arena(), map));
    }
  }
  for (const KwArg& k : node.kwargs())
    kwargs.push_back({k.name, MapArgument(k.value, values_.arena(), map)});
  Node* const made = Make(node, node.target(), args, kwargs);
  if (IsBranch(node) && made->meta() == nullptr && args[1].is_graph() && args[2].is_graph() &&
      !changed_sizes_)
    made->set_meta(MetaOfBranches(*args[1].graph(), *args[2].graph(), made_.get()));
  return Value{made};
}

absl::StatusOr<Graph*> Evaluator::EvaluateBody(const Graph& body,
                                               absl::Span<const Value> operands) {
  // An input without a meta takes that of its operand.
  NewBody key{.changed_sizes = changed_sizes_};
  const std::vector<Node*> placeholders = body.placeholders();
  for (size_t i = 0; i < placeholders.size(); ++i) {
    const bool is_constant = i < operands.size() && IsPutIn(operands[i]);
    const bool is_node = i < operands.size() && operands[i].argument.is_node();
    key.constants.push_back(is_constant ? std::optional(operands[i].argument) : std::nullopt);
    key.metas.push_back(is_node && placeholders[i]->meta() == nullptr
                            ? operands[i].argument.node()->meta()
                            : nullptr);
  }
  // Calls with the same body, metas and constants share one new body.
  for (const NewBody& known : bodies_[&body]) {
    if (known.changed_sizes == key.changed_sizes && known.metas == key.metas &&
        known.constants == key.constants)
      return known.graph;
  }
  Graph* const outer = graph_;
  graph_ = key.graph = made_->AddGraph(body.name());
  for (size_t i = 0; i < placeholders.size(); ++i) {
    if (key.constants[i]) {
      Set(placeholders[i], operands[i]);
      continue;
    }
    Node* copy = graph_->CopyNodeFrom(*placeholders[i], Same);
    if (key.metas[i] != nullptr) copy->set_meta(key.metas[i]);
    Set(placeholders[i], {copy});
  }
  const absl::StatusOr<Value> result = EvaluateGraph(body);
  if (result.ok()) graph_->Output(Materialise(*result));
  graph_ = outer;
  RETURN_IF_ERROR(result.status());
  bodies_[&body].push_back(key);
  return key.graph;
}

}  // namespace graphnet::evaluation
