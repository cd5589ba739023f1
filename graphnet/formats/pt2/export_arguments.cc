// Writes arguments and metas; see graph_exporter.h.
#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/pt2/expressions.h"
#include "graphnet/formats/pt2/graph_exporter.h"
#include "graphnet/formats/pt2/schema.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ir/verifier.h"

namespace graphnet::pt2 {
namespace {

using Kind = ExportValue::Kind;
using SchemaKind = SchemaType::Kind;

// Lists of at most this many elements are written wherever they are used.
constexpr uint64_t kFewElements = 64;

void WriteName(absl::string_view kind, absl::string_view name, JsonWriter* json) {
  json->StartObject();
  json->Member(kind).String(name);
  json->EndObject();
}

void WriteDevice(Device device, JsonWriter* json) {
  json->StartObject();
  json->Member("type").String(DeviceTypeName(device.type));
  json->Member("index");
  device.index < 0 ? json->Null() : json->Int(device.index);
  json->EndObject();
}

bool IsReal(const ExportValue& value) {
  return value.is_literal() && (value.literal.is_float() || value.literal.is_int());
}

double RealOf(const ExportValue& value) {
  return value.literal.is_int() ? static_cast<double>(value.literal.integer())
                                : value.literal.real();
}

}  // namespace

// --- Metas -------------------------------------------------------------------

const SymExpr* GraphExporter::SizeOf(const Dim& dim) {
  return dim.is_static() ? scratch_.SymInt(dim.value) : scratch_.CopySym(dim.expr);
}

std::string GraphExporter::SymbolText(absl::string_view name) {
  std::string text = original_.SymbolText(name);
  if (!text.empty()) return text;
  // PyTorch goes by the name: u0 is a size about which nothing is known.
  const bool is_unknown = absl::StartsWith(name, "u");
  return absl::StrCat("Symbol('", name,
                      is_unknown ? "', integer=True)" : "', positive=True, integer=True)");
}

// Writes a SymInt.
void GraphExporter::WriteSize(const SymExpr& size, JsonWriter* json) {
  json->StartObject();
  if (size.kind == SymExpr::Kind::kInt) {
    json->Member("as_int").Int(size.value);
    json->EndObject();
    return;
  }
  json->Member("as_expr").StartObject();
  json->Member("expr_str").String(PrintSrepr(size, [this](absl::string_view name) {
    return SymbolText(name);
  }));
  json->Member("hint");
  if (const std::optional<int64_t> hint = EvaluateWithExamples(scratch_, size)) {
    json->StartObject();
    json->Member("as_int").Int(*hint);
    json->EndObject();
  } else {
    json->Null();
  }
  json->EndObject();
  json->EndObject();
}

void GraphExporter::WriteTensorMeta(const TensorMeta& meta, bool requires_grad,
                                    absl::Span<const int64_t> strides, JsonWriter* json) {
  std::vector<const SymExpr*> sizes, steps(meta.shape.size());
  for (const Dim& dim : meta.shape) sizes.push_back(SizeOf(dim));
  const SymExpr* step = scratch_.SymInt(1);
  for (size_t i = sizes.size(); i-- > 0;) {
    steps[i] = strides.empty() ? step : scratch_.SymInt(strides[i]);
    if (sizes[i]->kind == SymExpr::Kind::kInt && step->kind == SymExpr::Kind::kInt) {
      step = scratch_.SymInt(step->value * std::max<int64_t>(sizes[i]->value, 1));
    } else if (sizes[i]->kind != SymExpr::Kind::kInt || sizes[i]->value > 1) {
      const bool is_one = step->kind == SymExpr::Kind::kInt && step->value == 1;
      step = is_one ? sizes[i] : scratch_.SymBinary(SymExpr::Kind::kMul, sizes[i], step);
    }
  }
  json->StartObject();
  json->Member("dtype").Int(ScalarTypeNumber(meta.dtype));
  json->Member("sizes").StartArray();
  for (const SymExpr* size : sizes) WriteSize(*size, json);
  json->EndArray();
  json->Member("requires_grad").Bool(requires_grad);
  WriteDevice(meta.device, &json->Member("device"));
  json->Member("strides").StartArray();
  for (const SymExpr* stride : steps) WriteSize(*stride, json);
  json->EndArray();
  json->Member("storage_offset").StartObject();
  json->Member("as_int").Int(0);
  json->EndObject();
  json->Member("layout").Int(LayoutNumber(Layout::kStrided));
  json->EndObject();
}

// True if a TensorMeta of the original program agrees with what is known. Sizes that the IR cannot
// express count as unchanged.
bool GraphExporter::IsSame(Json meta, const TensorMeta& known) {
  Json dtype_field, sizes, device_field;
  if (!ReadFields(meta, {{"dtype", &dtype_field}, {"sizes", &sizes}, {"device", &device_field}})
           .ok()) {
    return false;
  }
  const absl::StatusOr<DType> dtype = ReadScalarType(dtype_field);
  const absl::StatusOr<Device> device = ReadDevice(device_field);
  if (!dtype.ok() || *dtype != known.dtype || !device.ok()) return false;
  if (known.has_device && *device != known.device) return false;
  if (!known.has_shape) return true;
  if (!sizes.ExpectArray().ok() || sizes.size() != known.shape.size()) return false;
  size_t i = 0;
  for (const Json size : sizes.elements()) {
    const Dim& dim = known.shape[i++];
    const absl::StatusOr<JsonUnion> value = ReadUnion(size);
    if (!value.ok()) return false;
    const SymExpr* expr = nullptr;
    if (value->kind == "as_int") {
      const absl::StatusOr<int64_t> number = value->value.Int();
      if (number.ok()) expr = scratch_.SymInt(*number);
    } else {
      Json text;
      if (!ReadFields(value->value, {{"expr_str", &text}}).ok() || !text.is_string()) return false;
      expr = ParseSympy(*text.String(), &scratch_).value_or(nullptr);
    }
    if (expr != SizeOf(dim)) return false;
  }
  return true;
}

absl::StatusOr<ExportValue> GraphExporter::AddTensor(absl::string_view name, const TensorMeta* meta,
                                                     const Node& node, Scope* scope) {
  ExportValue value;
  value.kind = Kind::kTensor;
  value.name = name;
  value.meta = meta;
  if (scope->original != nullptr && meta != nullptr) {
    const auto it = scope->original->tensors.find(name);
    if (it != scope->original->tensors.end() && IsSame(it->second, *meta)) {
      scope->tensors.Member(name).Copy(it->second);
      return value;
    }
  }
  if (meta == nullptr || !meta->has_shape || meta->dtype == DType::kUnknown) {
    return NodeError(node, node.is_placeholder()
                               ? "its shape and dtype are not known; give them with --input"
                               : "the shape and dtype of its value are not known; `graphnet "
                                 "shapes` says why");
  }
  if (ScalarTypeNumber(meta->dtype) == 0) {
    return NodeError(node, absl::StrCat("torch.export has no dtype ", DTypeName(meta->dtype)));
  }
  scope->tensors.Member(name);
  WriteTensorMeta(*meta, false, {}, &scope->tensors);
  return value;
}

ExportValue GraphExporter::AddNumber(Kind kind, absl::string_view name, absl::string_view target,
                                     const SymExpr* size, Scope* scope) {
  ExportValue value;
  value.kind = kind;
  value.name = name;
  value.size = size;
  JsonWriter* const table = kind == Kind::kInt     ? &scope->ints
                            : kind == Kind::kFloat ? &scope->floats
                                                   : &scope->bools;
  if (scope->original != nullptr) {
    const auto& known = kind == Kind::kInt     ? scope->original->ints
                        : kind == Kind::kFloat ? scope->original->floats
                                               : scope->original->bools;
    const auto it = known.find(name);
    const auto maker = scope->original->nodes.find(name);
    Json made_by;
    if (maker != scope->original->nodes.end()) {
      ReadFields(maker->second, {{"target", &made_by, false}}).IgnoreError();
    }
    const absl::string_view was = made_by.is_string() ? *made_by.String() : absl::string_view();
    if (it != known.end() && was == target) {
      table->Member(name).Copy(it->second);
      if (const auto read = ReadUnion(it->second);
          read.ok() && read->kind == "as_expr" && kind == Kind::kInt) {
        Json text;
        ReadFields(read->value, {{"expr_str", &text, false}}).IgnoreError();
        if (text.is_string()) {
          value.size = ParseSympy(*text.String(), &scratch_).value_or(nullptr);
        }
      }
      return value;
    }
  }
  table->Member(name);
  if (kind == Kind::kInt && size != nullptr) {
    WriteSize(*size, table);
    return value;
  }
  if (kind == Kind::kBool && size != nullptr) {
    value.size = nullptr;
    table->StartObject();
    table->Member("as_expr").StartObject();
    table->Member("expr_str").String(PrintSrepr(*size, [this](absl::string_view symbol) {
      return SymbolText(symbol);
    }));
    table->Member("hint").Null();
    table->EndObject();
    table->EndObject();
    return value;
  }
  // Nothing is known of this size, so it gets a new symbol.
  std::string symbol;
  do {
    symbol = absl::StrCat("u", num_unknown_++);
  } while (module_.FindSymbol(symbol) != nullptr);
  const std::string text = SymbolText(symbol);
  table->StartObject();
  table->Member("as_expr").StartObject();
  if (kind == Kind::kInt) {
    scratch_.AddSymbol(symbol, std::nullopt);
    value.size = scratch_.SymSymbol(symbol);
    table->Member("expr_str").String(text);
  } else if (kind == Kind::kBool) {
    unknown_bools_.insert(symbol);
    table->Member("expr_str").String(absl::StrCat("Equality(", text, ", Integer(1))"));
  } else {
    table->Member("expr_str").String(absl::StrCat("Symbol('zuf", num_unknown_ - 1, "')"));
  }
  table->Member("hint").Null();
  table->EndObject();
  table->EndObject();
  return value;
}

// --- Arguments ---------------------------------------------------------------

absl::StatusOr<ExportValue> GraphExporter::MakeSize(const Node& node, const SymExpr* size,
                                                    Scope* scope) {
  if (size->kind == SymExpr::Kind::kInt) return ExportValue(Argument(size->value));
  if (const auto it = scope->sizes.find(size); it != scope->sizes.end()) return it->second;
  const auto fail = [&] { return NodeError(node, "it takes a size that no input has"); };
  ExportValue made;
  if (size->kind == SymExpr::Kind::kSymbol) {
    for (const Node* placeholder : scope->graph->placeholders()) {
      const ExportValue& value = values_.at(placeholder);
      if (value.kind == Kind::kInt && value.size == size) made = value;
      if (value.kind != Kind::kTensor || value.meta == nullptr) continue;
      for (size_t i = 0; i < value.meta->shape.size() && made.is_none(); ++i) {
        if (value.meta->shape[i].is_static() || SizeOf(value.meta->shape[i]) != size) continue;
        const absl::string_view name =
            arena_.Copy(absl::string_view(Unique("sym_size_int", scope)));
        JsonWriter inputs, outputs;
        inputs.StartArray();
        RETURN_IF_ERROR(WriteInput(node, "self", 1, value, nullptr, scope, &inputs));
        RETURN_IF_ERROR(WriteInput(node, "dim", 1, Argument(i), nullptr, scope, &inputs));
        inputs.EndArray();
        made = AddNumber(Kind::kInt, name, "torch.ops.aten.sym_size.int", size, scope);
        outputs.StartArray();
        RETURN_IF_ERROR(WriteArgument(node, made, nullptr, scope, &outputs));
        outputs.EndArray();
        WriteNode(nullptr, "torch.ops.aten.sym_size.int", inputs.text(), outputs.text(), name,
                  std::nullopt, scope);
      }
    }
    if (made.is_none()) return fail();
  } else {
    absl::string_view function;
    switch (size->kind) {
      case SymExpr::Kind::kNeg: function = "operator.neg"; break;
      case SymExpr::Kind::kAdd: function = "operator.add"; break;
      case SymExpr::Kind::kSub: function = "operator.sub"; break;
      case SymExpr::Kind::kMul: function = "operator.mul"; break;
      case SymExpr::Kind::kFloorDiv: function = "operator.floordiv"; break;
      case SymExpr::Kind::kMod: function = "operator.mod"; break;
      case SymExpr::Kind::kPow: function = "operator.pow"; break;
      case SymExpr::Kind::kMin: function = "torch.sym_min"; break;
      case SymExpr::Kind::kMax: function = "torch.sym_max"; break;
      default: return fail();
    }
    std::vector<ExportValue> operands;
    for (const SymExpr* operand : {size->lhs, size->rhs}) {
      if (operand == nullptr) continue;
      ASSIGN_OR_RETURN(operands.emplace_back(), MakeSize(node, operand, scope));
    }
    const std::string target =
        absl::StrCat(absl::StartsWith(function, "operator.") ? "_" : "", function);
    JsonWriter inputs, outputs;
    inputs.StartArray();
    for (size_t i = 0; i < operands.size(); ++i) {
      RETURN_IF_ERROR(
          WriteInput(node, i == 0 ? "a" : "b", 1, operands[i], nullptr, scope, &inputs));
    }
    inputs.EndArray();
    const absl::string_view name =
        arena_.Copy(absl::string_view(Unique(target.substr(target.find('.') + 1), scope)));
    made = AddNumber(Kind::kInt, name, target, size, scope);
    outputs.StartArray();
    RETURN_IF_ERROR(WriteArgument(node, made, nullptr, scope, &outputs));
    outputs.EndArray();
    WriteNode(nullptr, target, inputs.text(), outputs.text(), name, std::nullopt, scope);
  }
  scope->sizes.emplace(size, made);
  return made;
}

absl::StatusOr<ExportValue> GraphExporter::Resolve(const Node& node, const Argument& argument,
                                                   Scope* scope) {
  switch (argument.kind()) {
    case Argument::Kind::kNode: {
      const auto it = values_.find(argument.node());
      if (it != values_.end()) return it->second;
      return NodeError(node,
                       absl::StrCat("it uses ", argument.node()->name(), ", which has no value"));
    }
    case Argument::Kind::kSymInt: return MakeSize(node, scratch_.CopySym(argument.sym()), scope);
    case Argument::Kind::kList:
    case Argument::Kind::kTuple:
    case Argument::Kind::kDict: {
      ExportValue::Elements elements;
      for (const Argument& element : argument.elements()) {
        ASSIGN_OR_RETURN(elements.emplace_back(), Resolve(node, element, scope));
      }
      return ExportValue::Sequence(argument.is_list()    ? Kind::kList
                                   : argument.is_tuple() ? Kind::kTuple
                                                         : Kind::kDict,
                                   std::move(elements));
    }
    case Argument::Kind::kSlice:
    case Argument::Kind::kEllipsis:
      return NodeError(node, "torch.export does not support a slice or an ellipsis as an argument");
    default: return ExportValue(argument);
  }
}

// Writes a NamedArgument.
absl::Status GraphExporter::WriteInput(const Node& node, absl::string_view name, int64_t kind,
                                       const ExportValue& value, const SchemaType* type,
                                       Scope* scope, JsonWriter* inputs) {
  inputs->StartObject();
  inputs->Member("name").String(name);
  RETURN_IF_ERROR(WriteArgument(node, value, type, scope, &inputs->Member("arg")));
  inputs->Member("kind").Int(kind);
  inputs->EndObject();
  return absl::OkStatus();
}

absl::Status GraphExporter::WriteArgument(const Node& node, const ExportValue& value,
                                          const SchemaType* type, Scope* scope, JsonWriter* json) {
  switch (value.kind) {
    case Kind::kList:
    case Kind::kTuple:
      if (type != nullptr && type->kind == SchemaKind::kTensor && !type->is_list) {
        return NodeError(node, absl::StrCat("expected a tensor, got a ",
                                            value.kind == Kind::kList ? "list" : "tuple"));
      }
      return WriteList(node, value, type, json);
    default: break;
  }
  json->StartObject();
  switch (value.kind) {
    case Kind::kTensor: WriteName("name", value.name, &json->Member("as_tensor")); break;
    case Kind::kInt: WriteName("as_name", value.name, &json->Member("as_sym_int")); break;
    case Kind::kFloat: WriteName("as_name", value.name, &json->Member("as_sym_float")); break;
    case Kind::kBool: WriteName("as_name", value.name, &json->Member("as_sym_bool")); break;
    case Kind::kDict: {
      json->Member("as_string_to_argument").StartObject();
      for (size_t i = 0; i < value.elements->size(); i += 2) {
        const ExportValue& key = (*value.elements)[i];
        if (!key.is_string())
          return NodeError(node, "it takes a dict whose keys are not all strings");
        RETURN_IF_ERROR(WriteArgument(node, (*value.elements)[i + 1], nullptr, scope,
                                      &json->Member(key.literal.string())));
      }
      json->EndObject();
      break;
    }
    default: {
      const Argument& literal = value.literal;
      const SchemaKind wanted = type == nullptr ? SchemaKind::kAny : type->kind;
      switch (literal.kind()) {
        case Argument::Kind::kNone: json->Member("as_none").Bool(true); break;
        case Argument::Kind::kBool: json->Member("as_bool").Bool(literal.boolean()); break;
        case Argument::Kind::kInt:
          if (wanted == SchemaKind::kFloat) {
            json->Member("as_float").Float(RealOf(value));
          } else {
            json->Member("as_int").Int(literal.integer());
          }
          break;
        case Argument::Kind::kFloat: json->Member("as_float").Float(literal.real()); break;
        case Argument::Kind::kComplex:
          json->Member("as_complex").StartObject();
          json->Member("real").Float(literal.complex().real());
          json->Member("imag").Float(literal.complex().imag());
          json->EndObject();
          break;
        case Argument::Kind::kString: {
          const std::optional<Device> device =
              wanted == SchemaKind::kDevice ? ParseDevice(literal.string()) : std::nullopt;
          if (device) {
            WriteDevice(*device, &json->Member("as_device"));
          } else {
            const bool is_operator =
                type == nullptr && absl::StartsWith(literal.string(), "torch.ops.");
            json->Member(is_operator ? "as_operator" : "as_string").String(literal.string());
          }
          break;
        }
        case Argument::Kind::kDType: {
          const int64_t number = ScalarTypeNumber(literal.dtype());
          if (number == 0) {
            return NodeError(
                node, absl::StrCat("torch.export has no dtype ", DTypeName(literal.dtype())));
          }
          json->Member("as_scalar_type").Int(number);
          break;
        }
        case Argument::Kind::kDevice:
          WriteDevice(literal.device(), &json->Member("as_device"));
          break;
        case Argument::Kind::kLayout: {
          const int64_t number = LayoutNumber(literal.layout());
          if (number == 0)
            return NodeError(node, "torch.export does not support the layout that it takes");
          json->Member("as_layout").Int(number);
          break;
        }
        case Argument::Kind::kMemoryFormat:
          json->Member("as_memory_format").Int(MemoryFormatNumber(literal.memory_format()));
          break;
        case Argument::Kind::kGraph:
          RETURN_IF_ERROR(WriteGraph(*literal.graph(), scope, &json->Member("as_graph")));
          break;
        default: return NodeError(node, "torch.export does not support arguments of this kind");
      }
    }
  }
  json->EndObject();
  return absl::OkStatus();
}

absl::Status GraphExporter::WriteList(const Node& node, const ExportValue& value,
                                      const SchemaType* type, JsonWriter* json) {
  const SchemaKind wanted = type == nullptr ? SchemaKind::kAny : type->kind;
  // A list may be an argument of many calls, and hold others that are shared.
  uint64_t size = value.elements->size();
  for (const ExportValue& element : *value.elements) {
    if (element.elements != nullptr) size = AddSizes(size, element.elements->size());
  }
  if (size > kFewElements && !written_.Charge(size)) {
    return NodeError(node,
                     "the program is too large, because its lists are written wherever they are "
                     "used");
  }
  const ExportValue::Elements& elements = *value.elements;
  const auto all = [&](auto&& is) { return absl::c_all_of(elements, is); };
  const auto write = [&](absl::string_view kind, auto&& write_element) {
    json->StartObject();
    json->Member(kind).StartArray();
    for (const ExportValue& element : elements) write_element(element);
    json->EndArray();
    json->EndObject();
    return absl::OkStatus();
  };
  const auto tensor = [&](const ExportValue& e) { WriteName("name", e.name, json); };
  if (elements.empty()) {
    const absl::string_view kind = wanted == SchemaKind::kInt      ? "as_ints"
                                   : wanted == SchemaKind::kFloat  ? "as_floats"
                                   : wanted == SchemaKind::kBool   ? "as_bools"
                                   : wanted == SchemaKind::kString ? "as_strings"
                                                                   : "as_tensors";
    return write(kind, tensor);
  }
  if (all([](const ExportValue& e) { return e.kind == Kind::kTensor; })) {
    return write("as_tensors", tensor);
  }
  if (all([](const ExportValue& e) { return e.kind == Kind::kTensor || e.is_none(); })) {
    return write("as_optional_tensors", [&](const ExportValue& e) {
      json->StartObject();
      if (e.is_none()) {
        json->Member("as_none").Bool(true);
      } else {
        WriteName("name", e.name, &json->Member("as_tensor"));
      }
      json->EndObject();
    });
  }
  if (all([](const ExportValue& e) { return e.is_literal() && e.literal.is_bool(); })) {
    return write("as_bools", [&](const ExportValue& e) { json->Bool(e.literal.boolean()); });
  }
  if (wanted != SchemaKind::kFloat && all([](const ExportValue& e) { return e.is_int(); })) {
    return write("as_ints", [&](const ExportValue& e) { json->Int(e.literal.integer()); });
  }
  if (all(IsReal)) {
    return write("as_floats", [&](const ExportValue& e) { json->Float(RealOf(e)); });
  }
  if (all([](const ExportValue& e) { return e.is_string(); })) {
    return write("as_strings", [&](const ExportValue& e) { json->String(e.literal.string()); });
  }
  const auto named = [&](Kind kind, absl::string_view list, absl::string_view literal,
                         auto&& write_literal) {
    return write(list, [&](const ExportValue& e) {
      json->StartObject();
      if (e.kind == kind) {
        json->Member("as_name").String(e.name);
      } else {
        json->Member(literal);
        write_literal(e);
      }
      json->EndObject();
    });
  };
  if (all([](const ExportValue& e) { return e.kind == Kind::kInt || e.is_int(); })) {
    return named(Kind::kInt, "as_sym_ints", "as_int",
                 [&](const ExportValue& e) { json->Int(e.literal.integer()); });
  }
  if (all([](const ExportValue& e) { return e.kind == Kind::kFloat || IsReal(e); })) {
    return named(Kind::kFloat, "as_sym_floats", "as_float",
                 [&](const ExportValue& e) { json->Float(RealOf(e)); });
  }
  if (all([](const ExportValue& e) {
        return e.kind == Kind::kBool || (e.is_literal() && e.literal.is_bool());
      })) {
    return named(Kind::kBool, "as_sym_bools", "as_bool",
                 [&](const ExportValue& e) { json->Bool(e.literal.boolean()); });
  }
  const auto lists_of = [&](auto&& is) {
    return all(
        [&](const ExportValue& e) { return e.is_sequence() && absl::c_all_of(*e.elements, is); });
  };
  const auto write_lists = [&](absl::string_view kind, auto&& write_element) {
    return write(kind, [&](const ExportValue& e) {
      json->StartArray();
      for (const ExportValue& inner : *e.elements) write_element(inner);
      json->EndArray();
    });
  };
  if (lists_of([](const ExportValue& e) { return e.kind == Kind::kTensor; })) {
    return write_lists("as_nested_tensors", tensor);
  }
  if (lists_of([](const ExportValue& e) { return e.is_int(); })) {
    return write_lists("as_int_lists",
                       [&](const ExportValue& e) { json->Int(e.literal.integer()); });
  }
  if (lists_of(IsReal)) {
    return write_lists("as_float_lists", [&](const ExportValue& e) { json->Float(RealOf(e)); });
  }
  // torch.export writes every operand of a higher-order call, number or tensor, as a tensor and
  // finds it by its name.
  if (wanted == SchemaKind::kAny && all([](const ExportValue& e) {
        return e.kind == Kind::kTensor || e.kind == Kind::kInt || e.kind == Kind::kFloat ||
               e.kind == Kind::kBool;
      })) {
    return write("as_tensors", tensor);
  }
  return NodeError(node, "torch.export does not support lists of values of several kinds");
}

}  // namespace graphnet::pt2
