#include "graphnet/paddle/mapping.h"

#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/check.h"
#include "graphnet/base/near_miss.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ops/schema.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/paddle/rule_text.h"
#include "graphnet/paddle/rules.h"

namespace graphnet {
namespace {

constexpr std::array<absl::string_view, 8> kClasses = {"",
                                                       "direct",
                                                       "PyTorch takes more arguments",
                                                       "other use of arguments",
                                                       "several calls",
                                                       "context",
                                                       "not in Paddle's framework itself",
                                                       "missing"};

absl::Span<const Schema> OverloadsOf(absl::string_view name) {
  const auto functions = FindFunctions(name);
  return functions.empty() ? FindSchemas(name) : functions;
}

std::string Signature(const Schema& schema, absl::string_view name) {
  std::string out = absl::StrCat(name, "(");
  absl::string_view separator;
  bool keywords = false;
  for (const SchemaArgument& argument : schema.arguments) {
    if (argument.keyword_only && !keywords) {
      absl::StrAppend(&out, separator, "*");
      separator = ", ";
      keywords = true;
    }
    absl::StrAppend(&out, separator, argument.is_variadic ? "*" : "", argument.name);
    if (argument.has_default && !argument.is_variadic) {
      absl::StrAppend(&out, "=", argument.default_text);
    }
    separator = ", ";
  }
  return absl::StrCat(out, ")");
}

std::string ConditionText(const PaddleCondition& condition) {
  const absl::string_view is_not = condition.is_not ? "not " : "";
  switch (condition.kind) {
    case PaddleCondition::Kind::kTensor: return absl::StrCat(is_not, "a tensor");
    case PaddleCondition::Kind::kBool: return absl::StrCat(is_not, "known to be of bools");
    case PaddleCondition::Kind::kFloating:
      return absl::StrCat(is_not, "known to be of floating-point numbers");
    case PaddleCondition::Kind::kUneven:
      return absl::StrCat(is_not, "known not to divide the tensor evenly");
    case PaddleCondition::Kind::kWhole:
      return absl::StrCat(is_not, "known to have a size for each axis of the tensor");
    case PaddleCondition::Kind::kIs: break;
  }
  return absl::StrCat(is_not, "`", PrintArgument(condition.value), "`");
}

// Collects the arguments of Paddle's calls that a parameter of PyTorch becomes.
void WhereUsed(const PaddleTerm& call, absl::string_view parameter, std::set<std::string>* uses) {
  for (const PaddleTerm& argument : call.arguments) {
    if (!argument.arguments.empty()) {
      WhereUsed(argument, parameter, uses);
    } else if (argument.kind != PaddleTerm::Kind::kLiteral && argument.name == parameter) {
      const std::string keyword = argument.keyword.empty()
                                      ? std::string("by position")
                                      : absl::StrCat("`", argument.keyword, "`");
      uses->insert(argument.is_written ? absl::StrCat(keyword, ", always written") : keyword);
    }
  }
}

std::string UseOf(const PaddleRule& rule, absl::string_view parameter) {
  std::vector<std::string> parts;
  for (const PaddleCondition& condition : rule.conditions) {
    if (condition.parameter == parameter)
      parts.push_back(absl::StrCat("is ", ConditionText(condition)));
  }
  if (rule.kind == PaddleRule::Kind::kNone) return absl::StrJoin(parts, "; ");
  if (absl::c_linear_search(rule.dropped, parameter)) parts.emplace_back("says nothing in Paddle");
  std::set<std::string> uses;
  WhereUsed(rule.call, parameter, &uses);
  parts.insert(parts.end(), uses.begin(), uses.end());
  if (parts.empty() && parameter == "inplace") return "as `paddle.assign` to the argument";
  return parts.empty() ? "default only" : absl::StrJoin(parts, "; ");
}

// Returns the parameters of all overloads in order, without repeats.
std::vector<absl::string_view> ParametersOf(absl::string_view name) {
  std::vector<absl::string_view> names;
  for (const Schema& schema : OverloadsOf(name)) {
    for (const SchemaArgument& argument : schema.arguments) {
      if (!absl::c_linear_search(names, argument.name)) names.push_back(argument.name);
    }
  }
  return names;
}

std::string RowText(const PaddleRule& rule) {
  std::string out =
      absl::StrCat("class ", rule.mapping_class, ", ", MappingClassName(rule.mapping_class));
  if (!rule.conditions.empty()) {
    absl::StrAppend(&out, ", when ",
                    absl::StrJoin(rule.conditions, " and ", [](std::string* to, const auto& c) {
                      absl::StrAppend(to, "`", c.parameter, "` is ", ConditionText(c));
                    }));
  }
  switch (rule.kind) {
    case PaddleRule::Kind::kCall: return absl::StrCat(out, ": `", PaddleCallText(rule.call), "`");
    case PaddleRule::Kind::kKeep: return absl::StrCat(out, ": the same in Python for both");
    case PaddleRule::Kind::kDrop: return absl::StrCat(out, ": left out, as it has no value");
    case PaddleRule::Kind::kNone: return absl::StrCat(out, ": none, ", rule.reason);
  }
  return out;
}

// Explains why a spelling has the rules of another name.
std::string SpellingText(const std::string& spelling, absl::string_view name) {
  std::string out = absl::StrCat("The rules are those of `", name, "`");
  const std::string operation = PaddleRuleName(spelling);
  const PaddleRulesOfCall found = FindPaddleRulesOfCall(operation);
  if (found.for_each) absl::StrAppend(&out, ", for each tensor of the list");
  if (found.in_place) absl::StrAppend(&out, "; the call writes to its input by `paddle.assign`");
  return absl::StrCat(out, ".\n\n");
}

void AppendSection(const FoundPaddleRules& section, std::string* out) {
  const absl::Span<const PaddleRule> rules = section.rules;
  const std::string& name = rules[0].name;
  const std::string& title = section.spelling.empty() ? name : section.spelling;
  absl::StrAppend(out, "\n## `", title, "`\n\n");
  const absl::Span<const Schema> overloads =
      OverloadsOf(section.spelling.empty() ? name : PaddleRuleName(section.spelling));
  if (!overloads.empty()) {
    std::set<std::string> seen;
    out->append("```python\n");
    for (const Schema& schema : overloads) {
      const std::string signature = Signature(schema, title);
      if (seen.insert(signature).second) absl::StrAppend(out, signature, "\n");
    }
    out->append("```\n\n");
  }
  if (!section.spelling.empty()) out->append(SpellingText(section.spelling, name));
  for (size_t i = 0; i < rules.size(); ++i) {
    absl::StrAppend(out, i + 1, ". ", RowText(rules[i]), "\n");
  }
  const std::vector<absl::string_view> parameters = ParametersOf(name);
  const bool has_calls = absl::c_any_of(
      rules, [](const PaddleRule& rule) { return rule.kind == PaddleRule::Kind::kCall; });
  if (has_calls && !parameters.empty()) {
    out->append("\n| PyTorch |");
    for (size_t i = 0; i < rules.size(); ++i) absl::StrAppend(out, " ", i + 1, " |");
    out->append("\n|---|");
    for (size_t i = 0; i < rules.size(); ++i) out->append("---|");
    out->append("\n");
    for (const absl::string_view parameter : parameters) {
      absl::StrAppend(out, "| `", parameter, "` |");
      for (const PaddleRule& rule : rules) absl::StrAppend(out, " ", UseOf(rule, parameter), " |");
      out->append("\n");
    }
  }
  for (const PaddleExample& example : AllPaddleExamples()) {
    if (example.name != name) continue;
    absl::StrAppend(out, "\n```\n", example.graph, "\n  ", absl::StrJoin(example.converted, "\n  "),
                    "\n```\n");
    break;  // The test uses the other examples.
  }
}

}  // namespace

absl::string_view MappingClassName(int mapping_class) {
  CHECK(mapping_class >= 1 && mapping_class <= 7);
  return kClasses[static_cast<size_t>(mapping_class)];
}

const std::vector<PaddleExample>& AllPaddleExamples() {
  static const auto* const examples = [] {
    auto* all = new std::vector<PaddleExample>;
    for (const absl::string_view line :
         absl::StrSplit(PaddleExampleText(), '\n', absl::SkipEmpty())) {
      if (line[0] == '#') continue;
      const std::vector<absl::string_view> parts = absl::StrSplit(line, " | ");
      CHECK(parts.size() == 3);
      all->push_back({parts[0], parts[1], absl::StrSplit(parts[2], " ; ")});
    }
    return all;
  }();
  return *examples;
}

std::string PaddleCallText(const PaddleTerm& call) {
  switch (call.kind) {
    case PaddleTerm::Kind::kLiteral: return PrintArgument(call.literal);
    case PaddleTerm::Kind::kParameter: return call.name;
    case PaddleTerm::Kind::kVariadic: return absl::StrCat("*", call.name);
    case PaddleTerm::Kind::kPieces: return absl::StrCat("sizes of ", call.name);
    case PaddleTerm::Kind::kTuple:
    case PaddleTerm::Kind::kCall: break;
  }
  return absl::StrCat(call.name, "(",
                      absl::StrJoin(call.arguments, ", ",
                                    [](std::string* out, const PaddleTerm& argument) {
                                      if (!argument.keyword.empty())
                                        absl::StrAppend(out, argument.keyword, "=");
                                      absl::StrAppend(out, PaddleCallText(argument));
                                    }),
                      ")");
}

namespace {

// Calls `fn` with the rules of each name.
template <typename Fn>
void ForEachName(Fn&& fn) {
  const absl::Span<const PaddleRule> all = AllPaddleRules();
  for (size_t begin = 0; begin < all.size();) {
    size_t end = begin;
    while (end < all.size() && all[end].name == all[begin].name) ++end;
    fn(all.subspan(begin, end - begin));
    begin = end;
  }
}

absl::string_view LastComponent(absl::string_view name) { return name.substr(name.rfind('.') + 1); }

}  // namespace

std::string PaddleMappingPage() {
  const absl::Span<const PaddleRule> all = AllPaddleRules();
  std::array<size_t, kClasses.size()> count = {};
  for (const PaddleRule& rule : all) ++count[static_cast<size_t>(rule.mapping_class)];
  std::string out =
      "# Calls of PyTorch in Paddle\n\n"
      "Made by `graphnet paddle-map` from `graphnet/paddle/paddle_rules.txt`, which\n"
      "docs/paddle.md explains. A section is a name in the tables of `ops`, which stands for\n"
      "all spellings of the call. Its rows are tried in their order. Where a parameter is "
      "\"default\n"
      "only\", a call that gives it another value stays as it is. The examples have been run in\n"
      "PyTorch and in Paddle, which agree.\n\n"
      "| class | rows |\n|---|---:|\n";
  for (size_t i = 1; i < kClasses.size(); ++i) {
    absl::StrAppend(&out, "| ", i, " ", kClasses[i], " | ", count[i], " |\n");
  }
  ForEachName([&](absl::Span<const PaddleRule> rules) { AppendSection({rules, ""}, &out); });
  return out;
}

absl::StatusOr<std::vector<FoundPaddleRules>> FindPaddleRules(absl::string_view api) {
  const std::string spelling(api);
  const PaddleRulesOfCall of_call = FindPaddleRulesOfCall(PaddleRuleName(spelling));
  if (!of_call.rules.empty()) {
    const bool is_name = of_call.rules[0].name == api;
    return std::vector<FoundPaddleRules>{{of_call.rules, is_name ? "" : spelling}};
  }
  std::vector<FoundPaddleRules> alike;
  std::vector<absl::string_view> names;
  ForEachName([&](absl::Span<const PaddleRule> rules) {
    const absl::string_view name = rules[0].name;
    names.push_back(name);
    if (api.empty() || LastComponent(name) == LastComponent(api)) alike.push_back({rules, ""});
  });
  if (!alike.empty()) return alike;
  return absl::NotFoundError(
      absl::StrCat("no rule for ", Printable(api), NearMissHint(api, names)));
}

std::string PaddleMappingSection(const FoundPaddleRules& found) {
  std::string text;
  AppendSection(found, &text);
  return text.substr(1);  // drops the empty line at the start
}

}  // namespace graphnet
