// Makes up results of samples for tests.
#ifndef GRAPHNET_TESTS_EVALUATE_SAMPLES_H_
#define GRAPHNET_TESTS_EVALUATE_SAMPLES_H_

#include <string>

#include "graphnet/evaluate/sample_result.h"

namespace graphnet {

inline constexpr int kNeverRight = kMaxToleranceLevel + 1;

// One float32 output that is right from level `first_right` on.
inline SampleResult MakeSample(const std::string& path, double speedup, int first_right) {
  SampleResult sample;
  sample.path = path;
  sample.config = {{"model", path}, {"device", "cpu"}, {"compiler", "nope"}};
  sample.eager_dtypes = sample.compiled_dtypes = {"float32"};
  OutputComparison& output = sample.outputs.emplace_back();
  for (int t = first_right; t <= kMaxToleranceLevel; ++t) {
    for (int c = 0; c < kNumToleranceClasses; ++c) {
      output.SetClose(t, static_cast<ToleranceClass>(c));
    }
  }
  sample.speedups = {{"e2e", speedup}};
  return sample;
}

inline SampleResult MakeFailure(const std::string& path, Outcome status,
                                const std::string& reason = "") {
  SampleResult sample;
  sample.path = path;
  sample.config = {{"model", path}, {"device", "cpu"}, {"compiler", "nope"}};
  sample.status = status;
  sample.reason = reason;
  if (status != Outcome::kEagerFail) sample.eager_dtypes = {"float32"};
  if (status == Outcome::kTypeMismatch) sample.compiled_dtypes = {"float16"};
  if (status == Outcome::kShapeMismatch) sample.compiled_dtypes = {"float32"};
  return sample;
}

}  // namespace graphnet

#endif  // GRAPHNET_TESTS_EVALUATE_SAMPLES_H_
