// Sharding of a whole graph, from that of its inputs, or backwards from that of its outputs.
#ifndef GRAPHNET_SHARD_PROPAGATE_H_
#define GRAPHNET_SHARD_PROPAGATE_H_

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/module.h"
#include "graphnet/shard/mesh.h"
#include "graphnet/shard/sharding.h"
#include "graphnet/shard/stages.h"

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

struct ShardRequest {
  Stages stages;
  // By name, of placeholders and attributes. One that several meshes use is divided so on those
  // that can.
  std::map<std::string, Sharding> inputs;
  // By place among what is returned, None left out. What the rules of the calls that make it ask
  // of inputs that are not named they are given, and it is laid out so in the end.
  std::map<size_t, Sharding> outputs;
  std::set<size_t> gathered;  // ditto: they come whole to the first rank of their mesh
};

// Inputs of which nothing is said, and nothing follows from outputs, are replicated. Where the
// operands of a call disagree, that of the most bytes has its way. A value of another mesh counts
// as divided along the axes of the same number, as far as the mesh of the call has them.
// InvalidArgument for inputs that there are not, or that cannot be laid out so, and for what goes
// to another mesh and is no tensor of known shape; FailedPrecondition names a call that
// writes to memory: functionalize first. Bodies of control flow are replicated.
//
// Over several meshes every call is annotated, also if it is replicated.
absl::StatusOr<ShardedGraph> PropagateShardings(const Module& module, const ShardRequest& request);
// On one mesh, from inputs alone.
absl::StatusOr<ShardedGraph> PropagateShardings(const Module& module, const Mesh& mesh,
                                                const std::map<std::string, Sharding>& inputs);

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_PROPAGATE_H_
