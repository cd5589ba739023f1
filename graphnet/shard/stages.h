// Stages: which operators of a graph run on which of several meshes.
//
//   --mesh front=2x2 --mesh back=4         ranks 0 to 3 and 4 to 7
//   --stage 'embed,layers.0-3:front'       operators by the modules that they are of
//   --stage 'linear_12..:back'             operators by their order, from one name on
#ifndef GRAPHNET_SHARD_STAGES_H_
#define GRAPHNET_SHARD_STAGES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphnet/ir/module.h"
#include "graphnet/shard/mesh.h"

namespace graphnet::spmd {

// Of "2x2", which is called mesh, or of several "NAME=2x2". A mesh without ranks of its own
// ("2x2{4, 5, 6, 7}") has those that follow all before it. InvalidArgument for a name that is
// given twice, and unless the ranks of all are 0, 1, … without a gap.
absl::StatusOr<std::vector<NamedMesh>> ParseMeshes(absl::Span<const std::string> said);

struct Stages {
  std::vector<NamedMesh> meshes;  // one at least
  std::vector<std::string> said;
  // By call of the main graph: its mesh. Empty: all run on the first.
  absl::flat_hash_map<std::string, size_t> mesh_of_call;

  size_t MeshOf(const Node& node) const;
  // Where an input is used, in order; what nobody uses is on the first.
  std::vector<size_t> MeshesOfInput(const Node& input) const;
};

// What is said, "PLACE,PLACE:MESH", of the calls of the main graph. A place is a pattern of module
// paths (name_pattern.h), or a range of calls "FIRST..END", in the order of the graph and
// without END, either of which may be left out. An operator without a module path has that of a
// parameter that it takes. One that has none at all, and that no range names, runs with the last
// stage of which it takes a value; if it takes none, with the first that takes its own. Elements
// of a tuple go with it.
//
// InvalidArgument: a mesh that there is not or that has no stage, a stage of no operator,
// operators of two stages and of none, stages that take values from each other in a ring, and
// operators that draw random numbers.
absl::StatusOr<Stages> AssignStages(std::vector<NamedMesh> meshes, std::vector<std::string> said,
                                    const Module& module);

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_STAGES_H_
