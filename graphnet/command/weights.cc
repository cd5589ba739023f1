#include "graphnet/command/weights.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/command/batch.h"
#include "graphnet/command/json.h"
#include "graphnet/command/options.h"
#include "graphnet/formats/missing_values.h"

namespace graphnet {

Option AddWeightsOptions(CommandLine& command, WeightsOptions* options) {
  const Option file =
      command
          .AddOption(
              "--weights", &options->file,
              "Checkpoint whose values the parameters and buffers get, by name: safetensors, "
              "their index, a state_dict of torch.save, or a program; FILE#NAME takes what is "
              "below NAME")
          .TypeName("FILE")
          .Group(kInputGroup);
  command
      .AddFlag("--cast-weights", &options->put.casts,
               "With --weights: convert floats to the dtype that the program has")
      .Group(kInputGroup)
      .Needs(file);
  command
      .AddFlag(
          "--partial", &options->put.is_partial,
          "With --weights: keep what the program has where the checkpoint lacks a weight, or has "
          "it in another shape, which is refused otherwise")
      .Group(kInputGroup)
      .Needs(file);
  return file;
}

absl::StatusOr<Sample> LoadWithWeights(const std::string& path, LoadOptions load,
                                       WeightsOptions& options, Report* report) {
  if (options.file.empty()) return Load(path, load);
  {
    const std::lock_guard lock(options.mutex);
    if (options.read == nullptr)
      options.read = std::make_unique<absl::StatusOr<Checkpoint>>(ReadCheckpoint(options.file));
  }
  RETURN_IF_ERROR(Annotate(options.read->status(), "--weights"));
  // The values that the program lacks may be those of the checkpoint.
  load.missing = MissingValues::kDrawn;
  load.values_if_there |= !load.weights;
  ASSIGN_OR_RETURN(Sample sample, Load(path, load));
  const absl::StatusOr<PutWeights> put = PutInto(**options.read, options.put, &sample);
  RETURN_IF_ERROR(Annotate(put.status(), "--weights"));
  report->Add("weights", put->AsReport());
  const std::string refusal = put->Refusal();
  if (!refusal.empty()) return absl::FailedPreconditionError(absl::StrCat("--weights ", refusal));
  return sample;
}

CommandResult RefusedWeights(const std::string& path, const absl::Status& status, Report weights) {
  std::string failure = WantsJson() ? "" : FailLine(path, status) + "\n";
  Report sample = SampleReport(path, status);
  sample.Append(std::move(weights));
  return CommandResult(SamplesReport({std::move(sample)}, /*failed=*/1), 1, std::move(failure));
}

}  // namespace graphnet
