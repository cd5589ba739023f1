// Writes Python files that check other implementations of a graph, for those who write kernels.
#ifndef GRAPHNET_VIEW_COMMANDS_UNITTEST_PYTHON_H_
#define GRAPHNET_VIEW_COMMANDS_UNITTEST_PYTHON_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/command/inputs.h"
#include "graphnet/command/result.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Returns the functions of unittest_tail.py, which follow the graph and the records of its inputs.
absl::string_view UnittestTail();
// Returns try_unittest.py, which runs such files.
absl::string_view TryUnittestPy();

// Returns a file of Python that needs PyTorch alone: the graph, the records from which weights and
// inputs are drawn, Model, get_inputs, get_init_inputs and main. Values of weights are not kept.
// Unimplemented, with the reason, for a sample that a GraphNet folder cannot hold.
absl::StatusOr<std::string> UnittestPython(Sample sample);

// The options of show --to unittest.
struct UnittestFlags {
  InputList inputs;
  std::string out;  // NAME_test.py, or a folder in which each sample has such a file
  int jobs = 0;
  bool trust = false;
};

// Makes the file of each sample, runs it in a process with limits, and writes it only if it ran. One
// that is refused does not end the others.
absl::StatusOr<CommandResult> WriteUnittests(const UnittestFlags& flags);

}  // namespace graphnet

#endif  // GRAPHNET_VIEW_COMMANDS_UNITTEST_PYTHON_H_
