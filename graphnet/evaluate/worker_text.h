// The workers' files, which are built into the program.
#ifndef GRAPHNET_EVALUATE_WORKER_TEXT_H_
#define GRAPHNET_EVALUATE_WORKER_TEXT_H_

#include "absl/strings/string_view.h"

namespace graphnet {

absl::string_view WorkerPy();
absl::string_view TensorsPy();
absl::string_view TorchWorkerPy();
absl::string_view InductorWorkerPy();

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_WORKER_TEXT_H_
