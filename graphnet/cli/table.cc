#include "graphnet/cli/table.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

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

std::string BytesText(int64_t bytes) {
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return absl::StrCat(bytes, " bytes");
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024; value /= 1024) ++unit;
  return absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

std::string CsvLine(const TableRow& row) {
  std::string line;
  for (const std::string& cell : row) {
    if (&cell != row.data()) line += ",";
    if (cell.find_first_of(",\"\r\n") == std::string::npos) {
      line += cell;
    } else {
      absl::StrAppend(&line, "\"", absl::StrReplaceAll(cell, {{"\"", "\"\""}}), "\"");
    }
  }
  return line + "\n";
}

}  // namespace graphnet
