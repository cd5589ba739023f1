#include "graphnet/passes/fold_values.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/base/tensor_size.h"
#include "graphnet/facts/memory/effects.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/passes/dead_code.h"

namespace graphnet {
namespace {

constexpr int64_t kMaxBytes = int64_t{16} << 20;
// A larger value is not made on the way to a smaller one either.
constexpr int64_t kMaxBytesOnTheWay = int64_t{1} << 30;

class Folding {
 public:
  Folding(Module* module, PassRun* run) : module_(*module), graph_(*module->main()), run_(*run) {}

  absl::StatusOr<bool> Run() {
    if (run_.constants() == nullptr) {
      return absl::FailedPreconditionError(
          "values=true needs a sample with its weights, and LibTorch");
    }
    const absl::string_view most = run_.option("max_bytes");
    if (!most.empty() && (!absl::SimpleAtoi(most, &max_bytes_) || max_bytes_ < 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("max_bytes must be a number from 0 up, not \"", Printable(most), "\""));
    }
    std::vector<AheadCall> chosen;
    for (Node* node : Choose()) chosen.push_back({node, absl::StrCat("_folded_", chosen.size())});
    if (chosen.empty()) return false;
    const absl::StatusOr<size_t> count = Compute(chosen);
    if (!count.ok()) {  // The graph itself may never run these calls.
      run_.Note(absl::StrCat("no values are computed ahead: ", count.status().message()));
      return false;
    }
    if (*count == 0) return false;
    run_.Note("values computed ahead", *count);
    return true;
  }

  // Implements ComputeAhead.
  absl::StatusOr<size_t> Compute(const std::vector<AheadCall>& calls) {
    std::vector<Node*> folded;
    for (const AheadCall& call : calls) folded.push_back(call.call);
    ASSIGN_OR_RETURN(auto values, Evaluate(folded));
    size_t count = 0;
    for (size_t i = 0; i < folded.size(); ++i) {
      const auto value = values.find(absl::StrCat("o", i));
      if (value == values.end() || !Fits(*folded[i], value->second)) continue;
      Replace(folded[i], calls[i].attribute, std::move(value->second));
      ++count;
    }
    if (count > 0) EraseDead();
    return count;
  }

 private:
  // Chooses the computable calls whose values are used by calls that are not computed ahead.
  std::vector<Node*> Choose() {
    const Effects effects(module_);
    const MemoryGroups groups(module_, effects);
    NodeTable<bool> is_constant(module_), is_computed(module_);
    for (const Node* node : graph_.nodes()) {
      if (node->op() == Op::kGetAttr) {
        is_constant[node] = run_.constants()->values.contains(std::string(node->target())) &&
                            !groups.IsWritten(node);
      } else if (node->is_call() && node->op() != Op::kCallModule) {
        const CallEffects& of = effects.Of(*node);
        // A view takes no memory.
        const int64_t bytes = of.aliases.empty() && IsStaticTensor(*node) ? BytesOf(*node) : 0;
        is_constant[node] = !node->HasBody() && of.is_pure() && !groups.IsWritten(node) &&
                            bytes <= std::max(max_bytes_, kMaxBytesOnTheWay) &&
                            absl::c_all_of(node->operands(), [&](const Node* operand) {
                              return is_constant[operand];
                            });
        // A view costs nothing and shares its memory, so it stays.
        is_computed[node] = is_constant[node] && of.aliases.empty() && BytesOf(*node) <= max_bytes_;
      }
    }
    std::vector<Node*> chosen;
    for (Node* node : graph_.nodes()) {
      if (is_computed[node] &&
          absl::c_any_of(node->users(), [&](const Node* user) { return !is_computed[user]; }))
        chosen.push_back(node);
    }
    return chosen;
  }

  static bool IsStaticTensor(const Node& node) {
    const TensorMeta* const meta = node.tensor_meta();
    return meta != nullptr && meta->is_static();
  }

  // Returns more than any limit unless the value is a tensor on the CPU of known dtype and sizes.
  static int64_t BytesOf(const Node& node) {
    constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();
    const TensorMeta* const meta = node.tensor_meta();
    if (meta == nullptr || !meta->is_static() || meta->dtype == DType::kUnknown ||
        (meta->has_device && meta->device.type != DeviceType::kCpu))
      return kUnknown;
    std::vector<int64_t> sizes;
    for (const Dim& dim : meta->shape) sizes.push_back(dim.value);
    const std::optional<int64_t> elements = NumElements(sizes);
    return elements.has_value() ? *elements * DTypeBytes(meta->dtype) : kUnknown;
  }

  // Returns the values of `folded` as o0, o1, …, computed by a module of only the needed calls.
  absl::StatusOr<std::map<std::string, TensorData>> Evaluate(const std::vector<Node*>& folded) {
    absl::flat_hash_set<const Node*> needed;
    std::vector<const Node*> open(folded.begin(), folded.end());
    while (!open.empty()) {
      const Node* const node = open.back();
      open.pop_back();
      if (!needed.insert(node).second) continue;
      for (const Node* operand : node->operands()) open.push_back(operand);
    }
    const std::unique_ptr<Module> part = module_.Clone();
    std::vector<Node*> copies;
    for (Node* node : part->main()->nodes()) copies.push_back(node);
    absl::flat_hash_map<const Node*, size_t> places;
    for (size_t i = 0; i < folded.size(); ++i) places[folded[i]] = i;
    std::vector<Argument> results(folded.size());
    std::vector<Node*> erased;
    size_t at = 0;
    for (const Node* node : graph_.nodes()) {
      Node* const copy = copies[at++];
      if (const auto place = places.find(node); place != places.end())
        results[place->second] = copy;
      if (!node->is_output() && !needed.contains(node)) erased.push_back(copy);
    }
    part->main()->output()->set_arg(0, Argument::Tuple(results));
    while (!erased.empty()) {
      part->main()->EraseNode(erased.back());
      erased.pop_back();
    }
    part->EraseUnusedGraphs();
    return run_.constants()->run(*part);
  }

  // A mode of the program, such as autocast, may give the original call another dtype.
  static bool Fits(const Node& node, const TensorData& data) {
    if (node.tensor_meta() == nullptr) return false;
    const TensorMeta& meta = *node.tensor_meta();
    if (meta.dtype != data.dtype || meta.shape.size() != data.shape.size()) return false;
    for (size_t i = 0; i < data.shape.size(); ++i) {
      if (meta.shape[i].value != data.shape[i]) return false;
    }
    return true;
  }

  void Replace(Node* node, const std::string& attribute, TensorData value) {
    std::string name = attribute;
    for (int next = 1; module_.FindAttribute(name) != nullptr; ++next)
      name = absl::StrCat(attribute, "_", next);
    module_.AddAttribute({.name = name, .meta = node->tensor_meta()});
    const InsertionGuard guard(&graph_, node);
    Node* const made = graph_.GetAttr(name);
    made->set_meta(node->meta());
    made->set_location(node->location());
    made->set_module_path(node->module_path());
    node->ReplaceAllUsesWith(made);
    run_.SetValue(name, std::move(value));
  }

  // Erases calls that only the replaced ones needed, and attributes that nothing reads any more.
  void EraseDead() {
    const auto read = [&] {
      absl::flat_hash_set<std::string> names;
      for (const Graph* graph : module_.graphs()) {
        for (const Node* node : graph->nodes()) {
          if (node->op() == Op::kGetAttr) names.emplace(node->target());
        }
      }
      return names;
    };
    const absl::flat_hash_set<std::string> before = read();
    EliminateDeadCode(&module_);
    const absl::flat_hash_set<std::string> after = read();
    for (const std::string& name : before) {
      if (!after.contains(name)) module_.EraseAttribute(name);
    }
  }

  Module& module_;
  Graph& graph_;
  PassRun& run_;
  int64_t max_bytes_ = kMaxBytes;
};

}  // namespace

absl::StatusOr<bool> FoldValues(Module* module, PassRun& run) {
  if (module->main() == nullptr || module->main()->output() == nullptr) return false;
  return Folding(module, &run).Run();
}

absl::StatusOr<size_t> ComputeAhead(Module* module, PassRun& run,
                                    const std::vector<AheadCall>& calls) {
  return Folding(module, &run).Compute(calls);
}

}  // namespace graphnet
