// The question that reduce.h asks of each smaller sample: whether it still fails with a backend in
// the same way, or is still of interest to a command.
#ifndef GRAPHNET_EVALUATE_REDUCE_QUESTION_H_
#define GRAPHNET_EVALUATE_REDUCE_QUESTION_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "graphnet/evaluate/bench.h"

namespace graphnet {

class Question {
 public:
  virtual ~Question() = default;
  // Whether the sample at `path` still does it. The first one is the sample that is to be reduced;
  // then an error says why there is nothing to reduce.
  virtual absl::StatusOr<bool> Ask(const std::string& path) = 0;
  // A line that says what is kept, once it is known.
  virtual std::string Kept() const = 0;
};

// Whether a command exits with 0 within so many seconds; "{}" in it becomes the path.
std::unique_ptr<Question> MakeCommandQuestion(std::string command, double seconds);
// Whether the backend that `run` names, which must outlive the question, fails as it did on the
// first sample. Its workers run below `folder`.
absl::StatusOr<std::unique_ptr<Question>> MakeBackendQuestion(const BenchRun& run,
                                                              const std::string& folder);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_REDUCE_QUESTION_H_
