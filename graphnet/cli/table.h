// Prints tables of text.
#ifndef GRAPHNET_CLI_TABLE_H_
#define GRAPHNET_CLI_TABLE_H_

#include <cstdio>
#include <string>
#include <vector>

#include "graphnet/base/report.h"

namespace graphnet {

// One cell per column. All rows of a table have the same number.
using TableRow = std::vector<std::string>;

// Prints a table, whose first row is its head. The first column is aligned to the left, the others
// to the right; with `last_is_text` the last one to the left, too.
void PrintTable(const std::vector<TableRow>& rows, bool last_is_text = false, FILE* out = stdout);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_TABLE_H_
