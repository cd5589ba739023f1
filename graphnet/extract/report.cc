#include "graphnet/extract/report.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/status.h"
#include "graphnet/extract/break_reason.h"

namespace graphnet {
namespace {

std::string TextOf(const SourcePlace& place, bool with_column) {
  if (place.line == 0) return "";
  return absl::StrCat(Printable(place.file, 300), ":", place.line,
                      with_column ? absl::StrCat(":", place.column) : "");
}

SourcePlace PlaceOf(const StitchStep& step) {
  return {step.file, step.line, step.column, step.source};
}

// Adds the known parts of a place, for JSON alone.
void AddPlace(const SourcePlace& place, Report* report) {
  if (place.line > 0) {
    report->Add("file", place.file);
    report->Add("line", place.line);
    report->Add("column", place.column);
  }
  if (!place.source.empty()) report->Add("source", place.source);
}

// Reports on what ended a graph, or worked on numbers. `what` is the rest of the first line.
Report BreakReport(BreakReason reason, const std::string& op, absl::string_view what,
                   const SourcePlace& place) {
  const BreakReasonText& text = TextOf(reason);
  const bool is_break = reason != BreakReason::kNone;
  Report report;
  if (is_break) report.Add("reason", text.name);
  report.Add("op", op);
  if (is_break) report.Add("why", text.explanation);
  if (is_break) report.Add("hint", text.hint);
  AddPlace(place, &report);
  report.Say(absl::StrCat(text.name, ": ", Printable(op), what));
  if (place.line > 0) report.Say(absl::StrCat("  at ", TextOf(place, /*with_column=*/true)));
  if (!place.source.empty()) report.Say(absl::StrCat("  > ", Printable(place.source)));
  report.Say(absl::StrCat("  why: ", text.explanation, "\n  hint: ", text.hint));
  return report;
}

// Returns a text such as "the `if` holds, on data".
std::string TextOf(const BreakCondition& condition) {
  const absl::string_view on = condition.on_data ? "on data" : "on the inputs";
  switch (condition.kind) {
    case BreakCondition::Kind::kTrue: return absl::StrCat("the `if` holds, ", on);
    case BreakCondition::Kind::kFalse: return absl::StrCat("the `if` does not hold, ", on);
    case BreakCondition::Kind::kTurn: return absl::StrCat("the loop goes on, ", on);
    case BreakCondition::Kind::kLong:
      return absl::StrCat("the loop has more than --max-unroll turns, ", on);
    case BreakCondition::Kind::kData: break;
  }
  return "its operands depend on data";
}

// Returns the calls of the subgraph that a step runs; 0 for an operation.
int64_t CallsOf(const StitchManifest& manifest, const StitchStep& step) {
  return step.subgraph < 0 ? 0 : manifest.subgraphs[static_cast<size_t>(step.subgraph)].num_calls;
}

// Reports on the i-th step, which is an operation.
Report OperationReport(const StitchManifest& manifest, size_t i) {
  const StitchStep& step = manifest.steps[i];
  const auto text_of = [](std::string* out, const ValueTree& operand) {
    out->append(PrintValueTree(operand));
  };
  const std::string operands = absl::StrJoin(step.operands, ", ", text_of);
  Report report = BreakReport(step.reason, step.op,
                              absl::StrCat("(", Printable(operands, 300), ")"), PlaceOf(step));
  int64_t before = 0;
  int64_t after = 0;
  for (size_t k = i; k > 0 && before == 0; --k) before = CallsOf(manifest, manifest.steps[k - 1]);
  for (size_t k = i + 1; k < manifest.steps.size() && after == 0; ++k)
    after = CallsOf(manifest, manifest.steps[k]);
  if (before > 0 && after > 0) {
    report.Say(absl::StrCat("  without it: one subgraph of ", before + after, " calls instead of ",
                            before, " and ", after));
  }
  return report;
}

}  // namespace

Report ReportOf(const ForetoldBreaks& foretold) {
  size_t always = 0;
  std::vector<Report> breaks;
  for (const ForetoldBreak& told : foretold.breaks) {
    const bool is_always = told.conditions.empty();
    always += is_always ? 1 : 0;
    Report made = BreakReport(told.reason, told.op,
                              is_always ? ", always" : ", where a branch is taken", told.place);
    made.Add("always", is_always);
    std::vector<Report> where;
    for (const BreakCondition& condition : told.conditions) {
      Report& row = where.emplace_back();
      row.Add("what", TextOf(condition));
      row.Add("on_data", condition.on_data);
      AddPlace(condition.place, &row);
      const std::string place = TextOf(condition.place, /*with_column=*/true);
      row.Say(absl::StrCat("  where: ", TextOf(condition),
                           place.empty() ? "" : absl::StrCat(", at ", place)));
    }
    made.Add("where", std::move(where));
    made.Say("");
    breaks.push_back(std::move(made));
  }
  Report report;
  report.Add("breaks", std::move(breaks));
  report.Add("always_raises", foretold.always_raises);
  report.Say(absl::StrCat(always, " breaks always, ", foretold.breaks.size() - always,
                          " where a branch is taken; nothing was run"));
  if (foretold.always_raises) report.Say("no run gets to the end: an error ends each");
  return report;
}

Report ReportOf(const StitchManifest& manifest, const std::string& out, bool explains) {
  size_t operations = 0;
  size_t on_numbers = 0;
  size_t duplicates = 0;
  int64_t calls = 0;
  Json steps = Json::List();
  Table subgraphs = {
      {"", "subgraph"}, {"", "calls"}, {"", "inputs"}, {"", "outputs"}, {"", "ended by"}};
  Report explained;
  for (size_t i = 0; i < manifest.steps.size(); ++i) {
    const StitchStep& step = manifest.steps[i];
    if (step.subgraph < 0) {
      const bool is_break = step.reason != BreakReason::kNone;
      ++(is_break ? operations : on_numbers);
      Report made = OperationReport(manifest, i);
      steps.push_back(made.ToJson());
      if (!is_break) continue;
      explained.Say("");
      explained.Add("", std::move(made));
      continue;
    }
    const StitchManifest::Subgraph& subgraph =
        manifest.subgraphs[static_cast<size_t>(step.subgraph)];
    std::string end(TextOf(BreakReason::kNone).name);
    if (i + 1 < manifest.steps.size()) {
      const StitchStep& next = manifest.steps[i + 1];
      end = absl::StrCat(TextOf(next.reason).name, " (", next.op, ") ",
                         TextOf(PlaceOf(next), /*with_column=*/false));
    }
    Json json;
    json["subgraph"] = subgraph.name;
    json["num_calls"] = subgraph.num_calls;
    json["num_inputs"] = step.inputs.size();
    json["num_outputs"] = step.outputs.size();
    json["hash"] = subgraph.hash;
    if (subgraph.duplicate_of >= 0) {
      json["duplicate_of"] = absl::StrCat("subgraph_", subgraph.duplicate_of);
      absl::StrAppend(&end, ", the same as subgraph_", subgraph.duplicate_of);
    }
    steps.push_back(std::move(json));
    subgraphs.Add({subgraph.name, subgraph.num_calls, step.inputs.size(), step.outputs.size(),
                   Cell("").As(end)});
  }
  for (const auto& subgraph : manifest.subgraphs) {
    duplicates += subgraph.duplicate_of >= 0 ? 1 : 0;
    calls += subgraph.num_calls;
  }
  Report report;
  report.Add("out", out);
  report.Add("steps", std::move(steps));
  report.Add("", std::move(subgraphs));
  Table symbols = {{"name"}, {"example"}};
  for (const auto& symbol : manifest.symbols) {
    symbols.Add({symbol.name, symbol.example});
    report.Say(
        absl::StrCat("dynamic ", Printable(symbol.name), ": ", symbol.example, " in the example"));
  }
  report.Add("symbols", std::move(symbols));
  Table relations = {{"requires"}, {"file"}, {"line"}};
  for (const auto& [text, file, line] : manifest.relations) {
    relations.Add({text, line > 0 ? Cell(file) : Cell(), line > 0 ? Cell(line) : Cell()});
    report.Say(absl::StrCat("  requires ", Printable(text),
                            absl::StrContains(text, " == ") ? " (specialised)" : "",
                            line > 0 ? absl::StrCat("  ", Printable(file, 100), ":", line) : ""));
  }
  report.Add("relations", std::move(relations));
  if (explains) report.Append(std::move(explained));
  report.Say(absl::StrCat(manifest.subgraphs.size(), " subgraphs of ", calls, " calls, ",
                          duplicates, " of them duplicates; ", operations,
                          " operations between them",
                          on_numbers > 0 ? absl::StrCat(", ", on_numbers, " on numbers") : ""));
  return report;
}

}  // namespace graphnet
