#include "graphnet/passes/partial_evaluation/partial_evaluation.h"

#include <utility>

#include "graphnet/base/status.h"
#include "graphnet/passes/partial_evaluation/evaluator.h"

namespace graphnet {
namespace {

using evaluation::Evaluator;
using evaluation::NodeSet;

// Evaluations, each of which finds more that cannot be followed, before no list is followed.
constexpr int kMaxAttempts = 8;

absl::StatusOr<ProgramOfCall> EvaluateAll(const Module& module, Evaluator::Options options) {
  NodeSet kept;
  for (int attempts = 1;; ++attempts) {
    Evaluator evaluator(module, options, kept);
    absl::StatusOr<std::unique_ptr<Module>> made = evaluator.Run();
    // Lists of lists may be too large to be followed, while the calls that make them are few.
    const bool is_too_long = options.with_lists && !options.of_call && evaluator.is_too_long();
    const bool loses_state = options.with_state && evaluator.has_state_in_body();
    if (!is_too_long && !loses_state && evaluator.kept().size() == kept.size()) {
      RETURN_IF_ERROR(made.status());
      return ProgramOfCall{*std::move(made), evaluator.lost()};
    }
    kept = evaluator.kept();
    if (is_too_long || attempts == kMaxAttempts) options.with_lists = false;
    if (loses_state || attempts == kMaxAttempts) options.with_state = false;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Module>> PartiallyEvaluate(const Module& module) {
  ASSIGN_OR_RETURN(ProgramOfCall program, EvaluateAll(module, {}));
  return std::move(program.module);
}

absl::StatusOr<ProgramOfCall> EvaluateCall(const Module& module, bool with_state) {
  return EvaluateAll(module, {.of_call = true, .with_state = with_state});
}

}  // namespace graphnet
