#include "graphnet/passes/partial_evaluation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
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
#include "graphnet/ir/node_error.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/ir/shared_walk.h"
#include "graphnet/ir/text/printer.h"
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
constexpr absl::string_view kLoop = "torch.ops.higher_order.while_loop";

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
  constexpr DType kCodes[] = {DType::kUInt8, DType::kInt8,    DType::kInt16,   DType::kInt32,
                              DType::kInt64, DType::kFloat16, DType::kFloat32, DType::kFloat64};
  const auto it = absl::c_find(kCodes, a.dtype());
  if (it != std::end(kCodes)) return it - kCodes;
  if (a.dtype() == DType::kBool) return 11;
  if (a.dtype() == DType::kBFloat16) return 15;
  return std::nullopt;
}

class Evaluator {
 public:
  // `with_lists`: follow lists of the program as objects.
  Evaluator(const Module& from, bool with_lists)
      : from_(from), with_lists_(with_lists), env_(from), made_(std::make_unique<Module>()) {}

  absl::StatusOr<std::unique_ptr<Module>> Run() {
    for (const Graph* graph : from_.graphs()) {
      for (const Node* node : graph->nodes()) {
        for (const Node* value : MemoryUseOf(*node).written) {
          if (value->op() == Op::kGetAttr) written_.insert(value->target());
        }
      }
    }
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
    // The graph returns one flat tuple, whatever structure the program returns.
    std::vector<Argument> leaves;
    if (MayWriteOut(result)) AddLeaves(result, &leaves);
    if (is_too_long_) return NodeError(*from_.main()->output(), kTooLong);
    graph_->Output(Argument::Tuple(leaves));
    return std::move(made_);
  }

  // True if a list went where it could not be followed, or contains itself.
  bool lost_list() const { return lost_list_; }
  // True if nested lists need more steps than allowed.
  bool is_too_long() const { return is_too_long_; }

 private:
  static constexpr absl::string_view kTooLong = "the program unrolls too far";

  // A graph that is being evaluated; the stack of frames begins with the outermost one.
  struct Frame {
    const Graph* graph;
    const Node* at;
  };

  // --- Values ----------------------------------------------------------------

  void Set(const Node* node, const Value& value) {
    env_[node] = value;
    AddHolder(value, node);
  }
  void AddHolder(const Value& value, const Node* node) {
    const auto hold = [&](const Value& element) {
      ForEachArgument(element.argument, [&](const Argument& a) {
        if (a.is_node()) holders_[a.node()].push_back(node);
      });
    };
    if (!value.is_sequence()) return hold(value);
    SharedWalk<int> walk;
    const bool is_finite = walk.Run(
        value.sequence,
        [&](int whole, auto&& add) {
          const std::vector<Value>& elements = sequences_[static_cast<size_t>(whole)].elements;
          if (!Step(elements.size())) return;
          for (const Value& element : elements) {
            if (element.is_sequence()) add(element.sequence);
          }
        },
        [&](int whole) {
          if (is_too_long_) return;
          for (const Value& element : sequences_[static_cast<size_t>(whole)].elements) {
            if (!element.is_sequence()) hold(element);
          }
        });
    CHECK(is_finite);  // Append and _set_item refuse cycles.
  }

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

  Value NewSequence(std::vector<Value> elements, bool is_tuple) {
    sequences_.push_back({std::move(elements), is_tuple});
    return {Argument(), static_cast<int>(sequences_.size()) - 1};
  }
  // Do not store the reference: evaluation adds sequences.
  Sequence& SequenceOf(const Value& value) {
    return sequences_[static_cast<size_t>(value.sequence)];
  }

  // Returns the newest version of a node; each write makes a new one.
  Node* Current(Node* node) {
    Node* last = node;
    for (auto it = current_.find(last); it != current_.end(); it = current_.find(last))
      last = it->second;
    // Shorten the path for the next lookup.
    while (node != last) node = std::exchange(current_[node], last);
    return last;
  }

  Value ValueOf(const Argument& a) {
    if (a.is_node()) {
      Value value = env_[a.node()];
      if (value.argument.is_node()) value.argument = Current(value.argument.node());
      return value;
    }
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
    if (!value.is_sequence()) {
      return value.argument.is_node() ? Argument(Current(value.argument.node())) : value.argument;
    }
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

  // --- Graphs ----------------------------------------------------------------

  // Evaluates a graph whose parameters have been set, and returns its result.
  absl::StatusOr<Value> EvaluateGraph(const Graph& graph) {
    frames_.push_back({&graph, nullptr});
    for (const Node* node : graph.nodes()) {
      if (node->is_placeholder()) continue;
      frames_.back().at = node;
      if (node->is_output()) {
        Value value = ValueOf(node->args()[0]);
        frames_.pop_back();
        return value;
      }
      ASSIGN_OR_RETURN(Value value, Evaluate(*node));
      Set(node, value);
      if (is_too_long_) return NodeError(*node, kTooLong);
    }
    frames_.pop_back();
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
      return Value{Current(made)};
    }
    if (!Step(1)) return NodeError(node, kTooLong);
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

  // Returns nullopt and leaves only dead nodes if the first condition is not known.
  absl::StatusOr<std::optional<Value>> Unroll(const Node& node) {
    const Graph& condition = *node.args()[0].graph();
    const Graph& body = *node.args()[1].graph();
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
      ASSIGN_OR_RETURN(const Value again, Inline(condition, operands));
      const auto elements = ElementsOf(again);
      const Value& goes_on = elements.has_value() && elements->size() == 1 ? (*elements)[0] : again;
      if (!goes_on.is_constant() || !goes_on.argument.is_bool()) {
        if (is_first) return std::nullopt;  // The nodes made so far are dead.
        return NodeError(node, "the condition of the loop is known at first and later unknown");
      }
      if (!goes_on.argument.boolean()) break;
      if (++iterations_ > kMaxIterations) return NodeError(node, "the loop runs too often");
      ASSIGN_OR_RETURN(const Value next, Inline(body, operands));
      carried = ElementsOf(next);
      if (!carried.has_value()) carried = {next};
    }
    return NewSequence(*std::move(carried), /*is_tuple=*/true);
  }

  // Copies a call whose bodies are evaluated on their own.
  absl::StatusOr<Value> CopyWithBodies(const Node& node) {
    const auto escape = [&](const Argument& a) {
      if (a.is_node() && env_[a.node()].is_sequence() && !SequenceOf(env_[a.node()]).is_tuple)
        lost_list_ = true;
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
    Node* made = Make(node, node.target(), args, kwargs);
    // The bodies may do anything to their operands.
    made->ForEachOperand([&](Node* operand) { roots_[operand] = nullptr; });
    roots_[made] = nullptr;
    return Value{made};
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
    std::vector<Frame> frames = std::move(frames_);
    frames_.clear();
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
    frames_ = std::move(frames);
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
    InferMeta(made);
    return made;
  }

  // Returns the value of a call if it is known without running it.
  std::optional<Value> Known(const Node& node, const std::vector<Value>& args) {
    const absl::string_view target = node.target();
    const absl::string_view aten = AtenName(node);
    if (!node.kwargs().empty() || args.empty()) {
      return target == "prim.ListConstruct" && with_lists_ && args.empty()
                 ? std::optional(NewSequence({}, false))
                 : std::nullopt;
    }
    if (std::optional<Value> value = KnownSequence(target, aten, args)) return value;
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

  std::optional<Value> KnownSequence(absl::string_view target, absl::string_view aten,
                                     const std::vector<Value>& args) {
    if (with_lists_ && (target == "prim.ListConstruct" || target == "prim.TupleConstruct"))
      return NewSequence(args, target == "prim.TupleConstruct");
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
    if (aten == "slice" && target == "aten.slice.t") {
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
                         false);
    }
    if ((aten == "list" || aten == "copy") && absl::EndsWith(target, ".t"))
      return NewSequence(*elements, false);
    if (target == "aten.add.t" && args.size() == 2) {
      const auto more = ElementsOf(args[1]);
      if (!more.has_value() || !Step(elements->size() + more->size())) return std::nullopt;
      std::vector<Value> all = *elements;
      all.insert(all.end(), more->begin(), more->end());
      return NewSequence(std::move(all), false);
    }
    if (aten == "sum" && absl::c_all_of(*elements, [](const Value& v) {
          return v.is_constant() && v.argument.is_int();
        })) {
      int64_t sum = 0;
      for (const Value& element : *elements) sum += element.argument.integer();
      return Value{sum};
    }
    // A change of a list is seen by all of its holders.
    if (!args[0].is_sequence() || SequenceOf(args[0]).is_tuple) return std::nullopt;
    // A list that contains itself cannot be treated as a value.
    const bool is_append = target == "aten.append.t" && args.size() == 2;
    const bool is_set_item = target == "aten._set_item.t" && args.size() == 3;
    if ((is_append || is_set_item) && Holds(args.back(), args[0])) {
      lost_list_ = true;
      return std::nullopt;
    }
    if (is_append) {
      SequenceOf(args[0]).elements.push_back(args[1]);
      AddHolderOfList(args[0], args[1]);
      return args[0];
    }
    if (is_set_item) {
      const auto i = index(args[1]);
      if (!i.has_value()) return std::nullopt;
      SequenceOf(args[0]).elements[*i] = args[2];
      AddHolderOfList(args[0], args[2]);
      return args[0];
    }
    return std::nullopt;
  }

  // Records that whatever holds the list also holds its new element.
  void AddHolderOfList(const Value& list, const Value& element) {
    if (!element.argument.is_node()) return;
    // One list for each element is enough to know that the element may still be seen.
    list_contents_[element.argument.node()] = list.sequence;
  }

  std::optional<Value> KnownShape(const Node& node, absl::string_view aten,
                                  const std::vector<Value>& args) {
    const Argument& x = args[0].argument;
    if (args[0].is_sequence() || !x.is_node()) return std::nullopt;
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
    if (!sizes.has_value()) return std::nullopt;
    const bool reads_size = aten == "size" || aten == "sym_size";
    if ((reads_size || aten == "len") && (args.size() == 2 || aten == "len")) {
      const Argument dim = aten == "len" ? Argument(0) : args[1].argument;
      if (!dim.is_int()) return std::nullopt;
      const int64_t i = dim.integer() < 0 ? dim.integer() + rank : dim.integer();
      if (i < 0 || i >= rank) return std::nullopt;
      return Value{(*sizes)[static_cast<size_t>(i)]};
    }
    if ((reads_size && args.size() == 1) ||
        (node.target() == "builtins.getattr" && args.size() == 2 && args[1].argument.is_string() &&
         args[1].argument.string() == "shape")) {
      std::vector<Value> elements;
      for (const int64_t size : *sizes) elements.push_back({size});
      return NewSequence(std::move(elements), /*is_tuple=*/false);
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
    // Fold only Python floats: a float read from a tensor was rounded to its dtype.
    if (!absl::StartsWith(target, "aten.")) {
      const std::optional<Argument> value = EvaluateScalar(target, numbers);
      return value.has_value() ? std::optional(Value{*value}) : std::nullopt;
    }
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

  // Computes the text of messages, which affects no other value.
  std::optional<Value> Text(absl::string_view aten, const std::vector<Value>& args) {
    std::string text;
    if (aten == "format") {
      if (!args[0].argument.is_string()) return std::nullopt;
      size_t next = 1;
      absl::string_view form = args[0].argument.string();
      while (!form.empty()) {
        if (absl::ConsumePrefix(&form, "{}")) {
          if (next < args.size()) absl::StrAppend(&text, PrintArgument(args[next++].argument));
          continue;
        }
        text.push_back(form[0]);
        form.remove_prefix(1);
      }
    } else {
      for (const Value& value : args) {
        absl::StrAppend(&text, value.argument.is_string() ? std::string(value.argument.string())
                                                          : PrintArgument(value.argument));
      }
    }
    return Value{Argument(arena_.Copy(absl::string_view(text)))};
  }

  // --- Memory ----------------------------------------------------------------

  // Returns the value whose memory `node` uses; null if it is unknown.
  const Node* RootOf(const Node* node) {
    const auto it = roots_.find(node);
    return it == roots_.end() ? node : it->second;
  }

  void SetRoot(Node* node) {
    const MemoryUse use = MemoryUseOf(*node);
    if (use.shared.empty()) return;
    const Node* root = RootOf(use.shared[0]);
    for (const Node* shared : use.shared) {
      if (RootOf(shared) != root) root = nullptr;
    }
    if (root == nullptr) {
      for (const Node* shared : use.shared) {
        if (const Node* other = RootOf(shared)) roots_[other] = nullptr;
        roots_[shared] = nullptr;
      }
    } else {
      members_[root].push_back(node);
    }
    roots_[node] = root;
  }

  // Returns whether the program still reads a holder of `node` after the current call.
  bool IsReadLater(const Node* node) {
    if (list_contents_.contains(node)) return true;
    const auto holders = holders_.find(node);
    if (holders == holders_.end()) return false;
    for (const Node* holder : holders->second) {
      for (const Frame& frame : frames_) {
        if (frame.graph != holder->graph()) continue;
        for (const Use& use : holder->uses()) {
          if (frame.at->IsBefore(use.user)) return true;
        }
      }
    }
    return false;
  }

  // Returns whether nothing else can see a write to `written`, so that a new version can replace
  // it.
  bool IsAlone(const Node* written) {
    const Node* root = RootOf(written);
    if (root == nullptr || root->op() == Op::kPlaceholder || root->op() == Op::kGetAttr)
      return false;
    if (root != written && IsReadLater(root)) return false;
    const auto members = members_.find(root);
    if (members == members_.end()) return true;
    return absl::c_none_of(members->second, [&](const Node* member) {
      return member != written && IsReadLater(member);
    });
  }

  // Returns whether both take the same arguments, `writer` writing to its first one.
  static bool IsTwin(const Schema& writer, const Schema& other) {
    if (other.is_random || other.mutates() || other.returns.size() != 1 ||
        other.arguments.size() != writer.arguments.size()) {
      return false;
    }
    for (size_t i = 0; i < other.arguments.size(); ++i) {
      const SchemaType& x = writer.arguments[i].type;
      const SchemaType& y = other.arguments[i].type;
      if (x.kind != y.kind || x.is_list != y.is_list || x.is_mutated != (i == 0) ||
          (i > 0 && other.arguments[i].name != writer.arguments[i].name)) {
        return false;
      }
    }
    return true;
  }

  // Returns the operator that yields what this one writes; null if there is none.
  const Schema* Twin(const Schema& schema, const std::vector<Argument>& args) {
    const absl::string_view name = schema.name;
    if (!absl::EndsWith(name, "_") || absl::EndsWith(name, "__") || schema.is_random ||
        schema.arguments.empty() || !schema.arguments[0].type.is_mutated) {
      return nullptr;
    }
    // Compare the parameters, as overloads differ in name: pow_.Scalar matches pow.Tensor_Scalar.
    const Schema* twin = nullptr;
    for (const Schema& other : FindSchemas(absl::StripSuffix(name, "_"))) {
      if (IsTwin(schema, other)) twin = &other;
    }
    if (twin == nullptr) return nullptr;
    // A write keeps dtype and sizes of its target; a new value gets those of all operands combined.
    const DType dtype = DTypeOf(args[0]);
    for (const Argument& arg : args) {
      if (arg.is_aggregate()) return nullptr;
      if (arg.is_node() && arg.node() != args[0].node() &&
          (dtype == DType::kUnknown || DTypeOf(arg) != dtype)) {
        return nullptr;
      }
    }
    return twin;
  }

  // Writes a call that stays, as a call that does not write where possible.
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
      if (value.is_sequence() && !SequenceOf(value).is_tuple && schema == nullptr &&
          callee.kind != Callable::Kind::kPythonOperator &&
          callee.kind != Callable::Kind::kFunction) {
        lost_list_ = true;  // The call may change the list.
      }
    }
    std::vector<Argument> args;
    std::vector<KwArg> kwargs;
    for (const Value& value : values) args.push_back(Materialise(value));
    absl::string_view target = node.target();
    if (target == "aten.__getitem__.t" && args.size() == 2 && args[0].is_node() &&
        args[1].is_int() && args[0].node()->meta() != nullptr && args[0].node()->meta()->is_tuple) {
      target = "operator.getitem";
      const auto size = static_cast<int64_t>(args[0].node()->meta()->elements.size());
      if (args[1].integer() < 0) args[1] = Argument(args[1].integer() + size);
    }
    for (const KwArg& kwarg : node.kwargs())
      kwargs.push_back({kwarg.name, Materialise(ValueOf(kwarg.value))});
    if (schema != nullptr && schema->mutates() && !args.empty() && args[0].is_node()) {
      Node* const written = args[0].node();
      const Schema* twin = Twin(*schema, args);
      if (twin != nullptr && IsAlone(written)) {
        Node* made = Make(node, twin->target, args, kwargs);
        if (written->meta() != nullptr) made->set_meta(written->meta());
        current_[written] = made;
        // Holders of the old version now hold the new one.
        for (const Node* holder : holders_[written]) holders_[made].push_back(holder);
        return Value{made};
      }
    }
    Node* made = graph_->CreateNode(node.op(), target, args, kwargs, node.name());
    made->set_location(node.location());
    made->set_module_path(node.module_path());
    made->set_annotation(node.annotation());
    if (node.meta() != nullptr) made->set_meta(node.meta());
    InferMeta(made);
    SetRoot(made);
    return Value{made};
  }

  const Module& from_;
  const bool with_lists_;
  Arena arena_;
  NodeTable<Value> env_;
  std::unique_ptr<Module> made_;
  Graph* graph_ = nullptr;  // the graph that is being built
  std::vector<Frame> frames_;
  std::vector<Sequence> sequences_;
  absl::flat_hash_map<std::pair<Graph*, std::string>, Node*> attributes_;
  absl::flat_hash_map<Node*, Node*> current_;
  absl::flat_hash_map<const Node*, std::vector<const Node*>> holders_;  // nodes of the program
  absl::flat_hash_map<const Node*, int> list_contents_;
  absl::flat_hash_map<const Node*, const Node*> roots_;
  absl::flat_hash_map<const Node*, std::vector<const Node*>> members_;
  absl::flat_hash_set<absl::string_view> written_;  // names of attributes
  // The new bodies, by their original and the metas of their inputs.
  absl::flat_hash_map<std::pair<const Graph*, std::vector<const ValueMeta*>>, Graph*> bodies_;
  size_t iterations_ = 0;
  Budget steps_{kMaxSteps};
  bool is_too_long_ = false;
  bool lost_list_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Module>> PartiallyEvaluate(const Module& module) {
  Evaluator evaluator(module, /*with_lists=*/true);
  absl::StatusOr<std::unique_ptr<Module>> made = evaluator.Run();
  // Lists of lists may be too large to be followed, while the calls that make them are few.
  if (!evaluator.lost_list() && !evaluator.is_too_long()) return made;
  Evaluator plain(module, /*with_lists=*/false);
  return plain.Run();
}

}  // namespace graphnet
