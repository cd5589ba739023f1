#include "graphnet/paddle/to_paddle.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/arena.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/shapes/facts_table.h"
#include "graphnet/facts/shapes/tensor_facts.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ops/binder.h"
#include "graphnet/ops/binding_defaults.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/ops/python_operator.h"
#include "graphnet/ops/value_type.h"
#include "graphnet/paddle/mapping.h"
#include "graphnet/paddle/rule_functions.h"
#include "graphnet/paddle/rule_text.h"
#include "graphnet/paddle/rules.h"
#include "graphnet/passes/pass.h"

namespace graphnet {
namespace {

// No program would write a longer list of pieces.
constexpr int64_t kMaxPieces = 10000;

// Makes the status that says why a call is not converted.
absl::Status No(absl::string_view why) { return absl::UnimplementedError(why); }

std::string RuleName(const Node& node) {
  return PaddleRuleName(node.op() == Op::kCallMethod ? absl::StrCat("torch.Tensor.", node.target())
                                                     : std::string(node.target()));
}

class PaddleConversion {
 public:
  explicit PaddleConversion(Module* module) : module_(module) {}

  PaddleCoverage Run() {
    FindFacts();
    for (Graph* graph : module_->graphs()) {
      for (Node* node : graph->nodes()) {
        if (!node->is_call()) continue;
        const std::string target(node->target());
        const absl::Status status = Convert(node);
        if (status.ok()) {
          ++coverage_.converted;
        } else {
          ++coverage_.left[{target, std::string(status.message())}];
        }
      }
    }
    return std::move(coverage_);
  }

 private:
  // Collects facts and types of the values before they are converted.
  void FindFacts() {
    RefusedCalls refused;
    const absl::StatusOr<LoweredModule> lowered = LowerToAten(*module_, &refused);
    if (!lowered.ok()) return;  // Nothing is known then.
    const FactsTable facts(*lowered, refused);
    for (const Graph* graph : module_->graphs()) {
      for (const Node* node : graph->nodes()) {
        const Argument& value = lowered->values[node];
        if (value.is_node()) facts_[node] = facts.Of(value.node());
        types_[node] =
            graphnet::TypeOf(value, [&](const Node* made) { return TypeOfLowered(made); });
      }
    }
  }

  // Returns the type of a node of the lowered module, where the overload is known. Results that
  // Python computes from sizes are numbers, too.
  ValueType TypeOfLowered(const Node* node) {
    const auto known = lowered_types_.find(node);
    if (known != lowered_types_.end()) return known->second;
    lowered_types_[node] = ValueType();
    ValueType type;
    if (node->is_placeholder() || node->op() == Op::kGetAttr) {
      type = TypeOfAnnotation(node->annotation());
    } else if (const Callable callee = CalleeOf(*node);
               callee.kind == Callable::Kind::kPythonOperator) {
      type = TypeOfOperator(*node, *callee.python_operator);
    } else if (node->target() == "builtins.getattr" && node->args().size() > 1 &&
               node->args()[1] == Argument("shape")) {
      type = ListOf(ValueType::Kind::kInt);
    } else if (!callee.overloads.empty()) {
      type = ResultType(callee.overloads[0], &arena_);
    }
    lowered_types_[node] = type;
    return type;
  }

  ValueType TypeOfOperator(const Node& node, const PythonOperator& op) {
    const auto type_of = [&](const Argument& a) {
      return graphnet::TypeOf(a, [&](const Node* made) { return TypeOfLowered(made); });
    };
    if (op.name == "getitem" && node.args().size() == 2) {
      const ValueType whole = type_of(node.args()[0]);
      if (whole.is_tensor()) return ValueType::Kind::kTensor;
      if (node.args()[1].kind() == Argument::Kind::kSlice) return whole;
      return whole.element();
    }
    const auto all_are = [&](const auto& test) {
      return absl::c_all_of(node.args(), [&](const Argument& a) { return test(type_of(a)); });
    };
    if (!all_are([](const ValueType& type) { return type.is_number(); })) return ValueType();
    if (op.result == 'f') return ValueType::Kind::kFloat;
    if (op.result == 'b') return ValueType::Kind::kBool;
    const bool are_ints =
        all_are([](const ValueType& type) { return type.kind == ValueType::Kind::kInt; });
    return op.result == 'i' || are_ints ? ValueType::Kind::kInt : ValueType::Kind::kNumber;
  }

  TensorFacts FactsOf(const Argument& argument) const {
    const auto found = argument.is_node() ? facts_.find(argument.node()) : facts_.end();
    return found == facts_.end() ? TensorFacts() : found->second;
  }

  ValueType TypeOf(const Node* node) {
    const auto known = types_.find(node);
    if (known != types_.end() && known->second.kind != ValueType::Kind::kUnknown)
      return known->second;
    if (node->is_placeholder() || node->op() == Op::kGetAttr) {
      return node->tensor_meta() == nullptr ? ValueType() : TypeOfAnnotation(node->annotation());
    }
    const Callable callee = CalleeOf(*node);
    return callee.overloads.empty() ? ValueType() : ResultType(callee.overloads[0], &arena_);
  }

  absl::Status Convert(Node* node) {
    if (absl::StartsWith(node->target(), "paddle.")) return absl::OkStatus();
    const Callable callee = CalleeOf(*node);
    const std::string name = RuleName(*node);
    const PaddleRulesOfCall found = FindPaddleRulesOfCall(name);
    const absl::Span<const PaddleRule> rules = found.rules;
    if (rules.empty()) return No("no rule");
    if (found.for_each) return ConvertEach(node, found.name);
    switch (rules[0].kind) {
      case PaddleRule::Kind::kNone:
        if (rules[0].conditions.empty()) return No(rules[0].reason);
        break;
      case PaddleRule::Kind::kKeep: return Keep(node);
      case PaddleRule::Kind::kDrop:
        if (node->has_uses()) return No("its value is used");
        facts_.erase(node);
        node->graph()->EraseNode(node);
        coverage_.changed = true;
        return absl::OkStatus();
      case PaddleRule::Kind::kCall: break;
    }
    std::vector<KwArg> kwargs(node->kwargs().begin(), node->kwargs().end());
    if (LacksReduction(callee, node->args(), kwargs)) kwargs.push_back({"reduction", 0});
    ASSIGN_OR_RETURN(const BoundCall call,
                     Bind(callee, node->args(), kwargs,
                          [this](const Node* operand) { return TypeOf(operand); }));
    absl::Status why;
    for (const PaddleRule& rule : rules) {
      if (rule.kind == PaddleRule::Kind::kNone) {
        if (AllHold(rule, call)) return No(rule.reason);
        continue;
      }
      if (rule.kind == PaddleRule::Kind::kKeep) return Keep(node);
      const absl::Status fits = Fits(rule, call);
      absl::Status made = fits.ok() ? Replace(node, rule, call, found.in_place) : fits;
      if (made.ok()) return made;
      why.Update(made);  // keeps the reason of the first rule, which is the usual one
    }
    return why;
  }

  // Replaces a call of torch._foreach_f by calls of f and the list of their values. Each call takes
  // one element of every list of the same length.
  absl::Status ConvertEach(Node* node, absl::string_view name) {
    const auto is_list = [](const Argument& a) { return a.is_list() || a.is_tuple(); };
    if (node->args().empty() || !is_list(node->args()[0])) return No("no list of tensors");
    const size_t size = node->args()[0].elements().size();
    const auto element = [&](const Argument& a, size_t i) {
      return is_list(a) && a.elements().size() == size ? a.elements()[i] : a;
    };
    const std::string target = absl::StrCat("torch.", name);
    Graph* const graph = node->graph();
    Node* const before = node->prev();
    std::vector<Argument> values;
    absl::Status status;
    for (size_t i = 0; i < size && status.ok(); ++i) {
      std::vector<Argument> args;
      std::vector<KwArg> kwargs;
      for (const Argument& argument : node->args()) args.push_back(element(argument, i));
      for (const KwArg& kwarg : node->kwargs())
        kwargs.push_back({kwarg.name, element(kwarg.value, i)});
      {
        const InsertionGuard guard(graph, node);
        Node* const call = graph->CallFunction(target, args, kwargs);
        call->set_location(node->location());
        call->set_module_path(node->module_path());
        status = Convert(call);
      }
      values.emplace_back(node->prev());
    }
    if (!status.ok()) {
      while (node->prev() != before) graph->EraseNode(node->prev());
      return status;
    }
    if (node->has_uses()) {
      const std::string result(node->name());
      const Argument list = Argument::List(arena_.Copy(absl::MakeConstSpan(values)));
      Node* const made = graph->CallLike(*node, "builtins.list", {list}, {});
      node->ReplaceAllUsesWith(made);
      graph->EraseNode(node);
      made->set_name(result);
    } else {
      graph->EraseNode(node);
    }
    coverage_.changed = true;
    return absl::OkStatus();
  }

  // Converts a call that is the same in Paddle apart from dtypes and devices.
  absl::Status Keep(Node* node) {
    absl::Status status;
    coverage_.changed |= node->MapArguments([&](const Argument& argument) {
      absl::StatusOr<Argument> word = Word(argument);
      status.Update(word.status());
      return word.ok() ? *word : argument;
    });
    return status;
  }

  // Returns a constant as Paddle writes it.
  absl::StatusOr<Argument> Word(const Argument& argument) {
    switch (argument.kind()) {
      case Argument::Kind::kDType: return Argument(DTypeName(argument.dtype()));
      case Argument::Kind::kDevice: return Argument(DeviceWord(argument.device()));
      case Argument::Kind::kLayout:
      case Argument::Kind::kMemoryFormat: return No("a layout");
      case Argument::Kind::kGraph: return No("a graph");
      case Argument::Kind::kString:
        if (absl::StartsWith(argument.string(), "torch.")) return No("the name of a type");
        return argument;
      default: return argument;
    }
  }

  absl::string_view DeviceWord(Device device) {
    std::string word = DeviceName(device);
    if (device.type == DeviceType::kCuda)
      word = absl::StrCat("gpu", absl::StripPrefix(word, "cuda"));
    if (device.type == DeviceType::kCpu) word = "cpu";
    return module_->InternString(word);
  }

  absl::StatusOr<Argument> Words(const Argument& argument) {
    absl::Status status;
    const Argument mapped = MapArgument(argument, &arena_, [&](const Argument& leaf) {
      const absl::StatusOr<Argument> word = Word(leaf);
      status.Update(word.status());
      return word.ok() ? *word : leaf;
    });
    RETURN_IF_ERROR(status);
    return mapped;
  }

  static bool IsOfParameter(const PaddleTerm& term) {
    return term.kind == PaddleTerm::Kind::kParameter || term.kind == PaddleTerm::Kind::kVariadic ||
           term.kind == PaddleTerm::Kind::kPieces;
  }

  static bool Mentions(const PaddleTerm& term, absl::string_view parameter) {
    if (IsOfParameter(term)) return term.name == parameter;
    return absl::c_any_of(
        term.arguments, [&](const PaddleTerm& argument) { return Mentions(argument, parameter); });
  }

  static absl::Status HasParameters(const PaddleTerm& term, const Schema& schema) {
    if (IsOfParameter(term) && !term.may_lack && schema.IndexOf(term.name) < 0) {
      return No(absl::StrCat("no parameter ", term.name));
    }
    for (const PaddleTerm& argument : term.arguments) {
      RETURN_IF_ERROR(HasParameters(argument, schema));
    }
    return absl::OkStatus();
  }

  static bool IsEqual(const Argument& given, const Argument& wanted) {
    SchemaArgument parameter;  // Its IsDefault() compares numbers as Python does.
    parameter.has_default = true;
    parameter.default_text = wanted.is_none() ? "None" : "";
    parameter.default_value = wanted;
    return parameter.IsDefault(given);
  }

  // Returns whether an argument may be left out: it is the default, or a list that repeats a
  // default number, or the reverse, or a memory format that the operator yields anyway.
  static bool SaysNothing(const SchemaArgument& parameter, const Argument& given) {
    if (parameter.IsDefault(given)) return true;
    if (given.kind() == Argument::Kind::kMemoryFormat) {
      return given == Argument(MemoryFormat::kContiguous) ||
             given == Argument(MemoryFormat::kPreserve);
    }
    const auto is_each = [](const Argument& list, const Argument& one) {
      return !list.elements().empty() &&
             absl::c_all_of(list.elements(), [&](const Argument& a) { return IsEqual(a, one); });
    };
    const auto is_list = [](const Argument& a) { return a.is_list() || a.is_tuple(); };
    const auto is_number = [](const Argument& a) { return a.is_int() || a.is_float(); };
    const Argument& usual = parameter.default_value;
    if (!parameter.has_default) return false;
    if (is_list(given) && is_number(usual)) return is_each(given, usual);
    return is_list(usual) && is_number(given) && is_each(usual, given);
  }

  // Returns the sizes of the pieces if `call`, which has self and dim, cuts into `chunks` of them;
  // nullopt if the sizes are not known.
  std::optional<std::vector<int64_t>> PiecesOf(const BoundCall& call,
                                               const Argument& chunks) const {
    const TensorFacts self = FactsOf(call.self());
    const Argument& dim = call["dim"];
    if (!self.is_tensor() || !self.sizes.has_value() || !chunks.is_int() || !dim.is_int())
      return std::nullopt;
    const int64_t rank = self.rank();
    const int64_t at = dim.integer() < 0 ? dim.integer() + rank : dim.integer();
    if (at < 0 || at >= rank || chunks.integer() <= 0) return std::nullopt;
    int64_t left = (*self.sizes)[static_cast<size_t>(at)];
    if (left <= 0) return std::nullopt;
    const int64_t size = (left - 1) / chunks.integer() + 1;
    if (left / size > kMaxPieces) return std::nullopt;
    std::vector<int64_t> pieces;
    for (; left > 0; left -= size) pieces.push_back(std::min(left, size));
    return pieces;
  }

  bool IsUneven(const BoundCall& call, const Argument& chunks) const {
    const auto pieces = PiecesOf(call, chunks);
    return pieces.has_value() && (static_cast<int64_t>(pieces->size()) != chunks.integer() ||
                                  pieces->front() != pieces->back());
  }

  // Returns whether the list has a size for each axis of the call's input.
  bool IsWhole(const BoundCall& call, const Argument& sizes) const {
    const TensorFacts self = FactsOf(call.self());
    return self.is_tensor() && (sizes.is_list() || sizes.is_tuple()) && !sizes.elements().empty() &&
           static_cast<int64_t>(sizes.elements().size()) == self.rank();
  }

  bool AllHold(const PaddleRule& rule, const BoundCall& call) const {
    return absl::c_all_of(rule.conditions,
                          [&](const PaddleCondition& condition) { return Holds(condition, call); });
  }

  bool Holds(const PaddleCondition& condition, const BoundCall& call) const {
    const int i = call.schema().IndexOf(condition.parameter);
    if (i < 0) return false;
    const Argument& given = call[condition.parameter];
    bool holds = false;
    switch (condition.kind) {
      case PaddleCondition::Kind::kIs: holds = IsEqual(given, condition.value); break;
      case PaddleCondition::Kind::kTensor:
        holds = given.is_node() && call.schema().arguments[static_cast<size_t>(i)].type.kind ==
                                       SchemaType::Kind::kTensor;
        break;
      case PaddleCondition::Kind::kBool: holds = FactsOf(given).dtype == DType::kBool; break;
      case PaddleCondition::Kind::kFloating: holds = IsFloatingPoint(FactsOf(given).dtype); break;
      case PaddleCondition::Kind::kUneven: holds = IsUneven(call, given); break;
      case PaddleCondition::Kind::kWhole: holds = IsWhole(call, given); break;
    }
    return holds != condition.is_not;
  }

  absl::Status Fits(const PaddleRule& rule, const BoundCall& call) const {
    const Schema& schema = call.schema();
    RETURN_IF_ERROR(HasParameters(rule.call, schema));
    for (const PaddleCondition& condition : rule.conditions) {
      if (!Holds(condition, call)) return No(absl::StrCat("unsupported ", condition.parameter));
    }
    for (size_t i = 0; i < schema.arguments.size(); ++i) {
      const SchemaArgument& parameter = schema.arguments[i];
      if (!call.is_given(i) || SaysNothing(parameter, call[i]) || parameter.name == "inplace")
        continue;
      if (call[i].kind() == Argument::Kind::kLayout && call[i].layout() != Layout::kStrided) {
        return No("a layout");
      }
      const bool is_known = Mentions(rule.call, parameter.name) ||
                            absl::c_linear_search(rule.dropped, parameter.name) ||
                            absl::c_any_of(rule.conditions, [&](const PaddleCondition& condition) {
                              return condition.parameter == parameter.name &&
                                     condition.kind == PaddleCondition::Kind::kIs &&
                                     !condition.is_not;
                            });
      if (!is_known) return No(absl::StrCat("Paddle has no ", parameter.name));
    }
    return absl::OkStatus();
  }

  // State while the calls of a rule are made before a node.
  struct Making {
    Node* node;
    const BoundCall& call;
    std::vector<Node*> made;
    std::vector<std::pair<std::string, Node*>> named;  // by their text in the row
  };

  absl::StatusOr<Argument> ValueOf(const PaddleTerm& term, Making& making) {
    switch (term.kind) {
      case PaddleTerm::Kind::kLiteral: return term.literal;
      case PaddleTerm::Kind::kParameter: return Words(making.call[term.name]);
      case PaddleTerm::Kind::kVariadic: return absl::InternalError("*args within a call");
      case PaddleTerm::Kind::kPieces: {
        const auto pieces = PiecesOf(making.call, making.call[term.name]);
        if (!pieces.has_value()) return No("pieces of unknown sizes");
        const std::vector<Argument> sizes(pieces->begin(), pieces->end());
        return Argument::List(arena_.Copy(absl::MakeConstSpan(sizes)));
      }
      case PaddleTerm::Kind::kTuple: {
        std::vector<Argument> elements;
        std::vector<KwArg> none;
        RETURN_IF_ERROR(Arguments(term, making, &elements, &none));
        return Argument::Tuple(arena_.Copy(absl::MakeConstSpan(elements)));
      }
      case PaddleTerm::Kind::kCall: break;
    }
    if (term.name == "per_axis") return PerAxis(making.call[term.arguments[0].name], making.call);
    if (const RuleFunction* const function = FindRuleFunction(term.name)) {
      ASSIGN_OR_RETURN(const Argument of, ValueOf(term.arguments[0], making));
      return (*function)(of, arena_);
    }
    // A value that a row mentions twice is made once.
    const std::string text = PaddleCallText(term);
    for (const auto& [known, node] : making.named) {
      if (known == text) return Argument(node);
    }
    ASSIGN_OR_RETURN(Node * made, Make(term, making));
    making.named.emplace_back(text, made);
    return Argument(made);
  }

  // Makes a list of an int, with one element for each axis of the call's input behind the first two.
  absl::StatusOr<Argument> PerAxis(const Argument& of, const BoundCall& call) {
    if (!of.is_int()) return of;
    const int rank = FactsOf(call.self()).rank();
    if (rank < 3) return No("one size for axes of an unknown number");
    const std::vector<Argument> sizes(static_cast<size_t>(rank) - 2, of);
    return Argument::List(arena_.Copy(absl::MakeConstSpan(sizes)));
  }

  absl::Status Arguments(const PaddleTerm& term, Making& making, std::vector<Argument>* args,
                         std::vector<KwArg>* kwargs) {
    const Schema& schema = making.call.schema();
    for (const PaddleTerm& operand : term.arguments) {
      if (operand.kind == PaddleTerm::Kind::kVariadic) {
        for (const Argument& argument : making.call.variadic()) {
          ASSIGN_OR_RETURN(const Argument value, Words(argument));
          // PyTorch also accepts one list of tensors in place of *args.
          const bool is_list =
              (value.is_list() || value.is_tuple()) &&
              absl::c_any_of(value.elements(), [](const Argument& a) { return a.is_node(); });
          if (is_list) {
            args->insert(args->end(), value.elements().begin(), value.elements().end());
          } else {
            args->push_back(value);
          }
        }
        continue;
      }
      // The parameter itself, or the one inside axes(p), per_axis(p) or reduction(p).
      const bool is_under =
          operand.name == "axes" || operand.name == "per_axis" || operand.name == "reduction";
      const PaddleTerm& asked =
          operand.kind == PaddleTerm::Kind::kCall && is_under ? operand.arguments[0] : operand;
      if (asked.kind == PaddleTerm::Kind::kParameter) {
        const int i = schema.IndexOf(asked.name);
        if (i < 0) continue;  // It belongs to another overload.
        const auto at = static_cast<size_t>(i);
        const bool says_nothing =
            !making.call.is_given(at) || SaysNothing(schema.arguments[at], making.call[at]);
        if (says_nothing && !asked.is_written && schema.arguments[at].has_default &&
            !operand.keyword.empty()) {
          continue;
        }
        // Positional arguments that say nothing are left out, except in tuples.
        const bool is_element = term.kind == PaddleTerm::Kind::kTuple;
        if (says_nothing && operand.keyword.empty() && schema.arguments[at].has_default &&
            !asked.is_written && !is_element) {
          continue;
        }
      }
      ASSIGN_OR_RETURN(const Argument value, ValueOf(operand, making));
      if (operand.keyword.empty()) {
        args->push_back(value);
      } else {
        kwargs->push_back({operand.keyword, value});
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Node*> Make(const PaddleTerm& term, Making& making) {
    std::vector<Argument> args;
    std::vector<KwArg> kwargs;
    RETURN_IF_ERROR(Arguments(term, making, &args, &kwargs));
    Graph* graph = making.node->graph();
    const InsertionGuard guard(graph, making.node);
    Node* made = term.name[0] == '.'
                     ? graph->CallMethod(absl::string_view(term.name).substr(1), args, kwargs)
                     : graph->CallFunction(term.name, args, kwargs);
    made->set_location(making.node->location());
    made->set_module_path(making.node->module_path());
    making.made.push_back(made);
    return made;
  }

  absl::Status Replace(Node* node, const PaddleRule& rule, const BoundCall& call, bool in_place) {
    Making making = {node, call, {}, {}};
    const int inplace = call.schema().IndexOf("inplace");
    if (inplace >= 0 && call.is_true("inplace") && !Mentions(rule.call, "inplace") &&
        !absl::c_linear_search(rule.dropped, "inplace") &&
        absl::c_none_of(rule.conditions, [](const PaddleCondition& condition) {
          return condition.parameter == "inplace";
        })) {
      in_place = true;
    }
    absl::Status status = [&]() -> absl::Status {
      std::vector<Argument> args;
      std::vector<KwArg> kwargs;
      std::string target = rule.call.name;
      if (in_place) {
        if (!call.self().is_node()) return No("it writes to no tensor");
        ASSIGN_OR_RETURN(Node * value, Make(rule.call, making));
        target = "paddle.assign";
        kwargs = {{"x", value}, {"output", call.self()}};
      } else {
        RETURN_IF_ERROR(Arguments(rule.call, making, &args, &kwargs));
      }
      if (IsSame(*node, target, args, kwargs)) return absl::OkStatus();
      Node* made = node->graph()->CallLike(*node, target, args, kwargs);
      const std::string name(node->name());
      if (const auto facts = facts_.extract(node); !facts.empty()) facts_[made] = facts.mapped();
      if (const auto type = types_.extract(node); !type.empty()) types_[made] = type.mapped();
      node->ReplaceAllUsesWith(made);
      node->graph()->EraseNode(node);
      made->set_name(name);
      coverage_.changed = true;
      return absl::OkStatus();
    }();
    if (!status.ok()) {
      for (auto it = making.made.rbegin(); it != making.made.rend(); ++it) {
        node->graph()->EraseNode(*it);
      }
    }
    return status;
  }

  static bool IsSame(const Node& node, absl::string_view target, absl::Span<const Argument> args,
                     absl::Span<const KwArg> kwargs) {
    const bool is_method = absl::ConsumePrefix(&target, ".");
    return is_method == (node.op() == Op::kCallMethod) && node.target() == target &&
           absl::c_equal(node.args(), args) &&
           absl::c_equal(node.kwargs(), kwargs, [](const KwArg& a, const KwArg& b) {
             return a.name == b.name && a.value == b.value;
           });
  }

  Module* const module_;
  Arena arena_;
  absl::flat_hash_map<const Node*, TensorFacts> facts_;
  absl::flat_hash_map<const Node*, ValueType> types_;          // before conversion
  absl::flat_hash_map<const Node*, ValueType> lowered_types_;  // by node of the lowered module
  PaddleCoverage coverage_;
};

}  // namespace

absl::StatusOr<PaddleCoverage> ConvertCallsToPaddle(Module* module) {
  return PaddleConversion(module).Run();
}

absl::StatusOr<bool> ToPaddle(Module* module, PassRun& run) {
  ASSIGN_OR_RETURN(const PaddleCoverage coverage, ConvertCallsToPaddle(module));
  if (coverage.converted > 0) run.Note("calls in Paddle's terms", coverage.converted);
  for (const auto& [call, count] : coverage.left)
    run.Note(absl::StrCat("left ", call.first, ": ", call.second), count);
  return coverage.changed;
}

namespace {

const RegisteredPass kToPaddlePass("to-paddle", "to_paddle.h", ToPaddle, {}, ToPaddleHeaderText());

}  // namespace

}  // namespace graphnet
