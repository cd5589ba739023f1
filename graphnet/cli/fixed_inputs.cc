#include "graphnet/cli/fixed_inputs.h"

#include "graphnet/base/status.h"
#include "graphnet/inputs/example_input.h"

namespace graphnet {

absl::StatusOr<NormalFormOptions> FixedInputs(const std::vector<std::string>& words) {
  NormalFormOptions options;
  for (const std::string& word : words) {
    ASSIGN_OR_RETURN(const ExampleInput input, ParseExampleInput(word));
    if (input.name.empty()) continue;
    using Kind = ExampleInput::Kind;
    switch (input.kind) {
      case Kind::kNone: options.constants[input.name] = Argument(); break;
      case Kind::kInt: options.constants[input.name] = Argument(input.integer); break;
      case Kind::kFloat: options.constants[input.name] = Argument(input.real); break;
      case Kind::kBool: options.constants[input.name] = Argument(input.integer != 0); break;
      default: break;
    }
  }
  return options;
}

}  // namespace graphnet
