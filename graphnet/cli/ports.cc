#include "graphnet/cli/ports.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/inputs.h"
#include "graphnet/cli/options.h"
#include "graphnet/interp/observe.h"

namespace graphnet {

void AddPortOptions(CLI::App* command, PortOptions* options) {
  AddInputOption(command, &options->inputs);
  const std::map<std::string, PortFacts> facts = {{"none", PortFacts::kNone},
                                                  {"shapes", PortFacts::kShapes},
                                                  {"stats", PortFacts::kStatistics}};
  AddChoiceOption(command, "--ports", &options->facts, facts,
                  "What pieces say of values from inside the graph: none: what the sample says; "
                  "shapes (default): their shapes, inferred; stats: also mean, std, min and max, "
                  "measured in a run");
  command->add_option("--seed", options->seed, "Of drawn inputs, for --ports");
}

absl::StatusOr<PortValues> FindPortValues(const PortOptions& options, Sample* sample) {
  PortValues found;
  absl::Status status = GiveInputs({.words = options.inputs}, options.seed, sample);
  if (options.facts == PortFacts::kStatistics) {
    RETURN_IF_ERROR(status);
    RETURN_IF_ERROR(MeasureValues(
        *sample, {.seed = options.seed, .max_bytes = AvailableMemoryBytes() / 2}, &found.values));
    return found;
  }
  // A word that does not fit is an error; that nothing is known of an input is none.
  if (!status.ok() && !options.inputs.empty()) return status;
  if (options.facts == PortFacts::kNone) return found;
  if (status.ok()) status = InferValues(*sample, &found.values);
  if (!status.ok())
    found.why_not = absl::StrCat("shapes of what pieces take are not known: ", status.message());
  return found;
}

}  // namespace graphnet
