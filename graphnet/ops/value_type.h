// ValueType: the Python type of a value, as far as it is known before the graph runs. Overloads are
// chosen by it.
#ifndef GRAPHNET_OPS_VALUE_TYPE_H_
#define GRAPHNET_OPS_VALUE_TYPE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/arena.h"
#include "graphnet/ops/schema.h"

namespace graphnet {

// A type, which does not own its `elements`.
struct ValueType {
  enum class Kind : uint8_t {
    kUnknown,
    kNone,
    kTensor,
    kNumber,  // int, float or bool; which of them is known only at run time
    kInt,
    kFloat,
    kBool,
    kComplex,
    kString,
    kDType,
    kDevice,
    kLayout,
    kMemoryFormat,
    kGraph,
    kList,   // any number of values of one type, elements[0]
    kTuple,  // elements
  };
  Kind kind = Kind::kUnknown;
  absl::Span<const ValueType> elements;

  ValueType() = default;
  ValueType(Kind k) : kind(k) {}  // NOLINT
  ValueType(Kind k, absl::Span<const ValueType> e) : kind(k), elements(e) {}

  bool is_tensor() const { return kind == Kind::kTensor; }
  bool is_number() const { return kind >= Kind::kNumber && kind <= Kind::kComplex; }
  bool is_sequence() const { return kind == Kind::kList || kind == Kind::kTuple; }
  // Returns the type that all elements of a sequence share; otherwise unknown.
  ValueType element() const;
};

// Returns a list of elements of that type, which is never destroyed. If `element` is a list or
// tuple, the type of the elements is unknown.
ValueType ListOf(ValueType::Kind element);

// Returns the type that a placeholder's annotation names, such as "torch.SymInt" or "List[int]". An
// empty annotation means a tensor. Types that no overload takes are unknown.
ValueType TypeOfAnnotation(absl::string_view annotation);

// Returns the type of a schema's result. Tuples are made in `arena`.
ValueType ResultType(const Schema& schema, Arena* arena);

// Returns the name of a type for messages: "Tensor", "int", "list of Tensor".
std::string TypeName(const ValueType& type);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_VALUE_TYPE_H_
