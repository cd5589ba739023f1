#include "graphnet/shard/graph_layout.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/shapes/tensor_facts.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/shard/call_rules.h"
#include "graphnet/shard/propagate.h"

namespace graphnet::spmd {

absl::StatusOr<std::vector<int64_t>> WholeSizes(const Node& node) {
  const TensorMeta* meta = node.tensor_meta();
  if (meta == nullptr || !meta->has_shape || !meta->is_static())
    return NodeError(node, "is sharded, but its shape is not known");
  std::vector<int64_t> sizes;
  for (const Dim& dim : meta->shape) sizes.push_back(dim.value);
  return sizes;
}

absl::StatusOr<GraphLayout> GraphLayout::Read(const Module& module) {
  if (module.main() == nullptr) return absl::InvalidArgumentError("the module has no graphs");
  GraphLayout layout(module);
  for (const Node* node : module.main()->nodes()) RETURN_IF_ERROR(layout.ReadNode(*node));
  if (layout.meshes_.size() < 2) return layout;
  for (const Node* node : module.main()->nodes()) RETURN_IF_ERROR(layout.CheckMesh(*node));
  return layout;
}

absl::Status GraphLayout::ReadNode(const Node& node) {
  // Annotations of placeholders and attributes, and others such as "List[int]", are no layouts.
  if (!node.is_call() || node.annotation().empty() ||
      !absl::ascii_isdigit(static_cast<unsigned char>(node.annotation()[0])))
    return absl::OkStatus();
  absl::StatusOr<ShardedValue> value = ParseAnnotation(node.annotation());
  if (!value.ok()) return NodeError(node, value.status().message());
  const auto mesh = absl::c_find(meshes_, value->mesh) - meshes_.begin();
  if (mesh == static_cast<ptrdiff_t>(meshes_.size())) meshes_.push_back(value->mesh);
  mesh_of_[&node] = static_cast<size_t>(mesh) + 1;
  // Replicated values are not stored.
  if (absl::c_any_of(value->shardings, [](const Sharding& s) { return !s.is_replicated(); }))
    shardings_[&node] = std::move(value->shardings);
  return absl::OkStatus();
}

absl::Status GraphLayout::CheckMesh(const Node& node) const {
  if (!node.is_call()) return absl::OkStatus();
  const Mesh* const mesh = MeshOf(&node);
  if (mesh == nullptr) return NodeError(node, "is on none of the meshes");
  if (node.is_call_function(kReshard)) return absl::OkStatus();
  for (const Node* operand : node.operands()) {
    const Mesh* const other = MeshOf(operand);
    if (other == nullptr || *other == *mesh) continue;
    return NodeError(node,
                     absl::StrCat("is on mesh ", MeshName(*mesh), " and takes ",
                                  Printable(operand->name()), ", which is on ", MeshName(*other)));
  }
  return absl::OkStatus();
}

Sharding GraphLayout::OfTensor(const Node* node, size_t rank) const {
  return Of(node).empty() ? Sharding::Replicated(rank) : Of(node)[0];
}

bool GraphLayout::IsAlike(const Node& node) const {
  return Of(&node).empty() &&
         absl::c_all_of(node.operands(), [&](const Node* x) { return Of(x).empty(); });
}

absl::StatusOr<ReshardPlan> GraphLayout::PlanOf(const Node& reshard, int64_t element_bytes) const {
  if (reshard.args().size() != 2 || !reshard.args()[0].is_node() || !reshard.args()[1].is_string())
    return NodeError(reshard, "expected a value and a layout");
  const absl::StatusOr<ShardedValue> to = ParseAnnotation(reshard.args()[1].string());
  if (!to.ok()) return NodeError(reshard, to.status().message());
  if (to->shardings.size() != 1) return NodeError(reshard, "expected one sharding");
  const Node* const x = reshard.args()[0].node();
  // A value without a mesh is available on every mesh.
  const Mesh& mesh = MeshOf(x) == nullptr ? to->mesh : *MeshOf(x);
  ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, WholeSizes(*x));
  const Sharding& wanted = to->shardings[0];
  if (const absl::Status status = CheckSharding(wanted, to->mesh, sizes); !status.ok())
    return NodeError(reshard, status.message());
  if (OfTensor(&reshard, sizes.size()) != wanted ||
      (MeshOf(&reshard) != nullptr && *MeshOf(&reshard) != to->mesh))
    return NodeError(reshard, "has another layout than its annotation");
  const Sharding from = OfTensor(x, sizes.size());
  if (const absl::Status status = CheckSharding(from, mesh, sizes); !status.ok())
    return NodeError(reshard, status.message());
  absl::StatusOr<ReshardPlan> plan =
      PlanReshard({mesh, from}, {to->mesh, wanted}, sizes, element_bytes);
  if (!plan.ok()) return NodeError(reshard, plan.status().message());
  return plan;
}

absl::Status GraphLayout::SetLocalSizes(const Node& node, Node* copy) const {
  const CallRule* rule = FindCallRule(node);
  if (rule == nullptr || rule->sizes_parameter.empty() || Of(&node).empty())
    return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, WholeSizes(node));
  const Sharding& sharding = Of(&node)[0];
  if (const absl::Status status = CheckSharding(sharding, *MeshOf(&node), sizes); !status.ok())
    return NodeError(node, status.message());
  const std::vector<int64_t> local = LocalSizes(sharding, *MeshOf(&node), sizes);
  const Schema& schema = *FindOverload(node.target());
  const int at = schema.IndexOf(rule->sizes_parameter);
  const Argument* given = schema.Given(*copy, rule->sizes_parameter);
  if (at < 0 || given == nullptr || !given->is_aggregate())
    return NodeError(node, "expected a list of sizes");
  // The sizes of unflatten begin at its dimension.
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

}  // namespace graphnet::spmd
