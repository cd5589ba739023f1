// For programs that link LibTorch themselves.
#include "graphnet/cli/engine/entry.h"

namespace graphnet {

absl::StatusOr<const Engine*> OpenEngine() { return TheEngine(); }

namespace {

// Formats ask the same library.
[[maybe_unused]] const bool kIsSet = [] {
  SetTorchFunctions([]() -> absl::StatusOr<const TorchFunctions*> { return OpenEngine(); });
  return true;
}();

}  // namespace

}  // namespace graphnet
