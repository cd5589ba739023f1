#include "graphnet/passes/pass.h"

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "graphnet/base/status.h"

namespace graphnet {
namespace {

// Passes register themselves before main(), in an order that nothing defines.
struct Registered {
  absl::Mutex mutex;
  std::vector<Pass> passes ABSL_GUARDED_BY(mutex);
};

Registered& AllRegistered() {
  static auto* const registered = new Registered;
  return *registered;
}

}  // namespace

RegisteredPass::RegisteredPass(absl::string_view name, absl::string_view header,
                               Pass::Function function, std::vector<absl::string_view> options,
                               absl::string_view header_text, bool uses_values) {
  Registered& registered = AllRegistered();
  const absl::MutexLock lock(&registered.mutex);
  registered.passes.emplace_back(name, header, function, std::move(options), header_text,
                                 uses_values);
}

std::vector<Pass> TakeRegisteredPasses() {
  Registered& registered = AllRegistered();
  const absl::MutexLock lock(&registered.mutex);
  return std::exchange(registered.passes, {});
}

void PassRun::Note(std::string what, size_t count) {
  notes_.push_back({.what = std::move(what), .count = count, .is_counted = true});
}

absl::string_view PassRun::option(absl::string_view name, absl::string_view otherwise) const {
  const auto it = options_.find(std::string(name));
  return it == options_.end() ? otherwise : it->second;
}

std::vector<std::string> PassRun::list(absl::string_view name) const {
  const absl::string_view text = option(name);
  if (text.empty()) return {};
  return absl::StrSplit(text, '+');
}

absl::StatusOr<bool> PassRun::flag(absl::string_view name, bool otherwise) const {
  const absl::string_view text = option(name, otherwise ? "true" : "false");
  if (text == "true") return true;
  if (text == "false") return false;
  return absl::InvalidArgumentError(
      absl::StrCat(Printable(name), " must be true or false, not ", Printable(text)));
}

}  // namespace graphnet
