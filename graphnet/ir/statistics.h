// ModuleStatistics: how large a module is and what it consists of.
#ifndef GRAPHNET_IR_STATISTICS_H_
#define GRAPHNET_IR_STATISTICS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "graphnet/ir/module.h"

namespace graphnet {

struct ModuleStatistics {
  // Of the main graph. A returned tuple, list or dict counts as its elements.
  size_t placeholders = 0;
  size_t outputs = 0;
  size_t symbols = 0;

  // Operators: the nodes of all graphs, bodies included (once each, however
  // often they are shared), but placeholders and outputs.
  size_t nodes = 0;
  // The same by op and target: "call_function torch.conv2d", "call_method view",
  // "call_module layer1"; all get_attr nodes count as "get_attr".
  std::map<std::string, size_t> counts;

  // Arguments of the main graph and attributes that are annotated as
  // torch.nn.parameter.Parameter. Elements and bytes are of those whose shape is
  // known, with the examples of the symbols; at most the largest int64.
  size_t parameters = 0;
  int64_t parameter_elements = 0;
  int64_t parameter_bytes = 0;

  // What the module takes in memory, and the nodes it does so for, placeholders
  // and outputs included.
  size_t bytes = 0;
  size_t all_nodes = 0;
  double bytes_per_node() const {
    return all_nodes == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(all_nodes);
  }

  // For totals over several modules.
  ModuleStatistics& operator+=(const ModuleStatistics& other);
};

// O(size of the module).
ModuleStatistics ComputeStatistics(const Module& module);

}  // namespace graphnet

#endif  // GRAPHNET_IR_STATISTICS_H_
