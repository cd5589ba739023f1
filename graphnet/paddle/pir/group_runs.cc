#include "graphnet/paddle/pir/group_runs.h"

#include <cstddef>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "graphnet/base/status.h"
#include "graphnet/paddle/pir/groups.h"
#include "graphnet/paddle/pir/lower.h"

namespace graphnet::pir {
namespace {

// What the operations are in that a call becomes.
constexpr size_t kNothing = static_cast<size_t>(-1);  // there are none
constexpr size_t kSeveral = static_cast<size_t>(-2);  // in no group, or not all in the same one

bool IsConstant(const Node& operation) {
  return operation.target() == "pd_op.full" || operation.target() == "pd_op.full_int_array";
}

// Returns what the operations of each call are in: the number of their group, or one of the above.
std::vector<size_t> GroupOfEachCall(const Graph& lowered, size_t num_calls) {
  std::vector<size_t> group_of(num_calls, kNothing);
  size_t number = 0;
  for (const Unit& unit : GroupsOf(lowered)) {
    const size_t group = unit.is_group ? number++ : kSeveral;
    for (const Node* operation : unit.nodes) {
      size_t call = 0;
      if (IsConstant(*operation) || !absl::SimpleAtoi(operation->module_path(), &call)) continue;
      size_t& of = group_of[call];
      of = of == kNothing || of == group ? group : kSeveral;
    }
  }
  return group_of;
}

}  // namespace

absl::StatusOr<std::vector<std::vector<const Node*>>> GroupRuns(const Module& module) {
  std::vector<const Node*> calls;
  for (const Node* node : module.main()->nodes())
    if (node->is_call()) calls.push_back(node);
  // The path says which call an operation is made of: passes hand it on.
  const std::unique_ptr<Module> numbered = module.Clone();
  for (Graph* graph : numbered->graphs()) {
    size_t number = 0;
    for (Node* node : graph->nodes()) {
      const bool counts = graph == numbered->main() && node->is_call();
      node->set_module_path(counts ? absl::StrCat(number++) : "");
    }
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Module> lowered,
                   ToPir(*numbered, {.functional = true, .keep_module_paths = true}));
  const std::vector<size_t> group_of = GroupOfEachCall(*lowered->main(), calls.size());
  std::vector<std::vector<const Node*>> runs;
  for (size_t at = 0; at < calls.size();) {
    const size_t start = at++;
    if (group_of[start] == kNothing || group_of[start] == kSeveral) continue;
    size_t num_members = 1;
    size_t end = at;  // behind the last member
    for (; at < calls.size() && (group_of[at] == group_of[start] || group_of[at] == kNothing);
         ++at) {
      if (group_of[at] == kNothing) continue;
      ++num_members;
      end = at + 1;
    }
    if (num_members > 1) {
      const auto run = absl::MakeConstSpan(calls).subspan(start, end - start);
      runs.emplace_back(run.begin(), run.end());
    }
  }
  return runs;
}

}  // namespace graphnet::pir
