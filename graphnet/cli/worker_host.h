// This program as the one that starts workers: where it lies, and its LibTorch if there is one.
#ifndef GRAPHNET_CLI_WORKER_HOST_H_
#define GRAPHNET_CLI_WORKER_HOST_H_

#include "graphnet/evaluate/environment.h"
#include "graphnet/evaluate/reduce.h"

namespace graphnet {

WorkerHost HostOfTool();
// What runs samples to see what their values are: the engine, which is opened by the first call.
SampleObserver ObserverOfTool();

}  // namespace graphnet

#endif  // GRAPHNET_CLI_WORKER_HOST_H_
