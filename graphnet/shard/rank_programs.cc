#include "graphnet/shard/rank_programs.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/memory/memory_use.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/shard/call_rules.h"
#include "graphnet/shard/graph_layout.h"
#include "graphnet/shard/propagate.h"
#include "graphnet/shard/tensor_pieces.h"

namespace graphnet::spmd {
namespace {

using Kind = ReshardStep::Kind;

bool IsCollective(const ReshardStep& step) {
  return step.kind != Kind::kTakePiece && step.kind != Kind::kKeepFirst;
}

class Partition {
 public:
  Partition(const Module& sharded, const Mesh& mesh, GraphLayout layout)
      : sharded_(sharded), mesh_(mesh), layout_(std::move(layout)), plans_(sharded) {
    for (const Node* node : sharded.main()->nodes()) nodes_.push_back(node);
  }

  absl::StatusOr<RankPrograms> Run() {
    result_.plan.mesh = mesh_;
    RETURN_IF_ERROR(PlanReshards());
    RETURN_IF_ERROR(DescribeEnds());
    for (size_t i = 0; i < mesh_.num_ranks(); ++i) {
      ASSIGN_OR_RETURN(std::unique_ptr<Module> module, MakeModule(i));
      result_.modules.push_back(std::move(module));
    }
    return std::move(result_);
  }

 private:
  struct Plan {
    ReshardPlan plan;
    std::vector<int64_t> sizes;
    bool is_of_input = false;  // which is held so
  };

  absl::Status PlanReshards() {
    for (const Node* node : nodes_) {
      if (node->op() == Op::kGetAttr)
        return NodeError(*node, "reads an attribute: lift-attributes first");
      if (!node->is_call_function(kReshard)) continue;
      const Node* const x =
          node->args().empty() || !node->args()[0].is_node() ? nullptr : node->args()[0].node();
      const DType dtype =
          x == nullptr || x->tensor_meta() == nullptr ? DType::kUnknown : x->tensor_meta()->dtype;
      Plan& made = plans_[node];
      ASSIGN_OR_RETURN(made.plan, layout_.PlanOf(*node, std::max<int64_t>(DTypeBytes(dtype), 1)));
      ASSIGN_OR_RETURN(made.sizes, WholeSizes(*x));
      const Sharding to = layout_.OfTensor(node, made.sizes.size());
      made.is_of_input = x->is_placeholder() && to.partial.empty() &&
                         absl::c_all_of(x->users(), [&](const Node* user) {
                           return user->is_call_function(kReshard) &&
                                  layout_.OfTensor(user, made.sizes.size()) == to;
                         });
      if (made.is_of_input) continue;
      for (const ReshardStep& step : made.plan.steps) {
        if (!IsCollective(step)) continue;
        result_.plan.communication.push_back({std::string(node->name()), dtype, step});
      }
    }
    return absl::OkStatus();
  }

  LaidOutTensor Describe(const Node* node, std::string name) const {
    LaidOutTensor tensor;
    tensor.name = std::move(name);
    const TensorMeta* meta = node->tensor_meta();
    if (meta == nullptr) return tensor;
    tensor.dtype = meta->dtype;
    if (!meta->has_shape || !meta->is_static()) return tensor;
    for (const Dim& dim : meta->shape) tensor.sizes.push_back(dim.value);
    tensor.sharding = layout_.OfTensor(node, tensor.sizes.size());
    return tensor;
  }

  absl::Status DescribeEnds() {
    NodeTable<bool> is_inexact(sharded_);
    for (const Node* node : nodes_) {
      const std::vector<Node*> operands = node->operands();
      is_inexact[node] = absl::c_any_of(operands, [&](const Node* x) { return is_inexact[x]; }) ||
                         (node->is_call() && !layout_.IsAlike(*node) && AddsUp(*node));
      if (node->is_placeholder()) {
        LaidOutTensor input = Describe(node, std::string(node->target()));
        if (NumberDType(node->annotation()).has_value())
          input.number = std::string(node->annotation());
        for (const Node* user : node->users()) {
          if (plans_[user].is_of_input) input.sharding = layout_.Of(user)[0];
        }
        result_.plan.inputs.push_back(std::move(input));
      }
      if (!node->is_output()) continue;
      absl::Status status;
      node->ForEachArgument([&](const Argument& argument) {
        if (argument.is_aggregate() || argument.is_none()) return;
        std::string name = absl::StrCat("o", result_.plan.outputs.size());
        if (!argument.is_node()) {
          result_.plan.outputs.push_back({.name = std::move(name)});
          return;
        }
        const Node* const value = argument.node();
        if ((value->meta() != nullptr && value->meta()->is_tuple) || YieldsTuple(*value))
          status.Update(
              NodeError(*value, "is returned and is several tensors: return its elements"));
        result_.plan.outputs.push_back(Describe(value, std::move(name)));
        result_.plan.outputs.back().is_exact = !is_inexact[value];
      });
      RETURN_IF_ERROR(status);
    }
    return absl::OkStatus();
  }

  // Whether elements of what it takes are added up, in an order that follows how many they are.
  bool AddsUp(const Node& node) const {
    if (node.is_call_function(kReshard)) {
      return absl::c_any_of(plans_[&node].plan.steps, [](const ReshardStep& step) {
        return (step.kind == Kind::kAllReduce || step.kind == Kind::kReduceScatter) &&
               (step.reduce == ReduceType::kSum || step.reduce == ReduceType::kAvg ||
                step.reduce == ReduceType::kProduct);
      });
    }
    const CallRule* rule = FindCallRule(node);
    return rule != nullptr && rule->adds_up;
  }

  // The meta of the part of a tensor that a rank holds.
  static const ValueMeta* PartMeta(const TensorMeta& whole, const Sharding& sharding,
                                   const Mesh& mesh, Module* module) {
    std::vector<Dim> shape(whole.shape.begin(), whole.shape.end());
    for (size_t i = 0; i < shape.size() && i < sharding.dims_mapping.size(); ++i) {
      if (const int axis = sharding.dims_mapping[i]; axis >= 0 && shape[i].is_static())
        shape[i] = shape[i].value / mesh.size(axis);
    }
    TensorMeta part = whole;
    part.shape = shape;
    return module->InternValueMeta(part);
  }

  absl::StatusOr<std::unique_ptr<Module>> MakeModule(size_t position) {
    std::unique_ptr<Module> module = sharded_.Clone();
    Graph* const graph = module->main();
    std::vector<Node*> copies;
    for (Node* node : graph->nodes()) copies.push_back(node);
    size_t inputs = 0;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const Node& node = *nodes_[i];
      Node* const copy = copies[i];
      if (node.is_placeholder()) {
        DivideInput(result_.plan.inputs[inputs++].sharding, position, copy);
        continue;
      }
      if (!node.is_call()) continue;
      if (node.is_call_function(kReshard)) {
        RETURN_IF_ERROR(ReplaceReshard(node, position, copy));
        continue;
      }
      // What is a view of a tensor in one piece need not be one of a part of it.
      if ((copy->target() == "aten.view.default" ||
           copy->target() == "aten._unsafe_view.default") &&
          copy->kwargs().empty())
        copy->set_target("aten.reshape.default");
      if (layout_.Of(&node).empty()) continue;
      copy->set_annotation({});
      RETURN_IF_ERROR(layout_.SetLocalSizes(node, copy));
      const TensorMeta* meta = node.tensor_meta();
      copy->set_meta(meta == nullptr ? nullptr
                                     : PartMeta(*meta, layout_.Of(&node)[0], mesh_, module.get()));
    }
    return module;
  }

  void DivideInput(const Sharding& sharding, size_t position, Node* copy) const {
    if (sharding.is_replicated()) return;
    const TensorMeta& whole = *copy->tensor_meta();
    if (copy->draw_spec() != nullptr && copy->draw_spec()->data.is_list()) {
      std::vector<int64_t> sizes;
      for (const Dim& dim : whole.shape) sizes.push_back(dim.value);
      const absl::Span<const Argument> data = copy->draw_spec()->data.elements();
      const std::vector<size_t> places = PlacesOfPiece(sizes, sharding, mesh_, position);
      if (absl::c_all_of(places, [&](size_t place) { return place < data.size(); })) {
        std::vector<Argument> piece;
        for (const size_t place : places) piece.push_back(data[place]);
        DrawSpec spec = *copy->draw_spec();
        spec.data = Argument::List(piece);
        copy->set_draw_spec(spec);
      }
    }
    copy->set_meta(PartMeta(whole, sharding, mesh_, copy->graph()->module()));
  }

  absl::Status ReplaceReshard(const Node& node, size_t position, Node* copy) const {
    const Plan& plan = plans_[&node];
    Graph* const graph = copy->graph();
    const InsertionGuard guard(graph, copy);
    Node* value = copy->args()[0].node();
    const int rank = mesh_.ranks[position];
    if (!plan.is_of_input) {
      for (const ReshardStep& step : plan.plan.steps) {
        const auto group = absl::c_find_if(step.groups, [&](const std::vector<int>& ranks) {
          return absl::c_linear_search(ranks, rank);
        });
        if (group == step.groups.end()) return NodeError(node, "leaves out a rank");
        ASSIGN_OR_RETURN(value, TakeStep(node, step, *group, rank, plan.sizes, value, graph));
      }
      if (value != copy->args()[0].node()) {
        copy->set_name(absl::StrCat(node.name(), "_whole"));  // erased below
        value->set_name(node.name());
        value->set_location(node.location());
        value->set_module_path(node.module_path());
        value->set_meta(PartMeta(*node.args()[0].node()->tensor_meta(),
                                 layout_.OfTensor(&node, plan.sizes.size()), mesh_,
                                 graph->module()));
      }
    }
    copy->ReplaceAllUsesWith(value);
    graph->EraseNode(copy);
    return absl::OkStatus();
  }

  static absl::StatusOr<Node*> TakeStep(const Node& node, const ReshardStep& step,
                                        const std::vector<int>& group, int rank,
                                        absl::Span<const int64_t> sizes, Node* x, Graph* graph) {
    const std::vector<Argument> elements(group.begin(), group.end());
    const Argument ranks = Argument::List(elements);
    const absl::string_view reduce = ReduceTypeName(step.reduce);
    const auto call = [&](absl::Span<const Argument> args) {
      return graph->CallFunction(
          absl::StrCat(kNamedCallPrefix, ReshardKindName(step.kind), ".default"), args);
    };
    switch (step.kind) {
      case Kind::kTakePiece: {
        const int64_t length = sizes[static_cast<size_t>(step.dim)];
        const int64_t piece = length / static_cast<int64_t>(group.size());
        const int64_t begin = (absl::c_find(group, rank) - group.begin()) * piece;
        return graph->CallFunction("aten.slice.Tensor", {x, step.dim, begin, begin + piece, 1});
      }
      case Kind::kKeepFirst:
        // Others than sums and products take the same from all as from one.
        if (step.reduce != ReduceType::kSum && step.reduce != ReduceType::kProduct) return x;
        return call({x, reduce, ranks});
      case Kind::kAllGather: return call({x, step.dim, ranks});
      case Kind::kAllReduce: return call({x, reduce, ranks});
      case Kind::kReduceScatter: return call({x, step.dim, reduce, ranks});
      case Kind::kAllToAll: return call({x, step.dim, step.to_dim, ranks});
      case Kind::kBroadcast:
      case Kind::kGather:
      case Kind::kReduce:
      case Kind::kSend: break;
    }
    return NodeError(node, "leaves the mesh");  // between layouts on one mesh nothing does
  }

  const Module& sharded_;
  const Mesh& mesh_;
  const GraphLayout layout_;
  std::vector<const Node*> nodes_;
  NodeTable<Plan> plans_;  // of reshards
  RankPrograms result_;
};

}  // namespace

absl::StatusOr<RankPrograms> MakeRankPrograms(const Module& sharded, const Mesh& mesh) {
  ASSIGN_OR_RETURN(GraphLayout layout, GraphLayout::Read(sharded));
  if (sharded.num_nodes() * mesh.num_ranks() > kMaxRankNodes)
    return absl::InvalidArgumentError(
        absl::StrCat("all ranks would have more than ", kMaxRankNodes, " nodes"));
  if (layout.mesh().has_value() && *layout.mesh() != mesh)
    return absl::InvalidArgumentError(absl::StrCat(
        "the graph is over mesh ", MeshName(*layout.mesh()), ", not ", MeshName(mesh)));
  return Partition(sharded, mesh, std::move(layout)).Run();
}

}  // namespace graphnet::spmd
