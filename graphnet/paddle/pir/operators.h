// PIR's operators, as operators.txt has them: what they take and yield, and of which kind their
// attributes are.
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
  // "IntArray", or a list of one of the first six, "Int32[]". Of an operand: of the constant that
  // may be made one; empty: only a value can be.
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

// Of "pd_op.conv2d" or "conv2d"; null if the table has none.
const Operator* FindOperator(absl::string_view name);

// The type of an attribute of an operation, "pd_op.full" or of any dialect; by the name of the
// attribute where the table has no such operation; empty: not known.
absl::string_view AttributeType(absl::string_view operation, absl::string_view attribute);

// A function of Paddle's Python and what it does when a parameter is left out.
struct Function {
  absl::string_view name;             // "paddle.nn.functional.softmax"
  std::vector<Parameter> parameters;  // without types; `otherwise` as the text form writes it
};

// Null if functions.txt has none of that name.
const Function* FindFunction(absl::string_view name);

// The texts behind it.
absl::string_view OperatorText();
absl::string_view FunctionText();
absl::string_view RuleText();

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_OPERATORS_H_
