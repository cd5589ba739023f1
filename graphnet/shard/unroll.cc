#include "graphnet/shard/unroll.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/shard/graph_layout.h"
#include "graphnet/shard/mesh.h"
#include "graphnet/shard/propagate.h"
#include "graphnet/shard/sharding.h"

namespace graphnet::spmd {
namespace {

using Kind = ReshardStep::Kind;

// Returns the i-th of `n` pieces.
Node* Piece(Graph* graph, Node* x, int dim, int64_t length, size_t i, size_t n) {
  const int64_t piece = BalancedSplit(length, static_cast<int64_t>(n))[0];
  const int64_t begin = std::min(length, static_cast<int64_t>(i) * piece);
  const int64_t end = std::min(length, begin + piece);
  return graph->CallFunction("aten.slice.Tensor", {x, dim, begin, end, 1});
}

Node* Concatenate(Graph* graph, absl::Span<Node* const> parts, int dim) {
  const std::vector<Argument> elements(parts.begin(), parts.end());
  return graph->CallFunction("aten.cat.default", {Argument::List(elements), dim});
}

absl::string_view OperatorOf(ReduceType type) {
  switch (type) {
    case ReduceType::kSum:
    case ReduceType::kAvg: return "aten.add.Tensor";
    case ReduceType::kMax: return "aten.maximum.default";
    case ReduceType::kMin: return "aten.minimum.default";
    case ReduceType::kProduct: return "aten.mul.Tensor";
    case ReduceType::kAny: return "aten.logical_or.default";
    case ReduceType::kAll: return "aten.logical_and.default";
  }
  return {};
}

// Returns a tensor like x that does not change the result of a reduction by `type`, which may be x
// itself.
Node* IdentityOf(Graph* graph, Node* x, ReduceType type) {
  if (type == ReduceType::kSum) return graph->CallFunction("aten.zeros_like.default", {x});
  if (type == ReduceType::kProduct) return graph->CallFunction("aten.ones_like.default", {x});
  return x;
}

RankValues TakeStep(const ReshardStep& step, absl::Span<const int64_t> sizes,
                    const RankValues& values, Graph* graph) {
  RankValues made;
  const auto length = [&](int dim) { return sizes[static_cast<size_t>(dim)]; };
  for (const std::vector<int>& group : step.groups) {
    if (step.kind == Kind::kSend || step.kind == Kind::kBroadcast) {
      for (size_t i = 1; i < group.size(); ++i) made[group[i]] = values.at(group[0]);
      if (step.kind == Kind::kBroadcast) made[group[0]] = values.at(group[0]);
      continue;
    }
    std::vector<Node*> parts;
    for (const int rank : group) parts.push_back(values.at(rank));
    const auto give = [&](auto&& value) {
      for (size_t i = 0; i < group.size(); ++i) made[group[i]] = value(i);
    };
    switch (step.kind) {
      case Kind::kTakePiece:
        give([&](size_t i) {
          return Piece(graph, parts[i], step.dim, length(step.dim), i, group.size());
        });
        break;
      case Kind::kKeepFirst:
        give(
            [&](size_t i) { return i == 0 ? parts[0] : IdentityOf(graph, parts[i], step.reduce); });
        break;
      case Kind::kAllGather: {
        Node* const all = Concatenate(graph, parts, step.dim);
        give([&](size_t) { return all; });
        break;
      }
      case Kind::kAllReduce: {
        Node* const all = ReduceParts(parts, step.reduce, graph);
        give([&](size_t) { return all; });
        break;
      }
      case Kind::kReduceScatter: {
        Node* const all = ReduceParts(parts, step.reduce, graph);
        give([&](size_t i) {
          return Piece(graph, all, step.dim, length(step.dim), i, group.size());
        });
        break;
      }
      case Kind::kAllToAll:
        give([&](size_t i) {
          std::vector<Node*> received;
          for (Node* part : parts)
            received.push_back(
                Piece(graph, part, step.to_dim, length(step.to_dim), i, group.size()));
          return Concatenate(graph, received, step.dim);
        });
        break;
      case Kind::kGather: made[step.root] = Concatenate(graph, parts, step.dim); break;
      case Kind::kReduce: made[step.root] = ReduceParts(parts, step.reduce, graph); break;
      case Kind::kSend:
      case Kind::kBroadcast: break;
    }
  }
  return made;
}

class Unroller {
 public:
  Unroller(std::unique_ptr<Module> sharded, GraphLayout layout)
      : module_(std::move(sharded)),
        graph_(module_->main()),
        layout_(std::move(layout)),
        mesh_(layout_.meshes().empty() ? Mesh::Of({1}) : layout_.meshes()[0]),
        values_(*module_) {}

  absl::StatusOr<std::unique_ptr<Module>> Run() {
    // An all-to-all has a slice for each pair of ranks.
    if (graph_->num_nodes() * mesh_.num_ranks() * mesh_.num_ranks() > kMaxUnrolledNodes)
      return absl::InvalidArgumentError(
          absl::StrCat("all ranks would have more than ", kMaxUnrolledNodes, " nodes"));
    std::vector<Node*> nodes;
    for (Node* node : graph_->nodes()) nodes.push_back(node);
    std::vector<Node*> replaced;
    for (Node* node : nodes) {
      const InsertionGuard guard(graph_, node);
      if (node->is_output()) {
        RETURN_IF_ERROR(Assemble(node));
      } else if (node->is_call_function(kReshard)) {
        RETURN_IF_ERROR(VisitReshard(node));
        replaced.push_back(node);
      } else if (node->is_call() && !layout_.IsAlike(*node)) {
        RETURN_IF_ERROR(VisitCall(node));
        replaced.push_back(node);
      } else {
        // All ranks compute it alike, so it stays as it is. Its operands may be replaced reshards.
        for (Node* operand : node->operands()) node->ReplaceInput(operand, values_[operand][0]);
        values_[node] = {node};
      }
    }
    for (auto it = replaced.rbegin(); it != replaced.rend(); ++it) graph_->EraseNode(*it);
    return std::move(module_);
  }

 private:
  Node* Part(Node* node, size_t rank) const {
    const std::vector<Node*>& parts = values_[node];
    return parts.size() == 1 ? parts[0] : parts[rank];
  }

  std::vector<Node*> TakeSteps(const ReshardPlan& plan, absl::Span<const int64_t> sizes, Node* x) {
    RankValues values;
    for (size_t i = 0; i < mesh_.num_ranks(); ++i) values[mesh_.ranks[i]] = Part(x, i);
    values = Unroll(plan, sizes, std::move(values), graph_);
    std::vector<Node*> parts;
    for (const int rank : mesh_.ranks) parts.push_back(values.at(rank));
    return parts;
  }

  absl::Status VisitReshard(Node* node) {
    ASSIGN_OR_RETURN(const ReshardPlan plan, layout_.PlanOf(*node, /*element_bytes=*/1));
    Node* const x = node->args()[0].node();
    ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, WholeSizes(*x));
    values_[node] = TakeSteps(plan, sizes, x);
    return absl::OkStatus();
  }

  absl::Status VisitCall(Node* node) {
    for (size_t i = 0; i < mesh_.num_ranks(); ++i) {
      Node* const copy = graph_->CopyNodeFrom(*node, [&](Node* x) { return Part(x, i); });
      copy->set_meta(nullptr);
      if (!layout_.Of(node).empty()) copy->set_annotation({});
      RETURN_IF_ERROR(layout_.SetLocalSizes(*node, copy));
      values_[node].push_back(copy);
    }
    return absl::OkStatus();
  }

  absl::Status Assemble(Node* output) {
    for (Node* operand : output->operands()) {
      if (layout_.Of(operand).empty()) {
        output->ReplaceInput(operand, values_[operand][0]);
        continue;
      }
      ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, WholeSizes(*operand));
      ASSIGN_OR_RETURN(
          const ReshardPlan plan,
          PlanReshard({mesh_, layout_.Of(operand)[0]}, {mesh_, Sharding::Replicated(sizes.size())},
                      sizes, /*element_bytes=*/1));
      output->ReplaceInput(operand, TakeSteps(plan, sizes, operand)[0]);
    }
    return absl::OkStatus();
  }

  std::unique_ptr<Module> module_;
  Graph* graph_;
  const GraphLayout layout_;
  const Mesh mesh_;
  NodeTable<std::vector<Node*>> values_;  // one for each rank, or one for all
};

}  // namespace

Node* ReduceParts(absl::Span<Node* const> parts, ReduceType type, Graph* graph) {
  Node* reduced = parts[0];
  for (Node* part : parts.subspan(1))
    reduced = graph->CallFunction(OperatorOf(type), {reduced, part});
  if (type != ReduceType::kAvg) return reduced;
  return graph->CallFunction("aten.div.Scalar", {reduced, static_cast<int64_t>(parts.size())});
}

RankValues Unroll(const ReshardPlan& plan, absl::Span<const int64_t> sizes, RankValues values,
                  Graph* graph) {
  for (const ReshardStep& step : plan.steps) values = TakeStep(step, sizes, values, graph);
  return values;
}

absl::StatusOr<std::unique_ptr<Module>> UnrollRanks(const Module& sharded) {
  std::unique_ptr<Module> copy = sharded.Clone();
  ASSIGN_OR_RETURN(GraphLayout layout, GraphLayout::Read(*copy));
  if (layout.meshes().size() > 1)
    return absl::InvalidArgumentError(
        absl::StrCat("the graph is over meshes ", MeshName(layout.meshes()[0]), " and ",
                     MeshName(layout.meshes()[1]), ": only a graph over one mesh can be unrolled"));
  return Unroller(std::move(copy), std::move(layout)).Run();
}

}  // namespace graphnet::spmd
