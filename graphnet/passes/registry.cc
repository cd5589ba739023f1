#include "graphnet/passes/registry.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "graphnet/passes/check_stable.h"
#include "graphnet/passes/dead_code.h"
#include "graphnet/passes/lift_attributes.h"
#include "graphnet/passes/stabilize.h"

namespace graphnet {
namespace {

// A pass that takes no options and tells nothing.
template <absl::StatusOr<bool> (*function)(Module*)>
absl::StatusOr<bool> Plain(Module* module, PassRun&) {
  return function(module);
}

absl::StatusOr<bool> DeadCode(Module* module, PassRun&) { return EliminateDeadCode(module) > 0; }

// One line a pass: its name, the header that documents it, its function and the
// names of its options.
const std::vector<Pass>& Table() {
  static const auto* const table = new std::vector<Pass>{
      {"check-stable", "check_stable.h", CheckStable, {"all", "allow"}},
      {"dce", "dead_code.h", DeadCode},
      {"lift-attributes", "lift_attributes.h", Plain<LiftAttributes>},
      {"stabilize", "stabilize.h", Stabilize, {"allow"}},
  };
  return *table;
}

}  // namespace

absl::Span<const Pass> AllPasses() { return Table(); }

const Pass* FindPass(absl::string_view name) {
  const auto it = absl::c_find_if(Table(), [&](const Pass& pass) { return pass.name() == name; });
  return it == Table().end() ? nullptr : &*it;
}

}  // namespace graphnet
