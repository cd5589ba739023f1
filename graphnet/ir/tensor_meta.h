// Facts about a value that are known without running anything: TensorMeta with symbolic
// dimensions, ValueMeta for tuples of them, and DrawSpec, which says how to draw an input.
#ifndef GRAPHNET_IR_TENSOR_META_H_
#define GRAPHNET_IR_TENSOR_META_H_

#include <concepts>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ir/argument.h"
#include "graphnet/ir/types.h"

namespace graphnet {

// An integer expression over the symbols of a module, or a relation, which is a comparison of
// two expressions. It is immutable and interned: Module::SymInt and the like make it in the
// arena of the module.
struct SymExpr {
  // The operations. Their numbers are part of the protobuf form: append only.
  enum class Kind : uint8_t {
    kInt = 0,  // The number `value`.
    kSymbol,   // The symbol `name`.
    // A unary operation has an lhs.
    kNeg,
    // A binary operation has an lhs and an rhs.
    kAdd,
    kSub,
    kMul,
    kFloorDiv,
    kMod,
    kPow,
    kMin,
    kMax,
    // A relation has an lhs and an rhs, and is never an operand.
    kEq,
    kNe,
    kLt,
    kLe,
    kGt,
    kGe,
  };
  Kind kind = Kind::kInt;        // The operation.
  int64_t value = 0;             // The number of a kInt, else 0.
  absl::string_view name;        // The name of a kSymbol, else empty.
  const SymExpr* lhs = nullptr;  // The first operand, or null.
  const SymExpr* rhs = nullptr;  // The second operand, or null.

  // True for a comparison.
  bool is_relation() const { return kind >= Kind::kEq; }
};
// The number of values of SymExpr::Kind.
inline constexpr int kNumSymExprKinds = static_cast<int>(SymExpr::Kind::kGe) + 1;

// Compares the structure, without recursion; a pair of shared operands is compared once.
bool operator==(const SymExpr& a, const SymExpr& b);

// A size: a number, or an expression if `expr` is set.
struct Dim {
  int64_t value = 0;              // The size if `expr` is null.
  const SymExpr* expr = nullptr;  // The symbolic size, or null.

  Dim() = default;
  // A size that is known. This is a template so that 0 is not taken for a null pointer.
  template <std::integral T>
  Dim(T v) : value(static_cast<int64_t>(v)) {}  // NOLINT
  // A symbolic size.
  Dim(const SymExpr* e) : expr(e) {}  // NOLINT
  // True for a number.
  bool is_static() const { return expr == nullptr; }
};
// True for equal numbers or equal expressions. A number never equals an expression.
bool operator==(const Dim& a, const Dim& b);

// The dtype, device and shape of a tensor, as far as they are known. It is immutable and interned
// in a module (Module::InternMeta), so that equal metas of one module have one address.
struct TensorMeta {
  DType dtype = DType::kUnknown;  // The dtype, or kUnknown.
  bool has_device = false;        // True if the device is known.
  bool has_shape = false;         // If false, not even the rank is known.
  Device device;                  // The device if `has_device`.
  absl::Span<const Dim> shape;    // The sizes if `has_shape`.

  // True if the shape is known and consists of numbers only.
  bool is_static() const;
};
// Compares all that is known; a device or shape that is not known is ignored.
bool operator==(const TensorMeta& a, const TensorMeta& b);

// The meta of a node's value: one tensor, or a tuple (or list) of values. It is interned like
// TensorMeta.
struct ValueMeta {
  const TensorMeta* tensor = nullptr;           // Null for a tuple, or if nothing is known.
  bool is_tuple = false;                        // True for a tuple or list.
  absl::Span<const ValueMeta* const> elements;  // The metas of a tuple's elements.
};
// Compares the content; equal metas of one module share an address, too.
bool operator==(const ValueMeta& a, const ValueMeta& b);

// A recipe to draw the value of an input or attribute if no real one is given (the records of
// GraphNet's weight_meta.py). `mean` and `std` describe floats, `min` and `max` bound the values
// that are drawn, and `data` holds all values of a small tensor.
struct DrawSpec {
  bool has_mean = false;            // True if `mean` is given.
  bool has_std = false;             // True if `std` is given.
  bool in_input_meta = false;       // True if the record stands in input_meta.py.
  double mean = 0;                  // The mean of the values.
  double std = 0;                   // The standard deviation of the values.
  Argument min;                     // None, an int or a float.
  Argument max;                     // None, an int or a float.
  Argument data;                    // None, or a list of bools, ints or floats in row-major order.
  absl::string_view original_name;  // The name before a renaming pass, or empty.
};
// Compares all fields, floats by their bits.
bool operator==(const DrawSpec& a, const DrawSpec& b);

// Returns whether both are null or point to equal values.
template <typename T>
bool EqualPointees(const T* a, const T* b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

}  // namespace graphnet

#endif  // GRAPHNET_IR_TENSOR_META_H_
