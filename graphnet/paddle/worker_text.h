// Internal: paddle_worker.py, which is embedded in the program.
#ifndef GRAPHNET_PADDLE_WORKER_TEXT_H_
#define GRAPHNET_PADDLE_WORKER_TEXT_H_

#include "absl/strings/string_view.h"

namespace graphnet {

absl::string_view PaddleWorkerPy();

}  // namespace graphnet

#endif  // GRAPHNET_PADDLE_WORKER_TEXT_H_
