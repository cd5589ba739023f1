// Reads the values of a checkpoint: tensors by the names that they have in their model, without a
// graph.
//
//   ASSIGN_OR_RETURN(const Checkpoint checkpoint, ReadCheckpoint("resnet18.pth"));
//   checkpoint.tensors.at("conv1.weight")
#ifndef GRAPHNET_FORMATS_CHECKPOINT_H_
#define GRAPHNET_FORMATS_CHECKPOINT_H_

#include <cstddef>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// The tensors of a checkpoint, which may stay in their file.
struct Checkpoint {
  std::string file;  // the path, as messages name it
  std::map<std::string, TensorData>
      tensors;            // a tensor of a dict in a dict is "state_dict.fc.bias"
  size_t num_others = 0;  // values that are not tensors, such as an epoch
};

// Reads a file: safetensors; the index of several of them (model.safetensors.index.json); the archive
// in which torch.save writes a state_dict, of which nothing is executed; or a sample that has values,
// such as a .pt2. "FILE#ema" is what a file has below the name ema. InvalidArgument if it is none of
// these, or has no tensors.
absl::StatusOr<Checkpoint> ReadCheckpoint(const std::string& path);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_CHECKPOINT_H_
