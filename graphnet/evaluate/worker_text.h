// The files of the workers, which are built into the program.
#ifndef GRAPHNET_EVALUATE_WORKER_TEXT_H_
#define GRAPHNET_EVALUATE_WORKER_TEXT_H_

#include "absl/strings/string_view.h"

namespace graphnet {

// Return the files in workers/: BladeDiscOptimisePy is bladedisc_optimise.py, and so on.
absl::string_view BladeDiscOptimisePy();
absl::string_view BladeDiscWorkerPy();
absl::string_view FarPy();
absl::string_view InductorWorkerPy();
absl::string_view IreeWorkerPy();
absl::string_view MlirProgramPy();
absl::string_view NearPy();
absl::string_view OnnxExportPy();
absl::string_view OnnxRuntimeWorkerPy();
absl::string_view OpenVinoArgumentsH();
absl::string_view OpenVinoWorkerCc();
absl::string_view PaddleBackendPy();
absl::string_view TensorRtWorkerPy();
absl::string_view TensorsPy();
absl::string_view TorchWorkerPy();
absl::string_view TvmWorkerPy();
absl::string_view WorkerH();
absl::string_view WorkerPy();
absl::string_view XlaWorkerCc();

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_WORKER_TEXT_H_
