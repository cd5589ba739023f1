#include "graphnet/ir/statistics_report.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace graphnet {
namespace {

// Returns "1,234,567".
std::string Grouped(size_t value) { return Cell(value).text(); }

}  // namespace

Report ReportOf(const ModuleStatistics& s, size_t shown) {
  Report report;
  report.Add("num_inputs", "inputs", s.placeholders,
             s.symbols > 0 ? absl::StrCat("symbols: ", Grouped(s.symbols)) : "");
  report.Add(
      "parameters", "parameters", s.parameters,
      absl::StrCat(Grouped(s.parameter_elements), " elements, ", BytesText(s.parameter_bytes)));
  report.Add("num_outputs", "outputs", s.outputs);
  report.Add("num_nodes", "nodes", s.nodes,
             absl::StrFormat("%s in memory, %.0f bytes a node",
                             BytesText(static_cast<int64_t>(s.bytes)), s.bytes_per_node()));
  report.Add("bytes", s.bytes);
  report.Add("bytes_per_node", s.bytes_per_node());
  report.Add("parameter_elements", s.parameter_elements);
  report.Add("parameter_bytes", s.parameter_bytes);
  report.Add("symbols", s.symbols);

  // The most frequent targets come first, then they are sorted by name.
  std::vector<std::pair<std::string, size_t>> counts(s.counts.begin(), s.counts.end());
  std::stable_sort(counts.begin(), counts.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  Table targets = {{"name"}, {"count", "count"}, {"", "share"}, {"", "op"}, {"", "target"}};
  targets.set_form({.by_name = true, .has_head = false, .shown = shown});
  for (const auto& [key, count] : counts) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(key, absl::MaxSplits(' ', 1));
    const double percent = 100.0 * static_cast<double>(count) / static_cast<double>(s.nodes);
    targets.Add({key, count, Cell(percent).As(absl::StrFormat("%5.1f %%", percent)), parts.first,
                 parts.second});
  }
  if (!counts.empty()) report.Say("");
  report.Add("counts", std::move(targets));
  return report;
}

}  // namespace graphnet
