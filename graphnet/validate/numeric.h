// Runs a graph and its pieces on the same inputs and compares: same bits, and at which
// tolerance they count as right. Needs LibTorch.
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

struct NumericOptions {
  uint64_t seed = 0;  // of drawn inputs and of random operators
  // What inputs, and what all tensors alive at once, may take; absent: half of what the
  // machine has free, as inputs are held twice.
  std::optional<int64_t> max_bytes;
};

// Inputs are drawn as the original says (inputs/draw.h) and given to the original and,
// in their order, to the pieces, which hand tensors on by reference: `style` says
// whether by position or by name. The generator is seeded before the first of them.
// Sets report->numeric and adds findings:
//
// E4: a piece's input has another shape or dtype when run than its meta says.
// E6: an output is not bit for bit the original's; says how far it is off and in which
//     piece and operator a value differs first.
// E7: a piece does not run, or lacks a value.
//
// The score at tolerance t is 1 if all outputs agree with those of the original within
// atol(t) + rtol(t) * |original| (docs/validate.md), or from t = 1 on; else
// kFailedScore. After E7, or an output of another shape or dtype, it is kFailedScore up
// to t = 2.
//
// An error if the original itself cannot be run; the report is then as it was.
absl::Status ValidateNumbers(const Sample& original, absl::Span<const Sample> pieces, Style style,
                             const NumericOptions& options, ValidationReport* report);

}  // namespace graphnet

#endif  // GRAPHNET_VALIDATE_NUMERIC_H_
