#include "graphnet/evaluate/interpretation.h"

namespace graphnet {
namespace {

constexpr PenaltyClass kDefault[] = {{"accuracy", 1}, {"runtime", 3}, {"compile", 3}};
constexpr PenaltyClass kExtended[] = {
    {"accuracy", 1}, {"mismatch", 2}, {"runtime", 3}, {"compile", 4}, {"eager", kNeverForgiven}};
constexpr PenaltyClass kReport[] = {{"accuracy", 1}, {"runtime", 2}, {"compile", 3}};

}  // namespace

absl::string_view InterpretationName(Interpretation interpretation) {
  switch (interpretation) {
    case Interpretation::kDefault: return "default";
    case Interpretation::kMismatchExtended: return "mismatch_extended";
    case Interpretation::kReport: return "report";
  }
  return "";
}

absl::Span<const PenaltyClass> PenaltyClasses(Interpretation interpretation) {
  switch (interpretation) {
    case Interpretation::kDefault: return kDefault;
    case Interpretation::kMismatchExtended: return kExtended;
    case Interpretation::kReport: return kReport;
  }
  return {};
}

size_t PenaltyClassOf(Interpretation interpretation, Outcome outcome) {
  const bool extended = interpretation == Interpretation::kMismatchExtended;
  switch (outcome) {
    case Outcome::kCorrect:
    case Outcome::kBlind:
    case Outcome::kAccuracy: return 0;
    case Outcome::kNotFinite:
    case Outcome::kTypeMismatch:
    case Outcome::kShapeMismatch: return 1;  // runtime, or a class of their own
    case Outcome::kRuntimeFail: return extended ? 2 : 1;
    case Outcome::kCompileFail: return extended ? 3 : 2;
    // Logs of GraphNet's PyTorch tool use it for every crash, on either side.
    case Outcome::kEagerFail: return extended ? 4 : 1;
  }
  return 0;
}

int LastLevel(Interpretation interpretation) {
  return interpretation == Interpretation::kMismatchExtended ? 5 : 4;
}

}  // namespace graphnet
