#include "graphnet/shard/rank_programs.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/memory/memory_use.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/shard/call_rules.h"
#include "graphnet/shard/graph_layout.h"
#include "graphnet/shard/propagate.h"
#include "graphnet/shard/tensor_pieces.h"
#include "graphnet/shard/unroll.h"

namespace graphnet::spmd {
namespace {

using Kind = ReshardStep::Kind;

// Returns whether a step communicates. A send from a rank to itself does not.
bool IsCollective(const ReshardStep& step) {
  return step.kind != Kind::kTakePiece && step.kind != Kind::kKeepFirst;
}

bool Has(const Mesh& mesh, int rank) { return absl::c_linear_search(mesh.ranks, rank); }

class Partition {
 public:
  Partition(const Module& sharded, absl::Span<const NamedMesh> meshes, GraphLayout layout)
      : sharded_(sharded), layout_(std::move(layout)), index_(sharded), plans_(sharded) {
    result_.plan.meshes.assign(meshes.begin(), meshes.end());
    for (const Node* node : sharded.main()->nodes()) {
      index_[node] = nodes_.size();
      nodes_.push_back(node);
    }
  }

  absl::StatusOr<RankPrograms> Run() {
    RETURN_IF_ERROR(PlanReshards());
    RETURN_IF_ERROR(DescribeEnds());
    for (size_t i = 0; i < result_.plan.num_ranks(); ++i) {
      ASSIGN_OR_RETURN(std::unique_ptr<Module> module, MakeModule(static_cast<int>(i)));
      result_.modules.push_back(std::move(module));
    }
    return std::move(result_);
  }

 private:
  struct Plan {
    ReshardPlan plan;
    std::vector<int64_t> sizes;
    bool is_of_input = false;  // true if ranks hold the input in this layout
  };

  // Returns the mesh of a value. Inputs are returned on the first mesh.
  const Mesh& MeshOf(const Node* node) const {
    const Mesh* const mesh = layout_.MeshOf(node);
    return mesh == nullptr ? result_.plan.meshes[0].mesh : *mesh;
  }
  // Returns the mesh's position in the plan, and adds it if it is missing, since a single rank may
  // be a mesh of its own.
  size_t PlaceOf(const Mesh& mesh) {
    std::vector<NamedMesh>& meshes = result_.plan.meshes;
    const auto found =
        absl::c_find_if(meshes, [&](const NamedMesh& named) { return named.mesh == mesh; });
    if (found != meshes.end()) return static_cast<size_t>(found - meshes.begin());
    meshes.push_back({absl::StrCat("rank_", mesh.ranks[0]), mesh});
    return meshes.size() - 1;
  }

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
                           return MeshOf(user) != MeshOf(node) ||
                                  (user->is_call_function(kReshard) &&
                                   layout_.OfTensor(user, made.sizes.size()) == to);
                         });
      if (made.is_of_input) continue;
      for (const ReshardStep& step : made.plan.steps) {
        if (!IsCollective(step) || step.num_links == 0) continue;
        result_.plan.communication.push_back(
            {std::string(node->name()), std::string(made.plan.function), dtype, step});
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
        RETURN_IF_ERROR(DescribeInput(node, input));
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
              NodeError(*value, "is returned but has several tensors: return its elements"));
        result_.plan.outputs.push_back(Describe(value, std::move(name)));
        result_.plan.outputs.back().is_exact = !is_inexact[value];
        result_.plan.outputs.back().mesh = PlaceOf(MeshOf(value));
      });
      RETURN_IF_ERROR(status);
    }
    return absl::OkStatus();
  }

  // Adds an input to the plan, once for each mesh that uses it.
  absl::Status DescribeInput(const Node* node, const LaidOutTensor& input) {
    std::vector<size_t> used;
    for (const Node* user : node->users()) used.push_back(PlaceOf(MeshOf(user)));
    if (used.empty()) used.push_back(0);
    absl::c_sort(used);
    used.erase(std::unique(used.begin(), used.end()), used.end());
    for (const size_t mesh : used) {
      LaidOutTensor held = input;
      held.mesh = mesh;
      for (const Node* user : node->users()) {
        if (plans_[user].is_of_input && MeshOf(user) == result_.plan.meshes[mesh].mesh)
          held.sharding = layout_.OfTensor(user, held.sizes.size());
      }
      result_.plan.inputs.push_back(std::move(held));
      inputs_.push_back(node);
    }
    return absl::OkStatus();
  }

  // Returns whether a node adds or multiplies elements in an order that depends on their number.
  bool AddsUp(const Node& node) const {
    if (node.is_call_function(kReshard)) {
      return absl::c_any_of(plans_[&node].plan.steps, [](const ReshardStep& step) {
        return (step.kind == Kind::kAllReduce || step.kind == Kind::kReduceScatter ||
                step.kind == Kind::kReduce) &&
               (step.reduce == ReduceType::kSum || step.reduce == ReduceType::kAvg ||
                step.reduce == ReduceType::kProduct);
      });
    }
    const CallRule* rule = FindCallRule(node);
    return rule != nullptr && rule->adds_up;
  }

  // Returns the meta of the part that a rank holds.
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

  absl::StatusOr<std::unique_ptr<Module>> MakeModule(int rank) {
    std::unique_ptr<Module> module = sharded_.Clone();
    Graph* const graph = module->main();
    std::vector<Node*> copies;
    for (Node* node : graph->nodes()) copies.push_back(node);
    std::vector<Node*> others;  // nodes of other ranks
    GiveInputs(rank, copies, &others);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const Node& node = *nodes_[i];
      Node* const copy = copies[i];
      if (node.is_output()) ReturnOwn(node, rank, copy);
      if (!node.is_call()) continue;
      if (node.is_call_function(kReshard)) {
        ASSIGN_OR_RETURN(const bool is_there, ReplaceReshard(node, rank, copy));
        if (!is_there) others.push_back(copy);
        continue;
      }
      if (!Has(MeshOf(&node), rank)) {
        others.push_back(copy);
        continue;
      }
      // A view of a contiguous tensor need not be a view of a part of it.
      if ((copy->target() == "aten.view.default" ||
           copy->target() == "aten._unsafe_view.default") &&
          copy->kwargs().empty())
        copy->set_target("aten.reshape.default");
      if (layout_.MeshOf(&node) != nullptr) copy->set_annotation({});
      if (layout_.Of(&node).empty()) continue;
      RETURN_IF_ERROR(layout_.SetLocalSizes(node, copy));
      const TensorMeta* meta = node.tensor_meta();
      copy->set_meta(meta == nullptr
                         ? nullptr
                         : PartMeta(*meta, layout_.Of(&node)[0], MeshOf(&node), module.get()));
    }
    // Erase users before their operands.
    absl::c_sort(others, [](const Node* a, const Node* b) { return b->IsBefore(a); });
    for (Node* other : others) graph->EraseNode(other);
    return module;
  }

  // Makes one placeholder for each mesh of the rank that uses the input.
  void GiveInputs(int rank, absl::Span<Node* const> copies, std::vector<Node*>* others) const {
    const ShardPlan& plan = result_.plan;
    const Node* last = nullptr;
    Node* placed = nullptr;
    for (size_t i = 0; i < plan.inputs.size(); ++i) {
      const LaidOutTensor& input = plan.inputs[i];
      Node* const copy = copies[index_[inputs_[i]]];
      const std::optional<size_t> position = plan.PositionOf(rank, input);
      const bool is_last = i + 1 == plan.inputs.size() || inputs_[i + 1] != inputs_[i];
      if (position.has_value() && last != inputs_[i]) {
        last = inputs_[i];
        placed = copy;
        DivideInput(plan.MeshOf(input), input.sharding, *position, copy);
      } else if (position.has_value()) {
        placed = GiveAgain(input, *inputs_[i], *position, copies, copy, placed->next());
      }
      if (is_last && last != inputs_[i]) others->push_back(copy);
    }
  }

  // Adds a placeholder before `next` for the input on another mesh of the same rank.
  Node* GiveAgain(const LaidOutTensor& input, const Node& node, size_t position,
                  absl::Span<Node* const> copies, Node* copy, Node* next) const {
    Graph* const graph = copy->graph();
    const InsertionGuard guard(graph, next);
    const Mesh& mesh = result_.plan.MeshOf(input);
    Node* const again =
        graph->Placeholder(absl::StrCat(copy->target(), "_", result_.plan.meshes[input.mesh].name));
    again->set_meta(copy->graph()->module()->CopyMeta(node.meta()));
    again->set_annotation(node.annotation());
    if (node.draw_spec() != nullptr) again->set_draw_spec(*node.draw_spec());
    DivideInput(mesh, input.sharding, position, again);
    for (const Node* user : node.users()) {
      if (MeshOf(user) == mesh) copies[index_[user]]->ReplaceInput(copy, again);
    }
    return again;
  }

  void ReturnOwn(const Node& node, int rank, Node* copy) const {
    absl::flat_hash_set<const Node*> own;
    const std::vector<Node*> operands = node.operands();
    const std::vector<Node*> copied = copy->operands();
    for (size_t i = 0; i < operands.size(); ++i) {
      if (Has(MeshOf(operands[i]), rank)) own.insert(copied[i]);
    }
    copy->MapArguments([&](const Argument& value) {
      return value.is_node() && !own.contains(value.node()) ? Argument() : value;
    });
  }

  static void DivideInput(const Mesh& mesh, const Sharding& sharding, size_t position, Node* copy) {
    if (sharding.is_replicated()) return;
    const TensorMeta& whole = *copy->tensor_meta();
    if (copy->draw_spec() != nullptr && copy->draw_spec()->data.is_list()) {
      std::vector<int64_t> sizes;
      for (const Dim& dim : whole.shape) sizes.push_back(dim.value);
      const absl::Span<const Argument> data = copy->draw_spec()->data.elements();
      const std::vector<size_t> places = PlacesOfPiece(sizes, sharding, mesh, position);
      if (absl::c_all_of(places, [&](size_t place) { return place < data.size(); })) {
        std::vector<Argument> piece;
        for (const size_t place : places) piece.push_back(data[place]);
        DrawSpec spec = *copy->draw_spec();
        spec.data = Argument::List(piece);
        copy->set_draw_spec(spec);
      }
    }
    copy->set_meta(PartMeta(whole, sharding, mesh, copy->graph()->module()));
  }

  // Replaces a reshard by its steps. Returns whether the rank has the value afterwards.
  absl::StatusOr<bool> ReplaceReshard(const Node& node, int rank, Node* copy) const {
    const Plan& plan = plans_[&node];
    Graph* const graph = copy->graph();
    const InsertionGuard guard(graph, copy);
    const Node* const x = node.args()[0].node();
    const bool is_input = x->is_placeholder();
    Node* value =
        Has(is_input ? MeshOf(&node) : MeshOf(x), rank) ? copy->args()[0].node() : nullptr;
    if (!plan.is_of_input) {
      for (const ReshardStep& step : plan.plan.steps) {
        if (LeavesMesh(step)) {
          ASSIGN_OR_RETURN(value, TakeSends(node, step, rank, value, graph));
          continue;
        }
        const auto group = absl::c_find_if(step.groups, [&](const std::vector<int>& ranks) {
          return absl::c_linear_search(ranks, rank);
        });
        if (group == step.groups.end()) continue;
        if (value == nullptr) return NodeError(node, "leaves out a rank");
        value = TakeStep(step, *group, rank, plan.sizes, value, graph);
      }
      if (!Has(MeshOf(&node), rank)) return false;
      if (value == nullptr) return NodeError(node, "leaves out a rank");
      if (value != copy->args()[0].node()) {
        copy->set_name(absl::StrCat(node.name(), "_whole"));  // it is erased below
        value->set_name(node.name());
        value->set_location(node.location());
        value->set_module_path(node.module_path());
        value->set_meta(PartMeta(*node.args()[0].node()->tensor_meta(),
                                 layout_.OfTensor(&node, plan.sizes.size()), MeshOf(&node),
                                 graph->module()));
      }
    } else if (value == nullptr) {
      return false;
    }
    copy->ReplaceAllUsesWith(value);
    graph->EraseNode(copy);
    return true;
  }

  static bool LeavesMesh(const ReshardStep& step) {
    return step.kind == Kind::kSend || step.kind == Kind::kBroadcast ||
           step.kind == Kind::kGather || step.kind == Kind::kReduce;
  }

  // Makes the sends and receives of a step between pairs of ranks. A rank sends before it receives.
  // Returns its value afterwards; nullptr if it has none.
  static absl::StatusOr<Node*> TakeSends(const Node& node, const ReshardStep& step, int rank,
                                         Node* x, Graph* graph) {
    const DType dtype = node.args()[0].node()->tensor_meta()->dtype;
    if (dtype == DType::kUnknown) return NodeError(node, "sends a value of unknown dtype");
    const std::vector<Argument> sizes(step.piece.begin(), step.piece.end());
    const auto send = [&](int to) {
      graph->CallFunction(absl::StrCat(kNamedCallPrefix, "send.default"), {x, to});
    };
    const auto receive = [&](int from) {
      return graph->CallFunction(absl::StrCat(kNamedCallPrefix, "recv.default"),
                                 {Argument::List(sizes), dtype, from});
    };
    if (step.kind == Kind::kGather || step.kind == Kind::kReduce) {
      const std::vector<int>& group = step.groups[0];
      if (rank != step.root) {
        if (absl::c_linear_search(group, rank)) send(step.root);
        return nullptr;
      }
      std::vector<Node*> parts;
      for (const int from : group) parts.push_back(from == rank ? x : receive(from));
      if (step.kind == Kind::kReduce) return ReduceParts(parts, step.reduce, graph);
      const std::vector<Argument> elements(parts.begin(), parts.end());
      return graph->CallFunction("aten.cat.default", {Argument::List(elements), step.dim});
    }
    Node* after = nullptr;
    for (const std::vector<int>& group : step.groups) {
      if (group[0] != rank) continue;
      if (step.kind == Kind::kBroadcast) after = x;
      std::set<int> to(group.begin() + 1, group.end());
      if (to.erase(rank) > 0) after = x;
      for (const int other : to) send(other);
    }
    for (const std::vector<int>& group : step.groups) {
      if (group[0] != rank && absl::c_linear_search(group, rank)) after = receive(group[0]);
    }
    return after;
  }

  static Node* TakeStep(const ReshardStep& step, const std::vector<int>& group, int rank,
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
        // Other reductions give the same value whether one rank or all ranks contribute it.
        if (step.reduce != ReduceType::kSum && step.reduce != ReduceType::kProduct) return x;
        return call({x, reduce, ranks});
      case Kind::kAllGather: return call({x, step.dim, ranks});
      case Kind::kAllReduce: return call({x, reduce, ranks});
      case Kind::kReduceScatter: return call({x, step.dim, reduce, ranks});
      case Kind::kAllToAll: return call({x, step.dim, step.to_dim, ranks});
      case Kind::kBroadcast:
      case Kind::kGather:
      case Kind::kReduce:
      case Kind::kSend: break;  // TakeSends() handles these.
    }
    return x;
  }

  const Module& sharded_;
  const GraphLayout layout_;
  std::vector<const Node*> nodes_;
  NodeTable<size_t> index_;          // index into nodes_
  std::vector<const Node*> inputs_;  // placeholder of each input of the plan
  NodeTable<Plan> plans_;            // plans of reshards
  RankPrograms result_;
};

}  // namespace

absl::StatusOr<RankPrograms> MakeRankPrograms(const Module& sharded,
                                              absl::Span<const NamedMesh> meshes) {
  ASSIGN_OR_RETURN(GraphLayout layout, GraphLayout::Read(sharded));
  absl::flat_hash_set<int> ranks;
  for (const NamedMesh& named : meshes)
    ranks.insert(named.mesh.ranks.begin(), named.mesh.ranks.end());
  if (sharded.num_nodes() * ranks.size() > kMaxRankNodes)
    return absl::InvalidArgumentError(
        absl::StrCat("all ranks would have more than ", kMaxRankNodes, " nodes"));
  for (const Mesh& mesh : layout.meshes()) {
    const bool is_rank = mesh.num_ranks() == 1 && ranks.contains(mesh.ranks[0]);
    if (is_rank || absl::c_any_of(meshes, [&](const NamedMesh& m) { return m.mesh == mesh; }))
      continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the graph is over mesh ", MeshName(mesh), ", not ",
                     absl::StrJoin(meshes, " and ", [](std::string* out, const NamedMesh& m) {
                       out->append(MeshName(m.mesh));
                     })));
  }
  return Partition(sharded, meshes, std::move(layout)).Run();
}

absl::StatusOr<RankPrograms> MakeRankPrograms(const Module& sharded, const Mesh& mesh) {
  const NamedMesh named = {"mesh", mesh};
  return MakeRankPrograms(sharded, absl::MakeConstSpan(&named, 1));
}

}  // namespace graphnet::spmd
