// PIR's operators, from operators.txt: their operands and results, and the types of their
// attributes.
#ifndef GRAPHNET_PADDLE_PIR_OPERATORS_H_
#define GRAPHNET_PADDLE_PIR_OPERATORS_H_

#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace graphnet::pir {

// An operand or an attribute.
struct Parameter {
  absl::string_view name;
  // "Bool", "Int32", "Int64", "Float", "Double", "Str", "DataType", "Place", "DataLayout",
  // "IntArray", or a list of one of the first six, "Int32[]". For an operand it is the type of a
  // constant that may be passed; empty if only a value may be.
  absl::string_view type;
  std::optional<absl::string_view> otherwise;  // as it is written in the table
};

struct Operator {
  absl::string_view name;  // "conv2d", without the dialect
  std::vector<Parameter> operands;
  std::vector<Parameter> attributes;  // in the order in which a call in C++ has them
  std::vector<absl::string_view> results;
  bool has_effects = false;  // draws random numbers, writes to what it is given, …
};

// Finds an operator by "pd_op.conv2d" or "conv2d"; nullptr if the table does not have it.
const Operator* FindOperator(absl::string_view name);

// Returns the type of an attribute of an operation of any dialect, such as "pd_op.full". If the
// table does not have the operation, the attribute's name decides. Empty if the type is not known.
absl::string_view AttributeType(absl::string_view operation, absl::string_view attribute);

// A function of Paddle's Python with the defaults of its parameters.
struct Function {
  absl::string_view name;             // "paddle.nn.functional.softmax"
  std::vector<Parameter> parameters;  // without types; `otherwise` as the text form writes it
};

// Returns nullptr if functions.txt has no function of that name.
const Function* FindFunction(absl::string_view name);

// The embedded texts of operators.txt, functions.txt and rules.txt.
absl::string_view OperatorText();
absl::string_view FunctionText();
absl::string_view RuleText();

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_OPERATORS_H_
