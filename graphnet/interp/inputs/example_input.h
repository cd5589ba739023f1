// Example inputs as a person writes them.
#ifndef GRAPHNET_INTERP_INPUTS_EXAMPLE_INPUT_H_
#define GRAPHNET_INTERP_INPUTS_EXAMPLE_INPUT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphnet/ir/sample.h"
#include "graphnet/ir/tensor_meta.h"

namespace graphnet {

// A tree.
struct ExampleInput {
  enum class Kind { kNone, kInt, kFloat, kBool, kString, kTensor, kList, kTuple, kDict };
  Kind kind = Kind::kNone;
  std::string name;     // "" where none is written
  int64_t integer = 0;  // of an int or bool
  double real = 0;
  std::string text;
  DType dtype = DType::kUnknown;
  std::vector<int64_t> sizes;
  bool has_bounds = false;  // what is drawn, both included
  int64_t low = 0, high = 0;
  std::vector<ExampleInput> elements;
  std::vector<std::string> keys;  // of a dict, one an element
};

// "f32[1,3,224,224]", "i64[1,16]:0..900", "int=3", "float=0.5", "bool=true", "str=abc",
// "None"; "list(f32[2],f32[3])", "tuple(f32[2],int=3)", "dict(a=f32[2],b=f32[3])", within each
// other too; with the name of a parameter in front, "x=f32[2]". InvalidArgument says what is
// wrong with the text.
absl::StatusOr<ExampleInput> ParseExampleInput(const std::string& text);

// How a tensor like that is drawn: floats from the standard normal distribution, integers
// within the bounds, by default 0..9.
DrawSpec SpecOfExample(const ExampleInput& tensor);

// The value of a number, text or tensor, drawn by `name` and `seed`. InvalidArgument for others.
absl::StatusOr<TensorData> DrawExample(const ExampleInput& input, const std::string& name,
                                       uint64_t seed);

// Ditto, of all that it holds, by name: "x.0" of a list, "x.key" of a dict. None has no value.
absl::Status DrawExamples(const ExampleInput& input, const std::string& name, uint64_t seed,
                          std::map<std::string, TensorData>* values);

// Describes the inputs of a sample: those that are named, and the others in order, parameters
// left out. Tensors become the metas and draw specs of placeholders, symbols take the sizes
// that are written for them, numbers and texts become literal data, what lists, tuples and dicts hold is
// drawn into `sample->weights` as "x.0", "x.key". Metas of values behind inputs whose sizes
// changed are forgotten, as are values in `sample->weights` of inputs that are described, or
// whose sizes changed with a symbol. InvalidArgument if there is no such input, or what is
// known of it has another dtype or rank, or `sizes` contradict each other.
absl::Status DescribeInputs(absl::Span<const std::string> texts, uint64_t seed, Sample* sample);

// InvalidArgument that names --input for an input of which too little is known to draw it.
absl::Status CheckKnown(const Sample& sample);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_INPUTS_EXAMPLE_INPUT_H_
