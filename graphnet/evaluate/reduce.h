// Delta debugging: the smallest sample found that still shows what a larger one does.
#ifndef GRAPHNET_EVALUATE_REDUCE_H_
#define GRAPHNET_EVALUATE_REDUCE_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "graphnet/ir/observed_values.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

struct SampleSize {
  int64_t operators = 0;  // of the main graph
  int64_t inputs = 0;     // and attributes
  int64_t elements = 0;   // of those whose sizes are numbers
};
SampleSize SizeOfSample(const Sample& sample);

struct Reduction {
  Sample sample;
  SampleSize before;
  SampleSize after;
  int tries = 0;            // how often it was asked whether a sample is interesting
  bool is_minimal = false;  // no step makes it smaller; else the time was up
};

// How the values of a sample are observed (interp/observe.h does so with LibTorch).
struct SampleObserver {
  // The shapes of all values. The error says that the graph cannot run on shapes like these. Null:
  // sizes and numbers stay as they are.
  std::function<absl::Status(const Sample&, ObservedValues*)> infer;
  // Describes values after a run on inputs of this seed, so that inputs can take their place.
  // The error says why no more is known. Null: what the sample says.
  std::function<absl::Status(const Sample&, uint64_t seed, ObservedValues*)> measure;
};

struct ReduceOptions {
  // Whether a sample, which verifies, shows what is looked for. An error ends all.
  std::function<absl::StatusOr<bool>(const Sample&)> is_interesting;
  SampleObserver observe;
  uint64_t seed = 0;                             // of the runs of `observe`
  absl::Time deadline = absl::InfiniteFuture();  // no try but the first begins after it
  // Called before each try with what there is so far.
  std::function<void(const SampleSize&, int tries)> on_try;
};

// In turns until none helps, halves before quarters and so on down to one at a time:
//  - outputs go, with what only they need;
//  - operators go; inputs take the place of their values, or where they are the last ones, the
//    graph returns what they were given;
//  - values of inputs and attributes become plain ones: 0 for integers, else drawn with mean 0 and
//    standard deviation 1; real weights go;
//  - sizes of inputs and attributes shrink, with the numbers in arguments that are multiples of
//    them;
//  - other numbers in arguments become 1 or 0, keyword arguments go.
// Names of values stay. InvalidArgument if the module does not verify, FailedPrecondition if the
// sample is not interesting.
absl::StatusOr<Reduction> Reduce(const Sample& sample, const ReduceOptions& options);

// Makes the bodies of calls part of the main graph where the sample stays interesting, so that
// Reduce sees what is in them.
absl::Status ExpandBodies(const ReduceOptions& options, Sample* sample);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_REDUCE_H_
