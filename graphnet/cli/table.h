// Prints tables of text.
#ifndef GRAPHNET_CLI_TABLE_H_
#define GRAPHNET_CLI_TABLE_H_

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace graphnet {

// One cell per column. All rows of a table have the same number.
using TableRow = std::vector<std::string>;

// Prints a table. The first column is aligned to the left, the others to the right; with
// `last_is_text` the last one to the left, too.
void PrintTable(const std::vector<TableRow>& rows, bool last_is_text = false, FILE* out = stdout);

// Returns "97.5 MiB", or "97 bytes" below 1 KiB.
std::string BytesText(int64_t bytes);

// Returns the row as a line of CSV (RFC 4180, but the line ends with a newline only). A cell that a
// spreadsheet would take for a formula, such as =1+1, gets a ' before it.
std::string CsvLine(const TableRow& row);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_TABLE_H_
