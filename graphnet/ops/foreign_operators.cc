#include "graphnet/ops/foreign_operators.h"

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/synchronization/mutex.h"

namespace graphnet {
namespace {

// An operator; its schema points into `line`.
struct Operator {
  std::string line;
  Schema schema;
  bool has_schema = false;
};

struct Table {
  absl::Mutex mutex;
  absl::flat_hash_map<std::string, const Operator*> operators ABSL_GUARDED_BY(mutex);
};

Table& TheTable() {
  static auto* const table = new Table();
  return *table;
}

const Operator* Find(absl::string_view target) {
  Table& table = TheTable();
  const absl::ReaderMutexLock lock(&table.mutex);
  const auto it = table.operators.find(target);
  return it == table.operators.end() ? nullptr : it->second;
}

}  // namespace

void AddForeignOperator(absl::string_view schema) {
  // "torchvision.roi_align", or "torchvision.nms.out"
  const std::string name = absl::StrReplaceAll(schema.substr(0, schema.find('(')), {{"::", "."}});
  const size_t colons = schema.find("::");
  auto* made = new Operator;
  if (colons != absl::string_view::npos) {
    made->line = absl::StrCat("- ", schema.substr(colons + 2));
    absl::StatusOr<Schema> parsed = ParseSchema(made->line);
    made->has_schema = parsed.ok();
    if (parsed.ok()) made->schema = *std::move(parsed);
  }
  const bool has_overload = name.find('.') != name.rfind('.');
  made->schema.target = has_overload ? name : absl::StrCat(name, ".default");
  Table& table = TheTable();
  const absl::MutexLock lock(&table.mutex);
  table.operators[made->schema.target] = made;
  if (!has_overload) table.operators[name] = made;
}

bool IsForeignOperator(absl::string_view target) { return Find(target) != nullptr; }

const Schema* FindForeignSchema(absl::string_view target) {
  const Operator* const found = Find(target);
  return found == nullptr || !found->has_schema ? nullptr : &found->schema;
}

}  // namespace graphnet
