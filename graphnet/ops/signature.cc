#include "graphnet/ops/signature.h"

#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace graphnet {
namespace {

// The literals that occur as defaults; anything else counts as None.
Argument ParseDefault(absl::string_view text) {
  if (text == "True" || text == "False") return text == "True";
  if (text.size() >= 2 && text.front() == '\'' && text.back() == '\'') {
    return text.substr(1, text.size() - 2);
  }
  int64_t integer = 0;
  if (absl::SimpleAtoi(text, &integer)) return integer;
  double real = 0;
  if (absl::SimpleAtod(text, &real)) return real;
  return Argument();
}

}  // namespace

absl::StatusOr<Signature> ParseSignature(absl::string_view line) {
  const size_t open = line.find('(');
  if (open == absl::string_view::npos || line.back() != ')') {
    return absl::InvalidArgumentError(absl::StrCat("signature ", line, ": expected (…)"));
  }
  Signature signature;
  signature.name = line.substr(0, open);
  absl::string_view rest = line.substr(open + 1, line.size() - open - 2);
  bool keyword_only = false;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(", "), rest.size());
    absl::string_view part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 2, rest.size()));
    Parameter parameter;
    parameter.keyword_only = keyword_only;
    if (part == "*" || part == "/") {
      keyword_only = keyword_only || part == "*";
      continue;
    }
    if (absl::ConsumePrefix(&part, "**")) continue;
    if (absl::ConsumePrefix(&part, "*")) {
      parameter.is_variadic = true;
      keyword_only = true;
    }
    if (const size_t equals = part.find('='); equals != absl::string_view::npos) {
      parameter.has_default = true;
      parameter.default_value = ParseDefault(part.substr(equals + 1));
      part = part.substr(0, equals);
    }
    parameter.name = part;
    signature.parameters.push_back(parameter);
  }
  return signature;
}

}  // namespace graphnet
