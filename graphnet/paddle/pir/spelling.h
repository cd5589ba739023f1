// The spelling of types, symbolic shapes and attributes in PIR's text.
//
// An attribute is an argument of the IR: a bool, int, float, string, dtype, list of them or None.
// Its type in PIR follows from the operation (operators.h), or else from the argument. An attribute
// of another type is a tuple of the type and the value, ("Int64", 3). If the type is unknown here,
// it is a tuple of the type and its text, ("cinn_op.Group", "<x>").
#ifndef GRAPHNET_PADDLE_PIR_SPELLING_H_
#define GRAPHNET_PADDLE_PIR_SPELLING_H_

#include <string>

#include "absl/strings/string_view.h"
#include "graphnet/ir/argument.h"
#include "graphnet/ir/tensor_meta.h"
#include "graphnet/ir/types.h"

namespace graphnet::pir {

// The type of a value of unknown type.
inline constexpr char kUnknownType[] = "<<NULL TYPE>>";

// Returns "f32", …; "b" for bool; "undefined" if the dtype is not known.
absl::string_view ElementTypeName(DType dtype);

// Appends "builtin.tensor<64x-1xf32>", where -1 is a size that is not a number. `constructor` may
// be another word than builtin.tensor. Appends "<<NULL TYPE>>" if `meta` is null or the number of
// dimensions is not known.
void AppendTensorType(const TensorMeta* meta, absl::string_view constructor, std::string* out);
// Does the same for any value; a tuple is "vec[…,…]".
void AppendType(const ValueMeta* meta, std::string* out);

// Appends a size such as "S0" or "Add(S0, 1)" in the form of Paddle's DimExpr, which is also used
// for operators that DimExpr lacks.
void AppendDimExpr(const SymExpr& expr, std::string* out);
// Appends "shape[S0, 128], data[NULL]" for a tensor, and "NULL" for other values.
void AppendSymbolicShape(const ValueMeta* meta, std::string* out);

// Returns whether AppendAttribute can write the value.
bool IsAttribute(const Argument& value);
// Appends the text behind the colon: `(Float)0.5`, `"NCHW"`, `[(Int32)1,(Int32)1]`,
// `(pd_op.IntArray)[2,3]`, `(pd_op.DataType)float32`, true.
void AppendAttribute(const Argument& value, absl::string_view known_type, std::string* out);

// Returns the type that is written with a value; empty if the value is written without one.
absl::string_view TypeOfAttribute(const Argument& value, absl::string_view known_type);
// Returns the type of the elements of a list type.
absl::string_view ElementType(absl::string_view type);
// Returns whether values of the type are words without quotes, such as "Place(cpu)".
bool IsWordType(absl::string_view type);
bool IsIntType(absl::string_view type);
bool IsFloatType(absl::string_view type);
// Returns whether `text` may be a whole type, such as "pd_op.tensor_array<f32>".
bool IsTypeText(absl::string_view text);
// Returns whether `text` is unambiguous without quotes.
bool IsPlainWord(absl::string_view text);

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_SPELLING_H_
