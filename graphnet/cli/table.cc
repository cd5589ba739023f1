#include "graphnet/cli/table.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace graphnet {
namespace {

// The columns that UTF-8 text takes on a terminal, if no character is wide.
size_t ShownColumns(absl::string_view text) {
  return static_cast<size_t>(
      absl::c_count_if(text, [](char c) { return (static_cast<unsigned char>(c) >> 6) != 2; }));
}

// Spreadsheets compute a cell that begins so, and what it says may run a program.
bool IsFormula(absl::string_view cell) {
  double number = 0;
  return !cell.empty() && absl::StrContains("=+-@\t\r", cell.substr(0, 1)) &&
         !absl::SimpleAtod(cell, &number);
}

}  // namespace

void PrintTable(const std::vector<TableRow>& rows, bool last_is_text, FILE* out) {
  std::vector<size_t> widths;
  for (const TableRow& row : rows) {
    widths.resize(row.size());
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], ShownColumns(row[c]));
  }
  for (const TableRow& row : rows) {
    const auto blanks = [&](size_t c) {
      return std::string(widths[c] - ShownColumns(row[c]), ' ');
    };
    std::string line = absl::StrCat(row[0], blanks(0));
    for (size_t c = 1; c < row.size(); ++c) {
      const bool is_text = last_is_text && c + 1 == row.size();
      absl::StrAppend(&line, "  ", is_text ? "" : blanks(c), row[c]);
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
  for (const std::string& text : row) {
    if (&text != row.data()) line += ',';
    const std::string cell = IsFormula(text) ? absl::StrCat("'", text) : text;
    if (cell.find_first_of(",\"\r\n") == std::string::npos) {
      line += cell;
    } else {
      absl::StrAppend(&line, "\"", absl::StrReplaceAll(cell, {{"\"", "\"\""}}), "\"");
    }
  }
  return line + "\n";
}

}  // namespace graphnet
