#include "graphnet/decompose/commands/match_pieces.h"

#include <cstdint>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/report.h"
#include "graphnet/base/status.h"
#include "graphnet/command/batch.h"
#include "graphnet/command/copies.h"
#include "graphnet/command/json.h"
#include "graphnet/command/messages.h"
#include "graphnet/decompose/gather.h"
#include "graphnet/decompose/graph_index.h"
#include "graphnet/decompose/range_decomposer.h"
#include "graphnet/decompose/sources.h"
#include "graphnet/formats/formats.h"
#include "graphnet/ir/canonical_hash.h"

namespace graphnet {
namespace {

constexpr size_t kShownPieces = 20;
// Why matches are not cut out, and how many.
struct Refused {
  size_t times = 0;
  std::string example;  // what is said of the first
};
using RefusedByCause = std::map<std::string, Refused>;

void Refuse(absl::string_view cause, absl::string_view example, RefusedByCause* refused,
            size_t times = 1) {
  Refused& one = (*refused)[std::string(cause)];
  if (one.times == 0) one.example = std::string(example);
  one.times += times;
}

// One match of a sample that can be cut out.
struct Match {
  Range range;      // from the first to the last operator, in the sample as it is
  std::string key;  // equal for pieces of one kind
};

// What is known of a sample after the first reading.
struct MatchesOfSample {
  std::vector<Match> matches;
  RefusedByCause refused;
  std::string why_unknown;  // why the shapes of values are unknown
};

// Calls `use(k, range, piece)` for match k of the sample, in program order. The numbers are the same
// each time.
absl::Status ForEachMatch(
    const CallQuery& query, const std::string& path, const MatchOptions& options, bool weights,
    MatchesOfSample* found,
    absl::FunctionRef<absl::Status(size_t k, const Range& range, Sample piece)> use) {
  ASSIGN_OR_RETURN(Sample sample, Load(path, {.trust = options.trust,
                                              .weights = weights,
                                              .values_if_there = !weights,
                                              .statistics = true}));
  RETURN_IF_ERROR(CheckModule(sample));
  ASSIGN_OR_RETURN(const std::vector<std::vector<Node*>> matches,
                   query.FindWhole(sample.module.get()));
  if (matches.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const PortValues ports, FindPortValues(options.ports, &sample));
  found->why_unknown = ports.why_not;
  Graph* const graph = sample.module->main();
  // Operators move when matches are gathered, so their numbers are taken before.
  const GraphIndex index(*graph);
  std::vector<Range> ranges;
  for (const std::vector<Node*>& nodes : matches) {
    Range& range = ranges.emplace_back();
    if (nodes[0]->graph() != graph) continue;
    range = {index.num_operators(), 0};
    for (const Node* node : nodes) {
      const int64_t number = index.operator_of(index.IndexOf(node));
      range = {std::min(range.start, number), std::max(range.end, number + 1)};
    }
  }
  for (size_t i = 0, k = 0; i < matches.size(); ++i) {
    if (matches[i][0]->graph() != graph) {
      Refuse("they are in a body", "", &found->refused);
      continue;
    }
    const absl::StatusOr<Range> gathered = GatherNodes(matches[i]);
    if (!gathered.ok()) {
      Refuse("other operators belong between them", gathered.status().message(), &found->refused);
      continue;
    }
    absl::StatusOr<std::vector<Sample>> pieces =
        CutRanges(sample, {*gathered},
                  {.style = Style::kDag, .all_inputs = false, .keep_unused = false}, &ports.values);
    if (!pieces.ok()) {
      Refuse("a cut is not possible there", pieces.status().message(), &found->refused);
      continue;
    }
    Sample& piece = (*pieces)[0];
    for (Provenance& part : piece.provenance) {
      part.start = ranges[i].start;
      part.end = ranges[i].end;
    }
    RETURN_IF_ERROR(use(k++, ranges[i], std::move(piece)));
  }
  return absl::OkStatus();
}

// A kind of matches: the first of them, and where all are.
struct Kind {
  size_t sample = 0;  // the place in the list of inputs
  size_t match = 0;   // its number in the sample
  size_t times = 0;
  std::string path;  // of the piece, below OUT
  SubgraphSources sources;
};

struct AllMatches {
  std::vector<Kind> kinds;                 // in the order of their first matches
  std::vector<std::vector<size_t>> first;  // by sample: the kinds that it has first
  size_t matches = 0;
  size_t samples = 0;  // those with a match
  size_t without_shapes = 0;
  RefusedByCause refused;
};

Output OutputOf(const NamedInput& input, const MatchOptions& options) {
  Output out = options.out;
  if (out.to.empty()) out.to = IsFolder(input.path) ? "graphnet" : "protobuf";
  return out;
}

// Writes the pieces that are the first of their kinds into `folder`. `first` gets the first error.
BatchCount WritePieces(const CallQuery& query, const std::vector<NamedInput>& inputs,
                       const AllMatches& all, const MatchOptions& options,
                       const std::string& folder, absl::Status* first) {
  std::vector<NamedInput> owners;
  std::vector<size_t> places;  // in all inputs
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (all.first[i].empty()) continue;
    owners.push_back(inputs[i]);
    places.push_back(i);
  }
  struct None {};
  return RunBatch<None>(
      owners, options.jobs,
      [&](const NamedInput& input, None*) -> absl::Status {
        const size_t owner = places[static_cast<size_t>(&input - owners.data())];
        Output out = OutputOf(inputs[owner], options);
        MatchesOfSample again;
        auto next = all.first[owner].begin();
        return ForEachMatch(query, inputs[owner].path, options, out.keeps_weights(), &again,
                            [&](size_t k, const Range&, Sample piece) -> absl::Status {
                              if (next == all.first[owner].end() || all.kinds[*next].match != k)
                                return absl::OkStatus();
                              const Kind& kind = all.kinds[*next++];
                              out.path = JoinPath(folder, kind.path);
                              const std::string sources = SubgraphSourcesText(kind.sources);
                              piece.name = absl::StrCat(BaseName(inputs[owner].name), "_match_", k);
                              if (out.format().is_folder)
                                piece.extra_files[kSubgraphSources] = sources;
                              Losses lost;
                              RETURN_IF_ERROR(SaveSample(piece, out, &lost));
                              return out.format().is_folder
                                         ? absl::OkStatus()
                                         : WriteFileAtomic(PathBeside(out.path, kSubgraphSources),
                                                           sources);
                            });
      },
      [&](size_t, const absl::Status& status, None&) {
        first->Update(status);
        return std::string();
      });
}

Report ReportOf(const AllMatches& all, const MatchOptions& options, size_t passed) {
  std::vector<const Kind*> kinds;
  for (const Kind& kind : all.kinds) kinds.push_back(&kind);
  absl::c_stable_sort(kinds, [](const Kind* a, const Kind* b) { return a->times > b->times; });
  Table table = {{"times", "times"}, {"samples", "samples"}, {"piece", "piece"}};
  table.set_form({.shown = kShownPieces});
  for (const Kind* kind : kinds) table.Add({kind->times, kind->sources.size(), kind->path});
  Report report;
  report.Add("pieces", std::move(table));
  report.Add("num_matches", all.matches);
  report.Add("num_samples", all.samples);
  const bool is_written = !options.out.path.empty() && !all.kinds.empty();
  if (is_written) report.Add("out", options.out.path);
  report.Say(
      absl::StrCat(all.matches, " matches in ", all.samples, " of ", passed, " samples, ",
                   all.kinds.size(), " of them different",
                   is_written ? absl::StrCat("; written to ", Printable(options.out.path)) : ""));
  std::vector<std::string> notes;
  for (const auto& [cause, refused] : all.refused) {
    notes.push_back(
        absl::StrCat(refused.times, " matches are not cut out: ", cause,
                     refused.example.empty() ? "" : absl::StrCat(" (", refused.example, ")")));
  }
  if (all.without_shapes > 0)
    notes.push_back(absl::StrCat("in ", all.without_shapes,
                                 " samples the shapes of some values are unknown; --ports stats "
                                 "measures them in a run"));
  report.AddNotes(notes);
  return report;
}

}  // namespace

absl::StatusOr<CommandResult> CutMatches(const CallQuery& query,
                                         const std::vector<NamedInput>& inputs,
                                         const MatchOptions& options) {
  ReservedPaths reserved;
  for (const NamedInput& input : inputs)
    RETURN_IF_ERROR(ReservePath(input.name, input.path, &reserved));
  const std::string& folder = options.out.path;
  const bool is_there = !folder.empty() && FileExists(folder);
  if (is_there) {
    ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(folder));
    if (!names.empty())
      return absl::AlreadyExistsError(
          absl::StrCat(Printable(folder, 1000), " has files already; name a new folder"));
  }
  AllMatches all;
  all.first.resize(inputs.size());
  absl::flat_hash_map<std::string, size_t> by_key;
  std::vector<MatchesOfSample> found(inputs.size());
  std::vector<Report> samples;
  BatchCount count = RunBatch<MatchesOfSample>(
      inputs, options.jobs,
      [&](const NamedInput& input, MatchesOfSample* result) {
        return ForEachMatch(
            query, input.path, options, /*weights=*/false, result,
            [&](size_t, const Range& range, const Sample& piece) {
              result->matches.push_back({range, CanonicalHash(*piece.module, {.metas = true})});
              return absl::OkStatus();
            });
      },
      [&](size_t i, const absl::Status& status, MatchesOfSample& result) {
        found[i] = std::move(result);
        if (WantsJson() && !status.ok()) samples.push_back(SampleReport(inputs[i].path, status));
        return std::string();
      });
  // The first of each kind is found in the order of the inputs.
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::vector<Match>& matches = found[i].matches;
    all.matches += matches.size();
    all.samples += matches.empty() ? 0 : 1;
    all.without_shapes += found[i].why_unknown.empty() ? 0 : 1;
    for (const auto& [cause, refused] : found[i].refused) {
      Refuse(cause,
             refused.example.empty() ? "" : absl::StrCat(inputs[i].path, ": ", refused.example),
             &all.refused, refused.times);
    }
    for (size_t k = 0; k < matches.size(); ++k) {
      const auto [it, is_new] = by_key.try_emplace(matches[k].key, all.kinds.size());
      if (is_new) {
        const Output out = OutputOf(inputs[i], options);
        all.kinds.push_back({i,
                             k,
                             0,
                             absl::StrCat(JoinPath(inputs[i].name, absl::StrCat("match_", k)),
                                          EndingOf(out.format())),
                             {}});
        all.first[i].push_back(it->second);
      }
      Kind& kind = all.kinds[it->second];
      ++kind.times;
      MergeSources({{inputs[i].name, {matches[k].range}}}, &kind.sources);
    }
  }
  if (!folder.empty() && !all.kinds.empty()) {
    RETURN_IF_ERROR(
        WriteFolderAtomic(folder, /*replace=*/is_there, [&](const std::string& to) -> absl::Status {
          absl::Status first;
          const BatchCount written = WritePieces(query, inputs, all, options, to, &first);
          count.failed += written.failed;
          return written.failed < written.done ? absl::OkStatus() : first;
        }));
  }
  Report report = ReportOf(all, options, count.done - std::min(count.done, count.failed));
  report.Add("failed", std::move(samples));
  if (count.failed == 0 && all.matches == 0) return CommandResult(std::move(report), 1);
  return CommandResult(std::move(report), count.ExitCode());
}

}  // namespace graphnet
