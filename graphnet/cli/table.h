// Tables of text, and what stands in them.
#ifndef GRAPHNET_CLI_TABLE_H_
#define GRAPHNET_CLI_TABLE_H_

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace graphnet {

// A cell a column; all rows of a table have as many.
using TableRow = std::vector<std::string>;

// The first column to the left, the others to the right; with `last_is_text` the
// last one to the left, too.
void PrintTable(const std::vector<TableRow>& rows, bool last_is_text = false, FILE* out = stdout);

// "97.5 MiB"; below 1 KiB "97 bytes".
std::string BytesText(int64_t bytes);

// The row as a line of CSV (RFC 4180, with a newline only).
std::string CsvLine(const TableRow& row);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_TABLE_H_
