#include "graphnet/passes/check_stable.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/ops/callable.h"
#include "graphnet/passes/pass.h"

namespace graphnet {
namespace {

constexpr int kNodesShown = 3;

std::string PlaceOf(const Node& node) {
  std::string place = absl::StrCat("%", Printable(node.name()));
  const SourceLocation location = node.location();
  if (location.line > 0) absl::StrAppend(&place, " at ", location.line, ":", location.column);
  return place;
}

}  // namespace

bool IsNamed(absl::string_view target, absl::Span<const std::string> names) {
  for (const absl::string_view name : names) {
    if (target == name || target.substr(target.rfind('.') + 1) == name) return true;
  }
  return false;
}

absl::StatusOr<bool> CheckStable(Module* module, PassRun& run) {
  const std::vector<std::string> allowed = run.list("allow");
  ASSIGN_OR_RETURN(const bool all, run.flag("all"));
  struct Found {
    int count = 0;
    std::string places;
  };
  std::map<std::string, Found> found;
  int total = 0;
  for (const Graph* graph : module->graphs()) {
    for (const Node* node : graph->nodes()) {
      if (node->op() != Op::kCallFunction) continue;
      const bool counts =
          all ? IsPrivateTarget(node->target()) : absl::StartsWith(node->target(), "torch._C.");
      if (!counts || IsNamed(node->target(), allowed)) continue;
      Found& f = found[std::string(node->target())];
      ++total;
      if (++f.count > kNodesShown + 1) continue;
      absl::StrAppend(&f.places, f.places.empty() ? "" : ", ",
                      f.count > kNodesShown ? "…" : PlaceOf(*node));
    }
  }
  if (found.empty()) return false;
  std::string message = absl::StrCat(total, " private call", total == 1 ? "" : "s");
  absl::string_view separator = ": ";
  for (const auto& [target, f] : found) {
    absl::StrAppend(&message, separator, Printable(target), " ", f.count, " (", f.places, ")");
    separator = ", ";
  }
  return absl::FailedPreconditionError(message);
}

namespace {

const RegisteredPass kCheckStablePass("check-stable", "check_stable.h", CheckStable,
                                      {"all", "allow"});

}  // namespace

}  // namespace graphnet
