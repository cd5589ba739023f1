// The plan of a sharded sample, for a launcher of its ranks: the parts that each rank holds, and
// the communication between ranks.
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

// An input or output of all ranks of a mesh.
struct LaidOutTensor {
  std::string name;      // the input's name in the sample, or o0, o1, … for outputs
  std::string argument;  // inputs: the name in the programs of the ranks
  std::string number;    // inputs that are numbers: the annotation, such as "torch.SymInt"
  DType dtype = DType::kUnknown;
  std::vector<int64_t> sizes;  // sizes of the whole
  size_t mesh = 0;             // index into ShardPlan::meshes
  // Never partial. Without dimensions the tensor is replicated, and sizes may be unknown.
  Sharding sharding;
  // Outputs: true if the result is bit by bit that of the graph before sharding. If false, it
  // depends on sums whose order depends on the sharding.
  bool is_exact = true;
  // Outputs that are gathered for inspection (--gather): the name that was given there.
  std::string gathered;
};

// A step of communication.
struct Communication {
  std::string value;     // name of the value that it makes
  std::string function;  // name in the table of reshards
  DType dtype = DType::kUnknown;
  ReshardStep step;
};

struct ShardPlan {
  std::vector<NamedMesh> meshes;
  std::vector<std::string> stages;    // as they were given
  std::vector<LaidOutTensor> inputs;  // placeholders in order, one entry for each mesh that uses it
  std::vector<LaidOutTensor> outputs;  // returned values, flattened, without None
  std::vector<Communication> communication;
  // Number of calls, by target, that had a sharded operand but no rule that could divide them.
  std::map<std::string, size_t> replicated;

  size_t num_ranks() const;  // ranks are 0, 1, …
  const Mesh& MeshOf(const LaidOutTensor& tensor) const { return meshes[tensor.mesh].mesh; }
  // Returns the position of a rank in the tensor's mesh; nullopt if it is not in that mesh.
  std::optional<size_t> PositionOf(int rank, const LaidOutTensor& tensor) const;
};

// Returns the text of plan.json (docs/sharding.md).
std::string PlanToJson(const ShardPlan& plan);
// Reads meshes, stages, inputs and outputs from the text of a plan.json and ignores the rest.
// InvalidArgument, with `name` in front, if the text is not a plan.
absl::StatusOr<ShardPlan> ParsePlan(absl::string_view text, absl::string_view name);

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_SHARD_PLAN_H_
