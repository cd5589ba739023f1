// Finds wrong answers that a comparison of outputs would not notice. A sample whose signal
// vanishes returns numbers that are all below any tolerance, so a compiler that returns zeros
// counts as right. A comparison that such an answer passes is called blind.
//
//   const std::vector<OutputForm> forms = FormsOfOutputs(*sample.module);
//   const WrongAnswer passes = FindWrongAnswer(outputs, 0, forms, values, {{.atol = 1e-5}});
//   if (passes.found()) …  // passes.what is "zeros"
//
// These answers are tried for an output, in this order:
//   zeros            0 everywhere
//   a constant       one number everywhere: the middle between the least and the greatest
//   input NAME       an input or a weight: as it is, or spread over the output's other dimensions
//   other order      the elements from the last to the first, or each one place further
//   output NUMBER    another output of the same sizes and dtype that is not equal in bits
// They are made of the outputs and the inputs alone, so that nothing is run for them. An answer
// that the graph itself gives is not wrong: an output that is an input or a view of one, two
// outputs that are one value, and an output that depends on no input. An output without elements
// has no wrong answer, and one of a single element has no constant and no other order.
#ifndef GRAPHNET_INTERP_INPUTS_WRONG_ANSWERS_H_
#define GRAPHNET_INTERP_INPUTS_WRONG_ANSWERS_H_

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "graphnet/base/tolerance.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// What a graph says about one of its outputs.
struct OutputForm {
  const void* value = nullptr;   // the node of which the output is a view; null if unknown
  std::string input;             // its name if it is an input or attribute
  bool depends_on_input = true;  // false: the graph always returns this value
};

// Returns the forms of the values that the main graph returns, in order.
std::vector<OutputForm> FormsOfOutputs(const Module& module);

// A wrong answer that passes.
struct WrongAnswer {
  std::string what;      // "zeros"; empty if none passes
  size_t tolerance = 0;  // the first of the tolerances within which it passes

  bool found() const { return !what.empty(); }
};

// Returns the wrong answer for output `i` that passes first, within one of the `rising` tolerances.
// `forms` may have another length than `outputs` if some of them are not tensors; then nothing is
// known of their forms. `values` are those of inputs and weights, by name. Elements of dtypes that
// are no numbers are compared as bytes.
WrongAnswer FindWrongAnswer(absl::Span<const TensorData> outputs, size_t i,
                            absl::Span<const OutputForm> forms,
                            const std::map<std::string, TensorData>& values,
                            absl::Span<const Tolerance> rising);

// Returns whether no element is nan or infinite.
bool IsFinite(const TensorData& tensor);

// An output as which a wrong answer passes, and that answer.
using PassedAnswer = std::pair<size_t, std::string>;
// Returns those of the answers, one for each output, that pass.
std::vector<PassedAnswer> PassedAnswers(absl::Span<const WrongAnswer> answers);
// Returns the sentence of a report: "zeros would have passed as o0". Empty if no
// wrong answer passes.
std::string DescribeWrongAnswers(absl::Span<const PassedAnswer> passed);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_INPUTS_WRONG_ANSWERS_H_
