// Where LibTorch is on this machine.
#ifndef GRAPHNET_CLI_LIBTORCH_LOCATION_H_
#define GRAPHNET_CLI_LIBTORCH_LOCATION_H_

#include <string>

#include "absl/status/statusor.h"

namespace graphnet {

// The folder with lib/libtorch.so, of the version that graphnet was built with
// (kLibTorchVersion): $LIBTORCH alone if it is set; else the first of the folder or link
// "libtorch" beside that of the program, torch of the active Python environment ($VIRTUAL_ENV,
// $CONDA_PREFIX), torch of python3. FailedPrecondition, with what helps, if there is none.
absl::StatusOr<std::string> FindLibTorch();

// The folder of the one that this process has loaded; "" if it has not.
std::string LoadedLibTorch();

// The folder of the program that runs, links followed; "" if that is not to be known.
std::string ProgramFolder();

}  // namespace graphnet

#endif  // GRAPHNET_CLI_LIBTORCH_LOCATION_H_
