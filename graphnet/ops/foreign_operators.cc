#include "graphnet/ops/foreign_operators.h"

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/synchronization/mutex.h"
#include "graphnet/base/status.h"

namespace graphnet {
namespace {

// An operator, whose schema points into `line`.
struct Operator {
  std::string line;
  std::string name;  // "torchvision::roi_align"
  Schema schema;
  bool has_schema = false;
  bool is_known = false;
};

// Entries are never removed.
struct Table {
  absl::Mutex mutex;
  absl::flat_hash_map<std::string, const Operator*> operators ABSL_GUARDED_BY(mutex);
  absl::flat_hash_map<std::string, const std::vector<Schema>*> known ABSL_GUARDED_BY(mutex);
  std::atomic<int> count = 0;
  std::atomic<bool> any_known = false;

  const Operator* Find(absl::string_view target) {
    const absl::ReaderMutexLock lock(&mutex);
    const auto it = operators.find(target);
    return it == operators.end() ? nullptr : it->second;
  }
  void Add(const Operator* made) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    const std::string& target = made->schema.target;
    operators[target] = made;
    if (absl::EndsWith(target, ".default")) operators[target.substr(0, target.rfind('.'))] = made;
    ++count;
  }
};

Table& TheTable() {
  static auto* const table = new Table();
  return *table;
}

// The namespaces of PyTorch and graphnet.
constexpr absl::string_view kOwnNamespaces[] = {"aten", "prim",     "prims",    "quantized",
                                                "c10",  "builtins", "operator", "torch"};

absl::Status NoNamespace() {
  return absl::InvalidArgumentError("its name needs a namespace, as in mylib::f");
}

// Reads "torchvision::roi_align(Tensor input, …) -> Tensor". If that fails, `made` has a target but
// no schema.
absl::Status Read(absl::string_view schema, Operator* made) {
  const absl::string_view full = schema.substr(0, schema.find('('));
  const size_t dot = full.find('.');
  made->name = std::string(full.substr(0, dot));
  // "torchvision.roi_align.default", or "torchvision.nms.out"
  const std::string target = absl::StrCat(absl::StrReplaceAll(full, {{"::", "."}}),
                                          dot == absl::string_view::npos ? ".default" : "");
  made->schema.target = target;
  const size_t colons = full.find("::");
  if (colons == absl::string_view::npos) return NoNamespace();
  made->line = absl::StrCat("- ", schema.substr(colons + 2));
  ASSIGN_OR_RETURN(Schema parsed, ParseSchema(made->line));
  made->schema = std::move(parsed);
  made->schema.target = target;
  made->has_schema = true;
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckForeignName(absl::string_view name) {
  const size_t colons = name.find("::");
  if (colons == absl::string_view::npos) return NoNamespace();
  if (!absl::c_linear_search(kOwnNamespaces, name.substr(0, colons))) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name.substr(0, colons), " is PyTorch's own namespace"));
}

void AddForeignOperator(absl::string_view schema) {
  auto* const made = new Operator;
  (void)Read(schema, made);
  Table& table = TheTable();
  const absl::MutexLock lock(&table.mutex);
  const auto it = table.operators.find(made->schema.target);
  if (it == table.operators.end() || !it->second->is_known) table.Add(made);
}

absl::Status AddKnownOperator(absl::string_view schema, absl::string_view like) {
  auto* const made = new Operator;
  RETURN_IF_ERROR(Read(schema, made));
  made->is_known = true;
  made->schema.name = made->name;
  if (!like.empty()) made->schema.name = *new std::string(like);
  Table& table = TheTable();
  const absl::MutexLock lock(&table.mutex);
  const auto it = table.operators.find(made->schema.target);
  if (it != table.operators.end() && it->second->is_known)
    return absl::AlreadyExistsError("the operator is known already");
  const std::vector<Schema>*& overloads = table.known[made->name];
  auto* const more = overloads == nullptr ? new std::vector<Schema> : new std::vector(*overloads);
  more->push_back(made->schema);
  overloads = more;
  table.Add(made);
  table.any_known = true;
  return absl::OkStatus();
}

absl::Span<const Schema> FindKnownOperator(absl::string_view name) {
  Table& table = TheTable();
  if (!table.any_known) return {};
  const absl::ReaderMutexLock lock(&table.mutex);
  const auto it = table.known.find(name);
  return it == table.known.end() ? absl::Span<const Schema>() : *it->second;
}

const Schema* FindKnownOverload(absl::string_view target) {
  Table& table = TheTable();
  const Operator* const found = table.any_known ? table.Find(target) : nullptr;
  return found == nullptr || !found->is_known ? nullptr : &found->schema;
}

int CountForeignOperators() { return TheTable().count; }

bool IsForeignOperator(absl::string_view target) { return TheTable().Find(target) != nullptr; }

const Schema* FindForeignSchema(absl::string_view target) {
  const Operator* const found = TheTable().Find(target);
  return found == nullptr || !found->has_schema ? nullptr : &found->schema;
}

}  // namespace graphnet
