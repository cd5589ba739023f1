// What runs graphs, captures programs and goes from and to TorchScript: needs LibTorch.
#ifndef GRAPHNET_GRAPHNET_TORCH_H_
#define GRAPHNET_GRAPHNET_TORCH_H_

#include "graphnet/extract/cache.h"
#include "graphnet/extract/capture.h"
#include "graphnet/extract/example_value.h"
#include "graphnet/extract/reference.h"
#include "graphnet/extract/samples.h"
#include "graphnet/extract/stitched.h"
#include "graphnet/formats/libtorch.h"
#include "graphnet/formats/torchscript/exporter.h"
#include "graphnet/formats/torchscript/exporter_module.h"
#include "graphnet/formats/torchscript/import_graph.h"
#include "graphnet/formats/torchscript/importer.h"
#include "graphnet/graphnet.h"
#include "graphnet/interp/domain.h"
#include "graphnet/interp/executable.h"
#include "graphnet/interp/model_runner.h"
#include "graphnet/interp/observe.h"
#include "graphnet/interp/prepare.h"
#include "graphnet/interp/shapes.h"
#include "graphnet/interp/structured_input.h"
#include "graphnet/interp/tensors.h"
#include "graphnet/interp/torch/annotation.h"
#include "graphnet/interp/torch/status.h"
#include "graphnet/interp/torch/tensors.h"
#include "graphnet/interp/torch/values.h"
#include "graphnet/shard/validate_ranks.h"
#include "graphnet/validate/numeric.h"

#endif  // GRAPHNET_GRAPHNET_TORCH_H_
