// Stages: the assignment of a graph's operators to one of several meshes.
//
//   --mesh front=2x2 --mesh back=4         ranks 0 to 3 and 4 to 7
//   --stage 'embed,layers.0-3:front'       operators by their modules
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

// Parses one mesh "2x2", which gets the name "mesh", or several "NAME=2x2". A mesh that does not
// list its ranks ("2x2{4, 5, 6, 7}") has the ranks that follow those of the meshes before it.
// InvalidArgument for a name that is given twice, and unless all ranks together are 0, 1, … without
// a gap.
absl::StatusOr<std::vector<NamedMesh>> ParseMeshes(absl::Span<const std::string> said);

// The meshes and the mesh of each call.
struct Stages {
  std::vector<NamedMesh> meshes;  // at least one
  std::vector<std::string> said;  // the options that were given
  // Mesh of each call of the main graph, by name. If empty, all run on the first mesh.
  absl::flat_hash_map<std::string, size_t> mesh_of_call;

  size_t MeshOf(const Node& node) const;
  // Returns the meshes that use an input, in order; the first mesh if the input is unused.
  std::vector<size_t> MeshesOfInput(const Node& input) const;
};

// Assigns the calls of the main graph by options "PLACE,PLACE:MESH". A place is a pattern of module
// paths (name_pattern.h), or a range of calls "FIRST..END" in the order of the graph, which
// excludes END; either end may be left out. An operator without a module path has the path of a
// parameter that it takes. An operator that has no path even so, and that no range names, runs with
// the last stage from which it takes a value; if it takes none, with the first stage that takes its
// value. Elements of a tuple go with the tuple.
//
// InvalidArgument for a mesh that does not exist or has no stage, a stage without operators, an
// operator in two stages or in none, a cycle of stages that take values from each other, and
// operators that draw random numbers.
absl::StatusOr<Stages> AssignStages(std::vector<NamedMesh> meshes, std::vector<std::string> said,
                                    const Module& module);

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_STAGES_H_
