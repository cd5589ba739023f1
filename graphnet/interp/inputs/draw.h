// Inputs drawn from what a sample says of them, where their real values are not
// known: as PyTorch's GraphNet replays tensors, with a generator of our own.
//
//   ASSIGN_OR_RETURN(const auto values, DrawInputs(sample, {.seed = 7}));  // TensorData by name
//
// The value of an input depends on the seed, its key, its meta and its draw spec
// and on nothing else. The key is DrawSpec::original_name, or else the name: an
// input of a subgraph that was renamed gets the value it has in the parent.
//
// In this order (N and U: standard normal and uniform in [0, 1)):
//  1. An integer dtype with both bounds: uniform integers between them, bounds
//     included; literal data does not count.
//  2. Literal data: that, not clamped.
//  3. bool: N > 0.5 (Compat::kGraphNet) or U > 0.5 (kBench).
//  4. A std of 0: the mean. Else N * std * 0.2 + mean. Without a std 0.1, without
//     a mean 0.
//  5. Clamped to the lower bound if there is one, then to the upper one.
//  6. Floating-point dtypes: what is not finite becomes N * 0.01 of another
//     stream; then all is clamped to [-100, 100].
// An integer dtype without data and without both bounds is, in 4,
//  - kGraphNet: *float32*, as N cut to an integer is promoted by the arithmetic.
//    It skips 6. With a std of 0 it keeps its dtype, all elements being the mean;
//  - kBench: N * std * 0.2 + mean in double, cut to an integer.
//
// Arithmetic is torch's for `torch.randn(shape).to(dtype) * std * 0.2 + mean`: N
// is a float32, each of the four operations rounds to the dtype; float16 and
// bfloat16 take std and 0.2 as float32, the mean rounded. kBench differs in 3 and
// in integers only, though its original computes in double throughout. Literal
// floats become float32 before they become float16 or bfloat16. Complex dtypes
// have an imaginary part of 0 and take no bounds.
//
// Beyond an integer dtype, kBench's numbers wrap around, as torch's do. Where
// torch fails or its result is undefined: a float bound of an integer dtype counts
// as the next integer inside; a number beyond a float dtype becomes an infinity,
// one of kBench beyond int64, nan included, the lowest int64; a bound that is nan
// is an error, as is a mean or literal that the integer dtype cannot hold.
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

// Which of GraphNet's two packages is followed where they differ.
enum class Compat { kGraphNet, kBench };

struct DrawOptions {
  uint64_t seed = 0;
  Compat compat = Compat::kGraphNet;
  int64_t max_bytes = int64_t{8} << 30;  // of all that one call draws
  // DrawInputs leaves out floating-point tensors with more elements: for who wants to know
  // shapes, which seldom depend on them.
  int64_t max_elements = std::numeric_limits<int64_t>::max();
};

// `spec` may be null: nothing is said. InvalidArgument if shape or dtype is not
// known, a size is negative or symbolic, or the spec contradicts the dtype;
// Unimplemented for float8, complex32, quantized and bits dtypes, in which torch
// does not compute; ResourceExhausted beyond `max_bytes` or what the machine has.
// Messages call the tensor `name`.
absl::StatusOr<TensorData> DrawTensor(const TensorMeta& meta, const DrawSpec* spec,
                                      absl::string_view name, const DrawOptions& options);

// The value of every placeholder of the main graph, by target (the name of
// forward's parameter), and of every attribute of the module, by name. Those in
// `sample.weights` are taken from there, without a copy. Symbolic dimensions take
// the example values of their symbols.
//
// A number is a 0-d tensor: annotated torch.SymInt or int an int64, float a
// float64, bool a bool. Without data it is the example value of the symbol of its
// name; data wins over that, as GraphNet feeds it.
//
// A placeholder annotated Optional[…] of which nothing is known has no value: it
// is None. Errors as above; also InvalidArgument if a placeholder and an attribute share a
// name, or the sample has no graph. Of a list, tuple or dict there are the elements, "input.0",
// "input.key": those of a tuple whose meta says what it holds, else those in
// `sample.weights`.
absl::StatusOr<std::map<std::string, TensorData>> DrawInputs(const Sample& sample,
                                                             const DrawOptions& options);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_INPUTS_DRAW_H_
