#include "graphnet/decompose/commands/ports.h"

#include <map>
#include <string>

#include "graphnet/base/memory.h"
#include "graphnet/base/status.h"
#include "graphnet/command/options.h"
#include "graphnet/run/engine.h"

namespace graphnet {

void AddPortOptions(CommandLine& command, PortOptions* options) {
  AddInputOptions(command, &options->inputs);
  const std::map<std::string, PortFacts> facts = {{"none", PortFacts::kNone},
                                                  {"shapes", PortFacts::kShapes},
                                                  {"stats", PortFacts::kStatistics}};
  command.AddChoice(
      "--ports", &options->facts, facts,
      "Facts that pieces state about values from inside the graph: none: only those of "
      "the sample; shapes (default): also inferred shapes; stats: also mean, std, min "
      "and max, measured in a run");
  command.AddOption("--seed", &options->seed, "Seed of the drawn inputs, for --ports");
}

absl::StatusOr<PortValues> FindPortValues(const PortOptions& options, Sample* sample) {
  PortValues found;
  absl::Status status = GiveInputs(options.inputs, options.seed, sample);
  if (options.facts == PortFacts::kStatistics) {
    RETURN_IF_ERROR(status);
    ASSIGN_OR_RETURN(const Engine* engine, OpenEngine());
    RETURN_IF_ERROR(engine->MeasureValues(
        *sample, {.seed = options.seed, .max_bytes = AvailableMemoryBytes() / 2}, &found.values));
    return found;
  }
  // A word that does not fit is an error; an input without a description is not.
  if (!status.ok() && !(options.inputs.words.empty() && options.inputs.file.empty())) return status;
  if (options.facts == PortFacts::kNone) return found;
  if (!status.ok()) {
    found.why_not = WhyUnknown(status);
    return found;
  }
  found = InferPortValues(*sample);
  if (!found.why_not.empty() && OpenEngine().ok())
    found.why_not += "; --ports stats measures them in a run";
  return found;
}

}  // namespace graphnet
