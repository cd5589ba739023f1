// Runs a graph and its pieces on the same inputs and compares their outputs: whether they have the
// same bits, and at which tolerance they count as right. Needs LibTorch.
//
//   RETURN_IF_ERROR(ValidateNumbers(original, pieces, Style::kChain, {}, &report));
//   // report.findings, report.numeric
#ifndef GRAPHNET_VALIDATE_NUMERIC_H_
#define GRAPHNET_VALIDATE_NUMERIC_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graphnet/decompose/range_decomposer.h"
#include "graphnet/ir/sample.h"
#include "graphnet/validate/report.h"

namespace graphnet {

// Options of ValidateNumbers.
struct NumericOptions {
  uint64_t seed = 0;  // seed of drawn inputs and of random operators
  // The bytes that the inputs may take, and that all live tensors together may take. Absent: half
  // of the machine's free memory, as inputs are held twice.
  std::optional<int64_t> max_bytes;
};

// Draws inputs as the original says (inputs/draw.h), runs the original on them, and runs the pieces
// on them in order. The pieces pass tensors on by reference: by position or by name, as `style`
// says. The generator is seeded before the original and before the first piece. Sets
// report->numeric and adds findings:
//
// E4: an input of a piece has another shape or dtype at run time than its meta says.
// E6: an output is not bit for bit the original's; the message says by how much it is off, whether
//     rounding explains it (interp/rounding.h), and in which piece and operator a value first differs.
// E7: a piece does not run, or lacks a value.
//
// The score at tolerance t is 1 if t >= 1 or if all outputs agree with those of the original within
// atol(t) + rtol(t) * |original| (docs/validate.md), and kFailedScore otherwise. After E7, or if an
// output has another shape or dtype, it is kFailedScore up to t = 2.
//
// Returns an error if the original itself cannot be run; the report is unchanged then.
absl::Status ValidateNumbers(const Sample& original, absl::Span<const Sample> pieces, Style style,
                             const NumericOptions& options, ValidationReport* report);

}  // namespace graphnet

#endif  // GRAPHNET_VALIDATE_NUMERIC_H_
