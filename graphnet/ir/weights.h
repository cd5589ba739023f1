// Weights of a sample as C++ values.
//
//   ASSIGN_OR_RETURN(std::vector<float> bias, Values<float>(sample, "fc.bias"));
//   for (float& value : bias) value *= 2;
//   RETURN_IF_ERROR(SetValues<float>("fc.bias", bias, &sample));
//   ASSIGN_OR_RETURN(Node* half, AddParameter<float>("half", {1}, {0.5f}, &sample));
#ifndef GRAPHNET_IR_WEIGHTS_H_
#define GRAPHNET_IR_WEIGHTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// The element types for which the functions exist: float, double, int8_t, int16_t, int32_t, int64_t and
// uint8_t, for the dtypes of these names.

// Returns the elements of a weight, row-major: the value of an attribute, or of an input that is a
// weight. NotFound if the sample has no value of that name; InvalidArgument, which names the dtype, if it
// has another one.
template <typename T>
absl::StatusOr<std::vector<T>> Values(const Sample& sample, absl::string_view name);

// Replaces the elements of a weight, which keeps its shape. The errors are those of Values, and
// InvalidArgument for another number of elements.
template <typename T>
absl::Status SetValues(absl::string_view name, absl::Span<const T> values, Sample* sample);

// Adds a parameter to the module, with its value, and returns a get_attr of it at the insertion point of
// the main graph. InvalidArgument if the shape has another number of elements; AlreadyExists if there is
// an attribute of that name.
template <typename T>
absl::StatusOr<Node*> AddParameter(absl::string_view name, absl::Span<const int64_t> shape,
                                   absl::Span<const T> values, Sample* sample);

}  // namespace graphnet

#endif  // GRAPHNET_IR_WEIGHTS_H_
