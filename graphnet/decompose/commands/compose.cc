#include "graphnet/decompose/compose.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/command/command.h"
#include "graphnet/command/json.h"
#include "graphnet/command/save.h"
#include "graphnet/decompose/folder.h"
#include "graphnet/decompose/regions.h"
#include "graphnet/ir/verifier.h"

namespace graphnet {
namespace {

struct ComposeFlags {
  std::string in;
  Output out;
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

absl::StatusOr<CommandResult> Compose(const ComposeFlags& options) {
  ASSIGN_OR_RETURN(StoredDecomposition stored,
                   ReadDecomposition(options.in, options.out.keeps_weights()));
  const bool done = stored.config.has_value() && stored.config->is_done();
  if (done) RETURN_IF_ERROR(Annotate(CheckWhole(*stored.config), options.in));
  const bool chain = !stored.config.has_value() || stored.config->cut.style == Style::kChain;
  absl::StatusOr<std::unique_ptr<Module>> module =
      chain ? ComposeChain(stored.pieces) : ComposeDag(stored.pieces);
  if (!module.ok()) return Annotate(module.status(), options.in);
  Sample sample;
  sample.name = done ? stored.config->model_name : BaseName(options.in);
  sample.module = *std::move(module);
  sample.graph_net_json = stored.pieces[0].graph_net_json;
  sample.has_constraints = stored.pieces[0].has_constraints;
  for (Sample& piece : stored.pieces) sample.weights.merge(piece.weights);
  RETURN_IF_ERROR(Annotate(Verify(*sample.module), options.in));
  RETURN_IF_ERROR(SaveSample(sample, options.out));
  Report report;
  report.Add("out", options.out.path);
  report.Add("pieces", stored.pieces.size());
  report.Add("num_operators", NumOperators(*sample.module->main()));
  report.Say(absl::StrCat(stored.pieces.size(), " pieces, ", NumOperators(*sample.module->main()),
                          " operators"));
  return report;
}

void DeclareCompose(CommandLine& command) {
  auto options = std::make_shared<ComposeFlags>();
  command.AddOption("DIR", &options->in, "Folder of the pieces").Required();
  AddOutputOptions(command, &options->out).Required();
  AddJsonOption(command, "out, pieces and num_operators");
  command.Run([options] { return Compose(*options); });
}

const RegisteredCommand kCompose({.name = "compose",
                                  .help = "Join the pieces that decompose made",
                                  .group = CommandGroup::kCut,
                                  .declare = DeclareCompose,
                                  .examples = {
                                      "graphnet decompose samples/gpt.pb --pieces 3 -o parts && "
                                      "graphnet compose parts -o whole.pb"}});

}  // namespace
}  // namespace graphnet
