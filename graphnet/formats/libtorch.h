// Lets Load and Save use LibTorch in a program that links it: to read and write TorchScript, and to
// infer shapes that a format requires and a sample lacks.
//
//   graphnet::UseLibTorch();
//   absl::StatusOr<graphnet::Sample> sample = graphnet::Load("model.pt");
#ifndef GRAPHNET_FORMATS_LIBTORCH_H_
#define GRAPHNET_FORMATS_LIBTORCH_H_

#include "graphnet/formats/torch_functions.h"

namespace graphnet {

// Returns the functions of the linked LibTorch. They are never destroyed.
const TorchFunctions& LinkedTorchFunctions();

// Makes Load and Save use LinkedTorchFunctions(). Call it once, before them.
void UseLibTorch();

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_LIBTORCH_H_
