#include "graphnet/passes/spmd/unroll.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/ops/tensor_facts.h"
#include "graphnet/passes/spmd/call_rules.h"
#include "graphnet/passes/spmd/mesh.h"
#include "graphnet/passes/spmd/propagate.h"
#include "graphnet/passes/spmd/sharding.h"

namespace graphnet::spmd {
namespace {

using Kind = ReshardStep::Kind;

// The i-th of `n` pieces.
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

Node* ReduceAll(Graph* graph, absl::Span<Node* const> parts, ReduceType type) {
  Node* reduced = parts[0];
  for (Node* part : parts.subspan(1))
    reduced = graph->CallFunction(OperatorOf(type), {reduced, part});
  if (type != ReduceType::kAvg) return reduced;
  return graph->CallFunction("aten.div.Scalar", {reduced, static_cast<int64_t>(parts.size())});
}

// What `type` takes in without a change, as x has its elements; x itself where that is one.
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
        Node* const all = ReduceAll(graph, parts, step.reduce);
        give([&](size_t) { return all; });
        break;
      }
      case Kind::kReduceScatter: {
        Node* const all = ReduceAll(graph, parts, step.reduce);
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
      case Kind::kReduce: made[step.root] = ReduceAll(graph, parts, step.reduce); break;
      case Kind::kSend:
      case Kind::kBroadcast: break;
    }
  }
  return made;
}

class Unroller {
 public:
  explicit Unroller(const Module& sharded)
      : module_(sharded.Clone()),
        graph_(module_->main()),
        values_(*module_),
        shardings_(*module_) {}

  absl::StatusOr<std::unique_ptr<Module>> Run() {
    std::vector<Node*> nodes;
    for (Node* node : graph_->nodes()) nodes.push_back(node);
    for (Node* node : nodes) {
      RETURN_IF_ERROR(ReadAnnotation(node));
    }
    std::vector<Node*> replaced;
    for (Node* node : nodes) {
      const InsertionGuard guard(graph_, node);
      if (node->is_output()) {
        RETURN_IF_ERROR(Assemble(node));
      } else if (node->is_call_function(kReshard)) {
        RETURN_IF_ERROR(VisitReshard(node));
        replaced.push_back(node);
      } else if (node->is_call() && !IsAlike(node)) {
        RETURN_IF_ERROR(VisitCall(node));
        replaced.push_back(node);
      } else {
        // Computed once; what it takes may have been resharded to whole.
        for (Node* operand : node->operands()) node->ReplaceInput(operand, values_[operand][0]);
        values_[node] = {node};
      }
    }
    for (auto it = replaced.rbegin(); it != replaced.rend(); ++it) graph_->EraseNode(*it);
    return std::move(module_);
  }

 private:
  absl::Status ReadAnnotation(Node* node) {
    // Of a placeholder or attribute it says what it is.
    if (!node->is_call() || node->annotation().empty()) return absl::OkStatus();
    // Others are of no tensor: "List[int]".
    if (!absl::ascii_isdigit(static_cast<unsigned char>(node->annotation()[0])))
      return absl::OkStatus();
    const absl::StatusOr<ShardedValue> value = ParseAnnotation(node->annotation());
    if (!value.ok()) return NodeError(*node, value.status().message());
    RETURN_IF_ERROR(SetMesh(*node, value->mesh));
    shardings_[node] = value->shardings;
    node->set_annotation({});
    return absl::OkStatus();
  }

  absl::Status SetMesh(const Node& node, const Mesh& mesh) {
    if (!mesh_.has_value()) {
      // An all-to-all has a slice for each pair of ranks.
      if (graph_->num_nodes() * mesh.num_ranks() * mesh.num_ranks() > kMaxUnrolledNodes)
        return NodeError(
            node, absl::StrCat("all ranks would have more than ", kMaxUnrolledNodes, " nodes"));
      mesh_ = mesh;
    }
    if (mesh == *mesh_) return absl::OkStatus();
    return NodeError(node, absl::StrCat("is over mesh ", MeshName(mesh), ", values before it over ",
                                        MeshName(*mesh_)));
  }

  // Whether all ranks compute the same.
  bool IsAlike(const Node* node) const {
    return shardings_[node].empty() &&
           absl::c_all_of(node->operands(), [&](const Node* x) { return shardings_[x].empty(); });
  }

  Node* Part(Node* node, size_t rank) const {
    const std::vector<Node*>& parts = values_[node];
    return parts.size() == 1 ? parts[0] : parts[rank];
  }

  absl::StatusOr<std::vector<int64_t>> SizesOf(const Node* node) const {
    const TensorMeta* meta = node->tensor_meta();
    if (meta == nullptr || !meta->has_shape || !meta->is_static())
      return NodeError(*node, "is sharded, but its shape is not known");
    std::vector<int64_t> sizes;
    for (const Dim& dim : meta->shape) sizes.push_back(dim.value);
    return sizes;
  }

  absl::StatusOr<std::vector<Node*>> Reshard(Node* x, const Sharding& to) {
    ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, SizesOf(x));
    const Sharding from =
        shardings_[x].empty() ? Sharding::Replicated(sizes.size()) : shardings_[x][0];
    ASSIGN_OR_RETURN(const ReshardPlan plan,
                     PlanReshard({*mesh_, from}, {*mesh_, to}, sizes, /*element_bytes=*/1));
    RankValues values;
    for (size_t i = 0; i < mesh_->num_ranks(); ++i) values[mesh_->ranks[i]] = Part(x, i);
    values = Unroll(plan, sizes, std::move(values), graph_);
    std::vector<Node*> parts;
    for (const int rank : mesh_->ranks) parts.push_back(values.at(rank));
    return parts;
  }

  absl::Status VisitReshard(Node* node) {
    if (node->args().size() != 2 || !node->args()[0].is_node() || !node->args()[1].is_string())
      return NodeError(*node, "expected a value and how it is laid out");
    const absl::StatusOr<ShardedValue> to = ParseAnnotation(node->args()[1].string());
    if (!to.ok()) return NodeError(*node, to.status().message());
    RETURN_IF_ERROR(SetMesh(*node, to->mesh));
    if (to->shardings.size() != 1) return NodeError(*node, "expected one sharding");
    Node* const x = node->args()[0].node();
    ASSIGN_OR_RETURN(std::vector<int64_t> sizes, SizesOf(x));
    if (absl::Status status = CheckSharding(to->shardings[0], *mesh_, sizes); !status.ok())
      return NodeError(*node, status.message());
    const bool is_annotated = !shardings_[node].empty();
    if (is_annotated ? shardings_[node][0] != to->shardings[0] : !to->shardings[0].is_replicated())
      return NodeError(*node, "is laid out otherwise than it is annotated");
    ASSIGN_OR_RETURN(values_[node], Reshard(x, to->shardings[0]));
    return absl::OkStatus();
  }

  absl::Status VisitCall(Node* node) {
    for (size_t i = 0; i < mesh_->num_ranks(); ++i) {
      Node* const copy = graph_->CopyNodeFrom(*node, [&](Node* x) { return Part(x, i); });
      copy->set_meta(nullptr);
      RETURN_IF_ERROR(SetLocalSizes(*node, copy));
      values_[node].push_back(copy);
    }
    return absl::OkStatus();
  }

  // Sizes that a call is given are those of the whole.
  absl::Status SetLocalSizes(const Node& node, Node* copy) {
    const CallRule* rule = FindCallRule(node);
    if (rule == nullptr || rule->sizes_parameter.empty() || shardings_[&node].empty())
      return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, SizesOf(&node));
    const Sharding& sharding = shardings_[&node][0];
    RETURN_IF_ERROR(CheckSharding(sharding, *mesh_, sizes));
    const std::vector<int64_t> local = LocalSizes(sharding, *mesh_, sizes);
    const Schema& schema = *FindOverload(node.target());
    const int at = schema.IndexOf(rule->sizes_parameter);
    const Argument* given = schema.Given(*copy, rule->sizes_parameter);
    if (at < 0 || given == nullptr || !given->is_aggregate())
      return NodeError(node, "expected a list of sizes");
    // Those of unflatten begin at its dimension.
    size_t first = 0;
    if (schema.IndexOf("dim") >= 0) {
      const int rank = static_cast<int>(sizes.size() - given->elements().size()) + 1;
      const auto dim = DimsOf(ArgumentOf(node, schema, "dim"), rank);
      if (!dim.has_value() || dim->size() != 1) return NodeError(node, "expected a dimension");
      first = (*dim)[0];
    }
    std::vector<Argument> elements(given->elements().begin(), given->elements().end());
    if (first + elements.size() > sizes.size()) return NodeError(node, "has too many sizes");
    for (size_t i = 0; i < elements.size(); ++i) {
      if (sharding.dims_mapping[first + i] >= 0 && elements[i] != Argument(-1))
        elements[i] = local[first + i];
    }
    const Argument list = Argument::Aggregate(given->kind(), elements);
    if (static_cast<size_t>(at) < copy->args().size())
      copy->set_arg(static_cast<size_t>(at), list);
    else
      copy->set_kwarg(rule->sizes_parameter, list);
    return absl::OkStatus();
  }

  absl::Status Assemble(Node* output) {
    for (Node* operand : output->operands()) {
      if (shardings_[operand].empty()) {
        output->ReplaceInput(operand, values_[operand][0]);
        continue;
      }
      ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, SizesOf(operand));
      ASSIGN_OR_RETURN(const std::vector<Node*> parts,
                       Reshard(operand, Sharding::Replicated(sizes.size())));
      output->ReplaceInput(operand, parts[0]);
    }
    return absl::OkStatus();
  }

  std::unique_ptr<Module> module_;
  Graph* graph_;
  std::optional<Mesh> mesh_;
  NodeTable<std::vector<Node*>> values_;  // of each rank, or one for all
  NodeTable<std::vector<Sharding>> shardings_;
};

}  // namespace

RankValues Unroll(const ReshardPlan& plan, absl::Span<const int64_t> sizes, RankValues values,
                  Graph* graph) {
  for (const ReshardStep& step : plan.steps) values = TakeStep(step, sizes, values, graph);
  return values;
}

absl::StatusOr<std::unique_ptr<Module>> UnrollRanks(const Module& sharded) {
  if (sharded.main() == nullptr) return absl::InvalidArgumentError("a module without graphs");
  return Unroller(sharded).Run();
}

}  // namespace graphnet::spmd
