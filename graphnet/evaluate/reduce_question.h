// The questions that `graphnet reduce` asks about each smaller sample: does it still fail in the
// same way with a backend, or is it still interesting to a command?
#ifndef GRAPHNET_EVALUATE_REDUCE_QUESTION_H_
#define GRAPHNET_EVALUATE_REDUCE_QUESTION_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "graphnet/evaluate/bench.h"
#include "graphnet/evaluate/failure_kind.h"

namespace graphnet {

// A property of samples.
class Question {
 public:
  virtual ~Question() = default;
  // Returns whether the sample at `path` still has the property. The first call is for the sample
  // that is to be reduced; its error says why there is nothing to reduce.
  virtual absl::StatusOr<bool> Ask(const std::string& path) = 0;
  // Returns a line that describes the property, once it is known.
  virtual std::string Kept() const = 0;
};

// Asks whether a command exits with 0 within so many seconds. "{}" in it is replaced by the path.
std::unique_ptr<Question> MakeCommandQuestion(std::string command, double seconds);
// The question whether a backend fails as it did on the first sample.
class BackendQuestion : public Question {
 public:
  // Makes the next sample the first one. The workers stay.
  virtual void Forget() = 0;
  // Returns how the backend fails on the first sample, once it has been asked.
  virtual const FailureKind& kind() const = 0;
};

// Asks whether the backend that `run` names fails as it did on the first sample. `run` must outlive
// the question. Workers run below `folder`.
absl::StatusOr<std::unique_ptr<BackendQuestion>> MakeBackendQuestion(const BenchRun& run,
                                                                     const std::string& folder);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_REDUCE_QUESTION_H_
