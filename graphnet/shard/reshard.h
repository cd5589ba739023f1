// Reshard: changes the layout of a tensor by steps of communication.
//
// A table of functions is tried in turn, and the first that suits the two layouts is used. On
// meshes of one axis (r: replicated, s: divided, p: partial):
//
//   r -> p    for a sum the first rank keeps it, the others take 0; for an average all keep it
//   p -> r    all-reduce                     r -> s   each rank takes its piece
//   s -> r    all-gather                     s -> p   s -> r -> p
//   p -> s    reduce-scatter                 s -> s   all-to-all; if that does not divide
//                                                     evenly, gather and take
// A mesh of the same shape and other ranks is reached by sending point to point first (p -> s:
// last), one rank from many by gathering, many from one by a broadcast, and a mesh of more axes by
// these steps along each axis. A replicated tensor moves no bytes to go to one of its ranks or to
// another mesh of the same ranks.
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

// A mesh and how a tensor lies on it.
struct Layout {
  Mesh mesh;
  Sharding sharding;
};
std::string LayoutName(const Layout& layout);

// One step of communication.
struct ReshardStep {
  enum class Kind : uint8_t {
    // These take place within each group of ranks, whose order matters.
    kTakePiece,      // each rank keeps its piece along `dim`; nothing moves
    kKeepFirst,      // the first rank keeps a term, the others take 0 or 1; nothing moves
    kAllGather,      // joins the pieces along `dim`
    kAllReduce,      // combines by `reduce`
    kReduceScatter,  // combines by `reduce`; each rank gets its piece along `dim`
    kAllToAll,       // pieces along `dim` become pieces along `to_dim`
    kBroadcast,      // from the first rank
    kGather,         // joins the pieces along `dim` on `root`
    kReduce,         // combines by `reduce` on `root`
    // Here a group is a sender and a receiver.
    kSend,
  };
  Kind kind;
  std::vector<std::vector<int>> groups;
  int dim = -1;
  int to_dim = -1;
  ReduceType reduce = ReduceType::kSum;
  int root = -1;
  std::vector<int64_t> piece;  // sizes of a rank's contribution, for kSend, kBroadcast and kGather
  // Bytes over the busiest link, and number of links in use. Collectives go around a ring;
  // all-to-all and sends go straight; gathers and broadcasts connect one rank to each other one.
  int64_t bytes_per_link = 0;
  int64_t num_links = 0;
};
absl::string_view ReshardKindName(ReshardStep::Kind kind);  // "all_gather"

// The steps from one layout to another.
struct ReshardPlan {
  absl::string_view function;  // name in the table; empty if there is nothing to do
  std::vector<ReshardStep> steps;

  int64_t bytes_moved() const;  // sum over all links
};
// Returns a text such as "SToR: all_gather(dim 0) 64 bytes on 4 links".
std::string DescribePlan(const ReshardPlan& plan);

inline constexpr int64_t kMaxReshardBytes = int64_t{1} << 44;

// Plans the change of layout for a tensor of `sizes`, which need not be divided evenly.
// InvalidArgument for impossible layouts and for tensors of more than kMaxReshardBytes;
// Unimplemented, with both layouts, if no function suits.
absl::StatusOr<ReshardPlan> PlanReshard(const Layout& from, const Layout& to,
                                        absl::Span<const int64_t> sizes, int64_t element_bytes);

// Returns the layouts that a tensor goes through on its way to `to`, which is the last of them, so
// that PlanReshard can plan each step: `to` alone if it is reached directly. Between meshes of
// different shapes the way leads over one rank that holds the whole tensor. If there is no way, the
// error is that of PlanReshard.
absl::StatusOr<std::vector<Layout>> RouteReshard(const Layout& from, const Layout& to,
                                                 absl::Span<const int64_t> sizes);

// Returns the names of the functions in the order in which they are tried.
std::vector<absl::string_view> ReshardFunctions();

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_RESHARD_H_
