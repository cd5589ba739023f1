#include "graphnet/decompose/compose.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/command/command.h"
#include "graphnet/command/json.h"
#include "graphnet/command/options.h"
#include "graphnet/command/save.h"
#include "graphnet/decompose/folder.h"
#include "graphnet/decompose/join_models.h"
#include "graphnet/decompose/range_decomposer.h"
#include "graphnet/decompose/regions.h"
#include "graphnet/formats/formats.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/passes/rename_inputs.h"

namespace graphnet {
namespace {

struct ComposeFlags {
  std::vector<std::string> in;
  std::vector<std::string> connect;
  Output out;
  bool trust = false;
};

// Checks that the ranges cover the whole graph.
absl::Status CheckWhole(const DecomposeConfig& config) {
  int64_t end = 0;
  for (const SubgraphConfig& subgraph : config.subgraphs) {
    if (subgraph.range.start != end) break;
    end = subgraph.range.end;
  }
  if (end == config.num_ops) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the pieces do not cover the graph: none of them has operator ", end, " of ",
                   config.num_ops));
}

absl::StatusOr<CommandResult> ComposePieces(const std::string& folder,
                                            const ComposeFlags& options) {
  ASSIGN_OR_RETURN(StoredDecomposition stored,
                   ReadDecomposition(folder, options.out.keeps_weights()));
  const bool done = stored.config.has_value() && stored.config->is_done();
  if (done) RETURN_IF_ERROR(Annotate(CheckWhole(*stored.config), folder));
  const bool chain = !stored.config.has_value() || stored.config->cut.style == Style::kChain;
  absl::StatusOr<std::unique_ptr<Module>> module =
      chain ? ComposeChain(stored.pieces) : ComposeDag(stored.pieces);
  if (!module.ok()) return Annotate(module.status(), folder);
  Sample sample;
  sample.name = done ? stored.config->model_name : BaseName(folder);
  sample.module = *std::move(module);
  sample.graph_net_json = stored.pieces[0].graph_net_json;
  sample.has_constraints = stored.pieces[0].has_constraints;
  for (Sample& piece : stored.pieces) sample.weights.merge(piece.weights);
  RETURN_IF_ERROR(Annotate(Verify(*sample.module), folder));
  RETURN_IF_ERROR(SaveSample(sample, options.out));
  Report report;
  report.Add("out", options.out.path);
  report.Add("pieces", stored.pieces.size());
  report.Add("num_operators", NumOperators(*sample.module->main()));
  report.Say(absl::StrCat(stored.pieces.size(), " pieces, ", NumOperators(*sample.module->main()),
                          " operators"));
  return report;
}

// --- Models ----------------------------------------------------------------------

// Splits "2.name" into the model, counted from 0, and the name. Without a number there is no model.
std::pair<std::optional<size_t>, std::string> ModelAndName(absl::string_view text) {
  const size_t dot = text.find('.');
  size_t number = 0;
  if (dot == absl::string_view::npos || !absl::SimpleAtoi(text.substr(0, dot), &number) ||
      number == 0)
    return {std::nullopt, std::string(text)};
  return {number - 1, std::string(text.substr(dot + 1))};
}

// Reads "OUT:IN". Without a number, IN is of the only model but the first that has such an input, and
// OUT of the model before that.
absl::StatusOr<Connection> ParseConnection(const std::string& text,
                                           const std::vector<Sample>& models) {
  const std::vector<std::string> sides = absl::StrSplit(text, ':');
  if (sides.size() != 2 || sides[0].empty() || sides[1].empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--connect: ", Printable(text), " is not OUT:IN"));
  }
  const auto [from, output] = ModelAndName(sides[0]);
  auto [to, input] = ModelAndName(sides[1]);
  const bool is_numbered = to.has_value();
  for (size_t i = 1; i < models.size() && !is_numbered; ++i) {
    if (InputOfModel(models[i], input) == nullptr) continue;
    if (to.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--connect: models ", *to + 1, " and ", i + 1, " have an input ", Printable(input),
          "; say ", *to + 1, ".", Printable(input), " or ", i + 1, ".", Printable(input)));
    }
    to = i;
  }
  if (!to.has_value()) to = models.size() - 1;  // JoinModels says what it takes.
  return Connection{from.value_or(*to - std::min<size_t>(*to, 1)), output, *to, input};
}

// Connects each model with the one before it, if that returns one value and the model takes one that is
// no weight.
absl::StatusOr<std::vector<Connection>> ObviousConnections(const std::vector<Sample>& models) {
  std::vector<Connection> connections;
  for (size_t i = 1; i < models.size(); ++i) {
    std::vector<const Node*> inputs;
    for (const Node* input : models[i].module->main()->placeholders()) {
      if (!IsWeight(*input)) inputs.push_back(input);
    }
    const std::vector<const Node*> outputs = OutputsOfModel(models[i - 1]);
    if (inputs.size() != 1 || outputs.size() != 1 || outputs[0] == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          Printable(models[i - 1].name), " returns ", outputs.size(), " values and ",
          Printable(models[i].name), " takes ", inputs.size(), "; --connect OUT:IN says which"));
    }
    connections.push_back(
        {i - 1, std::string(outputs[0]->name()), i, std::string(inputs[0]->name())});
  }
  return connections;
}

absl::StatusOr<CommandResult> ComposeModels(const ComposeFlags& options) {
  std::vector<Sample> models;
  for (const std::string& path : options.in) {
    ASSIGN_OR_RETURN(Sample model, Load(path, {.trust = options.trust,
                                               .weights = options.out.keeps_weights(),
                                               .statistics = !options.out.keeps_weights()}));
    RETURN_IF_ERROR(CheckModule(model));
    // Weights and module paths are known by the name of the file.
    model.name = absl::StrReplaceAll(BaseName(WithoutEnding(path)), {{".", "_"}, {"#", "_"}});
    models.push_back(std::move(model));
  }
  std::vector<Connection> connections;
  for (const std::string& text : options.connect) {
    ASSIGN_OR_RETURN(connections.emplace_back(), ParseConnection(text, models));
  }
  if (connections.empty()) {
    ASSIGN_OR_RETURN(connections, ObviousConnections(models));
  }
  ASSIGN_OR_RETURN(Joined joined, JoinModels(std::move(models), connections));
  RETURN_IF_ERROR(Verify(*joined.sample.module));
  RETURN_IF_ERROR(SaveSample(joined.sample, options.out));
  Report report;
  report.Add("out", options.out.path);
  report.Add("models", options.in.size());
  report.Add("num_operators", NumOperators(*joined.sample.module->main()));
  report.Add("unused", Json::List(joined.unused));
  report.Say(absl::StrCat(options.in.size(), " models, ",
                          NumOperators(*joined.sample.module->main()), " operators"));
  std::vector<std::string> notes;
  if (!joined.unused.empty())
    notes.push_back(absl::StrCat("not returned any more: ", absl::StrJoin(joined.unused, ", ")));
  report.AddNotes(notes);
  return report;
}

absl::StatusOr<CommandResult> Compose(const ComposeFlags& options) {
  if (options.in.size() == 1 && options.connect.empty() && IsFolder(options.in[0]))
    return ComposePieces(options.in[0], options);
  if (options.in.size() < 2) {
    RETURN_IF_ERROR(Recognise(options.in[0]).status());
    return absl::InvalidArgumentError("give a folder of pieces, or two or more models");
  }
  return ComposeModels(options);
}

void DeclareCompose(CommandLine& command) {
  auto options = std::make_shared<ComposeFlags>();
  command
      .AddOption("IN", &options->in,
                 "Folder of the pieces, or two or more models that run one after the other")
      .Required();
  AddOutputOptions(command, &options->out).Required();
  command
      .AddOption(
          "--connect", &options->connect,
          "The value OUT of a model is the input IN of a later one; may be repeated. With more "
          "than two models, a number names the model: 1.OUT:3.IN. OUT may be o0, the first "
          "output. Without this, each model takes what the one before it returns, if both are "
          "one value")
      .TypeName("OUT:IN");
  AddTrustOption(command, &options->trust);
  AddJsonOption(
      command,
      "out, pieces and num_operators; of models out, models, num_operators, unused and notes");
  command.Run([options] { return Compose(*options); });
}

const RegisteredCommand kCompose({.name = "compose",
                                  .help = "Join the pieces that decompose made, or models",
                                  .group = CommandGroup::kCut,
                                  .declare = DeclareCompose,
                                  .examples = {
                                      "graphnet decompose samples/gpt.pb --pieces 3 -o parts && "
                                      "graphnet compose parts -o whole.pb"}});

}  // namespace
}  // namespace graphnet
