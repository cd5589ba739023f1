// What the validator says of a decomposition.
#ifndef GRAPHNET_VALIDATE_REPORT_H_
#define GRAPHNET_VALIDATE_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace graphnet {

// In the order in which they are looked for, but for kGraph, which comes before what
// running shows.
enum class ErrorClass {
  kLayout = 1,   // a piece is missing, unreadable or does not verify
  kConfig = 2,   // the configuration, or the ranges that pieces say they are
  kCount = 3,    // operators are missing, surplus or in another order
  kPort = 4,     // a piece takes something else than the one before returns
  kOrder = 5,    // a piece takes what only a later one computes
  kNumbers = 6,  // run, the pieces give other values
  kRuntime = 7,  // a piece does not run
  kGraph = 8,    // put together, the pieces are another graph
};
absl::string_view ErrorClassName(ErrorClass error);  // "E3 operator count"

struct Finding {
  ErrorClass error = ErrorClass::kLayout;
  int piece = -1;     // -1: not one piece's fault
  std::string where;  // name of the operator, port or file, or empty
  std::string message;

  // "E4 port: piece 2: input 3 (%x): …"
  std::string Text() const;
};
inline constexpr size_t kMaxFindings = 10;

// ES(t) of one sample at a tolerance: 1 where the pieces count as right, kFailedScore
// where not (docs/validate.md).
struct ToleranceScore {
  int t = 0;
  double score = 1;
};
inline constexpr double kFailedScore = 0.1;

// What running the pieces has shown.
struct NumericReport {
  size_t outputs = 0;
  size_t bit_equal = 0;
  double max_difference = 0;  // of all elements of all outputs; infinity where one side is none
  // Rising in t, from kFirstTolerance to kLastTolerance.
  std::vector<ToleranceScore> line;

  bool IsFlat() const;
};
inline constexpr int kFirstTolerance = -10;
inline constexpr int kLastTolerance = 4;

// Something that pieces of another tool say otherwise than the original, and that means the same.
struct Reading {
  std::string what;      // "call", "arguments", "size", "device"
  std::string original;  // "torch._C._nn.linear", "S0"
  std::string pieces;    // "torch.nn.functional.linear", "1"
  int64_t times = 0;
};

struct ValidationReport {
  int64_t original_operators = 0;
  std::vector<int64_t> piece_operators;
  // At most kMaxFindings of each class.
  std::vector<Finding> findings;
  // What is no fault but should be known: what was not checked and why.
  std::vector<std::string> notes;
  std::vector<Reading> readings;         // in the order in which they were met
  std::optional<NumericReport> numeric;  // if the pieces ran

  bool ok() const { return findings.empty(); }
  // FailedPrecondition with the first finding, and how many more there are.
  absl::Status status() const;
  // "original=10 pieces=3+3+4=10"; of more than 16 pieces, only their number and
  // sum.
  std::string Counts() const;
  void Add(ErrorClass error, int piece, absl::string_view where, std::string message);
  void ReadAsEqual(absl::string_view what, absl::string_view original, absl::string_view pieces);
};

// How messages write a value: "%relu_1".
std::string ValueName(absl::string_view name);

// For tools: {"valid": …, "original_operators": …, "findings": [{"class": "E3", …}], …}.
std::string ReportJson(const ValidationReport& report);

// The line ES(t) as a drawing, 480 x 240; `title` stands above it. The line must not
// be empty.
std::string ScoreLineSvg(absl::string_view title, const NumericReport& report);

}  // namespace graphnet

#endif  // GRAPHNET_VALIDATE_REPORT_H_
