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

// "rank2.x": what the joined graph calls the input x of a rank.
std::string JoinedInput(int rank, absl::string_view input);

// Runs the programs (rank_programs.h), one a rank in the order of the mesh, as ranks do: each
// until it talks, and there when all of its group do, or when what it receives was sent. The joined graph takes what all take,
// returns what all return but None, rank by rank, and has calls of ATen in the place of the named ones.
// What draws random numbers is drawn once for all, as ranks do that begin with one seed.
// InvalidArgument for a program that is none, where ranks would wait for each other for ever: who
// waits where, and for what is sent and not received.
absl::StatusOr<std::unique_ptr<Module>> JoinRanks(absl::Span<const Module* const> programs,
                                                  const Mesh& mesh);

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_JOIN_RANKS_H_
