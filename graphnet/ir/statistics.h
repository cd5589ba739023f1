// ModuleStatistics: how large a module is and what it consists of.
#ifndef GRAPHNET_IR_STATISTICS_H_
#define GRAPHNET_IR_STATISTICS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "graphnet/base/report.h"
#include "graphnet/ir/module.h"

namespace graphnet {

struct ModuleStatistics {
  size_t placeholders = 0;  // Inputs of the main graph.
  // Values that the main graph returns. A tuple, list or dict counts as its elements.
  size_t outputs = 0;
  size_t symbols = 0;

  // The nodes of all graphs but placeholders and outputs. A body counts once, however often it is
  // shared.
  size_t nodes = 0;
  // The same nodes by op and target: "call_function torch.conv2d", "call_method view",
  // "call_module layer1"; all get_attr nodes count as "get_attr".
  std::map<std::string, size_t> counts;

  // Inputs of the main graph and attributes that are annotated as torch.nn.parameter.Parameter.
  // Elements and bytes count those whose shape is known, with the examples of the symbols; they
  // saturate at the largest int64.
  size_t parameters = 0;
  int64_t parameter_elements = 0;
  int64_t parameter_bytes = 0;

  // Bytes that the module takes in memory, and the nodes in it, placeholders and outputs included.
  size_t bytes = 0;
  size_t all_nodes = 0;
  double bytes_per_node() const {
    return all_nodes == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(all_nodes);
  }

  // Adds the numbers of another module.
  ModuleStatistics& operator+=(const ModuleStatistics& other);
};

// O(size of the module).
ModuleStatistics ComputeStatistics(const Module& module);

// Returns what `graphnet stats` says. The text has the `shown` most frequent targets.
Report ReportOf(const ModuleStatistics& s, size_t shown);

}  // namespace graphnet

#endif  // GRAPHNET_IR_STATISTICS_H_
