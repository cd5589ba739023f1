#include "graphnet/cli/lint.h"

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/load.h"
#include "graphnet/cli/options.h"
#include "graphnet/cli/progress.h"
#include "graphnet/cli/save.h"
#include "graphnet/inputs/draw.h"
#include "graphnet/interp/domain.h"
#include "graphnet/passes/check_stable.h"
#include "graphnet/passes/constrain_variance.h"

namespace graphnet {
namespace {

struct Options {
  std::string in;
  std::string out;
  std::vector<std::string> rules = {"bn-var", "unstable"};
  uint64_t seed = 0;
  bool trust = false;
};

using Findings = std::vector<std::string>;

absl::StatusOr<Findings> LintVariances(Sample* sample) {
  PassRun run;
  const auto changed = ConstrainVariance(sample->module.get(), run);
  RETURN_IF_ERROR(changed.status());
  Findings findings;
  for (const PassNote& note : run.notes()) findings.push_back(note.what);
  return findings;
}

absl::StatusOr<Findings> LintPrivate(Sample* sample) {
  PassRun run;
  const auto checked = CheckStable(sample->module.get(), run);
  if (absl::IsFailedPrecondition(checked.status()))
    return Findings{std::string(checked.status().message())};
  RETURN_IF_ERROR(checked.status());
  return Findings();
}

// With `repairs`, what is set right; else what is wrong.
absl::StatusOr<Findings> LintFinite(Sample* sample, uint64_t seed, bool repairs) {
  if (repairs) {
    ASSIGN_OR_RETURN(const DomainRepair repair, RepairDomains(sample, seed));
    return repair.notes;
  }
  DrawOptions draw;
  draw.seed = seed;
  ASSIGN_OR_RETURN(const auto values, DrawInputs(*sample, draw));
  ASSIGN_OR_RETURN(const std::optional<NonFinite> found,
                   FindNonFinite(*sample->module, values, seed));
  if (!found.has_value()) return Findings();
  const SourceLocation location = found->node->location();
  return Findings{
      absl::StrCat(location.line > 0 ? absl::StrCat(location.line, ":", location.column, ": ") : "",
                   "%", Printable(found->node->name()), " = ", Printable(found->node->target()),
                   " is the first with ", found->is_nan ? "nan" : "infinity", ", in ",
                   found->elements, " elements")};
}

// Findings by rule. `sample` is changed as the rules that repair have it.
absl::StatusOr<std::map<std::string, Findings>> LintOne(Sample* sample, const Options& options) {
  std::map<std::string, Findings> all;
  for (const std::string& rule : options.rules) {
    // Without --out, each rule sees the sample as it is.
    Sample copy;
    Sample* subject = sample;
    if (options.out.empty()) {
      copy.name = sample->name;
      copy.weights = sample->weights;
      copy.module = sample->module->Clone();
      subject = &copy;
    }
    const absl::StatusOr<Findings> findings =
        rule == "bn-var"     ? LintVariances(subject)
        : rule == "unstable" ? LintPrivate(subject)
                             : LintFinite(subject, options.seed, !options.out.empty());
    if (!findings.ok()) return Annotate(findings.status(), rule);
    if (!findings->empty()) all[rule] = *findings;
  }
  return all;
}

absl::StatusOr<int> Lint(const Options& options) {
  ASSIGN_OR_RETURN(const std::vector<std::string> inputs, FindInputs({options.in}));
  if (!options.out.empty() && (inputs.size() != 1 || inputs[0] != options.in)) {
    return absl::InvalidArgumentError(
        "--out takes one sample; of a folder, use opt --passes=constrain-variance");
  }
  LoadOptions load;
  load.trust = options.trust;
  load.weights = true;
  Progress progress(inputs.size());
  std::map<std::string, std::pair<size_t, size_t>> totals;  // samples, findings
  size_t failed = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    absl::StatusOr<Sample> sample = LoadSample(inputs[i], load);
    const auto all = sample.ok() ? LintOne(&*sample, options) : sample.status();
    progress.Clear();
    if (!all.ok()) {
      if (inputs.size() == 1) return all.status();
      ++failed;
      std::printf("FAIL %s: %s\n", Printable(inputs[i], 1000).c_str(),
                  std::string(all.status().message()).c_str());
      continue;
    }
    for (const auto& [rule, findings] : *all) {
      ++totals[rule].first;
      totals[rule].second += findings.size();
      for (const std::string& finding : findings) {
        std::printf("%s: %s: %s\n", Printable(inputs[i], 1000).c_str(), rule.c_str(),
                    Printable(finding, 2000).c_str());
      }
    }
    if (!options.out.empty())
      RETURN_IF_ERROR(SaveSample(*sample, options.out, TargetOfName(options.out)));
    progress.Step(i + 1, failed);
  }
  progress.Clear();
  for (const std::string& rule : options.rules) {
    std::printf("%s: %zu findings in %zu samples\n", rule.c_str(), totals[rule].second,
                totals[rule].first);
  }
  bool found = failed > 0;
  for (const auto& [rule, counts] : totals) found |= counts.second > 0;
  return found ? 1 : 0;
}

}  // namespace

void RegisterLint(CLI::App& app, CommandRunner* run) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("lint", "List what is wrong with samples though they are valid");
  command->add_option("IN", options->in, "A sample in any format, or a folder of samples")
      ->required();
  command
      ->add_option("--rule", options->rules,
                   "bn-var: variances that may be drawn negative; unstable: private calls; "
                   "finite-run: run, and name "
                   "the first node that makes an output nan or infinite (default: the first two)")
      ->check(CLI::IsMember({"bn-var", "unstable", "finite-run"}));
  command->add_option(
      "-o,--out", options->out,
      "Write the sample with bounds on how its inputs are drawn that repair what bn-var and "
      "finite-run find");
  command->add_option("--seed", options->seed, "Of the inputs");
  AddTrustOption(command, &options->trust);
  command->callback([options, run] { *run = [options] { return Lint(*options); }; });
}

}  // namespace graphnet
