#include "graphnet/passes/partial_evaluation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "graphnet/base/arena.h"
#include "graphnet/base/check.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/base/tensor_size.h"
#include "graphnet/facts/memory/memory_use.h"
#include "graphnet/facts/shapes/infer_meta.h"
#include "graphnet/facts/shapes/sizes_of_run.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/ir/scalar_type.h"
#include "graphnet/ir/shared_walk.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/passes/scalar_arithmetic.h"

namespace graphnet {
namespace {

// Limit of loop iterations, over all loops together.
constexpr size_t kMaxIterations = 10'000;
// Limit of visited nodes and list elements: a small program may unroll far, and nested lists even
// further.
constexpr uint64_t kMaxSteps = 2'000'000;
// Evaluations, each of which finds more that cannot be followed, before no list is followed.
constexpr int kMaxAttempts = 8;
constexpr size_t kMaxTextBytes = size_t{1} << 16;
constexpr size_t kTextBytesPerStep = 64;  // Texts of a step take about as much as a value.
constexpr absl::string_view kLoop = "torch.ops.higher_order.while_loop";

using NodeSet = absl::flat_hash_set<const Node*>;

// The value of a node: an argument that refers to new nodes, or a list or tuple.
struct Value {
  Argument argument;
  int sequence = -1;              // index of a sequence of the evaluator
  bool is_number_tensor = false;  // a number that the program holds in a tensor

  bool is_sequence() const { return sequence >= 0; }
  bool is_constant() const { return !is_sequence() && !argument.is_node() && !argument.is_graph(); }
};

struct Sequence {
  std::vector<Value> elements;
  bool is_tuple = false;
  const Node* maker = nullptr;  // the call that makes a list, which a later one may change
};

// Maps TorchScript's operators on numbers to Python's.
absl::string_view PythonTarget(absl::string_view aten) {
  static const auto* const names = new absl::flat_hash_map<absl::string_view, absl::string_view>{
      {"add", "operator.add"},      {"sub", "operator.sub"},
      {"mul", "operator.mul"},      {"floordiv", "operator.floordiv"},
      {"div", "operator.truediv"},  {"remainder", "operator.mod"},
      {"neg", "operator.neg"},      {"eq", "operator.eq"},
      {"ne", "operator.ne"},        {"lt", "operator.lt"},
      {"le", "operator.le"},        {"gt", "operator.gt"},
      {"ge", "operator.ge"},        {"__not__", "operator.not_"},
      {"__and__", "operator.and_"}, {"__or__", "operator.or_"},
      {"Int", "builtins.int"},      {"Float", "builtins.float"},
      {"Bool", "builtins.bool"},    {"ceil", "math.ceil"},
      {"floor", "math.floor"},      {"abs", "builtins.abs"},
      {"sqrt", "math.sqrt"},        {"pow", "operator.pow"},
  };
  const auto it = names->find(aten);
  return it == names->end() ? absl::string_view() : it->second;
}

// Returns TorchScript's number of a dtype.
std::optional<int64_t> CodeOf(const Argument& a) {
  if (a.is_int()) return a.integer();
  if (a.kind() != Argument::Kind::kDType) return std::nullopt;
  return TorchScalarType(a.dtype());
}

class Evaluator {
 public:
  // `of_call`: return the structure that the program returns. `with_lists`: follow lists of the
  // program as objects. `with_state`: follow attributes that it assigns. `kept`: loops, and calls
  // that make lists, that stay as they are.
  Evaluator(const Module& from, bool of_call, bool with_lists, bool with_state, NodeSet kept)
      : from_(from),
        of_call_(of_call),
        with_lists_(with_lists),
        with_state_(with_state),
        kept_(std::move(kept)),
        env_(from),
        made_(std::make_unique<Module>()) {}

  absl::StatusOr<std::unique_ptr<Module>> Run() {
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
      Node* copy = graph_->CopyNodeFrom(*node, [](Node* n) { return n; });
      Set(node, {copy});
    }
    ASSIGN_OR_RETURN(const Value result, EvaluateGraph(*from_.main()));
    KeepState();
    if (of_call_) {
      const Argument returned = Materialise(result);
      if (is_too_long_) return NodeError(*from_.main()->output(), kTooLong);
      graph_->Output(returned);
      return std::move(made_);
    }
    // The graph returns one flat tuple, whatever structure the program returns.
    std::vector<Argument> leaves;
    if (MayWriteOut(result)) AddLeaves(result, &leaves);
    if (is_too_long_) return NodeError(*from_.main()->output(), kTooLong);
    graph_->Output(Argument::Tuple(leaves));
    return std::move(made_);
  }

  // The calls that have to stay as they are, as far as they are known.
  const NodeSet& kept() const { return kept_; }
  // True if nested lists need more steps than allowed.
  bool is_too_long() const { return is_too_long_; }
  // True if a body that stays reads or assigns attributes.
  bool has_state_in_body() const { return has_state_in_body_; }
  // ProgramOfCall::lost
  const std::vector<std::string>& lost() const { return lost_; }

 private:
  static constexpr absl::string_view kTooLong = "the program unrolls too far";

  // --- Values ----------------------------------------------------------------

  void Set(const Node* node, const Value& value) { env_[node] = value; }

  // Charges `count` before that many elements are visited or made; false if the limit is exceeded.
  bool Step(uint64_t count) {
    is_too_long_ |= !steps_.Charge(count);
    return !is_too_long_;
  }

  // Returns whether a list that takes `value` would contain itself.
  bool Holds(const Value& value, const Value& list) {
    if (!value.is_sequence()) return false;
    SharedWalk<int> walk;
    bool holds = false;
    const bool is_finite = walk.Run(
        value.sequence,
        [&](int whole, auto&& add) {
          holds |= whole == list.sequence;
          const std::vector<Value>& elements = sequences_[static_cast<size_t>(whole)].elements;
          if (holds || !Step(elements.size())) return;
          for (const Value& element : elements) {
            if (element.is_sequence()) add(element.sequence);
          }
        },
        [](int) {});
    return holds || !is_finite;
  }

  // Checks the limit before a value is written out, where shared parts are repeated.
  bool MayWriteOut(const Value& value) {
    if (!value.is_sequence()) return !is_too_long_;
    Expansions<int> expansions;
    const std::optional<Expansion> all =
        expansions.Of(value.sequence, [&](int whole, auto&& add) -> uint64_t {
          const std::vector<Value>& elements = sequences_[static_cast<size_t>(whole)].elements;
          for (const Value& element : elements) {
            if (element.is_sequence()) add(element.sequence);
          }
          return elements.size();
        });
    if (!all || all->height > kMaxNesting) is_too_long_ = true;
    return !is_too_long_ && Step(all->size);
  }

  Value NewSequence(std::vector<Value> elements, bool is_tuple, const Node* maker = nullptr) {
    sequences_.push_back({std::move(elements), is_tuple, maker});
    return {Argument(), static_cast<int>(sequences_.size()) - 1};
  }
  // Call before a list goes where it cannot be followed: the next evaluation leaves the calls that
  // make it, and the lists in it, as they are.
  void Lose(const Value& value) {
    if (!value.is_sequence()) return;
    SharedWalk<int> walk;
    const bool is_finite = walk.Run(
        value.sequence,
        [&](int whole, auto&& add) {
          const Sequence& sequence = sequences_[static_cast<size_t>(whole)];
          if (sequence.maker != nullptr) kept_.insert(sequence.maker);
          if (!Step(sequence.elements.size())) return;
          for (const Value& element : sequence.elements) {
            if (element.is_sequence()) add(element.sequence);
          }
        },
        [](int) {});
    CHECK(is_finite);  // Append and _set_item refuse cycles.
  }
  // Do not store the reference: evaluation adds sequences.
  Sequence& SequenceOf(const Value& value) {
    return sequences_[static_cast<size_t>(value.sequence)];
  }

  Value ValueOf(const Argument& a) {
    if (a.is_node()) return env_[a.node()];
    if (!a.is_aggregate() || a.kind() == Argument::Kind::kDict ||
        a.kind() == Argument::Kind::kSlice) {
      return {Plain(a)};
    }
    bool has_node = false;
    ForEachArgument(a, [&](const Argument& x) { has_node |= x.is_node(); });
    if (!has_node) return {a};
    std::vector<Value> elements;
    for (const Argument& element : a.elements()) elements.push_back(ValueOf(element));
    return NewSequence(std::move(elements), a.is_tuple());
  }

  // Replaces the nodes in an argument by their values.
  Argument Plain(const Argument& a) {
    return MapArgument(a, &arena_, [&](const Argument& x) {
      return x.is_node() ? Materialise(env_[x.node()]) : x;
    });
  }

  // Returns a value as an argument of a call.
  Argument Materialise(const Value& value) {
    if (value.is_number_tensor) {
      const Argument args[] = {value.argument};
      Node* node = graph_->CallFunction("prim.NumToTensor.Scalar", args);
      InferMeta(node);
      return node;
    }
    if (!value.is_sequence()) return value.argument;
    return MayWriteOut(value) ? WrittenOut(value) : Argument();
  }

  Argument WrittenOut(const Value& value) {
    if (!value.is_sequence()) return Materialise(value);
    std::vector<Argument> elements;
    const std::vector<Value> values = SequenceOf(value).elements;
    for (const Value& element : values) elements.push_back(WrittenOut(element));
    const absl::Span<const Argument> kept = arena_.Copy(absl::MakeConstSpan(elements));
    return SequenceOf(value).is_tuple ? Argument::Tuple(kept) : Argument::List(kept);
  }

  void AddLeaves(const Value& value, std::vector<Argument>* leaves) {
    if (value.is_sequence()) {
      const std::vector<Value> elements = SequenceOf(value).elements;
      for (const Value& element : elements) AddLeaves(element, leaves);
      return;
    }
    AddLeaves(Materialise(value), leaves);
  }
  static void AddLeaves(const Argument& value, std::vector<Argument>* leaves) {
    if (value.kind() == Argument::Kind::kDict) {
      for (size_t i = 1; i < value.elements().size(); i += 2)
        AddLeaves(value.elements()[i], leaves);
    } else if (value.is_list() || value.is_tuple()) {
      for (const Argument& element : value.elements()) AddLeaves(element, leaves);
    } else if (!value.is_none()) {  // None yields no leaf.
      leaves->push_back(value);
    }
  }

  // Returns the elements of a list or tuple of known length.
  std::optional<std::vector<Value>> ElementsOf(const Value& value) {
    if (value.is_sequence()) {
      if (!Step(SequenceOf(value).elements.size())) return std::nullopt;
      return SequenceOf(value).elements;
    }
    if (!value.argument.is_list() && !value.argument.is_tuple()) return std::nullopt;
    std::vector<Value> elements;
    for (const Argument& element : value.argument.elements()) elements.push_back({element});
    return elements;
  }

  // --- Attributes that the program assigns -------------------------------------

  static bool IsState(const Node& node) {
    const bool reads = node.is_call_function("prim.GetAttr");
    return (reads || node.is_call_function("prim.SetAttr")) && node.args().size() == 3 &&
           node.args()[0].is_string() && node.args()[1].is_string();
  }

  Value EvaluateState(const Node& node) {
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
      } else if (!given.is_sequence() && given.argument.is_list()) {
        std::vector<Value> elements;
        for (const Argument& element : given.argument.elements()) elements.push_back({element});
        state.now = NewSequence(std::move(elements), /*is_tuple=*/false);
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

  // Returns whether two values are the same numbers, texts and tensors.
  bool AreSame(const Value& a, const Value& b) {
    if (!a.is_sequence() && !b.is_sequence())
      return a.argument == b.argument && a.is_number_tensor == b.is_number_tensor;
    const auto x = ElementsOf(a), y = ElementsOf(b);
    if (!x || !y || x->size() != y->size()) return false;
    for (size_t i = 0; i < x->size(); ++i) {
      if (!Step(1) || !AreSame((*x)[i], (*y)[i])) return false;
    }
    return true;
  }

  // Copies new values of tensors into their attributes, and finds the values that are lost.
  void KeepState() {
    for (const auto& [name, state] : state_) {
      // An attribute that no call reads does not matter.
      if (!state.is_read && !IsReadAnywhere(name)) continue;
      const Attribute* const attribute = made_->FindAttribute(name);
      const TensorMeta* const meta = attribute == nullptr ? nullptr : attribute->meta;
      const Argument& now = state.now.argument;
      const TensorMeta* const is =
          now.is_node() && !state.now.is_sequence() ? now.node()->tensor_meta() : nullptr;
      const bool fits = meta != nullptr && is != nullptr && meta->is_static() && is->is_static() &&
                        meta->dtype == is->dtype && absl::c_equal(meta->shape, is->shape) &&
                        !changes_sizes_;
      if (fits) {
        Node* tensor = state.tensor;
        if (tensor == nullptr) tensor = graph_->GetAttr(name);
        if (tensor->meta() == nullptr) tensor->set_meta(made_->InternValueMeta(*meta));
        const Argument args[] = {tensor, now};
        InferMeta(graph_->CallFunction("aten.copy_.default", args));
      } else if (!state.is_read || state.tensor != nullptr || !AreSame(state.before, state.now)) {
        lost_.push_back(name);
      }
    }
  }

  bool IsReadAnywhere(absl::string_view name) const {
    return absl::c_any_of(from_.graphs(), [&](const Graph* graph) {
      return absl::c_any_of(graph->nodes(), [&](const Node* node) {
        return node->is_call_function("prim.GetAttr") && IsState(*node) &&
               absl::EndsWith(name, node->args()[1].string());
      });
    });
  }

  // --- Graphs ----------------------------------------------------------------

  // Evaluates a graph whose parameters have been set, and returns its result.
  absl::StatusOr<Value> EvaluateGraph(const Graph& graph) {
    for (const Node* node : graph.nodes()) {
      if (node->is_placeholder()) continue;
      if (node->is_output()) return ValueOf(node->args()[0]);
      ASSIGN_OR_RETURN(Value value, Evaluate(*node));
      Set(node, value);
      if (is_too_long_) return NodeError(*node, kTooLong);
    }
    return absl::InvalidArgumentError("a graph without an output");
  }

  absl::StatusOr<Value> Evaluate(const Node& node) {
    if (node.op() == Op::kGetAttr) {
      Node*& made = attributes_[{graph_, std::string(node.target())}];
      if (made == nullptr) {
        made = graph_->CopyNodeFrom(node, [](Node* n) { return n; });
        const Attribute* attribute = made_->FindAttribute(node.target());
        if (made->meta() == nullptr && attribute != nullptr && attribute->meta != nullptr)
          made->set_meta(made_->InternValueMeta(*attribute->meta));
      }
      return Value{made};
    }
    if (!Step(1)) return NodeError(node, kTooLong);
    if (with_state_ && IsState(node)) {
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

  absl::StatusOr<Value> EvaluateBodies(const Node& node) {
    if (node.is_call_function("torch.cond") && node.args().size() == 4 && node.kwargs().empty() &&
        node.args()[1].is_graph() && node.args()[2].is_graph()) {
      const Value predicate = ValueOf(node.args()[0]);
      const auto operands = ElementsOf(ValueOf(node.args()[3]));
      if (operands.has_value() && predicate.is_constant() && predicate.argument.is_number()) {
        const Argument& p = predicate.argument;
        const bool taken = p.is_bool()  ? p.boolean()
                           : p.is_int() ? p.integer() != 0
                                        : p.real() != 0;
        return Inline(*node.args()[taken ? 1 : 2].graph(), *operands);
      }
    }
    if (node.is_call_function(kLoop) && node.args().size() >= 3 && node.kwargs().empty() &&
        node.args()[0].is_graph() && node.args()[1].is_graph()) {
      ASSIGN_OR_RETURN(std::optional<Value> value, Unroll(node));
      if (value.has_value()) return *value;
    }
    return CopyWithBodies(node);
  }

  absl::StatusOr<Value> Inline(const Graph& body, const std::vector<Value>& operands) {
    size_t i = 0;
    for (const Node* node : body.nodes()) {
      if (!node->is_placeholder()) break;
      if (i == operands.size()) return NodeError(*node, "has no operand");
      Set(node, operands[i++]);
    }
    return EvaluateGraph(body);
  }

  // Returns nullopt if the loop stays as it is.
  absl::StatusOr<std::optional<Value>> Unroll(const Node& node) {
    const Graph& condition = *node.args()[0].graph();
    const Graph& body = *node.args()[1].graph();
    if (kept_.contains(&node)) return std::nullopt;
    auto carried = ElementsOf(ValueOf(node.args()[2]));
    std::vector<Value> more;
    if (node.args().size() > 3) {
      const auto given = ElementsOf(ValueOf(node.args()[3]));
      if (!given.has_value()) return std::nullopt;
      more = *given;
    }
    if (!carried.has_value()) return std::nullopt;
    for (bool is_first = true;; is_first = false) {
      std::vector<Value> operands = *carried;
      operands.insert(operands.end(), more.begin(), more.end());
      const Node* const last = graph_->last();
      ASSIGN_OR_RETURN(const Value again, Inline(condition, operands));
      const auto elements = ElementsOf(again);
      const Value& goes_on = elements.has_value() && elements->size() == 1 ? (*elements)[0] : again;
      if (!goes_on.is_constant() || !goes_on.argument.is_bool()) {
        if (!is_first) return Keep(node);
        // What was evaluated in vain might write.
        EraseCallsBehind(last);
        return std::nullopt;
      }
      if (!goes_on.argument.boolean()) break;
      if (++iterations_ > kMaxIterations) return Keep(node);
      ASSIGN_OR_RETURN(const Value next, Inline(body, operands));
      carried = ElementsOf(next);
      if (!carried.has_value()) carried = {next};
    }
    return NewSequence(*std::move(carried), /*is_tuple=*/true);
  }

  // Erases the calls behind `last`, which nothing else uses.
  void EraseCallsBehind(const Node* last) {
    for (Node* node = graph_->last(); node != last;) {
      Node* const before = node->prev();
      if (node->is_call()) graph_->EraseNode(node);
      node = before;
    }
  }

  // Makes the next evaluation leave a loop as it is; what this one yields is not used.
  std::optional<Value> Keep(const Node& loop) {
    kept_.insert(&loop);
    return std::nullopt;
  }

  // Copies a call whose bodies are evaluated on their own.
  absl::StatusOr<Value> CopyWithBodies(const Node& node) {
    const auto escape = [&](const Argument& a) {
      if (a.is_node()) Lose(env_[a.node()]);
    };
    node.ForEachArgument(escape);
    absl::flat_hash_map<const Graph*, Graph*> bodies;
    absl::Status status;
    node.ForEachArgument([&](const Argument& a) {
      if (!a.is_graph() || bodies.contains(a.graph()) || !status.ok()) return;
      absl::StatusOr<Graph*> body = EvaluateBody(node, *a.graph());
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
    for (const Argument& a : node.args()) args.push_back(MapArgument(a, &arena_, map));
    for (const KwArg& k : node.kwargs())
      kwargs.push_back({k.name, MapArgument(k.value, &arena_, map)});
    return Value{Make(node, node.target(), args, kwargs)};
  }

  absl::StatusOr<Graph*> EvaluateBody(const Node& call, const Graph& body) {
    // The operands of a branch are those of the call; those of a loop change as it runs.
    std::vector<Argument> operands;
    if (call.is_call_function("torch.cond") && call.args().size() == 4 &&
        call.args()[3].is_aggregate()) {
      operands.assign(call.args()[3].elements().begin(), call.args()[3].elements().end());
    }
    // An input without a meta takes that of its operand.
    std::vector<const ValueMeta*> metas;
    for (const Node* node : body.nodes()) {
      if (!node->is_placeholder()) break;
      const size_t i = metas.size();
      metas.push_back(nullptr);
      if (node->meta() != nullptr || i >= operands.size() || !operands[i].is_node()) continue;
      const Value& value = env_[operands[i].node()];
      if (value.argument.is_node()) metas[i] = value.argument.node()->meta();
    }
    // Calls with the same body and metas share one new body.
    const std::pair key(&body, metas);
    if (const auto found = bodies_.find(key); found != bodies_.end()) return found->second;
    Graph* const outer = graph_;
    graph_ = made_->AddGraph(body.name());
    size_t i = 0;
    for (const Node* node : body.nodes()) {
      if (!node->is_placeholder()) break;
      Node* copy = graph_->CopyNodeFrom(*node, [](Node* n) { return n; });
      if (metas[i] != nullptr) copy->set_meta(metas[i]);
      ++i;
      Set(node, {copy});
    }
    absl::StatusOr<Value> result = EvaluateGraph(body);
    if (result.ok()) graph_->Output(Materialise(*result));
    Graph* const made = graph_;
    graph_ = outer;
    if (!result.ok()) return result.status();
    bodies_[key] = made;
    return made;
  }

  // Turns constant attributes into numbers: traces compute sizes with tensors of integers.
  void ConstantsAsNumbers(absl::string_view aten, std::vector<Value>* args) {
    if (absl::c_none_of(*args, [](const Value& v) { return v.is_number_tensor; })) return;
    if (IntegerOperator(aten).empty()) return;
    for (Value& value : *args) {
      if (value.is_sequence() || !value.argument.is_node()) continue;
      if (written_.contains(value.argument.node()->target())) continue;
      const std::optional<Argument> constant = ConstantOf(*value.argument.node());
      if (constant.has_value() && constant->is_int()) value = {*constant, -1, true};
    }
  }
  static absl::string_view IntegerOperator(absl::string_view aten) {
    if (aten == "floor_divide") return "operator.floordiv";
    const bool is_one =
        aten == "add" || aten == "sub" || aten == "mul" || aten == "remainder" || aten == "rsub";
    return is_one ? PythonTarget(aten == "rsub" ? "sub" : aten) : absl::string_view();
  }

  // --- Calls -----------------------------------------------------------------

  Node* Make(const Node& origin, absl::string_view target, absl::Span<const Argument> args,
             absl::Span<const KwArg> kwargs) {
    Node* made = graph_->CallFunction(target, args, kwargs, origin.name());
    made->set_location(origin.location());
    made->set_module_path(origin.module_path());
    if (origin.meta() != nullptr) made->set_meta(origin.meta());
    if (!changes_sizes_) InferMeta(made);
    return made;
  }

  // Returns the value of a call if it is known without running it.
  std::optional<Value> Known(const Node& node, const std::vector<Value>& args) {
    const absl::string_view target = node.target();
    const absl::string_view aten = AtenName(node);
    if (!node.kwargs().empty() || args.empty()) {
      return target == "prim.ListConstruct" && MayFollow(node) && args.empty()
                 ? std::optional(NewSequence({}, false, &node))
                 : std::nullopt;
    }
    if (std::optional<Value> value = KnownSequence(node, aten, args)) return value;
    if (std::optional<Value> value = KnownShape(node, aten, args)) return value;
    if (std::optional<Value> value = KnownNumber(target, aten, args)) return value;
    // Dropout outside of training returns its operand.
    if ((aten == "dropout" || aten == "dropout_" || aten == "feature_dropout" ||
         aten == "alpha_dropout") &&
        args.size() == 3 && args[2].argument.is_bool() && !args[2].argument.boolean() &&
        args[0].argument.is_node()) {
      return args[0];
    }
    return std::nullopt;
  }

  // Returns whether the list that a call makes can be followed.
  bool MayFollow(const Node& maker) const { return with_lists_ && !kept_.contains(&maker); }

  std::optional<Value> KnownSequence(const Node& node, absl::string_view aten,
                                     const std::vector<Value>& args) {
    const absl::string_view target = node.target();
    if (with_lists_ && target == "prim.TupleConstruct") return NewSequence(args, true);
    if (target == "prim.ListConstruct" && MayFollow(node)) return NewSequence(args, false, &node);
    const std::optional<std::vector<Value>> elements = ElementsOf(args[0]);
    if (!elements.has_value()) return std::nullopt;
    const auto size = static_cast<int64_t>(elements->size());
    const auto index = [&](const Value& value) -> std::optional<size_t> {
      if (!value.argument.is_int() || value.is_sequence()) return std::nullopt;
      const int64_t i = value.argument.integer();
      if (i < -size || i >= size) return std::nullopt;
      return static_cast<size_t>(i < 0 ? i + size : i);
    };
    if ((target == "operator.getitem" || aten == "__getitem__") && args.size() == 2) {
      const auto i = index(args[1]);
      if (i.has_value()) return (*elements)[*i];
    }
    if ((aten == "len" || target == "builtins.len") && args.size() == 1) return Value{size};
    if (target == "aten.slice.t" && MayFollow(node)) {
      const auto bound = [&](size_t at, int64_t otherwise) -> std::optional<int64_t> {
        if (at >= args.size() || args[at].argument.is_none()) return otherwise;
        if (!args[at].argument.is_int()) return std::nullopt;
        const int64_t i = args[at].argument.integer();
        return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size);
      };
      const auto start = bound(1, 0), end = bound(2, size);
      if (args.size() > 3 && !(args[3].argument.is_int() && args[3].argument.integer() == 1))
        return std::nullopt;
      if (!start || !end) return std::nullopt;
      return NewSequence({elements->begin() + *start, elements->begin() + std::max(*start, *end)},
                         false, &node);
    }
    if ((aten == "list" || aten == "copy") && absl::EndsWith(target, ".t") && MayFollow(node))
      return NewSequence(*elements, false, &node);
    if (target == "aten.add.t" && args.size() == 2 && MayFollow(node)) {
      const auto more = ElementsOf(args[1]);
      if (!more.has_value() || !Step(elements->size() + more->size())) return std::nullopt;
      std::vector<Value> all = *elements;
      all.insert(all.end(), more->begin(), more->end());
      return NewSequence(std::move(all), false, &node);
    }
    if (aten == "sum" && absl::c_all_of(*elements, [](const Value& v) {
          return v.is_constant() && v.argument.is_int();
        })) {
      int64_t sum = 0;
      for (const Value& element : *elements) {
        // Python's integers have no bounds.
        if (__builtin_add_overflow(sum, element.argument.integer(), &sum)) return std::nullopt;
      }
      return Value{sum};
    }
    // A change of a list is seen by all of its holders.
    if (!args[0].is_sequence() || SequenceOf(args[0]).is_tuple) return std::nullopt;
    // A list that contains itself cannot be treated as a value.
    const bool is_append = target == "aten.append.t" && args.size() == 2;
    const bool is_set_item = target == "aten._set_item.t" && args.size() == 3;
    if ((is_append || is_set_item) && Holds(args.back(), args[0])) {
      Lose(args[0]);
      Lose(args.back());
      return std::nullopt;
    }
    if (is_append) {
      SequenceOf(args[0]).elements.push_back(args[1]);
      return args[0];
    }
    if (is_set_item) {
      const auto i = index(args[1]);
      if (!i.has_value()) return std::nullopt;
      SequenceOf(args[0]).elements[*i] = args[2];
      return args[0];
    }
    return std::nullopt;
  }

  std::optional<Value> KnownShape(const Node& node, absl::string_view aten,
                                  const std::vector<Value>& args) {
    const Argument& x = args[0].argument;
    if (args[0].is_sequence() || !x.is_node() || changes_sizes_) return std::nullopt;
    const auto sizes = SizesOf(x);
    const int rank = RankOf(x);
    if (aten == "dim" && rank >= 0) return Value{rank};
    if (node.target() == "prim.isinstance" && args.size() == 2) return IsInstance(x, args[1]);
    if (node.target() == "prim.dtype.default" && DTypeOf(x) != DType::kUnknown)
      return Value{DTypeOf(x)};
    if (node.target() == "prim.device.default") {
      const TensorMeta* meta = x.node()->tensor_meta();
      if (meta != nullptr && meta->has_device) return Value{meta->device};
    }
    if (aten == "is_floating_point" && DTypeOf(x) != DType::kUnknown)
      return Value{IsFloatingPoint(DTypeOf(x))};
    if (!sizes.has_value() || sizes_of_run_.Has(node)) return std::nullopt;
    const bool reads_size = aten == "size" || aten == "sym_size";
    if ((reads_size || aten == "len") && (args.size() == 2 || aten == "len")) {
      const Argument dim = aten == "len" ? Argument(0) : args[1].argument;
      if (!dim.is_int()) return std::nullopt;
      const int64_t i = dim.integer() < 0 ? dim.integer() + rank : dim.integer();
      if (i < 0 || i >= rank) return std::nullopt;
      return Value{(*sizes)[static_cast<size_t>(i)]};
    }
    const bool reads_all = (reads_size && args.size() == 1) ||
                           (node.target() == "builtins.getattr" && args.size() == 2 &&
                            args[1].argument.is_string() && args[1].argument.string() == "shape");
    if (reads_all) {
      if (kept_.contains(&node)) return std::nullopt;
      std::vector<Value> elements;
      for (const int64_t size : *sizes) elements.push_back({size});
      return NewSequence(std::move(elements), /*is_tuple=*/false, &node);
    }
    if (aten == "numel" || aten == "sym_numel") {
      const std::optional<int64_t> count = NumElements(*sizes);
      if (!count.has_value()) return std::nullopt;
      return Value{*count};
    }
    return std::nullopt;
  }

  // Evaluates isinstance for a value that is known to be a tensor.
  static std::optional<Value> IsInstance(const Argument& x, const Value& types) {
    if (x.node()->tensor_meta() == nullptr || !types.argument.is_aggregate()) return std::nullopt;
    for (const Argument& type : types.argument.elements()) {
      if (!type.is_string()) return std::nullopt;
      if (type.string() == "Tensor") return Value{true};
      const bool is_other = type.string() == "list" || type.string() == "tuple" ||
                            type.string() == "int" || type.string() == "float" ||
                            type.string() == "bool" || type.string() == "str";
      if (!is_other) return std::nullopt;
    }
    return Value{false};
  }

  std::optional<Value> KnownNumber(absl::string_view target, absl::string_view aten,
                                   const std::vector<Value>& args) {
    const bool has_number_tensor =
        absl::c_any_of(args, [](const Value& v) { return v.is_number_tensor; });
    if (target == "prim.NumToTensor.Scalar" && args[0].is_constant() && args[0].argument.is_int())
      return Value{args[0].argument, -1, /*is_number_tensor=*/true};
    // Comparisons with None: neither a tensor nor a number is None.
    if ((aten == "__is__" || aten == "__isnot__") && args.size() == 2) {
      const bool none0 = args[0].is_constant() && args[0].argument.is_none();
      const bool none1 = args[1].is_constant() && args[1].argument.is_none();
      const auto known = [&](const Value& v) {
        return v.is_constant() || v.is_sequence() ||
               (v.argument.is_node() && v.argument.node()->tensor_meta() != nullptr);
      };
      if ((none0 || none1) && known(args[0]) && known(args[1]))
        return Value{(none0 && none1) == (aten == "__is__")};
      return std::nullopt;
    }
    if (!absl::c_all_of(args, [](const Value& v) { return v.is_constant(); })) return std::nullopt;
    if (aten == "format" || target == "aten.add.str" || aten == "str") return Text(aten, args);
    std::vector<Argument> numbers;
    for (const Value& value : args) numbers.push_back(value.argument);
    if (aten == "eq" || aten == "ne") {
      const bool is_text = numbers.size() == 2 && numbers[0].is_string() && numbers[1].is_string();
      if (numbers.size() == 2 && (numbers[0].kind() == Argument::Kind::kDType ||
                                  numbers[1].kind() == Argument::Kind::kDType)) {
        const std::optional<int64_t> x = CodeOf(numbers[0]), y = CodeOf(numbers[1]);
        if (x.has_value() && y.has_value()) return Value{(*x == *y) == (aten == "eq")};
      }
      if (is_text) return Value{(numbers[0].string() == numbers[1].string()) == (aten == "eq")};
    }
    if (aten == "__contains__" && numbers.size() == 2 && numbers[0].is_list()) {
      return Value{absl::c_linear_search(numbers[0].elements(), numbers[1])};
    }
    if (aten == "len" && numbers[0].is_string())
      return Value{static_cast<int64_t>(numbers[0].string().size())};
    if (!absl::c_all_of(numbers, [](const Argument& a) { return a.is_number(); }))
      return std::nullopt;
    if (has_number_tensor) return OfNumberTensors(aten, numbers);
    if (const std::optional<Argument> value = EvaluateScalar(target, numbers); value.has_value())
      return Value{*value};
    // Fold only Python floats: a float read from a tensor was rounded to its dtype.
    if (!absl::StartsWith(target, "aten.")) return std::nullopt;
    const absl::string_view python = PythonTarget(aten);
    if (python.empty()) return std::nullopt;
    if (aten == "pow" && numbers.size() == 2 && (numbers[0].is_float() || numbers[1].is_float())) {
      // Compute powers as TorchScript does.
      const auto real = [](const Argument& a) {
        return a.is_float() ? a.real() : a.is_int() ? static_cast<double>(a.integer()) : 0.0;
      };
      const double power = std::pow(real(numbers[0]), real(numbers[1]));
      if (std::isfinite(power) && real(numbers[0]) > 0) return Value{power};
    }
    // In TorchScript, a power of two integers is usually a float.
    if (aten == "pow" && target != "aten.pow.int_to_int") return std::nullopt;
    const std::optional<Argument> value = EvaluateScalar(python, numbers);
    return value.has_value() ? std::optional(Value{*value}) : std::nullopt;
  }

  // Evaluates operators on sizes, which traces hold in tensors of integers.
  std::optional<Value> OfNumberTensors(absl::string_view aten, const std::vector<Argument>& n) {
    if (aten == "Int" || aten == "ScalarImplicit" || aten == "IntImplicit" || aten == "item" ||
        aten == "Float" || aten == "_local_scalar_dense") {
      if (aten == "Float") return Value{static_cast<double>(n[0].integer())};
      return Value{n[0]};
    }
    if (!absl::c_all_of(n, [](const Argument& a) { return a.is_int(); }) || n.size() != 2)
      return std::nullopt;
    const absl::string_view python = IntegerOperator(aten);
    if (python.empty()) return std::nullopt;
    const Argument swapped[] = {n[1], n[0]};
    const std::optional<Argument> value =
        EvaluateScalar(python, aten == "rsub" ? absl::MakeConstSpan(swapped) : n);
    if (!value.has_value() || !value->is_int()) return std::nullopt;
    return Value{*value, -1, /*is_number_tensor=*/true};
  }

  // Appends a value as TorchScript prints it; false for one whose form is not known.
  static bool AppendPrinted(const Argument& value, std::string* text) {
    if (value.is_string()) {
      absl::StrAppend(text, value.string());
    } else if (value.is_int()) {
      absl::StrAppend(text, value.integer());
    } else if (value.is_bool() || value.is_none()) {
      absl::StrAppend(text, value.is_none() ? "None" : value.boolean() ? "True" : "False");
    } else {
      return false;
    }
    return true;
  }

  // Computes a text. Texts can double from call to call: each may have kMaxTextBytes, and the bytes
  // of all are charged.
  std::optional<Value> Text(absl::string_view aten, const std::vector<Value>& args) {
    std::string text;
    const auto fits = [&] { return text.size() <= kMaxTextBytes; };
    if (aten == "format") {
      if (!args[0].argument.is_string()) return std::nullopt;
      size_t next = 1;
      absl::string_view form = args[0].argument.string();
      while (!form.empty()) {
        if (absl::ConsumePrefix(&form, "{}")) {
          if (next < args.size() && !AppendPrinted(args[next++].argument, &text))
            return std::nullopt;
          if (!fits()) return std::nullopt;
          continue;
        }
        text.push_back(form[0]);
        form.remove_prefix(1);
      }
    } else {
      for (const Value& value : args) {
        if (!AppendPrinted(value.argument, &text) || !fits()) return std::nullopt;
      }
    }
    if (!fits() || !Step(text.size() / kTextBytesPerStep)) return std::nullopt;
    return Value{Argument(arena_.Copy(absl::string_view(text)))};
  }

  // Returns whether the meta of a list describes it here: no call so far may have changed it.
  static bool HasAllElements(const Node& list) {
    if (list.meta() == nullptr || !list.meta()->is_tuple || list.is_placeholder()) return false;
    return absl::c_all_of(list.users(), [](const Node* user) {
      const Schema* const schema = CalleeOf(*user).named_operator();
      return user->is_call_function("operator.getitem") || user->target() == "aten.len.t" ||
             user->target() == "aten.__getitem__.t" || (schema != nullptr && !schema->mutates());
    });
  }

  // Writes a call that stays.
  absl::StatusOr<Value> Write(const Node& node, const std::vector<Value>& values) {
    const Schema* schema = node.op() == Op::kCallFunction ? FindOverload(node.target()) : nullptr;
    // Drop messages, and checks of facts that are known already.
    if (schema != nullptr && schema->returns.empty() && !schema->mutates() &&
        (absl::StartsWith(schema->name, "_assert") ||
         absl::StartsWith(schema->name, "sym_constrain"))) {
      return Value{};
    }
    if (AtenName(node) == "warn") return Value{};
    const Callable callee = CalleeOf(node);
    for (const Value& value : values) {
      if (schema == nullptr && callee.kind != Callable::Kind::kPythonOperator &&
          callee.kind != Callable::Kind::kFunction) {
        Lose(value);  // The call may change the list, or hold it.
      }
    }
    std::vector<Argument> args;
    std::vector<KwArg> kwargs;
    for (const Value& value : values) args.push_back(Materialise(value));
    absl::string_view target = node.target();
    if (target == "aten.__getitem__.t" && args.size() == 2 && args[0].is_node() &&
        args[1].is_int() && HasAllElements(*args[0].node())) {
      target = "operator.getitem";
      const auto size = static_cast<int64_t>(args[0].node()->meta()->elements.size());
      if (args[1].integer() < 0) args[1] = Argument(args[1].integer() + size);
    }
    for (const KwArg& kwarg : node.kwargs())
      kwargs.push_back({kwarg.name, Materialise(ValueOf(kwarg.value))});
    Node* made = graph_->CreateNode(node.op(), target, args, kwargs, node.name());
    made->set_location(node.location());
    made->set_module_path(node.module_path());
    made->set_annotation(node.annotation());
    if (node.meta() != nullptr) made->set_meta(node.meta());
    if (!changes_sizes_) InferMeta(made);
    return Value{made};
  }

  // An attribute that the program assigns.
  struct State {
    Value before, now;
    Node* tensor = nullptr;  // reads the attribute, if it is a tensor
    bool is_read = false;
  };

  const Module& from_;
  SizesOfRun sizes_of_run_;  // in `from_`
  const bool of_call_;
  const bool with_lists_;
  const bool with_state_;
  bool has_state_in_body_ = false;
  std::map<std::string, State> state_;
  std::vector<std::string> lost_;
  NodeSet kept_;
  Arena arena_;
  NodeTable<Value> env_;
  std::unique_ptr<Module> made_;
  Graph* graph_ = nullptr;  // the graph that is being built
  std::vector<Sequence> sequences_;
  absl::flat_hash_map<std::pair<Graph*, std::string>, Node*> attributes_;
  absl::flat_hash_set<absl::string_view> written_;  // names of attributes
  // The new bodies, by their original and the metas of their inputs.
  absl::flat_hash_map<std::pair<const Graph*, std::vector<const ValueMeta*>>, Graph*> bodies_;
  bool changes_sizes_ = false;  // a call changes sizes in place, so metas may describe the past
  size_t iterations_ = 0;
  Budget steps_{kMaxSteps};
  bool is_too_long_ = false;
};

absl::StatusOr<ProgramOfCall> EvaluateAll(const Module& module, bool of_call) {
  NodeSet kept;
  bool with_lists = true;
  bool with_state = of_call;
  for (int attempts = 1;; ++attempts) {
    Evaluator evaluator(module, of_call, with_lists, with_state, kept);
    absl::StatusOr<std::unique_ptr<Module>> made = evaluator.Run();
    // Lists of lists may be too large to be followed, while the calls that make them are few.
    const bool is_too_long = with_lists && evaluator.is_too_long();
    const bool loses_state = with_state && evaluator.has_state_in_body();
    if (!is_too_long && !loses_state && evaluator.kept().size() == kept.size()) {
      RETURN_IF_ERROR(made.status());
      return ProgramOfCall{*std::move(made), evaluator.lost()};
    }
    kept = evaluator.kept();
    if (is_too_long || attempts == kMaxAttempts) with_lists = false;
    if (loses_state || attempts == kMaxAttempts) with_state = false;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Module>> PartiallyEvaluate(const Module& module) {
  ASSIGN_OR_RETURN(ProgramOfCall program, EvaluateAll(module, /*of_call=*/false));
  return std::move(program.module);
}

absl::StatusOr<ProgramOfCall> EvaluateCall(const Module& module) {
  return EvaluateAll(module, /*of_call=*/true);
}

}  // namespace graphnet
