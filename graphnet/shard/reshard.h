// Reshard: how a tensor gets from one layout to another, as steps of communication.
//
// What is known how to do is a table of functions, tried in turn: the first that suits the two
// layouts counts. On meshes of one axis, n ranks (r: replicated, s: divided, p: partial):
//
//   r -> p    of a sum the first rank keeps it, the others take 0; of an average all keep it
//   p -> r    all-reduce                     r -> s   each takes its piece
//   s -> r    all-gather                     s -> p   s -> r -> p
//   p -> s    reduce-scatter                 s -> s   all-to-all; gather and take what
//                                                     it does not divide evenly
// A mesh of the same shape and other ranks is reached by sending point to point first (p -> s:
// last), one rank from many by gathering, many from one by a broadcast, and a mesh of more axes
// by these steps axis for axis. What all have is one rank's and is all ranks' whatever their mesh.
#ifndef GRAPHNET_SHARD_RESHARD_H_
#define GRAPHNET_SHARD_RESHARD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/shard/mesh.h"
#include "graphnet/shard/sharding.h"

namespace graphnet::spmd {

struct Layout {
  Mesh mesh;
  Sharding sharding;
};
std::string LayoutName(const Layout& layout);

struct ReshardStep {
  enum class Kind : uint8_t {
    // Within each group of ranks, in order.
    kTakePiece,      // each its piece along `dim`; nothing moves
    kKeepFirst,      // of a sum or product the others take 0 or 1; nothing moves
    kAllGather,      // the pieces along `dim`
    kAllReduce,      // by `reduce`
    kReduceScatter,  // by `reduce`; each gets its piece along `dim`
    kAllToAll,       // pieces along `dim` become pieces along `to_dim`
    kBroadcast,      // from the first
    kGather,         // the pieces along `dim`, to `root`
    kReduce,         // by `reduce`, to `root`
    // A group is a sender and a receiver.
    kSend,
  };
  Kind kind;
  std::vector<std::vector<int>> groups;
  int dim = -1;
  int to_dim = -1;
  ReduceType reduce = ReduceType::kSum;
  int root = -1;
  std::vector<int64_t> piece;  // of sends, broadcasts, gathers to one: the sizes of what each gives
  // Over the busiest link, and over how many links something goes. Collectives go around a
  // ring, all-to-all and sends straight; gathers and broadcasts from and to each one.
  int64_t bytes_per_link = 0;
  int64_t num_links = 0;
};
absl::string_view ReshardKindName(ReshardStep::Kind kind);  // "all_gather"

struct ReshardPlan {
  absl::string_view function;  // that of the table; empty: nothing to do
  std::vector<ReshardStep> steps;

  int64_t bytes_moved() const;  // over all links
};
// "SToR: all_gather(dim 0) 64 bytes on 4 links".
std::string DescribePlan(const ReshardPlan& plan);

inline constexpr int64_t kMaxReshardBytes = int64_t{1} << 44;

// Of a tensor of `sizes`, which pieces need not divide evenly. InvalidArgument for layouts that
// cannot be and for larger tensors, Unimplemented with both of them where no function suits.
absl::StatusOr<ReshardPlan> PlanReshard(const Layout& from, const Layout& to,
                                        absl::Span<const int64_t> sizes, int64_t element_bytes);

// The layouts that a tensor goes through on its way to `to`, which is the last of them, so that
// PlanReshard knows how to get to each: `to` alone where it can be. Between meshes of other shapes
// the way leads over one rank that has all of it. The error of PlanReshard where there is none.
absl::StatusOr<std::vector<Layout>> RouteReshard(const Layout& from, const Layout& to,
                                                 absl::Span<const int64_t> sizes);

// The functions, first come first.
std::vector<absl::string_view> ReshardFunctions();

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_RESHARD_H_
