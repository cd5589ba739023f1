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

// True if PyTorch registers the type, or makes it anew when it loads a program (namedtuple).
bool IsOfPyTorch(absl::string_view type) {
  return absl::StartsWith(type, "builtins.") || absl::StartsWith(type, "collections.") ||
         absl::StartsWith(type, "torch.");
}

// Copies a tree that ReadSpec has read, without its classes.
absl::Status CopyWithoutClasses(Json value, JsonWriter* out, std::vector<std::string>* classes) {
  Json type, context, children;
  RETURN_IF_ERROR(
      ReadFields(value, {{"type", &type}, {"context", &context}, {"children_spec", &children}}));
  const bool is_class = type.is_string() && !IsOfPyTorch(*type.String());
  if (is_class && absl::c_find(*classes, *type.String()) == classes->end())
    classes->emplace_back(*type.String());
  out->StartObject();
  out->Member("type");
  is_class ? out->String("builtins.tuple") : out->Copy(type);
  out->Member("context");
  is_class ? out->String("null") : out->Copy(context);
  out->Member("children_spec").StartArray();
  for (const Json child : children.elements())
    RETURN_IF_ERROR(CopyWithoutClasses(child, out, classes));
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
                                           std::vector<std::string>* classes) {
  RETURN_IF_ERROR(ParseTreeSpec(text).status());
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(std::string(text)));
  ASSIGN_OR_RETURN(const Json tree, TreeOf(document));
  JsonWriter out;
  out.StartArray();
  out.Int(kVersion);
  RETURN_IF_ERROR(CopyWithoutClasses(tree, &out, classes));
  out.EndArray();
  return std::string(out.text());
}

absl::StatusOr<TreeSpec> ParseTreeSpec(absl::string_view text) {
  absl::StatusOr<TreeSpec> spec = Parse(text);
  if (spec.ok()) return spec;
  return Annotate(spec.status(), "tree spec");
}

}  // namespace graphnet::pt2
