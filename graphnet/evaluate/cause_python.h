// Writes a file of Python that shows with PyTorch alone that a compiler fails on a small sample.
#ifndef GRAPHNET_EVALUATE_CAUSE_PYTHON_H_
#define GRAPHNET_EVALUATE_CAUSE_PYTHON_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Returns the functions of cause_tail.py, which follow the graph and its values.
absl::string_view CauseTail();

// Returns a file with the graph, its values and a test for pytest, which also runs as a program. Values of at
// most 64 KiB are those that `seed` draws for the sample; others are drawn by the file. `what` describes the
// failure, and `backend` is the compiler if torch.compile has one of that name. Unimplemented, with the
// reason, for a sample that a GraphNet folder cannot hold.
absl::StatusOr<std::string> CausePython(Sample sample, uint64_t seed, absl::string_view backend,
                                        absl::string_view what);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_CAUSE_PYTHON_H_
