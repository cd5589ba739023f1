#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/command/batch.h"
#include "graphnet/command/command.h"
#include "graphnet/command/inputs.h"
#include "graphnet/command/json.h"
#include "graphnet/command/options.h"
#include "graphnet/command/save.h"
#include "graphnet/command/weights.h"
#include "graphnet/formats/commands/convert_paddle.h"
#include "graphnet/formats/find_values.h"
#include "graphnet/formats/formats.h"
#include "graphnet/interp/inputs/example_input.h"
#include "graphnet/interp/inputs/weights.h"
#include "graphnet/ir/lift_attributes.h"
#include "graphnet/ir/verifier.h"

namespace graphnet {
namespace {

struct ConvertFlags : PaddleFlags {
  Output out;
  InputOptions inputs;
  std::shared_ptr<WeightsOptions> weights = std::make_shared<WeightsOptions>();
  bool lift = false;
  bool strip = false;
  bool resume = false;
};

// Says what became of a sample.
struct ConvertOutcome {
  Losses lost;
  Report weights;
  bool was_there = false;
};

absl::Status ConvertOne(const std::string& path, const Output& out, const ConvertFlags& options,
                        ConvertOutcome* outcome) {
  RETURN_IF_ERROR(CheckOutput(out));
  const bool is_archive = out.is("pt2") || out.is("torchscript") || out.is("onnx");
  if (options.strip && is_archive) {
    return absl::InvalidArgumentError(absl::StrCat("--strip-weights: a file of ",
                                                   EndingOf(out.format()),
                                                   " holds its weights; .pb needs none"));
  }
  if (out.embeds_weights && !out.is("protobuf") && !is_archive) {
    return absl::InvalidArgumentError(
        "--embed-weights: a protobuf can hold them, and .pt, .pt2 and .onnx always do");
  }
  const bool weights = out.keeps_weights() && !options.strip;
  ASSIGN_OR_RETURN(Sample sample, LoadWithWeights(path,
                                                  {.trust = options.trust,
                                                   .weights = weights,
                                                   .values_if_there = !weights,
                                                   .missing = MissingValues::kIfStated,
                                                   .statistics = options.lift || !weights},
                                                  *options.weights, &outcome->weights));
  if (options.strip) sample.weights.clear();
  if (weights) {
    ASSIGN_OR_RETURN(const size_t drawn, DrawLacking(&sample));
    if (drawn > 0) outcome->weights.Add("drawn_weights", drawn);
    if (drawn > 0) outcome->weights.Say(absl::StrCat(drawn, " weights are drawn"));
  }
  RETURN_IF_ERROR(DescribeAll(options.inputs, /*seed=*/0, &sample));
  if (options.lift) {
    const std::map<std::string, const TensorMeta*> before = NamedMetas(*sample.module);
    std::map<std::string, std::string> renamed;
    RETURN_IF_ERROR(LiftAttributes(sample.module.get(), &renamed).status());
    RETURN_IF_ERROR(FollowGraph(renamed, before, &sample));
    RETURN_IF_ERROR(Verify(*sample.module));
  }
  return SaveSample(sample, out, &outcome->lost);
}

// Adds where a sample was written, and what was lost.
void Tell(const Output& out, const ConvertOutcome& outcome, Report* sample) {
  sample->Add("out", out.path);
  outcome.lost.AddTo(sample);
}

absl::StatusOr<CommandResult> Convert(const ConvertFlags& options) {
  RETURN_IF_ERROR(CheckOutput(options.out));
  if (options.out.to == "paddle") {
    if (options.resume)
      return absl::InvalidArgumentError("--resume: a conversion to Paddle reports on all samples");
    if (!options.weights->file.empty())
      return absl::InvalidArgumentError("--weights: a sample of Paddle holds no values");
    return ConvertToPaddle(options, options.out);
  }
  if (!options.report.empty()) return absl::InvalidArgumentError("--report is for --to paddle");
  if (!options.paddle_python.empty())
    return absl::InvalidArgumentError("--paddle-python is for --to paddle");
  // If the output is a file, IN must be one sample; loading it tells what a folder is instead.
  const bool to_file = options.out.to.empty() && !options.out.format().is_folder;
  const InputList& given = options.samples;
  if (IsOneSample(given) || (to_file && given.list.empty() && given.in.size() == 1)) {
    const std::string& path = given.in[0];
    ConvertOutcome outcome;
    const absl::Status status = ConvertOne(path, options.out, options, &outcome);
    if (absl::IsFailedPrecondition(status) && !outcome.weights.ToJson().members().empty())
      return RefusedWeights(path, status, std::move(outcome.weights));
    RETURN_IF_ERROR(status);
    Report sample;
    Tell(options.out, outcome, &sample);
    sample.Append(std::move(outcome.weights));
    return CommandResult(SamplesReport(path, std::move(sample)), 0,
                         LossNote(outcome.lost, options.out));
  }
  if (options.out.to.empty() && !to_file)
    return absl::InvalidArgumentError("several samples need --to, the format of all outputs");
  ASSIGN_OR_RETURN(const std::vector<NamedInput> inputs, FindNamedInputs(given));
  ASSIGN_OR_RETURN(const auto outputs, OutputsOf(inputs, options.out));
  Losses lost;
  size_t there = 0;
  BatchReport made = ReportBatch<ConvertOutcome>(
      inputs, options.jobs,
      [&](const NamedInput& input, ConvertOutcome* outcome) -> absl::Status {
        const Output& out = outputs.at(input.path);
        outcome->was_there = options.resume && IsThere(out);
        if (outcome->was_there) return absl::OkStatus();
        return ConvertOne(input.path, out, options, outcome);
      },
      [&](size_t i, const absl::Status& status, ConvertOutcome& outcome, Report* sample) {
        lost.Add(outcome.lost);
        there += outcome.was_there ? 1 : 0;
        if (status.ok()) Tell(outputs.at(inputs[i].path), outcome, sample);
        sample->Append(std::move(outcome.weights));
        if (outcome.was_there) sample->Add("there", true);
      });
  made.report.Say(CountLine(made.count, there));
  made.aside += LossNote(lost, options.out);
  return std::move(made).Converted();
}

void DeclareConvert(CommandLine& command) {
  auto options = std::make_shared<ConvertFlags>();
  AddInputList(command, &options->samples, /*last_is_out=*/true);
  AddOutputOptions(command, &options->out, "",
                   absl::StrCat(TargetsHelp(), "; without -o, the last IN names it"))
      .Required();
  AddResumeOption(command, &options->resume);
  AddJobsOption(command, &options->jobs);
  AddTrustOption(command, &options->trust);
  AddDrawWeightsOption(command);
  AddWeightsOptions(command, options->weights.get());
  AddInputOptions(command, &options->inputs);
  command
      .AddOption("--report", &options->report,
                 "With --to paddle: file for the results of all samples, as JSON")
      .TypeName("FILE");
  command
      .AddOption("--paddle-python", &options->paddle_python,
                 "With --to paddle: run each written sample once with the Python of this virtual "
                 "environment, which must have Paddle; this trusts the code of the samples")
      .TypeName("ENV");
  command
      .AddOption("--timeout", &options->timeout_s,
                 "With --paddle-python: time limit for each sample, in seconds (default: 300)")
      .Positive()
      .TypeName("SECONDS");
  command.AddFlag("--lift", &options->lift, "Turn parameters and buffers into inputs of the graph");
  const Option strip = command.AddFlag(
      "--strip-weights", &options->strip,
      "Write the program without the values of parameters and buffers, but with their draw specs");
  command
      .AddFlag("--embed-weights", &options->out.embeds_weights,
               "Write the values of parameters and buffers into the protobuf, not beside it; up "
               "to 2 GiB")
      .Excludes(strip);
  AddJsonOption(
      command,
      absl::StrCat("samples with path, out, lost, counts of what the format cannot hold, there, if "
                   "--resume left it out, and ",
                   kWeightsMember));
  command.Run([options] { return Convert(*options); });
}

const RegisteredCommand kConvert({.name = "convert",
                                  .help = "Convert samples to another format",
                                  .group = CommandGroup::kChange,
                                  .declare = DeclareConvert,
                                  .examples = {"graphnet convert samples/resnet.pt resnet18",
                                               "graphnet convert samples/vit.pt vit.pt2",
                                               "graphnet convert samples/*.pb -o text --to text",
                                               "graphnet convert samples/unet.pb unet.mlir"}});

}  // namespace
}  // namespace graphnet
