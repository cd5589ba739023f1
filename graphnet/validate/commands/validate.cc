#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/command/batch.h"
#include "graphnet/command/command.h"
#include "graphnet/command/json.h"
#include "graphnet/command/options.h"
#include "graphnet/command/progress.h"
#include "graphnet/decompose/folder.h"
#include "graphnet/formats/formats.h"
#include "graphnet/run/engine.h"
#include "graphnet/validate/folder.h"

namespace graphnet {
namespace {

struct ValidateFlags {
  std::string original;
  std::string decomposed;
  std::string config;
  std::string plot;
  InputOptions inputs;
  bool run = false;
  bool trust = false;
  uint64_t seed = 0;
  int jobs = 0;
  int threads = 0;
};

absl::StatusOr<ValidationReport> ValidateOne(const std::string& path, const std::string& decomposed,
                                             const ValidateFlags& options) {
  LoadOptions load;
  load.trust = options.trust;
  load.weights = true;
  load.statistics = true;  // as when the sample was cut
  ASSIGN_OR_RETURN(Sample original, Load(path, load));
  if (!FileExists(decomposed)) {
    return absl::NotFoundError(
        absl::StrCat(Printable(decomposed, 1000), ": no pieces, the folder does not exist"));
  }
  FolderValidationOptions folder;
  folder.config_file = options.config;
  folder.weights = true;
  ASSIGN_OR_RETURN(FolderValidation validation,
                   ValidateFolder(std::move(original), decomposed, folder));
  if (options.run) {
    ASSIGN_OR_RETURN(const Engine* engine, OpenEngine());
    engine->SetNumThreads(options.threads);
    RETURN_IF_ERROR(GiveInputs(options.inputs, options.seed, &validation.original));
    RETURN_IF_ERROR(Annotate(
        engine->ValidateNumbers(validation.original, validation.pieces,
                                validation.options.cut.style, options.seed, &validation.report),
        absl::StrCat("the original does not run: ", Printable(path, 1000))));
  }
  return std::move(validation.report);
}

// Returns the folder of the pieces of one of many samples: its path below DECOMPOSED, in the layout
// of `graphnet decompose` or of GraphNet in Python; by default beside the sample.
std::string DecomposedOf(const std::string& path, const ValidateFlags& options) {
  if (options.decomposed.empty()) return DecomposedPath(WithoutEnding(path));
  const std::string folder = PathBelow(options.decomposed, options.original, path);
  const std::string decomposed = DecomposedPath(WithoutEnding(folder));
  return FileExists(decomposed) ? decomposed : folder;
}

absl::StatusOr<CommandResult> ValidateAll(const std::vector<NamedInput>& inputs,
                                          const ValidateFlags& options) {
  if (!options.plot.empty() || !options.config.empty() || !options.inputs.file.empty() ||
      !options.inputs.words.empty()) {
    return absl::InvalidArgumentError(
        "--plot, --config, --input and --inputs are for one sample, not for a folder of them");
  }
  size_t invalid = 0;
  size_t unknown = 0;
  int64_t pieces = 0;
  int64_t operators = 0;
  std::map<absl::string_view, size_t> classes;
  std::vector<Report> samples(WantsJson() ? inputs.size() : 0);
  const BatchCount count = RunBatch<ValidationReport>(
      inputs, options.jobs,
      [&](const NamedInput& input, ValidationReport* report) -> absl::Status {
        ASSIGN_OR_RETURN(*report,
                         ValidateOne(input.path, DecomposedOf(input.path, options), options));
        return report->status();
      },
      [&](size_t i, const absl::Status& status, const ValidationReport& report) {
        // Invalid pieces are a finding, not an error of this command.
        const bool is_known = status.ok() || !report.ok();
        if (WantsJson()) {
          samples[i] = SampleReport(inputs[i].path, is_known ? absl::OkStatus() : status);
          if (is_known) samples[i].Append(ReportOf(report));
        }
        invalid += report.ok() ? 0 : 1;
        unknown += is_known ? 0 : 1;
        if (!report.ok()) ++classes[ErrorClassName(report.findings[0].error)];
        if (status.ok()) {
          pieces += static_cast<int64_t>(report.piece_operators.size());
          operators += report.original_operators;
        }
        return "";
      });
  Report made = SamplesReport(std::move(samples), count.failed);
  Table table = {{"", "samples"},       {"", "valid"},  {"", "invalid"},
                 {"", "not validated"}, {"", "pieces"}, {"", "operators"}};
  table.Add({count.done, count.done - count.failed, invalid, unknown, pieces, operators});
  made.Add("", std::move(table));
  for (const auto& [name, times] : classes) made.Say(absl::StrCat("invalid ", times, ": ", name));
  return CommandResult(std::move(made), unknown > 0 ? 2 : invalid > 0 ? 1 : 0);
}

absl::StatusOr<CommandResult> Run(const ValidateFlags& options) {
  ASSIGN_OR_RETURN(std::vector<NamedInput> inputs,
                   FindNamedInputs(std::vector<std::string>{options.original}));
  if (IsFolderOfSamples(options.original)) {
    // Pieces that lie beside their samples are not samples to validate.
    std::erase_if(inputs, [](const NamedInput& input) {
      return absl::StrContains(input.path, "_decomposed/");
    });
    return ValidateAll(inputs, options);
  }
  const std::string decomposed = options.decomposed.empty()
                                     ? DecomposedPath(WithoutEnding(options.original))
                                     : options.decomposed;
  Progress progress("validating");
  ASSIGN_OR_RETURN(const ValidationReport report,
                   ValidateOne(options.original, decomposed, options));
  progress.End();
  if (!options.plot.empty()) {
    const std::string title =
        absl::StrCat(BaseName(options.original), ": composed pieces against the original");
    RETURN_IF_ERROR(WriteFileAtomic(options.plot, ScoreLineSvg(title, *report.numeric)));
  }
  const int code = report.ok() ? 0 : 1;
  return CommandResult(SamplesReport(options.original, ReportOf(report), code), code);
}

void DeclareValidate(CommandLine& command) {
  auto options = std::make_shared<ValidateFlags>();
  command.AddOption("ORIGINAL", &options->original, "Sample that was cut, or a folder of samples")
      .Required();
  command.AddOption("DECOMPOSED", &options->decomposed,
                    "Folder of its pieces (default: ORIGINAL with _decomposed appended); for a "
                    "folder of samples, the folder with the pieces of all");
  command
      .AddOption("--config", &options->config,
                 "Configuration file, if it is not the one beside the pieces")
      .TypeName("FILE");
  const Option run_option = command.AddFlag(
      "--run", &options->run, "Run the pieces and the original and compare the results bit by bit");
  AddJsonOption(
      command,
      "samples with path, valid, findings (class, piece, where, message), notes, read_as_equal "
      "(what, original, pieces, times) and numeric");
  command.AddOption("--plot", &options->plot, "With --run: draw ES(t) into this file (SVG)")
      .TypeName("FILE")
      .Needs(run_option);
  AddInputOption(command, &options->inputs.words).Needs(run_option);
  AddInputsOption(command, &options->inputs.file).Needs(run_option);
  AddSeedOption(command, &options->seed).Needs(run_option);
  AddThreadsOption(command, &options->threads).Needs(run_option);
  AddJobsOption(command, &options->jobs);
  AddTrustOption(command, &options->trust);
  AddDrawWeightsOption(command);
  command.Run([options] { return Run(*options); });
}

const RegisteredCommand kValidate(
    {.name = "validate",
     .help = "Prove that the pieces of a sample make up the whole",
     .group = CommandGroup::kCut,
     .declare = DeclareValidate,
     .examples = {"graphnet decompose samples/resnet.pb --pieces 4 -o layers && "
                  "graphnet validate samples/resnet.pb layers --run"}});

}  // namespace
}  // namespace graphnet
