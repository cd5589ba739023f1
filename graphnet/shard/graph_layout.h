// How the values of a sharded graph are laid out: one as PropagateShardings (propagate.h) leaves
// it, or as its text was read. And what a rank calls in the place of a call on whole tensors.
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

// InvalidArgument unless the shape of the value is known.
absl::StatusOr<std::vector<int64_t>> WholeSizes(const Node& node);

class GraphLayout {
 public:
  // Of the main graph, by its annotations. InvalidArgument names the first that is no sharding, and,
  // where there are several meshes, a call that is on none or takes what is on another than it.
  static absl::StatusOr<GraphLayout> Read(const Module& module);

  // In the order in which they come; none: nothing is annotated.
  const std::vector<Mesh>& meshes() const { return meshes_; }
  // Null of what is not annotated: it is on the one mesh there is, or wherever it is used.
  const Mesh* MeshOf(const Node* node) const {
    return mesh_of_[node] == 0 ? nullptr : &meshes_[mesh_of_[node] - 1];
  }
  // Of a tensor, or of the elements of a tuple, of a list that of each; empty: it is whole.
  const std::vector<Sharding>& Of(const Node* node) const { return shardings_[node]; }
  Sharding OfTensor(const Node* node, size_t rank) const;
  // Whether all ranks compute the same.
  bool IsAlike(const Node& node) const;

  // How a call of spmd.reshard gets from its operand to what it asks for. InvalidArgument if
  // that cannot be, or is not what it is annotated with.
  absl::StatusOr<ReshardPlan> PlanOf(const Node& reshard, int64_t element_bytes) const;
  // `copy` stands for `node` on one rank: sizes that it is given, which are those of the whole,
  // become those of a part.
  absl::Status SetLocalSizes(const Node& node, Node* copy) const;

 private:
  explicit GraphLayout(const Module& module) : mesh_of_(module), shardings_(module) {}
  absl::Status ReadNode(const Node& node);
  absl::Status CheckMesh(const Node& node) const;

  std::vector<Mesh> meshes_;
  NodeTable<size_t> mesh_of_;  // from 1 on
  NodeTable<std::vector<Sharding>> shardings_;
};

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_GRAPH_LAYOUT_H_
