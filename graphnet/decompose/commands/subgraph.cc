#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/command/command.h"
#include "graphnet/command/inputs.h"
#include "graphnet/command/json.h"
#include "graphnet/command/messages.h"
#include "graphnet/command/options.h"
#include "graphnet/command/save.h"
#include "graphnet/decompose/commands/match_pieces.h"
#include "graphnet/decompose/commands/ports.h"
#include "graphnet/decompose/part.h"
#include "graphnet/decompose/range_decomposer.h"
#include "graphnet/decompose/regions.h"
#include "graphnet/formats/formats.h"
#include "graphnet/ir/text/json.h"

namespace graphnet {
namespace {

struct SubgraphFlags {
  InputList inputs;
  Output out;
  PartFlags part;
  std::string match;  // a query of calls
  int jobs = 0;
  PortOptions ports;
  bool trust = false;
};

absl::StatusOr<CommandResult> Matches(const SubgraphFlags& options) {
  ASSIGN_OR_RETURN(const CallQuery query, CallQuery::Parse(options.match));
  ASSIGN_OR_RETURN(const std::vector<NamedInput> inputs, FindNamedInputs(options.inputs));
  ASSIGN_OR_RETURN(CommandResult result, CutMatches(query, inputs,
                                                    {.out = options.out,
                                                     .ports = options.ports,
                                                     .jobs = options.jobs,
                                                     .trust = options.trust}));
  for (const std::string& doubt : query.Doubts(/*names=*/result.code == 1))
    result.aside += NoteLine(doubt);
  return result;
}

absl::StatusOr<CommandResult> Subgraph(const SubgraphFlags& options) {
  if (!options.match.empty()) return Matches(options);
  if (options.inputs.in.size() != 1 || !options.inputs.list.empty())
    return absl::InvalidArgumentError("give one sample; --match takes many");
  if (options.out.path.empty()) return absl::InvalidArgumentError("--out is required");
  ASSIGN_OR_RETURN(Sample sample,
                   Load(options.inputs.in[0], {.trust = options.trust,
                                               .weights = options.out.keeps_weights(),
                                               .values_if_there = !options.out.keeps_weights(),
                                               .statistics = !options.out.keeps_weights()}));
  RETURN_IF_ERROR(CheckModule(sample));
  ASSIGN_OR_RETURN(const Part part, FindPart(options.part, sample.module->main()));
  const Range range = part.range;
  ASSIGN_OR_RETURN(const PortValues ports, FindPortValues(options.ports, &sample));
  // The style is dag: the piece takes only what it uses and returns only what others use.
  ASSIGN_OR_RETURN(
      const std::vector<Sample> pieces,
      CutRanges(sample, {range}, {.style = Style::kDag, .all_inputs = false, .keep_unused = false},
                &ports.values));
  RETURN_IF_ERROR(SaveSample(pieces[0], options.out));
  const int64_t operators = NumOperators(*sample.module->main());
  Report report;
  report.Add("out", options.out.path);
  report.Add("start", range.start);
  report.Add("end", range.end);
  report.Add("num_operators", operators);
  report.Add("inputs", InputsJson(*pieces[0].module->main()));
  report.Add("outputs", OutputsJson(*pieces[0].module->main()));
  const std::string which = part.is_gathered ? absl::StrCat(range.end - range.start)
                                             : absl::StrCat("[", range.start, ", ", range.end, ")");
  report.Say(absl::StrCat("operators ", which, " of ", operators, ", ",
                          pieces[0].module->main()->placeholders().size(), " inputs"));
  report.AddNotes(ports.why_not.empty() ? std::vector<std::string>()
                                        : std::vector<std::string>{ports.why_not});
  return report;
}

void DeclareSubgraph(CommandLine& command) {
  auto options = std::make_shared<SubgraphFlags>();
  AddInputList(command, &options->inputs);
  AddOutputOptions(command, &options->out);
  CommandLine which = command.AddOneOf("Which", "Give one of these");
  which.AddOption("--range", &options->part.range, "Range of operators, without its end: 8:20");
  which.AddOption("--by-value", &options->part.values,
                  "Operators between these values: in1,in2:out1");
  which.AddOption("--module", &options->part.module,
                  "Operators of a module and everything below it, even if they are not adjacent, "
                  "by path: layer1.0");
  which.AddOption("--nodes", &options->part.nodes,
                  "Operators by name, even if they are not adjacent: a,b,d. No path may lead out "
                  "of them and back");
  which.AddOption("--match", &options->match,
                  "Operators of each match of a pattern of calls, as in find; equal ones of all "
                  "samples become one sample of the folder -o, with its sources beside it. Without "
                  "-o they are only counted");
  AddPortOptions(command, &options->ports);
  AddJobsOption(command, &options->jobs);
  AddTrustOption(command, &options->trust);
  AddDrawWeightsOption(command);
  AddJsonOption(
      command,
      "out, start, end, num_operators of the whole, inputs, outputs and notes; with --match "
      "pieces with times, samples and piece, num_matches, num_samples, out, failed and "
      "notes");
  command.Run([options] { return Subgraph(*options); });
}

const RegisteredCommand kSubgraph(
    {.name = "subgraph",
     .help = "Write some operators of a sample as a separate sample",
     .group = CommandGroup::kCut,
     .declare = DeclareSubgraph,
     .examples = {"graphnet subgraph samples/resnet.pb --range 8:20 -o part.pb",
                  "graphnet subgraph samples/vit.pb --module blocks.0 -o block.pb",
                  "graphnet subgraph samples/unet.pb samples/vit.pb --match 'relu_(batch_norm())' "
                  "-o units"}});

}  // namespace
}  // namespace graphnet
