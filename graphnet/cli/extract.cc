#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/command.h"
#include "graphnet/cli/engine.h"
#include "graphnet/cli/inputs.h"
#include "graphnet/cli/json.h"
#include "graphnet/cli/options.h"
#include "graphnet/cli/progress.h"
#include "graphnet/extract/break_reason.h"
#include "graphnet/extract/folder.h"
#include "graphnet/extract/foretold_break.h"
#include "graphnet/formats/formats.h"

namespace graphnet {
namespace {

struct ExtractFlags {
  std::string in;
  std::string out;
  InputOptions inputs;
  std::vector<std::string> dynamic;
  CaptureOptions capture;
  ExtractFormat format = ExtractFormat::kProtobuf;
  uint64_t seed = 0;
  int threads = 0;
  bool explain = false;
  bool foretell = false;
  bool check = false;
  bool trust = false;
};

// Parses "0:1=batch": dimension 1 of the first input.
absl::StatusOr<CaptureOptions::DynamicSize> ParseDynamic(const std::string& text) {
  CaptureOptions::DynamicSize size;
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
  const std::pair<std::string, std::string> place =
      absl::StrSplit(parts.first, absl::MaxSplits(':', 1));
  size.name = parts.second;
  if (!absl::SimpleAtoi(place.first, &size.input) || !absl::SimpleAtoi(place.second, &size.dim) ||
      size.name.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--dynamic ", Printable(text), ": expected input, dimension and name, such as 0:0=batch"));
  }
  return size;
}

std::string TextOf(const SourcePlace& place, bool with_column) {
  if (place.line == 0) return "";
  return absl::StrCat(Printable(place.file, 300), ":", place.line,
                      with_column ? absl::StrCat(":", place.column) : "");
}

SourcePlace PlaceOf(const StitchStep& step) {
  return {step.file, step.line, step.column, step.source};
}

// Adds the known parts of a place, for JSON alone.
void AddPlace(const SourcePlace& place, Report* report) {
  if (place.line > 0) {
    report->Add("file", place.file);
    report->Add("line", place.line);
    report->Add("column", place.column);
  }
  if (!place.source.empty()) report->Add("source", place.source);
}

// Reports on what ended a graph, or worked on numbers. `what` is the rest of the first line.
Report BreakReport(BreakReason reason, const std::string& op, absl::string_view what,
                   const SourcePlace& place) {
  const BreakReasonText& text = TextOf(reason);
  const bool is_break = reason != BreakReason::kNone;
  Report report;
  if (is_break) report.Add("reason", text.name);
  report.Add("op", op);
  if (is_break) report.Add("why", text.explanation);
  if (is_break) report.Add("hint", text.hint);
  AddPlace(place, &report);
  report.Say(absl::StrCat(text.name, ": ", Printable(op), what));
  if (place.line > 0) report.Say(absl::StrCat("  at ", TextOf(place, /*with_column=*/true)));
  if (!place.source.empty()) report.Say(absl::StrCat("  > ", Printable(place.source)));
  report.Say(absl::StrCat("  why: ", text.explanation, "\n  hint: ", text.hint));
  return report;
}

// Returns a text such as "the `if` holds, on data".
std::string TextOf(const BreakCondition& condition) {
  const absl::string_view on = condition.on_data ? "on data" : "on the inputs";
  switch (condition.kind) {
    case BreakCondition::Kind::kTrue: return absl::StrCat("the `if` holds, ", on);
    case BreakCondition::Kind::kFalse: return absl::StrCat("the `if` does not hold, ", on);
    case BreakCondition::Kind::kTurn: return absl::StrCat("the loop goes on, ", on);
    case BreakCondition::Kind::kLong:
      return absl::StrCat("the loop has more than --max-unroll turns, ", on);
    case BreakCondition::Kind::kData: break;
  }
  return "its operands depend on data";
}

Report ReportOf(const ForetoldBreaks& foretold) {
  size_t always = 0;
  std::vector<Report> breaks;
  for (const ForetoldBreak& told : foretold.breaks) {
    const bool is_always = told.conditions.empty();
    always += is_always ? 1 : 0;
    Report made = BreakReport(told.reason, told.op,
                              is_always ? ", always" : ", where a branch is taken", told.place);
    made.Add("always", is_always);
    std::vector<Report> where;
    for (const BreakCondition& condition : told.conditions) {
      Report& row = where.emplace_back();
      row.Add("what", TextOf(condition));
      row.Add("on_data", condition.on_data);
      AddPlace(condition.place, &row);
      const std::string place = TextOf(condition.place, /*with_column=*/true);
      row.Say(absl::StrCat("  where: ", TextOf(condition), ", at ",
                           place.empty() ? "an unknown line" : place));
    }
    made.Add("where", std::move(where));
    made.Say("");
    breaks.push_back(std::move(made));
  }
  Report report;
  report.Add("breaks", std::move(breaks));
  report.Add("always_raises", foretold.always_raises);
  report.Say(absl::StrCat(always, " breaks always, ", foretold.breaks.size() - always,
                          " where a branch is taken; nothing was run"));
  if (foretold.always_raises) report.Say("no run gets to the end: an error ends each");
  return report;
}

// Returns the calls of the subgraph that a step runs; 0 for an operation.
int64_t CallsOf(const StitchManifest& manifest, const StitchStep& step) {
  return step.subgraph < 0 ? 0 : manifest.subgraphs[static_cast<size_t>(step.subgraph)].num_calls;
}

// Reports on the i-th step, which is an operation.
Report OperationReport(const StitchManifest& manifest, size_t i) {
  const StitchStep& step = manifest.steps[i];
  const auto text_of = [](std::string* out, const ValueTree& operand) {
    out->append(PrintValueTree(operand));
  };
  const std::string operands = absl::StrJoin(step.operands, ", ", text_of);
  Report report = BreakReport(step.reason, step.op,
                              absl::StrCat("(", Printable(operands, 300), ")"), PlaceOf(step));
  int64_t before = 0;
  int64_t after = 0;
  for (size_t k = i; k > 0 && before == 0; --k) before = CallsOf(manifest, manifest.steps[k - 1]);
  for (size_t k = i + 1; k < manifest.steps.size() && after == 0; ++k)
    after = CallsOf(manifest, manifest.steps[k]);
  if (before > 0 && after > 0) {
    report.Say(absl::StrCat("  without it: one subgraph of ", before + after, " calls instead of ",
                            before, " and ", after));
  }
  return report;
}

// Reports on the steps in order: subgraphs and the operations between them.
Report ReportOf(const StitchManifest& manifest, const std::string& out, bool explains) {
  size_t operations = 0;
  size_t on_numbers = 0;
  size_t duplicates = 0;
  int64_t calls = 0;
  Json steps = Json::List();
  Table subgraphs = {
      {"", "subgraph"}, {"", "calls"}, {"", "inputs"}, {"", "outputs"}, {"", "ended by"}};
  Report explained;
  for (size_t i = 0; i < manifest.steps.size(); ++i) {
    const StitchStep& step = manifest.steps[i];
    if (step.subgraph < 0) {
      const bool is_break = step.reason != BreakReason::kNone;
      ++(is_break ? operations : on_numbers);
      Report made = OperationReport(manifest, i);
      steps.push_back(made.ToJson());
      if (!is_break) continue;
      explained.Say("");
      explained.Add("", std::move(made));
      continue;
    }
    const StitchManifest::Subgraph& subgraph =
        manifest.subgraphs[static_cast<size_t>(step.subgraph)];
    std::string end(TextOf(BreakReason::kNone).name);
    if (i + 1 < manifest.steps.size()) {
      const StitchStep& next = manifest.steps[i + 1];
      end = absl::StrCat(TextOf(next.reason).name, " (", next.op, ") ",
                         TextOf(PlaceOf(next), /*with_column=*/false));
    }
    Json json;
    json["subgraph"] = subgraph.name;
    json["num_calls"] = subgraph.num_calls;
    json["num_inputs"] = step.inputs.size();
    json["num_outputs"] = step.outputs.size();
    json["hash"] = subgraph.hash;
    if (subgraph.duplicate_of >= 0) {
      json["duplicate_of"] = absl::StrCat("subgraph_", subgraph.duplicate_of);
      absl::StrAppend(&end, ", the same as subgraph_", subgraph.duplicate_of);
    }
    steps.push_back(std::move(json));
    subgraphs.Add({subgraph.name, subgraph.num_calls, step.inputs.size(), step.outputs.size(),
                   Cell("").As(end)});
  }
  for (const auto& subgraph : manifest.subgraphs) {
    duplicates += subgraph.duplicate_of >= 0 ? 1 : 0;
    calls += subgraph.num_calls;
  }
  Report report;
  report.Add("out", out);
  report.Add("steps", std::move(steps));
  report.Add("", std::move(subgraphs));
  Table symbols = {{"name"}, {"example"}};
  for (const auto& symbol : manifest.symbols) {
    symbols.Add({symbol.name, symbol.example});
    report.Say(
        absl::StrCat("dynamic ", Printable(symbol.name), ": ", symbol.example, " in the example"));
  }
  report.Add("symbols", std::move(symbols));
  Table relations = {{"requires"}, {"file"}, {"line"}};
  for (const auto& [text, file, line] : manifest.relations) {
    relations.Add({text, line > 0 ? Cell(file) : Cell(), line > 0 ? Cell(line) : Cell()});
    report.Say(absl::StrCat("  requires ", Printable(text),
                            absl::StrContains(text, " == ") ? " (specialised)" : "",
                            line > 0 ? absl::StrCat("  ", Printable(file, 100), ":", line) : ""));
  }
  report.Add("relations", std::move(relations));
  if (explains) report.Append(std::move(explained));
  report.Say(absl::StrCat(manifest.subgraphs.size(), " subgraphs of ", calls, " calls, ",
                          duplicates, " of them duplicates; ", operations,
                          " operations between them",
                          on_numbers > 0 ? absl::StrCat(", ", on_numbers, " on numbers") : ""));
  return report;
}

std::string Stem(const std::string& path) {
  std::string name = BaseName(path);
  if (const size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0) name.resize(dot);
  return name;
}

absl::StatusOr<CommandResult> ExtractProgram(const ExtractFlags& options) {
  if (options.out.empty() && !options.foretell)
    return absl::InvalidArgumentError("--out is required, except with --foretell");
  ASSIGN_OR_RETURN(const Format* format, Recognise(options.in));
  if (format->name != "torchscript") {
    return absl::InvalidArgumentError(
        absl::StrCat(Printable(options.in, 1000), ": ",
                     format->name == "pt2" ? "a program of torch.export" : "a sample",
                     " is one graph already, without breaks: run, convert, decompose and the other "
                     "commands accept it as it is"));
  }
  ASSIGN_OR_RETURN(const Engine* engine, OpenEngine());
  engine->SetNumThreads(options.threads);
  ASSIGN_OR_RETURN(const std::unique_ptr<TorchScriptProgram> opened,
                   engine->OpenTorchScript(options.in, options.trust));
  if (options.foretell) {
    const absl::StatusOr<ForetoldBreaks> foretold = opened->Foretell(options.capture);
    if (!foretold.ok()) return Annotate(foretold.status(), Printable(options.in, 1000));
    return ReportOf(*foretold);
  }
  ASSIGN_OR_RETURN(const TensorValues given,
                   ReadValues(options.inputs.file, opened->names_of_inputs()));
  RETURN_IF_ERROR(opened->SetInputs(given, options.inputs.words, options.seed));
  CaptureOptions capture_options = options.capture;
  for (const std::string& text : options.dynamic) {
    ASSIGN_OR_RETURN(capture_options.dynamic.emplace_back(), ParseDynamic(text));
  }
  Progress progress("capturing");
  capture_options.print = [&](const std::string& text) {
    if (WantsJson()) {
      std::fputs(text.c_str(), stderr);
    } else {
      progress.Print(text);
    }
  };
  capture_options.progress = [&](size_t graphs, size_t calls) {
    progress.Say(absl::StrCat("capturing: ", graphs, " subgraphs, ", calls, " calls"));
  };
  absl::StatusOr<CapturedProgram> captured = opened->Capture(capture_options, Stem(options.in));
  progress.End();
  if (!captured.ok()) return Annotate(captured.status(), Printable(options.in, 1000));
  StitchManifest& manifest = captured->program.manifest;
  for (const auto& size : capture_options.dynamic) {
    if (absl::c_any_of(manifest.symbols, [&](const auto& s) { return s.name == size.name; }))
      continue;
    return absl::InvalidArgumentError(absl::StrCat("--dynamic: ", Printable(size.name),
                                                   " needs examples of one size, neither 0 nor 1"));
  }
  manifest.archive = BaseName(options.in);
  RETURN_IF_ERROR(
      WriteExtracted(captured->program, options.out, options.format, captured->status.ok()));
  CommandResult made(ReportOf(manifest, options.out, options.explain));
  if (!captured->status.ok()) {
    made.error = Annotate(captured->status, Printable(options.in, 1000));
    return made;
  }
  if (!options.check) return made;
  const Progress checking("checking");
  ASSIGN_OR_RETURN(const auto compared, opened->CompareWithLibTorch(options.out));
  const auto& [difference, blind] = compared;
  made.report->Add("same_bits", difference.empty());
  if (!difference.empty()) {
    made.report->Add("difference", difference);
    made.report->Say(absl::StrCat("the stitched program yields SOMETHING ELSE: ", difference),
                     Tone::kBad);
    made.code = 1;
  } else {
    made.report->Say("the stitched program yields the same bits as LibTorch");
  }
  if (blind.empty()) return made;
  made.report->Add("blind", blind);
  if (difference.empty())
    made.report->Say(absl::StrCat("note: the comparison is blind: ", Printable(blind, 4000)));
  return made;
}

}  // namespace

void RegisterExtract(CLI::App& app, CommandRunner* run) {
  auto options = std::make_shared<ExtractFlags>();
  CLI::App* command =
      app.add_subcommand("extract", "Capture the subgraphs of a TorchScript program");
  command->add_option("IN", options->in, "TorchScript archive")->required();
  AddFolderOption(command, &options->out, "Folder for the subgraphs", ",--output");
  AddInputOption(command, &options->inputs.words);
  AddInputsOption(command, &options->inputs.file);
  command
      ->add_option("--break-on", options->capture.break_on,
                   "Operators that end a subgraph: nonzero,aten::unique")
      ->delimiter(',');
  command->add_option("--dynamic", options->dynamic,
                      "Size that may change, as input, dimension and name: 0:0=batch");
  command->add_flag("--cond", options->capture.cond,
                    "Capture branches on values of tensors as torch.cond if possible");
  const std::map<std::string, ExtractFormat> formats = {
      {"protobuf", ExtractFormat::kProtobuf}, {"graphnet", ExtractFormat::kGraphNetFolder}};
  AddChoiceOption(command, "--to,--format", &options->format, formats,
                  "Format of the subgraphs (default: protobuf)");
  AddSeedOption(command, &options->seed);
  command
      ->add_option("--max-unroll", options->capture.max_unroll,
                   "Most iterations of a loop that are captured one by one; a longer loop becomes "
                   "a while_loop if possible")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40))
      ->capture_default_str();
  command
      ->add_option("--max-steps", options->capture.max_steps,
                   "Steps of the program before it counts as endless")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40))
      ->capture_default_str();
  AddThreadsOption(command, &options->threads);
  command->add_flag("--explain", options->explain,
                    "Explain why each subgraph ended and what would help");
  command
      ->add_flag("--foretell", options->foretell,
                 "List the breaks that the code will cause, without inputs and without a run")
      ->excludes("--out", "--input", "--inputs", "--dynamic", "--cond", "--explain");
  command
      ->add_flag("--check", options->check,
                 "Run the written program, and the archive in LibTorch; exit with 1 if they differ")
      ->excludes("--foretell");
  AddTrustOption(command, &options->trust);
  AddJsonOption(command,
                "out, steps (subgraphs; breaks with place, reason, why and hint; operations on "
                "numbers, without a reason), symbols, relations and same_bits; with --foretell "
                "breaks and always_raises");
  command->callback([options, run] { *run = [options] { return ExtractProgram(*options); }; });
}

}  // namespace graphnet
