#include "graphnet/passes/documentation.h"

#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "graphnet/base/status.h"
#include "graphnet/passes/registry.h"
#include "graphnet/passes/vmap/batching_rules.h"

namespace graphnet {
namespace {

constexpr absl::string_view kScenario = "Applicable in scenarios where";
constexpr absl::string_view kChange = "When applied, this pass will";

// Returns the paragraphs of the comment block that documents a pass, without the slashes.
std::vector<std::vector<std::string>> Paragraphs(absl::string_view header) {
  std::vector<std::vector<std::string>> block(1);
  for (absl::string_view line : absl::StrSplit(header, '\n')) {
    if (absl::ConsumePrefix(&line, "//")) {
      absl::ConsumePrefix(&line, " ");
      if (line.empty()) {
        if (!block.back().empty()) block.emplace_back();
      } else {
        block.back().emplace_back(line);
      }
      continue;
    }
    for (const auto& paragraph : block) {
      if (!paragraph.empty() && absl::StartsWith(paragraph[0], kScenario)) return block;
    }
    block.assign(1, {});
  }
  return {};
}

std::optional<Tier> ParseTier(absl::string_view name) {
  for (const Tier tier : {Tier::kCore, Tier::kSupported, Tier::kExperimental}) {
    if (TierName(tier) == name) return tier;
  }
  return std::nullopt;
}

// Joins the lines of a paragraph. Items of a list, which begin with "- " and go on with two blanks,
// become lines of their own, and what follows them a paragraph.
std::string Joined(absl::Span<const std::string> lines) {
  std::string text;
  bool is_list = false;
  for (absl::string_view line : lines) {
    const bool is_item = absl::StartsWith(line, "- ");
    const bool continues = absl::ConsumePrefix(&line, "  ");
    const absl::string_view before = text.empty() ? "" : is_list == is_item ? "\n" : "\n\n";
    const bool joins = !text.empty() && !is_item && (!is_list || continues);
    absl::StrAppend(&text, joins ? " " : before, line);
    is_list = is_item || (is_list && continues);
  }
  return text;
}

absl::Status ParseExample(const std::vector<std::string>& lines, PassExample* example) {
  std::string* text = &example->before;
  bool has_after = false;
  for (absl::string_view line : absl::MakeConstSpan(lines).subspan(1)) {
    if (!absl::ConsumePrefix(&line, "  ")) {
      // A title may need a second line.
      if (!text->empty())
        return absl::InvalidArgumentError(absl::StrCat("example line not indented: ", line));
      absl::StrAppend(&example->title, " ", line);
      continue;
    }
    if (line == "becomes") {
      text = &example->after;
      has_after = true;
    } else if (absl::ConsumePrefix(&line, "refused: ")) {
      example->refused = std::string(line);
    } else if (example->before.empty() && !absl::StartsWith(line, "graph ") &&
               !absl::StartsWith(line, "symbol ") && !absl::StartsWith(line, "attribute ")) {
      example->options = std::string(line);
    } else {
      absl::StrAppend(text, line, "\n");
    }
  }
  if (example->before.empty()) return absl::InvalidArgumentError("an example has no graph");
  if (has_after == example->is_counter_example) {
    return absl::InvalidArgumentError(
        "an example has two graphs with \"becomes\" between them, a counter-example one");
  }
  if (example->is_counter_example) example->after = example->before;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PassDocumentation> ParsePassDocumentation(absl::string_view header) {
  PassDocumentation made;
  const std::vector<std::vector<std::string>> paragraphs = Paragraphs(header);
  for (const std::vector<std::string>& lines : paragraphs) {
    if (lines.empty()) continue;
    absl::string_view first = lines[0];
    if (made.summary.empty()) {
      made.summary = Joined(lines);
    } else if (absl::ConsumePrefix(&first, "Tier: ")) {
      const std::optional<Tier> tier = ParseTier(first);
      if (!tier.has_value())
        return absl::InvalidArgumentError(absl::StrCat("no tier is called \"", first, "\""));
      made.tier = *tier;
    } else if (absl::StartsWith(first, kScenario)) {
      made.scenario = Joined(lines);
    } else if (absl::StartsWith(first, kChange)) {
      made.change = Joined(lines);
    } else if (first == "Options:") {
      made.options = Joined(absl::MakeConstSpan(lines).subspan(1));
    } else if (absl::ConsumePrefix(&first, "Performance impact: ")) {
      made.performance = Joined(lines).substr(lines[0].size() - first.size());
    } else if (absl::ConsumePrefix(&first, "Risks and limitations: ")) {
      made.risks = Joined(lines).substr(lines[0].size() - first.size());
    } else if (absl::StartsWith(first, "Example: ") ||
               absl::StartsWith(first, "Counter-example: ")) {
      PassExample example;
      example.is_counter_example = first[0] == 'C';
      example.title = std::string(first.substr(first.find(' ') + 1));
      RETURN_IF_ERROR(ParseExample(lines, &example));
      made.examples.push_back(std::move(example));
    } else if (!absl::StartsWith(first, "Returns ")) {  // what only C++ programs see
      return absl::InvalidArgumentError(
          absl::StrCat("a paragraph has an unknown opening: ", first));
    }
  }
  const auto has_example = [&](bool counter) {
    return absl::c_any_of(made.examples,
                          [&](const PassExample& e) { return e.is_counter_example == counter; });
  };
  for (const auto& [has, what] :
       {std::pair{!made.scenario.empty(), kScenario},
        {!made.change.empty(), kChange},
        {!made.performance.empty(), absl::string_view("Performance impact:")},
        {!made.risks.empty(), absl::string_view("Risks and limitations:")},
        {has_example(false), absl::string_view("Example:")},
        {has_example(true), absl::string_view("Counter-example:")}}) {
    if (!has) return absl::InvalidArgumentError(absl::StrCat("no paragraph \"", what, " …\""));
  }
  return made;
}

absl::StatusOr<PassDocumentation> DocumentationOf(const Pass& pass) {
  absl::string_view text = pass.header_text();
  for (const HeaderText& header : HeaderTexts()) {
    if (header.name == pass.header()) text = header.text;
  }
  if (text.empty()) {
    const std::string why =
        pass.header().empty() ? "" : absl::StrCat(": ", pass.header(), " is not built in");
    return absl::NotFoundError(absl::StrCat("the pass ", pass.name(), " is not documented", why));
  }
  auto documentation = ParsePassDocumentation(text);
  if (!documentation.ok()) return Annotate(documentation.status(), pass.header());
  return documentation;
}

std::string PassSection(const Pass& pass, const PassDocumentation& documentation) {
  std::string out = absl::StrCat("## ", pass.name(), "\n\n", documentation.summary, "\n\n",
                                 documentation.scenario, "\n\n", documentation.change,
                                 "\n\nTier: ", TierName(documentation.tier), "\n\n");
  if (!documentation.options.empty())
    absl::StrAppend(&out, "Options:\n\n", documentation.options, "\n\n");
  absl::StrAppend(&out, "Performance impact: ", documentation.performance,
                  "\n\nRisks and limitations: ", documentation.risks, "\n");
  for (const PassExample& example : documentation.examples) {
    absl::StrAppend(
        &out, example.is_counter_example ? "\nCounter-example: " : "\nExample: ", example.title);
    if (!example.options.empty())
      absl::StrAppend(&out, " (`", pass.name(), "{", example.options, "}`)");
    absl::StrAppend(&out, "\n\n```\n", example.before);
    if (!example.is_counter_example)
      absl::StrAppend(&out, "```\n\nbecomes\n\n```\n", example.after);
    absl::StrAppend(&out, "```\n");
    if (!example.refused.empty())
      absl::StrAppend(&out, "\nis refused: \"", example.refused, "\".\n");
  }
  return out;
}

std::string PassesPage() {
  std::string out =
      "# Passes\n\n"
      "Made by `graphnet passes --markdown` from the headers in `graphnet/passes`; a test compares "
      "and runs\n"
      "every example. `graphnet opt IN --passes=a,b{option=value} -o OUT` runs them; how they are "
      "run is in\n"
      "[optimising.md](optimising.md).\n\n"
      "| pass | tier | |\n|---|---|---|\n";
  std::string sections;
  for (const Pass& pass : AllPasses()) {
    const absl::StatusOr<PassDocumentation> documentation = DocumentationOf(pass);
    if (!documentation.ok()) {
      absl::StrAppend(&out, "| ", pass.name(), " | - | not documented |\n");
      continue;
    }
    absl::StrAppend(&out, "| [", pass.name(), "](#", pass.name(), ") | ",
                    TierName(documentation->tier), " | ", documentation->summary, " |\n");
    absl::StrAppend(&sections, "\n", PassSection(pass, *documentation));
  }
  return absl::StrCat(out, sections, "\n", BatchingRulesSection());
}

}  // namespace graphnet
