#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/command/batch.h"
#include "graphnet/command/command.h"
#include "graphnet/command/inputs.h"
#include "graphnet/command/json.h"
#include "graphnet/command/options.h"
#include "graphnet/command/save.h"
#include "graphnet/formats/formats.h"
#include "graphnet/formats/graphnet_folder/bounds_writer.h"
#include "graphnet/formats/graphnet_folder/contradictions.h"
#include "graphnet/formats/graphnet_folder/reader.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/passes/check_stable.h"
#include "graphnet/passes/constrain_domains.h"
#include "graphnet/passes/constrain_variance.h"
#include "graphnet/run/engine.h"

namespace graphnet {
namespace {

struct LintFlags {
  InputList samples;
  Output out;
  std::vector<std::string> rules = {"bn-var", "meta", "unstable"};
  std::optional<uint64_t> seed;
  int jobs = 0;
  bool fix = false;
  bool trust = false;

  bool repairs() const { return fix || !out.path.empty(); }
};

using Findings = std::vector<LintFinding>;

// Returns the notes of a pass that bounds inputs.
absl::StatusOr<Findings> LintBounds(absl::StatusOr<bool> (*pass)(Module*, PassRun&),
                                    Sample* sample) {
  PassRun run;
  std::set<std::string> known;
  for (const auto& [name, unused] : sample->weights) known.insert(name);
  run.SetKnown(std::move(known));
  RETURN_IF_ERROR(pass(sample->module.get(), run).status());
  Findings findings;
  for (const PassNote& note : run.notes())
    findings.push_back({.what = note.what, .is_fixed = !note.is_warning});
  return findings;
}

absl::StatusOr<Findings> LintContradictions(const Sample& sample, const std::string& path) {
  ASSIGN_OR_RETURN(std::vector<std::string> found,
                   FindContradictions(sample, IsGraphNetFolder(path) ? path : ""));
  Findings findings;
  for (std::string& what : found) findings.push_back({.what = std::move(what)});
  return findings;
}

// Finds parameters, buffers and inputs that no call uses and that are not returned.
Findings LintUnused(const Module& module) {
  Findings findings;
  absl::flat_hash_set<absl::string_view> read;
  for (const Graph* graph : module.graphs()) {
    for (const Node* node : graph->nodes()) {
      if (node->op() == Op::kGetAttr && node->has_uses()) read.insert(node->target());
    }
  }
  for (const Attribute& attribute : module.attributes()) {
    if (!read.contains(attribute.name))
      findings.push_back({.what = absl::StrCat("nothing reads the attribute ", attribute.name)});
  }
  for (const Node* node : module.main()->placeholders()) {
    if (node->has_uses()) continue;
    const bool is_parameter = node->annotation() == kParameterAnnotation;
    findings.push_back(
        {.what = absl::StrCat("nothing takes the ", is_parameter ? "parameter " : "input ",
                              node->target())});
  }
  return findings;
}

absl::StatusOr<Findings> LintPrivate(Sample* sample) {
  PassRun run;
  const auto checked = CheckStable(sample->module.get(), run);
  if (absl::IsFailedPrecondition(checked.status()))
    return Findings{{.what = std::string(checked.status().message())}};
  RETURN_IF_ERROR(checked.status());
  return Findings();
}

absl::StatusOr<Findings> LintFinite(Sample* sample, const LintFlags& options) {
  ASSIGN_OR_RETURN(const Engine* engine, OpenEngine());
  return engine->LintFinite(sample, options.seed.value_or(0), options.repairs());
}

absl::StatusOr<Findings> LintVanishing(Sample* sample, const LintFlags& options) {
  ASSIGN_OR_RETURN(const Engine* engine, OpenEngine());
  return engine->LintVanishing(sample, options.seed.value_or(0), options.repairs());
}

absl::StatusOr<Findings> RunRule(const std::string& rule, const std::string& path,
                                 const LintFlags& options, Sample* sample) {
  if (rule == "bn-var") return LintBounds(ConstrainVariance, sample);
  if (rule == "domain") return LintBounds(ConstrainDomains, sample);
  if (rule == "meta") return LintContradictions(*sample, path);
  if (rule == "unstable") return LintPrivate(sample);
  if (rule == "unused") return LintUnused(*sample->module);
  if (rule == "vanishing") return LintVanishing(sample, options);
  return LintFinite(sample, options);
}

using BoundsByName = std::map<std::string, RecordBounds>;

BoundsByName BoundsOf(const Module& module) {
  BoundsByName bounds;
  for (const Node* node : module.main()->placeholders()) {
    const DrawSpec* spec = node->draw_spec();
    if (spec == nullptr) continue;
    RecordBounds& made = bounds[std::string(node->target())];
    made.min = spec->min;
    made.max = spec->max;
    if (spec->has_mean) made.mean = Argument(spec->mean);
    if (spec->has_std) made.std = Argument(spec->std);
  }
  return bounds;
}

// Changes the lines of a GraphNet folder whose bounds or statistics differ from `before`.
absl::Status FixFolder(const std::string& path, const Sample& sample, const BoundsByName& before) {
  std::vector<StagedFile> files;
  for (const bool in_input_meta : {false, true}) {
    BoundsByName changed;
    for (const Node* node : sample.module->main()->placeholders()) {
      const DrawSpec* spec = node->draw_spec();
      if (spec == nullptr || spec->in_input_meta != in_input_meta) continue;
      const auto known = before.find(std::string(node->target()));
      if (known == before.end()) continue;  // it has no record
      const RecordBounds& had = known->second;
      RecordBounds bounds;
      if (!(spec->min == had.min)) bounds.min = spec->min;
      if (!(spec->max == had.max)) bounds.max = spec->max;
      if (spec->has_mean && !(Argument(spec->mean) == had.mean)) bounds.mean = Argument(spec->mean);
      if (spec->has_std && !(Argument(spec->std) == had.std)) bounds.std = Argument(spec->std);
      if (bounds.min.is_none() && bounds.max.is_none() && bounds.mean.is_none() &&
          bounds.std.is_none()) {
        continue;
      }
      changed[std::string(node->target())] = bounds;
    }
    if (changed.empty()) continue;
    const std::string file = JoinPath(path, in_input_meta ? "input_meta.py" : "weight_meta.py");
    ASSIGN_OR_RETURN(const std::string text, ReadFile(file, kMaxTextFileBytes));
    ASSIGN_OR_RETURN(const std::string fixed, WithBounds(text, file, changed));
    ASSIGN_OR_RETURN(StagedFile staged, StagedFile::Write(file, fixed));
    files.push_back(std::move(staged));
  }
  for (StagedFile& file : files) RETURN_IF_ERROR(file.Commit());
  return absl::OkStatus();
}

absl::Status Fix(const std::string& path, const Sample& sample, const BoundsByName& before) {
  ASSIGN_OR_RETURN(const Format* format, Recognise(path));
  if (format->is_folder) return FixFolder(path, sample, before);
  if (format->lacks.draw_specs || !format->can_be_written()) {
    return absl::UnimplementedError(
        absl::StrCat(format->content, " cannot hold bounds; write a protobuf with --out FILE.pb"));
  }
  return SaveSample(sample, {path, format->name});
}

using FindingsByRule = std::map<std::string, Findings>;

// Checks one sample and, if the options say so, writes the repaired sample.
absl::StatusOr<FindingsByRule> LintOne(const std::string& path, const Output& out,
                                       const LintFlags& options) {
  ASSIGN_OR_RETURN(Sample sample, Load(path, {.trust = options.trust, .weights = true}));
  const BoundsByName before = BoundsOf(*sample.module);
  FindingsByRule all;
  bool fixed = false;
  for (const std::string& rule : options.rules) {
    // Without repairs, each rule sees the original sample.
    Sample copy;
    Sample* subject = &sample;
    if (!options.repairs()) {
      copy.name = sample.name;
      copy.graph_net_json = sample.graph_net_json;
      copy.weights = sample.weights;
      copy.module = sample.module->Clone();
      subject = &copy;
    }
    absl::StatusOr<Findings> findings = RunRule(rule, path, options, subject);
    if (!findings.ok()) return Annotate(findings.status(), rule);
    for (LintFinding& finding : *findings) {
      finding.is_fixed &= options.repairs();
      fixed |= finding.is_fixed;
    }
    if (!findings->empty()) all[rule] = *std::move(findings);
  }
  if (!out.path.empty()) RETURN_IF_ERROR(SaveSample(sample, out));
  if (options.fix && fixed) RETURN_IF_ERROR(Fix(path, sample, before));
  return all;
}

// The findings of each rule and the samples that have them.
class Totals {
 public:
  explicit Totals(const LintFlags& options) : options_(options) {}

  // Adds the findings of a sample, also to its report.
  void Add(const std::string& path, const FindingsByRule& all, Report* sample) {
    Table findings = {{"message"}, {"place"}, {"rule"}, {"fixed"}};
    bool is_left = false;
    for (const auto& [rule, of_rule] : all) {
      Total& total = totals_[rule];
      ++total.samples;
      for (const LintFinding& found : of_rule) {
        ++total.findings;
        total.fixed += found.is_fixed ? 1 : 0;
        is_left |= !found.is_fixed;
        findings.Add(
            {found.what,
             Cell::Place(PlaceOf(absl::FailedPreconditionError(found.what)).value_or(ErrorPlace())),
             rule, options_.repairs() ? Cell(found.is_fixed) : Cell()});
        sample->Say(absl::StrCat(Printable(path, 1000), ": ", rule, ": ",
                                 found.is_fixed ? "fixed: " : "", Printable(found.what, 2000)));
      }
    }
    sample->Add("findings", std::move(findings));
    samples_left_ += is_left ? 1 : 0;
  }
  // Adds a line for each rule to a report.
  void AddTo(size_t samples, Report* report) {
    for (const std::string& rule : options_.rules) {
      const Total& total = totals_[rule];
      report->Say(absl::StrCat(
          rule, ": ", total.findings, " findings in ", total.samples, " of ", samples, " samples",
          options_.repairs() ? absl::StrCat(", ", total.fixed, " fixed") : ""));
    }
  }
  size_t samples_left() const { return samples_left_; }  // with findings that are not fixed

 private:
  struct Total {
    size_t samples = 0;
    size_t findings = 0;
    size_t fixed = 0;
  };
  const LintFlags& options_;
  size_t samples_left_ = 0;
  std::map<std::string, Total> totals_;
};

absl::Status RefuseFlags(const LintFlags& options) {
  const auto has = [&](absl::string_view rule) {
    return absl::c_linear_search(options.rules, rule);
  };
  if (options.seed.has_value() && !has("finite-run") && !has("vanishing"))
    return absl::InvalidArgumentError(
        "--seed is for the inputs that --rule finite-run or vanishing draws");
  if (options.repairs() && !has("bn-var") && !has("domain") && !has("finite-run") &&
      !has("vanishing")) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.fix ? "--fix" : "--out",
        " needs --rule bn-var, domain, finite-run or vanishing, which repair samples"));
  }
  if (options.fix && absl::c_linear_search(options.samples.in, "-"))
    return absl::InvalidArgumentError("--fix cannot write to the standard input; use --out");
  return absl::OkStatus();
}

absl::StatusOr<CommandResult> Lint(LintFlags options) {
  // In this order, bounds are set before the run that shows whether they suffice.
  absl::c_sort(options.rules);
  options.rules.erase(std::unique(options.rules.begin(), options.rules.end()), options.rules.end());
  RETURN_IF_ERROR(RefuseFlags(options));
  ASSIGN_OR_RETURN(const std::vector<NamedInput> inputs, FindNamedInputs(options.samples));
  Totals totals(options);
  BatchReport made;
  if (IsOneSample(options.samples)) {
    const std::string& path = options.samples.in[0];
    ASSIGN_OR_RETURN(const FindingsByRule all, LintOne(path, options.out, options));
    Report sample;
    totals.Add(path, all, &sample);
    made.report = SamplesReport(path, std::move(sample), totals.samples_left());
  } else {
    ASSIGN_OR_RETURN(const auto outputs, OutputsOf(inputs, options.out));
    made = ReportBatch<FindingsByRule>(
        inputs, options.jobs,
        [&](const NamedInput& input, FindingsByRule* all) -> absl::Status {
          ASSIGN_OR_RETURN(*all, LintOne(input.path, outputs.at(input.path), options));
          return absl::OkStatus();
        },
        [&](size_t i, const absl::Status& status, const FindingsByRule& all, Report* sample) {
          if (status.ok()) totals.Add(inputs[i].path, all, sample);
        });
    const size_t failed = made.count.failed + totals.samples_left();
    made.report.Add("passed", inputs.size() - failed);
    made.report.Add("failed", failed);
  }
  totals.AddTo(inputs.size(), &made.report);
  if (made.count.failed > 0 || totals.samples_left() == 0) return std::move(made).Converted();
  return CommandResult(std::move(made.report), 1);
}

void DeclareLint(CommandLine& command) {
  auto options = std::make_shared<LintFlags>();
  AddInputList(command, &options->samples);
  command
      .AddOption(
          "--rule", &options->rules,
          "bn-var: variances that may be drawn negative; meta: contradictions in metas "
          "and in graph_net.json; unstable: private calls; domain: inputs that may be "
          "drawn where an operator returns nan or infinity; finite-run: run the sample "
          "and name the first node that makes an output nan or infinite; unused: "
          "parameters, buffers and inputs that are unused; vanishing: run the sample and find "
          "outputs as which zeros or another wrong answer would pass (default: the first "
          "three)")
      .OneOf({"bn-var", "meta", "unstable", "domain", "finite-run", "unused", "vanishing"});
  AddOutputOptions(
      command, &options->out, "",
      "Write the sample, or each of several as OUT/NAME, with bounds and deviations for "
      "drawn inputs that fix what bn-var, domain, finite-run and vanishing find");
  command.AddFlag("--fix", &options->fix, "Write these into the samples themselves")
      .Excludes("--out");
  command.AddOption("--seed", &options->seed,
                    "Seed of the inputs that finite-run and vanishing draw");
  AddJobsOption(command, &options->jobs);
  AddTrustOption(command, &options->trust);
  AddDrawWeightsOption(command);
  AddJsonOption(command,
                "samples with path and findings, each with rule, message, place and, with --out or "
                "--fix, fixed");
  command.Run([options] { return Lint(*options); });
}

const RegisteredCommand kLint(
    {.name = "lint",
     .help = "List problems in valid samples",
     .group = CommandGroup::kCheck,
     .declare = DeclareLint,
     .examples = {"graphnet lint samples",
                  "graphnet lint samples/resnet.pb --rule bn-var -o repaired.pb"}});

}  // namespace
}  // namespace graphnet
