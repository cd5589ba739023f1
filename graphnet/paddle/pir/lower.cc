#include "graphnet/paddle/pir/lower.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/arena.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/shapes/sizes_of_run.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/paddle/pir/builder.h"
#include "graphnet/paddle/pir/call_text.h"
#include "graphnet/paddle/pir/emitter.h"
#include "graphnet/paddle/pir/lower_helpers.h"
#include "graphnet/paddle/pir/lower_python.h"
#include "graphnet/paddle/pir/metas.h"
#include "graphnet/paddle/pir/operators.h"
#include "graphnet/paddle/pir/rules.h"
#include "graphnet/paddle/to_paddle.h"
#include "graphnet/passes/fold_constants.h"
#include "graphnet/passes/functional/functionalize.h"
#include "graphnet/passes/inline_regions.h"
#include "graphnet/passes/pass.h"
#include "graphnet/passes/scalar_arithmetic.h"

namespace graphnet::pir {
namespace {

constexpr absl::string_view kParameter = "torch.nn.parameter.Parameter";

// Parameters that have no meaning for an operator.
constexpr absl::string_view kIdle[] = {"device", "pin_memory", "requires_grad", "stop_gradient"};

// Operators that yield a vec.
constexpr absl::string_view kListOperators[] = {"pd_op.broadcast_tensors", "pd_op.meshgrid",
                                                "pd_op.split", "pd_op.split_with_num",
                                                "pd_op.unbind"};

// The arguments of a call by the parameters of the function.
struct Binding {
  struct Entry {
    absl::string_view name;
    Value value;
    bool is_default = false;
  };
  std::vector<Entry> entries;
  std::vector<Value> positional;

  const Entry* Find(absl::string_view name) const {
    const auto it = absl::c_find_if(entries, [&](const Entry& e) { return e.name == name; });
    return it == entries.end() ? nullptr : &*it;
  }
};

class GraphLowering {
 public:
  // `first_made` is the index of the first symbol of `from` that AddMetas made.
  GraphLowering(const Module* from, size_t first_made, Module* to, size_t max_nodes,
                bool keep_module_paths)
      : to_(*to),
        made_(from, first_made),
        max_nodes_(max_nodes),
        keep_module_paths_(keep_module_paths) {
    sizes_of_run_.AddAll(*from);
  }

  absl::Status LowerMain(const Graph& from) {
    Graph* graph = to_.AddGraph("forward");
    Emitter out(graph, &results_, &made_, &arena_);
    absl::flat_hash_map<absl::string_view, Node*> attributes;
    for (const Node* node : from.nodes()) {
      if (!node->is_placeholder() && node->op() != Op::kGetAttr) continue;
      const bool is_parameter = node->op() == Op::kGetAttr || node->annotation() == kParameter;
      Node*& input = attributes[node->target()];
      if (input == nullptr) {
        input = graph->Placeholder(node->target());
        if (is_parameter) input->set_annotation(kParameter);
        const ValueMeta* meta = node->meta();
        if (node->op() == Op::kGetAttr) {
          const Attribute* attribute = from.module()->FindAttribute(node->target());
          if (attribute != nullptr && attribute->meta != nullptr) {
            meta = to_.InternValueMeta(*attribute->meta);
          }
        }
        // Only data has a place; parameters have none.
        input->set_meta(PlainMeta(meta, /*keep_device=*/!is_parameter));
      }
      values_[node] = Value::Of(input);
    }
    std::vector<Argument> outputs;
    for (const Node* node : from.nodes()) {
      const Node* last = graph->last();
      if (node->is_call()) RETURN_IF_ERROR(LowerCall(out, *node));
      if (keep_module_paths_) {
        for (Node* made = graph->last(); made != last; made = made->prev())
          made->set_module_path(node->module_path());
      }
      if (!node->is_output()) continue;
      ForEachArgument(node->args()[0], [&](const Argument& value) {
        if (!value.is_node()) return;
        for (Node* lowered : NodesOf(values_.at(value.node()))) outputs.emplace_back(lowered);
      });
    }
    graph->Output(Argument::Tuple(outputs));
    while (!computed_.empty()) {
      Node* const node = computed_.back();
      computed_.pop_back();
      if (!node->has_uses()) node->graph()->EraseNode(node);
    }
    return absl::OkStatus();
  }

 private:
  // Returns the part of a meta that a type of PIR can express.
  const ValueMeta* PlainMeta(const ValueMeta* meta, bool keep_device = false) {
    if (meta == nullptr) return nullptr;
    if (meta->is_tuple) {
      std::vector<const ValueMeta*> elements;
      for (const ValueMeta* element : meta->elements) {
        const ValueMeta* plain = PlainMeta(element);
        elements.push_back(plain != nullptr ? plain : to_.InternValueMeta(TensorMeta()));
      }
      return to_.InternTupleMeta(elements);
    }
    if (meta->tensor == nullptr || !meta->tensor->has_shape) return nullptr;
    TensorMeta tensor = *meta->tensor;
    if (!keep_device) {
      tensor.has_device = false;
      tensor.device = Device();
    } else if (tensor.device.type == DeviceType::kCuda && tensor.device.index < 0) {
      tensor.device.index = 0;  // a place always has a number
    }
    // Inferred sizes may replace symbols that AddMetas made, so those are not declared yet
    // (Emitter).
    for (const Dim& dim : tensor.shape) {
      if (!made_.Has(dim.expr)) DeclareSymbols(dim.expr, &to_);
    }
    return to_.InternValueMeta(tensor);
  }

  // Returns all results of a lowered value.
  std::vector<Node*> NodesOf(const Value& value) {
    if (value.is_list) return value.list;
    if (value.node == nullptr || !HasSeveralResults(*value.node)) return {value.node};
    std::vector<Node*> nodes;
    for (size_t i = 0; i < NumResults(*value.node); ++i) {
      nodes.push_back(results_.Result(value.node, i));
    }
    return nodes;
  }

  static std::string FunctionName(const Node& node) {
    return absl::StrCat(node.op() == Op::kCallMethod ? "." : "", node.target());
  }

  // Returns an argument with the numbers in the place of nodes that read or compute them.
  Argument WithConstants(const Argument& argument) {
    return MapArgument(argument, &arena_, [&](const Argument& leaf) {
      const auto it = leaf.is_node() ? constants_.find(leaf.node()) : constants_.end();
      return it == constants_.end() ? leaf : it->second;
    });
  }

  // Returns the number or dtype that a call reads of a tensor, or computes from such; nullopt for
  // any other call.
  std::optional<Argument> ConstantOf(const Node& node) {
    if (!node.args().empty() && node.args()[0].is_node()) {
      const Node* const tensor = values_.at(node.args()[0].node()).node;
      const TensorMeta* const meta = tensor == nullptr ? nullptr : tensor->tensor_meta();
      if (meta != nullptr && !sizes_of_run_.Has(node)) {
        if (const auto value = EvaluateRead(node, *meta, &arena_)) return value;
      }
    }
    if (node.op() != Op::kCallFunction || !node.kwargs().empty()) return std::nullopt;
    std::vector<Argument> args;
    bool is_constant = true;
    for (const Argument& argument : node.args()) {
      args.push_back(WithConstants(argument));
      ForEachArgument(args.back(),
                      [&](const Argument& a) { is_constant &= !a.is_node() && !a.is_graph(); });
    }
    return is_constant ? EvaluateScalar(node.target(), args) : std::nullopt;
  }

  // Returns an argument of a call; nullopt if it is a structure other than a list of values.
  std::optional<Value> ValueOf(const Argument& given) {
    const Argument argument = WithConstants(given);
    if (argument.is_node()) {
      const Value& value = values_.at(argument.node());
      if (value.node != nullptr && HasSeveralResults(*value.node)) {
        return Value{nullptr, true, NodesOf(value), {}};
      }
      return value;
    }
    bool has_node = false;
    bool has_body = false;
    ForEachArgument(argument, [&](const Argument& a) {
      has_node |= a.is_node();
      has_body |= a.is_graph();
    });
    if (has_body) return std::nullopt;
    if (!has_node) return Value::Constant(argument);
    if (!argument.is_list() && !argument.is_tuple()) return std::nullopt;
    Value value;
    value.is_list = true;
    for (const Argument& element : argument.elements()) {
      if (!element.is_node()) return std::nullopt;
      const Value& of = values_.at(element.node());
      if (of.node == nullptr || HasSeveralResults(*of.node)) return std::nullopt;
      value.list.push_back(of.node);
    }
    return value;
  }

  std::optional<Binding> Bind(const Node& node) {
    Binding binding;
    const std::string name = FunctionName(node);
    const Function* function = FindFunction(name);
    const Schema* schema = function == nullptr ? FindOverload(name) : nullptr;
    std::vector<absl::string_view> parameters;
    if (schema != nullptr) {
      for (const SchemaArgument& p : schema->arguments) parameters.push_back(p.name);
    } else if (function != nullptr) {
      for (const Parameter& p : function->parameters) parameters.push_back(p.name);
    } else if (absl::StartsWith(name, ".")) {
      parameters = {"self"};
    } else {
      parameters = {"a", "b"};
    }
    absl::flat_hash_set<absl::string_view> taken;
    for (size_t i = 0; i < node.args().size(); ++i) {
      const std::optional<Value> value = ValueOf(node.args()[i]);
      if (!value.has_value()) return std::nullopt;
      binding.positional.push_back(*value);
      binding.entries.push_back({i < parameters.size() ? parameters[i] : "*", *value, false});
      taken.insert(binding.entries.back().name);
    }
    for (const KwArg& kwarg : node.kwargs()) {
      const std::optional<Value> value = ValueOf(kwarg.value);
      if (!value.has_value() || !taken.insert(kwarg.name).second) return std::nullopt;
      binding.entries.push_back({kwarg.name, *value, false});
    }
    if (schema != nullptr) {
      for (const SchemaArgument& p : schema->arguments) {
        if (!p.has_default) continue;
        if (binding.Find(p.name) == nullptr) {
          binding.entries.push_back({p.name, Value::Constant(p.default_value), true});
        }
      }
    }
    if (function == nullptr) return binding;
    for (const Parameter& parameter : function->parameters) {
      if (!parameter.otherwise.has_value()) continue;
      const Argument otherwise = ParseLiteral(*parameter.otherwise);
      const Binding::Entry* given = binding.Find(parameter.name);
      if (given == nullptr) {
        binding.entries.push_back({parameter.name, Value::Constant(otherwise), true});
      } else if (given->value.is_constant() && SameConstant(given->value.constant, otherwise)) {
        binding.entries[static_cast<size_t>(given - binding.entries.data())].is_default = true;
      }
    }
    return binding;
  }

  static bool Mentions(const Term& term, absl::string_view parameter) {
    if (term.kind == Term::Kind::kParameter) return term.name == parameter;
    if (term.kind == Term::Kind::kHelper && term.name == "rest") return parameter == "*";
    return absl::c_any_of(term.arguments,
                          [&](const Term& argument) { return Mentions(argument, parameter); });
  }

  static bool Fits(const Rule& rule, const Binding& binding) {
    for (const auto& [parameter, wanted] : rule.conditions) {
      const Binding::Entry* entry = binding.Find(parameter);
      if (entry == nullptr || !entry->value.is_constant() ||
          !SameConstant(entry->value.constant, wanted)) {
        return false;
      }
    }
    return absl::c_all_of(binding.entries, [&](const Binding::Entry& entry) {
      return entry.is_default || absl::c_linear_search(kIdle, entry.name) ||
             Mentions(rule.result, entry.name) || absl::c_linear_search(rule.ignored, entry.name) ||
             absl::c_any_of(rule.conditions,
                            [&](const auto& condition) { return condition.first == entry.name; });
    });
  }

  // Makes a rule for a function without one, by parameters of the same names.
  static std::optional<Rule> RuleByName(absl::string_view name) {
    const Function* function = FindFunction(name);
    const absl::string_view last = name.substr(name.rfind('.') + 1);
    const Operator* op = FindOperator(last);
    // Only a written rule could say which of several results the function yields.
    if (function == nullptr || op == nullptr || op->results.size() != 1) return std::nullopt;
    Rule rule;
    rule.result.kind = Term::Kind::kOperator;
    rule.result.name = last;
    const auto add = [&](const Parameter& parameter) {
      const bool is_known = absl::c_any_of(
          function->parameters, [&](const Parameter& p) { return p.name == parameter.name; });
      if (!is_known) return;
      Term term;
      term.kind = Term::Kind::kParameter;
      term.name = term.keyword = parameter.name;
      term.may_lack = true;
      rule.result.arguments.push_back(std::move(term));
    };
    absl::c_for_each(op->operands, add);
    absl::c_for_each(op->attributes, add);
    return rule;
  }

  // Returns nullopt if the term cannot be made from the arguments of the call.
  std::optional<Value> Evaluate(Emitter& out, const Term& term, const Binding& binding,
                                const ValueMeta* meta) {
    switch (term.kind) {
      case Term::Kind::kLiteral: return Value::Constant(term.literal);
      case Term::Kind::kParameter: {
        const Binding::Entry* entry = binding.Find(term.name);
        if (entry != nullptr) return entry->value;
        return term.may_lack ? std::optional(Value()) : std::nullopt;
      }
      case Term::Kind::kHelper: {
        if (term.name == "rest") {
          Value rest;
          rest.is_list = true;
          const auto from = static_cast<size_t>(term.arguments[0].literal.integer());
          for (size_t i = from; i < binding.positional.size(); ++i) {
            const Value& value = binding.positional[i];
            if (value.is_constant()) return std::nullopt;
            const std::vector<Node*> nodes = value.is_list ? value.list : std::vector{value.node};
            rest.list.insert(rest.list.end(), nodes.begin(), nodes.end());
          }
          return rest;
        }
        if (term.name == "all" || term.name == "second") {
          const std::optional<Node*> made = MakeAll(out, term.arguments[0], binding, nullptr);
          if (!made.has_value()) return std::nullopt;
          return Value::Of(term.name == "all" ? *made : results_.Result(*made, 1));
        }
        std::vector<Value> args;
        for (const Term& argument : term.arguments) {
          std::optional<Value> value = Evaluate(out, argument, binding, nullptr);
          if (!value.has_value()) return std::nullopt;
          args.push_back(*std::move(value));
        }
        return CallHelper(out, term.name, args, meta);
      }
      case Term::Kind::kOperator: {
        const std::optional<Node*> made = MakeAll(out, term, binding, meta);
        if (!made.has_value()) return std::nullopt;
        return Value::Of(results_.Result(*made, 0));
      }
    }
    return std::nullopt;
  }

  // Makes the operation of a term. `meta` is that of its first result.
  std::optional<Node*> MakeAll(Emitter& out, const Term& term, const Binding& binding,
                               const ValueMeta* meta) {
    const Operator* op = FindOperator(term.name);
    // By name of the operator's parameter.
    std::map<absl::string_view, const Term*> given;
    const size_t num_operands = op->operands.size();
    for (size_t i = 0; i < term.arguments.size(); ++i) {
      const Term& argument = term.arguments[i];
      if (!argument.keyword.empty()) {
        given[argument.keyword] = &argument;
      } else if (i < num_operands) {
        given[op->operands[i].name] = &argument;
      } else if (i - num_operands < op->attributes.size()) {
        given[op->attributes[i - num_operands].name] = &argument;
      } else {
        return std::nullopt;
      }
    }
    std::vector<Argument> operands;
    for (const Parameter& parameter : op->operands) {
      const std::optional<Argument> operand = Operand(out, term, parameter, given, binding, meta);
      if (!operand.has_value()) return std::nullopt;
      operands.push_back(*operand);
    }
    Attributes attributes;
    for (const Parameter& parameter : op->attributes) {
      const auto it = given.find(parameter.name);
      std::optional<Value> value;
      if (it != given.end()) {
        value = Evaluate(out, *it->second, binding, nullptr);
        if (!value.has_value() || !value->is_constant()) return std::nullopt;
      }
      if (!value.has_value() || (value->is_none() && it->second->may_lack)) {
        if (!parameter.otherwise.has_value()) return std::nullopt;
        attributes[std::string(parameter.name)] = out.Default(parameter);
        continue;
      }
      const std::optional<Argument> attribute = out.Attribute(value->constant, parameter.type);
      if (!attribute.has_value()) return std::nullopt;
      attributes[std::string(parameter.name)] = *attribute;
    }
    return out.EmitAll(term.name, operands, attributes, meta);
  }

  std::optional<Argument> Operand(Emitter& out, const Term& term, const Parameter& parameter,
                                  const std::map<absl::string_view, const Term*>& given,
                                  const Binding& binding, const ValueMeta* meta) {
    const auto it = given.find(parameter.name);
    if (it == given.end()) {
      if (!parameter.otherwise.has_value()) return std::nullopt;
      Node* constant = out.ConstantOperand(out.Default(parameter), parameter.type);
      return constant == nullptr ? std::nullopt : std::optional(Argument(constant));
    }
    // A value to which a bias is added has the meta of the sum.
    const bool is_sum = term.name == "add" && it->second->kind == Term::Kind::kOperator &&
                        parameter.name == "x" && it->second->name != "matmul";
    std::optional<Value> value = Evaluate(out, *it->second, binding, is_sum ? meta : nullptr);
    if (!value.has_value()) return std::nullopt;
    if (value->is_list) return Argument(out.Combine(value->list));
    if (value->node != nullptr) return Argument(value->node);
    const bool is_none_given = it->second->kind != Term::Kind::kParameter || it->second->may_lack;
    if (value->is_none() && parameter.otherwise.has_value() && is_none_given) {
      Node* constant = out.ConstantOperand(out.Default(parameter), parameter.type);
      return constant == nullptr ? std::nullopt : std::optional(Argument(constant));
    }
    if (value->is_none()) {
      const bool may_be_none = is_none_given && parameter.type.empty();
      return may_be_none ? std::optional(Argument::None()) : std::nullopt;
    }
    Node* constant = out.ConstantOperand(value->constant, parameter.type);
    return constant == nullptr ? std::nullopt : std::optional(Argument(constant));
  }

  // Erases all nodes behind `last`, which a failed attempt made.
  static void Undo(Emitter& out, const Node* last) {
    while (out.graph()->last() != last) out.graph()->EraseNode(out.graph()->last());
  }

  // Lowers a call to one or several of PIR's operators; nullopt if that is not possible.
  std::optional<Value> LowerByRule(Emitter& out, const Node& node, const ValueMeta* meta) {
    const std::string name = FunctionName(node);
    if (node.op() == Op::kCallModule) return std::nullopt;
    const std::optional<Binding> binding = Bind(node);
    if (!binding.has_value()) return std::nullopt;
    absl::string_view python = name;
    const bool is_python = absl::ConsumePrefix(&python, "operator.") &&
                           binding->positional.size() == 2 && binding->entries.size() == 2;
    if (is_python) {
      const Value& a = binding->positional[0];
      const Value& b = binding->positional[1];
      Node* made = nullptr;
      if (python == "getitem" && a.node != nullptr && b.is_constant()) {
        made = LowerSubscript(out, a.node, b.constant, meta);
      } else if (!a.is_list && !b.is_list) {
        made = LowerPythonOperator(out, python, a, b, meta);
      }
      if (made != nullptr) return Value::Of(made);
    }
    const Node* last = out.graph()->last();
    for (const Rule& rule : RulesOf(name)) {
      if (!Fits(rule, *binding)) continue;
      if (auto value = Evaluate(out, rule.result, *binding, meta)) return value;
      Undo(out, last);
    }
    if (!RulesOf(name).empty()) return std::nullopt;
    const std::optional<Rule> rule = RuleByName(name);
    if (!rule.has_value() || !Fits(*rule, *binding)) return std::nullopt;
    return Evaluate(out, rule->result, *binding, meta);
  }

  // Lowers a getitem of a call with several results; nullopt for any other call.
  std::optional<Value> LowerElement(const Node& node) {
    if (!node.is_call_function("operator.getitem") || node.args().size() != 2 ||
        !node.args()[0].is_node() || !node.args()[1].is_int()) {
      return std::nullopt;
    }
    const Value& whole = values_.at(node.args()[0].node());
    const bool is_several =
        whole.is_list || (whole.node != nullptr && HasSeveralResults(*whole.node));
    if (!is_several) return std::nullopt;
    const auto size =
        static_cast<int64_t>(whole.is_list ? whole.list.size() : NumResults(*whole.node));
    const int64_t i = node.args()[1].integer();
    const int64_t at = i < 0 ? i + size : i;
    if (at < 0 || at >= size) return std::nullopt;
    const auto index = static_cast<size_t>(at);
    return Value::Of(whole.is_list ? whole.list[index] : results_.Result(whole.node, index));
  }

  absl::Status LowerCall(Emitter& out, const Node& node) {
    if (++num_nodes_ > max_nodes_) {
      return absl::InvalidArgumentError("bodies are called too often to be written out");
    }
    constants_.erase(&node);  // as another call of the body made it
    if (const std::optional<Argument> constant = ConstantOf(node)) {
      // A call that keeps its name may need the node.
      RETURN_IF_ERROR(Keep(out, node, PlainMeta(node.meta())));
      constants_[&node] = *constant;
      computed_.push_back(values_.at(&node).node);
      return absl::OkStatus();
    }
    if (std::optional<Value> element = LowerElement(node)) {
      values_[&node] = *std::move(element);
      return absl::OkStatus();
    }
    const ValueMeta* meta = PlainMeta(node.meta());
    const Node* last = out.graph()->last();
    std::optional<Value> value =
        LowerByRule(out, node, meta != nullptr && !meta->is_tuple ? meta : nullptr);
    if (value.has_value() && value->node != nullptr && value->node->annotation() == kVec) {
      // The Python function yields a list, so split the vec.
      value = value->node->meta() == nullptr
                  ? std::nullopt
                  : std::optional(Value{nullptr, true, out.Split(value->node), {}});
    }
    if (value.has_value() && IsOf(*value, node)) {
      values_[&node] = *std::move(value);
      return absl::OkStatus();
    }
    Undo(out, last);
    return Keep(out, node, meta);
  }

  // Returns whether the lowered value fits the call: one value or several.
  static bool IsOf(const Value& value, const Node& call) {
    if (!value.is_list && value.node == nullptr) return false;
    const bool is_several = value.is_list || HasSeveralResults(*value.node);
    if (!is_several && absl::c_linear_search(kListOperators, value.node->target())) return false;
    return call.meta() == nullptr || call.meta()->is_tuple == is_several;
  }

  // Keeps the call under its own name.
  absl::Status Keep(Emitter& out, const Node& node, const ValueMeta* meta) {
    const CallText call = PrintCall(node);
    std::vector<Node*> operands;
    for (const Node* operand : call.operands) {
      const Value& value = values_.at(operand);
      const std::vector<Node*> nodes = NodesOf(value);
      operands.push_back(value.is_list || nodes.size() != 1 ? out.Combine(nodes) : nodes[0]);
    }
    std::vector<Graph*> bodies;
    for (const Graph* body : call.bodies) {
      Graph* made = to_.AddGraph("region");
      bodies.push_back(made);
      RETURN_IF_ERROR(LowerBody(*body, NumCaptured(node, body), made));
    }
    ASSIGN_OR_RETURN(Node * made, ParseCall(call.text, operands, bodies, out.graph()));
    DeclareSymbols(meta, &to_);
    made->set_meta(meta);
    // A statement such as x[0] = y yields nothing.
    if (meta == nullptr && !node.has_uses()) made->set_meta(to_.InternTupleMeta({}));
    // The annotation may be a type of PIR, such as "vec", but a type of PyTorch is dropped.
    if (!absl::StartsWith(node.annotation(), "torch.")) made->set_annotation(node.annotation());
    values_[&node] = Value::Of(made);
    return absl::OkStatus();
  }

  // Returns the number of last parameters of a body that are outer values; 0 unless it is a region.
  static size_t NumCaptured(const Node& call, const Graph* body) {
    for (const Argument& argument : call.args()) {
      const bool is_region = argument.is_tuple() && !argument.elements().empty() &&
                             argument.elements()[0].is_graph() &&
                             argument.elements()[0].graph() == body;
      if (is_region) return argument.elements().size() - 1;
    }
    return 0;
  }

  absl::Status LowerBody(const Graph& from, size_t num_captured, Graph* graph) {
    Emitter out(graph, &results_, &made_, &arena_);
    size_t i = 0;
    const size_t num_parameters = from.placeholders().size();
    const size_t own = num_parameters - std::min(num_captured, num_parameters);
    for (const Node* node : from.nodes()) {
      if (node->is_placeholder()) {
        Node* parameter = graph->Placeholder(i < own ? absl::StrCat("arg_", i)
                                                     : absl::StrCat("captured_", i - own));
        ++i;
        parameter->set_meta(PlainMeta(node->meta()));
        DeclareSymbols(parameter->meta(), &to_);
        values_[node] = Value::Of(parameter);
      } else if (node->op() == Op::kGetAttr) {
        const Attribute* attribute = from.module()->FindAttribute(node->target());
        const ValueMeta* meta = attribute == nullptr || attribute->meta == nullptr
                                    ? nullptr
                                    : to_.InternValueMeta(*attribute->meta);
        const Argument no(false);
        const Argument yes(true);
        const auto flag = [](const Argument& b) {
          return Argument::List(absl::MakeConstSpan(&b, 1));
        };
        Node* made = out.EmitAll("builtin.parameter", {},
                                 {{"is_distributed", flag(no)},
                                  {"is_parameter", flag(yes)},
                                  {"need_clip", flag(yes)},
                                  {"parameter_name", node->target()},
                                  {"persistable", flag(yes)},
                                  {"trainable", flag(yes)}},
                                 PlainMeta(meta));
        values_[node] = Value::Of(made);
      } else if (node->is_output()) {
        const Argument value = MapArgument(node->args()[0], &arena_, [&](const Argument& leaf) {
          if (!leaf.is_node()) return leaf;
          const Value& lowered = values_.at(leaf.node());
          const std::vector<Node*> nodes = NodesOf(lowered);
          const bool is_one = !lowered.is_list && nodes.size() == 1;
          return Argument(is_one ? nodes[0] : out.Combine(nodes));
        });
        graph->Output(value);
      } else {
        RETURN_IF_ERROR(LowerCall(out, *node));
      }
    }
    return absl::OkStatus();
  }

  Module& to_;
  MadeSymbols made_;
  const size_t max_nodes_;
  const bool keep_module_paths_;
  size_t num_nodes_ = 0;
  Arena arena_;
  ResultTable results_;
  absl::flat_hash_map<const Node*, Value> values_;
  SizesOfRun sizes_of_run_;
  absl::flat_hash_map<const Node*, Argument> constants_;  // of calls that compute numbers
  std::vector<Node*> computed_;                           // these calls, lowered
};

}  // namespace

bool IsInPirTerms(const Module& module) {
  for (const Graph* graph : module.graphs()) {
    for (const Node* node : graph->nodes()) {
      const absl::string_view target = node->target();
      const absl::string_view dialect = target.substr(0, target.find('.'));
      if (node->op() == Op::kCallFunction &&
          (dialect == "pd_op" || dialect == "builtin" || dialect == "cinn_op")) {
        return true;
      }
    }
  }
  return false;
}

void PrepareForPir(Module* module, const PirOptions& options) {
  if (IsInPirTerms(*module)) return;
  PassRun run;
  // If a graph would get too large, it stays as it is.
  InlineRegions(module, run).IgnoreError();
  if (options.functional) Functionalize(module, run).IgnoreError();
}

absl::StatusOr<std::unique_ptr<Module>> ToPir(const Module& module, const PirOptions& options) {
  if (IsInPirTerms(module)) return module.Clone();
  const std::unique_ptr<Module> from = module.Clone();
  PrepareForPir(from.get(), options);
  const size_t num_symbols = from->symbols().size();
  AddMetas(from.get());
  PassRun run;
  RETURN_IF_ERROR(ToPaddle(from.get(), run).status());
  auto to = std::make_unique<Module>();
  const size_t max_nodes = 16 * from->num_nodes() + 1000;
  RETURN_IF_ERROR(
      GraphLowering(from.get(), num_symbols, to.get(), max_nodes, options.keep_module_paths)
          .LowerMain(*from->main()));
  // Erase nodes of unused results, since the reader makes no nodes for them.
  for (Graph* graph : to->graphs()) {
    for (Node* node : graph->nodes()) {
      const Node* of = nullptr;
      size_t i = 0;
      if (!node->has_uses() && IsResult(*node, &of, &i)) graph->EraseNode(node);
    }
  }
  NameNodes(to.get());
  return to;
}

}  // namespace graphnet::pir
