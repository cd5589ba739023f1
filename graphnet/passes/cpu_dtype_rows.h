// Reads cpu_dtypes.txt, which says which operators lack a dtype on the CPU, or keep one.
#ifndef GRAPHNET_PASSES_CPU_DTYPE_ROWS_H_
#define GRAPHNET_PASSES_CPU_DTYPE_ROWS_H_

#include <vector>

#include "absl/strings/string_view.h"

namespace graphnet {

// A line of cpu_dtypes.txt.
struct CpuRow {
  bool lacks_bfloat16 = false;
  bool lacks_float16 = false;
  bool lacks_float64 = false;
  bool makes_floats = false;                // yields floats for integers
  bool makes_float32 = false;               // always yields float32
  absl::string_view kinds;                  // the kinds of its results
  std::vector<absl::string_view> operands;  // operands that stay float32; all others may change
};

// Returns the row of an ATen operator, such as "conv2d"; null if it has none.
const CpuRow* FindCpuRow(absl::string_view name);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_CPU_DTYPE_ROWS_H_
