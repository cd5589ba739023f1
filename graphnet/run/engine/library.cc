// The only name that is looked up in libgraphnet_engine.so. Returns null for a program of another
// version.
#include "absl/strings/string_view.h"
#include "graphnet/base/version.h"
#include "graphnet/run/engine/entry.h"

extern "C" const graphnet::Engine* GraphnetEngine(const char* version) {
  return absl::string_view(version) == graphnet::kVersion ? graphnet::TheEngine() : nullptr;
}
