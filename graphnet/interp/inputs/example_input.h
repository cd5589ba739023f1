// Parses and draws example inputs in the form in which users write them.
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

// A description of an input, as a tree.
struct ExampleInput {
  enum class Kind { kNone, kInt, kFloat, kBool, kComplex, kString, kTensor, kList, kTuple, kDict };
  Kind kind = Kind::kNone;
  // True for a value without a type before it, such as 16000 or true. It has the kind that its
  // spelling suggests, until FitTo gives it the declared type. `text` is what was written.
  bool is_literal = false;
  // True if the declared type leaves the kind open, so that values have to say it (elements.h).
  bool says_kind = false;
  std::string name;     // empty if none is written
  int64_t integer = 0;  // of an int or bool
  double real = 0;
  double imaginary = 0;  // of a complex number
  std::string text;
  DType dtype = DType::kUnknown;
  std::vector<int64_t> sizes;
  bool has_bounds = false;  // integers are drawn from [low, high]
  int64_t low = 0, high = 0;
  std::vector<ExampleInput> elements;
  std::vector<std::string> keys;  // of a dict, one an element
};

// Parses "f32[1,3,224,224]", "i64[1,16]:0..900", "int=3", "float=0.5", "bool=true", "str=abc" or
// "None"; also "list(f32[2],f32[3])", "tuple(f32[2],int=3)" and "dict(a=f32[2],b=f32[3])", which
// nest. "16000", "0.5", "true", "1+2j", "abc", "[1,2]" and "(1,2)" have the type that the program
// declares, and "{a: 1}" is a dict, too. The name of a parameter may come first: "x=f32[2]". One of
// `names`, the program's, is a name in any case: "int=f32[2]", "a=b=f32[2]". InvalidArgument says
// what is wrong with the text.
absl::StatusOr<ExampleInput> ParseExampleInput(const std::string& text,
                                               absl::Span<const absl::string_view> names = {});

// Gives literals the type of an annotation, such as "int", "Optional[List[float]]" or
// "Union[float, int]", also those in lists, tuples and dicts. Of a Union it is the member that the
// value has, or else can be turned into. "float16" and "torch.channels_last" are ints, as in
// TorchScript. InvalidArgument if the type has no such value.
absl::Status FitTo(absl::string_view annotation, ExampleInput* input);

// Returns how the tensor is drawn: floats from the standard normal distribution, integers within
// the bounds, by default 0..9.
DrawSpec SpecOfExample(const ExampleInput& tensor);

// Draws a number, string or tensor by `name` and `seed`. InvalidArgument for other inputs.
absl::StatusOr<TensorData> DrawExample(const ExampleInput& input, const std::string& name,
                                       uint64_t seed);

// Draws an input and all its elements into `values`, by name: "x.0" in a list, "x.key" in a dict.
// For None no value is drawn, but its kind is noted.
absl::Status DrawExamples(const ExampleInput& input, const std::string& name, uint64_t seed,
                          std::map<std::string, TensorData>* values);

// Describes the inputs of a sample by `texts`. A text with a name describes that input; the others
// describe the remaining inputs in order, without parameters. Tensors become metas and draw specs
// of placeholders, symbols take the written sizes, numbers and strings become literal data, and
// elements of lists, tuples and dicts are drawn into `sample->weights` as "x.0", "x.key". If sizes
// of inputs change, the metas of values that follow are removed. Values in `sample->weights` are
// removed for inputs that are described, or whose sizes changed with a symbol. InvalidArgument if
// there is no such input, if its known dtype or rank differs, or if sizes contradict each other.
absl::Status DescribeInputs(absl::Span<const std::string> texts, uint64_t seed, Sample* sample);

// Returns InvalidArgument, which suggests --input, if too little is known to draw an input.
absl::Status CheckKnown(const Sample& sample);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_INPUTS_EXAMPLE_INPUT_H_
