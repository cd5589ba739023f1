#include "graphnet/view/tabular.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/text/printer.h"

namespace graphnet {
namespace {

// A longer cell does not widen its column, but moves the rest of its row.
constexpr size_t kMaxColumnWidth = 60;
constexpr size_t kMaxBytesInTable = 1000;

constexpr size_t kNumColumns = 5;
using Row = std::array<std::string, kNumColumns>;

// Returns the width in characters; Printable leaves only valid UTF-8.
size_t Width(const std::string& cell) {
  return static_cast<size_t>(
      std::count_if(cell.begin(), cell.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

void AppendTable(const std::vector<Row>& rows, std::string* out) {
  std::array<size_t, kNumColumns> widths = {};
  for (const Row& row : rows) {
    for (size_t i = 0; i < kNumColumns; ++i) {
      const size_t width = Width(row[i]);
      if (width <= kMaxColumnWidth) widths[i] = std::max(widths[i], width);
    }
  }
  const auto append = [&](const Row& row) {
    for (size_t i = 0; i < kNumColumns; ++i) {
      *out += row[i];
      if (i + 1 == kNumColumns) break;
      const size_t width = Width(row[i]);
      out->append((width < widths[i] ? widths[i] - width : 0) + 2, ' ');
    }
    // An empty last column leaves trailing blanks.
    out->resize(out->find_last_not_of(' ') + 1);
    *out += '\n';
  };
  append(rows[0]);
  Row rule;
  for (size_t i = 0; i < kNumColumns; ++i) rule[i] = std::string(widths[i], '-');
  append(rule);
  for (size_t i = 1; i < rows.size(); ++i) append(rows[i]);
}

std::string KwArgs(const Node& node) {
  std::string out = "{";
  for (const KwArg& kwarg : node.kwargs()) {
    absl::StrAppend(&out, out.size() > 1 ? ", " : "", Printable(kwarg.name, kMaxBytesInTable), ": ",
                    PrintArgument(kwarg.value));
  }
  return out + "}";
}

}  // namespace

std::string Tabular(const Module& module) {
  std::string out;
  for (const Graph* graph : module.graphs()) {
    if (module.graphs().size() > 1) {
      absl::StrAppend(&out, out.empty() ? "" : "\n", "graph ",
                      Printable(graph->name(), kMaxBytesInTable), "\n");
    }
    std::vector<Row> rows = {{"opcode", "name", "target", "args", "kwargs"}};
    for (const Node* node : graph->nodes()) {
      rows.push_back({std::string(OpName(node->op())), Printable(node->name(), kMaxBytesInTable),
                      Printable(node->target(), kMaxBytesInTable),
                      PrintArgument(Argument::Tuple(node->args())), KwArgs(*node)});
    }
    AppendTable(rows, &out);
  }
  return out;
}

}  // namespace graphnet
