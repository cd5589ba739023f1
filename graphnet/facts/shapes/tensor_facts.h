// What can be told of the value of a call from what it takes, without running it and without
// LibTorch: whether it is a tensor, of which dtype, device and sizes, as far as the rules of
// results.txt reach. What they say is what LibTorch's kernels yield (interp/shapes.h).
#ifndef GRAPHNET_FACTS_SHAPES_TENSOR_FACTS_H_
#define GRAPHNET_FACTS_SHAPES_TENSOR_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ir/node.h"
#include "graphnet/ir/tensor_meta.h"
#include "graphnet/ops/schema.h"

namespace graphnet {

// One a dimension; below 0: unknown.
using Sizes = std::vector<int64_t>;

struct TensorFacts {
  enum class Kind : uint8_t { kUnknown, kTensor, kList, kOther };
  Kind kind = Kind::kUnknown;  // kList: several tensors of these facts
  DType dtype = DType::kUnknown;
  std::optional<Device> device;
  std::optional<Sizes> sizes;  // none: not even how many

  static TensorFacts Tensor(int rank, DType dtype);
  static TensorFacts Other() { return {Kind::kOther, DType::kUnknown, {}, {}}; }

  bool is_tensor() const { return kind == Kind::kTensor; }
  int rank() const { return sizes.has_value() ? static_cast<int>(sizes->size()) : -1; }
  void set_rank(int rank);  // -1: unknown
  // Whether all sizes are numbers.
  bool is_static() const;
  // Whether a tensor that is indexed with it loses one dimension to its own.
  bool is_index() const {
    return is_tensor() && sizes.has_value() && dtype != DType::kBool && dtype != DType::kUnknown;
  }
};

// The dtype that PyTorch promotes tensors to when it computes with them, numbers aside: those
// without dimensions only raise the sort. kUnknown where too little is known.
DType CommonDType(absl::Span<const TensorFacts> tensors);

// What a meta says, which may be null.
TensorFacts FactsOfMeta(const TensorMeta* meta);

// Of a call of an operator whose arguments stand in canonical form. `of` tells of a node or
// constant. `elements` gets those of the single values of a tuple or list as far as they are
// known to be so many; null: they are not asked for.
using FactsOfArgument = absl::FunctionRef<TensorFacts(const Argument&)>;
TensorFacts FactsOfCall(const Node& call, const Schema& schema, FactsOfArgument of,
                        std::vector<TensorFacts>* elements = nullptr);

// What a call gives a parameter, its default if it is left out; None if there is no such
// parameter, or its default is no value here.
Argument ArgumentOf(const Node& call, const Schema& schema, absl::string_view parameter);

// The numbers of a list; none if others are in it, or it is no list.
std::optional<Sizes> NumbersOf(const Argument& list);
// Dimensions that are written out, one or a list, counted from 0; none: not known, or not
// below `rank`. None stands for no dimension.
std::optional<std::vector<size_t>> DimsOf(const Argument& dims, int rank);

// What stands behind the arrow of an equation of einsum, or would, without spaces.
std::string OutputOfEinsum(absl::string_view equation);

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_SHAPES_TENSOR_FACTS_H_
