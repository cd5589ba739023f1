#include "graphnet/decompose/commands/typical_ranges.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/command/json.h"
#include "graphnet/formats/formats.h"

namespace graphnet {
namespace {

constexpr size_t kShownSequences = 20;
constexpr size_t kShownNames = 8;

std::string ShownNames(const std::vector<std::string>& names) {
  if (names.size() <= kShownNames) return absl::StrJoin(names, " ");
  return absl::StrCat(absl::StrJoin(names.begin(), names.begin() + kShownNames, " "), " …");
}

Report ReportOfTypical(const Typical& found, const std::vector<const NamedInput*>& inputs) {
  Table table = {{"occurrences", "times"},
                 {"operators", "operators"},
                 {"samples", "samples"},
                 {"path", "the first"},
                 {"start"},
                 {"end"},
                 {"", "range"},
                 {"names"},
                 {"", "names"}};
  table.set_form({.shown = kShownSequences});
  for (const TypicalSequence& one : found.sequences) {
    const auto [start, end] = one.range;
    table.Add({one.occurrences, one.names.size(), one.graphs, inputs[one.graph]->path, start, end,
               absl::StrCat(start, ":", end), Json::List(one.names), ShownNames(one.names)});
  }
  Report report;
  report.Add("sequences", std::move(table));
  report.Add("found", found.found);
  size_t ranges = 0, operators = 0;
  for (const std::vector<Range>& of_sample : found.ranges) {
    ranges += of_sample.size();
    for (const Range& range : of_sample) operators += static_cast<size_t>(range.end - range.start);
  }
  report.Add("num_ranges", ranges);
  const std::string shown =
      found.sequences.size() < found.found ? absl::StrCat(found.sequences.size(), " of ") : "";
  report.Say(absl::StrCat(shown, found.found, " sequences that recur in ", inputs.size(),
                          " samples; ", ranges, " ranges without overlaps have ", operators,
                          " operators"));
  return report;
}

}  // namespace

absl::StatusOr<TypicalResult> FindTypicalRanges(const std::vector<NamedInput>& inputs,
                                                const TypicalOptions& options, int jobs,
                                                bool trust) {
  TypicalResult result;
  std::vector<TypicalSequences::Graph> graphs(inputs.size());
  std::vector<absl::Status> statuses(inputs.size());
  result.count = RunBatch<TypicalSequences::Graph>(
      inputs, jobs,
      [&](const NamedInput& input, TypicalSequences::Graph* graph) -> absl::Status {
        ASSIGN_OR_RETURN(const Sample sample, Load(input.path, {.trust = trust}));
        *graph = TypicalSequences::GraphOf(*sample.module);
        return absl::OkStatus();
      },
      [&](size_t i, const absl::Status& status, TypicalSequences::Graph& graph) {
        graphs[i] = std::move(graph);
        statuses[i] = status;
        return "";
      });
  TypicalSequences search;
  std::vector<const NamedInput*> searched;
  std::vector<size_t> lengths;
  std::vector<Report> refused;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!statuses[i].ok()) {
      refused.push_back(SampleReport(inputs[i].path, statuses[i]));
      continue;
    }
    RETURN_IF_ERROR(search.Add(graphs[i]));
    searched.push_back(&inputs[i]);
    lengths.push_back(graphs[i].names.size());
    graphs[i] = {};
  }
  ASSIGN_OR_RETURN(const Typical found, search.Find(options));
  for (size_t i = 0; i < searched.size(); ++i) {
    result.ranges[searched[i]->name] = {BaseName(searched[i]->name), found.ranges[i],
                                        static_cast<int64_t>(lengths[i])};
  }
  result.report = ReportOfTypical(found, searched);
  result.report.Add("refused", std::move(refused));
  return result;
}

}  // namespace graphnet
