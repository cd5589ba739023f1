#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/command/batch.h"
#include "graphnet/command/command.h"
#include "graphnet/command/copies.h"
#include "graphnet/command/inputs.h"
#include "graphnet/command/json.h"
#include "graphnet/command/messages.h"
#include "graphnet/command/options.h"
#include "graphnet/corpus/duplicates.h"
#include "graphnet/corpus/row.h"
#include "graphnet/decompose/sources.h"
#include "graphnet/formats/formats.h"
#include "graphnet/identity/commands/identity.h"
#include "graphnet/ir/canonical_hash.h"

namespace graphnet {
namespace {

// When two samples count as the same.
enum class Sameness { kHash, kSizes, kNormalForm, kNear };

constexpr size_t kShownGroups = 20;

struct DedupeFlags {
  InputList inputs;
  std::vector<std::string> against;
  Sameness by = Sameness::kHash;
  double at = 0.9;
  std::string out;
  std::string gone;
  bool in_place = false;
  int jobs = 0;
  bool trust = false;
};

// What is compared of a sample, and where it comes from.
struct SampleIdentity {
  std::string key;
  std::vector<uint64_t> features;
  SubgraphSources sources;
};

absl::StatusOr<SampleIdentity> IdentityOf(const NamedInput& input, const DedupeFlags& options) {
  ASSIGN_OR_RETURN(const Sample sample,
                   LoadForIdentity(input.path, {.inputs = {},
                                                .normal_form = options.by == Sameness::kNormalForm,
                                                .trust = options.trust}));
  SampleIdentity found;
  ASSIGN_OR_RETURN(found.sources, SourcesOf(sample, input.path, input.name));
  switch (options.by) {
    case Sameness::kHash:
    case Sameness::kNormalForm: found.key = CanonicalHash(*sample.module, {.metas = true}); break;
    case Sameness::kSizes: found.key = ShapeHash(*sample.module); break;
    case Sameness::kNear: found.features = RowFeatures(*sample.module); break;
  }
  return found;
}

// Returns the inputs without those whose file or folder has come before, by another path perhaps.
std::vector<NamedInput> WithoutRepetitions(std::vector<NamedInput> inputs,
                                           absl::flat_hash_set<std::string>* known) {
  std::erase_if(inputs, [&](const NamedInput& input) {
    std::error_code none;
    const std::filesystem::path real = std::filesystem::canonical(input.path, none);
    return !known->insert(none ? input.path : real.string()).second;
  });
  return inputs;
}

// A sample that stays, and those that go because they are the same: places in the list of all.
struct SameSamples {
  size_t stays = 0;
  std::vector<size_t> go;
};

// Everything that is known before anything is written.
struct Duplicates {
  std::vector<NamedInput> inputs;  // those of --against first
  size_t known = 0;                // how many these are
  std::vector<SampleIdentity> found;
  std::vector<absl::Status> statuses;
  BatchCount count;
  std::vector<SameSamples> groups;  // of more than one sample, the largest first
  std::vector<size_t> stay;         // those that stay, without the known ones
};

absl::Status FindGroups(const DedupeFlags& options, Duplicates* all) {
  std::vector<size_t> sound;
  for (size_t i = 0; i < all->inputs.size(); ++i) {
    if (all->statuses[i].ok()) sound.push_back(i);
  }
  std::vector<size_t> first;
  if (options.by == Sameness::kNear) {
    std::vector<FeatureList> features;
    for (const size_t i : sound) features.push_back(all->found[i].features);
    ASSIGN_OR_RETURN(first, FirstOfAlike(features, options.at));
  } else {
    std::vector<std::string> keys;
    for (const size_t i : sound) keys.push_back(all->found[i].key);
    first = FirstOfEqual(keys);
  }
  std::map<size_t, SameSamples> groups;
  for (size_t k = 0; k < sound.size(); ++k) {
    SameSamples& group = groups[sound[first[k]]];
    group.stays = sound[first[k]];
    // Samples of the tree that is compared with stay as they are.
    if (first[k] != k && sound[k] >= all->known) group.go.push_back(sound[k]);
    if (first[k] == k && sound[k] >= all->known) all->stay.push_back(sound[k]);
  }
  for (auto& [stays, group] : groups) {
    for (const size_t i : group.go) MergeSources(all->found[i].sources, &all->found[stays].sources);
    if (!group.go.empty()) all->groups.push_back(std::move(group));
  }
  absl::c_stable_sort(all->groups, [](const SameSamples& a, const SameSamples& b) {
    return a.go.size() > b.go.size();
  });
  return absl::OkStatus();
}

absl::StatusOr<Duplicates> FindDuplicates(const DedupeFlags& options) {
  Duplicates all;
  absl::flat_hash_set<std::string> known;
  ASSIGN_OR_RETURN(std::vector<NamedInput> given, FindNamedInputs(options.inputs));
  if (!options.against.empty()) {
    for (const std::string& tree : options.against) {
      absl::StatusOr<std::vector<NamedInput>> found = FindNamedInputs({tree});
      // A tree that no sample was added to yet is as good as none.
      if (!found.ok() && ListFolder(tree).ok()) continue;
      RETURN_IF_ERROR(found.status());
      std::vector<NamedInput> inputs = *std::move(found);
      inputs = WithoutRepetitions(std::move(inputs), &known);
      absl::c_move(inputs, std::back_inserter(all.inputs));
    }
    all.known = all.inputs.size();
  }
  given = WithoutRepetitions(std::move(given), &known);
  absl::c_move(given, std::back_inserter(all.inputs));
  all.found.resize(all.inputs.size());
  all.statuses.resize(all.inputs.size());
  all.count = RunBatch<SampleIdentity>(
      all.inputs, options.jobs,
      [&](const NamedInput& input, SampleIdentity* found) -> absl::Status {
        ASSIGN_OR_RETURN(*found, IdentityOf(input, options));
        return absl::OkStatus();
      },
      [&](size_t i, const absl::Status& status, SampleIdentity& found) {
        all.statuses[i] = status;
        all.found[i] = std::move(found);
        return "";
      });
  RETURN_IF_ERROR(FindGroups(options, &all));
  return all;
}

std::string GoneText(const Duplicates& all) {
  std::string text;
  for (const SameSamples& group : all.groups) {
    for (const size_t i : group.go) {
      absl::StrAppend(&text, all.inputs[i].path, "  # stays: ", all.inputs[group.stays].path, "\n");
    }
  }
  return text;
}

std::string TextOfSources(const SubgraphSources& sources) {
  return sources.empty() ? "" : SubgraphSourcesText(sources);
}

// Writes the sources of samples that stay beside them: of the known ones, or of the others.
absl::Status WriteSources(const Duplicates& all, bool of_known) {
  for (const SameSamples& group : all.groups) {
    const std::string text = TextOfSources(all.found[group.stays].sources);
    if (text.empty() || (group.stays < all.known) != of_known) continue;
    RETURN_IF_ERROR(
        WriteFileAtomic(PathBeside(all.inputs[group.stays].path, kSubgraphSources), text));
  }
  return absl::OkStatus();
}

absl::Status WriteCopies(const DedupeFlags& options, const Duplicates& all) {
  std::vector<SampleCopy> copies;
  for (const size_t i : all.stay)
    copies.push_back({all.inputs[i], TextOfSources(all.found[i].sources)});
  const bool adds = absl::c_any_of(options.against, [&](const std::string& tree) {
    std::error_code none;
    return std::filesystem::equivalent(tree, options.out, none);
  });
  if (adds) RETURN_IF_ERROR(WriteSources(all, /*of_known=*/true));
  return CopySamples(copies, options.out, adds, kSubgraphSources, options.trust, options.jobs);
}

// Removes what goes. Returns what could not be removed.
absl::StatusOr<std::string> RemoveAll(const Duplicates& all, size_t* removed) {
  // The sources first: if this ends in between, the next run finds the same.
  RETURN_IF_ERROR(WriteSources(all, /*of_known=*/false));
  std::map<std::string, size_t> users;  // how many samples have the same file of weights
  for (const NamedInput& input : all.inputs) ++users[WithoutEnding(input.path)];
  std::string failed;
  for (const SameSamples& group : all.groups) {
    for (const size_t i : group.go) {
      const std::string& path = all.inputs[i].path;
      const absl::Status status =
          RemoveSample(path, kSubgraphSources, users[WithoutEnding(path)]-- > 1);
      *removed += status.ok() ? 1 : 0;
      if (!status.ok()) absl::StrAppend(&failed, FailLine(path, status), "\n");
    }
  }
  return failed;
}

Report ReportOfGroups(const Duplicates& all) {
  std::vector<Report> groups;
  Table table = {{"", "stays"}, {"", "go"}, {"", "the first that goes"}};
  table.set_form({.shown = kShownGroups});
  for (const SameSamples& group : all.groups) {
    const std::string& stays = all.inputs[group.stays].path;
    table.Add({stays, group.go.size(), all.inputs[group.go[0]].path});
    if (!WantsJson()) continue;
    Json go = Json::List();
    for (const size_t i : group.go) go.push_back(all.inputs[i].path);
    Report one;
    one.Add("stays", stays);
    one.Add("go", std::move(go));
    groups.push_back(std::move(one));
  }
  Report report;
  report.Add("groups", std::move(groups));
  report.Add("", std::move(table));
  return report;
}

absl::StatusOr<CommandResult> Dedupe(const DedupeFlags& options) {
  ASSIGN_OR_RETURN(const Duplicates all, FindDuplicates(options));
  size_t go = 0;
  for (const SameSamples& group : all.groups) go += group.go.size();
  if (!options.gone.empty()) RETURN_IF_ERROR(WriteFileAtomic(options.gone, GoneText(all)));
  size_t removed = 0;
  std::string aside;
  if (!options.out.empty()) RETURN_IF_ERROR(WriteCopies(options, all));
  if (options.in_place) {
    ASSIGN_OR_RETURN(aside, RemoveAll(all, &removed));
  }
  Report report;
  std::map<std::string, size_t> causes;
  std::vector<Report> failed;
  for (size_t i = 0; i < all.inputs.size(); ++i) {
    if (all.statuses[i].ok()) continue;
    ++causes[CauseOf(all.inputs[i].path, all.statuses[i].message())];
    failed.push_back(SampleReport(all.inputs[i].path, all.statuses[i]));
  }
  report.Append(ReportOfGroups(all));
  report.Add("refused", std::move(failed));
  report.Add("known", all.known);
  report.Add("stay", all.stay.size());
  report.Add("go", go);
  report.Add("failed", all.count.failed);
  if (options.in_place) report.Add("removed", removed);
  for (const auto& [cause, times] : causes) report.Say(absl::StrCat("failed ", times, ": ", cause));
  report.Say(absl::StrCat(all.stay.size(), " stay, ", go, " go in ", all.groups.size(),
                          all.groups.size() == 1 ? " group, " : " groups, ", all.count.failed,
                          " failed",
                          all.known > 0 ? absl::StrCat("; ", all.known, " were known") : "",
                          options.in_place ? absl::StrCat("; ", removed, " removed") : "",
                          options.out.empty() && !options.in_place ? "; nothing was written" : ""));
  const bool incomplete = options.in_place && removed < go;
  return CommandResult(std::move(report), incomplete ? 2 : all.count.ExitCode(), std::move(aside));
}

void DeclareDedupe(CommandLine& command) {
  auto options = std::make_shared<DedupeFlags>();
  AddInputList(command, &options->inputs);
  const std::map<std::string, Sameness> forms = {{"hash", Sameness::kHash},
                                                 {"sizes", Sameness::kSizes},
                                                 {"normal-form", Sameness::kNormalForm},
                                                 {"near", Sameness::kNear}};
  command.AddChoice(
      "--by", &options->by, forms,
      "When two samples are the same: hash (default): same calls in the same order, "
      "dtypes and shapes; sizes: the same but for sizes; normal-form: they compute the "
      "same, however they are written; near: most of their structure is the same");
  command
      .AddOption("--at", &options->at,
                 "With --by near: the least similarity, above 0 and at most 1")
      .Range(0.001, 1.0)
      .ShowDefault();
  command
      .AddOption("--against", &options->against,
                 "Samples that are there already: what is the same as one of them goes")
      .TypeName("TREE");
  const Option out = AddFolderOption(
      command, &options->out,
      "New folder for copies of those that stay; or TREE, which gets what is new. Without it, "
      "nothing is written but the report");
  const Option gone = command
                          .AddOption("--gone", &options->gone,
                                     "Write the paths of those that go to this file, before "
                                     "anything else is written or removed")
                          .TypeName("FILE")
                          .Group(kOutputGroup);
  command
      .AddFlag("--in-place", &options->in_place,
               "Remove the files of those that go from where they are; needs --gone")
      .Group(kOutputGroup)
      .Excludes(out)
      .Needs(gone);
  AddJobsOption(command, &options->jobs);
  AddTrustOption(command, &options->trust);
  AddJsonOption(
      command,
      "groups with stays and go, refused with path and error, known, stay, go, failed and, "
      "with --in-place, removed");
  command.Run([options] { return Dedupe(*options); });
}

const RegisteredCommand kDedupe(
    {.name = "dedupe",
     .help =
         "Keep one of each of the samples that are the same, and say where the others came from",
     .group = CommandGroup::kCut,
     .declare = DeclareDedupe,
     .examples = {"graphnet dedupe samples --by normal-form",
                  "graphnet dedupe samples -o unique --by hash --gone gone.txt"}});

}  // namespace
}  // namespace graphnet
