// Describes this program as the host of workers: its location, and its LibTorch if there is one.
#ifndef GRAPHNET_RUN_WORKER_HOST_H_
#define GRAPHNET_RUN_WORKER_HOST_H_

#include "graphnet/evaluate/environment.h"
#include "graphnet/evaluate/reduce.h"

namespace graphnet {

WorkerHost HostOfTool();
// Returns an observer that uses the engine. Its first call opens the engine.
SampleObserver ObserverOfTool();

}  // namespace graphnet

#endif  // GRAPHNET_RUN_WORKER_HOST_H_
