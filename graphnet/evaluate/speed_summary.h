// Whether a compiler pays off, in one sentence: how often it is right, how often faster or slower than
// eager, and by how much in the middle.
#ifndef GRAPHNET_EVALUATE_SPEED_SUMMARY_H_
#define GRAPHNET_EVALUATE_SPEED_SUMMARY_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/evaluate/log.h"
#include "graphnet/evaluate/score.h"

namespace graphnet {

// The speedups over eager of the samples that are right at t = -5.
struct SpeedSummary {
  size_t samples = 0;  // all
  size_t right = 0;    // those that are right; each of them is one of the next three
  size_t faster = 0;   // the 95 % interval of the speedup is above 1, or the log has none and the
  size_t slower = 0;   // speedup is; slower: below
  size_t as_fast = 0;
  double median = 0;  // 0 if no sample is right
  // Holds the median of samples of the same kind in at least 95 % of cases, whatever the distribution of
  // speedups: from one order statistic to another, by the sign test. Six samples are needed.
  std::optional<Interval> interval;
};

SpeedSummary Summarize(absl::Span<const LoggedSample> samples);

// Returns "inductor is right on 361 of 400 samples (t = −5), and faster than eager on 300 of them, slower on
// 40 and as fast on 21; the median speedup is 1.43 (95 %: 1.39 to 1.48)."
std::string Sentence(absl::string_view name, const SpeedSummary& summary);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_SPEED_SUMMARY_H_
