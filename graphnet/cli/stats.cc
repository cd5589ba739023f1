#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/batch.h"
#include "graphnet/cli/command.h"
#include "graphnet/cli/costs.h"
#include "graphnet/cli/json.h"
#include "graphnet/cli/messages.h"
#include "graphnet/cli/options.h"
#include "graphnet/cli/table.h"
#include "graphnet/facts/cost/cost.h"
#include "graphnet/formats/formats.h"
#include "graphnet/ir/canonical_hash.h"
#include "graphnet/ir/statistics.h"

namespace graphnet {
namespace {

constexpr size_t kTopTargets = 20;
constexpr size_t kMaxTargetBytes = 200;

struct StatsFlags {
  std::vector<std::string> in;
  int jobs = 0;
  bool json = false;
  bool csv = false;
  bool all = false;
  bool cost = false;
  CallKey cost_by = CallKey::kNone;
  bool trust = false;
};

// Returns "1,234,567".
std::string Grouped(int64_t value) {
  std::string digits = absl::StrCat(value);
  for (int i = static_cast<int>(digits.size()) - 3; i > 0; i -= 3) {
    digits.insert(static_cast<size_t>(i), ",");
  }
  return digits;
}
std::string Grouped(size_t value) { return Grouped(static_cast<int64_t>(value)); }

void PrintStatistics(const std::string& title, const ModuleStatistics& s, bool all) {
  std::printf("%s\n", title.c_str());
  const std::string rows[][3] = {
      {"inputs", Grouped(s.placeholders),
       s.symbols > 0 ? absl::StrCat("symbols: ", Grouped(s.symbols)) : ""},
      {"parameters", Grouped(s.parameters),
       absl::StrCat(Grouped(s.parameter_elements), " elements, ", BytesText(s.parameter_bytes))},
      {"outputs", Grouped(s.outputs), ""},
      {"nodes", Grouped(s.nodes),
       absl::StrFormat("%s in memory, %.0f bytes a node", BytesText(static_cast<int64_t>(s.bytes)),
                       s.bytes_per_node())},
  };
  size_t width = 0;
  for (const auto& row : rows) width = std::max(width, row[1].size());
  for (const auto& [name, count, note] : rows) {
    const std::string line = absl::StrFormat("  %-10s  %*s  %s", name, width, count, note);
    std::printf("%s\n", line.substr(0, line.find_last_not_of(' ') + 1).c_str());
  }

  // The most frequent targets come first, then they are sorted by name.
  std::vector<std::pair<size_t, std::string>> targets;
  for (const auto& [key, count] : s.counts)
    targets.push_back({std::numeric_limits<size_t>::max() - count, key});
  std::sort(targets.begin(), targets.end());
  const size_t shown = all ? targets.size() : std::min(targets.size(), kTopTargets);
  for (size_t i = 0; i < shown; ++i) {
    const auto& [key, count] = *s.counts.find(targets[i].second);
    if (i == 0) {
      width = Grouped(count).size();
      std::printf("\n");
    }
    const size_t blank = key.find(' ');
    const std::string target = blank == std::string::npos ? "" : key.substr(blank + 1);
    const std::string line =
        absl::StrFormat("  %*s  %5.1f %%  %-13s  %s", width, Grouped(count),
                        100.0 * static_cast<double>(count) / static_cast<double>(s.nodes),
                        key.substr(0, blank), Printable(target, kMaxTargetBytes));
    std::printf("%s\n", line.substr(0, line.find_last_not_of(' ') + 1).c_str());
  }
  if (shown < targets.size()) std::printf("  … %zu more\n", targets.size() - shown);
}

struct Counted {
  ModuleStatistics statistics;
  std::string hash;
  CostTable cost;
  std::map<std::string, Cost> costs;  // by op and target, as the statistics count them
};

void PrintCost(const CostTable& cost) {
  std::printf("\n");
  if (cost.key != CallKey::kNone) PrintCosts(cost);
  std::printf("  %s, %s alive at once\n", CostLine(cost.total).c_str(),
              BytesText(cost.peak_bytes).c_str());
  if (cost.total.unknown > 0) {
    std::printf("  not counted: %s calls of %s; graphnet shapes finds more shapes\n",
                Grouped(cost.total.unknown).c_str(), Grouped(cost.total.calls).c_str());
  }
}

// Prints op, target, count, and number of samples, the most frequent target first, then by name.
void PrintCsv(absl::Span<const Counted> results, bool with_cost) {
  struct Total {
    size_t count = 0;
    size_t samples = 0;
    Cost cost;
  };
  std::map<std::string, Total> totals;
  for (const Counted& counted : results) {
    for (const auto& [key, count] : counted.statistics.counts) {
      totals[key].count += count;
      ++totals[key].samples;
    }
    for (const auto& [key, cost] : counted.costs) totals[key].cost += cost;
  }
  std::vector<std::pair<std::string, Total>> rows(totals.begin(), totals.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.count > b.second.count; });
  TableRow head = {"op", "target", "count", "samples"};
  if (with_cost) {
    head.insert(head.end(), {"flops", "other", "bytes_moved", "unknown_calls", "flops_at_least",
                             "other_at_least", "bytes_moved_at_least"});
  }
  std::fputs(CsvLine(head).c_str(), stdout);
  for (const auto& [key, total] : rows) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(key, absl::MaxSplits(' ', 1));
    TableRow row = {parts.first, parts.second, absl::StrCat(total.count),
                    absl::StrCat(total.samples)};
    if (with_cost) {
      // A sum without the calls that are not known is no cost, only a bound of it.
      const std::initializer_list<int64_t> costs = {total.cost.flops, total.cost.other,
                                                    total.cost.bytes};
      for (const int64_t value : costs)
        row.push_back(total.cost.unknown > 0 ? "" : absl::StrCat(value));
      row.push_back(absl::StrCat(total.cost.unknown));
      for (const int64_t value : costs) row.push_back(absl::StrCat(value));
    }
    std::fputs(CsvLine(row).c_str(), stdout);
  }
}

Json CountedJson(const std::string& path, const absl::Status& status, const Counted& counted,
                 bool with_cost) {
  Json sample = SampleJson(path, status);
  if (!status.ok()) return sample;
  const ModuleStatistics& s = counted.statistics;
  sample["hash"] = counted.hash;
  sample["num_inputs"] = s.placeholders;
  sample["num_outputs"] = s.outputs;
  sample["num_nodes"] = s.nodes;
  Json& counts = sample["counts"] = Json::Object();
  for (const auto& [target, count] : s.counts) counts[target] = count;
  sample["bytes"] = s.bytes;
  sample["bytes_per_node"] = s.bytes_per_node();
  sample["parameters"] = s.parameters;
  sample["parameter_elements"] = s.parameter_elements;
  sample["parameter_bytes"] = s.parameter_bytes;
  sample["symbols"] = s.symbols;
  if (with_cost) SetCosts(counted.cost, &sample);
  return sample;
}

absl::StatusOr<int> Stats(const StatsFlags& options) {
  ASSIGN_OR_RETURN(const std::vector<std::string> inputs, FindInputs(options.in));
  std::vector<absl::Status> statuses(inputs.size());
  std::vector<Counted> results(inputs.size());
  const BatchCount count = RunBatch<Counted>(
      inputs, options.jobs,
      [&](const std::string& path, Counted* result) -> absl::Status {
        ASSIGN_OR_RETURN(const Sample sample, Load(path, {.trust = options.trust}));
        result->statistics = ComputeStatistics(*sample.module);
        if (options.json || inputs.size() > 1) result->hash = CanonicalHash(*sample.module);
        if (options.cost) {
          const ModuleCost cost = CostOf(*sample.module);
          result->cost = CostsBy(options.cost_by, *sample.module, cost);
          for (const auto& [node, of] : cost.calls)
            result->costs[absl::StrCat(OpName(node->op()), " ", node->target())] += of;
        }
        return absl::OkStatus();
      },
      [&](size_t i, const absl::Status& status, Counted& result) {
        statuses[i] = status;
        results[i] = std::move(result);
        return std::string();  // Results are printed in the order of the inputs.
      });
  std::vector<Json> samples;
  ModuleStatistics total;
  CostTable total_cost;  // sum over all calls, and the largest peak
  size_t done = 0;
  std::set<std::string> hashes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (options.json) {
      samples.push_back(CountedJson(inputs[i], statuses[i], results[i], options.cost));
    } else if (!statuses[i].ok()) {
      PrintError(statuses[i].message());
    } else if (!options.csv) {
      if (done++ > 0) std::printf("\n");
      PrintStatistics(Printable(inputs[i], 1000), results[i].statistics, options.all);
      if (options.cost) PrintCost(results[i].cost);
      total_cost.total += results[i].cost.total;
      total_cost.peak_bytes = std::max(total_cost.peak_bytes, results[i].cost.peak_bytes);
      total += results[i].statistics;
      hashes.insert(results[i].hash);
    }
  }
  if (options.json) PrintJson(SamplesJson(std::move(samples), count.failed));
  if (options.csv) PrintCsv(results, options.cost);
  if (done > 1) {
    std::printf("\n");
    PrintStatistics(
        absl::StrCat("total of ", Grouped(done), " inputs, ", Grouped(hashes.size()), " distinct"),
        total, options.all);
    if (options.cost) PrintCost(total_cost);
  }
  return count.ExitCode();
}

}  // namespace

void RegisterStats(CLI::App& app, CommandRunner* run) {
  auto options = std::make_shared<StatsFlags>();
  CLI::App* command = app.add_subcommand(
      "stats", "Count nodes by op and target, and count inputs, outputs and parameters");
  AddManySamplesOption(command, &options->in);
  CLI::Option* json = AddJsonOption(
      command, &options->json,
      "samples with path, hash, num_inputs, num_outputs, num_nodes, counts of targets, bytes and "
      "parameters; with --cost also flops, other, bytes_moved (called flops_at_least and so on "
      "where calls are not known), num_calls, num_unknown_calls, open_loops and peak_bytes; with "
      "--cost-by also costs, one entry per name");
  command
      ->add_flag("--all", options->all,
                 absl::StrCat("List all targets, not only the ", kTopTargets, " most frequent"))
      ->excludes(json);
  CLI::Option* csv = command
                         ->add_flag("--csv", options->csv,
                                    "Print CSV for all samples together: op, target, count, number "
                                    "of samples that have one")
                         ->excludes(json);
  command->add_flag("--cost", options->cost,
                    "Also print FLOPs, other operations, bytes moved and the most bytes alive at "
                    "once, as far as shapes are known without running anything");
  AddChoiceOption(command, "--cost-by", &options->cost_by, CallKeys(),
                  "Like --cost, with a table of the cost of each node, module or target")
      ->excludes(csv);
  AddJobsOption(command, &options->jobs);
  AddTrustOption(command, &options->trust);
  command->callback([options, run] {
    options->cost |= options->cost_by != CallKey::kNone;
    *run = [options] { return Stats(*options); };
  });
}

}  // namespace graphnet
