// Draws values for inputs from a sample's metas and draw specs, if their real values are
// not known. It follows the way in which PyTorch's GraphNet replays tensors, but has its
// own generator.
//
//   ASSIGN_OR_RETURN(const auto values, DrawInputs(sample, {.seed = 7}));  // TensorData by name
//
// The value of an input depends on nothing but the seed, its key, its meta and its draw
// spec. The key is DrawSpec::original_name, or else the name: a renamed input of a
// subgraph gets the value that it has in the parent.
//
// The first of the rules 1 to 4 that applies makes the elements; 5 and 6 then apply to
// those of rule 4 (N and U are standard normal and uniform in [0, 1)):
//  1. An integer dtype with both bounds: uniform integers between them, bounds
//     included. Literal data is ignored.
//  2. Literal data: the data, not clamped.
//  3. bool: N > 0.5 (Compat::kGraphNet) or U > 0.5 (kBench).
//  4. If std is 0, the mean; otherwise N * std * 0.2 + mean. The default std is 0.1, the
//     default mean 0.
//  5. The elements are clamped to the lower bound if there is one, then to the upper one.
//  6. Floating-point dtypes: elements that are not finite become N * 0.01 of another
//     stream; then all are clamped to [-100, 100].
// An integer dtype without data and without both bounds becomes in rule 4:
//  - kGraphNet: *float32*, because the arithmetic promotes N, truncated to an integer.
//    It skips rule 6. If std is 0 it keeps its dtype, and all elements are the mean;
//  - kBench: N * std * 0.2 + mean in double, truncated to an integer.
//
// The arithmetic is torch's for `torch.randn(shape).to(dtype) * std * 0.2 + mean`: N
// is a float32, and each of the four operations rounds to the dtype, also to a float of 8 bits, in
// which torch does not compute; float16 and bfloat16 take std and 0.2 as float32 and the mean rounded. kBench differs in rule 3 and
// in integers only, although its original computes in double throughout. Literal
// floats become float32 before they become float16 or bfloat16. Complex dtypes
// have an imaginary part of 0 and take no bounds.
//
// Numbers of kBench that an integer dtype cannot hold wrap around, as in torch. These
// rules hold where torch fails or its result is undefined: a float bound of an integer
// dtype counts as the next integer inside; a number beyond a float dtype becomes an
// infinity; a number of kBench beyond int64, or a nan, becomes the lowest int64; a bound
// that is nan is an error, and so is a mean or literal that the integer dtype cannot hold.
#ifndef GRAPHNET_INTERP_INPUTS_DRAW_H_
#define GRAPHNET_INTERP_INPUTS_DRAW_H_

#include <cstdint>
#include <limits>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/sample.h"
#include "graphnet/ir/tensor_meta.h"

namespace graphnet {

// The one of GraphNet's two packages to follow where they differ.
enum class Compat { kGraphNet, kBench };

// Options of DrawTensor and DrawInputs.
struct DrawOptions {
  uint64_t seed = 0;                     // The seed of all values.
  Compat compat = Compat::kGraphNet;     // The package whose rules count.
  int64_t max_bytes = int64_t{8} << 30;  // Bytes that one call may draw.
  // DrawInputs omits floating-point tensors with more elements than this. For callers that need
  // shapes only, which seldom depend on such tensors.
  int64_t max_elements = std::numeric_limits<int64_t>::max();
};

// Draws one tensor, which error messages call `name`. `spec` may be null: the defaults count.
// InvalidArgument if the shape or dtype is not known, a size is negative or symbolic, or the spec
// contradicts the dtype; Unimplemented for complex32, quantized and bits dtypes, in which torch does
// not compute; ResourceExhausted beyond `max_bytes` or the machine's memory.
absl::StatusOr<TensorData> DrawTensor(const TensorMeta& meta, const DrawSpec* spec,
                                      absl::string_view name, const DrawOptions& options);

// Returns the value of every placeholder of the main graph, by target (the name of
// forward's parameter), and of every attribute of the module, by name. Values in
// `sample.weights` are used without a copy. Symbolic dimensions take the example values
// of their symbols.
//
// A number is a 0-d tensor: int64 for the annotations torch.SymInt and int, float64 for
// float, bool for bool. It has its literal data, as GraphNet passes it; without data it is
// the example value of the symbol of its name.
//
// An integer tensor without a draw spec keeps its dtype: its elements are 0 or 1 at random. GraphNet's
// folders describe every input, so the rules above hold for theirs.
//
// A placeholder annotated Optional[…] about which nothing is known is None and has no value.
// The elements of a list, tuple or dict are called "input.0", "input.key". They are drawn for
// a tuple whose meta describes them, and else taken from `sample.weights`, or, ints of a list,
// from its literal data.
//
// Fails as DrawTensor does; also with InvalidArgument if a placeholder and an attribute share a
// name, or if the sample has no graph.
absl::StatusOr<std::map<std::string, TensorData>> DrawInputs(const Sample& sample,
                                                             const DrawOptions& options);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_INPUTS_DRAW_H_
