// ValueType: what kind of Python value something is, as far as that is known
// before it is run. Overloads are chosen by it.
#ifndef GRAPHNET_OPS_VALUE_TYPE_H_
#define GRAPHNET_OPS_VALUE_TYPE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/arena.h"
#include "graphnet/ops/schema.h"

namespace graphnet {

struct ValueType {
  enum class Kind : uint8_t {
    kUnknown,
    kNone,
    kTensor,
    kNumber,  // int, float or bool: which of them is known only when it is run
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
  // The type of the elements of a sequence that all have one; else unknown.
  ValueType element() const;
};

// Lists of the common types; they live for good. Of lists and tuples in a list nothing is known.
ValueType ListOf(ValueType::Kind element);

// What a placeholder's annotation names ("torch.SymInt", "List[int]"); a Tensor
// without one, unknown for what no overload asks for.
ValueType TypeOfAnnotation(absl::string_view annotation);

// What a schema's result is; tuples are made in `arena`.
ValueType ResultType(const Schema& schema, Arena* arena);

// "Tensor", "int", "list of Tensor", for messages.
std::string TypeName(const ValueType& type);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_VALUE_TYPE_H_
