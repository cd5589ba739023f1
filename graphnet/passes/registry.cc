#include "graphnet/passes/registry.h"

#include <list>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/synchronization/mutex.h"
#include "graphnet/base/check.h"

namespace graphnet {

absl::Span<const Pass> AllPasses() {
  static auto* const mutex = new absl::Mutex;
  // Each version extends the one before it. Callers may hold spans of any version.
  static auto* const versions = new std::list<std::vector<Pass>>(1);
  const absl::MutexLock lock(mutex);
  std::vector<Pass> added = TakeRegisteredPasses();
  if (!added.empty()) {
    std::vector<Pass> passes = versions->back();
    for (Pass& pass : added) passes.push_back(std::move(pass));
    absl::c_sort(passes, [](const Pass& a, const Pass& b) { return a.name() < b.name(); });
    for (size_t i = 1; i < passes.size(); ++i) {
      CHECK_SAYS(passes[i - 1].name() != passes[i].name(), "two passes are called %.*s",
                 static_cast<int>(passes[i].name().size()), passes[i].name().data());
    }
    versions->push_back(std::move(passes));
  }
  return versions->back();
}

const Pass* FindPass(absl::string_view name) {
  const absl::Span<const Pass> passes = AllPasses();
  const auto it = absl::c_find_if(passes, [&](const Pass& pass) { return pass.name() == name; });
  return it == passes.end() ? nullptr : &*it;
}

}  // namespace graphnet
