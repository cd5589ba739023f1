#include "graphnet/facts/shapes/operator_facts.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/shapes/result_rules.h"
#include "graphnet/ops/foreign_operators.h"
#include "graphnet/ops/schema.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {
namespace {

// Returns whether two operators have the same parameters and results; one may write to an argument.
bool IsLike(const Schema& schema, const Schema& other) {
  const auto same_type = [](const SchemaType& a, const SchemaType& b) {
    return a.kind == b.kind && a.is_list == b.is_list;
  };
  const auto same_argument = [&](const SchemaArgument& a, const SchemaArgument& b) {
    return a.name == b.name && same_type(a.type, b.type);
  };
  return absl::c_equal(schema.arguments, other.arguments, same_argument) &&
         absl::c_equal(schema.returns, other.returns, same_type);
}

// Adds facts. `name` is "mylib::gain", and `schema` starts with it.
absl::Status Add(absl::string_view facts, absl::string_view name, absl::string_view schema) {
  RETURN_IF_ERROR(CheckForeignName(name));
  if (!absl::ConsumePrefix(&facts, "=")) {
    ASSIGN_OR_RETURN(const ResultRule rule, ParseResultRule(facts));
    RETURN_IF_ERROR(AddKnownOperator(schema, ""));
    AddResultRule(name, rule);
    return absl::OkStatus();
  }
  const std::string line = absl::StrCat("- ", schema.substr(schema.find("::") + 2));
  std::string like(absl::StripAsciiWhitespace(facts));
  if (FindSchemas(like).empty() || absl::StrContains(like, "::"))
    return absl::InvalidArgumentError(absl::StrCat("\"", like, "\" is not an operator of ATen"));
  ASSIGN_OR_RETURN(const Schema parsed, ParseSchema(line));
  if (absl::c_none_of(FindSchemas(like), [&](const Schema& s) { return IsLike(parsed, s); })) {
    return absl::InvalidArgumentError(
        absl::StrCat("no overload of ", like, " has the same parameters, by name and type"));
  }
  if (absl::EndsWith(name, "_") && !absl::EndsWith(like, "_")) like += '_';
  return AddKnownOperator(schema, like);
}

}  // namespace

absl::Status AddOperatorFacts(absl::string_view row) {
  row = absl::StripAsciiWhitespace(row);
  const size_t begin = row.rfind(' ', row.find('('));
  if (row.find('(') == absl::string_view::npos || begin == absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat(
        Printable(row, 300), ": expected facts and a schema, as in = add my::f(Tensor self, …)"));
  }
  const absl::string_view schema = row.substr(begin + 1);
  const absl::string_view name = schema.substr(0, schema.find_first_of("(."));
  return Annotate(Add(row.substr(0, begin), name, schema), Printable(name, 300));
}

}  // namespace graphnet
