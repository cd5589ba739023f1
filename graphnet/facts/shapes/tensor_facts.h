// Infers the dtype, device and sizes of a call's value from its operands, without running it and
// without LibTorch, as far as the rules of results.txt reach. The rules agree with what LibTorch's
// kernels return (interp/shapes.h).
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

// One size per dimension; a negative one is unknown.
using Sizes = std::vector<int64_t>;

// Facts about one value.
struct TensorFacts {
  enum class Kind : uint8_t { kUnknown, kTensor, kList, kOther };
  Kind kind = Kind::kUnknown;  // kList: several tensors that share these facts
  DType dtype = DType::kUnknown;
  std::optional<Device> device;
  std::optional<Sizes> sizes;  // nullopt: the rank is unknown too

  // Returns the facts of a tensor of unknown sizes; a `rank` of -1 is unknown.
  static TensorFacts Tensor(int rank, DType dtype);
  // Returns the facts of a value that is not a tensor.
  static TensorFacts Other() { return {Kind::kOther, DType::kUnknown, {}, {}}; }

  bool is_tensor() const { return kind == Kind::kTensor; }
  int rank() const { return sizes.has_value() ? static_cast<int>(sizes->size()) : -1; }
  // Forgets all sizes but keeps `rank`; -1 is unknown.
  void set_rank(int rank);
  // Returns whether all sizes are known.
  bool is_static() const;
  // Returns whether it is an index tensor: its dimensions replace the one that it indexes.
  bool is_index() const {
    return is_tensor() && sizes.has_value() && dtype != DType::kBool && dtype != DType::kUnknown;
  }
};

// Returns the dtype to which PyTorch promotes `tensors`; Python numbers do not count. A tensor
// without dimensions only matters if its category (bool, integer, float, complex) is higher.
// kUnknown if too little is known.
DType CommonDType(absl::Span<const TensorFacts> tensors);

// Returns the facts that a meta states; nothing is known if it is null.
TensorFacts FactsOfMeta(const TensorMeta* meta);

// Returns the facts of an operand: a node or a constant.
using FactsOfArgument = absl::FunctionRef<TensorFacts(const Argument&)>;
// Returns the facts of the value of a call of an operator. The arguments of `call` must be in
// canonical form. If the value is a tuple or list and its length is known, `elements`, which may be
// null, receives the facts of each element.
TensorFacts FactsOfCall(const Node& call, const Schema& schema, FactsOfArgument of,
                        std::vector<TensorFacts>* elements = nullptr);

// Returns the argument that a call passes for `parameter`, or the default. None if the schema has
// no such parameter, or its default cannot be an Argument.
Argument ArgumentOf(const Node& call, const Schema& schema, absl::string_view parameter);

// Returns the integers of a list; nullopt if it is not a list of integers.
std::optional<Sizes> NumbersOf(const Argument& list);
// Returns the dimensions that a constant, one integer or a list, names. Negative ones count from
// the end, None names no dimension. nullopt if one is not a constant or is out of range.
std::optional<std::vector<size_t>> DimsOf(const Argument& dims, int rank);

// Returns the output term of an einsum equation without spaces. If the equation has no arrow, this
// is the implied one.
std::string OutputOfEinsum(absl::string_view equation);

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_SHAPES_TENSOR_FACTS_H_
