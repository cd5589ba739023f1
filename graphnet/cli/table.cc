#include "graphnet/cli/table.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace graphnet {

void PrintTable(const std::vector<TableRow>& rows, bool last_is_text, FILE* out) {
  std::vector<size_t> widths;
  for (const TableRow& row : rows) {
    widths.resize(row.size());
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  for (const TableRow& row : rows) {
    std::string line = absl::StrFormat("%-*s", widths[0], row[0]);
    for (size_t c = 1; c < row.size(); ++c) {
      if (last_is_text && c + 1 == row.size()) {
        absl::StrAppend(&line, "  ", row[c]);
      } else {
        absl::StrAppendFormat(&line, "  %*s", widths[c], row[c]);
      }
    }
    std::fprintf(out, "%s\n", line.c_str());
  }
}

}  // namespace graphnet
