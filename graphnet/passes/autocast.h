// Internal: what autocast does to a call, and how its regions are written.
#ifndef GRAPHNET_PASSES_AUTOCAST_H_
#define GRAPHNET_PASSES_AUTOCAST_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ir/module.h"
#include "graphnet/ops/region_call.h"
#include "graphnet/ops/schema.h"

namespace graphnet {

// The text of autocast.txt, which make_autocast.py writes.
absl::string_view AutocastText();

// How autocast computes an operator.
enum class AutocastRule : uint8_t {
  kNone,     // as without autocast
  kLower,    // in the dtype of the region
  kFloat32,  // in float32, unless the call gives a dtype
  kAny,      // maybe in another dtype; no rule is known
};

// Returns how autocast for a type of device, such as "cpu", computes `call`, a call of a lowered
// module (ops/lowering.h). The source for operators of ATen is autocast.txt. Calls with a body and
// functions of Python that yield no tensors are computed as without autocast, and nothing is known
// of other calls.
AutocastRule AutocastRuleOf(absl::string_view device, const Node& call);

// The dtype that autocast computes in, by type of device; devices where it is off are left out.
using AutocastState = std::map<std::string, DType>;

// The settings of an autocast region.
struct AutocastMode {
  std::string device;
  std::optional<DType> dtype;  // none if it is off

  // Returns the state inside a region with these settings when `around` is the state outside.
  AutocastState Under(AutocastState around) const;
};

// Returns the settings that the arguments before the body of a region state: the device, the dtype,
// and whether autocast is on. None if they are not known before the graph runs.
std::optional<AutocastMode> AutocastModeOf(absl::Span<const Argument> args);

// Returns whether the call opens or closes a region of the calls behind it.
Schema::Bracket BracketOf(const Node& node);

// The calls that open autocast in a graph, each with the first call behind it that closes autocast
// at the same depth of brackets. Calls that nothing closes are left out.
using BracketPairs = absl::flat_hash_map<const Node*, const Node*>;

// Adds the pairs of `graph` to `pairs`. O(nodes).
void AddBracketPairs(const Graph& graph, BracketPairs* pairs);

// Returns the call that closes the autocast that `open` opens in its graph; null if there is none.
const Node* CloseOf(const Node& open, const BracketPairs& pairs);

// Returns the form of the call of a region; none if it is another call, or is not written by
// position.
std::optional<RegionForm> RegionFormOf(const Node& node);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_AUTOCAST_H_
