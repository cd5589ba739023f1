// Sample: a module, the weights that are known, and where it came from. Importers return samples
// and exporters take them.
//
//   Sample sample;
//   sample.name = "resnet18";
//   sample.module = std::move(module);
#ifndef GRAPHNET_IR_SAMPLE_H_
#define GRAPHNET_IR_SAMPLE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graphnet/base/shared_bytes.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// The values of one tensor, and the strides with which it is run.
struct TensorData {
  DType dtype = DType::kUnknown;  // The dtype of the elements.
  std::vector<int64_t> shape;     // The sizes.
  SharedBytes bytes;              // The elements: row-major, little-endian, contiguous.
  // The strides in elements that the tensor has when it is run, as torch.Tensor.stride returns
  // them; empty for row-major. They do not change the order of `bytes`.
  std::vector<int64_t> strides = {};
};

// The part of another sample from which this one was cut: the range [start, end) of its operators
// (all nodes but placeholders and the output, in program order).
struct Provenance {
  std::string parent;       // The name of the other sample.
  std::string parent_hash;  // Its canonical hash.
  int64_t start = 0;        // The first operator, from 0.
  int64_t end = 0;          // The operator behind the last one.
};

// The content of a file: a module, the weights that are known, and where it came from.
struct Sample {
  std::string name;                // The name, "resnet18".
  std::unique_ptr<Module> module;  // The graphs.

  // The text of graph_net.json, so that unknown keys are kept; empty if there is none.
  std::string graph_net_json;
  // The content of graph_hash.txt, which is not interpreted; empty if there is none.
  std::string graph_hash;
  // True if input_tensor_constraints.py has any content.
  bool has_constraints = false;
  // The order of the inputs in that file; empty if they are sorted by name.
  std::vector<std::string> constraint_order;
  // The other files of a GraphNet folder, from name to content. They are kept as they are.
  std::map<std::string, std::string> extra_files;

  // The samples from which this one was cut; empty if it was not cut.
  std::vector<Provenance> provenance;
  // The values of attributes and placeholders that are known, by name. They are stored in a
  // safetensors file beside the protobuf form, never in it.
  std::map<std::string, TensorData> weights;
};

}  // namespace graphnet

#endif  // GRAPHNET_IR_SAMPLE_H_
