// Sharding propagation: derives the layouts of a whole graph from those of its inputs, and
// backwards from those of its outputs.
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

// The call that changes the layout of a value: spmd.reshard(%x, "2x4[0, -1]") has the value of %x.
inline constexpr absl::string_view kReshard = "spmd.reshard";

// The result of propagation.
struct ShardedGraph {
  // A graph of ATen operators. Values that are not replicated are annotated with their layout
  // (sharding.h). The main graph has reshards where inputs are divided and where an operand must
  // have another layout than it has.
  std::unique_ptr<Module> module;
  size_t reshards = 0;  // reshards of values other than inputs
  // Number of calls, by target, that had a sharded operand but no rule that could divide them.
  std::map<std::string, size_t> replicated;
};

// The layouts to begin with.
struct ShardRequest {
  Stages stages;
  // Layouts by name of a placeholder or attribute. If several meshes use an input, it is divided
  // this way on those that can.
  std::map<std::string, Sharding> inputs;
  // Layouts by position among the returned values, None left out. The rules of the calls that make
  // an output are applied backwards to choose layouts of inputs that are not named. The output has
  // its layout in the end.
  std::map<size_t, Sharding> outputs;
  // Positions of outputs, None left out, that are gathered whole on the first rank of their mesh.
  std::set<size_t> gathered;
};

// Propagates shardings through `module`. Inputs for which neither the request nor an output decides
// are replicated. If the operands of a call disagree, the largest in bytes decides. A value of
// another mesh counts as divided along the axes of the same number, as far as the mesh of the call
// has them. Bodies of control flow are replicated. Over several meshes every call is annotated,
// even if it is replicated.
//
// InvalidArgument for inputs that do not exist or cannot have the requested layout, and for a value
// that goes to another mesh and is not a tensor of known shape. FailedPrecondition names a call
// that writes to memory: functionalize first.
absl::StatusOr<ShardedGraph> PropagateShardings(const Module& module, const ShardRequest& request);
// Propagates on one mesh from the layouts of inputs alone.
absl::StatusOr<ShardedGraph> PropagateShardings(const Module& module, const Mesh& mesh,
                                                const std::map<std::string, Sharding>& inputs);

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_PROPAGATE_H_
