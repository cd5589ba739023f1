#include "graphnet/ir/statistics.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/verifier.h"

namespace graphnet {
namespace {

void SaturatingAdd(int64_t value, int64_t* sum) {
  if (__builtin_add_overflow(*sum, value, sum)) *sum = std::numeric_limits<int64_t>::max();
}

// Returns nullopt if a size is unknown or the product does not fit int64.
std::optional<int64_t> NumElements(const Module& module, const TensorMeta& meta) {
  if (!meta.has_shape) return std::nullopt;
  int64_t elements = 1;
  for (const Dim& dim : meta.shape) {
    const std::optional<int64_t> size =
        dim.is_static() ? dim.value : EvaluateWithExamples(module, *dim.expr);
    if (!size || *size < 0 || __builtin_mul_overflow(elements, *size, &elements))
      return std::nullopt;
  }
  return elements;
}

void AddParameter(const Module& module, const TensorMeta* meta, ModuleStatistics* statistics) {
  ++statistics->parameters;
  if (meta == nullptr) return;
  const std::optional<int64_t> elements = NumElements(module, *meta);
  if (!elements) return;
  SaturatingAdd(*elements, &statistics->parameter_elements);
  int64_t bytes = 0;
  if (__builtin_mul_overflow(*elements, DTypeBytes(meta->dtype), &bytes)) {
    bytes = std::numeric_limits<int64_t>::max();
  }
  SaturatingAdd(bytes, &statistics->parameter_bytes);
}

size_t NumReturned(const Node& output) {
  if (output.args().empty()) return 0;
  const Argument& value = output.args()[0];
  if (value.kind() == Argument::Kind::kDict) return value.elements().size() / 2;
  if (value.is_list() || value.is_tuple()) return value.elements().size();
  return value.is_none() ? 0 : 1;
}

// Returns "1,234,567".
std::string Grouped(size_t value) { return Cell(value).text(); }

}  // namespace

ModuleStatistics& ModuleStatistics::operator+=(const ModuleStatistics& other) {
  placeholders += other.placeholders;
  outputs += other.outputs;
  symbols += other.symbols;
  nodes += other.nodes;
  for (const auto& [key, count] : other.counts) counts[key] += count;
  parameters += other.parameters;
  SaturatingAdd(other.parameter_elements, &parameter_elements);
  SaturatingAdd(other.parameter_bytes, &parameter_bytes);
  bytes += other.bytes;
  all_nodes += other.all_nodes;
  return *this;
}

ModuleStatistics ComputeStatistics(const Module& module) {
  ModuleStatistics statistics;
  statistics.symbols = module.symbols().size();
  statistics.bytes = module.MemoryBytes();
  statistics.all_nodes = module.num_nodes();
  // Targets are interned, so their addresses identify them.
  absl::flat_hash_map<std::pair<Op, const char*>, std::pair<absl::string_view, size_t>> counts;
  for (const Graph* graph : module.graphs()) {
    const bool is_main = graph == module.main();
    for (const Node* node : graph->nodes()) {
      if (node->is_placeholder()) {
        if (!is_main) continue;
        ++statistics.placeholders;
        if (node->annotation() == kParameterAnnotation)
          AddParameter(module, node->tensor_meta(), &statistics);
      } else if (node->is_output()) {
        if (is_main) statistics.outputs = NumReturned(*node);
      } else {
        ++statistics.nodes;
        const absl::string_view target = node->op() == Op::kGetAttr ? "" : node->target();
        auto& entry = counts[{node->op(), target.data()}];
        entry.first = target;
        ++entry.second;
      }
    }
  }
  for (const auto& [key, entry] : counts) {
    const auto& [target, count] = entry;
    const absl::string_view op = OpName(key.first);
    statistics.counts[target.empty() ? std::string(op) : absl::StrCat(op, " ", target)] += count;
  }
  for (const Attribute& attribute : module.attributes()) {
    if (attribute.annotation == kParameterAnnotation)
      AddParameter(module, attribute.meta, &statistics);
  }
  return statistics;
}

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
