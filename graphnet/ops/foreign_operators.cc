#include "graphnet/ops/foreign_operators.h"

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

namespace graphnet {
namespace {

struct Table {
  absl::Mutex mutex;
  absl::flat_hash_set<std::string> targets ABSL_GUARDED_BY(mutex);
};

Table& TheTable() {
  static auto* const table = new Table();
  return *table;
}

}  // namespace

void AddForeignOperator(absl::string_view space, absl::string_view name,
                        absl::string_view overload) {
  Table& table = TheTable();
  const absl::MutexLock lock(&table.mutex);
  const std::string target = absl::StrCat(space, ".", name);
  if (overload.empty()) table.targets.insert(target);
  table.targets.insert(absl::StrCat(target, ".", overload.empty() ? "default" : overload));
}

bool IsForeignOperator(absl::string_view target) {
  Table& table = TheTable();
  const absl::ReaderMutexLock lock(&table.mutex);
  return table.targets.contains(target);
}

}  // namespace graphnet
