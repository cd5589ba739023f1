// Writes graphs, and calls that take them as bodies; see graph_exporter.h.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/missing_values.h"
#include "graphnet/formats/pt2/graph_exporter.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ops/callable.h"

namespace graphnet::pt2 {
namespace {

using Kind = ExportValue::Kind;
using SchemaKind = SchemaType::Kind;

constexpr absl::string_view kHigherOrder = "torch.ops.higher_order.";
// Most results of a call whose number of results is unknown.
constexpr int64_t kMaxUnknownResults = 4096;
// Each written node counts as this many values.
constexpr uint64_t kNodeCost = 16;

// Counts the elements that are taken from a call whose results are unknown.
absl::StatusOr<size_t> ElementsTaken(const Node& sequence) {
  int64_t count = 0;
  for (const Node* user : sequence.users()) {
    if (!user->is_call_function("operator.getitem") || user->args().size() != 2 ||
        !user->args()[1].is_int()) {
      continue;
    }
    const int64_t i = user->args()[1].integer();
    if (i >= kMaxUnknownResults) {
      return NodeError(*user, absl::StrCat("it takes element ", i, " of ", sequence.name(),
                                           ", whose results are not known; `graphnet shapes` "
                                           "says why"));
    }
    count = std::max(count, i + 1);
  }
  return static_cast<size_t>(count);
}

}  // namespace

std::string HigherOrderTarget(absl::string_view target) {
  if (absl::StartsWith(target, kHigherOrder)) return std::string(target);
  if (target == "torch.cond" || target == "torch.while_loop") {
    return absl::StrCat(kHigherOrder, absl::StripPrefix(target, "torch."));
  }
  return "";
}

// --- Graphs ------------------------------------------------------------------

absl::StatusOr<ExportValue> GraphExporter::ExportBody(const Graph& graph, Scope* scope) {
  for (const Node* node : graph.nodes()) {
    switch (node->op()) {
      case Op::kPlaceholder: break;
      case Op::kGetAttr: {
        const auto it = attribute_values_.find(node->target());
        if (it == attribute_values_.end()) {
          return NodeError(*node,
                           absl::StrCat("the value of the attribute is not known", kValueHint));
        }
        if (scope->depth > 0) {
          return NodeError(*node,
                           "a body of a higher-order call reads an attribute; torch.export passes "
                           "it as an operand");
        }
        values_[node] = it->second;
        break;
      }
      case Op::kOutput: return Resolve(*node, node->args()[0], scope);
      default: {
        absl::StatusOr<ExportValue> value = ExportCall(*node, scope);
        if (!value.ok() && missing_ != nullptr) value = StandIn(*node, value.status(), scope);
        ASSIGN_OR_RETURN(values_[node], std::move(value));
      }
    }
  }
  return absl::InternalError("a graph without an output");
}

ExportValue GraphExporter::StandIn(const Node& node, const absl::Status& status, Scope* scope) {
  if (first_missing_.ok()) first_missing_ = status;
  const bool takes_lost =
      absl::c_any_of(node.operands(), [&](const Node* operand) { return lost_.contains(operand); });
  const Callable::Kind kind = CalleeOf(node).kind;
  const bool is_known = kind != Callable::Kind::kNone && kind != Callable::Kind::kForeign;
  // A failure within a body is counted there, not again as a failure of the call.
  if ((!takes_lost || !is_known) && (!node.HasBody() || missing_->empty()))
    AddMissing(status, missing_);
  absl::StatusOr<ExportValue> value =
      AddTensor(NameOf(node, scope), node.tensor_meta(), node, scope);
  if (value.ok()) return *value;
  lost_.insert(&node);
  return ExportValue();
}

absl::Status GraphExporter::WriteGraph(const Graph& body, Scope* scope, JsonWriter* json) {
  // A body is written at each use, together with the bodies that it uses.
  if (scope->depth == 0) {
    const std::optional<Expansion> all = bodies_.Of(&body, BodyParts());
    if (!all || !written_.Charge(std::min(all->size, kMaxExpansion / kNodeCost) * kNodeCost)) {
      return NodeError(*body.output(),
                       "the program is too large, because torch.export needs a copy of each body "
                       "wherever it is used");
    }
  }
  std::string name(body.name());
  for (char& c : name) {
    if (c == '.') c = '_';
  }
  Scope inner;
  Original::Tables tables;
  if (scope->original != nullptr) {
    if (const auto it = scope->original->graphs.find(body.name());
        it != scope->original->graphs.end()) {
      Json graph;
      ReadFields(it->second, {{"graph", &graph, false}}).IgnoreError();
      tables = Original::TablesOf(graph);
      inner.original = &tables;
    }
  }
  inner.depth = scope->depth + 1;
  Open(body, &inner);
  const auto given = operands_.find(&body);
  size_t i = 0;
  for (const Node* placeholder : body.placeholders()) {
    const ExportValue* const operand =
        given != operands_.end() && i < given->second.size() ? &given->second[i] : nullptr;
    ++i;
    if (placeholder->meta() == nullptr && placeholder->annotation().empty() &&
        !placeholder->has_uses() && (operand == nullptr || !operand->is_tensor())) {
      // The operand is passed on but never read.
      inner.inputs.Raw(R"({"as_none":true})");
      continue;
    }
    ASSIGN_OR_RETURN(const ExportValue value, AddPlaceholder(*placeholder, operand, &inner));
    RETURN_IF_ERROR(WriteArgument(*placeholder, value, nullptr, &inner, &inner.inputs));
  }
  ASSIGN_OR_RETURN(const ExportValue result, ExportBody(body, &inner));
  JsonWriter outputs;
  outputs.StartArray();
  const auto write = [&](const ExportValue& value) -> absl::Status {
    if (value.elements != nullptr) {
      return NodeError(*body.output(), "a body returns nested structures");
    }
    return WriteArgument(*body.output(), value, nullptr, &inner, &outputs);
  };
  const bool is_single = result.elements == nullptr;
  if (is_single && !result.is_tensor()) {
    return NodeError(*body.output(), "a body returns a value that is neither a tensor nor a tuple");
  }
  if (is_single) {
    RETURN_IF_ERROR(write(result));
  } else {
    for (const ExportValue& element : *result.elements) RETURN_IF_ERROR(write(element));
  }
  outputs.EndArray();
  results_[&body] = result;
  JsonWriter graph;
  Close(outputs.text(), is_single, &inner, &graph);
  // PyTorch finds a body by its name, so one that is written differently gets a name of its own.
  std::string text(graph.text());
  if (const auto [it, is_new] = scope->bodies.try_emplace(name, text); is_new) {
    scope->names.Insert(name);
  } else if (it->second != text) {
    name = Unique(name, scope);
  }
  json->StartObject();
  json->Member("name").String(name);
  json->Member("graph").Raw(text);
  json->EndObject();
  return absl::OkStatus();
}

const ValueMeta* GraphExporter::MetaOfBranches(const ExportValue& taken, const ExportValue& other,
                                               std::vector<SchemaType>* types) {
  const auto result_of = [this](const ExportValue& branch) -> const ExportValue* {
    if (!branch.is_literal() || !branch.literal.is_graph()) return nullptr;
    const auto it = results_.find(branch.literal.graph());
    return it == results_.end() ? nullptr : &it->second;
  };
  const ExportValue* const a = result_of(taken);
  const ExportValue* const b = result_of(other);
  if (a == nullptr || b == nullptr || a->elements == nullptr || b->elements == nullptr ||
      a->elements->empty() || a->elements->size() != b->elements->size()) {
    return nullptr;
  }
  const auto meta_of = [this](const ExportValue& value) -> const ValueMeta* {
    if (value.kind != Kind::kTensor || value.meta == nullptr || !value.meta->is_static())
      return nullptr;
    TensorMeta meta = *value.meta;
    meta.has_device = true;
    return scratch_.InternValueMeta(meta);
  };
  // Returns the kind of a number; kOther for other values.
  const auto number_of = [](const ExportValue& value) {
    if (value.is_int() || value.kind == Kind::kInt) return SchemaKind::kInt;
    const bool is_literal = value.is_number();
    if (value.kind == Kind::kFloat || (is_literal && value.literal.is_float()))
      return SchemaKind::kFloat;
    if (value.kind == Kind::kBool || (is_literal && value.literal.is_bool()))
      return SchemaKind::kBool;
    return SchemaKind::kOther;
  };
  std::vector<const ValueMeta*> elements;
  for (size_t i = 0; i < a->elements->size(); ++i) {
    const ExportValue& x = (*a->elements)[i];
    const ExportValue& y = (*b->elements)[i];
    SchemaType type{.kind = SchemaKind::kAny};
    const ValueMeta* meta = meta_of(x);
    if (meta == nullptr || meta != meta_of(y)) {
      type.kind = number_of(x);
      if (type.kind == SchemaKind::kOther || type.kind != number_of(y)) return nullptr;
      meta = scratch_.InternValueMeta(TensorMeta());
    }
    elements.push_back(meta);
    types->push_back(type);
  }
  return scratch_.InternTupleMeta(elements);
}

absl::StatusOr<ExportValue> GraphExporter::ExportHigherOrder(const Node& node,
                                                             absl::string_view target,
                                                             absl::Span<const ExportValue> args,
                                                             Scope* scope) {
  // The bodies of control flow take the elements of the lists that follow them as operands.
  ExportValue::Elements operands;
  for (const ExportValue& arg : args) {
    if (arg.elements != nullptr && arg.kind != Kind::kDict) {
      operands.insert(operands.end(), arg.elements->begin(), arg.elements->end());
    }
  }
  const bool is_control_flow =
      absl::EndsWith(target, ".cond") || absl::EndsWith(target, ".while_loop");
  // Only a loop of known length may count in numbers, and none such is left.
  if (absl::EndsWith(target, ".while_loop") &&
      absl::c_any_of(operands, [](const ExportValue& v) { return v.is_number(); }))
    return NodeError(node, "the number of its turns is known only when it runs, or is too large");
  for (const ExportValue& arg : args) {
    if (is_control_flow && arg.is_literal() && arg.literal.is_graph())
      operands_[arg.literal.graph()] = operands;
  }
  JsonWriter inputs, outputs;
  inputs.StartArray();
  for (const ExportValue& arg : args)
    RETURN_IF_ERROR(WriteInput(node, "", kPositional, arg, nullptr, scope, &inputs));
  for (const KwArg& kwarg : node.kwargs()) {
    ASSIGN_OR_RETURN(const ExportValue value, Resolve(node, kwarg.value, scope));
    RETURN_IF_ERROR(WriteInput(node, kwarg.name, kKeyword, value, nullptr, scope, &inputs));
  }
  inputs.EndArray();
  const absl::string_view name = NameOf(node, scope);
  const SchemaType any{.kind = SchemaKind::kAny};
  const ValueMeta* meta = node.meta();
  const auto lacks_any = [](const ValueMeta* value) {
    return value->is_tuple
               ? absl::c_any_of(value->elements,
                                [](const ValueMeta* element) {
                                  return element == nullptr ||
                                         (!element->is_tuple && !IsKnown(element->tensor));
                                })
               : !IsKnown(value->tensor);
  };
  std::vector<SchemaType> branch_types;
  if (absl::EndsWith(target, ".cond") && args.size() == 4 && (meta == nullptr || lacks_any(meta))) {
    const ValueMeta* const found = MetaOfBranches(args[1], args[2], &branch_types);
    if (found != nullptr) meta = found;
  }
  size_t taken = 0;
  if (meta == nullptr || !meta->is_tuple) {
    ASSIGN_OR_RETURN(taken, ElementsTaken(node));
  }
  ExportValue result;
  std::optional<bool> is_single;
  outputs.StartArray();
  if (meta != nullptr && !meta->is_tuple && IsKnown(meta->tensor)) {
    is_single = true;
    ASSIGN_OR_RETURN(result,
                     AddElement(node, &node, meta, &any, std::string(name), scope, &outputs));
  } else if (meta != nullptr || taken > 0) {
    is_single = false;
    const size_t size = meta != nullptr && meta->is_tuple ? meta->elements.size() : taken;
    std::vector<SchemaType> types(size, any);
    if (branch_types.size() == size) types = std::move(branch_types);
    ASSIGN_OR_RETURN(result, AddElements(node, &node, meta, types, name, scope, &outputs));
    const auto is_none = [](const ExportValue& value) { return value.is_none(); };
    if (is_control_flow && absl::c_all_of(*result.elements, is_none)) {
      return NodeError(node,
                       "the shape and dtype of its value are not known; `graphnet shapes` "
                       "says why");
    }
  } else if (node.has_uses()) {
    return NodeError(node,
                     "the shape and dtype of its value are not known; `graphnet shapes` "
                     "says why");
  } else if (is_control_flow) {
    return NodeError(node, "its bodies return nothing, and torch.export has no such branches");
  } else {
    outputs.Raw(R"({"as_none":true})");
  }
  outputs.EndArray();
  if (!absl::StartsWith(target, kHigherOrder)) is_single = std::nullopt;
  WriteNode(&node, target, inputs.text(), outputs.text(), name, is_single, scope);
  return result;
}

}  // namespace graphnet::pt2
