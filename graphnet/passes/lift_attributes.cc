#include "graphnet/passes/lift_attributes.h"

#include <map>
#include <string>

#include "graphnet/base/status.h"
#include "graphnet/ir/lift_attributes.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

absl::StatusOr<bool> LiftAttributes(Module* module, PassRun& run) {
  std::map<std::string, std::string> renamed;
  ASSIGN_OR_RETURN(const bool changed, LiftAttributes(module, &renamed));
  for (const auto& [attribute, input] : renamed) run.Renamed(attribute, input);
  return changed;
}

namespace {

const RegisteredPass kLiftAttributesPass("lift-attributes", "lift_attributes.h", LiftAttributes);

}  // namespace

}  // namespace graphnet
