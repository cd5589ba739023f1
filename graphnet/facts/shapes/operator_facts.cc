#include "graphnet/facts/shapes/operator_facts.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/shapes/result_rules.h"
#include "graphnet/ops/foreign_operators.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {
namespace {

// `name` is "mylib::gain", `schema` starts with it.
absl::Status Add(absl::string_view facts, absl::string_view name, absl::string_view schema) {
  const absl::string_view space = name.substr(0, name.find("::"));
  for (const absl::string_view own : {"aten", "prim", "prims"}) {
    if (space == own)
      return absl::InvalidArgumentError(absl::StrCat(own, " is PyTorch's own namespace"));
  }
  if (!absl::ConsumePrefix(&facts, "=")) {
    ASSIGN_OR_RETURN(const ResultRule rule, ParseResultRule(facts));
    RETURN_IF_ERROR(AddKnownOperator(schema, ""));
    AddResultRule(name, rule);
    return absl::OkStatus();
  }
  std::string like(absl::StripAsciiWhitespace(facts));
  if (FindSchemas(like).empty() || absl::StrContains(like, "::"))
    return absl::InvalidArgumentError(absl::StrCat("\"", like, "\" is no operator of ATen"));
  if (absl::EndsWith(name, "_") && !absl::EndsWith(like, "_")) like += "_";
  return AddKnownOperator(schema, like);
}

}  // namespace

absl::Status AddOperatorFacts(absl::string_view row) {
  row = absl::StripAsciiWhitespace(row);
  const size_t begin = row.rfind(' ', row.find('('));
  if (row.find('(') == absl::string_view::npos || begin == absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat(
        Printable(row, 300), ": a row is facts and a schema, as in = add my::f(Tensor self, …)"));
  }
  const absl::string_view schema = row.substr(begin + 1);
  const absl::string_view name = schema.substr(0, schema.find_first_of("(."));
  return Annotate(Add(row.substr(0, begin), name, schema), Printable(name, 300));
}

}  // namespace graphnet
