// Converts constants of the IR to LibTorch's values and back.
#ifndef GRAPHNET_INTERP_TORCH_VALUES_H_
#define GRAPHNET_INTERP_TORCH_VALUES_H_

#include <complex>
#include <optional>
#include <vector>

#include "ATen/core/ivalue.h"
#include "ATen/core/jit_type.h"
#include "graphnet/ir/argument.h"

namespace graphnet {

// Returns the value of a constant that is not a container; dtypes, layouts and memory
// formats are ints in LibTorch. Returns nullopt for other arguments.
std::optional<c10::IValue> ConstantOf(const Argument& argument);

// Returns the argument that stands for `value`, unless it is a container, tensor or object.
// The argument views the string in `value`, or `complex`, which gets a complex number.
std::optional<Argument> ArgumentOf(const c10::IValue& value, std::complex<double>* complex);

// Returns the dtype, layout or memory format that an int stands for if `kind`, from the schema
// of an operator, is such a type; returns other arguments as they are.
Argument AsFormal(const Argument& argument, c10::TypeKind kind);

// Returns the elements of a list or tuple of any kind. Throws for other values.
std::vector<c10::IValue> Elements(const c10::IValue& sequence);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_TORCH_VALUES_H_
