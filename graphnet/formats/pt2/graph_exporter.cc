#include "graphnet/formats/pt2/graph_exporter.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/missing_values.h"
#include "graphnet/formats/pt2/evaluated.h"
#include "graphnet/formats/pt2/expressions.h"
#include "graphnet/formats/pt2/schema.h"
#include "graphnet/formats/pt2/tree_spec.h"
#include "graphnet/interp/inputs/given_value.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/node_error.h"

namespace graphnet::pt2 {
namespace {

constexpr int64_t kSchemaMajor = 8;
constexpr int64_t kSchemaMinor = 20;
constexpr int64_t kAtenVersion = 10;
constexpr int64_t kTreeSpecVersion = 1;
constexpr absl::string_view kTorchVersion = "2.13.0";

// A returned value counts as this many values in a list: it is written three times.
constexpr uint64_t kLeafCost = 16;
// The budget of values grows by this for each node of the module.
constexpr uint64_t kValuesPerNode = 64;

// True for names that code generated from the graph would read as something else.
bool IsReserved(absl::string_view name) {
  static const auto* const kReserved = new absl::flat_hash_set<absl::string_view>{
      "False",  "None",   "True",    "and",      "as",     "as_none",  "assert", "async",
      "await",  "break",  "class",   "continue", "def",    "del",      "device", "elif",
      "else",   "except", "finally", "for",      "from",   "getattr",  "global", "if",
      "import", "in",     "inf",     "is",       "lambda", "math",     "nan",    "nonlocal",
      "not",    "or",     "pass",    "raise",    "return", "self",     "slice",  "torch",
      "try",    "while",  "with",    "yield",    "pytree", "operator", "forward"};
  return kReserved->contains(name);
}

std::string Identifier(absl::string_view text) {
  std::string out(text.empty() || absl::ascii_isdigit(static_cast<unsigned char>(text[0])), '_');
  for (const char c : text) out += absl::ascii_isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (IsReserved(out)) out += '_';
  return out;
}

void WriteLeaf(JsonWriter* spec) {
  spec->StartObject();
  spec->Member("type").Null();
  spec->Member("context").Null();
  spec->Member("children_spec").StartArray();
  spec->EndArray();
  spec->EndObject();
}

// Writes the beginning of a tree's node, up to its children.
void StartTree(absl::string_view type, absl::string_view context, JsonWriter* spec) {
  spec->StartObject();
  spec->Member("type").String(type);
  spec->Member("context").String(context);
  spec->Member("children_spec").StartArray();
}

void EndTree(JsonWriter* spec) {
  spec->EndArray();
  spec->EndObject();
}

std::string TreeText(absl::string_view tree) {
  return absl::StrCat("[", kTreeSpecVersion, ", ", tree, "]");
}

bool IsLeaf(const ExportValue& value) { return value.elements == nullptr; }

// True if the value has the structure `spec`; instances of classes count as tuples.
bool HasShape(const ExportValue& value, const TreeSpec& spec) {
  if (IsLeaf(value)) return spec.kind == TreeSpec::Kind::kLeaf;
  const bool is_dict = value.kind == ExportValue::Kind::kDict;
  const size_t step = is_dict ? 2 : 1;
  if (spec.children.size() * step != value.elements->size()) return false;
  if (is_dict != (spec.kind == TreeSpec::Kind::kDict)) return false;
  if (spec.kind == TreeSpec::Kind::kLeaf) return false;
  if (!is_dict &&
      (value.kind == ExportValue::Kind::kList) != (spec.kind == TreeSpec::Kind::kList)) {
    return false;
  }
  for (size_t i = 0; i < spec.children.size(); ++i) {
    if (!HasShape((*value.elements)[i * step + step - 1], spec.children[i])) return false;
    if (!is_dict) continue;
    const ExportValue& key = (*value.elements)[i * step];
    const auto* const text = std::get_if<std::string>(&spec.keys[i]);
    if (key.is_string() != (text != nullptr)) return false;
    if (text != nullptr && key.literal.string() != *text) return false;
  }
  return true;
}

Json Field(Json object, absl::string_view name) {
  Json found;
  if (!object.is_null()) ReadFields(object, {{name, &found, false}}).IgnoreError();
  return found;
}

}  // namespace

// --- Names -------------------------------------------------------------------

std::string GraphExporter::Unique(absl::string_view wanted, Scope* scope) {
  return scope->names.Reserve(Identifier(wanted));
}

absl::string_view GraphExporter::NameOf(const Node& node, Scope* scope) {
  // Open() has already reserved the names of this graph's own nodes.
  if (node.graph() == scope->graph && Identifier(node.name()) == node.name()) {
    return node.name();
  }
  return arena_.Copy(absl::string_view(Unique(node.name(), scope)));
}

void GraphExporter::Open(const Graph& graph, Scope* scope) {
  scope->graph = &graph;
  for (const Node* node : graph.nodes()) {
    scope->names.Insert(node->name());
    // Bodies become attributes of the generated module, so reserve their names.
    node->ForEachArgument([&](const Argument& argument) {
      if (argument.is_graph()) scope->names.Insert(Identifier(argument.graph()->name()));
    });
  }
  scope->inputs.StartArray();
  scope->nodes.StartArray();
  for (JsonWriter* table : {&scope->tensors, &scope->ints, &scope->bools, &scope->floats}) {
    table->StartObject();
  }
}

// Writes the schema's Graph.
void GraphExporter::Close(absl::string_view outputs, bool is_single, Scope* scope,
                          JsonWriter* json) {
  scope->inputs.EndArray();
  scope->nodes.EndArray();
  for (JsonWriter* table : {&scope->tensors, &scope->ints, &scope->bools, &scope->floats}) {
    table->EndObject();
  }
  json->StartObject();
  json->Member("inputs").Raw(scope->inputs.text());
  json->Member("outputs").Raw(outputs);
  json->Member("nodes").Raw(scope->nodes.text());
  json->Member("tensor_values").Raw(scope->tensors.text());
  json->Member("sym_int_values").Raw(scope->ints.text());
  json->Member("sym_bool_values").Raw(scope->bools.text());
  json->Member("is_single_tensor_return").Bool(is_single);
  json->Member("custom_obj_values").Raw("{}");
  json->Member("sym_float_values").Raw(scope->floats.text());
  json->EndObject();
}

// --- Signature ---------------------------------------------------------------

absl::Status GraphExporter::AddAttributes(Scope* scope, JsonWriter* specs) {
  absl::flat_hash_map<absl::string_view, const Node*> readers;
  for (const Graph* graph : module_.graphs()) {
    for (const Node* node : graph->nodes()) {
      if (node->op() == Op::kGetAttr) readers.try_emplace(node->target(), node);
    }
  }
  for (const Attribute& attribute : module_.attributes()) {
    const auto reader = readers.find(attribute.name);
    const auto data = sample_.weights.find(std::string(attribute.name));
    if (data == sample_.weights.end()) {
      if (reader == readers.end()) continue;
      return NodeError(*reader->second, absl::StrCat("the value of ", Printable(attribute.name),
                                                     " is not known", kValueHint));
    }
    ExportedAttribute exported{.attribute = &attribute};
    exported.is_parameter = attribute.annotation == kParameterAnnotation;
    exported.requires_grad = exported.is_parameter && IsFloatingPoint(data->second.dtype);
    // Write the attribute as in the original program if that has it.
    const absl::StatusOr<JsonUnion> spec = ReadUnion(original_.AttributeSpec(attribute.name));
    absl::string_view kind = exported.is_parameter ? "parameter" : "buffer";
    bool is_persistent = true;
    if (spec.ok() && spec->kind != "custom_obj") {
      kind = spec->kind;
      exported.is_parameter = kind == "parameter";
      if (kind == "buffer") is_persistent = Field(spec->value, "persistent").Bool().value_or(true);
      const Json meta = Field(original_.Payload(attribute.name), "tensor_meta");
      exported.requires_grad = Field(meta, "requires_grad").Bool().value_or(exported.requires_grad);
    }
    exported.is_constant = kind == "tensor_constant" || !is_persistent;
    attributes_.push_back(exported);

    const bool is_own = reader != readers.end() && reader->second->graph() == scope->graph;
    const absl::string_view name =
        is_own ? NameOf(*reader->second, scope)
               : arena_.Copy(absl::string_view(Unique(attribute.name, scope)));
    // Prefer the stored tensor's dtype and shape over the attribute's meta.
    TensorMeta meta;
    meta.dtype = data->second.dtype;
    if (attribute.meta != nullptr) meta.device = attribute.meta->device;
    meta.has_device = meta.has_shape = true;
    const std::vector<Dim> shape(data->second.shape.begin(), data->second.shape.end());
    meta.shape = shape;
    const ValueMeta* const kept = scratch_.InternValueMeta(meta);
    scope->tensors.Member(name);
    WriteTensorMeta(*kept->tensor, exported.requires_grad, data->second.strides, &scope->tensors);
    ExportValue value;
    value.kind = Kind::kTensor;
    value.name = name;
    value.meta = kept->tensor;
    attribute_values_.emplace(attribute.name, value);

    scope->inputs.StartObject();
    scope->inputs.Member("as_tensor").StartObject();
    scope->inputs.Member("name").String(name);
    scope->inputs.EndObject();
    scope->inputs.EndObject();
    specs->StartObject();
    specs->Member(kind).StartObject();
    specs->Member("arg").StartObject();
    specs->Member("name").String(name);
    specs->EndObject();
    specs->Member(absl::StrCat(kind, "_name")).String(attribute.name);
    if (kind == "buffer") specs->Member("persistent").Bool(is_persistent);
    specs->EndObject();
    specs->EndObject();
  }
  return absl::OkStatus();
}

absl::StatusOr<ExportValue> GraphExporter::AddPlaceholder(const Node& node,
                                                          const ExportValue* given, Scope* scope) {
  const absl::string_view annotation = node.annotation();
  // Callers know it by its target.
  const absl::string_view name = node.target() == node.name()
                                     ? NameOf(node, scope)
                                     : arena_.Copy(absl::string_view(Unique(node.target(), scope)));
  if (IsStructure(annotation)) {
    return NodeError(node, absl::StrCat("an input of type ", annotation,
                                        ": a program takes tensors and ints; make each element "
                                        "an input of its own"));
  }
  const std::optional<DType> number = NumberDType(annotation);
  const bool is_int = number == DType::kInt64 ||
                      (given != nullptr && given->kind == Kind::kInt && node.meta() == nullptr);
  if (number && !is_int) {
    return NodeError(node, absl::StrCat("an input of type ", annotation,
                                        ": torch.export has only tensors and ints"));
  }
  ExportValue value;
  if (is_int) {
    const SymExpr* size = nullptr;
    if (module_.FindSymbol(node.target()) != nullptr) {
      size = scratch_.SymSymbol(node.target());
    } else if (given != nullptr) {
      size = given->size;
    }
    value = AddNumber(Kind::kInt, name, "", size, scope);
  } else {
    const TensorMeta* meta = node.tensor_meta();
    if ((meta == nullptr || !meta->has_shape) && given != nullptr && given->kind == Kind::kTensor) {
      meta = given->meta;
    }
    ASSIGN_OR_RETURN(value, AddTensor(name, meta, node, scope));
  }
  values_[&node] = value;
  return value;
}

void GraphExporter::AddConstantInput(const UserInput& input, Scope* scope, JsonWriter* specs) {
  const Node& node = *input.placeholder;
  ExportValue value(*input.value);
  value.name = node.target() == node.name()
                   ? NameOf(node, scope)
                   : arena_.Copy(absl::string_view(Unique(node.target(), scope)));
  values_[&node] = value;
  JsonWriter constant;
  constant.StartObject();
  if (value.literal.is_bool()) {
    constant.Member("as_bool").Bool(value.literal.boolean());
  } else if (value.literal.is_int()) {
    constant.Member("as_int").Int(value.literal.integer());
  } else if (value.literal.is_float()) {
    constant.Member("as_float").Float(value.literal.real());
  } else {
    constant.Member("as_string").String(value.literal.string());
  }
  constant.EndObject();
  scope->inputs.Raw(constant.text());
  specs->Member("constant_input").StartObject();
  specs->Member("name").String(value.name);
  specs->Member("value").Raw(constant.text());
  specs->EndObject();
}

absl::Status GraphExporter::AddUserInputs(Scope* scope, JsonWriter* specs) {
  std::vector<Node*> placeholders = scope->graph->placeholders();
  // An argument that is None is not an input.
  const auto left_out = [this](Node* node) {
    if (!absl::StartsWith(node->annotation(), "Optional[") || node->meta() != nullptr) return false;
    values_[node] = ExportValue();
    return true;
  };
  placeholders.erase(std::remove_if(placeholders.begin(), placeholders.end(), left_out),
                     placeholders.end());
  // Write inputs as the original program did if they are the same, constants included.
  size_t next = 0;
  has_same_inputs_ = original_.is_there();
  for (const Json spec : original_.user_inputs()) {
    const absl::StatusOr<JsonUnion> kind = ReadUnion(spec);
    if (!kind.ok()) continue;
    if (kind->kind == "constant_input") {
      user_inputs_.push_back({.constant = kind->value});
      continue;
    }
    const Json argument = Field(kind->value, "arg");
    absl::string_view name;
    if (const auto value = ReadUnion(argument); value.ok()) {
      const Json named =
          value->kind == "as_tensor" ? Field(value->value, "name") : Field(value->value, "as_name");
      if (named.is_string()) name = *named.String();
      if (name.empty()) {  // None, or another constant
        user_inputs_.push_back({.constant = argument});
        continue;
      }
    }
    if (next >= placeholders.size() || placeholders[next]->target() != name) {
      has_same_inputs_ = false;
      break;
    }
    user_inputs_.push_back({.placeholder = placeholders[next++]});
  }
  if (next != placeholders.size() || flat_calls_) has_same_inputs_ = false;
  if (!has_same_inputs_) {
    user_inputs_.clear();
    for (const Node* node : placeholders) user_inputs_.push_back({.placeholder = node});
  }
  for (UserInput& input : user_inputs_) {
    if (input.placeholder != nullptr && !flat_calls_ && !input.placeholder->has_uses())
      input.value = GivenValue(*input.placeholder, sample_, &arena_);
    specs->StartObject();
    if (input.value) {
      AddConstantInput(input, scope, specs);
    } else if (input.placeholder != nullptr) {
      ASSIGN_OR_RETURN(const ExportValue value, AddPlaceholder(*input.placeholder, nullptr, scope));
      const absl::string_view target = input.placeholder->target();
      if (value.name != target) {
        renamed_.push_back(
            absl::StrCat("input ", Printable(target), " is ", Printable(value.name)));
      }
      RETURN_IF_ERROR(WriteArgument(*input.placeholder, value, nullptr, scope, &scope->inputs));
      specs->Member("user_input").StartObject();
      RETURN_IF_ERROR(
          WriteArgument(*input.placeholder, value, nullptr, scope, &specs->Member("arg")));
      specs->EndObject();
    } else if (const Json value = Field(input.constant, "value"); value.is_there()) {
      scope->inputs.Copy(value);
      specs->Member("constant_input").Copy(input.constant);
    } else {
      scope->inputs.Copy(input.constant);
      specs->Member("user_input").StartObject();
      specs->Member("arg").Copy(input.constant);
      specs->EndObject();
    }
    specs->EndObject();
  }
  if (has_same_inputs_ && !original_.call().is_null()) {
    const Json spec = Field(original_.call(), "in_spec");
    if (spec.is_string()) {
      ASSIGN_OR_RETURN(in_spec_, WithoutClasses(*spec.String(), &classes_));
    }
  }
  if (!in_spec_.empty()) return absl::OkStatus();
  JsonWriter spec;
  StartTree("builtins.tuple", "null", &spec);
  StartTree("builtins.tuple", "null", &spec);
  for (size_t i = 0; i < user_inputs_.size(); ++i) WriteLeaf(&spec);
  EndTree(&spec);
  StartTree("builtins.dict", "[]", &spec);
  EndTree(&spec);
  EndTree(&spec);
  in_spec_ = TreeText(spec.text());
  return absl::OkStatus();
}

absl::Status GraphExporter::WriteTree(const ExportValue& value, std::vector<ExportValue>* leaves,
                                      JsonWriter* spec) {
  if (IsLeaf(value)) {
    leaves->push_back(value);
    WriteLeaf(spec);
    return absl::OkStatus();
  }
  if (value.kind != Kind::kDict) {
    StartTree(value.kind == Kind::kList ? "builtins.list" : "builtins.tuple", "null", spec);
    for (const ExportValue& element : *value.elements) {
      RETURN_IF_ERROR(WriteTree(element, leaves, spec));
    }
    EndTree(spec);
    return absl::OkStatus();
  }
  JsonWriter keys;
  keys.StartArray();
  for (size_t i = 0; i < value.elements->size(); i += 2) {
    const ExportValue& key = (*value.elements)[i];
    if (key.is_string()) {
      keys.String(key.literal.string());
    } else if (key.is_int()) {
      keys.Int(key.literal.integer());
    } else {
      return absl::InvalidArgumentError("it has a dict whose keys are neither strings nor ints");
    }
  }
  keys.EndArray();
  StartTree("builtins.dict", keys.text(), spec);
  for (size_t i = 1; i < value.elements->size(); i += 2) {
    RETURN_IF_ERROR(WriteTree((*value.elements)[i], leaves, spec));
  }
  EndTree(spec);
  return absl::OkStatus();
}

absl::Status GraphExporter::AddOutputs(const ExportValue& result, Scope* scope, JsonWriter* outputs,
                                       JsonWriter* specs, JsonWriter* arguments) {
  const Node& node = *scope->graph->output();
  const std::optional<Expansion> all = ExpansionOf(result);
  if (!all || all->height > kMaxNesting ||
      !written_.Charge(std::min(all->size, kMaxExpansion / kLeafCost) * kLeafCost)) {
    return NodeError(node,
                     "the structure that it returns is too large with its shared parts "
                     "written out");
  }
  std::vector<ExportValue> leaves;
  JsonWriter tree;
  if (const absl::Status status = WriteTree(result, &leaves, &tree); !status.ok()) {
    return NodeError(node, status.message());
  }
  std::string out_spec = TreeText(tree.text());
  // Prefer the original program's out_spec if the structure is the same: it names classes.
  if (const Json spec = Field(original_.call(), "out_spec"); spec.is_string() && !flat_calls_) {
    const absl::StatusOr<TreeSpec> parsed = ParseTreeSpec(*spec.String());
    if (parsed.ok() && HasShape(result, *parsed)) {
      ASSIGN_OR_RETURN(out_spec, WithoutClasses(*spec.String(), &classes_));
    }
  }
  outputs->StartArray();
  specs->StartArray();
  for (const ExportValue& leaf : leaves) {
    if (leaf.is_string() || leaf.kind == Kind::kObject ||
        (leaf.is_literal() && !leaf.is_none() && !leaf.is_number())) {
      return NodeError(node, "a program returns only tensors, numbers and None");
    }
    RETURN_IF_ERROR(WriteArgument(node, leaf, nullptr, scope, outputs));
    specs->StartObject();
    specs->Member("user_output").StartObject();
    RETURN_IF_ERROR(WriteArgument(node, leaf, nullptr, scope, &specs->Member("arg")));
    specs->EndObject();
    specs->EndObject();
  }
  outputs->EndArray();
  specs->EndArray();
  WriteCalls(out_spec, arguments);
  return absl::OkStatus();
}

// --- The whole program -------------------------------------------------------

// Writes module_call_graph.
void GraphExporter::WriteCalls(absl::string_view out_spec, JsonWriter* json) {
  json->StartArray();
  json->StartObject();
  json->Member("fqn").String("");
  json->Member("signature").StartObject();
  json->Member("inputs").Raw("[]");
  json->Member("outputs").Raw("[]");
  json->Member("in_spec").String(in_spec_);
  json->Member("out_spec").String(out_spec);
  const Json names = has_same_inputs_ ? Field(original_.call(), "forward_arg_names") : Json();
  json->Member("forward_arg_names");
  if (has_same_inputs_) {
    json->Copy(names);
  } else {
    json->StartArray();
    for (const UserInput& input : user_inputs_) {
      json->String(values_.at(input.placeholder).name);
    }
    json->EndArray();
  }
  json->EndObject();
  json->EndObject();
  for (const std::string& path : original_.modules()) {
    json->StartObject();
    json->Member("fqn").String(path);
    json->Member("signature").Null();
    json->EndObject();
  }
  json->EndArray();
}

void GraphExporter::WriteRanges(JsonWriter* json) {
  json->StartObject();
  for (const Symbol& symbol : module_.symbols()) {
    std::optional<int64_t> low, high;
    for (const SymExpr* relation : module_.relations()) {
      if (relation->lhs->kind != SymExpr::Kind::kSymbol || relation->lhs->name != symbol.name ||
          relation->rhs->kind != SymExpr::Kind::kInt) {
        continue;
      }
      const int64_t bound = relation->rhs->value;
      if (relation->kind == SymExpr::Kind::kGe) low = std::max(low.value_or(bound), bound);
      if (relation->kind == SymExpr::Kind::kGt) low = std::max(low.value_or(bound + 1), bound + 1);
      if (relation->kind == SymExpr::Kind::kLe) high = std::min(high.value_or(bound), bound);
      if (relation->kind == SymExpr::Kind::kLt) {
        high = std::min(high.value_or(bound - 1), bound - 1);
      }
    }
    const auto write = [&](absl::string_view name, std::optional<int64_t> bound) {
      json->Member(name);
      bound ? json->Int(*bound) : json->Null();
    };
    json->Member(symbol.name).StartObject();
    write("min_val", low);
    write("max_val", high);
    json->EndObject();
  }
  // The ranges of expressions, which the IR does not hold.
  if (!original_.ranges().is_null()) {
    original_.ranges()
        .ForEachMember([&](absl::string_view key, Json range) {
          if (module_.FindSymbol(key) == nullptr) json->Member(key).Copy(range);
          return absl::OkStatus();
        })
        .IgnoreError();
  }
  for (int64_t i = 0; i < num_unknown_; ++i) {
    const std::string name = absl::StrCat("u", i);
    if (module_.FindSymbol(name) != nullptr) continue;
    const bool is_bool = unknown_bools_.contains(name);
    json->Member(name).Raw(is_bool ? R"({"min_val":0,"max_val":1})"
                                   : R"({"min_val":null,"max_val":null})");
  }
  json->EndObject();
}

absl::Status GraphExporter::Run() {
  const Graph& graph = *module_.main();
  sizes_of_run_.AddAll(module_);
  written_ = Budget(written_.left() + kValuesPerNode * module_.num_nodes());
  for (const Symbol& symbol : module_.symbols()) {
    if (!IsPythonName(symbol.name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the symbol ", Printable(symbol.name),
                       " has no name of Python, which torch.export needs; rename it"));
    }
    scratch_.AddSymbol(symbol.name, symbol.example);
  }
  Scope scope;
  scope.original = &original_.main();
  Open(graph, &scope);
  JsonWriter input_specs, output_specs, outputs, calls;
  input_specs.StartArray();
  RETURN_IF_ERROR(AddAttributes(&scope, &input_specs));
  RETURN_IF_ERROR(AddUserInputs(&scope, &input_specs));
  input_specs.EndArray();
  const absl::StatusOr<ExportValue> exported = ExportBody(graph, &scope);
  RETURN_IF_ERROR(first_missing_);
  RETURN_IF_ERROR(exported.status());
  const ExportValue& result = *exported;
  RETURN_IF_ERROR(AddOutputs(result, &scope, &outputs, &output_specs, &calls));

  JsonWriter json;
  json.StartObject();
  json.Member("graph_module").StartObject();
  Close(outputs.text(), /*is_single=*/false, &scope, &json.Member("graph"));
  json.Member("signature").StartObject();
  json.Member("input_specs").Raw(input_specs.text());
  json.Member("output_specs").Raw(output_specs.text());
  json.EndObject();
  json.Member("module_call_graph").Raw(calls.text());
  json.Member("metadata").Raw("{}");
  json.Member("treespec_namedtuple_fields");
  if (original_.named_tuples().is_null()) {
    json.Raw("{}");
  } else {
    json.Copy(original_.named_tuples());
  }
  json.EndObject();
  json.Member("opset_version").StartObject();
  json.Member("aten").Int(kAtenVersion);
  json.EndObject();
  WriteRanges(&json.Member("range_constraints"));
  json.Member("schema_version").StartObject();
  json.Member("major").Int(kSchemaMajor);
  json.Member("minor").Int(kSchemaMinor);
  json.EndObject();
  // This dialect allows operators that write to their arguments.
  json.Member("verifiers").Raw(R"(["TRAINING"])");
  json.Member("torch_version").String(kTorchVersion);
  json.Member("guards_code");
  bool are_plain = has_same_inputs_ && !original_.guards().is_null();
  size_t num_guards = 0;
  for (const Json guard : original_.guards().elements()) {
    are_plain = are_plain && guard.is_string() && IsPlainGuard(*guard.String());
    ++num_guards;
  }
  if (are_plain) {
    json.Copy(original_.guards());
  } else {
    json.Raw("[]");
    num_dropped_guards_ = num_guards;
  }
  json.EndObject();
  program_ = std::string(json.text());
  return absl::OkStatus();
}

}  // namespace graphnet::pt2
