// The values of inputs that are numbers or texts, as a user gives them.
#ifndef GRAPHNET_INTERP_INPUTS_GIVEN_VALUE_H_
#define GRAPHNET_INTERP_INPUTS_GIVEN_VALUE_H_

#include <optional>

#include "graphnet/base/arena.h"
#include "graphnet/ir/argument.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Returns the value of an input of type int, float, bool or str, or Optional of one of these: that
// in `sample.weights`, or else its literal data. A text is copied to `arena`. Returns nullopt if no
// value is given, and for all other inputs, such as symbols.
std::optional<Argument> GivenValue(const Node& input, const Sample& sample, Arena* arena);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_INPUTS_GIVEN_VALUE_H_
