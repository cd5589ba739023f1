#include "graphnet/formats/torch_functions.h"

#include <atomic>

namespace graphnet {
namespace {

std::atomic<TorchOpener>& Opener() {
  static std::atomic<TorchOpener> opener = nullptr;
  return opener;
}

}  // namespace

void SetTorchFunctions(TorchOpener opener) { Opener() = opener; }

absl::StatusOr<const TorchFunctions*> OpenTorchFunctions() {
  if (const TorchOpener opener = Opener()) return opener();
  return absl::FailedPreconditionError(
      "this needs LibTorch: link @graphnet//:torch and call graphnet::UseLibTorch()");
}

}  // namespace graphnet
