// The two ways in which graphs write vmap: the calls that open and close its levels
// one by one, as tracers record them, and the higher-order call
//
//   %y = torch.vmap(@body, (%x, %c), in_dims = (0, None), out_dims = 0, randomness = "error")
//
// whose body takes the operands without their batch dimensions.
#ifndef GRAPHNET_PASSES_VMAP_VMAP_CALL_H_
#define GRAPHNET_PASSES_VMAP_VMAP_CALL_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// PyTorch has room for the levels 1 to 63.
inline constexpr int kMaxVmapLevels = 63;

// An error for a call that PyTorch accepts and the passes do not; names the node.
absl::Status UnimplementedAt(const Node& node, absl::string_view what);

enum class NestingCall {
  kNone,       // something else
  kLoad,       // lazy_load_decompositions()
  kIncrement,  // _vmap_increment_nesting(batch_size, randomness)
  kAdd,        // _add_batch_dim(tensor, batch_dim, level)
  kRemove,     // _remove_batch_dim(tensor, level, batch_size, out_dim)
  kDecrement,  // _vmap_decrement_nesting()
};
// Accepts both spellings: torch._C._functorch.* and torch._functorch.predispatch.*
NestingCall NestingCallOf(const Node& node);
// Returns the arguments in the order above, keywords at their positions. InvalidArgument
// if one is missing, given twice or unknown.
absl::StatusOr<std::vector<Argument>> NestingArguments(const Node& node);

using BatchDim = std::optional<int64_t>;  // absent: not batched

struct VmapCall {
  Graph* body = nullptr;
  std::vector<Argument> operands;  // one a placeholder of the body
  std::vector<BatchDim> in_dims;   // one an operand, one of them at least present
  absl::string_view randomness;
  std::vector<Argument> results;   // what the body returns
  std::vector<BatchDim> out_dims;  // one a result
  bool yields_tuple = false;       // else there is one result
};

bool IsVmapCall(const Node& node);
// `node` is one. InvalidArgument when PyTorch would not take it; Unimplemented for
// arguments that are structures of tensors, and for chunk_size with randomness
// "different", which draws other numbers. Else chunk_size, how many elements PyTorch
// computes at a time, changes no value and is not told.
absl::StatusOr<VmapCall> ReadVmapCall(const Node& node);

// The size of dimension `dim` of `value` if its meta says so.
std::optional<int64_t> KnownSize(const Argument& value, int64_t dim);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_VMAP_VMAP_CALL_H_
