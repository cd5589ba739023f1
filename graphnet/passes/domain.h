// The numbers for which an operator yields neither nan nor infinity.
#ifndef GRAPHNET_PASSES_DOMAIN_H_
#define GRAPHNET_PASSES_DOMAIN_H_

#include <cmath>
#include <compare>
#include <optional>
#include <string>

#include "graphnet/interp/inputs/drawn_values.h"
#include "graphnet/ir/tensor_meta.h"

namespace graphnet {

struct Domain {
  double low = -HUGE_VAL;
  double high = HUGE_VAL;
  bool is_open = false;     // the ends are outside
  bool is_nonzero = false;  // 0 is outside

  bool Holds(const DrawnValues& values) const;
  auto operator<=>(const Domain&) const = default;
};

// "at least 0", "over 0", "from -1 to 1", "between 0 and 1", "other than 0".
std::string DescribeDomain(const Domain& domain);

// Returns `spec` with bounds that keep all drawn values in `domain`; nullopt if no bounds can.
std::optional<DrawSpec> BoundedTo(const Domain& domain, DType dtype, const DrawSpec& spec);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_DOMAIN_H_
