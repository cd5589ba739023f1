// Says how far users can rely on a format, pass or backend.
#ifndef GRAPHNET_BASE_TIER_H_
#define GRAPHNET_BASE_TIER_H_

#include "absl/strings/string_view.h"

namespace graphnet {

enum class Tier {
  kCore,          // tested on the whole corpus with every change; keeps working
  kSupported,     // tested with every change; results may improve
  kExperimental,  // may change or disappear in any version, or never ran on its target
};

// Returns "core", "supported" or "experimental".
constexpr absl::string_view TierName(Tier tier) {
  switch (tier) {
    case Tier::kCore: return "core";
    case Tier::kSupported: return "supported";
    case Tier::kExperimental: return "experimental";
  }
  return "";
}

}  // namespace graphnet

#endif  // GRAPHNET_BASE_TIER_H_
