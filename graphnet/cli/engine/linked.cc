// For programs that link LibTorch themselves.
#include "graphnet/cli/engine/entry.h"

namespace graphnet {

absl::StatusOr<const Engine*> OpenEngine() { return TheEngine(); }

}  // namespace graphnet
