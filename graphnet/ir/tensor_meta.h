// What is known of a value without running anything: TensorMeta with symbolic
// dimensions, ValueMeta for tuples of them, and DrawSpec, which says how an
// input is drawn.
#ifndef GRAPHNET_IR_TENSOR_META_H_
#define GRAPHNET_IR_TENSOR_META_H_

#include <concepts>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ir/argument.h"
#include "graphnet/ir/types.h"

namespace graphnet {

// An integer expression over the symbols of a module; a comparison makes it a
// relation. Immutable, in the module's arena; made by Module::Sym… .
struct SymExpr {
  // The numbers are part of the protobuf form: append only.
  enum class Kind : uint8_t {
    kInt = 0,  // value
    kSymbol,   // name
    // Unary: lhs.
    kNeg,
    // Binary: lhs, rhs.
    kAdd,
    kSub,
    kMul,
    kFloorDiv,
    kMod,
    kPow,
    kMin,
    kMax,
    // Relations; not below another expression.
    kEq,
    kNe,
    kLt,
    kLe,
    kGt,
    kGe,
  };
  Kind kind = Kind::kInt;
  int64_t value = 0;
  absl::string_view name;
  const SymExpr* lhs = nullptr;
  const SymExpr* rhs = nullptr;

  bool is_relation() const { return kind >= Kind::kEq; }
};
inline constexpr int kNumSymExprKinds = static_cast<int>(SymExpr::Kind::kGe) + 1;

bool operator==(const SymExpr& a, const SymExpr& b);

// A size: a number, or an expression when `expr` is set.
struct Dim {
  int64_t value = 0;
  const SymExpr* expr = nullptr;

  Dim() = default;
  // A template, so that 0 is no null pointer.
  template <std::integral T>
  Dim(T v) : value(static_cast<int64_t>(v)) {}  // NOLINT
  Dim(const SymExpr* e) : expr(e) {}            // NOLINT
  bool is_static() const { return expr == nullptr; }
};
bool operator==(const Dim& a, const Dim& b);

// Immutable and interned in a module (Module::InternMeta): equal metas of one
// module share an address.
struct TensorMeta {
  DType dtype = DType::kUnknown;
  bool has_device = false;
  bool has_shape = false;  // false: not even the rank is known
  Device device;
  absl::Span<const Dim> shape;

  bool is_static() const;
};
bool operator==(const TensorMeta& a, const TensorMeta& b);

// The meta of a node's value: one tensor, or a tuple (list) of values. Interned
// like TensorMeta.
struct ValueMeta {
  const TensorMeta* tensor = nullptr;  // null for a tuple, or when unknown
  bool is_tuple = false;
  absl::Span<const ValueMeta* const> elements;
};
bool operator==(const ValueMeta& a, const ValueMeta& b);

// How the value of an input or attribute is drawn when no real one is given
// (spec of GraphNet's weight_meta.py). `mean` and `std` describe floats;
// `min` and `max` bound what is drawn; `data` holds small tensors whole.
struct DrawSpec {
  bool has_mean = false;
  bool has_std = false;
  bool in_input_meta = false;  // the record stands in input_meta.py
  double mean = 0;
  double std = 0;
  Argument min;                     // None, int or float
  Argument max;                     // None, int or float
  Argument data;                    // None or a list of bool, int or float, in row-major order
  absl::string_view original_name;  // name before a renaming pass, or empty
};
bool operator==(const DrawSpec& a, const DrawSpec& b);

// Whether both are null or what they point to is equal.
template <typename T>
bool EqualPointees(const T* a, const T* b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

}  // namespace graphnet

#endif  // GRAPHNET_IR_TENSOR_META_H_
