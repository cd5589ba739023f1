// Captures a TorchScript program in every way and compares the captures with the program.
#ifndef GRAPHNET_TESTS_EXTRACT_CHECK_PROGRAM_H_
#define GRAPHNET_TESTS_EXTRACT_CHECK_PROGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/extract/capture.h"

namespace graphnet {

struct TestProgram {
  std::string name;
  // Methods of a module that has: weight, a parameter f32[3]; buffer, f32[3]; count,
  // i64[]; scale, a float; history, List[Tensor]; training. If the source uses self.counter,
  // the module also has a Counter of custom.h that begins with 5. graphnet_test is the
  // namespace of operators.
  std::string source;
  std::vector<std::string> inputs;  // in the form of inputs/example_input.h
  std::vector<std::string> break_on;
  std::vector<CaptureOptions::DynamicSize> dynamic;
  bool cond = false;
  int64_t max_unroll = CaptureOptions().max_unroll;
};

// Runs the program directly, captured, stitched from memory through the cache, and
// stitched from a folder of either format. Fails if results, prints, changed inputs or
// state differ, or if the operators that ran are not those of the subgraphs, between
// them, and folded (of torch.cond, only one body runs). Half of the calls through the
// cache have other dynamic sizes. Returns the subgraphs and operations as text.
absl::StatusOr<std::string> CheckProgram(const TestProgram& program);

// Writes the program's module as a TorchScript archive.
absl::Status SaveProgram(const std::string& source, const std::string& path);

}  // namespace graphnet

#endif  // GRAPHNET_TESTS_EXTRACT_CHECK_PROGRAM_H_
