// Sharding of a whole graph, from that of its inputs.
#ifndef GRAPHNET_SHARD_PROPAGATE_H_
#define GRAPHNET_SHARD_PROPAGATE_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/module.h"
#include "graphnet/shard/mesh.h"
#include "graphnet/shard/sharding.h"

namespace graphnet::spmd {

// The call by which a value is laid out anew: spmd.reshard(%x, "2x4[0, -1]"). Its value is
// that of %x.
inline constexpr absl::string_view kReshard = "spmd.reshard";

struct ShardedGraph {
  // Of ATen's operators. Values that are not replicated are annotated with how they are laid
  // out (sharding.h), and the main graph has reshards where inputs are divided and where an
  // operand must be laid out otherwise than it is.
  std::unique_ptr<Module> module;
  size_t reshards = 0;  // of values that are no inputs
  // By target: calls that had a sharded operand and no rule that knows how to divide them.
  std::map<std::string, size_t> replicated;
};

// `inputs`: by name, of placeholders and attributes; the others are replicated. Where the
// operands of a call disagree, that of the most bytes has its way. InvalidArgument for inputs
// that there are not, or that cannot be laid out so; FailedPrecondition names a call that
// writes to memory: functionalize first. Bodies of control flow are replicated.
absl::StatusOr<ShardedGraph> PropagateShardings(const Module& module, const Mesh& mesh,
                                                const std::map<std::string, Sharding>& inputs);

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_PROPAGATE_H_
