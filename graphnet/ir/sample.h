// Sample: a module, where it came from and how its inputs are drawn. The unit
// that importers yield and exporters take.
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

// The bytes of one tensor, row-major, little-endian, contiguous.
struct TensorData {
  DType dtype = DType::kUnknown;
  std::vector<int64_t> shape;
  SharedBytes bytes;
  // How it lies in memory where it is run, as torch.Tensor.stride; empty: row-major too.
  std::vector<int64_t> strides = {};
};

// The part of another sample that this one was cut from: [start, end) of its
// operators (all nodes but placeholders and the output, in program order).
struct Provenance {
  std::string parent;       // name of the sample cut
  std::string parent_hash;  // its canonical hash
  int64_t start = 0;
  int64_t end = 0;
};

struct Sample {
  std::string name;  // "resnet18"
  std::unique_ptr<Module> module;

  // graph_net.json as it stands, so that unknown keys survive; empty: none.
  std::string graph_net_json;
  // The content of graph_hash.txt; opaque. Empty: none.
  std::string graph_hash;
  // Whether input_tensor_constraints.py says anything (else it is empty), and
  // the order its shapes are listed in when not sorted by name.
  bool has_constraints = false;
  std::vector<std::string> constraint_order;
  // Other files of a GraphNet folder, name to content, kept as they are.
  std::map<std::string, std::string> extra_files;

  std::vector<Provenance> provenance;
  // Real values of attributes (or placeholders) by name, where known. Kept in a
  // safetensors file beside the protobuf form, never in it.
  std::map<std::string, TensorData> weights;
};

}  // namespace graphnet

#endif  // GRAPHNET_IR_SAMPLE_H_
