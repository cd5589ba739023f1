#include "graphnet/run/own_operators.h"

#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/file.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/shapes/operator_facts.h"
#include "graphnet/formats/formats.h"
#include "graphnet/run/engine.h"

namespace graphnet {

std::vector<std::string>& OperatorOptions() {
  static auto* const options = new std::vector<std::string>;
  return *options;
}

namespace {

constexpr absl::string_view kArrow = "->";

absl::Status DeclareOne(absl::string_view declaration) {
  // Defaults of parameters contain "=", but the results do not.
  const size_t equals = declaration.find('=', declaration.rfind(kArrow));
  const absl::string_view row = absl::StripAsciiWhitespace(declaration.substr(0, equals));
  const size_t space = row.rfind(' ', row.find('('));
  if (space != absl::string_view::npos) RETURN_IF_ERROR(AddOperatorFacts(row));
  const std::string schema(row.substr(space + 1));
  absl::string_view body;
  if (equals != absl::string_view::npos)
    body = absl::StripAsciiWhitespace(declaration.substr(equals + 1));
  std::shared_ptr<const Module> module;
  if (!body.empty() && body != "identity") {
    ASSIGN_OR_RETURN(Sample sample, Load(std::string(body)));
    module = std::move(sample.module);
  }
  ASSIGN_OR_RETURN(const Engine* engine, OpenEngine());
  std::string again(row);
  if (module != nullptr) {
    absl::StrAppend(&again, "=", std::filesystem::absolute(std::string(body)).string());
  } else if (!body.empty()) {
    absl::StrAppend(&again, "=", body);
  }
  OperatorOptions().insert(OperatorOptions().end(), {"--schema", again});
  return engine->DeclareOperator(schema, body == "identity", std::move(module));
}

}  // namespace

absl::Status DeclareOperators(const std::string& word) {
  if (absl::StrContains(word, kArrow)) return DeclareOne(word);
  if (absl::StrContains(word, "(")) {
    return absl::InvalidArgumentError(absl::StrCat(
        Printable(word, 300), ": a schema needs a result, as in mylib::f(Tensor x) -> Tensor"));
  }
  ASSIGN_OR_RETURN(const std::string text, ReadFile(word, kMaxTextFileBytes));
  int line = 0;
  for (const absl::string_view row : absl::StrSplit(text, '\n')) {
    ++line;
    const absl::string_view declaration = absl::StripAsciiWhitespace(row);
    if (declaration.empty() || declaration[0] == '#') continue;
    const std::string place = absl::StrCat(Printable(word, 300), ":", line);
    if (!absl::StrContains(declaration, kArrow))
      return absl::InvalidArgumentError(absl::StrCat(place, ": expected a schema"));
    RETURN_IF_ERROR(Annotate(DeclareOne(declaration), place));
  }
  return absl::OkStatus();
}

}  // namespace graphnet
