// Why a graph ends before its program does.
#ifndef GRAPHNET_EXTRACT_BREAK_REASON_H_
#define GRAPHNET_EXTRACT_BREAK_REASON_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace graphnet {

// The reason why a graph ends. The numbers are part of the stitch manifest: append only.
enum class BreakReason : uint8_t {
  kNone = 0,  // the program ended
  kBranchOnData,
  kLoopOnData,
  kAssertOnData,
  kNumberFromTensor,
  kDataRead,
  kPrint,
  kWarning,
  kAttributeAssigned,
  kAttributeMutated,
  kSideEffect,
  kCustomOperator,
  kAsked,
  kLongLoop,
  kCustomClass,
};

struct BreakReasonText {
  BreakReason reason;
  absl::string_view name;         // "branch-on-data"
  absl::string_view explanation;  // what happened
  absl::string_view hint;         // what can be done about it
};

// Returns the texts of all reasons but kNone, in order.
absl::Span<const BreakReasonText> BreakReasons();
// Returns the text of a reason; kNone is called "end".
const BreakReasonText& TextOf(BreakReason reason);

// Returns the table in docs/extraction.md.
std::string BreakReasonsMarkdown();

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_BREAK_REASON_H_
