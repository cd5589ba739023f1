// What a launcher of ranks has to know beside their programs: who holds what, and who talks to whom.
#ifndef GRAPHNET_SHARD_SHARD_PLAN_H_
#define GRAPHNET_SHARD_SHARD_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/types.h"
#include "graphnet/shard/mesh.h"
#include "graphnet/shard/reshard.h"
#include "graphnet/shard/sharding.h"

namespace graphnet::spmd {

// A tensor that goes into all ranks of a mesh or comes out of them.
struct LaidOutTensor {
  std::string name;      // of an input, as the sample calls it; outputs are o0, o1, …
  std::string argument;  // of an input: what the programs of the ranks call it
  std::string number;    // of an input that is a number: its annotation, as "torch.SymInt"
  DType dtype = DType::kUnknown;
  std::vector<int64_t> sizes;  // of the whole
  size_t mesh = 0;             // of ShardPlan::meshes
  Sharding sharding;           // never partial; of no dimensions: whole, and sizes may be unknown
  // Of an output, whether it is bit by bit what the graph that was not sharded yields. If not, it
  // depends on sums whose order follows how they are divided.
  bool is_exact = true;
  // Of an output that is there to be looked at (--gather): what it was called.
  std::string gathered;
};

// A step in which ranks talk.
struct Communication {
  std::string value;     // that it makes
  std::string function;  // of the table of reshards
  DType dtype = DType::kUnknown;
  ReshardStep step;
};

struct ShardPlan {
  std::vector<NamedMesh> meshes;
  std::vector<std::string> stages;     // as they were said
  std::vector<LaidOutTensor> inputs;   // by placeholder, for each mesh that takes it
  std::vector<LaidOutTensor> outputs;  // by what is returned, flattened, without None
  std::vector<Communication> communication;
  // By target: calls that had a sharded operand and no rule that knows how to divide them.
  std::map<std::string, size_t> replicated;

  size_t num_ranks() const;  // they are 0, 1, …
  const Mesh& MeshOf(const LaidOutTensor& tensor) const { return meshes[tensor.mesh].mesh; }
  // The place of the rank in the mesh of the tensor, if it has a part of it.
  std::optional<size_t> PositionOf(int rank, const LaidOutTensor& tensor) const;
};

// The form of plan.json (docs/sharding.md).
std::string PlanToJson(const ShardPlan& plan);
// Meshes, stages, inputs and outputs of such a text; what else is in it is not read. InvalidArgument, with
// `name` in front, if it is none.
absl::StatusOr<ShardPlan> ParsePlan(absl::string_view text, absl::string_view name);

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_SHARD_PLAN_H_
