// Writes calls; see graph_exporter.h.
#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/memory/memory_use.h"
#include "graphnet/facts/shapes/infer_meta.h"
#include "graphnet/formats/pt2/graph_exporter.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/out_overload.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet::pt2 {
namespace {

using Kind = ExportValue::Kind;
using SchemaKind = SchemaType::Kind;

// ArgumentKind.
constexpr int64_t kPositional = 1;
constexpr int64_t kKeyword = 2;

constexpr absl::string_view kHigherOrder = "torch.ops.higher_order.";
// Most results of a call whose number of results is unknown.
constexpr int64_t kMaxUnknownResults = 4096;
// Sizes of more terms are not written; each becomes a new symbol.
constexpr uint64_t kMaxSizeTerms = 1024;
// Each written node counts as this many values.
constexpr uint64_t kNodeCost = 16;

// Returns the full target of a higher-order call, such as torch.cond; empty for other targets.
std::string HigherOrderTarget(absl::string_view target) {
  if (absl::StartsWith(target, kHigherOrder)) return std::string(target);
  if (target == "torch.cond" || target == "torch.while_loop") {
    return absl::StrCat(kHigherOrder, absl::StripPrefix(target, "torch."));
  }
  return "";
}

bool IsSymbolic(absl::string_view target) {
  return absl::StartsWith(target, "operator.") || absl::StartsWith(target, "_operator.") ||
         absl::StartsWith(target, "math.") || absl::StartsWith(target, "torch.sym_") ||
         absl::StartsWith(target, "torch._sym_");
}

// Returns the kind of number that a function of numbers returns.
Kind NumberKind(absl::string_view function, absl::Span<const ExportValue> args) {
  const absl::string_view name = function.substr(function.rfind('.') + 1);
  for (const absl::string_view is_bool :
       {"eq", "ne", "lt", "le", "gt", "ge", "not_", "sym_not", "is_", "is_not"}) {
    if (name == is_bool) return Kind::kBool;
  }
  for (const absl::string_view is_int : {"ceil", "floor", "trunc", "sym_int"}) {
    if (name == is_int) return Kind::kInt;
  }
  for (const absl::string_view is_float :
       {"truediv", "sym_float", "sqrt", "sym_sqrt", "_sym_sqrt"}) {
    if (name == is_float) return Kind::kFloat;
  }
  bool all_bools = !args.empty();
  for (const ExportValue& arg : args) {
    if (arg.kind == Kind::kFloat || (arg.is_literal() && arg.literal.is_float())) {
      return Kind::kFloat;
    }
    all_bools =
        all_bools && (arg.kind == Kind::kBool || (arg.is_literal() && arg.literal.is_bool()));
  }
  const bool is_logical = name == "and_" || name == "or_" || name == "xor";
  return all_bools && is_logical ? Kind::kBool : Kind::kInt;
}

std::optional<SymExpr::Kind> SizeFunction(absl::string_view function) {
  const absl::string_view name = function.substr(function.rfind('.') + 1);
  if (name == "add") return SymExpr::Kind::kAdd;
  if (name == "sub") return SymExpr::Kind::kSub;
  if (name == "mul") return SymExpr::Kind::kMul;
  if (name == "floordiv") return SymExpr::Kind::kFloorDiv;
  if (name == "mod") return SymExpr::Kind::kMod;
  if (name == "sym_max") return SymExpr::Kind::kMax;
  if (name == "sym_min") return SymExpr::Kind::kMin;
  if (name == "eq") return SymExpr::Kind::kEq;
  if (name == "ne") return SymExpr::Kind::kNe;
  if (name == "lt") return SymExpr::Kind::kLt;
  if (name == "le") return SymExpr::Kind::kLe;
  if (name == "gt") return SymExpr::Kind::kGt;
  if (name == "ge") return SymExpr::Kind::kGe;
  return std::nullopt;
}

// Returns Python's function for TorchScript's operator on numbers; empty if there is none.
absl::string_view FunctionOf(absl::string_view target) {
  absl::string_view name = target;
  if (!absl::ConsumePrefix(&name, "aten.")) return "";
  const size_t dot = name.find('.');
  if (dot == absl::string_view::npos) return "";
  const absl::string_view overload = name.substr(dot + 1);
  name = name.substr(0, dot);
  // Overloads without a name take the numbers that item() yields.
  const bool is_number = overload == "int" || overload == "float" || overload == "int_float" ||
                         overload == "float_int" || overload == "default";
  if (!is_number) return "";
  static constexpr std::pair<absl::string_view, absl::string_view> kFunctions[] = {
      {"add", "_operator.add"},
      {"sub", "_operator.sub"},
      {"mul", "_operator.mul"},
      {"div", "_operator.truediv"},
      {"floordiv", "_operator.floordiv"},
      {"remainder", "_operator.mod"},
      {"neg", "_operator.neg"},
      {"pow", "_operator.pow"},
      {"eq", "_operator.eq"},
      {"ne", "_operator.ne"},
      {"lt", "_operator.lt"},
      {"le", "_operator.le"},
      {"gt", "_operator.gt"},
      {"ge", "_operator.ge"},
      {"ceil", "math.ceil"},
      {"floor", "math.floor"}};
  for (const auto& [from, to] : kFunctions) {
    if (name == from) return to;
  }
  return "";
}

// Returns the first node that takes each of the `size` elements of `sequence`; null for an unused
// element. O(users + size).
std::vector<const Node*> ElementUsers(const Node& sequence, size_t size) {
  std::vector<const Node*> takers(size);
  for (const Node* user : sequence.users()) {
    if (!user->is_call_function("operator.getitem") || user->args().size() != 2) continue;
    const Argument& index = user->args()[1];
    if (!user->args()[0].is_node() || user->args()[0].node() != &sequence || !index.is_int()) {
      continue;
    }
    const auto count = static_cast<int64_t>(size);
    const int64_t i = index.integer() < 0 ? index.integer() + count : index.integer();
    if (i < 0 || i >= count) continue;
    const Node*& taker = takers[static_cast<size_t>(i)];
    if (taker == nullptr) taker = user;
  }
  return takers;
}

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

// True if the value of a call may be computed from the sizes of a tensor.
bool ReadsSizes(const Node& node) {
  absl::string_view name = node.target();
  if (name == "builtins.getattr" || name == "builtins.len" || name == "operator.getitem" ||
      name == "operator.setitem") {
    return true;
  }
  if (!absl::ConsumePrefix(&name, "aten.")) return false;
  name = name.substr(0, name.find('.'));
  for (const absl::string_view reader :
       {"size", "sym_size", "dim", "len", "numel", "sym_numel", "stride", "sym_stride"}) {
    if (name == reader) return true;
  }
  return false;
}

// Returns whether a branch can be written with this operand in it.
bool IsKnownValue(const ExportValue& value) {
  return value.kind == Kind::kScalar || (value.is_literal() && !value.literal.is_graph());
}

bool IsKnown(const TensorMeta* meta) { return meta != nullptr && meta->dtype != DType::kUnknown; }

}  // namespace

// --- Graphs ------------------------------------------------------------------

absl::StatusOr<ExportValue> GraphExporter::ExportBody(const Graph& graph, Scope* scope) {
  for (const Node* node : graph.nodes()) {
    switch (node->op()) {
      case Op::kPlaceholder: break;
      case Op::kGetAttr: {
        const auto it = attribute_values_.find(node->target());
        if (it == attribute_values_.end()) {
          return NodeError(*node, "the value of the attribute is not known");
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

absl::StatusOr<ExportValue> GraphExporter::Inline(const Graph& graph,
                                                  absl::Span<const ExportValue> inputs,
                                                  Scope* scope) {
  if (!inlined_.Charge(graph.num_nodes())) {
    return NodeError(*graph.output(),
                     "the program is too large with its loops and branches written "
                     "out");
  }
  const std::vector<Node*> placeholders = graph.placeholders();
  for (size_t i = 0; i < placeholders.size(); ++i) {
    values_[placeholders[i]] = i < inputs.size() ? inputs[i] : ExportValue();
  }
  return ExportBody(graph, scope);
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
    const ExportValue* const operand = given != operands_.end() && i < given->second.values.size()
                                           ? &given->second.values[i]
                                           : nullptr;
    ++i;
    if (operand != nullptr && given->second.are_fixed && IsKnownValue(*operand)) {
      values_[placeholder] = *operand;
      continue;
    }
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
  const auto write = [&](ExportValue value) -> absl::Status {
    if (value.kind == Kind::kScalar) {
      ASSIGN_OR_RETURN(value, MakeTensor(*body.output(), value, &inner));
    }
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

// --- Nodes -------------------------------------------------------------------

void GraphExporter::WriteMetadata(const Node* node, absl::string_view target,
                                  absl::string_view name, const Scope& scope, JsonWriter* json) {
  if (scope.original != nullptr) {
    const auto it = scope.original->nodes.find(name);
    Json was, metadata;
    if (it != scope.original->nodes.end() &&
        ReadFields(it->second, {{"target", &was}, {"metadata", &metadata}}).ok() &&
        was.is_string() && *was.String() == target) {
      return json->Copy(metadata);
    }
  }
  json->StartObject();
  if (node != nullptr) {
    const SourceLocation location = node->location();
    if (!location.file.empty() && !absl::StrContains(location.file, '"')) {
      json->Member("stack_trace")
          .String(
              absl::StrCat("  File \"", location.file, "\", line ", location.line, ", in forward"));
    }
    const absl::string_view path = node->module_path();
    if (!path.empty() && path.find_first_of(",;[]()") == absl::string_view::npos) {
      json->Member("nn_module_stack")
          .String(absl::StrCat("L__self__,,torch.nn.Module;", path, ",", path, ",torch.nn.Module"));
    }
  }
  json->EndObject();
}

void GraphExporter::WriteNode(const Node* node, absl::string_view target, absl::string_view inputs,
                              absl::string_view outputs, absl::string_view name,
                              std::optional<bool> is_single_tensor, Scope* scope) {
  JsonWriter& json = scope->nodes;
  json.StartObject();
  json.Member("target").String(target);
  json.Member("inputs").Raw(inputs);
  json.Member("outputs").Raw(outputs);
  WriteMetadata(node, target, name, *scope, &json.Member("metadata"));
  json.Member("is_hop_single_tensor_return");
  is_single_tensor ? json.Bool(*is_single_tensor) : json.Null();
  json.Member("name").String(name);
  json.EndObject();
}

absl::StatusOr<ExportValue> GraphExporter::ExportCall(const Node& node, Scope* scope) {
  if (node.op() == Op::kCallModule) return NodeError(node, "a call of a submodule");
  if (node.op() == Op::kCallMethod)
    return NodeError(node, "a method, which is not an ATen overload");
  if (changed_sizes_ != nullptr && ReadsSizes(node)) {
    return NodeError(node, absl::StrCat("it reads the sizes of a tensor, which ",
                                        changed_sizes_->name(), " may have changed in place"));
  }
  if (ChangesSizes(node)) changed_sizes_ = &node;
  if (node.is_call_function("operator.getitem") && node.args().size() == 2) {
    ASSIGN_OR_RETURN(const ExportValue whole, Resolve(node, node.args()[0], scope));
    if (whole.is_tensor()) return ExportGetItem(node, whole, scope);
  }
  if (node.is_call_function("operator.setitem") && node.args().size() == 3) {
    ASSIGN_OR_RETURN(const ExportValue whole, Resolve(node, node.args()[0], scope));
    if (whole.is_tensor()) return ExportSetItem(node, whole, scope);
  }
  std::vector<ExportValue> args;
  for (const Argument& argument : node.args()) {
    ASSIGN_OR_RETURN(args.emplace_back(), Resolve(node, argument, scope));
  }
  if (node.is_call_function("torch.tensor") || absl::StartsWith(node.target(), "aten.tensor."))
    return ExportTensor(node, args, scope);
  ASSIGN_OR_RETURN(std::optional<ExportValue> known, ExportKnownControlFlow(node, args, scope));
  if (known) return *known;
  if (node.kwargs().empty()) {
    // Sizes of one run are read again in each run.
    absl::StatusOr<std::optional<ExportValue>> computed = std::optional<ExportValue>();
    if (!(ReadsSizes(node) && sizes_of_run_.Has(node) && args[0].kind == Kind::kTensor))
      computed = ComputeCall(node.target(), args, &arena_, &written_);
    if (!computed.ok()) return NodeError(node, computed.status().message());
    if (*computed) return **std::move(computed);
    ASSIGN_OR_RETURN(known, ExportSizes(node, args, scope));
    if (known) return *known;
  }
  const absl::string_view target = node.target();
  if (const std::string higher = HigherOrderTarget(target); !higher.empty()) {
    return ExportHigherOrder(node, higher, args, scope);
  }
  if (IsSymbolic(target)) {
    if (!node.kwargs().empty()) return NodeError(node, "it takes no keywords");
    if (absl::StartsWith(target, "operator.")) {
      return ExportNumbers(node, arena_.Copy(absl::string_view(absl::StrCat("_", target))), args,
                           scope);
    }
    return ExportNumbers(node, target, args, scope);
  }
  const Callable callee = CalleeOf(node);
  // Operators of ATen, of libraries, and those that PyTorch defines in Python.
  if (callee.named_operator() != nullptr ||
      (callee.kind == Callable::Kind::kFunction && absl::StartsWith(target, "torch.ops."))) {
    return ExportAten(node, callee.overloads[0], args, scope);
  }
  if (absl::StartsWith(target, "torch._functorch.predispatch.") ||
      absl::StartsWith(target, "torch._C._functorch.")) {
    return ExportHigherOrder(node, target, args, scope);
  }
  if (const std::optional<Schema> schema = OutOverload(node); schema)
    return ExportAten(node, *schema, args, scope);
  return ExportScriptOperator(node, args, scope);
}

// Exports branches whose condition is known, and loops.
absl::StatusOr<std::optional<ExportValue>> GraphExporter::ExportKnownControlFlow(
    const Node& node, absl::Span<const ExportValue> args, Scope* scope) {
  const std::string target = HigherOrderTarget(node.target());
  const auto elements = [](const ExportValue& value) {
    return value.elements == nullptr ? ExportValue::Elements() : *value.elements;
  };
  const auto is_graph = [](const ExportValue& value) {
    return value.is_literal() && value.literal.is_graph();
  };
  if (target == "torch.ops.higher_order.cond" && args.size() == 4 && args[0].is_number() &&
      is_graph(args[1]) && is_graph(args[2])) {
    const Argument& condition = args[0].literal;
    const bool is_true = condition.is_bool()  ? condition.boolean()
                         : condition.is_int() ? condition.integer() != 0
                                              : condition.real() != 0;
    const Graph* const body = args[is_true ? 1 : 2].literal.graph();
    ASSIGN_OR_RETURN(ExportValue result, Inline(*body, elements(args[3]), scope));
    return std::optional(result);
  }
  if (target == "torch.ops.higher_order.while_loop" && args.size() >= 3 && is_graph(args[0]) &&
      is_graph(args[1])) {
    // Unroll only if the condition computes with numbers alone: a written call cannot be undone.
    const Graph& condition = *args[0].literal.graph();
    for (const Node* part : condition.nodes()) {
      if (part->is_call() && part->tensor_meta() != nullptr) return std::optional<ExportValue>();
    }
    ExportValue::Elements carried = elements(args[2]);
    const ExportValue::Elements more =
        args.size() > 3 ? elements(args[3]) : ExportValue::Elements();
    const bool has_number =
        absl::c_any_of(carried, [](const ExportValue& value) { return value.is_number(); });
    if (!has_number) return std::optional<ExportValue>();
    while (true) {
      if (!inlined_.Charge(1)) return NodeError(node, "it runs too many iterations");
      ExportValue::Elements inputs = carried;
      inputs.insert(inputs.end(), more.begin(), more.end());
      ASSIGN_OR_RETURN(const ExportValue again, Inline(condition, inputs, scope));
      if (!again.is_literal() || !again.literal.is_bool()) {
        return NodeError(node, "the number of its iterations is known only when it runs");
      }
      if (!again.literal.boolean()) break;
      ASSIGN_OR_RETURN(const ExportValue next, Inline(*args[1].literal.graph(), inputs, scope));
      carried = next.elements == nullptr ? ExportValue::Elements{next} : *next.elements;
    }
    return std::optional(ExportValue::Sequence(Kind::kTuple, std::move(carried)));
  }
  return std::optional<ExportValue>();
}

// Exports sizes that are known only at run time, one by one.
absl::StatusOr<std::optional<ExportValue>> GraphExporter::ExportSizes(
    const Node& node, absl::Span<const ExportValue> args, Scope* scope) {
  const absl::string_view target = node.target();
  const bool is_shape = target == "builtins.getattr" && args.size() == 2 && args[1].is_string() &&
                        args[1].literal.string() == "shape";
  const bool is_all =
      is_shape || target == "aten.size.default" || target == "aten.sym_size.default";
  const bool is_one = target == "aten.size.int" || target == "aten.sym_size.int";
  if ((!is_all && !is_one) || args.empty() || args[0].kind != Kind::kTensor) {
    return std::optional<ExportValue>();
  }
  constexpr absl::string_view kTarget = "torch.ops.aten.sym_size.int";
  const ExportValue& tensor = args[0];
  const TensorMeta* const meta = tensor.meta;
  const auto make = [&](const ExportValue& dim,
                        absl::string_view name) -> absl::StatusOr<ExportValue> {
    const SymExpr* size = nullptr;
    if (meta != nullptr && meta->has_shape && dim.is_int()) {
      const int64_t rank = static_cast<int64_t>(meta->shape.size());
      const int64_t i =
          dim.literal.integer() < 0 ? dim.literal.integer() + rank : dim.literal.integer();
      if (i < 0 || i >= rank) return NodeError(node, "the dimension is out of range");
      if (!sizes_of_run_.Has(node)) {
        if (meta->shape[i].is_static()) return ExportValue(Argument(meta->shape[i].value));
        size = SizeOf(meta->shape[i]);
      }
    }
    JsonWriter inputs, outputs;
    inputs.StartArray();
    RETURN_IF_ERROR(WriteInput(node, "self", kPositional, tensor, nullptr, scope, &inputs));
    RETURN_IF_ERROR(WriteInput(node, "dim", kPositional, dim, nullptr, scope, &inputs));
    inputs.EndArray();
    ExportValue made = AddNumber(Kind::kInt, name, kTarget, size, scope);
    outputs.StartArray();
    RETURN_IF_ERROR(WriteArgument(node, made, nullptr, scope, &outputs));
    outputs.EndArray();
    WriteNode(&node, kTarget, inputs.text(), outputs.text(), name, std::nullopt, scope);
    return made;
  };
  if (is_one) {
    if (args.size() != 2) return NodeError(node, "it takes a tensor and a dimension");
    ASSIGN_OR_RETURN(ExportValue size, make(args[1], NameOf(node, scope)));
    return std::optional(size);
  }
  if (meta == nullptr || !meta->has_shape) {
    return NodeError(node, "the number of dimensions is not known");
  }
  ExportValue::Elements sizes;
  const std::vector<const Node*> users = ElementUsers(node, meta->shape.size());
  for (size_t i = 0; i < meta->shape.size(); ++i) {
    const Node* const user = users[i];
    // Sizes without a user of their own may still be used together.
    const absl::string_view name =
        user != nullptr
            ? NameOf(*user, scope)
            : arena_.Copy(absl::string_view(Unique(absl::StrCat(node.name(), "_", i), scope)));
    ASSIGN_OR_RETURN(sizes.emplace_back(), make(Argument(i), name));
  }
  return std::optional(ExportValue::Sequence(Kind::kTuple, std::move(sizes)));
}

absl::StatusOr<ExportValue> GraphExporter::ExportNumbers(const Node& node,
                                                         absl::string_view function,
                                                         absl::Span<const ExportValue> args,
                                                         Scope* scope) {
  for (const ExportValue& arg : args) {
    const bool is_number = arg.is_number() || arg.kind == Kind::kInt || arg.kind == Kind::kFloat ||
                           arg.kind == Kind::kBool;
    // Some models make a list of one None per layer and never use it.
    if (arg.is_sequence() && function == "_operator.mul" && !node.has_uses()) return ExportValue();
    if (!is_number && !(arg.is_sequence() && function == "torch.sym_sum")) {
      return NodeError(node, "torch.export supports it for numbers only");
    }
  }
  const Kind kind = NumberKind(function, args);
  const SymExpr* size = nullptr;
  const auto size_of = [&](const ExportValue& value) {
    return value.is_int() ? scratch_.SymInt(value.literal.integer()) : value.size;
  };
  if (const auto combine = SizeFunction(function); combine && args.size() == 2) {
    const SymExpr* const lhs = size_of(args[0]);
    const SymExpr* const rhs = size_of(args[1]);
    if (lhs != nullptr && rhs != nullptr) size = scratch_.SymBinary(*combine, lhs, rhs);
  } else if (absl::EndsWith(function, ".neg") && args.size() == 1 && size_of(args[0])) {
    size = scratch_.SymNeg(size_of(args[0]));
  }
  if (size != nullptr) {
    const std::optional<Expansion> all = sizes_.Of(size, SymParts());
    if (!all || all->size > kMaxSizeTerms || all->height > kMaxNesting / 2 ||
        !size_terms_.Charge(all->size)) {
      size = nullptr;
    }
  }
  JsonWriter inputs, outputs;
  inputs.StartArray();
  for (size_t i = 0; i < args.size(); ++i) {
    RETURN_IF_ERROR(
        WriteInput(node, i == 0 ? "a" : "b", kPositional, args[i], nullptr, scope, &inputs));
  }
  inputs.EndArray();
  const absl::string_view name = NameOf(node, scope);
  ExportValue value = AddNumber(kind, name, function, kind == Kind::kFloat ? nullptr : size, scope);
  outputs.StartArray();
  RETURN_IF_ERROR(WriteArgument(node, value, nullptr, scope, &outputs));
  outputs.EndArray();
  WriteNode(&node, function, inputs.text(), outputs.text(), name, std::nullopt, scope);
  return value;
}

absl::StatusOr<ExportValue> GraphExporter::ExportAten(const Node& node, const Schema& schema,
                                                      absl::Span<const ExportValue> args,
                                                      Scope* scope) {
  JsonWriter inputs, outputs;
  std::vector<std::pair<absl::string_view, ExportValue>> kwargs;
  inputs.StartArray();
  if (args.size() > schema.arguments.size()) return NodeError(node, "it has too many arguments");
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    const SchemaArgument& argument = schema.arguments[i];
    const Argument* const keyword = node.kwarg(argument.name);
    if (keyword == nullptr && i >= args.size()) {
      if (argument.has_default) continue;
      return NodeError(node, absl::StrCat("it lacks the argument ", argument.name));
    }
    ExportValue value = keyword == nullptr ? args[i] : ExportValue();
    if (keyword != nullptr) {
      ASSIGN_OR_RETURN(value, Resolve(node, *keyword, scope));
      kwargs.emplace_back(argument.name, value);
    }
    if (value.kind == Kind::kScalar && argument.type.kind == SchemaKind::kTensor) {
      ASSIGN_OR_RETURN(value, MakeTensor(node, value, scope));
    }
    ASSIGN_OR_RETURN(value, AsNumbers(node, value, argument.type, scope));
    // PyTorch expands one number for all dimensions to one number per dimension.
    if (argument.type.is_list && argument.type.list_size > 0 &&
        (value.is_int() || value.kind == Kind::kInt)) {
      value = ExportValue::Sequence(
          Kind::kList, ExportValue::Elements(static_cast<size_t>(argument.type.list_size), value));
    }
    const bool is_keyword = keyword != nullptr || argument.keyword_only;
    RETURN_IF_ERROR(WriteInput(node, argument.name, is_keyword ? kKeyword : kPositional, value,
                               &argument.type, scope, &inputs));
  }
  inputs.EndArray();

  const std::string target = absl::StrCat(schema.is_python ? "" : "torch.ops.", schema.target);
  const absl::string_view name = NameOf(node, scope);
  const ValueMeta* const known = node.meta();
  const bool is_known = known != nullptr && (known->is_tuple || IsKnown(known->tensor));
  const ValueMeta* meta =
      is_known || schema.returns.empty() ? known : InferredMeta(node, args, kwargs);
  // A tensor that a call is given for its result tells what the result is.
  if (const auto out = absl::c_find_if(kwargs, [](const auto& k) { return k.first == "out"; });
      out != kwargs.end() && (meta == nullptr || !IsKnown(meta->tensor)) &&
      out->second.kind == Kind::kTensor && out->second.meta != nullptr) {
    meta = scratch_.InternValueMeta(*out->second.meta);
  }
  ExportValue result;
  outputs.StartArray();
  if (schema.returns.size() == 1 && !schema.returns[0].is_list) {
    ASSIGN_OR_RETURN(result, AddElement(node, &node, meta, &schema.returns[0], std::string(name),
                                        scope, &outputs));
  } else if (schema.returns.size() == 1) {
    if (schema.returns[0].kind != SchemaKind::kTensor) {
      return NodeError(node, "torch.export does not support lists of numbers as results");
    }
    if (meta == nullptr || !meta->is_tuple) {
      return NodeError(node, "the number of its results is not known; `graphnet shapes` says why");
    }
    JsonWriter list;
    list.StartArray();
    const std::vector<SchemaType> types(meta->elements.size(),
                                        SchemaType{.kind = SchemaKind::kTensor});
    ASSIGN_OR_RETURN(result, AddElements(node, &node, meta, types, name, scope, &list));
    list.EndArray();
    // {"name": …}, where an Argument would be {"as_tensor": {"name": …}}.
    JsonWriter tensors;
    tensors.StartArray();
    for (const ExportValue& element : *result.elements) {
      tensors.StartObject();
      tensors.Member("name").String(element.name);
      tensors.EndObject();
    }
    tensors.EndArray();
    outputs.StartObject();
    outputs.Member("as_tensors").Raw(tensors.text());
    outputs.EndObject();
  } else if (!schema.returns.empty()) {
    ASSIGN_OR_RETURN(result, AddElements(node, &node, meta, schema.returns, name, scope, &outputs));
  }
  outputs.EndArray();
  WriteNode(&node, target, inputs.text(), outputs.text(), name, std::nullopt, scope);
  return result;
}

absl::StatusOr<ExportValue> GraphExporter::AsNumbers(const Node& node, const ExportValue& value,
                                                     const SchemaType& type, Scope* scope) {
  const bool is_int = type.kind == SchemaKind::kInt;
  if (!is_int && type.kind != SchemaKind::kFloat && type.kind != SchemaKind::kScalar) return value;
  const auto is_tensor = [](const ExportValue& element) { return element.is_tensor(); };
  if (value.is_sequence() && absl::c_any_of(*value.elements, is_tensor)) {
    ExportValue::Elements elements;
    for (const ExportValue& element : *value.elements) {
      if (element.elements != nullptr) return value;
      ASSIGN_OR_RETURN(elements.emplace_back(), AsNumbers(node, element, type, scope));
    }
    return ExportValue::Sequence(value.kind, std::move(elements));
  }
  if (value.kind == Kind::kScalar) return ExportValue(value.literal);
  if (value.kind != Kind::kTensor || !IsKnown(value.meta) || !value.meta->has_shape ||
      !value.meta->shape.empty())
    return value;
  const DType dtype = value.meta->dtype;
  const Kind kind = IsFloatingPoint(dtype)  ? Kind::kFloat
                    : dtype == DType::kBool ? Kind::kBool
                                            : Kind::kInt;
  if (is_int && kind != Kind::kInt) return value;
  constexpr absl::string_view kItem = "torch.ops.aten.item.default";
  const absl::string_view name = arena_.Copy(absl::string_view(Unique("item", scope)));
  JsonWriter inputs, outputs;
  inputs.StartArray();
  RETURN_IF_ERROR(WriteInput(node, "self", kPositional, value, nullptr, scope, &inputs));
  inputs.EndArray();
  ExportValue number = AddNumber(kind, name, kItem, nullptr, scope);
  outputs.StartArray();
  RETURN_IF_ERROR(WriteArgument(node, number, nullptr, scope, &outputs));
  outputs.EndArray();
  WriteNode(&node, kItem, inputs.text(), outputs.text(), name, std::nullopt, scope);
  return number;
}

const ValueMeta* GraphExporter::InferredMeta(
    const Node& node, absl::Span<const ExportValue> args,
    absl::Span<const std::pair<absl::string_view, ExportValue>> kwargs) {
  if (inferred_ == nullptr) inferred_ = scratch_.AddGraph("inferred");
  // Stands for a value; nullopt for one that no call of ATen takes.
  const std::function<std::optional<Argument>(const ExportValue&)> argument =
      [&](const ExportValue& value) -> std::optional<Argument> {
    if (value.is_literal()) {
      if (value.literal.is_graph()) return std::nullopt;
      return value.literal;
    }
    if (value.kind == Kind::kDict || value.kind == Kind::kObject) return std::nullopt;
    if (value.is_sequence()) {
      std::vector<Argument> elements;
      for (const ExportValue& element : *value.elements) {
        if (element.elements != nullptr) return std::nullopt;
        const std::optional<Argument> one = argument(element);
        if (!one) return std::nullopt;
        elements.push_back(*one);
      }
      return Argument::List(arena_.Copy(absl::MakeConstSpan(elements)));
    }
    Node* const input = inferred_->Placeholder("value");
    if (value.kind == Kind::kTensor && value.meta != nullptr)
      input->set_meta(scratch_.InternValueMeta(*value.meta));
    if (value.kind == Kind::kScalar)
      input->set_meta(scratch_.InternValueMeta({.dtype = DType::kInt64, .has_shape = true}));
    return input;
  };
  std::vector<Argument> given;
  for (const ExportValue& arg : args) {
    const std::optional<Argument> one = argument(arg);
    if (!one) return nullptr;
    given.push_back(*one);
  }
  std::vector<KwArg> named;
  for (const auto& [name, value] : kwargs) {
    const std::optional<Argument> one = argument(value);
    if (!one) return nullptr;
    named.push_back({name, *one});
  }
  Node* const call = inferred_->CallFunction(node.target(), given, named);
  InferMeta(call);
  return call->meta();
}

absl::StatusOr<ExportValue> GraphExporter::AddElements(const Node& call, const Node* value,
                                                       const ValueMeta* meta,
                                                       absl::Span<const SchemaType> types,
                                                       absl::string_view prefix, Scope* scope,
                                                       JsonWriter* outputs) {
  ExportValue::Elements elements;
  std::vector<const Node*> users(types.size());
  if (value != nullptr) users = ElementUsers(*value, types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    const Node* const user = users[i];
    const ValueMeta* known = meta != nullptr && meta->is_tuple && i < meta->elements.size()
                                 ? meta->elements[i]
                                 : nullptr;
    const bool is_known = known != nullptr && (known->is_tuple || IsKnown(known->tensor));
    if (!is_known && user != nullptr && user->meta() != nullptr) known = user->meta();
    ASSIGN_OR_RETURN(elements.emplace_back(),
                     AddElement(call, user, known, &types[i], absl::StrCat(prefix, "_unused_", i),
                                scope, outputs));
  }
  return ExportValue::Sequence(Kind::kTuple, std::move(elements));
}

absl::StatusOr<ExportValue> GraphExporter::AddElement(const Node& call, const Node* user,
                                                      const ValueMeta* meta, const SchemaType* type,
                                                      const std::string& unused, Scope* scope,
                                                      JsonWriter* outputs) {
  const auto name = [&]() -> absl::string_view {
    if (user == &call) return arena_.Copy(absl::string_view(unused));
    if (user != nullptr) return NameOf(*user, scope);
    return arena_.Copy(absl::string_view(Unique(unused, scope)));
  };
  const bool is_list = (meta != nullptr && meta->is_tuple) || type->is_list;
  const std::string target = absl::StartsWith(call.target(), "aten.")
                                 ? absl::StrCat("torch.ops.", call.target())
                                 : std::string(call.target());
  ExportValue value;
  if (is_list) {
    if (meta == nullptr || !meta->is_tuple) {
      return NodeError(call, "the number of its results is not known; `graphnet shapes` says why");
    }
    const std::vector<SchemaType> types(meta->elements.size(),
                                        SchemaType{.kind = SchemaKind::kTensor});
    JsonWriter list;
    list.StartArray();
    ASSIGN_OR_RETURN(value, AddElements(call, user, meta, types, unused, scope, &list));
    outputs->StartObject();
    outputs->Member("as_tensors").StartArray();
    for (const ExportValue& element : *value.elements) {
      outputs->StartObject();
      outputs->Member("name").String(element.name);
      outputs->EndObject();
    }
    outputs->EndArray();
    outputs->EndObject();
    return value;
  }
  const TensorMeta* const tensor = meta == nullptr ? nullptr : meta->tensor;
  Kind kind = Kind::kTensor;
  if (type->kind == SchemaKind::kInt) kind = Kind::kInt;
  if (type->kind == SchemaKind::kFloat) kind = Kind::kFloat;
  if (type->kind == SchemaKind::kBool) kind = Kind::kBool;
  if (type->kind == SchemaKind::kScalar) {
    // The number that item() returns has the kind of the tensor's elements.
    kind = Kind::kFloat;
    if (!call.args().empty() && call.args()[0].is_node()) {
      const TensorMeta* const of = call.args()[0].node()->tensor_meta();
      if (of != nullptr && !IsFloatingPoint(of->dtype)) {
        kind = of->dtype == DType::kBool ? Kind::kBool : Kind::kInt;
      }
    }
  }
  if (type->kind == SchemaKind::kAny && !IsKnown(tensor)) {
    // Results of a higher-order call are described as in the original program.
    const absl::string_view known = user == nullptr ? absl::string_view(unused) : user->name();
    const Original::Tables* const tables = scope->original;
    if (tables != nullptr && tables->ints.contains(known)) kind = Kind::kInt;
    if (tables != nullptr && tables->floats.contains(known)) kind = Kind::kFloat;
    if (tables != nullptr && tables->bools.contains(known)) kind = Kind::kBool;
  }
  if (kind == Kind::kTensor) {
    if (!IsKnown(tensor) && (user == nullptr || !user->has_uses())) {
      // The call returns nothing, or its result is unused.
      outputs->Raw(R"({"as_none":true})");
      return ExportValue();
    }
    ASSIGN_OR_RETURN(value, AddTensor(name(), tensor, user == nullptr ? call : *user, scope));
  } else if (type->kind != SchemaKind::kOther && type->kind != SchemaKind::kString) {
    value = AddNumber(kind, name(), target, nullptr, scope);
  } else {
    return NodeError(call, "torch.export does not support results of this type");
  }
  RETURN_IF_ERROR(WriteArgument(call, value, nullptr, scope, outputs));
  return value;
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
    if (value.kind == Kind::kScalar)
      return scratch_.InternValueMeta(
          {.dtype = DType::kInt64, .has_device = true, .has_shape = true});
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
  const bool is_branch = absl::EndsWith(target, ".cond");
  for (const ExportValue& arg : args) {
    if (is_control_flow && arg.is_literal() && arg.literal.is_graph()) {
      operands_[arg.literal.graph()] = {operands, is_branch};
    }
  }
  JsonWriter inputs, outputs;
  inputs.StartArray();
  for (size_t i = 0; i < args.size(); ++i) {
    ExportValue arg = args[i];
    if (is_branch && i == 3 && arg.is_sequence()) {
      ExportValue::Elements passed;
      for (const ExportValue& operand : *arg.elements) {
        if (!IsKnownValue(operand)) passed.push_back(operand);
      }
      arg = ExportValue::Sequence(arg.kind, std::move(passed));
    }
    RETURN_IF_ERROR(WriteInput(node, "", kPositional, arg, nullptr, scope, &inputs));
  }
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

// Exports TorchScript's own operators as the operators that PyTorch has for them.
absl::StatusOr<ExportValue> GraphExporter::ExportScriptOperator(const Node& node,
                                                                absl::Span<const ExportValue> args,
                                                                Scope* scope) {
  const absl::string_view target = node.target();
  if (const absl::string_view function = FunctionOf(target); !function.empty()) {
    return ExportNumbers(node, function, args, scope);
  }
  // Conversions of numbers that are known only at run time.
  if (args.size() == 1 && absl::EndsWith(target, ".Scalar")) {
    const bool is_int = target == "aten.Int.Scalar", is_float = target == "aten.Float.Scalar";
    if ((is_int && args[0].kind == Kind::kInt) || (is_float && args[0].kind == Kind::kFloat))
      return args[0];
    if (is_float && args[0].kind == Kind::kInt)
      return ExportNumbers(node, "torch.sym_float", args, scope);
    if (is_int && args[0].kind == Kind::kFloat)
      return ExportNumbers(node, "math.trunc", args, scope);
  }
  // Conversions of tensors of one element to numbers, and back.
  const Kind kind = target == "aten.Int.Tensor"     ? Kind::kInt
                    : target == "aten.Float.Tensor" ? Kind::kFloat
                    : target == "aten.Bool.Tensor"  ? Kind::kBool
                                                    : Kind::kTensor;
  JsonWriter inputs, outputs;
  const absl::string_view name = NameOf(node, scope);
  if (kind != Kind::kTensor && args.size() == 1 && args[0].kind == Kind::kTensor) {
    inputs.StartArray();
    RETURN_IF_ERROR(WriteInput(node, "self", kPositional, args[0], nullptr, scope, &inputs));
    inputs.EndArray();
    ExportValue value = AddNumber(kind, name, "torch.ops.aten.item.default", nullptr, scope);
    outputs.StartArray();
    RETURN_IF_ERROR(WriteArgument(node, value, nullptr, scope, &outputs));
    outputs.EndArray();
    WriteNode(&node, "torch.ops.aten.item.default", inputs.text(), outputs.text(), name,
              std::nullopt, scope);
    return value;
  }
  if (target == "prim.NumToTensor.Scalar" && args.size() == 1 && args[0].kind == Kind::kInt) {
    inputs.StartArray();
    RETURN_IF_ERROR(WriteInput(node, "s", kPositional, args[0], nullptr, scope, &inputs));
    RETURN_IF_ERROR(
        WriteInput(node, "dtype", kKeyword, Argument(DType::kInt64), nullptr, scope, &inputs));
    inputs.EndArray();
    const ValueMeta* const meta =
        scratch_.InternValueMeta({.dtype = DType::kInt64, .has_device = true, .has_shape = true});
    ASSIGN_OR_RETURN(ExportValue value, AddTensor(name, meta->tensor, node, scope));
    outputs.StartArray();
    RETURN_IF_ERROR(WriteArgument(node, value, nullptr, scope, &outputs));
    outputs.EndArray();
    WriteNode(&node, "torch.ops.aten.scalar_tensor.default", inputs.text(), outputs.text(), name,
              std::nullopt, scope);
    return value;
  }
  if (target == "prim.GetAttr" || target == "prim.SetAttr") {
    return NodeError(node,
                     "the program assigns this attribute in a branch or loop that depends on data, "
                     "and torch.export has no such state");
  }
  if (target == "prim.RaiseException.default") {
    return NodeError(node, "it is reached with the known inputs, and raises");
  }
  return NodeError(node, "torch.export does not support this call");
}

}  // namespace graphnet::pt2
