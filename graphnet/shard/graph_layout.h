// The layouts of the values of a sharded graph, which PropagateShardings (propagate.h) made or
// which was read from its text; and the local form of calls that take sizes of whole tensors.
#ifndef GRAPHNET_SHARD_GRAPH_LAYOUT_H_
#define GRAPHNET_SHARD_GRAPH_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/shard/mesh.h"
#include "graphnet/shard/reshard.h"
#include "graphnet/shard/sharding.h"

namespace graphnet::spmd {

// Returns the sizes of the whole value. InvalidArgument if its shape is not known.
absl::StatusOr<std::vector<int64_t>> WholeSizes(const Node& node);

class GraphLayout {
 public:
  // Reads the annotations of the main graph. InvalidArgument names the first annotation that is not
  // a sharding and, if there are several meshes, a call that has no mesh or takes a value of
  // another mesh.
  static absl::StatusOr<GraphLayout> Read(const Module& module);

  // The meshes in the order in which annotations name them; empty if nothing is annotated.
  const std::vector<Mesh>& meshes() const { return meshes_; }
  // Returns nullptr for a node without annotation: it is on the only mesh, or wherever it is used.
  const Mesh* MeshOf(const Node* node) const {
    return mesh_of_[node] == 0 ? nullptr : &meshes_[mesh_of_[node] - 1];
  }
  // Returns one sharding for a tensor, one for each element of a tuple, or one for all elements of
  // a list; empty if the value is replicated.
  const std::vector<Sharding>& Of(const Node* node) const { return shardings_[node]; }
  // Returns the sharding of a tensor of `rank` dimensions.
  Sharding OfTensor(const Node* node, size_t rank) const;
  // Returns whether all ranks compute the same value.
  bool IsAlike(const Node& node) const;

  // Returns the steps by which a call of spmd.reshard gets from the layout of its operand to the
  // layout that it names. InvalidArgument if that is impossible, or if the call's annotation is
  // another layout.
  absl::StatusOr<ReshardPlan> PlanOf(const Node& reshard, int64_t element_bytes) const;
  // Replaces sizes of the whole among the arguments of `copy`, which stands for `node` on one rank,
  // by sizes of the rank's part.
  absl::Status SetLocalSizes(const Node& node, Node* copy) const;

 private:
  explicit GraphLayout(const Module& module) : mesh_of_(module), shardings_(module) {}
  absl::Status ReadNode(const Node& node);
  absl::Status CheckMesh(const Node& node) const;

  std::vector<Mesh> meshes_;
  NodeTable<size_t> mesh_of_;  // index of the mesh plus 1; 0 for none
  NodeTable<std::vector<Sharding>> shardings_;
};

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_GRAPH_LAYOUT_H_
