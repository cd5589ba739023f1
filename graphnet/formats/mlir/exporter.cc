#include "graphnet/formats/mlir/exporter.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/mlir/operators.h"
#include "graphnet/formats/mlir/resample.h"
#include "graphnet/formats/mlir/spelling.h"
#include "graphnet/formats/mlir/types.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {
namespace {

using mlir::TensorType;

constexpr char kInt[] = "!torch.int";
constexpr char kFloat[] = "!torch.float";
constexpr char kBool[] = "!torch.bool";
constexpr char kTensorList[] = "!torch.list<vtensor>";
// As many rows are added at most for one of a pool.
constexpr int64_t kMaxPooledRows = 64;

// An SSA value and its type.
struct Value {
  std::string name;  // "%add"
  std::string type;

  bool is_tensor() const { return absl::StartsWith(type, "!torch.vtensor"); }
  bool is_number() const { return type == kInt || type == kFloat || type == kBool; }
};

const char* NumberType(DType dtype) {
  if (dtype == DType::kBool) return kBool;
  return IsFloatingPoint(dtype) ? kFloat : kInt;
}

using mlir::FloatText;
using mlir::Quoted;
using mlir::SsaName;

class Writer {
 public:
  Writer(const Module& module, const MlirOptions& options)
      : module_(module), options_(options), values_(module), elements_(module) {}

  absl::StatusOr<MlirProgram> Run() {
    const Graph* const graph = module_.main();
    if (graph == nullptr || graph->output() == nullptr)
      return absl::InvalidArgumentError("a module without a graph");
    RETURN_IF_ERROR(WriteInputs(*graph));
    for (const Node* node : graph->nodes()) {
      if (!node->is_call()) continue;
      node_ = node;
      RETURN_IF_ERROR(WriteCall(*node));
    }
    node_ = nullptr;
    RETURN_IF_ERROR(WriteOutput(*graph->output()));
    return std::move(program_);
  }

 private:
  // --- Operations -----------------------------------------------------------

  std::string Fresh(absl::string_view name) {
    std::string made = SsaName(name);
    int& count = names_[made];
    // No name of SsaName has a dollar.
    if (count++ > 0) absl::StrAppend(&made, "$", count - 1);
    return made;
  }

  // loc("node"("net.py":7:3))
  void AppendLocation() {
    if (node_ == nullptr) return;
    const SourceLocation at = node_->location();
    absl::StrAppend(&body_, " loc(", Quoted(node_->name()));
    if (!at.file.empty()) {
      absl::StrAppend(&body_, "(", Quoted(at.file), ":", at.line, ":", at.column, ")");
    }
    absl::StrAppend(&body_, ")");
  }

  // `"torch.aten.relu"(%x) : (T) -> R`, with one or several results.
  void Append(absl::string_view results, absl::string_view operation,
              const std::vector<Value>& operands, absl::string_view result_types) {
    const auto name = [](std::string* out, const Value& value) {
      absl::StrAppend(out, value.name);
    };
    const auto type = [](std::string* out, const Value& value) {
      absl::StrAppend(out, value.type);
    };
    absl::StrAppend(&body_, "    ", results, " = \"", operation, "\"(",
                    absl::StrJoin(operands, ", ", name), ") : (",
                    absl::StrJoin(operands, ", ", type), ") -> ", result_types);
    AppendLocation();
    body_ += '\n';
  }

  Value Emit(absl::string_view name, absl::string_view operation,
             const std::vector<Value>& operands, std::string type) {
    Value value{Fresh(name), std::move(type)};
    Append(value.name, operation, operands, value.type);
    return value;
  }

  // "torch.constant.int 1", once each.
  Value Constant(absl::string_view name, const std::string& text, absl::string_view type) {
    Value& value = constants_[text];
    if (value.name.empty()) {
      value = {Fresh(name), std::string(type)};
      absl::StrAppend(&constants_text_, "    ", value.name, " = ", text, "\n");
    }
    return value;
  }
  Value None() { return Constant("none", "torch.constant.none", "!torch.none"); }
  Value Int(int64_t number) {
    return Constant("int", absl::StrCat("torch.constant.int ", number), kInt);
  }
  Value Bool(bool value) {
    return Constant(value ? "true" : "false",
                    absl::StrCat("torch.constant.bool ", value ? "true" : "false"), kBool);
  }
  Value Float(double number) {
    return Constant("float", absl::StrCat("torch.constant.float ", FloatText(number)), kFloat);
  }

  absl::Status Error(absl::string_view what) const { return NodeError(*node_, what); }

  // --- Inputs and attributes ------------------------------------------------

  absl::Status WriteInputs(const Graph& graph) {
    std::vector<std::string> arguments;
    for (const Node* node : graph.placeholders()) {
      Value value{Fresh(node->name()), ""};
      if (const std::optional<DType> number = NumberDType(node->annotation())) {
        value.type = NumberType(*number);
      } else if (const auto type = TensorType(node->tensor_meta())) {
        value.type = *type;
      } else {
        return NodeError(*node, "its rank or dtype is not known, or MLIR has none like it");
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
        if (!type) return NodeError(*node, "its rank or dtype is not known, or MLIR has none");
        value = {Fresh(node->target()), *type};
        program_.attributes.emplace_back(node->target());
        if (options_.parameter_scope.empty()) {
          arguments.push_back(absl::StrCat(value.name, ": ", value.type));
        } else {
          const std::optional<std::string> builtin = mlir::BuiltinTensorType(*meta);
          if (!builtin) return NodeError(*node, "a parameter whose sizes are not known");
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
    head_ = absl::StrCat("module {\n", globals, "  func.func @main(",
                         absl::StrJoin(arguments, ", "), ")");
    return absl::OkStatus();
  }

  absl::Status AddResults(const Argument& argument, std::vector<Value>* results) {
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
      return Error("it returns what is neither a tensor nor a number");
    results->push_back(std::move(value));
    return absl::OkStatus();
  }

  absl::Status WriteOutput(const Node& output) {
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

  absl::StatusOr<Value> ListOperand(absl::Span<const Argument> elements, SchemaType type,
                                    size_t repeat = 1) {
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
      default: return Error("a list that the torch dialect has no type for");
    }
    return Emit("list", "torch.prim.ListConstruct", operands, std::move(list));
  }

  absl::StatusOr<Value> NodeOperand(const Node& node, const SchemaType& type) {
    const Value& value = values_[&node];
    if (value.name.empty()) {
      if (!elements_[&node].empty() && type.is_list)
        return Emit("list", "torch.prim.ListConstruct", elements_[&node], kTensorList);
      return Error(absl::StrCat("it takes %", node.name(), ", which is no single value"));
    }
    const bool wants_tensor = type.kind == SchemaType::Kind::kTensor;
    if (wants_tensor && !type.is_list && value.is_number()) return AsTensor(value);
    if (!wants_tensor && type.kind != SchemaType::Kind::kAny && value.is_tensor())
      return Error(absl::StrCat("it takes the number in the tensor %", node.name()));
    return value;
  }

  Value AsTensor(const Value& number) {
    const char* const element = number.type == kInt ? "si64" : number.type == kBool ? "i1" : "f64";
    return Emit("number", "torch.prim.NumToTensor.Scalar", {number},
                absl::StrCat("!torch.vtensor<[],", element, ">"));
  }

  absl::StatusOr<Value> Operand(const Argument& argument, const SchemaType& type) {
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
        value =
            type.kind == Kind::kInt ? Int(argument.boolean() ? 1 : 0) : Bool(argument.boolean());
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
        const std::optional<int64_t> number = mlir::ScalarTypeNumber(argument.dtype());
        if (!number) return Error(absl::StrCat("MLIR has no ", DTypeName(argument.dtype())));
        return Int(*number);
      }
      case Argument::Kind::kLayout:
        if (argument.layout() != Layout::kStrided) return Error("a layout that is not strided");
        return Int(0);
      // Numbers as PyTorch's own.
      case Argument::Kind::kMemoryFormat: return Int(static_cast<int>(argument.memory_format()));
      case Argument::Kind::kDevice:
        return Constant(
            "device",
            absl::StrCat("torch.constant.device ", Quoted(DeviceTypeName(argument.device().type))),
            "!torch.Device");
      default: return Error("an argument that the torch dialect has no constant for");
    }
    if (type.kind == Kind::kTensor) return AsTensor(value);
    return value;
  }

  // --- Calls ------------------------------------------------------------------

  // The overload that takes numbers where this one takes tensors and is given numbers.
  const Schema& OverloadFor(const Node& node, const Schema& schema) {
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
      bool fits = other.arguments.size() == schema.arguments.size() &&
                  mlir::HasOperator(other.target) && !other.mutates();
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

  absl::StatusOr<Value> OperandOf(const Node& node, const Schema& schema, size_t i) {
    const SchemaArgument& argument = schema.arguments[i];
    const Argument* const given = schema.Given(node, i);
    if (schema.name == "slice" && (given == nullptr || given->is_none())) {
      // StableHLO's pipeline wants numbers.
      if (argument.name == "start") return Int(0);
      if (argument.name == "end") return Int(std::numeric_limits<int64_t>::max());
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
    // "[0, 1]"
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

  absl::Status WriteCall(const Node& node) {
    if (node.is_call_function("operator.getitem")) return WriteGetItem(node);
    const Callable callee = CalleeOf(node);
    if (callee.kind == Callable::Kind::kPythonOperator) return WriteArithmetic(node, callee);
    if (callee.kind != Callable::Kind::kAten || !callee.names_overload) {
      return Error(node.HasBody() ? "it has graphs, which is not written as MLIR"
                                  : "it is no overload of ATen; pass torch-to-aten makes it one");
    }
    const Schema& schema = OverloadFor(node, callee.overloads[0]);
    if (schema.mutates()) return Error("it writes to memory; pass functionalize makes it a value");
    if (schema.name == "sym_size" || schema.name == "size") return WriteSize(node, schema);
    if (schema.name == "item" || schema.name == "_local_scalar_dense")
      return WriteItem(node, schema);
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
    // Where it is is no question here.
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
    if (schema.name == "full") {
      ASSIGN_OR_RETURN(const bool is_written, WriteFull(node, schema));
      if (is_written) return absl::OkStatus();
    }
    if (schema.name == "index_put") {
      ASSIGN_OR_RETURN(const bool is_written, WriteMaskedPut(node, schema));
      if (is_written) return absl::OkStatus();
    }
    if (!mlir::HasOperator(schema.target))
      return Error(absl::StrCat("the torch dialect has no operator ", schema.target));
    std::vector<Value> operands;
    for (size_t i = 0; i < schema.arguments.size(); ++i) {
      ASSIGN_OR_RETURN(operands.emplace_back(), OperandOf(node, schema, i));
    }
    return WriteResults(node, schema, OperationOf(schema), operands);
  }

  static std::string OperationOf(const Schema& schema) {
    return absl::StrCat("torch.aten.", schema.name, schema.overload == "default" ? "" : ".",
                        schema.overload == "default" ? "" : schema.overload);
  }

  absl::Status WriteResults(const Node& node, const Schema& schema, const std::string& operation,
                            const std::vector<Value>& operands) {
    if (schema.returns.empty()) return Error("it yields nothing");
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
        default: return Error("it yields what the torch dialect has no type for");
      }
      values_[&node] = Emit(node.name(), operation, operands, std::move(type));
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
      sources = {Emit(absl::StrCat(node.name(), ".list"), operation, operands, kTensorList)};
      last = "torch.prim.ListUnpack";
    }
    const std::string name = Fresh(node.name());
    Append(absl::StrCat(name, ":", types.size()), last, sources,
           absl::StrCat("(", absl::StrJoin(types, ", "), ")"));
    for (size_t i = 0; i < types.size(); ++i) {
      elements_[&node].push_back({types.size() == 1 ? name : absl::StrCat(name, "#", i), types[i]});
    }
    return absl::OkStatus();
  }

  absl::Status UnknownMeta() const {
    return Error("the shape or dtype of what it yields is not known; graphnet shapes finds them");
  }

  absl::Status WriteGetItem(const Node& node) {
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
    return Error("it takes apart what is no tuple of tensors; pass torch-to-aten makes it a call");
  }

  // Of sizes: as TorchScript has it.
  absl::Status WriteArithmetic(const Node& node, const Callable& callee) {
    std::vector<Value> operands;
    for (const Argument& argument : node.args()) {
      ASSIGN_OR_RETURN(operands.emplace_back(),
                       Operand(argument, SchemaType{.kind = SchemaType::Kind::kInt}));
      if (operands.back().type != kInt) return Error("arithmetic on what is no size");
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
    return Error("the torch dialect has no such arithmetic on sizes");
  }

  absl::Status WriteSize(const Node& node, const Schema& schema) {
    if (schema.arguments.size() != 2) return Error("a list of sizes that are not known");
    ASSIGN_OR_RETURN(const Value tensor, OperandOf(node, schema, 0));
    ASSIGN_OR_RETURN(const Value dim, OperandOf(node, schema, 1));
    values_[&node] = Emit(node.name(), "torch.aten.size.int", {tensor, dim}, kInt);
    return absl::OkStatus();
  }

  // The number in a tensor; which kind follows from the dtype.
  absl::Status WriteItem(const Node& node, const Schema& schema) {
    const TensorMeta* const meta = MetaOf(schema.Given(node, size_t{0}));
    if (meta == nullptr || meta->dtype == DType::kUnknown) return UnknownMeta();
    if (absl::StrContains(DTypeName(meta->dtype), "complex"))
      return Error("a complex number that is taken out of a tensor");
    ASSIGN_OR_RETURN(const Value tensor, OperandOf(node, schema, 0));
    const char* const type = NumberType(meta->dtype);
    const char* const operation = type == kFloat  ? "torch.aten.Float.Tensor"
                                  : type == kBool ? "torch.aten.Bool.Tensor"
                                                  : "torch.aten.Int.Tensor";
    values_[&node] = Emit(node.name(), operation, {tensor}, type);
    return absl::OkStatus();
  }

  // --- What is written otherwise ------------------------------------------------

  static const TensorMeta* MetaOf(const Argument* argument) {
    return argument != nullptr && argument->is_node() ? argument->node()->tensor_meta() : nullptr;
  }

  static bool IsMask(const Argument& index) {
    const TensorMeta* const meta = MetaOf(&index);
    return meta != nullptr && (meta->dtype == DType::kBool || meta->dtype == DType::kUInt8);
  }

  // A mask as an index makes a shape of values, which pipelines take for numbers.
  absl::Status CheckIndices(const Node& node, const Schema& schema) const {
    if (schema.name == "index" &&
        absl::c_any_of(schema.Given(node, "indices")->elements(), IsMask)) {
      return Error("a mask as an index: the shape of what it yields depends on values");
    }
    return absl::OkStatus();
  }

  // index_put(x, [mask], number) is where(mask, number, x) for a mask of the sizes of x.
  absl::StatusOr<bool> WriteMaskedPut(const Node& node, const Schema& schema) {
    const absl::Span<const Argument> indices = schema.Given(node, "indices")->elements();
    if (absl::c_none_of(indices, IsMask)) return false;
    const TensorMeta* const self = MetaOf(schema.Given(node, size_t{0}));
    const TensorMeta* const mask = MetaOf(&indices[0]);
    const TensorMeta* const values = MetaOf(schema.Given(node, "values"));
    const Argument* const accumulate = schema.Given(node, "accumulate");
    const bool adds = accumulate != nullptr && !(accumulate->is_bool() && !accumulate->boolean());
    if (indices.size() != 1 || adds || self == nullptr || mask == nullptr || values == nullptr ||
        mask->dtype != DType::kBool || !self->has_shape || self->shape != mask->shape ||
        !values->has_shape || !values->shape.empty() || values->dtype != self->dtype) {
      return Error("a mask as an index: only one of all elements, for one number, can be written");
    }
    const std::optional<std::string> type = TensorType(self);
    if (!type) return UnknownMeta();
    ASSIGN_OR_RETURN(const Value where, OperandOf(node, schema, 0));
    ASSIGN_OR_RETURN(const Value condition,
                     NodeOperand(*indices[0].node(), {.kind = SchemaType::Kind::kTensor}));
    ASSIGN_OR_RETURN(const Value value, OperandOf(node, schema, 2));
    values_[&node] = Emit(node.name(), "torch.aten.where.self", {condition, value, where}, *type);
    return true;
  }

  // full(sizes, x.item()) is x, repeated: no number has to leave the program for it.
  absl::StatusOr<bool> WriteFull(const Node& node, const Schema& schema) {
    const Argument* const fill = schema.Given(node, "fill_value");
    const TensorMeta* const made = node.tensor_meta();
    if (fill == nullptr || !fill->is_node() || made == nullptr || !made->is_static()) return false;
    const Callable callee = CalleeOf(*fill->node());
    if (callee.kind != Callable::Kind::kAten ||
        (callee.name != "item" && callee.name != "_local_scalar_dense"))
      return false;
    const Argument& source = fill->node()->args()[0];
    const TensorMeta* const meta = MetaOf(&source);
    if (meta == nullptr || !meta->is_static()) return false;
    ASSIGN_OR_RETURN(const Value tensor,
                     Operand(source, SchemaType{.kind = SchemaType::Kind::kTensor}));
    const std::string name(node.name());
    const Value single = EmitSized(name + ".single", "torch.aten.view", tensor, *meta, {}, {});
    TensorMeta cast = *meta;
    cast.dtype = made->dtype;
    cast.shape = {};
    const std::optional<int64_t> dtype = mlir::ScalarTypeNumber(made->dtype);
    if (!dtype || !TensorType(&cast)) return UnknownMeta();
    const Value number =
        Emit(name + ".number", "torch.aten.to.dtype",
             {single, Int(*dtype), Bool(false), Bool(false), None()}, *TensorType(&cast));
    const std::vector<Dim> sizes(made->shape.begin(), made->shape.end());
    values_[&node] = EmitSized(name, "torch.aten.expand", number, *made, sizes, {Bool(false)});
    return true;
  }

  // where(x > 0, x, weight * x), the weight along the channels, where pipelines look for it at the
  // last dimension.
  absl::Status WritePrelu(const Node& node, const Schema& schema) {
    const TensorMeta* const x = MetaOf(schema.Given(node, size_t{0}));
    const TensorMeta* const weight = MetaOf(schema.Given(node, size_t{1}));
    const std::optional<std::string> type = TensorType(node.tensor_meta());
    if (x == nullptr || weight == nullptr || !x->has_shape || !weight->has_shape || !type)
      return UnknownMeta();
    std::vector<Dim> shape(x->shape.size(), Dim(1));
    if (shape.size() > 1 && weight->shape.size() == 1) {
      if (!weight->shape[0].is_static()) return UnknownMeta();
      shape[1] = weight->shape[0];
    }
    TensorMeta condition = *x;
    condition.dtype = DType::kBool;
    const std::string name(node.name());
    ASSIGN_OR_RETURN(const Value self, OperandOf(node, schema, 0));
    ASSIGN_OR_RETURN(const Value given, OperandOf(node, schema, 1));
    const Value slope = EmitSized(name + ".weight", "torch.aten.view", given, *weight, shape, {});
    const Value product = Emit(name + ".product", "torch.aten.mul.Tensor", {self, slope}, *type);
    const Value positive =
        Emit(name + ".positive", "torch.aten.gt.Scalar", {self, Int(0)}, *TensorType(&condition));
    values_[&node] = Emit(name, "torch.aten.where.self", {positive, self, product}, *type);
    return absl::OkStatus();
  }

  // What is made larger by a whole factor, nearest: each element repeated. All else along one
  // dimension after the other: what torch.export has stops IREE, what TorchScript has StableHLO.
  absl::Status WriteUpsample(const Node& node, const Schema& schema) {
    const TensorMeta* const x = MetaOf(schema.Given(node, size_t{0}));
    const TensorMeta* const made = node.tensor_meta();
    if (x == nullptr || !x->has_shape || !TensorType(made) || !made->has_shape ||
        x->shape.size() != made->shape.size() || x->shape.size() < 3)
      return UnknownMeta();
    // "upsample_nearest2d", "_upsample_nearest_exact1d", "upsample_bicubic2d"
    const absl::string_view mode = absl::StrContains(schema.name, "exact")     ? "nearest-exact"
                                   : absl::StrContains(schema.name, "nearest") ? "nearest"
                                   : absl::StrContains(schema.name, "cubic")   ? "cubic"
                                                                               : "linear";
    ASSIGN_OR_RETURN(Value value, OperandOf(node, schema, 0));
    if (!x->is_static() || !made->is_static()) return WriteInterpolate(node, schema, value);
    const std::vector<Dim> sizes(made->shape.begin(), made->shape.end());
    if (absl::StartsWith(mode, "nearest")) {
      std::vector<Dim> wide(x->shape.begin(), x->shape.begin() + 2), full = wide;
      bool is_whole = true;
      for (size_t i = 2; i < x->shape.size(); ++i) {
        const int64_t from = x->shape[i].value, to = made->shape[i].value;
        is_whole = is_whole && from > 0 && to % from == 0;
        if (!is_whole) break;
        wide.insert(wide.end(), {Dim(from), Dim(1)});
        full.insert(full.end(), {Dim(from), Dim(to / from)});
      }
      if (is_whole) {
        const std::string name(node.name());
        const Value apart = EmitSized(name + ".apart", "torch.aten.view", value, *x, wide, {});
        const Value repeated =
            EmitSized(name + ".repeated", "torch.aten.expand", apart, *x, full, {Bool(false)});
        values_[&node] = EmitSized(name, "torch.aten.reshape", repeated, *x, sizes, {});
        return absl::OkStatus();
      }
    }
    if (!IsFloatingPoint(x->dtype) && mode != "nearest" && mode != "nearest-exact")
      return Error("resampling of whole numbers");
    const Argument* const align = schema.Given(node, "align_corners");
    const Argument* const factors = schema.Given(node, "scale_factors");
    for (size_t i = 2; i < sizes.size(); ++i) {
      if (x->shape[i].value <= 0 || sizes[i].value <= 0) return Error("resampling of nothing");
      mlir::Resampling resampling = {.mode = mode, .from = x->shape[i].value, .to = sizes[i].value};
      resampling.align_corners = align != nullptr && align->is_bool() && align->boolean();
      if (factors != nullptr && factors->is_aggregate()) {
        const Argument factor =
            i - 2 < factors->elements().size() ? factors->elements()[i - 2] : Argument();
        if (!factor.is_float() && !factor.is_int()) return Error("a factor that is no number");
        resampling.factor =
            factor.is_float() ? factor.real() : static_cast<double>(factor.integer());
      }
      value = WriteTaps(node, value, *x, sizes, i, mlir::TapsOf(resampling));
    }
    values_[&node] = std::move(value);
    return absl::OkStatus();
  }

  // Along one dimension after the other where sizes do not divide: StableHLO's pipeline stops, and
  // IREE gets the sizes wrong.
  absl::StatusOr<bool> WriteAdaptivePool(const Node& node, const Schema& schema) {
    const TensorMeta* const x = MetaOf(schema.Given(node, size_t{0}));
    const TensorMeta* const made = node.tensor_meta();
    if (x == nullptr || made == nullptr || !x->has_shape || !made->has_shape || !x->is_static() ||
        !made->is_static() || x->shape.size() != made->shape.size() || !TensorType(made) ||
        !IsFloatingPoint(x->dtype))
      return false;
    bool divides = true;
    for (size_t i = 0; i < x->shape.size(); ++i) {
      const int64_t from = x->shape[i].value, to = made->shape[i].value;
      if (from <= 0 || to <= 0 || (from > to && from / to > kMaxPooledRows)) return false;
      divides = divides && from % to == 0;
    }
    if (divides) return false;
    ASSIGN_OR_RETURN(Value value, OperandOf(node, schema, 0));
    const std::vector<Dim> sizes(made->shape.begin(), made->shape.end());
    for (size_t i = 0; i < sizes.size(); ++i) {
      const int64_t from = x->shape[i].value, to = sizes[i].value;
      if (from != to) value = WriteTaps(node, value, *x, sizes, i, mlir::MeanTaps(from, to));
    }
    values_[&node] = std::move(value);
    return true;
  }

  // As TorchScript has it: of sizes that are not known.
  absl::Status WriteInterpolate(const Node& node, const Schema& schema, const Value& x) {
    absl::string_view mode = absl::StripPrefix(schema.name, "upsample_");
    mode = mode.substr(0, mode.size() - 2);
    const Argument* const align = schema.Given(node, "align_corners");
    std::vector<Value> operands = {x};
    for (const absl::string_view name : {"output_size", "scale_factors"}) {
      ASSIGN_OR_RETURN(operands.emplace_back(), OperandOf(node, schema, schema.IndexOf(name)));
    }
    operands.push_back(
        Constant("str", absl::StrCat("torch.constant.str ", Quoted(mode)), "!torch.str"));
    operands.push_back(align == nullptr ? None() : Bool(align->is_bool() && align->boolean()));
    operands.insert(operands.end(), {None(), Bool(false)});
    values_[&node] = Emit(node.name(), "torch.aten.__interpolate.size_list_scale_list", operands,
                          *TensorType(node.tensor_meta()));
    return absl::OkStatus();
  }

  // One dimension made anew; those before it have their new sizes, those behind it their old ones.
  Value WriteTaps(const Node& node, const Value& value, const TensorMeta& x,
                  const std::vector<Dim>& sizes, size_t dim, const std::vector<mlir::Tap>& taps) {
    std::vector<Dim> shape(x.shape.begin(), x.shape.end());
    std::copy_n(sizes.begin(), dim + 1, shape.begin());
    TensorMeta made = x;
    made.shape = shape;
    const std::string type = *TensorType(&made);
    std::vector<Dim> along(shape.size() - dim, Dim(1));
    along[0] = sizes[dim];
    const std::string name(node.name());
    Value sum;
    for (const mlir::Tap& tap : taps) {
      const Value index =
          Literal(absl::StrJoin(tap.indices, ", "), tap.indices.size(), DType::kInt64);
      Value part = Emit(name, "torch.aten.index_select",
                        {value, Int(static_cast<int64_t>(dim)), index}, type);
      if (taps.size() > 1) {
        const auto text = [](std::string* out, double weight) {
          absl::StrAppend(out, FloatText(weight));
        };
        const Value weights =
            Literal(absl::StrJoin(tap.weights, ", ", text), tap.weights.size(), x.dtype);
        const Value turned = EmitSized(name + ".weights", "torch.aten.view", weights, x, along, {});
        part = Emit(name, "torch.aten.mul.Tensor", {part, turned}, type);
      }
      sum =
          sum.name.empty() ? part : Emit(name, "torch.aten.add.Tensor", {sum, part, Int(1)}, type);
    }
    return sum;
  }

  // A tensor of one dimension, its elements as text.
  Value Literal(const std::string& elements, size_t size, DType dtype) {
    const Dim dims[] = {Dim(static_cast<int64_t>(size))};
    const TensorMeta meta = {.dtype = dtype, .has_shape = true, .shape = dims};
    return Constant("literal",
                    absl::StrCat("torch.vtensor.literal(dense<[", elements, "]> : tensor<", size,
                                 "x", mlir::ElementType(dtype), ">) : ", *TensorType(&meta)),
                    *TensorType(&meta));
  }

  // Each vector along its dimension, repeated along the others: pipelines make lists of wrong types
  // of it.
  absl::Status WriteMeshgrid(const Node& node, const Schema& schema) {
    const Argument* const vectors = schema.Given(node, size_t{0});
    const Argument* const indexing = schema.Given(node, "indexing");
    const ValueMeta* const meta = node.meta();
    if (meta == nullptr || !meta->is_tuple || vectors == nullptr || !vectors->is_aggregate() ||
        vectors->elements().size() != meta->elements.size())
      return UnknownMeta();
    const bool is_swapped =
        indexing != nullptr && indexing->is_string() && indexing->string() == "xy";
    std::vector<Value> made;
    for (size_t i = 0; i < meta->elements.size(); ++i) {
      const TensorMeta* const element =
          meta->elements[i] == nullptr ? nullptr : meta->elements[i]->tensor;
      if (element == nullptr || !element->has_shape || !element->is_static()) return UnknownMeta();
      const std::vector<Dim> full(element->shape.begin(), element->shape.end());
      const size_t along = is_swapped && full.size() > 1 && i < 2 ? 1 - i : i;
      std::vector<Dim> thin(full.size(), Dim(1));
      thin.at(along) = full.at(along);
      ASSIGN_OR_RETURN(const Value vector, Operand(vectors->elements()[i],
                                                   SchemaType{.kind = SchemaType::Kind::kTensor}));
      const std::string name(node.name());
      const Value turned = EmitSized(name + ".thin", "torch.aten.view", vector, *element, thin, {});
      made.push_back(EmitSized(name, "torch.aten.expand", turned, *element, full, {Bool(false)}));
    }
    elements_[&node] = std::move(made);
    return absl::OkStatus();
  }

  // An operator of a tensor and sizes that yields a tensor of these sizes.
  Value EmitSized(absl::string_view name, absl::string_view operation, const Value& tensor,
                  const TensorMeta& like, const std::vector<Dim>& shape,
                  const std::vector<Value>& more) {
    std::vector<Value> sizes;
    for (const Dim& dim : shape) sizes.push_back(Int(dim.value));
    TensorMeta meta = like;
    meta.shape = shape;
    std::vector<Value> operands = {
        tensor, Emit("list", "torch.prim.ListConstruct", sizes, "!torch.list<int>")};
    operands.insert(operands.end(), more.begin(), more.end());
    return Emit(name, operation, operands, *TensorType(&meta));
  }

  // softmax(q @ k^T * scale + mask) @ v, 0 for what may look at nothing, as PyTorch has it.
  absl::Status WriteMaskedAttention(const Node& node, const Schema& schema) {
    const auto meta_of = [&](absl::string_view name) { return MetaOf(schema.Given(node, name)); };
    const TensorMeta *const q = meta_of("query"), *const k = meta_of("key"),
                            *const v = meta_of("value"), *const mask = meta_of("attn_mask");
    const auto is_off = [&](absl::string_view name) {
      const Argument* const given = schema.Given(node, name);
      return given == nullptr || (given->is_bool() && !given->boolean()) ||
             (given->is_int() && given->integer() == 0) ||
             (given->is_float() && given->real() == 0);
    };
    if (!is_off("dropout_p") || !is_off("is_causal") || !is_off("enable_gqa"))
      return Error("attention with a mask and dropout, causality or groups");
    const std::optional<std::string> type = TensorType(node.tensor_meta());
    if (q == nullptr || k == nullptr || v == nullptr || mask == nullptr || !type ||
        q->shape.size() < 2 || q->shape.size() != k->shape.size() || !q->shape.back().is_static())
      return UnknownMeta();
    const size_t rank = q->shape.size();
    double scale = 1 / std::sqrt(static_cast<double>(q->shape.back().value));
    if (const Argument* given = schema.Given(node, "scale");
        given != nullptr && !given->is_none()) {
      if (!given->is_float() && !given->is_int()) return Error("a scale that is no number");
      scale = given->is_float() ? given->real() : static_cast<double>(given->integer());
    }
    std::vector<Dim> turned(k->shape.begin(), k->shape.end());
    std::swap(turned[rank - 1], turned[rank - 2]);
    std::vector<Dim> scores(q->shape.begin(), q->shape.end());
    scores.back() = k->shape[rank - 2];
    const auto typed = [&](const std::vector<Dim>& shape) {
      TensorMeta meta = *q;
      meta.shape = shape;
      return *TensorType(&meta);
    };
    const std::string name(node.name()), scores_type = typed(scores);
    ASSIGN_OR_RETURN(const Value query, OperandOf(node, schema, schema.IndexOf("query")));
    ASSIGN_OR_RETURN(const Value key, OperandOf(node, schema, schema.IndexOf("key")));
    ASSIGN_OR_RETURN(const Value value, OperandOf(node, schema, schema.IndexOf("value")));
    ASSIGN_OR_RETURN(const Value given_mask, OperandOf(node, schema, schema.IndexOf("attn_mask")));
    const Value key_t =
        Emit(name + ".key", "torch.aten.transpose.int", {key, Int(-2), Int(-1)}, typed(turned));
    const Value product = Emit(name + ".product", "torch.aten.matmul", {query, key_t}, scores_type);
    const Value scaled =
        Emit(name + ".scaled", "torch.aten.mul.Scalar", {product, Float(scale)}, scores_type);
    const Value masked =
        mask->dtype == DType::kBool
            ? Emit(name + ".masked", "torch.aten.where.ScalarOther",
                   {given_mask, scaled, Float(-std::numeric_limits<double>::infinity())},
                   scores_type)
            : Emit(name + ".masked", "torch.aten.add.Tensor", {scaled, given_mask, Int(1)},
                   scores_type);
    const Value weights =
        Emit(name + ".weights", "torch.aten._safe_softmax", {masked, Int(-1), None()}, scores_type);
    values_[&node] = Emit(name, "torch.aten.matmul", {weights, value}, *type);
    return absl::OkStatus();
  }

  const Module& module_;
  const MlirOptions& options_;
  MlirProgram program_;
  std::string head_, constants_text_, body_;
  const Node* node_ = nullptr;  // that is being written
  NodeTable<Value> values_;
  NodeTable<std::vector<Value>> elements_;  // of tuples and lists
  absl::flat_hash_map<std::string, Value> constants_;
  absl::flat_hash_map<std::string, int> names_;
};

}  // namespace

absl::StatusOr<MlirProgram> ExportMlir(const Module& module, const MlirOptions& options) {
  return Writer(module, options).Run();
}

}  // namespace graphnet
