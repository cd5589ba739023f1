#include "graphnet/formats/pt2/tree_spec.h"

#include <cstdint>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/pt2/json.h"
#include "graphnet/formats/pt2/json_writer.h"

namespace graphnet::pt2 {
namespace {

constexpr int64_t kVersion = 1;

TreeSpec::Kind KindOf(absl::string_view type) {
  const absl::string_view name = type.substr(type.rfind('.') + 1);
  if (type == "builtins.tuple" || name == "Size") return TreeSpec::Kind::kTuple;
  if (type == "builtins.list" || name == "immutable_list") return TreeSpec::Kind::kList;
  if (type == "builtins.dict" || name == "OrderedDict" || name == "immutable_dict") {
    return TreeSpec::Kind::kDict;
  }
  return TreeSpec::Kind::kOther;
}

absl::StatusOr<TreeSpec::Key> ReadKey(Json key) {
  switch (key.kind()) {
    case Json::Kind::kNull: return TreeSpec::Key();
    case Json::Kind::kBool: return key.Bool();
    case Json::Kind::kInt: return key.Int();
    case Json::Kind::kDouble: return key.Float();
    case Json::Kind::kString: {
      ASSIGN_OR_RETURN(const absl::string_view text, key.String());
      return std::string(text);
    }
    default: return absl::InvalidArgumentError("a dict with a key that is a structure");
  }
}

// The context of a dict is the list of its keys, as JSON.
absl::StatusOr<std::vector<TreeSpec::Key>> ReadKeys(Json context) {
  ASSIGN_OR_RETURN(const absl::string_view text, context.String());
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(std::string(text)));
  RETURN_IF_ERROR(document.root().ExpectArray());
  std::vector<TreeSpec::Key> keys;
  for (const Json key : document.root().elements()) {
    ASSIGN_OR_RETURN(keys.emplace_back(), ReadKey(key));
  }
  return keys;
}

// Recurses no deeper than the JSON document nests, which is limited.
absl::StatusOr<TreeSpec> ReadSpec(Json value) {
  Json type, context, children;
  RETURN_IF_ERROR(
      ReadFields(value, {{"type", &type}, {"context", &context}, {"children_spec", &children}}));
  RETURN_IF_ERROR(children.ExpectArray());
  TreeSpec spec;
  if (type.is_null()) {
    if (children.size() > 0) return absl::InvalidArgumentError("a leaf with children");
    return spec;
  }
  ASSIGN_OR_RETURN(const absl::string_view name, type.String());
  spec.kind = KindOf(name);
  for (const Json child : children.elements()) {
    ASSIGN_OR_RETURN(spec.children.emplace_back(), ReadSpec(child));
  }
  if (spec.kind != TreeSpec::Kind::kDict) return spec;
  ASSIGN_OR_RETURN(spec.keys, ReadKeys(context));
  if (spec.keys.size() == spec.children.size()) return spec;
  return absl::InvalidArgumentError(absl::StrCat("a dict with ", spec.keys.size(), " keys and ",
                                                 spec.children.size(), " values"));
}

absl::StatusOr<Json> TreeOf(const JsonDocument& document) {
  RETURN_IF_ERROR(document.root().ExpectArray());
  if (document.root().size() != 2)
    return absl::InvalidArgumentError("expected a version and a tree");
  auto part = document.root().elements().begin();
  ASSIGN_OR_RETURN(const int64_t version, (*part).Int());
  if (version != kVersion) {
    return absl::InvalidArgumentError(
        absl::StrCat("unsupported version ", version, "; expected ", kVersion));
  }
  return *++part;
}

absl::StatusOr<TreeSpec> Parse(absl::string_view text) {
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(std::string(text)));
  ASSIGN_OR_RETURN(const Json tree, TreeOf(document));
  return ReadSpec(tree);
}

// True if PyTorch registers the type.
bool IsOfPyTorch(absl::string_view type) {
  return absl::StartsWith(type, "builtins.") || absl::StartsWith(type, "collections.") ||
         absl::StartsWith(type, "torch.");
}

bool HoldsObject(Json value) {
  if (value.is_null()) return false;
  if (value.kind() == Json::Kind::kObject) return true;
  for (const Json element : value.elements()) {
    if (HoldsObject(element)) return true;
  }
  return false;
}

// Returns false for a context that could make torch.export.load import a module: one with an
// object, which stands for a member of an enum. Text that is no JSON names a named tuple.
bool IsPlainContext(Json context) {
  if (context.is_null()) return true;
  const absl::StatusOr<absl::string_view> text = context.String();
  if (!text.ok()) return false;
  const absl::StatusOr<JsonDocument> document = JsonDocument::Parse(std::string(*text));
  return !document.ok() || !HoldsObject(document->root());
}

// Writes the type and context of a defaultdict. Only a factory of Python's builtins is kept.
absl::Status WriteDefaultDict(Json context, JsonWriter* out) {
  Json module, factory, keys;
  RETURN_IF_ERROR(ReadFields(context, {{"default_factory_module", &module},
                                       {"default_factory_name", &factory},
                                       {"dict_context", &keys}}));
  if (HoldsObject(keys)) return absl::InvalidArgumentError("a key of a defaultdict is an object");
  constexpr absl::string_view kFactories[] = {"bool", "complex", "dict", "float", "frozenset",
                                              "int",  "list",    "set",  "str",   "tuple"};
  if (module.is_string() && *module.String() == "builtins" && factory.is_string() &&
      absl::c_linear_search(kFactories, *factory.String())) {
    out->Member("type").String("collections.defaultdict");
    out->Member("context").Copy(context);
    return absl::OkStatus();
  }
  JsonWriter text;
  text.Copy(keys);
  out->Member("type").String("builtins.dict");
  out->Member("context").String(text.text());
  return absl::OkStatus();
}

// Copies a tree that ReadSpec has read, without its classes.
absl::Status CopyWithoutClasses(Json value, const KnowsClass& knows, JsonWriter* out,
                                std::vector<std::string>* classes) {
  Json type, context, children;
  RETURN_IF_ERROR(
      ReadFields(value, {{"type", &type}, {"context", &context}, {"children_spec", &children}}));
  absl::string_view name = type.is_string() ? *type.String() : absl::string_view();
  // The context of a named tuple is the name of its class.
  if (name == "collections.namedtuple" && context.is_string()) name = *context.String();
  const bool is_class = !name.empty() && !IsOfPyTorch(name) && (knows == nullptr || !knows(name));
  if (is_class && absl::c_find(*classes, name) == classes->end()) classes->emplace_back(name);
  out->StartObject();
  if (name == "collections.defaultdict") {
    RETURN_IF_ERROR(WriteDefaultDict(context, out));
  } else if (is_class || !IsPlainContext(context)) {
    out->Member("type").String(name == "builtins.list" ? name : "builtins.tuple");
    out->Member("context").String("null");
  } else {
    out->Member("type").Copy(type);
    out->Member("context").Copy(context);
  }
  out->Member("children_spec").StartArray();
  for (const Json child : children.elements())
    RETURN_IF_ERROR(CopyWithoutClasses(child, knows, out, classes));
  out->EndArray();
  out->EndObject();
  return absl::OkStatus();
}

}  // namespace

size_t TreeSpec::num_leaves() const {
  if (kind == Kind::kLeaf) return 1;
  size_t leaves = 0;
  for (const TreeSpec& child : children) leaves += child.num_leaves();
  return leaves;
}

absl::StatusOr<std::string> WithoutClasses(absl::string_view text,
                                           std::vector<std::string>* classes,
                                           const KnowsClass& knows) {
  RETURN_IF_ERROR(ParseTreeSpec(text).status());
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(std::string(text)));
  ASSIGN_OR_RETURN(const Json tree, TreeOf(document));
  JsonWriter out;
  out.StartArray();
  out.Int(kVersion);
  RETURN_IF_ERROR(CopyWithoutClasses(tree, knows, &out, classes));
  out.EndArray();
  return std::string(out.text());
}

absl::StatusOr<TreeSpec> ParseTreeSpec(absl::string_view text) {
  absl::StatusOr<TreeSpec> spec = Parse(text);
  if (spec.ok()) return spec;
  return Annotate(spec.status(), "tree spec");
}

}  // namespace graphnet::pt2
