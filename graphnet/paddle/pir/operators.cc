#include "graphnet/paddle/pir/operators.h"

#include <cstddef>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace graphnet::pir {
namespace {

// The parts of a list with ", " between them, brackets and strings left whole.
std::vector<absl::string_view> Parts(absl::string_view text) {
  std::vector<absl::string_view> parts;
  size_t start = 0;
  int depth = 0;
  bool is_quoted = false;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '"') is_quoted = !is_quoted;
    if (is_quoted && i < text.size()) continue;
    if (c == '[' || c == '(' || c == '{') ++depth;
    if (c == ']' || c == ')' || c == '}') --depth;
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    const absl::string_view part = absl::StripAsciiWhitespace(text.substr(start, i - start));
    if (!part.empty()) parts.push_back(part);
    start = i + 1;
  }
  return parts;
}

// "name:Type=otherwise" or "name = otherwise".
Parameter ParseParameter(absl::string_view text) {
  Parameter parameter;
  if (const size_t equals = text.find('='); equals != absl::string_view::npos) {
    parameter.otherwise = absl::StripAsciiWhitespace(text.substr(equals + 1));
    text = absl::StripAsciiWhitespace(text.substr(0, equals));
  }
  const std::pair<absl::string_view, absl::string_view> halves =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  parameter.name = halves.first;
  parameter.type = halves.second;
  return parameter;
}

std::vector<Parameter> ParseParameters(absl::string_view text) {
  std::vector<Parameter> parameters;
  for (const absl::string_view part : Parts(text)) parameters.push_back(ParseParameter(part));
  return parameters;
}

template <typename Row>
using Table = absl::flat_hash_map<absl::string_view, Row>;

// Calls fn(name, what stands behind it) for each row.
template <typename Fn>
void ForEachRow(absl::string_view text, Fn&& fn) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const size_t bracket = line.find('(');
    if (absl::StartsWith(line, "#") || bracket == absl::string_view::npos) continue;
    fn(line.substr(0, bracket), line.substr(bracket + 1));
  }
}

Table<Operator> ReadOperators() {
  Table<Operator> table;
  ForEachRow(OperatorText(), [&](absl::string_view name, absl::string_view rest) {
    Operator op;
    op.name = name;
    op.has_effects = absl::ConsumeSuffix(&rest, " !");
    const size_t end = rest.rfind(") ->");
    const std::pair<absl::string_view, absl::string_view> halves =
        absl::StrSplit(rest.substr(0, end), absl::MaxSplits(';', 1));
    op.operands = ParseParameters(halves.first);
    op.attributes = ParseParameters(halves.second);
    op.results = Parts(rest.substr(end + 4));
    table.emplace(name, std::move(op));
  });
  return table;
}

Table<Function> ReadFunctions() {
  Table<Function> table;
  ForEachRow(FunctionText(), [&](absl::string_view name, absl::string_view rest) {
    table.emplace(name, Function{name, ParseParameters(rest.substr(0, rest.rfind(')')))});
  });
  return table;
}

}  // namespace

const Operator* FindOperator(absl::string_view name) {
  static const auto* const kTable = new Table<Operator>(ReadOperators());
  absl::ConsumePrefix(&name, "pd_op.");
  const auto it = kTable->find(name);
  return it == kTable->end() ? nullptr : &it->second;
}

absl::string_view AttributeType(absl::string_view operation, absl::string_view attribute) {
  if (const Operator* op = FindOperator(operation)) {
    for (const Parameter& known : op->attributes) {
      if (known.name == attribute) return known.type;
    }
  }
  if (attribute == "dtype") return "DataType";
  if (attribute == "place") return "Place";
  return "";
}

const Function* FindFunction(absl::string_view name) {
  static const auto* const kTable = new Table<Function>(ReadFunctions());
  const auto it = kTable->find(name);
  return it == kTable->end() ? nullptr : &it->second;
}

}  // namespace graphnet::pir
