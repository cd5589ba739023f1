#include "graphnet/passes/call_scope.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/status.h"

namespace graphnet {
namespace {

// Returns whether a call belongs to the module at `path`, or to one below it.
bool IsBelow(const Node& call, absl::string_view path) {
  const absl::string_view own = call.module_path();
  return own == path || (absl::StartsWith(own, path) && own.substr(path.size()).front() == '.');
}

}  // namespace

CallScope CallScopeOf(const PassRun& run) {
  return {.modules = run.list("module"), .nodes = run.list("nodes"), .skip = run.list("skip")};
}

bool ScopeMatcher::Means(const Node& call) {
  const bool is_below =
      MatchesAny(scope_.modules, [&](const std::string& path) { return IsBelow(call, path); });
  const bool is_named =
      MatchesAny(scope_.nodes, [&](const std::string& name) { return call.name() == name; });
  const bool is_skipped = MatchesAny(scope_.skip, [&](const std::string& word) {
    return call.name() == word || IsBelow(call, word);
  });
  const bool means_all = scope_.modules.empty() && scope_.nodes.empty();
  return (means_all || is_below || is_named) && !is_skipped;
}

absl::Status ScopeMatcher::CheckWords() const {
  const auto check = [&](const std::vector<std::string>& words,
                         absl::string_view what) -> absl::Status {
    for (const std::string& word : words) {
      if (!found_.contains(word))
        return absl::FailedPreconditionError(absl::StrCat(what, Printable(word)));
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(check(scope_.modules, "no call belongs to the module "));
  RETURN_IF_ERROR(check(scope_.nodes, "no call has the name "));
  return check(scope_.skip, "no call has the name, and none belongs to the module, ");
}

bool ScopeMatcher::MatchesAny(const std::vector<std::string>& words,
                              absl::FunctionRef<bool(const std::string& word)> matches) {
  bool any = false;
  for (const std::string& word : words) {
    if (!matches(word)) continue;
    found_.insert(word);
    any = true;
  }
  return any;
}

}  // namespace graphnet
