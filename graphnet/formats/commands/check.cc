#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/status.h"
#include "graphnet/command/batch.h"
#include "graphnet/command/command.h"
#include "graphnet/command/inputs.h"
#include "graphnet/command/json.h"
#include "graphnet/command/options.h"
#include "graphnet/formats/check_forms.h"
#include "graphnet/formats/commands/check_for.h"
#include "graphnet/formats/formats.h"

namespace graphnet {
namespace {

struct CheckFlags : CheckForFlags {
  bool calls = false;
};

struct CheckOutcome : FormsOutcome {
  double seconds = 0;
};

absl::StatusOr<CommandResult> Check(const CheckFlags& options) {
  ASSIGN_OR_RETURN(const std::vector<NamedInput> inputs, FindNamedInputs(options.inputs));
  std::map<std::string, size_t> not_applicable;
  BatchReport made = ReportBatch<CheckOutcome>(
      inputs, options.jobs,
      [&](const NamedInput& input, CheckOutcome* outcome) {
        const auto begin = std::chrono::steady_clock::now();
        absl::Status status = CheckForms(input.path, options.trust, options.calls, outcome);
        const auto end = std::chrono::steady_clock::now();
        outcome->seconds = std::chrono::duration<double>(end - begin).count();
        return status;
      },
      [&](size_t, const absl::Status& status, const CheckOutcome& outcome, Report* sample) {
        sample->Add("passed", status.ok());
        sample->Add("num_nodes", outcome.nodes);
        sample->Add("seconds", outcome.seconds);
        if (outcome.folder_na.empty()) return;
        sample->Add("no_folder", outcome.folder_na);
        // Reasons are counted without the node that they begin with.
        const size_t colon = outcome.folder_na.rfind(": ");
        ++not_applicable[outcome.folder_na.substr(colon == std::string::npos ? 0 : colon + 2)];
      });
  for (const auto& [reason, times] : not_applicable)
    made.report.Say(absl::StrCat("folder form n/a for ", times, ": ", reason));
  made.report.Say(CountLine(made.count));
  return std::move(made).Checked();
}

void DeclareCheck(CommandLine& command) {
  auto options = std::make_shared<CheckFlags>();
  AddInputList(command, &options->inputs);
  AddJobsOption(command, &options->jobs);
  command.AddFlag("--calls", &options->calls,
                  "Also check that PyTorch has every call with these arguments");
  command
      .AddOption(
          "--for", &options->targets,
          absl::StrCat(
              "List instead the calls that the TARGETs, separated by commas, lack to write or ",
              "compile each sample, without running it: ", absl::StrJoin(NamesOfTargets(), ", ")))
      .TypeName("TARGET")
      .Delimiter(',')
      .Excludes("--calls");
  AddJsonOption(command,
                "samples with path, passed, num_nodes, seconds, and no_folder, the reason why a "
                "folder cannot hold it; with --for path and targets, which by name have works and "
                "missing: target, count and reason");
  AddTrustOption(command, &options->trust);
  command.Run([options]() -> absl::StatusOr<CommandResult> {
    if (options->targets.empty()) return Check(*options);
    return CheckFor(*options);
  });
}

const RegisteredCommand kCheck({.name = "check",
                                .help = "Import and verify each input, and convert it to text, "
                                        "protobuf and a GraphNet folder and back",
                                .group = CommandGroup::kCheck,
                                .declare = DeclareCheck,
                                .examples = {"graphnet check samples",
                                             "graphnet check samples/resnet.pt --calls"}});

}  // namespace
}  // namespace graphnet
