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
#include "graphnet/formats/formats.h"
#include "graphnet/identity/commands/identity.h"
#include "graphnet/ir/canonical_hash.h"

namespace graphnet {
namespace {

struct HashFlags {
  InputList samples;
  InputOptions inputs;
  Output out;
  bool normal_form = false;
  bool metas = false;
  bool weights = false;
  int jobs = 0;
  bool trust = false;
};

struct Hashed {
  std::string hash;
  size_t nodes = 0;
};

absl::StatusOr<Hashed> HashOne(const std::string& path, const HashFlags& options) {
  const bool writes = !options.out.path.empty();
  ASSIGN_OR_RETURN(const Sample sample,
                   LoadForIdentity(path, {.inputs = options.inputs,
                                          .normal_form = options.normal_form,
                                          .trust = options.trust,
                                          .weights = options.weights ||
                                                     (writes && options.out.keeps_weights())}));
  if (writes) RETURN_IF_ERROR(SaveSample(sample, options.out));
  const CanonicalHashOptions hash = {.metas = options.metas,
                                     .weights = options.weights ? &sample.weights : nullptr};
  return Hashed{CanonicalHash(*sample.module, hash), sample.module->num_nodes()};
}

absl::StatusOr<CommandResult> Hash(const HashFlags& options) {
  ASSIGN_OR_RETURN(const std::vector<NamedInput> inputs, FindNamedInputs(options.samples));
  if (options.weights && options.normal_form) {
    // The values in a normal form have other names.
    return absl::InvalidArgumentError("--weights cannot be combined with --normal-form");
  }
  if (!options.out.path.empty()) {
    if (!options.normal_form) return absl::InvalidArgumentError("--out needs --normal-form");
    if (inputs.size() != 1) return absl::InvalidArgumentError("--out is for one sample");
    RETURN_IF_ERROR(CheckOutput(options.out));
  }
  std::string beside;  // what the standard output has no room for
  BatchReport made = ReportBatch<Hashed>(
      inputs, options.jobs,
      [&](const NamedInput& input, Hashed* result) -> absl::Status {
        ASSIGN_OR_RETURN(*result, HashOne(input.path, options));
        return absl::OkStatus();
      },
      [&](size_t i, const absl::Status& status, const Hashed& result, Report* sample) {
        if (!status.ok()) return;
        sample->Add("hash", result.hash);
        sample->Add("num_nodes", result.nodes);
        std::string line = absl::StrCat(result.hash, "  ", Printable(inputs[i].path, 1000));
        if (options.out.path == "-") {
          beside = std::move(line);
        } else {
          sample->Say(line);
        }
      });
  if (!beside.empty()) made.report.Say(beside);
  return std::move(made).Converted();
}

void DeclareHash(CommandLine& command) {
  auto options = std::make_shared<HashFlags>();
  AddInputList(command, &options->samples);
  command.AddFlag("--normal-form", &options->normal_form,
                  "Hash what the graph computes, not how it is written: docs/hash.md");
  command.AddFlag("--metas", &options->metas, "Include shapes, dtypes and devices");
  command.AddFlag("--weights", &options->weights,
                  "Include the values of parameters, buffers and inputs that a sample has");
  AddInputOptions(command, &options->inputs);
  AddOutputOptions(command, &options->out, "", "Output for the normal form; needs --normal-form");
  AddJobsOption(command, &options->jobs);
  AddTrustOption(command, &options->trust);
  AddDrawWeightsOption(command);
  AddJsonOption(command, "samples with path, hash and num_nodes");
  command.Run([options] { return Hash(*options); });
}

const RegisteredCommand kHash(
    {.name = "hash",
     .help = "Print a hash of each graph, which is the same for equal graphs",
     .group = CommandGroup::kLook,
     .declare = DeclareHash,
     .examples = {"graphnet hash samples | sort",
                  "graphnet hash samples/vit.pt samples/vit.pb --normal-form"}});

}  // namespace
}  // namespace graphnet
