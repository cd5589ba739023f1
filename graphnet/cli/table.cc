#include "graphnet/cli/table.h"

#include <cstddef>
#include <cstdio>

#include "absl/strings/str_join.h"

namespace graphnet {

void PrintTable(const std::vector<TableRow>& rows, bool last_is_text, FILE* out) {
  if (rows.size() == 1) {
    // There is nothing to align, and the row need not be a head.
    std::fprintf(out, "%s\n", absl::StrJoin(rows[0], "  ").c_str());
    return;
  }
  Table table = {};
  for (const std::string& title : rows[0]) table.AddColumn({"", title});
  for (size_t r = 1; r < rows.size(); ++r) {
    std::vector<Cell> cells;
    for (const std::string& text : rows[r]) {
      const bool is_text = cells.empty() || (last_is_text && cells.size() + 1 == rows[r].size());
      cells.push_back((is_text ? Cell("") : Cell(0)).As(text));
    }
    table.Add(std::move(cells));
  }
  std::fputs(table.ToText().c_str(), out);
}

}  // namespace graphnet
