#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/command/batch.h"
#include "graphnet/command/command.h"
#include "graphnet/command/inputs.h"
#include "graphnet/command/json.h"
#include "graphnet/command/messages.h"
#include "graphnet/command/options.h"
#include "graphnet/command/save.h"
#include "graphnet/decompose/commands/group_ranges.h"
#include "graphnet/decompose/commands/kernel_ranges.h"
#include "graphnet/decompose/commands/ports.h"
#include "graphnet/decompose/commands/typical_ranges.h"
#include "graphnet/decompose/decomposer.h"
#include "graphnet/decompose/folder.h"
#include "graphnet/decompose/graph_index.h"
#include "graphnet/decompose/ranges_file.h"
#include "graphnet/decompose/regions.h"
#include "graphnet/decompose/report.h"
#include "graphnet/formats/core_formats.h"
#include "graphnet/formats/corpus/corpus_writer.h"
#include "graphnet/formats/formats.h"
#include "graphnet/formats/graphnet_folder/writer.h"
#include "graphnet/formats/protobuf/sample_proto.h"
#include "graphnet/ir/graph.h"

namespace graphnet {
namespace {

struct DecomposeFlags {
  InputList inputs;
  std::string out;
  std::string into;
  std::string at;
  std::string ranges;
  std::vector<std::string> values;
  std::string config_file;
  DecomposeConfig config;
  DecompositionFolderOptions folder;
  bool format_is_given = false;
  PortOptions ports;
  bool typical = false;
  TypicalOptions typical_options;
  std::string write_ranges;  // the folder
  // The ranges of each sample, if the configuration does not have them.
  std::optional<RangesFile> ranges_file;
  RangesOfSamples typical_ranges;
  bool groups = false;
  std::string kernels;                    // the backend
  std::shared_ptr<KernelRanges> counter;  // of that backend
  bool no_head_and_tail = false;
  bool minimal_inputs = false;
  bool dry_run = false;
  bool resume = false;
  bool trust = false;
  int jobs = 0;
};

// --- The options -----------------------------------------------------------------

absl::Status ParseNumber(absl::string_view text, absl::string_view flag, int64_t* number) {
  if (absl::SimpleAtoi(text, number)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": ", Printable(text), " is not an integer"));
}

// Splits "a,b" into a and b. An empty text has no names.
std::vector<std::string> Names(absl::string_view text) {
  return absl::StrSplit(text, ',', absl::SkipEmpty());
}

// Returns whether --ranges names a file or a folder, and not the ranges themselves.
bool IsRangesFile(const std::string& ranges) {
  return absl::EndsWith(ranges, ".json") || FileExists(ranges);
}

absl::StatusOr<DecomposeConfig> ConfigOf(const DecomposeFlags& options) {
  if (!options.config_file.empty()) return ReadDecomposeConfig(options.config_file);
  DecomposeConfig config = options.config;
  config.group_head_and_tail = !options.no_head_and_tail;
  config.cut.all_inputs = !options.minimal_inputs;
  if (!options.at.empty()) {
    config.mode = DecomposeMode::kPositions;
    for (const absl::string_view text : absl::StrSplit(options.at, ',')) {
      config.split_positions.emplace_back();
      RETURN_IF_ERROR(ParseNumber(text, "--at", &config.split_positions.back()));
    }
  } else if (options.typical || options.groups || !options.kernels.empty() ||
             IsRangesFile(options.ranges)) {
    config.mode = DecomposeMode::kRanges;
    config.group_head_and_tail = false;
    config.cut.all_inputs = false;
  } else if (!options.ranges.empty()) {
    config.mode = DecomposeMode::kRanges;
    for (const absl::string_view text : absl::StrSplit(options.ranges, ',')) {
      const std::vector<absl::string_view> ends = absl::StrSplit(text, ':');
      if (ends.size() != 2) {
        return absl::InvalidArgumentError(
            absl::StrCat("--ranges: ", Printable(text), " is not START:END"));
      }
      Range range;
      RETURN_IF_ERROR(ParseNumber(ends[0], "--ranges", &range.start));
      RETURN_IF_ERROR(ParseNumber(ends[1], "--ranges", &range.end));
      config.subgraph_ranges.push_back(range);
    }
  } else if (!options.values.empty()) {
    config.mode = DecomposeMode::kValues;
    for (const std::string& text : options.values) {
      const std::vector<absl::string_view> sides = absl::StrSplit(text, ':');
      if (sides.size() != 2 || sides[1].empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat("--by-value: ", Printable(text), " is not INPUTS:OUTPUTS"));
      }
      config.values.push_back({Names(sides[0]), Names(sides[1])});
    }
  }
  return config;
}

// --- The results -----------------------------------------------------------------

struct DecomposeOutcome {
  size_t pieces = 0;
  bool was_there = false;  // Nothing was cut.
  SampleRanges ranges;
  WriteReport written;
  // For a corpus: the pieces in protobuf form, each with its name.
  std::vector<std::pair<std::string, std::string>> samples;
  Report report;
};

// Adds a note about a chain in GraphNet folders. There, each value that a piece takes is about 800
// bytes of text, even if it only passes through.
void NotePassingValues(Decomposition* made) {
  constexpr size_t kMany = 100'000;
  size_t taken = 0;
  for (const Sample& piece : made->pieces) taken += piece.module->main()->placeholders().size();
  if (taken < kMany) return;
  made->notes.push_back(absl::StrCat(
      "the pieces of this chain take ", taken, " values, most of which only pass through but are ",
      "text in each folder; --style dag or --to protobuf makes the pieces much smaller"));
}

// Returns the form of the pieces of one sample: protobuf for a corpus, folders if it is a folder
// itself or if the layout is that of GraphNet in Python, otherwise files.
PieceFormat FormatOf(const std::string& path, const DecomposeFlags& options) {
  if (!options.into.empty()) return PieceFormat::kProtobuf;
  if (options.format_is_given) return options.folder.format;
  return options.folder.layout == FolderLayout::kPythonGraphNet || IsFolder(path)
             ? PieceFormat::kGraphNetFolder
             : PieceFormat::kProtobuf;
}

// Copies metas to a folder form from the program that it was made of, which has the same operators
// in the same order. It knows more than can be inferred: under autocast its dtypes are those of its
// device.
void AddMetas(const Graph& program, const Sample& form, ObservedValues* values) {
  if (values->module == nullptr) values->module = form.module->Clone();
  const GraphIndex from(program);
  const GraphIndex to(*values->module->main());
  if (from.num_operators() != to.num_operators()) return;
  for (int64_t k = 0; k < from.num_operators(); ++k) {
    const Node& node = *from.node(from.operator_node(k));
    if (node.meta() == nullptr) continue;
    to.node(to.operator_node(k))->set_meta(values->module->CopyMeta(node.meta()));
  }
}

absl::StatusOr<DecomposeOutcome> DecomposeOne(const NamedInput& input, const std::string& folder,
                                              const DecomposeConfig& config,
                                              const DecomposeFlags& options, bool tells) {
  const std::string& path = input.path;
  const DecompositionFolderOptions form = {FormatOf(path, options), options.folder.layout};
  const bool as_folders = form.format == PieceFormat::kGraphNetFolder;
  LoadOptions load;
  load.trust = options.trust;
  load.weights = !as_folders && options.into.empty();
  load.values_if_there = !options.into.empty();
  load.statistics = true;
  ASSIGN_OR_RETURN(Sample sample, Load(path, load));
  // A GraphNet folder has no attributes. Lifted from each piece, they would be inputs that no other
  // piece returns.
  const bool lift = as_folders && !sample.module->attributes().empty();
  std::unique_ptr<Module> lifted;
  if (lift) {
    absl::StatusOr<Sample> folder_form = FolderFormOfSample(sample, /*keep_module_paths=*/true);
    if (!folder_form.ok()) return WithFolderAdvice(folder_form.status());
    lifted = std::move(sample.module);
    sample = *std::move(folder_form);
  }
  ASSIGN_OR_RETURN(PortValues ports, FindPortValues(options.ports, &sample));
  if (lift && options.ports.facts != PortFacts::kNone)
    AddMetas(*lifted->main(), sample, &ports.values);
  const Module& known = ports.values.module != nullptr ? *ports.values.module : *sample.module;
  DecomposeConfig wanted = config;
  DecomposeOutcome outcome;
  if (options.ranges_file.has_value()) {
    ASSIGN_OR_RETURN(wanted.subgraph_ranges,
                     options.ranges_file->Of(input.name, NumOperators(*sample.module->main())));
  } else if (options.typical) {
    const auto found = options.typical_ranges.find(input.name);
    if (found != options.typical_ranges.end()) wanted.subgraph_ranges = found->second.ranges;
    if (wanted.subgraph_ranges.empty()) return DecomposeOutcome();
  } else if (options.groups) {
    ASSIGN_OR_RETURN(wanted.subgraph_ranges, GroupRanges(known));
  } else if (options.counter != nullptr) {
    ASSIGN_OR_RETURN(const KernelCounts counts, options.counter->Find(sample));
    wanted.subgraph_ranges = FusedRanges(counts);
    outcome.ranges.kernels = counts;
  }
  ASSIGN_OR_RETURN(Decomposition made, Decompose(sample, wanted, &ports.values));
  if (!ports.why_not.empty()) made.notes.push_back(ports.why_not);
  if (lift) {
    made.notes.push_back(
        "parameters and buffers become inputs, as in every GraphNet folder (convert --lift)");
  }
  if (made.config.cut.style == Style::kChain && as_folders) NotePassingValues(&made);
  outcome.pieces = made.pieces.size();
  outcome.ranges.model_name = BaseName(input.name);
  outcome.ranges.total_length = made.config.num_ops;
  for (const SubgraphConfig& piece : made.config.subgraphs)
    outcome.ranges.ranges.push_back(piece.range);
  if (tells) outcome.report = ReportOf(known, made);
  if (options.dry_run || (folder.empty() && options.into.empty())) return outcome;
  if (!options.into.empty()) {
    for (size_t i = 0; i < made.pieces.size(); ++i) {
      ASSIGN_OR_RETURN(std::string bytes, SerializeSampleWithWeights(made.pieces[i]));
      outcome.samples.emplace_back(made.config.subgraphs[i].name, std::move(bytes));
    }
    return outcome;
  }
  const absl::StatusOr<WriteReport> written = WriteDecomposition(made, folder, form);
  if (!written.ok()) return WithFolderAdvice(written.status());
  outcome.written = *written;
  if (!tells) return outcome;
  const auto [written_pieces, kept] = outcome.written;
  outcome.report.Add("out", folder);
  outcome.report.Add("written", written_pieces);
  outcome.report.Add("kept", kept);
  outcome.report.Say(
      absl::StrCat(Printable(folder, 1000), ": ", written_pieces, " written, ", kept, " kept"));
  return outcome;
}

// Returns the reason under which an error of one of many samples is counted.
const char* Reason(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return "bad input, or a cut that is not within the graph";
    case absl::StatusCode::kFailedPrecondition: return "the graph cannot be cut so";
    case absl::StatusCode::kNotFound: return "no such file or value";
    case absl::StatusCode::kAlreadyExists: return "the folder for the pieces holds something else";
    case absl::StatusCode::kUnimplemented:
      return "a GraphNet folder cannot hold it, --to protobuf can";
    case absl::StatusCode::kResourceExhausted: return "too large";
    default: return "other reasons";
  }
}

// --- All inputs ------------------------------------------------------------------

// Adds the pieces of a sample to a corpus.
absl::Status AddPieces(const NamedInput& input, const DecomposeOutcome& outcome,
                       CorpusWriter* corpus) {
  const CorpusOrigin origin = {input.root, input.path == "-" ? "" : input.path};
  for (const auto& [name, bytes] : outcome.samples)
    RETURN_IF_ERROR(corpus->Add(origin, JoinPath(input.name, name), bytes));
  return absl::OkStatus();
}

// Commits all pieces and adds what was added to the report. `corpus` may be null.
absl::StatusOr<CommandResult> Finish(Report report, int code, CorpusWriter* corpus) {
  if (corpus == nullptr) return CommandResult(std::move(report), code);
  ASSIGN_OR_RETURN(const CorpusAddition done, corpus->Finish());
  report.Add("into", Json::Parse(done.json));
  report.Say(done.summary);
  std::string notes;
  for (const std::string& note : done.notes) notes += NoteLine(note);
  return CommandResult(std::move(report), done.is_complete ? code : 2, std::move(notes));
}

// `corpus` may be null.
absl::StatusOr<CommandResult> DecomposeAll(const std::vector<NamedInput>& inputs,
                                           const DecomposeConfig& config,
                                           const DecomposeFlags& options, CorpusWriter* corpus) {
  const bool to_folders = !options.dry_run && corpus == nullptr &&
                          (options.write_ranges.empty() || !options.out.empty());
  if (to_folders && options.out.empty())
    return absl::InvalidArgumentError("several samples need --out or --into for their pieces");
  // The pieces go to the same path below DIR.
  const auto folder_of = [&](const NamedInput& input) {
    return to_folders ? DecomposedPath(JoinPath(options.out, input.name)) : "";
  };
  if (to_folders) {
    ReservedPaths reserved;
    for (const NamedInput& input : inputs)
      RETURN_IF_ERROR(ReservePath(folder_of(input), input.path, &reserved));
    for (const auto& [folder, path] : reserved) RETURN_IF_ERROR(MakeFoldersOf(folder));
  }
  DecomposeOutcome sum;
  RangesOfSamples ranges;
  std::map<absl::string_view, size_t> reasons;
  std::vector<Report> samples(WantsJson() ? inputs.size() : 0);
  absl::Status added;
  std::atomic<bool> is_lost = false;
  size_t num_there = 0;
  const BatchCount count = RunBatch<DecomposeOutcome>(
      inputs, options.jobs,
      [&](const NamedInput& input, DecomposeOutcome* outcome) -> absl::Status {
        if (is_lost) return absl::CancelledError();
        const size_t there = options.resume ? NumPiecesIfWhole(folder_of(input)) : 0;
        if (there > 0) {
          outcome->pieces = outcome->written.kept = there;
          outcome->was_there = true;
          outcome->report.Add("out", folder_of(input));
          outcome->report.Add("there", true);
          return absl::OkStatus();
        }
        ASSIGN_OR_RETURN(*outcome, DecomposeOne(input, folder_of(input), config, options,
                                                /*tells=*/WantsJson()));
        return absl::OkStatus();
      },
      [&](size_t i, const absl::Status& status, DecomposeOutcome& outcome) {
        if (corpus != nullptr && added.ok()) added = AddPieces(inputs[i], outcome, corpus);
        is_lost = !added.ok();
        if (is_lost) return std::string();
        sum.pieces += outcome.pieces;
        num_there += outcome.was_there ? 1 : 0;
        if (status.ok() && !options.write_ranges.empty())
          ranges[inputs[i].name] = std::move(outcome.ranges);
        sum.written.written += outcome.written.written;
        sum.written.kept += outcome.written.kept;
        if (!status.ok()) ++reasons[Reason(status)];
        if (!WantsJson()) return std::string();
        samples[i] = SampleReport(inputs[i].path, status);
        if (status.ok()) samples[i].Append(std::move(outcome.report));
        return std::string();
      });
  RETURN_IF_ERROR(added);
  if (!options.write_ranges.empty() && !options.dry_run)
    RETURN_IF_ERROR(WriteRanges(ranges, options.write_ranges));
  Table table = {{"", "samples"}, {"", "decomposed"}, {"", "failed"}, {"", "pieces"}};
  std::vector<Cell> row = {count.done, count.done - count.failed, count.failed, sum.pieces};
  if (corpus == nullptr) {
    table.AddColumn({"", "written"});
    table.AddColumn({"", "kept"});
    row.insert(row.end(), {sum.written.written, sum.written.kept});
  }
  table.Add(std::move(row));
  Report report = SamplesReport(std::move(samples), count.failed);
  report.Add("", std::move(table));
  if (num_there > 0) report.Say(absl::StrCat(num_there, " were there"));
  for (const auto& [reason, times] : reasons)
    report.Say(absl::StrCat("failed ", times, ": ", reason));
  return Finish(std::move(report), count.ExitCode(), corpus);
}

absl::StatusOr<CommandResult> CutAll(const std::vector<NamedInput>& inputs,
                                     const DecomposeFlags& options) {
  ASSIGN_OR_RETURN(const DecomposeConfig config, ConfigOf(options));
  std::unique_ptr<CorpusWriter> corpus;
  if (!options.into.empty() && !options.dry_run) {
    ASSIGN_OR_RETURN(corpus, CorpusWriter::Open(options.into));
  }
  if (!IsOneSample(options.inputs) || inputs.size() > 1 || !options.write_ranges.empty() ||
      options.typical)
    return DecomposeAll(inputs, config, options, corpus.get());
  const NamedInput& input = inputs[0];
  const bool beside = options.out.empty() && !options.dry_run && corpus == nullptr;
  if (beside && input.path == "-")
    return absl::InvalidArgumentError("a sample on the standard input needs --out for its pieces");
  const std::string folder = beside ? DecomposedPath(WithoutEnding(input.root)) : options.out;
  ASSIGN_OR_RETURN(DecomposeOutcome outcome,
                   DecomposeOne(input, folder, config, options, /*tells=*/true));
  if (corpus != nullptr) RETURN_IF_ERROR(AddPieces(input, outcome, corpus.get()));
  return Finish(SamplesReport(input.path, std::move(outcome.report)), 0, corpus.get());
}

// Ranges are known by the name of their sample.
absl::Status CheckNames(const std::vector<NamedInput>& inputs) {
  std::map<absl::string_view, absl::string_view> paths;
  for (const NamedInput& input : inputs) {
    const auto [it, is_new] = paths.try_emplace(input.name, input.path);
    if (!is_new) {
      return absl::InvalidArgumentError(
          absl::StrCat(Printable(it->second, 1000), " and ", Printable(input.path, 1000),
                       " are both called ", Printable(input.name, 1000)));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<CommandResult> Run(DecomposeFlags& options) {
  ASSIGN_OR_RETURN(std::vector<NamedInput> inputs, FindNamedInputs(options.inputs));
  if (options.typical || !options.write_ranges.empty()) RETURN_IF_ERROR(CheckNames(inputs));
  if (IsRangesFile(options.ranges)) {
    ASSIGN_OR_RETURN(options.ranges_file, RangesFile::Open(options.ranges));
  }
  if (!options.kernels.empty()) {
    ASSIGN_OR_RETURN(options.counter, KernelRanges::Of(options.kernels));
  }
  if (!options.typical) return CutAll(inputs, options);
  ASSIGN_OR_RETURN(TypicalResult found,
                   FindTypicalRanges(inputs, options.typical_options, options.jobs, options.trust));
  options.typical_ranges = std::move(found.ranges);
  const bool cuts = !options.dry_run && (!options.out.empty() || !options.into.empty());
  if (!cuts) {
    if (!options.write_ranges.empty() && !options.dry_run)
      RETURN_IF_ERROR(WriteRanges(options.typical_ranges, options.write_ranges));
    return CommandResult(std::move(found.report), found.count.ExitCode());
  }
  std::erase_if(inputs, [&](const NamedInput& input) {
    return !options.typical_ranges.contains(input.name);  // It has failed.
  });
  ASSIGN_OR_RETURN(CommandResult cut, CutAll(inputs, options));
  found.report.Append(*std::move(cut.report));
  return CommandResult(std::move(found.report), std::max(cut.code, found.count.ExitCode()),
                       std::move(cut.aside));
}

void DeclareDecompose(CommandLine& command) {
  auto options = std::make_shared<DecomposeFlags>();
  AddInputList(command, &options->inputs);
  const Option out = AddFolderOption(
      command, &options->out,
      "Folder for the pieces (default: IN with _decomposed appended); for several samples, the "
      "folder for the pieces of all");
  const Option into = command
                          .AddOption("--into", &options->into,
                                     "Add the pieces to this corpus, which is made if it is not "
                                     "there, and write no files")
                          .TypeName("CORPUS")
                          .Group(kOutputGroup)
                          .Excludes(out);
  CommandLine scheme = command.AddOneOf("Scheme", "Where to cut");
  const auto number = [&](const char* flag, DecomposeMode mode, const char* help) {
    return scheme
        .AddNumber(
            flag,
            [options, mode](int64_t value) {
              options->config.mode = mode;
              options->config.number = value;
            },
            help)
        .Range(int64_t{1}, kMaxNumber);
  };
  const auto flag = [&](const char* name, DecomposeMode mode, const char* help) {
    return scheme.AddFlag(
        name, [options, mode] { options->config.mode = mode; }, help);
  };
  scheme.AddOption("--at", &options->at, "Cut before these operators: 3,7");
  scheme.AddOption(
      "--ranges", &options->ranges,
      "Make a piece of each of these ranges of operators, without their ends: 0:8,8:20; or a "
      "subgraph_ranges.json, split_results.json or cumsum_num_kernels.json of GraphNet, or a "
      "folder of --write-ranges");
  const Option every =
      number("--every", DecomposeMode::kFixedSize, "Make pieces of this many operators");
  const Option pieces = number("--pieces,-k", DecomposeMode::kEqual, "Make this many equal pieces");
  const Option single_op =
      flag("--single-op", DecomposeMode::kSingleOp, "Make one piece per operator");
  const Option balanced =
      number("--balanced", DecomposeMode::kBalanced,
             "Make this many pieces of similar size with the fewest bytes between them");
  const Option blocks = flag("--blocks", DecomposeMode::kBlocks,
                             "Cut at the borders of repeated blocks, such as layers");
  const Option by_module =
      number("--by-module", DecomposeMode::kModulePath,
             "Cut where one of this many first components of the module path changes");
  const Option typical = scheme.AddFlag("--typical", &options->typical,
                                        "Make a piece of each range of operators whose names recur "
                                        "over the samples; without --out and "
                                        "--into, only list them");
  const Option groups = scheme.AddFlag(
      "--groups", &options->groups,
      "Make a piece of each run of operators that make one kernel, as show --to loops groups them; "
      "what lies between is in no piece");
  const Option kernels =
      scheme
          .AddOption("--kernels", &options->kernels,
                     "Make a piece of each run of operators that this backend (inductor) compiles "
                     "to one kernel; the kernels of prefixes are counted, by bisection")
          .TypeName("BACKEND");
  scheme.AddOption("--by-value", &options->values,
                   "Make a piece of the operators between these values: in1,in2:out1 (may be "
                   "given several times)");
  const Option config =
      scheme
          .AddOption("--config", &options->config_file,
                     "Cut as a configuration file says, which repeats a decomposition")
          .TypeName("FILE");
  const std::map<std::string, Style> styles = {{"chain", Style::kChain}, {"dag", Style::kDag}};
  command
      .AddChoice("--style", &options->config.cut.style, styles,
                 "dag (default): each piece takes only the values that it uses; chain: each piece "
                 "takes what the piece before it returns")
      .Excludes(config);
  command
      .AddFlag(
          "--no-head-and-tail", &options->no_head_and_tail,
          "With --at, --ranges and --by-value: make no pieces of the operators before and after")
      .Excludes(every, pieces, single_op, balanced, blocks, by_module, typical, groups, kernels,
                config);
  command
      .AddFlag("--minimal-inputs", &options->minimal_inputs,
               "Give the first piece only the inputs that it uses")
      .Excludes(config);
  TypicalOptions& recurring = options->typical_options;
  const auto typical_number = [&](const char* flag, int64_t* value, const char* help) {
    command.AddOption(flag, value, help)
        .Range(int64_t{1}, int64_t{1} << 31)
        .TypeName("N")
        .ShowDefault()
        .Needs(typical);
  };
  typical_number("--min-ops", &recurring.least_calls, "With --typical: the fewest operators");
  typical_number("--max-ops", &recurring.most_calls, "With --typical: the most operators");
  typical_number("--min-count", &recurring.least_count, "With --typical: the fewest occurrences");
  typical_number("--min-samples", &recurring.least_graphs,
                 "With --typical: in how many samples they are at least");
  command
      .AddNumber(
          "--limit",
          [options](int64_t value) { options->typical_options.limit = static_cast<size_t>(value); },
          "With --typical: how many sequences are listed (100; 0: all)")
      .Range(int64_t{0}, int64_t{1} << 31)
      .Needs(typical);
  const Option resume = AddResumeOption(command, &options->resume);
  resume.Excludes(into);
  command
      .AddOption(
          "--write-ranges", &options->write_ranges,
          "Write the ranges of each sample into this folder, as GraphNet's subgraph_ranges.json "
          "and split_results.json, and with --kernels as cumsum_num_kernels.json; without --out "
          "and --into, write no pieces")
      .TypeName("DIR")
      .Group(kOutputGroup)
      .Excludes(resume);
  const std::map<std::string, PieceFormat> formats = {{"graphnet", PieceFormat::kGraphNetFolder},
                                                      {"protobuf", PieceFormat::kProtobuf}};
  const Option to =
      command.AddChoice("--to,--format", &options->folder.format, formats,
                        "graphnet: folders (default for folders and for --layout peer); protobuf: "
                        "files, with their weights (default for everything else)");
  into.Excludes(to);
  const std::map<std::string, FolderLayout> layouts = {{"ours", FolderLayout::kPlain},
                                                       {"peer", FolderLayout::kPythonGraphNet}};
  command
      .AddChoice("--layout", &options->folder.layout, layouts,
                 "ours (default): DIR/subgraph_0; peer: DIR/_decomposed/NAME_0, as GraphNet in "
                 "Python does")
      .Excludes(into);
  AddPortOptions(command, &options->ports);
  command.AddFlag("--dry-run", &options->dry_run, "Print the table of pieces and write nothing");
  AddJobsOption(command, &options->jobs);
  AddTrustOption(command, &options->trust);
  AddDrawWeightsOption(command);
  AddJsonOption(
      command,
      "samples with path, pieces (start, end, inputs, outputs, bytes_in), num_operators, "
      "notes, out, written, kept and there, if --resume left it out; into: what was added to a "
      "corpus; with --typical also "
      "sequences with occurrences, operators, samples, path, start, end and names, found, and "
      "num_ranges");
  command.Run([options, to] {
    options->format_is_given = to.is_given();
    return Run(*options);
  });
}

const RegisteredCommand kDecompose({.name = "decompose",
                                    .help = "Cut samples into pieces, each of which is a sample",
                                    .group = CommandGroup::kCut,
                                    .declare = DeclareDecompose,
                                    .examples = {
                                        "graphnet decompose samples/resnet.pb --pieces 4 -o pieces",
                                        "graphnet decompose samples/vit.pb --blocks --dry-run"}});

}  // namespace
}  // namespace graphnet
