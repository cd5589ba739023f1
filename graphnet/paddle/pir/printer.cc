#include "graphnet/paddle/pir/printer.h"

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/text/literal.h"
#include "graphnet/paddle/pir/builder.h"
#include "graphnet/paddle/pir/call_text.h"
#include "graphnet/paddle/pir/operators.h"
#include "graphnet/paddle/pir/spelling.h"

namespace graphnet::pir {
namespace {

constexpr absl::string_view kParameter = "torch.nn.parameter.Parameter";

bool IsFloat(const ValueMeta* meta) {
  if (meta == nullptr) return false;
  if (meta->is_tuple) return absl::c_any_of(meta->elements, IsFloat);
  const DType dtype = meta->tensor == nullptr ? DType::kUnknown : meta->tensor->dtype;
  return IsFloatingPoint(dtype) || dtype == DType::kComplex64 || dtype == DType::kComplex128;
}

bool HasSymbol(const ValueMeta* meta) {
  if (meta == nullptr) return false;
  if (meta->is_tuple) return absl::c_any_of(meta->elements, HasSymbol);
  return meta->tensor != nullptr && !meta->tensor->is_static() && meta->tensor->has_shape;
}

// Returns whether a size of the node is a symbol that other values may have, too.
bool IsSymbolic(const Node& node) {
  for (size_t i = 0; i < NumResults(node); ++i) {
    if (!IsReserve(node, i) && HasSymbol(ResultMeta(node, i))) return true;
  }
  return false;
}

// Returns whether an argument is a region: a tuple of a graph and the outer values that it uses.
bool IsRegion(const Argument& argument) {
  if (!argument.is_tuple() || argument.elements().empty() || !argument.elements()[0].is_graph()) {
    return false;
  }
  const absl::Span<const Argument> captured = argument.elements().subspan(1);
  return captured.size() <= argument.elements()[0].graph()->placeholders().size() &&
         absl::c_all_of(captured, [](const Argument& a) { return a.is_node(); });
}

// Returns whether a call is written as the operation of its own name.
bool IsOperation(const Node& node) {
  if (node.op() != Op::kCallFunction) return false;
  bool has_region = false;
  for (const Argument& argument : node.args()) {
    if (IsRegion(argument)) {
      has_region = true;
    } else if (has_region || !(argument.is_node() || argument.is_none())) {
      return false;
    }
  }
  absl::string_view before;
  for (const KwArg& kwarg : node.kwargs()) {
    // Only sorted keywords read back equal, since the text has sorted attributes.
    if (kwarg.name <= before || kwarg.name == "call" || kwarg.name == "sym_shape_str" ||
        !IsBareName(kwarg.name) || !IsAttribute(kwarg.value)) {
      return false;
    }
    before = kwarg.name;
  }
  return true;
}

class PirPrinter {
 public:
  size_t num_untyped() const { return num_untyped_; }
  absl::StatusOr<std::string> Print(const Module& module) {
    for (const Graph* graph : module.graphs()) {
      for (const Node* node : graph->nodes()) {
        is_symbolic_ |= IsSymbolic(*node) || node->is_call_function("cinn_op.fusion");
      }
    }
    out_ = "{\n";
    depth_ = 1;
    for (const Node* node : module.main()->nodes()) {
      RETURN_IF_ERROR(PrintTop(*node));
    }
    out_ += "}\n";
    return std::move(out_);
  }

 private:
  // The parts of one operation.
  struct Operation {
    std::string name;
    std::vector<std::optional<Argument>> operands;                // nodes, or nullopt for None
    std::vector<std::pair<std::string, std::string>> attributes;  // unsorted
    std::vector<const ValueMeta*> results;
    std::vector<Argument> regions;
    absl::string_view type_text;  // type of the only result, if its meta does not say it
    bool is_input = false;
  };

  absl::Status PrintTop(const Node& node) {
    if (node.is_placeholder()) return PrintInput(node, node.annotation() == kParameter);
    if (node.op() == Op::kGetAttr) return PrintInput(node, /*is_parameter=*/true);
    if (!node.is_output()) return PrintCallNode(node);
    size_t i = 0;
    absl::Status status;
    ForEachArgument(node.args()[0], [&](const Argument& value) {
      if (!value.is_node() || !status.ok()) return;
      Operation op;
      op.name = "builtin.shadow_output";
      op.operands.emplace_back(value);
      op.attributes.emplace_back("output_name", absl::StrCat("\"output_", i++, "\""));
      status = Write(op, nullptr);
    });
    return status;
  }

  absl::Status PrintInput(const Node& node, bool is_parameter) {
    Operation op;
    op.is_input = true;
    op.results.push_back(node.meta());
    std::string name;
    AppendQuoted(node.target(), &name);
    if (is_parameter) {
      op.name = "builtin.parameter";
      op.attributes = {{"is_distributed", "[false]"}, {"is_parameter", "[true]"},
                       {"need_clip", "[true]"},       {"parameter_name", name},
                       {"persistable", "[true]"},     {"trainable", "[true]"}};
      return Write(op, &node);
    }
    op.name = "pd_op.data";
    const TensorMeta* meta = node.tensor_meta();
    const DType dtype = meta == nullptr ? DType::kUnknown : meta->dtype;
    std::string shape = "(pd_op.IntArray)[";
    if (meta != nullptr && meta->has_shape) {
      for (size_t i = 0; i < meta->shape.size(); ++i) {
        absl::StrAppend(&shape, i > 0 ? "," : "",
                        meta->shape[i].is_static() ? meta->shape[i].value : -1);
      }
    }
    std::string place = "undefined:0";
    if (meta != nullptr && meta->has_device) {
      place = meta->device.type == DeviceType::kCpu ? "cpu"
              : meta->device.type == DeviceType::kCuda
                  ? absl::StrCat("gpu:", meta->device.index < 0 ? 0 : meta->device.index)
                  : DeviceName(meta->device);
    }
    op.attributes = {
        {"dtype", absl::StrCat("(pd_op.DataType)",
                               dtype == DType::kUnknown ? "Undefined" : DTypeName(dtype))},
        {"name", name},
        {"place", absl::StrCat("(pd_op.Place)Place(", place, ")")},
        {"shape", shape + "]"}};
    return Write(op, &node);
  }

  absl::Status PrintCallNode(const Node& node) {
    const Node* of = nullptr;
    size_t index = 0;
    if (IsResult(node, &of, &index)) {
      values_[&node] = result_values_.at({of, index});
      live_[&node] = result_live_.at({of, index});
      std::string type;
      AppendType(ResultMeta(*of, index), &type);
      types_[&node] = std::move(type);
      return absl::OkStatus();
    }
    Operation op;
    if (IsOperation(node)) {
      op.name = std::string(node.target());
      for (const Argument& argument : node.args()) {
        if (IsRegion(argument)) {
          op.regions.push_back(argument);
        } else {
          op.operands.push_back(argument.is_node() ? std::optional(argument) : std::nullopt);
        }
      }
      for (const KwArg& kwarg : node.kwargs()) {
        std::string text;
        AppendAttribute(kwarg.value, AttributeType(op.name, kwarg.name), &text);
        op.attributes.emplace_back(kwarg.name, std::move(text));
      }
    } else {
      const CallText call = PrintCall(node);
      op.name = std::string(node.target());
      if (node.op() == Op::kCallMethod) op.name = absl::StrCat("Tensor.", op.name);
      if (node.op() == Op::kCallModule) op.name = absl::StrCat("Module.", op.name);
      std::string text;
      AppendQuoted(call.text, &text);
      op.attributes.emplace_back("call", std::move(text));
      for (const Node* operand : call.operands) {
        op.operands.emplace_back(Argument(const_cast<Node*>(operand)));  // only read
      }
      for (const Graph* body : call.bodies) {
        bodies_.push_back(Argument(const_cast<Graph*>(body)));
      }
      op.regions.assign(bodies_.end() - static_cast<std::ptrdiff_t>(call.bodies.size()),
                        bodies_.end());
    }
    for (size_t i = 0; i < NumResults(node); ++i) op.results.push_back(ResultMeta(node, i));
    if (IsTypeText(node.annotation())) op.type_text = node.annotation();
    return Write(op, &node);
  }

  void Indent() { out_.append(depth_ * 4, ' '); }

  std::string ValueOf(const Argument& operand) {
    const auto it = values_.find(operand.node());
    return it == values_.end() ? "<<NULL VALUE>>" : it->second;
  }

  void AppendTypes(const Operation& op) {
    if (!op.type_text.empty() && op.results.size() == 1) {
      // type_text is the word in front of <…>, or the whole type.
      if (IsBareWord(op.type_text) && op.results[0] != nullptr &&
          op.results[0]->tensor != nullptr) {
        AppendTensorType(op.results[0]->tensor, op.type_text, &out_);
      } else {
        absl::StrAppend(&out_, op.type_text);
      }
      return;
    }
    for (size_t i = 0; i < op.results.size(); ++i) {
      if (i > 0) out_ += ", ";
      const size_t begin = out_.size();
      AppendType(op.results[i], &out_);
      if (absl::StrContains(absl::string_view(out_).substr(begin), kUnknownType)) ++num_untyped_;
    }
  }

  // Writes an operation. `of` is the node that has the results; null if there are none.
  absl::Status Write(Operation& op, const Node* of) {
    if (out_.size() > kMaxTextFileBytes) {
      return absl::InvalidArgumentError("the text is longer than 64 MiB, the limit for reading it");
    }
    // Gradients flow to float values that depend on an input.
    const bool is_live = op.is_input ||
                         absl::c_any_of(op.operands,
                                        [&](const auto& operand) {
                                          const auto it = operand.has_value()
                                                              ? live_.find(operand->node())
                                                              : live_.end();
                                          return it != live_.end() && it->second;
                                        }) ||
                         !op.regions.empty();
    Indent();
    out_ += '(';
    std::string gradient = "[";
    bool flows_somewhere = false;
    for (size_t i = 0; i < op.results.size(); ++i) {
      const std::string name = absl::StrCat("%", num_values_++);
      absl::StrAppend(&out_, i > 0 ? ", " : "", name);
      const bool flows = is_live && IsFloat(op.results[i]);
      flows_somewhere |= flows;
      absl::StrAppend(&gradient, i > 0 ? "," : "", flows ? "false" : "true");
      if (of == nullptr) continue;
      if (i == 0) values_[of] = name;
      result_values_[{of, i}] = name;
      result_live_[{of, i}] = flows;
    }
    if (of != nullptr) live_[of] = flows_somewhere;
    absl::StrAppend(&out_, ") = ");
    AppendQuoted(op.name, &out_);
    const size_t id = ++num_operations_;
    absl::StrAppend(&out_, " [id:", id, "] (");
    for (size_t i = 0; i < op.operands.size(); ++i) {
      absl::StrAppend(&out_, i > 0 ? ", " : "",
                      op.operands[i].has_value() ? ValueOf(*op.operands[i]) : "<<NULL VALUE>>");
    }
    if (!absl::StartsWith(op.name, "cinn_op.")) AddWhatFollows(gradient + "]", &op);
    absl::c_sort(op.attributes);
    out_ += ')';
    // Paddle's passes make a fusion without attributes.
    if (op.name != "cinn_op.fusion" || !op.attributes.empty() || !op.operands.empty()) {
      AppendAttributes(op);
    }
    out_ += " -> ";
    const size_t types = out_.size();
    AppendTypes(op);
    if (of != nullptr) types_[of] = out_.substr(types);
    for (size_t i = 0; i < op.regions.size(); ++i) {
      out_ += i == 0 ? " {\n" : " else {\n";
      RETURN_IF_ERROR(WriteRegion(op.regions[i]));
      Indent();
      out_ += '}';
    }
    out_ += " { ";
    for (size_t i = 0; i < op.results.size(); ++i) {
      out_ += i > 0 ? ", (" : "(";
      if (is_symbolic_) AppendSymbolicShape(op.results[i], &out_);
      out_ += ')';
    }
    absl::StrAppend(&out_, " }\t(op_", id, ")\n");
    return absl::OkStatus();
  }

  // Adds the attributes that follow from the types of an operation.
  void AddWhatFollows(const std::string& gradient, Operation* op) {
    const bool is_output = op->name == "builtin.shadow_output";
    if (is_symbolic_ && (is_output || !op->results.empty())) {
      std::string symbolic;
      for (const ValueMeta* result : op->results) {
        absl::StrAppend(&symbolic, symbolic.empty() ? "" : ", ");
        AppendSymbolicShape(result, &symbolic);
      }
      if (is_output) AppendSymbolicShape(op->operands[0]->node()->meta(), &symbolic);
      std::string text;
      AppendQuoted(symbolic, &text);
      op->attributes.emplace_back("sym_shape_str", std::move(text));
    }
    const bool says_gradient = absl::c_any_of(
        op->attributes, [](const auto& attribute) { return attribute.first == "stop_gradient"; });
    if (!says_gradient && !op->results.empty()) {
      op->attributes.emplace_back("stop_gradient", gradient);
    }
  }

  // Appends " {a:1} : (types of the operands)".
  void AppendAttributes(const Operation& op) {
    out_ += " {";
    for (size_t i = 0; i < op.attributes.size(); ++i) {
      absl::StrAppend(&out_, i > 0 ? "," : "", op.attributes[i].first, ":",
                      op.attributes[i].second);
    }
    out_ += "} : (";
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (i > 0) out_ += ", ";
      const auto it =
          op.operands[i].has_value() ? types_.find(op.operands[i]->node()) : types_.end();
      out_ += it == types_.end() ? std::string(kUnknownType) : it->second;
    }
    out_ += ')';
  }

  absl::Status WriteRegion(const Argument& region) {
    const bool has_captures = region.is_tuple();
    const Graph* body = has_captures ? region.elements()[0].graph() : region.graph();
    const absl::Span<const Argument> captured =
        has_captures ? region.elements().subspan(1) : absl::Span<const Argument>();
    const std::vector<Node*> parameters = body->placeholders();
    const size_t own = parameters.size() - captured.size();
    ++depth_;
    if (own > 0) {
      Indent();
      out_ += '^';
      for (size_t i = 0; i < own; ++i) {
        const std::string name = absl::StrCat("%arg_", num_arguments_++);
        values_[parameters[i]] = name;
        live_[parameters[i]] = IsFloat(parameters[i]->meta());
        std::string type;
        AppendType(parameters[i]->meta(), &type);
        types_[parameters[i]] = type;
        absl::StrAppend(&out_, i > 0 ? ", " : "", name, " {type:(Type)", type, "}");
      }
      out_ += '\n';
    }
    for (size_t i = 0; i < captured.size(); ++i) {
      const Node* inner = parameters[own + i];
      const Node* outer = captured[i].node();
      // Copy first, since the maps move their entries when they grow.
      std::string type = types_[outer];
      const bool is_live = live_[outer];
      values_[inner] = ValueOf(captured[i]);
      live_[inner] = is_live;
      types_[inner] = std::move(type);
    }
    for (const Node* node : body->nodes()) {
      if (node->is_placeholder()) continue;
      if (node->op() == Op::kGetAttr) {
        RETURN_IF_ERROR(PrintInput(*node, /*is_parameter=*/true));
      } else if (node->is_output()) {
        RETURN_IF_ERROR(PrintYield(*node));
      } else {
        RETURN_IF_ERROR(PrintCallNode(*node));
      }
    }
    --depth_;
    return absl::OkStatus();
  }

  absl::Status PrintYield(const Node& node) {
    Operation op;
    op.name = "cf.yield";
    const Argument& value = node.args()[0];
    const bool is_flat =
        value.is_tuple() &&
        absl::c_all_of(value.elements(), [](const Argument& a) { return a.is_node(); });
    if (is_flat) {
      for (const Argument& element : value.elements()) op.operands.emplace_back(element);
    } else {
      const CallText call = PrintCall(node);
      for (const Node* operand : call.operands) {
        op.operands.emplace_back(Argument(const_cast<Node*>(operand)));  // only read
      }
      std::string text;
      AppendQuoted(call.text, &text);
      op.attributes.emplace_back("call", std::move(text));
    }
    return Write(op, nullptr);
  }

  std::string out_;
  size_t depth_ = 0;
  bool is_symbolic_ = false;
  size_t num_values_ = 0;
  size_t num_operations_ = 0;
  size_t num_arguments_ = 0;
  size_t num_untyped_ = 0;
  std::vector<Argument> bodies_;
  // Facts of values that were written. A body that is written again overwrites its entries.
  absl::flat_hash_map<const Node*, std::string> values_;
  absl::flat_hash_map<const Node*, std::string> types_;
  absl::flat_hash_map<const Node*, bool> live_;
  absl::flat_hash_map<std::pair<const Node*, size_t>, std::string> result_values_;
  absl::flat_hash_map<std::pair<const Node*, size_t>, bool> result_live_;
};

}  // namespace

absl::StatusOr<std::string> PrintPir(const Module& module, size_t* untyped) {
  PirPrinter printer;
  absl::StatusOr<std::string> text = printer.Print(module);
  if (untyped != nullptr) *untyped = printer.num_untyped();
  return text;
}

}  // namespace graphnet::pir
