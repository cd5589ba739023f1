// Inputs that a graph makes nan or infinity of, found by running it, and bounds on how
// they are drawn that prevent it.
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
  bool is_nan = false;         // else an infinity
  int64_t elements = 0;        // that are not finite
};

// Runs the main graph on `values` (of inputs and attributes by name, as DrawInputs
// yields them). nullopt if all outputs are finite: an infinity inside, as masks have it,
// is none. Else the first node with a nan, or with an infinity if no output is nan; a
// placeholder when its value is at fault. Errors are those of running.
absl::StatusOr<std::optional<NonFinite>> FindNonFinite(
    const Module& module, const std::map<std::string, TensorData>& values, uint64_t seed = 0);

struct DomainRepair {
  bool finite = false;             // whether all outputs are, now
  bool changed = false;            // whether any bound was set
  std::vector<std::string> notes;  // what was bounded and why, and what was not to be repaired
};

// Sets lower bounds on how inputs are drawn until every output is finite: of the inputs
// that the call at fault is computed from, nearest first, the first for which a bound of
// 0, or of 1e-6, makes the value finite. Bounds that do not help are taken back. Gives
// up after `max_bounds`.
absl::StatusOr<DomainRepair> RepairDomains(Sample* sample, uint64_t seed = 0, int max_bounds = 16);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_DOMAIN_H_
