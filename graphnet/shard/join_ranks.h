// The programs of all ranks as one graph for a single process.
#ifndef GRAPHNET_SHARD_JOIN_RANKS_H_
#define GRAPHNET_SHARD_JOIN_RANKS_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ir/module.h"
#include "graphnet/shard/mesh.h"

namespace graphnet::spmd {

// Returns the name of a rank's input in the joined graph, such as "rank2.x".
std::string JoinedInput(int rank, absl::string_view input);

// Joins the programs (rank_programs.h), one for each rank in the order of the mesh. It schedules
// them as ranks run: each up to a collective, which takes place when all of its group have reached
// it, or up to a receive, which takes place when the value was sent. The joined graph takes the
// inputs of all ranks and returns all their results but None, rank by rank. It calls ATen operators
// in place of collectives. Random numbers are drawn once for all ranks, since ranks begin with the
// same seed.
//
// InvalidArgument if a program is not valid; if ranks would wait for each other for ever, with the
// place where each waits; or if a value is sent but not received.
absl::StatusOr<std::unique_ptr<Module>> JoinRanks(absl::Span<const Module* const> programs,
                                                  const Mesh& mesh);

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_JOIN_RANKS_H_
