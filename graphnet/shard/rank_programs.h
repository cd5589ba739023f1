// A sharded graph as the programs of its ranks: ordinary graphs of ATen's operators on the parts
// that a rank holds. Ranks talk at named calls alone, which all ranks of a group make in the same
// order, each with the ranks of its group:
//
//   spmd.all_gather.default(x, dim, group)              the parts of all, joined along dim
//   spmd.all_reduce.default(x, reduce, group)           the sum (avg, max, …) of all
//   spmd.reduce_scatter.default(x, dim, reduce, group)  the own piece of that along dim
//   spmd.all_to_all.default(x, dim, to_dim, group)      what is divided along dim, along to_dim
//   spmd.keep_first.default(x, reduce, group)           x on the first of the group, on others
//                                                       what changes no sum or product: nobody talks
//   spmd.send.default(x, rank)                          nothing; `rank` receives it
//   spmd.recv.default(sizes, dtype, rank)               what `rank` sends
//
// Of what one rank sends another, the first that is sent is received first; who sends does not
// wait. The programs of two ranks of a mesh differ in groups and in where the slices begin that
// a rank takes; those of ranks of several meshes have the calls of the meshes that the rank is of.
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

// "spmd.": what named calls begin with.
inline constexpr char kNamedCallPrefix[] = "spmd.";

inline constexpr size_t kMaxRankNodes = size_t{1} << 24;  // of all ranks together

struct RankPrograms {
  ShardPlan plan;
  std::vector<std::unique_ptr<Module>> modules;  // by rank
};

// Of a graph as PropagateShardings leaves it, without attributes (lift-attributes). An input that
// a mesh uses in one layout alone is held so there. Literal data of inputs is divided with them.
// What a rank does not return, as it is not of its mesh, is None. InvalidArgument where annotations
// are wrong or do not fit each other; Unimplemented for a list that is returned.
absl::StatusOr<RankPrograms> MakeRankPrograms(const Module& sharded,
                                              absl::Span<const NamedMesh> meshes);
absl::StatusOr<RankPrograms> MakeRankPrograms(const Module& sharded, const Mesh& mesh);

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_RANK_PROGRAMS_H_
