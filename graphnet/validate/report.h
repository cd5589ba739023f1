// The report of the validator on a decomposition.
#ifndef GRAPHNET_VALIDATE_REPORT_H_
#define GRAPHNET_VALIDATE_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/report.h"

namespace graphnet {

// The classes of errors in the order in which they are looked for, except that kGraph comes before
// kNumbers and kRuntime.
enum class ErrorClass {
  kLayout = 1,   // a piece is missing, unreadable or does not verify
  kConfig = 2,   // the configuration, or the ranges that pieces say they are
  kCount = 3,    // operators are missing, surplus or in another order
  kPort = 4,     // a piece takes something else than the piece before returns
  kOrder = 5,    // a piece takes a value that only a later one computes
  kNumbers = 6,  // the pieces compute other values
  kRuntime = 7,  // a piece does not run
  kGraph = 8,    // put together, the pieces are another graph
};
// Returns the class's code and name.
absl::string_view ErrorClassName(ErrorClass error);  // "E3 operator count"

// One error of a decomposition.
struct Finding {
  ErrorClass error = ErrorClass::kLayout;
  int piece = -1;     // -1: not the fault of a single piece
  std::string where;  // name of the operator, port or file; may be empty
  std::string message;

  // Returns the finding as a line: "E4 port: piece 2: input 3 (%x): …".
  std::string Text() const;
};
// Limit of the findings of one class that a report holds.
inline constexpr size_t kMaxFindings = 10;

// ES(t) of one sample: 1 if the pieces count as right at tolerance t, kFailedScore if not
// (docs/validate.md).
struct ToleranceScore {
  int t = 0;
  double score = 1;
};
inline constexpr double kFailedScore = 0.1;

// The result of running the pieces.
struct NumericReport {
  size_t outputs = 0;
  size_t bit_equal = 0;
  double max_difference = 0;  // over all outputs; infinity if some cannot be compared
  // The scores in order of t, from kFirstTolerance to kLastTolerance.
  std::vector<ToleranceScore> line;
  // The outputs that are bit-equal, but as which a wrong answer would have been, too, and that
  // answer (interp/inputs/wrong_answers.h).
  std::vector<std::pair<size_t, std::string>> blind;

  // True if the score is 1 at every tolerance.
  bool IsFlat() const;
};
inline constexpr int kFirstTolerance = -10;
inline constexpr int kLastTolerance = 4;

// A difference between the original and the pieces of another tool that does not change the
// meaning.
struct Reading {
  std::string what;      // "call", "arguments", "size", "device"
  std::string original;  // "torch._C._nn.linear", "S0"
  std::string pieces;    // "torch.nn.functional.linear", "1"
  int64_t times = 0;
};

// The whole report.
struct ValidationReport {
  int64_t original_operators = 0;
  std::vector<int64_t> piece_operators;
  // At most kMaxFindings of each class.
  std::vector<Finding> findings;
  // Notes that are not errors: what was not checked, and why.
  std::vector<std::string> notes;
  std::vector<Reading> readings;         // in the order of their first occurrence
  std::optional<NumericReport> numeric;  // if the pieces ran

  bool ok() const { return findings.empty(); }
  // OK, or FailedPrecondition with the first finding and the number of further ones.
  absl::Status status() const;
  // Returns the numbers of operators: "original=10 pieces=3+3+4=10". For more than 16 pieces, only
  // their number and sum are given.
  std::string Counts() const;
  // Adds a finding, unless its class has kMaxFindings already.
  void Add(ErrorClass error, int piece, absl::string_view where, std::string message);
  // Counts a Reading.
  void ReadAsEqual(absl::string_view what, absl::string_view original, absl::string_view pieces);
};

// Returns a value's name as messages write it: "%relu_1".
std::string ValueName(absl::string_view name);

// Returns what can be shown. JSON is {"valid": …, "original_operators": …, "findings": [{"class": "E3",
// …}], …}.
Report ReportOf(const ValidationReport& report);

// Draws the line ES(t), which must not be empty, as SVG of 480 x 240 pixels with `title` above it.
std::string ScoreLineSvg(absl::string_view title, const NumericReport& report);

}  // namespace graphnet

#endif  // GRAPHNET_VALIDATE_REPORT_H_
