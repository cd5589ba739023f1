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
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/passes/resize/extent.h"
#include "graphnet/passes/resize/resize_plan.h"

namespace graphnet {

// The sizes of inputs, dimension by dimension, or the one number that an input is.
using SizesOfInputs = absl::flat_hash_map<const Node*, std::vector<Size>>;

// Returns the sizes of all inputs with symbols. A point has a value for each of the module's
// symbols that have an example above 0. `holds`, if given, says of each point whether the relations hold.
SizesOfInputs SymbolicInputs(Module* module, absl::Span<const std::vector<int64_t>> points,
                             std::vector<bool>* holds);

// Goes through a graph node by node, in rounds. At each point it computes the sizes of every value
// from those of its operands. A number that an operator takes as a size, and that says at point 0
// what a growing operand says, follows it. Where a value that grows meets one that does not, the
// calls that made the latter are found, their numbers are forced to follow, too, and a new round
// begins.
class SizeFollower {
 public:
  // The inputs that may get other sizes so that a value grows: tables, such as those of positions,
  // get more rows, or the data grows.
  enum class MayGrow : uint8_t { kTables, kData };

  // `inputs` has the sizes of the placeholders that are not those of their metas. The metas of all
  // values are those of point 0. `infer` is asked about calls that no rule knows; if it is empty,
  // the rules of facts/shapes are.
  SizeFollower(Module* module, size_t points, SizesOfInputs inputs, std::vector<Size> symbols,
               const InferSizes& infer, MayGrow may_grow)
      : module_(*module),
        points_(points),
        inputs_(std::move(inputs)),
        symbols_(std::move(symbols)),
        infer_(infer),
        may_grow_(may_grow) {}

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
  std::map<Node*, std::map<size_t, Size>> grown;  // inputs that must grow, too
  std::vector<absl::Status> status;               // why a point is impossible
  const Extent& ValueOf(const Node* node) const { return values_[node]; }
  // Returns the edits of a call by the index of the argument among those that are no aggregates, as
  // Node::MapArguments counts.
  std::map<size_t, Size> EditsOf(const Node* node) const;

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
  // Returns the name of the operator without the "_" of one that writes in place.
  static absl::string_view NameOf(const Node& node);
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
  // Returns the argument "dim", which NumPy calls "axis".
  static const Argument* DimArg(const Node& node, size_t position);
  static std::optional<size_t> DimIn(const Argument* argument, size_t rank, int64_t otherwise);
  absl::Status Follow(Node* node, Extent* out);
  void FollowMost(const Node& node, absl::string_view name, Extent* out) const;
  // Remembers sizes, since a number may be one that was seen before.
  void See(const Extent& extent);

  // --- size_cuts.cc
  absl::Status FollowSubscript(Node* node, Extent* out);
  // Follows a write to a tensor, or to a part of it.
  absl::Status FollowWrite(Node* node, Extent* out);
  // A slice of a dimension.
  struct Cut {
    Node* operand;
    size_t dim;
    Place start, stop, step;  // without an argument: the default
  };
  std::optional<Cut> CutOf(const Node& node, const SubscriptDim& dim) const;
  std::optional<Cut> CutOfSlice(const Node& node) const;
  // Returns the n of the part of a table from 1 - n to n - 1 around its middle, if n grows.
  std::optional<Size> MiddleOf(const Cut& cut) const;
  bool CutsMiddle(const Node& node) const;
  absl::StatusOr<Size> FollowCut(Node* node, const Cut& cut);
  std::optional<std::vector<SubscriptDim>> SubscriptDims(const Node& node) const;
  // Returns the size of the windows into which a view cuts a dimension.
  std::optional<int64_t> WindowOf(const Node& node, size_t dim, int depth) const;
  absl::Status FollowPad(Node* node, Extent* out);

  // --- size_numbers.cc
  // Follows a call that computes a number, or a list of numbers, from numbers and sizes alone.
  // Returns false for any other call.
  bool FollowNumbers(const Node& node, absl::string_view name, Extent* out) const;
  bool FollowLists(const Node& node, absl::string_view name, Extent* out) const;
  bool FollowArithmetic(const Node& node, absl::string_view name, Extent* out) const;

  // --- size_operators.cc
  absl::Status FollowTensor(Node* node, absl::string_view name, Extent* out);
  absl::Status FollowBroadcast(Node* node, absl::Span<Node* const> operands, Extent* out);
  absl::Status FollowMatmul(Node* node, Node* a, Node* b, bool broadcasts, Extent* out);
  absl::Status FollowAttention(Node* node, Extent* out);
  // Follows an attention that returns its weights, or None, beside the result.
  absl::Status FollowHeads(Node* node, Extent* out);
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
  absl::Status FollowRepeatInterleave(Node* node, Extent* out);
  absl::Status FollowFold(Node* node, Extent* out);
  // Returns the numbers that say how many elements a call such as linspace makes; empty for others.
  std::vector<const Argument*> CountsOf(const Node& node, absl::string_view name) const;
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
  bool DemandOnCut(Node* node, const Cut& cut, const Size& want);
  bool DemandByTrial(Node* node, size_t dim, const Size& want);
  struct Dimension {
    Node* node;
    size_t dim;
  };
  // Makes a dimension that has `times` copies of another one `want`.
  bool DemandCopies(const Node* node, const Dimension& of, const Argument* times, const Size& want);
  // Makes a dimension that is looked up by numbers up to `most` long enough, or gives up.
  void NeedRows(Node* node, const Dimension& table, const std::optional<Size>& most);

  Module& module_;
  const size_t points_;
  SizesOfInputs inputs_;
  const std::vector<Size> symbols_;
  const InferSizes& infer_;
  const MayGrow may_grow_;
  NodeTable<Extent> values_;
  std::map<const Node*, std::map<Place, Size>> forced_;
  std::map<int64_t, std::vector<Size>> seen_;
  std::vector<std::pair<Size, Size>> wider_;  // sizes, and what is cut out of them again
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
