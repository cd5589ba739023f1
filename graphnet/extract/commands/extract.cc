#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/command/command.h"
#include "graphnet/command/json.h"
#include "graphnet/command/messages.h"
#include "graphnet/command/options.h"
#include "graphnet/command/progress.h"
#include "graphnet/extract/folder.h"
#include "graphnet/extract/foretold_break.h"
#include "graphnet/extract/report.h"
#include "graphnet/formats/formats.h"
#include "graphnet/run/engine.h"

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
      WriteAside(text);
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

void DeclareExtract(CommandLine& command) {
  auto options = std::make_shared<ExtractFlags>();
  command.AddOption("IN", &options->in, "TorchScript archive").Required();
  AddFolderOption(command, &options->out, "Folder for the subgraphs", ",--output");
  AddInputOption(command, &options->inputs.words);
  AddInputsOption(command, &options->inputs.file);
  command
      .AddOption("--break-on", &options->capture.break_on,
                 "Operators that end a subgraph: nonzero,aten::unique")
      .Delimiter(',');
  command.AddOption("--dynamic", &options->dynamic,
                    "Size that may change, as input, dimension and name: 0:0=batch");
  command.AddFlag("--cond", &options->capture.cond,
                  "Capture branches on values of tensors as torch.cond if possible");
  const std::map<std::string, ExtractFormat> formats = {
      {"protobuf", ExtractFormat::kProtobuf}, {"graphnet", ExtractFormat::kGraphNetFolder}};
  command.AddChoice("--to,--format", &options->format, formats,
                    "Format of the subgraphs (default: protobuf)");
  AddSeedOption(command, &options->seed);
  command
      .AddOption("--max-unroll", &options->capture.max_unroll,
                 "Most iterations of a loop that are captured one by one; a longer loop becomes "
                 "a while_loop if possible")
      .Range(int64_t{1}, int64_t{1} << 40)
      .ShowDefault();
  command
      .AddOption("--max-steps", &options->capture.max_steps,
                 "Steps of the program before it counts as endless")
      .Range(int64_t{1}, int64_t{1} << 40)
      .ShowDefault();
  AddThreadsOption(command, &options->threads);
  command.AddFlag("--explain", &options->explain,
                  "Explain why each subgraph ended and what would help");
  command
      .AddFlag("--foretell", &options->foretell,
               "List the breaks that the code will cause, without inputs and without a run")
      .Excludes("--out", "--input", "--inputs", "--dynamic", "--cond", "--explain");
  command
      .AddFlag("--check", &options->check,
               "Run the written program, and the archive in LibTorch; exit with 1 if they differ")
      .Excludes("--foretell");
  AddTrustOption(command, &options->trust);
  AddJsonOption(command,
                "out, steps (subgraphs; breaks with place, reason, why and hint; operations on "
                "numbers, without a reason), symbols, relations and same_bits; with --foretell "
                "breaks and always_raises");
  command.Run([options] { return ExtractProgram(*options); });
}

const RegisteredCommand kExtract(
    {.name = "extract",
     .help = "Capture the subgraphs of a TorchScript program",
     .group = CommandGroup::kPrograms,
     .declare = DeclareExtract,
     .examples = {
         "graphnet extract samples/detector.pt --input f32[1,3,64,64] --explain -o detector",
         "graphnet extract samples/resnet.pt --input f32[2,3,64,64] --check -o captured"}});

}  // namespace
}  // namespace graphnet
