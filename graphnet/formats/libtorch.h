// For programs that link LibTorch: lets Load and Save read and write TorchScript, and infer the
// shapes that a format asks for and a sample lacks.
//
//   graphnet::UseLibTorch();
//   absl::StatusOr<graphnet::Sample> sample = graphnet::Load("model.pt");
#ifndef GRAPHNET_FORMATS_LIBTORCH_H_
#define GRAPHNET_FORMATS_LIBTORCH_H_

#include "graphnet/formats/torch_functions.h"

namespace graphnet {

// The functions that are linked.
const TorchFunctions& LinkedTorchFunctions();

// Calls SetTorchFunctions with them.
void UseLibTorch();

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_LIBTORCH_H_
