// What inference or a run found of the values of a graph beyond what the sample says.
#ifndef GRAPHNET_IR_OBSERVED_VALUES_H_
#define GRAPHNET_IR_OBSERVED_VALUES_H_

#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "graphnet/ir/module.h"

namespace graphnet {

struct ObservedValues {
  std::unique_ptr<Module> module;  // the sample's, with more metas; may be null
  struct Value {
    DrawSpec draw_spec;      // how to draw one like it; `module` holds its data
    std::string annotation;  // of a number or a list of them, "torch.SymInt"; else empty
  };
  absl::flat_hash_map<std::string, Value> values;  // by name of the node of the main graph
};

}  // namespace graphnet

#endif  // GRAPHNET_IR_OBSERVED_VALUES_H_
