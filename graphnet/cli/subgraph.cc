#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "graphnet/base/near_miss.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/command.h"
#include "graphnet/cli/json.h"
#include "graphnet/cli/load.h"
#include "graphnet/cli/options.h"
#include "graphnet/cli/ports.h"
#include "graphnet/cli/save.h"
#include "graphnet/decompose/gather.h"
#include "graphnet/decompose/graph_index.h"
#include "graphnet/decompose/range_decomposer.h"
#include "graphnet/decompose/regions.h"
#include "graphnet/decompose/schemes.h"

namespace graphnet {
namespace {

struct SubgraphFlags {
  std::string in;
  Output out;
  std::string range;
  std::string values;
  std::string module;
  std::string nodes;
  PortOptions ports;
  bool trust = false;
  bool json = false;
};

struct Chosen {
  Range range;
  bool is_gathered = false;  // others stood between them
};

// The nodes that the option `flag` names, one beside the other.
absl::StatusOr<Chosen> Gather(absl::Span<Node* const> nodes, absl::string_view flag) {
  const GraphIndex before(*nodes.front()->graph());
  std::vector<int64_t> numbers;
  for (const Node* node : nodes) numbers.push_back(before.operator_of(before.IndexOf(node)));
  absl::StatusOr<Range> range = GatherNodes(nodes);
  if (!range.ok()) return Annotate(range.status(), flag);
  return Chosen{*range, absl::c_any_of(numbers, [&](int64_t k) {
                  return k < range->start || k >= range->end;
                })};
}

absl::StatusOr<Chosen> NodesOf(absl::string_view list, Graph* graph) {
  std::vector<Node*> nodes;
  for (const absl::string_view name : absl::StrSplit(list, ',', absl::SkipEmpty())) {
    nodes.push_back(graph->FindNode(name));
    if (nodes.back() != nullptr) continue;
    std::vector<absl::string_view> all;
    for (const Node* node : graph->nodes()) all.push_back(node->name());
    return absl::NotFoundError(
        absl::StrCat("--nodes: the graph has no value ", Printable(name), NearMissHint(name, all)));
  }
  if (nodes.empty()) return absl::InvalidArgumentError("--nodes: names no value");
  return Gather(nodes, "--nodes");
}

absl::StatusOr<Chosen> Choose(const SubgraphFlags& options, Graph& graph) {
  if (!options.nodes.empty()) return NodesOf(options.nodes, &graph);
  if (!options.module.empty()) {
    ASSIGN_OR_RETURN(const std::vector<Node*> nodes,
                     NodesOfModule(options.module, GraphIndex(graph)));
    absl::StatusOr<Chosen> chosen =
        Gather(nodes, absl::StrCat("--module ", Printable(options.module)));
    if (chosen.ok() || !absl::IsFailedPrecondition(chosen.status())) return chosen;
    return absl::FailedPreconditionError(
        absl::StrCat(chosen.status().message(),
                     "; where a module is called in several places, --nodes and --range take one"));
  }
  const bool by_values = !options.values.empty();
  const std::vector<std::string> sides =
      absl::StrSplit(by_values ? options.values : options.range, ':');
  if (by_values) {
    if (sides.size() != 2 || sides[1].empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--by-value: ", Printable(options.values), " is not INPUTS:OUTPUTS"));
    }
    const std::vector<std::string> inputs = absl::StrSplit(sides[0], ',', absl::SkipEmpty());
    const std::vector<std::string> outputs = absl::StrSplit(sides[1], ',', absl::SkipEmpty());
    const GraphIndex index(graph);
    ASSIGN_OR_RETURN(const Range between, RangeOfValues(inputs, outputs, index, Regions(index)));
    return Chosen{between};
  }
  Range range;
  if (sides.size() != 2 || !absl::SimpleAtoi(sides[0], &range.start) ||
      !absl::SimpleAtoi(sides[1], &range.end) || range.start >= range.end) {
    return absl::InvalidArgumentError(
        absl::StrCat("--range: ", Printable(options.range), " is not START:END, START below END"));
  }
  return Chosen{range};
}

absl::StatusOr<int> Subgraph(const SubgraphFlags& options) {
  ASSIGN_OR_RETURN(Sample sample,
                   LoadSample(options.in, {.trust = options.trust,
                                           .weights = options.out.keeps_weights(),
                                           .values_if_there = !options.out.keeps_weights(),
                                           .statistics = !options.out.keeps_weights()}));
  RETURN_IF_ERROR(CheckModule(sample));
  ASSIGN_OR_RETURN(const Chosen chosen, Choose(options, *sample.module->main()));
  const Range range = chosen.range;
  ASSIGN_OR_RETURN(const PortValues ports, FindPortValues(options.ports, &sample));
  // Of a DAG: it takes and returns nothing but what it uses and others use of it.
  ASSIGN_OR_RETURN(
      const std::vector<Sample> pieces,
      CutRanges(sample, {range}, {.style = Style::kDag, .all_inputs = false, .keep_unused = false},
                &ports.values));
  RETURN_IF_ERROR(SaveSample(pieces[0], options.out));
  if (options.json) {
    Json document;
    document["out"] = options.out.path;
    document["start"] = range.start;
    document["end"] = range.end;
    document["operators"] = NumOperators(*sample.module->main());
    document["inputs"] = InputsJson(*pieces[0].module->main());
    document["outputs"] = OutputsJson(*pieces[0].module->main());
    document["notes"] = Json::List();
    if (!ports.why_not.empty()) document["notes"].push_back(ports.why_not);
    PrintJson(document);
    return 0;
  }
  const std::string which = chosen.is_gathered
                                ? absl::StrCat(range.end - range.start)
                                : absl::StrCat("[", range.start, ", ", range.end, ")");
  std::fprintf(options.out.report(), "operators %s of %lld, %zu inputs\n", which.c_str(),
               static_cast<long long>(NumOperators(*sample.module->main())),
               pieces[0].module->main()->placeholders().size());
  if (!ports.why_not.empty())
    std::fprintf(options.out.report(), "note: %s\n", Printable(ports.why_not, 1000).c_str());
  return 0;
}

}  // namespace

void RegisterSubgraph(CLI::App& app, CommandRunner* run) {
  auto options = std::make_shared<SubgraphFlags>();
  CLI::App* command =
      app.add_subcommand("subgraph", "Write some operators of a sample as a sample of their own");
  AddSampleOption(command, &options->in);
  AddOutputOptions(command, &options->out)->required();
  CLI::Option_group* which = command->add_option_group("Which", "One of");
  which->add_option("--range", options->range, "These operators, the end left out: 8:20");
  which->add_option("--by-value", options->values,
                    "What lies between values, by name: in1,in2:out1");
  which->add_option(
      "--module", options->module,
      "Those of a module and of all below it, wherever they stand, by path: layer1.0");
  which->add_option("--nodes", options->nodes,
                    "These, by name, wherever they stand: a,b,d. Nothing may lead out of them and "
                    "back");
  which->require_option(1);
  AddPortOptions(command, &options->ports);
  AddTrustOption(command, &options->trust);
  AddJsonOption(command, &options->json,
                "out, start, end, operators of the whole, inputs, outputs and notes");
  command->callback([options, run] { *run = [options] { return Subgraph(*options); }; });
}

}  // namespace graphnet
