#include "graphnet/corpus/choose.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/command/batch.h"
#include "graphnet/command/command.h"
#include "graphnet/command/copies.h"
#include "graphnet/command/inputs.h"
#include "graphnet/command/json.h"
#include "graphnet/command/messages.h"
#include "graphnet/command/options.h"
#include "graphnet/decompose/sources.h"
#include "graphnet/formats/formats.h"

namespace graphnet {
namespace {

struct ChooseFlags {
  InputList inputs;
  std::string start;
  std::string out;
  ChoiceWay by = ChoiceWay::kCoverage;
  int64_t count = 0;
  uint64_t seed = 0;
  double weight = 1;
  int64_t every = 16;
  int jobs = 0;
  bool trust = false;
};

// Returns the samples of a set that was chosen before: a folder, a sample, or a list of them.
absl::StatusOr<std::vector<NamedInput>> StartOf(const std::string& start) {
  if (start.empty()) return std::vector<NamedInput>();
  if (IsFolder(start) || Recognise(start).ok()) return FindNamedInputs({start});
  return FindNamedInputs(InputList{.in = {}, .list = start});
}

std::string RealPath(const std::string& path) {
  std::error_code none;
  const std::filesystem::path real = std::filesystem::canonical(path, none);
  return none ? path : real.string();
}

// Words for what a way counts.
const char* ItemsOf(ChoiceWay way) {
  switch (way) {
    case ChoiceWay::kCoverage: return "kinds of calls";
    case ChoiceWay::kRarity: return "pairs of operators";
    case ChoiceWay::kBuckets: return "buckets";
  }
  return "";
}

absl::StatusOr<CommandResult> ChooseSamples(const ChooseFlags& options) {
  ASSIGN_OR_RETURN(std::vector<NamedInput> inputs, StartOf(options.start));
  const size_t num_start = inputs.size();
  absl::flat_hash_set<std::string> known;
  for (const NamedInput& input : inputs) known.insert(RealPath(input.path));
  ASSIGN_OR_RETURN(std::vector<NamedInput> given, FindNamedInputs(options.inputs));
  for (NamedInput& input : given) {
    if (known.insert(RealPath(input.path)).second) inputs.push_back(std::move(input));
  }
  std::vector<ChoiceFacts> all(inputs.size());
  std::vector<absl::Status> statuses(inputs.size());
  ChoiceOptions choice_options = {.count = static_cast<size_t>(options.count),
                                  .seed = options.seed,
                                  .weight = options.weight,
                                  .every = static_cast<size_t>(options.every)};
  std::map<std::string, size_t> causes;
  std::vector<Report> refused;
  std::string aside;
  const BatchCount count = RunBatch<ChoiceFacts>(
      inputs, options.jobs,
      [&](const NamedInput& input, ChoiceFacts* found) -> absl::Status {
        ASSIGN_OR_RETURN(const Sample sample, Load(input.path, {.trust = options.trust}));
        ASSIGN_OR_RETURN(*found, ChoiceFactsOf(*sample.module, options.by));
        found->id = input.name;
        return absl::OkStatus();
      },
      [&](size_t i, const absl::Status& status, ChoiceFacts& found) {
        statuses[i] = status;
        all[i] = std::move(found);
        return "";
      });
  std::vector<ChoiceFacts> facts;
  std::vector<size_t> places;  // by fact: the place of its input
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (statuses[i].ok()) {
      if (i < num_start) choice_options.start.push_back(facts.size());
      facts.push_back(std::move(all[i]));
      places.push_back(i);
      continue;
    }
    ++causes[CauseOf(inputs[i].path, statuses[i].message())];
    refused.push_back(SampleReport(inputs[i].path, statuses[i]));
  }
  const Choice choice = Choose(options.by, facts, choice_options);
  std::vector<SampleCopy> copies;
  Json paths = Json::List();
  std::string lines;
  for (const size_t i : choice.chosen) {
    const NamedInput& input = inputs[places[i]];
    copies.push_back({input});
    paths.push_back(input.path);
    absl::StrAppend(&lines, Printable(input.path, 1000), "\n");
  }
  if (!options.out.empty()) {
    RETURN_IF_ERROR(CopySamples(copies, options.out, /*adds=*/false, kSubgraphSources,
                                options.trust, options.jobs));
  }
  Report report;
  report.Add("chosen", std::move(paths));
  report.Add("items", choice.items);
  report.Add("covered", choice.covered);
  if (options.by == ChoiceWay::kCoverage) report.Add("at_most", choice.at_most);
  report.Add("refused", std::move(refused));
  report.Add("failed", count.failed);
  if (!lines.empty()) report.Say(absl::StripSuffix(lines, "\n"));
  if (!WantsJson()) {
    for (const auto& [cause, times] : causes)
      absl::StrAppend(&aside, "failed ", times, ": ", cause, "\n");
    absl::StrAppend(&aside, choice.chosen.size(), " of ",
                    facts.size() - choice_options.start.size(), " samples chosen, ", choice.covered,
                    " of ", choice.items, " ", ItemsOf(options.by));
    if (options.by == ChoiceWay::kCoverage)
      absl::StrAppend(&aside, "; no choice of so many has more than ", choice.at_most);
    absl::StrAppend(&aside, "\n");
  }
  return CommandResult(std::move(report), count.ExitCode(), std::move(aside));
}

void DeclareChoose(CommandLine& command) {
  auto options = std::make_shared<ChooseFlags>();
  AddInputList(command, &options->inputs);
  command.AddOption("--count", &options->count, "How many samples to choose")
      .Range(int64_t{1}, int64_t{1} << 31)
      .TypeName("N")
      .Required();
  const std::map<std::string, ChoiceWay> ways = {{"coverage", ChoiceWay::kCoverage},
                                                 {"rarity", ChoiceWay::kRarity},
                                                 {"buckets", ChoiceWay::kBuckets}};
  command.AddChoice(
      "--by", &options->by, ways,
      "coverage (default): many kinds of calls, that is operator, dtype, rank and the "
      "operator that takes the value; rarity: many pairs of operators, rare ones first; "
      "buckets: some of each sequence of operators with inputs of similar sizes");
  command.AddOption("--seed", &options->seed, "Decides which of equally good samples are chosen")
      .TypeName("K")
      .ShowDefault();
  command
      .AddOption(
          "--start", &options->start,
          "Samples that are chosen already, in a folder or in a list: N more are chosen, which "
          "add most to them")
      .TypeName("SET");
  command
      .AddOption("--weight", &options->weight,
                 "With --by rarity: what the rarity counts, 0 or more")
      .Range(0.0, 1e6)
      .ShowDefault();
  command
      .AddOption("--every", &options->every,
                 "With --by buckets: behind its first sample, take each such sample of a bucket")
      .Range(int64_t{1}, int64_t{1} << 31)
      .TypeName("K")
      .ShowDefault();
  AddFolderOption(command, &options->out, "New folder for copies of what is chosen");
  AddJobsOption(command, &options->jobs);
  AddTrustOption(command, &options->trust);
  AddJsonOption(
      command,
      "chosen, a list of paths; items and covered; with --by coverage also at_most; refused "
      "with path and error; failed");
  command.Run([options] { return ChooseSamples(*options); });
}

const RegisteredCommand kChoose(
    {.name = "choose",
     .help = "Choose few samples that stand for many, and list or copy them",
     .group = CommandGroup::kCut,
     .declare = DeclareChoose,
     .examples = {"graphnet choose samples --count 3",
                  "graphnet choose samples --count 2 --by rarity --seed 1 -o chosen"}});

}  // namespace
}  // namespace graphnet
