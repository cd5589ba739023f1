// Finds inputs for which a graph computes nan or infinity, by running it, and sets bounds
// on how they are drawn that prevent this.
#ifndef GRAPHNET_INTERP_DOMAIN_H_
#define GRAPHNET_INTERP_DOMAIN_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

struct NonFinite {
  const Node* node = nullptr;  // of the main graph
  bool is_nan = false;         // true for nan, false for an infinity
  int64_t elements = 0;        // elements that are not finite
};

// Runs the main graph on `values` (of inputs and attributes by name, as DrawInputs
// returns them). Returns nullopt if all outputs are finite; an infinity inside the graph,
// as masks have it, does not count. Otherwise returns the first node with a nan, or with an
// infinity if no output is nan; a placeholder if its value is at fault. Fails as the run does.
absl::StatusOr<std::optional<NonFinite>> FindNonFinite(
    const Module& module, const std::map<std::string, TensorData>& values, uint64_t seed = 0);

struct DomainRepair {
  bool finite = false;             // all outputs are finite now
  bool changed = false;            // a bound was set
  std::vector<std::string> notes;  // the bounds and their reasons, and what could not be repaired
};

// Sets lower bounds on how inputs are drawn until every output is finite. The call at fault
// is computed from some inputs; the nearest of them for which a bound of 0, or of 1e-6, makes
// the value finite gets it. Bounds that do not help are removed. Gives up after `max_bounds`.
absl::StatusOr<DomainRepair> RepairDomains(Sample* sample, uint64_t seed = 0, int max_bounds = 16);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_DOMAIN_H_
