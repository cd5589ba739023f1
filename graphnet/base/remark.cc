#include "graphnet/base/remark.h"

#include <atomic>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

namespace graphnet {
namespace {

std::atomic<RemarkHandler> handler{nullptr};
std::atomic<RemarkHandler> warning_handler{nullptr};

// The remarks that were passed on. They are few, so that a limit is enough to bound their memory.
struct Said {
  static constexpr size_t kMost = 10'000;
  absl::Mutex mutex;
  absl::flat_hash_set<std::string> texts ABSL_GUARDED_BY(mutex);
};

bool IsNew(const std::string& text) {
  static Said* const said = new Said;
  const absl::MutexLock lock(&said->mutex);
  return said->texts.size() < Said::kMost && said->texts.insert(text).second;
}

}  // namespace

void SetRemarkHandler(RemarkHandler new_handler) { handler = new_handler; }

void Remark(absl::string_view file, absl::string_view text) {
  const RemarkHandler receives = handler;
  if (receives == nullptr) return;
  const std::string remark = absl::StrCat(file, ": ", text);
  if (IsNew(remark)) receives(remark);
}

void SetWarningHandler(RemarkHandler new_handler) { warning_handler = new_handler; }

void Warn(const std::string& text) {
  const RemarkHandler receives = warning_handler;
  if (receives != nullptr && IsNew(text)) receives(text);
}

}  // namespace graphnet
