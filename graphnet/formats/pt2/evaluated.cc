#include "graphnet/formats/pt2/evaluated.h"

#include <string>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/base/utf8.h"
#include "graphnet/formats/pt2/expressions.h"
#include "graphnet/formats/pt2/tree_spec.h"
#include "graphnet/ir/module.h"

namespace graphnet::pt2 {
namespace {

bool IsNamePart(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Functions and methods that guards call. None of them does more than compute.
constexpr absl::string_view kGuardFunctions[] = {"size",
                                                 "stride",
                                                 "storage_offset",
                                                 "dim",
                                                 "CeilToInt",
                                                 "CleanDiv",
                                                 "FloorDiv",
                                                 "FloorToInt",
                                                 "IntTrueDiv",
                                                 "ModularIndexing",
                                                 "FloatTrueDiv",
                                                 "Max",
                                                 "Min",
                                                 "Mod",
                                                 "PythonMod",
                                                 "ToFloat",
                                                 "TruncToInt",
                                                 "RoundToInt",
                                                 "PowByNatural",
                                                 "FloatPow",
                                                 "Identity",
                                                 "abs",
                                                 "float",
                                                 "int",
                                                 "max",
                                                 "min",
                                                 "ceil",
                                                 "floor",
                                                 "trunc",
                                                 "sqrt",
                                                 "sym_max",
                                                 "sym_min",
                                                 "sym_float",
                                                 "sym_int",
                                                 "sym_not",
                                                 "Eq",
                                                 "Ne",
                                                 "And",
                                                 "Or",
                                                 "Not",
                                                 "Ge",
                                                 "Gt",
                                                 "Le",
                                                 "Lt",
                                                 "len",
                                                 "and",
                                                 "or",
                                                 "not"};

absl::Status Wrong(absl::string_view what, absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, " ", Printable(text), ", which PyTorch would evaluate as Python"));
}

// PyTorch writes the parts of an attribute's name between quotes into the code that it runs.
bool IsQuotable(absl::string_view name) {
  return absl::c_none_of(name, [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '"' || c == '\'' || c == '\\' || c == '\x7f';
  });
}

// Python reads a run of these characters as one name, or not at all, whatever alphabet they are of.
bool IsArgumentName(absl::string_view text) {
  std::string plain(text);
  for (char& c : plain) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '_';
  }
  return IsUtf8(text) && IsPythonName(plain);
}

class Checker {
 public:
  absl::Status Check(absl::string_view key, Json value) {
    if (value.is_null()) return absl::OkStatus();
    if (value.is_string()) return CheckText(key, *value.String());
    if (value.kind() == Json::Kind::kArray) {
      for (const Json element : value.elements()) RETURN_IF_ERROR(Check(key, element));
      return absl::OkStatus();
    }
    if (value.kind() != Json::Kind::kObject) return absl::OkStatus();
    if (key == "metadata") return absl::OkStatus();  // It only informs.
    const bool names_values = absl::EndsWith(key, "_values");
    return value.ForEachMember([&](absl::string_view name, Json member) -> absl::Status {
      if ((names_values || key == "range_constraints") && !IsPythonName(name)) {
        absl::StatusOr<const SymExpr*> range = key == "range_constraints"
                                                   ? ParseSympy(name, &scratch_)
                                                   : absl::InvalidArgumentError("no name");
        if (!range.ok()) return Wrong(names_values ? "a value is called" : "a range is of", name);
      }
      return Check(name, member);
    });
  }

 private:
  absl::Status CheckText(absl::string_view key, absl::string_view text) {
    if (key == "expr_str") {
      const absl::StatusOr<const SymExpr*> parsed = ParseSympy(text, &scratch_);
      return parsed.ok() ? absl::OkStatus() : Wrong("an expression is", text);
    }
    if (key == "guards_code") {
      return IsPlainGuard(text) ? absl::OkStatus() : Wrong("a guard is", text);
    }
    if (key == "name" || key == "as_name") {
      return text.empty() || IsPythonName(text) ? absl::OkStatus() : Wrong("a name is", text);
    }
    if (key == "forward_arg_names") {
      return IsArgumentName(text) ? absl::OkStatus() : Wrong("an argument is called", text);
    }
    if (key == "parameter_name" || key == "buffer_name" || key == "tensor_constant_name" ||
        key == "custom_obj_name") {
      return IsQuotable(text) ? absl::OkStatus() : Wrong("an attribute is called", text);
    }
    if (key == "in_spec") return CheckKeywords(text);
    return absl::OkStatus();
  }

  // Keywords become arguments of a function's definition.
  static absl::Status CheckKeywords(absl::string_view text) {
    const absl::StatusOr<TreeSpec> spec = ParseTreeSpec(text);
    if (!spec.ok() || spec->children.size() != 2) return absl::OkStatus();
    for (const TreeSpec::Key& key : spec->children[1].keys) {
      const auto* const name = std::get_if<std::string>(&key);
      if (name != nullptr && !IsArgumentName(*name)) return Wrong("an argument is called", *name);
    }
    return absl::OkStatus();
  }

  Module scratch_;  // holds the expressions
};

}  // namespace

bool IsPythonName(absl::string_view text) {
  return !text.empty() && !absl::ascii_isdigit(static_cast<unsigned char>(text[0])) &&
         absl::c_all_of(text, IsNamePart);
}

bool IsPlainGuard(absl::string_view text) {
  absl::string_view last;  // the name before the current place, if it ends there
  char before = ' ';       // the last character that is not blank
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (IsNamePart(c)) {
      const size_t begin = at;
      while (at < text.size() && IsNamePart(text[at])) ++at;
      last = text.substr(begin, at - begin);
      if (absl::StartsWith(last, "__")) return false;
      before = c;
      continue;
    }
    if (c == '\'' || c == '"') {  // Texts are keys.
      if (before != '[') return false;
      const size_t end = text.find(c, at + 1);
      if (end == text.npos || end + 1 >= text.size() || text[end + 1] != ']') return false;
      if (absl::StrContains(text.substr(at, end - at), '\\')) return false;
      at = end + 1;
      before = '\'';
      continue;
    }
    if (c == '(') {
      const bool is_call = IsNamePart(before) || before == ']' || before == ')' || before == '\'';
      if (is_call && (!IsNamePart(before) || !absl::c_linear_search(kGuardFunctions, last)))
        return false;
    } else if (!absl::StrContains(" .[])+-*/%<>=!,", c)) {
      return false;
    }
    if (c != ' ') before = c;
    ++at;
  }
  return true;
}

absl::Status CheckEvaluated(Json program) { return Checker().Check("", program); }

}  // namespace graphnet::pt2
