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
#include "absl/strings/str_split.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/command.h"
#include "graphnet/cli/engine.h"
#include "graphnet/cli/inputs.h"
#include "graphnet/cli/json.h"
#include "graphnet/cli/messages.h"
#include "graphnet/cli/options.h"
#include "graphnet/cli/progress.h"
#include "graphnet/cli/table.h"
#include "graphnet/cli/terminal.h"
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
  bool json = false;
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

void PrintSymbols(const StitchManifest& manifest) {
  for (const auto& symbol : manifest.symbols) {
    std::printf("dynamic %s: %lld in the example\n", Printable(symbol.name).c_str(),
                static_cast<long long>(symbol.example));
  }
  for (const auto& relation : manifest.relations) {
    std::string place;
    if (relation.line > 0)
      place = absl::StrCat("  ", Printable(relation.file, 100), ":", relation.line);
    std::printf("  requires %s%s%s\n", Printable(relation.text).c_str(),
                absl::StrContains(relation.text, " == ") ? " (specialised)" : "", place.c_str());
  }
}

std::string PlaceOf(const StitchStep& step) {
  return step.line == 0 ? "" : absl::StrCat(Printable(step.file, 100), ":", step.line);
}

void PrintSubgraphs(const StitchManifest& manifest) {
  std::vector<TableRow> rows = {{"subgraph", "calls", "inputs", "outputs", "ended by"}};
  for (size_t i = 0; i < manifest.steps.size(); ++i) {
    const StitchStep& step = manifest.steps[i];
    if (step.subgraph < 0) continue;
    const StitchManifest::Subgraph& subgraph =
        manifest.subgraphs[static_cast<size_t>(step.subgraph)];
    std::string end(TextOf(BreakReason::kNone).name);
    if (i + 1 < manifest.steps.size()) {
      const StitchStep& next = manifest.steps[i + 1];
      end = absl::StrCat(TextOf(next.reason).name, " (", next.op, ") ", PlaceOf(next));
    }
    if (subgraph.duplicate_of >= 0)
      absl::StrAppend(&end, ", the same as subgraph_", subgraph.duplicate_of);
    rows.push_back({subgraph.name, absl::StrCat(subgraph.num_calls),
                    absl::StrCat(step.inputs.size()), absl::StrCat(step.outputs.size()), end});
  }
  PrintTable(rows, /*last_is_text=*/true);
}

void PrintReason(BreakReason reason) {
  const BreakReasonText& text = TextOf(reason);
  std::printf("  why: %s\n  hint: %s\n", std::string(text.explanation).c_str(),
              std::string(text.hint).c_str());
}

void Explain(const StitchManifest& manifest) {
  int64_t before = 0;
  for (size_t i = 0; i < manifest.steps.size(); ++i) {
    const StitchStep& step = manifest.steps[i];
    if (step.subgraph >= 0) {
      before = manifest.subgraphs[static_cast<size_t>(step.subgraph)].num_calls;
      continue;
    }
    if (step.reason == BreakReason::kNone) continue;  // an operation on numbers
    const BreakReasonText& text = TextOf(step.reason);
    std::string operands;
    for (const ValueTree& operand : step.operands) {
      absl::StrAppend(&operands, operands.empty() ? "" : ", ", PrintValueTree(operand));
    }
    std::printf("\n%s: %s(%s)\n", std::string(text.name).c_str(), Printable(step.op).c_str(),
                Printable(operands, 300).c_str());
    if (step.line > 0)
      std::printf("  at %s:%lld:%lld\n", Printable(step.file, 300).c_str(),
                  static_cast<long long>(step.line), static_cast<long long>(step.column));
    if (!step.source.empty()) std::printf("  > %s\n", Printable(step.source).c_str());
    PrintReason(step.reason);
    int64_t after = 0;
    for (size_t k = i + 1; k < manifest.steps.size() && after == 0; ++k) {
      if (manifest.steps[k].subgraph >= 0) {
        after = manifest.subgraphs[static_cast<size_t>(manifest.steps[k].subgraph)].num_calls;
      }
    }
    if (before > 0 && after > 0) {
      std::printf("  without it: one subgraph of %lld calls instead of %lld and %lld\n",
                  static_cast<long long>(before + after), static_cast<long long>(before),
                  static_cast<long long>(after));
    }
  }
}

void AddPlace(const SourcePlace& place, Json* json) {
  if (place.line > 0) {
    (*json)["file"] = place.file;
    (*json)["line"] = place.line;
    (*json)["column"] = place.column;
  }
  if (!place.source.empty()) (*json)["source"] = place.source;
}

Json BreakJson(BreakReason reason, const std::string& op, const SourcePlace& place) {
  Json json;
  if (reason != BreakReason::kNone) json["reason"] = TextOf(reason).name;
  json["op"] = op;
  if (reason != BreakReason::kNone) {
    json["why"] = TextOf(reason).explanation;
    json["hint"] = TextOf(reason).hint;
  }
  AddPlace(place, &json);
  return json;
}

Json StepJson(const StitchStep& step) {
  return BreakJson(step.reason, step.op, {step.file, step.line, step.column, step.source});
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

std::string TextOf(const SourcePlace& place) {
  return place.line == 0
             ? "an unknown line"
             : absl::StrCat(Printable(place.file, 300), ":", place.line, ":", place.column);
}

void PrintForetold(const ForetoldBreaks& foretold) {
  size_t always = 0;
  for (const ForetoldBreak& told : foretold.breaks) {
    always += told.conditions.empty() ? 1 : 0;
    std::printf("%s: %s, %s\n", std::string(TextOf(told.reason).name).c_str(),
                Printable(told.op).c_str(),
                told.conditions.empty() ? "always" : "where a branch is taken");
    std::printf("  at %s\n", TextOf(told.place).c_str());
    if (!told.place.source.empty()) std::printf("  > %s\n", told.place.source.c_str());
    for (const BreakCondition& condition : told.conditions) {
      std::printf("  where: %s, at %s\n", TextOf(condition).c_str(),
                  TextOf(condition.place).c_str());
    }
    PrintReason(told.reason);
    std::printf("\n");
  }
  std::printf("%zu breaks always, %zu where a branch is taken; nothing was run\n", always,
              foretold.breaks.size() - always);
  if (foretold.always_raises) std::printf("no run gets to the end: an error ends each\n");
}

Json ForetoldJson(const ForetoldBreaks& foretold) {
  Json document;
  Json& breaks = document["breaks"] = Json::List();
  for (const ForetoldBreak& told : foretold.breaks) {
    Json json = BreakJson(told.reason, told.op, told.place);
    json["always"] = told.conditions.empty();
    Json& where = json["where"] = Json::List();
    for (const BreakCondition& condition : told.conditions) {
      Json row;
      row["what"] = TextOf(condition);
      row["on_data"] = condition.on_data;
      AddPlace(condition.place, &row);
      where.push_back(std::move(row));
    }
    breaks.push_back(std::move(json));
  }
  document["always_raises"] = foretold.always_raises;
  return document;
}

// Returns the steps in order: subgraphs and the operations between them.
Json ExtractedJson(const StitchManifest& manifest, const std::string& out) {
  Json document;
  document["out"] = out;
  Json& steps = document["steps"] = Json::List();
  for (const StitchStep& step : manifest.steps) {
    if (step.subgraph < 0) {
      steps.push_back(StepJson(step));
      continue;
    }
    const StitchManifest::Subgraph& subgraph =
        manifest.subgraphs[static_cast<size_t>(step.subgraph)];
    Json json;
    json["subgraph"] = subgraph.name;
    json["num_calls"] = subgraph.num_calls;
    json["num_inputs"] = step.inputs.size();
    json["num_outputs"] = step.outputs.size();
    json["hash"] = subgraph.hash;
    if (subgraph.duplicate_of >= 0)
      json["duplicate_of"] = absl::StrCat("subgraph_", subgraph.duplicate_of);
    steps.push_back(std::move(json));
  }
  Json& symbols = document["symbols"] = Json::List();
  for (const auto& symbol : manifest.symbols) {
    Json json;
    json["name"] = symbol.name;
    json["example"] = symbol.example;
    symbols.push_back(std::move(json));
  }
  Json& relations = document["relations"] = Json::List();
  for (const auto& relation : manifest.relations) {
    Json json;
    json["requires"] = relation.text;
    if (relation.line > 0) {
      json["file"] = relation.file;
      json["line"] = relation.line;
    }
    relations.push_back(std::move(json));
  }
  return document;
}

void PrintTotals(const StitchManifest& manifest) {
  size_t operations = 0;
  size_t on_numbers = 0;
  size_t duplicates = 0;
  int64_t calls = 0;
  for (const StitchStep& step : manifest.steps) {
    if (step.subgraph < 0) ++(step.reason == BreakReason::kNone ? on_numbers : operations);
  }
  for (const auto& subgraph : manifest.subgraphs) {
    duplicates += subgraph.duplicate_of >= 0 ? 1 : 0;
    calls += subgraph.num_calls;
  }
  std::printf(
      "%zu subgraphs of %lld calls, %zu of them duplicates; %zu operations between them%s\n",
      manifest.subgraphs.size(), static_cast<long long>(calls), duplicates, operations,
      on_numbers > 0 ? absl::StrCat(", ", on_numbers, " on numbers").c_str() : "");
}

std::string Stem(const std::string& path) {
  std::string name = BaseName(path);
  if (const size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0) name.resize(dot);
  return name;
}

absl::StatusOr<int> ExtractProgram(const ExtractFlags& options) {
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
    if (options.json) {
      PrintJson(ForetoldJson(*foretold));
    } else {
      PrintForetold(*foretold);
    }
    return 0;
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
    if (options.json) {
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
  Json document;
  if (options.json) {
    document = ExtractedJson(manifest, options.out);
  } else {
    PrintSubgraphs(manifest);
    PrintSymbols(manifest);
    if (options.explain) Explain(manifest);
    PrintTotals(manifest);
  }
  if (!captured->status.ok()) return Annotate(captured->status, Printable(options.in, 1000));
  TorchScriptProgram::Compared compared;
  if (options.check) {
    const Progress checking("checking");
    ASSIGN_OR_RETURN(compared, opened->CompareWithLibTorch(options.out));
  }
  const std::string& difference = compared.difference;
  if (options.json) {
    if (options.check) document["same_bits"] = difference.empty();
    if (!difference.empty()) document["difference"] = difference;
    if (!compared.blind.empty()) document["blind"] = compared.blind;
    PrintJson(document);
  } else if (!difference.empty()) {
    std::printf("the stitched program yields %s: %s\n", Red("SOMETHING ELSE").c_str(),
                difference.c_str());
  } else if (options.check) {
    std::printf("the stitched program yields the same bits as LibTorch\n");
    if (!compared.blind.empty())
      PrintNote(absl::StrCat("the comparison is blind: ", compared.blind), stdout);
  }
  return difference.empty() ? 0 : 1;
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
  AddJsonOption(command, &options->json,
                "out, steps (subgraphs; breaks with place, reason, why and hint; operations on "
                "numbers, without a reason), symbols, relations and same_bits; with --foretell "
                "breaks and always_raises");
  command->callback([options, run] { *run = [options] { return ExtractProgram(*options); }; });
}

}  // namespace graphnet
