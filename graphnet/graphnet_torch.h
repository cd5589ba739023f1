// The library with LibTorch. It runs graphs, captures programs, and reads and writes TorchScript.
#ifndef GRAPHNET_GRAPHNET_TORCH_H_
#define GRAPHNET_GRAPHNET_TORCH_H_

#include "graphnet/extract/capture.h"
#include "graphnet/formats/libtorch.h"
#include "graphnet/formats/pt2/model_runner.h"
#include "graphnet/graphnet.h"
#include "graphnet/interp/executable.h"
#include "graphnet/interp/prepare.h"
#include "graphnet/interp/torch/tensors.h"
#include "graphnet/validate/numeric.h"

#endif  // GRAPHNET_GRAPHNET_TORCH_H_
