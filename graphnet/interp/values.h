// Converts arguments to the values of a running graph (c10::IValue).
#ifndef GRAPHNET_INTERP_VALUES_H_
#define GRAPHNET_INTERP_VALUES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "ATen/core/function_schema.h"
#include "ATen/core/ivalue.h"
#include "ATen/core/jit_type.h"
#include "absl/types/span.h"
#include "graphnet/interp/torch/values.h"
#include "graphnet/ir/argument.h"
#include "graphnet/ir/types.h"

namespace graphnet::interp {

// The kind of value that an operator takes for an argument.
enum class Want : uint8_t {
  kAny,
  kTensor,
  kScalar,
  kInt,
  kFloat,
  kBool,
  kDevice,
  kDType,
  kLayout,
  kMemoryFormat,
  kIntList,
  kFloatList,
  kBoolList,
  kScalarList,
  kStringList,
  kTensorList,
  kOptionalTensorList,
};
struct Wanted {
  Want want = Want::kAny;
  bool optional = false;
  int list_size = 0;  // "int[2]": one int stands for two
};
Wanted WantedOf(const c10::Argument& argument);

// Returns true if Convert would leave `value` as it is.
bool Fits(const Wanted& wanted, const c10::IValue& value);
// Converts a value to the kind that the operator takes: numbers to tensors, one int to a
// list, tuples to lists, 0-d tensors to numbers. Cheap if there is nothing to do. Throws
// c10::Error if PyTorch would.
void Convert(const Wanted& wanted, c10::IValue* value);

// Returns a number as a 0-d tensor that does not promote others, as a Python number.
c10::IValue AsTensor(const c10::IValue& value);
// Returns nullopt for None.
std::optional<at::Tensor> OptionalTensor(const c10::IValue& value);
// Converts a number or a tensor with one element.
int64_t AsInt(const c10::IValue& value);
// Converts the number by which LibTorch calls a dtype.
c10::ScalarType AsScalarType(const c10::IValue& value);

// Returns `target` in place of devices other than the CPU; in place of all if it is the
// meta device.
c10::Device ToDevice(Device device, c10::Device target);

// Converts an argument without nodes, graphs and slices. Lists of one type become
// typed lists.
c10::IValue ToIValue(const Argument& argument, c10::Device target);
// Throws if a list, tuple or dict of `elements` nests deeper than kMaxNesting, because PyTorch
// frees values by recursion.
void CheckNesting(absl::Span<const c10::IValue> elements);
// Returns a list or tuple of `elements`, after CheckNesting.
c10::IValue MakeSequence(std::vector<c10::IValue> elements, bool tuple);

}  // namespace graphnet::interp

#endif  // GRAPHNET_INTERP_VALUES_H_
