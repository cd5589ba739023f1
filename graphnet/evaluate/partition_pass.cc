#include "graphnet/evaluate/partition_pass.h"

#include <cstddef>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/file.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/decompose/partition.h"
#include "graphnet/evaluate/onnx_operators.h"
#include "graphnet/evaluate/partition_pass_text.h"
#include "graphnet/formats/mlir/operators.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/outline.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/passes/call_query.h"

namespace graphnet {
namespace {

using Calls = absl::flat_hash_set<const Node*>;

// Returns whether MLIR's torch dialect has the operator of a call in ATen's overloads. Calls on
// numbers, and getitem, have other operators there.
bool IsInMlir(const Node& call) {
  const Callable callee = CalleeOf(call);
  if (callee.kind == Callable::Kind::kPythonOperator) return true;
  return callee.kind == Callable::Kind::kOperator && callee.names_overload &&
         mlir::HasOperator(callee.overloads[0].target);
}

bool IsInOnnx(const Node& call) { return WhyNotInOnnx(call).empty(); }

// Returns the calls of which a backend supports everything that they lower to.
absl::StatusOr<Calls> SupportedBy(absl::string_view backend, const Module& module) {
  if (backend != "onnx" && backend != "mlir") {
    return absl::InvalidArgumentError(absl::StrCat("there is no table of the operators of ",
                                                   Printable(backend),
                                                   "; backend is onnx or mlir, or give rules"));
  }
  const auto is_supported = backend == "onnx" ? IsInOnnx : IsInMlir;
  RefusedCalls refused;
  ASSIGN_OR_RETURN(const LoweredModule lowered, LowerToAten(module, &refused));
  Calls unsupported;
  for (const auto& [call, why] : refused) unsupported.insert(call);
  for (const Graph* graph : lowered.module->graphs()) {
    for (const Node* node : graph->nodes()) {
      if (node->is_call() && !is_supported(*node)) unsupported.insert(lowered.origins[node]);
    }
  }
  Calls supported;
  for (const Node* node : module.main()->nodes()) {
    if (node->is_call() && !unsupported.contains(node)) supported.insert(node);
  }
  return supported;
}

// Returns the calls that the queries in the lines of a file match. Warns of queries that match none.
absl::StatusOr<Calls> MatchedBy(const std::string& path, Module* module, PassRun& run) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxTextFileBytes));
  Calls matched;
  size_t number = 0;
  for (const absl::string_view whole : absl::StrSplit(text, '\n')) {
    ++number;
    const absl::string_view line = absl::StripAsciiWhitespace(whole);
    if (line.empty() || line[0] == '#') continue;
    const absl::StatusOr<CallQuery> query = CallQuery::Parse(line);
    if (!query.ok()) return ErrorAt(path, number, 0, query.status().message());
    ASSIGN_OR_RETURN(const auto matches, query->FindWhole(module));
    for (const std::vector<Node*>& nodes : matches) matched.insert(nodes.begin(), nodes.end());
    for (const std::string& doubt : query->Doubts(/*names=*/matches.empty()))
      run.Warn(absl::StrCat("line ", number, " of the rules: ", doubt));
  }
  return matched;
}

// Returns whether a call takes or makes a list, tuple or dict of TorchScript.
bool HasStructure(const Node& call) {
  return IsStructure(call.annotation()) || absl::c_any_of(call.operands(), [](const Node* operand) {
           return IsStructure(operand->annotation());
         });
}

}  // namespace

absl::StatusOr<bool> PartitionForBackend(Module* module, PassRun& run) {
  const std::string backend(run.option("backend"));
  const std::string rules(run.option("rules"));
  if (backend.empty() == rules.empty())
    return absl::InvalidArgumentError("give one of the options backend and rules");
  PartitionOptions options;
  const absl::string_view least = run.option("min-operators", "1");
  if (!absl::SimpleAtoi(least, &options.min_operators) || options.min_operators == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("min-operators is a whole number from 1 on, not ", Printable(least)));
  }
  ASSIGN_OR_RETURN(const Calls supported,
                   rules.empty() ? SupportedBy(backend, *module) : MatchedBy(rules, module, run));
  const auto is_supported = [&](const Node& node) {
    return node.target() != "torch.ops.higher_order.wrap" && supported.contains(&node) &&
           !HasStructure(node);
  };
  ASSIGN_OR_RETURN(const auto groups, Partition(module->main(), is_supported, options));
  size_t calls = 0, grouped = 0;
  for (const Node* node : module->main()->nodes()) calls += node->is_call() ? 1 : 0;
  for (const std::vector<Node*>& group : groups) {
    grouped += group.size();
    RETURN_IF_ERROR(Outline(group, "torch.ops.higher_order.wrap", "group").status());
  }
  if (!groups.empty())
    run.Note(absl::StrCat("groups with ", grouped, " of ", calls, " calls"), groups.size());
  return !groups.empty();
}

namespace {

const RegisteredPass kPartitionPass("partition", "partition_pass.h", PartitionForBackend,
                                    {"backend", "rules", "min-operators"},
                                    PartitionPassHeaderText());

}  // namespace

}  // namespace graphnet
