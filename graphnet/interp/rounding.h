// Says whether rounding explains the difference of two results. docs/rounding.md has the model.
//
//   std::map<std::string, OutputRounding> by;  // MeasureRounding (measure_rounding.h) made it
//   const RoundingFinding finding = JudgeRounding(by.at("o0"), other);
//   std::cout << finding.Text();  // "rounding: 0.8 of what rounding explains"
#ifndef GRAPHNET_INTERP_ROUNDING_H_
#define GRAPHNET_INTERP_ROUNDING_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Random rounding moves results by so many times more in the runs that look for decisions.
inline constexpr int kSizeOfDecidingRuns = 4;

// Says what rounding can do to one output of a program.
struct OutputRounding {
  TensorData value;  // what the program returned, without random rounding
  // float32, of the sizes of `value`: the standard deviation of each element under random rounding.
  // Without bytes if the elements are no floating-point numbers.
  TensorData spread;
  // The whole output varies as much as this number of independent numbers does; 1 if all elements
  // move together.
  double degrees = 1;
  // The result in float64; without bytes if it is not known.
  TensorData exact;
  // Results of runs in which a decision within rounding fell otherwise, and the first such decision.
  struct Otherwise {
    TensorData value;
    std::string decision;  // "aten::topk at %topk_3"
  };
  std::vector<Otherwise> otherwise;
};

enum class RoundingVerdict : uint8_t {
  kEqual,      // in bits
  kRounding,   // rounding explains the difference
  kDecision,   // a decision within rounding fell otherwise, and rounding explains the rest
  kBlind,      // rounding explains it, and would explain a wrong answer, too
  kBeyond,     // rounding does not explain it
  kOtherForm,  // other sizes, or another dtype
};
// Returns "equal", "rounding", "decision", "blind", "beyond" or "other_form".
absl::string_view RoundingVerdictName(RoundingVerdict verdict);
// Returns the verdict of a name; nullopt if there is none.
std::optional<RoundingVerdict> RoundingVerdictOfName(absl::string_view name);
// Returns whether a verdict calls the result right: the first three do.
inline bool IsExplained(RoundingVerdict verdict) { return verdict <= RoundingVerdict::kDecision; }

struct RoundingFinding {
  RoundingVerdict verdict = RoundingVerdict::kEqual;
  // The difference, as a part of what rounding explains. It may be infinite.
  double ratio = 0;
  int64_t beyond = 0;    // elements that differ by more than rounding explains
  std::string decision;  // of kDecision
  std::string first;     // of kBeyond: the first value that is beyond rounding; empty if unknown

  bool is_explained() const { return IsExplained(verdict); }
  // Returns "rounding: 0.8 of what rounding explains".
  std::string Text() const;
};

// Judges another result of the program for the same inputs.
RoundingFinding JudgeRounding(const OutputRounding& by, const TensorData& other);

// Returns the strictest level of tolerances (base/tolerance.h) that all differences pass which
// rounding explains; nullopt if that is none, or if the output has no floating-point numbers.
std::optional<int> DerivedLevel(const OutputRounding& by);

// Returns the finding for a whole result: the worst of its outputs.
const RoundingFinding& WorstOf(const std::vector<RoundingFinding>& findings);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_ROUNDING_H_
