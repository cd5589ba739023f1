// Constants of the IR as LibTorch's values, and back.
#ifndef GRAPHNET_INTERP_TORCH_VALUES_H_
#define GRAPHNET_INTERP_TORCH_VALUES_H_

#include <complex>
#include <optional>
#include <vector>

#include "ATen/core/ivalue.h"
#include "ATen/core/jit_type.h"
#include "graphnet/ir/argument.h"

namespace graphnet {

// The value of an argument that holds no others and stands for itself; dtypes,
// layouts and memory formats are ints in LibTorch.
std::optional<c10::IValue> ConstantOf(const Argument& argument);

// The argument that stands for `value`, if it is no container, tensor or object.
// It views a string, and `complex`, which then holds a complex number.
std::optional<Argument> ArgumentOf(const c10::IValue& value, std::complex<double>* complex);

// The dtype, layout or memory format that an int stands for where the schema of
// an operator names such a type; other arguments as they are.
Argument AsFormal(const Argument& argument, c10::TypeKind kind);

// The elements of a list or tuple of any kind. Throws for other values.
std::vector<c10::IValue> Elements(const c10::IValue& sequence);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_TORCH_VALUES_H_
