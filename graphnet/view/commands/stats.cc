#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "graphnet/base/report.h"
#include "graphnet/base/status.h"
#include "graphnet/command/batch.h"
#include "graphnet/command/command.h"
#include "graphnet/command/inputs.h"
#include "graphnet/command/json.h"
#include "graphnet/command/options.h"
#include "graphnet/facts/cost/cost.h"
#include "graphnet/facts/cost/cost_report.h"
#include "graphnet/formats/formats.h"
#include "graphnet/ir/canonical_hash.h"
#include "graphnet/ir/statistics.h"

namespace graphnet {
namespace {

constexpr size_t kTopTargets = 20;
constexpr size_t kMaxTargetBytes = 200;

struct StatsFlags {
  InputList inputs;
  int jobs = 0;
  bool csv = false;
  bool all = false;
  bool cost = false;
  CallKey cost_by = CallKey::kNone;
  bool trust = false;
};

struct Counted {
  ModuleStatistics statistics;
  std::string hash;
  CostTable cost;
  std::map<std::string, Cost> costs;  // by op and target, as the statistics count them
};

// Returns "1,234,567".
std::string Grouped(size_t value) { return Cell(value).text(); }

Report CountedReport(const Counted& counted, const StatsFlags& options) {
  Report report = ReportOf(counted.statistics, options.all ? SIZE_MAX : kTopTargets);
  if (!options.cost) return report;
  const CostTable& cost = counted.cost;
  report.Say("");
  report.Append(CostReport(cost));
  report.Say(
      absl::StrCat("  ", CostLine(cost.total), ", ", BytesText(cost.peak_bytes), " alive at once"));
  if (cost.total.unknown > 0) {
    report.Say(absl::StrCat("  not counted: ", Cell(cost.total.unknown).text(), " calls of ",
                            Cell(cost.total.calls).text(), "; graphnet shapes finds more shapes"));
  }
  return report;
}

// Returns the targets of all samples, the most frequent first, then by name.
Table TargetsOfAll(absl::Span<const Counted> results, bool with_cost) {
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
  Table table = {{"op"}, {"target"}, {"count"}, {"samples"}};
  if (with_cost) {
    for (const char* key : {"flops", "other", "bytes_moved", "unknown_calls", "flops_at_least",
                            "other_at_least", "bytes_moved_at_least"})
      table.AddColumn({key});
  }
  for (const auto& [key, total] : rows) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(key, absl::MaxSplits(' ', 1));
    std::vector<Cell> row = {parts.first, parts.second, total.count, total.samples};
    if (with_cost) {
      // A sum without the calls that are not known is no cost, only a bound of it.
      const std::initializer_list<int64_t> costs = {total.cost.flops, total.cost.other,
                                                    total.cost.bytes};
      for (const int64_t value : costs)
        row.push_back(total.cost.unknown > 0 ? Cell() : Cell(value));
      row.emplace_back(total.cost.unknown);
      row.insert(row.end(), costs.begin(), costs.end());
    }
    table.Add(std::move(row));
  }
  return table;
}

absl::StatusOr<CommandResult> Stats(const StatsFlags& options) {
  ASSIGN_OR_RETURN(const std::vector<NamedInput> inputs, FindNamedInputs(options.inputs));
  std::vector<Counted> results(inputs.size());
  size_t done = 0;
  Counted total;
  std::set<std::string> hashes;
  BatchReport made = ReportBatch<Counted>(
      inputs, options.jobs,
      [&](const NamedInput& input, Counted* result) -> absl::Status {
        ASSIGN_OR_RETURN(const Sample sample, Load(input.path, {.trust = options.trust}));
        result->statistics = ComputeStatistics(*sample.module);
        if (WantsJson() || inputs.size() > 1) result->hash = CanonicalHash(*sample.module);
        if (options.cost) {
          const ModuleCost cost = CostOf(*sample.module);
          result->cost = CostsBy(options.cost_by, *sample.module, cost);
          for (const auto& [node, of] : cost.calls)
            result->costs[absl::StrCat(OpName(node->op()), " ", node->target())] += of;
        }
        return absl::OkStatus();
      },
      [&](size_t i, const absl::Status& status, Counted& result, Report* sample) {
        if (!status.ok()) return;
        total.statistics += result.statistics;
        total.cost.total += result.cost.total;
        total.cost.peak_bytes = std::max(total.cost.peak_bytes, result.cost.peak_bytes);
        hashes.insert(result.hash);
        if (!options.csv) {
          sample->Add("hash", result.hash);
          sample->Say(absl::StrCat(done > 0 ? "\n" : "", Printable(inputs[i].path, 1000)));
          sample->Append(CountedReport(result, options));
        }
        ++done;
        if (options.csv) results[i] = std::move(result);
      });
  if (options.csv) {
    made.report = Report();
    made.report.Say(absl::StripSuffix(TargetsOfAll(results, options.cost).ToCsv(), "\n"));
  } else if (done > 1 && !WantsJson()) {
    made.report.Say(absl::StrCat("\ntotal of ", Grouped(done), " inputs, ", Grouped(hashes.size()),
                                 " distinct"));
    made.report.Append(CountedReport(total, options));
  }
  return std::move(made).Converted();
}

void DeclareStats(CommandLine& command) {
  auto options = std::make_shared<StatsFlags>();
  AddInputList(command, &options->inputs);
  const Option json = AddJsonOption(
      command,
      "samples with path, hash, num_inputs, num_outputs, num_nodes, counts of targets, bytes and "
      "parameters; with --cost also flops, other, bytes_moved (called flops_at_least and so on "
      "where calls are not known), num_calls, num_unknown_calls, open_loops and peak_bytes; with "
      "--cost-by also costs, one entry per name");
  command
      .AddFlag("--all", &options->all,
               absl::StrCat("List all targets, not only the ", kTopTargets, " most frequent"))
      .Excludes(json);
  const Option csv = command
                         .AddFlag("--csv", &options->csv,
                                  "Print CSV for all samples together: op, target, count, number "
                                  "of samples that have one")
                         .Excludes(json);
  command.AddFlag("--cost", &options->cost,
                  "Also print FLOPs, other operations, bytes moved and the most bytes alive at "
                  "once, as far as shapes are known without running anything");
  command
      .AddChoice("--cost-by", &options->cost_by, CallKeys(),
                 "Like --cost, with a table of the cost of each node, module or target")
      .Excludes(csv);
  AddJobsOption(command, &options->jobs);
  AddTrustOption(command, &options->trust);
  command.Run([options] {
    options->cost |= options->cost_by != CallKey::kNone;
    return Stats(*options);
  });
}

const RegisteredCommand kStats(
    {.name = "stats",
     .help = "Count nodes by op and target, and count inputs, outputs and parameters",
     .group = CommandGroup::kLook,
     .declare = DeclareStats,
     .examples = {"graphnet stats samples/gpt.pb --all", "graphnet stats samples"}});

}  // namespace
}  // namespace graphnet
