// Finds what pieces of a graph state about their inputs, for the tool and for Python.
#ifndef GRAPHNET_RUN_PORT_VALUES_H_
#define GRAPHNET_RUN_PORT_VALUES_H_

#include <string>

#include "absl/status/status.h"
#include "graphnet/ir/observed_values.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

struct PortValues {
  ObservedValues values;
  std::string why_not;  // why shapes are unknown; empty if they are known
};

// Infers the shapes of the values of a sample, unless it states them already. It is not an error if
// they cannot be inferred.
PortValues InferPortValues(const Sample& sample);

// Returns the text of PortValues::why_not for an error.
std::string WhyUnknown(const absl::Status& status);

}  // namespace graphnet

#endif  // GRAPHNET_RUN_PORT_VALUES_H_
