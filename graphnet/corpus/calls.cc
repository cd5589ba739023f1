#include "graphnet/corpus/calls.h"

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graphnet/corpus/keys.h"
#include "graphnet/facts/shapes/facts_table.h"
#include "graphnet/facts/shapes/tensor_facts.h"
#include "graphnet/ir/node.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/passes/call_meaning.h"

namespace graphnet {
namespace {

// A batch of graphs must fit into one table of Arrow, whose texts have at most 2 GiB.
constexpr size_t kMaxBytes = size_t{4} << 20;

bool IsNamed(const Node& node) {
  return node.op() == Op::kCallFunction || node.op() == Op::kCallMethod;
}

// Knows the words of targets, each made once.
class Words {
 public:
  const std::string& operator()(const Node& call) {
    // Modules own one copy of each target.
    const auto [it, is_new] = words_.try_emplace({call.op(), call.target().data()});
    if (is_new) it->second = corpus_internal::NameKey(MeaningOf(call.op(), call.target()).name);
    return it->second;
  }

 private:
  absl::flat_hash_map<std::pair<Op, const char*>, std::string> words_;
};

// Knows the dtypes and ranks of values: from metas, and where these are missing from the operands.
class Values {
 public:
  explicit Values(const Module& module) : module_(module) {}

  TensorFacts Of(const Node& node) {
    TensorFacts facts = FactsOfMeta(node.tensor_meta());
    if (facts.dtype != DType::kUnknown && facts.sizes.has_value()) return facts;
    const TensorFacts inferred = Inferred(node);
    if (!inferred.is_tensor()) return facts;
    if (facts.dtype == DType::kUnknown) facts.dtype = inferred.dtype;
    if (!facts.sizes.has_value()) facts.sizes = inferred.sizes;
    return facts;
  }

 private:
  TensorFacts Inferred(const Node& node) {
    if (!std::exchange(is_lowered_, true)) {
      absl::StatusOr<LoweredModule> lowered = LowerToAten(module_, &refused_);
      if (lowered.ok()) lowered_ = *std::move(lowered);
      if (lowered_.module != nullptr && lowered_.module->main() != nullptr)
        table_.emplace(lowered_, refused_);
    }
    if (!table_.has_value()) return {};
    const Argument& value = lowered_.values[&node];
    if (!value.is_node() || table_->IsAmbiguous(value.node()->graph())) return {};
    return table_->Of(value.node());
  }

  const Module& module_;
  bool is_lowered_ = false;
  RefusedCalls refused_;
  LoweredModule lowered_;
  std::optional<FactsTable> table_;
};

// Which kinds are wanted.
struct Wanted {
  bool plain = false;
  bool users = false;
};

absl::StatusOr<std::vector<CallKind>> Kinds(const Module& module, Wanted wanted) {
  Words words;
  Values values(module);
  std::set<CallKind> kinds;
  size_t bytes = 0;
  const auto add = [&](const Node& call, const std::string& user) {
    const TensorFacts facts = values.Of(call);
    CallKind kind = {
        .target = words(call), .dtype = facts.dtype, .rank = facts.rank(), .user = user};
    const size_t size = sizeof kind + kind.target.size() + user.size();
    if (kinds.insert(std::move(kind)).second) bytes += size;
  };
  for (const Graph* graph : module.graphs()) {
    for (const Node* node : graph->nodes()) {
      if (bytes > kMaxBytes)
        return absl::ResourceExhaustedError("its calls have far more kinds than those of a model");
      if (!IsNamed(*node)) continue;
      if (wanted.plain) add(*node, "");
      if (!wanted.users) continue;
      const std::string user = words(*node);
      node->ForEachOperand([&](const Node* operand) {
        if (IsNamed(*operand)) add(*operand, user);
      });
    }
  }
  return std::vector<CallKind>(kinds.begin(), kinds.end());
}

}  // namespace

absl::StatusOr<std::vector<CallKind>> CallKindsOf(const Module& module, bool users) {
  return Kinds(module, {.plain = !users, .users = users});
}

absl::StatusOr<std::vector<CallKind>> AllCallKindsOf(const Module& module) {
  return Kinds(module, {.plain = true, .users = true});
}

}  // namespace graphnet
