// Facts about the values of a graph that inference or a run found and the sample does not have.
#ifndef GRAPHNET_IR_OBSERVED_VALUES_H_
#define GRAPHNET_IR_OBSERVED_VALUES_H_

#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "graphnet/ir/module.h"

namespace graphnet {

struct ObservedValues {
  std::unique_ptr<Module> module;  // The sample's module with more metas; may be null.
  struct Value {
    DrawSpec draw_spec;      // Draws a value like the one observed; `module` holds its data.
    std::string annotation;  // For a number or a list of numbers, "torch.SymInt"; else empty.
  };
  absl::flat_hash_map<std::string, Value> values;  // By name of the node of the main graph.
};

}  // namespace graphnet

#endif  // GRAPHNET_IR_OBSERVED_VALUES_H_
