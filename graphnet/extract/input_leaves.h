// The tensors, numbers and texts in the inputs of an extracted program.
#ifndef GRAPHNET_EXTRACT_INPUT_LEAVES_H_
#define GRAPHNET_EXTRACT_INPUT_LEAVES_H_

#include <cstdint>
#include <map>
#include <string>

#include "graphnet/extract/manifest.h"

namespace graphnet {

// Leaves by name: `x`, `x.0` for the first element of a list, or `x.key` for an element of a dict.
struct InputLeaves {
  std::map<int64_t, std::string> tensors;             // by number
  std::map<std::string, const ValueTree*> constants;  // numbers and texts, owned by the manifest
};

InputLeaves LeavesOf(const StitchManifest& manifest);

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_INPUT_LEAVES_H_
