#include "graphnet/ops/operator_names.h"

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/other_operator_text.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {
namespace {

// The content of other_operators.txt.
struct Names {
  absl::flat_hash_set<absl::string_view> spaces;
  absl::flat_hash_set<std::string> targets;  // "aten.add.out", "math.floor"
};

const Names& OtherNames() {
  static const Names* const names = [] {
    auto* made = new Names;
    for (const absl::string_view line :
         absl::StrSplit(OtherOperatorText(), '\n', absl::SkipEmpty())) {
      if (line[0] == '#') continue;
      const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
      made->spaces.insert(words[0]);
      for (size_t i = 1; i < words.size(); ++i) {
        made->targets.insert(absl::StrCat(words[0], ".", words[i]));
      }
    }
    return made;
  }();
  return *names;
}

// Returns whether public.txt lists the module.
bool IsListedModule(absl::string_view module) {
  return module == "torch" || module == "torch.nn.functional" || module == "torch.fft" ||
         module == "torch.linalg" || module == "torch.special" || module == "torch.sparse";
}

TargetOrigin OriginIf(bool is_there) {
  return is_there ? TargetOrigin::kPyTorch : TargetOrigin::kMissing;
}

}  // namespace

TargetOrigin OriginOfTarget(absl::string_view target) {
  absl::string_view name = target;
  if (absl::ConsumePrefix(&name, "torch.ops.")) {
    const Schema* const schema = FindOverload(name);
    if (schema != nullptr && schema->is_of_aten()) return TargetOrigin::kPyTorch;
    const absl::string_view space = name.substr(0, name.find('.'));
    const Names& names = OtherNames();
    if (!names.spaces.contains(space)) return TargetOrigin::kOther;
    if (names.targets.contains(name) || names.targets.contains(absl::StrCat(name, ".default"))) {
      return TargetOrigin::kPyTorch;
    }
    // A target without an overload means all overloads.
    const bool is_aten = absl::ConsumePrefix(&name, "aten.");
    return OriginIf(is_aten && !FindSchemas(name).empty());
  }
  if (absl::StartsWith(target, "_operator.") || absl::StartsWith(target, "math.")) {
    return OriginIf(OtherNames().targets.contains(target));
  }
  if (absl::StartsWith(target, "torch.")) {
    const bool is_listed = IsListedModule(target.substr(0, target.rfind('.')));
    return OriginIf(!is_listed || IsPrivateTarget(target) || IsPublicFunction(target) ||
                    FindCallable(Op::kCallFunction, target).is_known());
  }
  // A target that starts with "#" belongs to an extension of torch.export.
  return absl::StartsWith(target, "#") ? TargetOrigin::kOther : TargetOrigin::kMissing;
}

}  // namespace graphnet
