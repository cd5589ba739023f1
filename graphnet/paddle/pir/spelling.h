// How PIR's text spells types, symbolic shapes and attributes.
//
// An attribute is an argument of the IR: a bool, int, float, string, dtype, list of them or None.
// What its type in PIR is follows from the operation (operators.h) or else from the argument; one
// of another type is a tuple of the type and the value, ("Int64", 3), and one of a type that is
// not known here a tuple of the type and its text, ("cinn_op.Group", "<x>").
#ifndef GRAPHNET_PADDLE_PIR_SPELLING_H_
#define GRAPHNET_PADDLE_PIR_SPELLING_H_

#include <string>

#include "absl/strings/string_view.h"
#include "graphnet/ir/argument.h"
#include "graphnet/ir/tensor_meta.h"
#include "graphnet/ir/types.h"

namespace graphnet::pir {

// The type of a value that nothing is known of.
inline constexpr char kUnknownType[] = "<<NULL TYPE>>";

// "f32", "b" for bool, "undefined" if not known.
absl::string_view ElementTypeName(DType dtype);

// "builtin.tensor<64x-1xf32>", a size that is no number as -1; `constructor` may be another than
// builtin.tensor. "<<NULL TYPE>>" for null and where the number of dimensions is not known.
void AppendTensorType(const TensorMeta* meta, absl::string_view constructor, std::string* out);
// The same, and "vec[…,…]" of a tuple.
void AppendType(const ValueMeta* meta, std::string* out);

// "S0", "Add(S0, 1)": as Paddle's DimExpr is written, and so the operators that it lacks.
void AppendDimExpr(const SymExpr& expr, std::string* out);
// "shape[S0, 128], data[NULL]" of a tensor; of others "NULL".
void AppendSymbolicShape(const ValueMeta* meta, std::string* out);

// Whether AppendAttribute can write it.
bool IsAttribute(const Argument& value);
// As it stands behind the colon: `(Float)0.5`, `"NCHW"`, `[(Int32)1,(Int32)1]`,
// `(pd_op.IntArray)[2,3]`, `(pd_op.DataType)float32`, true.
void AppendAttribute(const Argument& value, absl::string_view known_type, std::string* out);

// The type that a value is written with; "" for those that are written without one.
absl::string_view TypeOfAttribute(const Argument& value, absl::string_view known_type);
// Of the elements of a list of that type.
absl::string_view ElementType(absl::string_view type);
// Whether values of the type are words without quotes, as "Place(cpu)" is.
bool IsWordType(absl::string_view type);
bool IsIntType(absl::string_view type);
bool IsFloatType(absl::string_view type);
// Whether `text` may be the whole of a type, "pd_op.tensor_array<f32>".
bool IsTypeText(absl::string_view text);
// Whether `text` can stand without quotes and be told from what is around it.
bool IsPlainWord(absl::string_view text);

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_SPELLING_H_
