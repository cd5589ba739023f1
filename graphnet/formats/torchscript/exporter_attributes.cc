#include "graphnet/formats/torchscript/exporter_attributes.h"

#include <cstring>
#include <optional>
#include <utility>

#include "ATen/ops/empty.h"
#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/limits.h"
#include "graphnet/formats/torchscript/exporter_types.h"

namespace graphnet::torchscript {
namespace {

bool IsWord(absl::string_view text) {
  return !text.empty() &&
         absl::c_all_of(text, [](char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

// Returns whether TorchScript reads the name as something else: Python's keywords and the method.
bool IsKeyword(absl::string_view text) {
  static const auto* const kKeywords = new absl::flat_hash_set<absl::string_view>{
      "False",   "None",     "True",   "and",   "as",     "assert", "async",  "await",   "break",
      "class",   "continue", "def",    "del",   "elif",   "else",   "except", "finally", "for",
      "forward", "from",     "global", "if",    "import", "in",     "is",     "lambda",  "nonlocal",
      "not",     "or",       "pass",   "raise", "return", "try",    "while",  "with",    "yield"};
  return kKeywords->contains(text);
}

// Returns whether the code of an archive uses the name.
bool IsBuiltin(absl::string_view text) {
  static const auto* const kBuiltins = new absl::flat_hash_set<absl::string_view>{
      "CONSTANTS",  "__torch__", "annotate", "aten",  "attribute",      "bool",
      "float",      "fork",      "getattr",  "inf",   "infj",           "int",
      "isinstance", "nan",       "nanj",     "ops",   "print",          "range",
      "self",       "sorted",    "str",      "torch", "unchecked_cast", "uninitialized"};
  return kBuiltins->contains(text);
}

}  // namespace

std::string Identifier(absl::string_view text) {
  std::string out(text.empty() || absl::ascii_isdigit(text[0]) ? 1 : 0, '_');
  for (const char c : text) out += absl::ascii_isalnum(c) ? c : '_';
  if (IsKeyword(out) || IsBuiltin(out)) out += '_';
  return out;
}

bool AttributeTree::FindPlace(absl::string_view path, bool identifier, Place* place) {
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '.');
  if (parts.size() > kMaxNesting) return false;
  for (const absl::string_view part : parts) {
    if (!IsWord(part) || IsKeyword(part)) return false;
  }
  if (identifier && absl::ascii_isdigit(parts.back()[0])) return false;
  *place = {.owner = root_};
  std::string prefix;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    std::string name(parts[i]);
    absl::StrAppend(&prefix, i == 0 ? "" : ".", name);
    if (const auto it = modules_.find(prefix); it != modules_.end()) {
      place->owner = it->second;
    } else if (place->owner.hasattr(name)) {
      return false;
    } else {
      torch::jit::Module module("__torch__.Submodule", root_._ivalue()->compilation_unit(),
                                /*shouldMangle=*/true);
      place->owner.register_module(name, module);
      place->owner = modules_[prefix] = module;
    }
    place->modules.push_back(std::move(name));
  }
  place->name = std::string(parts.back());
  return !place->owner.hasattr(place->name);
}

const AttributeTree::Place& AttributeTree::Add(absl::string_view path, const c10::TypePtr& type,
                                               c10::IValue value, Kind kind) {
  Place place;
  // `self.x = …` needs an identifier.
  if (!FindPlace(path, /*identifier=*/kind == Kind::kOther, &place)) {
    const std::string base = Identifier(path);
    int& suffix = next_suffix_[base];
    place = {.name = base, .owner = root_};
    while (root_.hasattr(place.name) || reserved_.contains(place.name))
      place.name = absl::StrCat(base, "_", ++suffix);
  }
  place.owner.type()->addAttribute(place.name, type, kind == Kind::kParameter,
                                   kind == Kind::kBuffer);
  place.owner._ivalue()->setAttr(place.name, std::move(value));
  return places_[std::string(path)] = std::move(place);
}

const AttributeTree::Place* AttributeTree::Find(absl::string_view path) const {
  const auto it = places_.find(std::string(path));
  return it == places_.end() ? nullptr : &it->second;
}

}  // namespace graphnet::torchscript
