// This program as the one that starts workers: where it lies, and its LibTorch if there is one.
#ifndef GRAPHNET_CLI_WORKER_HOST_H_
#define GRAPHNET_CLI_WORKER_HOST_H_

#include "graphnet/evaluate/environment.h"
#include "graphnet/evaluate/reduce.h"

namespace graphnet {

WorkerHost HostOfTool();
// Observes values by the engine, which the first call opens.
SampleObserver ObserverOfTool();

}  // namespace graphnet

#endif  // GRAPHNET_CLI_WORKER_HOST_H_
