// The function load_args of PyTorch's repros, which says what the inputs of the graph are:
//
//   def load_args(reader):
//       buf0 = reader.storage(None, 128, device=device(type='cuda', index=0))
//       reader.tensor(buf0, (4, 8), dtype=torch.float16, is_leaf=True)  # x_1
//       reader.symint(4)  # s0
#ifndef GRAPHNET_FORMATS_POSTED_LOAD_ARGS_H_
#define GRAPHNET_FORMATS_POSTED_LOAD_ARGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/module.h"

namespace graphnet::posted {

// An argument that load_args makes.
struct LoadedArg {
  std::optional<int64_t> number;  // set for a number
  DType dtype = DType::kFloat32;
  Device device;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;  // empty: contiguous
};

// Reads the statements of load_args. Those that say nothing of an argument are skipped, and so is
// what stands behind one that cannot be read. Nothing is executed.
std::vector<LoadedArg> ReadLoadArgs(const std::string& text);

// Gives the inputs of the main graph the metas of the arguments, and the symbols of their sizes
// these examples. Notes what contradicts the graph.
void ApplyLoadArgs(const std::vector<LoadedArg>& args, Module* module,
                   std::vector<std::string>* notes);

}  // namespace graphnet::posted

#endif  // GRAPHNET_FORMATS_POSTED_LOAD_ARGS_H_
