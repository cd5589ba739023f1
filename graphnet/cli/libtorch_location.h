// Where LibTorch is on this machine.
#ifndef GRAPHNET_CLI_LIBTORCH_LOCATION_H_
#define GRAPHNET_CLI_LIBTORCH_LOCATION_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphnet {

// The folder with lib/libtorch.so, of the version that graphnet was built with
// (kLibTorchVersion): $LIBTORCH alone if it is set; else the first of the folder or link
// "libtorch" beside that of the code, the folder "torch" there, which is Python's beside the
// package graphnet_ir, torch of the active Python environment ($VIRTUAL_ENV, $CONDA_PREFIX), torch
// of python3. FailedPrecondition, with what helps, if there is none.
absl::StatusOr<std::string> FindLibTorch();

// FailedPrecondition unless the one in `folder` is of that version; the message says `named` of it.
absl::Status CheckLibTorchVersion(const std::string& folder, absl::string_view named);

// The folder of the one that this process has loaded; "" if it has not.
std::string LoadedLibTorch();

// Which file holds this code: the program that runs, or a library that it or Python has loaded.
struct PlaceOfCode {
  std::string folder;  // links followed; "" if it is not to be known
  bool is_program = false;
};
PlaceOfCode FindPlaceOfCode();

}  // namespace graphnet

#endif  // GRAPHNET_CLI_LIBTORCH_LOCATION_H_
