// The programs of the ranks of a sharded graph: ordinary graphs of ATen operators on the parts that
// a rank holds. Ranks communicate only by named calls. All ranks of a group make its collectives in
// the same order, each with the ranks of its group:
//
//   spmd.all_gather.default(x, dim, group)              the parts of all, joined along dim
//   spmd.all_reduce.default(x, reduce, group)           the sum (avg, max, …) of all
//   spmd.reduce_scatter.default(x, dim, reduce, group)  the rank's own piece of that sum along dim
//   spmd.all_to_all.default(x, dim, to_dim, group)      x divided along to_dim instead of dim
//   spmd.keep_first.default(x, reduce, group)           x on the first rank of the group, the
//                                                       neutral element on others; not collective
//   spmd.send.default(x, rank)                          no value; `rank` receives x
//   spmd.recv.default(sizes, dtype, rank)               the value that `rank` sends
//
// Values from one rank to another arrive in the order in which they are sent; a sender does not
// wait. The programs of two ranks of a mesh differ only in groups and in the offsets of the slices
// that a rank takes. With several meshes, a rank's program has the calls of its own meshes only.
#ifndef GRAPHNET_SHARD_RANK_PROGRAMS_H_
#define GRAPHNET_SHARD_RANK_PROGRAMS_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphnet/ir/module.h"
#include "graphnet/shard/mesh.h"
#include "graphnet/shard/shard_plan.h"

namespace graphnet::spmd {

// Prefix of the targets of named calls.
inline constexpr char kNamedCallPrefix[] = "spmd.";

inline constexpr size_t kMaxRankNodes = size_t{1} << 24;  // limit for all ranks together

struct RankPrograms {
  ShardPlan plan;
  std::vector<std::unique_ptr<Module>> modules;  // by rank
};

// Makes the programs of a graph that PropagateShardings made. It must have no attributes
// (lift-attributes). If a mesh uses an input in one layout only, its ranks hold the input in that
// layout. Literal data of inputs is divided with them. A rank returns None for an output of a mesh
// that it does not belong to. InvalidArgument if annotations are wrong or contradict each other;
// Unimplemented for a list that is returned.
absl::StatusOr<RankPrograms> MakeRankPrograms(const Module& sharded,
                                              absl::Span<const NamedMesh> meshes);
absl::StatusOr<RankPrograms> MakeRankPrograms(const Module& sharded, const Mesh& mesh);

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_RANK_PROGRAMS_H_
