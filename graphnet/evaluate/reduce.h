// Delta debugging: searches for the smallest sample that still shows what a larger one shows.
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

// The size of a sample, which a reduction makes smaller.
struct SampleSize {
  int64_t operators = 0;  // of the main graph
  int64_t inputs = 0;     // inputs and attributes
  int64_t elements = 0;   // of inputs and attributes whose sizes are numbers
};
// Returns the size of a sample.
SampleSize SizeOfSample(const Sample& sample);

// The result of a reduction.
struct Reduction {
  Sample sample;
  SampleSize before;
  SampleSize after;
  int tries = 0;            // number of calls of is_interesting
  bool is_minimal = false;  // true if no step makes it smaller; false if the time was up
};

// Functions that observe the values of a sample (interp/observe.h does so with LibTorch).
struct SampleObserver {
  // Finds the shapes of all values. The error says why the graph cannot run on these shapes. If
  // `infer` is null, sizes and numbers stay as they are.
  std::function<absl::Status(const Sample&, ObservedValues*)> infer;
  // Describes values after a run on inputs of this seed, so that inputs can take their place. The
  // error says why nothing more is known. If `measure` is null, the sample's descriptions are used.
  std::function<absl::Status(const Sample&, uint64_t seed, ObservedValues*)> measure;
};

// The property to keep, and the limits of a reduction.
struct ReduceOptions {
  // Returns whether a sample, which verifies, shows what is looked for. An error ends the
  // reduction.
  std::function<absl::StatusOr<bool>(const Sample&)> is_interesting;
  SampleObserver observe;
  uint64_t seed = 0;                             // of the runs of `observe`
  absl::Time deadline = absl::InfiniteFuture();  // only the first try may begin after it
  // Called before each try with the size of the best sample so far.
  std::function<void(const SampleSize&, int tries)> on_try;
};

// Reduces a sample by these steps, repeated until none of them helps. Each removes halves before
// quarters and so on, down to one thing at a time:
//  - outputs are dropped, with everything that only they need;
//  - operators are dropped; inputs take the place of their values, or, if they are the last
//    operators, the graph returns their operands;
//  - values of inputs and attributes become plain: 0 for integers, otherwise drawn with mean 0 and
//    standard deviation 1; real weights are dropped;
//  - sizes of inputs and attributes shrink, together with the numbers in arguments that are
//    multiples of them;
//  - other numbers in arguments become 1 or 0, and keyword arguments are dropped.
// Values keep their names. InvalidArgument if the module does not verify, FailedPrecondition if the
// sample is not interesting.
absl::StatusOr<Reduction> Reduce(const Sample& sample, const ReduceOptions& options);

// Moves the bodies of calls into the main graph if the sample stays interesting, so that Reduce can
// reduce them, too.
absl::Status ExpandBodies(const ReduceOptions& options, Sample* sample);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_REDUCE_H_
