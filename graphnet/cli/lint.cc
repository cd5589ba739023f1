#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/batch.h"
#include "graphnet/cli/command.h"
#include "graphnet/cli/engine.h"
#include "graphnet/cli/json.h"
#include "graphnet/cli/load.h"
#include "graphnet/cli/options.h"
#include "graphnet/cli/save.h"
#include "graphnet/formats/graphnet_folder/contradictions.h"
#include "graphnet/formats/graphnet_folder/reader.h"
#include "graphnet/inputs/draw.h"
#include "graphnet/passes/check_stable.h"
#include "graphnet/passes/constrain_variance.h"

namespace graphnet {
namespace {

struct LintFlags {
  std::string in;
  Output out;
  std::vector<std::string> rules = {"bn-var", "meta", "unstable"};
  std::optional<uint64_t> seed;
  int jobs = 0;
  bool trust = false;
  bool json = false;
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

absl::StatusOr<Findings> LintFinite(Sample* sample, uint64_t seed, bool repairs) {
  ASSIGN_OR_RETURN(const Engine* engine, OpenEngine());
  return engine->LintFinite(sample, seed, repairs);
}

using FindingsByRule = std::map<std::string, Findings>;

// Writes the sample, too, as the rules that repair have it, if there is an --out.
absl::StatusOr<FindingsByRule> LintOne(const std::string& path, const LintFlags& options) {
  ASSIGN_OR_RETURN(Sample sample, LoadSample(path, {.trust = options.trust, .weights = true}));
  const bool repairs = !options.out.path.empty();
  FindingsByRule all;
  for (const std::string& rule : options.rules) {
    // Without --out, each rule sees the sample as it is.
    Sample copy;
    Sample* subject = &sample;
    if (!repairs) {
      copy.name = sample.name;
      copy.weights = sample.weights;
      copy.module = sample.module->Clone();
      subject = &copy;
    }
    const absl::StatusOr<Findings> findings =
        rule == "bn-var"     ? LintVariances(subject)
        : rule == "meta"     ? FindContradictions(sample, IsGraphNetFolder(path) ? path : "")
        : rule == "unstable" ? LintPrivate(subject)
                             : LintFinite(subject, options.seed.value_or(0), repairs);
    if (!findings.ok()) return Annotate(findings.status(), rule);
    if (!findings->empty()) all[rule] = *findings;
  }
  if (repairs) RETURN_IF_ERROR(SaveSample(sample, options.out));
  return all;
}

Json FindingsJson(const std::string& path, const absl::Status& status, const FindingsByRule& all) {
  Json sample = SampleJson(path, status);
  if (!status.ok()) return sample;
  Json& findings = sample["findings"] = Json::List();
  for (const auto& [rule, messages] : all) {
    for (const std::string& message : messages) {
      // A finding is said as an error is, with its place.
      Json finding = ErrorJson(absl::FailedPreconditionError(message));
      finding["rule"] = rule;
      findings.push_back(std::move(finding));
    }
  }
  return sample;
}

// How many findings each rule has, and in how many samples.
class Totals {
 public:
  // The lines to print of a sample.
  std::string Add(const std::string& path, const FindingsByRule& all) {
    std::string lines;
    samples_ += all.empty() ? 0 : 1;
    for (const auto& [rule, findings] : all) {
      ++counts_[rule].first;
      counts_[rule].second += findings.size();
      for (const std::string& finding : findings) {
        absl::StrAppend(&lines, lines.empty() ? "" : "\n", Printable(path, 1000), ": ", rule, ": ",
                        Printable(finding, 2000));
      }
    }
    return lines;
  }
  void Print(const LintFlags& options) const {
    for (const std::string& rule : options.rules) {
      const auto it = counts_.find(rule);
      const auto [samples, findings] =
          it == counts_.end() ? std::pair<size_t, size_t>() : it->second;
      std::fprintf(options.out.report(), "%s: %zu findings in %zu samples\n", rule.c_str(),
                   findings, samples);
    }
  }
  size_t samples() const { return samples_; }  // that have findings

 private:
  size_t samples_ = 0;
  std::map<std::string, std::pair<size_t, size_t>> counts_;  // samples, findings
};

absl::StatusOr<int> Lint(const LintFlags& options) {
  const bool runs = absl::c_linear_search(options.rules, "finite-run");
  if (options.seed.has_value() && !runs)
    return absl::InvalidArgumentError("--seed is of what --rule finite-run draws");
  if (!options.out.path.empty() && !runs && !absl::c_linear_search(options.rules, "bn-var"))
    return absl::InvalidArgumentError("--out writes what --rule bn-var and finite-run repair");
  ASSIGN_OR_RETURN(const std::vector<std::string> inputs, FindInputs({options.in}));
  Totals totals;
  BatchCount count;
  std::vector<Json> samples(inputs.size());
  const auto account = [&](size_t i, const absl::Status& status, const FindingsByRule& all) {
    samples[i] = FindingsJson(inputs[i], status, all);
    const std::string lines =
        status.ok() ? totals.Add(inputs[i], all) : FailLine(inputs[i], status);
    return options.json ? "" : lines;
  };
  if (!IsFolderOfSamples(options.in)) {
    ASSIGN_OR_RETURN(const FindingsByRule all, LintOne(options.in, options));
    const std::string lines = account(0, absl::OkStatus(), all);
    if (!lines.empty()) std::fprintf(options.out.report(), "%s\n", lines.c_str());
  } else if (!options.out.path.empty()) {
    return absl::InvalidArgumentError(
        "--out takes one sample; of a folder, use opt --passes=constrain-variance");
  } else {
    count = RunBatch<FindingsByRule>(
        inputs, options.jobs,
        [&](const std::string& path, FindingsByRule* all) -> absl::Status {
          ASSIGN_OR_RETURN(*all, LintOne(path, options));
          return absl::OkStatus();
        },
        account);
  }
  if (options.json) {
    PrintJson(SamplesJson(std::move(samples), count.failed + totals.samples()));
  } else {
    totals.Print(options);
  }
  return count.failed > 0 || totals.samples() > 0 ? 1 : 0;
}

}  // namespace

void RegisterLint(CLI::App& app, CommandRunner* run) {
  auto options = std::make_shared<LintFlags>();
  CLI::App* command =
      app.add_subcommand("lint", "List what is wrong with samples though they are valid");
  AddSamplesOption(command, &options->in);
  command
      ->add_option("--rule", options->rules,
                   "bn-var: variances that may be drawn negative; meta: metas and a "
                   "graph_net.json that contradict themselves; unstable: private calls; "
                   "finite-run: run, and name "
                   "the first node that makes an output nan or infinite (default: the first three)")
      ->check(CLI::IsMember({"bn-var", "meta", "unstable", "finite-run"}));
  AddOutputOptions(
      command, &options->out, "",
      "Write the sample with bounds on how its inputs are drawn that repair what bn-var and "
      "finite-run find");
  command->add_option("--seed", options->seed, "Of the inputs that finite-run draws");
  AddJobsOption(command, &options->jobs);
  AddTrustOption(command, &options->trust);
  AddJsonOption(command, &options->json,
                "samples with path and findings, each with rule, message and place");
  command->callback([options, run] { *run = [options] { return Lint(*options); }; });
}

}  // namespace graphnet
