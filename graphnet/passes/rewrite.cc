#include "graphnet/passes/rewrite.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/passes/pass.h"
#include "graphnet/passes/pattern.h"

namespace graphnet {

absl::StatusOr<bool> Rewrite(Module* module, PassRun& run) {
  const std::string path(run.option("rules"));
  if (path.empty())
    return absl::InvalidArgumentError("option rules is missing: the file with the rules");
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxTextFileBytes));
  ASSIGN_OR_RETURN(const std::vector<RewriteRule> rules, ParseRules(text, path));
  std::vector<size_t> counts;
  RETURN_IF_ERROR(ApplyRules(rules, module, &counts));
  bool changed = false;
  for (size_t i = 0; i < rules.size(); ++i) {
    if (counts[i] > 0) run.Note(absl::StrCat("applications of ", rules[i].name), counts[i]);
    changed |= counts[i] > 0;
    if (counts[i] == 0) {
      run.Warn(
          absl::StrCat("rule ", rules[i].name, " never matched: ", WhyNoMatch(rules[i], module)));
    }
  }
  return changed;
}

namespace {

const RegisteredPass kRewritePass("rewrite", "rewrite.h", Rewrite, {"rules"});

}  // namespace

}  // namespace graphnet
