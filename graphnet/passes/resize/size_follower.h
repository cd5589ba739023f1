// Internal: follows the sizes of a graph at several points (resize_plan.h).
#ifndef GRAPHNET_PASSES_RESIZE_SIZE_FOLLOWER_H_
#define GRAPHNET_PASSES_RESIZE_SIZE_FOLLOWER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/passes/resize/extent.h"
#include "graphnet/passes/resize/resize_plan.h"

namespace graphnet {

// Goes through a graph node by node, in rounds. At each point it computes the sizes of every value
// from those of its operands. A number that an operator takes as a size, and that says at point 0
// what a growing operand says, follows it. Where a value that grows meets one that does not, the
// calls that made the latter are found, their numbers are forced to follow, too, and a new round
// begins.
class SizeFollower {
 public:
  // `inputs` has the sizes of the placeholders that are not those of their metas. The metas of all
  // values are those of point 0.
  SizeFollower(Module* module, size_t points,
               absl::flat_hash_map<const Node*, std::vector<Size>> inputs,
               std::vector<Size> symbols, const InferSizes& infer)
      : module_(*module),
        points_(points),
        inputs_(std::move(inputs)),
        symbols_(std::move(symbols)),
        infer_(infer) {}

  // Follows all nodes. FailedPrecondition names the call that prevents all sizes but the recorded.
  absl::Status Run();

  // The place of one number in the arguments of a call. Equal slices share their parts, so a part is
  // found by its slice.
  struct Place {
    Place(const Argument* number) : at(number) {}  // NOLINT(google-explicit-constructor)
    Place(const Argument* slice, int its_part) : at(slice), part(its_part) {}
    const Argument& number() const {
      return part < 0 ? *at : at->elements()[static_cast<size_t>(part)];
    }
    friend auto operator<=>(const Place&, const Place&) = default;

    const Argument* at;
    int part = -1;  // of a slice
  };
  // What a number is to be.
  struct Edit {
    Place place;
    Size size;
  };
  // Results of Run. The arguments are those of the unchanged graph.
  std::map<Node*, std::vector<Edit>> edits;
  // Operands of size 1 that must be expanded before a call takes them.
  std::map<Node*, std::map<Node*, std::map<size_t, Size>>> expands;
  std::set<Node*> reshapes;                       // views that need a copy if a size of 1 grows
  std::map<Node*, std::map<size_t, Size>> grown;  // tables that must have more rows
  std::vector<absl::Status> status;               // why a point is impossible
  const Extent& ValueOf(const Node* node) const { return values_[node]; }

 private:
  struct SizeList {
    std::vector<const Argument*> places;  // empty if one value is the whole list
    std::vector<Extent> numbers;
  };
  // One dimension of the result of a subscript.
  struct SubscriptDim {
    int from = -1;                      // the dimension it comes from
    const Argument* slice = nullptr;    // how it is cut, or null
    std::vector<Size> index_dims = {};  // instead: the dimensions of tensors
  };

  // --- size_follower.cc
  absl::Status Visit(Node* node);
  void Start(Node* node);
  Extent FromMeta(const ValueMeta* meta) const;
  const Extent& Of(const Argument& argument) const;
  // Returns the first operand.
  const Extent& First(const Node& node) const;
  // Like Of, and takes constants, too.
  Extent ExtentOf(const Argument& argument) const;
  Size Map(absl::FunctionRef<int64_t(size_t point)> fn) const;
  // Returns whether both are the same at all points that are possible.
  bool Same(const Size& a, const Size& b) const;
  bool IsAlive(size_t point) const { return status[point].ok(); }
  // Gives up the points at which `is_wrong`. In a trial, notes that it failed.
  void GiveUp(const Node& node, absl::string_view why,
              absl::FunctionRef<bool(size_t point)> is_wrong);
  // Finds what a number in the arguments becomes; records that it changes.
  void Record(Node* node, Place place, const Size& size);
  const Size* ForcedOf(const Node* node, Place place) const;
  void Force(const Node* node, Place place, const Size& size);
  SizeList SizesOf(const Node& node, size_t position, absl::string_view name) const;
  static std::optional<size_t> DimIn(const Argument* argument, size_t rank, int64_t otherwise);
  absl::Status Follow(Node* node, Extent* out);
  bool FollowNumbers(const Node& node, absl::string_view name, Extent* out) const;
  absl::Status FollowSubscript(Node* node, Extent* out);
  std::optional<std::vector<SubscriptDim>> SubscriptDims(const Node& node) const;
  void FollowMost(const Node& node, absl::string_view name, Extent* out) const;
  // Remembers sizes, since a number may be one that was seen before.
  void See(const Extent& extent);

  // --- size_operators.cc
  absl::Status FollowTensor(Node* node, absl::string_view name, Extent* out);
  absl::Status FollowBroadcast(Node* node, absl::Span<Node* const> operands, Extent* out);
  absl::Status FollowMatmul(Node* node, Node* a, Node* b, bool broadcasts, Extent* out);
  absl::Status FollowAttention(Node* node, Extent* out);
  absl::Status FollowCat(Node* node, bool stacks, Extent* out);
  absl::Status FollowConvolution(Node* node, Extent* out);
  absl::Status FollowPool(Node* node, absl::string_view name, Extent* out);
  absl::Status FollowEmbedding(Node* node, Extent* out);
  absl::Status FollowInterpolate(Node* node, Extent* out);
  absl::Status FollowSplit(Node* node, Extent* out);
  absl::Status FollowSame(Node* node, absl::string_view name, Extent* out);
  // Asks the rules of LibTorch for the sizes at each point.
  absl::Status FollowInferred(Node* node, Extent* out);
  bool IsPointwiseCall(const Node& node) const;
  // Makes a dimension of an operand `want`: by a demand, or for a size of one by an expansion.
  bool Fit(Node* node, Node* operand, size_t dim, const Size& want, bool may_expand);
  std::vector<Node*> TensorOperands(const Node& node) const;

  // --- size_lists.cc
  absl::Status FollowView(Node* node, absl::string_view name, Extent* out);
  absl::Status FollowFlatten(const Node& node, Extent* out);
  absl::Status FollowExpand(Node* node, Extent* out);
  absl::Status FollowFactory(Node* node, absl::string_view name, Extent* out);
  absl::Status FollowRange(Node* node, Extent* out);
  absl::Status FollowRepeat(Node* node, absl::string_view name, Extent* out);
  // One group of dimensions whose product stays.
  struct Group {
    size_t in0, in1, out0, out1;
  };
  std::optional<std::vector<Group>> GroupsOf(absl::Span<const Size> in,
                                             absl::Span<const Size> out) const;
  bool SolveGroup(absl::Span<const Size> in, const Group& group, const SizeList& list,
                  absl::Span<const Size* const> forced, bool allows_rest, std::vector<Size>* out);

  // --- size_demands.cc
  // Makes a dimension of a value `want` by forcing the numbers that it comes from.
  bool Demand(Node* node, size_t dim, const Size& want);
  bool DemandNow(Node* node, size_t dim, const Size& want);
  bool DemandByTrial(Node* node, size_t dim, const Size& want);

  Module& module_;
  const size_t points_;
  absl::flat_hash_map<const Node*, std::vector<Size>> inputs_;
  const std::vector<Size> symbols_;
  const InferSizes& infer_;
  NodeTable<Extent> values_;
  std::map<const Node*, std::map<Place, Size>> forced_;
  std::map<int64_t, std::vector<Size>> seen_;
  bool again_ = false;
  bool is_trial_ = false;
  bool trial_failed_ = false;
  int depth_ = 0;
  int round_ = 0;
  struct Asked {
    Size want;
    int round = -1;
    int times = 0;
    bool answer = false;
  };
  std::map<std::pair<const Node*, size_t>, Asked> asked_;
  absl::flat_hash_map<std::string, std::optional<std::vector<std::vector<int64_t>>>> inferred_;
};

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_RESIZE_SIZE_FOLLOWER_H_
