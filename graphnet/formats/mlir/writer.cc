#include "graphnet/formats/mlir/writer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/mlir/operators.h"
#include "graphnet/formats/mlir/spelling.h"
#include "graphnet/formats/mlir/types.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ir/tensor_meta.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/schema.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet::mlir {

absl::StatusOr<MlirProgram> Writer::Run() {
  const Graph* const graph = module_.main();
  if (graph == nullptr || graph->output() == nullptr)
    return absl::InvalidArgumentError("the module has no graph");
  constexpr size_t kBytesANode = 160;
  body_.reserve(graph->num_nodes() * kBytesANode);
  names_.reserve(graph->num_nodes());
  RETURN_IF_ERROR(WriteInputs(*graph));
  absl::Status first;
  for (const Node* node : graph->nodes()) {
    if (!node->is_call()) continue;
    node_ = node;
    absl::Status status = WriteCall(*node);
    if (status.ok()) continue;
    if (missing_ == nullptr) return status;
    if (first.ok()) first = status;
    StandIn(*node, status);
  }
  node_ = nullptr;
  RETURN_IF_ERROR(first);
  RETURN_IF_ERROR(WriteOutput(*graph->output()));
  return std::move(program_);
}

// --- Operations -----------------------------------------------------------

std::string Writer::Fresh(absl::string_view name) {
  std::string made = SsaName(name);
  int& count = names_[made];
  // SsaName never returns a dollar, so the new name is unique.
  if (count++ > 0) absl::StrAppend(&made, "$", count - 1);
  return made;
}

void Writer::AppendLocation() {
  if (node_ == nullptr) return;
  const SourceLocation at = node_->location();
  absl::StrAppend(&body_, " loc(", Quoted(node_->name()));
  if (!at.file.empty()) {
    absl::StrAppend(&body_, "(", Quoted(at.file), ":", at.line, ":", at.column, ")");
  }
  absl::StrAppend(&body_, ")");
}

void Writer::Append(absl::string_view results, absl::string_view operation,
                    const std::vector<Value>& operands, absl::string_view result_types,
                    absl::string_view attributes) {
  absl::StrAppend(&body_, "    ", results, " = \"", operation, "\"(");
  const auto append_all = [&](std::string Value::*part) {
    absl::string_view between;
    for (const Value& value : operands) {
      absl::StrAppend(&body_, between, value.*part);
      between = ", ";
    }
  };
  append_all(&Value::name);
  absl::StrAppend(&body_, ")", attributes, " : (");
  append_all(&Value::type);
  absl::StrAppend(&body_, ") -> ", result_types);
  AppendLocation();
  body_ += '\n';
}

Value Writer::Emit(absl::string_view name, absl::string_view operation,
                   const std::vector<Value>& operands, std::string type,
                   absl::string_view attributes) {
  Value value{Fresh(name), std::move(type)};
  Append(value.name, operation, operands, value.type, attributes);
  return value;
}

Value Writer::Constant(absl::string_view name, const std::string& text, absl::string_view type) {
  Value& value = constants_[text];
  if (value.name.empty()) {
    value = {Fresh(name), std::string(type)};
    absl::StrAppend(&constants_text_, "    ", value.name, " = ", text, "\n");
  }
  return value;
}

// --- Inputs and attributes ------------------------------------------------

absl::Status Writer::WriteInputs(const Graph& graph) {
  std::vector<std::string> arguments;
  for (const Node* node : graph.placeholders()) {
    Value value{Fresh(node->name()), ""};
    if (const std::optional<DType> number = NumberDType(node->annotation())) {
      value.type = NumberType(*number);
    } else if (const auto type = TensorType(node->tensor_meta())) {
      value.type = *type;
    } else {
      return NodeError(*node, "its rank or dtype is unknown, or MLIR does not have the dtype");
    }
    arguments.push_back(absl::StrCat(value.name, ": ", value.type));
    program_.inputs.emplace_back(node->target());
    values_[node] = std::move(value);
  }
  absl::flat_hash_map<absl::string_view, Value> attributes;
  std::string globals;
  for (const Node* node : graph.nodes()) {
    if (node->op() != Op::kGetAttr || !node->has_uses()) continue;
    Value& value = attributes[node->target()];
    if (value.name.empty()) {
      const Attribute* const attribute = module_.FindAttribute(node->target());
      const TensorMeta* meta = node->tensor_meta();
      if (meta == nullptr && attribute != nullptr) meta = attribute->meta;
      const std::optional<std::string> type = TensorType(meta);
      if (!type)
        return NodeError(*node, "its rank or dtype is unknown, or MLIR does not have the dtype");
      value = {Fresh(node->target()), *type};
      program_.attributes.emplace_back(node->target());
      if (options_.parameter_scope.empty()) {
        arguments.push_back(absl::StrCat(value.name, ": ", value.type));
      } else {
        const std::optional<std::string> builtin = BuiltinTensorType(*meta);
        if (!builtin) return NodeError(*node, "the sizes of a parameter must be known");
        const std::string symbol = absl::StrCat("@", Quoted(node->target()));
        absl::StrAppend(&globals, "  util.global private ", symbol, " = #stream.parameter.named<",
                        Quoted(options_.parameter_scope), "::", Quoted(node->target()),
                        "> : ", *builtin, "\n");
        const std::string raw = Fresh(absl::StrCat(node->target(), ".raw"));
        absl::StrAppend(&body_, "    ", raw, " = util.global.load ", symbol, " : ", *builtin,
                        "\n    ", value.name, " = torch_c.from_builtin_tensor ", raw, " : ",
                        *builtin, " -> ", value.type, "\n");
      }
    }
    values_[node] = value;
  }
  head_ = absl::StrCat("module {\n", globals, "  func.func @main(", absl::StrJoin(arguments, ", "),
                       ")");
  return absl::OkStatus();
}

absl::Status Writer::AddResults(const Argument& argument, std::vector<Value>* results) {
  if (argument.is_none()) return absl::OkStatus();
  if (argument.is_aggregate()) {
    const bool is_dict = argument.kind() == Argument::Kind::kDict;
    for (size_t i = is_dict ? 1 : 0; i < argument.elements().size(); i += is_dict ? 2 : 1) {
      RETURN_IF_ERROR(AddResults(argument.elements()[i], results));
    }
    return absl::OkStatus();
  }
  if (argument.is_node() && values_[argument.node()].name.empty() &&
      !elements_[argument.node()].empty()) {
    for (const Value& element : elements_[argument.node()]) results->push_back(element);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(Value value, Operand(argument, SchemaType{.kind = SchemaType::Kind::kAny}));
  if (!value.is_tensor() && !value.is_number())
    return Error("it returns a value that is neither a tensor nor a number");
  results->push_back(std::move(value));
  return absl::OkStatus();
}

absl::Status Writer::WriteOutput(const Node& output) {
  node_ = &output;
  std::vector<Value> results;
  for (const Argument& argument : output.args()) RETURN_IF_ERROR(AddResults(argument, &results));
  node_ = nullptr;
  std::vector<absl::string_view> names, types;
  for (const Value& result : results) {
    names.push_back(result.name);
    types.push_back(result.type);
  }
  const std::string all_types = absl::StrJoin(types, ", ");
  absl::StrAppend(&program_.text, head_, " -> (", all_types, ") {\n", constants_text_, body_,
                  "    return ", absl::StrJoin(names, ", "), results.empty() ? "" : " : ",
                  all_types, "\n  }\n}\n");
  return absl::OkStatus();
}

// --- Operands --------------------------------------------------------------

absl::StatusOr<Value> Writer::ListOperand(absl::Span<const Argument> elements, SchemaType type,
                                          size_t repeat) {
  SchemaType element = type;
  element.is_list = false;
  element.optional = type.optional_elements;
  std::vector<Value> operands;
  for (size_t i = 0; i < repeat; ++i) {
    for (const Argument& argument : elements) {
      ASSIGN_OR_RETURN(operands.emplace_back(), Operand(argument, element));
    }
  }
  std::string list;
  switch (type.kind) {
    case SchemaType::Kind::kTensor:
      list = type.optional_elements ? "!torch.list<optional<vtensor>>" : kTensorList;
      break;
    case SchemaType::Kind::kInt: list = "!torch.list<int>"; break;
    case SchemaType::Kind::kFloat: list = "!torch.list<float>"; break;
    case SchemaType::Kind::kBool: list = "!torch.list<bool>"; break;
    default: return Error("the torch dialect has no type for a list operand");
  }
  return Emit("list", "torch.prim.ListConstruct", operands, std::move(list));
}

absl::StatusOr<Value> Writer::NodeOperand(const Node& node, const SchemaType& type) {
  const Value& value = values_[&node];
  if (value.name.empty()) {
    if (!elements_[&node].empty() && type.is_list)
      return Emit("list", "torch.prim.ListConstruct", elements_[&node], kTensorList);
    return Error(absl::StrCat("it takes %", node.name(), ", which is not a single value"));
  }
  const bool wants_tensor = type.kind == SchemaType::Kind::kTensor;
  if (wants_tensor && !type.is_list && value.is_number()) return AsTensor(value);
  if (!wants_tensor && type.kind != SchemaType::Kind::kAny && value.is_tensor())
    return Error(absl::StrCat("it takes the number in the tensor %", node.name()));
  return value;
}

Value Writer::AsTensor(const Value& number) {
  const char* const element = number.type == kInt ? "si64" : number.type == kBool ? "i1" : "f64";
  return Emit("number", "torch.prim.NumToTensor.Scalar", {number},
              absl::StrCat("!torch.vtensor<[],", element, ">"));
}

absl::StatusOr<Value> Writer::Operand(const Argument& argument, const SchemaType& type) {
  using Kind = SchemaType::Kind;
  if (argument.is_none()) return None();
  if (argument.is_node()) return NodeOperand(*argument.node(), type);
  if (type.is_list) {
    if (argument.is_list() || argument.is_tuple()) return ListOperand(argument.elements(), type);
    return ListOperand({&argument, 1}, type, std::max<size_t>(type.list_size, 1));
  }
  Value value;
  switch (argument.kind()) {
    case Argument::Kind::kBool:
      // The torch dialect does not accept a bool as a scalar.
      value = type.kind == Kind::kInt || type.kind == Kind::kScalar
                  ? Int(argument.boolean() ? 1 : 0)
                  : Bool(argument.boolean());
      break;
    case Argument::Kind::kInt:
      value = type.kind == Kind::kFloat  ? Float(static_cast<double>(argument.integer()))
              : type.kind == Kind::kBool ? Bool(argument.integer() != 0)
                                         : Int(argument.integer());
      break;
    case Argument::Kind::kFloat: value = Float(argument.real()); break;
    case Argument::Kind::kString:
      return Constant("str", absl::StrCat("torch.constant.str ", Quoted(argument.string())),
                      "!torch.str");
    case Argument::Kind::kDType: {
      const std::optional<int64_t> number = ScalarTypeNumber(argument.dtype());
      if (!number) return Error(absl::StrCat("MLIR has no ", DTypeName(argument.dtype())));
      return Int(*number);
    }
    case Argument::Kind::kLayout:
      if (argument.layout() != Layout::kStrided) return Error("its layout is not strided");
      return Int(0);
    // The numbers are PyTorch's.
    case Argument::Kind::kMemoryFormat: return Int(static_cast<int>(argument.memory_format()));
    case Argument::Kind::kDevice:
      return Constant(
          "device",
          absl::StrCat("torch.constant.device ", Quoted(DeviceTypeName(argument.device().type))),
          "!torch.Device");
    default: return Error("the torch dialect has no constant for an argument");
  }
  if (type.kind == Kind::kTensor) return AsTensor(value);
  return value;
}

// --- Calls ------------------------------------------------------------------

const Schema& Writer::OverloadFor(const Node& node, const Schema& schema) {
  const auto is_number = [&](const Argument* given) {
    if (given == nullptr) return false;
    if (given->is_node()) return values_[given->node()].is_number();
    return given->is_bool() || given->is_int() || given->is_float();
  };
  std::vector<bool> numbers;
  bool any = false;
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    const SchemaType& type = schema.arguments[i].type;
    numbers.push_back(type.kind == SchemaType::Kind::kTensor && !type.is_list &&
                      is_number(schema.Given(node, i)));
    any |= numbers.back();
  }
  if (!any) return schema;
  for (const Schema& other : FindSchemas(schema.name)) {
    bool fits = other.arguments.size() == schema.arguments.size() && HasOperator(other.target) &&
                !other.mutates();
    for (size_t i = 0; fits && i < numbers.size(); ++i) {
      const SchemaType& type = other.arguments[i].type;
      fits = other.arguments[i].name == schema.arguments[i].name
                 ? (numbers[i] ? type.kind == SchemaType::Kind::kScalar
                               : type.kind == schema.arguments[i].type.kind)
                 : numbers[i] && type.kind == SchemaType::Kind::kScalar;
    }
    if (fits) return other;
  }
  return schema;
}

// Returns the start or end of a slice as an index from 0 to the size, where its dimension has a known
// size; nullopt if that or `given` is not known. A bound that is not given is null.
std::optional<int64_t> Writer::BoundOf(const Node& node, const Schema& schema,
                                       const Argument* given, bool is_end) const {
  const TensorMeta* const self = MetaOf(schema.Given(node, size_t{0}));
  const Argument* const dim = schema.Given(node, "dim");
  if (self == nullptr || !self->has_shape || (dim != nullptr && !dim->is_int()) ||
      (given != nullptr && !given->is_int()))
    return std::nullopt;
  const auto rank = static_cast<int64_t>(self->shape.size());
  int64_t i = dim == nullptr ? 0 : dim->integer();
  if (i < 0) i += rank;
  if (i < 0 || i >= rank || !self->shape[static_cast<size_t>(i)].is_static()) return std::nullopt;
  const int64_t size = self->shape[static_cast<size_t>(i)].value;
  if (given == nullptr) return is_end ? size : 0;
  const int64_t bound = given->integer();
  return std::clamp<int64_t>(bound < 0 ? bound + size : bound, 0, size);
}

absl::StatusOr<Value> Writer::OperandOf(const Node& node, const Schema& schema, size_t i) {
  const SchemaArgument& argument = schema.arguments[i];
  const Argument* const given = schema.Given(node, i);
  // StableHLO's pipeline needs numbers here.
  const bool is_start = argument.name == "start", is_end = argument.name == "end";
  if ((schema.name == "slice" || schema.name == "slice_scatter") && (is_start || is_end)) {
    const bool is_given = given != nullptr && !given->is_none();
    if (schema.name == "slice_scatter") {
      if (const auto bound = BoundOf(node, schema, is_given ? given : nullptr, is_end))
        return Int(*bound);
    }
    if (!is_given) return Int(is_start ? 0 : std::numeric_limits<int64_t>::max());
  }
  if (given != nullptr) return Operand(*given, argument.type);
  if (!argument.default_value.is_none() || argument.default_text == "None" ||
      argument.default_text.empty()) {
    return Operand(argument.default_value, argument.type);
  }
  if (argument.type.kind == SchemaType::Kind::kMemoryFormat) {
    if (const auto format = ParseMemoryFormat(argument.default_text)) {
      return Operand(*format, argument.type);
    }
  }
  if (argument.default_text == "Mean") return Int(1);  // at::Reduction::Mean
  // A list such as "[0, 1]".
  absl::string_view text = argument.default_text;
  std::vector<Argument> elements;
  if (absl::ConsumePrefix(&text, "[") && absl::ConsumeSuffix(&text, "]")) {
    for (const absl::string_view part : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
      int64_t number = 0;
      if (!absl::SimpleAtoi(part, &number))
        return Error(absl::StrCat("its default for ", argument.name, " is not known"));
      elements.emplace_back(number);
    }
    return ListOperand(elements, argument.type);
  }
  return Error(absl::StrCat("its default for ", argument.name, " is not known"));
}

absl::Status Writer::WriteCall(const Node& node) {
  if (node.is_call_function("operator.getitem")) return WriteGetItem(node);
  const Callable callee = CalleeOf(node);
  if (callee.kind == Callable::Kind::kPythonOperator) return WriteArithmetic(node, callee);
  if (node.is_call_function("torch.ops.higher_order.cond") || node.is_call_function("torch.cond"))
    return WriteCond(node);
  const Schema* const named = callee.named_operator();
  if (named == nullptr) {
    return Error(node.HasBody()
                     ? "calls with bodies other than branches cannot be written as MLIR"
                     : "it is not an overload of ATen; run the pass torch-to-aten first");
  }
  const Schema& schema = OverloadFor(node, *named);
  if (schema.mutates()) return Error("it writes to memory");
  if (callee.is_of_library()) return WriteOperator(node, schema);
  if (schema.name == "sym_size" || schema.name == "size") return WriteSize(node, schema);
  if (schema.name == "item" || schema.name == "_local_scalar_dense") return WriteItem(node, schema);
  RETURN_IF_ERROR(CheckIndices(node, schema));
  if (schema.name == "scaled_dot_product_attention") {
    const Argument* const mask = schema.Given(node, "attn_mask");
    if (mask != nullptr && !mask->is_none()) return WriteMaskedAttention(node, schema);
  }
  if (schema.name == "prelu") return WritePrelu(node, schema);
  if (schema.name == "meshgrid") return WriteMeshgrid(node, schema);
  if (absl::StrContains(schema.name, "upsample_") && !absl::EndsWith(schema.name, "_aa") &&
      schema.overload == "vec")
    return WriteUpsample(node, schema);
  // Devices do not matter here.
  if (schema.name == "to" && schema.overload == "device") {
    const Argument* const dtype = schema.Given(node, "dtype");
    if (dtype == nullptr || dtype->is_none()) {
      ASSIGN_OR_RETURN(values_[&node], OperandOf(node, schema, 0));
      return absl::OkStatus();
    }
  }
  if (absl::StrContains(schema.name, "adaptive_avg_pool")) {
    ASSIGN_OR_RETURN(const bool is_written, WriteAdaptivePool(node, schema));
    if (is_written) return absl::OkStatus();
  }
  if (schema.name == "full" || schema.target == "aten.fill.Tensor") {
    ASSIGN_OR_RETURN(const bool is_written,
                     schema.name == "full" ? WriteFull(node, schema) : WriteFill(node, schema));
    if (is_written) return absl::OkStatus();
  }
  if (schema.name == "index_put") {
    ASSIGN_OR_RETURN(const bool is_written, WriteMaskedPut(node, schema));
    if (is_written) return absl::OkStatus();
  }
  if (!HasOperator(schema.target))
    return Error(absl::StrCat("the torch dialect has no operator ", schema.target));
  std::vector<Value> operands;
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    ASSIGN_OR_RETURN(operands.emplace_back(), OperandOf(node, schema, i));
  }
  return WriteResults(node, schema, OperationOf(schema), operands);
}

// Writes an operator that the dialect lacks in the form in which torch-mlir imports it.
absl::Status Writer::WriteOperator(const Node& node, const Schema& schema) {
  std::vector<Value> operands;
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    ASSIGN_OR_RETURN(operands.emplace_back(), OperandOf(node, schema, i));
  }
  const std::string name = absl::StrCat("torch.", absl::StripSuffix(schema.target, ".default"));
  return WriteResults(node, schema, "torch.operator", operands,
                      absl::StrCat(" {name = ", Quoted(name), "}"));
}

void Writer::StandIn(const Node& node, const absl::Status& status) {
  const bool takes_lost =
      absl::c_any_of(node.operands(), [&](const Node* operand) { return lost_.contains(operand); });
  if (!takes_lost) AddMissing(status, missing_);
  if (const std::optional<std::string> type = TensorType(node.tensor_meta())) {
    values_[&node] = {Fresh(node.name()), *type};
    return;
  }
  const ValueMeta* const meta = node.meta();
  std::vector<Value> elements;
  if (meta != nullptr && meta->is_tuple) {
    for (const ValueMeta* element : meta->elements) {
      const auto type = TensorType(element == nullptr ? nullptr : element->tensor);
      if (type) elements.push_back({Fresh(node.name()), *type});
    }
  }
  if (!elements.empty() && elements.size() == meta->elements.size()) {
    elements_[&node] = std::move(elements);
  } else {
    lost_.insert(&node);
  }
}

absl::Status Writer::WriteResults(const Node& node, const Schema& schema,
                                  const std::string& operation, const std::vector<Value>& operands,
                                  absl::string_view attributes) {
  if (schema.returns.empty()) return Error("it returns nothing");
  const ValueMeta* const meta = node.meta();
  if (!schema.yields_tuple()) {
    std::string type;
    switch (schema.returns[0].kind) {
      case SchemaType::Kind::kTensor: {
        const std::optional<std::string> known = TensorType(node.tensor_meta());
        if (!known) return UnknownMeta();
        type = *known;
        break;
      }
      case SchemaType::Kind::kInt: type = kInt; break;
      case SchemaType::Kind::kFloat: type = kFloat; break;
      case SchemaType::Kind::kBool: type = kBool; break;
      default: return Error("the torch dialect has no type for its result");
    }
    values_[&node] = Emit(node.name(), operation, operands, std::move(type), attributes);
    return absl::OkStatus();
  }
  if (meta == nullptr || !meta->is_tuple || meta->elements.empty()) return UnknownMeta();
  std::vector<std::string> types;
  for (const ValueMeta* element : meta->elements) {
    const std::optional<std::string> type =
        TensorType(element == nullptr ? nullptr : element->tensor);
    if (!type) return UnknownMeta();
    types.push_back(*type);
  }
  std::vector<Value> sources = operands;
  std::string last = operation;
  if (schema.returns.size() == 1) {
    sources = {
        Emit(absl::StrCat(node.name(), ".list"), operation, operands, kTensorList, attributes)};
    last = "torch.prim.ListUnpack";
    attributes = "";
  }
  const std::string name = Fresh(node.name());
  Append(absl::StrCat(name, ":", types.size()), last, sources,
         absl::StrCat("(", absl::StrJoin(types, ", "), ")"), attributes);
  for (size_t i = 0; i < types.size(); ++i) {
    elements_[&node].push_back({types.size() == 1 ? name : absl::StrCat(name, "#", i), types[i]});
  }
  return absl::OkStatus();
}

absl::Status Writer::WriteGetItem(const Node& node) {
  const absl::Span<const Argument> args = node.args();
  if (args.size() == 2 && args[0].is_node() && args[1].is_int()) {
    const std::vector<Value>& elements = elements_[args[0].node()];
    const int64_t i = args[1].integer();
    const int64_t at = i < 0 ? i + static_cast<int64_t>(elements.size()) : i;
    if (at >= 0 && at < static_cast<int64_t>(elements.size())) {
      values_[&node] = elements[at];
      return absl::OkStatus();
    }
  }
  return Error(
      "it subscripts a value that is not a tuple of tensors; run the pass torch-to-aten first");
}

absl::Status Writer::WriteArithmetic(const Node& node, const Callable& callee) {
  std::vector<Value> operands;
  for (const Argument& argument : node.args()) {
    ASSIGN_OR_RETURN(operands.emplace_back(),
                     Operand(argument, SchemaType{.kind = SchemaType::Kind::kInt}));
    if (operands.back().type != kInt) return Error("an operand is not a size");
  }
  static constexpr std::pair<absl::string_view, absl::string_view> kOperations[] = {
      {"add", "torch.aten.add.int"},           {"sub", "torch.aten.sub.int"},
      {"mul", "torch.aten.mul.int"},           {"neg", "torch.aten.neg.int"},
      {"floordiv", "torch.aten.floordiv.int"}, {"mod", "torch.aten.remainder.int"}};
  for (const auto& [name, operation] : kOperations) {
    if (callee.python_operator->name != name) continue;
    values_[&node] = Emit(node.name(), operation, operands, kInt);
    return absl::OkStatus();
  }
  return Error("the torch dialect does not have this arithmetic on sizes");
}

absl::Status Writer::WriteSize(const Node& node, const Schema& schema) {
  if (schema.arguments.size() != 2) return Error("it returns a list of unknown sizes");
  ASSIGN_OR_RETURN(const Value tensor, OperandOf(node, schema, 0));
  ASSIGN_OR_RETURN(const Value dim, OperandOf(node, schema, 1));
  values_[&node] = Emit(node.name(), "torch.aten.size.int", {tensor, dim}, kInt);
  return absl::OkStatus();
}

absl::Status Writer::WriteItem(const Node& node, const Schema& schema) {
  const TensorMeta* const meta = MetaOf(schema.Given(node, size_t{0}));
  if (meta == nullptr || meta->dtype == DType::kUnknown) return UnknownMeta();
  if (absl::StrContains(DTypeName(meta->dtype), "complex"))
    return Error("it takes a complex number out of a tensor");
  ASSIGN_OR_RETURN(const Value tensor, OperandOf(node, schema, 0));
  const char* const type = NumberType(meta->dtype);
  const char* const operation = type == kFloat  ? "torch.aten.Float.Tensor"
                                : type == kBool ? "torch.aten.Bool.Tensor"
                                                : "torch.aten.Int.Tensor";
  values_[&node] = Emit(node.name(), operation, {tensor}, type);
  return absl::OkStatus();
}

}  // namespace graphnet::mlir
