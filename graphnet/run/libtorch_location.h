// Finds LibTorch on this machine.
#ifndef GRAPHNET_RUN_LIBTORCH_LOCATION_H_
#define GRAPHNET_RUN_LIBTORCH_LOCATION_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphnet {

// Returns the folder that has lib/libtorch_cpu.so of the version that graphnet was built with
// (kLibTorchVersion). If $LIBTORCH is set, only that is tried. Otherwise it is the first of these:
// a folder or link "libtorch" beside the folder of this code, a folder "torch" there (Python's
// torch lies beside the package graphnet_ir), torch of the active Python environment ($VIRTUAL_ENV,
// $CONDA_PREFIX), torch of python3. FailedPrecondition, with advice, if there is none.
absl::StatusOr<std::string> FindLibTorch();

// Checks that LibTorch in `folder` has that version. If not, returns FailedPrecondition with a
// message that calls it `named`.
absl::Status CheckLibTorchVersion(const std::string& folder, absl::string_view named);

// Returns the folder of the LibTorch that this process has loaded; "" if it has not loaded one.
std::string LoadedLibTorch();

// The file that contains this code: the running program, or a library that it or Python has loaded.
struct PlaceOfCode {
  std::string folder;  // with links resolved; "" if it cannot be found
  bool is_program = false;
};
PlaceOfCode FindPlaceOfCode();

}  // namespace graphnet

#endif  // GRAPHNET_RUN_LIBTORCH_LOCATION_H_
