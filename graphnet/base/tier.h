// How far formats, passes and backends can be relied on.
#ifndef GRAPHNET_BASE_TIER_H_
#define GRAPHNET_BASE_TIER_H_

#include "absl/strings/string_view.h"

namespace graphnet {

enum class Tier {
  kCore,          // tried on the whole corpus with every change; what works goes on to work
  kSupported,     // tested with every change; results may become better
  kExperimental,  // may change or go with any version, or never ran where it is for
};

// "core", "supported", "experimental".
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
