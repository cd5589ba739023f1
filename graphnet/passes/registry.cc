#include "graphnet/passes/registry.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "graphnet/passes/aten_to_torch.h"
#include "graphnet/passes/canonical_arguments.h"
#include "graphnet/passes/canonical_names.h"
#include "graphnet/passes/change_device.h"
#include "graphnet/passes/change_dtype.h"
#include "graphnet/passes/check_stable.h"
#include "graphnet/passes/common_subexpressions.h"
#include "graphnet/passes/constrain_domains.h"
#include "graphnet/passes/constrain_variance.h"
#include "graphnet/passes/dead_code.h"
#include "graphnet/passes/expand_functions.h"
#include "graphnet/passes/expand_fused.h"
#include "graphnet/passes/expand_vmap.h"
#include "graphnet/passes/explicit_operators.h"
#include "graphnet/passes/flatten_vmap.h"
#include "graphnet/passes/fold_constants.h"
#include "graphnet/passes/functionalize.h"
#include "graphnet/passes/fuse.h"
#include "graphnet/passes/generalize_dims.h"
#include "graphnet/passes/inline_regions.h"
#include "graphnet/passes/lift_attributes.h"
#include "graphnet/passes/name_inputs.h"
#include "graphnet/passes/remove_aliases.h"
#include "graphnet/passes/rename_inputs.h"
#include "graphnet/passes/revert_vmap.h"
#include "graphnet/passes/rewrite.h"
#include "graphnet/passes/simplify.h"
#include "graphnet/passes/specialize.h"
#include "graphnet/passes/stabilize.h"
#include "graphnet/passes/to_paddle.h"
#include "graphnet/passes/torch_to_aten.h"

namespace graphnet {
namespace {

// A pass that takes no options and tells nothing.
template <absl::StatusOr<bool> (*function)(Module*)>
absl::StatusOr<bool> Plain(Module* module, PassRun&) {
  return function(module);
}

absl::StatusOr<bool> DeadCode(Module* module, PassRun& run) {
  ASSIGN_OR_RETURN(const bool attributes, run.flag("attributes"));
  const size_t nodes = EliminateDeadCode(module);
  const size_t erased = attributes ? EraseUnusedAttributes(module) : 0;
  if (erased > 0) run.Note("attributes that nothing reads", erased);
  return nodes + erased > 0;
}

// One line a pass: its name, the header that documents it, its function and the
// names of its options.
const std::vector<Pass>& PassTable() {
  static const auto* const table = new std::vector<Pass>{
      {"aten-to-torch", "aten_to_torch.h", AtenToTorch},
      {"canonical-arguments", "canonical_arguments.h", CanonicalizeArguments},
      {"canonical-names", "canonical_names.h", Plain<CanonicalizeNames>},
      {"change-device", "change_device.h", ChangeDevice, {"from", "to"}},
      {"change-dtype", "change_dtype.h", ChangeDType, {"from", "to"}},
      {"check-stable", "check_stable.h", CheckStable, {"all", "allow"}},
      {"constrain-domains", "constrain_domains.h", ConstrainDomains},
      {"constrain-variance", "constrain_variance.h", ConstrainVariance},
      {"cse", "common_subexpressions.h", EliminateCommonSubexpressions},
      {"dce", "dead_code.h", DeadCode, {"attributes"}},
      {"expand-functions", "expand_functions.h", ExpandFunctions, {"fused", "keep_interpolate"}},
      {"expand-fused", "expand_fused.h", ExpandFused},
      {"expand-vmap", "expand_vmap.h", ExpandVmap},
      {"explicit-operators", "explicit_operators.h", ExplicitOperators},
      {"flatten-vmap", "flatten_vmap.h", Plain<FlattenVmap>},
      {"fold-constants", "fold_constants.h", FoldConstants, {"max_bytes", "values"}},
      {"functionalize", "functionalize.h", Functionalize, {"outputs"}},
      {"fuse", "fuse.h", Fuse, {"operators"}},
      {"generalize-dims", "generalize_dims.h", GeneralizeDims, {"dim", "inputs", "to"}},
      {"inline-regions", "inline_regions.h", InlineRegions},
      {"lift-attributes", "lift_attributes.h", LiftAttributes},
      {"remove-aliases", "remove_aliases.h", RemoveAliases},
      {"rename", "rename_inputs.h", RenameInputs},
      {"rename-inputs", "name_inputs.h", NameInputs, {kAnyOption}},
      {"revert-vmap", "revert_vmap.h", Plain<RevertVmap>},
      {"rewrite", "rewrite.h", Rewrite, {"rules"}},
      {"simplify", "simplify.h", Simplify},
      {"specialize", "specialize.h", Specialize},
      {"stabilize", "stabilize.h", Stabilize, {"allow"}},
      {"to-paddle", "to_paddle.h", ToPaddle},
      {"torch-to-aten", "torch_to_aten.h", Plain<TorchToAten>},
  };
  return *table;
}

}  // namespace

absl::Span<const Pass> AllPasses() { return PassTable(); }

const Pass* FindPass(absl::string_view name) {
  const auto it =
      absl::c_find_if(PassTable(), [&](const Pass& pass) { return pass.name() == name; });
  return it == PassTable().end() ? nullptr : &*it;
}

}  // namespace graphnet
