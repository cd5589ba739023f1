#include "graphnet/decompose/report.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace graphnet {
Report ReportOf(const Module& module, const Decomposition& made) {
  Table pieces = {{"name", "piece"},
                  {"", "operators"},
                  {"start"},
                  {"end"},
                  {"", "count"},
                  {"inputs", "inputs"},
                  {"outputs", "outputs"},
                  {"bytes_in", "bytes in"},
                  {"unknown_in"}};
  const std::vector<Traffic> traffic = PieceTraffic(module, made.pieces);
  Traffic sum;
  int64_t operators = 0;
  for (size_t i = 0; i < made.pieces.size(); ++i) {
    const SubgraphConfig& piece = made.config.subgraphs[i];
    const auto [start, end] = piece.range;
    const Graph& graph = *made.pieces[i].module->main();
    Cell bytes = traffic[i].bytes;
    if (traffic[i].unknown > 0) {
      std::string text = absl::StrCat(bytes.text(), " + ", traffic[i].unknown, " unknown");
      bytes = std::move(bytes).As(std::move(text));
    }
    pieces.Add({piece.name, absl::StrCat("[", start, ", ", end, ")"), start, end, end - start,
                Cell(Json::List(piece.inputs)).As(absl::StrCat(graph.placeholders().size())),
                Cell(Json::List(piece.outputs)).As(absl::StrCat(graph.output()->operands().size())),
                std::move(bytes), traffic[i].unknown});
    sum = sum + traffic[i];
    operators += end - start;
  }
  Report report;
  report.Add("pieces", std::move(pieces));
  report.Add("num_operators", made.config.num_ops);
  report.AddNotes(made.notes);
  const std::string unknown =
      sum.unknown == 0 ? "" : absl::StrCat(" and ", sum.unknown, " values of unknown size");
  report.Say(absl::StrCat(made.pieces.size(), " pieces, ", operators, " of ", made.config.num_ops,
                          " operators, ", sum.bytes, " bytes", unknown, " between pieces"));
  return report;
}

}  // namespace graphnet
