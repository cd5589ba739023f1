// Tables of sizes: the rows that a sample is written at.
#ifndef GRAPHNET_PASSES_RESIZE_SIZE_TABLE_H_
#define GRAPHNET_PASSES_RESIZE_SIZE_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// The rows of a file, or GraphNet's tables: nlp has (batch, length); cv has (batch, side), batches,
// and rows for the shapes of some kinds of models; vit has sides of one image.
class SizeTable {
 public:
  // Returns the table of that name, "nlp", "cv", "vit" or "auto", or else reads it from a file: each
  // line has one size for each symbol, separated by commas, spaces or tabs; `#` begins a comment.
  // InvalidArgument names the line whose sizes are not numbers from 1 to 2^31 - 1.
  static absl::StatusOr<SizeTable> Open(const std::string& name_or_path);
  // Parses the lines of a file. Errors call it `name`.
  static absl::StatusOr<SizeTable> Parse(absl::string_view text, absl::string_view name);

  // Returns the rows for a sample: those with one size for each symbol of its module. "auto" takes
  // the table that its graph_net.json names as `symbolic_dimension_reifier`. FailedPrecondition if
  // the table has none, or the module no symbols.
  absl::StatusOr<std::vector<std::vector<int64_t>>> RowsFor(const Module& module,
                                                            absl::string_view graph_net_json) const;

 private:
  std::string name_;
  std::vector<std::vector<int64_t>> rows_;  // of a file
};

// Returns the key by which GraphNet's tables are found: the sorted list of the shapes of inputs that
// have symbols, "[(S0,1),(S0,S1),(S0,S1)]".
std::string SymbolicShapes(const Module& module);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_RESIZE_SIZE_TABLE_H_
