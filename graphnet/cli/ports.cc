#include "graphnet/cli/ports.h"

#include <map>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/engine.h"
#include "graphnet/cli/inputs.h"
#include "graphnet/cli/options.h"

namespace graphnet {

namespace {

bool IsKnown(const ValueMeta& meta) {
  if (meta.tensor != nullptr) {
    // How integers are drawn so that they are of use as an index is for inference to say.
    const DType dtype = meta.tensor->dtype;
    return meta.tensor->has_shape && (IsFloatingPoint(dtype) || dtype == DType::kBool);
  }
  return meta.is_tuple &&
         absl::c_all_of(meta.elements, [](const ValueMeta* element) { return IsKnown(*element); });
}

// Whether inference would find nothing that the sample does not say.
bool IsAllKnown(const Graph& graph) {
  return absl::c_all_of(graph.nodes(), [](const Node* node) {
    return node->op() == Op::kPlaceholder || node->op() == Op::kOutput ||
           (node->meta() != nullptr && IsKnown(*node->meta()));
  });
}

}  // namespace

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
    ASSIGN_OR_RETURN(const Engine* engine, OpenEngine());
    RETURN_IF_ERROR(engine->MeasureValues(
        *sample, {.seed = options.seed, .max_bytes = AvailableMemoryBytes() / 2}, &found.values));
    return found;
  }
  // A word that does not fit is an error; that nothing is known of an input is none.
  if (!status.ok() && !options.inputs.empty()) return status;
  if (options.facts == PortFacts::kNone || IsAllKnown(*sample->module->main())) return found;
  const absl::StatusOr<const Engine*> engine = OpenEngine();
  absl::string_view help;
  if (status.ok() && engine.ok()) {
    status = (*engine)->InferValues(*sample, /*name_sizes=*/true, &found.values);
    help = "; --ports stats measures them in a run";
  } else if (status.ok()) {
    status = engine.status();
  }
  if (!status.ok()) {
    constexpr size_t kLongestReason = 200;  // PyTorch's can be pages
    found.why_not = absl::StrCat("shapes of what pieces take are not known: ",
                                 Printable(status.message(), kLongestReason), help);
  }
  return found;
}

}  // namespace graphnet
